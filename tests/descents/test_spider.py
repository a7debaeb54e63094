"""SPIDER: the estimate of the gradient, its error, its epochs and its length of step."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.sampled import trace
from unsaddle.core.kernel import Parameters, compose
from unsaddle.core.phases import BEGIN, GO
from unsaddle.core.session import Session
from unsaddle.descents.spider import spider
from unsaddle.escapes.never import never
from unsaddle.methods import table1_stochastic_theory as theory
from unsaddle.methods.table import STOCHASTIC
from unsaddle.numpy.ops import ops
from unsaddle.paper.extras.sampled import known

EPS, SIGMA, L, N = 0.1, 1.0, 2.0, 5
FOUND = theory.spider(
    stochastic_smoothness=L, hessian_lipschitz=1.0, tol=EPS, curvature_tol=0.3, variance=SIGMA**2
)
BEND = SIGMA / np.sqrt(2 * N)  # a coordinate, of each of two sources
SOLVER = compose(spider, never)
Mean = Callable[[np.ndarray, int, int], np.ndarray]


def test_the_formulas() -> None:
    """By hand: sigma/eps = 10, n_0 = 1."""
    assert tuple(FOUND) == (EPS / L, 200, 20, 10.0, 6.0)
    quiet = theory.spider(
        stochastic_smoothness=L, hessian_lipschitz=1.0, tol=EPS, curvature_tol=0.3, variance=0.0
    )
    assert (quiet.first_batch, quiet.batch, quiet.period) == (1, 1, 1.0)


def test_at_table_1_s_point_as_in_print() -> None:
    """h with n = 10 and curvature .1: S_1 = S_2 = 2 and K = 20."""
    given = STOCHASTIC["spider+"].from_theory(n=10, preset="printed", **known(10, 0.1)).descent
    assert (given.first_batch, given.batch, given.period, given.epoch) == (2, 2, 1.0, 20.0)


def walk(steps: int, mean: Mean) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """So many steps from ones: v^k, x^k and x^{k+1} of each."""
    p = Parameters(-1.0, spider.settings(*FOUND._replace(epoch=1e9)), never.settings())
    session = Session(ops, SOLVER, p, SOLVER.start(ops, p, np.full(N, 1.0), 0))
    seen = []
    while len(seen) < steps:
        query = session.ask()
        assert query is not None
        session.tell(gradient=mean(query.point, query.first, query.size))
        if session.state.phase == GO:
            d = session.state.descent
            seen.append((d.estimate.copy(), d.before.copy(), session.state.x.copy()))
    return seen


@pytest.mark.slow
def test_the_error_of_the_estimate_is_within_eps() -> None:
    """The mean of |v - g|^2 over 200 runs, at every step of two periods, is at most eps^2.

    Gradients of samples have variance sigma^2 at most, and their Hessians differ by L. The standard
    error of such a mean is about 5 %, so that 1.4 eps^2 would be seen (4 sigmas).
    """
    curvatures, trials, steps = np.linspace(0.0, 1.0, N), 200, 20
    errors = np.zeros((trials, steps))
    for trial in range(trials):

        def mean(x: np.ndarray, first: int, size: int, trial: int = trial) -> np.ndarray:
            rng = np.random.default_rng((trial, first))
            pull, bend = rng.standard_normal((2, N))
            wave = np.sin(L * (x - 1.0) / BEND)
            noise = BEND * (pull + bend * wave)
            return curvatures * x + noise / np.sqrt(size)

        rows = walk(steps, mean)
        errors[trial] = [np.sum((v - curvatures * x) ** 2) for v, x, _ in rows]
    assert EPS**2 / 4 <= errors.mean(0).max() <= 1.2 * EPS**2


def test_without_noise_the_estimate_is_the_gradient_and_steps_have_one_length() -> None:
    curvatures = np.linspace(-0.5, 1.0, N)
    for v, x, after in walk(30, lambda x, first, size: curvatures * x):
        np.testing.assert_allclose(v, curvatures * x, atol=1e-12)
        assert np.linalg.norm(after - x) == pytest.approx(FOUND.step)


def test_an_epoch_ends_with_a_report_that_says_so() -> None:
    p = Parameters(1e-3, spider.settings(*FOUND), never.settings())
    start = SOLVER.start(ops, p, np.full(N, 1.0), 0)
    _, states = trace(
        SOLVER,
        p,
        start,
        None,
        answer=lambda x, first: x,
        until=lambda s: s.phase == BEGIN,
        limit=11,
    )
    assert (states[-1].phase, states[-1].stalled, states[-1].descent.taken) == (BEGIN, True, 0)
    small = start._replace(x=np.full(N, 1e-9))
    _, states = trace(SOLVER, p, small, None, answer=lambda x, first: x, limit=1)
    assert (states[-1].phase, states[-1].stalled) == (BEGIN, False)
