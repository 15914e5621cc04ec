"""What goes in beside marked C: the same program, written in another way, has the same accesses."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

import shorthaul
from shorthaul.affine.model import Program
from shorthaul.core.errors import InputError

_OUT = isl.dim_type.out
HEAD = "int n, int m, int k, int T, double A[n][n], double B[n][n], double c[n], double d[n], double *x, double *y"


def written(body: str, head: str = HEAD, before: str = "", *, marked: bool = True) -> Program:
    inside = f"#pragma scop\n{body}\n#pragma endscop" if marked else body
    return shorthaul.affine.program_from_text(f"{before}void f({head}) {{\n{inside}\n}}\n")


def assert_same(left: Program, right: Program) -> None:
    """Fail unless both programs have the same instances, in the same order, with the same accesses."""
    assert len(left.statements) == len(right.statements)
    for one, other in zip(left.statements, right.statements, strict=True):
        assert one.domain.is_equal(other.domain)
        assert one.schedule.is_equal(other.schedule)
        pairs = [(one.write, other.write), *zip(one.reads, other.reads, strict=True)]
        for a, b in pairs:
            assert a.relation.range().reset_tuple_id().is_equal(b.relation.range().reset_tuple_id())
            assert a.relation.reset_tuple_id(_OUT).is_equal(b.relation.reset_tuple_id(_OUT))


EQUAL = {
    "rest by a parameter": (
        "for (int i = 0; i < n; i++) c[i] = d[(i + 1) % n];",
        "for (int i = 0; i < n; i++) c[i] = d[i < n - 1 ? i + 1 : 0];",
    ),
    "rest below": (
        "for (int i = 0; i < n; i++) c[i] = d[(i + n - 2) % n];",
        "for (int i = 0; i < n; i++) c[i] = d[i + n - 2 >= 2 * n ? 0 : i + n - 2 < n ? (i + n - 2 < 0 ? 0 : i + n - 2) : i - 2];",
    ),
    "quotient": (
        "for (int i = 0; i < 2 * n; i++) c[i / n] += d[i];",
        "for (int i = 0; i < 2 * n; i++) c[i < n ? 0 : 1] += d[i];",
    ),
    "bits": (
        "for (int t = 0; t < T; t++) A[(t + 1) & 1][t & 3] = B[t & 1 ^ 1][0];",
        "for (int t = 0; t < T; t++) A[(t + 1) % 2][t % 4] = B[1 - t % 2][0];",
    ),
    "not equal": ("for (int i = 0; i != n; i++) c[i] = 0;", "for (int i = 0; i < n; i++) c[i] = 0;"),
    "not equal, down": ("for (int i = n - 1; -1 != i; --i) c[i] = 0;", "for (int i = n - 1; i >= 0; i--) c[i] = 0;"),
    "pointers": ("for (int i = 0; i < n; i++) *(*(A + i) + 1) = *(c + i);", "for (int i = 0; i < n; i++) A[i][1] = c[i];"),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_other_ways_to_write_it(name: str) -> None:
    left, right = EQUAL[name]
    assert_same(written(left), written(right))


STRUCTURES = {
    "of arrays": ("typedef struct { double *u, *v; } P;\n", "P p", "p.u[i] += p.v[i]"),
    "behind a pointer": ("struct P { double *u; double *v; };\n", "struct P *p", "p->u[i] += p->v[i]"),
    "in an array": ("typedef struct P { double u, v; } P;\n", "P p[n]", "p[i].u += p[i].v"),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures(name: str) -> None:
    before, argument, body = STRUCTURES[name]
    made = written(f"for (int i = 0; i < n; i++) {body};", f"int n, {argument}", before)
    assert_same(made, written("for (int i = 0; i < n; i++) c[i] += d[i];", "int n, double c[n], double d[n]"))
    assert set(made.arrays) == {"p_u", "p_v"}
    assert list(made.code.arguments) == ["n", "p_u", "p_v"]


def test_rows_of_a_part_of_a_matrix() -> None:
    body = "for (int i = 0; i < m; i++) for (int j = 0; j < k; j++) x[i * {0} + j] = y[j * T + i];"
    made = written(body.format("n"))
    assert made.arrays["x"].dimensions == 2
    with pytest.raises(InputError, match="do not fit together"):
        shorthaul.affine.cdag(made, size="m=3,k=5,n=4,T=9")
    assert len(shorthaul.affine.cdag(made, size="m=3,k=5,n=5,T=3")["nodes"]) == 30
    assert shorthaul.affine.bound(made, upper=False).bound.details["assumes"] == "n >= k and T >= m"


def test_a_function_without_pragma() -> None:
    plain = "double s = 0;\nfor (int i = 0; i < n; i++) s += c[i];\nfor (int i = 0; i < n; i++) c[i] = s;"
    assert_same(written(plain, marked=False), written(plain))
    assert_same(written(plain + "\nreturn;", marked=False), written(plain))


SUMS = {
    "ij,jk->ik": "for (int i = 0; i < m; i++) for (int k = 0; k < n; k++) { c[i][k] = 0; for (int j = 0; j < l; j++) c[i][k] += a[i][j] * b[j][k]; }",
    "i,j->ij": "for (int i = 0; i < m; i++) for (int j = 0; j < l; j++) c[i][j] = a[i] * b[j];",
    " ii -> ": "c[0] = 0; for (int i = 0; i < m; i++) c[0] += a[i][i];",
}


@pytest.mark.parametrize("text", SUMS)
def test_sums_of_products(text: str) -> None:
    extents = {"i": "m", "j": "l", "k": "n"}
    operands = ["".join(text.split()).partition("->")[0].split(",")][0]
    result = "".join(text.split()).partition("->")[2]
    arrays = [*zip("ab", operands, strict=False), ("c", result)]
    given = [
        f"double {name}" + ("".join(f"[{extents[item]}]" for item in letters) or "[1]") for name, letters in arrays
    ]
    plain = written(SUMS[text], ", ".join(["int m", "int n", "int l", *given]))
    sizes = {"i": 3, "j": 4, "k": 5}
    made = shorthaul.affine.program_from_text(text)
    here = {name: sizes[name] for name in made.parameters}
    there = {name: sizes[next(item for item in sizes if extents[item] == name)] for name in plain.parameters}
    left, right = shorthaul.affine.concrete_cdag(made, here), shorthaul.affine.concrete_cdag(plain, there)
    assert left.inputs == right.inputs
    assert np.array_equal(left.starts, right.starts)
    assert np.array_equal(left.operands, right.operands)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("i...j->i", "name every axis"),
        ("i2,j->ij", "is no sum of products"),
        ("ij->ii", "twice"),
        ("ij->k", "no operand has k"),
        ("iS->i", "fast memory"),
        ("->", "no operand has an axis"),
    ],
)
def test_wrong_sums(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        shorthaul.affine.bound(text)
