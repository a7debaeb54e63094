"""The torch optimisers: same loop as any other, resumable, and clear about what they cannot do."""

import copy
import io
import logging
import math

import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from unsaddle import Outcome  # noqa: E402
from unsaddle.methods import METHODS  # noqa: E402

CONSTANTS = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2}
EASY = {
    front.PGD: {"decrease_available": 1.0, "window": 15, "radius": 0.1, "decrease": 1e-3},
    front.PAGD: {"decrease_available": 1.0, "window": 15, "radius": 0.1, "decrease": 1e-3},
    front.PGDNC: {},
    front.ANCGD: {},
}
each = pytest.mark.parametrize("cls", EASY, ids=lambda cls: cls.__name__)


class Problem:
    """x^2/2 - y^2/2 + y^4/4 with x and y two parameters, started where descent leads to 0."""

    def __init__(self, dtype=torch.float64):
        self.x = torch.nn.Parameter(torch.ones(2, dtype=dtype))
        self.y = torch.nn.Parameter(torch.zeros(1, dtype=dtype))
        self.asked = []

    @property
    def params(self):
        return [self.x, self.y]

    def loss(self):
        self.asked.append(torch.cat([self.x.detach(), self.y.detach()]))
        return self.x @ self.x / 2 - (self.y**2).sum() / 2 + (self.y**4).sum() / 4

    def closure(self):
        for p in self.params:
            p.grad = None
        loss = self.loss()
        loss.backward()
        return loss


def make(cls, problem, **given):
    return cls(problem.params, **{**CONSTANTS, **EASY[cls], **given})


def run(opt, problem, steps=3000):
    for _ in range(steps):
        opt.step(problem.closure)
        if opt.outcome is not None:
            break
    return opt


def test_every_method_of_the_table_has_an_optimiser():
    core = {"pgd", "pagd", "pgd+nc", "ancgd"}
    assert {cls.method for cls in front.Method.__subclasses__()} == core <= {*METHODS}


@each
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_it_leaves_the_saddle(cls, dtype):
    problem = Problem(dtype)
    opt = run(make(cls, problem), problem)
    assert opt.outcome in (Outcome.CERTIFIED, Outcome.TESTED)
    assert abs(abs(float(problem.y.detach())) - 1) < 0.02
    assert (opt.certificate is None) == (opt.outcome is Outcome.TESTED)
    if opt.certificate is not None:
        assert opt.certificate.holds
        assert opt.certificate.curvature_tol == pytest.approx(0.3)
    before = problem.y.detach().clone()
    opt.step(problem.closure)  # nothing happens after the end
    assert torch.equal(before, problem.y.detach())


def test_bfloat16_raises_the_floor_and_says_so():
    problem = Problem(torch.bfloat16)
    opt = run(make(front.ANCGD, problem), problem)
    assert opt.outcome is Outcome.CERTIFIED
    assert opt.certificate.curvature_tol > 0.3
    assert "raised from 0.3" in opt.certificate.note


def test_an_ordinary_loop_goes_on_until_a_value_is_needed():
    problem = Problem()
    opt = make(front.PGDNC, problem)

    def train():
        for _ in range(500):
            opt.zero_grad()
            problem.loss().backward()
            opt.step()

    with pytest.raises(TypeError, match=r"closure.*loss="):
        train()
    assert opt.needs_value
    assert opt.phase == "measure"
    while opt.outcome is None:  # the same loop with the loss goes on from there
        opt.zero_grad()
        loss = problem.loss()
        loss.backward()
        opt.step(loss=loss)
    assert opt.outcome is Outcome.CERTIFIED


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
@pytest.mark.parametrize("cut", [1, 7, 40, 43, 60])
def test_state_dict_resumes_bit_for_bit(cls, cut):
    """Saved in the middle of anything, through a file, with the iterate or the probe saved."""
    whole = Problem()
    opt = make(cls, whole)
    while opt.outcome is None:
        opt.step(loss=whole.closure())
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


@each
def test_state_dict_moves_to_another_precision(cls):
    problem = Problem()
    opt = make(cls, problem)
    for _ in range(45):
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
        for _ in range(2):
            (other.loss() / 2).backward()
        opt.step()
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


def complex_parameters():
    front.ANCGD([torch.zeros(2, dtype=torch.complex64, requires_grad=True)], **CONSTANTS)


def two_devices():
    meta = torch.nn.Parameter(torch.zeros(2, device="meta"))
    front.ANCGD([torch.nn.Parameter(torch.zeros(2)), meta], **CONSTANTS)


def setting_of_a_group():
    front.ANCGD([{"params": Problem().params, "tol": 1e-3}], **CONSTANTS)


def rates_of_groups():
    problem = Problem()
    groups = [{"params": [problem.x], "lr": 0.1}, {"params": [problem.y], "lr": 0.2}]
    front.PGDNC(groups, **CONSTANTS).step(problem.closure)


def no_backward():
    front.PGDNC(Problem().params, **CONSTANTS).step()


def sparse_gradients():
    table = torch.nn.Embedding(4, 2, sparse=True)
    opt = front.PGDNC(table.parameters(), **CONSTANTS)
    table(torch.tensor([1])).sum().backward()
    opt.step()


def infinite_gradient():
    problem = Problem()
    problem.closure()
    problem.x.grad.fill_(math.nan)
    front.PGDNC(problem.params, **CONSTANTS).step()


def no_optimiser():
    front.Escape(Problem().params)


def no_closure_for_lbfgs():
    problem = Problem()
    problem.closure()
    front.Escape(torch.optim.LBFGS(problem.params)).step()


def no_closure_to_estimate():
    problem = Problem()
    opt = front.Escape(torch.optim.SGD(problem.params, lr=0.1), patience=1)
    problem.x.data.zero_()
    problem.closure()
    opt.step()


def wrong_state():
    problem = Problem()
    front.PGDNC(problem.params, **CONSTANTS).load_state_dict(
        torch.optim.SGD(problem.params, lr=0.1).state_dict()
    )


BAD = {
    complex_parameters: (TypeError, "view_as_real"),
    two_devices: (ValueError, r"cpu, meta.*model\.to"),
    setting_of_a_group: (ValueError, "tol was given for one group"),
    rates_of_groups: (ValueError, r"\[0\.1, 0\.2\].*set one lr"),
    no_backward: (RuntimeError, r"loss\.backward\(\) before"),
    sparse_gradients: (TypeError, "sparse=False"),
    infinite_gradient: (ArithmeticError, "as they were"),
    no_optimiser: (TypeError, r"Escape\(torch\.optim\.Adam"),
    no_closure_for_lbfgs: (TypeError, r"LBFGS needs a closure"),
    no_closure_to_estimate: (TypeError, "smoothness= and hessian_lipschitz="),
    wrong_state: (ValueError, "not of PGDNC"),
}


@pytest.mark.parametrize("mistake", BAD, ids=lambda mistake: mistake.__name__)
def test_bad_input(mistake):
    kind, words = BAD[mistake]
    with pytest.raises(kind, match=words):
        mistake()


INNER = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.03),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.03),
    "LBFGS": lambda p: torch.optim.LBFGS(p),
}
each_inner = pytest.mark.parametrize("inner", INNER)


@each_inner
def test_escape_leaves_where_the_inner_optimiser_stays(inner, caplog):
    alone = Problem()
    opt = INNER[inner](alone.params)
    for _ in range(300):
        opt.step(alone.closure)
    assert abs(float(alone.y.detach())) < 1e-6
    problem = Problem()
    opt = front.Escape(INNER[inner](problem.params))
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        for _ in range(400):
            opt.step(problem.closure)
    assert abs(abs(float(problem.y.detach())) - 1) < 0.01
    assert opt.certificate.holds
    events = [record.getMessage().split()[0] for record in caplog.records]
    assert events == ["search", "jump", "search", "certified"]
    assert all("\n" not in record.getMessage() for record in caplog.records)


def test_a_failed_escape_changes_nothing():
    """At a minimum, and where no jump lowers the loss, the parameters come back to the bit."""
    x = torch.nn.Parameter(torch.tensor([0.3, -0.2], dtype=torch.float64))

    def closure():
        x.grad = None
        loss = (x**2).sum() / 2
        loss.backward()
        return loss

    opt = front.Escape(torch.optim.SGD([x], lr=0.0), tol=1.0, patience=2)
    before = x.detach().clone()
    for _ in range(6):
        opt.step(closure)
    assert opt.certificate.holds
    assert torch.equal(before, x.detach())

    def liar():  # gradients of a saddle, values of a bowl about x: every jump fails
        x.grad = x.detach() * torch.tensor([1.0, -1.0], dtype=torch.float64)
        return ((x.detach() - before) ** 2).sum()

    opt = front.Escape(torch.optim.SGD([x], lr=0.0), tol=1.0, patience=2)
    for _ in range(6):
        opt.step(liar)
    assert opt.certificate.holds is False
    assert torch.equal(before, x.detach())


@each_inner
def test_escape_resumes(inner):
    """Saved in the middle of a search; LBFGS apart, which keeps its state for itself."""
    if inner == "LBFGS":
        pytest.skip("needs a closure, so a search is never cut")
    given = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2}
    first = Problem()
    opt = front.Escape(INNER[inner](first.params), **given)
    while opt.phase != "search":
        opt.step(loss=first.closure())
    saved, params = copy.deepcopy(opt.state_dict()), [p.detach().clone() for p in first.params]
    tail = len(first.asked)
    for _ in range(100):
        opt.step(loss=first.closure())
    second = Problem()
    for p, value in zip(second.params, params, strict=True):
        p.data.copy_(value)
    again = front.Escape(INNER[inner](second.params), **given)
    again.load_state_dict(saved)
    for _ in range(100):
        again.step(loss=second.closure())
    assert all(map(torch.equal, first.asked[tail:], second.asked))


def test_escape_works_with_schedulers():
    problem = Problem()
    opt = front.Escape(torch.optim.SGD(problem.params, lr=0.1))
    schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    opt.step(problem.closure)
    schedule.step()
    assert opt.inner.param_groups[0]["lr"] == pytest.approx(0.05)


def test_certify_tells_a_saddle_from_a_minimum_and_puts_the_parameters_back():
    problem = Problem()
    problem.x.data.zero_()
    refuted = front.certify(problem.closure, problem.params)
    assert refuted.holds is False
    assert abs(float(refuted.direction[1])) > 0.7
    assert refuted.gradients == len(problem.asked)
    assert float(problem.y.detach()) == 0.0
    problem.y.data.fill_(1.0)
    assert front.certify(problem.closure, problem.params, curvature_tol=1e-3).holds
