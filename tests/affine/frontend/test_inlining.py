"""Functions of the file that return one expression of their arguments are written out where they are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.affine.c_code.test_code import SANITIZED, assert_agrees, needs_compiler, run

import shorthaul
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.core.errors import InputError

FRAME = """%s
void kernel(int n, float x[n], double y[n], double z[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      y[i] += %s;
}
"""
TWICE = "static double twice(double v) { return v + v; } "


@pytest.mark.parametrize(
    ("functions", "call", "written"),
    [
        (TWICE, "twice(z[i][j])", "z[i][j] + z[i][j]"),
        (TWICE, "twice(x[j])", "((double) x[j]) + ((double) x[j])"),
        ("float half(float v) { return v * 0.5; }", "half(x[j])", "(float) (x[j] * 0.5)"),
        ("float half(double v) { return v / 2; }", "half(z[i][j] - 1)", "(float) (((double) (z[i][j] - 1)) / 2)"),
        ("int back(int a, int b) { return a - b; }", "z[i][back(n - 1, j)]", "z[i][(n - 1) - j]"),
        (TWICE + "double four(double v) { return twice(twice(v)); }", "four(y[j])", "(y[j] + y[j]) + (y[j] + y[j])"),
        ("double max(double a, double b) { return a > b ? a : b; }", "max(y[j], z[i][j])", "max(y[j], z[i][j])"),
        ("typedef double real; real same(real v) { return v; }", "same(y[j])", "y[j]"),
        ("double same(void) { return 1.5; }", "same()", "1.5"),
        ("double g; double f(double v) { return g * v; }", "f(y[j])", "g * y[j]"),
        ("double g[9]; int f(int v) { return g[v]; }", "f(j)", "(int) g[j]"),
        ("#define K 3\ndouble f(double v) { return K * v; }", "f(y[j])", "(double) (K * y[j])"),
    ],
)
def test_calls_are_written_out(functions: str, call: str, written: str) -> None:
    (statement,) = program_from_text(FRAME % (functions, call)).statements
    assert statement.text == f"y[i] += {written}"


@pytest.mark.parametrize(
    "function",
    [
        "double f(double v) { return f(v - 1); }",
        "double f(double v) { double w = v; return w * w; }",
        "double f(double v) { return x * v; } double x;",
        "double x; double f(double v) { return x * v; }",
        "double f(double *v) { return *v; }",
        "double f(double v) { return v++; }",
        "double f(double v, double w) { return v + w; }",
        "double h(double v); double f(double v) { return h(v); }",
    ],
)
def test_other_functions_are_refused(function: str) -> None:
    with pytest.raises(InputError, match="may have side effects"):
        program_from_text(FRAME % (function, "f(y[j])"))


def test_functions_that_double_one_another_end_early() -> None:
    functions = "".join(f"double f{k}(double v) {{ return f{k - 1}(v) + f{k - 1}(v); }}\n" for k in range(40, 0, -1))
    with pytest.raises(InputError, match="stand for too much"):
        program_from_text(FRAME % (functions + "double f0(double v) { return v; }", "f40(y[j])"))


@needs_compiler
def test_emitted_code_computes_the_same(tmp_path: Path) -> None:
    functions = (
        "static float mix(float a, double b) { return a + b / 3; } int at(int i, int j, int n) { return (i + j) % n; }"
    )
    text = FRAME % (functions, "mix(x[j], z[i][at(i, 1, n)])")
    assert_agrees(run(shorthaul.affine.code(text, size="n=12,S=20", effort=1).extra["code"], tmp_path, *SANITIZED))
