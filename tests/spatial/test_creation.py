"""Creating the light-first order on the machine itself, and the bound beside it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.commands import shorthaul_json
from tests.reference import spatial_twins as twins

import shorthaul.spatial as engine
from shorthaul.spatial.algorithms.creation_cost import creation_bound
from shorthaul.spatial.algorithms.euler_tour import Links, links
from shorthaul.spatial.layout.orders import positions
from shorthaul.spatial.model import Tree, tree_from_parents
from shorthaul.spatial.tree_kernels import children
from shorthaul.spatial.workloads import generators


def created(tree: Tree, **fields: object) -> dict[str, object]:
    return engine.plan(tree, baselines=False, create=True, **fields).extra["creation"]


def linked(tree: Tree) -> Links:
    return links(tree.parent, *children(tree.parent, np.empty(0, np.int32)))


def test_it_is_counted_beside_its_bound() -> None:
    rng = np.random.default_rng(11)
    for turn in range(60):
        tree = twins.random_tree(rng, 60) if turn % 3 else twins.random_forest(rng)
        found = created(tree, curve=("auto", "snake")[turn % 2])  # itself compares the order, and replays the messages
        assert found["energy_hops"] >= found["bound"]["value"]
    nothing_to_move = created(generators.star(50))["bound"]
    assert (nothing_to_move["method"], nothing_to_move["value"]) == ("messages", 49)
    assert nothing_to_move["values"]["names"] == 0


def test_the_bound_on_moving_names_counted_by_hand() -> None:
    # On a line of ten, vertex 1 with a leaf below it and seven leaves beside it has to move from cell 1 to cell 8,
    # but its child on cell 9 holds its name; each leaf's name is held by the one before it, where it has to go.
    tree = tree_from_parents(np.array([-1, 0, *[0] * 7, 1]))
    position = positions(tree, "light-first")
    assert position.tolist() == [0, 8, 1, 2, 3, 4, 5, 6, 7, 9]
    line = np.arange(10, dtype=np.int32)
    assert creation_bound(linked(tree), line, 0 * line, position).details["values"] == {"messages": 9, "names": 1}


def test_who_cannot_tell_its_position_alone() -> None:
    # The argument of the bound on ten vertices: vertex 3 has the same links in both trees, and another position.
    path_above = {9: -1, 8: 9, 7: 8, 6: 7, 1: 6, 0: 1, 2: 0, 3: 2, 4: 3, 5: 2}
    path_beside = {6: -1, 2: 6, 1: 6, 0: 1, 7: 0, 8: 7, 9: 8, 3: 2, 4: 3, 5: 2}
    seen = set()
    for parents in (path_above, path_beside):
        tree = tree_from_parents(np.array([parents[v] for v in range(10)]))
        known = linked(tree)
        assert (known.parent[3], known.first_child[3], known.next_sibling[3]) == (2, 4, 5)
        seen.add(int(positions(tree, "light-first")[3]))
    assert len(seen) == 2


def test_from_the_command_line(tmp_path) -> None:
    document = shorthaul_json("spatial", "plan", "yule:n=255", "--create", cwd=tmp_path)
    found = document["creation"]
    assert found["energy_hops"] >= found["bound"]["value"] > 0
    assert found["bound"]["proof"]


@pytest.mark.slow
def test_a_million_vertices() -> None:
    # Theorem 4: energy n^1.5; the sorting network makes the depth O(log^2 n).
    found = created(generators.yule(2**20, 1))
    assert 10 <= found["energy_hops"] / 2**30 <= 20
    assert found["depth"] <= 1.3 * 20**2
