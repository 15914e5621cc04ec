"""Rows along memory inside of skewed tiles: orders that are legal, and hold no more words than there are."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from tests.affine.c_code.test_code import SANITIZED, assert_agrees, needs_compiler, run
from tests.affine.derived import flow_of, quick, upper_of
from tests.affine.orders.test_borders import in_tiles, random_stencil

import shorthaul
from shorthaul.affine.c_code.rows import Rows, in_rows
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow, flow_dependences
from shorthaul.affine.orders.borders.held import BorderedStep, bordered
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.storage import Storage
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.core.search import Search


def keys_of(found: Rows, cdag: ConcreteCdag, sizes: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the instances in their order, the number of the tile of each, and whether all that is kept is a tile's."""
    step, capacity = (found.step.step, found.step.capacity) if isinstance(found.step, FixedStep) else (found.step, 0)
    assert isinstance(step, Step | BorderedStep)
    assert step.phase is not None
    assert step.policy is not None
    if isinstance(step, BorderedStep):
        tiles, origin = dict(step.tiles), dict(step.origin)
    else:
        edge = step.phase.edge(step.policy, capacity or sizes["S"])
        tiles, origin = step.phase.sizes(step.policy, edge), {}
    first = len(cdag.names) - len(step.counts.flow.program.statements)
    owners = {name: cdag.names.index(name, first) for name in step.names}
    vertices = np.flatnonzero(np.isin(cdag.owner, [*owners.values()]))
    lines: list[tuple[int, ...]] = []
    for vertex in vertices.tolist():
        name = next(key for key, owner in owners.items() if owner == cdag.owner[vertex])
        rows = step.phase.placement[name]
        point = cdag.coordinates[vertex, : len(rows[0].factors)].tolist()
        values = {**{f"v{at}": value for at, value in enumerate(point)}, **sizes}
        outer = [rows[at].at(point, sizes) for at in step.policy.order.outer]
        places = {at: rows[at].at(point, sizes) + origin.get(at, 0) for at in tiles}
        inner = [
            eval(re.sub(r"floor\((.*) / (\d+)\)", r"(\1) // \2", text), {}, values) for text in found.entries[name]
        ]
        lines.append((*outer, *(places[at] // tiles[at] for at in step.policy.order.tiled), *inner))
    width = len(step.policy.order.outer) + len(tiles)
    table = np.array(lines, np.int64)
    order = np.lexsort((vertices, *reversed(table.T)))
    _, numbers = np.unique(table[order, :width], axis=0, return_inverse=True)
    return vertices[order], numbers.reshape(-1), not any(step.policy.levels)


def examined(upper: UpperBound, flow: DataFlow, sizes: Mapping[str, int]) -> int:
    """Compare what tiles with rows inside of them hold with the words there are; return how many phases had rows."""
    conflicts = Conflicts(flow.program, Storage(flow).accesses())
    cdag, count = concrete_cdag(flow.program, sizes, flow), 0
    plain = [item for item in upper.steps if isinstance(item, Step)]
    for step in [*plain, *(bordered(item, sizes) for item in plain)]:
        found = None if step is None else in_rows(step, sizes["S"], conflicts)
        if found is not None:
            order, numbers, is_whole = keys_of(found, cdag, sizes)
            _, most = in_tiles(None, order, cdag, numbers)  # type: ignore[arg-type]
            assert most <= sizes["S"] or not is_whole, found
            count += 1
    return count


@pytest.mark.parametrize("seed", [5, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 80))])
def test_random_stencils(seed: int) -> None:
    draw = random.Random(seed)
    flow = flow_dependences(program_from_text(random_stencil(draw)))
    upper = upper_bound(flow.program, flow=flow, search=Search(effort=0.2))
    for words in (draw.randint(30, 80), draw.randint(60, 200)):
        examined(upper, flow, {"T": draw.randint(3, 6), "n": draw.randint(8, 14), "S": words})


@pytest.mark.parametrize(
    ("name", "sizes"),
    quick(
        (
            ("jacobi-1d", {"TSTEPS": 30, "N": 300, "S": 900}),
            ("jacobi-2d", {"TSTEPS": 5, "N": 16, "S": 160}),
            ("fdtd-2d", {"TMAX": 5, "NX": 14, "NY": 15, "S": 160}),
        ),
        (("jacobi-2d", {"TSTEPS": 5, "N": 16, "S": 160}),),
    ),
)
def test_kernels(name: str, sizes: dict[str, int]) -> None:
    assert examined(upper_of(name), flow_of(name), sizes) >= 1


FIELDS = """void f(int T, int n, double u[n][n], double v[n][n]) {
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) u[i][j] = u[i][j] - 0.5 * (v[i][j] - v[i - 1][j]);
    for (int i = 0; i < n - 1; i++) for (int j = 0; j < n - 1; j++) v[i][j] = v[i][j] - 0.7 * (u[i + 1][j] - u[i][j + 1]);
  }
#pragma endscop
}"""


@needs_compiler
def test_innermost_loops_go_along_memory(tmp_path: Path) -> None:
    text = shorthaul.affine.code(FIELDS, size="T=20,n=30,S=400", effort=0.1).extra["code"]
    assert_agrees(run(text, tmp_path, *SANITIZED))
    body = text[text.index("/* S0, S1 */") :].split("\n}")[0]
    heads = [line for line in body.splitlines() if "for (long c" in line]
    assert all(line.rstrip().endswith(("+= 1) {", "+= T0_0) {", "+= T0_1) {")) for line in heads)
    assert body.count("VECTOR") >= 2
    assert " / 2, " not in re.sub(r"for .*", "", body)  # no iterator is a half of a coordinate
