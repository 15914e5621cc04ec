"""Sums over two rows of one array: Gram and kernel matrices, distances between all pairs of points."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from tests.affine.derived import made_alone, quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.sums.paired_rows import paired_rows, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.graphs.replay import belady_loads

HEAD = """void f(int N, int L, double X[N][L], double Y[N][L], double m[N], double K[N][N]) {
#pragma scop
%s
#pragma endscop
}"""
PAIRS = "for (int i = 0; i < N; i++) for (int j = %s) { %s }"
SQUARE, BELOW, WITH = "0; j < N; j++", "0; j < i; j++", "i; j < N; j++"
GRAM = "K[i][j] = 0.0; for (int k = 0; k < L; k++) K[i][j] += X[i][k] * X[j][k];"
SCALAR = """double s = 0.0; for (int k = 0; k < L; k++) s += (X[i][k] - X[j][k]) * (X[i][k] - X[j][k]);
K[i][j] = exp(-s);"""
CHAINED = """double s = 0.0;
for (int k = 0; k < L; k++) { double a = X[i][k] - X[j][k], b = fabs(a); if (a > 1.0) b = a * a; s += b; }
K[i][j] = exp(-s);"""
ROW = """double s = 0.0, t[L]; for (int k = 0; k < L; k++) t[k] = X[i][k] - X[j][k];
for (int k = 0; k < L; k++) s += t[k] * t[k]; K[i][j] = s;"""
#: The values that all sums read are those of one element.
SHARED = "for (int k = 0; k < L; k++) { double a = X[i][k] - X[j][k]; K[i][j] += a; m[i] += a; }"
CENTRED = "for (int i = 0; i < N; i++) for (int k = 0; k < L; k++) Y[i][k] = X[i][k] - m[i];\n"
#: Programs, and how many sums two rows have.
PROGRAMS = {
    "gram": (PAIRS % (WITH, GRAM), 1),
    "gram of all": (PAIRS % (SQUARE, GRAM), 2),
    "kernel": (PAIRS % (SQUARE, SCALAR), 2),
    "temporaries": (PAIRS % (SQUARE, CHAINED), 2),
    "temporary row": (PAIRS % (BELOW, ROW), 1),
    "temporary of two sums": (PAIRS % (BELOW, SHARED), 1),
    "distances": (PAIRS % (BELOW, SCALAR), 1),
    "covariance": (CENTRED + PAIRS % (WITH, GRAM.replace("X", "Y")), 1),
    "offsets": (PAIRS % ("1; j < N - i; j++", GRAM.replace("X[j]", "X[i + j]").replace("[j]", "[i + j]")), 1),
}
WITHOUT = {
    "two arrays": PAIRS % (SQUARE, GRAM.replace("X[j]", "Y[j]")),
    "turned": PAIRS % (SQUARE, GRAM.replace("X[j][k]", "X[j][L - 1 - k]")),
    "two terms": "for (int i = 0; i < N; i++) for (int k = 0; k < L; k++) Y[i][k] = X[0][k] - X[i][k];"
    + PAIRS % (BELOW, GRAM.replace("X", "Y").replace("Y[j][k]", "X[0][k]")),
    "one row": "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < L; k++) m[i] += X[i][k] * X[j][k];",
}  # fmt: skip


@cache
def program(name: str) -> Program:
    return program_from_text(HEAD % (PROGRAMS[name][0] if name in PROGRAMS else WITHOUT[name]))


@pytest.mark.parametrize("name", WITHOUT)
def test_what_has_no_pairs_of_rows(name: str) -> None:
    assert not list(paired_rows(flow_dependences(program(name))))


def in_pairs(cdag: ConcreteCdag, rows: int, wide: int, shift: int) -> np.ndarray:
    """Return an order of pairs of rows in blocks, both sums of a pair in turn."""
    computed = cdag.program_order
    i, j, k = cdag.coordinates[computed, :3].T
    if shift:
        j = i + j
    owner = cdag.owner[computed]
    high, low = np.maximum(i, j), np.minimum(i, j)
    return computed[np.lexsort((owner, k, i, low, high // wide, low // rows))]


@pytest.mark.parametrize(("name", "n", "terms"), quick(
    [(name, n, terms) for name in PROGRAMS if name != "covariance" for n in (16, 24) for terms in (2, 3)],
    [("kernel", 16, 2), ("temporaries", 16, 2), ("distances", 20, 2)],
))  # fmt: skip
def test_no_order_in_blocks_beats_it(name: str, n: int, terms: int) -> None:
    flow = flow_dependences(program(name))
    (item,) = paired_rows(flow)
    assert item.orders == PROGRAMS[name][1]
    cdag = concrete_cdag(program(name), {"N": n, "L": terms}, flow)
    active = 0
    for capacity in (8, 12, 16, 24):
        sizes = {"N": n, "L": terms, "S": capacity}
        bound = number_at(sub_bound(item, flow, sizes).value, sizes)
        ways = [(rows, wide) for rows in (1, 2, 3, 5, 8, n) for wide in (1, 2, 4, n)]
        orders = [in_pairs(cdag, rows, wide, shift) for rows, wide in ways for shift in (name == "offsets",)]
        assert cdag.inputs + bound <= min(
            int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders
        )
        active += bound > 0
    assert active


def test_it_is_most_of_what_blocks_of_rows_load() -> None:
    sizes = {"N": 10_000, "L": 16, "S": 8_192}
    flow = flow_dependences(program("distances"))
    (item,) = paired_rows(flow)
    value = number_at(sub_bound(item, flow, sizes).value, sizes) + sizes["N"] * sizes["L"]
    rows = sizes["S"] // sizes["L"]
    assert value > 0.69 * sizes["L"] * sum(range(sizes["N"], 0, -rows))


SIZES = {"N": 400, "L": 8, "S": 200}


@cache
def written(name: str) -> str:
    return made_alone(program(name), "paired rows", SIZES)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_search_finds_it(name: str) -> None:
    found = lower_bound(program(name), sizes=SIZES)
    assert "paired rows" in {part.certified()["kind"] for part in found.proof.parts}


@pytest.mark.costly
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_certificate_is_verified(name: str) -> None:
    document = json.loads(written(name))
    assert "paired rows" in {part["kind"] for part in document["certificate"]["parts"]}
    assert not verify(program(name), document, SIZES)[0]


@pytest.mark.costly
@pytest.mark.parametrize(("key", "value"), [
    ("sums_count", "N**2"), ("length", "2*L"), ("sources_count", "0"), ("positions", [1]), ("before", "{ }"),
    ("spill", "{ }"), ("orders", 1), ("orders", 3), ("most_sums", "S"),
    ("domain", "[N, L] -> { S1[i, j, k] : 0 <= i < N and 0 <= j < N and 0 <= k < L }"),
    ("ways", [["[N, L] -> { S1[i, j, k] -> X[i, k] }"], ["[N, L] -> { S1[i, j, k] -> X[i, k] }"]]),
])  # fmt: skip
def test_a_changed_certificate_is_found(key: str, value: object) -> None:
    document = json.loads(written("gram of all"))
    (part,) = (item for item in document["certificate"]["parts"] if item["kind"] == "paired rows")
    part[key] = value
    assert verify(program("gram of all"), document, SIZES)[0]
