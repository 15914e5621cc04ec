"""Cells of boxes counted by brute force: none that need no load are taken off that were not counted."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pytest
from tests.affine.derived import flow_of
from tests.affine.orders.boxes.test_boxes import replayed
from tests.samples import samples

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.boxes.cells import Cells, Factors
from shorthaul.affine.orders.boxes.steps import Box, BoxStep
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.tile_policy import Counts
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.tuning import CODE_SLACK
from shorthaul.core.search import Search


@pytest.mark.parametrize("seed", samples(40))
def test_cells_written_first_are_no_more_than_those_counted(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(100):
        extents = tuple(draw.randint(1, 5) for _ in range(draw.randint(1, 3)))
        factors = tuple(tuple(draw.choice((-1, 0, 0, 1, 1, 2)) for _ in extents) for _ in range(draw.randint(1, 3)))
        constants = [tuple(draw.choice((0, 0, 1, 2)) for _ in factors) for _ in range(draw.randint(1, 3))]
        ends = [(min(values), max(values)) for values in zip(*constants, strict=True)]

        def touched(
            ranges: Iterable[range], factors: Factors = factors, constants: list[tuple[int, ...]] = constants
        ) -> set[tuple[int, ...]]:
            return {
                tuple(
                    sum(factor * value for factor, value in zip(row, point, strict=True)) + own
                    for row, own in zip(factors, shift, strict=True)
                )
                for point in product(*ranges)
                for shift in constants
            }

        everything = len(touched(map(range, extents)))
        spread, least = tuple(high - low for low, high in ends), tuple(low for low, _ in ends)
        cells = Cells("a", factors, spread, everything, 1.0, least=least)
        loops = draw.sample(range(len(extents)), draw.randint(0, len(extents)))
        edges = {loop: draw.randint(1, extents[loop]) for loop in loops}
        box = Box(tuple(loops), tuple(edges.values()), (0,) * len(extents))
        last = max((at for at, loop in enumerate(loops) if loop in cells.loops), default=0)
        cut = [
            [range(low, min(low + edges[at], extent)) for low in range(0, extent, edges[at])]
            if at in loops[:last]
            else [range(extent)]
            for at, extent in enumerate(extents)
        ]
        visits = sum(len(touched(item)) for item in product(*cut))
        assert BoxStep.loads(step_of(box, cells, extents), {}, 9) >= visits - everything


def step_of(box: Box, cells: Cells, extents: tuple[int, ...]) -> BoxStep:
    """Return boxes in which one group is accessed, in a memory of nine words."""
    plain = Step(("S0",), None, None, 0.0, Counts(flow_of("gemm"), ()), ())
    return BoxStep(plain, (box,), (9,), (cells,), extents, {"S": 9})


@pytest.mark.costly
@pytest.mark.parametrize("subscripts", ["[i][j]", "[j][i + j]", "[i + j][i]", "[i][2 * j]"])
def test_sums_of_a_step_that_are_written_first(subscripts: str) -> None:
    # a subscript beside the step says the step once more: they are as many cells as one of them says
    program = program_from_text(f"""void f(int n, int m, double A[n + m][n + 2 * m], double x[n]) {{
#pragma scop
      for (int i = 0; i < n; i++) {{
        x[i] = 0;
        for (int j = 0; j < m; j++) {{ A{subscripts} = x[i]; x[i] = A{subscripts} + x[i]; }}
      }}
#pragma endscop
    }}""")
    flow, sizes = flow_dependences(program), {"n": 4, "m": 5, "S": 12}
    boxes = Boxes(flow, sizes, (), slack=CODE_SLACK)  # or the sums stay in memory from turn to turn
    made = boxes.turns.best(boxes.plain(item.name for item in program.statements))
    assert made is not None
    *others, group = made.groups
    assert isinstance(group, BoxStep)
    (box,) = group.boxes
    for edge in (1, 2, 5):
        cut = replace(group, boxes=(replace(box, loops=(0, 1), edges=(1, edge)),))
        here = UpperBound(program, (replace(made, groups=(*others, cut)),))
        loads, exact = replayed(here, flow, sizes)
        assert exact
        assert loads <= cut.loads(sizes, 12)


@pytest.mark.costly
@pytest.mark.parametrize("last", ["c[i][j] /= s;", "c[i][j] = sqrt(c[i][j]) * s;"])
def test_what_follows_a_sum_is_done_while_it_is_held(last: str) -> None:
    """Without iterations of the sum it would come before it: parameters are at least 1."""
    program = program_from_text(f"""void f(int n, int m, double a[n][m], double b[n][m], double c[n][n], double s) {{
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {{
    c[i][j] = 0; for (int k = 0; k < m; k++) c[i][j] += a[i][k] * b[j][k]; {last} }}
#pragma endscop
}}""")
    flow, sizes = flow_dependences(program), {"n": 12, "m": 9, "S": 46}
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=0.4)), flow, sizes, Search(effort=0.2))
    assert len(here.steps) == 1
    loads, exact = replayed(here, flow, sizes)
    assert exact
    assert loads <= here.value(sizes) < 2 * 12 * 12 * 9 / 6 + 12 * 12 / 2
