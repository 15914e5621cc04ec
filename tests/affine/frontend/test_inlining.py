"""Functions of the file that return one expression of their arguments are written out where they are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.affine.c_code.test_code import SANITIZED, assert_agrees, needs_compiler, run
from tests.affine.frontend.test_inputs import assert_same

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
        "double f(double *v) { *v += 1; return *v; }",
        "double f(double v) { for (int i = 0; i < v; i++) if (i > 2) return i; return v; }",
        "double k; double f(double v) { k += v; return k; }",
        "double *g; double f(double v) { double *w = g; w[0] = v; return v; }",
        "double f(double v) { return x * v; } double x;",
        "double x; double f(double v) { return x * v; }",
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


VALUES = """
double sqrt(double);
static double dot(int n, const double *a, const double *b) { double s = 0; for (int k = 0; k < n; k++) s += a[k] * b[k]; return s; }
static double norm(int n, const double *a) { double s = dot(n, a, a); return sqrt(s); }
static double near(double a, double b) { if (a * b <= 0) return 0.0; else if (a < b) return a; return b; }
static float third(int k, double v) { float t = v / 3; return t * k; }
void f(int n, double A[n][n], double *x, double *y) { double s, t; %s }
"""


@pytest.mark.parametrize(
    ("calls", "written"),
    [
        ("for (int i = 0; i < n; i++) y[i] += 2 * dot(i, A[i], x);",
         "for (int i = 0; i < n; i++) { s = 0; for (int k = 0; k < i; k++) s += A[i][k] * x[k]; t = s; y[i] += 2 * t; }"),
        ("for (int i = 0; i < n; i++) y[i] = norm(i, x);",
         "for (int i = 0; i < n; i++) { double u, v; s = 0; for (int k = 0; k < i; k++) s += x[k] * x[k]; u = s; t = u; v = sqrt(t); y[i] = v; }"),
    ],
)  # fmt: skip
def test_values_of_several_statements_are_set_before(calls: str, written: str) -> None:
    assert_same(program_from_text(VALUES % calls, function="f"), program_from_text(VALUES % written, function="f"))


@pytest.mark.parametrize(
    "calls",
    ["t = x[0], y[0] = near(t, 1.0);", "y[0] = n > 3 ? near(x[3], 1.0) : 0.0;", "for (int i = 0; i < third(n, 1.0); i++) y[i] = 0;"],
)  # fmt: skip
def test_calls_that_may_be_made_later_or_never_stay(calls: str) -> None:
    with pytest.raises(InputError, match=r"line 7 column .*"):
        program_from_text(VALUES % calls, function="f")


@needs_compiler
@pytest.mark.parametrize("kind", [pytest.param("expressions", marks=pytest.mark.slow), "values"])
def test_emitted_code_computes_the_same(kind: str, tmp_path: Path) -> None:
    functions = (
        "static float mix(float a, double b) { return a + b / 3; } int at(int i, int j, int n) { return (i + j) % n; }"
    )
    calls = "double u = norm(n, x); for (int i = 0; i < n; i++) { s = third(2.9, x[i]); x[i] = y[i] = near(s, near(x[i], u)) + dot(i, A[i], x); }"
    text = FRAME % (functions, "mix(x[j], z[i][at(i, 1, n)])")
    found = program_from_text(text) if kind == "expressions" else program_from_text(VALUES % calls, function="f")
    assert_agrees(run(shorthaul.affine.code(found, size="n=12,S=20", effort=0.05).extra["code"], tmp_path, *SANITIZED))


PROCEDURES = """
double k, x;
static void row(int n, double a, const double *u, double *v) { for (int i = 1; i < n; i++) v[i] += a * u[i - 1]; }
static void walk(int n, double *x) { if (n < 2) return; while (n > 0) { *x++ *= 0.5; n--; } }
void nest(int m, double v[m]) { int i; for (i = 0; i < m; i++) row(m - i, 2, v, v + i); }
double grows(int n, double *v) { static double s = 0; s += 1; v[n] = s; }
void never(int n, double *v) { if (n) never(n - 1, v); }
void early(int n, double *v) { for (int i = 0; i < n; i++) if (i > 3) return; else v[i] = 0; }
double value(int n, double *v) { v[n] = 0; return *v = n; }
double count(int n, double *v) { v[n] = 0; return n++; }
void global(int n, double *v) { v[n] = x; }
void size(double *a, double *b) { memcpy(a, b, sizeof a); }
void whole(int n, int a, double *v) { for (int i = 0; i < n; i++) v[i] = a * 0.5; }
void small(int i, char a, double *v) { v[i] = a; }
void set(double a) { k = a; }
void sets(int n, double a, double *v) { set(2.0); for (int i = 0; i < n; i++) v[i] *= a; }
void f(int N, double A[N][N], double *u, double *v, double *x) { %s }
"""


@pytest.mark.parametrize(
    ("calls", "written"),
    [
        ("row(N, 3.0, u, v); row(N - 1, k, v, u + 1);",
         "for (int i = 1; i < N; i++) v[i] += 3.0 * u[i-1]; for (int i = 1; i < N - 1; i++) u[i+1] += k * v[i-1];"),
        ("for (int i = 0; i < N; i++) row(N, v[i], A[i], v);",
         "for (int i = 0; i < N; i++) { double a; a = v[i]; for (int j = 1; j < N; j++) v[j] += a * A[i][j-1]; }"),
        ("whole(N, 2.7, v);", "for (int i = 0; i < N; i++) v[i] = ((int)2.7) * 0.5;"),
        ("for (int i = 0; i < N; i++) small(i, i + 300, v);", "for (int i = 0; i < N; i++) v[i] = (char)(i + 300);"),
        ("sets(N, k, v);", "double a; a = k; k = 2.0; for (int i = 0; i < N; i++) v[i] *= a;"),
        ("walk(N, u);", "if (N >= 2) for (int i = 0; i < N; i++) u[i] *= 0.5;"),
        ("nest(N, x);", "for (int i = 0; i < N; i++) for (int j = 1; j < N - i; j++) x[i + j] += 2. * x[j - 1];"),
    ],
)  # fmt: skip
def test_calls_that_are_statements_are_written_out(calls: str, written: str) -> None:
    assert_same(
        program_from_text(PROCEDURES % calls, function="f"), program_from_text(PROCEDURES % written, function="f")
    )


@pytest.mark.parametrize(
    "call",
    [
        "grows(3, u);",
        "never(3, u);",
        "early(N, u);",
        "global(3, u);",
        "count(3, u);",
        "value(3, u);",
        "row(N, u, v);",
        "size(u, v);",
    ],
)
def test_other_calls_that_are_statements_are_refused(call: str) -> None:
    with pytest.raises(InputError, match="a call may have side effects"):
        program_from_text(PROCEDURES % f"for (int i = 0; i < N; i++) u[i] = 0; {call}", function="f")


def test_the_function_that_no_other_calls_is_meant() -> None:
    text = "void g(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; } void f(int n, double *b) { %s g(n, b); }"
    assert program_from_text(text % "for (int i = 0; i < n; i++) b[i] = 1;").name == "f"
    with pytest.raises(InputError, match="several functions have loops"):
        program_from_text("int main(void) { for (int i = 0; i < 3; i++) g(3, 0); }" + text % "")
