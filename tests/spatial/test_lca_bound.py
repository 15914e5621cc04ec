"""The bound on the energy of lowest common ancestors: no run, no delivery by hand and no other tree beats it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.reference import spatial_twins as twins

import shorthaul.spatial as engine
from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.spatial.algorithms.query_kernels import Packing, packed_queries
from shorthaul.spatial.bounds.lca import MESSAGE_WORDS, lca_bound, uncertain
from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.layout.stored_tree import StoredTree, store
from shorthaul.spatial.model import Grid, Tree
from shorthaul.spatial.options import CURVES, METHODS, ORDERS, PlacingOptions
from shorthaul.spatial.verbs.planning import place
from shorthaul.spatial.workloads import generators


def known_from_the_start(parent: tuple[int, ...], v: int) -> tuple:
    kids = twins.children_lists(parent)
    siblings = kids[parent[v]] if parent[v] >= 0 else []
    return v, parent[v], tuple(siblings), tuple(kids[v])


def test_who_can_answer_alone_by_comparing_all_trees() -> None:
    for n in range(2, 9):
        trees = list(twins.light_first_trees(n))
        answers: dict[tuple, set[int]] = {}
        for parent in trees:
            for v, other in itertools.permutations(range(n), 2):
                answers.setdefault((known_from_the_start(parent, v), other), set()).add(twins.lca(parent, v, other))
        for parent in trees:
            earlier, later = np.array(list(itertools.combinations(range(n), 2)), np.int32).T
            flags = uncertain(np.array(parent, np.int32), earlier, later)
            for v, other, flag in zip(
                np.concatenate([earlier, later]).tolist(),
                np.concatenate([later, earlier]).tolist(),
                np.concatenate(flags).tolist(),
                strict=True,
            ):
                assert flag == (len(answers[known_from_the_start(parent, v), other]) > 1), (parent, v, other)


def test_no_run_beats_it() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for turn in range(400):
        tree = twins.random_tree(rng, 60) if turn % 5 else twins.random_forest(rng)
        queries = rng.integers(0, tree.n, (int(rng.integers(0, 40 if turn % 2 else 4)), 2))
        result = engine.lca(
            tree,
            queries,
            method=METHODS[turn % 4],
            order=ORDERS[2 + turn % 5],
            refine=0.01 * (turn % 10 == 7),
            grid=(None, "60x1", "16x20", "1x64")[turn // 3 % 4],
            barriers=turn % 6 == 0,
        )
        assert result.bound is not None
        assert result.cost["energy_hops"] >= result.bound.value
        assert result.cost["distance_hops"] >= result.bound.details["distance_hops"]
        seen.add(result.bound.method)
    assert seen >= {"ends", "cuts"}


@pytest.mark.parametrize("name", ["yule", "caterpillar", "path", "uniform-binary", "preferential-attachment"])
def test_no_run_on_a_large_tree_beats_it(name: str) -> None:
    tree = engine.case(f"{name}:n=4000").workload
    for order, curve in (("light-first", "auto"), ("random", "auto"), ("dfs", "row-major")):
        result = engine.lca(tree, random=2000, order=order, curve=curve, search=Search(seed=1))
        assert 0 < result.bound.value <= result.cost["energy_hops"]


class Names:
    """Follows which processors can have heard of a name through the messages, and which have received any."""

    def __init__(self, holders: list[set[int]], n: int) -> None:
        self.heard = np.zeros((len(holders), n), bool)
        self.received = np.zeros(n, bool)
        for name, processors in enumerate(holders):
            self.heard[name, list(processors)] = True

    def round(self, sender: np.ndarray, receiver: np.ndarray) -> None:
        heard = self.heard[:, sender]
        np.logical_or.at(self.heard, (slice(None), receiver), heard)
        self.received[receiver] = True


def holders_of(tree: Tree, queries: list[list[int]]) -> list[set[int]]:
    """Who knows each vertex's name from the start: itself, its family, and who asks about it."""
    parent = tree.parent.tolist()
    kids = twins.children_lists(parent)
    known = [{v, *kids[v]} | ({parent[v], *kids[parent[v]]} if parent[v] >= 0 else set()) for v in range(tree.n)]
    for a, b in queries:
        known[a].add(b)
        known[b].add(a)
    return known


@pytest.mark.parametrize("method", METHODS[1:])
def test_the_runs_keep_the_rules_it_rests_on(method: str) -> None:
    # Every answer's name reaches an end of its query through messages, and who cannot answer alone receives one.
    from functools import partial

    from shorthaul.spatial.algorithms.lca import lowest_common_ancestors
    from shorthaul.spatial.computer.operators import OPERATORS
    from shorthaul.spatial.verbs.treefix import run_treefix

    rng = np.random.default_rng(1)
    for _ in range(30):
        tree = twins.random_tree(rng)
        stored = store(tree, place(tree, PlacingOptions(), Search())[0])
        numbered = Tree(stored.parent)
        queries = rng.integers(0, tree.n, (12, 2)).astype(np.int32)
        names = Names(holders_of(numbered, queries.tolist()), tree.n)
        computer = SpatialComputer(stored.x, stored.y, stored.grid, listener=names, message_words=MESSAGE_WORDS)
        fix = partial(run_treefix, operator=OPERATORS["sum"], method=method)
        answers = lowest_common_ancestors(
            computer,
            stored,
            queries,
            up=partial(fix, direction="up"),
            down=partial(fix, direction="down"),
            barriers=False,
        )
        unsure = uncertain(stored.parent, queries.min(axis=1), queries.max(axis=1))
        for q, (a, b) in enumerate(queries.tolist()):
            low, high = min(a, b), max(a, b)
            told = [
                names.heard[answers[q], v] and (names.received[v] or not flag)
                for v, flag in ((low, unsure[0][q]), (high, unsure[1][q]))
            ]
            assert any(told)


def delivery(tree: Tree, x: list[int], y: list[int], queries: list[list[int]], answers: list[int]) -> int:
    """The energy of a cheap way to let one end of every query know what it must: the best choice of ends.

    Names go from the nearest who knows them; four names with the same way share a message.
    """

    def hops(a: int, b: int) -> int:
        return abs(x[a] - x[b]) + abs(y[a] - y[b])

    parent = np.array(tree.parent, np.int32)
    pairs = np.array(queries, np.int32)
    flags = uncertain(parent, pairs.min(axis=1), pairs.max(axis=1))
    least = None
    for ends in itertools.product((0, 1), repeat=len(queries)):
        known = holders_of(tree, queries)
        messages: dict[tuple[int, int], int] = {}
        waiting = []
        for q, end in enumerate(ends):
            v = queries[q][end]
            waiting.append((answers[q], v, bool(flags[0 if v == min(queries[q]) else 1][q])))
        for name, v, _ in sorted(waiting, key=lambda item: min(hops(h, item[1]) for h in known[item[0]])):
            if v not in known[name]:
                source = min(known[name], key=lambda h: hops(h, v))
                messages[source, v] = messages.get((source, v), 0) + 1
                known[name].add(v)
        energy = sum(hops(*way) * -(-number // MESSAGE_WORDS) for way, number in messages.items())
        received = {way[1] for way in messages}
        for v in {v for _, v, flag in waiting if flag} - received:
            energy += min(hops(v, w) for w in range(tree.n) if w != v)
        least = energy if least is None else min(least, energy)
    return least or 0


def test_no_delivery_by_hand_beats_it() -> None:
    rng = np.random.default_rng(2)
    tight = 0
    for turn in range(250):
        tree = twins.random_tree(rng, 30)
        layout = place(tree, PlacingOptions(order=ORDERS[turn % 7], curve=("auto", "snake")[turn % 2]), Search())[0]
        stored = store(tree, layout)
        queries = rng.integers(0, tree.n, (int(rng.integers(1, 8)), 2))
        answers = np.array([twins.lca(stored.parent.tolist(), a, b) for a, b in queries.tolist()])
        bound = lca_bound(stored, queries, answers)
        energy = delivery(Tree(stored.parent), stored.x.tolist(), stored.y.tolist(), queries.tolist(), answers.tolist())
        assert bound.value <= energy
        tight += bound.value == energy
    assert tight > 50


def on_a_line(parent: list[int], queries: list[list[int]], answers: list[int]) -> dict[str, int]:
    line = np.arange(len(parent), dtype=np.int32)
    stored = StoredTree(np.array(parent, np.int32), line, np.zeros_like(line), Grid(len(parent), 1), line, line)
    return lca_bound(stored, np.array(queries), np.array(answers)).details["values"]


def test_values_that_can_be_counted_by_hand() -> None:
    # Two paths of three below vertex 0: its name is held by 0, 1 and 4.
    two_paths = [-1, 0, 1, 2, 0, 4, 5]
    assert on_a_line(two_paths, [[3, 6]], [0]) == {"ends": 1, "balls": 0, "cuts": 0}
    # A long path beside one leaf: from 1 (a child of 0) the name has to go nowhere, the leaf holds it.
    assert on_a_line([-1, 0, 0, 2, 3, 4], [[1, 5]], [0]) == {"ends": 0, "balls": 0, "cuts": 0}
    # Vertex 1 has two paths of five below it, 2..6 and 7..11; its name is held up to 7, the ends are 6 and 11.
    below = [-1, 0, 1, 2, 3, 4, 5, 1, 7, 8, 9, 10]
    assert on_a_line(below, [[6, 11]], [1])["ends"] == 1
    # The same with the first path's ends asked on a layout where all holders lie left of both ends.
    x = np.array([0, 1, 2, 10, 11, 12, 13, 3, 20, 21, 22, 23], np.int32)
    stored = StoredTree(np.array(below, np.int32), x, np.zeros_like(x), Grid(24, 1), x, x)
    far = lca_bound(stored, np.array([[6, 11]]), np.array([1]))
    assert far.details["values"] == {"ends": 1, "balls": 10, "cuts": 10}
    assert (far.value, far.details["distance_hops"]) == (10, 10)


def test_chosen_queries_are_as_far_apart_as_said() -> None:
    # Replayed one by one: the kernel's count is that of a greedy choice that checks every pair of ends.
    rng = np.random.default_rng(3)
    for radius in (1, 2, 3, 5):
        width, height = 17, 12
        cells = rng.permutation(width * height)[:150]
        x, y = (cells % width).astype(np.int32), (cells // width).astype(np.int32)
        first, second = rng.integers(0, 150, (2, 60)).astype(np.int32)
        reach = rng.integers(0, 8, 60).astype(np.int32)
        chosen: list[tuple[int, int]] = []
        for q, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            near = [
                abs(int(x[v]) - int(x[w])) + abs(int(y[v]) - int(y[w])) for pair in chosen for v in (a, b) for w in pair
            ]
            if reach[q] >= radius and min(near, default=99) >= 2 * radius - 1:
                chosen.append((a, b))
        squares = np.full((height, width, 2), -1, np.int32)
        count = packed_queries(Packing(x, y, 2 * radius - 1, squares), first, second, reach, radius)
        assert 0 < count <= len(chosen) if radius > 1 else count == len(chosen)


def test_longer_messages_are_refused() -> None:
    computer = SpatialComputer(*(np.arange(2, dtype=np.int32),) * 2, Grid(2, 2), message_words=MESSAGE_WORDS)
    one = np.array([0], np.int32)
    computer.send(one, one + 1, np.zeros((1, MESSAGE_WORDS), np.int64))
    with pytest.raises(InfeasibleError, match="words of a message"):
        computer.send(one, one + 1, np.zeros((1, MESSAGE_WORDS)), one)


def test_curves_and_trees_without_anything_to_ask() -> None:
    assert engine.lca([-1], [[0, 0]]).bound.value == 0
    assert engine.lca([-1, 0], np.empty((0, 2), int)).bound.value == 0
    for curve in CURVES:
        result = engine.lca(generators.star(9), [[1, 2], [0, 8]], curve=curve)
        assert result.bound.value == 0
