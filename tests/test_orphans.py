"""What a test has started ends where the test is killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHILD = "from tests import orphans; orphans.end_with_parent(); import time; time.sleep(100)"
TEST = f"""
import subprocess, sys, time
from tests import orphans
with orphans.held() as stdin:
    words = [sys.executable, "-c", {CHILD!r}]
    child = subprocess.Popen(words, stdin=stdin, start_new_session=True)
    print(child.pid, flush=True)
    time.sleep(100)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes as Linux shows them")
def test_a_process_ends_with_the_test_that_was_killed():
    with subprocess.Popen(
        [sys.executable, "-c", TEST], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as test:
        assert test.stdout is not None
        child = int(test.stdout.readline())
        assert running(child)
        test.kill()
    for _ in range(600):
        if not running(child):
            return
        time.sleep(0.05)
    os.kill(child, 9)
    raise AssertionError("a process is left")


def running(pid):
    """Whether it is there, and not merely waited for."""
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] != "Z"
