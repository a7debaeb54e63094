"""What is asked for of a structure, checked and in the coordinates of its space."""

from typing import Any, TypedDict

from unsaddle.ase.space import Space
from unsaddle.ase.vibration import curvature_of
from unsaddle.messages import nearest
from unsaddle.methods.checks import real, shown, whole, yes_or_no
from unsaddle.methods.constants import DEFAULTS as CONSTANTS
from unsaddle.methods.constants import check


class Options(TypedDict, total=False):
    """What ``Minimum``, ``Escape`` and ``certify`` take by name beside ``frequency``."""

    curvature_tol: float | None
    """The same as a curvature in eV/(Å^2 amu), or without masses in eV/Å^2. If not given that of
    ``frequency``, without masses for the lightest atom."""
    failure_probability: float
    """Chance that the claim is made although it is false; 1e-3 if not given."""
    mass_weighted: bool
    """Whether to work with masses, as by default; never in a filter."""
    seed: int
    """All randomness is a function of it; 0 if not given."""
    displacement: float | None
    """Å over which forces are differenced, as a length over all atoms; chosen if not given."""
    force_noise: float | None
    """Length of the error of all forces, in eV/Å; measured if not given."""


class Words(Options, total=False):
    """All that ``Minimum`` and ``Escape`` take by name."""

    frequency: float
    """The claim: no imaginary frequency above this, in 1/cm; 50 if not given."""


DEFAULTS = Words(
    frequency=50.0,
    failure_probability=CONSTANTS["failure_probability"],
    mass_weighted=True,
    seed=0,
)


def asked_of(given: Words) -> dict[str, Any]:
    """Check the words, and add those that were not given."""
    for word in given:
        if word not in Words.__annotations__:
            raise TypeError(f"{word!r} is unknown; {nearest(word, Words.__annotations__)}")
    asked: dict[str, Any] = {**dict.fromkeys(Words.__annotations__), **DEFAULTS, **given}
    for word in ("frequency", "curvature_tol", "displacement", "force_noise"):
        if asked[word] is not None or word == "frequency":
            asked[word] = positive(word, asked[word])
    asked["seed"] = whole("seed", asked["seed"])
    asked["mass_weighted"] = yes_or_no("mass_weighted", asked["mass_weighted"])
    return {**asked, **check({"failure_probability": asked["failure_probability"]})}


def positive(name: str, value: Any) -> float:
    """Check a number in units of atoms: what is beyond these bounds is a slip."""
    return real(name, value, lambda v: 1e-10 <= v <= 1e10, "a finite number > 0, 1e-10 to 1e10")


def run_words(fmax: Any, steps: Any) -> tuple[float, int]:
    """Check what a run takes."""
    force = real("fmax", fmax, lambda v: 0 <= v <= 1e10, "a finite number >= 0, at most 1e10")
    return force, whole("steps", steps)


def structure(atoms: Any) -> Any:
    """Check atoms, or a filter of ASE."""
    if isinstance(atoms, type) or not hasattr(atoms, "__ase_optimizable__"):
        raise TypeError(
            f"atoms must be ASE's Atoms with a calculator, or a filter, got {shown(atoms)}"
        )
    return atoms


def claim(space: Space, asked: dict[str, Any]) -> dict[str, Any]:
    """Give what is asked for in the words of a search, and in the units of the space."""
    structure: Any = getattr(space.given, "atoms", space.structure)
    lightest = float(min(space.ratio))  # what is ruled out for it is ruled out for all
    gamma = asked["curvature_tol"] or curvature_of(asked["frequency"])
    if not space.mass_weighted and structure is not None and asked["curvature_tol"] is None:
        lightest = float(min(structure.get_masses())) or 1.0
    words: dict[str, Any] = {
        "curvature_tol": gamma * lightest,
        "failure_probability": asked["failure_probability"],
    }
    if asked["displacement"] is not None:
        words["probe_radius"] = asked["displacement"] * float((space.scale**2).mean()) ** 0.5
    if asked["force_noise"] is not None:
        words["gradient_noise"] = asked["force_noise"] / float(space.scale.min())
    return check(words)
