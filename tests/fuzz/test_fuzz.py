"""Damaged files end in an answer, never in an error of Python's own (``python -m tests.fuzz 100000`` tries more)."""

from __future__ import annotations

import pytest

from tests.fuzz.readers import READERS, Reader, fuzz

COUNT = 40


@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_damaged_files(reader: Reader) -> None:
    wrong, passed = fuzz(reader, COUNT)
    assert not wrong, "\n".join(wrong[:5])
    assert 0 < passed < COUNT, "mutations that all pass, or none of which does, test nothing"
