"""Phases in common ranges of a loop: replayed, they are legal and load no more than said."""

from __future__ import annotations

import random

import pytest
from tests.affine.orders.boxes.test_boxes import replayed

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.joining.stages import in_common_ranges
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.turns import nests_of
from shorthaul.affine.orders.upper_bound import UpperBound

#: What computes T, by rows, and what uses it: by rows too, some rows later, or all of it.
FIRST = (
    "for (int r = 0; r < 3; r++) T[i][j] += D[j][r] * X[i + r][j];",
    "for (int r = 0; r < m; r++) T[i][j] += X[i][r] * D[r][j];",
    "T[i][j] = X[i][j] * D[j][0];",
    "for (int r = 0; r <= j; r++) T[i][j] += X[i + 1][r] * X[i][r];",
)
SECOND = (
    "for (int c = 0; c < m; c++) Y[i][j] += P[j][c] * T[i][c];",
    "for (int c = 0; c < m; c++) Y[i][j] += P[j][c] * T[i + 1][c];",
    "for (int c = 0; c < j; c++) Y[i][j] += T[i + {0}][j] * T[i][c] * P[i][c];",
    "for (int c = 0; c < m; c++) Y[i][j] += P[j][c] * T[c][i];",
)


def random_text(draw: random.Random) -> str:
    """Return two nests drawn, the second one with the first one's results."""
    first, second = draw.choice(FIRST), draw.choice(SECOND).format(draw.choice("01"))
    loops = draw.choice((("i", "j"), ("j", "i")))
    sizes = {"i": "n", "j": "m"}
    own = " ".join(f"for (int {name} = 0; {name} < {sizes[name]}; {name}++)" for name in loops)
    arrays = ", ".join(f"double {name}[n + m + 3][n + m + 3]" for name in ("X", "D", "T", "P", "Y"))
    rows = "for (int i = 0; i < n - 1; i++)"
    return f"""void f(int n, int m, {arrays}) {{
#pragma scop
  {own} {{ T[i][j] = 0; {first} }}
  {rows} for (int j = 0; j < m; j++) {{ Y[i][j] = 0; {second} }}
#pragma endscop
}}"""


def compared(seed: int) -> bool:
    """Replay a random pair in common ranges; False if there are none."""
    draw = random.Random(seed)
    program = program_from_text(random_text(draw))
    flow, sizes = flow_dependences(program), {"n": draw.randint(8, 16), "m": draw.randint(5, 9)}
    sizes["S"] = draw.randint(40, 150)
    boxes = Boxes(flow, sizes, ())
    maker, user = (boxes.of(names) for names in nests_of(program))
    found = None if maker is None or user is None else in_common_ranges(boxes, maker, user)
    if maker is None or user is None or found is None:
        return False
    loads, _ = replayed(UpperBound(program, (found,)), flow, sizes)
    assert loads <= found.rate < maker.rate + user.rate
    return True


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_common_ranges_load_no_more_than_said(first: int) -> None:
    found = [compared(seed) for seed in range(first, first + 10)]
    assert any(found)


def test_what_passes_between_stages_stays() -> None:
    text = "for (int i = 0; i < 12; i++) for (int j = 0; j < 6; j++) { T[i][j] = 0; for (int r = 0; r < 3; r++) "
    text += (
        "T[i][j] += D[j][r] * X[i + r][j]; } for (int k = 0; k < 8; k++) for (int i = 0; i < 12; i++) { Y[k][i] = 0; "
    )
    text += "for (int j = 0; j < 6; j++) Y[k][i] += P[k][j] * T[i][j]; }"
    program = program_from_text(
        f"void f(double X[14][6], double D[6][3], double P[8][6], double T[12][6], double Y[8][12]) {{ {text} }}"
    )
    boxes = Boxes(flow_dependences(program), {"S": 50}, ())
    maker, user = (boxes.of(names) for names in nests_of(program))
    assert maker is not None
    assert user is not None
    found = in_common_ranges(boxes, maker, user)
    assert found is not None
    assert [item.names[0][:2] for item in found.boxes] == ["S0", "S2"] * (len(found.boxes) // 2)
    loads, _ = replayed(UpperBound(program, (found,)), boxes.flow, boxes.sizes)
    assert loads <= found.rate < 0.9 * (maker.rate + user.rate)
