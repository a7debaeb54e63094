"""The page on more than one machine: its tables are what was measured, its examples run there."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.machines.__main__ import PAGE, RESULTS, tables

EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


def printed(words: list[str], folder: Path, **own: str) -> str:
    """Run a program from an empty folder, and give what it prints; no process is left."""
    local = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", **own}
    with subprocess.Popen(
        [sys.executable, *words], cwd=folder, env=local, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as program:  # fmt: skip
        try:
            told, _ = program.communicate(timeout=300)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
    assert program.returncode == 0
    return told


def test_the_tables_are_what_was_measured():
    text = PAGE.read_text()
    for name, table in tables(json.loads(RESULTS.read_text())).items():
        assert re.search(rf"<!-- {name}:.*-->\n{re.escape(table)}\n<!-- end -->", text), name


@pytest.mark.nightly  # in every run test_docs.py runs it on one process
@pytest.mark.torch
def test_the_example_for_torch_runs_on_two_processes(tmp_path):
    (tmp_path / "train.py").write_text(EXAMPLES[0])
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    told = printed([*torchrun, "train.py"], tmp_path)
    assert re.fullmatch(r"CERTIFIED after \d+ gradients on each of 2\n", told)


@pytest.mark.nightly
@pytest.mark.jax
def test_the_example_for_jax_runs_on_eight_devices(tmp_path):
    flags = "--xla_force_host_platform_device_count=8"
    (tmp_path / "eight.py").write_text(f"{EXAMPLES[1]}\nassert len(jax.devices()) == 8\n")
    told = printed(["eight.py"], tmp_path, XLA_FLAGS=flags)
    assert told == "CERTIFIED x is spread as x0 is: True\n"
