"""Small trees searched through, by the planner and by the checker, against layouts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.samples import samples

import shorthaul.spatial as engine
from shorthaul.core.search import Search
from shorthaul.spatial.bounds import placing
from shorthaul.spatial.check import placing as checker
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.stored_tree import StoredTree, store
from shorthaul.spatial.model import Grid, Tree, tree_from_parents
from shorthaul.spatial.plan import Layout
from shorthaul.spatial.workloads import generators


def some_tree(rng: np.random.Generator, turn: int, n: int) -> Tree:
    """A random recursive tree, a caterpillar, a broom, a spider, a k-ary tree or one of few hubs, numbered at random."""
    draws = [
        lambda v: int(rng.integers(v)),
        lambda v: max(0, v - int(rng.integers(1, 4))),
        lambda v: min(v - 1, n // 2),
        lambda v: 0 if v % 3 == 1 else v - 1,
        lambda v: (v - 1) // (2 + turn % 3),
        lambda v: int(rng.integers(min(v, 2 + turn % 4))),
    ]
    name, parent = rng.permutation(n), np.full(n, -1)
    for v in range(1, n):
        parent[name[v]] = name[draws[turn % 6](v)]
    return tree_from_parents(parent)


def anywhere(tree: Tree, grid: Grid, rng: np.random.Generator) -> StoredTree:
    y, x = np.divmod(rng.permutation(grid.cells)[: tree.n].astype(np.int32), np.int32(grid.width))
    return store(tree, Layout(tree.parent, x, y, grid))


def test_two_searches_agree() -> None:
    rng = np.random.default_rng(5)
    longer = 0
    for turn in samples(12):
        tree = some_tree(rng, turn, int(rng.integers(2, 10)))
        width = int(rng.integers(1, 5))
        grid = Grid(width, -(-tree.n // width) + turn % 2)
        stored, found, most = anywhere(tree, grid, rng), None, tree.n - 2
        while found is None:
            most += 1
            is_settled, found = placing.find_layout(stored, most, Search(effort=1))
            assert is_settled
            assert checker.least_is_above(tree, grid, most) is (found is None)
        assert edge_energy(found.parent, found.x, found.y)[0] == most
        assert engine.check(tree, Layout(tree.parent, *at(found), grid)).check.ok
        longer += most > tree.n - 1
    assert longer > 0


def at(stored: StoredTree) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.empty((2, stored.n), np.int32)
    x[stored.vertex], y[stored.vertex] = stored.x, stored.y
    return x, y


@pytest.mark.slow
def test_what_only_a_search_through_all_layouts_tells() -> None:
    result = engine.plan("uniform-binary:n=63,seed=41", exact=True, effort=0.4, refine=0.05, baselines=False)
    assert (result.bound.value, result.bound.details["values"]["edges"]) == (63, 62)


def test_effort_ends_a_search() -> None:
    tree, grid = generators.perfect_binary(63), Grid(8, 8)
    stored = anywhere(tree, grid, np.random.default_rng(1))
    search = Search(effort=0.001)
    assert placing.find_layout(stored, 66, search) == (False, None)
    assert search.expired()
    assert checker.least_is_above(tree, grid, 66, 100) is None


def test_the_corners_of_a_full_square_have_to_be_reached() -> None:
    tree = generators.perfect_binary(63)
    stored = anywhere(tree, Grid(8, 8), np.random.default_rng(1))
    assert placing.find_layout(stored, 65, Search(effort=0.2)) == (True, None)
