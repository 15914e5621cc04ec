"""Damaged files end in an answer, never in an error of Python's own (``python -m tests.fuzz 100000`` tries more)."""

from __future__ import annotations

import pytest

from tests.fuzz.readers import READERS, Reader, fuzz
from tests.samples import ALL

#: Mutations of each reader's files where all cases are asked for, and by default: half as many as execute the same lines of
#: the readers, beside the tests of their rooms (coverage by mutation; measured anew where a reader or mutator changes).
#: Where a verb takes much longer than the reader, the first are used as well, and of the
#: others those that are read until so many have passed.
COUNT, LEAST, USED = 2_000, 250, 10
MORE = {
    "C": 550, "Python": 550, "affine columns": 375, "dataflow network": 700, "dataflow platform": 500,
    "dataflow state": 550, "tensor plan": 350, "ONNX network": 600, "ONNX operators": 800, "edge list": 350,
}  # fmt: skip
#: What is read of a damaged file: the script reads files of 10^6 bytes too, most of whose time is one long word.
MOST_BYTES = 5_000


@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_damaged_files(reader: Reader) -> None:
    count = COUNT if ALL else MORE.get(reader.name, LEAST)
    wrong, passed = fuzz(reader, count, used=USED, most_bytes=MOST_BYTES)
    assert not wrong, "\n".join(wrong[:5])
    assert 0 < passed < count, "mutations that all pass, or none of which does, test nothing"
