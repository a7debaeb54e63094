"""Parameters that come, go, take turns, and move to another precision in the middle of a run."""

import copy

import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch_problem import Problem, make, run  # noqa: E402
from unsaddle import Outcome  # noqa: E402


def test_parameters_that_take_turns_are_one_set(caplog):
    """Two halves with a gradient every other time: the method begins anew once, not at each."""
    problem, started = Problem(), []
    opt = front.Escape(torch.optim.SGD(problem.params, lr=0.1), patience=6, tol=1e-2)
    begin = opt._begin
    opt._begin = lambda moving: (started.append(len(moving)), begin(moving))[1]
    for turn in range(200):
        loss = problem.closure()
        problem.params[turn % 2].grad = None
        opt.step(loss=loss)
    assert started == [1, 2]
    assert "no search" in caplog.text  # as two calls at the same parameters differ


def test_parameters_that_come_after_the_end_are_taken_up():
    problem, late = Problem(), torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    opt = run(make(front.PGDNC, problem), problem)
    assert opt.outcome is Outcome.CERTIFIED
    assert float(opt.step(problem.closure).detach()) == pytest.approx(
        -0.25, abs=1e-3
    )  # the last loss
    opt.add_param_group({"params": [late]})

    def closure():
        late.grad = None
        loss = problem.closure() + (late**2).sum() / 2
        late.grad = late.detach().clone()
        return loss

    for _ in range(3000):
        opt.step(closure)
        if opt.outcome is not None:
            break
    assert opt.outcome is Outcome.CERTIFIED
    assert float(late.detach().norm()) < 0.01


CUT = {
    front.PGDNC: {"smoothness": 6.0, "hessian_lipschitz": 1.0, "tol": 0.1, "curvature_tol": 0.3},
    front.ANCGD: {"smoothness": 6.0, "hessian_lipschitz": 1.0, "tol": 0.1, "curvature_tol": 0.3},
    front.AGDAuto: {"tol": 1e-2},
    front.Auto: {"tol": 1e-2},
}


@pytest.mark.parametrize("cls", CUT, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("coarse", [torch.float32, torch.bfloat16], ids=str)
def test_a_search_that_moves_to_a_coarser_precision_certifies_no_saddle(cls, coarse):
    """Wherever it was cut: there x + r u may be x itself, and what does not grow means nothing."""
    spectrum = torch.linspace(0.5, 5, 20, dtype=torch.float64)
    spectrum[0] = -0.5

    def problem(dtype):
        x = torch.nn.Parameter(torch.full((20,), 3.1, dtype=dtype))

        def closure():
            x.grad = None
            z = x - torch.tensor(3.1, dtype=dtype)
            loss = (spectrum.to(dtype) * z**2).sum() / 2
            loss.backward()
            return loss

        return x, closure

    x, closure = problem(torch.float64)
    opt, moved = cls([x], **CUT[cls]), 0
    while opt.outcome is None and moved < 25 and float((x.detach() - 3.1).abs().max()) < 0.05:
        opt.step(loss=closure())
        if not opt.phase.removeprefix("proof ").startswith(("search", "half", "whole", "recheck")):
            continue
        y, other = problem(coarse)
        again, moved = cls([y], **CUT[cls]), moved + 1
        again.load_state_dict(copy.deepcopy(opt.state_dict()))
        for _ in range(60):
            again.step(loss=other())
            if again.outcome is not None or float((y.detach() - 3.1).abs().max()) > 0.5:
                break
        claim = again.certificate
        assert not claim or claim.curvature_tol > 0.5
    assert moved > 3


@pytest.mark.parametrize("phase", ["half_radius", "search", "recheck", "jump"])
def test_an_exception_in_the_closure_loses_nothing(phase):
    """The iterate is to be had, and the next step goes on as if nothing had been."""
    runs = []
    for interrupted in (False, True):
        problem, calls = Problem(), 0
        opt = front.Escape(torch.optim.SGD(problem.params, lr=0.1))

        def closure(problem=problem, opt=opt, interrupted=interrupted):
            nonlocal calls
            calls += interrupted and opt.phase == phase
            if interrupted and opt.phase == phase and calls == 1:
                raise KeyboardInterrupt
            return problem.closure()

        for _ in range(300):
            try:
                opt.step(closure)
            except KeyboardInterrupt:
                with opt.iterate():  # the saddle, or the minimum that is about to be certified
                    held = float(problem.y.detach())
                assert abs(abs(held) - (phase == "recheck")) < 0.01
                opt.step(closure)
        assert calls > 0 or not interrupted
        assert opt.certificate.holds
        runs.append(problem.asked)
    assert len(runs[0]) == len(runs[1])
    assert all(map(torch.equal, *runs))


class Faulty(torch.optim.SGD):
    """Raises in its tenth step, before it has moved anything."""

    calls = 0

    def step(self, closure=None):
        self.calls += 1
        if self.calls == 10:
            raise KeyboardInterrupt
        return super().step(closure)


def test_an_exception_in_the_inner_optimiser_loses_nothing():
    runs = []
    for inner in (torch.optim.SGD, Faulty):
        problem = Problem()
        opt = front.Escape(inner(problem.params, lr=0.1))
        while opt.certificate is None:
            try:
                opt.step(problem.closure)
            except KeyboardInterrupt:
                assert problem.asked.pop() is not None  # the same query comes again
        assert opt.certificate.holds
        runs.append(problem.asked)
    assert len(runs[0]) == len(runs[1])
    assert all(map(torch.equal, *runs))


class Mixed(Problem):
    """The same saddle, with x in single and y in double precision."""

    def __init__(self):
        super().__init__()
        self.x = torch.nn.Parameter(torch.ones(2))


@pytest.mark.parametrize("cls", [front.Auto, front.ANCGD, front.PGDNC], ids=lambda it: it.__name__)
def test_two_precisions_at_once_leave_the_saddle_and_resume(cls):
    whole, first, second = Mixed(), Mixed(), Mixed()
    opt = make(cls, whole)
    while opt.outcome is None:
        opt.step(loss=whole.closure())
    assert opt.outcome is Outcome.CERTIFIED
    assert abs(abs(float(whole.y.detach())) - 1) < 0.02
    assert [p.dtype for p in whole.params] == [torch.float32, torch.float64]
    cut = make(cls, first)
    for _ in range(len(whole.asked) // 2):
        cut.step(loss=first.closure())
    again = make(cls, second)
    for p, q in zip(second.params, first.params, strict=True):
        p.data.copy_(q.detach())
    again.load_state_dict(copy.deepcopy(cut.state_dict()))
    while again.outcome is None:
        again.step(loss=second.closure())
    assert all(map(torch.equal, first.asked + second.asked, whole.asked))
    assert len(first.asked + second.asked) == len(whole.asked)


def test_a_state_of_two_precisions_is_of_no_use_in_one():
    mixed, plain = Mixed(), Problem()
    opt = make(front.Auto, mixed)
    opt.step(mixed.closure)
    with pytest.raises(ValueError, match="same mixture"):
        make(front.Auto, plain).load_state_dict(opt.state_dict())


def test_many_parameters_of_any_shape_are_one_vector():
    """Scalars, strides and empty tensors too; what is saved is of one flat vector."""
    draw = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (4,), (), (2, 1, 5), (0,), (7, 2)]
    params = [torch.nn.Parameter(torch.randn(shape, generator=draw)) for shape in shapes]
    params.append(torch.nn.Parameter(torch.randn(5, 3, generator=draw).T))
    goals = [torch.randn(p.shape, generator=draw) for p in params]

    def closure():
        opt.zero_grad()
        loss = sum(((p - goal) ** 2).sum() for p, goal in zip(params, goals, strict=True)) / 2
        loss.backward()
        return loss

    opt = front.Auto(params, tol=1e-4)
    while opt.outcome is None:
        opt.step(closure)
    assert opt.outcome is Outcome.CERTIFIED
    assert all(torch.allclose(p.detach(), goal) for p, goal in zip(params, goals, strict=True))
    state = opt._session.state
    assert [len(leaf) for leaf in (state.x, state.descent.pairs.block)] == [1, 1]
