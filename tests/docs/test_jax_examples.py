"""Every example on JAX: leaves the saddle where optax's own optimisers stay."""

import pytest

from benchmarks.escapes.race_jax import RUNNERS, many, run
from tests.docs.test_backend_docs import PROBLEMS, built, leave_where_others_stay
from tests.often import most_at_night

OFTEN = "matrix_factorisation"  # the others at night, as they are tried on torch


@pytest.mark.parametrize("problem", most_at_night([OFTEN], PROBLEMS))
def test_an_example(problem):
    """``escape(optax.adam)`` and ``ancgd`` certify a minimum; sgd and adam end where they began."""
    names = [*RUNNERS]
    leave_where_others_stay(run, built(problem), names[:2], names[2:])


@pytest.mark.nightly  # tests/jax/test_jax.py has many seeds of a smaller problem
def test_many_seeds():
    problem = built(OFTEN)
    runs = many(problem, 16)
    assert runs.all.success.all()
    assert runs.all.gradients.max() < problem.gradients
    assert runs.best.fun == runs.all.fun.min() < 1e-5
