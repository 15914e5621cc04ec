"""Loops to which multiples of outer ones are added: replayed, their boxes are legal and load no more than said."""

from __future__ import annotations

import random
from itertools import product

import pytest
from tests.affine.orders.boxes.test_boxes import replayed

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.placement import Loops
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, components, in_order, upper_bound

#: Factorisations of a band that is stored by diagonals or by rows, and sweeps over points of two colours.
STEPS = (
    """for (int k = 0; k < n; k++) for (int i = 1; i <= m; i++) {{ A[k + i][m - i] = A[k + i][m - i] / A[k][m];
         for (int j = 1; j <= m; j++) A[k + i][m - i + j] = A[k + i][m - i + j] - A[k + i][m - i] * A[k][m + j]; }}""",
    """for (int k = 0; k < n; k++) {{ for (int i = {0}; i <= m; i++) A[k][i] = A[k][i] / A[k][0];
         for (int i = 1; i <= m; i++) for (int j = i; j <= m; j++)
           A[k + i][j - i] = A[k + i][j - i] - A[k][i] * A[k][j]; }}""",
    """for (int k = 0; k < n; k++) for (int i = 1; i <= m; i++) for (int j = {0}; j <= m; j++)
         A[k + i][j] = A[k + i][j] + A[k + i - 1][j + {1}] * x[j];""",
    """for (int t = 0; t < n; t++) {{
         for (int i = {0}; i <= m; i++) x[2 * i] = x[2 * i - {0}] + x[2 * i + 1] + b[2 * i];
         for (int i = {1}; i < m; i++) x[2 * i + 1] = x[2 * i] + x[2 * i + 2] * b[{2}]; }}""",
    """for (int t = 0; t < n; t++) {{ for (int i = 1; i <= m; i++) y[i] = x[i - 1] + x[i + {1}] * b[i];
         for (int i = 1; i <= m; i++) x[i] = y[i] + b[{2}]; }}""",
    """for (int t = 0; t < n; t++) for (int i = 1; i <= m; i++) x[i] = x[i - {1}] + x[i] * b[{2}] + x[i + 1];""",
    """for (int t = 0; t < n; t++) for (int i = 1; i <= m; i++) for (int j = 1; j <= m; j++)
         A[i][j] = A[i - 1][j] + A[i][j - {1}] + A[i + 1][j + {0}] + b[{2}];""",
)

#: Arrays that take turns: two of a radius above 1, three of which the oldest is overwritten.
WIDE = (
    ("b[i] = a[i - 3] + a[i + 3];", "a[i] = b[i - 3] + b[i + 3];"),
    ("c[i] = b[i - 1] + b[i + 1] - a[i];", "a[i] = c[i - 1] + c[i + 1] - b[i];", "b[i] = a[i - 1] + a[i + 1] - c[i];"),
)


def random_text(draw: random.Random) -> str:
    """Return a step of one kind with borders, shifts and inputs drawn."""
    step = draw.choice(STEPS).format(draw.choice("01"), draw.choice("01"), draw.choice(("0", "1", "m")))
    arrays = "double A[n + m + 2][2 * m + 3], double x[2 * m + 4], double y[m + 2], double b[2 * m + 4]"
    return f"void f(int n, int m, {arrays}) {{\n#pragma scop\n{step}\n#pragma endscop\n}}"


@pytest.mark.costly
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 60))])
def test_skewed_boxes_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(random_text(draw))
    flow = flow_dependences(program)
    sizes = {"n": draw.randint(2, 12), "m": draw.randint(2, 9), "S": draw.randint(8, 40)}
    boxes = Boxes(flow, sizes, ())
    found = False
    for part in components(flow):
        made = boxes.in_skewed_loops(part)
        if made is not None:
            others = [boxes.plain(other) for other in components(flow) if other != part]
            here = UpperBound(program, tuple(in_order(flow, [*others, made])))
            loads, _ = replayed(here, flow, sizes)
            assert loads <= here.value(sizes)
            found = True
    assert found


def test_a_band_stored_by_diagonals_is_held_as_it_is() -> None:
    # three steps of a factorisation at a time hold their rows of the band, and each of its cells is loaded once for them
    text = STEPS[0].format().replace("m", "3")
    program = program_from_text(f"void f(int n, double A[n + 4][7]) {{\n#pragma scop\n{text}\n#pragma endscop\n}}")
    flow, sizes = flow_dependences(program), {"n": 12, "S": 3 * 3 + 3 + 6 + 2}
    found = Boxes(flow, sizes, ()).in_skewed_loops([item.name for item in program.statements])
    assert found is not None
    assert any(item.band is not None for item in found.cells)
    loads, _ = replayed(UpperBound(program, (found,)), flow, sizes)
    assert loads <= found.rate <= 2.1 * sizes["n"] * 7


def test_values_that_stay_in_their_step_are_not_loaded() -> None:
    # points of one colour are computed and read in one step: the next steps load the other colour alone
    text = """for (int t = 0; t < T; t++) {
      for (int i = 1; i <= n; i++) x[2 * i] = x[2 * i - 1] + x[2 * i + 1];
      for (int i = 0; i < n; i++) x[2 * i + 1] = x[2 * i] + x[2 * i + 2]; }"""
    program = program_from_text(
        f"void f(int T, int n, double x[2 * n + 2]) {{\n#pragma scop\n{text}\n#pragma endscop\n}}"
    )
    flow, sizes = flow_dependences(program), {"T": 6, "n": 40, "S": 12}
    found = Boxes(flow, sizes, ()).in_skewed_loops([item.name for item in program.statements])
    assert found is not None
    loads, _ = replayed(UpperBound(program, (found,)), flow, sizes)
    runs = -(-sizes["T"] // found.box.edges[0])
    assert loads <= found.rate <= runs * (sizes["n"] + 2)


@pytest.mark.parametrize("sweeps", WIDE)
def test_arrays_that_take_turns_are_skewed_as_far_as_they_reach(sweeps: tuple[str, ...]) -> None:
    loops = " ".join(f"for (int i = 3; i < n - 3; i++) {sweep}" for sweep in sweeps)
    text = (
        f"void f(int n, int m, double a[n], double b[n], double c[n]) {{ for (int t = 0; t < m; t++) {{ {loops} }} }}"
    )
    program = program_from_text(text)
    flow = flow_dependences(program)
    sizes = {"n": 80, "m": 6, "S": 48}
    made = Boxes(flow, sizes, ()).of([item.name for item in program.statements])
    assert made is not None
    here = UpperBound(program, (made,))
    loads, _ = replayed(here, flow, sizes)
    assert loads <= here.value(sizes) < 3 * 80 * len(sweeps)  # in program order every step loads all arrays


def test_a_coefficient_does_not_keep_a_stencil_from_skewed_tiles() -> None:
    step = "for (int t = 0; t < T; t++) for (int i = 1; i < N; i++) a[t + 1][i] = c * (a[t][i - 1] + a[t][i + 1]);"
    program = program_from_text(f"void f(int T, int N, double c, double a[T + 1][N + 1]) {{ {step} }}")
    assert str(upper_bound(program).leading) == "2*N*T/S"


def test_vectors_of_coefficients_are_held_whole_by_skewed_tiles() -> None:
    # they take a few rows of words, so that tiles load as many as without them, to the leading term
    loops = "for (int t = 0; t < T; t++) for (int i = 1; i < N; i++) for (int j = 1; j < N; j++)"
    found = []
    for k, g in (("k[i] *", "g[j] *"), ("", "")):
        step = f"u[t + 1][i][j] = {k} (u[t][i - 1][j] + u[t][i + 1][j]) + {g} (u[t][i][j - 1] + u[t][i][j + 1]);"
        arrays = "double k[N], double g[N], double u[T + 1][N + 1][N + 1]"
        program = program_from_text(f"void f(int T, int N, {arrays}) {{ {loops} {step} }}")
        found.append(upper_bound(program).leading)
    assert found[0] == found[1]


def test_planes_of_a_vector_are_held_and_loaded_no_more_than_said() -> None:
    # counted tile by tile: how often elements are first used, averaged over origins, and how many are in use at a time
    step = "u[t + 1][i][j] = k[i] * u[t][i - 1][j] + k[i + 2] * u[t][i + 1][j] + u[t][i][j - 1] + u[t][i][j + 1];"
    loops = "for (int t = 0; t < T; t++) for (int i = 1; i < N; i++) for (int j = 1; j < N; j++)"
    head = "void f(int T, int N, double k[N + 2], double u[T + 1][N + 1][N + 1])"
    program = program_from_text(f"{head} {{ {loops} {step} }}")
    (found,) = upper_bound(program).steps
    assert found.phase is not None
    (item,) = (item for item in found.phase.classes if item.across)
    rows, sizes = found.phase.placement["S0"], {"T": 4, "N": 5}
    every = [(t, i, j) for t in range(4) for i in range(1, 5) for j in range(1, 5)]
    uses = [(tuple(row.at(place, sizes) for row in rows), place[1] + more) for place in every for more in (0, 2)]
    for march in range(3):
        tiled = tuple(at for at in range(3) if at != march)
        order = Loops((), tiled, (march, *tiled))
        for edges in ((2, 3), (3, 1)):
            tiles, total = dict(zip(tiled, edges, strict=True)), 0
            for shifts in product(*map(range, edges)):
                grid = [(at, edge, by) for (at, edge), by in zip(tiles.items(), shifts, strict=True)]
                times: dict[tuple[tuple[int, ...], int], list[tuple[int, ...]]] = {}
                for place, element in uses:
                    tile = tuple((place[at] + by) // edge for at, edge, by in grid)
                    times.setdefault((tile, element), []).append(tuple(place[at] for at in order.inner))
                total += len(times)
                for (tile, _), own in times.items():
                    alive = sum(min(o) <= min(own) <= max(o) for (other, _), o in times.items() if other == tile)
                    assert alive <= item.live(order, 0, tiles)
            assert total <= edges[0] * edges[1] * item.loads(order, 0, tiles, found.counts.at(sizes))
