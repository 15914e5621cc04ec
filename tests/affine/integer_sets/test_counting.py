"""Cardinalities against isl's enumeration of the points."""

from __future__ import annotations

import random
from itertools import product

import islpy as isl
import pytest
import sympy
from tests.samples import samples

from shorthaul.affine.integer_sets.along import along
from shorthaul.affine.integer_sets.counting import card, total
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial, sum_between, symbol
from shorthaul.affine.workloads.cases import CASES

SETS = {
    "triangle": "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }",
    "tetrahedron": "[N] -> { S[i, j, k] : 0 <= i < N and 0 <= j < i and 0 <= k < j }",
    "two parameters": "[N, M] -> { S[i, j] : 0 <= i < N and 0 <= j < M and i + j < N }",
    "even numbers": "[N] -> { S[i] : 0 <= i < N and i mod 2 = 0 }",
    "half": "[N] -> { S[i, j] : 0 <= i < N and 0 <= 2j < i }",
    "diagonal classes": "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i and (i + j) mod 3 = 1 }",
    "division of a parameter": "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < floor(N/4) and i <= 2j }",
    "equality": "[N] -> { S[i, j] : 0 <= j < N and j = 2i }",
    "union with a gap": "[N] -> { S[i] : 0 <= i < N and (i < 3 or i > 7) }",
    "overlapping union": "[N, M] -> { S[i, j] : 0 <= i < N and 0 <= j < M; S[i, j] : 2 <= i < M and 0 <= j < N }",
    "floors inside": "[N] -> { S[i, j, k] : 0 <= i < N and floor(i/2) <= j < N and 0 <= 3k <= i + j }",
    "hidden variables": "[N] -> { S[i] : exists a, b: i = 2a + 3b and 0 <= a < N and 0 <= b < N }",
    "constant": "{ S[i] : 0 <= i < 5 }",
    "no dimension": "[N] -> { S[] : N > 3 }",
    "empty": "[N] -> { S[i] : 0 <= i < N and N < 0 }",
    "negative slope": "[N, M] -> { S[i, j] : 0 <= i <= N and -i <= j <= M - 2i }",
}


def fixed(points: isl.Set, sizes: dict[str, int]) -> isl.Set:
    for name, value in sizes.items():
        points = points.fix_val(isl.dim_type.param, points.find_dim_by_name(isl.dim_type.param, name), isl.Val(value))
    return points


def compare(text: str, high: int = 11, *, formulas: bool = True) -> None:
    points = isl.Set(text)
    found = card(points)
    positive = found.positive()
    names = points.get_var_names(isl.dim_type.param)
    for values in product(range(-1, high), repeat=len(names)):
        sizes = dict(zip(names, values, strict=True))
        exact = fixed(points, sizes).count_val().to_python()
        assert found.at(sizes) == exact, (text, sizes)
        if all(value > 0 for value in values):
            assert positive.at(sizes) == exact, (text, sizes)
    if formulas:
        for value in (1, 2, 5):
            sizes = dict.fromkeys(names, value)
            at = {symbol(name): value for name in names}
            assert found.expression().subs(at) == positive.expression().subs(at) == found.at(sizes), (text, sizes)


@pytest.mark.costly
@pytest.mark.parametrize("name", SETS)
def test_cardinality(name: str) -> None:
    compare(SETS[name])


def test_random_sets() -> None:
    draw = random.Random(5)
    for _ in samples(40):
        dimensions = draw.randint(1, 3)
        names = ["i", "j", "k"][:dimensions]
        parts = []
        for _ in range(draw.choice([1, 1, 2])):
            limits = [f"0 <= {name} < {draw.choice(['N', 'M', '6'])}" for name in names]
            for _ in range(draw.randint(0, 2)):
                terms = " + ".join(f"{draw.randint(-2, 2)}{name}" for name in names)
                limits.append(f"{terms} {draw.choice(['<=', '>='])} {draw.choice(['N', 'M', '3', '0'])}")
            if draw.random() < 0.3:
                limits.append(f"({' + '.join(names)}) mod {draw.choice([2, 3])} = {draw.choice([0, 1])}")
            parts.append(f"S[{', '.join(names)}] : {' and '.join(limits)}")
        compare(f"[N, M] -> {{ {'; '.join(parts)} }}", high=5, formulas=False)


def test_counts_along_a_parameter_are_those_at_each_value() -> None:
    """Also where every second value has points: what stays in every second step saved loads in all of them."""
    draw = random.Random(1)
    for _ in samples(160):
        a, b, c = draw.randint(1, 4), draw.randint(1, 4), draw.randint(-3, 3)
        low, high = draw.randint(-2, 2), draw.randint(2, 8)
        where = draw.choice(
            (
                f"{a}y + {c} = {b}m",
                f"m = {a}y + {c} and m mod {b} = 0",
                f"{a}y <= m + {c} and m <= {b}*{high}",
                f"(m + y) mod {a} = 0",
                f"(m mod {b} = 0 and y <= m) or (m >= {high} and y >= 1)",
            )
        )
        number = card(isl.Set(f"[m] -> {{ [y, x] : ({where}) and {low} <= y <= {high} and 0 <= x <= y }}"))
        assert along(number, "m", -6, 14).tolist() == [number.at({"m": value}) for value in range(-6, 15)]


def test_weighted_sum() -> None:
    points = isl.Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }")
    weight = Polynomial.variable("x0").times(Polynomial.variable("x1"))
    for n in range(8):
        assert total(points, weight).at({"N": n}) == sum(i * j for i in range(n) for j in range(i + 1))


@pytest.mark.parametrize("exponent", range(7))
def test_faulhaber(exponent: int) -> None:
    weight = Polynomial.variable("i").power(exponent)
    formula = sum_between(weight, "i", Polynomial.variable("a"), Polynomial.variable("b"))
    for low, high in ((0, 0), (1, 9), (-4, 5), (3, 2), (-7, -2)):
        assert formula.at({"a": low, "b": high}) == sum(i**exponent for i in range(low, high + 1))


def test_infinite_sets_are_refused() -> None:
    with pytest.raises(ArithmeticError, match="infinite"):
        card(isl.Set("[N] -> { S[i] : i >= N }"))


def test_floors_are_simplified() -> None:
    n = Polynomial.variable("N")
    assert Polynomial.floor(n.scaled(4).plus(Polynomial.number(7)), 4) == n.plus(Polynomial.number(1))
    assert str(Polynomial.floor(n.scaled(2).plus(Polynomial.number(3)), 4)) == "floor(N/2 + 1/2)"


def test_the_large_piece() -> None:
    found = card(isl.Set("[N] -> { S[i] : 0 <= i < N and i <= 8 }"))
    assert found.large() == 9
    assert isinstance(found.expression(), sympy.Piecewise)


@pytest.mark.costly
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_domains_and_inputs_of_the_kernels(case: object) -> None:
    program = case.build()  # type: ignore[attr-defined]
    flow = flow_dependences(program)
    bases = (1, 2, 3, 6) if len(program.parameters) <= 5 else (1, 2)  # enumeration of seven loops takes long
    for base in bases:
        sizes = {name: base + at % 3 for at, name in enumerate(program.parameters)}
        for points in [*(item.domain for item in program.statements), *flow.inputs.values()]:
            mine = {name: sizes[name] for name in points.get_var_names(isl.dim_type.param)}
            assert card(points).at(mine) == fixed(points, mine).count_val().to_python()


def test_a_polynomial_takes_over_its_neighbours() -> None:
    assert len(card(isl.Set(SETS["two parameters"])).pieces) == 3
    assert len(card(isl.Set(SETS["two parameters"])).positive().pieces) == 2
    found = card(isl.Set("[N, T] -> { S[t, i] : 0 <= t < T and 1 <= i < N }")).positive()
    assert found.pieces[0].where.plain_is_universe()
