"""Closures as they go wrong in a first hour: each is recognised and named."""

import warnings

import numpy as np
import pytest
import torch

import unsaddle.torch as front

UNCLEARED, UNLIKE = "let it begin with opt.zero_grad()", "net.eval\\(\\) if there is dropout"
DOORS = {
    "Auto": lambda net: front.Auto(net.parameters()),
    "AGDAuto": lambda net: front.AGDAuto(net.parameters()),
    "Escape": lambda net: front.Escape(torch.optim.SGD(net.parameters(), lr=0.01)),
}


class Fit:
    """A small network, and what is wrong with the closure over its loss."""

    def __init__(self, wrong: str = "", zero: bool = False):
        torch.manual_seed(0)
        share = 0.5 if wrong == "dropout" else 0.0
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Dropout(share), torch.nn.Linear(8, 1)
        )
        self.x, self.y, self.wrong, self.calls = torch.randn(32, 4), torch.randn(32, 1), wrong, 0
        if zero:  # the gradient vanishes: twice nothing is nothing
            self.y = torch.zeros(32, 1)
            for p in self.net.parameters():
                p.data.zero_()

    def __call__(self):
        self.calls += 1
        if self.wrong != "zero_grad":
            self.net.zero_grad(set_to_none=self.wrong != "in place")
        loss = ((self.net(self.x) - self.y) ** 2).mean()
        if self.wrong != "backward":
            loss.backward()
        return loss


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("door", DOORS)
def test_gradients_that_are_not_cleared(door, zero):
    fit = Fit("zero_grad", zero)
    opt = DOORS[door](fit.net)
    if door == "Escape":
        opt.step(fit)  # there is no gradient before it
    with pytest.raises(RuntimeError, match=UNCLEARED):
        opt.step(fit)


@pytest.mark.parametrize("zero", [False, True])
def test_gradients_that_are_not_cleared_before_a_certificate(zero):
    fit = Fit("zero_grad", zero)
    for _ in range(2):  # what was put in place of gradients does not mislead the second call
        with pytest.raises(RuntimeError, match=UNCLEARED):
            front.certify(fit, fit.net.parameters())
        assert all(p.grad is None for p in fit.net.parameters())


@pytest.mark.parametrize("door", ["Auto", "AGDAuto"])
def test_dropout(door):
    fit = Fit("dropout")
    with pytest.warns(UserWarning, match=UNLIKE):
        DOORS[door](fit.net).step(fit)


def test_dropout_before_a_certificate():
    fit = Fit("dropout")
    with pytest.warns(UserWarning, match=UNLIKE):
        front.certify(fit, fit.net.parameters())


def test_noise_that_is_declared_is_no_surprise():
    fit = Fit("dropout")
    front.Auto(fit.net.parameters(), gradient_noise=0.5).step(fit)
    fit.net.zero_grad()


@pytest.mark.parametrize("door", DOORS)
def test_no_backward(door):
    fit = Fit("backward")
    with pytest.raises(RuntimeError, match=r"call loss.backward\(\)"):
        DOORS[door](fit.net).step(fit)


@pytest.mark.parametrize("wrong", ["", "in place"])
@pytest.mark.parametrize("door", DOORS)
def test_a_right_closure_is_asked_once_more_at_most(door, wrong):
    """Both ways to clear gradients are right; Escape asks as often as its inner optimiser."""
    fit = Fit(wrong)
    opt = DOORS[door](fit.net)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            opt.step(fit)
    assert fit.calls == opt.queries + (door != "Escape")


@pytest.mark.parametrize("word", ["closure", "hessp"])
def test_a_model_is_no_closure(word):
    """It can be called, but with data only."""
    model = torch.nn.Linear(2, 1)
    given = {"closure": lambda: None, word: model}
    with pytest.raises(TypeError, match=f"{word} must be a function without arguments .* Linear"):
        front.certify(given.pop("closure"), model.parameters(), **given)


def test_an_array_is_no_saved_state():
    opt = front.Auto(torch.nn.Linear(2, 1).parameters())
    with pytest.raises(ValueError, match="state_dict is not of"):
        opt.load_state_dict(np.zeros(2, [("a", float)]))
