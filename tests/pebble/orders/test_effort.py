"""Searches that count their work look at no clock, and end soon after a deadline."""

from __future__ import annotations

import itertools
import time

import pytest

from shorthaul.core.search import Search
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.orders import belady, list_scheduling, tiles
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.structured import tree_cuts
from shorthaul.pebble.workloads.kernels_as_graphs import random_tree, stencil

GRID = stencil(n=40, t=20, word=1)
TREE = random_tree(n=2000, k=3, most=1000, seed=1)


def planned(name: str, search: Search) -> tuple[Cdag, Plan]:
    start = belady.plan(GRID, 20)
    if name == "tree-cuts":
        return TREE, tree_cuts.plan(TREE, TREE.least_budget(), search=search).plan
    if name == "belady":
        return GRID, belady.plan(GRID, 20, search=search)
    if name == "list-scheduling":
        return GRID, list_scheduling.plan(GRID, 20, search=search, incumbent=start)
    return GRID, tiles.plan(GRID, 20, search=search, incumbent=start, patience=None)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["belady", "list-scheduling", "tiles", "tree-cuts"])
@pytest.mark.parametrize("effort", [0.003, 0.05])
def test_an_effort_gives_the_same_plan_whatever_the_clock_says(
    name: str, effort: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Search(effort=effort, seed=1)
    cdag, found = planned(name, search)
    assert 0 < search.spent() < effort + 0.15
    ticks = itertools.count(0, 1000)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))  # a machine that does next to nothing
    again = Search(effort=effort, seed=1)
    assert planned(name, again)[1].nodes.tolist() == found.nodes.tolist()
    assert again.spent() == search.spent()
    assert found.traffic(cdag.weights) >= cdag.algorithmic_bound()


@pytest.mark.parametrize("name", ["belady", "list-scheduling", "tiles", "tree-cuts"])
def test_a_search_that_has_expired_returns_its_first_plan(name: str) -> None:
    search = Search(effort=0.01)
    search.spend(1)
    cdag, found = planned(name, search)
    assert found.traffic(cdag.weights) >= cdag.algorithmic_bound()
