"""Stencils whose places have values of their own: the most that a part computes, values, certificates changed."""

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

PROGRAM = program_from_text("""void f(int T, int N, double A[T][N], double k[N], double d[N]) {
  for (int t = 1; t < T; t++)
    for (int i = 1; i < N - 1; i++)
      A[t][i] = k[i] * A[t - 1][i - 1] + d[i] * A[t - 1][i] + A[t - 1][i + 1];
}""")
SIZES = {"T": 3_000, "N": 2_000, "S": 50}
NEIGHBOURS: dict[int, list[Place]] = {1: [(-1,), (0,), (1,)], 2: [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]}
CONSTANTS = {1: sympy.Integer(2), 2: 2 * sympy.sqrt(2)}
Place = tuple[int, ...]
#: The first level and the number of instances of every place.
Part = dict[Place, tuple[int, int]]


@cache
def around(place: Place) -> list[Place]:
    return [tuple(a + b for a, b in zip(place, step, strict=True)) for step in NEIGHBOURS[len(place)]]


def double_cone(n: int, radius: int, below: int) -> Part:
    """Return the places of a ball with what lies under a cone above it, and above one cut off below it."""
    places = [at for at in product(range(-radius, radius + 1), repeat=n) if sum(map(abs, at)) <= radius]
    high = {at: radius - sum(map(abs, at)) for at in places}
    return {at: (-min(high[at], below), min(high[at], below) + high[at] + 1) for at in places}


def is_convex(part: Part) -> bool:
    """True if what lies on paths between two instances of a place is in the part."""
    for place, (first, long) in part.items():
        for near in around(place) if long > 2 else ():
            at, more = part.get(near, (0, 0))
            if not more or at > first + 1 or at + more < first + long - 1:
                return False
    return True


def filled(part: Part, n: int, values: int) -> float:
    """Return the instances of a part over U of what it needs."""
    lowest = min(first for first, _ in part.values()) - 1
    inside = {place: ((1 << long) - 1) << (first - lowest) for place, (first, long) in part.items()}  # a bit a level
    read: dict[Place, int] = {}
    for place, levels in inside.items():
        for near in around(place):
            read[near] = read.get(near, 0) | levels >> 1
    K = sum((levels & ~inside.get(place, 0)).bit_count() for place, levels in read.items()) + values * len(part)
    bulk, edge = rates_of(n, values)
    return float(sum(long for _, long in part.values()) / (bulk * K ** ((n + 1) / n) + edge * K))


@cache
def rates_of(n: int, values: int) -> tuple[float, ...]:
    return tuple(map(float, rates(n, CONSTANTS[n], Fraction(values))))


@pytest.mark.parametrize(("n", "values"), quick(product((1, 2), (1, 2, 5)), [(2, 2)]))
def test_no_part_computes_more(n: int, values: int) -> None:
    """Double cones, the best parts known, and these changed by chance."""
    rng, closest = np.random.default_rng(n + values), 0.0
    for radius in range(1, 7):
        for below in range(radius + 1):
            part = double_cone(n, radius, below)
            assert is_convex(part)
            best = filled(part, n, values)
            for _ in range(60):
                place = list(part)[rng.integers(len(part))]
                first, long = part[place]
                by, more = rng.integers(-1, 2, 2)
                changed = {**part, place: (int(first + by), int(long + more))}
                if changed[place][1] > 0 and is_convex(changed) and filled(changed, n, values) >= best:
                    part, best = changed, filled(changed, n, values)
            closest = max(closest, best)
    assert 0.6 < closest <= 1


@cache
def written() -> str:
    return levels_alone(PROGRAM, "columns", SIZES)


def test_the_certificate_is_verified() -> None:
    document = json.loads(written())
    assert any(part.get("columns") for part in document["certificate"]["parts"])
    assert document["value"] >= 700_000  # 5 N T / S with rows of values, 7 N T / S with columns, less borders
    assert not verify(PROGRAM, document, SIZES)[0]


def other_start(text: str) -> Callable[[dict[str, Any]], None]:
    def change(columns: dict[str, Any]) -> None:
        columns["fields"][0]["start"] = [text]

    return change


K = "[T, N] -> { S0[t, i] -> k[i]"
CHANGES: list[Callable[[dict[str, Any]], Any]] = [
    lambda columns: columns["fields"].append(columns["fields"][0]),
    other_start(K + " : t > 9 }"),
    other_start("[T, N] -> { S0[t, i] -> d[0] }"),
    other_start("[T, N] -> { S0[t, i] -> A[t, i] }"),
    lambda columns: columns.update(ring="{ }"),
    lambda columns: columns.update(delta=[1, 1]),
    lambda columns: columns.update(offsets=[[0, 1]]),
    lambda columns: columns.update(fields=[]),
]


@pytest.mark.parametrize(
    "change", [*CHANGES[:1], *(pytest.param(item, marks=pytest.mark.slow) for item in CHANGES[1:])]
)
def test_other_values_are_found(change: Callable[[dict[str, Any]], Any]) -> None:
    document = json.loads(written())
    change(next(part for part in document["certificate"]["parts"] if part.get("columns"))["columns"])
    assert verify(PROGRAM, document, SIZES)[0]


@pytest.mark.slow
def test_fields_read_at_their_place_are_values() -> None:
    """A field that spreads and one that does not: each place has a value of both, but one border."""
    program = program_from_text("""void f(int T, int N, double U[T][N][N], double V[T][N][N]) {
      for (int t = 1; t < T; t++)
        for (int i = 1; i < N - 1; i++)
          for (int j = 1; j < N - 1; j++) {
            U[t][i][j] = U[t-1][i][j] + U[t-1][i-1][j] + U[t-1][i+1][j] + U[t-1][i][j-1] + U[t-1][i][j+1] - V[t-1][i][j];
            V[t][i][j] = V[t-1][i][j] + U[t-1][i][j];
          }
    }""")
    sizes = {"T": 300, "N": 1_200, "S": 4_096}
    found = lower_bound(program, flow=(flow := flow_dependences(program)), sizes=sizes, search=Search(effort=0.3))
    assert found.value(sizes) >= 22_000_000
    assert not verify(program, as_bound(program, found, sizes, flow).document(), sizes)[0]
