"""A run in a file, whole or not at all, from which it goes on bit for bit."""

import os
from typing import Any, NamedTuple

import numpy as np
from ase.optimize.optimize import RestartError

from unsaddle.ase.drive import Seen
from unsaddle.core.kernel import State
from unsaddle.core.records import fill, leaves
from unsaddle.numpy import archive
from unsaddle.numpy.ops import Vector


class Saved(NamedTuple):
    """What a run needs to go on."""

    state: State
    value: float  # the last that was told
    gradient: Vector
    seen: Seen  # at the iterate
    centre: Vector  # of the space
    cell: Vector  # to which a filter refers
    fmax: float
    calls: int
    begun: int
    roundoff: float  # of the forces
    promise: Vector  # what the certificate is to say: the curvature and the chance


def save(record: Saved, path: str | os.PathLike[str]) -> None:
    """Write a record; a file of that name is replaced only once all is written."""
    archive.write(path, {name: leaf for name, leaf in leaves(record) if leaf is not None})


def entries(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what ``save`` wrote; nothing in it is executed."""
    try:
        return archive.read(path)
    except ValueError as error:
        raise RestartError(
            f"Could not decode {os.fspath(path)} as a restart file of unsaddle.ase.Minimum, as it "
            f"{error}: delete it, or pass the file that restart= wrote"
        ) from error


def restored(form: Saved, known: dict[str, Any], path: str | os.PathLike[str]) -> Saved:
    """Give a record of this form, if the file has one."""
    same = (
        np.shape(known.get("state.x", 0)) == form.state.x.shape
    )  # else it is of another structure

    def leaf(name: str, old: Any) -> Any:
        if old is None:
            return None
        found: Any = known.get(name)
        if (
            found is None
            or found.dtype.kind not in "bif"
            or found.ndim != np.ndim(old)
            or (same and found.shape != np.shape(old))
        ):
            raise RestartError(
                f"Could not decode {os.fspath(path)}: it has no entry {name!r} of this structure, "
                "or an earlier release wrote it; delete it, or go on with that release"
            )
        return known[name] if np.ndim(old) else known[name].item()

    return fill(form, leaf)
