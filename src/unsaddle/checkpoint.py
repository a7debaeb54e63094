"""A run that stopped, kept so that it can go on bit for bit; in memory or in a file."""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unsaddle.descents.gd import gd
from unsaddle.descents.given import given
from unsaddle.driver import Best, Within
from unsaddle.escapes.anc import anc
from unsaddle.escapes.lanczos import lanczos
from unsaddle.kernel import Parameters, State, compose
from unsaddle.methods import find
from unsaddle.ops import numpy as ops
from unsaddle.ops.numpy import Vector


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
    within: Within | None = None  # a confirming search, if it was cut short

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
            np.savez(file, allow_pickle=False, **dict(_leaves("", checkpoint)))
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
            leaves = dict(archive)
        method = str(leaves["method"])
        x = leaves["state.x"]
        chosen = find(method)
        if "state.descent.gradient" not in leaves and method == "auto":
            chosen = chosen._replace(descent=given)
        blank = chosen.solver.start(ops, Parameters(0.0, None, None), x, 0)
        gradient = leaves.get("gradient")
        best = Best(x, 0.0) if "best.x" in leaves else None
        form = Checkpoint(
            method,
            blank,
            0.0,
            x if gradient is not None else None,
            best=best,
            within=_within(leaves),
        )
        return _fill("", form, leaves)
    except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        why = f"has no entry {error}" if isinstance(error, KeyError) else "cannot be read as one"
        raise ValueError(
            f"{name} is not a checkpoint of unsaddle, it {why}: "
            "pass the path of a file that unsaddle.save wrote"
        ) from None


def _within(leaves: dict[str, Any]) -> Within | None:
    """Give the form of the search that a file holds, if it holds one."""
    if "within.state.x" not in leaves:
        return None
    part = lanczos if "within.state.escape.basis" in leaves else anc
    form = compose(gd, part).start(ops, Parameters(0.0, None, None), leaves["within.state.x"], 0)
    return Within(form, part.settings(*(0.0 for _ in part.settings._fields)))


def _leaves(name: str, tree: Any) -> Iterator[tuple[str, Any]]:
    """Name every leaf of nested named tuples by its path."""
    if hasattr(tree, "_fields"):
        for field in tree._fields:
            yield from _leaves(f"{name}.{field}".lstrip("."), getattr(tree, field))
    elif tree is not None:
        leaf = np.asarray(tree)
        if leaf.ndim > 1:
            yield f"{name}.places", np.asarray(len(leaf))
            leaf = leaf[: _used(leaf)]
        yield name, leaf


def _fill(name: str, form: Any, leaves: dict[str, Any]) -> Any:
    """Put the leaves back into nested named tuples of the same form."""
    if hasattr(form, "_fields"):
        fields = ((f"{name}.{f}".lstrip("."), getattr(form, f)) for f in form._fields)
        return type(form)(*(_fill(path, part, leaves) for path, part in fields))
    if form is None:
        return None
    leaf = leaves[name]
    if leaf.ndim > 1:
        return _onto(leaves[f"{name}.places"], leaf)
    return leaf if leaf.ndim else leaf.item()


def copied(tree: Any) -> Any:
    """Copy every vector of nested named tuples, and of every shelf of vectors what is in use."""
    if isinstance(tree, np.ndarray):
        return tree.copy() if tree.ndim == 1 else _onto(len(tree), tree[: _used(tree)])
    return type(tree)(*map(copied, tree)) if isinstance(tree, tuple) else tree


def _used(shelf: Vector) -> int:
    """How many vectors of a shelf there are before all are zero."""
    return int(np.max(np.flatnonzero(shelf.any(axis=1)), initial=-1)) + 1


def _onto(places: Any, rows: Vector) -> Vector:
    """Put vectors onto a shelf, whose other places take no memory until they are used."""
    shelf = np.zeros((int(places), *rows.shape[1:]), rows.dtype)
    shelf[: len(rows)] = rows
    return shelf
