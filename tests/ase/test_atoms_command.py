"""``unsaddle atoms``."""

import json

import pytest

pytest.importorskip("ase")

from ase.io import read

from tests.ase.structures import cuboctahedron, relaxed
from unsaddle.cli import main


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cuboctahedron(shells=1).write("start.xyz")
    relaxed(cuboctahedron(shells=1)).write("saddle.xyz")
    return tmp_path


def test_a_structure_is_relaxed(files, capsys):
    words = ["--calculator", "emt", "--fmax", "0.01", "-o", "out.traj", "--log", "run.log"]
    assert main(["atoms", "start.xyz", *words]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("outcome        CERTIFIED")
    assert "no imaginary frequency above 50i cm^-1" in printed
    assert read("out.traj").get_potential_energy() < read("saddle.xyz").get_potential_energy() - 0.5
    assert "line_search" in (files / "run.log").read_text()
    assert main(["atoms", "out.traj", "--calculator", "emt", "--certify"]) == 0


def test_a_saddle_is_found(files, capsys):
    words = ["--calculator", "ase.calculators.emt:EMT", "--frequency", "20", "-o", "mode.traj"]
    assert main(["atoms", "saddle.xyz", "--certify", "--json", *words]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["outcome"] == "NEGATIVE_CURVATURE"
    assert printed["certificate"]["mode"]["frequency"] > 20
    assert len(read("mode.traj", ":")) == 20


def test_what_is_not_relaxed_is_no_minimum(files, capsys):
    assert main(["atoms", "start.xyz", "--calculator", "emt", "--certify"]) == 1
    assert capsys.readouterr().out.startswith(("outcome        STALLED", "outcome        NEG"))


@pytest.mark.parametrize("limit", [["--steps", "4"], ["--max-seconds", "0"]])
def test_too_few_steps_are_no_success(files, capsys, limit):
    assert main(["atoms", "start.xyz", "--calculator", "emt", *limit]) == 1
    assert "The steps or the seconds did not suffice." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.xyz", "--calculator", "emt"], "cannot be read"),
        (["start.xyz", "--calculator", "emtt"], "is no calculator: type emt or tblite"),
        (["start.xyz", "--calculator", "os:getcwd"], "an ASE calculator, got str"),
        (["start.xyz"], "--calculator"),
        (["start.xyz", "--calculator", "emt", "--frequency", "-1"], "frequency must be"),
        (["start.xyz", "--calculator", "emt", "--fmx", "1"], "--fmax"),
    ],
)
def test_bad_input_is_named(files, capsys, words, message):
    assert main(["atoms", *words]) == 2
    assert message in capsys.readouterr().err
