"""Neighbourhoods whose inequality is proven by slices: against all small sets and random ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
import sympy
from tests.affine.bounds.lifetime.test_few_values import checked
from tests.affine.derived import quick

from shorthaul.affine.bounds.partition.isoperimetry import Offset, isoperimetric_constant
from shorthaul.affine.check.stencils.levels import constant_of
from shorthaul.affine.integer_sets.quasi_polynomial import symbol

N, T, S = (symbol(name) for name in ("N", "T", "S"))
STAR = frozenset(
    {(0, 0), *((s * k, 0) for s in (-1, 1) for k in (1, 2)), *((0, s * k) for s in (-1, 1) for k in (1, 2))}
)
IN_SPACE = frozenset(tuple(step * int(a == axis) for a in range(3)) for axis in range(3) for step in (-2, -1, 0, 1, 2))
#: neighbourhood, name, c
SHAPES = {
    "upwind": (frozenset({(0, 0), (1, 0), (0, 1)}), "a pyramid", sympy.sqrt(2)),
    "skew": (frozenset({(0, 0), (1, -2), (-1, -1)}), "a pyramid", sympy.sqrt(2)),
    "star": (STAR, "a pyramid", 4 * sympy.sqrt(2)),
    "star in space": (IN_SPACE, "a pyramid", 2 * sympy.cbrt(36)),
    "star of two lengths": (STAR - {(0, 2), (0, -2)}, "a pyramid", 4),
    "two steps of a cross": (STAR | {(a, b) for a in (-1, 1) for b in (-1, 1)}, "a pyramid", 4 * sympy.sqrt(2)),
    "third order upwind": (STAR - {(2, 0), (0, 2)}, "a pyramid", 3 * sympy.sqrt(2)),
    "two heights of three": (
        frozenset({(0, 0), (1, 0), (2, 0), (5, 3), (0, -3), (1, 7)}),
        "a pyramid",
        2 * sympy.sqrt(2),
    ),
    "upwind in space": (
        frozenset({(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)}),
        "a pyramid",
        sympy.cbrt(sympy.Rational(9, 2)),
    ),
    "upwind on one axis": (frozenset({(0, 0), (-1, 0), (0, 1), (0, -1)}), "a pyramid", 2),
    "upwind over a cross": (
        frozenset({(0, 0, 0), (-1, 0, 0), *((0, s, 0) for s in (-1, 1)), *((0, 0, s) for s in (-1, 1))}),
        "a pyramid",
        sympy.cbrt(18),
    ),
    "upwind on two axes": (
        frozenset({(0, 0, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)}),
        "a pyramid",
        sympy.cbrt(9),
    ),
    "over a box": (frozenset({(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (4, 0, 1)}), "a pyramid", sympy.cbrt(9)),
    "lines of two lengths": (frozenset({(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)}), "a pyramid", sympy.sqrt(6)),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", SHAPES)
def test_no_set_has_fewer_neighbours(name: str) -> None:
    offsets, kind, constant = SHAPES[name]
    found = isoperimetric_constant(offsets)
    assert found is not None
    assert (found[1].name, sympy.simplify(found[0] - constant)) == (kind, 0)
    n = len(next(iter(offsets)))
    grid = list(itertools.product(range(3), repeat=n))
    rng = np.random.default_rng(0)
    sets = [[item for at, item in enumerate(grid[:9]) if code >> at & 1] for code in range(1, 512)]
    for size in rng.integers(1, 40, size=300):
        sets.append(sorted(set(map(tuple, rng.integers(0, 6, size=(size, n)).tolist()))))
    sets += [[item for item in itertools.product(range(6), repeat=n) if sum(item) <= edge] for edge in range(6)]
    for places in [*sets, *_grown(offsets, rng)]:
        grown = _neighbours(places, offsets)
        assert len(grown) >= len(places) + float(constant) * len(places) ** ((n - 1) / n) - 1e-9
        if found[1].balls:
            v = (float(constant) / n) ** n
            b = 1 / 4 if len(found[1].apexes[-1]) > 1 else 0
            radius = max(0, len(places) / v - b) ** (1 / n)
            least = 3 * len(places) if n == 2 and len(places) < v * b else v * ((radius + 1) ** n + b)
            assert len(grown) >= least - 1e-9


def _neighbours(places: Iterable[Offset], offsets: Iterable[Offset]) -> set[Offset]:
    return {tuple(a + b for a, b in zip(x, v, strict=True)) for x in places for v in offsets}


def _grown(offsets: frozenset[Offset], rng: np.random.Generator) -> Iterator[list[Offset]]:
    """Yield sets that grow by a place that adds few neighbours."""
    for _ in range(2):
        places = [min(offsets)]
        while len(places) < 90:
            reached = _neighbours(places, offsets)
            free = sorted(reached - set(places))
            more = [len(_neighbours([item], offsets) - reached) + 0.3 * rng.random() for item in free]
            places.append(free[int(np.argmin(more))])
            yield list(places)


@pytest.mark.parametrize("name", [name for name, item in SHAPES.items() if item[1] == "a pyramid"])
def test_a_pyramid_is_verified_from_its_places(name: str) -> None:
    offsets, _, constant = SHAPES[name]
    n = len(next(iter(offsets)))
    found = isoperimetric_constant(offsets)
    assert found is not None
    document = found[1].document()
    assert float(constant_of(offsets, n, document) or 0) == pytest.approx(float(constant))
    *before, group = found[1].apexes
    inside = min(offsets - set(sum(found[1].apexes, ())))
    wrong = [[*before, group[:-1]], [*before, (*group, inside)], [*before, (*group[:-1], inside)], [*before, ()]]
    for apexes in wrong[len(group) < 3 :]:
        assert (constant_of(offsets, n, {**document, "apexes": apexes}) or 0) < float(constant) - 1e-9
    for apex in group:
        assert constant_of(offsets - {apex}, n, document) is None  # the apex is no neighbour


PROGRAMS = {
    # two fields, each one step of the other: the neighbourhoods {0, -1} and {0, 1} are one up to a translation
    "two fields on a line": (
        "int T, int N, double e[N], double h[N]",
        ("for (int t = 0; t < T; t++) { for (int i = 1; i < N; i++) e[i] -= 0.5 * (h[i] - h[i - 1]);"
        " for (int i = 0; i < N - 1; i++) h[i] -= 0.7 * (e[i + 1] - e[i]); }"),
        2 * N * T / S,
        ((3, 5), (4, 8)),
    ),
    "upwind in the plane": (
        "int T, int N, double a[T + 1][N][N]",
        ("for (int t = 0; t < T; t++) for (int i = 1; i < N; i++) for (int j = 1; j < N; j++)"
        " a[t + 1][i][j] = a[t][i][j] + a[t][i - 1][j] + a[t][i][j - 1];"),
        sympy.sqrt(42) * N**2 * T / (6 * sympy.sqrt(S)),
        ((3, 5), (3, 6)),
    ),
    "fourth order": (
        "int T, int N, double a[T + 1][N][N]",
        ("for (int t = 0; t < T; t++) for (int i = 2; i < N - 2; i++) for (int j = 2; j < N - 2; j++)"
        " a[t + 1][i][j] = a[t][i][j] + a[t][i - 1][j] + a[t][i + 1][j] + a[t][i][j - 1] + a[t][i][j + 1]"
        " + a[t][i - 2][j] + a[t][i + 2][j] + a[t][i][j - 2] + a[t][i][j + 2];"),
        2 * sympy.sqrt(42) * N**2 * T / (3 * sympy.sqrt(S)),
        ((3, 7), (3, 8)),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", quick(PROGRAMS, ("upwind in the plane",)))
def test_leading_terms_and_the_oracle(name: str) -> None:
    declared, body, leading, sizes = PROGRAMS[name]
    bound = checked(f"void f({declared}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n", sizes)
    assert sympy.simplify(bound.leading - leading) == 0
