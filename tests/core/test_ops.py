"""Every operation of the protocol means the same on every backend, and pyright knows them all."""

import ast
import json
import math
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.often import at_night
from unsaddle.core.ops import Operations
from unsaddle.numpy.ops import CachingOps, NumpyOps

X, Y = np.array([3.0, -1.0, 2.0, 0.5]), np.array([1.0, 4.0, -2.0, 8.0])
DIAGONAL, OFFDIAGONAL = (1.0, -2.0, 7.0), (2.0, 9.0, 5.0)  # its leading 2 x 2 has -3 and 2
LOWEST = np.array([1.0, -2.0, 0.0]) / math.sqrt(5)


class Backend(NamedTuple):
    """A backend, how to make a vector of four numbers, and how to compile what is called often."""

    ops: Any
    vector: Any
    compiled: Any = lambda called: called

    def row(self, *numbers: float) -> Any:
        row = self.ops.scalars(self.vector(X), len(numbers))
        for i, number in enumerate(numbers):
            row = self.ops.set_scalar(row, i, number)
        return row

    def block(self) -> Any:
        """X, Y and X again."""
        block = self.ops.vectors(self.vector(X), 3)
        for i, numbers in enumerate((X, Y, X)):
            block = self.ops.set_vector(block, i, self.vector(numbers))
        return block


def numbers(found: Any) -> np.ndarray:
    """Give all numbers in nested lists, tuples and dictionaries of arrays and scalars."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, (list, tuple)):
        return np.concatenate([numbers(each) for each in found])
    return np.asarray(found, float).ravel()


def numpy_backend(dtype: str) -> Backend:
    return Backend(NumpyOps(), lambda a: a.astype(dtype))


def torch_backend(dtype: str) -> Backend:
    torch = pytest.importorskip("torch")
    from unsaddle.torch.ops import ops

    return Backend(ops, lambda a: [*torch.tensor(a, dtype=getattr(torch, dtype)).view(2, 1, 2)])


def jax_backend(dtype: str) -> Backend:
    jax = pytest.importorskip("jax")
    from unsaddle.jax.ops import ops

    def vector(a: np.ndarray) -> Any:
        return {"a": jax.numpy.array(a[:1], dtype), "b": jax.numpy.array(a[1:], dtype)[None]}

    return Backend(ops, vector, jax.jit)


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture(params=["numpy", "torch", "jax"])
def backend(request, dtype):
    double = request.param == "jax" and dtype == "float64"
    with pytest.importorskip("jax").enable_x64(True) if double else nullcontext():
        made = {"numpy": numpy_backend, "torch": torch_backend, "jax": jax_backend}
        yield made[request.param](dtype)


MEANINGS = {  # operation: what it gives for X and Y, and what it is to give
    "dot": (lambda b, o, x, y: o.dot(x, y), X @ Y),
    "norm": (lambda b, o, x, y: (o.norm(x), o.norm(b.row(3.0, 4.0))), [math.sqrt(X @ X), 5]),
    "axpy": (lambda b, o, x, y: o.axpy(0.5, x, y), Y + 0.5 * X),
    "scale": (lambda b, o, x, y: (o.scale(0.5, x), o.scale(0.0, b.block())), [*X / 2, *[0] * 12]),
    "times": (lambda b, o, x, y: (o.times(0.5, x), x), [*X / 2, *X]),
    "add": (lambda b, o, x, y: (o.add(x, 0.5, y), x, y), [*X + Y / 2, *X, *Y]),
    "copy": (lambda b, o, x, y: (o.copy(x), o.scale(2.0, x)), [*X, *2 * X]),
    "retain": (lambda b, o, x, y: o.retain(x), X),
    "switch": (lambda b, o, x, y: (o.switch(True, x, y), o.switch(False, x, y)), [*X, *Y]),
    "where": (lambda b, o, x, y: (o.where(True, 1, 2), o.where(False, 1, 2)), [1, 2]),
    "sqrt": (lambda b, o, x, y: o.sqrt(2.0), math.sqrt(2)),
    "log": (lambda b, o, x, y: o.log(2.0), math.log(2)),
    "maximum": (lambda b, o, x, y: (o.maximum(1, 2), o.maximum(2, 1)), [2, 2]),
    "finite": (
        lambda b, o, x, y: [o.finite(o.times(a, x)) for a in (1.0, math.inf, math.nan)],
        [True, False, False],
    ),
    "size": (lambda b, o, x, y: o.size(x), 4),
    "vectors": (lambda b, o, x, y: o.vectors(x, 3), [0] * 12),
    "places": (lambda b, o, x, y: (o.places(b.block()), o.places(o.vectors(x, 5))), [3, 5]),
    "set_vector": (lambda b, o, x, y: o.get_vector(o.set_vector(b.block(), 2, y), 2), Y),
    "get_vector": (lambda b, o, x, y: [o.get_vector(b.block(), i) for i in (0, 1)], [*X, *Y]),
    "inner_products": (lambda b, o, x, y: o.inner_products(b.block(), 2, x), [X @ X, X @ Y, 0]),
    "combine": (lambda b, o, x, y: o.combine(b.block(), 2, b.row(2, 3, 5)), 2 * X + 3 * Y),
    "add_combined": (
        lambda b, o, x, y: [
            o.add_combined(o.copy(y), b.block(), n, b.row(2, 3, 5)) for n in (0, 2)
        ],
        [*Y, *2 * X + 4 * Y],
    ),
    "scalars": (lambda b, o, x, y: o.scalars(x, 3), [0] * 3),
    "set_scalar": (lambda b, o, x, y: o.set_scalar(b.row(2, 3, 5), 1, 7), [2, 7, 5]),
    "get_scalar": (lambda b, o, x, y: o.get_scalar(b.row(2, 3, 5), 1), 3),
    "square": (lambda b, o, x, y: o.square(x, 2) @ b.row(2, 3), [0, 0]),
    "product": (
        lambda b, o, x, y: [
            o.product(2.0, m, b.row(1, 10), 3.0, b.row(5, 7))
            for lines in [o.set_lines(o.square(x, 2), 1, b.row(2, 3), 0, b.row(5, 7))]
            for m in (lines, lines.T)
        ],
        [25, 95, 165, 81],
    ),
    "set_lines": (
        lambda b, o, x, y: (
            o.set_lines(o.square(x, 2), 1, b.row(2, 3), 0, b.row(5, 7)) @ b.row(1, 10)
        ),
        [5, 37],
    ),
    "repeat": (lambda b, o, x, y: o.repeat(4, lambda j, a: 2 * a + j, 1), 27),
    "tridiagonal_bound": (
        lambda b, o, x, y: [
            o.tridiagonal_bound(b.row(*DIAGONAL), b.row(*OFFDIAGONAL), n) for n in range(4)
        ],
        [0, 3, 13, 21],
    ),
    "ritz": (lambda b, o, x, y: o.ritz(b.row(*DIAGONAL), b.row(*OFFDIAGONAL), 2), [-3, *LOWEST]),
}
ELSEWHERE = {"normal", "uniform", "roundoff", "tiny"}  # which have tests of their own


def test_every_operation_is_tested():
    assert {name for name in vars(Operations) if name[0] != "_"} == MEANINGS.keys() | ELSEWHERE


@pytest.mark.parametrize("name", MEANINGS)
def test_an_operation_means_the_same_everywhere(backend, dtype, name):
    call, expected = MEANINGS[name]
    found = numbers(call(backend, backend.ops, backend.vector(X), backend.vector(Y)))
    tolerance = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, np.ravel(expected), rtol=tolerance, atol=tolerance)


def test_precision_is_that_of_the_vector(backend, dtype):
    x, info = backend.vector(X), np.finfo(dtype)
    assert backend.ops.roundoff(x) == info.eps / 2
    assert backend.ops.tiny(x) == info.tiny


def test_normal_is_a_function_of_seed_and_episode(backend):
    ops, like = backend.ops, backend.vector(X)
    first, again, other, later = (
        numbers(ops.normal(like, *at)) for at in [(1, 2)] * 2 + [(2, 2), (1, 3)]
    )
    assert (first == again).all()
    assert len({*first, *other, *later}) == 12
    drawn = [float(ops.uniform(like, *at)) for at in [(1, 2), (1, 2), (2, 2), (1, 3)]]
    assert drawn[0] == drawn[1]
    assert len({*drawn}) == 3
    assert all(0 < u < 1 for u in drawn)


def test_normal_is_standard_normal(backend):
    draw = backend.compiled(lambda j: backend.ops.normal(backend.vector(X), 0, j))
    drawn = np.array([numbers(draw(j)) for j in range(100)])
    assert abs(drawn.mean()) < 0.2
    assert abs(drawn.std() - 1) < 0.2


@pytest.mark.parametrize("wrong", [math.inf, math.nan])
def test_an_infinite_matrix_has_no_ritz_value(backend, wrong):
    row = backend.row(1.0, wrong, 1.0)
    value, weights = backend.ops.ritz(row, row, 2)
    assert math.isnan(value)
    assert np.isnan(numbers(weights)).all()
    assert backend.ops.ritz(row, row, 1)[0] == 1


@pytest.mark.jax
def test_counts_may_be_traced_and_mapped():
    jax = pytest.importorskip("jax")
    b = jax_backend("float32")
    diagonal, offdiagonal = b.row(*DIAGONAL), b.row(*OFFDIAGONAL)

    def all_of_them(count: Any) -> Any:
        return (
            b.ops.tridiagonal_bound(diagonal, offdiagonal, count),
            b.ops.ritz(diagonal, offdiagonal, b.ops.maximum(count, 1)),
            b.ops.inner_products(b.block(), count, b.vector(X)),
            b.ops.combine(b.block(), count, diagonal),
        )

    counts = range(4)
    mapped = jax.jit(jax.vmap(all_of_them))(jax.numpy.arange(4))
    for count in counts:
        one = jax.tree.map(lambda leaf, i=count: leaf[i], mapped)
        np.testing.assert_allclose(numbers(one), numbers(all_of_them(count)), atol=1e-6)
        np.testing.assert_allclose(numbers(one), numbers(jax.jit(all_of_them)(count)), atol=1e-6)


@pytest.fixture(params=["numpy", "torch"])
def caching(request):
    if request.param == "numpy":
        caching = CachingOps(X)
        return caching, caching.lend, X.copy
    torch = pytest.importorskip("torch")
    from unsaddle.torch.ops import CachingOps as TorchCachingOps

    caching = TorchCachingOps()
    return caching, caching.cache_norm, lambda: [torch.tensor(X)]


def test_the_norm_of_an_answer_is_computed_once(caching):
    ops, lend, make = caching
    gradient, other = make(), make()
    assert lend(gradient) == ops.norm(other)
    gradient[0] += 1.0  # unseen by the operations
    assert ops.norm(gradient) == ops.norm(other)


@pytest.mark.parametrize("consume", ["axpy", "scale"])
def test_a_consumed_gradient_has_another_norm(caching, consume):
    ops, lend, make = caching
    gradient, length = make(), ops.norm(make())
    lend(gradient)
    ops.axpy(1.0, gradient, make())
    assert ops.norm(gradient) == length
    consumed = ops.axpy(1.0, make(), gradient) if consume == "axpy" else ops.scale(2.0, gradient)
    assert ops.norm(consumed) == 2 * length


@pytest.mark.torch
def test_a_probe_is_written_where_it_is_to_be():
    torch = pytest.importorskip("torch")
    from unsaddle.torch.ops import PlacingOps

    target, x, y = [torch.zeros(4)], [torch.tensor(X).float()], [torch.tensor(Y).float()]
    assert PlacingOps(target).add(x, 0.5, y) is target
    assert (numbers(target) == X + Y / 2).all()
    assert (numbers(x) == X).all()


def reported(folder: Path) -> list[dict[str, Any]]:
    """Give what pyright says of the files in a folder."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, folder], capture_output=True, text=True, check=False, cwd=folder
    )
    return json.loads(done.stdout)["generalDiagnostics"]


def misspell(path: Path) -> set[tuple[str, int]]:
    """Misspell every operation that a file calls, and give the lines."""
    source = path.read_text()
    lines, where = source.splitlines(), set()
    names = [
        (node.end_lineno or 0, node.end_col_offset or 0)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "ops"
    ]
    for number, column in sorted(names, reverse=True):
        line = lines[number - 1].encode()
        lines[number - 1] = (line[:column] + b"_" + line[column:]).decode()
        where.add((path.name, number))
    path.write_text("\n".join(lines))
    return where


@pytest.mark.nightly
def test_pyright_reports_every_operation_of_the_kernels(tmp_path):
    """All are misspelt at once: a line that is not reported is one whose ``ops`` has no type."""
    pytest.importorskip("pyright", reason="needs pyright: pip install -e '.[dev]'")
    package, copied = Path(__file__).parents[2] / "src" / "unsaddle", tmp_path / "unsaddle"
    for room in ("core", "descents", "escapes"):
        shutil.copytree(package / room, copied / room)
    (copied / "__init__.py").touch()
    wrong = {place for path in copied.rglob("*.py") for place in misspell(path)}
    assert len(wrong) > 500
    assert wrong == {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1)
        for each in reported(tmp_path)
        if each["rule"] == "reportAttributeAccessIssue"
    }


MISSPELT = """
from unsaddle.core.ops import Ops, Vector

def update(ops: Ops, x: Vector) -> Vector:
    return ops.axpi(1.0, x, x)
"""


@pytest.mark.slow
@pytest.mark.parametrize("names", [["numpy"], at_night(["numpy", "torch", "jax"])])
def test_pyright_reports_a_misspelt_or_missing_operation(tmp_path, names):
    """It reads torch and JAX for ten seconds; in every run ``make lint`` lets it read them too."""
    pytest.importorskip("pyright", reason="needs pyright: pip install -e '.[dev]'")
    package = Path(__file__).parents[2] / "src" / "unsaddle"
    (tmp_path / "misspelt.py").write_text(MISSPELT)
    for name in names:  # without one operation, and otherwise as they are
        source = (package / name / "ops.py").read_text().replace("def uniform(", "def pick(")
        (tmp_path / f"lacking_{name}.py").write_text(source)
    messages = {Path(each["file"]).stem: each["message"] for each in reported(tmp_path)}
    assert 'Attribute "axpi" is unknown' in messages["misspelt"]
    for name in names:
        assert '"uniform" is not present' in messages[f"lacking_{name}"]
