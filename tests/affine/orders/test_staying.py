"""What stays from turn to turn: replayed, orders load no more than said with less for it."""

from __future__ import annotations

import random

import pytest
from tests.affine.orders.boxes.test_boxes import replayed
from tests.affine.orders.test_sized_turns import random_steps

from shorthaul.affine import bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, in_order, upper_bound
from shorthaul.core.search import Search

#: What one line of a picture may go through, after the lines before; {a} and {b} are arrays.
LINES = (
    "for (int i = 0; i < n; i++) { s = 0; for (int j = 0; j < m; j++) { {a}[i][j] = {b}[i][j] + s; s = {a}[i][j]; } }",
    "for (int i = 0; i < n; i++) { s = 0; for (int j = m - 1; j >= 0; j--) { {a}[i][j] = s; s = {b}[i][j] + s; } }",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {a}[i][j] = {a}[i][j] + {b}[i][j];",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] = x[i] + {a}[i][j] * y[j];",
    "for (int i = 0; i < n; i++) for (int j = 0; j <= i && j < m; j++) x[i] = x[i] + {a}[i][j] * {b}[i][m - 1 - j];",
    "for (int i = 1; i < n; i++) for (int j = 1; j < m; j++) {a}[i][j] = {b}[i - 1][j] + {b}[i][j - 1];",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < 3; k++) x[i] += {a}[j][k] * {b}[i][j];",
)


def random_lines(draw: random.Random) -> str:
    """Return two to four nests over lines, one after the other."""
    nests = [draw.choice(LINES) for _ in range(draw.randint(2, 4))]
    made = "\n".join(item.replace("{a}", draw.choice("AB")).replace("{b}", draw.choice("ABC")) for item in nests)
    return f"""void f(int n, int m, double A[n + m][n + m + 3], double B[n + m][n + m + 3], double C[n + m][n + m + 3],
    double x[n], double y[m], double s) {{
#pragma scop
    {made}
#pragma endscop
}}"""


@pytest.mark.costly
@pytest.mark.parametrize("seed", [1, 8, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (5, *range(10, 60)))])
def test_what_stays_is_not_loaded(seed: int) -> None:
    draw = random.Random(seed)
    steps = seed % 2
    program = program_from_text(random_steps(draw) if steps else random_lines(draw))
    flow = flow_dependences(program)
    sizes = {"n": draw.randint(3, 8), "S": draw.randint(8, 70), **({"T": 3} if steps else {"m": draw.randint(3, 8)})}
    boxes = Boxes(flow, sizes, ())
    least = bound(program, size=sizes, upper=False, effort=0.2).bound
    assert least is not None
    names = [item.name for item in program.statements]
    for run in boxes.runs:
        inside = [name for nest in run for name in nest]
        made = boxes.turns.best(boxes.plain(inside))
        if made is None:
            continue
        others = [boxes.better(boxes.plain([name])) for name in names if name not in inside]
        ordered = tuple(in_order(flow, [*others, made]))
        if len(ordered) <= len(others):
            continue
        here = UpperBound(program, ordered)
        loads, exact = replayed(here, flow, sizes)
        assert loads <= here.value(sizes) or not exact
        assert least.value <= loads


def test_a_matrix_that_nearly_fits_is_loaded_in_part() -> None:
    program = program_from_text("""void f(int T, int n, double A[n][n], double x[n], double y[n]) {
#pragma scop
      for (int t = 0; t < T; t++) {
        for (int i = 0; i < n; i++) { y[i] = 0; for (int j = 0; j < n; j++) y[i] += A[i][j] * x[j]; }
        for (int i = 0; i < n; i++) x[i] = y[i];
      }
#pragma endscop
    }""")
    flow, sizes = flow_dependences(program), {"T": 50, "n": 100, "S": 7_500}
    boxes = Boxes(flow, sizes, ())
    (run, *_) = boxes.runs
    made = boxes.turns.best(boxes.plain(name for nest in run for name in nest))
    assert made is not None
    assert made.rate < 50 * 3_000 + 10_000


@pytest.mark.slow
def test_rows_of_which_a_part_fits() -> None:
    # of a line and what is computed forwards along it a part stays for the sweep backwards and the sum
    sizes = {"n": 400, "m": 300, "S": 500}
    program = program_from_text(f"""void f(int n, int m, double A[n][m], double B[n][m], double C[n][m], double s) {{
#pragma scop
      {LINES[0].replace("{a}", "A").replace("{b}", "C")}
      {LINES[1].replace("{a}", "B").replace("{b}", "C")}
      {LINES[2].replace("{a}", "A").replace("{b}", "B")}
#pragma endscop
    }}""")
    flow = flow_dependences(program)
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=3)), flow, sizes, Search(effort=10))
    assert here.value(sizes) < 2.4 * 400 * 300  # three times each element where nothing stays
