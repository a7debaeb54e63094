"""A fault of each kind at every call of the user's function: nothing is lost, and runs go on."""

import math
import signal
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.torture.doors import gradient, value
from benchmarks.torture.fuzz import inconsistent
from benchmarks.torture.trial import Trial
from unsaddle import Outcome, minimize

CONSTANTS = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2}
KICK = {"decrease_available": 1.0, "window": 15, "radius": 0.1, "decrease": 1e-3}
FAST = {"step": 0.16, "friction": 0.2, "nce_length": 0.05}
METHODS: dict[str, dict[str, Any]] = {  # with hyperparameters that make short runs of all of them
    "auto": {},
    "agd-auto": {},
    "pgd": KICK,
    "pagd": KICK | FAST,
    "pgd+nc": {},
    "ancgd": FAST | {"search_step": 0.16, "search_friction": 0.2},
    "agd+lanczos": FAST,
    "neon": {"curvature_tol": 0.5},
    "neon+": FAST | {"curvature_tol": 0.5},
    "neon2": {"curvature_tol": 0.5},
    "cdhs": {"curvature_tol": 0.5, "decrease_available": 1.0},
    "adancg": {"curvature_tol": 0.5},
    "fastcubic": {"curvature_tol": 0.5},
    "auto, bounds": {"bounds": [(-2.0, 2.0), (-0.5, 2.0)]},
    "auto, at a bound": {"bounds": [(0.0, 1.0), (0.0, 2.0)]},
    "auto, starts": {"starts": 3},
    "auto, x_scale": {"x_scale": [2.0, 0.5]},
    "auto, numerical": {"jac": None, "tol": 1e-4},
    "auto, hessp": {"hessp": lambda x, p: np.array([p[0], (3 * x[1] ** 2 - 1) * p[1]])},
}
NEAR = {"auto, at a bound": 1e-2}  # tol: L-BFGS-B begins anew where it was cut
LONG, SOME = 300, 101  # calls of a run that fails at every 101st of them only
DIFFERENCE = 1e-4  # by which f changes over a difference of numerical gradients, at most
KINDS = ("exception", "ctrl-c", "signal", "nan", "inf", "-inf", "wrong shape", "None")
FORMS = ("apart", "together")  # jac is a function, or True
BOTH_FORMS = ("auto", "agd-auto", "pgd+nc")
Seen = list[float]


class TheirError(Exception):
    """What the user's function raises."""


def trials(seed: int) -> Iterator[Trial]:
    """Give a trial for every method, kind of fault and call."""
    for method in METHODS:
        for form in FORMS if method in BOTH_FORMS else FORMS[:1]:
            for kind in KINDS:
                calls = _calls(method, form)
                for k in range(1, calls + 1, 1 if calls <= LONG else SOME):
                    name = f"{kind} at call {k}, {form}"
                    yield Trial(method, name, partial(_fault, method, form, kind, k))


def run(
    method: str, form: str, trouble: Callable[[int, Any], Any], seen: Seen, **given: Any
) -> Any:
    """Run a method; ``trouble`` may raise, or give another answer to a call."""
    count = iter(range(1, 10**9))

    def asked(answer: Any) -> Any:
        return trouble(next(count), answer)

    def fun(x: np.ndarray) -> Any:
        answer = asked(value(x))
        if isinstance(answer, float) and math.isfinite(answer):
            seen.append(answer)
        return answer

    def both(x: np.ndarray) -> Any:
        answer = asked((value(x), gradient(x)))
        if isinstance(answer, tuple) and isinstance(answer[0], float) and math.isfinite(answer[0]):
            seen.append(answer[0])
        return answer

    words: dict[str, Any] = {
        **CONSTANTS,
        "method": method.partition(",")[0],
        **METHODS[method],
        **given,
    }
    if "hessp" in words:
        words["hessp"] = lambda x, p, plain=words["hessp"]: asked(plain(x, p))
    together = form == "together"
    jac: dict[str, Any] = {"jac": True if together else lambda x: asked(gradient(x))}
    return minimize(both if together else fun, [1.0, 0.0], **jac | words)


@lru_cache
def _whole(method: str, form: str) -> tuple[Any, int]:
    """Run without faults; give the result and the number of calls."""
    calls: list[int] = []

    def listed(call: int, answer: Any) -> Any:
        calls.append(call)
        return answer

    return run(method, form, listed, []), len(calls)


def fine(call: int, answer: Any) -> Any:
    """Make no trouble."""
    return answer


def _calls(method: str, form: str) -> int:
    return _whole(method, form)[1]


def _fault(method: str, form: str, kind: str, k: int) -> str:
    """Make the k-th call fail; say what was lost, or what a run that goes on does otherwise."""
    seen: Seen = []

    def trouble(call: int, answer: Any) -> Any:
        return _instead(kind, answer) if call == k else answer

    try:
        result = run(method, form, trouble, seen)
    except (TheirError, TypeError, ValueError) as error:
        if kind not in ("exception", "wrong shape", "None"):
            raise
        result: Any = getattr(error, "unsaddle", None)
        if result is None:
            return "the exception has no result so far"
    near = DIFFERENCE if "numerical" in method else 0.0
    return _lost(result, seen, near) or _resumed(method, form, kind, result)


def _instead(kind: str, answer: Any) -> Any:
    """Raise, or give what is answered instead."""
    if kind == "exception":
        raise TheirError
    if kind == "ctrl-c":
        raise KeyboardInterrupt
    if kind == "signal":
        signal.raise_signal(signal.SIGINT)
        return answer
    if kind in ("wrong shape", "None"):
        return np.zeros(7) if kind == "wrong shape" else None
    return (
        tuple(_full(it, kind) for it in answer)
        if isinstance(answer, tuple)
        else _full(answer, kind)
    )


def _full(answer: Any, kind: str) -> Any:
    return float(kind) if isinstance(answer, float) else np.full_like(answer, float(kind))


def _lost(result: Any, seen: Seen, near: float = 0.0) -> str:
    """Say what a result contradicts, and whether the lowest value seen, or one as near, is lost."""
    wrong = inconsistent(result)
    if wrong:
        return wrong
    lowest = min(seen, default=math.nan) + near
    if seen and not result.best.fun <= lowest:
        return f"{lowest} was seen, the best is {result.best.fun}"
    if result.outcome is Outcome.INTERRUPTED and seen and not result.fun <= lowest:
        return f"{lowest} was seen, fun is {result.fun}"
    if result.success and math.isnan(result.fun):
        return "success without a value"
    return ""


def _resumed(method: str, form: str, kind: str, result: Any) -> str:
    """Say whether a run that was cut short goes on to another end than the run that was not."""
    if result.outcome is not Outcome.INTERRUPTED or "starts" in METHODS[method]:
        return ""
    whole, _ = _whole(method, form)
    rest = run(method, form, fine, [], state=result.state)
    away = np.max(abs(rest.x - whole.x))
    same = rest.outcome is whole.outcome and away <= NEAR.get(method, 0.0)
    return "" if same else f"resumed it ends {rest.outcome.name} at {rest.x}, not at {whole.x}"
