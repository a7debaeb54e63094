"""The table of methods: name -> descent x escape, as Table 1 of Zhang & Li (2021) has it."""

import difflib
from collections.abc import Callable
from typing import Any, NamedTuple

from unsaddle import practical, theory
from unsaddle.descents.agd import agd
from unsaddle.descents.gd import gd
from unsaddle.descents.psgd import psgd
from unsaddle.descents.sgd import sgd
from unsaddle.escapes.anc import anc
from unsaddle.escapes.nc import nc
from unsaddle.escapes.never import never
from unsaddle.escapes.perturb import perturb
from unsaddle.escapes.snc import snc
from unsaddle.kernel import Parameters, Part, Solver, compose

ENOUGH = 0.5  # a measured curvature of -gamma/2 refutes the claim "above -gamma" for all purposes


class Method(NamedTuple):
    """One line of the table."""

    descent: Part
    escape: Part
    theory: Callable[..., Parameters]
    parts: str
    oracle: str
    rate: str
    source: str

    @property
    def solver(self) -> Solver:
        """The phases of both parts, ready to run."""
        return compose(self.descent, self.escape)

    def from_theory(
        self,
        *,
        smoothness: float,  # l
        hessian_lipschitz: float,  # rho
        tol: float,  # eps
        n: int,
        failure_probability: float = 1e-3,  # delta
        decrease_available: float | None = None,  # Delta_f
        curvature_tol: float | None = None,  # gamma
    ) -> Parameters:
        """Give the paper's parameters for a function with the given constants.

        Args:
            smoothness: Bound on the Hessian's norm.
            hessian_lipschitz: Lipschitz constant of the Hessian.
            tol: Gradient norm to reach.
            n: Number of variables.
            failure_probability: Chance of a false certificate over the whole run.
            decrease_available: Bound on f(x0) - min f, of which PGD and PAGD need the logarithm.
                With it, a search of the other methods may fail with the probability that their
                theorems grant it; without it, with ``failure_probability``.
            curvature_tol: Curvature to certify; sqrt(rho tol) if not given.

        Returns:
            The parameters of the descent and of the escape.
        """
        gamma = curvature_tol or theory.curvature(hessian_lipschitz=hessian_lipschitz, tol=tol)
        return self.theory(
            smoothness=smoothness,
            hessian_lipschitz=hessian_lipschitz,
            tol=tol,
            n=n,
            failure_probability=failure_probability,
            decrease_available=decrease_available,
            curvature_tol=gamma,
        )


def _search(
    *, smoothness, hessian_lipschitz, n, failure_probability, decrease_available, curvature_tol, tol
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the constants of a search for curvature_tol, and the settings all searches share."""
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
    found = theory.pgd(**_baseline("pgd", given))
    escape = perturb.settings(radius=found.radius, window=found.steps, decrease=found.decrease)
    return Parameters(found.tolerance, gd.settings(step=found.step), escape)


def _pagd(**given: Any) -> Parameters:
    found = theory.pagd(**_baseline("pagd", given))
    escape = perturb.settings(
        radius=found.radius, window=found.steps, decrease=found.energy_quantum
    )
    return Parameters(given["tol"], _accelerated(found), escape)


def _accelerated(found: Any) -> Any:
    return agd.settings(**{name: getattr(found, name) for name in agd.settings._fields})


def _baseline(name: str, given: dict[str, Any]) -> dict[str, Any]:
    if given["decrease_available"] is None:
        raise ValueError(
            f"decrease_available is missing: {name} needs a bound on f(x0) - min f; "
            "pass decrease_available=<a number>, its logarithm is all that counts"
        )
    return {name: value for name, value in given.items() if name != "curvature_tol"}


METHODS: dict[str, Method] = {
    "pgd": Method(
        gd,
        perturb,
        _pgd,
        "gradient descent x uniform perturbation",
        "gradient, value at the test",
        "log^4(n) / eps^2",
        "Jin, Ge, Netrapalli, Kakade & Jordan (2017)",
    ),
    "pagd": Method(
        agd,
        perturb,
        _pagd,
        "accelerated descent + NCE x uniform perturbation",
        "gradient, value",
        "log^6(n) / eps^1.75",
        "Jin, Netrapalli & Jordan (2018)",
    ),
    "pgd+nc": Method(
        gd,
        nc,
        _pgd_nc,
        "gradient descent x negative curvature finding",
        "gradient, value at the jump",
        "log(n) / eps^2",
        "Zhang & Li (2021), Algorithms 1 and 5",
    ),
    "ancgd": Method(
        agd,
        anc,
        _ancgd,
        "accelerated descent + NCE x accelerated negative curvature finding",
        "gradient, value",
        "log(n) / eps^1.75",
        "Zhang & Li (2021), Algorithms 2 and 6",
    ),
}

STOCHASTIC: dict[str, Method] = {
    "psgd": Method(
        psgd,
        never,
        practical.perturbed,
        "stochastic gradient descent with noise at every step",
        "sampled gradient",
        "log^15(n) / eps^4",
        "Jin, Netrapalli, Ge, Kakade & Jordan (2021)",
    ),
    "sgd+nc": Method(
        sgd,
        snc,
        practical.sgd_nc,
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
    if method in known:
        return known[method]
    raise ValueError(f"method {method!r} is unknown; {nearest(method, known)}")


def nearest(word: str, known: Any) -> str:
    """Say which of the known words was probably meant."""
    close = difflib.get_close_matches(str(word).lower(), known, n=1, cutoff=0.4)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return f"{meant}The known ones are {', '.join(known)}"


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
        if not isinstance(value, int | float) or not value >= 0:
            raise ValueError(f"option {name} must be a number >= 0, got {value!r}")
    descent = descent._replace(**{k: v for k, v in options.items() if k in descent._fields})
    escape = escape._replace(**{k: v for k, v in options.items() if k in escape._fields})
    return parameters._replace(descent=descent, escape=escape)
