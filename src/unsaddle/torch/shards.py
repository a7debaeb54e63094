"""Parameters of which every rank has a part: DTensors, as FSDP2 and tensor parallelism make them.

A vector has this rank's parts only, and nothing is gathered: an inner product is that of the parts,
added up over the ranks, with a part that several ranks have counted once. Noise is a function of
where a number is in the whole tensor, so that a run is the same whatever the mesh.
"""
# pyright: reportPrivateImportUsage=false

from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from unsaddle.core.ops import OWN_STREAM
from unsaddle.torch.inputs import is_sharded, local
from unsaddle.torch.marks import checksum
from unsaddle.torch.ops import Block, Row, TorchOps, Vector, ops, torch
from unsaddle.torch.ranks import Ranks

PER_COUNT = 4  # numbers that Philox gives for each of its counts


class Tuning(NamedTuple):
    """Numbers of our own, each with its unit and range, and why it is what it is."""

    chunk: int = 2**20  # numbers drawn at a time, 1000 and up: so few take little memory


TUNING = Tuning()


def check_meshes(params: Vector, ranks: Ranks) -> None:
    """Refuse parameters that are not spread over all ranks of the group, on every rank."""
    ours = ranks.members()
    for p in filter(is_sharded, params):
        theirs = _ranks(p)
        if theirs != ours:
            raise ValueError(
                f"parameters must be on one mesh of all ranks of the group, {ours}, got one on "
                f"ranks {theirs}: make one mesh, and submeshes of it, for all of them, or pass the "
                "group= of its ranks"
            )
        if any(place.is_partial() for place in p.placements):  # type: ignore[attr-defined]
            raise ValueError(
                "parameters must be sharded or replicated, got a partial DTensor: call "
                "redistribute on it first"
            )


def copies(p: Any, ranks: Ranks) -> int:
    """Count the ranks that have the same part of a tensor."""
    if not is_sharded(p):
        return ranks.count
    mesh = p.device_mesh
    apart = [mesh.size(k) for k, place in enumerate(p.placements) if not place.is_replicate()]
    return ranks.count // prod(apart)


def must_agree(params: Vector, ranks: Ranks) -> dict[str, Any]:
    """Give what must be the same on every rank: how tensors are spread, and those that are not."""
    spread = {f"parameter {i}": _spread(p) for i, p in enumerate(params) if is_sharded(p)}
    whole = [local(p) for p in params if copies(p, ranks) == ranks.count]
    return {"meshes": spread, "parameters": checksum(whole)}


def _spread(p: Any) -> str:
    """Say how a tensor is spread."""
    shape, ranks = " x ".join(map(str, p.device_mesh.shape)), _ranks(p)
    return f"{p.placements} on a mesh ({shape}) of ranks {ranks[0]} to {ranks[-1]}"


def _ranks(p: Any) -> list[int]:
    """Give the ranks of a tensor's mesh, or of the larger one that it was cut from."""
    return sorted(p.device_mesh._get_root_mesh().mesh.flatten().tolist())


def like(p: Any, part: torch.Tensor) -> torch.Tensor:
    """Give a part, or a block of parts, as what p is: a DTensor that can be saved."""
    if not is_sharded(p):
        return part
    from torch.distributed.tensor import DTensor

    ahead = part.dim() - p.dim()
    places = [_behind(place, ahead) for place in p.placements]
    shape = torch.Size((*part.shape[:ahead], *p.shape))
    stride = torch.empty(shape, device="meta").stride()
    return DTensor.from_local(
        part, p.device_mesh, places, run_check=False, shape=shape, stride=stride
    )


def _behind(place: Any, ahead: int) -> Any:
    """Give the placement where so many dimensions are put in front of a tensor's own."""
    if place.is_replicate():
        return place
    words = ("split_factor",) if hasattr(place, "split_factor") else ()  # of FSDP2 over TP
    return type(place)(place.dim + ahead, **{word: getattr(place, word) for word in words})


def normal(p: Any, which: int, seed: int, episode: int) -> torch.Tensor:
    """Standard normal numbers for this rank's part, each by where it is in the whole tensor."""
    entropy = np.random.SeedSequence((OWN_STREAM, seed, episode, 0, which))
    key = entropy.generate_state(2, np.uint64)
    shape, offset = _place(p)
    drawn = np.empty(prod(shape))
    filled = 0
    for first, count in _runs(tuple(p.shape), shape, offset):
        for begin in range(first, first + count, TUNING.chunk):
            size = min(TUNING.chunk, first + count - begin)
            drawn[filled : filled + size] = _normal(key, begin, size)
            filled += size
    part = local(p)
    return torch.from_numpy(drawn).to(part.device, part.dtype).view(part.shape)


def _normal(key: Any, begin: int, size: int) -> np.ndarray:
    """Give so many numbers of an endless row of standard normal ones, from the one on."""
    count, ahead = divmod(begin, PER_COUNT)
    raw = np.random.Philox(key=key, counter=count).random_raw(ahead + size)[ahead:]
    return ndtri(((raw >> np.uint64(11)) + 0.5) * 2.0**-53)


def _place(p: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Give the shape of this rank's part, and where it begins in the whole."""
    if not is_sharded(p):
        return tuple(p.shape), (0,) * p.dim()
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    shape, offset = compute_local_shape_and_global_offset(p.shape, p.device_mesh, p.placements)
    return tuple(shape), tuple(offset)


def _runs(whole: tuple[int, ...], shape: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """Cut a part into runs that lie together in the whole: where each begins, and its length."""
    if 0 in shape:
        return
    cut = max((k for k in range(len(whole)) if shape[k] != whole[k]), default=0)
    inner = prod(whole[cut + 1 :])
    count = prod(shape[cut:])
    for index in np.ndindex(*shape[:cut]):
        first = 0
        for k in range(cut):
            first = first * whole[k] + offset[k] + index[k]
        row = first * whole[cut] + offset[cut] if whole else 0
        yield row * inner, count


class ShardedOps(TorchOps):
    """The operations on vectors of which every rank has a part."""

    def __init__(self, layout: Any) -> None:
        """Take the layout, which knows how often each tensor of a vector is there."""
        self._layout = layout

    def dot(self, x: Vector, y: Vector) -> float:
        """Inner product, added up over the ranks in double precision."""
        parts = zip(x, y, self._layout.weights, strict=True)
        own = sum(share * ops.dot([u], [v]) for u, v, share in parts)
        return float(self._added([own])[0])

    def inner_products(self, block: Block, count: int, x: Vector) -> Row:
        """Inner products with the first vectors of a block, added up over the ranks."""
        products = self.scalars(x, len(block[0]))
        for places, u, share in zip(block, x, self._layout.weights, strict=True):
            products[:count] += share * ops.inner_products([places], count, [u])[:count]
        products[:count] = self._added(products[:count])
        return products

    def normal(self, like: Vector, seed: int, episode: int) -> Vector:
        """Standard normal vector, a function of (seed, episode) and of the place in the whole."""
        params = enumerate(self._layout.params)
        return self._layout.join([normal(p, k, seed, episode) for k, p in params])

    def finite(self, x: Vector) -> bool:
        """Whether all numbers of x are finite, on every rank."""
        return not self._added([0.0 if ops.finite(x) else 1.0])[0]

    def size(self, x: Vector) -> int:
        """How many numbers the whole of x has."""
        return sum(p.numel() for p in self._layout.params)

    def _added(self, numbers: Any) -> Any:
        ranks = self._layout.ranks
        if not ranks.several:
            return numbers
        row = torch.tensor(numbers, dtype=torch.float64, device=self._layout.at[0].device)
        ranks.add_up(row)
        return row.cpu().numpy()
