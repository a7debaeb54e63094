"""Ctrl-C while the command line is still importing NumPy and SciPy ends it without a traceback.

Importing this changes nothing in a program that is not the command ``unsaddle`` itself. Processes
that the command starts are not it: they go by how they were started, too.
"""

import signal
import sys
from pathlib import Path

WORDS = getattr(sys, "orig_argv", [""])[1:]
COMMAND = WORDS[:2] == ["-m", "unsaddle"] or (bool(WORDS) and Path(WORDS[0]).stem == "unsaddle")
if COMMAND:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def heed() -> None:
    """Let Ctrl-C be an exception again, which the command answers in words."""
    if COMMAND:
        signal.signal(signal.SIGINT, signal.default_int_handler)
