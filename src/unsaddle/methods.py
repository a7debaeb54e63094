"""The table of methods: name -> descent x escape, in the manner of Table 1 of Zhang & Li (2021)."""

import functools
import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

from unsaddle import practical, theory, theory_neon
from unsaddle.descents.agd import agd
from unsaddle.descents.gd import gd
from unsaddle.descents.lbfgs import lbfgs
from unsaddle.descents.mtagd import mtagd
from unsaddle.descents.psgd import psgd
from unsaddle.descents.sgd import sgd
from unsaddle.escapes import krylov
from unsaddle.escapes.anc import anc
from unsaddle.escapes.lanczos import lanczos
from unsaddle.escapes.nc import nc
from unsaddle.escapes.neon import neon
from unsaddle.escapes.neon_plus import neon_plus
from unsaddle.escapes.never import never
from unsaddle.escapes.perturb import perturb
from unsaddle.escapes.snc import snc
from unsaddle.escapes.window import window
from unsaddle.kernel import Parameters, Part, Solver, compose
from unsaddle.words import nearest, require

SMOOTH = ("smoothness", "hessian_lipschitz")
FINEST = 1e-4  # the curvature to certify, as a share of the largest, where nothing else is said
ENOUGH = 0.5  # a measured curvature of -gamma/2 refutes the claim "above -gamma" for all purposes


class Method(NamedTuple):
    """One line of the table."""

    descent: Part
    escape: Part
    theory: Callable[..., Parameters]
    constants: tuple[str, ...]
    parts: str
    oracle: str
    rate: str
    source: str

    @property
    def solver(self) -> Solver:
        """The phases of both parts, ready to run."""
        return compose(self.descent, self.escape)

    @property
    def options(self) -> list[str]:
        """The names of the hyperparameters of both parts."""
        parts: Any = (self.descent.settings, self.escape.settings)
        return [*dict.fromkeys(name for part in parts for name in part._fields)]

    def from_theory(
        self,
        *,
        tol: float,  # eps
        n: int,
        smoothness: float | None = None,  # l
        hessian_lipschitz: float | None = None,  # rho
        failure_probability: float = 1e-3,  # delta
        decrease_available: float | None = None,  # Delta_f
        curvature_tol: float | None = None,  # gamma
    ) -> Parameters:
        """Give the paper's parameters for a function with the given constants.

        Args:
            tol: Gradient norm to reach.
            n: Number of variables.
            smoothness: Bound on the Hessian's norm.
            hessian_lipschitz: Lipschitz constant of the Hessian.
            failure_probability: Chance of a false certificate over the whole run.
            decrease_available: Bound on f(x0) - min f, of which PGD and PAGD need the logarithm.
                With it, a search of the other methods may fail with the probability that their
                theorems grant it; without it, with ``failure_probability``.
            curvature_tol: Curvature to certify; sqrt(rho tol) if not given.

        Returns:
            The parameters of the descent and of the escape.
        """
        given = {
            "smoothness": smoothness,
            "hessian_lipschitz": hessian_lipschitz,
            "tol": tol,
            "n": n,
            "failure_probability": failure_probability,
            "decrease_available": decrease_available,
            "curvature_tol": curvature_tol,
        }
        missing = [name for name in self.constants if given[name] is None]
        require(missing, "this method", "; or use 'auto', which needs no constants")
        return self.theory(**given)


def _search(
    *, smoothness, hessian_lipschitz, n, failure_probability, decrease_available, curvature_tol, tol
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the constants of a search for curvature_tol, and the settings all searches share."""
    if curvature_tol is None:
        curvature_tol = theory.curvature(hessian_lipschitz=hessian_lipschitz, tol=tol)
    target = curvature_tol**2 / hessian_lipschitz  # the eps whose sqrt(rho eps) is curvature_tol
    constants = {
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
        "tol": target,
        "n": n,
    }
    risk = failure_probability
    if decrease_available is not None:
        risk = theory.pgd_nc(
            **constants,
            failure_probability=failure_probability,
            decrease_available=decrease_available,
        ).failure_probability
    leap = theory.jump(hessian_lipschitz=hessian_lipschitz, tol=target)
    shared = {
        "enough": ENOUGH,
        "length": leap.length,
        "decrease": leap.decrease,
        "curvature_tol": curvature_tol,
        "failure_probability": failure_probability,
        "smoothness": smoothness,
        "hessian_lipschitz": hessian_lipschitz,
    }
    return {**constants, "failure_probability": min(risk, 1.0)}, shared


def _pgd_nc(**given: Any) -> Parameters:
    constants, shared = _search(**given)
    found = theory.nc_finding(**constants)
    step = 1 / given["smoothness"]
    escape = nc.settings(search_step=step, radius=found.radius, window=found.window, **shared)
    return Parameters(given["tol"], gd.settings(step=step), escape)


def _ancgd(**given: Any) -> Parameters:
    constants, shared = _search(**given)
    found = theory.anc_finding(**constants)
    escape = anc.settings(
        search_step=found.step,
        search_friction=found.friction,
        radius=found.radius,
        window=found.window,
        **shared,
    )
    return Parameters(given["tol"], _accelerated(found), escape)


def _pgd(**given: Any) -> Parameters:
    found = theory.pgd(**_baseline(given))
    escape = perturb.settings(radius=found.radius, window=found.steps, decrease=found.decrease)
    return Parameters(found.tolerance, gd.settings(step=found.step), escape)


def _pagd(**given: Any) -> Parameters:
    found = theory.pagd(**_baseline(given))
    escape = perturb.settings(
        radius=found.radius, window=found.steps, decrease=found.energy_quantum
    )
    return Parameters(given["tol"], _accelerated(found), escape)


def _neon(**given: Any) -> Parameters:
    return Parameters(
        given["tol"], gd.settings(step=1 / given["smoothness"]), _extraction(False, given)
    )


def _neon_plus(**given: Any) -> Parameters:
    constants, _ = _search(**given)
    descent = _accelerated(theory.anc_finding(**constants))
    return Parameters(given["tol"], descent, _extraction(True, given))


def _extraction(accelerated: bool, given: dict[str, Any]) -> Any:
    constants, shared = _search(**given)
    found = theory_neon.neon(
        smoothness=given["smoothness"],
        hessian_lipschitz=given["hessian_lipschitz"],
        curvature_tol=shared["curvature_tol"],
        failure_probability=constants["failure_probability"],
        n=given["n"],
        accelerated=accelerated,
    )
    return neon.settings(**found._asdict(), **{k: v for k, v in shared.items() if k != "enough"})


def _accelerated(found: Any) -> Any:
    return agd.settings(**{name: getattr(found, name) for name in agd.settings._fields})


def _baseline(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "curvature_tol"}


def _agd_lanczos(**given: Any) -> Parameters:
    constants, shared = _search(**given)
    descent = _accelerated(theory.anc_finding(**constants))
    known = {name: shared[name] for name in ("curvature_tol", "failure_probability", *SMOOTH)}
    return Parameters(given["tol"], descent, lanczos.settings(ENOUGH, finest=0.0, **known))


def _measured(
    descent: Part,
    *,
    smoothness,
    hessian_lipschitz,
    failure_probability,
    curvature_tol,
    tol,
    **_: Any,
) -> Parameters:
    """Give the settings of a method that measures what it has to know."""
    search = krylov.Settings(
        enough=ENOUGH,
        finest=0.0 if hessian_lipschitz else FINEST,
        curvature_tol=curvature_tol or 0.0,
        failure_probability=failure_probability,
        smoothness=smoothness or 0.0,
        hessian_lipschitz=hessian_lipschitz or 0.0,
        noise=0.0,
    )
    return Parameters(tol, descent.settings(), search)


METHODS: dict[str, Method] = {
    "auto": Method(
        lbfgs,
        lanczos,
        functools.partial(_measured, lbfgs),
        (),
        "L-BFGS x Lanczos, nothing to know",
        "gradient, value",
        "none proven for the descent",
        "Liu & Nocedal (1989), Lanczos (1950), and this package",
    ),
    "agd-auto": Method(
        mtagd,
        window,
        functools.partial(_measured, mtagd),
        (),
        "parameter-free accelerated descent x accelerated negative curvature finding",
        "gradient, value",
        "proven for the descent alone",
        "Marumo & Takeda (2024), Zhang & Li (2021), and this package",
    ),
    "pgd": Method(
        gd,
        perturb,
        _pgd,
        (*SMOOTH, "decrease_available"),
        "gradient descent x uniform perturbation",
        "gradient, value at the test",
        "log^4(n) / eps^2",
        "Jin, Ge, Netrapalli, Kakade & Jordan (2017)",
    ),
    "pagd": Method(
        agd,
        perturb,
        _pagd,
        (*SMOOTH, "decrease_available"),
        "accelerated descent + NCE x uniform perturbation",
        "gradient, value",
        "log^6(n) / eps^1.75",
        "Jin, Netrapalli & Jordan (2018)",
    ),
    "pgd+nc": Method(
        gd,
        nc,
        _pgd_nc,
        SMOOTH,
        "gradient descent x negative curvature finding",
        "gradient, value at the jump",
        "log(n) / eps^2",
        "Zhang & Li (2021), Algorithms 1 and 5",
    ),
    "ancgd": Method(
        agd,
        anc,
        _ancgd,
        SMOOTH,
        "accelerated descent + NCE x accelerated negative curvature finding",
        "gradient, value",
        "log(n) / eps^1.75",
        "Zhang & Li (2021), Algorithms 2 and 6",
    ),
    "neon": Method(
        gd,
        neon,
        _neon,
        SMOOTH,
        "gradient descent x NEON",
        "gradient, value at the jump",
        "log(n) / eps^2",
        "Xu, Jin & Yang (2018), our reconstruction",
    ),
    "neon+": Method(
        agd,
        neon_plus,
        _neon_plus,
        SMOOTH,
        "accelerated descent + NCE x NEON+",
        "gradient, value",
        "log(n) / eps^1.75",
        "Xu, Jin & Yang (2018), our reconstruction",
    ),
    "agd+lanczos": Method(
        agd,
        lanczos,
        _agd_lanczos,
        SMOOTH,
        "accelerated descent + NCE x Lanczos",
        "gradient, value",
        "log(n) / eps^1.75",
        "Jin, Netrapalli & Jordan (2018), Lanczos (1950): the limit of the searches",
    ),
}

STOCHASTIC: dict[str, Method] = {
    "psgd": Method(
        psgd,
        never,
        practical.perturbed,
        (),
        "stochastic gradient descent with noise at every step",
        "sampled gradient",
        "log^15(n) / eps^4",
        "Jin, Netrapalli, Ge, Kakade & Jordan (2021)",
    ),
    "sgd+nc": Method(
        sgd,
        snc,
        practical.sgd_nc,
        (),
        "stochastic gradient descent x stochastic negative curvature finding",
        "sampled gradient, same sample twice",
        "log^2(n) / eps^4",
        "Zhang & Li (2021), Algorithms 3 and 8",
    ),
}


def find(method: str) -> Method:
    """Look a method up.

    Args:
        method: Its name.

    Returns:
        Its line of the table.

    Raises:
        ValueError: If there is none of that name; the message names the nearest.
    """
    known = METHODS | STOCHASTIC
    if not isinstance(method, str):
        raise ValueError(f"method must be a name, got {method!r}; the known ones are {[*known]}")
    if method in known:
        return known[method]
    raise ValueError(f"method {method!r} is unknown; {nearest(method, known)}")


def override(parameters: Parameters, options: dict[str, Any]) -> Parameters:
    """Replace single hyperparameters by name.

    Args:
        parameters: What theory gives.
        options: Names of the descent's or the escape's settings, with their values.

    Returns:
        The parameters with those replaced.

    Raises:
        TypeError: If neither part has a setting of that name.
        ValueError: If a value is not a number >= 0.
    """
    descent, escape = parameters.descent, parameters.escape
    known = [*dict.fromkeys((*descent._fields, *escape._fields))]
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"option {name!r} is unknown; {nearest(name, known)}")
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not value >= 0:  # type: ignore[operator]
            raise ValueError(f"option {name} must be a number >= 0, got {value!r}")
        if name == "enough" and hasattr(escape, "finest") and float(value) > 1:
            raise ValueError(f"option enough must be a share of curvature_tol, got {value!r}")
        if name == "noise" and value == math.inf:
            raise ValueError("option noise must be finite: the share of a gradient that is wrong")
    options = {k: int(v) if isinstance(v, Integral) else float(v) for k, v in options.items()}
    descent = descent._replace(**{k: v for k, v in options.items() if k in descent._fields})
    escape = escape._replace(**{k: v for k, v in options.items() if k in escape._fields})
    return parameters._replace(descent=descent, escape=escape)
