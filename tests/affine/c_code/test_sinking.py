"""Small phases within the loops of others: emitted C keeps the derived order where a border is set in every step."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.affine.c_code.test_code import SANITIZED, assert_agrees, executed, made, needs_compiler, run
from tests.affine.derived import quick

from shorthaul.affine.check.plan_check import check_plan
from shorthaul.affine.frontend.scop import program_from_text

#: A driven string: both ends are set in every step; the second one from an input that the first has no part in.
STRING = """void f(int n, int m, double u[m], double v[m], double s[n], double e[n]) {
#pragma scop
  for (int t = 0; t < n; t++) {
    u[0] = s[t];
    u[m - 1] = 0.5 * e[t];
    for (int i = 1; i < m; i++) v[i] = v[i] - 0.5 * (u[i] - u[i - 1]);
    for (int i = 1; i < m - 1; i++) u[i] = u[i] - 0.5 * (v[i + 1] - v[i]);
  }
#pragma endscop
}"""

#: Sums that begin with a number, and what is made of them at the end, in an array that all share.
SUMS = """void f(int n, double A[n][n][n], double B[n][n], double w[n]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    for (int k = 0; k < n; k++) {
      w[k] = 0.25;
      for (int l = 0; l < n; l++) w[k] += A[i][j][l] * B[l][k];
    }
    for (int k = 0; k < n; k++) A[i][j][k] = w[k];
  }
#pragma endscop
}"""

#: Two products with one matrix, each with sums in the same scratch: fused, they have places apart.
SCRATCH = """void f(int n, double A[n][n], double x[n], double z[n], double y[n], double v[n], double w[1]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    w[0] = 0;
    for (int j = 0; j < n; j++) w[0] += A[i][j] * x[j];
    y[i] = w[0];
  }
  for (int i = 0; i < n; i++) {
    w[0] = 0;
    for (int j = 0; j < n; j++) w[0] += A[i][j] * z[j];
    v[i] = w[0];
  }
#pragma endscop
}"""

#: A sum along rows, read in both branches: each has a place per row, and what is made of it stays in tiles.
TABLE = """void f(int n, int m, double a[n][m], double S[n][m], double b[n][m], double row) {
#pragma scop
  for (int i = 0; i < n; i++) {
    row = 0.0;
    for (int j = 0; j < m; j++) {
      row += a[i][j];
      S[i][j] = i > 0 ? S[i - 1][j] + row : row;
    }
  }
  for (int i = 3; i < n; i++) for (int j = 3; j < m; j++) b[i][j] = S[i][j] - S[i - 3][j] - S[i][j - 3] + S[i - 3][j - 3];
#pragma endscop
}"""

CASES = {
    "string": (STRING, "n=40,m=30,S=16"),
    "sums": (SUMS, "n=9,S=40"),
    "scratch": (SCRATCH, "n=30,S=100"),
    "table": (TABLE, "n=18,m=20,S=30"),
}


@needs_compiler
@pytest.mark.parametrize("name", quick(tuple(CASES), ("table",)))
def test_the_order_is_kept(name: str, tmp_path: Path) -> None:
    text, size = CASES[name]
    found = made(text, size, 0.5)
    assert not any("program order" in item or "in its place" in item for item in found["remarks"])
    assert_agrees(run(found["code"], tmp_path, *SANITIZED))
    program = program_from_text(text)
    report = check_plan(program, executed(program, found["code"], size, tmp_path))
    assert report.ok, report.violations
    assert report.cost is not None
    assert found["loads_words"] is not None
    assert report.cost["loads_words"] <= 1.1 * found["loads_words"]
