"""Every example leaves the saddle where others stay; the pages run in ``test_docs.py``."""

import pytest

PROBLEMS = ["matrix_factorisation", "deep_linear_network", "mlp_digits"]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_an_example_leaves_the_saddle_where_others_stay(problem):
    """Escape(Adam) and ANCGD certify a minimum; SGD, Adam and LBFGS end where they began."""
    pytest.importorskip("torch")
    if problem == "mlp_digits":
        pytest.importorskip("sklearn")
    from importlib import import_module

    from examples.race import run, table

    build = import_module(f"examples.{problem}").build
    short = lambda: build()._replace(gradients=120)  # noqa: E731
    stay = {name: run(short, name) for name in ("SGD", "Adam", "LBFGS")}
    leave = {name: run(build, name) for name in ("ANCGD", "Escape(Adam)")}
    assert all(course.holds is False for course in stay.values())
    assert all(course.holds for course in leave.values())
    assert all(len(course.losses) <= build().gradients for course in leave.values())
    assert leave["Escape(Adam)"].jumps
    ends = min(course.end for course in stay.values())
    assert all(course.end < 0.6 * ends for course in leave.values())
    assert table({problem: {**stay, **leave}}).count("saddle") == 3


def test_the_picture(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    from examples.race import Course, picture

    course = Course([1.0, 0.5, 0.1], [2], 0.1, True)
    courses = {name: {"Adam": course, "Escape(Adam)": course} for name in ("one", "two")}
    picture(courses, str(tmp_path / "race.png"))
    assert (tmp_path / "race.png").stat().st_size > 10_000
