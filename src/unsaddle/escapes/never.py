"""No escape, for a descent that leaves saddles by its own noise and never reports."""

from typing import NamedTuple

from unsaddle.kernel import Part


class Settings(NamedTuple):
    """Hyperparameters: none."""


never = Part({}, Settings, lambda ops, x: None)
