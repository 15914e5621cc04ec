"""What the emitted function takes and returns: as the function of the file, so that it can stand in its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.affine.c_code.test_code import SANITIZED, assert_agrees, made, needs_compiler, run

from shorthaul.affine import program_from_text
from shorthaul.core.errors import InputError


def head_of(text: str) -> str:
    (found,) = re.findall(r"^LINKAGE (.*)\{$", text, re.MULTILINE)
    return str(found).strip()


RETURNED = {
    "double": "double f(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }",
    "float": """float f(int n, float m, const float *x) {
      if (n < 2) return -1;
      for (int i = 0; i < n; i++) m = x[i] > m ? x[i] : m;
      return sqrtf(m) / 2;
    }""",
    "int": "int f(int n, const double *x) { int c = 0; for (int i = 0; i < n; i++) if (x[i] > 1) c++; return c; }",
    "long": "enum { OK }; long f(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 2; return OK; }",
}


@needs_compiler
@pytest.mark.parametrize("kind", ["float", *(pytest.param(kind, marks=pytest.mark.slow) for kind in RETURNED)])
def test_values_are_returned(kind: str, tmp_path: Path) -> None:
    """They were lost: a sum that the function returned was a variable of the emitted function."""
    text = made(RETURNED[kind], "n=9,S=20")["code"]
    assert head_of(text).startswith(f"{kind} f_tiled(")
    assert "COMPARE_SCALAR(sh_returned)" in text
    assert_agrees(run(text, tmp_path, *SANITIZED))


def test_python_functions_return_numbers() -> None:
    source = """def f(x: np.ndarray, alpha, y):
    alpha = 2 * alpha
    for i in range(len(x)):
        y[i] += alpha * x[i]
    return np.sum(x) / len(x)"""
    found = program_from_text(source).code
    assert found.arguments == ("x_0", "x", "alpha", "y")
    assert (found.result.kind, found.result.local) == ("double", "result")
    found = program_from_text(source.replace("np.sum(x) / len(x)", "alpha, y")).code
    assert (found.result.kind, found.arguments) == ("void", ("x_0", "x", "alpha", "y"))
    assert (
        "s" not in program_from_text("def g(x):\n  s = 0.0\n  for i in range(9): s += x[i]\n  return s, x").code.private
    )


@needs_compiler
def test_arguments_are_those_of_the_file(tmp_path: Path) -> None:
    """Values that the function sets are arguments, what it never names stays one, what it only reads is constant."""
    source = """double last;
    struct point { double x; };
    void f(int flag, const double *x, double a, double W[flag][4], const struct point *p, int n, double *y) {
      a = 2 * a;
      for (int i = 0; i < n; i++) { y[i] += a * x[i] + p->x; a *= 0.5; }
      last = a;
    }"""
    text = made(source, "n=9,S=20")["code"]
    values = "int flag, const double *restrict x, double a, double W[restrict flag][4], int n, double *restrict y"
    assert head_of(text).startswith(f"void f_tiled({values}")
    assert "these names: last." in text
    assert "no argument of these names, as others stand for them: p." in text
    assert_agrees(run(text, tmp_path, *SANITIZED))


def test_what_no_file_can_have_is_refused() -> None:
    """Structures that are returned, and names of the emitted file, were lost or hidden without a word."""
    structure = (
        "struct p { double x; }; struct p f(struct p r, int n) { for (int i = 0; i < n; i++) r.x += 1; return r; }"
    )
    with pytest.raises(InputError, match="line 1 column 36: the function returns a structure"):
        program_from_text(structure)
    with pytest.raises(InputError, match="name of the emitted file"):
        made("void f(int n, double *sh_wrong) { for (int i = 0; i < n; i++) sh_wrong[i] = 0; }", "n=9,S=20")


def test_copies_out_of_buffers_have_loops() -> None:
    """They are no statements of the program, so nothing is known of the data that they use."""
    text = """void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
      for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) C[i][j] = 0;
      for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];
      C[0][0] = 0;
      for (int i = 0; i < n; i++) C[0][0] += A[i][i];
    }"""
    assert "COPY(" in made(text, "n=5,S=5")["code"]


def test_boxes_of_data_that_others_have_read() -> None:
    """Every element of ``c`` is known when every second one is read: there is none of which bounds could be told."""
    text = """double f(int n, int m, double A[n][m], double *b, double *c) {
      double s = 0;
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { c[i] += A[i][j] * b[j]; s += c[i]; }
      for (int i = n - 1; i > 0; i -= 2) c[i] += c[i - 1];
      return s;
    }"""
    assert "f_tiled" in made(text, "n=7,m=5,S=8")["code"]
