"""What ``disp=True`` costs where a gradient takes ten microseconds: in a terminal, and in a file.

Both sides of a share are taken from one run, so that a busy machine slows both: the time in which
the line is drawn and the one in which a query asks whether that is due, by the time of the whole.
The terminal is a pseudo-terminal that another process reads.

    python benchmarks/disp.py
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pty
import subprocess
import tempfile
from statistics import median
from time import monotonic, process_time
from timeit import timeit
from typing import Any
from unittest import mock

import numpy as np

from unsaddle import minimize
from unsaddle.numpy.progress import Clock

MICROSECONDS, GRADIENTS, RUNS, VARIABLES, ASKED = 10, 20_000, 10, 20, 10**5
CURVATURES = np.geomspace(1e-6, 1e3, VARIABLES)


class Timed(Clock):
    """A clock that knows what it has taken itself."""

    drawing, draws = 0.0, 0

    def tick(self, run: Any) -> None:
        """Do what is due, and time it."""
        begin = process_time()
        super().tick(run)
        Timed.drawing, Timed.draws = Timed.drawing + process_time() - begin, Timed.draws + 1


def both(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Give value and gradient of a long valley, after ten microseconds in all."""
    end = process_time() + 1e-6 * MICROSECONDS
    gradient = CURVATURES * x * (1 + 1e-3 * x * x)
    value = float(CURVATURES @ (x * x * (0.5 + 2.5e-4 * x * x)))
    while process_time() < end:
        pass
    return value, gradient


def share(disp: Any) -> tuple[float, float]:
    """Give the share of a run, which its budget ends, that goes into the line; and a gradient's."""
    Timed.drawing, begin = 0.0, process_time()
    given: dict[str, Any] = {"jac": True, "method": "agd-auto", "tol": 1e-40}
    result = minimize(both, np.ones(VARIABLES), disp=disp, max_gradients=GRADIENTS, **given)
    total, clock = process_time() - begin, Clock(1e9, None)
    plain = timeit("clock is not None", globals={"clock": clock}, number=ASKED)
    words = {"clock": clock, "monotonic": monotonic}
    asked = timeit("clock is not None and monotonic() >= clock.due", globals=words, number=ASKED)
    taken = Timed.drawing + max(asked - plain, 0.0) * len(result.history.phase) / ASKED
    return taken / total, 1e6 * total / result.njev


def main() -> None:
    """Print the shares."""
    reader, writer = pty.openpty()
    watching = subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, stderr=-3)
    os.close(reader)
    with (
        os.fdopen(writer, "w") as terminal,
        tempfile.TemporaryFile("w") as file,
        mock.patch("unsaddle.numpy.minimize.Clock", Timed),
    ):
        for name, stream in {"terminal": terminal, "file": file}.items():
            Timed.draws = 0
            runs = [share(stream) for _ in range(RUNS)]
            shares, each = [100 * run[0] for run in runs], median(run[1] for run in runs)
            print(
                f"{name:8} {median(shares):.2f} % of a run at the median, {max(shares):.2f} % "
                f"at most; {each:.0f} us a gradient in all, drawn {Timed.draws} times"
            )
    watching.terminate()
    watching.wait()


if __name__ == "__main__":
    main()
