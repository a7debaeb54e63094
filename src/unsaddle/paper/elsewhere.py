"""Jobs of the report on the workers of a Dask cluster, which need share no folder with this one.

A job is a function of its name and the seed, so that whichever worker runs it gives the same bytes;
where a worker dies, Dask gives its job to another.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

PATIENCE = 30.0  # seconds for which an answer of the scheduler is waited for, and the first worker


def run(
    scheduler: str, names: list[str], output: Path, seed: int, told: Callable[[str, float], None]
) -> None:
    """Run jobs on the workers of a scheduler, and take over what each of them wrote."""
    from unsaddle.paper import pipeline

    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise ValueError(
            "--scheduler needs Dask: pip install 'unsaddle[dask]', here and on the workers"
        ) from error
    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"scheduler {scheduler!r} does not answer: {error}; pass the address that "
            "`dask scheduler` prints, such as --scheduler tcp://127.0.0.1:8786"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ValueError(
                f"scheduler {scheduler!r} has no workers: type `dask worker --nthreads 1 "
                f"{scheduler}` on every machine that is to work, and the same again here"
            ) from error
        waiting = {client.submit(written, name, seed, pure=False): name for name in names}
        for future in as_completed([*waiting]):
            name = waiting[future]
            receive(name, future.result(), output)
            if pipeline.finished(name, output, seed) is None:
                raise ValueError(
                    f"{name} was done by a worker with another release of unsaddle, NumPy, SciPy "
                    "or matplotlib; install the same there and type the same again"
                )
            told(name, 1.0)


def written(name: str, seed: int) -> dict[str, bytes]:
    """Run one job, and give the files that it wrote, by their paths."""
    from unsaddle.paper.pipeline import run_job

    with tempfile.TemporaryDirectory() as folder:
        run_job(name, Path(folder), seed, lambda share: None)
        paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def receive(name: str, files: dict[str, bytes], output: Path) -> None:
    """Move files into place when all of them are written, the result last."""
    scratch = Path(tempfile.mkdtemp("", f".{name}-", output))
    try:
        for number, data in enumerate(files.values()):
            (scratch / str(number)).write_bytes(data)
        last = f"results/{name}.json"
        for path in sorted(files, key=lambda path: path == last):
            (output / path).parent.mkdir(exist_ok=True)
            os.replace(scratch / str([*files].index(path)), output / path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
