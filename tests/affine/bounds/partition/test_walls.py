"""Stencils up to their borders: walls and inputs at places below instances at which there is none."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import islpy as isl
import numpy as np
import pytest
from tests.affine.derived import levels_alone, quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.columns import stencils
from shorthaul.affine.bounds.coupled import coupled
from shorthaul.affine.bounds.partition.stencil_levels import Stencil, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs import oracle
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

HEAD = "void f(int T, int N, double A[2]%s, double B[2]%s) {\n#pragma scop\nfor (int t = 0; t < T; t++) {%s}\n#pragma endscop\n}"


def text(n: int, *reads: str) -> str:
    """Return a stencil in two buffers: what A (and B) read one step before, ``i0 - 1`` and so on as subscripts."""
    loops = "".join(f"for (int i{k} = 1; i{k} < N - 1; i{k}++) " for k in range(n))
    here = "".join(f"[i{k}]" for k in range(n))
    body = " ".join(f"{'AB'[at]}[(t + 1) % 2]{here} = {read};" for at, read in enumerate(reads))
    return HEAD % ("[N]" * n, "[N]" * n, f"{loops}{{ {body} }}")


def cross(n: int, name: str = "A", *more: tuple[int, ...]) -> str:
    """Return reads of a place and those beside it."""
    beside = [tuple(sign * (k == axis) for k in range(n)) for axis in range(n) for sign in (-1, 1)]
    found = ("".join(f"[i{k} + {by}]" for k, by in enumerate(item)) for item in ((0,) * n, *beside, *more))
    return " + ".join(f"{name}[t % 2]{place}" for place in found)


COUPLED = text(1, f"{cross(1)} + B[t % 2][i0]", f"{cross(1, 'B')} + A[t % 2][i0]")


def arguments(flow: DataFlow) -> Iterator[Stencil]:
    yield from (item for item in (*coupled(flow), *stencils(flow)) if item.walls is not None)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_all_of_a_grid_is_within(n: int) -> None:
    """Corners and the first step, too."""
    item = next(arguments(flow_dependences(program_from_text(text(n, cross(n))))))
    here = [f"0 < i{k} < N - 1" for k in range(n)]
    inside = isl.Set(
        f"[T, N] -> {{ S0[t, {', '.join(f'i{k}' for k in range(n))}] : 0 <= t < T and {' and '.join(here)} }}"
    )
    large = isl.Set("[T, N] -> { : T > 1 and N > 4 }")
    assert item.domains[0].intersect_params(large).is_equal(inside.intersect_params(large))


def test_what_several_instances_would_have_for_a_wall_is_none() -> None:
    """A neighbour at a corner more: each place beside two sides of the grid is read by two instances."""
    item = next(arguments(flow_dependences(program_from_text(text(2, cross(2, "A", (-1, -1)))))))
    beside = isl.Set("[T, N] -> { S0[t, i, j] : t > 0 and N > 8 and T > 8 and (i = 1 or j = 1) and 2 < i + j < N }")
    within = isl.Set("[T, N] -> { S0[t, i, j] : 0 <= t < T and N > 8 and T > 8 and 1 < i < N - 1 and 1 < j < N - 1 }")
    assert item.domains[0].is_disjoint(beside)
    assert within.is_subset(item.domains[0])


@pytest.mark.parametrize(("program", "steps", "n", "capacities"), quick([
    (text(1, cross(1)), 40, 30, (7, 9, 12)), (text(1, cross(1)), 60, 20, (6, 10)), (COUPLED, 40, 16, (9, 14)),
    (text(2, cross(2)), 40, 7, (9, 12)), (text(1, "A[t % 2][i0 - 1] + A[t % 2][i0]"), 40, 30, (4, 8)),
], [(text(1, cross(1)), 40, 30, (7, 9, 12)), (COUPLED, 40, 16, (9, 14))]))  # fmt: skip
def test_no_skewed_order_beats_it(program: str, steps: int, n: int, capacities: tuple[int, ...]) -> None:
    flow = flow_dependences(program_from_text(program))
    cdag = concrete_cdag(program_from_text(program), {"T": steps, "N": n}, flow)
    computed = cdag.program_order
    t, *places = cdag.coordinates[computed].T[: 2 + ("i1" in program)]
    values = [sub_bound(item, flow, balanced=True, events=most) for item in arguments(flow) for most in (None, 4, 9)]
    active = 0
    for capacity in capacities:
        bound = max(number_at(item.value, {"T": steps, "N": n, "S": capacity}) for item in values)
        orders = [
            computed[np.lexsort((*places, t, *((t + place) // wide for place in places), t // high))]
            for wide, high in itertools.product((1, 2, 3, 5), (2, 3, 5, steps))
        ]
        least = min(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders)
        assert cdag.inputs + bound <= least
        active += bound > 0
    assert active or "i1" in program


SIZES = {"T": 400, "N": 500, "S": 20}


@cache
def written(program: str) -> str:
    return levels_alone(program_from_text(program), "walls", SIZES)


def replaced(key: str, before: str, after: str) -> Callable[[dict[str, str]], None]:
    def change(walls: dict[str, str]) -> None:
        assert before in walls[key]
        walls[key] = walls[key].replace(before, after)

    return change


WRONG = {
    "an input at two places": replaced("inputs", "A[0, i1]", "A[0, 1]"),
    "no input": replaced("inputs", "A[0", "A[7"),
    "an instance": replaced("walls", "{ ", "{ S0[1, 1] : T > 2 and N > 4; "),
    "of several": replaced("walls", "{ ", "{ S0[-1, 2] : T > 2 and N > 4; "),
    "nothing": lambda walls: walls.update(walls="{ }", inputs="{ }"),
}


@pytest.mark.parametrize("change", [None, *WRONG.values()], ids=["as it is", *WRONG])
def test_a_changed_certificate_is_not_verified(change: Callable[[dict[str, str]], None] | None) -> None:
    document: dict[str, Any] = json.loads(written(text(1, cross(1))))
    found = [part["walls"] for part in document["certificate"]["parts"] if part.get("walls")]
    assert found
    for walls in found:
        (change or (lambda _: None))(walls)
    assert bool(verify(program_from_text(text(1, cross(1))), document, SIZES)[0]) == (change is not None)


def test_walls_are_no_vertices_for_the_oracle() -> None:
    known = program_from_text(
        "void f(int T, int N, double a[T + 1][N][N]) {\n#pragma scop\n"
        "for (int t = 0; t < T; t++) for (int i = 1; i < N; i++) for (int j = 1; j < N; j++)"
        " a[t + 1][i][j] = a[t][i][j] + a[t][i - 1][j] + a[t][i][j - 1];\n#pragma endscop\n}"
    )
    found = lower_bound(known, flow=flow_dependences(known), search=Search(effort=0.15))
    sizes, remarks = {"T": 2, "N": 3}, list[str]()
    assert not list(oracle._parts(found, sizes, concrete_cdag(known, sizes), remarks, Search()))
    assert remarks


@pytest.mark.parametrize("program", [COUPLED, pytest.param(text(3, cross(3)), marks=pytest.mark.slow)])
def test_other_certificates_are_verified(program: str) -> None:
    document = json.loads(written(program))
    assert any(part.get("walls") for part in document["certificate"]["parts"])
    assert not verify(program_from_text(program), document, SIZES)[0]
