"""Levels along a covector: seidel-2d and red-black sweeps, whose reads are one level below only in skewed planes."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from tests.affine.derived import bound_of, flow_of

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.partition.stencil_levels import stencils
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.graphs.replay import belady_loads

RED_BLACK = """
void sweep(int n, int t0, double A[n][n]) {
#pragma scop
  for (int t = 0; t < t0; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1 + i % 2; j < n - 1; j += 2)
        A[i][j] = 0.25 * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 2 - i % 2; j < n - 1; j += 2)
        A[i][j] = 0.25 * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
  }
#pragma endscop
}
"""


@pytest.mark.slow
def test_seidel_by_skewed_levels() -> None:
    """Levels 2 t + i: six of the nine reads, a box of 2 x 1 steps, hence half of the leading term of jacobi-2d.

    Double cones show 7 % more.
    """
    (found,) = stencils(flow_of("seidel-2d"))
    assert found.covector == (2, 1, 0)
    assert len(found.shifts[0]) == 6
    assert found.constant == 2 * sympy.sqrt(2)
    quotient = bound_of("jacobi-2d").leading / 2 / bound_of("seidel-2d").leading
    assert 1.06 < 1 / sympy.simplify(quotient) < 1.07


def test_red_black_sweeps_on_half_of_the_lattice() -> None:
    (found,) = stencils(flow_dependences(program_from_text(RED_BLACK)))
    assert found.constant == 2
    assert found.statements == ("S0", "S1")
    assert "along the edges (0, 1, -1), (0, 1, 1)" in found.shape.because


@pytest.mark.slow
def test_the_bound_of_red_black_sweeps() -> None:
    bound = lower_bound(program_from_text(RED_BLACK))
    assert str(bound.leading) == "sqrt(21)*n**2*t0/(3*sqrt(S))"
    assert "(0, 1, -1), (0, 1, 1)" in bound.proof.text()


@pytest.mark.slow
@pytest.mark.parametrize("covector", [(2, 1, 0), (3, 1, 1)])
def test_tiles_of_seidel_need_more(covector: tuple[int, int, int]) -> None:
    """Skewed boxes of the program's own order, at sizes and S where the argument is active."""
    bound = bound_of("seidel-2d")
    sizes = {"TSTEPS": 24, "N": 40}
    cdag = concrete_cdag(bound.program, sizes)
    t, i, j = cdag.coordinates[cdag.inputs :, :3].T
    vertices = np.arange(cdag.inputs, cdag.n)
    active = 0
    for edge in (3, 5, 8):
        planes = (t, t + i, covector[0] * t + covector[1] * i + j) if covector[2] else (t, t + i, 2 * t + i + j)
        order = vertices[np.lexsort((j, i, t, *(plane // edge for plane in reversed(planes))))]
        assert legal(order, cdag)
        for capacity in (10, 16, 24):
            loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
            value = bound.value({**sizes, "S": capacity})
            assert value <= loads
            active += value > cdag.inputs
    assert active > 3


def legal(order: np.ndarray, cdag) -> bool:
    when = np.full(cdag.n, -1)
    when[order] = np.arange(len(order))
    sinks = np.repeat(np.arange(cdag.n), np.diff(cdag.starts))
    return bool((when[cdag.operands] < when[sinks]).all()) and len(order) == cdag.n - cdag.inputs
