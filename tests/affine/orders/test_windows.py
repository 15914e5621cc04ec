"""Stages that read windows of the stage before by loops of their own: joined, replayed, one pass over the input."""

from __future__ import annotations

import random

import pytest
from tests.affine.derived import quick
from tests.affine.orders.boxes.test_boxes import replayed
from tests.samples import ALL

from shorthaul.affine import bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.core.search import Search

FRAME = """void f(int n, int m, double A[n + 8][m + 8], double B[n + 8][m + 8], double C[n + 8][m + 8], double w[3][3]) {{
#pragma scop
{body}
#pragma endscop
}}"""
FIRST = (
    "B[i][j] = A[i][j] + A[i][j + 1];",
    "B[i][j] = 0; for (int r = 0; r < 2; r++) B[i][j] += A[i + r][j];",
    "B[i][j] = A[i][j] * A[i + 1][j];",
)
SECOND = (
    "C[i][j] = 0; for (int r = -1; r <= 1; r++) for (int s = -1; s <= 1; s++) C[i][j] += w[r + 1][s + 1] * B[i + r][j + s];",
    "C[i][j] = 0; for (int r = 0; r < 3; r++) C[i][j] += B[i + r][j];",
    "C[i][j] = 1; for (int s = 1; s >= -1; s--) C[i][j] *= B[i][j + s];",
    "C[i][j] = 0; for (int r = -1; r <= 1; r++) C[i][j] += B[i + r][j - r];",
)


def text_of(draw: random.Random) -> str:
    """Return two stages."""
    low, more = draw.choice((0, 1)), draw.choice((2, 3))
    stages = (
        f"for (int i = {low}; i < n + {more}; i++) for (int j = {low}; j < m + {more}; j++) {{ {draw.choice(FIRST)} }}",
        f"for (int i = 1; i < n; i++) for (int j = 1; j < m; j++) {{ {draw.choice(SECOND)} }}",
    )
    return FRAME.format(body="\n".join(stages))


@pytest.mark.parametrize("seed", quick(range(60), (0,)))
def test_stages_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(text_of(draw))
    flow, sizes = (
        flow_dependences(program),
        {"n": draw.randint(3, 9), "m": draw.randint(3, 9), "S": draw.randint(14, 60)},
    )
    boxes = Boxes(flow, sizes, ())
    made = boxes.of(item.name for item in program.statements)
    if made is not None:
        here = UpperBound(program, (made,))
        loads, _ = replayed(here, flow, sizes)
        assert (
            bound(program, size=sizes, upper=False, effort=1 if ALL else 0.4).bound.value <= loads <= here.value(sizes)
        )


@pytest.mark.slow
@pytest.mark.parametrize("second", SECOND[:2])
def test_a_window_of_a_window_is_one_pass(second: str) -> None:
    body = (
        f"for (int i = 0; i < n + 3; i++) for (int j = 0; j < m + 3; j++) {{ {FIRST[0]} }}"
        f"for (int i = 1; i < n; i++) for (int j = 1; j < m; j++) {{ {second} }}"
    )
    program = program_from_text(FRAME.format(body=body))
    flow, sizes = flow_dependences(program), {"n": 400, "m": 400, "S": 3000}
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=1)), flow, sizes, Search(effort=1))
    assert here.value(sizes) < 1.1 * 400**2


@pytest.mark.parametrize("radius", quick((1, 2), (2,)))
def test_a_window_as_wide_as_a_parameter_is_one_pass(radius: int) -> None:
    """Sums over squares from sums of all before them: four corners, two rows and columns apart."""
    program = program_from_text("""void f(int n, int m, int R, double A[n][m], double B[n][m], double C[n][m]) {
#pragma scop
      for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) B[i][j] = B[i][j - 1] + A[i][j];
      for (int i = 1; i < n; i++) for (int j = 1; j < m; j++) B[i][j] += B[i - 1][j];
      for (int i = R; i < n - R; i++) for (int j = R; j < m - R; j++)
        C[i][j] = B[i + R][j + R] - B[i - R][j + R] - B[i + R][j - R] + B[i - R][j - R];
#pragma endscop
    }""")
    flow, sizes = flow_dependences(program), {"n": 60, "m": 45, "R": radius, "S": 400}
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=1)), flow, sizes, Search(effort=1))
    loads, _ = replayed(here, flow, sizes)
    assert loads <= here.value(sizes) < 1.2 * 60 * 45


@pytest.mark.parametrize("window", quick((2, 3), (3,)))
def test_sums_of_every_second_value_are_one_pass(window: int) -> None:
    """Halved along one axis, then along the other: where sums end decides where they stand, at half steps."""
    program = program_from_text(f"""void f(int n, int m, double A[2 * n + 2][2 * m + 2], double B[2 * n + 2][m], double C[n][m]) {{
#pragma scop
      for (int i = 0; i < 2 * n + 2; i++) for (int j = 0; j < m; j++) {{
        double s = 0; for (int k = 0; k < {window}; k++) s += A[i][2 * j + k]; B[i][j] = s; }}
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {{
        double s = 0; for (int k = 0; k < {window}; k++) s += B[2 * i + k][j]; C[i][j] = s; }}
#pragma endscop
    }}""")
    flow, sizes = flow_dependences(program), {"n": 12, "m": 9, "S": 60}
    made = Boxes(flow, sizes, ()).of(item.name for item in program.statements)
    assert made is not None
    here = UpperBound(program, (made,))
    loads, _ = replayed(here, flow, sizes)
    inputs = (2 * 12 + 2) * (2 * 9 + window - 2)
    assert inputs <= loads <= here.value(sizes) < 1.1 * inputs


def test_what_is_read_in_windows_stands_in_their_middle() -> None:
    """Costs of matches, summed over 5 x 5: at the first place of the window four rows and columns more count."""
    program = program_from_text("""void f(int h, int w, int d, double L[h][w], double R[h][w + d], double c[h][w][d], double s[h][w][d]) {
#pragma scop
      for (int z = 0; z < d; z++) for (int y = 0; y < h; y++) for (int x = 0; x < w; x++)
        c[y][x][z] = (L[y][x] - R[y][x + z]) * (L[y][x] - R[y][x + z]);
      for (int z = 0; z < d; z++) for (int y = 2; y < h - 2; y++) for (int x = 2; x < w - 2; x++) {
        s[y][x][z] = 0;
        for (int v = -2; v <= 2; v++) for (int u = -2; u <= 2; u++) s[y][x][z] += c[y + v][x + u][z];
      }
#pragma endscop
    }""")
    flow, sizes = flow_dependences(program), {"h": 30, "w": 24, "d": 3, "S": 200}
    boxes = Boxes(flow, sizes, ())
    made = boxes.of(item.name for item in program.statements)
    assert made is not None
    loads, _ = replayed(UpperBound(program, (made,)), flow, sizes)
    assert loads <= boxes.cost(made) < 3000
