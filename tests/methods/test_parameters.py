"""The words of hyperparameters, accountable numbers, and kernels short enough to read."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from unsaddle.core.ops import OWN_STREAM
from unsaddle.methods.constants import (
    DEFAULTS,
    Given,
    Hyperparameters,
    SampledConstants,
    SampledGiven,
)
from unsaddle.methods.table import METHODS, STOCHASTIC

HOUSE = Path(__file__).parents[2] / "src" / "unsaddle"
KERNELS = [path for room in ("descents", "escapes") for path in sorted((HOUSE / room).glob("*.py"))]
FILES = sorted(HOUSE.rglob("*.py"))
each_kernel = pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
RANGE = re.compile(r"[(\[].*[)\]]|\bto\b|\babove\b|\bbelow\b|\band up\b|\bat (least|most)\b")
PLAIN = {0, 1, 2, 0.5}
DERIVED = {  # numbers that nobody chose, by file
    "core/arrays.py": {8: "bytes", 4: "bytes", 53: "digits", 24: "digits", 1022: "2^", 126: "2^"},
    "core/kernel.py": {1e-3: "delta, where a caller says nothing"},
    "core/ops.py": {OWN_STREAM: "a name for a stream of draws, as a number"},
    "core/outcome.py": {3: "frames up to the caller"},
    "core/phases.py": {3: "a code", 4: "a code", 8: "a code", 64: "a code", 1000: "a code"},
    "core/resolution.py": {6: "6/(pi j)^2 sums to one"},
    "descents/cubic_model.py": {6: "rho/6: Taylor"},
    "descents/curvature_pairs.py": {12: "the trapezoidal rule"},
    "descents/epoch.py": {4: "vectors that begin at zero"},
    "descents/line_search.py": {3: "the cubic through two values and two slopes"},
    "descents/parameter_free_agd.py": {5: "a power of the source"},
    "descents/plateau.py": {12: "the sum of squares of consecutive numbers"},
    "descents/rho_bound.py": {3: "the cube of a length", 12: "the trapezoidal rule"},
    "escapes/backtracking_jump.py": {8: "in its proof", 16: "in its proof"},
    "escapes/best_difference.py": {
        3: "4/3: Richardson", 4: "fourth differences; 4/3", 8: "fourth differences",
        70: "(8 over 4)",
    },
    "escapes/curvature_step.py": {3: "of the lemma: (2/3) |q|^3/rho^2"},
    "escapes/neon.py": {5: "vectors that begin at zero"},
    "escapes/neon2.py": {0.75: "of the source"},
    "escapes/noisy_radius.py": {4: "the fourth difference", 8: "twice four errors"},
    "escapes/probe_pair.py": {4: "(r/2)^2 is r^2/4"},
    "escapes/probe_radius.py": {4: "(r/2)^2 is r^2/4", 6: "(4 over 2)"},
    "escapes/recheck.py": {3: "4/3: Richardson; a stage", 4: "4/3: Richardson; a stage"},
    "escapes/sample_test.py": {3: "Gauss's nodes; the cube", 0.010142: "an integral"},
}  # fmt: skip


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


def defaults(path: Path) -> Iterator[tuple[str, object]]:
    """Give every default of a word that a file writes out, in a signature or a record."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        given: list[tuple[str, ast.expr | None]] = []
        if isinstance(node, ast.FunctionDef):
            a = node.args
            places = [*a.posonlyargs, *a.args]
            late = places[len(places) - len(a.defaults) :]
            given += [(arg.arg, value) for arg, value in zip(late, a.defaults, strict=True)]
            given += [(arg.arg, v) for arg, v in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            given.append((node.target.id, node.value))
        for name, value in given:
            if isinstance(value, ast.Constant):
                yield name, value.value


def test_every_signature_has_the_same_failure_probability() -> None:
    """It is written out where a reader looks for it."""
    found = {
        f"{path.name}: {value}"
        for path in FILES
        for name, value in defaults(path)
        if name == "failure_probability" and value not in (DEFAULTS[name], 0.0)  # not known yet
    }
    assert not found


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


def literals(path: Path) -> Iterator[tuple[float, int]]:
    """Give the numbers of a file and their lines, but for those of records of our own numbers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    records = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name in ("Tuning", "PhaseName")
    ]
    accounted = {id(node) for record in records for node in ast.walk(record)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in accounted:
            continue
        number = node.value
        if isinstance(number, int | float) and number not in PLAIN:  # True is 1
            yield number, node.lineno


def test_no_number_that_was_chosen_stands_outside_a_tuning() -> None:
    """In core and kernels; a number that is no longer there leaves the list, too."""
    found = {
        str(path.relative_to(HOUSE)): dict(literals(path))
        for path in [*(HOUSE / "core").glob("*.py"), *KERNELS]
    }
    chosen = {
        f"{path}:{line}": number
        for path, numbers in found.items()
        for number, line in numbers.items()
        if number not in DERIVED.get(path, {})
    }
    assert not chosen, "put these into the Tuning of their file, with unit, range and reason"
    gone = {path: {*derived} - {*found[path]} for path, derived in DERIVED.items()}
    assert not any(gone.values()), gone


def lines_of(function: ast.FunctionDef) -> int:
    """Count the lines of a body, without the docstring."""
    body = function.body[ast.get_docstring(function) is not None :]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@each_kernel
def test_an_update_is_short_and_so_is_all_that_takes_a_state(path: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and "s" in [a.arg for a in node.args.args]
    ]
    assert not [f.name for f in functions if lines_of(f) >= 15]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_not_too_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 350


@each_kernel
def test_a_kernel_is_read_on_three_screens(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 150
