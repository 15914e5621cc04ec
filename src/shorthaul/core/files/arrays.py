"""Arrays from files of strangers: NumPy's ``.npy`` and ``.npz``, with sizes, types and ranges checked before use.

Nothing is unpacked before its size is known, and no array leaves without the type, the axes and the range that its
:class:`Column` names, so that what reads it (compiled kernels among them) need not look again.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError

#: What one file may unpack to, in bytes; more was given by mistake, or by malice.
MOST_UNPACKED: Final = 1 << 30
#: The axes of one array; those of every version of NumPy, newer ones have room for twice as many.
MOST_AXES: Final = 32
#: What an element becomes, in bytes: integers are moves, vertices and the like, of which several arrays are made.
_REAL_BYTES, _INTEGER_BYTES = 8, 32
#: An archive has at most this many arrays, packed in one of NumPy's ways.
_MOST_MEMBERS: Final = 1000
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: The header of an array ends within so many bytes; the rest is read in pieces of this size.
_MOST_HEADER: Final = 1 << 16
_PIECE: Final = 1 << 20
_KINDS: Final = {"i": "integers", "u": "integers", "f": "real numbers", "b": "booleans", "U": "text"}


@dataclass(frozen=True, slots=True)
class Column:
    """What an array in a file must be.

    ``kinds`` are NumPy's letters of the types allowed, ``shape`` has None for an axis of any length (None as a whole:
    any shape), ``least`` and ``most`` limit numbers (both ends included), which are finite unless ``finite`` is False.
    """

    kinds: str = "iu"
    shape: tuple[int | None, ...] | None = (None,)
    least: float | None = None
    most: float | None = None
    finite: bool = True

    def __str__(self) -> str:
        kinds = " or ".join(dict.fromkeys(_KINDS[kind] for kind in self.kinds))
        if self.shape is None:
            return kinds
        axes = ", ".join("n" if length is None else str(length) for length in self.shape)
        return f"{kinds}, shape ({axes}{',' if len(self.shape) == 1 else ''})"

    def checked(self, array: npt.NDArray[Any], place: str) -> npt.NDArray[Any]:
        """Return ``array`` if it is what this column must be; raises :class:`InputError` that names ``place``."""
        fits = self.shape is None or (
            len(self.shape) == array.ndim
            and all(wanted in (None, length) for wanted, length in zip(self.shape, array.shape, strict=True))
        )
        if array.dtype.kind not in self.kinds or not fits:
            found = f"{array.dtype}, shape {array.shape}"
            raise InputError("is an array of another form", place=place, value=found, allowed=str(self))
        if array.dtype.kind == "U" and not _is_text(array):
            raise InputError("is no text", place=place, allowed="characters of Unicode")
        if array.size == 0 or array.dtype.kind not in "iuf":
            return array
        low, high = array.min().item(), array.max().item()
        if self.finite and not (math.isfinite(low) and math.isfinite(high)):
            raise InputError("a number must be finite", place=place, allowed="finite numbers")
        if self.least is not None and low < self.least:
            raise InputError("is too small", place=place, value=low, allowed=f"from {self.least:g}")
        if self.most is not None and high > self.most:
            raise InputError("is too large", place=place, value=high, allowed=f"up to {self.most:g}")
        return array


def _is_text(array: npt.NDArray[np.str_]) -> bool:
    """True if all characters are of Unicode: Python ends in an error of its own where it looks at others."""
    codes = np.frombuffer(np.ascontiguousarray(array), np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    return codes.max(initial=0) <= sys.maxunicode and not ((codes >= 0xD800) & (codes < 0xE000)).any()


def as_array(value: object, place: str) -> npt.NDArray[Any]:
    """Return ``value`` as an array; raises :class:`InputError` for anything else, such as rows of different lengths."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"is no array: {error}", place=place) from None


def is_archive(data: bytes) -> bool:
    """True if ``data`` begins as an archive of arrays does."""
    return data[:2] == b"PK"


def read_array(data: bytes, column: Column, *, place: str = "") -> npt.NDArray[Any]:
    """Return the array of a ``.npy`` file; raises :class:`InputError` for anything but what ``column`` says."""
    return column.checked(_array(io.BytesIO(data), len(data), place), place)


def read_archive(
    data: bytes, columns: Mapping[str, Column], optional: Mapping[str, Column] | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays ``columns`` of a ``.npz`` archive, and those of ``optional`` that it has; others are skipped.

    Raises :class:`InputError` for what is no archive, lacks an array, or has one of another form.
    """
    wanted = {**columns, **(optional or {})}
    found: dict[str, npt.NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {item.filename.removesuffix(".npy"): item for item in archive.infolist()[:_MOST_MEMBERS]}
            total = sum(item.file_size for name, item in members.items() if name in wanted)
            if total > MOST_UNPACKED:
                raise InputError("unpacks to too much", value=f"{total} bytes", allowed=f"up to {MOST_UNPACKED} bytes")
            for name, column in wanted.items():
                if name in members:
                    item = members[name]
                    if item.compress_type not in _METHODS:  # others may unpack to all there is in one step
                        raise InputError("is packed in another way", place=name, allowed="stored or deflated members")
                    with archive.open(item) as member:
                        found[name] = column.checked(_array(member, item.file_size, name), name)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"is a damaged archive: {_reason(error)}", cure="write the file again") from None
    for name in columns:
        if name not in found:
            named = ", ".join(sorted(members)) or "no array"
            raise InputError(f"has no array {name!r}", value=named, allowed=f"arrays {', '.join(columns)}")
    return found


def _array(file: IO[bytes], size: int, place: str) -> npt.NDArray[Any]:
    """Return the array of a file of so many bytes, which are never in memory twice."""
    stream = io.BytesIO(file.read(_MOST_HEADER))
    try:
        version = np.lib.format.read_magic(stream)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, is_fortran, dtype = readers[version](stream)
    except Exception as error:
        raise InputError(f"is not a NumPy array: {_reason(error)}", place=place, allowed="a .npy file") from None
    if len(shape) > MOST_AXES:
        raise InputError("has too many axes", place=place, value=len(shape), allowed=f"up to {MOST_AXES}")
    count = math.prod(shape)
    if dtype.hasobject or dtype.kind not in _KINDS or (count and dtype.itemsize == 0):
        raise InputError("is an array of another type", place=place, value=str(dtype), allowed="numbers or text")
    most = MOST_UNPACKED // (_REAL_BYTES if dtype.kind == "f" else _INTEGER_BYTES)
    if count > most:
        raise InputError("is too long", place=place, value=shape, allowed=f"up to {most} elements")
    if min(shape, default=0) < 0 or count * dtype.itemsize != size - stream.tell():
        raise InputError("is cut, or longer than its header says", place=place, value=f"{dtype}, shape {shape}")
    array = np.empty(count, dtype)
    if count:
        room, begun = array.view(np.uint8).data, stream.read()
        room[: len(begun)] = begun
        for at in range(len(begun), len(room), _PIECE):
            piece = room[at : at + _PIECE]
            piece[:] = file.read(len(piece))
    native = array if dtype.isnative else array.byteswap(inplace=True).view(dtype.newbyteorder("="))
    return native.reshape(shape, order="F" if is_fortran else "C")


def _reason(error: Exception) -> str:
    return (str(error).strip("'\"").splitlines() or [""])[0][:200] or type(error).__name__
