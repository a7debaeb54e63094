"""The table of methods: name -> descent x escape, in the manner of Table 1 of Zhang & Li (2021)."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from numbers import Integral
from typing import Any, Unpack

from unsaddle import messages
from unsaddle.core.kernel import Parameters, Part, Solver, compose, samples, then
from unsaddle.descents.agd import agd
from unsaddle.descents.almost_convex_agd import almost_convex_agd
from unsaddle.descents.bounded import bounded
from unsaddle.descents.cubic import cubic
from unsaddle.descents.external import external
from unsaddle.descents.gd import gd
from unsaddle.descents.hand_over import hand_over
from unsaddle.descents.lbfgs import lbfgs
from unsaddle.descents.parameter_free_agd import parameter_free_agd
from unsaddle.descents.psgd import psgd
from unsaddle.descents.sgd import sgd
from unsaddle.descents.sharp_sgd import sharp_sgd
from unsaddle.descents.spider import spider
from unsaddle.escapes import krylov
from unsaddle.escapes.adancd import adancd
from unsaddle.escapes.adaptive_anc import adaptive_anc
from unsaddle.escapes.anc import anc
from unsaddle.escapes.at_once import at_once
from unsaddle.escapes.every_epoch import every_epoch
from unsaddle.escapes.lanczos import lanczos
from unsaddle.escapes.nc import nc
from unsaddle.escapes.ncd import ncd, ncd_at_rest
from unsaddle.escapes.neon import neon
from unsaddle.escapes.neon2 import neon2
from unsaddle.escapes.neon2_online import neon2_online
from unsaddle.escapes.neon_plus import neon_plus
from unsaddle.escapes.never import never
from unsaddle.escapes.perturbation import perturbation
from unsaddle.escapes.proof import SEARCHES, proof
from unsaddle.escapes.snc import snc
from unsaddle.escapes.unless_steep import unless_steep
from unsaddle.methods import parameters, stochastic_parameters, stochastic_theory
from unsaddle.methods.checks import number, one_of, shown
from unsaddle.methods.constants import DEFAULTS, SampledConstants, check
from unsaddle.methods.parameters import Problem, Theory

SMOOTH = ("smoothness", "hessian_lipschitz")
SAMPLED = (*SMOOTH, "stochastic_smoothness", "variance")
PRESETS = {"practical": False, "printed": True}
MOST = 1e50  # of a hyperparameter: its products are finite


@dataclass
class Method:
    """One line of the table."""

    descent: Part
    escape: Part
    proof: Part | None  # behind the escape's own test
    theory: Theory
    constants: tuple[str, ...]
    parts: str
    oracle: str
    rate: str
    source: str

    def __post_init__(self) -> None:
        """Put the phases of all parts together, ready to run."""
        sampled, escape = samples(self.descent), self.escape
        proved = escape if self.proof is None else then(escape, self.proof, sampled)
        self.solver = compose(self.descent, proved)

    @property
    def unproved(self) -> Solver:
        """The method without its proof, where the caller draws: nobody knows how many samples."""
        return compose(self.descent, self.escape)

    @property
    def options(self) -> list[str]:
        """The names of the hyperparameters of both parts."""
        parts: Any = (self.descent.settings, self.escape.settings)
        return [*dict.fromkeys(name for part in parts for name in part._fields)]

    def from_theory(
        self,
        *,
        n: int,
        data: int = 0,
        itemsize: int = 8,
        shared: bool = False,
        **constants: Unpack[SampledConstants],
    ) -> Parameters:
        """Give the parameters of theory for n variables, and so many samples if they are data."""
        given = {**DEFAULTS, **constants}
        preset = given.pop("preset")
        one_of("preset", preset, PRESETS)
        target = ("tol", "failure_probability")  # which cannot be left open
        known = {k: v for k, v in given.items() if v is not None or k in target}
        needed = self.constants + ("decrease_available",) * PRESETS[preset]
        missing = [name for name in needed if name not in known]
        if missing:
            messages.require(missing, self.constants != SAMPLED)
        if "max_step" in known and "max_step" not in self.descent.settings._fields:
            raise ValueError("max_step goes with method 'auto', whose steps are not by theory")
        sizes = {"n": n, "data": data, "itemsize": itemsize}
        own = {"printed": PRESETS[preset], "shared": shared}
        return self.theory(Problem(**own, **sizes, **check(known)))


# fmt: off
METHODS: dict[str, Method] = {
    "auto": Method(
        lbfgs, lanczos, None, parameters.auto, (),
        "L-BFGS x Lanczos, no constants needed", "gradient, value", "none proven for the descent",
        "Liu & Nocedal (1989), Lanczos (1950), and this package",
    ),
    "agd-auto": Method(
        parameter_free_agd, adaptive_anc, None, parameters.agd_auto, (),
        "parameter-free accelerated descent x accelerated negative curvature finding",
        "gradient, value", "proven for the descent alone",
        "Marumo & Takeda (2024), Zhang & Li (2021), and this package",
    ),
    "pgd": Method(
        gd, perturbation, proof, parameters.pgd, (*SMOOTH, "decrease_available"),
        "gradient descent x uniform perturbation", "gradient, value at the test",
        "log^4(n) / eps^2", "Jin, Ge, Netrapalli, Kakade & Jordan (2017)",
    ),
    "pagd": Method(
        agd, perturbation, proof, parameters.pagd, (*SMOOTH, "decrease_available"),
        "accelerated descent + NCE x uniform perturbation", "gradient, value",
        "log^6(n) / eps^1.75", "Jin, Netrapalli & Jordan (2018)",
    ),
    "pgd+nc": Method(
        gd, nc, proof, parameters.pgd_nc, SMOOTH,
        "gradient descent x negative curvature finding", "gradient, value at the jump",
        "log(n) / eps^2", "Zhang & Li (2021), Algorithms 1 and 5",
    ),
    "ancgd": Method(
        agd, anc, proof, parameters.ancgd, SMOOTH,
        "accelerated descent + NCE x accelerated negative curvature finding", "gradient, value",
        "log(n) / eps^1.75", "Zhang & Li (2021), Algorithms 2 and 6",
    ),
    "neon": Method(
        gd, neon, proof, parameters.neon_gd, SMOOTH,
        "gradient descent x NEON", "gradient, value at the jump",
        "log(n) / eps^2, by the same argument", "Xu, Jin & Yang (2018), our reconstruction",
    ),
    "neon+": Method(
        agd, neon_plus, proof, parameters.neon_agd, SMOOTH,
        "accelerated descent + NCE x NEON+", "gradient, value",
        "log(n) / eps^1.75, by the same argument", "Xu, Jin & Yang (2018), our reconstruction",
    ),
    "neon2": Method(
        almost_convex_agd, unless_steep(neon2), proof, parameters.neon2_agd, SMOOTH,
        "almost convex accelerated descent x Neon2", "gradient, value at the jump",
        "log(n) / eps^1.75", "Allen-Zhu & Li (2018), Carmon et al. (2018)",
    ),
    "cdhs": Method(
        almost_convex_agd, ncd, proof, parameters.cdhs, SMOOTH,
        "almost convex accelerated descent x negative curvature descent",
        "gradient, product or gradient, value at the jump", "log(n) / eps^1.75",
        "Carmon, Duchi, Hinder & Sidford (2018)",
    ),
    "adancg": Method(
        hand_over, adancd, proof, parameters.adancg, SMOOTH,
        "the steeper of gradient and negative curvature",
        "gradient, product or gradient, value at the jump",
        "log(n) / eps^2", "Liu, Li, Wang, Yi & Yang (2018), AdaNCG",
    ),
    "fastcubic": Method(
        cubic, ncd_at_rest, proof, parameters.fastcubic, SMOOTH,
        "cubic steps on Krylov spaces x negative curvature descent",
        "gradient, product or gradient, value", "log(n) / eps^1.75",
        "Agarwal, Allen-Zhu, Bullins, Hazan & Ma (2017), our reconstruction",
    ),
    "agd+lanczos": Method(
        agd, lanczos, None, parameters.agd_lanczos, SMOOTH,
        "accelerated descent + NCE x Lanczos", "gradient, value",
        "log(n) / eps^1.75, by the same argument",
        "Jin, Netrapalli & Jordan (2018), Lanczos (1950): the limit of the searches",
    ),
}

STOCHASTIC: dict[str, Method] = {
    "psgd": Method(
        psgd, never, None, stochastic_parameters.perturbed_sgd, SAMPLED,
        "stochastic gradient descent with noise at every step", "sampled gradient",
        "log^15(n) / eps^4", "Jin, Netrapalli, Ge, Kakade & Jordan (2021)",
    ),
    "sgd+nc": Method(
        sgd, snc, SEARCHES["lanczos"], stochastic_parameters.sgd_nc, SAMPLED,
        "stochastic gradient descent x stochastic negative curvature finding",
        "sampled gradient, same sample twice", "log^2(n) / eps^4",
        "Zhang & Li (2021), Algorithms 3 and 8",
    ),
    "sharp-sgd": Method(
        sharp_sgd, at_once, SEARCHES["lanczos"], stochastic_parameters.sharp, SAMPLED,
        "stochastic gradient descent with noise, in balls, and the mean of the last one",
        "sampled gradient", "log^5(n) / eps^3.5", "Fang, Lin & Zhang (2019)",
    ),
    "neon2-online": Method(
        sgd, neon2_online, SEARCHES["lanczos"], stochastic_parameters.neon2_online_sgd, SAMPLED,
        "stochastic gradient descent x Neon2 from samples",
        "sampled gradient, same sample twice", "log^2(n) / eps^4", "Allen-Zhu & Li (2018)",
    ),
    "spider+": Method(
        spider, every_epoch(neon2_online), SEARCHES["lanczos"], stochastic_parameters.spider_plus,
        SAMPLED, "SPIDER x Neon2 from samples, after every epoch",
        "sampled gradient, same sample twice", "log^2(n) / eps^3",
        "Fang, Li, Lin & Zhang (2018), SPIDER-SFO+",
    ),
}
# fmt: on
AROUND = compose(external, lanczos)  # "auto" around the user's own descent
BOUNDED = compose(bounded, lanczos)  # "auto" within bounds


def find(method: str) -> Method:
    """Look a method up by name; a ValueError names the nearest if there is none."""
    known = METHODS | STOCHASTIC
    return known[one_of("method", method, known)]


def parameters_of(
    method: str,
    n: int,  # number of variables
    given: Mapping[str, Any],  # constants and hyperparameters, by name
    caller: Callable[..., Any],  # the public function that was called with them
    elsewhere: Mapping[str, str],  # words of other packages, with what to say of them
    data: int = 0,  # samples that there are in all, if they are given
    itemsize: int = 8,  # bytes of a number
    shared: bool = False,  # whether pairs and basis lie in the same place
) -> Parameters:
    """Give a method's parameters by theory, and in their place what was given by name."""
    line, words = find(method), SampledConstants.__annotations__
    arguments = [*_arguments(caller)]
    constants = {k: v for k, v in given.items() if k in words and k in arguments}
    options = {k: v for k, v in given.items() if k not in constants}
    if options:
        options = messages.recognise(options, method, line.options, arguments, _owners, elsewhere)
    sizes: Any = {"n": n, "data": data, "itemsize": itemsize, "shared": shared}
    theory = line.from_theory(**sizes, **constants)
    return override(theory, options) if options else theory


@cache
def _arguments(caller: Callable[..., Any]) -> tuple[str, ...]:
    """Give the names of a function's arguments, but for the last, which stands for all others."""
    return tuple(inspect.signature(caller).parameters)[:-1]


def _owners() -> dict[str, list[str]]:
    """Give the methods that have each option."""
    names = {option for line in METHODS.values() for option in line.options}
    return {it: [name for name, line in METHODS.items() if it in line.options] for it in names}


def override(parameters: Parameters, options: Mapping[str, Any]) -> Parameters:
    """Replace single hyperparameters by name, if they are what they have to be."""
    descent, escape = parameters.descent, parameters.escape
    owner = dict.fromkeys(escape._fields, escape) | dict.fromkeys(descent._fields, descent)
    for name in options:
        if name not in owner:
            raise TypeError(f"option {name!r} is unknown; {messages.nearest(name, owner)}")
    numbers = {name: _number(name, value, owner[name]) for name, value in options.items()}
    if "checks" in numbers and "quantile" not in numbers:
        checks, delta = int(numbers["checks"]), escape.failure_probability
        numbers["quantile"] = stochastic_theory.quantile(checks, delta)
    return with_numbers(parameters, numbers)


def with_numbers(parameters: Parameters, numbers: Mapping[str, float]) -> Parameters:
    """Put numbers in place of hyperparameters of the descent, the escape and its proof."""
    descent, escape, proof = parameters.descent, parameters.escape, parameters.proof

    def replaced(part: Any) -> Any:
        return part._replace(**{k: v for k, v in numbers.items() if k in part._fields})

    return parameters._replace(
        descent=replaced(descent),
        escape=replaced(escape),
        proof=replaced(proof) if type(proof) is type(escape) else proof,
    )


MOST_PAIRS = 10**6  # for which there is room from the start
ABOVE_ZERO = ("radius", "step", "search_step", "length", "accuracy")
SHARES = ("friction", "search_friction")


def _number(name: str, value: Any, settings: Any) -> float:
    """Check one hyperparameter by what it means where it belongs."""
    kind, measured = type(settings).__annotations__[name], isinstance(settings, krylov.Settings)
    least = {"checks": 2, "vectors": 3}.get(name, 1)
    wants, holds = "a number >= 0, at most 1e50", lambda v: 0 <= v <= MOST
    if kind is int:
        most = MOST_PAIRS if name == "pairs" else MOST
        limit = f", at most {most}" if name == "pairs" else ""
        wants = f"a whole number >= {least}{limit}"
        holds = lambda v: v.is_integer() and least <= v <= most  # noqa: E731
    elif name in ABOVE_ZERO:
        wants, holds = "a number > 0, at most 1e50", lambda v: 0 < v <= MOST
    elif name in SHARES:
        wants, holds = "a number in [0, 1]", lambda v: 0 <= v <= 1
    elif measured and name == "enough":
        wants, holds = "a share of curvature_tol, at most 1", lambda v: 0 <= v <= 1
    elif name == "enough":
        wants, holds = "a number >= 0; infinity: no direction is", lambda v: v >= 0
    elif measured and name == "unit":
        wants, holds = "a finite number >= 0, the share that is wrong", lambda v: 0 <= v <= MOST
    given = number(value)
    if not holds(given):
        raise ValueError(f"option {name} must be {wants}, got {shown(value)}")
    counts = kind is int or (isinstance(value, Integral) and given < inf)
    return int(given) if counts else given
