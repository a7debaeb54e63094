"""What a search may claim, in ``certify`` and in ``Escape``."""

import pytest

torch = pytest.importorskip("torch")

import unsaddle.torch as front  # noqa: E402
from tests.torch_problem import Problem  # noqa: E402


@pytest.mark.parametrize(
    ("dtype", "low", "raised"), [(torch.float32, -2.2e-3, 0.00447), (torch.bfloat16, -0.19, 0.378)]
)
def test_curvature_is_found_where_the_floor_was_raised(dtype, low, raised):
    """Half of the raised floor, twice what the precision may hide; a fifth of that is hidden."""
    centre = 100.0 if dtype is torch.float32 else 0.05
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


@pytest.mark.parametrize(("far", "width"), [(3.0, 0.03), (30.0, 0.3), (300.0, 0.03), (3000.0, 0.3)])
def test_a_narrow_well_far_away_deceives_neither_escape_nor_certify(far, width):
    """The gradient is odd about the saddle, so that no third derivative shows how it bends."""
    centre = torch.zeros(20)
    centre[1] = far
    x = torch.nn.Parameter(centre.clone())

    def closure():
        x.grad = None
        z = x - centre
        loss = (z[1:] ** 2).sum() / 2 - z[0] ** 2 / 2 + z[0] ** 4 / (4 * width**2)
        loss.backward()
        return loss

    for gamma in (0.1, 0.5, None):
        claim = front.certify(closure, [x], curvature_tol=gamma)
        assert not claim or claim.curvature_tol > 1
    opt = front.Escape(torch.optim.SGD([x], lr=0.1), patience=2)
    for _ in range(60):
        opt.step(closure)
    assert abs(float(x.detach()[0])) > width / 2 or not opt.certificate


def test_certify_tells_a_saddle_from_a_minimum_and_puts_the_parameters_back():
    problem = Problem()
    problem.x.data.zero_()
    found = front.certify(problem.closure, problem.params)
    assert found.holds is False
    assert abs(float(found.direction[1])) > 0.7
    assert found.gradients == len(problem.asked)
    assert float(problem.y.detach()) == 0.0
    problem.y.data.fill_(1.0)
    assert front.certify(problem.closure, problem.params, curvature_tol=1e-3).holds
    assert "stationary" not in found.note
    problem.x.data.fill_(1.0)
    sloping = front.certify(problem.closure, problem.params, curvature_tol=1e-3)
    assert sloping.holds
    assert "The gradient's norm is 1.41: x is not stationary" in sloping.note


@pytest.mark.parametrize("given", [{}, {"smoothness": 1.0}, {"hessian_lipschitz": 1.0}], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_a_search_on_a_linear_loss_ends(dtype, given):
    """There is no curvature to measure: it is said so, or nothing is claimed."""
    x = torch.nn.Parameter(torch.ones(5, dtype=dtype))
    calls = []

    def closure():
        calls.append(1)
        x.grad = torch.full_like(x, 1e-4)
        return x.detach().sum() * 1e-4

    opt = front.Escape(torch.optim.SGD([x], lr=0.1), patience=2, **given)
    for _ in range(4):
        opt.step(closure)
    assert len(calls) < 1500
    assert not opt.certificate or "f is flat here, or it is too coarse" in opt.certificate.note


def test_a_run_and_a_certificate_are_lines_of_the_logger(caplog):
    problem = Problem()
    opt = front.Auto(problem.params, tol=1e-2)
    with caplog.at_level("INFO", logger="unsaddle"):
        while opt.outcome is None:
            opt.step(problem.closure)
        shown = front.certify(problem.closure, problem.params)
    *lines, last = [record.getMessage() for record in caplog.records]
    kinds = [line.split()[0] for line in lines]
    assert kinds == ["search", "curvature", "jump", "search", "certified:"]
    assert last == str(shown)


def test_a_budget_is_kept_and_nothing_is_claimed_beyond_it():
    x = torch.nn.Parameter(torch.zeros(5))
    calls = []

    def closure():
        calls.append(None)
        x.grad = torch.arange(1.0, 6.0) * x.detach()

    assert front.certify(closure, [x], max_gradients=3).holds is None
    assert len(calls) == 3
    with pytest.raises(TypeError, match="max_seconds is not known here, as every rank"):
        front.certify(closure, [x], max_seconds=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="max_seconds is not known here: the loop is yours"):
        front.Auto([x], max_seconds=1)  # type: ignore[call-arg]


def test_escape_takes_what_is_known_of_the_gradients_error():
    problem = Problem()
    known = {"gradient_noise": 1e-4, "probe_radius": 0.05}
    opt = front.Escape(torch.optim.Adam(problem.params, lr=0.03), **known)
    for _ in range(400):
        opt.step(problem.closure)
    assert abs(abs(float(problem.y.detach())) - 1) < 0.01
    assert opt.certificate.gradient_noise >= 1e-4
    assert opt.certificate.probe_radius == 0.05
    with pytest.raises(ValueError, match="gradient_noise"):
        front.Escape(torch.optim.Adam(problem.params), gradient_noise=-1.0)


def test_certify_says_what_noise_is_now():
    problem = Problem()
    with pytest.raises(TypeError, match="pass gradient_noise="):
        front.certify(problem.closure, problem.params, noise=1e-3)
