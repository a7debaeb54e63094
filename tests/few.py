"""A reproduction from few samples, so that every part of it takes a second or two."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from unsaddle.paper import claims, jobs
from unsaddle.paper.extras import (
    adversary,
    applications,
    growth,
    robustness,
    table1,
    theorems,
)


@contextmanager
def few(samples: int = 3000) -> Iterator[pytest.MonkeyPatch]:
    """Let everything be measured from few samples."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in (
            *((module, "SAMPLES", samples)
              for module in (claims, jobs, growth, robustness, adversary)),
            (robustness, "RUN", 30), (adversary, "FEW", 30), (adversary, "SOME", 30),
            (robustness, "RADII", 10.0 ** np.arange(-16, 1, 4)),
            (growth, "DIMENSIONS", (10, 100)), (growth, "STARTS", 600), (growth, "LANCZOS", 20),
            (table1, "SIZES", (10, 30)), (table1, "CURVATURES", (0.3, 0.2)),
            (table1, "SEEDS", 1), (applications, "SEEDS", 1), (applications, "LIMIT", 300),
            (theorems, "STARTS", 2), (theorems, "STAY", 1), (theorems, "MOST", 3),
        ):  # fmt: skip
            patch.setattr(module, name, value)
        yield patch
