from __future__ import annotations

import contextlib
import io
import tracemalloc
import zipfile
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shorthaul.core.errors import InputError
from shorthaul.core.files.arrays import Column, read_archive, read_array


def npy(a: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, a, allow_pickle=a.dtype.hasobject)
    return stream.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize(
    "array",
    [np.arange(5), np.arange(6, dtype=">i2"), np.zeros(0, np.int64), np.array([3], np.uint8)],
    ids=["int64", "big-endian", "empty", "uint8"],
)
def test_arrays_come_back(array: np.ndarray) -> None:
    found = read_array(npy(array), Column())
    assert found.tolist() == array.tolist()
    assert found.dtype.isnative
    assert read_archive(npz(a=array, b=array), {"a": Column()}, {"c": Column()})["a"].tolist() == array.tolist()


def test_fortran_order() -> None:
    array = np.asfortranarray(np.arange(6).reshape(2, 3))
    assert read_array(npy(array), Column(shape=(2, None))).tolist() == array.tolist()


def rewritten(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new.ljust(len(old)))


def npy_of_shape(shape: tuple[int, ...]) -> bytes:
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)


@pytest.mark.parametrize(
    ("data", "column", "says"),
    [
        (b"", Column(), "is not a NumPy array"),
        (b"\x93NUMPY\x01\x00\xff\xff", Column(), "is not a NumPy array"),
        (b"\x93NUMPY\x09\x00", Column(), "is not a NumPy array"),
        (rewritten(npy(np.arange(5)), b"(5,)", b"(5"), Column(), "is not a NumPy array"),
        (rewritten(npy(np.arange(5)), b"(5,)", b"(9,)"), Column(), "is cut, or longer"),
        (rewritten(npy(np.arange(10)), b"(10,)", b"(-1,)"), Column(), "is cut, or longer"),
        (npy(np.arange(5))[:-1], Column(), "is cut, or longer"),
        (npy(np.array([{}], dtype=object)), Column(), "of another type"),
        (npy(np.zeros(2, [("a", "i4")])), Column(), "of another type"),
        (rewritten(npy(np.array(["a"])), b"<U1", b"<U0")[:-4], Column("U"), "of another type"),
        (npy_of_shape((1,) * 33), Column(), "too many axes"),
        (npy_of_shape((1 << 24, 3)), Column(), "is too long"),
        (npy(np.zeros((2, 2), np.int64)), Column(), r"allowed: integers, shape \(n,\)"),
        (npy(np.zeros(3)), Column(), "allowed: integers"),
        (npy(np.array([np.nan])), Column("f"), "finite"),
        (npy(np.array([-1])), Column(least=0), "is too small"),
        (npy(np.array([2**63], np.uint64)), Column(most=2**62), "is too large"),
        (npy(np.array([65, 0x110000], np.uint32).view("<U2")[0]), Column("U", ()), "is no text"),
        (npy(np.array(["\ud800"], ">U1")), Column("U"), "is no text"),
    ],
)
def test_wrong_arrays_are_refused(data: bytes, column: Column, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_array(data, column)


def test_archives_without_what_is_wanted() -> None:
    with pytest.raises(InputError, match="has no array 'b'"):
        read_archive(npz(a=np.arange(2)), {"a": Column(), "b": Column()})
    with pytest.raises(InputError, match="damaged archive"):
        read_archive(b"PK and nothing", {"a": Column()})


def test_an_archive_that_unpacks_to_too_much_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shorthaul.core.files.arrays.MOST_UNPACKED", 1 << 20)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as member:
        member.write(bytes(1 << 21))
    with pytest.raises(InputError, match="unpacks to too much"):
        read_archive(stream.getvalue(), {"a": Column()})


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_packed_as_numpy_packs_none_are_refused(method: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("a.npy", npy(np.arange(5)))
    with pytest.raises(InputError, match="packed in another way"):
        read_archive(stream.getvalue(), {"a": Column()})


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "<U2", "|u1"])
def test_an_array_is_in_memory_once(dtype: str) -> None:
    data, column = npz(a=np.zeros((8 << 20) // np.dtype(dtype).itemsize, dtype)), Column("iuU")
    tracemalloc.start()
    try:
        assert read_archive(data, {"a": column})["a"].nbytes == 8 << 20
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 15 << 20  # of text its characters are compared, too


@given(st.data())
def test_damaged_bytes_give_arrays_or_errors(data: st.DataObject) -> None:
    original: Callable[..., bytes] = data.draw(st.sampled_from([npz, npy]))
    damaged = bytearray(original(a=np.arange(40)))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    for read in (lambda: read_array(cut, Column()), lambda: read_archive(cut, {"a": Column()})):
        with contextlib.suppress(InputError):
            read()
