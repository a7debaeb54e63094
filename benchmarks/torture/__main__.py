"""Torture: run all trials of some ordeals, or one trial again.

python -m benchmarks.torture                                # all, and docs/torture.md
python -m benchmarks.torture fuzz files --share 0.1         # a tenth of the trials of two
python -m benchmarks.torture --replay 'fuzz/certify/tol=nan'

Trials are run in two processes beside this one. One that crashes or hangs takes its process with
it; that is a failure of the trial, and the others go on.
"""

import argparse
import faulthandler
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Thread
from typing import Any

from benchmarks.torture.ordeals import ORDEALS
from benchmarks.torture.report import Row, page
from benchmarks.torture.trial import Trial, attempt

PATIENCE = 600  # seconds for one trial, of which the longest takes 60 on an idle machine
PAGE = "docs/torture.md"
RESULTS = "benchmarks/results/torture.json"


def chosen(ordeal: str, seed: int, share: float) -> Iterator[Trial]:
    """Give every so-many-th trial."""
    each = round(1 / share)
    return (trial for k, trial in enumerate(ORDEALS[ordeal].trials(seed)) if k % each == 0)


def work(ordeal: str, seed: int, share: float, part: int, parts: int, after: int) -> None:
    """Run a part of the trials, and write a line for each that begins and for each that ends."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the trials print
    for k, trial in enumerate(chosen(ordeal, seed, share)):
        if k % parts != part or k <= after:
            continue
        print(json.dumps([k, trial.row, trial.name, trial.chance]), file=out)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        wrong = attempt(trial)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps([k, wrong]), file=out)


def run(ordeal: str, seed: int, share: float, parts: int) -> dict[str, Row]:
    """Run all trials of an ordeal in several processes."""
    rows: dict[str, Row] = {}
    threads = [
        Thread(target=_part, args=(ordeal, seed, share, k, parts, rows)) for k in range(parts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rows


def _part(ordeal: str, seed: int, share: float, part: int, parts: int, rows: Any) -> None:
    """Run one part; begin again behind a trial that ends the process."""
    after, command = -1, [sys.executable, "-m", "benchmarks.torture", "--work", ordeal]
    words = [f"--seed={seed}", f"--share={share}", f"--part={part}", f"--parts={parts}"]
    while True:
        process = Popen([*command, *words, f"--after={after}"], stdout=PIPE, stderr=PIPE, text=True)
        errors: list[str] = []
        reader = Thread(target=lambda it=process, to=errors: to.append(it.stderr.read()[-3000:]))
        reader.start()
        begun: Any = None
        for line in process.stdout or ():
            said = json.loads(line)
            if len(said) == 4:
                begun = said
            else:
                _count(rows, begun, said[1])
                begun = None
        process.wait()
        reader.join()
        if begun is not None:
            _count(rows, begun, f"ended its process, {process.returncode}\n{errors[0]}")
            after = begun[0]
        elif process.returncode:
            _count(rows, [0, "all of it", ordeal, 0.0], f"no trials\n{errors[0]}")
            return
        else:
            return


def _count(rows: dict[str, Row], begun: list[Any], wrong: str) -> None:
    _, name, trial, chance = begun
    row = rows.setdefault(f"{name}, {chance}", Row(name, chance))
    row.trials += 1
    if wrong:
        row.wrong.append((trial, wrong))


def replay(path: str, seed: int) -> int:
    """Run one trial again, and print what goes wrong."""
    ordeal, _, rest = path.partition("/")
    for trial in ORDEALS[ordeal].trials(seed):
        if trial.path == rest:
            print(attempt(trial) or "nothing goes wrong")
            return 0
    print(f"there is no trial {rest!r} in {ordeal}")
    return 2


def _processor() -> float:
    """Give the seconds of processor time that all trials so far have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _write(name: str, found: dict[str, Any]) -> None:
    """Write what an ordeal has given, beside the others, which may be run at the same time."""
    results = Path(RESULTS)
    known = json.loads(results.read_text()) if results.exists() else {}
    known[name] = found
    results.write_text(json.dumps(known, indent=1) + "\n")
    Path(PAGE).write_text(page(known))


def main() -> int:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__)
    parser.add_argument("names", nargs="*", default=[*ORDEALS], help=f"of {', '.join(ORDEALS)}")
    parser.add_argument("--seed", type=int, default=0, help="of all trials")
    parser.add_argument("--share", type=float, default=1.0, help="of the trials to run")
    parser.add_argument("--replay", metavar="ORDEAL/ROW/TRIAL", help="run one trial again")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE}")
    for hidden, kind in {"work": str, "part": int, "parts": int, "after": int}.items():
        parser.add_argument(f"--{hidden}", type=kind, default=2 if hidden == "parts" else 0,
                            help=argparse.SUPPRESS)  # fmt: skip
    given = parser.parse_args()
    if given.replay:
        return replay(given.replay, given.seed)
    if given.work:
        work(given.work, given.seed, given.share, given.part, given.parts, given.after)
        return 0
    found: dict[str, Any] = {}
    for name in given.names:
        began, spent = time.time(), _processor()
        rows = run(name, given.seed, given.share, given.parts)
        found[name] = {
            "seconds": round(time.time() - began),
            "processor": round(_processor() - spent), "seed": given.seed, "share": given.share,
            "rows": [row.kept() for row in rows.values()],
        }  # fmt: skip
        for row in rows.values():
            print(f"{name}/{row.line()}", flush=True)
            for trial, wrong in row.failures[:5]:
                print(f"    --replay '{name}/{row.name}/{trial}': {wrong.splitlines()[-1]}")
        if given.write:
            _write(name, found[name])
    return int(any(row["failures"] for it in found.values() for row in it["rows"]))


if __name__ == "__main__":
    raise SystemExit(main())
