"""Folded loops: replayed, orders in halves are legal and load no more than said, and what is read crosswise once."""

from __future__ import annotations

import random

import pytest
from tests.affine.derived import quick
from tests.affine.orders.boxes.test_boxes import replayed

from shorthaul.affine import bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.pieces.folded import folded
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, in_order, upper_bound
from shorthaul.core.search import Search

#: What a nest over i and j, or over k, i and j, may compute.
BODIES = (
    "B[i][j] = A[i][j] + A[j][i];",
    "A[i][j] = A[i][j] + A[j][i];",
    "x[i] = x[i] + A[i][j] * A[j][i];",
    "B[i][j] = B[i][j] + A[i][j] * x[i] + A[i][n - 1 - j] * x[j];",
    "B[i][j] = x[j] + x[n - j];",
    "B[j][i] = A[i + 1][j] - A[j + 1][i];",
    "A[i][j] = B[i][j] + B[i][n - j] + A[j][i];",
    "x[j] = x[j] + y[j] * y[i]; y[i] = x[i] + x[n - 1 - i];",
    "B[i][j] = 0; for (int c = 0; c < 2; c++) B[i][j] += A[i][c] * A[j][c]; B[i][j] = sqrt(B[i][j]);",
    "double s = x[i]; for (int c = 0; c < n; c++) s += A[i][c] - A[j][c]; B[i][j] = s;",
)


def random_text(draw: random.Random) -> str:
    """Return one or two nests, in any direction, square or triangular."""
    up, down = "for (int {0} = {1}; {0} < n; {0}++)", "for (int {0} = n - 1; {0} >= {1}; {0}--)"
    nests = []
    for _ in range(draw.randint(1, 2)):
        loops = [
            draw.choice((up, down)).format("i", draw.choice("001")),
            draw.choice((up, down)).format("j", draw.choice("001i")),
        ]
        outer = draw.choice(("", "", "for (int k = 0; k < 2; k++) "))
        nests.append(f"{outer}{' '.join(loops)} {{ {' '.join(draw.sample(BODIES, draw.randint(1, 2)))} }}")
    return f"""void f(int n, double A[n + 1][n + 1], double B[n + 1][n + 1], double x[n + 1], double y[n + 1]) {{
#pragma scop
  {" ".join(nests)}
#pragma endscop
}}"""  # fmt: skip


@pytest.mark.costly
@pytest.mark.parametrize("seed", [1, 4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, *range(5, 120)))])
def test_halves_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(random_text(draw))
    flow, sizes = flow_dependences(program), {"n": draw.randint(3, 9), "S": draw.randint(8, 50)}
    boxes = Boxes(flow, sizes, ())
    names = [item.name for item in program.statements]
    least = bound(program, size=sizes, upper=False, effort=1).bound
    assert least is not None
    for chosen in (names, *([name] for name in names)):
        made = boxes.passing(boxes.plain(chosen))
        if isinstance(made, PassedStep):
            others = [boxes.plain([name]) for name in names if name not in made.names]
            ordered = in_order(flow, [*others, made])
            if len(ordered) == len(others) + 1:
                here = UpperBound(program, tuple(ordered))
                loads, exact = replayed(here, flow, sizes)
                assert least.value <= loads
                assert loads <= here.value(sizes) or not exact


@pytest.mark.parametrize(
    ("loops", "most"),
    [
        ("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) B[i][j] = A[i][j] + A[j][i];", 1.01),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) B[i][j] = A[i][j] - A[i][n - 1 - j];", 1.01),
    ],
)
def test_what_is_read_crosswise_is_loaded_once(loops: str, most: float) -> None:
    program = program_from_text(f"void f(int n, double A[n][n], double B[n][n]) {{ {loops} }}")
    flow, sizes = flow_dependences(program), {"n": 1000, "S": 300}
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=1)), flow, sizes, Search(effort=1))
    assert here.value(sizes) < most * 1000**2


_SUM = "double s = 0; for (int k = 0; k < d; k++) s += A[i][k] * A[j][k];"
#: What is computed of all pairs of rows i and j, and the most words it loads: 1,200, 1,200, 1,680 without folding.
OF_PAIRS = {
    "in its element": (
        "B[i][j] = 0; for (int k = 0; k < d; k++) B[i][j] += A[i][k] * A[j][k]; B[i][j] = exp(B[i][j]);", "", 950,
    ),
    "in a scalar": (f"{_SUM} B[i][j] = exp(s);", "", 950),
    "begun with a row": (f"{_SUM} x[i] = fmax(x[i], s);", "x[i] = 0;", 1400),
}  # fmt: skip


@pytest.mark.parametrize("name", quick(OF_PAIRS, ("begun with a row",)))
def test_both_sums_of_two_rows_are_computed_together(name: str) -> None:
    body, first, most = OF_PAIRS[name]
    loops = f"for (int i = 0; i < n; i++) {{ {first} for (int j = 0; j < n; j++) {{ {body} }} }}"
    program = program_from_text(f"void f(int n, int d, double A[n][d], double B[n][n], double x[n]) {{ {loops} }}")
    flow, sizes = flow_dependences(program), {"n": 60, "d": 4, "S": 64}
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=0.4)), flow, sizes, Search(effort=0.4))
    loads, exact = replayed(here, flow, sizes)
    assert exact
    assert loads <= here.value(sizes) < most


def test_nothing_is_folded_without_an_image() -> None:
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) B[i][j] = A[i][j] + A[j + 1][i];"
    program = program_from_text(f"void f(int n, double A[n + 1][n], double B[n][n]) {{ {loops} }}")
    assert folded(flow_dependences(program), ["S0"]) is None


#: Both ends of a row are updated together, in place: where the row fits, nothing else has to.
UPDATES = """void f(int T, int n, double x[n], double z[n], double s) {
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < n; i++) z[i] = x[i] - s * x[n - 1 - i];
    for (int i = 0; i < n; i++) x[i] = z[i];
  }
#pragma endscop
}"""


@pytest.mark.costly
@pytest.mark.parametrize("words", [36, 20])
def test_ends_of_a_row_are_updated_in_place(words: int) -> None:
    program = program_from_text(UPDATES)
    flow, sizes = flow_dependences(program), {"T": 5, "n": 24, "S": words}
    boxes = Boxes(flow, sizes, ())
    made = boxes.best_turns(boxes.plain(item.name for item in program.statements))
    assert made is not None
    assert made.parts.pieces
    here = UpperBound(program, (made,))
    loads, exact = replayed(here, flow, sizes)
    assert exact
    assert loads <= here.value(sizes)
    assert here.value(sizes) < (60 if words == 36 else 120)  # every step by itself loads 24 words or more
