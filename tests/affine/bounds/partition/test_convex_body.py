"""The experimental bound by the volume of dependence vectors: off by default, and no play found that beats it."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from tests.affine.derived import bound_of, flow_of, kernel

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.partition.convex_body import hull_volume
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.replay.tiling import Tiling, best_tiling, tile_space
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

NINE = ((0, 0, 1), (0, 1, -1), (0, 1, 0), (0, 1, 1), (1, -1, -1), (1, -1, 0), (1, -1, 1), (1, 0, -1), (1, 0, 0))


@pytest.mark.parametrize(("vectors", "volume"), [
    (((1, 0), (0, 1)), Fraction(1, 2)),
    (((1, 0), (2, 0)), Fraction(0)),
    (((1, 0, 0), (0, 1, 0), (0, 0, 1)), Fraction(1, 6)),
    (NINE, Fraction(5, 3)),
])  # fmt: skip
def test_volumes(vectors: tuple[tuple[int, ...], ...], volume: Fraction) -> None:
    assert hull_volume(vectors) == volume


@pytest.mark.slow
def test_seidel_only_where_asked_for() -> None:
    program, flow = kernel("seidel-2d"), flow_of("seidel-2d")
    plain = bound_of("seidel-2d")
    bold = lower_bound(program, BoundOptions(experimental=True), flow=flow)
    assert all("experimental" not in part.method for part in plain.proof.parts)
    assert [part.method for part in bold.proof.parts] == ["convex body (experimental)"]
    leading = 2 * sympy.sqrt(sympy.Rational(5, 3)) * symbol("N") ** 2 * symbol("TSTEPS") / sympy.sqrt(S)  # 2.582
    assert sympy.simplify(bold.leading - leading) == 0


@pytest.mark.costly
@pytest.mark.parametrize(("name", "choices"), [
    pytest.param("seidel-2d", [{"TSTEPS": 6, "N": 10}, {"TSTEPS": 12, "N": 24}], marks=pytest.mark.slow),
    ("seidel-1d", [{"T": 30, "N": 30}, {"T": 5, "N": 80}]),
    ("lcs", [{"M": 12, "N": 12}, {"M": 60, "N": 60}]),
])  # fmt: skip
def test_no_order_found_beats_it(name: str, choices: list[dict[str, int]]) -> None:
    program, flow = kernel(name), flow_of(name)
    bound = lower_bound(program, BoundOptions(experimental=True), flow=flow)
    for sizes in choices:
        cdag = concrete_cdag(program, sizes, flow)
        for capacity in (11, 16, 30, 60):
            value = bound.value({**sizes, "S": capacity})
            space = tile_space(program, {**sizes, "S": capacity}, cdag)
            assert value <= space.loads(Tiling(), capacity)
            assert value <= best_tiling(space, capacity, Search(), evaluations=40, floor=value)[1]
            order = cdag.program_order
            assert value <= int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
