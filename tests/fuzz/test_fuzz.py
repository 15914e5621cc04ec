"""Damaged files end in an answer, never in an error of Python's own (``python -m tests.fuzz 100000`` tries more)."""

from __future__ import annotations

import pytest

from tests.fuzz.readers import READERS, Reader, fuzz

#: Mutations of each reader's files. Where a verb takes much longer than the reader, the first are used as well, and of the
#: others those that are read until so many have passed.
COUNT, USED = 2_000, 10
#: What is read of a damaged file: the script reads files of 10^6 bytes too, most of whose time is one long word.
MOST_BYTES = 5_000


@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_damaged_files(reader: Reader) -> None:
    wrong, passed = fuzz(reader, COUNT, used=USED, most_bytes=MOST_BYTES)
    assert not wrong, "\n".join(wrong[:5])
    assert 0 < passed < COUNT, "mutations that all pass, or none of which does, test nothing"
