from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from tests.reference import spatial_twins as twins
from tests.reference.flits import heard
from tests.samples import samples

from shorthaul.core.search import Search
from shorthaul.graphs.tree_kernels import children
from shorthaul.spatial.algorithms.euler_tour import Links, links, loaded, rank_list, subtree_sizes_by_tour, tour_ranks
from shorthaul.spatial.algorithms.layout_creation import create_layout, sort_network
from shorthaul.spatial.algorithms.local_messaging import local_broadcast
from shorthaul.spatial.algorithms.stored import stored_nodes, to_vertices
from shorthaul.spatial.check.replay import Replay
from shorthaul.spatial.computer.collectives import all_reduce, broadcast, spread
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import OPERATORS
from shorthaul.spatial.layout.curves import cells
from shorthaul.spatial.layout.orders import positions, sizes
from shorthaul.spatial.layout.stored_tree import VirtualTree, store
from shorthaul.spatial.layout.virtual_tree_kernels import transform
from shorthaul.spatial.model import Grid
from shorthaul.spatial.options import PlacingOptions
from shorthaul.spatial.verbs.planning import place
from shorthaul.spatial.workloads import generators

AFFINE, SUM = OPERATORS["affine"], OPERATORS["sum"]


def row(n: int, **options: object) -> Machine:
    """n processors in a row."""
    return Machine.on(Grid(n, 1), **options)


def send(machine: Machine, routes: dict[int, int]) -> None:
    """Let processor a send to processor b for every entry a: b of ``routes``."""
    target = np.full(machine.count, -1)
    target[list(routes)] = list(routes.values())
    to = machine.load("target", target)
    machine.send(to[machine.all.where(to >= 0)])


def stored_tree(tree, curve: str = "auto"):
    layout = place(tree, PlacingOptions(order="light-first", curve=curve), Search())[0]
    return store(tree, layout)


def machine_of(stored) -> tuple[Machine, Replay]:
    replay = Replay(stored.x, stored.y, stored.grid)
    return heard(stored.x, stored.y, stored.grid, replay), replay


def test_messages_are_counted() -> None:
    once, machine = row(5), row(5)
    send(once, {0: 3, 4: 1})
    assert dict(once.cost()) == {"energy_hops": 6, "depth": 1, "distance_hops": 3, "link_load": 1}
    send(machine, {0: 3, 4: 1})
    send(machine, {3: 0})  # depends on the first
    send(machine, {2: 3})  # depends on nothing
    cost = machine.cost()
    assert (cost["energy_hops"], cost["depth"], cost["distance_hops"]) == (10, 2, 6)
    assert machine.figures()["messages"] == 4
    assert machine.figures()["rounds"] == 3


def test_a_round_is_simultaneous_and_a_wave_is_not() -> None:
    together, wave = row(4), row(4)
    send(together, {0: 1, 1: 2, 2: 3})
    following = wave.load("following", [1, 2, 3, -1])
    wave.flood(wave.register(1), [following], SUM)
    assert together.cost()["depth"] == 1
    assert wave.cost()["depth"] == wave.cost()["distance_hops"] == 3


def test_routes_share_links() -> None:
    machine = row(5)
    target = machine.load("target", [2, 3, 4, -1, -1])
    machine.send(target[machine.all.where(target >= 0)])
    assert machine.cost()["link_load"] == 2


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 37, 100])
def test_collectives(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = cells("gilbert", Grid(10, 10), n)
    values = rng.integers(-50, 50, n)
    maps = rng.integers(0, 1000, (n, 2))
    folded = maps[0]
    for step in maps[1:]:
        folded = AFFINE.combine(folded, step)
    for program, given, expected in (
        (broadcast, values, np.full(n, values[0])),
        (partial(all_reduce, operator=SUM), values, np.full(n, values.sum())),
        (partial(all_reduce, operator=AFFINE), maps, np.tile(folded, (n, 1))),
    ):
        machine = Machine(x, y, Grid(10, 10))
        register = machine.load("values", given)
        program(machine, register)
        assert (machine.collect(register) == expected).all()


def range_of(begin, end):
    """How a processor knows its place in its range, and the range's length."""
    return lambda nodes: nodes.number - begin[nodes], lambda nodes: end[nodes] - begin[nodes]


def test_ranges_are_told_at_once() -> None:
    # Range [begin, end) learns what its first processor holds, and nobody else does.
    rng = np.random.default_rng(1)
    for _ in samples(40):
        n = int(rng.integers(2, 120))
        machine = row(n)
        cuts = np.unique(np.append(rng.integers(0, n, int(rng.integers(1, 9))), n))
        begin, end, value = np.full(n, -1), np.full(n, -1), np.arange(n)
        begin[cuts[:-1]], end[cuts[:-1]] = cuts[:-1], cuts[1:]
        begin, end, value = (machine.load(str(k), array) for k, array in enumerate((begin, end, value)))
        told = machine.register(False, np.bool_)
        heads = machine.all.where(begin >= 0)
        told[spread(machine, heads, *range_of(begin, end), [begin, end, value])] = True
        expected = np.arange(n)
        for low, high in itertools.pairwise(cuts):
            expected[low:high] = low
        assert (machine.collect(value) == expected).all()
        assert (machine.collect(told) == (np.arange(n) >= cuts[0])).all()
        assert machine.cost()["depth"] <= n.bit_length() + 8


def test_collectives_take_linear_energy_and_logarithmic_depth() -> None:
    for power in (8, 10, 12):
        n, grid = 2**power, Grid(2 ** (power // 2), 2 ** (power // 2))
        for program, depth in ((broadcast, power + 5), (partial(all_reduce, operator=SUM), 2 * power + 5)):
            machine = Machine.on(grid, curve="hilbert")
            program(machine, machine.register(1))
            assert machine.cost()["energy_hops"] <= 4.5 * n
            assert machine.cost()["depth"] <= depth


@pytest.mark.parametrize("kind", ["random-mate", "local-maximum"])
def test_list_ranking(kind: str) -> None:
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 10, 50, 200):
        order = rng.permutation(n).astype(np.int32)
        following = np.full(n, -1, np.int32)
        following[order[:-1]] = order[1:]
        weight = rng.integers(0, 9, n)
        machine = row(n)
        held = machine.load("list", following), machine.load("weight", weight)
        ranks = machine.collect(rank_list(machine, machine.processors, *held, kind=kind, seed=n))
        assert (ranks[order] == np.cumsum(weight[order])).all()


def linked(tree) -> Links:
    return links(tree.parent, *children(tree.parent, np.empty(0, np.int32)))


def test_euler_tours_and_sizes() -> None:
    rng = np.random.default_rng(3)
    for _ in samples(30):
        tree = twins.random_tree(rng)
        machine = row(tree.n)
        held = loaded(machine, linked(tree))
        assert (machine.collect(subtree_sizes_by_tour(machine, held)) == sizes(tree)).all()
        machine = row(tree.n)
        into = machine.register(0, np.int32)
        into[machine.all] = tour_ranks(machine, loaded(machine, linked(tree)), weights=(1, 0))[0]
        assert (machine.collect(into) - 1 == positions(tree, "dfs")).all()


def test_sorting() -> None:
    rng = np.random.default_rng(4)
    for n in [*range(1, 20), 33, 64, 100]:
        machine = row(n)
        key = rng.integers(0, max(2, n // 2), n)
        expected = sorted(zip(key.tolist(), range(n), strict=True))
        keys, items = machine.load("key", key), machine.load("item", np.arange(n, dtype=np.int32))
        sort_network(machine, keys, items)
        found = machine.collect(keys).tolist(), machine.collect(items).tolist()
        assert list(zip(*found, strict=True)) == expected


def test_layout_creation() -> None:
    rng = np.random.default_rng(5)
    for _ in samples(30):
        tree = twins.random_tree(rng)
        machine = row(tree.n)
        assert (machine.collect(create_layout(machine, linked(tree))) == positions(tree, "light-first")).all()


def test_virtual_trees() -> None:
    rng = np.random.default_rng(6)
    for _ in samples(100):
        tree = twins.random_tree(rng)
        kids = children(tree.parent, np.argsort(sizes(tree), kind="stable").astype(np.int32))
        virtual = VirtualTree(*transform(*kids))
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


def test_local_messaging() -> None:
    rng = np.random.default_rng(9)
    for turn in samples(60):
        tree = twins.random_tree(rng) if turn % 4 else generators.star(int(rng.integers(1, 60)))
        stored = stored_tree(tree)
        machine, replay = machine_of(stored)
        received = parents_numbers(machine, stored)
        assert (received == np.where(stored.parent >= 0, stored.parent, np.arange(stored.n))).all()
        assert dict(replay.cost()) == dict(machine.cost())


def parents_numbers(machine: Machine, stored) -> np.ndarray:
    """What every vertex receives when each sends its number to its children."""
    tree = stored_nodes(machine, stored.virtual())
    held = tree.of_vertices(machine.load("number", np.arange(stored.n)))
    local_broadcast(machine, tree, held)
    return machine.collect(to_vertices(tree, held))


def test_local_messaging_stays_linear_at_any_degree() -> None:
    for tree in (generators.star(4096), generators.preferential_attachment(4096, 1)):
        stored = stored_tree(tree)
        machine, _ = machine_of(stored)
        parents_numbers(machine, stored)
        most = int(tree.degrees().max())
        assert machine.cost()["energy_hops"] <= 2.5 * tree.n
        assert machine.cost()["depth"] <= most.bit_length()
