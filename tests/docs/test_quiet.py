"""Ctrl-C in the first moment of the command line: no traceback, whatever is being imported."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

STUCK = """
import sys, time
from pathlib import Path
Path(sys.argv[-1]).write_text("importing")
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_while_it_is_imported(tmp_path: Path) -> None:
    """A NumPy that takes a minute to import is interrupted when it has begun."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text(STUCK)
    house = Path(__file__).parents[2] / "src"
    environment = {"PYTHONPATH": f"{tmp_path}:{house}", "PATH": "/usr/bin:/bin"}
    begun = tmp_path / "begun"
    run = subprocess.Popen(
        [sys.executable, "-m", "unsaddle", "methods", str(begun)],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not begun.exists():
        assert run.poll() is None
    run.send_signal(signal.SIGINT)
    assert run.communicate(timeout=60)[1] == ""
    assert run.returncode == -signal.SIGINT


@pytest.mark.slow
def test_a_program_that_imports_it_keeps_its_own_way() -> None:
    code = "import signal as s; own = s.getsignal(2); import unsaddle; print(own is s.getsignal(2))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
