"""Trees as they come: the written results compared with oracles that share nothing with the package."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from tests.commands import shorthaul_json
from tests.reference import spatial_oracle as oracle

import shorthaul.spatial as engine
from shorthaul.core.result import Result
from shorthaul.spatial import model
from shorthaul.spatial.formats.files import layout_bytes
from shorthaul.spatial.plan import Layout
from shorthaul.spatial.verbs import planning as verbs


def compare(parent: np.ndarray, folder: Path, queries: int = 500) -> Result[Layout]:
    """Plan, both treefix sums and common ancestors of the tree, read from a file; return the plan's result."""
    rng = np.random.default_rng(0)
    np.save(folder / "tree.npy", parent)
    tree = engine.case(str(folder / "tree.npy"), forest=True).workload
    result = engine.plan(tree, refine=0.1)
    (folder / "layout.npz").write_bytes(layout_bytes(result.plan))
    found = oracle.energy(folder / "layout.npz")
    assert found == tuple(result.cost[name] for name in ("energy_hops", "distance_hops", "link_load"))
    assert (result.plan.parent == parent).all()
    values = rng.integers(-1000, 1000, len(parent))
    for direction, sums in (("up", oracle.subtree_sums), ("down", oracle.path_sums)):
        run = engine.treefix(tree, values, direction=direction, refine=0)
        assert (run.plan.arrays["value"] == sums(parent, values)).all()
    asked = rng.integers(0, len(parent), (queries, 2))
    answered = engine.lca(tree, asked, layout=folder / "layout.npz")
    assert (answered.plan.arrays["ancestor"] == oracle.lowest_common_ancestors(parent, *asked.T)).all()
    return result


@pytest.mark.slow
def test_syntax_trees(tmp_path: Path) -> None:
    # One forest of the syntax trees of a few modules: vertices of several trees have no common ancestor.
    trees = [oracle.syntax_tree(inspect.getsource(module)) for module in (model, verbs, inspect, np.lib.format)]
    begin = np.cumsum([0, *map(len, trees)])
    parent = np.concatenate([np.where(t >= 0, t + b, -1) for t, b in zip(trees, begin, strict=False)])
    result = compare(parent, tmp_path)
    assert result.extra["vertices"] == len(parent) > 10_000
    assert result.extra["energy_per_vertex"] < 5.1


def test_decision_forests(tmp_path: Path) -> None:
    from sklearn.ensemble import RandomForestClassifier  # a second and more, which each worker would spend

    rng = np.random.default_rng(0)
    x = rng.random((500, 6))
    forest = RandomForestClassifier(20, random_state=0).fit(x, x[:, 0] + rng.random(500) > 1)
    result = compare(engine.tree_from_sklearn(forest).parent.astype(np.int64), tmp_path)
    assert result.extra["energy_per_vertex"] < 2.2


def test_a_taxonomy_through_the_command_line(tmp_path: Path) -> None:
    parent = oracle.taxonomy(10_000, 1)
    np.save(tmp_path / "tree.npy", parent)
    document = shorthaul_json("spatial", "plan", "tree.npy", "--refine", "0.1", "-o", "layout.npz", cwd=tmp_path)
    assert oracle.energy(tmp_path / "layout.npz")[0] == document["cost"]["energy_hops"]
    asked = np.random.default_rng(0).integers(0, len(parent), (300, 2))
    np.save(tmp_path / "queries.npy", asked)
    shorthaul_json(
        "spatial", "lca", "tree.npy", "--queries", "queries.npy", "--refine", "0.1", "-o", "found.npz", cwd=tmp_path
    )
    with np.load(tmp_path / "found.npz") as written:
        assert (written["ancestor"] == oracle.lowest_common_ancestors(parent, *asked.T)).all()


@pytest.mark.slow
def test_a_taxonomy_of_millions(tmp_path: Path) -> None:
    compare(oracle.taxonomy(2_600_000, 1), tmp_path, queries=10**6)


@pytest.mark.slow
def test_a_folder_with_a_hundred_thousand_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    parent = np.concatenate([[-1], np.full(100_000, 7), rng.integers(1, 20, 20_000)])
    parent[1:20] = 0
    compare(parent, tmp_path)
