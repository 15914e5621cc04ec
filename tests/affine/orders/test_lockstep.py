"""Two steps in lock-step: replayed, orders are legal and load no more than said, and a matrix 3/4 of once a step."""

from __future__ import annotations

import random

import pytest
from tests.affine.orders.boxes.test_boxes import replayed

from shorthaul.affine import bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.boxes.steps import Between, BoxStep
from shorthaul.affine.orders.joining.lockstep import LockstepGroups, in_lockstep, two_steps
from shorthaul.affine.orders.placement import as_written
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.core.search import Search

#: What gives y from x: a product by rows or by columns, with a triangle, a scalar, two matrices, another vector.
PRODUCTS = (
    "for (int i = 0; i < n; i++) { y[i] = 0; for (int j = 0; j < n; j++) y[i] += A[i][j] * x[j]; }",
    "for (int i = n - 1; i >= 0; i--) { y[i] = b[i]; for (int j = n - 1; j >= 0; j--) y[i] -= A[j][i] * x[j]; }",
    "for (int i = 0; i < n; i++) { double s = b[i]; for (int j = 0; j <= i; j++) s = fmin(s, A[i][j] + x[j]); y[i] = s; }",
    "for (int i = 0; i < n; i++) y[i] = x[i]; for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) y[i] += A[i][j] * x[j];",
    "for (int i = 0; i < n; i++) { double s = 0; for (int j = i; j < n; j++) s += A[i][j] * x[j] + B[i][j] * z[j]; y[i] = s; }",
    "for (int i = 0; i < n; i++) { y[i] = 0; for (int j = 0; j < n; j++) { y[i] += A[i][j] * x[j]; y[i] += B[j][i] * x[j]; } }",
)  # fmt: skip
#: What gives the next x.
UPDATES = (
    "for (int i = 0; i < n; i++) x[i] = y[i];",
    "for (int i = n - 1; i >= 0; i--) x[i] += y[i] * b[i];",
    "for (int i = 0; i < n; i++) { z[i] = x[i]; x[i] = y[i] - z[i]; }",
    "for (int i = 1; i < n; i++) x[i] = y[i] + y[i - 1];",
    "for (int i = 0; i < n; i++) { z[i] = tanh(y[i]) + z[i]; x[i] = y[i] * z[i]; }",
)
LOOPS = ("for (int t = 0; t < T; t++)", "for (int t = 1; t <= T; t++)", "for (int t = T; t > 0; t--)")


def text_of(loop: str, body: str) -> str:
    """Return a program."""
    return (
        "void f(int T, int n, double A[n][n], double B[n][n], double x[n], double y[n], double z[n], double b[n]) {\n"
        f"#pragma scop\n{loop} {{ {body} }}\n#pragma endscop\n}}"
    )


@pytest.mark.costly
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 7, *range(10, 110)))])
def test_two_steps_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(text_of(draw.choice(LOOPS), f"{draw.choice(PRODUCTS)} {draw.choice(UPDATES)}"))
    flow, sizes = (
        flow_dependences(program),
        {"T": draw.randint(2, 5), "n": draw.randint(3, 12), "S": draw.randint(8, 60)},
    )
    boxes = Boxes(flow, sizes, ())
    made = two_steps(boxes, boxes.plain(item.name for item in program.statements))
    if made is not None:
        here = UpperBound(program, (made,))
        loads, exact = replayed(here, flow, sizes)
        assert bound(program, size=sizes, upper=False, effort=0.1).bound.value <= loads
        assert loads <= here.value(sizes) or not exact


@pytest.mark.slow
@pytest.mark.parametrize(("product", "words"), [(0, 2000), (0, 500), (1, 2000), (3, 2000)])
def test_two_steps_load_a_matrix_one_and_a_half_times(product: int, words: int) -> None:
    program = program_from_text(text_of(LOOPS[0], f"{PRODUCTS[product]} {UPDATES[0]}"))
    flow, sizes = flow_dependences(program), {"T": 10, "n": 400, "S": words}
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=1)), flow, sizes, Search(effort=1))
    assert here.value(sizes) < 0.86 * 10 * 400**2


def test_what_rows_and_columns_of_a_matrix_visit_is_held_between() -> None:
    program = program_from_text(text_of(LOOPS[0], f"{PRODUCTS[0]} {UPDATES[0]}"))
    flow, sizes = flow_dependences(program), {"T": 4, "n": 12, "S": 100}
    lockstep = in_lockstep(flow, as_written(program.statements), 1, 0, passing=True)
    assert lockstep is not None
    apart, at_once = (
        Boxes(lockstep.parts.flow, sizes, (), given=lockstep.placement, fixed=fixed) for fixed in ({}, {1: 1})
    )
    plain = Boxes(flow, sizes, ()).plain(item.name for item in program.statements)
    made = LockstepGroups(apart, at_once, (), lockstep, 1).best(plain)
    assert made is not None
    held = [item for item in made.groups if isinstance(item, BoxStep) and item.between.saved]
    assert [item.between for item in held] == [Between((("A", 126),), 38)]
    assert all(item.room <= 100 for item in held)
    loads, exact = replayed(UpperBound(program, (made,)), flow, sizes)
    assert exact
    assert loads <= made.rate < 4 * 12 * 12
