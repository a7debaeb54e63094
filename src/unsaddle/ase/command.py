"""What ``unsaddle atoms`` runs: a structure from a file, relaxed and certified."""

from collections.abc import Callable, Generator
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.io import read
from ase.io.formats import UnknownFileTypeError, filetype, get_ioformat

from unsaddle.ase.certify import searched
from unsaddle.ase.drive import Drive
from unsaddle.ase.minimum import Minimum
from unsaddle.ase.vibration import VibrationCertificate
from unsaddle.ase.words import in_words
from unsaddle.core.events import doing
from unsaddle.numpy.inputs import seconds


def _tblite() -> Any:
    try:
        tblite = import_module("tblite.ase")
    except ImportError as error:
        raise ImportError("tblite is missing: type pip install tblite") from error
    return tblite.TBLite(method="GFN2-xTB", accuracy=ACCURACY, verbosity=0)


STARRED = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
ACCURACY = 0.01  # of tblite, whose own 1.0 leaves forces with errors of 1e-5 eV/Å
CALCULATORS: dict[str, Callable[[], Any]] = {"emt": EMT, "tblite": _tblite}


def structure(path: str, calculator: Any) -> Atoms:
    """Read a structure, and give it a calculator: one by name, or what a function gives."""
    try:
        atoms = read(path)
    except OSError as error:
        raise ValueError(f"the structure {path!r} cannot be read: {error.strerror}") from error
    except Exception as error:  # every format of ASE's has its own
        raise ValueError(f"{path!r} is no structure that ASE can read: {error}") from error
    if not isinstance(atoms, Atoms):
        raise ValueError(f"{path!r} has several structures: type {path}@-1 for the last")
    make = CALCULATORS[calculator] if isinstance(calculator, str) else calculator
    if any(it.default is it.empty and it.kind not in STARRED for it in _parameters(make)):
        raise ValueError(
            "calculator is to be a function without arguments that gives an ASE calculator, "
            f"got {getattr(make, '__name__', '')}{signature(make)}"
        )
    made = make()
    if not isinstance(made, Calculator) and not hasattr(made, "get_forces"):
        raise ValueError(f"calculator is to give an ASE calculator, got {type(made).__name__}")
    atoms.calc = made
    return atoms


def _parameters(make: Any) -> list[Parameter]:
    try:
        return list(signature(make).parameters.values())
    except (TypeError, ValueError):  # of something built in
        return []


def writable(path: str) -> None:
    """Complain before a run of a file that could not be written after it."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise ValueError(f"output {path!r} cannot be written: there is no folder {str(folder)!r}")
    try:
        known = get_ioformat(filetype(path, read=False)).can_write
    except UnknownFileTypeError:
        known = False
    if not known:
        raise ValueError(
            f"output {path!r} is of no kind that ASE can write: type a name such as relaxed.traj"
        )


def relax(
    atoms: Atoms, fmax: float, steps: int, log: str | None, max_seconds: Any = None, **words: Any
) -> Generator[str, None, Minimum]:
    """Relax a structure in that time, and say at every step how far it has come.

    Yields:
        A line.

    Returns:
        The optimiser.
    """
    end = monotonic() + seconds("max_seconds", max_seconds)
    optimizer = Minimum(atoms, logfile=log, **words)
    for _ in optimizer.irun(fmax, steps):
        yield _line(optimizer.drive)
        if monotonic() >= end:
            break
    return optimizer


def prove(
    atoms: Atoms, frequency: float, most: int, **words: Any
) -> Generator[str, None, VibrationCertificate]:
    """Certify a structure as it is, and say after every force call how far that has come.

    Yields:
        A line.

    Returns:
        The certificate.
    """
    search = searched(atoms, frequency, most, **words)
    while True:
        try:
            yield _line(next(search))
        except StopIteration as end:
            return end.value


def _line(drive: Drive) -> str:
    """Say how far a run has come."""
    count, seen, state = drive.calls, drive.last, drive.state
    parts = [f"{count} force call{'s' * (count != 1)}"]
    if seen is not None:
        parts += [f"energy {seen.value:.6f} eV", f"fmax {drive.largest(seen.gradient):.4f} eV/Å"]
    return ", ".join([*parts, doing(drive.phase, state.episode)])


def summary(atoms: Atoms, shown: VibrationCertificate) -> dict[str, Any]:
    """Give what is to be printed of a structure."""
    return {
        "certificate": shown,
        "energy": float(atoms.get_potential_energy()),
        "fmax": float(np.linalg.norm(atoms.get_forces(), axis=1).max()),
    }


__all__ = ["CALCULATORS", "in_words", "prove", "relax", "structure", "summary", "writable"]
