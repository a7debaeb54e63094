"""Run the jobs that are not done yet, each in a process of its own, and write the report.

A job's files are moved into place when all of them are written, its result last, and the report
after that: whatever happens, a file that is there is whole. A job is run again if the checksums of
its files have changed, or if it was done with another seed, by other code of this package, or with
other versions of the packages that it computes with.
"""

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import unsaddle
from unsaddle.messages import nearest
from unsaddle.paper import elsewhere, jobs
from unsaddle.paper.extras import (
    adversary,
    applications,
    growth,
    robustness,
    table1,
    theorems,
)
from unsaddle.paper.figures import FIGURES
from unsaddle.paper.report import write_report


class Planned(NamedTuple):
    """A job, and about how many seconds it takes."""

    run: jobs.Job
    seconds: float


LONG = {"fig2": 52.0, "fig3": 30.0, "fig4": 25.0, "fig5": 45.0, "fig6": 35.0}
JOBS: dict[str, Planned] = {
    **{name: Planned(partial(jobs.figure, name), LONG.get(name, 12.0)) for name in FIGURES},
    "radius": Planned(robustness.radius, 4.0),
    "growth": Planned(growth.growth, 75.0),
    "stability": Planned(robustness.stability, 10.0),
    "robustness": Planned(adversary.robustness, 60.0),
    "table1": Planned(table1.table1, 150.0),
    "theorems": Planned(theorems.theorems, 20.0),
    "applications": Planned(applications.applications, 40.0),
}


def chosen(names: Sequence[str]) -> list[str]:
    """Give the jobs that were asked for, in the report's order."""
    for name in names:
        if name not in JOBS and name != "all":
            raise ValueError(f"figure {name!r} is unknown; {nearest(name, (*JOBS, 'all'))}")
    everything = not names or "all" in names
    return [name for name in JOBS if everything or name in names]


def reproduce(
    names: Sequence[str],
    output: Path,
    seed: int,
    again: bool,
    told: Callable[[str, float], None] = lambda name, share: None,
    scheduler: str | None = None,  # address of Dask's, on whose workers jobs run
) -> Path:
    """Run jobs and write the report."""
    todo = chosen(names)
    try:
        output.mkdir(parents=True, exist_ok=True)
        _sweep([*todo, "report"], output)  # what a run that was killed has left
        with tempfile.TemporaryFile(dir=output):
            pass
        done = [] if again else [name for name in todo if finished(name, output, seed)]
        for name in done:
            told(name, 1.0)
        rest = sorted(set(todo) - set(done), key=lambda name: -JOBS[name].seconds)
        if scheduler is None:
            _run(rest, output, seed, told)
        else:
            elsewhere.run(scheduler, rest, output, seed, told)
        known = {name: finished(name, output, seed) for name in JOBS}
        results = {name: result for name, result in known.items() if result}
        return write_report(results, output, seed)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"output folder {str(output)!r} cannot be written: {reason}; "
            "what was finished before is whole; pass --output FOLDER, or make room and run again"
        ) from error
    except BrokenProcessPool as error:
        raise ValueError(
            "a part was killed from outside, perhaps for want of memory; type the same again to go "
            "on from what is finished, or name one part at a time"
        ) from error


def _run(names: list[str], output: Path, seed: int, told: Callable[[str, float], None]) -> None:
    if len(names) <= 1:
        for name in names:
            run_job(name, output, seed, partial(told, name))
            told(name, 1.0)
        return
    context = multiprocessing.get_context("spawn")
    workers = min(len(names), os.cpu_count() or 1)
    news = context.SimpleQueue()
    with ProcessPoolExecutor(workers, context, _begin, (news,)) as pool:
        try:
            with _deaf():
                waiting = {pool.submit(_run_and_tell, name, output, seed): name for name in names}
            while waiting:
                done, _ = wait(waiting, 0.2, FIRST_COMPLETED)
                while not news.empty():
                    told(*news.get())
                for future in done:
                    future.result()
                    told(waiting.pop(future), 1.0)
        except BaseException:
            with _deaf():
                for worker in multiprocessing.active_children():
                    worker.terminate()
                pool.shutdown(cancel_futures=True)
                _sweep(names, output)
            raise


@contextmanager
def _deaf() -> Iterator[None]:
    """Pay no heed to Ctrl-C; processes that are started here never will."""
    heed = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heed)


NEWS: list[Any] = []  # in a worker: where to tell how far it is


def _begin(news: Any) -> None:
    """Begin a worker: it ends when that which started it has ended, in whatever way."""
    NEWS.append(news)
    parent = multiprocessing.parent_process()

    def leave() -> None:
        parent.join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()


def _run_and_tell(name: str, output: Path, seed: int) -> None:
    run_job(name, output, seed, lambda share: NEWS[0].put((name, share)))


def _sweep(names: Sequence[str], output: Path) -> None:
    """Remove what jobs had begun to write."""
    for name in names:
        for scratch in output.glob(f".{name}-*"):
            shutil.rmtree(scratch)


def run_job(name: str, output: Path, seed: int, told: jobs.Told) -> None:
    """Run one job in a folder of its own and move what it wrote into place."""
    by = made(seed)  # before it is, or the code may have changed
    with tempfile.TemporaryDirectory("", f".{name}-", output, ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        result = JOBS[name].run(scratch, seed, told)
        files = {path.name: _checksum(path) for path in sorted(scratch.iterdir())}
        record = {"made": by, "files": files, "result": result}
        (scratch / "result.json").write_text(json.dumps(record, indent=1))
        for folder in {*map(_place, files), "results"}:
            (output / folder).mkdir(exist_ok=True)
        for file in files:
            os.replace(scratch / file, output / _place(file) / file)
        os.replace(scratch / "result.json", _record(name, output))


def finished(name: str, output: Path, seed: int) -> dict[str, Any] | None:
    """Give a job's result, if it was done by this code with this seed and its files are whole."""
    try:
        record = json.loads(_record(name, output).read_text())
        files = record["files"].items()
        whole = all(_checksum(output / _place(file) / file) == kept for file, kept in files)
        return record["result"] if record["made"] == made(seed) and whole else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def made(seed: int) -> dict[str, Any]:
    """Say what a result depends on: the seed, the code and what it computes and draws with."""
    return {"seed": seed, "code": fingerprint(Path(unsaddle.__file__).parent),
            **{name: version(name) for name in ("numpy", "scipy", "matplotlib")}}  # fmt: skip


@cache
def fingerprint(package: Path) -> str:
    """Give a checksum of all sources of a package, by their names."""
    sources = {str(path.relative_to(package)): _checksum(path) for path in package.rglob("*.py")}
    return hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest()


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _record(name: str, output: Path) -> Path:
    return output / "results" / f"{name}.json"


def _place(file: str) -> str:
    return "data" if file.endswith(".csv") else "figures"
