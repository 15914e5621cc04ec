"""Bounds of graphs that come from C: the affine engine's count too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shorthaul import pebble
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.workloads.cases import case
from shorthaul.bridges.graph_files import GraphOptions, cdag_source
from shorthaul.core.search import Search
from shorthaul.pebble.bounds.best import bound_of_program
from shorthaul.pebble.check.certificate import verify
from shorthaul.pebble.model import Terms
from shorthaul.pebble.orders import belady

PRODUCT = """
#pragma scop
for (int i = 0; i < N; i++)
  for (int j = 0; j < N; j++)
    for (int k = 0; k < N; k++)
      C[i][j] += A[i][k] * B[k][j];
#pragma endscop
"""


@pytest.fixture
def product(tmp_path: Path) -> Path:
    file = tmp_path / "product.c"
    file.write_text(f"void product(int N, double A[N][N], double B[N][N], double C[N][N]) {{{PRODUCT}}}\n")
    return file


def test_a_graph_from_c_has_the_bound_of_its_program_at_any_effort(product: Path) -> None:
    source = cdag_source(str(product), GraphOptions(size="N=9"))
    for words in (12, 20):  # the second time, what holds for all sizes is known
        own = lower_bound(case(str(product)).workload, sizes={"N": 9, "S": words})
        made = pebble.plan(source, budget=words * 8, method="belady", effort=0.05)
        found = pebble.bound(source, budget=words * 8, effort=0.05).bound
        assert found is not None
        assert made.cost is not None
        assert source.workload.algorithmic_bound() < found.value < made.cost["traffic"]
        assert found.details["bounds"]["program"] == 8 * own.value({"N": 9, "S": words}) + 8 * 81 <= found.value
    again = pebble.bound(source, budget=12 * 8, effort=0.02, recompute=True).bound
    assert again is not None
    assert "program" not in again.details["bounds"]


def test_a_graph_from_c_is_planned_in_the_order_of_its_program(product: Path) -> None:
    cdag = cdag_source(str(product), GraphOptions(size="N=5")).workload
    assert cdag.origin is not None
    order = cdag.origin.order(12 * 8, 8, Search(effort=0.3).aside())
    assert order is not None
    assert sorted(order.tolist()) == np.flatnonzero(~cdag.is_input()).tolist()
    ordered = belady.plan(cdag, 12 * 8, order).traffic(cdag.weights)
    assert ordered < 0.95 * belady.plan(cdag, 12 * 8).traffic(cdag.weights)


def test_a_file_that_is_gone_costs_its_bound_only(product: Path) -> None:
    cdag = cdag_source(str(product), GraphOptions(size="N=9")).workload
    product.unlink()
    assert bound_of_program(cdag, 12 * 8, search=Search(effort=0.02)) is None
    assert cdag.origin is not None
    assert cdag.origin.order(12 * 8, 8, Search(effort=0.1)) is None


def test_a_file_that_has_changed_bounds_nothing(product: Path) -> None:
    nest = cdag_source(str(product), GraphOptions(size="N=3")).workload.origin
    assert nest is not None
    assert nest.least_loaded(12 * 8, 8, Search(effort=0.1)) is not None
    product.write_text(product.read_text().replace("k < N", "k < 9"))
    assert nest.least_loaded(12 * 8, 8, Search(effort=0.1)) is None


def test_the_bound_of_a_program_is_verified_by_the_checker_of_its_engine(product: Path) -> None:
    cdag = cdag_source(str(product), GraphOptions(size="N=9")).workload
    found = bound_of_program(cdag, 12 * 8, search=Search(effort=0.05))
    assert found is not None

    def verified(*changes: tuple[object, ...]) -> tuple[list[str], list[str]]:
        document = json.loads(json.dumps(found.document()))
        for *path, last, value in changes:
            inner = document
            for step in path:
                inner = inner[step]
            inner[last] = value
        violations, remarks = verify(cdag, document, 12 * 8, recompute=False, terms=Terms())
        return [item.message for item in violations], remarks

    program = "certificate", "parts", 1
    words = found.details["certificate"]["parts"][1]["words"]
    assert 8 * words + 8 * 81 == found.value > cdag.algorithmic_bound()
    wrong, remarks = verified()
    assert not wrong
    assert f"traffic {found.value:,} of the {found.value:,} stated" in remarks[0]
    assert any("program" in line and "verified" in line for line in remarks)
    assert verified(("value", found.value + 8))[0] == ["the bound is above what its parts add up to"]
    assert "words are stated" in verified((*program, "words", words + 1))[0][0]
    assert "must have words" in verified((*program, "words", "many"))[0][0]
    assert "the formula gives" in verified((*program, "bound", "value", words + 2))[0][0]
    assert "holds no certificate" in verified((*program, "bound", "certificate", None))[0][0]
    assert "no number of words: None" in verified((*program, "bound", "value", None))[0][0]
    product.unlink()
    wrong, remarks = verified()
    assert not wrong
    assert any("not at hand" in line for line in remarks)
