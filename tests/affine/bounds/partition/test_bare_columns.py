"""Stencils that do not read their centre, with values at every place: Gauss and Seidel, Jacobi for a right side."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy
from tests.affine.derived import levels_alone, quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.proofs.columns import rates
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.core.search import Search

GAUSS_SEIDEL = program_from_text("""void f(int T, int N, double u[N][N], double f[N][N]) {
  for (int t = 0; t < T; t++)
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        u[i][j] = u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - f[i][j];
}""")
JACOBI = program_from_text("""void f(int T, int N, double A[N], double B[N], double f[N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      B[i] = A[i - 1] + A[i + 1] - f[i];
    for (int i = 1; i < N - 1; i++)
      A[i] = B[i - 1] + B[i + 1] - f[i];
  }
}""")
SIZES = {"T": 400, "N": 400, "S": 800}
Place = tuple[int, ...]
#: The first level and the number of instances, two levels apart, of every place in a half.
Part = dict[tuple[Place, int], tuple[int, int]]


def around(place: Place) -> list[Place]:
    steps = [tuple(by * (a == at) for a in range(len(place))) for at in range(len(place)) for by in (-1, 1)]
    return [tuple(a + b for a, b in zip(place, step, strict=True)) for step in steps]


def double_cone(n: int, radius: int, below: int, halves: int) -> Part:
    """Return the places of a ball with what lies under a cone above it, and above one cut off below it."""
    part: Part = {}
    for place in product(range(-radius, radius + 1), repeat=n):
        high = radius - sum(map(abs, place))
        for half in range(halves):
            levels = [at for at in range(-min(high, below), high + 1) if (at + sum(place) + half) % 2 == 0]
            part |= {(place, half): (levels[0], len(levels))} if levels else {}
    return part


def is_convex(part: Part) -> bool:
    """True if what lies on paths between two instances of a place is in the part."""
    for (place, half), (first, long) in part.items():
        for near in around(place) if long > 1 else ():
            at, more = part.get((near, half), (0, 0))
            if more < long - 1 or at > first + 1 or at + 2 * more < first + 2 * long - 1:
                return False
    return True


def filled(part: Part, n: int, values: int, halves: int) -> float:
    """Return the instances of a part over U of what it needs."""
    inside = {(place, half, first + 2 * by) for (place, half), (first, long) in part.items() for by in range(long)}
    read = {(near, half, level - 1) for place, half, level in inside for near in around(place)}
    K = len(read - inside) + values * len({place for place, _ in part})
    bulk, edge = rates_of(n, Fraction(values, halves))
    return float(len(inside) / (bulk * K ** ((n + 1) / n) + edge * K))


@cache
def rates_of(n: int, values: Fraction) -> tuple[float, ...]:
    return tuple(map(float, rates(n, (sympy.Integer(2), 2 * sympy.sqrt(2))[n - 1], values, bare=True)))


@pytest.mark.parametrize(
    ("n", "values", "halves"), quick([(1, 1, 1), (1, 3, 2), (2, 1, 2), (2, 2, 1)], [(1, 3, 2), (2, 2, 1)])
)
def test_no_part_computes_more(n: int, values: int, halves: int) -> None:
    """Double cones, the best parts known, and these changed by chance."""
    rng, closest = np.random.default_rng(n + values), 0.0
    for radius in range(1, 6):
        for below in range(radius + 1):
            part = double_cone(n, radius, below, halves)
            assert is_convex(part)
            best = filled(part, n, values, halves)
            for _ in range(40):
                at = list(part)[rng.integers(len(part))]
                by, more = rng.integers(-1, 2, 2)
                changed = {**part, at: (int(part[at][0] + 2 * by), int(part[at][1] + more))}
                if changed[at][1] > 0 and is_convex(changed) and filled(changed, n, values, halves) >= best:
                    part, best = changed, filled(changed, n, values, halves)
            closest = max(closest, best)
    assert 0.3 < closest <= 1


@cache
def written() -> str:
    return levels_alone(GAUSS_SEIDEL, "columns", SIZES)


@pytest.mark.slow
def test_a_right_side_counts_for_gauss_and_seidel() -> None:
    """Its four neighbours are all of one half, so a place has one value of its own (4.7 million words by levels)."""
    flow, search = flow_dependences(GAUSS_SEIDEL), Search(effort=0.25)
    found = lower_bound(GAUSS_SEIDEL, flow=flow, sizes=SIZES, search=search)
    document = json.loads(json.dumps(as_bound(GAUSS_SEIDEL, found, SIZES, flow).document()))
    assert document["value"] >= 7_100_000
    assert not verify(GAUSS_SEIDEL, document, SIZES)[0]


def test_two_statements_in_turn_are_in_two_halves() -> None:
    document = json.loads(levels_alone(JACOBI, "columns", SIZES))
    parts = [part["columns"] for part in document["certificate"]["parts"] if part.get("columns")]
    assert [part["parity"] for part in parts] == [[1]] * len(parts)
    assert parts
    assert not verify(JACOBI, document, SIZES)[0]


CHANGES: list[Callable[[dict[str, Any]], Any]] = [
    lambda part: part["columns"].update(parity=[]),
    lambda part: part["columns"].update(parity=[0, 1]),
    lambda part: part["columns"].update(delta=[1, 1, 0]),
    lambda part: part["columns"].update(ring="{ }"),
    lambda part: part["columns"]["fields"].append(part["columns"]["fields"][0]),
    lambda part: part.update(covector=[3, 1, 1]),
    lambda part: part["shifts"][0].pop(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_other_halves_are_found(change: Callable[[dict[str, Any]], Any]) -> None:
    document = json.loads(written())
    change(next(part for part in document["certificate"]["parts"] if part.get("columns")))
    assert verify(GAUSS_SEIDEL, document, SIZES)[0]
