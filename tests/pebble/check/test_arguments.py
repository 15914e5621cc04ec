"""True certificates of every kind are accepted, and one thing changed in them is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.pebble.check.test_certificate import proven
from tests.pebble.families import fused_product, grid, lu, shuffled
from tests.pebble.test_grids import FAR, inside, least_by_sets
from tests.reference.falsified import at

from shorthaul.core.search import Search
from shorthaul.pebble.bounds import segments
from shorthaul.pebble.bounds.best import best_bound
from shorthaul.pebble.bounds.grids import histories
from shorthaul.pebble.bounds.piece import Piece
from shorthaul.pebble.check.certificates import grid as grid_check
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.workloads import kernels_as_graphs

#: Graphs with a budget, and the kind of argument that carries their bound.
FAMILIES: dict[str, tuple[Callable[[], Cdag], int, str]] = {
    "stencil in a plane": (lambda: grid(12, 11, 8), 8, "grid"),
    "stencil on a line": (lambda: kernels_as_graphs.stencil(n=40, t=24, word=1), 6, "grid"),
    "butterfly": (lambda: kernels_as_graphs.fft(n=64, word=1), 8, "crossing"),
    "product": (lambda: kernels_as_graphs.matmul(m=8, n=8, k=8, word=1), 6, "product"),
    "fused product": (lambda: fused_product(8, 8, 8), 6, "product"),
    "LU": (lambda: lu(14), 10, "product"),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every place of a document that holds no list and no object."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [found for key, item in items for found in places(item, (*path, key))]
    return [path]


def changed(parts: list[Any], rng: np.random.Generator) -> list[Any]:
    """Return a copy with one thing changed: a number, two that change places, one that is left out or there twice."""
    copied: list[Any] = json.loads(json.dumps(parts))
    every = places(copied)
    path = every[int(rng.integers(len(every)))]
    holder, key = at(copied, path[:-1]), path[-1]
    was, what = holder[key], int(rng.integers(5))
    if isinstance(was, bool):
        holder[key] = not was
    elif not isinstance(was, int) or what == 0 or not isinstance(holder, list):
        holder[key] = was + int(rng.choice([-1, 1])) if isinstance(was, int) else "changed"
    elif what == 1:
        holder[key] = at(copied, every[int(rng.integers(len(every)))])
    elif what == 2:
        other = int(rng.integers(len(holder)))
        holder[key], holder[other] = holder[other], was
    elif what == 3:
        del holder[key]
    else:
        holder.insert(int(rng.integers(len(holder))), was)
    return copied


def certified(name: str) -> tuple[Cdag, int, int, list[Any]]:
    """Return a shuffled graph of a family, its budget, what is proven, and its certificate without the trivial part."""
    make, budget, kind = FAMILIES[name]
    cdag = shuffled(make(), np.random.default_rng(7))
    bound = best_bound(cdag, budget, search=Search(effort=0.6), goal=cdag.algorithmic_bound() + 1)
    first, *parts = bound.details["certificate"]["parts"]
    assert first == {"kind": "algorithmic"}
    assert {part["kind"] for part in parts} == {kind}
    return cdag, budget, int(bound.value), parts


def shown(cdag: Cdag, pieces: Iterable[Piece]) -> list[dict[str, Any]]:
    """Return the certificate of some pieces."""
    return [part for piece in pieces if piece.shown is not None for part in piece.shown(cdag)]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_whole_bound_is_verified_and_changes_are_found(name: str) -> None:
    cdag, budget, value, parts = certified(name)
    assert value > cdag.algorithmic_bound()
    assert proven(cdag, parts, budget) >= value
    rng = np.random.default_rng(1)
    tries = [changed(parts, rng) for _ in range(40)]
    tries = [one for one in tries if one != parts]
    found = sum(proven(cdag, one, budget) < value for one in tries)
    assert found >= 0.9 * len(tries)


def test_no_set_of_levels_reads_and_leaves_less_than_the_checker_says() -> None:
    for sides, levels in (((2, 3), 2), ((7,), 2), ((2, 2, 2), 2), ((5,), 4)):
        for is_open, corners in product(product((False, True), repeat=2), (False, True)):
            truth = least_by_sets(sides, levels, is_open, corners)
            cells, most = int(np.prod(sides)), int(np.flatnonzero(truth < FAR).max())
            for unit, known in product((1, 3), (1, 4)):
                for steps in range(1, most // unit + 1):
                    around = grid_check.neighbourhoods(sides, min(cells, known * steps * unit), has_corners=corners)
                    least = grid_check.least_ends(around, cells, unit, steps, is_open=is_open)
                    assert least <= truth[(steps - 1) * unit + 1 :].min()


def test_iterations_inside_any_graph_are_verified() -> None:
    rng = np.random.default_rng(3)
    lifted = 0
    for _ in range(30):
        cdag = inside((int(rng.integers(15, 60)),), int(rng.integers(6, 20)), rng)
        budget = cdag.least_budget() + int(rng.integers(0, 4))
        found = histories.excess(cdag, budget, search=Search(effort=0.3))
        value = cdag.algorithmic_bound() + found.excess
        assert proven(cdag, shown(cdag, found.pieces), budget) >= value
        lifted += found.excess > 0
    assert lifted > 3


def test_first_levels_of_inputs_and_others_prove_nothing() -> None:
    cdag = grid(6, 6, 4)
    given = cdag.given.copy()
    given[0] = False
    mixed = build(cdag.weights, *cdag.edge_arrays(), given=given)
    part = {"kind": "grid", "sides": [5, 6, 6], "corners": False, "rows": False, "unit": 1, "segment": 20}
    part["nodes"] = list(range(cdag.n))
    assert proven(cdag, [part], 6) > cdag.algorithmic_bound()
    assert proven(mixed, [part], 6) == -1


@pytest.mark.parametrize("recompute", [False, True])
def test_networks_and_products_are_verified_where_values_are_computed_again(recompute: bool) -> None:
    graphs = [
        (kernels_as_graphs.fft(n=256, word=1), 6),
        (kernels_as_graphs.pyramid(n=30, word=2), 10),
        (kernels_as_graphs.stencil(n=50, t=50, word=1), 5),
        (kernels_as_graphs.matmul(m=8, n=8, k=8, word=1), 6),
    ]
    for number, (cdag, budget) in enumerate(graphs):
        found = segments.excess(cdag, budget, recompute=recompute, search=Search())
        parts = shown(cdag, found.pieces)
        assert found.excess > 0
        claimed = cdag.algorithmic_bound() + found.excess
        assert claimed <= proven(cdag, parts, budget, recompute=recompute) <= claimed + 2, number
        if not recompute and number > 1:
            assert proven(cdag, parts, budget, recompute=True) < claimed
