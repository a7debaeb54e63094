"""Which room of the package may import which: the layout of the house, kept by a test."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2] / "src" / "unsaddle"
METHODS = {"core", "descents", "escapes", "methods", "messages"}
BACKEND = METHODS | {"certificate", "style"}  # and never another backend
FRONT = BACKEND | {"unsaddle", "numpy", "landscapes"}
MAY_IMPORT = {  # a room, that is a folder or a module of the package: which others
    "core": set(),
    "messages": set(),
    "style": set(),
    "_quiet": set(),
    "landscapes": set(),
    "descents": {"core"},
    "escapes": {"core"},
    "methods": METHODS,
    "certificate": {"core"},
    "numpy": BACKEND,
    "torch": BACKEND,
    "jax": BACKEND,
    "optax": BACKEND | {"jax"},
    "ase": BACKEND | {"unsaddle", "numpy"},
    "unsaddle": BACKEND | {"numpy", "_quiet"},  # __init__.py
    "paper": FRONT,
    "cli": FRONT | {"paper", "ase", "_quiet"},
    "__main__": {"cli"},
}
LIBRARIES = {"torch": {"torch"}, "jax": {"jax", "optax"}, "optax": {"jax", "optax"}, "ase": {"ase"}}
OPTIONAL = {"torch", "jax", "optax", "ase"}


def room_of(path: Path) -> str:
    room = path.relative_to(HOUSE).parts[0].removesuffix(".py")
    return "unsaddle" if room == "__init__" else room


def imported(path: Path) -> Iterator[str]:
    """Give the full name of everything that a file imports, at any depth."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: write the whole path of an import"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def target(name: str) -> str:
    """Give the room that an import from the package leads to."""
    first = name.split(".")[1:2]
    return first[0] if first and first[0] in MAY_IMPORT else "unsaddle"


FILES = sorted(HOUSE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_a_file_imports_only_what_its_room_may(path):
    room, names = room_of(path), list(imported(path))
    rooms = {target(name) for name in names if name.split(".")[0] == "unsaddle"}
    assert rooms <= MAY_IMPORT[room] | {room}
    libraries = {name.split(".")[0] for name in names} & OPTIONAL
    assert libraries <= LIBRARIES.get(room, set())


@pytest.mark.slow
def test_importing_the_package_imports_no_optional_library():
    code = f"import sys, unsaddle; print(sorted({OPTIONAL!r} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
