"""``Escape`` where it has nothing to do: the step is the inner optimiser's, after a look."""

import copy
import math

import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch_problem import Problem  # noqa: E402
from unsaddle.core.records import leaves  # noqa: E402


def idling(decay=0.0):
    """Far from the saddle, around an optimiser that hardly moves."""
    problem = Problem()
    problem.x.data.fill_(2.0)
    adam = torch.optim.Adam(problem.params, lr=1e-3, weight_decay=decay)
    return problem, front.Escape(adam, tol=1e-3)


def idles(opt):
    with torch.no_grad():
        return opt._idle(opt._session, 0.0)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_the_run_is_as_if_it_had_been_told_every_answer(decay, monkeypatch):
    (problem, opt), (other, told) = idling(decay), idling(decay)
    monkeypatch.setattr(told, "_idle", lambda *_: False)
    for _ in range(30):
        opt.step(problem.closure)
        told.step(loss=other.closure())
    assert idles(opt)
    assert opt.queries == told.queries == 30
    assert all(map(torch.equal, problem.params, other.params))
    pairs = zip(leaves(opt._session.state), leaves(told._session.state), strict=True)
    for (name, one), (_, same) in pairs:
        alike = all(map(torch.equal, one, same)) if isinstance(one, list) else str(one) == str(same)
        assert alike, name


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_what_is_not_finite_never_reaches_the_inner_optimiser(wrong, where):
    """Not even where there has been nothing to do for long; the next step goes on."""
    problem, opt = idling()
    for _ in range(30):
        opt.step(problem.closure)
    loss = problem.closure().detach()
    if where == "loss":
        loss *= wrong
    else:
        problem.y.grad.fill_(wrong)
    before = copy.deepcopy((problem.params, opt.inner.state_dict()["state"]))
    with pytest.raises(ArithmeticError, match="as they were"):
        opt.step(loss=loss)
    assert str(before) == str((problem.params, opt.inner.state_dict()["state"]))
    opt.step(problem.closure)
    assert opt.queries == 31


def test_another_parameter_that_joins_in_is_no_idle_step():
    """The run begins anew with it, wherever the gradient is."""
    problem, opt = idling()
    problem.y.requires_grad_(False)
    for _ in range(5):
        opt.step(problem.closure)
    assert len(opt._session.params) == 1
    problem.y.requires_grad_(True)
    opt.step(problem.closure)
    assert len(opt._session.params) == 2


def test_a_small_gradient_is_no_idle_step():
    problem, opt = idling()
    opt.step(problem.closure)
    problem.x.data.fill_(1e-4)
    problem.closure()
    assert not idles(opt)
