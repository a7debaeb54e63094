"""``Escape`` around any torch optimiser, and ``certify``."""

import copy
import logging
import pickle

import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch_problem import Problem  # noqa: E402

INNER = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.03),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.03),
    "LBFGS": lambda p: torch.optim.LBFGS(p),
}
each_inner = pytest.mark.parametrize("inner", INNER)


def words(caplog):
    return [record.getMessage().split()[0] for record in caplog.records]


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
    assert events[:5] == ["search", "curvature", "jump", "search", "certified"]
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


def test_a_jump_out_of_the_domain_is_a_failed_one(caplog):
    """The first jumps, half a unit long, leave |w| < 0.1; shortened, one of them pays."""
    w = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))

    def closure():
        w.grad = None
        loss = 2.5 * (w[1] ** 2 - w[0] ** 2) - 0.001 * torch.log(0.01 - w[0] ** 2)
        loss.backward()
        return loss

    given = {"smoothness": 300.0, "hessian_lipschitz": 0.5, "curvature_tol": 1.0}
    opt = front.Escape(torch.optim.SGD([w], lr=1e-3), patience=2, **given)
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        while opt.certificate is None:
            opt.step(closure)
    assert words(caplog)[:3] == ["search", "curvature", "jump"]
    assert 0 < abs(float(w[0].detach())) < 0.1
    assert opt.certificate.holds


def test_a_search_waits_for_quiet_and_then_for_unrest(caplog):
    """Small three times with nothing above 2 tol between; and again only after such a gradient."""
    x = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    opt = front.Escape(torch.optim.SGD([x], lr=0.0), tol=1.0, patience=3)

    def events(*norms):
        caplog.clear()
        for norm in norms:

            def closure(norm=norm):
                x.grad = torch.tensor([norm, 0.0], dtype=torch.float64)
                return 0.0

            opt.step(closure)
        return [record.getMessage().split()[0] for record in caplog.records]

    with caplog.at_level(logging.INFO, logger="unsaddle"):
        assert events(0.5, 0.5, 2.5, 0.5, 0.5) == []
        assert events(1.5, 1.5) == []
        assert events(0.5, *200 * [0.5]) == ["search", "certified"]
        assert events(*50 * [0.5], 1.5, *50 * [0.5]) == []
        assert events(2.5, 0.5, 0.5) == []
        assert events(0.5) == ["search", "certified"]


@each_inner
def test_escape_resumes(inner):
    """Saved in the middle of a search; LBFGS, which takes closures only, just before one."""
    given = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2, "patience": 3}
    whole = inner == "LBFGS"

    def step(opt, problem):
        opt.step(problem.closure) if whole else opt.step(loss=problem.closure())

    first = Problem()
    opt = front.Escape(INNER[inner](first.params), **given)
    while opt.queries < 3 if whole else opt.phase != "search":
        step(opt, first)
    saved, params = copy.deepcopy(opt.state_dict()), [p.detach().clone() for p in first.params]
    tail = len(first.asked)
    for _ in range(100):
        step(opt, first)
    second = Problem()
    for p, value in zip(second.params, params, strict=True):
        p.data.copy_(value)
    again = front.Escape(INNER[inner](second.params), **given)
    again.load_state_dict(saved)
    for _ in range(100):
        step(again, second)
    assert len(first.asked[tail:]) == len(second.asked) >= 100
    assert all(map(torch.equal, first.asked[tail:], second.asked))
    assert opt.certificate.holds
    assert again.certificate == opt.certificate


def test_a_loaded_escape_knows_its_certificate(tmp_path):
    problem = Problem()
    opt = front.Escape(torch.optim.SGD(problem.params, lr=0.1), tol=1e-2)
    while opt.certificate is None:
        opt.step(problem.closure)
    torch.save(opt.state_dict(), tmp_path / "opt.pt")
    again = front.Escape(torch.optim.SGD(problem.params, lr=0.1), tol=1e-2)
    again.load_state_dict(torch.load(tmp_path / "opt.pt"))
    assert again.certificate == opt.certificate
    assert str(again.certificate).startswith("certified")


def test_escape_works_with_schedulers():
    problem = Problem()
    opt = front.Escape(torch.optim.SGD(problem.params, lr=0.1))
    schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    opt.step(problem.closure)
    schedule.step()
    assert opt.inner.param_groups[0]["lr"] == pytest.approx(0.05)


@pytest.mark.parametrize("reset", [True, False])
def test_the_inner_state_is_lost_by_a_jump_only(reset, caplog):
    """Not by the first step of a wrapper, nor where another parameter begins to have gradients."""
    problem = Problem()
    problem.y.requires_grad_(False)
    inner = INNER["Adam"](problem.params)
    for _ in range(50):
        inner.step(problem.closure)
    opt = front.Escape(inner, reset=reset)
    opt.step(problem.closure)
    assert inner.state[problem.x]["step"] == 51
    problem.y.requires_grad_(True)
    opt.step(problem.closure)
    assert inner.state[problem.x]["step"] == 52
    with caplog.at_level(logging.INFO, logger="unsaddle"):
        while "jump" not in caplog.text:
            assert inner.state[problem.y]
            opt.step(problem.closure)
    assert bool(inner.state) != reset


@pytest.mark.parametrize("when", [0, 40], ids=["from the first", "later"])
def test_a_frozen_parameter_does_not_jump_along(when):
    """Even with a gradient left from before, which ``zero_grad(set_to_none=False)`` makes zero."""
    problem, z = Problem(), torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    opt = front.Escape(torch.optim.SGD([*problem.params, z], lr=0.1))

    def closure():
        opt.zero_grad(set_to_none=False)
        loss = problem.loss() + (1e-3 * z**2).sum()
        loss.backward()
        return loss

    z.grad = torch.zeros_like(z)
    for step in range(400):
        if step == when:
            z.requires_grad_(False)
            frozen = z.detach().clone()
        opt.step(closure)
    assert abs(abs(float(problem.y.detach())) - 1) < 0.01
    assert torch.equal(frozen, z.detach())


def test_a_parameter_that_joins_in_the_middle_of_a_search_ends_it():
    """What was asked at the probe is not taken for an answer at the iterate."""
    problem = Problem()
    problem.y.requires_grad_(False)
    problem.x.data.zero_()
    opt = front.Escape(
        INNER["SGD"](problem.params), patience=1, smoothness=6.0, hessian_lipschitz=9.0
    )
    while opt.phase != "search":
        opt.step(loss=problem.closure())
    assert problem.x.detach().any()  # the probe
    problem.y.requires_grad_(True)
    opt.step(loss=problem.closure())
    assert not problem.x.detach().any()
    opt.step(problem.closure)
    assert opt.phase != "search"
    for _ in range(400):
        opt.step(problem.closure)
    assert abs(abs(float(problem.y.detach())) - 1) < 0.01
    assert opt.certificate.holds


@pytest.mark.parametrize("inner", [torch.optim.SGD, torch.optim.Adam], ids=["SGD", "Adam"])
def test_weight_decay_in_the_gradient_is_part_of_what_is_minimised(inner):
    """At y^2 = 1 - wd the gradient of the loss itself is wd y, far above tol."""
    problem, decay = Problem(), 0.19
    groups = [{"params": [problem.x]}, {"params": [problem.y], "weight_decay": decay}]
    opt = front.Escape(inner(groups, lr=0.03))
    while opt.certificate is None:
        opt.step(problem.closure)
    assert opt.certificate.holds
    assert abs(abs(float(problem.y.detach())) - 0.9) < 0.01
    assert opt.certificate.gradient_norm < 1e-3
    settled = problem.y.detach().clone()
    opt.step(problem.closure)  # on with the inner optimiser, which adds the decay by itself
    assert abs(float((problem.y.detach() - settled)[0])) < 1e-3


def test_weight_decay_can_make_a_saddle_a_minimum():
    """The curvature there is wd - 1."""
    problem = Problem()
    opt = front.Escape(torch.optim.Adam(problem.params, lr=0.03, weight_decay=1.5))
    while opt.certificate is None:
        opt.step(problem.closure)
    assert opt.certificate.holds
    assert float(problem.y.detach()) == 0


def test_escape_with_a_grad_scaler_and_micro_batches():
    """Gradients that overflow, in a descent and in a search, are skipped; two halves make one."""
    problem = Problem(torch.float32)
    given = {"smoothness": 6.0, "hessian_lipschitz": 9.0, "tol": 1e-2}
    opt = front.Escape(INNER["Adam"](problem.params), **given)
    scaler, spoilt = torch.amp.GradScaler("cpu", init_scale=2.0**10), set()
    while opt.certificate is None:
        opt.zero_grad()
        total = 0.0
        for _ in range(2):
            loss = problem.loss() / 2
            scaler.scale(loss).backward()
            total += loss.detach()
        if opt.queries > 5 and opt.phase not in spoilt:
            spoilt.add(opt.phase)
            problem.x.grad.fill_(float("inf"))
        scaler.step(opt, loss=total)
        scaler.update()
    assert {"search", "jump_begin", "jump"} < spoilt
    assert scaler.get_scale() < 2.0**10
    assert opt.certificate.holds
    assert abs(abs(float(problem.y.detach())) - 1) < 0.01


def test_escape_in_bfloat16_leaves_and_says_how_little_it_resolves():
    problem = Problem(torch.bfloat16)
    opt = front.Escape(INNER["SGD"](problem.params), tol=3e-2)
    while opt.certificate is None:
        opt.step(problem.closure)
    assert abs(abs(float(problem.y.detach())) - 1) < 0.01
    assert opt.certificate.holds is None
    assert "cannot be told from rounding" in opt.certificate.note


def test_hooks_and_schedulers_of_both():
    problem, called = Problem(), []
    opt = front.Escape(INNER["SGD"](problem.params))
    for each, name in ((opt, "outer"), (opt.inner, "inner")):
        each.register_step_pre_hook(lambda *_, name=name: called.append(f"{name} before"))
        each.register_step_post_hook(lambda *_, name=name: called.append(f"{name} after"))
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=500)
    for _ in range(300):
        opt.step(problem.closure)
        schedule.step()
    assert called[:4] == ["outer before", "inner before", "inner after", "outer after"]
    assert called.count("outer after") == 300
    assert called.count("inner after") < 300  # a step that searches is not one of the inner's
    assert abs(abs(float(problem.y.detach())) - 1) < 0.01


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_goes_on_alike(copied):
    """Cut in the middle of a search; the copy has an inner optimiser and groups of its own."""
    problem = Problem()
    opt = front.Escape(INNER["Adam"](problem.params), smoothness=6.0, hessian_lipschitz=9.0)
    while opt.phase != "search":
        opt.step(loss=problem.closure())
    other, twin = copied((problem, opt))
    assert twin.param_groups is twin.inner.param_groups is not opt.param_groups
    for loss, each in ((problem, opt), (other, twin)):
        for _ in range(200):
            each.step(loss=loss.closure())
    assert all(map(torch.equal, other.asked, problem.asked))
    assert str(twin.certificate) == str(opt.certificate)
    assert twin.certificate.holds


@pytest.mark.parametrize("whose", ["outer", "inner"])
def test_a_group_added_later_is_in_both_with_the_inner_defaults(whose):
    problem = Problem()
    opt = front.Escape(torch.optim.SGD([problem.x], lr=0.1, momentum=0.9))
    for _ in range(5):
        opt.step(problem.closure)
    (opt if whose == "outer" else opt.inner).add_param_group({"params": [problem.y], "lr": 0.05})
    assert opt.param_groups is opt.inner.param_groups
    assert [group["lr"] for group in opt.inner.param_groups] == [0.1, 0.05]
    assert opt.inner.param_groups[1]["momentum"] == 0.9
    assert opt.defaults is opt.inner.defaults
    for _ in range(400):
        opt.step(problem.closure)
    assert abs(abs(float(problem.y.detach())) - 1) < 0.01
    assert opt.certificate.holds
