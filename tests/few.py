"""A reproduction from few samples, so that every part of it takes a second or two."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from unsaddle.paper import beyond, claims, growth, jobs, table1


@contextmanager
def few(samples: int = 3000) -> Iterator[pytest.MonkeyPatch]:
    """Let everything be measured from few samples."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in (
            *((module, "SAMPLES", samples) for module in (claims, jobs, growth, beyond)),
            (beyond, "RUN", 30), (beyond, "FEW", 30),
            (beyond, "RADII", 10.0 ** np.arange(-16, 1, 4)),
            (growth, "DIMENSIONS", (10, 100)), (growth, "STARTS", 600), (growth, "LANCZOS", 20),
            (table1, "SIZES", (10, 100)), (table1, "CURVATURES", (0.1, 0.05)),
            (table1, "SEEDS", 1),
        ):  # fmt: skip
            patch.setattr(module, name, value)
        yield patch
