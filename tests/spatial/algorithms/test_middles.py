from __future__ import annotations

import numpy as np
from tests.reference import spatial_twins as twins
from tests.samples import samples

import shorthaul.spatial as engine
from shorthaul.core.search import Search
from shorthaul.spatial import tuning
from shorthaul.spatial.algorithms.middles import with_middles
from shorthaul.spatial.check.replay import check_layout
from shorthaul.spatial.layout.cost_kernels import edge_energy, farthest
from shorthaul.spatial.layout.stored_tree import store
from shorthaul.spatial.options import PlacingOptions
from shorthaul.spatial.verbs.planning import place
from shorthaul.spatial.workloads import generators


def test_ways_get_shorter_and_the_layout_stays_one() -> None:
    rng = np.random.default_rng(0)
    shorter = 0
    trees = [generators.yule(3001, 2), generators.uniform_binary(2001, 2), generators.path(500), generators.star(300)]
    for tree in [
        *trees,
        *(twins.random_tree(rng, 200) for _ in samples(40)),
        *(twins.random_forest(rng) for _ in range(9)),
    ]:
        stored = store(tree, place(tree, PlacingOptions(), Search())[0])
        moved = with_middles(stored)
        assert check_layout(moved.layout(tree), tree).ok
        before, after = (farthest(one.parent, one.x, one.y, np.zeros(one.n, np.int64)) for one in (stored, moved))
        assert after <= before
        assert (
            edge_energy(moved.parent, moved.x, moved.y)[0]
            <= (1 + tuning.MIDDLE_ENERGY) * edge_energy(stored.parent, stored.x, stored.y)[0]
        )
        shorter += after < before
    assert shorter >= 2


def test_runs_on_refined_layouts_have_short_chains() -> None:
    tree = generators.yule(2**13 + 1, 1)
    plain = engine.treefix(tree, order="light-first", refine=0)
    found = engine.treefix(tree, refine=0.2)
    assert found.check.ok
    assert found.extra["cycles"] <= 0.7 * plain.extra["cycles"]
