"""Every example leaves the saddle where others stay; the pages run in ``test_docs.py``."""

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.escapes.problem import WORDS, Course, picture, table
from tests.often import most_at_night

PROBLEMS = ["matrix_factorisation", "deep_linear_network", "mlp_digits"]
PAGE = Path(__file__).parents[2] / "docs" / "escapes.md"
each_problem = pytest.mark.parametrize("problem", most_at_night(PROBLEMS[:2], PROBLEMS))


def built(problem):
    if problem == "mlp_digits":
        pytest.importorskip("sklearn")
    return import_module(f"benchmarks.escapes.{problem}").build()


def leave_where_others_stay(run, problem, stay, leave):
    """Those that leave may take all gradients; a quarter is enough to see that others stay."""
    short = problem._replace(gradients=problem.gradients // 4)
    stay = {name: run(short, name) for name in stay}
    leave = {name: run(problem, name) for name in leave}
    assert all(course.holds is False for course in stay.values())
    assert all(short.gradients <= len(each.losses) for each in stay.values())
    assert all(course.holds for course in leave.values())
    assert all(len(course.losses) < problem.gradients for course in leave.values())
    assert all(course.jumps for course in leave.values())
    for name, course in {**stay, **leave}.items():
        gradients, end, there = on_the_page()[problem.name, name]
        spent = len(course.losses) if name in leave else problem.gradients
        assert spent == pytest.approx(int(gradients), rel=0.02)  # rounding may differ
        assert course.end == pytest.approx(float(end), rel=0.02, abs=1e-6)
        assert WORDS[course.holds] == there
    ends = min(course.end for course in stay.values())
    assert all(course.end < 0.6 * ends for course in leave.values())
    assert table({problem.name: {**stay, **leave}}).count("saddle") == len(stay)


@pytest.mark.torch
@each_problem
def test_on_torch(problem):
    """Escape(Adam) and ANCGD certify a minimum; SGD, Adam and LBFGS end where they began."""
    from benchmarks.escapes.race import run

    leave = ("Escape(Adam)", "ANCGD")
    leave_where_others_stay(run, built(problem), ("SGD", "Adam", "LBFGS"), leave)


def on_the_page():
    """Give the rows of the table: what they say of (problem, optimiser)."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines()]
    return {(row[0], row[1]): row[2:] for row in rows if len(row) == 5}


PEERS = {  # of one package each; what builds whole Hessians takes a minute on the digits
    "psd-optimizer": (["PSD", "PerturbedAdam"], []),
    "pytorch-minimize": (["bfgs", "newton-cg"], ["newton-exact", "trust-exact"]),
}


@pytest.mark.torch
@pytest.mark.parametrize("problem", most_at_night(PROBLEMS[:1], PROBLEMS))
@pytest.mark.parametrize("package", PEERS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_rows_of_other_packages(package, problem):
    """Within the same number of gradients; a random kick may be the last thing before the end."""
    from benchmarks.escapes.peers import PACKAGES

    pytest.importorskip(PACKAGES[package], reason=f"needs {package}: pip install 'unsaddle[bench]'")
    from benchmarks.escapes.race import run

    (quick, slow), at = PEERS[package], built(problem)
    for name in quick + slow * (problem != "mlp_digits"):
        runner = f"{package} {name}"
        course, (_, _, there) = run(at, runner), on_the_page()[at.name, runner]
        kicks = package == "psd-optimizer"
        assert WORDS[course.holds] == there or kicks
        assert min(course.losses) < 0.3 * course.losses[0] or not kicks
        assert len(course.losses) <= at.gradients + 10  # a kick that has begun is finished


@pytest.mark.torch
@pytest.mark.jax
def test_the_page_has_a_row_for_everyone():
    pytest.importorskip("sklearn")
    from benchmarks.escapes import race, race_jax

    names = [*race.RUNNERS, *race_jax.RUNNERS]
    expected = {(built(problem).name, name) for problem in PROBLEMS for name in names}
    assert expected < {*on_the_page()}


@pytest.mark.slow
def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    course = Course([1.0, 0.5, 0.1], [2], 0.1, True)
    courses = {name: {"Adam": course, "Escape(Adam)": course} for name in ("one", "two")}
    picture(courses, str(tmp_path / "race.png"))
    assert (tmp_path / "race.png").stat().st_size > 10_000
