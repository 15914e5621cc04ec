"""Loops that another loop passes: replayed, orders of their pieces are legal and load no more than said."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.affine.derived import flow_of
from tests.affine.orders.boxes.test_boxes import replayed

from shorthaul.affine import bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.pieces.around import passed
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, components, in_order, upper_bound
from shorthaul.core.search import Search

LOOPS = ("for (int {0} = {1}; {0} < n{2}; {0}++)", "for (int {0} = n - 1{2}; {0} >= {1}; {0}--)")
#: What a step does to all elements with the row and the column of one of them.
BODIES = (
    "A[i][j] = A[i][j] + A[i][k] * A[k][j];",
    "A[i][j] = A[i][j] + A[i][k] * A[k][j] + A[k][k];",
    "A[i][j] = A[k][j] * B[i][j] + A[i][j];",
    "A[i][j] = A[i][j] + A[i][k] * B[k][j];",
    "A[i][j] = A[i][j] + A[i][k + 1] * A[k + 1][j];",
    "A[i][j] = A[j][i] + A[i][k];",
    "A[i][j] = A[i][k] + A[k][j];",
    "x[i] = x[i] + x[k] * B[i][j];",
    "A[i][j] = A[i][j] + A[i][k] * A[k][j]; B[i][j] = B[i][j] + A[i][k] * B[k][j];",
    "A[i][j] = A[i][j] + x[k] * A[k][j];",
    "t = A[i][k] * A[k][j]; A[i][j] = A[i][j] + t;",
    "t = A[i][k] * A[k][j]; B[i][j] = A[i][j] + t; A[i][j] = B[i][j];",
)


#: What a step does to the row k, to the column k, and to all the rest by way of a factor, by pieces of text.
PIVOTS = ("", "A[k][k] = 1 / A[k][k];", "p = A[k][k];")
ROWS = ("", "for (int j = {0}; j < n; j++) if (j != k) A[k][j] = A[k][j] * {1};")
COLUMNS = ("", "A[i][k] = A[i][k] * {1};", "A[i][k] = f + {1};")
FACTORS = ("", "f = A[i][k] * {1};")
RIGHT = ("", "for (int j = 0; j < m; j++) B[i][j] = B[i][j] - {2} * B[k][j];")
LAST = ("", "A[k][k] = 1 / {1};")


def random_steps(draw: random.Random) -> str:
    """Return steps that change a row, a column and all the rest by statements of their own, maybe right sides."""
    pivot, row, column, factor, right, last = map(draw.choice, (PIVOTS, ROWS, COLUMNS, FACTORS, RIGHT, LAST))
    values = draw.choice(("0", "k + 1")), "p" if "p =" in pivot else "A[k][k]", "f" if factor else "A[i][k]"
    inner = "for (int j = {0}; j < n; j++) if (j != k) A[i][j] = A[i][j] - {2} * A[k][j];"
    step = f"{pivot} {row} {{loop}} if (i != k) {{{{ {factor} {inner} {right} {column} }}}} {last}"
    loops = [draw.choice(LOOPS).format(name, 0, "") for name in "ki"]
    return f"""void f(int n, int m, double A[n][n], double B[n][m], double f, double p) {{
#pragma scop
  {loops[0]} {{ {step.format(*values, loop=loops[1])} }}
#pragma endscop
}}"""


def random_text(draw: random.Random) -> str:
    """Return a nest in which k passes i, j or both, all in any direction, with borders."""
    own = " ".join(draw.choice(LOOPS).format(name, draw.choice("001"), draw.choice(("", "", " - 1"))) for name in "ij")
    more = draw.choice(("", "", "for (int i = 0; i < n; i++) x[i] = x[i] + A[i][k];"))
    return f"""void f(int n, double A[n + 1][n + 1], double B[n][n], double x[n], double t) {{
#pragma scop
  {draw.choice(LOOPS).format("k", 0, "")} {{ {own} {{ {draw.choice(BODIES)} }} {more} }}
#pragma endscop
}}"""


@pytest.mark.costly
@pytest.mark.parametrize(
    ("made", "seed"),
    [
        (random_text, 3),  # it loads as much as is said
        *(
            pytest.param(made, seed, marks=pytest.mark.slow)
            for made in (random_text, random_steps)
            for seed in range(150)
        ),
    ],
)
def test_what_was_passed_comes_later(made: Callable[[random.Random], str], seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(made(draw))
    flow, sizes = flow_dependences(program), {"n": draw.randint(3, 9), "S": draw.randint(8, 50)}
    sizes = {"m": draw.randint(1, 5), **sizes} if "m" in program.parameters else sizes
    boxes = Boxes(flow, sizes, ())
    names = [item.name for item in program.statements]
    steps = [boxes.passing(boxes.plain(part)) for part in (names, *components(flow))]
    least = bound(program, size=sizes, upper=False, effort=0.2).bound
    assert least is not None
    for found in (item for item in steps if isinstance(item, PassedStep)):
        others = [boxes.plain(part) for part in components(flow) if not {*part} & {*found.names}]
        here = UpperBound(program, tuple(in_order(flow, [*others, found])))
        loads, _ = replayed(here, flow, sizes)
        assert least.value <= loads <= here.value(sizes)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "words"), [(9, 20), (14, 40)])
def test_shortest_paths(n: int, words: int) -> None:
    flow, sizes = flow_of("floyd-warshall"), {"N": n, "S": words}
    here = at_sizes(upper_bound(flow.program, flow=flow, search=Search(effort=0.4)), flow, sizes, Search(effort=0.4))
    loads, _ = replayed(here, flow, sizes)
    assert loads <= here.value(sizes)


@pytest.mark.slow
def test_shortest_paths_come_near_the_bound_at_real_sizes() -> None:
    flow, sizes = flow_of("floyd-warshall"), {"N": 1000, "S": 4096}
    boxes = Boxes(flow, sizes, ())
    found = boxes.cost(boxes.passing(boxes.plain(["S0"])))
    assert 2 * 1000**3 / 64 < found < 1.4 * 2 * 1000**3 / 64


def test_paths_from_the_last_step_on_by_way_of_a_temporary() -> None:
    """The loops are passed the other way, and what a temporary holds one after the other is no order to keep."""
    program = program_from_text("""void f(int n, double W[n][n]) {
#pragma scop
      for (int k = n - 1; k >= 0; k--) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        double t = min(W[i][k], W[k][j]);
        W[i][j] = max(W[i][j], t); }
#pragma endscop
    }""")
    flow = flow_dependences(program)
    sizes = {"n": 11, "S": 30}
    boxes = Boxes(flow, sizes, ())
    here = UpperBound(program, (boxes.passing(boxes.plain(["S0", "S1"])),))
    assert isinstance(here.steps[0], PassedStep)
    loads, _ = replayed(here, flow, sizes)
    assert loads <= here.value(sizes)


def test_a_triangle_is_not_passed() -> None:
    assert passed(flow_of("lu"), [item.name for item in flow_of("lu").program.statements]) is None
