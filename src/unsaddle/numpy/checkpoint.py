"""A run that stopped, kept so that it can go on bit for bit; in memory or in a file."""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unsaddle.core.kernel import Parameters, State
from unsaddle.core.records import fill, leaves
from unsaddle.methods.table import AROUND, find
from unsaddle.numpy.ops import Vector, ops
from unsaddle.numpy.oracle import Best


class Checkpoint(NamedTuple):
    """A method's state and the last answers it was given."""

    method: str
    state: State
    value: float
    gradient: Vector | None
    gradients: int = 0  # taken so far
    searched: int = 0  # of these by the last search
    best: Best | None = None  # so far
    tol: float = 0.0  # what was asked for, so that a resumed run claims nothing else
    curvature_tol: float = 0.0
    failure_probability: float = 0.0
    within: Vector | None = None  # bounds: which variables are free, and the whole gradient

    def __repr__(self) -> str:
        """Say what it is, not what is in it."""
        size = f"{self.state.x.size} variable{'s' * (self.state.x.size != 1)}"
        return f"checkpoint of {self.method!r} with {size}, for unsaddle.minimize(..., state=...)"


def save(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> None:
    """Write a checkpoint to a file, whole or not at all.

    Args:
        checkpoint: ``result.state`` of any run.
        path: The file, by custom ``*.npz``; one of that name is replaced.

    Raises:
        TypeError: If it is not a checkpoint.
    """
    if not isinstance(checkpoint, Checkpoint):
        raise TypeError(
            f"save takes result.state and then the path, got {type(checkpoint).__name__}: "
            "type unsaddle.save(result.state, 'run.npz')"
        )
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, **dict(_entries(checkpoint)))
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def load(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint from a file; nothing in it is executed.

    Args:
        path: The file that ``save`` wrote.

    Returns:
        The checkpoint, for ``minimize(..., state=...)``.

    Raises:
        ValueError: If the file is not a checkpoint.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file, np.load(file, allow_pickle=False) as archive:
            entries = dict(archive)
        return fill(_form(entries), lambda path, old: _leaf(entries, path, old))
    except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        why = f"has no entry {error}" if isinstance(error, KeyError) else "cannot be read as one"
        raise ValueError(
            f"{name} is not a checkpoint of unsaddle, it {why}: "
            "pass the path of a file that unsaddle.save wrote"
        ) from None


def copied(tree: Any) -> Any:
    """Copy every vector of a record, and of every block of vectors what is in use."""

    def copy(_: str, leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        return leaf.copy() if leaf.ndim == 1 else _block(len(leaf), leaf[: _used(leaf)])

    return fill(tree, copy)


def _form(entries: dict[str, Any]) -> Checkpoint:
    """Give a checkpoint of the form that a file holds."""
    method, x = str(entries["method"]), entries["state.x"]
    own = method == "auto" and "state.descent.gradient" not in entries
    solver = AROUND if own else find(method).solver
    blank = solver.start(ops, Parameters(0.0, None, None), x, 0)
    gradient = x if "gradient" in entries else None
    best = Best(x, 0.0) if "best.x" in entries else None
    within = x if "within" in entries else None
    return Checkpoint(method, blank, 0.0, gradient, best=best, within=within)


def _entries(checkpoint: Checkpoint) -> Iterator[tuple[str, Any]]:
    """Give every leaf by its path, and of a block of vectors those in use."""
    for name, leaf in leaves(checkpoint):
        if leaf is None:
            continue
        array = np.asarray(leaf)
        if array.ndim > 1:
            yield f"{name}.places", np.asarray(len(array))
            array = array[: _used(array)]
        yield name, array


def _leaf(entries: dict[str, Any], path: str, old: Any) -> Any:
    """Give the leaf of a path, as it was saved."""
    if old is None:
        return None
    leaf = entries[path]
    if leaf.ndim > 1:
        return _block(entries[f"{path}.places"], leaf)
    return leaf if leaf.ndim else leaf.item()


def _used(block: Vector) -> int:
    """How many vectors of a block there are before all are zero."""
    return int(np.max(np.flatnonzero(block.any(axis=1)), initial=-1)) + 1


def _block(places: Any, rows: Vector) -> Vector:
    """Make a block that begins with these vectors; its other places take no memory until used."""
    block = np.zeros((int(places), *rows.shape[1:]), rows.dtype)
    block[: len(rows)] = rows
    return block
