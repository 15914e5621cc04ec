"""Blocks of a loop that needs what all earlier steps computed: replayed, they are legal and load no more than said."""

from __future__ import annotations

import random

import pytest
from tests.affine.derived import quick
from tests.affine.orders.boxes.test_boxes import replayed

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.joining.blocks import in_blocks
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.turns import TurnsStep
from shorthaul.affine.orders.upper_bound import UpperBound
from shorthaul.affine.orders.upper_report import order_text

FRAME = """void f(int M, int N, double A[M][N], double Q[M][N], double R[N][N], double v[M], double n[N], double s[N]) {{
  for (int k = {first}; k < N; k++) {{
    for (int j = {low}; j < k; j++) {{ {sums} }}
    {rest}
  }}
}}"""
SUMS = (
    "R[j][k] = 0; for (int i = 0; i < M; i++) R[j][k] += Q[i][j] * A[i][k];",
    "s[j] = 0; for (int i = 0; i < M; i++) s[j] += Q[i][j] * A[i][k]; R[j][k] = s[j];",
)
RESTS = (
    "for (int i = 0; i < M; i++) {{ Q[i][k] = A[i][k]; for (int j = {low}; j < k; j++) Q[i][k] -= R[j][k] * Q[i][j]; }}",
    """for (int j = {low}; j < k; j++) for (int i = 0; i < M; i++) A[i][k] -= R[j][k] * Q[i][j];
    n[k] = 1; for (int i = 0; i < M; i++) n[k] += A[i][k]; for (int i = 0; i < M; i++) Q[i][k] = A[i][k] / n[k];""",
    """for (int i = 0; i < M; i++) {{ v[i] = A[i][k]; for (int j = {low}; j < k; j++) v[i] -= R[j][k] * Q[i][j]; }}
    for (int i = 0; i < M; i++) Q[i][k] = v[i];""",
)


def made(text: str, sizes: dict[str, int]) -> tuple[Boxes, TurnsStep]:
    """Return the best blocks found of a program, as they would be if nothing else were known."""
    program = program_from_text(text)
    boxes = Boxes(flow_dependences(program), sizes, ())
    plain = boxes.plain(item.name for item in program.statements)
    found = in_blocks(boxes, plain)
    assert isinstance(found, TurnsStep)
    return boxes, found


@pytest.mark.parametrize("seed", quick(range(20), (15,)))
def test_blocks_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    low = draw.choice((0, 1))
    rest = draw.choice(RESTS).format(low=low)
    text = FRAME.format(first=draw.choice((0, 1)), low=low, sums=draw.choice(SUMS), rest=rest)
    boxes, found = made(text, {"M": draw.randint(4, 6), "N": draw.randint(4, 5), "S": draw.randint(30, 50)})
    loads, exact = replayed(UpperBound(boxes.flow.program, (found,)), boxes.flow, boxes.sizes)
    assert exact
    assert loads <= boxes.cost(found)


@pytest.mark.slow
def test_products_with_earlier_columns_are_tiled() -> None:
    """Columns one by one load 125.9 million words."""
    text = FRAME.format(first=0, low=0, sums=SUMS[0], rest=RESTS[0].format(low=0))
    boxes, found = made(text, {"M": 400, "N": 800, "S": 4096})
    assert boxes.cost(found) < 22e6
    assert "64 iterations of it at a time" in order_text(found)
