"""How many vectors a run may keep: ``max_memory``, in bytes, shared out between pairs and basis."""

import os
from math import inf
from typing import NamedTuple

from unsaddle.descents.compact_form import pairs_for
from unsaddle.escapes import basis


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    others: int = 11  # vectors, 10 to 20: kept beside the two (benchmarks/scale.py)
    least_pairs: int = 2  # of L-BFGS, 1 and up: one is a gradient method with a memory of one step
    least_basis: int = 3  # of Lanczos, 3 and up: what the recurrence takes
    most: int = 35  # vectors, 19 and up: in all, where no max_memory is given and n is large
    numbers: int = 2**25  # of all vectors, 10^6 and up: a basis of hundreds if n is small
    free: float = 0.25  # of the memory that is free, (0, 1): others want some, and fun itself
    small: int = 2**26  # bytes, 10^6 and up: so little is there, and nobody has to ask


TUNING = Tuning()


class Room(NamedTuple):
    """What there is room for."""

    pairs: int  # of steps and bends
    vectors: int  # of the basis


def least(n: int, itemsize: int, shared: bool = False) -> int:
    """Bytes below which no run of n variables goes."""
    return vectors_kept(TUNING.least_pairs, TUNING.least_basis, shared) * n * itemsize


def vectors_kept(pairs: int, vectors: int, shared: bool) -> int:
    """How many vectors a run keeps, whose pairs and basis are apart or share their place."""
    return TUNING.others + (max(2 * pairs, vectors) if shared else 2 * pairs + vectors)


def room(n: int, itemsize: int, max_memory: float, shared: bool = False) -> Room:
    """Share bytes out; where none are given, a quarter of what is free, and no more than is used.

    Returns:
        How many pairs and how many vectors of the basis fit.

    Raises:
        ValueError: If the bytes are too few for any run.
    """
    each, usual = n * itemsize, max(TUNING.most, TUNING.numbers // n)
    used = vectors_kept(pairs_for(n), min(basis.TUNING.vectors, n + 1), shared)
    if not max_memory and used * each <= TUNING.small:
        return Room(pairs_for(n), basis.TUNING.vectors)
    given = max_memory or usual * each
    if not max_memory and given > TUNING.small:
        given = min(given, TUNING.free * free_memory())
    enough = least(n, itemsize, shared)
    if given < enough:
        what = (
            f"max_memory={max_memory:g} was passed" if max_memory else f"{given:g} bytes are free"
        )
        raise ValueError(
            f"{what}, expected at least {enough:g} bytes for {n} variables: "
            f"pass max_memory={enough} or more, or x0 as float32"
        )
    spare = int(given // each) - TUNING.others
    pairs = max(TUNING.least_pairs, min(pairs_for(n), spare // (2 if shared else 4)))
    return Room(pairs, min(basis.TUNING.vectors, spare if shared else spare - 2 * pairs))


def free_memory() -> float:
    """Bytes that can be had without anything being swapped out; infinite where nobody says."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":") for line in file)
        return 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) / 2
    except (AttributeError, ValueError, OSError):
        return inf
