"""Small trees solved exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.commands import shorthaul_json
from tests.reference import spatial_twins as twins
from tests.samples import samples

import shorthaul.spatial as engine
from shorthaul.core.errors import InputError
from shorthaul.spatial.model import Tree
from shorthaul.spatial.workloads import generators


def least_energy(tree: Tree, width: int, height: int) -> int:
    """Try all layouts."""
    cells = np.array(list(itertools.permutations(range(width * height), tree.n)))
    below = np.flatnonzero(tree.parent >= 0)
    ends, others = cells[:, below], cells[:, tree.parent[below]]
    hops = np.abs(ends % width - others % width) + np.abs(ends // width - others // width)
    return int(hops.sum(axis=1).min())


def test_no_layout_undercuts_what_is_proven() -> None:
    rng = np.random.default_rng(8)
    met = 0
    for turn in samples(48):
        grow = (generators.preferential_attachment, generators.random_recursive)[turn % 2]
        tree = twins.random_forest(rng, 6) if turn % 4 == 0 else grow(6, 200 + turn)
        width, height = ((3, 2), (6, 1), (2, 4))[turn % 3]
        result = engine.plan(tree, grid=(width, height), refine=0, exact=True, baselines=False)
        assert result.bound.value == result.cost["energy_hops"] == least_energy(tree, width, height)
        assert result.check.ok
        met += result.bound.method == "exact"
    assert met > 0


def test_small_trees_are_solved_by_default() -> None:
    found = engine.plan("uniform-binary:n=25,seed=7", baselines=False)
    assert (found.bound.value, found.bound.method, found.status.value) == (25, "exact", "optimal")
    searched = engine.plan("uniform-binary:n=25,seed=7", refine=0.05, baselines=False)
    assert (searched.bound.method, searched.status.value) == ("exact", "optimal")
    unrefined = engine.plan("uniform-binary:n=25,seed=7", refine=0, baselines=False)
    assert unrefined.bound.method == "edges"


def test_what_the_other_bounds_do_not_see() -> None:
    # 10 vertices of a perfect binary tree of 15 are on even levels, and half of the 16 cells are black.
    tree = [-1, *(v // 2 for v in range(14))]
    result = engine.plan(tree, refine=0, exact=True, baselines=False)
    assert (result.bound.value, result.bound.method, result.status.value) == (16, "exact", "optimal")
    assert engine.plan(tree, grid=(7, 7), refine=0, exact=True, baselines=False).cost["energy_hops"] == 14


def test_effort_ends_it() -> None:
    result = engine.plan("random-recursive:n=60,seed=2", exact=True, effort=0.05, baselines=False)
    assert result.check.ok
    assert 59 <= result.bound.value <= result.cost["energy_hops"]


def test_from_the_command_line(tmp_path) -> None:
    document = shorthaul_json("spatial", "plan", "perfect-binary:n=15", "--exact", cwd=tmp_path)
    assert (document["bound"]["method"], document["bound"]["value"]) == ("exact", 16)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"grid": "40x40"}, "too large to be solved exactly"),
        ({"objective": "distance"}, "cannot be combined with objective"),
        ({"machine": "wafer-750x994"}, "cannot be combined with machine"),
    ],
)
def test_what_is_not_solved(fields: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        engine.plan("perfect-binary:n=15", exact=True, **fields)
    with pytest.raises(InputError, match="too large"):  # at once
        engine.plan("path:n=100000", exact=True, refine=1000)
