"""A first panel of products with what prepares their rows: replayed it loads no more than said, and less than apart."""

from __future__ import annotations

import random

import pytest
from tests.affine.orders.boxes.test_boxes import replayed
from tests.samples import samples

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.joining.panels import with_first_panels
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, in_order

#: What is done with row or column r before products, {d} is its element k.
PREPARATIONS = (
    "s[r] = 0; for (int k = 0; k < m; k++) s[r] += {d}; for (int k = 0; k < m; k++) {d} -= s[r];",
    "s[r] = {d0}; for (int k = 1; k < m; k++) s[r] += {d} * {d}; for (int k = 0; k < m; k++) {d} /= sqrt(s[r]);",
    "for (int k = 1; k < m; k++) {d} += {d} * w;",
)
#: Pairs of rows, and what is summed for each; {i} and {j} are their elements k.
PRODUCTS = (
    "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) {",
    "for (int j = 0; j < n; j++) for (int i = 0; i <= j; i++) {",
    "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) {",
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {",
)


def two_passes(draw: random.Random) -> str:
    element = draw.choice(("a[r][k]", "a[k][r]"))
    first = draw.choice(PREPARATIONS).replace("{d0}", element.replace("k", "0")).replace("{d}", element)
    i, j = (element.replace("r", name) for name in "ij")
    last = draw.choice(("", "c[i][j] /= w;"))
    return f"""void f(int n, int m, double a[n + m][n + m], double c[n][n], double s[n], double w) {{
#pragma scop
  for (int r = 0; r < n; r++) {{ {first} }}
  {draw.choice(PRODUCTS)} c[i][j] = 0; for (int k = 0; k < m; k++) c[i][j] += {i} * {j}; {last} }}
#pragma endscop
}}"""


@pytest.mark.parametrize("seed", samples(4))
def test_first_panels_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(two_passes(draw))
    flow, sizes = flow_dependences(program), {"n": draw.randint(12, 30), "m": draw.randint(12, 24)}
    sizes["S"] = draw.randint(4, 12) * sizes["m"]
    boxes = Boxes(flow, sizes, ())
    users = [item.name for item in program.statements if "i" in item.iterators]
    made = boxes.of(item.name for item in program.statements if item.name not in users)
    used = boxes.of(users)
    assert made is not None
    assert used is not None
    found = with_first_panels(boxes, in_order(flow, [made, used]))
    loads, exact = replayed(UpperBound(program, tuple(found)), flow, sizes)
    assert exact
    said = sum(map(boxes.cost, found))
    assert loads <= said
    if len(found) == 1:
        assert isinstance(found[0], PassedStep)
        assert said < boxes.cost(made) + boxes.cost(used)


@pytest.mark.slow
def test_columns_are_multiplied_while_they_are_prepared() -> None:
    program = program_from_text(two_passes(random.Random(5)))
    flow, sizes = flow_dependences(program), {"n": 40, "m": 30, "S": 400}
    boxes = Boxes(flow, sizes, ())
    users = [item.name for item in program.statements if "i" in item.iterators]
    made, used = boxes.of(item.name for item in program.statements if item.name not in users), boxes.of(users)
    assert made is not None
    assert used is not None
    (found,) = with_first_panels(boxes, [made, used])
    assert isinstance(found, PassedStep)
    assert boxes.cost(found) < 0.9 * (boxes.cost(made) + boxes.cost(used))
