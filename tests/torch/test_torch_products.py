"""Exact products on torch, by double backward: what they show, and what they must not be of."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch_problem import CONSTANTS, EASY, Problem, make, run  # noqa: E402
from unsaddle import Outcome  # noqa: E402
from unsaddle.core.session import NotFiniteError  # noqa: E402

each = pytest.mark.parametrize("cls", EASY, ids=lambda cls: cls.__name__)


@each
def test_every_optimiser_takes_products_and_says_so(cls):
    problem = Problem()
    asked = []
    opt = make(cls, problem, hessp=lambda: asked.append(1) or problem.loss())
    run(opt, problem)
    assert opt.outcome is Outcome.CERTIFIED
    assert abs(problem.y.item()) > 0.9
    assert opt.products == len(asked) >= opt.certificate.products > 0
    assert opt.queries + opt.products + 1 == len(
        problem.asked
    )  # at first the closure is asked twice
    assert opt.certificate.exact
    assert "exact products" in str(opt.certificate)


def test_without_the_loss_there_are_none():
    opt = run(make(front.Auto, problem := Problem()), problem)
    assert opt.products == 0
    assert not opt.certificate.exact


def network(dtype=torch.float64):
    """A small model at a saddle: all of its weights are zero."""
    torch.manual_seed(0)
    inputs = torch.randn(40, 3, dtype=dtype)
    targets = torch.tanh(inputs[:, :1] - inputs[:, 1:2])
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    model.to(dtype)
    for p in model.parameters():
        p.data.zero_()
    model[2].bias.data.fill_(targets.mean())

    def loss():
        return ((model(inputs) - targets) ** 2).mean()

    def closure():
        model.zero_grad()
        value = loss()
        value.backward()
        return value

    return model, loss, closure


def eigenvalues(model, loss):
    """Of the whole Hessian, by rows."""
    params = [*model.parameters()]
    slope = torch.autograd.grad(loss(), params, create_graph=True)
    flat = torch.cat([g.reshape(-1) for g in slope])
    rows = [
        torch.cat([
            (torch.zeros_like(p) if g is None else g).reshape(-1)
            for p, g in zip(params, torch.autograd.grad(e, params, retain_graph=True,
                                                       allow_unused=True), strict=True)
        ])
        for e in flat
    ]  # fmt: skip
    return np.linalg.eigvalsh(torch.stack(rows).numpy())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_curvature_of_a_model_is_that_of_its_hessian(dtype):
    model, loss, closure = network(dtype)
    before = [p.detach().clone() for p in model.parameters()]
    claim = front.certify(closure, model.parameters(), hessp=loss)
    lowest = eigenvalues(model, loss)[0]
    assert claim.holds is False
    assert claim.gradients == 1
    assert claim.products > 3
    assert lowest * 1.001 <= claim.curvature <= 0.5 * lowest
    assert all(map(torch.equal, before, model.parameters()))


def test_a_model_is_trained_to_a_certified_point():
    model, loss, closure = network()
    opt = front.Auto(model.parameters(), tol=1e-4, curvature_tol=1e-2, hessp=loss)
    for _ in range(500):
        opt.step(closure)
        if opt.outcome is not None:
            break
    assert opt.outcome is Outcome.CERTIFIED
    assert eigenvalues(model, loss)[0] > -1e-2
    assert loss() < 0.05


@pytest.mark.parametrize("width", [0.1, 1e-3])
def test_a_well_narrower_than_any_probe_is_found(width):
    """In float32 at |x| = 1000, where a tenth of the probe deceives differences."""
    x = torch.nn.Parameter(torch.full((50,), 141.0))

    def loss():
        z = x - 141.0
        return z @ z / 2 + 1.08 * width**2 * torch.cos(z[0] / width)

    def closure():
        x.grad = None
        loss().backward()

    for seed in range(10):
        claim = front.certify(closure, [x], 0.01, seed=seed, hessp=loss)
        assert claim.holds is False
        assert claim.curvature == pytest.approx(-0.08, abs=0.05)


# What it must not be


WRONG = {
    "no function": (1.0, TypeError, "hessp must be callable, got float"),
    "nothing": (lambda: None, TypeError, "hessp must return the loss, one number with its graph"),
    "a number": (lambda: 1.0, TypeError, "hessp must return the loss, one number with its graph"),
    "no graph": (lambda: torch.tensor(1.0), TypeError, "hessp must return the loss"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_named(wrong):
    hessp, kind, says = WRONG[wrong]
    problem = Problem()
    with pytest.raises(kind, match=says.split(";")[0].split(",")[0]) as caught:
        front.certify(problem.closure, problem.params, hessp=hessp)
    assert says in str(caught.value)
    with pytest.raises(kind):
        run(make(front.Auto, problem, hessp=hessp), problem)


def test_another_loss_is_named():
    """Of another model, as after a copy; or of other data."""
    problem, other = Problem(), Problem()
    for hessp in (lambda: 3 * problem.loss(), other.loss):
        with pytest.raises(ValueError, match="hessp is not the loss of the closure"):
            front.certify(problem.closure, problem.params, hessp=hessp)


def test_nan_is_named_and_the_parameters_are_as_they_were():
    problem = Problem()
    before = [p.detach().clone() for p in problem.params]

    def spoiled():
        return problem.loss() + (problem.y**2).sum() * torch.tensor(float("nan"))

    with pytest.raises((NotFiniteError, ValueError)):
        front.certify(problem.closure, problem.params, hessp=spoiled)
    assert all(map(torch.equal, before, problem.params))


@pytest.mark.parametrize("cls", [front.Auto, front.PGDNC, front.FastCubic])
def test_a_failure_loses_nothing(cls):
    """The product that failed is taken at the next step, and the run is the one without it."""
    ends = []
    for fails in (False, True):
        problem, count = Problem(), [0]

        def loss(problem=problem, count=count, fails=fails):
            count[0] += 1
            if fails and count[0] == 2:
                raise RuntimeError("out of luck")
            return problem.loss()

        opt = make(cls, problem, hessp=loss)
        for _ in range(3000):
            try:
                opt.step(problem.closure)
            except RuntimeError:
                assert count[0] == 2
            if opt.outcome is not None:
                break
        assert opt.outcome is Outcome.CERTIFIED
        ends.append((problem.y.item(), opt.products))
    assert ends[0] == ends[1]


# Around it


@pytest.mark.parametrize("cls", [front.Auto, front.ANCGD, front.FastCubic])
def test_a_saved_run_goes_on_bit_for_bit_with_the_loss_given_again(cls):
    problem = Problem()
    whole = run(make(cls, problem, hessp=problem.loss), problem)
    first = Problem()
    opt = make(cls, first, hessp=first.loss)
    for _ in range(2):
        opt.step(first.closure)
    kept = copy.deepcopy(opt.state_dict())
    second = Problem()
    for p, q in zip(second.params, first.params, strict=True):
        p.data.copy_(q.data)
    again = make(cls, second, hessp=second.loss)
    again.load_state_dict(kept)
    run(again, second)
    assert again.outcome is Outcome.CERTIFIED
    assert all(map(torch.equal, second.params, problem.params))
    assert (again.queries, again.products) == (whole.queries, whole.products)


def test_a_copy_has_to_be_told_its_loss():
    problem = Problem()
    opt = make(front.PGDNC, problem, hessp=problem.loss)
    opt.step(problem.closure)
    other, copied = copy.deepcopy((problem, opt))
    with pytest.raises(RuntimeError, match=r"set opt\.hessp"):
        run(copied, other)
    copied.hessp = other.loss
    assert run(copied, other).outcome is Outcome.CERTIFIED
    assert copied.certificate.exact


def test_without_a_closure_too():
    problem = Problem()
    opt = make(front.PGDNC, problem, hessp=problem.loss)
    for _ in range(3000):
        loss = problem.closure()
        opt.step(loss=loss)
        if opt.outcome is not None:
            break
    assert opt.outcome is Outcome.CERTIFIED
    assert opt.products


def test_sampled_methods_take_none():
    known = {**CONSTANTS, "stochastic_smoothness": 6.0, "variance": 1.0, "tol": 0.1}
    with pytest.raises(TypeError, match="hessp"):
        front.SGDNC(Problem().params, **known, hessp=Problem().loss)
