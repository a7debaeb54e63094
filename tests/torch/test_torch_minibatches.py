"""``Escape`` on minibatches: it searches one of them, and is deceived by none."""

import copy
import logging

import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch.test_torch_escape import INNER, words  # noqa: E402
from tests.torch_problem import Problem  # noqa: E402


class Batches(Problem):
    """The problem, and for each batch a slope along x, whose mean is zero."""

    def __init__(self, noise=1.0, bends=(0.0,)):
        super().__init__()
        self.noise, self.bends, self.drawn = noise, bends, torch.Generator().manual_seed(0)
        self.next()

    def next(self):
        self.slope = self.noise * torch.randn((), generator=self.drawn, dtype=torch.float64)
        self.bends = (*self.bends[1:], self.bends[0])

    def loss(self):
        return super().loss() + self.slope * self.x.sum() + self.bends[0] * (self.y**2).sum() / 2


@pytest.mark.parametrize("inner", ["SGD", "Adam"])
def test_escape_leaves_on_minibatches(inner, caplog):
    """Where no gradient is ever small; and what one minibatch shows is no certificate."""
    problem = Batches()
    opt = front.Escape(INNER[inner](problem.params))
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        for _ in range(400):
            problem.next()
            opt.step(problem.closure)
    assert words(caplog)[:3] == ["search", "curvature", "jump"]
    assert words(caplog).count("jump") == 1
    assert abs(abs(float(problem.y.detach())) - 1) < 0.01
    assert opt.certificate.holds is None
    assert "about one of them" in str(opt.certificate)


def test_searches_that_find_nothing_become_rare(caplog):
    problem = Batches(bends=(2.0,))
    opt = front.Escape(INNER["SGD"](problem.params), patience=2)
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        for _ in range(1000):
            problem.next()
            opt.step(problem.closure)
    assert 3 <= words(caplog).count("search") <= 7  # of 100 blocks
    assert "jump" not in words(caplog)


def test_after_a_jump_the_last_certificate_is_forgotten(caplog):
    """It was of the place that the jump has left."""
    problem = Batches(bends=(2.0,))
    opt = front.Escape(INNER["SGD"](problem.params), patience=2)
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        while opt.certificate is None:
            problem.next()
            opt.step(problem.closure)
        problem.bends = (0.0,)
        while "jump" not in words(caplog):
            problem.next()
            opt.step(problem.closure)
    assert opt.certificate is None


def test_a_jump_that_the_next_minibatch_does_not_confirm_is_taken_back(caplog):
    """Every other minibatch is a bowl: y is zero to the bit, however many searches there were."""
    problem = Batches(bends=(0.0, 3.0))
    opt = front.Escape(INNER["SGD"](problem.params))
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        for _ in range(1000):
            problem.next()
            opt.step(problem.closure)
    assert "search" in words(caplog)
    assert "jump" not in words(caplog)
    assert float(problem.y.detach()) == 0


@pytest.mark.parametrize("closure", [False, True], ids=["step(loss=loss)", "dropout"])
def test_gradients_that_differ_at_the_same_parameters_are_not_searched(closure, caplog):
    problem = Batches()

    def spoilt():
        problem.next()
        return problem.closure()

    opt = front.Escape(INNER["SGD"](problem.params))
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        for _ in range(150):
            opt.step(spoilt) if closure else opt.step(loss=spoilt())
    assert {*words(caplog)} == {"no"}
    assert "pass a closure that computes the loss of one minibatch" in caplog.text
    assert opt.certificate is None
    assert float(problem.y.detach()) == 0


def test_an_iterate_that_bounces_is_not_noise(caplog):
    """The mean gradient is zero and the loss is flat, but two calls agree."""
    x = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))

    def closure():
        x.grad = x.detach().clone()
        return (x.detach() ** 2).sum() / 2

    opt = front.Escape(torch.optim.SGD([x], lr=2.0), patience=4)
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        for _ in range(300):
            opt.step(closure)
    assert words(caplog) == []


@pytest.mark.parametrize("cut", range(47, 62, 2))
def test_escape_resumes_on_minibatches(cut):
    """Bit for bit, also between the jump and the minibatch that confirms it."""

    def steps(opt, problem, count):
        for _ in range(count):
            problem.next()
            opt.step(problem.closure)

    first, second = Batches(), Batches()
    opt = front.Escape(INNER["Adam"](first.params))
    again = front.Escape(INNER["Adam"](second.params))
    steps(opt, first, cut)
    saved = copy.deepcopy(opt.state_dict())
    for p, value in zip(second.params, first.params, strict=True):
        p.data.copy_(value.data)
    for _ in range(cut):
        second.next()
    again.load_state_dict(saved)
    for each, problem in ((opt, first), (again, second)):
        steps(each, problem, 60)
    assert all(map(torch.equal, first.params, second.params))


def test_tol_is_a_number_or_auto():
    with pytest.raises(ValueError, match="tol must be a positive number or 'auto', got 'small'"):
        front.Escape(torch.optim.SGD(Problem().params, lr=0.1), tol="small")
