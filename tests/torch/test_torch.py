"""The torch optimisers: same loop as any other, resumable, and clear about what they need."""

import copy
import math
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch_problem import CONSTANTS, EASY, Problem, make, run  # noqa: E402
from unsaddle import Outcome  # noqa: E402
from unsaddle.methods.table import METHODS, STOCHASTIC  # noqa: E402

each = pytest.mark.parametrize("cls", EASY, ids=lambda cls: cls.__name__)


def test_every_method_of_the_table_has_an_optimiser():
    assert front.OPTIMISERS.keys() == {*METHODS, *STOCHASTIC}
    assert {cls.__name__ for cls in front.OPTIMISERS.values()} < {*front.__all__}
    page = (Path(__file__).parents[2] / "docs" / "torch.md").read_text()
    assert all(f"`{name}`" in page for name in front.__all__)


@each
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_it_leaves_the_saddle(cls, dtype):
    problem = Problem(dtype)
    opt = run(make(cls, problem), problem)
    assert opt.outcome is Outcome.CERTIFIED
    assert abs(abs(float(problem.y.detach())) - 1) < 0.02
    assert opt.certificate.holds
    asked = EASY[cls].get("curvature_tol", 0.3)  # sqrt(rho tol)
    assert opt.certificate.curvature_tol == pytest.approx(asked)
    before = problem.y.detach().clone()
    opt.step(problem.closure)  # nothing happens after the end
    assert torch.equal(before, problem.y.detach())


def test_bfloat16_leaves_the_saddle_and_says_how_little_it_resolves_at_the_minimum():
    problem = Problem(torch.bfloat16)
    opt = run(make(front.ANCGD, problem), problem)
    assert opt.outcome is Outcome.UNRESOLVED  # the floor there is above l
    assert abs(abs(float(problem.y.detach())) - 1) < 0.02
    assert opt.certificate.holds is None
    assert opt.certificate.curvature_tol == 0.3  # as asked
    least = re.search("Curvature of less than (.+) cannot be told", opt.certificate.note)
    assert least
    assert float(least[1]) > CONSTANTS["smoothness"]


def test_auto_takes_one_line_search_a_step_and_needs_no_constants():
    problem = Problem()
    opt, steps = front.Auto(problem.params, tol=1e-6), 0
    while opt.outcome is None:
        opt.step(problem.closure)
        steps += 1
    assert opt.outcome is Outcome.CERTIFIED
    assert 3 <= steps < len(problem.asked) < 60
    assert "raised" not in opt.certificate.note
    assert opt.certificate.curvature == pytest.approx(1.0, abs=1e-3)  # lowest at (0, 0, +-1)


def test_auto_steps_back_from_where_the_loss_is_infinite():
    """A trial beyond the domain of the logarithm is shortened, not an error; any other query is."""
    x = torch.nn.Parameter(torch.tensor([0.1], dtype=torch.float64))

    def closure():
        x.grad = None
        loss = (x - x.log()).sum()
        loss.backward()
        return loss

    opt = front.Auto([x], tol=1e-6)
    while opt.outcome is None:
        opt.step(closure)
    assert opt.outcome is Outcome.CERTIFIED
    assert float(x.detach()) == pytest.approx(1.0)
    x.data.fill_(-1.0)
    with pytest.raises(ArithmeticError, match="the loss is nan"):
        front.Auto([x]).step(closure)


@each
def test_an_ordinary_loop_asks_for_the_loss_at_once(cls):
    """Not in the middle of a run, when the first value is due; with it the loop goes on."""
    problem = Problem()
    opt = make(cls, problem)
    assert opt.needs_value
    problem.loss().backward()
    with pytest.raises(TypeError, match=r"closure that returns it.*loss="):
        opt.step()
    while opt.outcome is None:
        opt.zero_grad()
        loss = problem.loss()
        loss.backward()
        opt.step(loss=loss)
    assert opt.outcome is Outcome.CERTIFIED


@each
def test_queries_one_by_one_or_by_closure_are_the_same(cls):
    one, other = Problem(), Problem()
    run(make(cls, one), one)
    opt = make(cls, other)
    while opt.outcome is None:
        opt.step(loss=other.closure())
    first, *rest = one.asked  # a closure is called twice there, to see that it repeats itself
    assert torch.equal(first, rest[0])
    assert len(rest) == len(other.asked)
    assert all(map(torch.equal, rest, other.asked))


def test_a_test_that_passes_at_a_saddle_is_disproved():
    """Kicks too short to find the way down: the proof finds it, and says so."""
    problem = Problem()
    opt = run(make(front.PGD, problem, radius=1e-9, window=2), problem)
    assert opt.outcome is Outcome.NEGATIVE_CURVATURE
    assert abs(float(problem.y.detach())) < 1e-6
    assert opt.certificate.holds is False
    assert opt.certificate.curvature == pytest.approx(-1, abs=1e-3)
    assert abs(float(opt.certificate.direction[1])) > 0.9


def test_a_descent_that_gives_up_is_stalled_and_searched_all_the_same():
    """No float32 makes the gradient e^x - c zero in every place."""
    x, slopes = torch.nn.Parameter(torch.zeros(9)), torch.linspace(1.1, 3.3, 9)

    def closure():
        x.grad = None
        loss = (x.exp() - slopes * x).sum()
        loss.backward()
        return loss

    opt = front.Auto([x], tol=1e-30, curvature_tol=0.1)
    while opt.outcome is None:
        opt.step(closure)
    assert opt.outcome is Outcome.STALLED
    assert opt.certificate.holds
    assert 1e-30 < opt.certificate.gradient_norm < 1e-5
    again = front.Auto([x])
    again.load_state_dict(copy.deepcopy(opt.state_dict()))
    assert again.outcome is Outcome.STALLED
    assert again.certificate == opt.certificate


def test_iterate_puts_the_iterate_in_and_the_probe_back():
    problem = Problem()
    opt = make(front.ANCGD, problem)
    for _ in range(3):
        opt.step(loss=problem.closure())
    probe = [p.detach().clone() for p in problem.params]
    with opt.iterate():
        inside = [p.detach().clone() for p in problem.params]
    assert not torch.equal(probe[0], inside[0])
    assert all(torch.equal(p.detach(), q) for p, q in zip(problem.params, probe, strict=True))


def test_frozen_and_unused_parameters_do_not_move():
    problem = Problem()
    frozen = torch.nn.Parameter(torch.ones(3, dtype=torch.float64), requires_grad=False)
    unused = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    opt = front.ANCGD([*problem.params, frozen, unused], **CONSTANTS)
    run(opt, problem)
    assert opt.outcome is Outcome.CERTIFIED
    assert torch.equal(frozen, torch.ones(3, dtype=torch.float64))
    assert torch.equal(unused.detach(), torch.ones(3, dtype=torch.float64))


def test_accumulated_gradients_are_the_gradient():
    """Two backward passes over half the loss are one over the whole, to rounding."""
    one, other = Problem(), Problem()
    run(make(front.PGDNC, one), one, 15)
    opt = make(front.PGDNC, other)
    for _ in range(15):
        opt.zero_grad()
        halves = [other.loss() / 2 for _ in range(2)]
        for half in halves:
            half.backward()
        opt.step(loss=sum(halves))
    torch.testing.assert_close(one.x, other.x, rtol=0, atol=1e-12)


def test_grad_scaler():
    """The scaler unscales the gradients, passes the loss on, and skips what overflowed."""
    problem = Problem(torch.float32)
    opt = make(front.PGDNC, problem)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    while opt.outcome is None:
        opt.zero_grad()
        loss = problem.loss()
        scaler.scale(loss).backward()
        if opt.queries == 5 and scaler.get_scale() == 2.0**10:
            problem.x.grad.fill_(math.inf)
        scaler.step(opt, loss=loss.detach())
        scaler.update()
    assert scaler.get_scale() < 2.0**10
    assert opt.outcome is Outcome.CERTIFIED


def test_schedulers_and_hooks():
    problem = Problem()
    opt = make(front.PGDNC, problem)
    called = []
    opt.register_step_post_hook(lambda *_: called.append(1))
    schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    rate = opt.param_groups[0]["lr"]
    assert rate == pytest.approx(1 / 6)
    before = problem.x.detach().clone()
    opt.step(problem.closure)
    torch.testing.assert_close(problem.x.detach(), before * (1 - rate))
    schedule.step()
    before = problem.x.detach().clone()
    opt.step(problem.closure)
    torch.testing.assert_close(problem.x.detach(), before * (1 - rate / 2))
    assert len(called) == 2
