"""Loops unrolled by hand: the same values from the same operands as of the loops as written; near misses stay."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.affine.derived import quick
from tests.affine.frontend.test_inputs import assert_same

import shorthaul
from shorthaul.affine.frontend import scop
from shorthaul.affine.replay.cdag import concrete_cdag

HEAD = "int n, int m, double a[n + 9][m + 9], double b[n + 9][m + 9], double c[n + 9][m + 9], double *x, double *y, double *z"
UPDATES = ("y[0] += x[{k}] * y[{k} + 2];", "x[{k}] = x[{k} + 1] + z[{k} + n];", "z[{k}] += 0.5 * y[{k}];")
MAINS = ("k = {lo}; k + {u1} < n", "k = {lo}; k <= n - {u}", "k = {lo}; k < n - {u1}")
#: A loop over rows of matrices, unrolled and jammed, whose copies are {0}, {1} and so on.
JAMMED = (
    "s{0} = 0;",
    "for (j = 0; j < m; j++) {{",
    "s{0} += a[i + {0}][j] * x[j];",
    "}}",
    "y[i + {0}] = s{0};",
)


def program(body: str):
    return shorthaul.affine.program_from_text(f"void f({HEAD}) {{\nint i, j, k;\n{body}\n}}\n")


def as_written(monkeypatch, body: str):
    with monkeypatch.context() as patch:
        patch.setattr(scop, "rerolled", lambda region, _kinds, _names: list(region))
        return program(body)


def values(made, n: int, m: int = 3) -> Counter[int]:
    """Return how often each value is computed, as a number that its operands determine."""
    cdag = concrete_cdag(made, {name: {"n": n, "m": m}[name] for name in made.parameters})
    found: list[int] = []
    for vertex, operands in enumerate(cdag.operand_lists()):
        of = sorted(found[each] for each in operands or []) if vertex >= cdag.inputs else cdag.label(vertex)
        found.append(hash(str(of)))
    return Counter(found[cdag.inputs :])


@pytest.mark.parametrize("seed", range(16))
def test_one_behind_the_other(seed, monkeypatch):
    chosen = random.Random(seed)
    u, lo = chosen.choice((2, 3, 4, 5)), chosen.choice((0, 1))
    parts = chosen.sample(UPDATES, chosen.choice((1, 1, 2)))
    copies = " ".join(part.replace("{k}", f"(k + {at})" if at else "k") for at in range(u) for part in parts)
    once = " ".join(part.replace("{k}", "k") for part in parts)
    head = chosen.choice(MAINS).format(u=u, u1=u - 1, lo=lo)
    body = f"for ({head}; k += {u}) {{ {copies} }} for (; k < n; k++) {{ {once} }}"
    made = program(body)
    assert_same(made, program(f"for (k = {lo}; k < n; k++) {{ {once} }}"))
    assert values(made, 7 + seed % 3) == values(as_written(monkeypatch, body), 7 + seed % 3)


@pytest.mark.parametrize("u", quick([2, 3, 4], [3]))
@pytest.mark.parametrize("rest", [True, False])
def test_jammed(u, rest, monkeypatch):
    names = ", ".join(f"s{at} = 0" for at in range(u))
    inside = " ".join(part.format(at) for part in JAMMED for at in range(u if "{0}" in part else 1))
    head = f"i = 0; i + {u - 1} < n" if rest else "i = 0; i < n"
    body = f"for ({head}; i += {u}) {{ double {names}; {inside} }}"
    if rest:
        body += "for (; i < n; i++) { double r = 0; r = 0; for (j = 0; j < m; j++) r += a[i][j] * x[j]; y[i] = r; }"
    made = program(body)
    assert len(made.statements) == 4
    for n in (5, 6, 7):
        assert values(made, n) == values(as_written(monkeypatch, body), n)


NEAR = {
    "wrong shift": "for (k = 0; k + 1 < n; k += 2) { x[k] = y[k]; x[k + 1] = y[k + 2]; }",
    "other constant": "for (k = 0; k + 1 < n; k += 2) { x[k] = 2.0 * y[k]; x[k + 1] = 2.5 * y[k + 1]; }",
    "other name": "for (k = 0; k + 1 < n; k += 2) { x[k] = y[k]; x[k + 1] = z[k + 1]; }",
    "backwards": "for (k = 0; k + 1 < n; k += 2) { x[k + 1] = x[k] + 1; x[k] = x[k - 1] + 1; }",
    "a copy too few": "for (k = 0; k + 2 < n; k += 3) { x[k] = y[k]; x[k + 1] = y[k + 1]; }",
    "mixed, and one reads the other": (
        "for (k = 1; k + 1 < n; k += 2) { x[k] = y[k]; x[k + 1] = y[k + 1]; z[k] = x[k + 1]; z[k + 1] = x[k + 2]; }"
    ),
    "a sum that all copies share": (
        "for (i = 0; i + 1 < n; i += 2) for (j = 0; j < m; j++) { z[0] += a[i][j]; z[0] += a[i + 1][j]; }"
    ),
    "read before it is set": (
        "double s = 0, t = 0; for (k = 0; k + 1 < n; k += 2) { x[k] = s; x[k + 1] = t; s = y[k]; t = y[k + 1]; }"
    ),
    "used behind": (
        "double s, t; for (k = 0; k + 1 < n; k += 2) { s = y[k]; t = y[k + 1]; x[k] = s; x[k + 1] = t; } z[0] = t;"
    ),
    "a quotient": "for (k = 0; k + 1 < n; k += 2) { x[k] = y[k / 2]; x[k + 1] = y[k / 2]; }",
}


@pytest.mark.parametrize("name", NEAR)
def test_near_misses(name, monkeypatch):
    assert_same(program(NEAR[name]), as_written(monkeypatch, NEAR[name]))


def test_other_rest_stays():
    made = program(
        "for (k = 0; k + 1 < n; k += 2) { x[k] = y[k]; x[k + 1] = y[k + 1]; } for (; k < n; k++) x[k] = z[k];"
    )
    assert [item.text for item in made.statements][:1] == ["x[k] = y[k]"]
    assert len(made.statements) == 2


def test_blocks_of_two_by_two(monkeypatch):
    loads = "double a0 = a[i][k], a1 = a[i + 1][k], b0 = b[k][j], b1 = b[k][j + 1];"
    body = """for (i = 0; i < n; i += 2) for (j = 0; j < m; j += 2) {{
        double c00 = 0, c01 = 0, c10 = 0, c11 = 0;
        for (k = 0; k < n; k++) {{ {} }}
        c[i][j] = c00; c[i][j + 1] = c01; c[i + 1][j] = c10; c[i + 1][j + 1] = c11; }}"""
    made = program(body.format(f"{loads} c00 += a0 * b0; c01 += a0 * b1; c10 += a1 * b0; c11 += a1 * b1;"))
    sums = (f"c{p}{q} += a[i + {p}][k] * b[k][j + {q}];" for p in (0, 1) for q in (0, 1))
    assert len(made.statements) == 3
    assert values(made, 5) == values(as_written(monkeypatch, body.format(" ".join(sums))), 5)
