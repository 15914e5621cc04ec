"""Stencils up to their borders: inputs beside a grid and before its first step as vertices computed from nothing."""

from __future__ import annotations

import itertools
import json
from functools import cache
from typing import Any

import islpy as isl
import numpy as np
import pytest
from tests.affine.derived import quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.graphs import Graph, graphs
from shorthaul.affine.bounds.partition.stencil_levels import stencils, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.data_flow import ProgramReads
from shorthaul.affine.check.graphs.stages import Stage, derived
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

LINE = """void f(int T, int N, double A[2][N]) {
#pragma scop
for (int t = 0; t < T; t++)
  for (int i = 1; i < N - 1; i++)
    A[(t + 1) % 2][i] = A[t % 2][i - 1] + A[t % 2][i] + A[t % 2][i + 1];
#pragma endscop
}"""
PLANE = """void f(int T, int N, double A[N][N], double B[N][N]) {
#pragma scop
for (int t = 0; t < T; t++) {
  for (int i = 1; i < N - 1; i++)
    for (int j = 1; j < N - 1; j++)
      B[i][j] = A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1];
  for (int i = 1; i < N - 1; i++)
    for (int j = 1; j < N - 1; j++)
      A[i][j] = B[i][j];
}
#pragma endscop
}"""
SIZES = {"T": 400, "N": 500, "S": 20}


def with_walls(text: str) -> DataFlow:
    (found,) = (item for item in graphs(Graph(flow_dependences(program_from_text(text)))) if item.only == "stencil")
    return found.flow


@pytest.mark.parametrize("more", ["", "A[i - 1][j - 1] + "])
def test_what_is_within(more: str) -> None:
    """All but corners, and but those beside what several instances read in place of neighbours."""
    text = PLANE.replace("A[i - 1][j]", f"{more}A[i - 1][j]")
    domain = next(iter(stencils(with_walls(text)))).domains[0].reset_tuple_id()
    inside = "[T, N] -> { [t, i, j] : 0 <= t < T and 0 < i < N - 1 and 0 < j < N - 1"
    without = isl.Set(f"{inside} and (i = 1 or i = N - 2) and (j = 1 or j = N - 2) }}")
    if more:
        without = without.union(isl.Set(f"{inside} and (i = 1 or j = 1) }}"))
    large = isl.Set("[T, N] -> { : T > 1 and N > 4 }")
    assert domain.intersect_params(large).is_equal(isl.Set(f"{inside} }}").subtract(without).intersect_params(large))


@pytest.mark.parametrize(
    ("text", "steps", "n"), quick([(LINE, 40, 30), (LINE, 60, 20), (PLANE, 30, 9)], [(LINE, 40, 30)])
)
def test_no_skewed_order_beats_it(text: str, steps: int, n: int) -> None:
    program = program_from_text(text)
    cdag = concrete_cdag(program, {"T": steps, "N": n}, flow_dependences(program))
    flow, computed = with_walls(text), cdag.program_order
    t, *places = cdag.coordinates[computed].T[: 2 + (text == PLANE)]
    values = [sub_bound(item, flow, balanced=True, events=events) for item in stencils(flow) for events in (None, 4, 9)]
    active = 0
    for capacity in (7, 9, 12):
        bound = max(number_at(item.value, {"T": steps, "N": n, "S": capacity}) for item in values)
        orders = [
            computed[np.lexsort((*places, t, *((t + place) // wide for place in places), t // high))]
            for wide, high in itertools.product((1, 2, 3, 5), (2, 3, 5, steps))
        ]
        least = min(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders)
        assert cdag.inputs + bound <= least
        active += bound > 0
    assert active or text == PLANE


@cache
def written() -> str:
    program = program_from_text(LINE)
    found = lower_bound(program, flow=(flow := flow_dependences(program)), sizes=SIZES, search=Search(effort=0.15))
    return json.dumps(as_bound(program, found, SIZES, flow).document())


def steps(document: dict[str, Any]) -> list[dict[str, str]]:
    graphs_of = (part.get("graph", ()) for part in document["certificate"]["parts"])
    return [step for graph in graphs_of for step in graph if step["kind"] == "walls"]


@pytest.mark.parametrize(("key", "before", "after"), [
    ("walls", "", ""), ("inputs", "[-1, ", "[0, "),
    pytest.param("walls", "-1 + ", "-2 + ", marks=pytest.mark.slow), pytest.param("inputs", "A[", "B[", marks=pytest.mark.slow),
])  # fmt: skip
def test_the_certificate_is_verified_and_a_changed_one_is_not(key: str, before: str, after: str) -> None:
    document = json.loads(written())
    for step in steps(document):
        step[key] = step[key].replace(before, after) if before else step[key]
    assert steps(document)
    assert bool(verify(program_from_text(LINE), document, SIZES)[0]) == bool(before)


@pytest.mark.parametrize(("key", "before", "after", "message"), [
    ("walls", "{ ", "{ S0[x0, 1] -> S0[-3, x0] : N >= 4 and 0 <= x0 < T; ", "has not one reader"),
    ("inputs", "S0[-1, i1]", "S0[-2, 0]", "stands for more than one input"),
    ("walls", "-1 + N] :", "0] :", "has not one reader"),
    ("inputs", "S0[-1, i1]", "S0[0, i1]", "is another one"),
    ("inputs", "S0[-1, i1]", "S0[-1, -1 + i1]", "is another one"),
], ids=["two for one", "two inputs", "two readers", "an instance", "a wall"])  # fmt: skip
def test_what_is_computed_from_nothing_is_a_vertex_of_its_own(key: str, before: str, after: str, message: str) -> None:
    (step,) = next(item.derived for item in graphs(Graph(flow_dependences(program_from_text(LINE)))) if item.only)
    whole = Stage(ProgramReads(program_from_text(LINE)), ())
    assert not derived([step], whole, ())[1]
    assert before in step[key]
    (wrong,) = derived([{**step, key: step[key].replace(before, after)}], whole, ())[1]
    assert message in wrong
