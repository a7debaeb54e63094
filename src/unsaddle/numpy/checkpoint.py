"""A run that stopped, kept so that it can go on bit for bit; in memory or in a file."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from unsaddle.core.kernel import Parameters, Solver, State
from unsaddle.core.outcome import ENDS
from unsaddle.core.records import fill, leaves
from unsaddle.escapes import basis
from unsaddle.methods.checks import MOST, shown
from unsaddle.methods.table import AROUND, BOUNDED, find
from unsaddle.numpy import archive
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
    scale: Vector | None = None  # of the variables, where the run is in scaled ones
    within: Vector | None = None  # bounds: which variables are free, and the whole gradient
    products: bool = False  # whether its searches have exact products

    def __repr__(self) -> str:
        """Say what it is, not what is in it."""
        size = f"{self.state.x.size} variable{'s' * (self.state.x.size != 1)}"
        return f"checkpoint of {self.method!r} with {size}, for unsaddle.minimize(..., state=...)"


def save(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> None:
    """Write a checkpoint to a file, whole or not at all.

    Args:
        checkpoint: ``result.state`` of any run.
        path: The file, usually ``*.npz``; a file of that name is replaced.

    Raises:
        TypeError: If it is not a checkpoint, or the path is none.
    """
    if not isinstance(checkpoint, Checkpoint):
        raise TypeError(
            f"save takes result.state and then the path, got {type(checkpoint).__name__}: "
            "type unsaddle.save(result.state, 'run.npz')"
        )
    archive.write(_path(path), dict(_entries(checkpoint)))


def load(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint from a file; nothing in it is executed.

    Args:
        path: The file that ``save`` wrote.

    Returns:
        The checkpoint, for ``minimize(..., state=...)``.

    Raises:
        ValueError: If the file is not a checkpoint.
    """
    name = _path(path)
    try:
        entries = archive.read(name)
        solver, form = _form(entries)
        found = fill(form, lambda path, old: _leaf(entries, path, old))
        if found.state.phase not in solver.phases and found.state.phase not in ENDS:
            raise ValueError(f"has no phase {found.state.phase}")
        return found
    except (KeyError, ValueError, MemoryError) as error:
        lacks = isinstance(error, KeyError)
        why = f"has no entry {error}" if lacks else str(error)
        other = ", or begin anew if an earlier release wrote this one" if lacks else ""
        raise ValueError(
            f"{name} is not a checkpoint of unsaddle, it {why}: "
            f"pass the path of a file that unsaddle.save wrote{other}"
        ) from None


def _path(path: Any) -> str:
    """Check the name of a file."""
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        given = shown(path) if isinstance(path, str) else f"not {type(path).__name__}"
        raise TypeError(f"path must be the name of a file, such as 'run.npz', {given}")
    return os.fspath(path)


def copied(tree: Any) -> Any:
    """Copy every vector of a record, and of every block of vectors what is in use."""

    def copy(_: str, leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        return leaf.copy() if leaf.ndim == 1 else _block(len(leaf), leaf[: _used(leaf)])

    return fill(tree, copy)


def _form(entries: dict[str, Any]) -> tuple[Solver, Checkpoint]:
    """Give the solver of a file, and a checkpoint of the form that the file holds."""
    method, x = str(entries["method"]), entries["state.x"]
    if x.ndim != 1 or not x.size or x.dtype not in (np.float32, np.float64):
        raise ValueError(f"has an x of shape {x.shape} and type {x.dtype}")
    own = method == "auto" and "state.descent.gradient" not in entries
    external = BOUNDED if "within" in entries else AROUND
    solver = external if own else find(method).solver
    blank = solver.start(ops, Parameters(0.0, None, None), x, 0)
    gradient = x if "gradient" in entries else None
    best = Best(x, 0.0) if "best.x" in entries else None
    within = np.zeros((2, x.size), x.dtype) if "within" in entries else None
    scale = x if "scale" in entries else None
    kept = Checkpoint(method, blank, 0.0, gradient, best=best, within=within, scale=scale)
    return solver, kept


def _entries(checkpoint: Checkpoint) -> Iterator[tuple[str, Any]]:
    """Give every leaf by its path, and of a block of vectors those in use."""
    for name, leaf in leaves(checkpoint):
        if leaf is None:
            continue
        array = np.asarray(leaf)
        if array.dtype == object:  # a seed that no integer of NumPy holds
            array = np.asarray(str(leaf))
        if array.ndim > 1:
            yield f"{name}.places", np.asarray(len(array))
            array = array[: _used(array)]
        yield name, array


def _leaf(entries: dict[str, Any], path: str, old: Any) -> Any:
    """Give the leaf of a path, as it was saved, if its type and size are those of the old one."""
    if old is None:
        return None
    leaf, kind = entries[path], np.asarray(old).dtype.kind
    if kind == "i" and leaf.dtype.kind == "U":
        return _long(path, leaf)
    kinds = "if" if kind in "if" else kind  # a count may have become a float
    if leaf.ndim != np.ndim(old) or leaf.dtype.kind not in kinds:
        raise ValueError(f"has an entry {path} of shape {leaf.shape} and type {leaf.dtype}")
    if not leaf.ndim:
        return leaf.item()
    n = entries["state.x"].size
    places = entries[f"{path}.places"].item() if leaf.ndim > 1 else len(leaf)
    square = leaf.ndim > 1 and len(old) == old.shape[1] and leaf.shape[1] == places
    fits = (leaf.shape[1:] == old.shape[1:] or square) and leaf.dtype == old.dtype
    vector = old.ndim == 1 and len(old) == n
    most = max(len(old), n + 1, basis.TUNING.rows if leaf.ndim == 1 else 0)
    if not fits or not len(leaf) <= places <= (n if vector else most):
        raise ValueError(f"has an entry {path} of shape {leaf.shape} and type {leaf.dtype}")
    return leaf if leaf.ndim == 1 else _block(places, leaf)


def _long(path: str, leaf: Any) -> int:
    """Give an integer that was written in digits."""
    text = str(leaf)
    if leaf.ndim or not text.isdecimal() or len(text) > len(str(int(MOST))):
        raise ValueError(f"has an entry {path} that is no number")
    return int(text)


def _used(block: Vector) -> int:
    """How many vectors of a block there are before all are zero."""
    return int(np.max(np.flatnonzero(block.any(axis=1)), initial=-1)) + 1


def _block(places: Any, rows: Vector) -> Vector:
    """Make a block that begins with these vectors; its other places take no memory until used."""
    block = np.zeros((int(places), *rows.shape[1:]), rows.dtype)
    block[: len(rows)] = rows
    return block
