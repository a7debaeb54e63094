"""The torch optimisers: same loop as any other, resumable, and clear about what they need."""

import copy
import io
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch_problem import CONSTANTS, EASY, Problem, make, run  # noqa: E402
from unsaddle import Outcome  # noqa: E402
from unsaddle.methods import METHODS, STOCHASTIC  # noqa: E402
from unsaddle.stepper import leaves  # noqa: E402

each = pytest.mark.parametrize("cls", EASY, ids=lambda cls: cls.__name__)


def test_every_method_of_the_table_has_an_optimiser():
    assert front.OPTIMISERS.keys() == {*METHODS, *STOCHASTIC}
    assert {cls.__name__ for cls in front.OPTIMISERS.values()} < {*front.__all__}
    page = (Path(__file__).parents[1] / "docs" / "torch.md").read_text()
    assert all(f"`{name}`" in page for name in front.__all__)


@each
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_it_leaves_the_saddle(cls, dtype):
    problem = Problem(dtype)
    opt = run(make(cls, problem), problem)
    assert opt.outcome in (Outcome.CERTIFIED, Outcome.TESTED)
    assert abs(abs(float(problem.y.detach())) - 1) < 0.02
    holds = opt.certificate is not None and bool(opt.certificate.holds)
    assert holds == (opt.outcome is Outcome.CERTIFIED)
    if holds:
        assert opt.certificate.curvature_tol == pytest.approx(0.3)
    before = problem.y.detach().clone()
    opt.step(problem.closure)  # nothing happens after the end
    assert torch.equal(before, problem.y.detach())


def test_bfloat16_leaves_the_saddle_and_says_how_little_it_sees_at_the_minimum():
    problem = Problem(torch.bfloat16)
    opt = run(make(front.ANCGD, problem), problem)
    assert opt.outcome is Outcome.TESTED  # the floor there is above l
    assert abs(abs(float(problem.y.detach())) - 1) < 0.02
    assert opt.certificate.holds is None
    assert opt.certificate.curvature_tol > CONSTANTS["smoothness"]
    assert "raised from 0.3" in opt.certificate.note


@pytest.mark.parametrize(
    ("dtype", "low", "raised"), [(torch.float32, -1.3e-3, 0.0026), (torch.bfloat16, -0.12, 0.22)]
)
def test_curvature_seen_for_sure_refutes_where_the_floor_was_raised(dtype, low, raised):
    """Half of the raised floor, twice what the precision may hide; a fifth of that is hidden."""
    centre = 100.0 if dtype is torch.float32 else 2.0
    x = torch.nn.Parameter(torch.full((20,), centre, dtype=dtype))
    spectrum = torch.linspace(0.1, 1, 20, dtype=dtype)

    def closure():
        x.grad = spectrum * (x.detach() - centre)

    given = {"smoothness": 1.0, "hessian_lipschitz": 1e-3, "curvature_tol": 1e-3}
    spectrum[0] = low
    assert front.certify(closure, [x], **given).holds is False
    spectrum[0] = low / 5
    claim = front.certify(closure, [x], **given)
    assert claim.holds
    assert claim.curvature_tol == pytest.approx(raised, rel=0.02)
    assert "raised from 0.001" in claim.note


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
    """A trial beyond the domain of the logarithm is shortened, not an error; any other look is."""
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
    assert opt.outcome in (Outcome.CERTIFIED, Outcome.TESTED)


@each
def test_looks_one_by_one_or_by_closure_are_the_same(cls):
    one, other = Problem(), Problem()
    run(make(cls, one), one)
    opt = make(cls, other)
    while opt.outcome is None:
        opt.step(loss=other.closure())
    assert len(one.asked) == len(other.asked)
    assert all(map(torch.equal, one.asked, other.asked))


@each
@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.5, 0.7, 0.9])
def test_state_dict_resumes_bit_for_bit(cls, share):
    """Saved in the middle of anything, through a file, with the iterate or the probe saved."""
    whole = Problem()
    opt = make(cls, whole)
    while opt.outcome is None:
        opt.step(loss=whole.closure())
    cut = 1 + int(share * len(whole.asked))
    first = Problem()
    opt = make(cls, first)
    for _ in range(cut):
        opt.step(loss=first.closure())
    with opt.iterate():
        saved = [p.detach().clone() for p in first.params]
    file = io.BytesIO()
    torch.save(opt.state_dict(), file)
    file.seek(0)
    second = Problem()
    for p, value in zip(second.params, saved, strict=True):
        p.data.copy_(value)
    opt = make(cls, second)
    opt.load_state_dict(torch.load(file, weights_only=True))
    while opt.outcome is None:
        opt.step(loss=second.closure())
    asked = first.asked + second.asked
    assert len(asked) == len(whole.asked) > cut
    assert all(map(torch.equal, asked, whole.asked))


def through_a_file(whole):
    file = io.BytesIO()
    torch.save(whole, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@each
@pytest.mark.parametrize("copied", [copy.deepcopy, through_a_file], ids=["deepcopy", "pickle"])
def test_a_copy_of_problem_and_optimiser_goes_on_alike(cls, copied):
    """In the middle of a run and at its end; neither disturbs the other."""
    problem = Problem()
    opt = make(cls, problem)
    for _ in range(12):
        opt.step(loss=problem.closure())
    other, twin = copied((problem, opt))
    for loss, each in ((problem, opt), (other, twin)):
        while each.outcome is None:
            each.step(loss=loss.closure())
    assert twin.outcome is opt.outcome
    assert str(twin.certificate) == str(opt.certificate)
    assert len(other.asked) == len(problem.asked) > 12
    assert all(map(torch.equal, other.asked, problem.asked))
    ended, over = copied((problem, opt))
    assert over.outcome is opt.outcome
    over.step(ended.closure)
    assert torch.equal(ended.y, problem.y)


@each
def test_a_run_that_has_ended_stays_ended(cls):
    problem = Problem()
    opt = run(make(cls, problem), problem)
    again = make(cls, problem)
    again.load_state_dict(copy.deepcopy(opt.state_dict()))
    assert again.outcome is opt.outcome
    assert str(again.certificate) == str(opt.certificate)
    before = [p.detach().clone() for p in problem.params]
    again.step(problem.closure)
    assert all(map(torch.equal, before, [p.detach() for p in problem.params]))


@each
def test_state_dict_moves_to_another_precision(cls):
    problem = Problem()
    opt = make(cls, problem)
    for _ in range(10 if cls.__name__.endswith("Auto") else 45):
        opt.step(loss=problem.closure())
    single = Problem(torch.float32)
    with opt.iterate():
        for p, q in zip(single.params, problem.params, strict=True):
            p.data.copy_(q.detach())
    moved = make(cls, single)
    moved.load_state_dict(copy.deepcopy(opt.state_dict()))
    run(moved, single)
    assert moved.outcome in (Outcome.CERTIFIED, Outcome.TESTED)
    assert abs(abs(float(single.y.detach())) - 1) < 0.02


@each
def test_the_settings_are_those_of_the_state(cls):
    """As everywhere in torch: what is loaded replaces what was given."""
    problem, other = Problem(), Problem()
    opt = make(cls, problem, tol=3e-2, seed=5)
    again = make(cls, other)
    again.load_state_dict(opt.state_dict())  # before it has begun
    run(opt, problem)
    run(again, other)
    assert again.parameters == opt.parameters
    assert again.seed == 5
    assert all(map(torch.equal, other.asked, problem.asked))


@each
def test_state_dict_moves_to_another_device(cls):
    """As far as one goes without another: the device that has no numbers takes all tensors."""
    problem = Problem()
    opt = make(cls, problem)
    for _ in range(12):
        opt.step(loss=problem.closure())
    away = [torch.nn.Parameter(p.detach().to("meta")) for p in problem.params]
    moved = cls(away, **{**CONSTANTS, **EASY[cls]})
    moved.load_state_dict(copy.deepcopy(opt.state_dict()))
    tensors = [
        part for _, leaf in leaves("", moved._kernel) if isinstance(leaf, list) for part in leaf
    ]
    assert len(tensors) >= 2
    assert {part.device.type for part in tensors} == {"meta"}
    assert {part.dtype for part in tensors} == {torch.float64}
    assert moved.phase == opt.phase
    assert moved.looks == opt.looks


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
        if opt.looks == 5 and scaler.get_scale() == 2.0**10:
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
