"""Ranges of a loop with boxes of their own: replayed, they are legal and load no more than said."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.affine.orders.boxes.test_boxes import replayed

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.joining.ranges import Ranges, in_ranges
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.core.search import Search

#: Steps that need less and less, or more and more: tables over intervals, sums over pairs, factorisations, a solver.
STEPS = (
    """for (int i = n - 1; i >= 0; i--) {{ C[i][i] = w[i][i]; for (int j = i + 1; j < n; j++) {{ double best = 0;
         for (int k = i + {0}; k < j; k++) best = fmin(best, C[i][k] + C[k + {1}][j]); C[i][j] = best + w[i][{2}]; }} }}""",
    """for (int i = 0; i < n; i++) {{ c[i] = 0; for (int j = 0; j < i; j++) for (int k = 0; k < {2}; k++)
         c[i] += A[i][j] * A[j][k] * A[i][k]; }}""",
    """for (int k = 0; k < n; k++) for (int j = k + {0}; j < n; j++) {{ double s = 0;
         for (int i = k + {0}; i < m; i++) s += A[i][k] * A[i][j];
         for (int i = k + {0}; i < m; i++) A[i][j] -= A[i][k] * s; }}""",
    """for (int k = 0; k < n; k++) {{ A[k][k] = sqrt(A[k][k]); for (int i = k + 1; i < n; i++) A[i][k] /= A[k][k];
         for (int i = k + 1; i < n; i++) for (int j = k + {1}; j <= i; j++) A[i][j] -= A[i][k] * A[j][k]; }}""",
    """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {{ for (int k = 0; k < i; k++)
         B[i][j] -= A[i][k] * B[k][j]; B[i][j] /= A[i][i]; }}""",
    """for (int k = 0; k < n; k++) for (int i = k; i < n; i++) {{ c[i] = c[i] + A[k][i] * c[k];
         for (int j = {0}; j < m; j++) B[i][j] += A[k][i] * B[k][j]; }}""",
    """for (int d = 1; d < n; d++) for (int i = 0; i < n - d; i++) {{ double s = w[i][i + d];
         for (int k = i; k < i + d; k++) s = fmax(s, C[i][k] + C[k + {0}][i + d]); C[i][i + d] = s; }}""",
)


def random_text(draw: random.Random) -> str:
    """Return steps of one kind with borders and shifts drawn."""
    step = draw.choice(STEPS).format(draw.choice("01"), draw.choice("01"), draw.choice("ij"))
    arrays = ", ".join([*(f"double {name}[n + m + 2][n + m + 2]" for name in "ABCw"), "double c[n + m + 2]"])
    return f"void f(int n, int m, {arrays}) {{\n#pragma scop\n{step}\n#pragma endscop\n}}"


@pytest.mark.costly
@pytest.mark.parametrize("seed", [13, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(100, 200))])
def test_ranges_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(random_text(draw))
    flow = flow_dependences(program)
    sizes = {"n": draw.randint(8, 22), "m": draw.randint(8, 30), "S": draw.randint(12, 90)}
    sizes = {name: value for name, value in sizes.items() if name in (*program.parameters, "S")}
    boxes = Boxes(flow, sizes, ())
    made = boxes.of(item.name for item in program.statements)
    found = None if made is None else in_ranges(boxes, made)
    if made is None or found is None:
        return
    loads, _ = replayed(UpperBound(program, (found,)), flow, sizes)
    assert loads <= found.rate < made.rate


@pytest.mark.slow
def test_intervals_load_less_where_they_are_short() -> None:
    program = program_from_text(f"void f(int n, double w[n][n], double C[n][n]) {{ {STEPS[0].format(1, 1, 'j')} }}")
    boxes = Boxes(flow_dependences(program), {"n": 16, "S": 40}, ())
    made = boxes.of(item.name for item in program.statements)
    assert made is not None
    found = in_ranges(boxes, made)
    assert found is not None
    loads, _ = replayed(UpperBound(program, (found,)), boxes.flow, boxes.sizes)
    assert loads <= found.rate < 0.9 * made.rate


def test_what_all_of_a_panel_reads_at_once_needs_a_word() -> None:
    program = program_from_text(f"void f(int n, double A[n][n], double c[n]) {{ {STEPS[1].format('', '', 'j')} }}")
    boxes = Boxes(flow_dependences(program), {"n": 16, "S": 40}, ())
    made = boxes.of(item.name for item in program.statements)
    assert made is not None
    found = in_ranges(boxes, made)
    assert found is not None
    assert any(item.inside for item in found.boxes)
    loads, _ = replayed(UpperBound(program, (found,)), boxes.flow, boxes.sizes)
    assert loads <= found.rate < 0.9 * made.rate


@pytest.mark.slow
def test_short_intervals_come_first_where_these_are_ranges() -> None:
    program = program_from_text(f"void f(int n, double w[n][n], double C[n][n]) {{ {STEPS[0].format(1, 1, 'j')} }}")
    boxes = Boxes(flow_dependences(program), {"n": 24, "S": 50}, ())
    made = boxes.of(item.name for item in program.statements)
    assert made is not None
    ranges = Ranges.along(boxes, made, made.box.loops[0])
    assert ranges is not None
    (one,) = ranges.of_distances()
    parts = one.parts([9])
    found = [one.in_boxes(parts, *ends) for ends in ((one.first, 9), (9, one.end))]
    steps = tuple(item for item in found if item is not None)
    assert len(steps) == 2
    order = PassedStep(made.plain, steps, parts, made, ranges=True)
    loads, _ = replayed(UpperBound(program, (order,)), boxes.flow, boxes.sizes)
    assert loads <= order.rate < made.rate


def test_what_has_no_room_is_counted_at_every_step() -> None:
    """Two reflectors and a column fit from some step on: before it, less and less of them is left out."""
    program = program_from_text(f"void f(int n, int m, double A[m][m]) {{ {STEPS[2].format(1, 1, 'j')} }}")
    boxes = Boxes(flow_dependences(program), {"n": 20, "m": 44, "S": 120}, ())
    made = boxes.of(item.name for item in program.statements)
    found = None if made is None else in_ranges(boxes, made)
    assert found is not None
    first = found.boxes[0]
    assert isinstance(first, BoxStep)
    assert first.left_out
    at_once = replace(first, spilled=tuple(replace(item, along=-1, by_place=()) for item in first.spilled))
    assert first.rate < 0.94 * at_once.rate
    loads, _ = replayed(UpperBound(program, (found,)), boxes.flow, boxes.sizes)
    assert loads <= found.rate


def test_a_range_without_instances_is_left_out() -> None:
    """With steps of 3 there are values between two of the loop."""
    program = program_from_text("""void f(int n, double A[n], double C[n][n]) {
      for (int i = 0; i < n; i++) for (int j = i; j < n; j += 3) for (int k = 0; k < n; k++) A[k] = C[j][i]; }""")
    flow, sizes = flow_dependences(program), {"n": 8, "S": 6}
    upper = upper_bound(program, flow=flow, search=Search(effort=0.5))
    here = at_sizes(upper, flow, sizes, Search(effort=1))
    loads, _ = replayed(here, flow, sizes)
    assert loads <= here.value(sizes)
