"""Real forces through ``unsaddle.ase``: saddles are left, and every claim is true."""

import pytest

pytest.importorskip("ase")

from benchmarks import relaxations
from benchmarks.forces import MISSING
from benchmarks.molecules import MOLECULES, available

pytestmark = pytest.mark.skipif(not available(), reason=MISSING)


@pytest.mark.parametrize("accuracy", relaxations.ACCURACIES)
@pytest.mark.parametrize("name", ["NH3 planar", "C2H6 eclipsed", "H2O2 trans", "H2CO"])
def test_the_end_is_a_minimum_and_every_claim_is_true(name, accuracy):
    row = relaxations.run(name, accuracy)
    assert row.outcome == ("COARSER" if accuracy == 1 else "CERTIFIED")
    assert not row.stays
    assert not row.false
    assert len(row.claims) == 2
    assert sum(row.parts.values()) == row.of_certificate


def test_a_certificate_after_a_search_takes_six_for_each_atom_at_most():
    """Noise and radius are known by then: two for each of 3N - 6 vibrations, and a recheck."""
    row = relaxations.run("NH3 planar", 1.0)
    assert row.of_certificate <= 2 * (12 - 6) + 4 < row.every == 24
    assert row.parts["noise"] == row.parts["radius"] == 0


def test_the_table_tells_false_claims_and_saddles():
    row = relaxations.run("NH3 planar", 0.01)
    saddle = row._replace(after=-120.0)
    coarse = saddle._replace(outcome="COARSER", shown=150.0, holds=None)
    assert not row.false
    assert saddle.false
    assert coarse.stays
    assert not coarse.false
    assert "CERTIFIED, FALSE, stays" in relaxations.cells(saddle)
    end = relaxations.summary(0.01, [row, saddle, coarse])
    assert "of 3, 1 end at a minimum, 2 are certified at 50/cm, 1 falsely" in end


def test_the_others_are_none_of_the_fourteen():
    assert not {name.split()[0] for name in MOLECULES} & set(relaxations.OTHERS)
    assert len(relaxations.OTHERS) == 10
