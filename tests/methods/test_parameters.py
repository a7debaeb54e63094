"""The words of hyperparameters, accountable numbers, and kernels short enough to read."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from unsaddle.methods.constants import Given, Hyperparameters, SampledConstants, SampledGiven
from unsaddle.methods.table import METHODS, STOCHASTIC

HOUSE = Path(__file__).parents[2] / "src" / "unsaddle"
KERNELS = [path for room in ("descents", "escapes") for path in sorted((HOUSE / room).glob("*.py"))]
FILES = sorted(HOUSE.rglob("*.py"))
each_kernel = pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
RANGE = re.compile(r"[(\[].*[)\]]|\bto\b|\babove\b|\bbelow\b|\band up\b|\bat (least|most)\b")
UPDATE = ["ops", "p", "s", "value", "gradient"]


def test_every_setting_that_is_no_constant_is_a_hyperparameter_and_no_other_word_is() -> None:
    options = {name for line in (METHODS | STOCHASTIC).values() for name in line.options}
    constants = {*SampledConstants.__annotations__}
    assert {*Hyperparameters.__annotations__} == options - constants
    assert not {*Hyperparameters.__annotations__} & constants
    assert {*Given.__annotations__} < {*SampledGiven.__annotations__} == options | constants


def test_a_hyperparameter_has_the_type_of_its_setting() -> None:
    """Whole numbers where a part counts with it; window is one for a sampled search only."""
    kinds: dict[str, set[type]] = {}
    for line in (METHODS | STOCHASTIC).values():
        for part in (line.descent.settings, line.escape.settings):
            for name, kind in part.__annotations__.items():
                kinds.setdefault(name, set()).add(kind)
    for name, kind in Hyperparameters.__annotations__.items():
        assert kind in kinds[name], name
        assert kinds[name] <= {int, float}


def tunings(path: Path) -> Iterator[tuple[int, str]]:
    """Give the lines of every record of numbers of our own, with their comments."""
    source = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string for t in tokens if t.type == tokenize.COMMENT}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == "Tuning":
            fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
            assert fields, f"{path}: a Tuning without numbers"
            for field in fields:
                assert field.value is not None
                yield field.lineno, comments.get(field.lineno, "")


@pytest.mark.slow
def test_every_number_of_our_own_has_unit_range_and_reason() -> None:
    """``# unit, range: reason`` on its line."""
    counted = 0
    for path in FILES:
        for line, comment in tunings(path):
            counted += 1
            bounds, _, reason = comment.removeprefix("# ").partition(": ")
            assert RANGE.search(bounds), f"{path.name}:{line} has no unit and range: {comment!r}"
            assert len(reason) > 10, f"{path.name}:{line} has no reason: {comment!r}"
    assert counted > 40


def lines_of(function: ast.FunctionDef) -> int:
    """Count the lines of a body, without the docstring."""
    body = function.body[ast.get_docstring(function) is not None :]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@each_kernel
def test_an_update_is_short(path: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and [a.arg for a in node.args.args] == UPDATE
    ]
    assert {f.name: lines_of(f) for f in functions if lines_of(f) > 15} == {}


@each_kernel
def test_a_kernel_is_read_on_three_screens(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 150
