"""Vertices with many unlike subtrees: what the nearest few of each prove, and the certificate of that."""

from __future__ import annotations

import copy
import functools
import math
from typing import Any

import numpy as np
import pytest
from tests.samples import samples

from shorthaul.spatial import plan
from shorthaul.spatial.bounds import energy
from shorthaul.spatial.bounds.energy import Ground, energy_bound, parents_before, room_around
from shorthaul.spatial.bounds.hubs import best_hubs
from shorthaul.spatial.check.certificate import verify
from shorthaul.spatial.model import Grid, Tree


def hub_of_packages(rng: np.random.Generator, packages: int, large: int) -> Tree:
    """A vertex with children of one to five vertices each, and one of many; numbered at random."""
    parent = [-1]
    for package in range(packages):
        top = len(parent)
        for _ in range(large if package == 0 else int(rng.integers(1, 6))):
            parent.append(0 if len(parent) == top else top)
    number = rng.permutation(len(parent))
    found = np.full(len(parent), -1)
    found[number[1:]] = number[np.array(parent[1:])]
    return Tree(found)


def square(tree: Tree, more: int = 0) -> Grid:
    side = math.isqrt(tree.n - 1) + 1 + more
    return Grid(side, side)


def document(tree: Tree, grid: Grid) -> dict[str, Any]:
    bound = energy_bound(tree, grid)
    return {"of": bound.of, "value": bound.value, "method": bound.method, **copy.deepcopy(bound.details)}


def test_the_nearest_of_unlike_subtrees_prove_more() -> None:
    tree = hub_of_packages(np.random.default_rng(1), 500, 80)
    grid = square(tree)
    bound = document(tree, grid)
    (top, cap, kept) = bound["certificate"]["hubs"][0]
    assert top == tree.roots()[0]
    assert 1 < cap < 6
    assert len(kept) > 900
    violations, remarks = verify(tree, bound, grid)
    assert not violations
    assert "growth verified" in remarks[0]
    starts, kids, _, parent = parents_before(tree)
    hubs, left = best_hubs(
        starts, kids, parent, room_around(Ground(grid), tree.n)[0], lambda left: 9.0 * (left >= 0).sum()
    )
    assert hubs == []  # where edges prove nine hops each on their own, nothing is taken from them
    assert left.tolist() == parent.tolist()


@functools.cache
def example() -> tuple[Tree, Grid, dict[str, Any]]:
    tree = hub_of_packages(np.random.default_rng(2), 500, 80)
    grid = square(tree)
    return tree, grid, document(tree, grid)


@pytest.mark.parametrize("wrong", ["cap", "twice", "apart", "elsewhere", "again"])
def test_changed_hubs_are_refused(wrong: str) -> None:
    tree, grid, bound = copy.deepcopy(example())
    hubs = bound["certificate"]["hubs"]
    top, cap, kept = hubs[0]
    inner = next(v for v in kept if tree.parent[v] == top and (tree.parent[kept] == v).any())
    hubs[0] = {
        "cap": [top, cap - 1, kept],
        "twice": [top, cap, [*kept, kept[0]]],
        "apart": [top, cap, [v for v in kept if v != inner]],
        "elsewhere": [kept[0], cap, kept],
        "again": hubs[0],
    }[wrong]
    if wrong == "again":
        hubs.append(hubs[0])
    violations, _ = verify(tree, bound, grid)
    assert violations
    assert "hubs" in violations[0].place


def test_no_layout_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "best_parts", lambda parent, *_: ([], parent))  # which prove more where trees are small
    rng, used = np.random.default_rng(3), 0
    for turn in samples(192):
        tree = hub_of_packages(rng, int(rng.integers(8, 40)), int(rng.integers(1, 40)))
        grid = square(tree, turn % 3)
        bound = document(tree, grid)
        used += len(bound["certificate"].get("hubs", []))
        assert not verify(tree, bound, grid)[0]
        cost = plan(tree, grid=str(grid), refine=0.01, baselines=False).cost
        assert cost is not None
        assert cost["energy_hops"] >= bound["value"]
    assert used > 0
