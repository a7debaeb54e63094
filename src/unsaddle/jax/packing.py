"""A tree whose scalars stand in one array for each type of number.

A state has more than a hundred scalars. One by one they make loops of XLA that carry more than a
hundred arrays, through which its passes walk again and again, and a kernel for every scalar that an
update changes. In one array they are one thing to carry and to write.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun
from jax.tree_util import register_dataclass


class Form(NamedTuple):
    """Where the leaves of a tree are."""

    tree: Any  # of jax.tree.structure
    places: tuple[tuple[int, int | None], ...]  # of each leaf: its array, and its place in there
    kinds: tuple[Any, ...]  # of each leaf


@partial(register_dataclass, data_fields=("arrays",), meta_fields=("form",))
@dataclass(frozen=True)
class Packed:
    """A tree, packed."""

    arrays: list[jax.Array]
    form: Form

    def leaf(self, number: int) -> jax.Array:
        """Give a leaf by its number."""
        array, place = self.form.places[number]
        whole = self.arrays[array]
        return whole if place is None else jax.lax.index_in_dim(whole, place, keepdims=False)

    def read(self, which: Callable[[Any], int]) -> jax.Array:
        """Give one leaf of the tree."""
        return self.leaf(which(self.form.tree.unflatten(range(len(self.form.places)))))

    def unpack(self) -> Any:
        """Give the tree."""
        return self.form.tree.unflatten([self.leaf(i) for i in range(len(self.form.places))])

    def with_leaves(self, changed: dict[int, jax.Array]) -> "Packed":
        """Give the tree with other leaves, by number."""
        arrays, places = [*self.arrays], self.form.places
        rows: dict[int, dict[int, jax.Array]] = {}
        for number, leaf in changed.items():
            array, place = places[number]
            if place is None:
                arrays[array] = leaf
            else:
                rows.setdefault(array, {})[place] = leaf
        for array, row in rows.items():
            arrays[array] = _written(arrays[array], row)
        return Packed(arrays, self.form)


def _written(row: jax.Array, changed: dict[int, jax.Array]) -> jax.Array:
    """Give a row with other numbers in some places; what lies between them stays in one piece."""
    pieces = []
    for is_new, group in groupby(range(len(row)), changed.__contains__):
        places = [*group]
        if is_new:
            pieces += [jnp.expand_dims(changed[place], 0) for place in places]
        else:
            pieces.append(row[places[0] : places[-1] + 1])
    return jax.lax.concatenate(pieces, 0)


def pack(tree: Any) -> Packed:
    """Pack a tree of arrays."""
    leaves, form = jax.tree.flatten(tree)
    rows: dict[Any, list[jax.Array]] = {}
    for leaf in leaves:
        if not leaf.shape:
            rows.setdefault(leaf.dtype, []).append(leaf)
    arrays, places = [jnp.stack(row) for row in rows.values()], []
    order, counts = [*rows], dict.fromkeys(rows, 0)
    for leaf in leaves:
        if leaf.shape:
            places.append((len(arrays), None))
            arrays.append(leaf)
        else:
            places.append((order.index(leaf.dtype), counts[leaf.dtype]))
            counts[leaf.dtype] += 1
    kinds = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)
    return Packed(arrays, Form(form, tuple(places), kinds))


def reading(work: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of a tree read of a packed one no more than it has to."""

    def run(packed: Packed, *given: Any) -> Any:
        found, form, _ = _worked(work, packed, given)
        return form.unflatten(found)

    return run


def changing(work: Callable[..., Any]) -> Callable[..., Packed]:
    """Let a function from a tree to one like it read and write no more than it has to."""

    def run(packed: Packed, *given: Any) -> Packed:
        found, _, same = _worked(work, packed, given)
        return packed.with_leaves({i: leaf for i, leaf in enumerate(found) if i not in same})

    return run


def _worked(
    work: Callable[..., Any], packed: Packed, given: tuple[Any, ...]
) -> tuple[list[Any], Any, set[int]]:
    """Give the leaves of what a function finds, their tree, and which are those it was given."""
    forms, form, (more, rest) = [], packed.form, jax.tree.flatten(given)

    def flat(*leaves: Any) -> list[Any]:
        tree = form.tree.unflatten(leaves[: len(form.kinds)])
        found, found_form = jax.tree.flatten(work(tree, *rest.unflatten(leaves[len(form.kinds) :])))
        forms.append(found_form)
        return found

    traced = jax.make_jaxpr(flat)(*form.kinds, *more)
    before, after = traced.jaxpr.invars, traced.jaxpr.outvars
    same = {i for i, (old, new) in enumerate(zip(before, after, strict=False)) if old is new}
    read = {id(it) for eqn in traced.eqns for it in eqn.invars}
    read |= {id(it) for i, it in enumerate(after) if i not in same}
    own = before[: len(form.kinds)]
    leaves = [packed.leaf(i) if id(it) in read else None for i, it in enumerate(own)]
    return jaxpr_as_fun(traced)(*leaves, *more), forms[0], same
