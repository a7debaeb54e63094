"""The command line in a process of its own: exit codes, and outputs that cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import cli_demo
from unsaddle import __version__

demo = cli_demo.demo  # a fixture: the folder in which all of them are run


@pytest.mark.parametrize(
    ("argv", "code", "start"),
    [
        (["--version"], 0, f"unsaddle {__version__}"),
        (["minimize", "landscape:quartic"], 0, "outcome        CERTIFIED"),
        (["minimize", "demo_for_cli:f"], 2, "unsaddle: error: --x0 is missing"),
    ],
)
@pytest.mark.slow
def test_python_m_unsaddle(demo: Path, argv, code, start):
    done = subprocess.run(
        [sys.executable, "-m", "unsaddle", *argv], cwd=demo, capture_output=True, text=True
    )
    assert done.returncode == code
    assert (done.stdout + done.stderr).startswith(start)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("argv", ["methods", "minimize landscape:quartic"])
@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.slow
def test_a_full_disk_is_one_line_and_the_exit_code_2(argv, buffered):
    done = subprocess.run(
        f"{sys.executable} -m unsaddle {argv} > /dev/full",
        shell=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": buffered},
    )
    error = "unsaddle: error: standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, error)


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes it")
@pytest.mark.parametrize("argv", ["methods", "--help"])
@pytest.mark.slow
def test_a_closed_output_is_one_line_and_the_exit_code_2(argv):
    command = f"{sys.executable} -m unsaddle {argv} >&-"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("unsaddle: error: standard output is closed")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_nobody_reads_on(demo: Path):
    """As in ``unsaddle methods | head``: no traceback, and the exit code that a shell gives."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "unsaddle", "methods"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")
