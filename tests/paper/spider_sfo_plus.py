"""SPIDER-SFO+ of Fang, Li, Lin & Zhang (2018) as it is described.

The numbered differences are those of `descents/spider.py`; the last one is that of
`escapes/every_epoch.py`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from numpy.linalg import norm

from .ask import Asking, Vector, sampled_grad

Search = Callable[[Vector, bool], Asking[Vector | None]]  # at x, which may be on a slope


def spider_sfo_plus(
    x0: Vector,
    step: float,  # eta
    period: int,  # q
    epoch: int,  # K
    stop: float,  # 2 eps~
    samples: Callable[[str], Iterator[Any]],  # of "S1" and "S2"
    search: Search,  # gives the point after a jump, or None
) -> Asking[Vector]:
    """Descend in epochs of K steps, with a search for negative curvature between two of them.

    Returns:
        The first x^k with a small estimate of the gradient and no negative curvature.
    """
    x, before, v = x0, x0, x0
    drawn, taken, jumped = 0, 0, False
    while True:  # Difference 2: no search at x^0. Printed: the first epoch begins with one.
        if drawn % period == 0:  # mod(k, q) = 0
            v = yield from sampled_grad(x, next(samples("S1")))
            drawn = 0
        else:
            sample = next(samples("S2"))
            behind = yield from sampled_grad(before, sample)
            here = yield from sampled_grad(x, sample)
            v = here - behind + v
        drawn += 1
        if norm(v) <= stop and not jumped:
            lower = yield from search(x, False)  # Printed: x is returned unsearched.
            if lower is None:
                return x
            # Difference 3: v is drawn anew, and one step is taken. Printed: K steps of +-eta w.
            x, drawn, taken, jumped = lower, 0, 0, True
            continue
        before, x = x, x - step * v / norm(v)
        taken, jumped = taken + 1, False
        if taken == epoch:
            taken = 0
            lower = yield from search(x, True)
            if lower is not None:
                x, drawn, jumped = lower, 0, True
