"""What is alive inside of a box: rows that slide, sweeps to and fro, replayed with the memory that is said to do."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.affine.derived import flow_of
from tests.affine.orders.boxes.test_boxes import replayed
from tests.affine.orders.test_sized_turns import in_a_loop
from tests.samples import samples

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.boxes.steps import Box, BoxStep
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.core.search import Search

#: Lines one after the other that read their neighbours, forwards and back, in rows and columns.
SWEEPS = (
    """for (int i = 1; i < n - 1; i++) {
      for (int j = 1; j < n - 1; j++) {a}[i][j] = {b}[i - 1][j] + {b}[i + 1][j] + {a}[i][j - 1];
      for (int j = n - 2; j >= 1; j--) {c}[i][j] = {a}[i][j] * {c}[i][j + 1] + s; }""",
    """for (int j = 1; j < n - 1; j++) {
      for (int i = 1; i < n - 1; i++) {a}[i][j] = {b}[i][j - 1] - {b}[i][j + 1] + {a}[i - 1][j];
      for (int i = n - 2; i >= 1; i--) {c}[j][i] = {a}[i][j] * {c}[j][i + 1]; }""",
    """for (int i = n - 2; i >= 1; i--) { x[0] = s;
      for (int j = 1; j < n; j++) x[j] = {b}[i + 1][j] * x[j - 1] + {b}[i][j];
      for (int j = n - 2; j >= 0; j--) {a}[i][j] = x[j] + {a}[i][j + 1]; }""",
    """for (int i = 1; i < n - 1; i++) for (int j = 0; j < n; j++)
      {a}[i][j] = {b}[i - 1][j] + {b}[i][j] + {b}[i + 1][n - 1 - j];""",
    """for (int i = 2; i < n; i++) for (int j = 1; j < n; j++)
      {a}[j][i] += {a}[j][i - 2] * {b}[j][i] + {a}[j - 1][i - 1];""",
)


@pytest.mark.parametrize("seed", samples(4))
def test_sweeps_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    nests = [draw.choice(SWEEPS) for _ in range(draw.randint(1, 2))]
    for name, arrays in {"{a}": "AB", "{b}": "ABC", "{c}": "ABC"}.items():
        nests = [item.replace(name, draw.choice(arrays)) for item in nests]
    program = program_from_text(in_a_loop("\n".join(nests)))
    flow = flow_dependences(program)
    upper = upper_bound(program, flow=flow, search=Search(effort=0.2))
    for _ in range(2):
        sizes = {"T": draw.randint(2, 4), "n": draw.randint(5, 12), "S": draw.randint(12, 50)}
        here = at_sizes(upper, flow, sizes, Search(effort=0.2))
        loads, exact = replayed(here, flow, sizes)
        assert loads <= here.value(sizes) or not exact


#: First rows and columns, and what a cell is made of.
FIRST = (
    "",
    "for (int i = 0; i <= m; i++) D[i][0] = i; for (int j = 1; j <= n; j++) D[0][j] = j;",
    "for (int j = 0; j <= n; j++) D[0][j] = a[0]; for (int i = 1; i <= m; i++) D[i][0] = b[0] + i;",
    "for (int j = n; j >= 0; j--) { D[0][j] = 0; E[0][j] = b[j]; }",
    "for (int i = 0; i <= m; i++) { D[i][0] = 0; D[i][1] = a[i]; }",
)
CELLS = (
    "D[i][j] = fmin(D[i - 1][j], D[i][j - 1]) + fmin(D[i - 1][j - 1], a[i] * b[j]);",
    "E[i][j] = fmax(E[i - 1][j], D[i - 1][j] - 2); D[i][j] = fmax(E[i][j], D[i - 1][j - 1] + a[i] * b[j]);",
    "D[i][j] = D[i - 1][j] + D[i - 2][j - 1] * b[j];",
    "E[i][j] = D[i - 1][j] + a[i]; D[i][j] = E[i][j] + D[i][j - 2] + E[i][j - 1];",
)


@pytest.mark.costly
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 80))])
def test_recurrences_in_the_plane_with_first_rows(seed: int) -> None:
    draw = random.Random(seed)
    loops = f"for (int i = {draw.choice('12')}; i <= m; i++) for (int j = {draw.choice('12')}; j <= n; j++)"
    arrays = "double a[m + 1], double b[n + 1], double D[m + 1][n + 1], double E[m + 1][n + 1]"
    text = f"{draw.choice(FIRST)} {loops} {{ {draw.choice(CELLS)} }}"
    program = program_from_text(f"void f(int m, int n, {arrays}) {{\n#pragma scop\n{text}\n#pragma endscop\n}}")
    flow = flow_dependences(program)
    sizes = {"m": draw.randint(3, 12), "n": draw.randint(3, 12), "S": draw.randint(8, 40)}
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=1)), flow, sizes, Search(effort=3))
    loads, exact = replayed(here, flow, sizes)
    assert loads <= here.value(sizes) or not exact


@pytest.mark.costly
@pytest.mark.parametrize("names", [("S16", "S17", "S19"), ("S23", "S24", "S26")])
def test_half_steps_to_and_fro_load_every_line_once(names: tuple[str, ...]) -> None:
    """Two lines of what is read and one of both factors are alive: three would not fit."""
    sizes = {"TSTEPS": 3, "N": 200, "S": 4 * 198 + 12}
    found = Boxes(flow_of("adi"), sizes, ()).turns.made(names)
    assert isinstance(found, BoxStep)
    assert found.touched > sizes["S"] >= found.room
    assert found.rate < 1.05 * 3 * 200**2


def test_two_of_three_rows_are_alive() -> None:
    program = program_from_text("""void f(int n, int m, double a[n][m], double b[n][m]) {
#pragma scop
  for (int i = 1; i < n - 1; i++) for (int j = 0; j < m; j++) b[i][j] = a[i - 1][j] + a[i][j] + a[i + 1][j];
#pragma endscop
}""")
    flow, sizes = flow_dependences(program), {"n": 30, "m": 20, "S": 43}
    boxes = Boxes(flow, sizes, ())
    found = boxes.of(["S0"])
    assert found is not None
    rows = replace(found, boxes=(Box((0,), (1,), found.box.first),))
    assert (rows.touched, rows.room, rows.fits, boxes.cost(rows)) == (61, 42, True, 600)
    below = UpperBound(program, (rows,))
    assert replayed(below, flow, {**sizes, "S": rows.room}) == (600, True)
    assert replayed(below, flow, {**sizes, "S": rows.room - 2})[0] > 600
