"""Programs that are tiled already: loops over tiles follow from the loops inside and take no part in bounds."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from tests.affine.derived import flow_of, kernel, quick
from tests.reference.affine_rewritings import rewritten

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.check.plan_check import check_plan
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.divisions import has_divisions
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.orders.upper_bound import upper_bound
from shorthaul.affine.verbs.oracle import examine
from shorthaul.affine.verbs.planning import plan
from shorthaul.affine.workloads.cases import FURTHER, POLYBENCH, kernel_text
from shorthaul.core.search import Search

HEAD = "#define min(a, b) ((a) < (b) ? (a) : (b))\nvoid f(int n, double A[n][n], double B[n][n], double C[n][n]) {\n#pragma scop\n"
TILED = {
    "product": (
        (
            "for (int ii = 0; ii < n; ii += 3) for (int jj = 0; jj < n; jj += 3) for (int kk = 0; kk < n; kk += 3)\n"
            "for (int i = ii; i < min(ii + 3, n); i++) for (int j = jj; j < min(jj + 3, n); j++)\n"
            "for (int k = kk; k < min(kk + 3, n); k++) C[i][j] += A[i][k] * B[k][j];"
        ),
        2,
    ),
    "rows in strips, columns backwards": (
        (
            "for (int ii = 0; ii < n; ii += 2) for (int i = ii; i < ii + 2 && i < n; i++)\n"
            "for (int j = n - 1; j >= i; j--) for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[j][k];"
        ),
        1,
    ),
}


@pytest.mark.parametrize("name", quick(TILED, set(TILED) - {"product"}))
def test_bounds_of_tiled_programs(name: str) -> None:
    """As high as those of the program without tiles, with orders to match, and no play beats them."""
    body, factor = TILED[name]
    program = program_from_text(f"{HEAD}{body}\n#pragma endscop\n}}\n")
    assert program.statements[0].iterators == ("i", "j", "k")
    flow = flow_dependences(program)
    bound = lower_bound(program, flow=flow)
    leading = factor * symbol("n") ** 3 / sympy.sqrt(symbol("S"))
    assert sympy.simplify(bound.leading - leading) == 0
    assert float((upper_bound(program, flow=flow).leading / leading).subs(symbol("S"), 1)) <= 1.5
    findings = examine(flow, bound, [{"n": n} for n in (1, 3)], Search())
    assert not findings.violations
    assert any(item.proven for item in findings.comparisons)


@pytest.mark.costly
@pytest.mark.parametrize("name", quick((*POLYBENCH, *FURTHER), ("cholesky", "nussinov", "seidel-1d")))
def test_the_flow_of_a_kernel_in_tiles_is_that_of_the_kernel(name: str) -> None:
    """Of what isl does with remainders some is wrong: the loops over tiles have numbers without gaps, so there are none."""
    sizes = dict.fromkeys(kernel(name).parameters, 5 if len(kernel(name).parameters) < 5 else 3)
    tiles = flow_dependences(program_from_text(rewritten(kernel_text(name), "tiled", sizes)))
    assert len(tiles.flows) == len(flow_of(name).flows)
    for one, other in zip(tiles.flows, flow_of(name).flows, strict=True):
        assert (one.source, one.reference.tag) == (other.source, other.reference.tag)
        assert one.relation.is_equal(other.relation)
        assert not has_divisions(one.relation)


@pytest.mark.slow
def test_plans_of_tiled_programs_are_replayed() -> None:
    program = program_from_text(f"{HEAD}{TILED['product'][0]}\n#pragma endscop\n}}\n")
    made = plan(program, size="n=5,S=12", evaluations=8)
    assert made.plan is not None
    report = check_plan(program, made.plan)
    assert report.ok
    assert report.cost == made.cost
    given = made.plan
    assert sorted(map(tuple, given.iterations.tolist())) == sorted(np.ndindex(5, 5, 5))
