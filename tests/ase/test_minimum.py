"""``Minimum``: an ASE optimiser like any other, but for where it ends."""

import io
import itertools
import shutil

import numpy as np
import pytest

pytest.importorskip("ase")

from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.calculator import CalculationFailed
from ase.calculators.emt import EMT
from ase.calculators.qmmm import ForceConstantCalculator
from ase.filters import FrechetCellFilter, StrainFilter, UnitCellFilter
from ase.io import read
from ase.optimize import BFGS
from ase.optimize.optimize import RestartError

from tests.ase.structures import (
    Failing,
    adatom,
    cuboctahedron,
    exact,
    lowest_of_the_icosahedron,
    small,
)
from tests.often import most_at_night
from tests.watched import some_calls
from unsaddle import Outcome
from unsaddle.ase import Minimum
from unsaddle.core.session import NotFiniteError


def largest(atoms):
    return np.linalg.norm(atoms.get_forces(), axis=1).max()


@pytest.mark.parametrize("seed", most_at_night([0], range(3)))
@pytest.mark.slow
def test_the_cuboctahedron_becomes_an_icosahedron(seed):
    atoms, stopped = cuboctahedron(), cuboctahedron()
    BFGS(stopped, logfile=None).run(fmax=0.01)
    assert stopped.get_potential_energy() > 26.8
    opt = Minimum(atoms, logfile=None, seed=seed)
    assert opt.run(fmax=0.01, steps=200)
    assert opt.outcome is Outcome.CERTIFIED
    assert opt.force_calls == opt.nsteps + 1 < 120
    assert atoms.get_potential_energy() == pytest.approx(24.6487, abs=1e-3)
    assert largest(atoms) < 0.01
    assert opt.certificate.force_calls < 330 / 3
    assert lowest_of_the_icosahedron() > -opt.certificate.curvature_tol


@pytest.mark.slow
def test_an_adatom_leaves_the_bridge():
    atoms = adatom()
    fixed = atoms.positions[atoms.constraints[0].index].copy()
    assert Minimum(atoms, logfile=None).run(fmax=0.01, steps=200)
    assert np.array_equal(atoms.positions[atoms.constraints[0].index], fixed)
    assert exact(atoms)[0] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CH3CH2OH", "CH3OH", "CO2", "H2O", "CO"])
def test_ordinary_relaxations_take_no_longer_to_fmax(name):
    ours, theirs = small(name), small(name)
    opt, other = Minimum(ours, logfile=None), BFGS(theirs, logfile=None)
    assert opt.run(fmax=0.01, steps=300)
    assert other.run(fmax=0.01, steps=300)
    assert largest(ours) < 0.01
    if opt.drive.state.episode == 1:  # there was no saddle on the way
        assert opt.force_calls - opt.certificate.force_calls <= 1.2 * other.nsteps + 5
    assert exact(ours)[0] > -opt.certificate.curvature_tol


@pytest.mark.parametrize("filtered", [FrechetCellFilter, UnitCellFilter, StrainFilter])
def test_cells_are_relaxed(filtered):
    atoms = bulk("Cu", a=3.8, cubic=True)
    atoms.calc = EMT()
    assert Minimum(filtered(atoms), logfile=None).run(fmax=0.001, steps=300)
    assert atoms.cell.lengths() == pytest.approx([3.59, 3.59, 3.59], abs=0.01)


def test_one_atom_is_at_rest():
    atoms = bulk("Cu")
    atoms.calc = EMT()
    opt = Minimum(atoms, logfile=None)
    assert opt.run(fmax=0.01)
    assert opt.force_calls == 1
    assert opt.certificate


@pytest.mark.slow
def test_only_iterates_are_written(tmp_path):
    atoms, log = cuboctahedron(), io.StringIO()
    opt, seen = Minimum(atoms, logfile=log, trajectory=tmp_path / "opt.traj"), []
    opt.attach(lambda: seen.append(atoms.get_potential_energy()))
    opt.attach(lambda: seen.append(None), interval=20)
    opt.run(fmax=0.01, steps=200)
    images = read(tmp_path / "opt.traj", ":")
    energies = [image.get_potential_energy() for image in images]
    steps = [after - before for before, after in itertools.pairwise(energies)]
    assert max(steps) < 0  # a probe or a trial would go up
    assert [energy for energy in seen if energy is not None] == energies
    assert 3 <= seen.count(None) <= opt.nsteps // 20 + 1
    lines = log.getvalue().splitlines()
    assert lines[0].split() == ["Step", "Time", "Energy", "fmax", "phase", "1/cm"]
    assert len(lines) == opt.nsteps + 2
    assert any("line_search" in line for line in lines)
    assert any(line.split()[5:6] == ["search"] and line.endswith("i") for line in lines)


@pytest.mark.slow
def test_between_steps_the_atoms_are_at_the_iterate():
    atoms = cuboctahedron()
    opt = Minimum(atoms, logfile=None)
    for _ in opt.irun(fmax=0.01, steps=200):
        centred = opt.drive.state.x / opt.space.scale + opt.space.centre
        assert np.allclose(atoms.positions.ravel(), centred, atol=1e-12, rtol=0)


def fragile(at=0, how=None):
    """Give a small saddle whose calculator fails at some call, and looks at nothing but atoms."""
    atoms = cuboctahedron(shells=1)
    atoms.calc = Failing(at, how)
    return atoms


def path(atoms, **words):
    """Run to the end; give the run, and where the atoms were at every step."""
    opt, places = Minimum(atoms, logfile=None, frequency=10.0, **words), []
    for _ in opt.irun(fmax=0.02, steps=200):
        places.append(atoms.positions.copy())
    return opt, np.array(places)


@pytest.mark.slow
@some_calls
@pytest.mark.parametrize("how", [RuntimeError, None])
def test_nothing_is_lost_when_the_calculator_fails(how, every):
    """At any of its calls: the run goes on as if nothing had been."""
    opt, places = path(fragile())
    assert opt.certified
    for at in range(1, opt.force_calls + 1, every):
        atoms = fragile(at, how)
        broken = Minimum(atoms, logfile=None, frequency=10.0)
        try:
            broken.run(fmax=0.02, steps=200)
        except (RuntimeError, NotFiniteError):
            at_iterate = broken.drive.state.x / broken.space.scale + broken.space.centre
            assert np.allclose(atoms.positions.ravel(), at_iterate, atol=1e-12, rtol=0)
            assert broken.run(fmax=0.02, steps=200)
            assert np.array_equal(atoms.positions, places[-1])
            assert broken.force_calls == opt.force_calls
        assert broken.certified  # also where NaN was at a trial, which is no failure


def test_a_trial_that_cannot_be_calculated_is_too_long():
    assert path(fragile(3, CalculationFailed))[0].certified


@pytest.mark.slow
@some_calls
def test_a_run_that_was_killed_goes_on_bit_for_bit(tmp_path, every):
    opt, places = path(fragile())
    for killed in range(0, opt.nsteps, 2 + every):
        file, first = tmp_path / f"{killed}.npz", fragile()
        Minimum(first, file, None, frequency=10.0).run(fmax=0.02, steps=killed)
        atoms = fragile()
        if killed % 2:
            atoms.positions = first.positions
        again, rest = path(atoms, restart=file)
        assert again.force_calls == opt.force_calls
        assert np.array_equal(rest[1:], places[killed + 1 :])
        assert again.certificate.curvature == opt.certificate.curvature


def test_a_restart_of_something_else_is_refused(tmp_path):
    file = tmp_path / "run.npz"
    Minimum(cuboctahedron(), restart=file, logfile=None).run(fmax=0.02, steps=5)
    with pytest.raises(RestartError, match="165 coordinates and atoms has 27"):
        Minimum(small(), restart=file, logfile=None)
    with pytest.raises(RestartError, match="another frequency"):
        Minimum(cuboctahedron(), restart=file, logfile=None, frequency=10.0)
    file.write_text("hello")
    with pytest.raises(RestartError, match="Could not decode"):
        Minimum(Atoms(), restart=file, logfile=None)


@pytest.mark.slow
def test_atoms_that_were_moved_are_relaxed_anew():
    atoms = small()
    opt = Minimum(atoms, logfile=None)
    assert opt.run(fmax=0.01, steps=300)
    atoms.rattle(0.05, seed=3)
    assert largest(atoms) > 0.1
    assert opt.run(fmax=0.01, steps=300)
    assert largest(atoms) < 0.01


@pytest.mark.slow
def test_a_smaller_fmax_goes_on():
    atoms = small()
    opt = Minimum(atoms, logfile=None)
    assert opt.run(fmax=0.05, steps=300)
    calls = opt.force_calls
    assert opt.run(fmax=0.05, steps=300)
    assert opt.force_calls == calls
    assert opt.run(fmax=0.001, steps=300)
    assert largest(atoms) < 0.001


def test_a_saddle_without_room_to_leave_it_is_no_success():
    opt = Minimum(cuboctahedron(), logfile=None)
    assert not opt.run(fmax=0.01, steps=12)
    assert opt.outcome is None
    assert not opt.converged()


@pytest.mark.slow
def test_where_it_starts_does_not_matter():
    energies = []
    for shift, angle in ((0, 0), (50, 0), (0, 40)):
        atoms = cuboctahedron()
        atoms.positions += shift
        atoms.rotate(angle, (1, 2, 3))
        assert Minimum(atoms, logfile=None).run(fmax=0.005, steps=300)
        energies.append(atoms.get_potential_energy())
    assert energies == pytest.approx([energies[0]] * 3, abs=1e-3)


def test_no_step_is_longer_than_maxstep():
    """Two atoms at springs to points far away."""
    atoms, places = molecule("N2"), []
    springs = ForceConstantCalculator(100 * np.eye(6), atoms.copy(), np.zeros((2, 3)))
    atoms.calc = springs
    atoms.positions[1] += 1.0
    for _ in Minimum(atoms, logfile=None, maxstep=0.1).irun(fmax=0.01, steps=30):
        places.append(atoms.positions.copy())
    steps = np.linalg.norm(np.diff(places, axis=0), axis=2)
    assert steps.max() == pytest.approx(0.1)


class TestOfASE:
    """ASE's own tests of optimisers that fit any of them."""

    @pytest.fixture(autouse=True)
    def markers(self, request):
        request.config.addinivalue_line("markers", "optimize: a marker of ASE's")

    @pytest.fixture
    def theirs(self, markers):
        return pytest.importorskip("ase.test.optimize.test_optimizers")

    @pytest.fixture
    def ref_atoms(self):
        atoms = bulk("Au")
        atoms.calc = EMT()
        atoms.get_potential_energy()
        return atoms

    @pytest.fixture
    def atoms(self, ref_atoms):
        atoms = ref_atoms * (2, 2, 2)
        atoms.calc = EMT()
        atoms.rattle(stdev=0.1, seed=7)
        return atoms

    def test_optimize(self, theirs, atoms, ref_atoms):
        theirs.test_optimize(Minimum, atoms, ref_atoms, {})

    def test_unconverged(self, theirs, atoms):
        theirs.test_unconverged(Minimum, atoms, {})

    def test_run_twice(self, theirs, atoms):
        theirs.test_run_twice(Minimum, atoms, {})

    def test_path(self, theirs, atoms, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        theirs.test_path(tmp_path, Minimum, atoms, {})

    def test_number_of_steps(self, atoms):
        theirs = pytest.importorskip("ase.test.optimize.test_nsteps")
        for steps in (0, 1, 4):
            with Minimum(atoms.copy(), logfile=None) as opt:
                opt.atoms.calc = EMT()
                theirs.test_nsteps(opt, steps)

    @pytest.mark.parametrize("name", ["test_irun_start", "test_attach_trajectory"])
    def test_stepwise(self, name, tmp_path, monkeypatch):
        theirs = pytest.importorskip("ase.test.optimize.test_optimize_stepwise")
        monkeypatch.setattr(theirs, "BFGS", Minimum)
        before = bulk("Au", cubic=True)
        before.rattle(stdev=0.15)
        atoms = before.copy()
        atoms.calc = EMT()
        given = (before, atoms) if name == "test_irun_start" else (tmp_path, before, atoms)
        getattr(theirs, name)(*given)

    @pytest.mark.parametrize("name", ["test_path_restart", "test_none_restart", "test_bad_restart"])
    def test_restart(self, name, tmp_path, monkeypatch):
        theirs = pytest.importorskip("ase.test.optimize.test_restart")
        monkeypatch.setattr(theirs, "BFGS", Minimum)
        monkeypatch.chdir(tmp_path)
        if not hasattr(theirs, name):
            pytest.skip("this ASE has no such test")
        getattr(theirs, name)(tmp_path)

    @pytest.mark.slow
    def test_restart_of_a_filter(self, tmp_path, monkeypatch):
        theirs = pytest.importorskip("ase.test.optimize.test_optimizer_restart")

        class Ours(Minimum):
            def __init__(self, atoms, alpha=None, **words):
                super().__init__(atoms, **words)

        monkeypatch.setattr(
            theirs, "params", lambda opt: ({"fmax": 0.005}, {"append_trajectory": True})
        )
        monkeypatch.chdir(tmp_path)
        theirs.test_optimizers_restart(tmp_path, Ours)

    def test_a_function_that_is_no_structure(self, monkeypatch):
        theirs = pytest.importorskip("ase.test.optimize.test_pure")
        theirs.test_booth(Minimum)


@pytest.mark.slow
def test_files_are_left_whole(tmp_path):
    file = tmp_path / "run.npz"
    Minimum(small(), restart=file, logfile=None).run(fmax=0.05, steps=20)
    assert [each.name for each in tmp_path.iterdir()] == ["run.npz"]
    shutil.copy(file, tmp_path / "copy.npz")
    assert Minimum(small(), restart=tmp_path / "copy.npz", logfile=None).run(fmax=0.05)
