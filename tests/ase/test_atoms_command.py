"""``unsaddle atoms``."""

import io
import json
import signal

import numpy as np
import pytest

pytest.importorskip("ase")

from ase.calculators.emt import EMT
from ase.io import read

from tests.ase.structures import cuboctahedron, relaxed
from unsaddle.cli import main
from unsaddle.numpy.progress import ERASE


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


CALCULATOR = """
import signal
from ase.calculators.emt import EMT

class Cut(EMT):
    calls = 0
    def calculate(self, *args, **kwargs):
        self.calls += 1
        if self.calls == 12:
            {}
        super().calculate(*args, **kwargs)
"""


@pytest.mark.parametrize(
    ("what", "code"),
    [("raise RuntimeError('no licence')", 2), ("signal.raise_signal(signal.SIGINT)", 130)],
)
def test_a_run_that_is_cut_short_leaves_its_structure(files, capsys, what, code):
    (files / "cut.py").write_text(CALCULATOR.format(what))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    words = ["--calculator", "cut.py:Cut", "--fmax", "0.01", "-o", "out.xyz"]
    assert main(["atoms", "start.xyz", *words]) == code
    signal.signal(signal.SIGINT, before)
    assert ("no licence" in capsys.readouterr().err) == (code == 2)
    atoms = read("out.xyz")
    atoms.calc = EMT()
    assert np.linalg.norm(atoms.get_forces(), axis=1).max() < 0.01  # at the saddle, being searched


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("words", "doing"), [([], "descending"), (["--certify"], "proving at point 1")]
)
def test_a_terminal_shows_how_far_it_is(files, monkeypatch, words, doing):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    main(["atoms", "saddle.xyz", "--calculator", "emt", *words])
    assert terminal.getvalue().split(ERASE)[1].startswith("1 force call, energy 10.157064 eV, fmax")
    assert doing in terminal.getvalue()
    assert terminal.getvalue().endswith(ERASE)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.xyz", "--calculator", "emt"], "cannot be read"),
        (["start.xyz", "--calculator", "emtt"], "is no calculator: type emt or tblite"),
        (["start.xyz", "--calculator", "os:getcwd"], "an ASE calculator, got str"),
        (["start.xyz", "--calculator", "bisect:insort"], "a function without arguments"),
        (["start.xyz"], "--calculator"),
        (["start.xyz", "--calculator", "emt", "-o", "out.nothing"], "such as relaxed.traj"),
        (["start.xyz", "--calculator", "emt", "-o", "no/out.xyz"], "there is no folder 'no'"),
        (["start.xyz", "--calculator", "emt", "--log", "no/log"], "'no/log' cannot be opened"),
        (["start.xyz", "--calculator", "emt", "--frequency", "-1"], "frequency must be"),
        (["start.xyz", "--calculator", "emt", "--fmx", "1"], "--fmax"),
    ],
)
def test_bad_input_is_named(files, capsys, words, message):
    assert main(["atoms", *words]) == 2
    assert message in capsys.readouterr().err
