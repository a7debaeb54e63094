"""What happens to atoms is a line of the logger ``unsaddle``, in the words of chemists."""

import logging

import pytest

pytest.importorskip("ase")

from ase.optimize import BFGS

from tests.ase.structures import cuboctahedron, relaxed
from unsaddle import Outcome
from unsaddle.ase import Escape, Minimum, certify
from unsaddle.ase.words import in_words


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, logger="unsaddle")
    return lambda: [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("make", [Minimum, lambda atoms, **words: Escape(BFGS(atoms, **words))])
def test_a_run_tells_its_saddle_its_jump_and_its_end(make, lines):
    opt = make(cuboctahedron(shells=1), logfile=None)
    assert opt.run(fmax=0.01, steps=200)
    kinds = [line.split()[0] for line in lines()]
    assert kinds == ["search", "imaginary", "jump", "search", "certified:"]
    search, found, jump, _, end = lines()
    assert search == "search 1: largest force 0.000724 eV/Å"
    assert found.startswith("imaginary frequency 48.")
    assert found.endswith("i cm^-1 found in search 1")
    before, after = (float(text) for text in jump.split()[3:6:2])
    assert after < before
    assert end == f"certified: {opt.certificate}"
    assert opt.run(fmax=0.01, steps=200)
    assert len(lines()) == 5  # and not again


def test_a_certificate_is_told_too(lines):
    shown = certify(relaxed(cuboctahedron(shells=1)), 20.0)
    assert lines() == ["search 1", f"negative_curvature: {shown}"]


def test_without_masses_it_is_a_curvature(lines):
    Minimum(cuboctahedron(shells=1), logfile=None, mass_weighted=False).run(fmax=0.01, steps=60)
    assert "eV/Å^2 found in search 1" in lines()[1]


def test_every_outcome_has_words_of_chemists():
    said = [in_words(outcome) for outcome in Outcome]
    for words in ("curvature", "gradient", "tol ", "callback", " x"):
        assert not any(words in sentence for sentence in said), words
    assert len({*said}) == len(said)
    assert in_words(None) == in_words(Outcome.BUDGET)


def test_a_run_says_how_it_has_ended():
    opt = Minimum(cuboctahedron(shells=1), logfile=None)
    assert opt.message == "The steps or the seconds did not suffice."
    opt.run(fmax=0.01, steps=200)
    assert opt.message.startswith("A minimum: forces are below fmax")
