"""What a run shows of itself while it goes on, and its clock."""

import contextlib
import math
import shutil
import sys
from time import monotonic
from typing import Any, NamedTuple

from unsaddle.core.events import JUMPING, Event, doing, nearness
from unsaddle.core.evidence import evidence
from unsaddle.core.outcome import EndError, Outcome
from unsaddle.core.phases import BEGIN, phase_of

ERASE = "\r\033[K"
SHORTER = (  # what a line does without where a terminal is narrow, in this order
    (" for negative curvature", ""),
    (" at point ", " "),
    (" gradients", " grad."),
    (" % proven", " %"),
)


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    redraw: float = 0.1  # seconds, 0.05 to 1: a person follows ten lines a second, not more
    share: float = 0.005  # of the time, (0, 1): more than this is not spent on lines, however slow
    repeat: float = 10.0  # seconds, 1 and up: between lines of a file, which stay


TUNING = Tuning()


class Clock:
    """Calls a run to order: draws its progress when that is due, and ends it when time is up."""

    def __init__(self, seconds: float, progress: "Progress | None") -> None:
        """Begin to count."""
        self.began, self.progress = monotonic(), progress
        self.end = self.began + seconds
        self.due = self.end if progress is None else self.began

    def tick(self, run: Any) -> None:
        """Do what is due.

        Raises:
            EndError: If the time is up.
        """
        now = monotonic()
        if now >= self.end:
            raise EndError(Outcome.BUDGET)
        if self.progress is not None:
            self.progress.show(status(run, now - self.began))
            taken = monotonic() - now
            self.due = min(self.end, now + max(self.progress.interval, taken / TUNING.share))


class Progress:
    """One line in a terminal or a notebook, lines elsewhere; a stream that is closed ends it."""

    def __init__(self, stream: Any = None) -> None:
        """Find out where it is to write."""
        self.stream = sys.stdout if stream is None else stream
        self.page = _notebook() if stream is None else None
        self.terminal = self.page is None and bool(getattr(self.stream, "isatty", bool)())
        plain = self.page is None and not self.terminal
        self.interval = TUNING.repeat if plain else TUNING.redraw
        self.plain, self.drawn = plain, False
        self.lasts = stream is None  # whether how it ended stays to be read

    def show(self, line: str) -> None:
        """Draw the line anew."""
        if self.page is not None:
            self.page(line)
        elif self.terminal:
            self._write(f"{ERASE}{fitted(line, shutil.get_terminal_size().columns - 1)}")
            self.drawn = True
        else:
            self.say(line)

    def event(self, event: Event) -> None:
        """Write an event down where lines stay."""
        if self.plain and event.kind != "end":
            self.say(event.text)

    def say(self, line: str) -> None:
        """Write a line that stays."""
        self._write(f"{ERASE if self.drawn else ''}{line}\n")
        self.drawn = False

    def close(self, line: str = "") -> None:
        """Write how it ended."""
        if self.page is not None and line:
            self.page(line)
        elif line and self.lasts:
            self.say(line)
        elif self.drawn:
            self._write(ERASE)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # of a terminal that is gone
            self.stream.write(text)
            self.stream.flush()


def fitted(line: str, room: int) -> str:
    """Shorten a line by words as long as it is too long, and cut it then."""
    for words, fewer in SHORTER:
        line = line if len(line) <= room else line.replace(words, fewer)
    return line[:room]


def status(run: Any, seconds: float) -> str:
    """Say in one line where a run is."""
    count, state, best = run.earlier + run.oracle.gradients, run.state, run.oracle.best
    parts = [f"{count:,} gradient{'s' * (count != 1)}", f"{seconds:.0f} s"]
    parts += [] if best is None else [f"f {best.fun:.6g}"]
    parts += [] if math.isnan(run.slope) else [f"|g| {run.slope:.2g}"]
    parts += [doing(state.phase, state.episode)]
    if state.phase > BEGIN and phase_of(state.phase) not in JUMPING:
        near = nearness(evidence(run.ops, state))
        parts += [] if math.isnan(near) else [f"{100 * near:.0f} % proven"]
    return ", ".join(parts)


def _notebook() -> Any:
    """Give a function that shows a line in a notebook's page; None where there is no notebook."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found]

    handle: Any = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda line: handle.update({"text/plain": line}, raw=True)
