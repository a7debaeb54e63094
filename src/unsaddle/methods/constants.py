"""The words in which a caller says what is known of the function and what is asked for."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from math import inf, isfinite
from numbers import Integral
from typing import Any, ParamSpec, TypedDict, TypeVar, get_args, is_typeddict

from unsaddle.methods.checks import number, shown

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
T = TypeVar("T")


class Constants(TypedDict, total=False):
    """The same words with the same meaning on every front end."""

    tol: float
    """Gradient norm to reach, eps; 1e-5 if not given, 1e-2 where gradients are of samples."""
    curvature_tol: float | None
    """Curvature to certify, gamma: lambda_min > -gamma. sqrt(rho tol) if not given; where rho is
    measured, between 1e-4 and 1e-2 of the curvature met at x."""
    failure_probability: float
    """Chance of a false certificate over the whole run, delta; 1e-3 if not given."""
    smoothness: float | None
    """Bound on the Hessian's norm, l."""
    hessian_lipschitz: float | None
    """Lipschitz constant of the Hessian, rho."""
    decrease_available: float | None
    """Bound on f(x0) - min f, Delta_f; pgd, pagd and the preset "printed" need it."""
    gradient_noise: float | None
    """Length of a gradient's error, in the gradient's units, where it is more than rounding;
    measured if not given."""
    probe_radius: float | None
    """Distance over which gradients are differenced, in x's units; chosen if not given."""
    max_step: float | None
    """Length of the longest step, trial or jump, in x's units; method "auto" only."""
    max_memory: float | None
    """Bytes that the vectors of a run may take, without those of your function; a quarter of what
    is free if not given, and no more than 35 vectors where they are long."""


class SampledConstants(Constants, total=False):
    """The words for a function that is a mean over samples."""

    stochastic_smoothness: float
    """Bound on the norm of every single sample's Hessian, lt."""
    variance: float
    """Of the gradient of one sample, sigma^2: the mean of |g(x; theta) - g(x)|^2."""
    preset: str
    """``practical``, or ``printed`` for the parameters of the papers."""


class Hyperparameters(TypedDict, total=False):
    """Single hyperparameters of a descent, an escape or both, in place of theory's."""

    accuracy: float
    ball: float
    batch: int
    check_batch: int
    checks: int
    coarsest: float
    convexity: float
    decrease: float
    enough: float
    epoch: float
    fall: float
    finest: float
    first_batch: int
    friction: float
    length: float
    momentum: float
    nce_curvature: float
    nce_length: float
    nearly: float
    noise: float
    pairs: int
    penalty: float
    period: float
    probes: int
    quantile: float
    radius: float
    reach: float
    search_batch: int
    search_friction: float
    search_momentum: float
    search_step: float
    soon: float
    start: float
    step: float
    stretch: float
    unit: float
    vectors: int
    window: float


class Given(Constants, Hyperparameters):
    """All that a caller may give by name."""


class SampledGiven(SampledConstants, Hyperparameters):
    """All that a caller may give by name where gradients are of samples."""


DEFAULTS: dict[str, Any] = {"tol": 1e-5, "failure_probability": 1e-3, "preset": "practical"}


def words_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Give the words that ``**given: Unpack[...]`` stands for in a signature, with types."""
    kinds = [each.annotation for each in signature(function).parameters.values()]
    typed = [each for kind in kinds for each in get_args(kind) if is_typeddict(each)]
    return {word: kind for each in typed for word, kind in each.__annotations__.items()}


def spelled(**defaults: Any) -> Callable[[F], F]:
    """Spell the words of ``**given: Unpack[...]`` out in a function's signature, for ``help``."""
    known, own = {**DEFAULTS, **defaults}, Hyperparameters.__annotations__  # of each method

    def spell(function: F) -> F:
        kind, typed, plain = Parameter.KEYWORD_ONLY, words_of(function), signature(function)
        words = [
            Parameter(word, kind, default=known.get(word), annotation=annotation)
            for word, annotation in typed.items()
            if word not in own
        ]
        if not typed.keys().isdisjoint(own):
            words += [Parameter("options", Parameter.VAR_KEYWORD, annotation=float)]
        explicit = plain.replace(parameters=[*plain.parameters.values()][:-1] + words)
        function.__signature__ = explicit  # type: ignore[attr-defined]
        return function

    return spell


POSITIVE = (lambda v: 1e-50 <= v <= 1e50, "a finite number > 0, 1e-50 to 1e50")
EXPECTED: dict[str, tuple[Callable[[float], bool], str]] = {
    "failure_probability": (lambda v: 1e-100 <= v <= 1, "a number in (0, 1], such as 1e-3"),
    "gradient_noise": (lambda v: 0 <= v <= 1e50, "a finite number >= 0, at most 1e50"),
    "decrease_available": (POSITIVE[0], f"{POSITIVE[1]}: f(x0) minus a lower bound of f"),
    "variance": (lambda v: 0 <= v <= 1e50, "a finite number >= 0, at most 1e50: sigma squared"),
    "friction": (lambda v: 0 <= v <= 1, "a number in [0, 1]"),
    "energy_constant": (lambda v: v >= 384 ** (1 / 7), "a number >= 384 ** (1 / 7)"),
}
WHOLE: dict[str, tuple[Callable[[Any], bool], str]] = {  # words that formulas take beside numbers
    "n": (lambda v: isinstance(v, Integral) and int(v) >= 1, "an integer >= 1, such as x0.size"),
    "printed": (lambda v: v in (0, 1), "True or False"),
}


def check(words: Mapping[str, Any]) -> dict[str, Any]:
    """Check words that formulas take, and give them as Python numbers."""
    numbers: dict[str, Any] = {}
    for word, value in words.items():
        holds, expected = WHOLE.get(word) or EXPECTED.get(word, POSITIVE)
        given = numbers[word] = int(value) if word in WHOLE and holds(value) else number(value)
        if not (holds(given) and isfinite(given)):
            raise ValueError(f"{word}={shown(value)} was passed, expected {expected}")
    ell, rho = numbers.get("smoothness", inf), numbers.get("hessian_lipschitz", 1.0)
    for word, most in {"tol": ell * ell / rho, "curvature_tol": ell}.items():
        if numbers.get(word, 0.0) > most:
            raise ValueError(
                f"{word}={words[word]!r} was passed, expected at most {most!r}: above it the "
                "curvature allowed exceeds smoothness and any stationary point qualifies; "
                f"pass {word}={most!r}, or stop as soon as the gradient is small enough"
            )
    return numbers


def checked(formula: Callable[P, T]) -> Callable[P, T]:
    """Check the words, hand them on as Python numbers, and spell them out in the signature."""
    own = signature(formula)
    words = [
        Parameter(w, Parameter.KEYWORD_ONLY, annotation=t) for w, t in words_of(formula).items()
    ]
    words += [each for each in own.parameters.values() if each.kind is each.KEYWORD_ONLY]
    explicit = own.replace(parameters=words)

    @wraps(formula)
    def call(*args: P.args, **words: P.kwargs) -> T:
        explicit.bind(*args, **words)
        words.update(check(words))
        return formula(*args, **words)

    call.__signature__ = explicit  # type: ignore[attr-defined]
    return call
