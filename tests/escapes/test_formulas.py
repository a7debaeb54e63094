"""Single updates that certificates rest on, each against its formula written out here."""

from math import pi, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unsaddle.core.phases import CERTIFIED, PROVE, START, PhaseName
from unsaddle.core.resolution import Resolution, resolve
from unsaddle.escapes import backtracking_jump, jump, recheck
from unsaddle.escapes.probe import Probe
from unsaddle.escapes.recurrence import Recurrence, carry_on
from unsaddle.numpy.ops import ops

GAMMA = 0.25
SHARP = Resolution(1.0, 1e-9, GAMMA, GAMMA, 1e3, GAMMA, 1.0)


class Record(SimpleNamespace):
    """Some fields of a state or of a memory."""

    def _replace(self, **fields: Any) -> "Record":
        return Record(**{**vars(self), **fields})

    def searched(self, phase: Any, escape: Any) -> "Record":
        return self._replace(phase=phase, escape=escape)


@pytest.mark.parametrize("episode", [1, 3])
@pytest.mark.parametrize("n", [2, 50])
def test_the_growth_that_certifies_and_what_it_counts_with(n: int, episode: int) -> None:
    """sqrt(2n/pi)/delta_j with delta_j = 6 delta/(pi j)^2; rate gamma - e growth, if rigorous."""
    x, delta, radius, bending = np.ones(n), 0.1, 1e-4, 1e-9
    known = {"smoothness": 2.0, "curvature_tol": GAMMA, "failure_probability": delta, "unit": 0.0}
    found = resolve(ops, x, x, episode, radius=radius, bending=bending, noise=1e-12, **known)
    error = bending + 2 * 1e-12 / radius
    needed = sqrt(2 * n / pi) / (6 * delta / (pi * episode) ** 2)
    assert found.needed == pytest.approx(needed)
    assert found.error == pytest.approx(error)
    assert found.rate == pytest.approx(GAMMA - error * needed, rel=1e-12)
    assert found.curvature_tol == GAMMA


def test_a_curvature_is_shown_only_beyond_its_error() -> None:
    resolution = SHARP._replace(error=GAMMA / 10)
    assert resolution.shows(-0.61 * GAMMA)
    assert not resolution.shows(-0.59 * GAMMA)


@pytest.mark.parametrize("seed", range(5))
def test_the_recurrence_is_christoffel_s_sum_and_the_pivots_of_t(seed: int) -> None:
    """K = sum_j q_j(-rate)^2 with |q_j(-rate)| = det(T_j + rate)/(beta_2 ... beta_{j+1})."""
    rng, k, share = np.random.default_rng(seed), 6, 0.5
    alpha, beta = rng.uniform(0.0, 1, k), rng.uniform(0.2, 1, k)
    full = np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)
    rate = 0.1 - float(np.linalg.eigvalsh(full)[0])
    resolution = SHARP._replace(rate=rate, curvature_tol=GAMMA)
    row, total = Recurrence(), 1.0
    for j in range(1, k + 1):
        row = carry_on(ops, share, row, resolution, alpha[j - 1], beta[j - 1], 1e-300)
        total += (np.linalg.det(full[:j, :j] + rate * np.eye(j)) / np.prod(beta[:j])) ** 2
        assert row.growth == pytest.approx(sqrt(total))
    minors = [
        np.linalg.det(full[:j, :j] + (share * GAMMA + 1e-9) * np.eye(j)) for j in range(1, k + 1)
    ]
    assert row.found == next((j for j, minor in enumerate(minors, 1) if minor <= 0), np.inf)


def jumping(curvature: float, slope: float = 0.0, value: float = 1.0, reach: float = 0.5) -> Any:
    """Give a state in which a jump along the second axis is due, of length 1/2 from f = value."""
    known = jump.Jump(value, np.inf, 0.0, reach, False)
    memory = Record(
        direction=np.array([0.0, 1.0]),
        gradient=np.array([0.0, slope]),
        resolution=SHARP,
        curvature=curvature,
        jump=known,
    )
    return Record(x=np.zeros(2), escape=memory, phase=0, stalled=False)


SETTINGS: Any = SimpleNamespace(escape=SimpleNamespace(length=0.5, decrease=0.01))


@pytest.mark.parametrize("slope", [-1.0, 1.0])
def test_a_jump_begins_downhill(slope: float) -> None:
    s = jump.aim(ops, SETTINGS, jumping(-GAMMA, slope), 1.0, np.zeros(2))
    assert s.escape.jump.reach == -0.5 * slope
    assert not s.escape.jump.unsure


@pytest.mark.parametrize(
    ("value", "curvature", "phase", "place"),
    [
        (0.98, -GAMMA, START, 0.5),  # as promised
        (0.995, -GAMMA, PhaseName.JUMP_FAILED, 0.0),  # less than promised, and curvature was shown
        (1.005, -GAMMA, PhaseName.JUMP_FAILED, 0.0),
        (0.995, 0.0, PROVE, 0.0),  # less, where none was shown
    ],
)
def test_a_jump_is_taken_if_f_falls_as_promised(
    value: float, curvature: float, phase: int, place: float
) -> None:
    s = jump.attempt(ops, SETTINGS, jumping(curvature), value, np.zeros(2))
    assert s.phase == phase
    assert s.x.tolist() == [0.0, place]


@pytest.mark.parametrize(
    ("found", "unpaired", "end"),
    [
        (np.inf, False, CERTIFIED),
        (3, False, PhaseName.JUMP_FAILED),
        (3, True, PhaseName.DOUBT),
    ],
)
def test_curvature_that_was_sought_and_found_is_never_certified_away(
    found: float, unpaired: bool, end: int
) -> None:
    e = SimpleNamespace(found=found, probe=SimpleNamespace(unpaired=unpaired))
    assert backtracking_jump.without_jump(ops, e) == end


@pytest.mark.parametrize(("bend", "end"), [(-0.9, PhaseName.DIP), (0.3, CERTIFIED)])
def test_what_the_recheck_sees_along_the_lowest_direction_decides(bend: float, end: int) -> None:
    """H u = bend u over r and over r/2: straight, and negative beyond gamma/2 or not."""
    u = np.array([1.0, 0.0])
    probe = Probe(kept=bend * u, behind=np.zeros(2), stage=recheck.LOWEST_HALF)
    known = {"probe": probe, "resolution": SHARP, "direction": u, "gradient": 0 * u}
    e = Record(curvature=0.0, largest_error=lambda ops: 1e-9, **known)
    p: Any = Record(products=False, escape=Record(probe_radius=0.0))
    s: Any = Record(escape=e)
    assert recheck.recheck(ops, p, s, 0.0, bend * u / 2).phase == end
