"""Two fields that are coupled at their place, one step before: reaction and diffusion, two species on a line."""

from __future__ import annotations

import itertools
import json
import math
import random
from functools import cache

import numpy as np
import pytest
import sympy
from tests.affine.derived import quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.coupled import coupled, of_two
from shorthaul.affine.bounds.partition.isoperimetry import Shape
from shorthaul.affine.bounds.partition.stencil_levels import sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.graphs.replay import belady_loads

TEXTS = {
    "line": """void f(int T, int N, double u[T][N], double v[T][N]) {
#pragma scop
for (int t = 1; t < T; t++)
  for (int i = 1; i < N - 1; i++) {
    u[t][i] = u[t - 1][i - 1] + u[t - 1][i] + u[t - 1][i + 1] - v[t - 1][i];
    v[t][i] = v[t - 1][i - 1] + v[t - 1][i] + v[t - 1][i + 1] + u[t - 1][i];
  }
#pragma endscop
}""",
    "plane": """void f(int T, int N, double u[T][N][N], double v[T][N][N]) {
#pragma scop
for (int t = 1; t < T; t++)
  for (int i = 1; i < N - 1; i++)
    for (int j = 1; j < N - 1; j++) {
      u[t][i][j] = u[t - 1][i][j] + u[t - 1][i - 1][j] + u[t - 1][i + 1][j] + u[t - 1][i][j - 1] + u[t - 1][i][j + 1]
        - v[t - 1][i][j];
      v[t][i][j] = v[t - 1][i][j] + v[t - 1][i - 1][j] + v[t - 1][i + 1][j] + v[t - 1][i][j - 1] + v[t - 1][i][j + 1]
        + u[t - 1][i][j];
    }
#pragma endscop
}""",
    "copied back": """void f(int T, int N, double u[N], double v[N], double p[N], double q[N]) {
#pragma scop
for (int t = 0; t < T; t++) {
  for (int i = 1; i < N - 1; i++) {
    p[i] = u[i - 1] + u[i] + u[i + 1] - v[i];
    q[i] = v[i - 1] + v[i] + v[i + 1] + u[i];
  }
  for (int i = 1; i < N - 1; i++) {
    u[i] = p[i];
    v[i] = q[i];
  }
}
#pragma endscop
}""",
}

CROSS = Shape("a cross", "", kind="cross")


@cache
def program(name: str) -> Program:
    return program_from_text(TEXTS[name])


def test_one_way_is_no_coupling() -> None:
    text = TEXTS["line"].replace(" - v[t - 1][i];", ";")
    assert not list(coupled(flow_dependences(program_from_text(text))))


@pytest.mark.parametrize("n", [1, 2])
def test_the_inequality(n: int) -> None:
    """Places of two fields, grown one by one at random or near the origin."""
    drawn = random.Random(n)
    near = [tuple(sign * (axis == at) for at in range(n)) for axis in range(n) for sign in (-1, 1)] + [(0,) * n]
    c = float(of_two(n, sympy.Integer(2) if n == 1 else 2 * sympy.sqrt(2), CROSS) or math.inf)
    for lean in (0.2, 0.5, 0.8):
        fields: tuple[set[tuple[int, ...]], set[tuple[int, ...]]] = (set(), set())
        for _ in range(60):
            field = fields[drawn.random() < lean]
            free = [p for p in itertools.product(range(-6, 7), repeat=n) if p not in field]
            field.add(min(free, key=lambda p: (sum(map(abs, p)), drawn.random())) if free else (len(field),) * n)
            grown = [{tuple(a + b for a, b in zip(p, e, strict=True)) for p in one for e in near} for one in fields]
            read = len(grown[0] | fields[1]) + len(grown[1] | fields[0])
            size = len(fields[0]) + len(fields[1])
            assert read >= size + c * size ** ((n - 1) / n) - 1e-9
            assert n == 1 or size == 1 or read >= size + 4 * math.sqrt(size - 2) + 4 - 1e-9


@pytest.mark.costly
@pytest.mark.parametrize(("name", "steps", "n"), quick(
    [("line", 20, 30), ("line", 30, 20), ("plane", 8, 9), ("plane", 6, 12)], [("line", 20, 30)]
))  # fmt: skip
def test_no_skewed_order_beats_it(name: str, steps: int, n: int) -> None:
    flow = flow_dependences(program(name))
    cdag = concrete_cdag(program(name), {"T": steps, "N": n}, flow)
    computed = cdag.program_order
    at = cdag.coordinates[computed].T
    t, places = at[0], [at[axis] for axis in range(1, at.shape[0]) if len(set(at[axis])) > 1]
    skewed = [t + place for place in places[: 1 if name == "line" else 2]]
    (item,) = coupled(flow)
    value = sub_bound(item, flow, balanced=True).value
    active = 0
    for capacity in (8, 12, 20):
        sizes = {"T": steps, "N": n, "S": capacity}
        bound = number_at(value, sizes)
        orders = []
        for wide, high in itertools.product((1, 2, 3, 5), (2, 3, 5, steps)):
            tiles = [x // wide for x in skewed]
            orders.append(computed[np.lexsort((*places, t, *tiles, t // high))])
        least = min(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders)
        assert cdag.inputs + bound <= least
        active += bound > 0
    assert active or name == "plane"  # small planes have too many borders


SIZES = {"T": 400, "N": 500, "S": 60}


@cache
def written(name: str) -> str:
    found = lower_bound(program(name), flow=(flow := flow_dependences(program(name))), sizes=SIZES)
    return json.dumps(as_bound(program(name), found, SIZES, flow).document())


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_the_certificate_is_verified(name: str) -> None:
    document = json.loads(written(name))
    assert any(part.get("coupled") for part in document["certificate"]["parts"])
    assert not verify(program(name), document, SIZES)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "value"), [
    ("coupled", False), ("sources", "{ }"), ("ends", "{ }"), ("shifts", [[[-1, 0], [-1, 1]], [[-1, -1], [-1, 0]]]),
    ("sources_count", "0"), ("events", "7"), ("covector", [1, 1]),
])  # fmt: skip
def test_a_changed_certificate_is_found(key: str, value: object) -> None:
    document = json.loads(written("line"))
    part = next(part for part in document["certificate"]["parts"] if part.get("coupled"))
    part[key] = value
    assert verify(program("line"), document, SIZES)[0]


def test_constants() -> None:
    assert of_two(2, 2 * sympy.sqrt(2), CROSS) == 4 == of_two(2, sympy.Integer(4), Shape("", "", balls=False))
    assert of_two(2, sympy.sqrt(2), CROSS) is None is of_two(2, 2 * sympy.sqrt(2), Shape("", "", balls=False))
