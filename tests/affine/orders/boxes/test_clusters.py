"""Clusters of tiles that share rows: replayed they load no more than said, and fewer rows than tiles one by one."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.affine.derived import quick
from tests.affine.orders.boxes.test_boxes import replayed
from tests.samples import samples

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.boxes.clusters import clustered
from shorthaul.affine.orders.boxes.steps import Box
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.core.search import Search

#: Pairs of rows: a triangle on either side, a band, all of them.
PAIRS = (
    "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++)",
    "for (int j = 0; j < n; j++) for (int i = 0; i < j; i++)",
    "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) if (j <= i + 9)",
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)",
)
#: What is summed over k for each pair.
TERMS = (
    "a[i][k] * a[j][k]",
    "a[k][j] * a[k][i]",
    "fabs(a[i + 1][k] - a[j][k])",
    "a[i][k] * b[j][k] + b[i][k] * a[j][k]",
    "w[k] * a[i][k] * a[j][k]",
    "a[i][k] * b[k][j]",
)


def sums_of_pairs(draw: random.Random) -> str:
    pairs, term = draw.choice(PAIRS), draw.choice(TERMS)
    target = draw.choice(("c[i][j]", "c[j][i]"))
    before, after = draw.choice((f"{target} = 0;", f"{target} *= w[0];", "")), draw.choice(("", f"{target} /= w[1];"))
    arrays = "double a[n + m][n + m], double b[n + m][n + m], double c[n][n], double w[n + m]"
    return f"""void f(int n, int m, {arrays}) {{
#pragma scop
  {pairs} {{ {before} for (int k = 0; k < m; k++) {target} += {term}; {after} }}
#pragma endscop
}}"""


@pytest.mark.parametrize("seed", samples(4))
def test_clusters_load_no_more_than_said(seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(sums_of_pairs(draw))
    flow = flow_dependences(program)
    upper = upper_bound(program, flow=flow, search=Search(effort=0.3))
    sizes = {"n": draw.randint(16, 40), "m": draw.randint(2, 6), "S": draw.randint(40, 200)}
    here = at_sizes(upper, flow, sizes, Search(effort=0.3))
    loads, exact = replayed(here, flow, sizes)
    assert exact
    assert loads <= here.value(sizes)


@pytest.mark.parametrize("seed", quick(range(6), (0,)))
def test_clusters_of_tiles_alone(seed: int) -> None:
    draw = random.Random(seed)
    program = program_from_text(sums_of_pairs(draw))
    flow, sizes = flow_dependences(program), {"n": 48, "m": 4, "S": draw.randint(300, 600)}
    boxes = Boxes(flow, sizes, ())
    found = boxes.of(item.name for item in program.statements)
    assert found is not None
    width = len(found.extents)
    tiles = Box(tuple(range(width)), (*(16,) * (width - 1), 1), found.box.first)
    made = clustered(replace(found, boxes=(tiles,)), range(width - 1)) if width == 3 else None
    if made is not None:
        loads, _ = replayed(UpperBound(program, (made,)), flow, {**sizes, "S": made.room})
        assert loads <= made.loads(sizes, sizes["S"])
        assert made.room <= sizes["S"]


@pytest.mark.slow
def test_products_of_columns_load_few_of_them() -> None:
    """Four groups of 24 columns, two of them in each of six clusters: every column three times."""
    program = program_from_text("""void f(double a[96][6], double c[96][96]) {
#pragma scop
  for (int i = 0; i < 96; i++) for (int j = 0; j <= i; j++) {
    c[i][j] = 0; for (int k = 0; k < 6; k++) c[i][j] += a[i][k] * a[j][k]; }
#pragma endscop
}""")
    flow, sizes = flow_dependences(program), {"S": 900}
    found = Boxes(flow, sizes, ()).of(["S0", "S1"])
    assert found is not None
    made = clustered(replace(found, boxes=(Box((0, 1, 2), (28, 28, 1), found.box.first),)), (0, 1))
    assert made is not None
    assert made.by_array["a"] == 6 * 6 * 48
    assert replayed(UpperBound(program, (made,)), flow, sizes)[0] <= 6 * 6 * 48


def test_tiles_that_need_one_another_stay_apart() -> None:
    program = program_from_text("""void f(int n, double a[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k];
#pragma endscop
}""")
    flow, sizes = flow_dependences(program), {"n": 40, "S": 150}
    boxes = Boxes(flow, sizes, ())
    found = boxes.of(["S0"])
    assert found is not None
    assert boxes.clustered(found) is found


def test_a_tile_that_holds_nothing_may_come_with_any_cluster() -> None:
    program = program_from_text("""void f(int n, double a[n][60], double c[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) {
    c[i][j] = 0; if (j < i) for (int k = 0; k < 60; k++) c[i][j] += a[i][k] * a[j][k]; }
#pragma endscop
}""")
    flow, sizes = flow_dependences(program), {"n": 8, "S": 16}
    found = Boxes(flow, sizes, ()).of(["S0", "S1"])
    assert found is not None
    made = clustered(replace(found, boxes=(Box((0, 1, 2), (1, 1, 1), found.box.first),)), (0, 1))
    assert made is not None
    assert {(at, at) for at in range(8)}.isdisjoint(made.clusters)
    loads, legal = replayed(UpperBound(program, (made,)), flow, sizes)
    assert legal
    assert loads <= made.loads(sizes, 16)
