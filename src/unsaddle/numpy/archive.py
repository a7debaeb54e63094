"""Arrays in a file: written whole or not at all, read without trusting what is in it.

The file is one that NumPy's ``savez`` writes, with the version of its format as an entry. Before an
array is made, its size is compared with the bytes that are there, so that no header can ask for
more memory than the file itself takes. Nothing is unpickled, and zip's checksums are compared.
"""

import os
import secrets
import stat
import zipfile
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy

FORMAT = 1  # changed whenever an entry of the same name comes to mean something else
VERSION = "format"  # the entry that says so


def write(path: str | os.PathLike[str], entries: Mapping[str, Any]) -> None:
    """Write arrays to a file; one of that name is replaced only once all is on the disk."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        raise ValueError(f"path must be that of a file, got {os.fspath(path)!r}, which is none")
    name = f"{target}.{secrets.token_hex(4)}.part"
    try:
        with open(name, "xb") as file:  # its mode is by umask
            np.savez(file, allow_pickle=False, **{VERSION: np.asarray(FORMAT)}, **entries)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        if os.path.exists(name):
            os.unlink(name)
        raise


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the arrays of a file; a ValueError says why it is none that ``write`` wrote."""
    with open(path, "rb") as file:
        most = os.fstat(file.fileno()).st_size
        try:
            with zipfile.ZipFile(file) as archive:
                arrays = {
                    info.filename.removesuffix(".npy"): _array(archive, info, most)
                    for info in archive.infolist()
                }
        except Exception as error:  # damage can make any part of the reader fail
            raise ValueError("cannot be read as one") from error
    version = arrays.pop(VERSION, None)
    if version is None:
        raise ValueError("has no format version")
    if version.shape or version.dtype.kind != "i" or version != FORMAT:
        raise ValueError(f"is of format {version}, and this release reads format {FORMAT}")
    return arrays


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> Any:
    """Give one array, if all that it says of its size is true."""
    if info.compress_type != zipfile.ZIP_STORED or not 0 <= info.file_size <= most:
        raise ValueError(f"{info.filename} is compressed, or larger than the file")
    with archive.open(info) as member:
        if npy.read_magic(member) != (1, 0):
            raise ValueError(f"{info.filename} has a header that was never written")
        shape, fortran, dtype = npy.read_array_header_1_0(member)
        data = member.read()
    if fortran or dtype.hasobject or prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"{info.filename} is not of the size that it says")
    return np.frombuffer(data, dtype).reshape(shape).copy()
