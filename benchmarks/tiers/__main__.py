"""The benchmark: three tiers, every contestant on the same counted oracle.

    python -m benchmarks.tiers [1] [2] [3] [--output docs/benchmark.md]

Each tier writes its runs to ``benchmarks/results`` as it goes; the page is made of all that is
there. Without a number only the page is made again. ``pip install '.[bench]'`` brings sif2jax,
which tier 1 needs, and pytorch-minimize, whose peers take part where it is installed.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from .contest import MEMORY, MISSING, OURS, PEERS, RIVALS, SHORT, Row, own, peer
from .cutest import cutest
from .problems import FAMILIES, escape
from .report import write

SEEDS = 10
SCALES = (10**2, 10**3, 10**4, 10**5, 10**6)
RESULTS = Path(__file__).parents[1] / "results"


def harmless() -> Iterator[Row]:
    """Tier 1: as a user of L-BFGS-B would start."""
    for problem in cutest():
        yield own(problem, 0)
        yield from (peer(problem, 0, method) for method in (*RIVALS, MEMORY))


def escaping() -> Iterator[Row]:
    """Tier 2: at or near strict saddles."""
    for problem in escape():
        for seed in range(SEEDS):
            yield from (own(problem, seed, method) for method in OURS)
            yield from (peer(problem, seed, method) for method in RIVALS)


def scaling() -> Iterator[Row]:
    """Tier 3: families of any size, from their saddles."""
    for family, most in FAMILIES.items():
        for problem in (family(n) for n in SCALES if n <= most):
            fit = [method for method in RIVALS if problem.n <= PEERS[method].most]
            for seed in (0, 1):
                yield own(problem, seed)
                yield from (peer(problem, seed, method, SHORT) for method in fit)


TIERS = {"1": harmless, "2": escaping, "3": scaling}


def keep(tier: str, rows: Iterable[Row]) -> None:
    """Write each run as it ends."""
    RESULTS.mkdir(exist_ok=True)
    began, draft = time.perf_counter(), RESULTS / f"tier{tier}.part"
    with draft.open("w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
            file.flush()
    draft.replace(RESULTS / f"tier{tier}.jsonl")
    print(f"tier {tier}: {time.perf_counter() - began:.0f} s")


def main() -> None:
    """Run the tiers asked for, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tiers", nargs="*", help="which of 1, 2, 3 to run")
    parser.add_argument("--output", type=Path, default=Path("docs/benchmark.md"))
    given = parser.parse_args()
    unknown = set(given.tiers) - set(TIERS)
    if unknown:
        parser.error(f"no tier {', '.join(sorted(unknown))}; choose from {', '.join(TIERS)}")
    for package in MISSING if given.tiers else ():
        print(f"left out: the peers of {package}, which is not installed", file=sys.stderr)
    for tier in given.tiers:
        keep(tier, TIERS[tier]())
    write(RESULTS, given.output)


if __name__ == "__main__":
    main()
