"""What the mutations would change is there to be changed."""

from pathlib import Path

import pytest

from benchmarks.torture.mutations import LIST

SOURCE = Path(__file__).parents[2] / "src" / "unsaddle"


@pytest.mark.parametrize("mutation", LIST, ids=lambda it: f"{it.file}: {it.after}")
def test_a_file_has_what_a_mutation_would_change(mutation):
    assert mutation.before in (SOURCE / mutation.file).read_text()
