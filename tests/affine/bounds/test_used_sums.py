"""Sums over data that are used to add to other sums: centres, layers with their gradient."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from tests.affine.derived import made_alone, quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.sums.used_sums import sub_bound, used_sums
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.graphs.replay import belady_loads

HEAD = """void f(int N, int K, int D, double X[N][D], double c[K][D], double w[N][K], double g[K][D], double h[N][D]) {
#pragma scop
for (int i = 0; i < N; i++)
  for (int k = 0; k < K; k++) {
    w[i][k] = 0.0;
    for (int d = 0; d < D; d++) w[i][k] += X[i][d] * c[k][d];
    %s
    for (int d = 0; d < D; d++) %s
  }
#pragma endscop
}"""
PROGRAMS = {
    "centres": ("w[i][k] = exp(w[i][k]);", "g[k][d] += w[i][k] * X[i][d];"),
    "gradient": ("", "g[k][d] += w[i][k] * X[i][d];"),
    "rows": ("w[i][k] = tanh(w[i][k]);", "h[i][d] += w[i][k];"),
}


@cache
def program(name: str) -> Program:
    return program_from_text(HEAD % PROGRAMS[name])


def test_no_sums_on_lines() -> None:
    text = HEAD % ("", "g[k][d] += w[i][k];")
    without = text.replace("w[i][k] += X[i][d] * c[k][d];", "w[i][k] += X[i][d] * X[k][d];")
    assert not list(used_sums(flow_dependences(program_from_text(without))))


@pytest.mark.costly
@pytest.mark.parametrize(("name", "n", "k", "d"), quick(
    [(name, n, k, d) for name in PROGRAMS for n, k in ((16, 10), (10, 16), (14, 14)) for d in (2, 3)], [("gradient", 14, 14, 2)]
))  # fmt: skip
def test_no_order_in_blocks_beats_it(name: str, n: int, k: int, d: int) -> None:
    flow = flow_dependences(program(name))
    cdag = concrete_cdag(program(name), {"N": n, "K": k, "D": d}, flow)
    computed = cdag.program_order
    i, j = cdag.coordinates[computed, :2].T
    orders = [computed]
    for one, other in ((i, j), (j, i)):
        for wide in (1, 2, 3, 4, 6):
            orders.append(computed[np.lexsort((np.arange(len(computed)), one, other, one // wide))])
            orders.append(
                computed[np.lexsort((np.arange(len(computed)), one, other, one // wide, other // (2 * wide)))]
            )
    active = 0
    for capacity in (8, 12, 16):
        sizes = {"N": n, "K": k, "D": d, "S": capacity}
        least = min(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders)
        for item in used_sums(flow):
            bound = number_at(sub_bound(item, flow, sizes).value, sizes)
            assert cdag.inputs + bound <= least
            active += bound > 0
    assert active


SIZES = {"N": 2_000, "K": 300, "D": 3, "S": 60}


@cache
def written() -> str:
    return made_alone(program("centres"), "used sums", SIZES)


@pytest.mark.slow
def test_the_search_finds_it() -> None:
    found = lower_bound(program("centres"), sizes=SIZES)
    assert "used sums" in {part.certified()["kind"] for part in found.proof.parts}


def test_the_certificate_is_verified() -> None:
    document = json.loads(written())
    assert document["certificate"]["parts"][-1]["kind"] == "used sums"
    assert not verify(program("centres"), document, SIZES)[0]


@pytest.mark.slow
def test_a_certificate_for_later_steps_only() -> None:
    """Sums of the first step read other values, so of one step there are none."""
    text = HEAD.replace("int N,", "int T, int N,").replace(
        "#pragma scop\n", "#pragma scop\nfor (int t = 0; t < T; t++) {\n"
    )
    text = text.replace(
        "#pragma endscop",
        "for (int k = 0; k < K; k++) for (int d = 0; d < D; d++) c[k][d] = g[k][d];\n}\n#pragma endscop",
    )
    step = program_from_text(text % PROGRAMS["centres"])
    sizes = {"T": 3, **SIZES}
    flow = flow_dependences(step)
    document = json.loads(json.dumps(as_bound(step, lower_bound(step, flow=flow, sizes=sizes), sizes, flow).document()))
    assert "used sums" in {part["kind"] for part in document["certificate"]["parts"]}
    assert not verify(step, document, sizes)[0]


@pytest.mark.costly
@pytest.mark.parametrize(("key", "value"), [
    ("events", "61"), ("lines", "D - 1"), ("rows", 1), ("length", "D + 1"), ("instances_count", "N*D*K + 1"),
    ("sources_count", "0"), ("most_instances", "S"), ("before", "{ }"), ("reading", None),
])  # fmt: skip
def test_a_changed_certificate_is_found(key: str, value: object) -> None:
    document = json.loads(written())
    document["certificate"]["parts"][-1][key] = value
    assert verify(program("centres"), document, SIZES)[0]
