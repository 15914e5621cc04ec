"""Sums of a row that wait for one another: softmax, normalised products, and what looks like these."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from tests.affine.derived import alone, quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.sums.waiting_sums import sub_bound, waiting_sums
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.graphs.replay import belady_loads

HEAD = """void f(int N, int L, double A[N][L], double B[2 * N][L], double C[N][L], double P[N][N], double O[N], double m[N]) {
#pragma scop
for (int i = 0; i < N; i++) {
  m[i] = 0.0;
  for (int j = 0; j < N; j++) {
    P[i][j] = 0.0;
    for (int k = 0; k < L; k++) P[i][j] += A[i][k] * B[j][k];
    %s
  }
  %s
}
#pragma endscop
}"""
#: What follows a sum, and what follows a row.
PROGRAMS = {
    "largest first": ("m[i] = fmax(m[i], P[i][j]);", "for (int j = 0; j < N; j++) O[i] += exp(P[i][j] - m[i]);"),
    "scaled": (
        "P[i][j] *= 0.1; m[i] += P[i][j];",
        "for (int j = 0; j < N; j++) { P[i][j] = P[i][j] / m[i]; O[i] = fmax(O[i], P[i][j]); }",
    ),
    "used": (
        "P[i][j] *= 0.1; m[i] += P[i][j];",
        (
            "for (int j = 0; j < N; j++) { P[i][j] = P[i][j] / m[i]; P[i][j] = exp(P[i][j]);"
            " for (int k = 0; k < L; k++) C[i][k] += P[i][j] * B[N + j][k]; }"
        ),
    ),
}
WITHOUT = {
    "no row": ("m[i] = fmax(m[i], P[i][j]);", "O[i] = m[i];"),
    "used at once": ("m[i] += P[i][j]; O[i] += P[i][j] * m[i];", ""),
}


@cache
def program(name: str) -> Program:
    return program_from_text(HEAD % {**PROGRAMS, **WITHOUT}[name])


@pytest.mark.parametrize("name", WITHOUT)
def test_what_does_not_wait(name: str) -> None:
    assert not list(waiting_sums(flow_dependences(program(name))))


def in_blocks(cdag: ConcreteCdag, rows: int, wide: int) -> np.ndarray:
    """Return an order in blocks of rows: all sums of a block by ``wide`` columns, then the rest."""
    computed = cdag.program_order
    i, j, k = cdag.coordinates[computed, :3].T
    owner = cdag.owner[computed]
    behind = owner >= np.max(owner[(i == 0) & (j == 0)])  # statements behind the loop over the columns
    block = i // rows
    return computed[np.lexsort((k, owner, j, i, j // wide, behind, block))]


@pytest.mark.parametrize(("name", "n", "terms"), quick(
    [(name, n, terms) for name in PROGRAMS for n in (12, 16, 20) for terms in (2, 4)], [("used", 12, 4)]
))  # fmt: skip
def test_no_order_in_blocks_beats_it(name: str, n: int, terms: int) -> None:
    flow = flow_dependences(program(name))
    cdag = concrete_cdag(program(name), {"N": n, "L": terms}, flow)
    values = [sub_bound(item, flow).value for item in waiting_sums(flow)]
    active = 0
    for capacity in (8, 12, 16, 24):
        sizes = {"N": n, "L": terms, "S": capacity}
        orders = [in_blocks(cdag, rows, wide) for rows in (1, 2, 3, 5, n) for wide in (1, 2, 4, n)]
        least = min(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders)
        bounds = [number_at(value, sizes) for value in values]
        assert cdag.inputs + max(bounds) <= least
        active += max(bounds) > 0
    assert active
    assert len(values) == (2 if name == "used" else 1)


SIZES = {"N": 300, "L": 8, "S": 200}


@cache
def written() -> str:
    flow = flow_dependences(program("used"))
    *_, last = waiting_sums(flow)
    return alone(flow, sub_bound(last, flow), SIZES)


@pytest.mark.slow
def test_the_search_finds_it() -> None:
    found = lower_bound(program("scaled"), sizes=SIZES)
    assert "waiting sums" in {part.certified()["kind"] for part in found.proof.parts}


def test_the_certificate_is_verified() -> None:
    document = json.loads(written())
    assert "waiting sums" in {part["kind"] for part in document["certificate"]["parts"]}
    assert not verify(program("used"), document, SIZES)[0]


@pytest.mark.costly
@pytest.mark.parametrize(("key", "value"), [
    ("sums_count", "N**2 + 1"), ("rows_count", "N - 1"), ("length", "2*L"), ("sources_count", "0"), ("columns", [0]),
    ("positions", [1]), ("before", "{ }"), ("tail", []), ("ancestors", "{ }"), ("spill", "{ }"),
    ("reader", "{ S3[i, j, k] -> S4[i, j] }"), ("factors", ["{ S3[i, j, k] -> A[i, k] }"]), ("users_count", "L + 1"),
    ("use", None), ("use", {"later": []}), ("use", {"users": "{ }"}), ("use", {"positions": [1]}), ("use", {"domain": "{ S8[i, j, k] : 0 <= i, j, k < 2 }"}),
    ("use", {"factors": ["[N, L] -> { S8[i, j, k] -> B[j, k] : 0 <= i, j < N and 0 <= k < L }"]}),
])  # fmt: skip
def test_a_changed_certificate_is_found(key: str, value: object) -> None:
    document = json.loads(written())
    (part,) = (item for item in document["certificate"]["parts"] if item["kind"] == "waiting sums")
    part[key] = {**part["use"], **value} if isinstance(value, dict) else value
    assert verify(program("used"), document, SIZES)[0]
