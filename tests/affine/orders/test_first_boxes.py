"""The first boxes found, before the best ones: with little effort there are orders of nests and of single phases."""

from __future__ import annotations

import islpy as isl
import pytest

from shorthaul.affine.effort import OutOfEffortError, charged_to
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import Conflicts, accesses_of, flow_dependences
from shorthaul.affine.integer_sets.signs import signs_of
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.searching import at_sizes, order_and_formula
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import upper_bound
from shorthaul.core.search import Search

PAIRS = """void f(int n, double x[n], double y[n], double m[n], double a[n], double b[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double dx = x[j] - x[i], dy = y[j] - y[i];
      double w = m[j] / (dx * dx + dy * dy + 0.01);
      a[i] += w * dx;
      b[i] += w * dy;
    }
}"""
TWO_PRODUCTS = """void f(int n, double A[n][n], double B[n][n], double C[n][n], double u[n][n], double v[n]) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      u[i][j] = 0;
      for (int k = 0; k < n; k++) u[i][j] += A[i][k] * B[k][j];
    }
    v[i] = 0;
    for (int j = 0; j < n; j++) v[i] += u[i][j];
    for (int j = 0; j < n; j++) u[i][j] /= v[i];
    for (int j = 0; j < n; j++) {
      C[i][j] = 0;
      for (int k = 0; k < n; k++) C[i][j] += u[i][k] * B[j][k];
    }
  }
}"""


def test_the_first_boxes_take_less_effort_than_the_best_ones() -> None:
    program = program_from_text(PAIRS)
    boxes, search = Boxes(flow_dependences(program), {"n": 61, "S": 33}, ()), Search()
    names = [item.name for item in program.statements]
    with charged_to(search):
        first = boxes.of(names, first=True)
        spent = search.spent()
        best = boxes.of(names)
    assert first is not None
    assert best is not None
    assert boxes.cost(best) <= boxes.cost(first)
    assert spent < 0.6 * search.spent()
    assert boxes.of(names, first=True) is best


def test_what_is_not_found_with_too_little_effort_is_found_with_more() -> None:
    program = program_from_text(PAIRS)
    boxes, names = Boxes(flow_dependences(program), {"n": 61, "S": 33}, ()), [item.name for item in program.statements]
    with charged_to(Search(effort=0.01)), pytest.raises(OutOfEffortError):
        boxes.of(names)
    assert boxes.of(names) is not None


@pytest.mark.slow
def test_boxes_of_one_phase_are_reached_with_little_effort() -> None:
    program, sizes = program_from_text(TWO_PRODUCTS), {"n": 700, "S": 4096}
    flow = flow_dependences(program)
    upper = upper_bound(program, flow=flow, search=Search(effort=0.3))
    assert at_sizes(upper, flow, sizes, Search(effort=0.15)).value(sizes) < upper.value(sizes)


@pytest.mark.slow
def test_phases_are_joined_before_the_best_boxes_of_a_nest_that_has_none() -> None:
    """Rows of causal attention: no boxes of all statements hold what a row needs, but those of some do."""
    program = program_from_text(
        "void f(int H, int N, int D, double Q[H][N][D], double K[H][N][D], double V[H][N][D], double S[N],"
        " double O[H][N][D]) {\n"
        "for (int h = 0; h < H; h++) for (int i = 0; i < N; i++) {\n"
        "  double sum = 0.0;\n"
        "  for (int j = 0; j <= i; j++) {\n"
        "    S[j] = 0.0; for (int d = 0; d < D; d++) S[j] += Q[h][i][d] * K[h][j][d];\n"
        "    S[j] = exp(S[j]); sum += S[j];\n"
        "  }\n"
        "  for (int d = 0; d < D; d++) {\n"
        "    O[h][i][d] = 0.0; for (int j = 0; j <= i; j++) O[h][i][d] += S[j] * V[h][j][d];\n"
        "    O[h][i][d] /= sum;\n"
        "  }\n"
        "}\n}"
    )
    flow, sizes = flow_dependences(program), {"H": 2, "N": 301, "D": 31, "S": 2048}
    upper = upper_bound(program, flow=flow, search=Search(effort=0.4))
    found = at_sizes(upper, flow, sizes, Search(effort=0.3))
    assert any(isinstance(item, BoxStep) and len(item.names) > 1 for item in found.steps)


def test_first_rounds_go_on_until_there_are_boxes() -> None:
    """The signs of distances in five loops take all of one; nothing is kept in program order, 1.5e9 words."""
    source = """void stereo(int h, int w, int d, int r, double a[h][w], double b[h][w], double cost[h][w][d]) {
      for (int y = r; y < h - r; y++)
        for (int x = r + d; x < w - r; x++)
          for (int k = 0; k < d; k++) {
            double s = 0;
            for (int p = -r; p <= r; p++)
              for (int q = -r; q <= r; q++) {
                double e = a[y + p][x + q] - b[y + p][x + q - k];
                s += e * e;
              }
            cost[y][x][k] = s;
          }
    }"""
    flow = flow_dependences(program_from_text(source))
    sizes = {"h": 300, "w": 400, "d": 64, "r": 3, "S": 4096}
    found, _ = order_and_formula(flow, sizes, Search(effort=1e-6))
    assert found.value(sizes) < 1e6


def test_wide_stencils_have_an_order_whatever_the_effort() -> None:
    """To count what a stencil of 34 neighbours on two buffers reads takes more than a usual first round."""
    body = " + ".join(f"u[t % 2][i - {r}] + u[t % 2][i + {r}]" for r in range(1, 18))
    program = program_from_text(f"""void f(int T, int N, double u[2][N + 34]) {{
#pragma scop
      for (int t = 0; t < T; t++) for (int i = 17; i < N + 17; i++) u[(t + 1) % 2][i] = {body};
#pragma endscop
    }}""")
    sizes = {"T": 20, "N": 800, "S": 4096}
    found, _ = order_and_formula(flow_dependences(program), sizes, Search(effort=0.01))
    assert 800 + 34 <= found.value(sizes) <= 800 + 2 * 34  # two rows of borders


def test_signs_are_those_of_all_distances() -> None:
    """Also where what is left behind a sign differs; one of each kind is looked at."""
    listed = {(a, b, c) for a in range(-2, 3) for b in range(-2, 3) for c in range(-2, 3) if a + b > 0 or a == c == 0}
    distances = isl.Set("[n] -> { [a, b, c] : -2 <= a, b, c <= 2 and (a + b >= n or (a = 0 and c = 0)) }")
    assert signs_of(distances) == {tuple((x > 0) - (x < 0) for x in item) for item in listed}


def test_a_read_of_what_a_statement_writes_conflicts_as_the_write_does() -> None:
    program = program_from_text(PAIRS)
    conflicts = Conflicts(program, accesses_of(program))
    sums = [item.name for item in program.statements if item.write.array in {"a", "b"}]
    assert [len([*conflicts.between(name, name)]) for name in sums] == [1, 1]


HEADS = """void f(int h, int n, int d, double Q[h][n][d], double K[h][n][d], double V[h][n][d], double P[h][n][n],
               double O[h][n][d]) {
  for (int a = 0; a < h; a++)
    for (int i = 0; i < n; i++) {
      double top = -1e30, sum = 0;
      for (int j = 0; j < n; j++) {
        double s = 0;
        for (int k = 0; k < d; k++) s += Q[a][i][k] * K[a][j][k];
        P[a][i][j] = s;
        top = fmax(top, s);
      }
      for (int j = 0; j < n; j++) { P[a][i][j] = exp(P[a][i][j] - top); sum += P[a][i][j]; }
      for (int k = 0; k < d; k++) {
        double o = 0;
        for (int j = 0; j < n; j++) o += P[a][i][j] * V[a][j][k];
        O[a][i][k] = o / sum;
      }
    }
}"""


def test_loops_inside_of_a_nest_are_joined_where_the_nest_does_not_fit() -> None:
    program = program_from_text(HEADS)
    sizes = {"h": 4, "n": 1_000, "d": 32, "S": 2_000}
    best, _ = order_and_formula(flow_dependences(program), sizes, Search(effort=0.45))
    # both products in boxes of rows (1.1 each), and P once
    assert best.value(sizes) < 3.3 * 4 * 1_000**2


TO_AND_FRO = """void f(int t, int n, double u[n][n], double w[n][n], double d[n][n], double c[n]) {
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++) {
      d[i][0] = 0;
      for (int j = 1; j < n - 1; j++) d[i][j] = (u[i - 1][j] + u[i + 1][j] - u[i][j] + d[i][j - 1]) * c[j];
      for (int j = n - 2; j >= 1; j--) w[i][j] = d[i][j] + c[j] * w[i][j + 1];
    }
    for (int j = 1; j < n - 1; j++) {
      d[0][j] = 0;
      for (int i = 1; i < n - 1; i++) d[i][j] = (w[i][j - 1] + w[i][j + 1] - w[i][j] + d[i - 1][j]) * c[i];
      for (int i = n - 2; i >= 1; i--) u[i][j] = d[i][j] + c[i] * u[i + 1][j];
    }
  }
}"""
PAIRS_IN_STEPS = """void f(int t, int n, int d, double x[n][d], double a[n], double b[n]) {
  for (int s = 0; s < t; s++) {
    for (int i = 0; i < n; i++) {
      double f = 0;
      for (int j = 0; j < n; j++) {
        double r = 0;
        for (int k = 0; k < d; k++) r += (x[i][k] - x[j][k]) * (x[i][k] - x[j][k]);
        f += a[j] * exp(-r);
      }
      b[i] = f;
    }
    for (int i = 0; i < n; i++) a[i] = b[i];
  }
}"""


@pytest.mark.parametrize(
    ("text", "sizes", "most"),
    [
        (TO_AND_FRO, {"t": 20, "n": 500, "S": 4_000}, 2.2 * 20 * 500**2),
        (PAIRS_IN_STEPS, {"t": 20, "n": 900, "d": 40, "S": 2_000}, 1.2 * 20 * 900**2),
    ],
    ids=["to and fro", "pairs in steps"],
)
def test_the_first_round_finds_turns_of_nests_as_written(text: str, sizes: dict[str, int], most: float) -> None:
    best, _ = order_and_formula(flow_dependences(program_from_text(text)), sizes, Search(effort=0.05))
    assert best.value(sizes) < most
