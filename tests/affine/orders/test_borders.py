"""Borders held by tiles at given sizes: what tiles touch, hold and load, counted one by one, is no more than said."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import islpy as isl
import numpy as np
import pytest
from tests.affine.derived import flow_of, kernel, upper_of
from tests.samples import ALL

from shorthaul.affine import bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.orders.borders.grids import Grid, Part
from shorthaul.affine.orders.borders.held import BorderedStep, bordered
from shorthaul.affine.orders.borders.rooms import room
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.affine.replay.tile_order import tiled_order
from shorthaul.affine.sizes import require_sizes
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

MOST_GRIDS = 80


def random_stencil(draw: random.Random) -> str:
    """Return sweeps over one to three fields on a line, in the plane or in space, some of them in place."""
    names = "ijk"[: draw.choice((1, 1, 2, 2, 2, 3))]
    arrays = "ABC"[: draw.choice((1, 2, 2, 3))]
    nests = []
    for at, array in enumerate(arrays):
        sources = arrays if draw.random() < 0.4 else arrays[at - 1]
        reads = [
            draw.choice(sources) + "".join(f"[{name}{draw.choice(('', ' - 1', ' + 1'))}]" for name in names)
            for _ in range(draw.randint(2, 6))
        ]
        ends = [(name, draw.choice((1, 2, 2)), draw.choice((1, 2, 2))) for name in names]
        loops = "".join(f"for (int {name} = {low}; {name} < n - {high}; {name}++) " for name, low, high in ends)
        write = array + "".join(f"[{name}]" for name in names)
        nests.append(f"{loops}{write} = {' + '.join(reads)};")
    given = ", ".join(f"double {array}{'[n]' * len(names)}" for array in arrays)
    gap = draw.choice(("", "", "", "if (t != 3)"))
    return f"""void f(int T, int n, {given}) {{
#pragma scop
  for (int t = 0; t < T; t++) {gap} {{
    {" ".join(nests)}
  }}
#pragma endscop
}}"""


def in_tiles(step: BorderedStep, order: np.ndarray, cdag: ConcreteCdag, keys: np.ndarray) -> tuple[int, int]:
    """Return what tiles load and the most that one holds if each holds from a first use, or computation, to the last.

    ``keys`` number the tiles of the instances in ``order``.
    """
    loads = most = 0
    cuts = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(order)]
    for first, last in pairwise(cuts):
        begins: dict[int, int] = {}
        ends: dict[int, int] = {}
        for now, vertex in enumerate(order[first:last].tolist()):
            for operand in cdag.operands[cdag.starts[vertex] : cdag.starts[vertex + 1]].tolist():
                loads += operand not in begins
                begins.setdefault(operand, now)
                ends[operand] = now
            assert vertex not in begins, "an operand comes too late"
            begins[vertex] = ends[vertex] = now
        change = np.zeros(last - first + 1, np.int64)
        np.add.at(change, [*begins.values()], 1)
        np.add.at(change, [ends[item] + 1 for item in begins], -1)
        most = max(most, int(change.cumsum().max()))
    return loads, most


def compared(upper: UpperBound, flow: DataFlow, sizes: Mapping[str, int]) -> int:
    """Compare every phase with a border, and the order of all, with what is said; return how many there were."""
    program, count = flow.program, 0
    cdag = concrete_cdag(program, sizes, flow)
    found = bound(program, size=dict(sizes), upper=False, effort=1 if ALL else 0.4).bound
    assert found is not None
    for item in upper.steps:
        step = bordered(item, sizes) if isinstance(item, Step) else None
        if step is None or np.prod([*step.tiles.values()]) > MOST_GRIDS:
            continue
        here = UpperBound(program, tuple(step if other is item else other for other in upper.steps))
        alone = UpperBound(program, (step,))
        tiled = step.policy.order.tiled
        totals, replayed = [], []
        for origin in product(*(range(step.tiles[at]) for at in tiled)):
            order = tiled_order(alone, cdag, sizes, origin)
            loads, most = in_tiles(step, order, cdag, tile_numbers(step, cdag, order, sizes, origin))
            assert most <= step.live or any(step.policy.levels)
            totals.append(loads)
            whole = tiled_order(here, cdag, sizes, origin)
            replayed.append(int(belady_loads(whole, cdag.starts, cdag.operands, sizes["S"]).sum()))
        assert np.mean(totals) <= step.rate + 1e-6
        assert np.mean(replayed) <= here.value(sizes) + 1e-6
        assert found.value <= min(replayed)
        count += 1
    return count


def tile_numbers(
    step: BorderedStep, cdag: ConcreteCdag, order: np.ndarray, sizes: Mapping[str, int], origin: tuple[int, ...]
) -> np.ndarray:
    """Return a number for the tile of every instance of ``order``."""
    first = len(cdag.names) - len(step.counts.flow.program.statements)
    result = np.zeros(len(order), np.int64)
    for name in step.names:
        mine = cdag.owner[order] == cdag.names.index(name, first)
        points = cdag.coordinates[order[mine]]
        for at, shift in zip(step.policy.order.tiled, origin, strict=True):
            row = step.inside.placement[name][at]
            values = points[:, : len(row.factors)] @ np.array(row.factors)
            offset = row.constant + sum(factor * sizes[key] for key, factor in row.parameters)
            result[mine] = (
                result[mine] * 10_000 + (values + offset + step.origin.get(at, shift)) // step.tiles[at] + 5_000
            )
    return result


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 80))
def test_random_stencils(seed: int) -> None:
    draw = random.Random(seed)
    flow = flow_dependences(program_from_text(random_stencil(draw)))
    upper = upper_bound(flow.program, flow=flow, search=Search(effort=3))
    for words in (draw.randint(10, 40), draw.randint(30, 120)):
        compared(upper, flow, {"T": draw.randint(2, 5), "n": draw.randint(6, 9), "S": words})


def buffered(draw: random.Random) -> str:
    """Return a random stencil, some of its arrays in two or three buffers that take turns."""
    text, number = random_stencil(draw), draw.choice((2, 2, 3))
    written = re.findall(r"\) ([ABC])\[", text)
    for array in draw.sample(written, draw.randint(1, len(written))):
        head, body = text.split("#pragma scop")
        head = head.replace(f"double {array}[", f"double {array}[{number}][")
        body = re.sub(rf"{array}((?:\[[^]]*\])+) = ", rf"{array}[(t + 1) % {number}]\1 = ", body)
        text = head + "#pragma scop" + re.sub(rf"{array}(?=\[[ijk])", f"{array}[t % {number}]", body)
    return text


def with_coefficients(draw: random.Random) -> str:
    """Return a random stencil whose sweeps read one or two arrays besides that nothing writes."""
    text = random_stencil(draw) if draw.random() < 0.5 else buffered(draw)
    names = [name for name in "ijk" if f"int {name}" in text]

    def read(found: re.Match[str]) -> str:
        chosen = [draw.choice("KL") for _ in range(draw.randint(0, 3))]
        places = ["".join(f"[{name}{draw.choice(('', '', ' - 1', ' + 1'))}]" for name in names) for _ in chosen]
        return found[0] + "".join(f"{array}{place} * " for array, place in zip(chosen, places, strict=True))

    text = re.sub(r"\] = ", read, text)
    return text.replace("int n", "int n" + "".join(f", double {array}{'[n]' * len(names)}" for array in "KL"), 1)


def coloured(draw: random.Random) -> str:
    """Return sweeps over points of two or three colours, most of which read other colours and inputs."""
    number, names = draw.choice((2, 2, 2, 3)), draw.choice(("i", "ij", "ij", "ij"))
    reads = [
        draw.choice(("A", "A", "A", "K", "L"))
        + "".join(f"[{name}{draw.choice(('', ' - 1', ' + 1'))}]" for name in names)
        for _ in range(draw.randint(2, 6))
    ]
    *outer, last = names
    colour = draw.choice(("{}", "{}", "{} + 1")).format(" + ".join([*outer, "c"]))
    loops = "".join(f"for (int {name} = 1; {name} < n - 1; {name}++) " for name in outer)
    loops += f"for (int {last} = 1 + ({colour}) % {number}; {last} < n - 1; {last} += {number}) "
    write = "A" + "".join(f"[{name}]" for name in names)
    given = ", ".join(f"double {array}{'[n]' * len(names)}" for array in "AKL")
    return f"""void f(int T, int n, {given}) {{
  for (int t = 0; t < T; t++) for (int c = 0; c < {number}; c++) {loops}{write} = {" + ".join(reads)};
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("make", [buffered, with_coefficients, coloured])
@pytest.mark.parametrize("seed", range(40))
def test_random_stencils_of_more_kinds(seed: int, make: Callable[[random.Random], str]) -> None:
    draw = random.Random(seed)
    flow = flow_dependences(program_from_text(make(draw)))
    upper = upper_bound(flow.program, flow=flow, search=Search(effort=3))
    for words in (draw.randint(10, 40), draw.randint(30, 120)):
        compared(upper, flow, {"T": draw.randint(2, 5), "n": draw.randint(6, 9), "S": words})


def test_a_border_in_two_buffers_is_held() -> None:
    text = """void f(int T, int n, double A[2][n]) {
      for (int t = 0; t < T; t++)
        for (int i = 1; i < n - 1; i++)
          A[(t + 1) % 2][i] = A[t % 2][i - 1] + A[t % 2][i] + A[t % 2][i + 1];
    }"""
    flow = flow_dependences(program_from_text(text))
    upper = upper_bound(flow.program, flow=flow)
    sizes = {"T": 9, "n": 14, "S": 24}
    assert compared(upper, flow, sizes) == 1
    (step,) = (found for item in upper.steps if isinstance(item, Step) and (found := bordered(item, sizes)))
    values = 1 + sum(float(item.live(step.policy.order, level, step.tiles)) for item, level in step.kept)
    assert values < step.live <= 24, "an element of one buffer is read later than values beside it, which need its room"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("jacobi-1d", {"TSTEPS": 8, "N": 20, "S": 24}),
        ("jacobi-2d", {"TSTEPS": 4, "N": 12, "S": 110}),
        ("seidel-2d", {"TSTEPS": 4, "N": 9, "S": 40}),
        ("fdtd-2d", {"TMAX": 5, "NX": 9, "NY": 10, "S": 60}),
        ("heat-3d", {"TSTEPS": 3, "N": 8, "S": 34}),
    ],
)
def test_kernels(name: str, sizes: dict[str, int]) -> None:
    assert compared(upper_of(name), flow_of(name), sizes) == 1


@pytest.mark.parametrize(
    ("name", "sizes", "most"),
    [
        # 26.9e6 where nothing of the border is held
        pytest.param("jacobi-2d", "TSTEPS=500,N=1300,S=131072", 15.2e6, marks=pytest.mark.slow),
        ("seidel-2d", "TSTEPS=500,N=2000,S=131072", 15.8e6),  # 47.7e6; two tiles have one plane between them
        pytest.param("fdtd-2d", "TMAX=500,NX=1000,NY=1200,S=131072", 12.9e6, marks=pytest.mark.slow),  # 21.4e6
        pytest.param("heat-3d", "TSTEPS=500,N=120,S=131072", 110.5e6, marks=pytest.mark.slow),  # 198.6e6
    ],
)
def test_borders_are_held(name: str, sizes: str, most: float) -> None:
    given = require_sizes(sizes, kernel(name), fast_memory=True)
    found = [bordered(item, given) for item in upper_of(name).steps if isinstance(item, Step)]
    assert min(item.rate for item in found if item is not None) <= most


def test_loads_on_a_grid_are_exact() -> None:
    """Each of 10 rows of 2^60 + 1 words is in one of three tiles, and rows on both sides of an edge in one more."""
    row = 2**60 + 1
    part = Part("A", isl.Set(f"{{ [i, j] : 0 <= i < 10 and 0 <= j < {row} }}"), (0, 0), (1, 1))
    _, loads = Grid([part], 0).best({0: 4, 1: 3})
    assert loads == {"A": Fraction(4, 3) * (10 + 2) * row}


@pytest.mark.slow
def test_tiles_of_given_sizes_are_chosen() -> None:
    sizes = {"TSTEPS": 60, "N": 300, "S": 2000}
    here = at_sizes(upper_of("seidel-2d"), flow_of("seidel-2d"), sizes, Search(effort=0.5))
    assert isinstance(here.steps[0], BorderedStep)
    assert here.value(sizes) < upper_of("seidel-2d").value(sizes) / 1.2


@pytest.mark.slow
def test_coordinates_that_load_as_much_are_compared_by_their_borders() -> None:
    sizes = {"TSTEPS": 40, "N": 130, "S": 400}  # three covectors of four lead along the border, and need no room for it
    (step,) = upper_of("jacobi-2d").steps
    assert isinstance(step, Step)
    found = bordered(step, sizes)
    assert found is not None
    assert (
        at_sizes(upper_of("jacobi-2d"), flow_of("jacobi-2d"), sizes, Search(effort=0.2)).value(sizes) < 0.8 * found.rate
    )


@pytest.mark.parametrize("words", [26, pytest.param(62, marks=pytest.mark.slow)])
def test_what_tiles_hold_is_counted_value_by_value(words: int) -> None:
    """Two coupled fields, copied back: tiles are larger than if all at the margins were held throughout."""
    inside = "for (int i = 1; i < n - 1; i++)"
    text = f"""void f(int T, int n, double A[n], double B[n], double P[n], double Q[n]) {{
  for (int t = 0; t < T; t++) {{
    {inside} {{ P[i] = A[i] + A[i - 1] + A[i + 1] + B[i]; Q[i] = B[i] + B[i - 1] + B[i + 1] + A[i]; }}
    {inside} {{ A[i] = P[i]; B[i] = Q[i]; }}
  }}
}}"""
    flow = flow_dependences(program_from_text(text))
    upper = upper_bound(flow.program, flow=flow, search=Search(effort=0.4))
    sizes = {"T": 20, "n": 50, "S": words}
    cdag = concrete_cdag(flow.program, sizes, flow)
    (step,) = (found for item in upper.steps if isinstance(item, Step) and (found := bordered(item, sizes)))
    assert step.room is not None
    assert step.room <= words < replace(step, room=None).live
    ((at, edge),) = step.tiles.items()
    for origin in range(edge):
        order = tiled_order(UpperBound(flow.program, (step,)), cdag, sizes, (origin,))
        assert in_tiles(step, order, cdag, tile_numbers(step, cdag, order, sizes, (origin,)))[1] <= step.room
    assert replace(step, tiles={at: edge + 1}, room=None).rate < step.rate


@pytest.mark.parametrize("edges", [(5, 6, 7), pytest.param((8, 8, 8), marks=pytest.mark.slow)])
def test_what_tiles_in_space_hold_is_counted_in_their_lattice(edges: tuple[int, int, int]) -> None:
    """Corners as coordinates: the places without values are no multiples of one vector's remainder."""
    near = " + ".join(f"A[t % 2][i{a}][j{b}][k{c}]" for a, b, c in [
        ("", "", ""), (" - 1", "", ""), (" + 1", "", ""), ("", " - 1", ""), ("", " + 1", ""), ("", "", " - 1"),
        ("", "", " + 1"),
    ])  # fmt: skip
    loops = "".join(f"for (int {name} = 1; {name} < n - 1; {name}++) " for name in "ijk")
    text = f"""void f(int T, int n, double A[2][n][n][n]) {{
  for (int t = 0; t < T; t++) {loops} A[(t + 1) % 2][i][j][k] = {near};
}}"""
    flow = flow_dependences(program_from_text(text))
    upper = upper_bound(flow.program, flow=flow, search=Search(effort=0.4))
    sizes = {"T": 10, "n": 12, "S": 400}
    (step,) = (found for item in upper.steps if isinstance(item, Step) and (found := bordered(item, sizes)))
    step = replace(step, tiles=dict(zip(step.tiles, edges, strict=True)), origin={}, counted=None, room=None)
    own = [(item, [border.apart for border in step.borders if border.like is item]) for item, _ in step.kept]
    said = 1 + room(own, step.policy.order, step.tiles, sizes)
    assert said < step.live
    cdag, draw, most = concrete_cdag(flow.program, sizes, flow), random.Random(7), 0
    for _ in range(2):
        origin = tuple(draw.randrange(edge) for edge in edges)
        order = tiled_order(UpperBound(flow.program, (step,)), cdag, sizes, origin)
        most = max(most, in_tiles(step, order, cdag, tile_numbers(step, cdag, order, sizes, origin))[1])
    assert 0.85 * said <= most <= said
