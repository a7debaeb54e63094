"""Walking nested named tuples: one way to name, fill and change their leaves."""

from collections.abc import Callable, Iterator
from typing import Any

new = tuple.__new__  # new(Record, (a, b)) is Record(a, b) in half the time


def is_record(tree: Any) -> bool:
    """Say whether this is a named tuple, and not a leaf."""
    return isinstance(tree, tuple) and hasattr(tree, "_fields")


def leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Name every leaf by its path, such as ``state.escape.curvature``."""
    if is_record(tree):
        for field in tree._fields:
            yield from leaves(getattr(tree, field), f"{name}.{field}".lstrip("."))
    else:
        yield name, tree


def fill(form: Any, leaf: Callable[[str, Any], Any], name: str = "") -> Any:
    """Give a record of the same form, whose leaves ``leaf(path, old)`` gives."""
    if is_record(form):
        paths = ((f"{name}.{field}".lstrip("."), getattr(form, field)) for field in form._fields)
        return type(form)(*(fill(part, leaf, path) for path, part in paths))
    return leaf(name, form)
