"""Checkpoints: cut and resumed in another process at every query, flipped and truncated."""

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.torture.faults import METHODS as ALL
from benchmarks.torture.faults import fine, run
from benchmarks.torture.trial import Trial
from unsaddle import load, save
from unsaddle.core.records import leaves

LONG = ("neon", "neon+", "neon2", "cdhs")  # runs of 700 gradients and more
OTHER = ("auto, bounds", "auto, at a bound", "auto, starts")  # L-BFGS-B's memory is its own, and
# a resumed one begins with the gradient at its iterate; several starts are not one run
METHODS = [it for it in ALL if it not in (*LONG, *OTHER)]
FLIPS = 400  # of a bit, for each method
CUTS = 100  # lengths to which a file is cut, for each method
SHORT = 12  # gradients after which the file is written that is damaged
CHILD = """
import sys
from benchmarks.torture.faults import fine, run
from unsaddle import load, save
for path in sys.argv[2:]:
    done = run(sys.argv[1], "apart", fine, [], state=load(path), max_gradients=1)
    save(done.state, path + ".next")
"""


def trials(seed: int) -> Iterator[Trial]:
    """Give a trial for every cut, flip and truncation."""
    for method in METHODS:
        for k in range(_gradients(method)):
            yield Trial("resumed in another process", f"{method}, {k}", partial(_cut, method, k))
        size = len(_file(method))
        rng = np.random.default_rng((seed, len(method), 15))
        for place in np.sort(rng.choice(size, min(FLIPS, size), replace=False)):
            for bit in (int(place) % 8,):
                name = f"{method}, byte {place}, bit {bit}"
                yield Trial("a bit flipped", name, partial(_flipped, method, int(place), bit))
        for length in np.unique(np.linspace(0, size - 1, CUTS).astype(int)):
            yield Trial(
                "cut short", f"{method}, {length} bytes", partial(_short, method, int(length))
            )


@lru_cache
def _resumed_elsewhere(method: str) -> tuple[str, dict[int, str]]:
    """Cut a run at every gradient and save it; take every next one in another process too.

    Returns:
        What is wrong with where the run that was cut ends, and of every cut what the other process
        does otherwise.
    """
    whole, wrong = run(method, "apart", fine, []), {}
    part: Any = None
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        while part is None or part.state.state.phase >= 0:
            state = None if part is None else part.state
            part = run(method, "apart", fine, [], state=state, max_gradients=1)
            paths.append(os.path.join(folder, f"{len(paths)}.npz"))
            save(part.state, paths[-1])
        command = [sys.executable, "-c", CHILD, method, *paths[:-1]]
        subprocess.run(command, capture_output=True, text=True, check=True)
        for k, (path, after) in enumerate(itertools.pairwise(paths)):
            wrong[k] = _difference(load(f"{path}.next"), load(after))
    same = part.state.state.phase == whole.state.state.phase and np.array_equal(part.x, whole.x)
    return "" if same else f"ended at {part.x}, not at {whole.x}", wrong


@lru_cache
def _gradients(method: str) -> int:
    """Count the gradients and products of a whole run, and the places where it can be cut."""
    whole = run(method, "apart", fine, [])
    return whole.njev + whole.nhvp


def _cut(method: str, k: int) -> str:
    end, cuts = _resumed_elsewhere(method)
    return end or cuts.get(k, "")


def _difference(one: Any, other: Any) -> str:
    """Name the first leaf that is not the same to the bit."""
    pairs = zip(leaves(one), leaves(other), strict=True)
    return next((f"{name} is another" for (name, a), (_, b) in pairs if not _same(a, b)), "")


@lru_cache
def _file(method: str) -> bytes:
    state = run(method, "apart", fine, [], max_gradients=SHORT).state
    with tempfile.TemporaryDirectory() as folder:
        save(state, Path(folder, "run.npz"))
        return Path(folder, "run.npz").read_bytes()


def _flipped(method: str, place: int, bit: int) -> str:
    damaged = bytearray(_file(method))
    damaged[place] ^= 1 << bit
    return _read(method, bytes(damaged))


def _short(method: str, length: int) -> str:
    return _read(method, _file(method)[:length])


def _read(method: str, damaged: bytes) -> str:
    """Say what is wrong with how a damaged file is read: it is refused, or nothing has changed."""
    with tempfile.TemporaryDirectory() as folder:
        good, bad = Path(folder, "good.npz"), Path(folder, "bad.npz")
        good.write_bytes(_file(method))
        bad.write_bytes(damaged)
        try:
            found = load(bad)
        except ValueError as error:
            return "" if "is not a checkpoint of unsaddle" in str(error) else f"said {error}"
        return _difference(load(good), found)


def _same(one: Any, other: Any) -> bool:
    return one is other or np.asarray(one).tobytes() == np.asarray(other).tobytes()
