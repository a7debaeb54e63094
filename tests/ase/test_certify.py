"""Certificates of structures, in the words of vibrations."""

import re

import numpy as np
import pytest

pytest.importorskip("ase")

from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.filters import FrechetCellFilter
from ase.io import read
from ase.vibrations import Vibrations

from tests.ase.structures import adatom, cuboctahedron, exact, icosahedron, relaxed, small
from tests.often import most_at_night
from unsaddle.ase import certify
from unsaddle.ase.vibration import curvature_of, frequency_of


def line(symbol="Ar", number=3):
    """Atoms in a row, which would rather be a triangle."""
    atoms = Atoms(f"{symbol}{number}", [(0, 0, 3.8 * i) for i in range(number)])
    atoms.calc = LennardJones(sigma=3.4, epsilon=0.0104, rc=15.0)
    return relaxed(atoms, 1e-6)


def test_a_minimum_has_no_imaginary_frequency():
    atoms = relaxed(icosahedron())
    before = atoms.positions.copy()
    shown = certify(atoms)
    assert shown.holds
    assert shown.frequency == pytest.approx(50)
    text = str(shown)
    cost = f"({shown.force_calls} force calls; ase.vibrations would take 78)"
    claim = "no imaginary frequency above 50i cm^-1, wrong with probability at most 0.001"
    assert text.startswith(f"{claim} {cost}")
    assert shown.force_calls < 78
    assert np.array_equal(atoms.positions, before)


def test_the_mode_of_a_saddle_is_that_of_ase_vibrations(tmp_path):
    atoms = line()
    shown = certify(atoms, 1.0)
    assert shown.holds is False
    assert "imaginary frequency" in str(shown)
    mode = shown.mode
    vibrations = Vibrations(atoms, name=str(tmp_path / "vib"))
    vibrations.run()
    frequencies = vibrations.get_frequencies()
    assert mode.frequency == pytest.approx(frequencies.imag.max(), rel=1e-2)
    assert mode.displacements.shape == (3, 3)
    assert np.abs(mode.displacements[:, 2]).max() < 1e-3  # it bends
    assert np.array_equal(shown.direction, mode.displacements)
    mode.write(tmp_path / "mode.traj")
    frames = read(tmp_path / "mode.traj", ":")
    assert len(frames) == 20
    swings = [np.linalg.norm(it.positions - atoms.positions, axis=1).max() for it in frames]
    assert max(swings) == pytest.approx(0.3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_what_is_found_is_there(seed):
    atoms = relaxed(adatom())
    lowest = exact(atoms)[0]
    shown = certify(atoms, 10.0, seed=seed)
    assert lowest < -curvature_of(10.0)
    assert shown.holds is False
    assert 0.7 < shown.mode.frequency / -frequency_of(lowest) < 1.001


@pytest.mark.parametrize("seed", most_at_night([0], range(5)))
@pytest.mark.slow
def test_an_imaginary_frequency_below_the_claim_is_mentioned(seed):
    atoms = relaxed(cuboctahedron())
    shown = certify(atoms, 50.0, seed=seed)
    assert shown.holds
    assert re.search(r"A smaller one, 19\.[67]i cm\^-1, was met on the way: see mode\.", str(shown))
    assert shown.mode.frequency == pytest.approx(19.66, abs=0.05)
    assert shown.direction is None


def turned(atoms):
    atoms.rotate(50, (1, 2, 3), center="COP")


def shifted(atoms):
    atoms.positions += (7.0, -3.0, 11.0)


def relabelled(atoms):
    order = np.random.default_rng(0).permutation(len(atoms))
    atoms.positions, atoms.numbers = atoms.positions[order], atoms.numbers[order]


def in_a_cell(atoms):
    atoms.center(vacuum=20.0)
    atoms.pbc = True


@pytest.mark.parametrize("change", [shifted, turned, relabelled, in_a_cell])
@pytest.mark.parametrize("saddle", [False, True])
@pytest.mark.slow
def test_the_answer_does_not_depend_on_place_and_labels(change, saddle):
    atoms = line() if saddle else relaxed(small("CH3OH"))
    other = atoms.copy()
    other.calc = LennardJones(sigma=3.4, epsilon=0.0104, rc=15.0) if saddle else EMT()
    change(other)
    asked = 1.0 if saddle else 20.0
    one, two = certify(atoms, asked), certify(other, asked)
    assert one.holds is two.holds is not saddle
    assert one.frequency == pytest.approx(two.frequency)
    if saddle:
        assert one.mode.frequency == pytest.approx(two.mode.frequency, rel=1e-7)


@pytest.mark.slow
def test_without_masses_the_claim_is_of_curvature():
    atoms = relaxed(small("CH3OH"))
    shown = certify(atoms, mass_weighted=False)
    assert shown.holds
    assert shown.curvature_tol == pytest.approx(curvature_of(50.0) * 1.008)
    assert str(shown).startswith("no curvature below -0.00927 eV/Å^2, wrong")
    assert certify(atoms, curvature_tol=0.5, mass_weighted=False).curvature_tol == 0.5
    assert exact(atoms, mass_weighted=False)[0] > -shown.curvature_tol


def test_a_filter_is_certified_in_its_own_coordinates():
    atoms = bulk("Cu", cubic=True)
    atoms.calc = EMT()
    filtered = FrechetCellFilter(atoms)
    relaxed(filtered, 1e-4)
    shown = certify(filtered)
    assert shown.holds
    assert str(shown).startswith("no curvature below")


def test_nothing_vibrates_in_one_atom():
    atoms = Atoms("Cu", calculator=EMT())
    shown = certify(atoms)
    assert shown.holds
    assert "nothing that could vibrate" in str(shown)


@pytest.mark.slow
def test_the_budget_is_kept():
    shown = certify(relaxed(cuboctahedron()), max_force_calls=9)
    assert shown.holds is None
    assert shown.force_calls == 9
    assert str(shown).startswith("undecided: imaginary frequency above 50i cm^-1 was neither")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"frequency": 0}, "frequency must be a finite number > 0, 1e-10 to 1e10, got 0"),
        ({"frequency": "50"}, "frequency must be"),
        ({"displacement": -1.0}, "displacement must be"),
        ({"failure_probability": 2.0}, "failure_probability"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_words_are_refused(words, message):
    with pytest.raises(ValueError, match=message):
        certify(small(), **words)


def test_an_unknown_word_is_refused():
    with pytest.raises(TypeError, match="displacement"):
        certify(small(), displacment=0.01)


@pytest.mark.slow
def test_displacement_and_noise_are_passed_on():
    atoms = relaxed(small("CH3OH"))
    shown = certify(atoms, displacement=0.005)
    mean = np.sqrt(np.mean(atoms.get_masses()))
    assert shown.probe_radius == pytest.approx(0.005 * mean)
    assert certify(atoms, force_noise=1e-4).gradient_noise >= 1e-4 / np.sqrt(1.008) * 0.999


@pytest.mark.parametrize("make", [lambda: cuboctahedron(shells=1), lambda: adatom("fcc"), small])
@pytest.mark.slow
def test_every_certificate_is_true(make):
    atoms = relaxed(make())
    lowest = exact(atoms)[0]
    for seed in range(3):
        shown = certify(atoms, 20.0, seed=seed)
        assert shown.holds is bool(lowest > -shown.curvature_tol)


def test_without_time_nothing_is_claimed():
    atoms = icosahedron()
    shown = certify(atoms, max_seconds=0)
    assert shown.holds is None
    assert shown.force_calls <= 1
    with pytest.raises(ValueError, match="max_seconds must be a number of seconds"):
        certify(atoms, max_seconds="1")
