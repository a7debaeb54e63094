"""``unsaddle reproduce``, stopped by a real signal or a full disk while its workers are at work."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.often import most_at_night

pytestmark = pytest.mark.slow

pytest.importorskip("matplotlib")
pytest.importorskip("rich")

# Spawned workers run this file too: so they have the same two parts, of which the first is slow.
SCRIPT = """
import sys, time
from functools import partial
from pathlib import Path
from unsaddle.paper import pipeline


def part(name, folder, seed, told):
    table = folder / f"{name}.csv"
    table.write_text("half")
    while name == "fig7" and not Path("go").exists():
        time.sleep(0.02)
    table.write_text("a\\n" + "1\\n" * 15_000)
    return {"title": name, "text": "", "claims": [], "pictures": [], "tables": [table.name]}


pipeline.JOBS = {name: pipeline.Planned(partial(part, name), 9.0) for name in ("fig7", "fig8")}
if __name__ == "__main__":
    import signal
    from unsaddle.cli import main
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where nohup began it all
    sys.exit(main())
"""


@contextmanager
def started(folder: Path, before: str = "") -> "Iterator[subprocess.Popen[str]]":
    """Run the script, and leave none of its processes behind, whatever happens."""
    (folder / "script.py").write_text(before + SCRIPT)
    command = [sys.executable, "script.py", "reproduce", "fig7", "fig8"]
    with subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def until(process: "subprocess.Popen[str]", holds: Callable[[], Any]) -> None:
    """Wait until something holds, however long it takes, unless the process ends before."""
    while not holds():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def alive(group: int) -> bool:
    """Say whether any process of a group is left, but for those that only wait to be buried."""
    stats = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            stats.append(path.read_text())
    fields = [stat.rpartition(")")[2].split() for stat in stats]
    return any(int(field[2]) == group and field[0] not in "ZX" for field in fields)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc who is left")
@pytest.mark.parametrize("number", most_at_night([signal.SIGINT], [signal.SIGINT, signal.SIGTERM]))
def test_a_signal_ends_it_and_the_same_again_goes_on(tmp_path: Path, number: signal.Signals):
    """Ctrl-C reaches the whole group, as from a terminal; SIGTERM the one process, as from kill."""
    report = tmp_path / "report"
    record = report / "results" / "fig8.json"
    with started(tmp_path) as first:
        until(first, lambda: record.exists() and [*report.glob(".fig7-*/fig7.csv")])
        send = os.killpg if number is signal.SIGINT else os.kill
        send(first.pid, number)
        out, err = first.communicate()
        while alive(first.pid):
            time.sleep(0.02)
    made = record.stat().st_mtime_ns
    assert out == ""
    assert not (report / "index.html").exists()
    assert not list(report.glob("[!.]*/fig7*"))
    if number is signal.SIGINT:
        assert first.returncode == 130
        assert err.endswith("interrupted; type the same again to go on from what is finished\n")
        assert "Traceback" not in err
        assert not list(report.glob(".*"))
    (tmp_path / "go").touch()
    with started(tmp_path) as second:
        out, err = second.communicate()
    assert (second.returncode, out.splitlines()[0]) == (0, "report: report/index.html"), err
    assert record.stat().st_mtime_ns == made
    assert (report / "results" / "fig7.json").exists()
    assert not list(report.glob(".*"))


def test_a_file_that_cannot_be_written_whole(tmp_path: Path):
    """No file may be longer than 20 kB: the first table cannot be finished, in a worker."""
    pytest.importorskip("resource")
    (tmp_path / "go").touch()
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
    with started(tmp_path, limit) as run:
        out, err = run.communicate()
    assert (run.returncode, out) == (2, "")
    assert "output folder 'report' cannot be written: File too large; what was" in err
    assert "Traceback" not in err
    assert not list((tmp_path / "report").iterdir())
