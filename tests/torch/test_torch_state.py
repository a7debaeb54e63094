"""What is saved, copied and moved goes on as if nothing had been."""

import copy
import io
from functools import cache

import pytest

torch = pytest.importorskip("torch")

from tests.often import in_turn  # noqa: E402
from tests.torch_problem import CONSTANTS, EASY, Problem, make, run  # noqa: E402
from unsaddle import Outcome  # noqa: E402
from unsaddle.core.records import leaves  # noqa: E402

ROWS = [pytest.param(cls, id=cls.__name__) for cls in EASY]
each = pytest.mark.parametrize("cls", ROWS)


@cache
def whole(cls):
    """Give the problem of a run that is never cut, for all tests that cut it."""
    problem = Problem()
    opt = make(cls, problem)
    while opt.outcome is None:
        opt.step(loss=problem.closure())
    return problem


@pytest.mark.parametrize(("share", "cls"), in_turn([0.0, 0.1, 0.4, 0.5, 0.7, 0.9], [0.5], ROWS))
def test_state_dict_resumes_bit_for_bit(share, cls):
    """Saved in the middle of anything, through a file, with the iterate or the probe saved."""
    asked = whole(cls).asked
    cut = 1 + int(share * len(asked))
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
    parts = first.asked + second.asked
    assert len(parts) == len(asked) > cut
    assert all(map(torch.equal, parts, asked))


PROVED = [cls for cls in EASY if cls.method in ("pgd", "pagd", "neon", "neon+")]


@pytest.mark.parametrize("cls", PROVED, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("phase", ["prove", "proof half_radius", "proof search"])
def test_state_dict_resumes_inside_a_proof(cls, phase):
    problem, other = Problem(), Problem()
    opt = make(cls, problem)
    while opt.phase != phase:
        opt.step(loss=problem.closure())
    with opt.iterate():
        for p, q in zip(other.params, problem.params, strict=True):
            p.data.copy_(q.detach())
    again, cut = make(cls, other), len(problem.asked)
    again.load_state_dict(copy.deepcopy(opt.state_dict()))
    assert again.phase == phase
    run(opt, problem)
    run(again, other)
    assert len(other.asked) == len(problem.asked) - cut > 0
    assert all(map(torch.equal, other.asked, problem.asked[cut:]))
    assert again.outcome is Outcome.CERTIFIED
    assert again.certificate == opt.certificate


def through_a_file(whole):
    file = io.BytesIO()
    torch.save(whole, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize(("copied", "cls"), in_turn([copy.deepcopy, through_a_file], (), ROWS))
def test_a_copy_of_problem_and_optimiser_goes_on_alike(copied, cls):
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
    assert moved.outcome is Outcome.CERTIFIED
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
        part for _, leaf in leaves(moved._session.state) if isinstance(leaf, list) for part in leaf
    ]
    assert len(tensors) >= 2
    assert {part.device.type for part in tensors} == {"meta"}
    assert {part.dtype for part in tensors} == {torch.float64}
    assert moved.phase == opt.phase
    assert moved.queries == opt.queries
