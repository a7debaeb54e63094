"""What is asked for of a structure, checked and in the coordinates of its space."""

from math import inf
from numbers import Integral, Real
from typing import Any, TypedDict

from unsaddle.ase.space import Space
from unsaddle.ase.vibration import curvature_of
from unsaddle.messages import nearest
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


DEFAULTS = Words(frequency=50.0, failure_probability=1e-3, mass_weighted=True, seed=0)


def asked_of(given: Words) -> dict[str, Any]:
    """Check the words, and add those that were not given."""
    for word in given:
        if word not in Words.__annotations__:
            raise TypeError(f"{word!r} is unknown; {nearest(word, Words.__annotations__)}")
    asked: dict[str, Any] = {**dict.fromkeys(Words.__annotations__), **DEFAULTS, **given}
    for word in ("frequency", "curvature_tol", "displacement", "force_noise"):
        value: Any = asked[word]
        positive = isinstance(value, Real) and value is not True and 0 < float(value) < inf
        if not positive and not (value is None and word != "frequency"):
            raise ValueError(f"{word} must be a finite number > 0, got {value!r}")
    if not (isinstance(asked["seed"], Integral) and int(asked["seed"]) >= 0):
        raise ValueError(f"seed must be a whole number >= 0, got {asked['seed']!r}")
    check({"failure_probability": asked["failure_probability"]})
    return asked


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
