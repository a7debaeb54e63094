"""What a trial is, and how one that goes wrong is told."""

import traceback
import warnings
from collections.abc import Callable
from typing import NamedTuple

FALSE = "false certificate"  # begins what is said of one, which may happen with the chance given


class Trial(NamedTuple):
    """One attempt to break something."""

    row: str
    """The line of the table that it counts in."""
    name: str
    """Its name in that line, by which it is run again."""
    run: Callable[[], str]
    """Gives what went wrong, nothing if all is well; an exception is wrong too."""
    chance: float = 0.0
    """With which a certificate may be false: its delta."""

    @property
    def path(self) -> str:
        """Under which it is run again."""
        return f"{self.row}/{self.name}"


def attempt(trial: Trial) -> str:
    """Run a trial, with warnings as errors; give what went wrong, nothing if all is well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return trial.run()
    except Exception:
        return f"raised\n{traceback.format_exc()}"
