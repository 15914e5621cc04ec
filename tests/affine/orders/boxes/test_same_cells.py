"""One value under several names: buffers that take turns (t % 2), and rows x[t][m] and x[t][n] that are one row."""

from __future__ import annotations

import random

import pytest
from tests.affine.orders.boxes.test_boxes import replayed

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.boxes.boxed import passed_along
from shorthaul.affine.orders.placement import as_written
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.core.search import Search

COVARIANCE = """void f(int F, int T, int M, double x[F][T][M], double R[F][M][M]) {
  for (int f = 0; f < F; f++) for (int m = 0; m < M; m++) for (int n = 0; n < M; n++) for (int t = 0; t < T; t++)
    R[f][m][n] += x[f][t][m] * x[f][t][n];
}"""
ADVECTION = """void f(int T, int N, double c[2][N][N]) {
  for (int t = 0; t < T; t++) for (int i = 1; i < N; i++) for (int j = 1; j < N; j++)
    c[(t + 1) % 2][i][j] = c[t % 2][i][j] + c[t % 2][i - 1][j] + c[t % 2][i][j - 1];
}"""


def wave(buffers: str, turn: str) -> str:
    """Return steps of a wave in an array of ``buffers``."""
    new, now, old = (turn.format(at) for at in ("t + 1", "t", f"t + {2 if '%' in turn else -1}"))
    return f"""void f(int T, int N, double u[{buffers}][N]) {{
      for (int t = 1; t < T; t++) for (int i = 1; i < N - 1; i++)
        u[{new}][i] = 2 * u[{now}][i] - u[{old}][i] + u[{now}][i + 1] - 2 * u[{now}][i] + u[{now}][i - 1];
    }}"""


def test_a_row_that_is_read_twice_is_loaded_once() -> None:
    """Both results fit: for m and for n the rows were loaded apart, 2 F T M words."""
    flow, sizes = flow_dependences(program_from_text(COVARIANCE)), {"F": 3, "T": 11, "M": 5, "S": 40}
    found = Boxes(flow, sizes, ()).of(["S0"])
    assert found is not None
    assert found.loads(sizes, 40) == 3 * (11 * 5 + 5 * 5)
    assert replayed(UpperBound(flow.program, (found,)), flow, sizes) == (found.loads(sizes, 40), True)


def test_buffers_that_take_turns_load_as_one_array_of_all_steps() -> None:
    """An array u[t % 3] had no boxes, so nothing was kept: 1,304 times the loads."""
    loads = []
    for buffers, turn in (("3", "({}) % 3"), ("T + 1", "{}")):
        flow, sizes = flow_dependences(program_from_text(wave(buffers, turn))), {"T": 300, "N": 2_000, "S": 200}
        found = Boxes(flow, sizes, ()).of(["S0"])
        assert found is not None
        loads.append(found.loads(sizes, 200))
    assert loads[0] == loads[1]


def test_time_is_cut_where_two_buffers_take_turns() -> None:
    """A cross-section of time and a row stays while the other loop runs on: 2 / sqrt(S) loads for an instance."""
    flow, sizes = flow_dependences(program_from_text(ADVECTION)), {"T": 100, "N": 2_000, "S": 4_096}
    found = Boxes(flow, sizes, ()).of(["S0"])
    assert found is not None
    assert found.loads(sizes, 4_096) < 14_600_000  # 18,044,098 with N^2 values that stay while time runs on


@pytest.mark.parametrize("text", [COVARIANCE, ADVECTION, wave("3", "({}) % 3")])
def test_they_load_no_more_than_said(text: str) -> None:
    draw, flow = random.Random(text), flow_dependences(program_from_text(text))
    upper = upper_bound(flow.program, flow=flow, search=Search(effort=0.2))
    for _ in range(2):
        sizes = {name: draw.randint(4, 10) for name in flow.program.parameters} | {"S": draw.randint(8, 60)}
        here = at_sizes(upper, flow, sizes, Search(effort=0.5))
        loads, exact = replayed(here, flow, sizes)
        assert loads <= here.value(sizes) or not exact


COMPLEX = """void f(int N, double ar[N][N], double ai[N][N], double br[N][N], double bi[N][N], double cr[N][N], double ci[N][N]) {
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) {
    double sr = 0, si = 0;
    for (int k = 0; k < N; k++) {
      double xr = ar[i][k], xi = ai[i][k], yr = br[k][j], yi = bi[k][j];
      double tr = xr * yr - xi * yi, ti = xr * yi + xi * yr;
      sr += tr; si += ti;
    }
    cr[i][j] = sr; ci[i][j] = si;
  }
}"""


def test_what_an_iteration_computes_for_itself_needs_room_for_one() -> None:
    """With room for every iteration of a box edges were half as long, and few phases had boxes at all."""
    flow = flow_dependences(program_from_text(COMPLEX))
    names = [item.name for item in flow.program.statements]
    large, small = {"N": 600, "S": 4_096}, {"N": 9, "S": 24}
    found = Boxes(flow, large, ()).of(names, first=True)
    assert found is not None
    assert found.loads(large, 4_096) < 1.03 * 4 * 600**3 / 44  # two results of 44 x 44
    found = Boxes(flow, small, ()).of(names)
    assert found is not None
    assert replayed(UpperBound(flow.program, (found,)), flow, small)[0] <= found.loads(small, 24)


def test_values_that_outlive_an_iteration_are_told_from_others() -> None:
    source = (
        "void f(int N, double x[N], double z[N]) {{ {} for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) {} }}"
    )
    cut = []
    for given, text in (
        ("", "{ double t = x[j]; z[j] = t * x[i]; }"),
        ("double t = x[0];", "{ t = t * x[j]; z[j] = t; }"),
    ):
        flow = flow_dependences(program_from_text(source.format(given, text)))
        names = [item.name for item in flow.program.statements if len(item.iterators) == 2]
        made = Boxes(flow, {"N": 50, "S": 20}, ())
        placement = as_written([flow.program.by_name[name] for name in names])
        along = passed_along(made.counts.distances, placement)
        cut.append(along.get("t"))
        assert "z" not in along
    assert cut == [set(), None]
