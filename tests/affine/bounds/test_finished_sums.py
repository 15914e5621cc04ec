"""Values that are sums, of which a part of a play may compute many whole ones: attention, products one after another."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.affine.derived import made_alone, quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import AffineBound, fitted, lower_bound
from shorthaul.affine.bounds.sums.finished_sums import finished_sums, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

HEAD = "void f(int N, int L, double A[N][N], double B[N][N], double V[N][N], double P[N][N], double O[N][N]) {\n#pragma scop\n%s\n#pragma endscop\n}"
SUM = "P[i][j] = 0.0; for (int k = 0; k < L; k++) P[i][j] += A[i][k] * B[j][k];"
#: What a term, and an instance that reads a sum, computes for itself out of both values.
CHAIN = "P[i][j] = 0.0; for (int k = 0; k < L; k++) { double t = A[i][k] - B[j][k]; double u = t * t; P[i][j] += u; }"
PAIRS = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { %s }"
#: One loop nest with nothing that waits; of each what is computed out of a pair's sum.
PROGRAMS = {
    "outer product of sums": PAIRS % SUM,
    "second product": PAIRS % (SUM + " for (int k = 0; k < L; k++) O[i][k] += P[i][j] * V[j][k];"),
    "temporaries": PAIRS % CHAIN,
    "temporaries twice": PAIRS % (CHAIN + " for (int k = 0; k < L; k++) { double t = P[i][j] - V[j][k]; O[i][k] += t * t; }"),
    "by way of a value": PAIRS % (SUM + " P[i][j] = P[i][j] * 2.0; for (int k = 0; k < L; k++) O[i][k] += P[i][j] * V[j][k];"),
}  # fmt: skip


#: Attention without the maximum of a row, for which all its scores would have to wait.
ATTENTION = """void f(int N, int D, float Q[N][D], float K[N][D], float V[N][D], float O[N][D], float P[N][N], float l[N]) {
  for (int i = 0; i < N; i++) {
    l[i] = 0;
    for (int d = 0; d < D; d++) O[i][d] = 0;
    for (int j = 0; j < N; j++) {
      P[i][j] = 0;
      for (int d = 0; d < D; d++) P[i][j] += Q[i][d] * K[j][d];
      P[i][j] = expf(P[i][j]);
      l[i] += P[i][j];
      for (int d = 0; d < D; d++) O[i][d] += P[i][j] * V[j][d];
    }
    for (int d = 0; d < D; d++) O[i][d] /= l[i];
  }
}"""


@cache
def attention_bound() -> AffineBound:
    return lower_bound(program_from_text(ATTENTION))


@pytest.mark.slow
@pytest.mark.parametrize("features", [64, 128])
@pytest.mark.parametrize("capacity", [16_384, 65_536])
def test_attention_beside_blocks_of_rows(features: int, capacity: int) -> None:
    """Blocks of rows of Q and O stay, K and V pass by once for each block."""
    tokens, rows = 8_192, capacity // (2 * features + 4)
    loads = 2 * tokens * features * (1 + -(-tokens // rows))
    size = {"N": tokens, "D": features, "S": capacity}
    value = fitted(attention_bound(), size, Search()).value(size)
    assert loads / 4 < value < loads


@pytest.mark.parametrize("text", [
    SUM.replace("= 0.0", "+= A[0][j]").replace("A[i][k]", "A[0][k]"),  # nothing is shared
    SUM.replace("B[j][k]", "A[j][k]"),  # both factors of one array
    "P[0][0] += A[i][j];",
])  # fmt: skip
def test_what_has_no_such_sums(text: str) -> None:
    assert not list(finished_sums(flow_dependences(program_from_text(HEAD % (PAIRS % text)))))


def in_blocks(cdag: ConcreteCdag, rows: int) -> np.ndarray:
    """Return the order in which ``rows`` rows of pairs take their turns, column by column."""
    computed = cdag.program_order
    i, j, k = cdag.coordinates[computed, :3].T
    return computed[np.lexsort((k, cdag.owner[computed], i, j, i // rows))]


@pytest.mark.parametrize(("name", "n", "terms"), quick(
    [(name, n, terms) for name in PROGRAMS for n in (8, 24, 36) for terms in (1, 2, 3)], [("second product", 24, 2)]
))  # fmt: skip
def test_no_order_in_blocks_beats_it(name: str, n: int, terms: int) -> None:
    program = program_from_text(HEAD % PROGRAMS[name])
    flow = flow_dependences(program)
    cdag = concrete_cdag(program, {"N": n, "L": terms}, flow)
    active = 0
    for capacity in (8, 16, 30, 60):
        sizes = {"N": n, "L": terms, "S": capacity}
        loads = [belady_loads(in_blocks(cdag, rows), cdag.starts, cdag.operands, capacity) for rows in range(1, 13)]
        least = min(int(item.sum()) for item in loads)
        for item in finished_sums(flow):
            value = number_at(sub_bound(item, flow, sizes).value, sizes)
            assert cdag.inputs + value <= least
            active += value > 0
    assert active or n < 20


SIZES = {"N": 900, "L": 4, "S": 400}


@cache
def written(name: str) -> tuple[Program, str]:
    program = program_from_text(HEAD % PROGRAMS[name])
    return program, made_alone(program, "finished sums", SIZES)


def certified(name: str) -> tuple[Program, dict[str, Any]]:
    """Return a program and what certifies its bound, for the caller to change."""
    program, text = written(name)
    return program, json.loads(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_search_finds_it(name: str) -> None:
    found = lower_bound(program_from_text(HEAD % PROGRAMS[name]), sizes=SIZES)
    assert "finished sums" in {part.certified()["kind"] for part in found.proof.parts}


@pytest.mark.costly
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_certificate_is_verified(name: str) -> None:
    program, document = certified(name)
    violations, remarks = verify(program, document, SIZES)
    assert not violations
    assert remarks[-1].partition(":")[2] == " verified"
    assert document["certificate"]["parts"][-1]["kind"] == "finished sums"


@pytest.mark.costly
@pytest.mark.parametrize(("key", "value"), [
    ("events", "401"), ("exponents", ["1", "1/2", "1/2"]), ("term_exponents", ["1", "1/2"]), ("length", "2*L"),
    ("positions", [1]), ("before", "{ S1[i, j, k] -> S1[i, j, k - 2] }"), ("sources", "{ }"), ("spill", "{ }"),
    ("most_instances", "S"), ("instances_count", "N**3"), ("sources_count", "0"),
])  # fmt: skip
def test_a_changed_certificate_is_found(key: str, value: object) -> None:
    program, document = certified("second product")
    document["certificate"]["parts"][-1][key] = value
    assert verify(program, document, SIZES)[0]
