"""Damaged files end in an answer, never in an error of Python's own (``python -m tests.fuzz 100000`` tries more)."""

from __future__ import annotations

import pytest

from tests.fuzz.readers import READERS, Reader, fuzz

#: Mutations of each reader's files, by how long reading them takes: about 35 s of processor time in all.
COUNT, SLOW_COUNT = 200, 40
QUICK_COUNT = 2_000
QUICK = {
    *("SDF3", "dataflow platform", "pebble graph", "MatrixMarket", "HyperDAG", "Newick", "parents", "parents as text"),
    *("tree archive", "layout", "tensor problem", "tensor plan", "ONNX", "edge list"),
}
SLOW = {
    *("affine plan", "affine columns", "C", "DOT", "result document", "pebble numbers", "values", "ONNX network"),
    "ONNX operators",
    *("dataflow state", "dataflow network", "dataflow journal", "dataflow images"),
}


@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_damaged_files(reader: Reader) -> None:
    count = SLOW_COUNT if reader.name in SLOW else QUICK_COUNT if reader.name in QUICK else COUNT
    wrong, passed = fuzz(reader, count)
    assert not wrong, "\n".join(wrong[:5])
    assert 0 < passed < count, "mutations that all pass, or none of which does, test nothing"
