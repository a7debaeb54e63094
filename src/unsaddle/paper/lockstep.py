"""Run a method's kernel on many samples at once, and stop it at given times to look at them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import inf, sqrt
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from unsaddle.kernel import BEGIN, GO, GRADIENT, NEW, VALUE, Parameters, State
from unsaddle.landscapes import Landscape
from unsaddle.methods import METHODS, STOCHASTIC, override
from unsaddle.ops import batch

ENDLESS = 2**20  # a window that nothing gets to the end of
PLAIN = {"enough": inf, "soon": inf, "reach": inf, "fall": 0.0, "failure_probability": 1e-300}
NEVER = 1e100  # a curvature that nothing has
SAMPLED = 2**41  # tells the samples' noise from that of the method


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
    return batch.times(s.escape.sight.radius, s.escape.direction)


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
    """Give a method's parameters with the caption's symbols put in and every early stop off.

    Args:
        method: Its name.
        f: The landscape.
        values: Symbol -> value; what the method does not have is passed over.

    Returns:
        The parameters. PAGD has NCE, of gamma = theta^2/eta and s = gamma/(4 rho), if nce is 1.
    """
    ell, rho, names = f.smoothness, f.hessian_lipschitz, KINDS[method].names
    known = {"smoothness": ell, "hessian_lipschitz": rho, "tol": min(1e-2, ell**2 / rho), "n": f.n}
    known["decrease_available"] = 1.0
    if method in STOCHASTIC:
        known |= {"stochastic_smoothness": ell, "variance": 0.0, "failure_probability": 1e-3}
        gamma = sqrt(rho * known["tol"])
        start = STOCHASTIC[method].theory(**known, curvature_tol=gamma, printed=False)
    else:
        start = METHODS[method].from_theory(**known)
    options = {names[symbol]: v for symbol, v in values.items() if names.get(symbol)}
    plain = PLAIN | {"window": ENDLESS}
    options |= {name: v for name, v in plain.items() if name in start.escape._fields}
    if method == "pagd":
        gamma = values["theta"] ** 2 / values["eta"] if values.get("nce") else NEVER
        options |= {"nce_curvature": gamma, "nce_length": gamma / (4 * f.hessian_lipschitz)}
    elif method == "neon+":
        options["curvature_tol"] = NEVER  # its extraction alone is compared, without early return
    return override(start, options)


def variant(ops: Any, **functions: Callable[..., Any]) -> Any:
    """Give a backend with some of its functions replaced, such as where samples start."""
    return SimpleNamespace(**{**vars(ops), **functions})


CIRCLE = variant(batch, uniform=lambda like, seed, episode: 1.0)


def reduced(n: int) -> Any:
    """Give a backend in which two coordinates stand for n: x1, and the length of all others.

    Exact wherever f depends on x2, ..., xn through their length only, as h does.

    Args:
        n: The dimension that is stood for.

    Returns:
        The backend.
    """
    from scipy.special import gammaincinv

    def noise(like: Any, seed: Any, episode: Any) -> Any:
        rest = batch.uniform(like, np.asarray(seed) + 2**40, episode)
        length = np.sqrt(2 * gammaincinv((n - 1) / 2, rest))
        return np.stack([batch.noise(like, seed, episode)[:, 0], length], -1)

    return variant(batch, noise=noise, size=lambda x: n)


def trajectory(
    method: str,
    f: Landscape,
    values: Mapping[str, Any],
    times: Iterable[int],
    seeds: np.ndarray,
    ops: Any = batch,
) -> Iterator[np.ndarray]:
    """Run samples from the saddle at the origin.

    Args:
        method: A key of ``KINDS``.
        f: The landscape.
        values: Symbol -> value; ``sigma`` is the standard deviation, in each coordinate, of noise
            that the samples of a gradient add to it, the same wherever the same sample is asked.
        times: After how many iterations to look, ascending.
        seeds: One per sample.
        ops: The backend, or a variant.

    Yields:
        The samples at each time, one row each.

    Raises:
        RuntimeError: If a sample has ended before its time.
    """
    kind, p = KINDS[method], parameters(method, f, values)
    solver = (METHODS | STOCHASTIC)[method].solver
    origin = np.zeros((len(seeds), f.n), values.get("dtype", np.float64))
    state = solver.start(ops, p, origin, seeds)
    seen = (f.value(origin), f.gradient(origin), 0.0)
    if BEGIN in solver.phases:
        state = solver.phases[BEGIN].update(ops, p, state, *seen[:2])
    if method.startswith("neon"):  # the captions start it in the ball, NEON itself on the sphere
        within = ops.uniform(origin, seeds, 1) ** (1 / ops.size(origin))
        state = state._replace(escape=_scaled(state.escape, within))
    if method in ("pagd", "neon+") and not values.get("nce"):
        f = replace(f, value=lambda x: np.zeros(len(x)))  # values are for tests that are off
    look = partial(_look, p, f, ops, values.get("sigma", 0.0))
    for time in times:
        state, seen = _run(solver.phases, look, partial(awake, kind, time), state, seen)
        if np.any(awake(kind, time, state)):
            raise RuntimeError(f"{method} ended before step {time}: an early stop is not off")
        yield kind.point(state).copy()


def _scaled(escape: Any, factor: Any) -> Any:
    return escape._replace(
        behind=batch.times(factor, escape.behind), ahead=batch.times(factor, escape.ahead)
    )


def awake(kind: Kind, time: int, s: State) -> Any:
    """Say which samples have iterations to make before a time, or one to finish."""
    return (kind.steps(s) < time) | ((s.phase > GO) & (s.phase < BEGIN))


def _run(phases: Any, look: Any, waiting: Any, s: State, seen: Any) -> tuple[State, Any]:
    """Take all samples on until each has finished; those in one phase go together."""
    m = len(s.x)
    while True:
        code = np.where(waiting(s), np.broadcast_to(s.phase, m), -1)
        least, most = int(code.min()), int(code.max())
        if most < 0:
            return s, seen
        if least == most:
            s, seen = look(phases[most], s, seen)
            continue
        groups = [(phase, np.flatnonzero(code == each)) for each, phase in phases.items()]
        groups = [(phase, rows) for phase, rows in groups if len(rows)]
        after = [look(phase, *_take((s, seen), rows, m)) for phase, rows in groups]
        s, seen = _put((s, seen), [rows for _, rows in groups], m, after)


def _look(
    p: Parameters, f: Landscape, ops: Any, sigma: float, phase: Any, s: State, seen: Any
) -> tuple[State, Any]:
    """Look where a phase wants to; sigma > 0 adds the samples' noise to each coordinate."""
    value, gradient, blur = seen
    if phase.needs:
        point, many = phase.at(ops, p, s), phase.size(p)
        s = s._replace(drawn=s.drawn + many * (phase.sample == NEW))
        value = f.value(point) if phase.needs & VALUE else value
        gradient = f.gradient(point) if phase.needs & GRADIENT else gradient
        if sigma:
            if phase.sample == NEW:
                blur = sigma / sqrt(many) * ops.noise(point, s.seed + SAMPLED, s.drawn)
            gradient = gradient + blur
    return phase.update(ops, p, s, value, gradient.copy()), (value, gradient, blur)


def _take(tree: Any, rows: np.ndarray, m: int) -> Any:
    if isinstance(tree, tuple):
        return _like(tree, [_take(each, rows, m) for each in tree])
    return tree[rows] if np.ndim(tree) and len(tree) == m else tree


def _put(tree: Any, groups: Any, m: int, news: Any) -> Any:
    """Put what became of each group of rows in place; what is one number for all remains one."""
    if isinstance(tree, tuple):
        pairs = zip(tree, zip(*news, strict=True), strict=True)
        return _like(tree, [_put(each, groups, m, new) for each, new in pairs])
    if np.ndim(tree) == 0 and all(np.ndim(new) == 0 and new == tree for new in news):
        return tree
    shape = (m, *max((np.shape(new)[1:] for new in news), key=len))
    whole = np.array(np.broadcast_to(tree, shape))
    for rows, new in zip(groups, news, strict=True):
        whole[rows] = new
    return whole


def _like(tree: Any, parts: list[Any]) -> Any:
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
