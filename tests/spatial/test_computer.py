from __future__ import annotations

import numpy as np
import pytest
from tests.reference import spatial_twins as twins

from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.spatial.algorithms.euler_tour import links, subtree_sizes_by_tour, tour_ranks
from shorthaul.spatial.algorithms.layout_creation import create_layout, sort_network
from shorthaul.spatial.algorithms.list_ranking import rank_list
from shorthaul.spatial.algorithms.local_messaging import create_virtual_tree, local_broadcast, local_reduce
from shorthaul.spatial.check.replay import Replay
from shorthaul.spatial.computer.collectives import all_reduce, broadcast, prefix_sum, reduce
from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.computer.operators import OPERATORS
from shorthaul.spatial.layout.curves import cells
from shorthaul.spatial.layout.orders import positions, sizes
from shorthaul.spatial.layout.stored_tree import store
from shorthaul.spatial.layout.virtual_tree import virtual_tree
from shorthaul.spatial.model import Grid
from shorthaul.spatial.options import PlacingOptions
from shorthaul.spatial.tree_kernels import children
from shorthaul.spatial.verbs.planning import place
from shorthaul.spatial.workloads import generators

AFFINE, SUM = OPERATORS["affine"], OPERATORS["sum"]


def row(n: int, **options: object) -> SpatialComputer:
    """n processors in a row."""
    return SpatialComputer(np.arange(n, dtype=np.int32), np.zeros(n, np.int32), Grid(n, 1), **options)


def index(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def stored_tree(tree, curve: str = "auto"):
    layout = place(tree, PlacingOptions(order="light-first", curve=curve), Search())[0]
    return store(tree, layout)


def machine(stored) -> tuple[SpatialComputer, Replay]:
    replay = Replay(stored.x, stored.y, stored.grid)
    return SpatialComputer(stored.x, stored.y, stored.grid, listener=replay), replay


def test_messages_are_counted() -> None:
    computer = row(5)
    computer.send(index(0, 4), index(3, 1))
    assert dict(computer.cost()) == {"energy_hops": 6, "depth": 1, "distance_hops": 3, "link_load": 1}
    computer.send(index(3), index(0))  # depends on the first
    computer.send(index(2), index(3))  # depends on nothing
    cost = computer.cost()
    assert (cost["energy_hops"], cost["depth"], cost["distance_hops"]) == (10, 2, 6)
    assert computer.figures()["messages"] == 4
    assert computer.figures()["rounds"] == 3


def test_a_round_is_simultaneous_and_a_wave_is_not() -> None:
    together, wave = row(4), row(4)
    together.send(index(0, 1, 2), index(1, 2, 3))
    wave.send(index(0, 1, 2), index(1, 2, 3), in_order=True)
    assert together.cost()["depth"] == 1
    assert wave.cost()["depth"] == wave.cost()["distance_hops"] == 3


def test_routes_share_links() -> None:
    computer = row(5)
    computer.send(index(0, 1, 2), index(4, 4, 4))
    assert computer.cost()["link_load"] == 3


def test_the_wafer_scale_clock() -> None:
    # T = max(contention, energy / links + longest chain in hops) + (2 t_r + 1) depth with t_r = 2.
    computer = row(5)
    computer.send(index(0), index(4))
    assert computer.figures()["cycles"] == 4 / 8 + 4 + 5


def test_memory_is_limited() -> None:
    computer = row(3, words=4)
    computer.register(0)
    computer.register(0, words=2)
    with pytest.raises(InfeasibleError, match="memory of a processor"):
        computer.register(0, words=2)
    small = row(3, words=2)
    small.register(0)
    with pytest.raises(InfeasibleError, match="memory of a processor"):
        small.send(index(0), index(1), index(7), index(8))
    shared = SpatialComputer(index(0, 1), index(0, 0), Grid(2, 1), words=3, host=index(0, 1, 1))
    shared.register(0)
    with pytest.raises(InfeasibleError):
        shared.register(0)


def test_a_processor_cannot_send_or_receive_without_limit() -> None:
    others = np.arange(1, 30, dtype=np.int32)
    for sender, receiver in ((np.zeros_like(others), others), (others, np.zeros_like(others))):
        with pytest.raises(InfeasibleError, match="in one round"):
            row(30).send(sender, receiver)


def test_nodes_of_one_processor_share_it() -> None:
    computer = SpatialComputer(index(0, 1), index(0, 0), Grid(2, 1), host=index(0, 1, 1))
    computer.send(index(1), index(2))
    assert computer.cost()["energy_hops"] == 0
    assert computer.cost()["depth"] == 0


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 37, 100])
def test_collectives(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = cells("gilbert", Grid(10, 10), n)
    values = rng.integers(-50, 50, n)
    maps = rng.integers(0, 1000, (n, 2))

    def computer() -> SpatialComputer:
        return SpatialComputer(x, y, Grid(10, 10))

    register = values.copy()
    broadcast(computer(), register)
    assert (register == values[0]).all()
    register = values.copy()
    all_reduce(computer(), register, SUM)
    assert (register == values.sum()).all()
    register = maps.copy()
    reduce(computer(), register, AFFINE)
    folded = [maps[0]]
    for step in maps[1:]:
        folded.append(AFFINE.combine(folded[-1], step))
    assert (register[0] == folded[-1]).all()
    register = maps.copy()
    prefix_sum(computer(), register, AFFINE)
    assert (register == np.array(folded)).all()


def test_collectives_take_linear_energy_and_logarithmic_depth() -> None:
    for power in (8, 10, 12):
        n, grid = 2**power, Grid(2 ** (power // 2), 2 ** (power // 2))
        for program, depth in ((broadcast, power + 5), (lambda c, r: prefix_sum(c, r, SUM), 2 * power)):
            computer = SpatialComputer(*cells("hilbert", grid), grid)
            program(computer, np.ones(n, np.int64))
            assert computer.cost()["energy_hops"] <= 4.5 * n
            assert computer.cost()["depth"] <= depth


@pytest.mark.parametrize("kind", ["random-mate", "local-maximum"])
def test_list_ranking(kind: str) -> None:
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 10, 50, 200):
        order = rng.permutation(n).astype(np.int32)
        following = np.full(n, -1, np.int32)
        following[order[:-1]] = order[1:]
        weight = rng.integers(0, 9, n)
        ranks = rank_list(row(n), following, np.arange(n, dtype=np.int32), weight, kind=kind, seed=n)
        assert (ranks[order] == np.cumsum(weight[order])).all()


def test_euler_tours_and_sizes() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        tree = twins.random_tree(rng)
        linked = links(tree.parent, *children(tree.parent, np.empty(0, np.int32)))
        assert (subtree_sizes_by_tour(row(tree.n), linked) == sizes(tree)).all()
        into, _ = tour_ranks(row(tree.n), linked, weights=(1, 0))
        assert (into - 1 == positions(tree, "dfs")).all()


def test_sorting() -> None:
    rng = np.random.default_rng(4)
    for n in [*range(1, 20), 33, 64, 100]:
        key = rng.integers(0, max(2, n // 2), n)
        item = np.arange(n)
        expected = sorted(zip(key.tolist(), item.tolist(), strict=True))
        sort_network(row(n), key, item)
        assert list(zip(key.tolist(), item.tolist(), strict=True)) == expected


def test_layout_creation() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        tree = twins.random_tree(rng)
        linked = links(tree.parent, *children(tree.parent, np.empty(0, np.int32)))
        assert (create_layout(row(tree.n), linked) == positions(tree, "light-first")).all()


def test_virtual_trees() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        tree = twins.random_tree(rng)
        virtual = virtual_tree(tree)
        degree = np.bincount(virtual.parent[virtual.parent >= 0], minlength=virtual.nodes)
        assert degree.max(initial=0) <= 3
        assert degree[: tree.n].max() <= 2
        assert np.bincount(virtual.host).max() <= 2
        for v in range(tree.n):
            hops, node = 0, int(virtual.parent[v])
            while node >= tree.n:  # up through added nodes to the parent in the tree
                hops += int(virtual.host[node] != virtual.host[v])
                node = int(virtual.parent[node])
            assert node == tree.parent[v]
            if node >= 0:
                assert hops + 1 <= np.ceil(np.log2(tree.degrees()[node] + 1)) + 1e-9


def test_the_virtual_tree_is_in_light_first_order() -> None:
    # Lemma 8: siblings of the virtual tree stay ordered by position and by size.
    tree = generators.preferential_attachment(500, 1)
    stored = stored_tree(tree)
    virtual = stored.virtual()
    size = np.ones(virtual.nodes, np.int64)
    size[stored.n :] = 0
    depth = np.zeros(virtual.nodes, np.int64)
    for node in range(virtual.nodes):
        up = node
        while virtual.parent[up] >= 0:
            depth[node] += 1
            up = virtual.parent[up]
    for node in np.argsort(-depth):
        if virtual.parent[node] >= 0:
            size[virtual.parent[node]] += size[node]
    for node in range(virtual.nodes):
        kids = np.flatnonzero(virtual.parent == node)
        kids = kids[np.argsort(virtual.slot[kids])]
        assert (np.diff(virtual.host[kids]) > 0).all()
        appended = kids[1:] if node >= stored.n else kids
        assert (np.diff(size[appended]) >= 0).all()


def test_virtual_trees_are_built_by_messages() -> None:
    rng = np.random.default_rng(8)
    for turn in range(80):
        tree = twins.random_tree(rng) if turn % 4 else generators.star(int(rng.integers(1, 60)))
        stored = stored_tree(tree)
        virtual = stored.virtual()
        number, degree = np.ones(tree.n, np.int32), np.ones(tree.n, np.int32)
        for kids in twins.children_lists(stored.parent.tolist()):
            number[kids], degree[kids] = np.arange(1, len(kids) + 1), len(kids)
        computer, replay = machine(stored)
        first, second = create_virtual_tree(computer, stored.parent, number, degree)
        expected = np.full((tree.n, 2), -1)
        for added in range(tree.n, virtual.nodes):
            heads = sorted(virtual.host[(virtual.parent == added) & (virtual.slot > 0)].tolist())
            expected[virtual.host[added], : len(heads)] = heads
        assert (np.stack([first, second], axis=1) == expected).all()
        assert dict(replay.cost()) == dict(computer.cost())


def test_local_messaging() -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        stored = stored_tree(twins.random_tree(rng))
        virtual, n = stored.virtual(), stored.n
        computer, replay = machine(stored)
        received = local_broadcast(computer, virtual, np.arange(n))
        assert (received == np.where(stored.parent >= 0, stored.parent, np.arange(n))).all()
        maps = rng.integers(0, 100, (n, 2))
        reduced = local_reduce(computer, virtual, maps, AFFINE)
        for v, kids in enumerate(twins.children_lists(stored.parent.tolist())):
            folded = np.array(AFFINE.identity)
            for kid in kids:
                folded = AFFINE.combine(folded, maps[kid])
            assert (reduced[v] == folded).all()
        assert dict(replay.cost()) == dict(computer.cost())


def test_local_messaging_stays_linear_at_any_degree() -> None:
    for tree in (generators.star(4096), generators.preferential_attachment(4096, 1)):
        stored = stored_tree(tree)
        computer, _ = machine(stored)
        local_broadcast(computer, stored.virtual(), np.arange(stored.n))
        most = int(tree.degrees().max())
        assert computer.cost()["energy_hops"] <= 2.5 * tree.n
        assert computer.cost()["depth"] <= most.bit_length()
