"""Pointers that change places: the same accesses as those of one array whose first subscript tells which is meant."""

from __future__ import annotations

import pytest
from tests.affine.frontend.test_inputs import assert_same

import shorthaul
from shorthaul.core.errors import InputError

STEP = "for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1];"
TURN = "for (int i = 1; i < n - 1; i++) w[({0} + 1) % 2][i] = w[({0}) % 2][i - 1] + w[({0}) % 2][i + 1];"
EQUAL = {
    "two parameters": (
        f"for (int t = 0; t < T; t++) {{ {STEP} double *r = u; u = v; v = r; }}",
        f"for (int t = 0; t < T; t++) {{ {TURN.format('t')} }}",
    ),
    "pointers to what else is used": (
        "double *p = x, *q = y; for (int t = 1; t <= T; t++) { q[0] = p[1]; double *r = q; q = p; p = r; } x[2] = p[3];",
        "for (int t = 1; t <= T; t++) w[t % 2][0] = w[(t + 1) % 2][1]; assert(T >= 0); w[0][2] = w[T % 2][3];",
    ),
    "three in turn": (
        "for (int t = 0; t < T; t++) { z[0] = y[1] + x[2]; double *r = x; x = y; y = z; z = r; }",
        "for (int t = 0; t < T; t++) c[(t + 2) % 3][0] = c[(t + 1) % 3][1] + c[t % 3][2];",
    ),
    "backwards": (
        "double *r; for (int t = 0; t < T; t++) { z[0] = y[1] + x[2]; r = z; z = y; y = x; x = r; }",
        "for (int t = 0; t < T; t++) c[(t + 1) % 3][0] = c[(t + 2) % 3][1] + c[t % 3][2];",
    ),
    "before and after": (
        "double *r; for (int t = 0; t < T; t++) { r = u; u = v; v = r; u[0] = v[1]; r = v; v = u; u = r; u[2] = v[3]; }",
        "for (int t = 0; t < T; t++) { w[(2 * t + 1) % 2][0] = w[(2 * t + 2) % 2][1]; w[(2 * t + 2) % 2][2] = w[(2 * t + 3) % 2][3]; }",
    ),
    "while": (
        f"int t = T; while (t > 0) {{ {STEP} double *r = u; u = v; v = r; t--; }}",
        f"for (int t = 0; t < T; t++) {{ {TURN.format('t')} }}",
    ),
    "pointers that walk in them": (
        "for (int t = 0; t < T; t++) { double *a = u, *b = v; for (int i = 0; i < n; i++) *b++ = *a++; double *r = u; u = v; v = r; }",
        "for (int t = 0; t < T; t++) for (int i = 0; i < n; i++) w[(t + 1) % 2][i] = w[t % 2][i];",
    ),
    "rows": (
        "for (int t = 0; t < T; t++) { for (int i = 0; i < n; i++) A[i][0] = B[i][1]; double (*r)[n] = A; A = B; B = r; }",
        "for (int t = 0; t < T; t++) for (int i = 0; i < n; i++) C[t % 2][i][0] = C[(t + 1) % 2][i][1];",
    ),
    "not where a pointer is NULL": (
        "double *p = malloc(n * sizeof *p); if (!p) { return; } else { u[0] = 1; } if (p == NULL) u[1] = 2; else for (int i = 0; i < n; i++) p[i] = u[i];",
        "double *p; u[0] = 1; for (int i = 0; i < n; i++) p[i] = u[i];",
    ),
    "allocated": (
        "double *p = (double *)malloc(n * sizeof *p), *q; q = malloc(n); for (int t = 0; t < T; t++) { p[0] = q[1] + u[2]; double *r = p; p = q; q = r; } free(p); free(q);",
        "for (int t = 0; t < T; t++) w[t % 2][0] = w[(t + 1) % 2][1] + u[2];",
    ),
}
HEAD = "int n, int T, double *u, double *v, double *x, double *y, double *z, double (*A)[n], double (*B)[n], double w[2][n], double c[3][n], double C[2][n][n], double F[9]"


def program(body: str):
    return shorthaul.affine.program_from_text(f"void f({HEAD}) {{\n{body}\n}}\n")


@pytest.mark.parametrize(("body", "same"), EQUAL.values(), ids=EQUAL.keys())
def test_one_array_for_all(body, same):
    assert_same(program(body), program(same))


PYTHON = """
def f(u, v, T):
    n = len(u)
    for t in range(T):
        v[1:n - 1] = u[:n - 2] + u[2:n]
        u, v = v, u
    for i in range(n):
        u[i] += v[i]
"""
IN_C = """void f(int n, int T, double w[2][n]) {
for (int t = 0; t < T; t++)
  for (int i = 0; i < n - 2; i++) w[(t + 1) % 2][i + 1] = w[t % 2][i] + w[t % 2][i + 2];
assert(T >= 0);
for (int i = 0; i < n; i++) w[T % 2][i] += w[(T + 1) % 2][i];
}"""


def test_arrays_of_python_that_change_places():
    assert_same(shorthaul.affine.program_from_text(PYTHON), shorthaul.affine.program_from_text(IN_C))


@pytest.mark.parametrize("change", ["if t > 1: u, v = v, u", "u, v = v, v", "u, T = v, u", "u, v = v, 2 * u"])
def test_values_assigned_at_once_in_python_are_refused(change):
    with pytest.raises(InputError, match="assigned at once") as found:
        shorthaul.affine.program_from_text(PYTHON.replace("u, v = v, u", change))
    assert str(found.value).startswith("line 6 column ")


def test_names_of_extents_are_not_those_of_arrays():
    program = shorthaul.affine.program_from_text("def f(u):\n u[1:] = 2 * u[:-1] + 1\n u[:] = u[::-1]\n")
    assert not {*program.parameters} & {access.array for statement in program.statements for access in statement.reads}


REFUSED = {
    "set after a loop": "double *p = u, *q = v; { int t = T; do { p[0] = q[1]; double *r = p; p = q; q = r; t--; } while (t > 0); } p = u; x[0] = p[1];",
    "used before it is set": f"u[1] = 2; u = x; for (int t = 0; t < T; t++) {{ {STEP} double *r = u; u = v; v = r; }}",
    "under a condition": f"for (int t = 0; t < T; t++) {{ {STEP} if (t > 1) {{ double *r = u; u = v; v = r; }} }}",
    "moved as well": f"for (int t = 0; t < T; t++) {{ {STEP} double *r = u; u = v; v = r; u++; }}",
    "used as it is set": f"double *r; for (int t = 0; t < T; t++) {{ {STEP} r = u; u = v; v = r; r[0] = 1; }}",
    "with unlike others": f"double *r; for (int t = 0; t < T; t++) {{ {STEP} r = u; u = v; v = r; v[0] = x[0]; r = u; u = x; x = r; }}",
}


@pytest.mark.parametrize(
    "body",
    [
        "memcpy(F, u, sizeof F);",
        "double *p = malloc(n), *q = p; p[0] = 1; p = malloc(n); u[0] = q[0];",
    ],
)
def test_memory_that_is_not_told_is_refused(body):
    with pytest.raises(InputError):
        program(f"{body} for (int i = 0; i < n; i++) v[i] = 0;")


def test_what_is_done_where_a_pointer_is_set_to_null_stays():
    written = {
        item.write.array
        for item in program("double *p = 0; if (!p) u[0] = 1; for (int i = 0; i < n; i++) x[i] = 2;").statements
    }
    assert written == {"p", "u", "x"}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_told_is_refused(body):
    with pytest.raises(InputError, match="lead elsewhere") as found:
        program(body)
    assert "_turn" not in str(found.value)
