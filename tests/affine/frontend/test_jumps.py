"""Loops that break and switches: the same accesses as those of loops with the bound, and of branches."""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest
from tests.affine.c_code.test_code import SANITIZED, assert_agrees, needs_compiler, run
from tests.affine.frontend.test_inputs import assert_same

import shorthaul
from shorthaul.affine.model import Program
from shorthaul.core.errors import InputError

BEFORE = """
#define TWO 2
enum { ONE = 1 };
static void mode(int m, double *v) { switch (m) { case 0: return; case 1: v[0] = 1; break; default: v[1] = 2; } v[2] = 3; }
"""
HEAD = "int n, int m, double A[n][n], double *x, double *y"
EQUAL = {
    "at a value": ("for (int i = 0; i < n; i++) { if (i >= 5) break; y[i] = x[i]; }", "for (int i = 0; i < n && i < 5; i++) y[i] = x[i];"),
    "downwards": ("for (int i = n - 1; i >= 0; i--) { if (i == 3) break; y[i] = x[i]; }",
                  "for (int i = n - 1; i >= 0 && (n <= 3 || i > 3); i--) y[i] = x[i];"),
    "in the middle": ("for (int i = 0; i < n; i++) { x[i] = 1; if (i > m) { y[0] = 2; break; } y[i] = 3; }",
                      "for (int i = 0; i < n && (i <= m + 1 || i == 0); i++) { x[i] = 1; if (i > m) y[0] = 2; else y[i] = 3; }"),
    "where it holds first": ("for (int i = 1; i < n; i++) { if (i == 3 || i == 7) break; y[i] = 0; }", "for (int i = 1; i < n && i < 3; i++) y[i] = 0;"),
    "the inner of two": ("for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { y[i] += A[i][j]; if (j == i) break; } x[i] = 0; }",
                         "for (int i = 0; i < n; i++) { for (int j = 0; j <= i; j++) y[i] += A[i][j]; x[i] = 0; }"),
    "both of two": ("for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { if (j > m) break; y[i] += A[i][j]; } if (i == m) break; }",
                    "for (int i = 0; i < n && i <= m; i++) for (int j = 0; j < n && j <= m; j++) y[i] += A[i][j];"),
    "without a condition": ("for (int i = 0; ; i++) { if (i == n) break; y[i] = 0; }", "for (int i = 0; i != n; i++) y[i] = 0;"),
    "while 1": ("int i = 0; while (1) { if (i >= n) break; y[i] = 0; i++; }", "for (int i = 0; i < n; i++) y[i] = 0;"),
    "while 1, at the end": ("int i = 0; while (1) { y[i] = 0; i++; if (i >= n) break; }", "int i = 0; do { y[i] = 0; i++; } while (i < n);"),
    "switch on a parameter": ("switch (m) { case ONE: y[0] = 1; break; case TWO: case 4: y[1] = 2; break; default: y[2] = 3; }",
                              "if (m == 1) y[0] = 1; else if (m == 2 || m == 4) y[1] = 2; else y[2] = 3;"),
    "switch that falls through": ("switch (n & 3) { case 2: y[2] = 0; case 1: y[1] = 0; break; case 0:; }",
                                  "if ((n & 3) == 2) { y[2] = 0; y[1] = 0; } else if ((n & 3) == 1) y[1] = 0;"),
    "switch in a loop": ("for (int i = 0; i < n; i++) { switch (i % 3) { default: y[i] = 0; break; case 1: if (i > m) break; y[i] = 1; break; case 2: continue; } x[i] = 0; }",
                         "for (int i = 0; i < n; i++) { if (i % 3 == 1) { if (i <= m) y[i] = 1; } else if (i % 3 == 2) continue; else y[i] = 0; x[i] = 0; }"),
    "switch on data": ("for (int i = 0; i < n; i++) switch ((int)x[i]) { case 0: y[i] = 1; break; default: y[i] = 2; }",
                       "for (int i = 0; i < n; i++) y[i] = (int)x[i] == 0 ? 1 : 2;"),
    "zeros that are allocated": ("double *p = calloc(n, sizeof(double)), (*q)[m]; q = calloc(n, sizeof *q); p[0] = q[0][1];",
                                 "double *p, (*q)[m]; for (int i = 0; i < n; i++) p[i] = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) q[i][j] = 0; p[0] = q[0][1];"),
}  # fmt: skip


def program(body: str) -> Program:
    return shorthaul.affine.program_from_text(f"{BEFORE}void f({HEAD}) {{\n{body}\n}}\n", function="f")


@pytest.mark.parametrize(("body", "same"), EQUAL.values(), ids=EQUAL.keys())
def test_jumps_are_branches_and_bounds(body: str, same: str) -> None:
    assert_same(program(body), program(same))


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) { if (x[i] > 0) break; y[i] = 0; }",
        "switch (m++) { case 1: y[0] = 1; }",
        "int k = 0; for (int i = 0; i < n; i++) { if (i == m) break; k++; } y[k] = 0;",
    ],
)
def test_jumps_that_are_not_told_are_refused(body: str) -> None:
    with pytest.raises(InputError, match="line 6 column"):
        program(body)


@needs_compiler
def test_emitted_code_computes_the_same(tmp_path: Path) -> None:
    body = "".join(EQUAL[name][0] for name in ("at a value", "downwards", "both of two", "switch in a loop"))
    body += "mode(0, x); mode(1, x); mode(2, y);"
    made = shorthaul.affine.code(program(body), size="n=11,m=5,S=20", effort=0.1).extra["code"]
    assert_agrees(run(made, tmp_path, *SANITIZED))


@pytest.mark.parametrize(
    "loop",
    ["for (size_t i = n; i-- > 0;)", "for (unsigned i = n - 1; i < n; --i)", "for (unsigned i = n; i--;)"],
)
def test_counters_without_a_sign_fall_to_zero(loop: str) -> None:
    """The program as written in emitted C never ran: its counter was compared with -1."""
    for value, name in (("2 * x[i]", "i"), ("i + 1 < n ? x[i + 1] : 0.0", "i_")):
        program = shorthaul.affine.program_from_text(f"void f(size_t n, double *x) {{ {loop} x[i] = {value}; }}")
        assert str(program.statements[0].domain) == f"[n] -> {{ S0[{name}] : 0 <= {name} < n }}"
        assert f"long {name} = n - 1" in program.code.body


def test_a_branch_may_change_its_condition_several_times() -> None:
    """The condition is kept in a variable; what a branch declares has a place in each iteration."""
    program = shorthaul.affine.program_from_text("""void f(int n, double *x) {
      for (int i = 0; i < n; i++)
        if (i + 1 < n && x[i] > x[i + 1]) { double t = x[i]; x[i] = x[i + 1]; x[i + 1] = t; }
    }""")
    assert [item.text for item in program.statements] == [
        "is_so = x[i] > x[i + 1]",
        "t = (is_so) ? (x[i]) : (0)",
        "x[i] = (is_so) ? (x[i + 1]) : (x[i])",
        "x[i + 1] = (is_so) ? (t) : (x[i + 1])",
    ]
    assert {*program.code.private} == {"is_so", "t"}


def test_parameters_are_set_anew() -> None:
    text = "void f(int n, double *x) { if (n > 9) n = 9; n /= 2; for (int i = 0; i < n; i++) x[i] = x[2 * i]; }"
    (statement,) = shorthaul.affine.program_from_text(text).statements
    assert statement.domain.is_equal(
        isl.Set.read_from_str(isl.DEFAULT_CONTEXT, "[n] -> { S0[i] : 0 <= 2i < n - 1 and i < 4 }")
    )


def test_integers_have_the_values_of_their_types() -> None:
    """Emitted loops count in ``long``: values of other types are cast, subscripts that types change are refused."""
    text = "void f(unsigned n, double *x) {{ for (unsigned i = 0; i < n; i++) {{ {0} }} }}"
    for body, value in (
        ("x[i] = -i * 0.5;", "(-((unsigned)(i))) * 0.5"),
        ("unsigned char c = i * 40; x[i] = c;", "((unsigned char)(((unsigned)(i)) * 40))"),
        ("int c = i - 1; x[i] = c + 1u;", "((int)(((unsigned)(i)) - 1)) + 1u"),
    ):
        (statement,) = shorthaul.affine.program_from_text(text.format(body)).statements
        assert "".join(item.text for item in statement.code) == f"x[(i)] = {value}"
    for body in ("unsigned char c = (int)i - 1; x[i] = x[c];", "x[i] = x[(unsigned char)(i - 1)];"):
        with pytest.raises(InputError, match="bits are others"):
            shorthaul.affine.program_from_text(text.replace("unsigned", "int").format(body))
