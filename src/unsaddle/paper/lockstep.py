"""Run a method's kernel on many samples at once, and stop it at given times to look at them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from unsaddle.escapes.neon_plus import CHECK
from unsaddle.kernel import BEGIN, GO, GRADIENT, VALUE, Parameters, State
from unsaddle.landscapes import Landscape
from unsaddle.methods import METHODS, override
from unsaddle.ops import batch

SEARCH = BEGIN + 1
PLAIN = {"enough": inf, "reach": inf, "fall": 0.0, "failure_probability": 1e-300}
NEVER = 1e100  # a curvature that nothing has


class Kind(NamedTuple):
    """How an experiment speaks to a method."""

    names: Mapping[str, str]  # the paper's symbol -> the method's option
    searches: bool  # a search gives a direction, a descent a point
    point: Callable[[State], Any]  # where a sample is, as an offset from the saddle


def _names(**names: str) -> Mapping[str, str]:
    return MappingProxyType(names | {"r": "radius"})


KINDS = {
    "pgd+nc": Kind(
        _names(eta="search_step"),
        True,
        lambda s: batch.times(s.escape.sight.radius, s.escape.direction),
    ),
    "ancgd": Kind(
        _names(eta="search_step", theta="search_friction"), True, lambda s: s.escape.direction
    ),
    "neon": Kind(_names(eta="search_step"), True, lambda s: s.escape.behind),
    "neon+": Kind(
        _names(eta="search_step", zeta="search_momentum"), True, lambda s: s.escape.behind
    ),
    "pgd": Kind(_names(eta="step"), False, lambda s: s.x),
    "pagd": Kind(_names(eta="step", theta="friction"), False, lambda s: s.x),
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
    start = METHODS[method].from_theory(
        smoothness=f.smoothness,
        hessian_lipschitz=f.hessian_lipschitz,
        tol=min(1e-2, f.smoothness**2 / f.hessian_lipschitz),
        n=f.n,
        decrease_available=1.0,
    )
    options = {KINDS[method].names[s]: v for s, v in values.items() if s in KINDS[method].names}
    options |= {name: v for name, v in PLAIN.items() if name in start.escape._fields}
    if method == "pagd":
        gamma = values["theta"] ** 2 / values["eta"] if values.get("nce") else NEVER
        options |= {"nce_curvature": gamma, "nce_length": gamma / (4 * f.hessian_lipschitz)}
    elif method == "neon+":
        options["curvature_tol"] = NEVER  # its extraction alone is compared, without early return
    return override(start, options)


def variant(**functions: Callable[..., Any]) -> Any:
    """Give the batch backend with some of its functions replaced, such as where samples start."""
    return SimpleNamespace(**{**vars(batch), **functions})


CIRCLE = variant(uniform=lambda like, seed, episode: 1.0)


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

    return variant(noise=noise, size=lambda x: n)


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
        values: Symbol -> value.
        times: After how many iterations to look, ascending.
        seeds: One per sample.
        ops: The backend, or a variant.

    Yields:
        The samples at each time, one row each.
    """
    kind, p = KINDS[method], parameters(method, f, values)
    solver = METHODS[method].solver
    origin = np.zeros((len(seeds), f.n), values.get("dtype", np.float64))
    state = solver.start(ops, p, origin, seeds)
    seen = (f.value(origin), f.gradient(origin))
    state = solver.phases[BEGIN].update(ops, p, state, *seen)
    if method.startswith("neon"):  # the captions start it in the ball, NEON itself on the sphere
        within = ops.uniform(origin, seeds, 1) ** (1 / ops.size(origin))
        state = state._replace(escape=_scaled(state.escape, within))
    done = 0
    for time in times:
        p = p._replace(escape=p.escape._replace(window=time))
        awake = time > done
        phase = SEARCH if kind.searches else GO
        if awake:
            state = state._replace(phase=np.full(len(seeds), phase), left=time - done)
            state, seen = _run(solver.phases, p, state, seen, f, ops, kind.searches)
        done = time
        yield kind.point(state).copy()


def _scaled(escape: Any, factor: Any) -> Any:
    return escape._replace(
        behind=batch.times(factor, escape.behind), ahead=batch.times(factor, escape.ahead)
    )


def _run(phases: Any, p: Parameters, s: State, seen: Any, f: Landscape, ops: Any, searches: bool):
    """Take all samples on until each has finished; those in one phase go together."""
    m = len(s.x)
    while True:
        code = np.broadcast_to(s.phase, m)
        awake = (code == SEARCH) | (code >= CHECK) if searches else code < BEGIN
        codes = np.unique(code[awake])
        if len(codes) == 0:
            return s, seen
        if len(codes) == 1 and awake.all():
            s, seen = _look(phases[int(codes[0])], p, s, seen, f, ops)
            continue
        for each in codes:
            rows = np.flatnonzero(awake & (code == each))
            part = _take((s, seen), rows, m)
            s, seen = _put((s, seen), rows, m, _look(phases[int(each)], p, *part, f, ops))


def _look(phase: Any, p: Parameters, s: State, seen: Any, f: Landscape, ops: Any) -> Any:
    value, gradient = seen
    if phase.needs:
        point = phase.at(ops, p, s)
        value = f.value(point) if phase.needs & VALUE else value
        gradient = f.gradient(point) if phase.needs & GRADIENT else gradient
    return phase.update(ops, p, s, value, gradient.copy()), (value, gradient)


def _take(tree: Any, rows: np.ndarray, m: int) -> Any:
    if isinstance(tree, tuple):
        return _like(tree, [_take(each, rows, m) for each in tree])
    return tree[rows] if np.ndim(tree) and len(tree) == m else tree


def _put(tree: Any, rows: np.ndarray, m: int, new: Any) -> Any:
    if isinstance(tree, tuple):
        return _like(tree, [_put(a, rows, m, b) for a, b in zip(tree, new, strict=True)])
    shape = (m, *np.shape(new)[1:]) if np.ndim(new) else (m,)
    whole = np.array(np.broadcast_to(tree, shape))
    whole[rows] = new
    return whole


def _like(tree: Any, parts: list[Any]) -> Any:
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
