"""Dynamic programs with several values in a cell: alignments with gaps, profiles, what is carried along both loops."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from tests.affine.derived import made_alone, quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.lines import lines, squared_weight, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.graphs.replay import belady_loads

HEAD = """void f(int M, int N, double s[M], double t[N], double H[M + 1][N + 1], double E[M + 1][N + 1], double F[M + 1][N + 1]) {
#pragma scop
for (int i = 1; i <= M; i++)
  for (int j = 1; j <= N; j++) { %s }
#pragma endscop
}"""
PROGRAMS = {
    "gaps": (
        "E[i][j] = fmax(E[i][j - 1] - 1, H[i][j - 1] - 5);"
        "F[i][j] = fmax(F[i - 1][j] - 1, H[i - 1][j] - 5);"
        "H[i][j] = fmax(H[i - 1][j - 1] + s[i - 1] * t[j - 1], fmax(E[i][j], F[i][j]));"
    ),
    "sums of rows and columns": (
        "E[i][j] = E[i][j - 1] + s[i - 1] * H[i][j];F[i][j] = F[i - 1][j] + t[j - 1];H[i][j] = E[i][j] * F[i][j];"
    ),
    "one value": "H[i][j] = fmax(H[i - 1][j - 1] + s[i - 1] * t[j - 1], fmax(H[i - 1][j], H[i][j - 1]));",
    "one side": "E[i][j] = E[i][j - 1] + t[j - 1]; H[i][j] = E[i][j] + H[i - 1][j] * s[i - 1];",
}


@cache
def program(name: str) -> Program:
    return program_from_text(HEAD % PROGRAMS[name])


def test_weights() -> None:
    row, column, diagonal = (0, 1), (1, 0), (1, 1)
    assert squared_weight([row, column]) == 4
    assert squared_weight([row, column, diagonal]) == 9
    assert squared_weight([row, row, row, column]) == 12


@pytest.mark.costly
@pytest.mark.parametrize(("name", "m", "n"), quick(
    [(name, m, n) for name in PROGRAMS for m in (12, 30) for n in (20, 30)], [("gaps", 12, 20), ("one value", 12, 20)]
))  # fmt: skip
def test_no_order_in_strips_beats_it(name: str, m: int, n: int) -> None:
    """Strips of rows or of columns, straight or along diagonals."""
    flow = flow_dependences(program(name))
    cdag = concrete_cdag(program(name), {"M": m, "N": n}, flow)
    computed = cdag.program_order
    i, j = cdag.coordinates[computed, :2].T
    owner = cdag.owner[computed]
    orders = [computed[np.lexsort((owner, j, i, j // wide))] for wide in (2, 3, 5, n)]
    orders += [computed[np.lexsort((owner, i, j, i // wide))] for wide in (2, 3, 5, m)]
    orders += [computed[np.lexsort((owner, i, i + j, i // wide))] for wide in (2, 3, 5)]
    active = 0
    for capacity in (5, 7, 9, 12):
        if capacity <= np.diff(cdag.starts).max():
            continue
        sizes = {"M": m, "N": n, "S": capacity}
        least = min(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders)
        for item in lines(flow):
            bound = number_at(sub_bound(item, flow, sizes).value, sizes)
            assert cdag.inputs + bound <= least
            active += bound > 0
    assert active


SIZES = {"M": 900, "N": 700, "S": 100}


@cache
def written(name: str = "gaps") -> str:
    return made_alone(program(name), "lines", SIZES)


@pytest.mark.slow
def test_the_search_finds_it() -> None:
    found = lower_bound(program("gaps"), sizes=SIZES)
    assert "lines" in {part.certified()["kind"] for part in found.proof.parts}


@pytest.mark.parametrize("name", ["gaps", "one value"])
def test_the_certificate_is_verified(name: str) -> None:
    document = json.loads(written(name))
    assert document["certificate"]["parts"][-1]["kind"] == "lines"
    assert not verify(program(name), document, SIZES)[0]


def test_one_value_in_a_cell_costs_each_row_and_each_column_two_words() -> None:
    (found,) = lines(flow_dependences(program("one value")))
    assert found.weight == 16
    assert found.square is not None
    assert found.square.steps == ((0, 1), (1, 0))


@pytest.mark.slow
@pytest.mark.parametrize(("key", "value"), [
    ("steps", [[0, 1], [0, 2]]), ("steps", [[0, 1], [1, 1]]), ("steps", [[0, 1], [2, 0]]), ("reads", ["{ }", "{ }", "{ }"]),
    ("reads", ["[M, N] -> { S0[i, j] -> S0[i - 1, j - 1] : 1 <= i <= M and 1 <= j <= N }"] * 3), ("square", None),
])  # fmt: skip
def test_a_changed_square_is_found(key: str, value: object) -> None:
    document = json.loads(written("one value"))
    part = document["certificate"]["parts"][-1]
    (part if key in part else part["square"])[key] = value
    assert verify(program("one value"), document, SIZES)[0]


@pytest.mark.costly
@pytest.mark.parametrize(("key", "value"), [
    ("events", "101"), ("instances_count", "M*N + 1"), ("sources_count", "0"), ("plane", [1, 0]), ("spill", "{ }"),
    ("direction", [1, 0]), ("first", "{ S2[i, j] -> S0[i, j - 1] }"), ("onward", "{ }"), ("along", "{ }"),
])  # fmt: skip
def test_a_changed_certificate_is_found(key: str, value: object) -> None:
    document = json.loads(written())
    part = document["certificate"]["parts"][-1]
    (part if key in part else part["families"][1])[key] = value
    assert verify(program("gaps"), document, SIZES)[0]
