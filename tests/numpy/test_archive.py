"""A file that was altered is refused by name, before anything is allocated for it."""

import contextlib
import io
import os
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.numpy.test_resume import bits
from tests.often import at_night
from tests.watched import solve
from unsaddle import load, minimize, save
from unsaddle.numpy import archive

REFUSED = r"is not a checkpoint of unsaddle, it .*: pass the path of a file that unsaddle\.save"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "run.npz"
    save(solve("auto", "apart", [], max_gradients=9).state, path)
    return path


def altered(path: Path, **entries: Any) -> None:
    """Write the file again with other entries; None leaves one out."""
    with np.load(path) as known:
        arrays = {**known, **{name.replace("__", "."): it for name, it in entries.items()}}
    np.savez(path, **{name: it for name, it in arrays.items() if it is not None})


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ({"format": None}, "has no format version"),
        ({"format": np.asarray(99)}, "is of format 99, and this release reads format 1"),
        ({"format": np.asarray("one")}, "is of format one"),
        ({"state__x": np.ones((2, 2))}, r"has an x of shape \(2, 2\)"),
        ({"state__x": np.ones(2, complex)}, "has an x of .* complex128"),
        ({"state__x": None}, "has no entry 'state.x'"),
        ({"state__descent__idle": None}, "wrote, or begin anew if an earlier release wrote this"),
        ({"state__phase": np.asarray(77)}, "has no phase 77"),
        ({"state__phase": np.asarray("go")}, "has an entry state.phase that is no number"),
        ({"state__stalled": np.asarray(1.0)}, "has an entry state.stalled of .* float64"),
        (
            {"state__descent__pairs__block__places": np.asarray(10**12)},
            "has an entry state.descent.pairs.block",
        ),
        (
            {"state__descent__pairs__block__places": np.asarray(-1)},
            "has an entry state.descent.pairs.block",
        ),
        (
            {"state__descent__pairs__block": np.ones((3, 9))},
            "has an entry state.descent.pairs.block of shape",
        ),
        ({"gradient": np.ones(3)}, r"has an entry gradient of shape \(3,\)"),
        ({"gradient": np.ones(2, np.float32)}, "has an entry gradient of .* float32"),
        ({"method": np.asarray("none")}, "method 'none' is unknown"),
    ],
)
def test_an_altered_entry_is_named(saved: Path, entries: dict[str, Any], why: str) -> None:
    altered(saved, **entries)
    with pytest.raises(ValueError, match=REFUSED) as error:
        load(saved)
    assert re.search(why, str(error.value)), str(error.value)


def test_a_header_cannot_ask_for_more_than_is_there(saved: Path) -> None:
    """An array of 8 TB in a file of a few kB, with every checksum right."""
    with zipfile.ZipFile(saved) as whole:
        parts = {info.filename: whole.read(info) for info in whole.infolist()}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    )
    parts["state.x.npy"] = header.getvalue()
    with zipfile.ZipFile(saved, "w") as whole:
        for name, data in parts.items():
            whole.writestr(name, data)
    with pytest.raises(ValueError, match=REFUSED):
        load(saved)


def test_what_is_compressed_is_not_unpacked(saved: Path) -> None:
    with np.load(saved) as known:
        np.savez_compressed(saved, **dict(known))
    with pytest.raises(ValueError, match=REFUSED):
        load(saved)


@pytest.mark.slow
@pytest.mark.parametrize("stride", [149, at_night(37)])  # prime: bits and places of all kinds
def test_every_flipped_byte_is_noticed_or_changes_nothing(saved: Path, stride: int) -> None:
    good, state = saved.read_bytes(), bits(load(saved))
    for place in range(0, len(good), stride):
        damaged = bytearray(good)
        damaged[place] ^= 1 << place % 8
        saved.write_bytes(damaged)
        with contextlib.suppress(ValueError):
            assert bits(load(saved)) == state


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_the_mode_of_a_file_is_by_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        archive.write(tmp_path / "run.npz", {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run.npz").stat().st_mode) == 0o666 & ~umask


def test_nothing_but_a_file_is_replaced(tmp_path: Path) -> None:
    for path in (tmp_path, Path(os.devnull)):
        with pytest.raises(ValueError, match="path must be that of a file"):
            archive.write(path, {})
    link, target = tmp_path / "link.npz", tmp_path / "target.npz"
    target.touch()
    link.symlink_to(target)
    archive.write(link, {})
    assert link.is_symlink()
    assert target.stat().st_size > 0
    assert sorted(os.listdir(tmp_path)) == ["link.npz", "target.npz"]


def test_a_seed_of_any_length_is_kept(tmp_path: Path) -> None:
    seed = 10**40 + 7
    ask: dict[str, Any] = {"jac": lambda x: 2 * x, "seed": seed}
    state = minimize(lambda x: float(x @ x), [1.0, 2.0], max_gradients=1, **ask).state
    save(state, tmp_path / "run.npz")
    assert load(tmp_path / "run.npz").state.seed == seed
