"""Stencils with coefficients: the most that a part computes, the value, certificates that are changed."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.proofs.still_values import smaller
from shorthaul.affine.verbs.deriving import bound_of as as_bound

PROGRAM = program_from_text("""void f(int T, int N, double A[T][N], double k[N], double d[N]) {
  for (int t = 1; t < T; t++)
    for (int i = 1; i < N - 1; i++)
      A[t][i] = k[i] * A[t - 1][i - 1] + d[i] * A[t - 1][i] + A[t - 1][i + 1];
}""")
SIZES = {"T": 3_000, "N": 2_000, "S": 50}
NEIGHBOURS = {1: [(-1,), (0,), (1,)], 2: [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]}


def ball(n: int, radius: int) -> list[tuple[int, ...]]:
    line = range(-radius, radius + 1)
    return [(x,) for x in line] if n == 1 else [(x, y) for x in line for y in line if abs(x) + abs(y) <= radius]


@pytest.mark.parametrize(("n", "c"), [(1, 2.0), (2, 8**0.5)])
@pytest.mark.parametrize("values", [1, 2])
def test_no_part_computes_more(n: int, c: float, values: int) -> None:
    """Cylinders that end in a cone, the best parts known, and double cones."""
    closest = 0.0
    for radius in range(1, 6):
        cone = [*range(radius, -1, -1)]
        for rows in ([*reversed(cone[1:]), *cone], *([radius] * long + cone for long in range(0, 4 * radius, 2))):
            part = {(level, *place) for level, size in enumerate(rows) for place in ball(n, size)}
            read = {
                (level - 1, *(a + b for a, b in zip(place, step, strict=True)))
                for level, *place in part
                for step in NEIGHBOURS[n]
            }
            K = len(read - part) + values * len({place[1:] for place in part})
            most = n / ((n + 1) * c) * K ** ((n + 1) / n) / float(smaller(n, values))
            closest = max(closest, len(part) / most)
    assert 0.8 < closest <= 1


@cache
def written() -> str:
    found = lower_bound(PROGRAM, flow=(flow := flow_dependences(PROGRAM)), sizes=SIZES)
    return json.dumps(as_bound(PROGRAM, found, SIZES, flow).document())


def test_the_certificate_is_verified() -> None:
    document = json.loads(written())
    assert any(part.get("stills") for part in document["certificate"]["parts"])
    assert document["value"] >= 3_000 * 2_000 * 5 / 50 / 3  # without still values 3 N T / S, balanced
    assert not verify(PROGRAM, document, SIZES)[0]


K, D = "S0[t, i] -> k[i]", "S0[t, i] -> d[i]"


OTHERS = [
    [[f"[T, N] -> {{ {K} }}"] * 2], [[f"[T, N] -> {{ {K} }}", "[T, N] -> { S0[t, i] -> d[0] }"]],
    [[]], [[f"[T, N] -> {{ {K} : t > 9 }}", f"[T, N] -> {{ {D} }}"]], [[f"[T, N] -> {{ {K} }}", f"[T, N] -> {{ {D} }}"]] * 2,
    [[f"[T, N] -> {{ {K} }}", "[T, N] -> { S0[t, i] -> A[t, i] }"]],
]  # fmt: skip


@pytest.mark.parametrize("changed", [*OTHERS[:1], *(pytest.param(item, marks=pytest.mark.slow) for item in OTHERS[1:])])
def test_other_still_values_are_found(changed: list[Any]) -> None:
    document = json.loads(written())
    part = next(part for part in document["certificate"]["parts"] if part.get("stills"))
    part["stills"] = changed
    assert verify(PROGRAM, document, SIZES)[0]
