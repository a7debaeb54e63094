"""Pictures of runs and pages of results: drawn for every kind of end, and nothing left open."""

import logging
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import matplotlib.text
import numpy as np
import pytest

import unsaddle
from tests.often import at_night
from tests.watched import START, gradient, value
from unsaddle import landscapes
from unsaddle.certificate import rounded_up
from unsaddle.cli import main

mpl.use("Agg")


def solve(**given: Any) -> Any:
    return unsaddle.minimize(value, **{"x0": START, "jac": gradient, **given})


def words(figure: Any) -> str:
    return " ".join(text.get_text() for text in figure.findobj(mpl.text.Text))


def drawn(figure: Any) -> str:
    """Draw it, and give all its words."""
    figure.canvas.draw()
    plt.close(figure)
    return words(figure)


@pytest.mark.slow
def test_a_run_is_drawn_with_its_saddle_and_its_certificate() -> None:
    result = solve()
    said = drawn(unsaddle.plot(result, value))
    assert "saddle left:\ncurvature -1" in said
    assert "saddle: curvature -1" in said
    assert f"below -{rounded_up(result.certificate.curvature_tol)}" in said


@pytest.mark.parametrize(
    "given",
    [
        {"max_gradients": 0},
        {"max_gradients": 3},
        {"x0": np.ones(5)},
        {"jac": None},
        {"bounds": [(-2, 2), (-0.5, 0.5)]},
        {"x_scale": [1.0, 3.0]},
        {"method": "agd-auto"},
    ],
)
@pytest.mark.parametrize("style", ["default", at_night("dark_background")])
@pytest.mark.slow
def test_every_kind_of_run_can_be_drawn(given: dict[str, Any], style: str) -> None:
    with plt.style.context(style):
        assert "gradient norm" in drawn(unsaddle.plot(solve(**given)))


@pytest.mark.slow
def test_a_landscape_gives_the_contours() -> None:
    f = landscapes.quartic()
    result = unsaddle.minimize(f.value, f.saddles[0], jac=f.gradient)
    assert "certified" in drawn(unsaddle.plot(result, f))


def test_what_is_no_result_is_named() -> None:
    with pytest.raises(TypeError, match="plot takes what minimize gave, got ndarray"):
        unsaddle.plot(START)


@pytest.mark.slow
def test_the_command_line_draws(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.png"
    assert main(["minimize", "landscape:quartic", "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert main(["minimize", "landscape:quartic", "--plot", str(tmp_path / "no" / "run.png")]) == 2
    assert "--plot cannot write" in capsys.readouterr().err


@pytest.mark.slow
def test_a_notebook_shows_a_table_and_the_curve() -> None:
    result = solve()
    page = result._repr_html_()
    assert page.startswith("<table>")
    assert page.count("<svg") == 1
    assert "certified: no curvature below" in page
    assert "<script" not in page
    shown = result.certificate._repr_html_()
    assert "holds" in shown
    assert "<td" in shown


def test_pages_escape_what_they_show() -> None:
    shown = unsaddle.Certificate(None, 1.0, 1.0, 0.0, None, 0, "<b>&")
    assert "&lt;b&gt;&amp;" in shown._repr_html_()


@pytest.mark.slow
def test_drawing_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        drawn(unsaddle.plot(solve()))
    assert not caplog.records
