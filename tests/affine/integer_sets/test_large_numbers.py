"""Long steps, large factors and sizes: exact answers or one error, never numbers that wrap."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sympy

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.orders.upper_report import tightness
from shorthaul.affine.replay.cdag import RowIndex
from shorthaul.affine.verbs.bound import bound
from shorthaul.affine.verbs.planning import plan
from shorthaul.core.errors import InputError

FRAME = "void f(int n, int m, double A[n][n][n][n], double b[n]) {\n#pragma scop\n%s\n#pragma endscop\n}\n"
APART = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[%d*i][%d*j][%d*i][j] = b[i] + A[0][%d*j][0][j];"


@pytest.mark.parametrize("factor", [1, 7, 2**21, 2**40])
def test_rows_far_apart_are_told_apart(factor: int) -> None:
    """Keys of four wide subscripts wrapped in 64 bits: vertices were mistaken for others."""
    rng = np.random.default_rng(factor)
    rows = np.unique(rng.integers(0, 5, size=(60, 4)), axis=0) * factor
    rng.shuffle(rows)
    vertices = rng.permutation(len(rows)) + 100
    index = RowIndex(rows, vertices)
    asked = rng.integers(0, len(rows), size=200)
    assert index.find(rows[asked]).tolist() == vertices[asked].tolist()


def test_strides_are_counted_at_once() -> None:
    program = program_from_text(FRAME % (APART % ((2**40,) * 4)))
    assert card(program.statements[0].write.relation.range()).at({"n": 9}) == 81


def test_sums_beyond_64_bits_are_refused() -> None:
    program = program_from_text(FRAME % "for (int i = 0; i < n; i++) b[1000000*m + i] = b[i];")
    with pytest.raises(InputError, match=r"64 bits|too large"):
        plan(program, size=f"n=5,m={10**15},S=10")


def test_patterns_that_repeat_late_are_refused() -> None:
    program = program_from_text(FRAME % "for (int i = 0; i < n; i++) b[(3 * i) % 1000003] = b[i];")
    with pytest.raises(InputError, match="repeats too late"):
        bound(program, upper=False)


def test_loops_from_one_size_to_another_have_no_tightness_at_equal_sizes() -> None:
    text = "void f(int N, int W, double D[N+1][2*W+N]) {\n#pragma scop\nfor (int i=1;i<=N;i++) for (int w=N;w<W;w++) D[i][w]=D[i-1][w]+D[i-1][w-i];\n#pragma endscop\n}\n"
    document = bound(program_from_text(text), size="N=6,W=40,S=9", effort=0.2).document()
    assert document["upper"]["tightness"] is None
    assert document["bound"]["value"] <= document["upper"]["value"]
    assert json.loads(json.dumps(document, allow_nan=False))


def test_tightness_of_terms_that_vanish() -> None:
    N, W = sympy.symbols("N W", positive=True)
    assert tightness(N * W - N**2, 2 * N * W - 2 * N**2) is None
    assert tightness(-N, N) == 0
    assert tightness(N * W, 2 * N**2) == 0.5
