"""Layers of time steps: every value of one exists before any of the next."""

from __future__ import annotations

import pytest
from tests.affine.derived import bound_of, flow_of

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.lifetime.layers import layers
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
    found = {item.statement: item for item in layers(flow_dependences(program))}
    assert set(found) == {"S1"}
    assert found["S1"].at({"N": 50, "T": 11, "S": 20}) == pytest.approx(10 * (50 - 1 - 20), abs=20)
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
