"""Run a method's kernel on many samples at once, and stop it at given times to see them.

A ``Session`` drives one run. Here the phases of many are driven by arrays: samples that are in one
phase go together. It is the only loop beside the session's, and the tests' batches use it too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import inf, sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from unsaddle.core.kernel import Parameters, Phase, Solver, State, compose
from unsaddle.core.phases import BEGIN, GO, GRADIENT, NEW, VALUE
from unsaddle.core.records import fill, leaves
from unsaddle.landscapes import Landscape
from unsaddle.methods.table import STOCHASTIC, find, with_numbers
from unsaddle.paper.batch import BATCH

ENDLESS = 2**20  # a window that nothing gets to the end of
NEVER = 1e100  # a curvature that nothing has
SAMPLED = 2**41  # tells the samples' noise from that of the method
NO_EARLY_STOP = {
    "enough": inf, "soon": inf, "reach": inf, "fall": 0.0, "failure_probability": 1e-300,
    "window": ENDLESS,
}  # fmt: skip


class Kind(NamedTuple):
    """How an experiment speaks to a method."""

    names: Mapping[str, str]  # the paper's symbol -> the method's option; "" is seen to here
    point: Callable[[State], Any]  # where a sample is, as an offset from the saddle
    steps: Callable[[State], Any]  # its iterations so far
    searches: bool = False  # a search gives a direction, a descent a point


def _search(point: Callable[[State], Any], **names: str) -> Kind:
    names |= {"eta": "search_step", "r": "radius"}
    return Kind(MappingProxyType(names), point, lambda s: s.escape.steps, True)


def _descent(steps: Callable[[State], Any], **names: str) -> Kind:
    return Kind(MappingProxyType(names | {"eta": "step"}), lambda s: s.x, steps)


def _sphere(s: State) -> Any:
    return BATCH.times(s.escape.resolution.radius, s.escape.direction)


KINDS = {
    "pgd+nc": _search(_sphere),
    "ancgd": _search(lambda s: s.escape.direction, theta="search_friction"),
    "neon": _search(lambda s: s.escape.behind),
    "neon+": _search(lambda s: s.escape.behind, zeta="search_momentum"),
    "sgd+nc": _search(_sphere, start="start", xi="noise", m="search_batch", sigma=""),
    "pgd": _descent(lambda s: ENDLESS - s.left, r="radius"),
    "pagd": _descent(lambda s: ENDLESS - s.left, r="radius", theta="friction", nce=""),
    "psgd": _descent(lambda s: s.descent.steps, kick="radius", sigma=""),
}


def parameters(method: str, f: Landscape, values: Mapping[str, Any]) -> Parameters:
    """Give a method's parameters with the caption's symbols put in and every early stop off."""
    ell, rho, names = f.smoothness, f.hessian_lipschitz, KINDS[method].names
    known: Any = {"smoothness": ell, "hessian_lipschitz": rho, "decrease_available": 1.0}
    if method in STOCHASTIC:
        known |= {"stochastic_smoothness": ell, "variance": 0.0}
    start = find(method).from_theory(n=f.n, tol=min(1e-2, ell**2 / rho), **known)
    options = {names[symbol]: v for symbol, v in values.items() if names.get(symbol)}
    options |= {name: v for name, v in NO_EARLY_STOP.items() if name in start.escape._fields}
    if method == "pagd":
        gamma = values["theta"] ** 2 / values["eta"] if values.get("nce") else NEVER
        options |= {"nce_curvature": gamma, "nce_length": gamma / (4 * rho)}
    elif method == "neon+":
        options["curvature_tol"] = NEVER  # its extraction alone is compared, without early return
    return with_numbers(start, options)


def solver_of(method: str) -> Solver:
    """Give a method without the proof behind its escape: no sample gets so far."""
    line = find(method)
    return compose(line.descent, line.escape._replace(proof=None))


def first_state(ops: Any, method: str, p: Parameters, origin: Any, seeds: Any, f: Landscape) -> Any:
    """Give the state in which an escape has just begun at the saddle, as the captions have it."""
    solver = solver_of(method)
    state = solver.start(ops, p, origin, seeds)
    if BEGIN in solver.phases:
        begin = solver.phases[BEGIN].update
        state = begin(ops, p, state, f.value(origin), f.gradient(origin))
    if method.startswith("neon"):  # the captions start it in the ball, NEON itself on the sphere
        within = ops.uniform(origin, seeds, 1) ** (1 / ops.size(origin))
        e = state.escape
        shrunk = {name: ops.times(within, getattr(e, name)) for name in ("behind", "ahead")}
        state = state._replace(escape=e._replace(**shrunk))
    return state


def trajectory(
    method: str,
    f: Landscape,
    values: Mapping[str, Any],
    times: Iterable[int],
    seeds: np.ndarray,
    ops: Any = BATCH,
) -> Iterator[np.ndarray]:
    """Run samples from the saddle at the origin."""
    kind, p, solver = KINDS[method], parameters(method, f, values), solver_of(method)
    origin = np.zeros((len(seeds), f.n), values.get("dtype", np.float64))
    state = first_state(ops, method, p, origin, seeds, f)
    answers = Answers(f.value(origin), f.gradient(origin))
    if method in ("pagd", "neon+") and not values.get("nce"):
        f = replace(f, value=lambda x: np.zeros(len(x)))  # values are for tests that are off
    answer = partial(_answer, f, ops, values.get("sigma", 0.0))
    for time in times:
        going = partial(unfinished, kind, time)
        state, answers = run(ops, solver, p, answer, going, state, answers)
        if np.any(going(state)):
            raise RuntimeError(f"{method} ended before step {time}: an early stop is not off")
        yield kind.point(state).copy()


def unfinished(kind: Kind, time: int, s: State) -> Any:
    """Say which samples have iterations to make before a time, or one to finish."""
    return (kind.steps(s) < time) | ((s.phase > GO) & (s.phase < BEGIN))


def run(
    ops: Any, solver: Solver, p: Parameters, answer: Any, going: Any, s: State, answers: Any
) -> tuple[State, Any]:
    """Take all samples on until none is going any more; those in one phase go together."""
    m = len(s.x)

    def step(phase: Phase, s: State, answers: Any) -> tuple[State, Any]:
        if phase.needs:
            point, size = phase.at(ops, p, s), phase.size(p)
            s = s._replace(drawn=s.drawn + size * (phase.sample == NEW))
            answers = answer(phase, point, size, s, answers)
        value, gradient, *_ = answers
        return phase.update(ops, p, s, value, gradient.copy()), answers

    while True:
        code = np.where(going(s), np.broadcast_to(s.phase, m), -1)
        least, most = int(code.min()), int(code.max())
        if most < 0:
            return s, answers
        if least == most:
            s, answers = step(solver.phases[most], s, answers)
            continue
        groups = {each: np.flatnonzero(code == each) for each in np.unique(code[code >= 0])}
        parts = [
            step(solver.phases[each], _take(s, rows, m), _take(answers, rows, m))
            for each, rows in groups.items()
        ]
        states, answered = zip(*parts, strict=True)
        s = _joined(s, groups.values(), m, states)
        answers = _joined(answers, groups.values(), m, answered)


class Answers(NamedTuple):
    """What is known of f at each sample's last query."""

    value: Any
    gradient: Any
    blur: Any = 0.0  # of the sample that the gradient was measured on


def _answer(
    f: Landscape, ops: Any, sigma: float, phase: Phase, point: Any, size: int, s: State, last: Any
) -> Any:
    """Answer with f and its gradient; sigma > 0 adds the samples' noise to each coordinate."""
    value, gradient, blur = last
    value = f.value(point) if phase.needs & VALUE else value
    gradient = f.gradient(point) if phase.needs & GRADIENT else gradient
    if sigma:
        if phase.sample == NEW:
            blur = sigma / sqrt(size) * ops.normal(point, s.seed + SAMPLED, s.drawn)
        gradient = gradient + blur
    return Answers(value, gradient, blur)


def _take(record: Any, rows: np.ndarray, m: int) -> Any:
    return fill(record, lambda _, old: old[rows] if np.ndim(old) and len(old) == m else old)


def _joined(record: Any, groups: Iterable[np.ndarray], m: int, parts: Iterable[Any]) -> Any:
    """Put what became of each group of rows in place; what is one number for all remains one."""
    known = [dict(leaves(part)) for part in parts]

    def whole(path: str, old: Any) -> Any:
        news = [part[path] for part in known]
        if np.ndim(old) == 0 and all(np.ndim(new) == 0 and new == old for new in news):
            return old
        shape = (m, *max((np.shape(new)[1:] for new in news), key=len))
        joined = np.array(np.broadcast_to(old, shape))
        for rows, new in zip(groups, news, strict=True):
            joined[rows] = new
        return joined

    return fill(record, whole)
