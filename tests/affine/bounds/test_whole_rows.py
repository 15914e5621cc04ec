"""Sums whose steps need whole rows: tables over intervals, sums over pairs of rows in the order of the program."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import sympy
from tests.affine.derived import quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.sums.whole_rows import Choice, sub_bound, whole_rows
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.families.whole_rows import WholeRows, most_weight
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.whole_rows import most_weight as symbolic_weight
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

HEAD = """void f(int N, double A[N][N], double B[N][N], double w[N][N], double c[N]) {
#pragma scop
%s
#pragma endscop
}"""
TABLE = (
    "for (int i = N - 1; i >= 0; i--) { A[i][i] = w[i][i]; for (int j = i + 1; j < N; j++) {"
    "double best = 1e30; for (int k = %s; k < j; k++) best = fmin(best, A[i][%s] + A[k + 1][j]);"
    "A[i][j] = best + w[i][j]; } }"
)
PAIRS = "for (int i = 0; i < N; i++) for (int j = 0; j < %s; j++) for (int k = 0; k < %s; k++) c[i] += A[i][k] * %s;"
PROGRAMS = {
    "chains of matrices": TABLE % ("i", "k"),
    "search trees": TABLE % ("i + 1", "k - 1"),
    "pairs of rows": PAIRS % ("i", "N", "A[j][k]"),
    "triangles": PAIRS % ("i", "j", "A[j][k] * A[i][j]"),
    "falling": PAIRS % ("i", "N - j", "A[j][k]"),
    "two matrices": PAIRS % ("N", "N", "B[j][k]"),
    "triangular": PAIRS % ("N", "j", "B[j][k]"),
}
KINDS = {"chains of matrices": ("crossing", 1), "search trees": ("crossing", 2), "pairs of rows": ("narrowing", 1)}
KINDS |= {
    "falling": ("same", 1),
    "triangles": ("narrowing", 1),
    "two matrices": ("apart", 1),
    "triangular": ("apart", 1),
}


@cache
def flow_of(name: str) -> DataFlow:
    return flow_dependences(program_from_text(HEAD % PROGRAMS[name]))


def argument(name: str, sizes: dict[str, int]) -> Choice | None:
    return next(whole_rows(flow_of(name), sizes), None)


@pytest.mark.parametrize("name", quick(PROGRAMS, ("triangles", "two matrices")))
def test_it_is_found_and_verified(name: str) -> None:
    sizes = {"N": 300, "S": 1_000}
    found = argument(name, sizes)
    assert found is not None
    assert (found.rows.lines, found.rows.delay) == KINDS[name]


def test_no_rows_are_found() -> None:
    """A sum over columns of a transposed matrix has steps, but rows of other sums are not needed before it."""
    free = (
        HEAD
        % "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++) w[i][j] += A[i][k] * B[k][j];"
    )
    assert not list(whole_rows(flow_dependences(program_from_text(free)), {"N": 300, "S": 1_000}))


@pytest.mark.parametrize("lines", ["apart", "crossing", "same", "narrowing"])
def test_the_number_is_the_checkers_and_blocks_weigh_no_more(lines: str) -> None:
    """Columns by steps, all whole, and as many columns with steps under way as the rest allows."""
    for K, w, rim, delay, most in (
        (1_000, 10, 0, 1, 10),
        (400, 20, 2, 1, 30),
        (90, 30, 0, 2, 15),
        (5_000, 50, 4, 2, 60),
    ):
        K0 = K if K != 400 else 0
        U = symbolic_weight(sympy.Integer(K), lines, (w, rim, delay, most), sympy.Integer(K0))
        given = {"least": w, "rim": rim, "most": most, "largest_memory": K0}
        twin = WholeRows(None, (0, 1, 2), 1, delay, (None, None), (), given, None, None, {"lines": lines})
        assert Fraction(int(U.p), int(U.q)) == most_weight(twin, Fraction(K))
        for columns in range(K // w + 1):
            steps = K // w - columns
            assert columns * steps * w * min(w, most) <= U
            assert columns * w * min(2 * delay, steps) * most <= U


@pytest.mark.costly
@pytest.mark.parametrize(("name", "n", "capacity"), quick(
    [(name, n, capacity) for name in ("pairs of rows", "triangles", "two matrices") for n, capacity in ((16, 52), (24, 76))]
    + [("two matrices", 20, 64)], [("two matrices", 20, 64)]
))  # fmt: skip
def test_no_order_in_strips_beats_it(name: str, n: int, capacity: int) -> None:
    """Strips of sums pass by all rows together, as many as fit: within twice the bound for two matrices."""
    flow, sizes = flow_of(name), {"N": n, "S": capacity}
    cdag = concrete_cdag(flow.program, {"N": n}, flow)
    i, j, k = cdag.coordinates[cdag.program_order].T[:3]
    least = min(
        int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
        for wide in range(1, capacity // n + 1)
        for order in (cdag.program_order[np.lexsort((k, i, j, i // wide))],)
    )
    found = argument(name, sizes)
    value = cdag.inputs + (number_at(sub_bound(found, flow).value, sizes) if found else 0)
    assert value <= least
    if name == "two matrices":
        assert cdag.inputs < value
        assert least < 3 * value


SIZES = {"N": 300, "S": 1_000}


@cache
def written(name: str) -> str:
    flow = flow_of(name)
    found = lower_bound(flow.program, flow=flow, sizes=SIZES)
    return json.dumps(as_bound(flow.program, found, SIZES, flow).document())


@pytest.mark.slow
def test_a_quick_choice_leaves_effort_to_what_is_made_for_the_sizes() -> None:
    """A half of what was left made nothing, and the choice used a tenth: 500,500, that of a K-partition."""
    sizes, flow = {"N": 1_000, "S": 32_768}, flow_of("search trees")
    found = lower_bound(flow.program, flow=flow, sizes=sizes, search=Search(effort=0.55))
    assert found.value(sizes) == 1_294_743


@pytest.mark.costly
@pytest.mark.parametrize(("name", "key", "value"), quick(
    [(name, *change) for name in ("two matrices", "search trees") for change in (
        ("", ""), ("events", "1501"), ("least", 301), ("most", 301), ("rim", -1), ("delay", 3), ("onward", 2), ("lines", "same"),
        ("axes", [0, 2, 1]), ("weight", "N**4"), ("sources_count", "0"), ("value", "N**4"), ("ancestors", "{ }"),
        ("spill", "{ }"),
    )] + [("triangles", "", ""), ("falling", "", ""), ("falling", "lines", "narrowing")], [("two matrices", "", ""), ("two matrices", "most", 301)]
))  # fmt: skip
def test_a_certificate_is_verified_and_a_changed_one_is_not(name: str, key: str, value: object) -> None:
    document = json.loads(written(name))
    (part,) = (item for item in document["certificate"]["parts"] if item["kind"] == "whole rows")
    part.update({key: value} if key else {})
    assert bool(verify(flow_of(name).program, document, SIZES)[0]) == bool(key)
