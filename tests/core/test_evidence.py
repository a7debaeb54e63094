"""From what a search has measured to the claim: the truth table, on floats and traced arrays."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from unsaddle import certify, find_negative_curvature
from unsaddle.certificate import certificate
from unsaddle.core.evidence import Claim, evidence, read
from unsaddle.core.kernel import Parameters, compose, then
from unsaddle.core.phases import PhaseName
from unsaddle.core.resolution import NO_RESOLUTION, Resolution
from unsaddle.descents.gd import gd
from unsaddle.escapes.nc import nc
from unsaddle.escapes.perturbation import perturbation
from unsaddle.escapes.proof import SEARCHES
from unsaddle.numpy.ops import ops as numpy_ops

GAMMA, ERROR = 0.25, 2.0**-10
RESOLVED = Resolution(1e-6, ERROR, 2 * GAMMA, GAMMA, 1e3, GAMMA, 1.0)  # gamma had to be raised
RESOLUTIONS = {"none": NO_RESOLUTION, "resolved": RESOLVED}
CURVATURES = {"positive": 0.5, "-0.4 gamma": -0.4 * GAMMA, "-0.6 gamma": -0.6 * GAMMA}
TOLD = {PhaseName.COARSER}  # of a claim that is less than was asked; no search ends so
ENDS = [PhaseName.START, PhaseName.SEARCH, *({c for c in PhaseName if c < 0} - TOLD)]
TABLE = [*product(ENDS, RESOLUTIONS, CURVATURES)]
FOUND = (PhaseName.NEGATIVE_CURVATURE, PhaseName.JUMP_FAILED)
PARAMETERS = Parameters(0.0, None, None, None, GAMMA, 1e-3)


def claim(ops: Any, x: Any, phase: Any, resolution: Resolution, curvature: Any) -> Claim:
    """Read a state whose search along x has measured this."""
    state = compose(gd, nc).start(ops, PARAMETERS, x, 0)
    memory = state.escape._replace(resolution=resolution, curvature=curvature)
    return read(ops, PARAMETERS, state._replace(phase=phase, escape=memory), 5)


@pytest.mark.parametrize(("end", "resolution", "curvature"), TABLE)
def test_what_is_claimed(end: PhaseName, resolution: str, curvature: str) -> None:
    """Certified or found only where a search has ended so, resolved something, and is sure."""
    x, resolved = np.array([3.0, 4.0]), resolution == "resolved"
    said = claim(numpy_ops, x, end, RESOLUTIONS[resolution], CURVATURES[curvature])
    found = end in FOUND and resolved and curvature == "-0.6 gamma"
    certified = end is PhaseName.CERTIFIED and resolved
    assert said.holds == (1 if certified else 0 if found else -1)
    assert said.failure_probability == (1e-3 if certified else 0.0 if found else 1.0)
    decided = end not in (PhaseName.START, PhaseName.STALLED, PhaseName.UNBOUNDED)
    raised = resolved and decided and not found
    assert said.curvature_tol == (2 * GAMMA if raised else GAMMA)
    assert said.raised == raised
    assert said.asked == GAMMA
    np.testing.assert_allclose(said.direction, [0.6, 0.8] if found else [0.0, 0.0])
    assert said.gradients == 5
    words = certificate(said)
    assert words.holds is {1: True, 0: False, -1: None}[said.holds]
    assert (words.direction is None) == (words.holds is not False)


@pytest.mark.jax
def test_traced_arrays_are_read_as_floats_are() -> None:
    jax = pytest.importorskip("jax")
    from unsaddle.jax.ops import ops

    jnp, x = jax.numpy, np.array([3.0, 4.0], np.float32)

    @jax.jit
    def traced(phase: Any, resolution: Any, curvature: Any) -> Claim:
        return claim(ops, jnp.array(x), phase, resolution, curvature)

    for end, resolution, curvature in TABLE:
        given = RESOLUTIONS[resolution], CURVATURES[curvature]
        expected = claim(numpy_ops, x, end, *given)
        arrays = jax.tree.map(jnp.float32, given)
        for name, one, other in zip(
            Claim._fields, traced(jnp.int32(end), *arrays), expected, strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=f"{name} at {end!r}")


def test_the_proof_s_evidence_counts_where_the_proof_was_at_work() -> None:
    solver = compose(gd, then(nc, SEARCHES["lanczos"]))
    p = PARAMETERS._replace(proof=None)
    state = solver.start(numpy_ops, p, np.ones(2), 0)
    state = state._replace(escape=state.escape._replace(curvature=-1.0, resolution=RESOLVED))
    assert evidence(numpy_ops, state).curvature == -1.0
    assert not evidence(numpy_ops, state).krylov
    proved = evidence(numpy_ops, state._replace(proving=True))
    assert proved.krylov
    assert proved.resolution == NO_RESOLUTION


def test_an_escape_that_does_not_search_has_no_evidence() -> None:
    state = compose(gd, perturbation).start(numpy_ops, PARAMETERS, np.ones(2), 0)
    said = read(numpy_ops, PARAMETERS, state._replace(phase=PhaseName.UNCERTIFIED), 0)
    assert said.holds == -1
    assert np.isnan(said.gradient_norm)


def test_after_a_jump_nothing_is_known_of_where_it_landed() -> None:
    state = compose(gd, nc).start(numpy_ops, PARAMETERS, np.ones(2), 0)
    state = state._replace(escape=state.escape._replace(curvature=-1.0, resolution=RESOLVED))
    for phase, known in ((PhaseName.JUMP, True), (PhaseName.LANDED, False)):
        said = read(numpy_ops, PARAMETERS, state._replace(phase=phase), 0)
        assert np.isfinite([said.curvature, said.gradient_norm]).all() == known


@pytest.mark.parametrize("search", SEARCHES)
def test_curvature_of_six_tenths_of_gamma_is_found_and_not_refuted(search: str) -> None:
    """lambda_min = -0.6 gamma: the claim lambda_min > -gamma is true, and so is what is said."""
    spectrum = np.array([-0.6 * GAMMA, 1.0, 1.0])
    for seed in range(10):
        found = find_negative_curvature(
            lambda x: spectrum * x, np.zeros(3), search, GAMMA, seed=seed
        )
        assert found.holds is False
        assert str(found).startswith(
            f"negative curvature found: {found.curvature:.3g} along certificate.direction"
        )
        assert "refuted" not in str(found)
        assert found.curvature == pytest.approx(spectrum @ found.direction**2)
        assert found.curvature < -GAMMA / 2


def test_a_certificate_says_what_it_says() -> None:
    certified = certify(lambda x: x, np.zeros(3), GAMMA)
    assert str(certified).startswith(
        "certified: no curvature below -0.25 here (chance of error at most"
    )
    assert certified
