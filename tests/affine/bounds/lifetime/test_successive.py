"""Sums one after the other, and what follows an event through several flows: normalisations, products in sequence."""

from __future__ import annotations

import pytest
import sympy
from tests.affine.bounds.lifetime.test_phases import compare
from tests.affine.derived import quick

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.quasi_polynomial import symbol

B, C, H, W, M, N = (symbol(name) for name in ("B", "C", "H", "W", "M", "N"))
FRAME = "void f(%s) {\n#pragma scop\n%s\n#pragma endscop\n}\n"
#: declarations, body, leading term, sizes
PROGRAMS = {
    # three passes over the data: mean, variance, result
    "layer norm": (
        "int M, int N, double X[M][N], double Y[M][N], double g[N], double m[M], double v[M]",
        ("for (int i = 0; i < M; i++) { m[i] = 0.0; for (int j = 0; j < N; j++) m[i] += X[i][j]; v[i] = 0.0;"
        " for (int j = 0; j < N; j++) v[i] += (X[i][j] - m[i]) * (X[i][j] - m[i]);"
        " for (int j = 0; j < N; j++) Y[i][j] = (X[i][j] - m[i]) / v[i] * g[j]; }"),
        3 * M * N,
        ({"M": 2, "N": 3}, {"M": 3, "N": 8}, {"M": 5, "N": 30}),
    ),
    "batch norm": (
        "int B, int C, int N, double X[B][C][N], double Y[B][C][N], double m[C], double v[C]",
        ("for (int c = 0; c < C; c++) { m[c] = 0.0; v[c] = 0.0;"
        " for (int b = 0; b < B; b++) for (int j = 0; j < N; j++) m[c] += X[b][c][j];"
        " for (int b = 0; b < B; b++) for (int j = 0; j < N; j++) v[c] += (X[b][c][j] - m[c]) * (X[b][c][j] - m[c]);"
        " for (int b = 0; b < B; b++) for (int j = 0; j < N; j++) Y[b][c][j] = (X[b][c][j] - m[c]) / v[c]; }"),
        3 * B * C * N,
        ({"B": 1, "C": 1, "N": 3}, {"B": 2, "C": 2, "N": 3}, {"B": 4, "C": 3, "N": 6}),
    ),
    # what is right of the diagonal has been read for y[i] and is read again once y[i] is known
    "a matrix twice": (
        "int N, double A[N][N], double x[N], double y[N], double z[N]",
        ("for (int i = 0; i < N; i++) { y[i] = 0.0; for (int j = 0; j < N; j++) y[i] += A[i][j] * x[j]; }"
        " for (int i = 0; i < N; i++) { z[i] = 0.0; for (int j = 0; j < N; j++) z[i] += A[i][j] * y[j]; }"),
        sympy.Rational(3, 2) * N**2,
        ({"N": 2}, {"N": 3}, {"N": 9}, {"N": 25}),
    ),
    # a, b, d; then b and d again, and a for what it is subtracted from
    "a tridiagonal system": (
        "int B, int N, double a[B][N], double b[B][N], double d[B][N], double x[B]",
        ("for (int k = 0; k < B; k++) { for (int i = 1; i < N; i++) { b[k][i] = b[k][i] / (1.0 - a[k][i] * b[k][i - 1]);"
        " d[k][i] = (d[k][i] - a[k][i] * d[k][i - 1]) * b[k][i]; } x[k] = d[k][N - 1];"
        " for (int i = N - 2; i >= 0; i--) { x[k] = d[k][i] - b[k][i] * x[k]; d[k][i] = x[k] - a[k][i]; } }"),
        6 * B * N,
        ({"B": 1, "N": 3}, {"B": 2, "N": 4}, {"B": 3, "N": 20}),
    ),
}  # fmt: skip


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(PROGRAMS, set(PROGRAMS) - {"batch norm"}))
def test_leading_terms_and_plays(name: str) -> None:
    declared, body, leading, sizes = PROGRAMS[name]
    bound = lower_bound(program_from_text(FRAME % (declared, body)))
    assert sympy.expand(bound.leading - leading) == 0
    assert compare(bound, sizes)


def test_the_proof_names_both_events() -> None:
    declared, body, *_ = PROGRAMS["layer norm"]
    proof = lower_bound(program_from_text(FRAME % (declared, body))).proof.text()
    assert "Events: last vertices of chains of S1, S3, one of each in every step, in this order." in proof
    assert "intervals 1: from b' on" in proof
