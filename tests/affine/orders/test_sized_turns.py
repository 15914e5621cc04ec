"""Groups that take turns at given sizes: replayed they never load more than said, and rows that fit are loaded once."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import islice

import pytest
from tests.affine.derived import flow_of, kernel, upper_of
from tests.affine.orders.boxes.test_boxes import replayed
from tests.samples import ALL

from shorthaul.affine import bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.turns import TurnsStep, has_turns, nests_of
from shorthaul.affine.orders.upper_bound import UpperBound, in_order, upper_bound
from shorthaul.core.search import Search

#: What one step of an outer loop may do: sweeps to and fro, products, sums, scaling, transposes; {a} and {b} are arrays.
NESTS = (
    "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) {a}[i][j] += {a}[i - 1][j] * {b}[i][j];",
    "for (int i = 0; i < n; i++) for (int j = n - 2; j >= 0; j--) {a}[i][j] += {a}[i][j + 1] * {b}[j][i];",
    "for (int j = 0; j < n; j++) for (int i = n - 2; i >= 0; i--) {a}[i][j] = {b}[i][j] - {a}[i + 1][j];",
    "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n; j++) {a}[i][j] = {b}[i - 1][j] + {b}[i + 1][j - 1];",
    "for (int i = 0; i < n; i++) { y[i] = 0; for (int j = 0; j < n; j++) y[i] += {a}[i][j] * x[j]; }",
    "for (int j = 0; j < n; j++) for (int i = j; i < n; i++) x[j] += {a}[i][j] * y[i];",
    "for (int i = 0; i < n; i++) x[i] = y[i] * s;",
    "s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i];",
    "for (int i = 0; i < n; i++) { y[i] = t; for (int j = 0; j < i; j++) {a}[i][j] = {b}[j][i] + y[j]; }",
)


#: Products with a matrix and its transpose in turn, into vectors that they read or not.
PRODUCTS = (
    "for (int i = 0; i < n; i++) { s = 0; for (int j = 0; j < n; j++) s += {a}[i][j] * x[j]; y[i] = z[i] / s; }",
    "for (int j = 0; j < n; j++) { s = 0; for (int i = 0; i < n; i++) s += {a}[i][j] * y[i]; x[j] = z[j] / s; }",
    "for (int i = 0; i < n; i++) { y[i] = z[i]; for (int j = 0; j < n; j++) y[i] -= {a}[i][j] * x[j]; }",
    "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) x[j] += {a}[i][j] * y[i];",
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[j] += {a}[i][j] * y[i];",
    "for (int j = 0; j < n; j++) { x[j] = 0; for (int i = j; i < n; i++) x[j] += {a}[i][j] * y[i]; }",
    "for (int i = 0; i < n; i++) { s = 0; for (int j = 0; j < n; j++) s += {a}[i][j] * {b}[i][j]; z[i] += s * y[i]; }",
)


def random_steps(draw: random.Random, chosen: tuple[str, ...] = NESTS) -> str:
    """Return two to four nests in a loop over time."""
    nests = [draw.choice(chosen) for _ in range(draw.randint(2, 4))]
    return in_a_loop(
        "\n".join(item.replace("{a}", draw.choice("AB")).replace("{b}", draw.choice("ABC")) for item in nests)
    )


def in_a_loop(nests: str) -> str:
    """Return nests in a loop over time."""
    return f"""void f(int T, int n, double A[n][n], double B[n][n], double C[n][n], double x[n], double y[n],
    double z[n], double s) {{
#pragma scop
  for (int t = 0; t < T; t++) {{
    {nests}
  }}
#pragma endscop
}}"""


def in_turns(upper: UpperBound, flow: DataFlow, sizes: Mapping[str, int]) -> list[TurnsStep]:
    """Return all loops over time in turns, whether that loads less or not."""
    boxes = Boxes(flow, sizes, ())
    names = [
        [item.name for item in flow.program.statements if item.name in nest]
        for nest in nests_of(flow.program)
        if has_turns(flow.program, nest)
    ]
    found = [boxes.turns.best(boxes.plain(nest)) for nest in names]
    return [item for item in found if item is not None]


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 80))])
def test_turns_load_no_more_than_said(seed: int) -> None:
    check_turns(random.Random(seed), NESTS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, *range(2, 60)))])
def test_products_in_turn_load_no_more_than_said(seed: int) -> None:
    check_turns(random.Random(seed), PRODUCTS)


def check_turns(draw: random.Random, nests: tuple[str, ...]) -> None:
    """Replay the turns of a random loop over time."""
    program = program_from_text(random_steps(draw, nests))
    flow, sizes = (
        flow_dependences(program),
        {"T": draw.randint(2, 4), "n": draw.randint(4, 8), "S": draw.randint(8, 60)},
    )
    upper = upper_bound(program, flow=flow, search=Search(effort=0.2))
    least = bound(program, size=sizes, upper=False, effort=1 if ALL else 0.2).bound
    assert least is not None
    for made in in_turns(upper, flow, sizes):
        others = [item for item in upper.steps if set(item.names).isdisjoint(made.names)]
        here = UpperBound(program, tuple(in_order(flow, [*others, made])))
        loads, exact = replayed(here, flow, sizes)
        assert loads <= here.value(sizes) or not exact
        assert least.value <= loads


@pytest.mark.slow
@pytest.mark.parametrize(
    "nests",
    [
        pytest.param((PRODUCTS[0], PRODUCTS[1]), marks=pytest.mark.slow),
        (PRODUCTS[2], PRODUCTS[3]),
        (
            PRODUCTS[2],
            "for (int j = 0; j < n; j++) { z[j] = 0; for (int i = 0; i < n; i++) z[j] += {a}[i][j] * y[i]; }",
        ),
    ],
)
def test_a_matrix_is_loaded_once_a_step(nests: tuple[str, ...]) -> None:
    program = program_from_text(in_a_loop("\n".join(nests).replace("{a}", "A")))
    flow, sizes = flow_dependences(program), {"T": 20, "n": 500, "S": 2_700}
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=0.4)), flow, sizes, Search(effort=0.4))
    assert here.value(sizes) < 1.05 * 20 * 500**2


#: Passes over time with one matrix, forwards and backwards.
PASSES = (
    "for (int i = 0; i < n; i++) { x[t][i] = {e}; for (int j = 0; j < n; j++) x[t][i] += A[{i}][{j}] * x[t - {s}][j]; }",
    "for (int i = 0; i < n; i++) { x[t][i] = {e}; for (int j = 0; j < n; j++) x[t][i] += A[{i}][{j}] * u[t][j] * x[t - {s}][j]; }",
    "for (int i = n - 1; i >= 0; i--) { double s = {e}; for (int j = 0; j < n; j++) s = fmax(s, A[{i}][{j}] * x[t - {s}][j]); x[t][i] = s; }",
)  # fmt: skip


def both_ways(draw: random.Random) -> str:
    """Return a pass forwards and another one backwards."""
    nests = []
    loops = ("for (int t = 1; t < T; t++)", "for (int t = T - 2; t >= 0; t--)")
    for x, (loop, sign) in zip("xy", zip(loops, ("1", "-1"), strict=True), strict=True):
        body = draw.choice(PASSES).replace("{e}", draw.choice(("0", "u[t][i]"))).replace("t - {s}", f"t - {sign}")
        for name, value in zip(("{i}", "{j}"), draw.choice(("ij", "ji")), strict=True):
            body = body.replace(name, value)
        nests.append(f"{loop} {{ {body.replace('x', x) if 'fmax' not in body else body.replace('x[', x + '[')} }}")
    arrays = "double A[n][n], double x[T][n], double y[T][n], double u[T][n]"
    text = " ".join(draw.sample(nests, 2)).replace("t - -1", "t + 1")
    return f"void f(int T, int n, {arrays}) {{\n#pragma scop\n{text}\n#pragma endscop\n}}"


@pytest.mark.costly
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 40))])
def test_passes_forwards_and_backwards_share_a_matrix(seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(both_ways(draw))
    flow = flow_dependences(program)
    sizes = {"T": draw.randint(3, 6), "n": draw.randint(3, 8), "S": draw.randint(12, 40)}
    boxes = Boxes(flow, sizes, ())
    made = boxes.turns.best(boxes.plain(item.name for item in program.statements))
    assert made is not None
    here = UpperBound(program, (made,))
    loads, exact = replayed(here, flow, sizes)
    assert loads <= here.value(sizes) or not exact
    large = {"T": 10, "n": 100, "S": 700}
    boxes = Boxes(flow, large, ())
    made = boxes.turns.best(boxes.plain(item.name for item in program.statements))
    assert made is not None
    assert made.rate < (2.1 if "i--" in both_ways(random.Random(seed)) else 1.2) * 10 * 100**2


@pytest.mark.slow
@pytest.mark.parametrize(("n", "words"), [(12, 36), (200, 560)])
def test_rows_that_nearly_fit_are_held_in_part(n: int, words: int) -> None:
    """Two vectors and a row are a little too much: what there is no room for is loaded for each use."""
    step = """for (int i = 0; i < n; i++) { y[i] = 0; for (int j = 0; j < n; j++) y[i] += A[i][j] * x[j]; }
    for (int j = 0; j < n; j++) { z[j] = 0; for (int i = 0; i < n; i++) z[j] += A[i][j] * y[i]; }
    for (int j = 0; j < n; j++) x[j] = z[j];"""
    program = program_from_text(in_a_loop(step))
    flow, sizes = flow_dependences(program), {"T": 4, "n": n, "S": words}
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=0.3)), flow, sizes, Search(effort=0.4))
    assert any(isinstance(item, BoxStep) and item.left_out for item in here.steps)
    assert here.value(sizes) < 1.45 * 4 * n**2
    if n < 20:
        loads, _ = replayed(here, flow, sizes)
        assert loads <= here.value(sizes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nests", "most"),
    [
        # both sweeps of a line share what a step needs of it: of u three lines, of f one
        (
            """for (int i = 1; i < n - 1; i++) {
              for (int j = 1; j < n; j++) d[i][j] = f[i][j] + u[i - 1][j] + u[i + 1][j] - d[i][j - 1];
              for (int j = n - 2; j >= 0; j--) u[i][j] = d[i][j] - u[i][j + 1]; }
            for (int j = 1; j < n - 1; j++) {
              for (int i = 1; i < n; i++) d[i][j] = f[i][j] + u[i][j - 1] + u[i][j + 1] - d[i - 1][j];
              for (int i = n - 2; i >= 0; i--) u[i][j] = d[i][j] - u[i + 1][j]; }""",
            4,
        ),
        # a product with a matrix and one with its transpose: it is loaded once for each
        (
            """for (int i = 0; i < n; i++) { x[i] = 0; for (int j = 0; j < n; j++) x[i] += f[i][j] * y[j]; }
            for (int j = 0; j < n; j++) { y[j] = 0; for (int i = 0; i < n; i++) y[j] += f[i][j] * x[i]; }""",
            2,
        ),
    ],
    ids=["line relaxation", "products with a transpose"],
)
def test_what_fits_within_a_step_is_loaded_once(nests: str, most: int) -> None:
    program = program_from_text(f"""void f(int T, int n, double u[n][n], double d[n][n], double f[n][n], double x[n],
        double y[n]) {{
#pragma scop
      for (int t = 0; t < T; t++) {{ {nests} }}
#pragma endscop
    }}""")
    sizes = {"T": 100, "n": 1000, "S": 32768}
    flow = flow_dependences(program)
    here = at_sizes(upper_bound(program, flow=flow, search=Search(effort=0.4)), flow, sizes, Search(effort=0.4))
    assert here.value(sizes) <= 1.02 * most * 100 * 1000**2


def test_phases_that_need_one_another_are_no_order() -> None:
    sizes = {"N": 24, "S": 200}
    here = at_sizes(upper_of("nussinov"), flow_of("nussinov"), sizes, Search(effort=0.08))
    assert {name for item in here.steps for name in item.names} == {item.name for item in kernel("nussinov").statements}


@pytest.mark.slow
def test_sweeps_over_shared_lines_stay_whole_in_a_larger_memory() -> None:
    """Where more fits, two parts that read the same may be joined first, and the order they leave loads twice as much."""
    program = program_from_text("""void f(int T, int n, double u[n][n], double v[n][n], double p[n], double q[n]) {
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < n - 1; i++) { p[0] = 0; q[0] = 1;
      for (int j = 1; j < n - 1; j++) {
        p[j] = 1 / (p[j - 1] + 2); q[j] = (u[j][i - 1] + u[j][i + 1] - q[j - 1]) / (p[j - 1] + 2); }
      for (int j = n - 2; j >= 1; j--) v[j][i] = p[j] * v[j + 1][i] + q[j]; }
    for (int i = 1; i < n - 1; i++) { p[0] = 0; q[0] = 1;
      for (int j = 1; j < n - 1; j++) {
        p[j] = 1 / (p[j - 1] + 2); q[j] = (v[i - 1][j] + v[i + 1][j] - q[j - 1]) / (p[j - 1] + 2); }
      for (int j = n - 2; j >= 1; j--) u[i][j] = p[j] * u[i][j + 1] + q[j]; } }
#pragma endscop
}""")
    flow, sizes = flow_dependences(program), {"T": 10, "n": 100, "S": 2_500}
    boxes = Boxes(flow, sizes, ())
    found = boxes.best_turns(boxes.plain(item.name for item in program.statements))
    assert found is not None
    assert found.rate < 1.2 * 2 * 10 * 100**2


@pytest.mark.slow
def test_a_part_of_a_matrix_stays_in_memory_with_little_effort() -> None:
    """Conjugate gradients read all of A in every step; what fits of it is loaded once."""
    products = "for (int i = 0; i < n; i++) { q[i] = 0; for (int j = 0; j < n; j++) q[i] += A[i][j] * p[j]; d += p[i] * q[i]; }"
    updates = "for (int i = 0; i < n; i++) { x[i] += p[i] / d; r[i] -= q[i] / d; }"
    nests = f"double d = 0; {products} {updates} for (int i = 0; i < n; i++) p[i] = r[i] + d * p[i];"
    vectors = ", ".join(f"double {name}[n]" for name in "xrpq")
    text = f"void f(int T, int n, double A[n][n], {vectors}) {{ for (int t = 0; t < T; t++) {{ {nests} }} }}"
    flow, search = flow_dependences(program_from_text(text)), Search(effort=0.45)
    steps, size, room = 41, 211, 20_000
    upper = upper_bound(flow.program, flow=flow, search=search.part(0.4))
    found = at_sizes(upper, flow, {"T": steps, "n": size, "S": room}, search)
    passing = size**2 - room + 6 * size
    assert sum(step.loads({"T": steps, "n": size}, room) for step in found.steps) < 1.05 * (steps * passing + room)


def test_a_pass_is_joined_with_one_of_the_next_step_behind_a_sum() -> None:
    program = program_from_text("""void f(int T, int n, double p[n], double q[n]) {
  for (int t = 0; t < T; t++) {
    double s = 0;
    for (int i = 1; i < n - 1; i++) {
      q[i] = 2 * p[i] - p[i - 1] - p[i + 1];
      s += p[i] * q[i];
    }
    for (int i = 1; i < n - 1; i++)
      p[i] = p[i] - s * q[i];
  }
}""")
    flow, sizes = flow_dependences(program), {"T": 8, "n": 90, "S": 20}
    boxes = Boxes(flow, sizes, ())
    (run,) = boxes.runs
    written, joined = islice(boxes.turns.as_written(boxes.plain(run[0])), 2)
    loads, _ = replayed(UpperBound(program, (joined,)), flow, sizes)
    assert loads <= joined.rate < 2.2 * 8 * 90 < written.rate
