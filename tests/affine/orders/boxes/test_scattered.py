"""Sums of loops that are written to: boxes of the sums, in which loops follow from them."""

from __future__ import annotations

import random

import pytest
from tests.affine.derived import quick
from tests.affine.orders.boxes.test_boxes import replayed

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import upper_bound
from shorthaul.core.search import Search


def scattered(draw: random.Random) -> str:
    """Return a nest that adds products into places that are sums of loops, as a transposed convolution does."""
    loops, places, inputs, weights = [], [], [], []
    channels = draw.random() < 0.6
    for at in range(draw.randint(1, 2)):
        i, r = f"i{at}", f"r{at}"
        step, apart, width = draw.choice((1, 2, 2, 3)), draw.choice((1, 1, 1, 2)), draw.choice((2, 3, 4, "n"))
        loops += [(i, "n"), (r, width)]
        back = isinstance(width, int) and draw.random() < 0.25
        places.append(f"{step} * {i} " + (f"- {apart} * {r} + 8" if back else f"+ {apart} * {r}"))
        inputs.append(draw.choice((i, i, i, f"{i} + 1", f"{i} + c" if channels else i)))
        weights.append(r)
    if draw.random() < 0.3:
        weights.append(draw.choice(loops)[0])
    if channels:
        loops += [("c", draw.choice((2, 3, "n"))), ("m", draw.choice((2, 3, "n")))]
        places, inputs, weights = ["m", *places], ["c", *inputs], ["m", "c", *weights]
    draw.shuffle(loops)
    access = {
        name: "".join(f"[{item}]" for item in row) for name, row in zip("OIW", (places, inputs, weights), strict=True)
    }
    if draw.random() < 0.3:
        access["W"] += " * I" + access["I"].replace("i0", "i0 + 1", 1)
    heads = "".join(f"for (int {name} = 0; {name} < {end}; {name}++) " for name, end in loops)
    arrays = ", ".join(
        f"double {name}" + "[9 * n + 20]" * len(row) for name, row in zip("OIW", (places, inputs, weights), strict=True)
    )
    return f"void f(int n, {arrays}) {{ {heads} O{access['O']} += I{access['I']} * W{access['W']}; }}"


@pytest.mark.costly
@pytest.mark.parametrize("seed", quick(range(2_000, 2_030), (2_000,)))
def test_boxes_of_sums_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    flow = flow_dependences(program_from_text(scattered(draw)))
    upper = upper_bound(flow.program, flow=flow, search=Search(effort=0.1))
    for size in (4, 6):
        sizes = {"n": size, "S": draw.choice((6, 9, 14, 20, 33, 50))}
        here = at_sizes(upper, flow, sizes, Search(effort=0.2))
        loads, exact = replayed(here, flow, sizes)
        assert loads <= here.value(sizes) or not exact


@pytest.mark.slow
def test_a_transposed_convolution_is_held() -> None:
    """In boxes of rows and columns of the output, with the input that these need: by rows of it 265,920 words."""
    text = """void f(int C, int M, int n, double O[M][2 * n + 2][2 * n + 2], double I[C][n][n], double F[M][C][4][4]) {
      for (int m = 0; m < M; m++) for (int c = 0; c < C; c++)
        for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)
          for (int r = 0; r < 4; r++) for (int q = 0; q < 4; q++)
            O[m][2 * i + r][2 * j + q] += I[c][i][j] * F[m][c][r][q];
    }"""
    flow, sizes = flow_dependences(program_from_text(text)), {"C": 12, "M": 12, "n": 20, "S": 700}
    found = Boxes(flow, sizes, ()).of(["S0"])
    assert isinstance(found, BoxStep)
    assert found.loads(sizes, 700) <= 66_000
