"""Certificates in the words of vibrations: frequencies in 1/cm, modes as displacements in Å."""

import math
from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from typing import NamedTuple

import numpy as np
from ase import Atoms, units
from ase.io import write

from unsaddle.ase.space import Space
from unsaddle.certificate import LOWEST, Certificate, rounded_up
from unsaddle.numpy.ops import Vector

PER_CM = units._hbar * units.J * units.s / units.invcm  # 1/cm of a root of eV/(Å^2 amu)


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    swing: float = 0.3  # Å, (0, 2): how far the atom that moves most goes in a picture of a mode
    frames: int = 20  # of that picture, 3 and up: one period that looks smooth


TUNING = Tuning()


def frequency_of(curvature: float) -> float:
    """Give the frequency in 1/cm of a curvature in eV/(Å^2 amu); negative if it is imaginary."""
    return math.copysign(PER_CM * math.sqrt(abs(curvature)), curvature)


def curvature_of(frequency: float) -> float:
    """Give the size of the curvature in eV/(Å^2 amu) that belongs to a frequency in 1/cm."""
    return (frequency / PER_CM) ** 2


def vibration(curvature: float, mass_weighted: bool) -> str:
    """Say which vibration a negative curvature is."""
    if not mass_weighted:
        return f"curvature {curvature:.3g} eV/Å^2"
    return f"imaginary frequency {-frequency_of(curvature):.3g}i cm^-1"


@dataclass(frozen=True)
class Mode:
    """A direction along which the energy falls."""

    atoms: Atoms
    """The structure, without a calculator."""
    displacements: Vector
    """A row for each atom, in Å; of length one as a whole."""
    frequency: float
    """The size of the imaginary frequency in 1/cm; without masses NaN."""

    def write(self, path: str | PathLike[str], amplitude: float = TUNING.swing) -> None:
        """Write one period of the mode as a movie, in any format that ASE writes.

        Args:
            path: The file, such as ``mode.traj`` or ``mode.xyz``.
            amplitude: How far the atom that moves most goes, in Å.
        """
        most = np.linalg.norm(self.displacements, axis=1).max()
        images = []
        for phase in np.linspace(0, 2 * math.pi, TUNING.frames, endpoint=False):
            image = self.atoms.copy()
            image.positions += amplitude / most * math.sin(phase) * self.displacements
            images.append(image)
        write(fspath(path), images)


@dataclass(frozen=True)
class VibrationCertificate(Certificate):
    """The claim "there is no imaginary frequency above this", and what backs it.

    ``curvature_tol`` and ``curvature`` are in eV/(Å^2 amu), or without masses in eV/Å^2, and
    ``direction`` has a row for each atom.
    """

    frequency: float = math.nan
    """The claim in 1/cm: no imaginary frequency is larger. NaN without masses."""
    mode: Mode | None = None
    """The imaginary mode that was found; one below the claim too, if it was met on the way."""
    vibrations: int = 0
    """Force calls that ``ase.vibrations`` would take."""

    @property
    def force_calls(self) -> int:
        """Force calls that this search took."""
        return self.gradients

    def __str__(self) -> str:
        """Say it in one sentence, and add every caveat."""
        cost = f"{self.gradients} force call{'s' * (self.gradients != 1)}"
        otherwise = f"; ase.vibrations would take {self.vibrations}" if self.vibrations else ""
        sentence = {
            True: f"no {self._what}, wrong with probability at most "
            f"{rounded_up(self.failure_probability)}",
            False: f"{self._found} found, see mode",
            None: f"undecided: {self._what} was neither found nor ruled out",
        }[self.holds]
        return f"{sentence} ({cost}{otherwise}). {self.note}".strip()

    @property
    def _what(self) -> str:
        """What the claim is about."""
        if not math.isnan(self.frequency):
            return f"imaginary frequency above {rounded_up(self.frequency)}i cm^-1"
        known = (
            "" if math.isnan(self.curvature_tol) else f" below -{rounded_up(self.curvature_tol)}"
        )
        return f"curvature{known} eV/Å^2"

    @property
    def _found(self) -> str:
        """What was found."""
        if self.mode is not None and not math.isnan(self.mode.frequency):
            return f"imaginary frequency {self.mode.frequency:.3g}i cm^-1"
        return f"curvature {self.curvature:.3g} eV/Å^2"


def in_words_of_vibrations(
    shown: Certificate,
    space: Space,
    asked: float,  # the curvature that was to be ruled out
    way: Vector | None = None,  # a direction that falls; perhaps too little to contradict the claim
) -> VibrationCertificate:
    """Translate a certificate about the coordinates of a space."""
    lightest = float(min(space.ratio))  # H >= -gamma there is H >= -gamma/lightest by mass
    measured, displacements, mode = shown.curvature / lightest, None, None
    if way is not None:
        measured = space.by_mass(shown.curvature, way)
        displacements = way / space.scale / np.linalg.norm(way / space.scale)
    if displacements is not None and space.structure is not None:
        displacements = displacements.reshape(-1, 3)
        frequency = -frequency_of(measured) if space.mass_weighted else math.nan
        mode = Mode(space.structure.copy(), displacements, frequency)
    known = {each.name: getattr(shown, each.name) for each in fields(Certificate)}
    known |= {"curvature_tol": shown.curvature_tol / lightest, "curvature": measured}
    known |= {"direction": displacements if shown.holds is False else None}
    changed = VibrationCertificate(
        **known,
        frequency=frequency_of(known["curvature_tol"]) if space.mass_weighted else math.nan,
        mode=mode,
        vibrations=2 * space.freedoms if space.structure is not None else 0,
    )
    return replace(changed, note=_note(changed, space.mass_weighted, asked / lightest))


def nothing_vibrates(curvature_tol: float) -> VibrationCertificate:
    """Give the certificate of a structure that can only move as a whole, or not at all."""
    note = "There is nothing that could vibrate."
    return VibrationCertificate(
        True, curvature_tol, 0.0, math.nan, None, 0, note, frequency=frequency_of(curvature_tol)
    )


def _note(shown: VibrationCertificate, mass_weighted: bool, asked: float) -> str:
    """Say in 1/cm what is said of gamma, and keep every other caveat."""

    def written(curvature: float) -> str:
        if mass_weighted:
            return f"{abs(frequency_of(curvature)):.3g}i cm^-1"
        return f"{curvature:.3g} eV/Å^2"

    notes = []
    if shown.holds and shown.mode is not None:
        notes += [f"A smaller one, {written(shown.curvature)}, was met on the way: see mode."]
    if shown.holds is not False and shown.curvature_tol > asked * (1 + 1e-9):
        notes += [f"{written(asked)} was asked for, which errors of these forces hide."]
    said = ("curvature_tol", LOWEST)  # above, in 1/cm
    sentences = shown.note.replace(". ", ".\n").split("\n")
    kept = [one for one in sentences if not one.startswith(said)]
    return " ".join([*notes, *kept]).replace("x is not", "the structure is not").strip()
