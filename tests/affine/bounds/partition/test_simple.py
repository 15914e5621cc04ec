"""The short form of a bound: true where its conditions hold, as large to leading order, and short."""

from __future__ import annotations

import itertools
import re
from functools import cache

import pytest
import sympy
from tests.affine import derived
from tests.affine.derived import quick

from shorthaul.affine.bounds.best import AffineBound, lower_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.leading_term import leading_term
from shorthaul.affine.integer_sets.quasi_polynomial import number_at, symbol
from shorthaul.affine.integer_sets.short_form import simple_bound
from shorthaul.affine.orders.upper_bound import upper_bound
from shorthaul.affine.orders.upper_report import upper_document, upper_text
from shorthaul.affine.verbs.answer import proof_text
from shorthaul.affine.verbs.bound import bound as affine_bound

#: Guards with remainders: the full formula has thousands of characters.
GUARDED = """
void f(int N, double A[N], double B[N], double C[N], double D[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < i; j++)
      if (j % 2 == 0)
        C[i] += A[j] * B[i];
      else if ((i + 2 * j) % 3 == 1)
        C[i] -= A[j];
  for (int i = 1; i < N - 1; i++)
    for (int j = 1; j < N - 1; j++)
      if ((i + j) % 2 == 0)
        D[i][j] = D[i - 1][j] + D[i][j + 1];
#pragma endscop
}
"""


def bound_of(name: str) -> AffineBound:
    return guarded_bound() if name == "guarded" else derived.bound_of(name)


@cache
def guarded_bound() -> AffineBound:
    return lower_bound(program_from_text(GUARDED))


def holds(where: tuple[str, ...], sizes: dict[str, int]) -> bool:
    words = {"ceiling": lambda value: int(sympy.ceiling(value)), "sqrt": sympy.sqrt}
    return all(eval(re.sub(r"(?<![<>])=(?!=)", "==", item), words, sizes) for item in where)


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    quick(("guarded", "jacobi-2d", "symm", "durbin", "floyd-warshall", "atax", "trisolv"), ("symm", "atax", "trisolv")),
)
def test_no_more_than_the_full_formula(name: str) -> None:
    bound = bound_of(name)
    simple = bound.simple
    assert simple is not None
    assert len(simple.text()) < 400
    names = bound.program.parameters
    tried = 0
    for values in itertools.islice(itertools.product((1, 2, 5, 6, 17, 64, 300), (2, 7, 33, 90), (1, 3, 60)), 84):
        sizes = {name: values[at % 2] + at for at, name in enumerate(names)} | {"S": values[2]}
        if holds(simple.where, sizes):
            tried += 1
            at = {symbol(name): sympy.Integer(value) for name, value in sizes.items()}
            assert float(simple.formula.xreplace(at)) <= float(bound.formula.xreplace(at)) + 1e-6
    assert tried > 5
    assert sympy.simplify(leading_term(simple.formula, names) - bound.leading) == 0


def test_floors_and_products_of_floors() -> None:
    N, M = symbol("N"), symbol("M")
    formula = sympy.floor(N / 2) * sympy.floor(M / 3) - sympy.floor((N + 1) / 2) + sympy.ceiling(M / 4)
    simple = simple_bound(formula)
    assert simple is not None
    assert simple.where == ()
    for n, m in itertools.product(range(1, 14), repeat=2):
        assert simple.formula.subs({N: n, M: m}) <= formula.subs({N: n, M: m})
    assert simple_bound(-sympy.Max(N, M)) is None


@pytest.mark.slow
def test_long_formulas_are_named_by_their_length() -> None:
    made = affine_bound(program_from_text(GUARDED), upper=False).bound
    assert made is not None
    text, details = proof_text(made), made.details
    assert len(details["formula"]) > 1_500
    assert details["formula"] not in text
    assert f"({len(details['formula'])} characters" in text
    assert f"at least:    {details['simple']['formula']}   for {' and '.join(details['simple']['where'])}" in text
    assert len(details["leading"]) < 100
    assert max(map(len, text.splitlines())) < 4_000


@pytest.mark.parametrize("name", quick(("guarded", "jacobi-2d", "gramschmidt"), ("gramschmidt",)))
def test_upper_bounds_in_short(name: str) -> None:
    """The short form is at least the formula, at every size that it is for, and is printed first."""
    upper = upper_bound(guarded_bound().program) if name == "guarded" else derived.upper_of(name)
    document = upper_document(upper, upper.leading, None)
    short = document["simple"]
    assert len(short["formula"]) < 400
    text = upper_text(document).splitlines()
    assert text[0].startswith(f"at most:     {short['formula']}   for ")
    assert max(map(len, text)) < 3_000
    names = upper.program.parameters
    symbols = {str(item): item for item in upper.formula.free_symbols}
    formula = sympy.sympify(short["formula"], locals=symbols)
    tried = 0
    for values in itertools.product((1, 3, 6, 17, 64), (2, 7, 33), (10, 60)):
        sizes = {name: values[at % 2] + at for at, name in enumerate(names)} | {"S": values[2]}
        if holds(tuple(short["where"]), sizes):
            tried += 1
            at = {symbol(name): sympy.Integer(value) for name, value in sizes.items()}
            at |= dict.fromkeys(upper.edges, sympy.Integer(3))
            assert float(formula.xreplace(at)) >= float(upper.formula.xreplace(at)) - 1e-6
    assert tried > 5


def test_roots_of_floors_have_no_short_form() -> None:
    """Their floors may be of any part of one: a root without them is above one of these formulas or its negative."""
    root = symbol("N") / sympy.sqrt(sympy.floor(symbol("N") / 128) + 1)
    for formula in (root, -root):
        short = simple_bound(formula)
        assert short is None or number_at(short.formula, {"N": 200, "S": 9}) <= number_at(formula, {"N": 200, "S": 9})
