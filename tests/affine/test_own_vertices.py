"""Temporaries that are read once do not change what a partition counts, and no play beats it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy
from tests.affine.derived import bound_of, quick
from tests.reference.affine_rewritings import split

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.partition.parts import Part, with_own
from shorthaul.affine.bounds.partition.paths import Path, paths_into
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.model import Program
from shorthaul.affine.verbs.oracle import examine
from shorthaul.affine.workloads.cases import kernel_text
from shorthaul.core.search import Search


@pytest.mark.parametrize("name", quick(["matmul", "syrk", "lu", "convolution-1d", "attention"], ["matmul"]))
def test_a_product_in_two_statements(name: str) -> None:
    bound = lower_bound(program_from_text(split(kernel_text(name))))
    assert sympy.simplify(bound.leading - bound_of(name).leading) == 0
    assert "Lemma (own vertices)." in bound.proof.text()


@pytest.mark.parametrize("name", quick(["jacobi-1d", "heat-1d"], ["heat-1d"]))
def test_a_sum_of_neighbours_in_two_statements(name: str) -> None:
    """Rows hold with own vertices, the balanced form of them, 3/2 times as much on the line, does not."""
    bound = lower_bound(program_from_text(split(kernel_text(name))))
    assert sympy.simplify(3 * bound.leading - 2 * bound_of(name).leading) == 0
    assert "Lemma (own vertices below rows)." in bound.proof.text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["matmul", "syrk", "convolution-1d", "covariance", "jacobi-1d", "seidel-1d", "jacobi-2d"]
)
def test_no_play_beats_the_bound(name: str) -> None:
    program = program_from_text(split(kernel_text(name)))
    flow = flow_dependences(program)
    sizes = [dict.fromkeys(program.parameters, n) for n in (1, 2, 3, 5)]
    findings = examine(flow, lower_bound(program, flow=flow), sizes, Search(effort=20))
    assert findings.comparisons
    assert not findings.violations


def test_a_product_that_two_instances_read_is_not_their_own() -> None:
    text = """void f(int N, double A[N][N], double B[N][N + 1], double C[N][N], double t[N][N + 1][N]) {
#pragma scop
for (int i = 0; i < N; i++) for (int j = 0; j < N + 1; j++) for (int k = 0; k < N; k++) t[i][j][k] = A[i][k] * B[k][j];
for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++) C[i][j] += t[i][j][k] * t[i][j + 1][k];
#pragma endscop
}
"""
    program = program_from_text(text)
    part = Part("S1", program.by_name["S1"].domain, tuple(paths(program)), (0, 1, 2))
    assert not with_own([part])[0].own
    (one,) = with_own([replace(part, paths=part.paths[:1])])
    assert one.own == {"S0"}


def paths(program: Program) -> list[Path]:
    """Return the paths into the second statement by way of the first, those by one read before those by the other."""
    found = [item for item in paths_into(flow_dependences(program), "S1") if len(item.levels) == 2]
    return sorted(found, key=lambda item: item.references)
