"""Real forces at their default accuracy: no success on a saddle."""

import pytest

from benchmarks import forces
from benchmarks.molecules import available, wanted_curvature

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not available(), reason=forces.MISSING),
]
SMALL = ("NH3 planar", "H2O linear", "C2H6 eclipsed", "H2O2 cis", "N2H4 eclipsed")


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("name", SMALL)
def test_no_success_on_a_saddle(name: str, asked: bool) -> None:
    """At 50/cm, or with a gamma of its own; and where it is certified it is so."""
    row = forces.run(name, wanted_curvature() if asked else None, max_step=0.3)
    assert not row.on_saddle, row
    assert not row.false, row
    assert row.minimum, row
