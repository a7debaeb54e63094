"""Torch optimisers on minibatches: one a step, queried twice where a search needs it."""

import copy

import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from unsaddle import Outcome  # noqa: E402

CONSTANTS = {
    "smoothness": 3.0,
    "hessian_lipschitz": 6.0,
    "stochastic_smoothness": 4.0,
    "variance": 0.01,
    "tol": 0.1,
}


class Data:
    """x^2/2 - y^2/2 + y^4/4, and <theta, (x, y)> of mean zero; minibatches of a hundred."""

    def __init__(self):
        self.draw = torch.Generator().manual_seed(0)
        self.at = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
        self.asked, self.numbers, self.number = [], [], 0

    def closure(self):
        """Bind a new minibatch."""
        theta = 0.1 * torch.randn(100, 2, generator=self.draw, dtype=torch.float64)
        self.number += 1

        def query(number=self.number):
            self.at.grad = None
            x, y = self.at
            loss = x**2 / 2 - y**2 / 2 + y**4 / 4 + (theta @ self.at).mean()
            loss.backward()
            self.asked.append(self.at.detach().clone())
            self.numbers.append(number)
            return loss

        return query


def train(opt, data, steps=3000):
    for _ in range(steps):
        opt.step(data.closure())
        if opt.outcome is not None:
            break


def test_sgd_nc_leaves_the_saddle_with_every_minibatch_used_once_or_twice():
    data = Data()
    opt = front.SGDNC([data.at], **CONSTANTS)
    assert opt.batch_size == 16  # variance (4/tol)^2
    train(opt, data)
    assert opt.outcome is Outcome.UNCERTIFIED  # a certificate needs more than minibatches
    assert abs(abs(float(data.at.detach()[1])) - 1) < 0.1
    counts = [data.numbers.count(number) for number in {*data.numbers}]
    assert {*counts} == {1, 2}
    assert data.numbers == sorted(data.numbers)
    assert opt.drawn > len(counts)

    def whole():  # the mean of theta is zero
        data.at.grad = None
        x, y = data.at
        (x**2 / 2 - y**2 / 2 + y**4 / 4).backward()

    assert front.certify(whole, [data.at], curvature_tol=0.5).holds


def test_an_ordinary_loop_is_refused_where_a_minibatch_is_needed_twice():
    """At the first step, not at the first search; with a closure the run goes on."""
    data = Data()
    opt = front.SGDNC([data.at], **CONSTANTS)
    data.closure()()
    with pytest.raises(TypeError, match=r"same minibatch at two points.*opt\.step\(closure\)"):
        opt.step()
    train(opt, data)
    assert opt.outcome is Outcome.UNCERTIFIED


def test_psgd_needs_gradients_only_and_takes_a_scheduler():
    data = Data()
    opt = front.PSGD([data.at], **CONSTANTS, lr=0.1, radius=0.02)
    schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=200, gamma=0.5)
    for _ in range(600):
        data.closure()()
        opt.step()
        schedule.step()
    assert opt.param_groups[0]["lr"] == pytest.approx(0.0125)
    assert opt.outcome is None
    assert abs(abs(float(data.at.detach()[1])) - 1) < 0.2


OTHERS = {front.Neon2Online: {}, front.SpiderPlus: {"probes": 2}, front.SharpSGD: {"noise": 0.05}}


@pytest.mark.parametrize("cls", OTHERS, ids=lambda cls: cls.__name__)
def test_the_other_methods_leave_the_saddle_too(cls):
    """With every minibatch used once or twice, and in order."""
    data = Data()
    opt = cls([data.at], **CONSTANTS, **OTHERS[cls])
    train(opt, data)
    assert opt.outcome is Outcome.UNCERTIFIED
    assert abs(abs(float(data.at.detach()[1])) - 1) < 0.1
    once = {1} if cls is front.SharpSGD else {1, 2}
    assert {data.numbers.count(number) for number in {*data.numbers}} == once
    assert data.numbers == sorted(data.numbers)


RESUMED = (front.SGDNC, front.SpiderPlus, front.SharpSGD, front.PSGD)


@pytest.mark.parametrize("cls", RESUMED, ids=lambda cls: cls.__name__)
def test_state_dict_resumes_bit_for_bit(cls):
    """Between any two minibatches: in the descent, the search, the trial and after the jump."""
    for cut in (3, 40, 75, 90):
        whole, first = Data(), Data()
        train(cls([whole.at], **CONSTANTS), whole, 150)
        opt = cls([first.at], **CONSTANTS)
        train(opt, first, cut)
        saved, at = copy.deepcopy(opt.state_dict()), first.at.detach().clone()
        again = cls([first.at], **CONSTANTS)
        first.at.data.copy_(at)
        again.load_state_dict(saved)
        train(again, first, 150 - cut)
        assert len(whole.asked) == len(first.asked)
        assert all(map(torch.equal, whole.asked, first.asked))
        assert again.drawn > opt.drawn


BAD = {
    "variance is missing": {"variance": None},
    "variance=nan was passed": {"variance": float("nan")},
    "preset 'print' is unknown": {"preset": "print"},
    "batch must be a whole number": {"batch": 1.5},
    "windows.* is unknown": {"windows": 3},
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input(words):
    with pytest.raises((ValueError, TypeError), match=words):
        front.SGDNC([torch.zeros(2, requires_grad=True)], **{**CONSTANTS, **BAD[words]})
