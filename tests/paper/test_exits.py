"""As printed is what the transcriptions do; the rules that end windows early are sound."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from tests.drive import starts
from tests.often import most_at_night
from tests.paper import algorithm2, algorithm5
from tests.paper.ask import run
from unsaddle import landscapes
from unsaddle.core.phases import BEGIN, CERTIFIED
from unsaddle.core.session import Session
from unsaddle.methods.table import METHODS
from unsaddle.numpy.ops import ops
from unsaddle.paper.extras import adversary, applications, exits, theorems
from unsaddle.paper.extras.quadratics import quadratic
from unsaddle.paper.extras.sampled import known

pytestmark = pytest.mark.slow

WORDS = ("smoothness", "hessian_lipschitz", "tol", "decrease_available")


def given(n, eps):
    return {name: value for name, value in known(n, eps).items() if name in WORDS}


@pytest.mark.parametrize("method", ["pgd+nc", "ancgd"])
def test_as_printed_is_the_transcription(method):
    """h, n = 10, curvature 0.1: the same point to 1e-9, the same gradients but for a few."""
    f, constants = landscapes.h(10, 0.1), given(10, 0.1)
    p = METHODS[method].from_theory(n=10, **constants)
    draws, tail = starts(10, p.escape.radius, 0), (p.escape.window, p.escape.radius)
    tol, rho = constants["tol"], f.hessian_lipschitz
    if method == "ancgd":
        literal = algorithm2.ancgd(
            f.saddles[0], 10**6, *p.descent, *tail, tol, rho, draws, 16 * 2.0**-53
        )
    else:
        window, radius = tail
        literal = algorithm5.pgd_nc(
            f.saddles[0], 10**6, f.smoothness, rho, tol, radius, window, draws
        )
    asks, x = run(literal, f.value, f.gradient)
    mine = exits.as_printed(method, f, constants, 0, 10**6)
    np.testing.assert_allclose(mine.x, x, atol=1e-9)
    assert not mine.certified
    again = sum("g" in ask.needs for ask in asks) - mine.gradients  # which the kernel keeps
    assert 0 <= again <= 0.01 * mine.gradients
    assert mine.gradients > 2 * p.escape.window  # a window at the saddle, and one at the end


@pytest.mark.parametrize("method", ["pgd", "pagd", "neon", "neon+"])
@pytest.mark.parametrize("delta", most_at_night([0.3], [0.3, 0.1]))
def test_a_point_with_curvature_beyond_gamma_is_certified_no_more_often_than_delta(method, delta):
    """lambda_min = -gamma (1 + 1e-9), the others at and above 0: 400 seeds, 3 standard errors."""
    n, gamma = 10, 0.05
    eigenvalues = np.append(-gamma * (1 + 1e-9), np.linspace(0.0, 1.0, n - 1))
    f = quadratic(eigenvalues)
    constants = {"smoothness": 1.0, "hessian_lipschitz": 1.0, "tol": gamma**2}
    constants |= {"failure_probability": delta, "decrease_available": 1.0}
    p, line = METHODS[method].from_theory(n=n, **constants), METHODS[method]
    false = 0
    for seed in range(400):
        rules = exits.Neon(p) if "neon" in method else exits.Perturbed(p, 0.0)
        start = line.solver.start(ops, p, np.zeros(n), seed)._replace(phase=BEGIN)
        session = Session(ops, line.solver, p, start, 0.0, f.gradient(np.zeros(n)))
        for _ in range(400):
            query = session.ask()
            if query is None or session.state.episode > 1 or session.state.proving:
                break
            gradient, before = f.gradient(query.point), session.state
            rules.see(query, before, gradient.copy())
            session.tell(float(f.value(query.point)), gradient)
            session.state = rules.after(query, before, session.state)
        false += session.state.phase == CERTIFIED
    assert false / 400 <= delta + 3 * np.sqrt(delta * (1 - delta) / 400)


@pytest.mark.parametrize("method", ["pgd", "neon", "neon+"])
def test_the_rules_end_windows_at_both_ends(method):
    """Fewer gradients than as printed, and a certificate, which print does not give."""
    f, constants = landscapes.h(10, 0.1), given(10, 0.1)
    full, early = (
        run(method, f, constants, 0, 10**5) for run in (exits.as_printed, exits.with_exits)
    )
    assert early.gradients < full.gradients / 4
    assert (full.certified, early.certified) == (False, True)
    assert abs(early.x[0]) == pytest.approx(2 * np.sqrt(0.1), rel=0.05)


def test_an_adversary_turns_by_the_bound_and_at_right_angles():
    rng = np.random.default_rng(0)
    for n in (2, 5):
        y, eigenvalues = rng.standard_normal((50, n)), rng.standard_normal(n)
        push = adversary.attacked(eigenvalues, 3.0, y) - eigenvalues * y
        np.testing.assert_allclose(np.linalg.norm(push, axis=-1), 3 * (y**2).sum(-1))
        np.testing.assert_allclose((push * y).sum(-1), 0, atol=1e-12)
        assert (push[:, 0] * y[:, 0] > 0).all()  # the step, against it, makes y_1 smaller


def test_the_reduced_adversary_is_the_whole_one():
    """NC-finding in two coordinates and in all hundred: 2,000 searches each, 5 standard errors."""
    reduced = adversary.searches()["NC-finding"]
    whole = reduced._replace(ops=adversary.BATCH, coordinates=adversary.N)
    p, q = (adversary.found(each, 0.0, 10, 30.0, 2000, 0) for each in (reduced, whole))
    assert 0.1 < p < 0.9
    assert abs(p - q) < 5 * np.sqrt(0.5 / 2000)


def test_iterates_of_theorem_22_are_counted_until_they_stay_second_order(monkeypatch):
    """On the quartic: the saddle itself is none, and a longer look finds no others."""
    f = landscapes.quartic()
    tol = 0.99**2 / f.hessian_lipschitz
    few, total = theorems.others(f, tol, 3, 0)
    assert total > 10**4
    assert (few >= 1).all()
    monkeypatch.setattr(theorems, "STAY", 50)
    np.testing.assert_array_equal(theorems.others(f, tol, 3, 0)[0], few)
    monkeypatch.setattr(theorems, "MOST", 10)
    np.testing.assert_array_equal(theorems.others(f, tol, 3, 0)[0], total)


def test_the_applications_start_at_saddles_and_their_constants_bound_the_way():
    for f in (applications.matrix_completion(4, 1), applications.tensor_decomposition(3)):
        x = f.saddles[0]
        values = np.linalg.eigvalsh(f.hessian(x))
        assert np.linalg.norm(f.gradient(x)) < 1e-12
        assert values[0] < -0.05
        assert max(abs(values)) < f.smoothness
        step = 1e-6 * np.ones(f.n)
        np.testing.assert_allclose(f.hessian(x) @ step, f.gradient(x + step), atol=1e-10)
