"""Layers of time steps: every value of one exists before any of the next."""

from __future__ import annotations

import json
from functools import cache

import pytest
from tests.affine.derived import alone, bound_of, flow_of

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.lifetime.layers import layers, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.graphs.replay import belady_loads

TWO_SCANS = """void scans(int N, int T, double a[N], double b[N]) {
#pragma scop
for (int t = 0; t < T; t++) {
  for (int i = 1; i < N; i++) b[i] = b[i - 1] + a[i];
  for (int i = N - 2; i >= 1; i--) a[i] = a[i + 1] + b[i];
}
#pragma endscop
}
"""


@pytest.mark.slow
def test_adi_where_a_row_fits_and_a_plane_does_not() -> None:
    bound = bound_of("adi")
    for n, steps in ((8, 3), (14, 4)):
        cdag = concrete_cdag(bound.program, {"N": n, "TSTEPS": steps})
        for capacity in (10, 2 * n, 3 * n, 5 * n, n * n // 2, n * n):
            loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, capacity).sum())
            value = bound.value({"N": n, "TSTEPS": steps, "S": capacity})
            assert value <= loads
            if capacity <= n * n // 2:
                assert value >= cdag.inputs + (steps - 1) * ((n - 2) ** 2 - capacity + 1)


def test_scans_there_and_back() -> None:
    """All of a at step t is an ancestor of all of a at step t + 1; along a line that goes one way only nothing is."""
    program = program_from_text(TWO_SCANS)
    (found,) = layers(flow_dependences(program))
    assert found.statement == "S1"
    assert found.at({"N": 50, "T": 11, "S": 20}) == pytest.approx(10 * (50 - 1 - 20), abs=20)
    bound = lower_bound(program)
    for n, steps in ((2, 2), (3, 4), (9, 5), (30, 6)):
        cdag = concrete_cdag(program, {"N": n, "T": steps})
        for capacity in (3, 4, 5, n, 2 * n):
            if capacity >= 3:
                order = cdag.program_order
                loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
                assert bound.value({"N": n, "T": steps, "S": capacity}) <= loads
    one_way = program_from_text(
        TWO_SCANS.replace("int i = N - 2; i >= 1; i--) a[i] = a[i + 1]", "int i = 1; i < N; i++) a[i] = a[i - 1]")
    )
    assert not list(layers(flow_dependences(one_way)))


def test_no_layers_in_a_stencil() -> None:
    """A vertex does not need the whole step before."""
    assert not list(layers(flow_of("heat-1d")))


BORDERS = """void steps(int T, int N, double u[N][N], double d[N][N], double c[N]) {
#pragma scop
for (int t = 0; t < T; t++) {
  for (int i = 0; i < N; i++) {
    d[i][0] = u[i][0];
    for (int j = 1; j < N; j++) d[i][j] = (u[i][j] + d[i][j - 1]) * c[j];
    u[i][N - 1] = d[i][N - 1];
    for (int j = N - 2; j >= 0; j--) u[i][j] = d[i][j] + c[j] * u[i][j + 1];
  }
  for (int j = 0; j < N; j++) {
    d[0][j] = u[0][j];
    for (int i = 1; i < N; i++) d[i][j] = (u[i][j] + d[i - 1][j]) * c[i];
    u[N - 1][j] = d[N - 1][j];
    for (int i = N - 2; i >= 0; i--) u[i][j] = d[i][j] + c[i] * u[i + 1][j];
  }
}
#pragma endscop
}
"""


@pytest.mark.slow
def test_paths_of_all_places_before_those_of_a_border() -> None:
    """A copied border has shorter paths, but few; the layers of the others are worth nearly a plane each."""
    program = program_from_text(BORDERS)
    sizes = {"N": 60, "T": 20, "S": 200}
    found = lower_bound(program, sizes=sizes)
    assert found.value(sizes) >= 60**2 + 18 * (58**2 - 200)
    for n, steps in ((4, 4), (7, 3)):
        cdag = concrete_cdag(program, {"N": n, "T": steps})
        for capacity in (4, n, 2 * n, n * n // 2):
            order = cdag.program_order
            loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
            assert found.value({"N": n, "T": steps, "S": capacity}) <= loads


INSIDE = """void steps(int N, int T, double a, double u[N][N], double v[N][N], double d[N][N], double c[N]) {
#pragma scop
for (int t = 0; t < T; t++) {
  for (int i = 1; i < N - 1; i++) {
    for (int j = 1; j < N - 1; j++) d[i][j] = (u[i - 1][j] + u[i][j] + u[i + 1][j] + a * d[i][j - 1]) * c[j];
    for (int j = N - 2; j >= 1; j--) v[i][j] = d[i][j] - c[j] * v[i][j + 1];
  }
  for (int j = 1; j < N - 1; j++) {
    for (int i = 1; i < N - 1; i++) d[i][j] = (v[i][j - 1] + v[i][j] + v[i][j + 1] + a * d[i - 1][j]) * c[i];
    for (int i = N - 2; i >= 1; i--) u[i][j] = d[i][j] - c[i] * u[i + 1][j];
  }
}
#pragma endscop
}
"""
SIZES = {"N": 8, "T": 5, "S": 10}


@cache
def written() -> str:
    flow = flow_dependences(program_from_text(INSIDE))
    first = next(item for item in layers(flow) if item.statement == "S0")
    return alone(flow, sub_bound(first, flow), SIZES)


def test_the_certificate_is_verified() -> None:
    document = json.loads(written())
    part = document["certificate"]["parts"][0]
    assert (part["kind"], part["statements"]) == ("layers", ["S0"])
    assert not verify(program_from_text(INSIDE), document, SIZES)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "value"), [
    ("statements", ["S1"]), ("statements", ["S0", "S1"]), ("ancestors", "{ }"), ("way", []), ("spill", "{ }"), ("layers", "{ }"),
    ("layers", "[N, T] -> { S0[t, i, j] -> layer[0] : 0 <= t < T and 0 < i < N - 1 and 0 < j < N - 1 }"),
    ("layers", "[N, T] -> { S0[t, i, j] -> layer[2 * t] : 0 <= t < T and 0 < i < N - 1 and 0 < j < N - 1 }"),
])  # fmt: skip
def test_a_changed_certificate_is_found(key: str, value: object) -> None:
    document = json.loads(written())
    document["certificate"]["parts"][0][key] = value
    assert verify(program_from_text(INSIDE), document, SIZES)[0]
