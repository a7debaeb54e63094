"""What no torch optimiser can handle is refused, with what to do instead."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch_problem import CONSTANTS, EASY, Problem, make  # noqa: E402


def complex_parameters():
    front.ANCGD([torch.zeros(2, dtype=torch.complex64, requires_grad=True)], **CONSTANTS)


def half_precision():
    front.Auto([torch.nn.Parameter(torch.zeros(2, dtype=torch.float16))])


def module():
    front.Auto(torch.nn.Sequential(torch.nn.Linear(2, 1)))


def module_to_certify():
    front.certify(lambda: None, torch.nn.Linear(2, 1))


def single_tensor():
    front.Auto(torch.nn.Parameter(torch.zeros(2)))


def two_devices():
    meta = torch.nn.Parameter(torch.zeros(2, device="meta"))
    front.ANCGD([torch.nn.Parameter(torch.zeros(2)), meta], **CONSTANTS)


def setting_of_a_group():
    front.ANCGD([{"params": Problem().params, "tol": 1e-3}], **CONSTANTS)


def rates_of_groups():
    problem = Problem()
    groups = [{"params": [problem.x], "lr": 0.1}, {"params": [problem.y], "lr": 0.2}]
    front.PGDNC(groups, **CONSTANTS).step(problem.closure)


def rate_for_auto():
    problem = Problem()
    opt = front.Auto(problem.params)
    opt.param_groups[0]["lr"] = 0.5  # as a scheduler does
    opt.step(problem.closure)


def rate_for_auto_at_once():
    front.Auto(Problem().params, lr=0.1)


def misspelt():
    front.Auto(Problem().params, toll=0.1)


def decay():
    front.ANCGD(Problem().params, **CONSTANTS, weight_decay=0.1)


def the_loss_for_a_closure():
    front.Auto(Problem().params).step(torch.tensor(1.0))


def params_for_a_closure():
    front.certify(Problem().params, lambda: None)


def gradient_tolerance_to_certify():
    front.certify(lambda: None, Problem().params, tol=0.1)


def closure_without_a_loss():
    problem = Problem()
    opt = front.Auto(problem.params)
    opt.step(lambda: [problem.closure(), None][1])


def missing_constant():
    front.ANCGD(Problem().params, smoothness=1.0)


def no_backward():
    front.PGDNC(Problem().params, **CONSTANTS).step()


def sparse_gradients():
    table = torch.nn.Embedding(4, 2, sparse=True)
    opt = front.PGDNC(table.parameters(), **CONSTANTS)
    table(torch.tensor([1])).sum().backward()
    opt.step()


def infinite_gradient():
    problem = Problem()
    loss = problem.closure()
    problem.x.grad.fill_(math.nan)
    front.PGDNC(problem.params, **CONSTANTS).step(loss=loss)


def no_optimiser():
    front.Escape(Problem().params)


def sparse_gradients_to_certify():
    table = torch.nn.Embedding(4, 2, sparse=True)
    front.certify(lambda: table(torch.tensor([1])).sum().backward(), table.parameters())


def no_closure_for_lbfgs():
    problem = Problem()
    problem.closure()
    front.Escape(torch.optim.LBFGS(problem.params)).step()


def wrong_state():
    problem = Problem()
    front.PGDNC(problem.params, **CONSTANTS).load_state_dict(
        torch.optim.SGD(problem.params, lr=0.1).state_dict()
    )


def state_of_another_method():
    problem = Problem()
    front.PGDNC(problem.params, **CONSTANTS).load_state_dict(
        front.ANCGD(problem.params, **CONSTANTS).state_dict()
    )


def state_around_another_optimiser():
    problem = Problem()
    front.Escape(torch.optim.Adam(problem.params)).load_state_dict(
        front.Escape(torch.optim.SGD(problem.params, lr=0.1)).state_dict()
    )


def maximised():
    front.Escape(torch.optim.SGD(Problem().params, lr=0.1, maximize=True))


def an_escape_around_an_escape():
    front.Escape(front.Escape(torch.optim.SGD(Problem().params, lr=0.1)))


def joining(opt, **group):
    """A group that comes later is checked as those at the beginning, and not taken."""
    try:
        opt.add_param_group(group)
    finally:
        assert len(opt.param_groups) == 1


def complex_parameters_later():
    joining(
        front.ANCGD(Problem().params, **CONSTANTS),
        params=[torch.zeros(2, dtype=torch.complex64, requires_grad=True)],
    )


def another_device_later():
    meta = torch.nn.Parameter(torch.zeros(2, device="meta"))
    joining(front.Escape(torch.optim.SGD(Problem().params, lr=0.1)), params=[meta])


def setting_of_a_later_group():
    joining(front.ANCGD(Problem().params, **CONSTANTS), params=Problem().params, tol=1e-3)


def another_precision_within():
    problem, half = Problem(), torch.nn.Parameter(torch.zeros(2, dtype=torch.float16))
    opt = front.Escape(torch.optim.SGD(problem.params, lr=0.1))
    opt.inner.add_param_group({"params": [half]})
    half.grad = torch.zeros_like(half)
    opt.step(problem.closure)


def no_rate():
    front.PGDNC(Problem().params, **CONSTANTS, lr="small")


def no_state():
    front.PGDNC(Problem().params, **CONSTANTS).load_state_dict({})


def no_state_of_an_escape():
    front.Escape(torch.optim.SGD(Problem().params, lr=0.1)).load_state_dict({})


def no_patience():
    front.Escape(torch.optim.SGD(Problem().params, lr=0.1), patience=2.5)


def state_of_an_earlier_release(word="queries"):
    problem = Problem()
    opt = front.PGDNC(problem.params, **CONSTANTS)
    state = opt.state_dict()
    del state["param_groups"][0]["unsaddle"][word]
    opt.load_state_dict(state)


def state_of_the_last_release():
    state_of_an_earlier_release("owners")


def run_of_an_earlier_release():
    problem = Problem()
    opt = front.AGDAuto(problem.params)
    opt.step(problem.closure)
    state = opt.state_dict()
    del state["param_groups"][0]["unsaddle"]["run.descent.progress.futile"]
    opt.load_state_dict(state)


def no_list_of_parameters():
    front.PSGD(np.array(3), **CONSTANTS)


def loss_of_no_number():
    problem = Problem()
    problem.closure()
    front.Auto(problem.params).step(loss=[None])


BAD = {
    no_list_of_parameters: (TypeError, r"params must be a list of parameters, got array\(3\)"),
    loss_of_no_number: (TypeError, r"the loss must be one real number, got \[None\]"),
    no_rate: (ValueError, "lr must be a finite number >= 0, got 'small'"),
    no_state: (ValueError, r"not of PGDNC: pass what its state_dict\(\) returned"),
    no_state_of_an_escape: (ValueError, r"not of Escape\(SGD\): pass what"),
    no_patience: (ValueError, r"patience must be a whole number >= 1, got 2\.5"),
    state_of_an_earlier_release: (ValueError, "not of PGDNC, but of an earlier release"),
    state_of_the_last_release: (ValueError, "not of PGDNC, but of an earlier release"),
    run_of_an_earlier_release: (ValueError, "of an earlier release, it has no.*futile'.*anew"),
    maximised: (ValueError, r"maximize=True.*return -loss"),
    an_escape_around_an_escape: (TypeError, r"got Escape; pass Escape\(torch\.optim\.Adam"),
    complex_parameters_later: (TypeError, "view_as_real"),
    another_device_later: (ValueError, r"cpu, meta.*model\.to"),
    setting_of_a_later_group: (ValueError, "tol was given for one group"),
    another_precision_within: (TypeError, r"float16.*model\.float\(\).*autocast"),
    complex_parameters: (TypeError, "view_as_real"),
    half_precision: (TypeError, r"float16.*model\.float\(\).*autocast"),
    module: (TypeError, r"module Sequential: pass net\.parameters\(\)"),
    module_to_certify: (TypeError, r"module Linear: pass net\.parameters\(\)"),
    single_tensor: (TypeError, r"pass \[tensor\]"),
    two_devices: (ValueError, r"cpu, meta.*model\.to"),
    setting_of_a_group: (ValueError, "tol was given for one group"),
    rates_of_groups: (ValueError, r"\[0\.1, 0\.2\].*set one lr"),
    rate_for_auto: (ValueError, r"lr must be 1, got 0\.5.*leave lr and the scheduler out"),
    rate_for_auto_at_once: (ValueError, r"lr must be 1, got 0\.1.*leave lr"),
    misspelt: (TypeError, r"did you mean 'tol'\?"),
    decay: (TypeError, "weight_decay is not known here: add .* to the loss"),
    the_loss_for_a_closure: (TypeError, r"got Tensor.*opt\.step\(loss=loss\)"),
    params_for_a_closure: (TypeError, r"got list.*certify\(closure, params\)"),
    gradient_tolerance_to_certify: (TypeError, "pass curvature_tol="),
    closure_without_a_loss: (TypeError, "a closure that returns it"),
    missing_constant: (ValueError, "hessian_lipschitz is missing"),
    no_backward: (RuntimeError, r"loss\.backward\(\) before"),
    sparse_gradients: (TypeError, "sparse=False"),
    sparse_gradients_to_certify: (TypeError, "sparse=False"),
    infinite_gradient: (ArithmeticError, "as they were"),
    no_optimiser: (TypeError, r"Escape\(torch\.optim\.Adam"),
    no_closure_for_lbfgs: (TypeError, r"LBFGS needs a closure"),
    wrong_state: (ValueError, "not of PGDNC: pass"),
    state_around_another_optimiser: (ValueError, r"not of Escape\(Adam\), but of Escape\(SGD\)"),
    state_of_another_method: (ValueError, "not of PGDNC, but of ANCGD"),
}


@pytest.mark.parametrize("mistake", BAD, ids=lambda mistake: mistake.__name__)
def test_bad_input(mistake):
    kind, words = BAD[mistake]
    with pytest.raises(kind, match=words):
        mistake()


@pytest.mark.parametrize("cls", EASY, ids=lambda cls: cls.__name__)
def test_gradients_that_are_kept_in_place_change_nothing(cls):
    """``zero_grad(set_to_none=False)``: each query writes over the last one's gradient."""
    asked = []
    for anew in (True, False):
        problem = Problem()
        opt = make(cls, problem)

        def closure(problem=problem, opt=opt, anew=anew):
            opt.zero_grad(set_to_none=anew)
            loss = problem.loss()
            loss.backward()
            return loss

        for _ in range(400):
            opt.step(closure)
        asked.append(torch.stack(problem.asked))
    assert torch.equal(*asked)


def test_a_closure_without_backward_certifies_nothing():
    weights = torch.nn.Parameter(torch.zeros(2))
    with pytest.raises(RuntimeError, match=r"loss\.backward\(\)"):
        front.certify(lambda: (weights**2).sum(), [weights], smoothness=2.0, hessian_lipschitz=1.0)


@pytest.mark.parametrize(
    ("params", "wrong"),
    [
        (1, {"failure_probability": 3.0}),
        (1, {"curvature_tol": -1.0}),
        (1, {"smoothness": 0.0}),
        (0, {"params": None}),
    ],
)
def test_certify_names_what_is_wrong(params, wrong):
    weights = torch.nn.Parameter(torch.zeros(2))
    given = {name: value for name, value in wrong.items() if name != "params"}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        front.certify(lambda: (weights**2).sum().backward(), [weights] * params, **given)
