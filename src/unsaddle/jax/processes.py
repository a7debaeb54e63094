"""Processes of ``jax.distributed`` that share arrays: they compare what they ask for at first.

Each of them compiles a program of its own. If the programs differ, so do their collective calls: a
process then ends with an error of the network, or all of them with a certificate of no run.
"""

import json
from typing import Any
from zlib import crc32

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from unsaddle.core.records import is_record, leaves
from unsaddle.jax.inputs import Tree, tracing
from unsaddle.methods import checks

ROW = 16  # numbers that a process sends: two for each thing that is compared
HINT = "every process has to make the same call, with the same arguments"


def agree(given: Tree, fun: Any, **same: Any) -> None:
    """Compare a call over the processes, if it is of arrays that they share.

    Args:
        given: The arrays.
        fun: The function that is minimised, or its gradient.
        **same: What else has to be the same, by name.

    Raises:
        ValueError: If something differs, on every process.
    """
    if jax.process_count() == 1 or tracing(given, same):
        return
    arrays = [leaf for leaf in jax.tree.leaves(given) if isinstance(leaf, jax.Array)]
    shared = [leaf for leaf in arrays if not leaf.is_fully_addressable]
    if not shared:
        return
    devices = sorted(shared[0].sharding.device_set, key=lambda it: (it.process_index, it.id))
    first = {it.process_index: it for it in devices[::-1]}
    first = {process: first[process] for process in sorted(first)}
    name = getattr(fun, "__qualname__", type(fun).__name__)
    own = {"function": name, **same, "arrays": [*map(_form, arrays)]}
    texts = {key: json.dumps(_words(value)).encode() for key, value in own.items()}
    row = np.zeros(ROW, np.uint32)
    row[: 2 * len(own)] = [it for text in texts.values() for it in (crc32(text), len(text))]
    rows = _everywhere(row, first).reshape(len(first), -1, 2)
    for k, (key, text) in enumerate(texts.items()):
        if (rows[:, k] != rows[0, k]).any():
            padded = np.frombuffer(text.ljust(rows[:, k, 1].max()), np.uint8)
            words = [json.loads(each.tobytes()) for each in _everywhere(padded, first)]
            values = dict(zip(first, words, strict=True))
            raise ValueError(checks.unlike(key, values, "process", HINT))


def _everywhere(row: np.ndarray, first: dict[int, Any]) -> np.ndarray:
    """Give the rows of all processes, of which each has a device."""
    mesh = Mesh(np.array([*first.values()]), ("process",))
    with jax.transfer_guard("allow"):
        own = jax.device_put(row[None], first[jax.process_index()])
        apart, shape = NamedSharding(mesh, P("process")), (len(first), *row.shape)
        rows = jax.make_array_from_single_device_arrays(shape, apart, [own])
        whole = jax.jit(_itself, out_shardings=NamedSharding(mesh, P()))(rows)
        return np.asarray(whole.addressable_data(0))


def _itself(rows: jax.Array) -> jax.Array:
    return rows


def _form(leaf: jax.Array) -> str:
    """Say what an array is, and how it is spread."""
    return f"{leaf.dtype}{list(leaf.shape)} {getattr(leaf.sharding, 'spec', 'on one device')}"


def _words(value: Any) -> Any:
    """Give what is compared as JSON can hold it; of an array its numbers, if all are here."""
    if is_record(value):
        return {name: str(leaf) for name, leaf in leaves(value)}
    if isinstance(value, jax.Array):
        here = value.is_fully_addressable or value.is_fully_replicated
        return str(np.asarray(value.addressable_data(0)).tolist()) if here else _form(value)
    return str(value)
