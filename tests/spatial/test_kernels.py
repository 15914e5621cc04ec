from __future__ import annotations

import importlib
import itertools
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.reference.spatial_twins import random_tree, some_machine
from tests.twins import Case, assert_agree

from shorthaul.spatial.bounds.energy import parents_before
from shorthaul.spatial.check.machine_replay import neighbours
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.fabric import crowd_of, lengths, send, slots_of, usable, ways_around
from shorthaul.spatial.layout.order_kernels import shapes
from shorthaul.spatial.layout.orders import positions
from shorthaul.spatial.model import Load, tree_from_parents
from shorthaul.spatial.workloads.generators import perfect_binary

NONE = np.empty(0, np.int32)


def some_tree(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Parents and an order that puts them first, empty where 0, 1, ... does."""
    tree = random_tree(rng)
    return tree.parent, tree.parents_first


def some_cells(rng: np.random.Generator, n: int, width: int, height: int) -> list[np.ndarray]:
    cell = rng.permutation(width * height)[:n]
    return [(cell % width).astype(np.int32), (cell // width).astype(np.int32)]


def trees(kernels: ModuleType, rng: np.random.Generator) -> Any:
    parent, parents_first = some_tree(rng)
    parent.flags.writeable = False
    n = len(parent)
    depth, culprit = kernels.depths(parent)
    sizes = kernels.subtree_sizes(parent, parents_first)
    by_size = kernels.sorted_by(sizes, int(sizes.max()))
    starts, kids = kernels.children(parent, by_size)
    heavy = kernels.heavy_children(parent, sizes)
    order = kernels.sorted_by(depth, int(depth.max()))
    broken = parent.copy()
    broken[rng.integers(n)] = rng.integers(-3, n + 2)  # perhaps no vertex, perhaps a cycle
    wrong = kernels.first_wrong_parent(broken)
    return (
        (depth, culprit, sizes, by_size, starts, kids, heavy, order, wrong),
        kernels.depths(broken) if wrong[0] < 0 else (),
        kernels.first_wrong_parent(parent),
        kernels.children(parent, NONE),
        kernels.preorder_positions(starts, kids, sizes, parents_first),
        kernels.breadth_first_positions(starts, kids),
        kernels.ranks_and_layers(parent, order, heavy),
    )


def replays(kernels: ModuleType, rng: np.random.Generator) -> Any:
    n, width, height = 12, 5, 4
    x, y = (rng.integers(0, side, n).astype(np.int32) for side in (width, height))
    clock, far = np.zeros((2, n), np.int64)
    loads = np.zeros((height, width, 2, 2) if rng.random() < 0.8 else (0, 0, 0, 0), np.int32)
    log = kernels.Log(x, y, loads, clock, far)
    for _ in range(4):
        words = int(rng.integers(1, 4))
        kernels.tally(log, *rng.integers(0, n, (2, 9)).astype(np.int32), words, *np.empty((2, 9), np.int64))
    holder, earlier = np.full((2, 20), -1, np.int32)
    kernels.set_earlier(x, y, width, holder, earlier)
    return log.energy, clock, far, loads, kernels.largest_load(loads), earlier


def recounts(kernels: ModuleType, rng: np.random.Generator) -> Any:
    parent, order = some_tree(rng)
    n = len(parent)
    forest = parent.copy()
    forest[rng.integers(n)] = -1
    pairs = rng.integers(0, n, (2, 20)).astype(np.int32)
    answers = np.zeros((2, 20), np.int32)
    for tree, answer in zip((parent, forest), answers, strict=True):
        kernels.lowest_common_ancestors(tree, order, *pairs, answer)
    return answers


def grown(kernels: ModuleType, rng: np.random.Generator) -> Any:
    degree = np.repeat(np.array([2, 0], np.int32), [7, 8])
    draws = [rng.random(int(count)) for count in rng.integers(0, 30, 2)]
    split, attached = np.full(2 * len(draws[0]) + 1, -1, np.int32), np.zeros(len(draws[1]), np.int32)
    hung, left, stack = np.full((3, len(degree)), -1, np.int32)
    kernels.split(draws[0], split, np.zeros(len(draws[0]) + 1, np.int32))
    kernels.attach(draws[1], attached)
    kernels.hang(rng.permutation(degree), hung, left, stack)
    return split, attached, hung


TEXTS = [
    "((a,b)c:1,'it''s':2.5e-3)r; [a comment] (x,,(y));",
    "",
    " ; ",
    "a)",
    "((a,b)",
    "[never closed",
    "('open,b)",
    "(a(b));",
    "a,b",
    "(a b,c);",
    "(a:,b);",
    "(a:1:2,b);",
    "(a,(b,(c,(d)e)f)g",
    "name;other : 3;",
]


def newick(kernels: ModuleType, rng: np.random.Generator) -> Any:
    results = []
    texts = [*TEXTS, "".join(rng.choice(list("(),;:ab1' []"), 30))]
    for text in texts:
        data = np.frombuffer(text.encode(), np.uint8)
        most = len(text) + 2
        spans = np.zeros((2, most, 2), np.int64)
        parent = np.full(most, -7, np.int32)
        reader = kernels.Reader(data, parent, *spans)
        step = int(rng.integers(1, 40))
        found = [kernels.parse(reader, step)]
        while found[-1][0] == 0:
            found.append(kernels.parse(reader, step))
        results.append((found, parent, spans))
        if found[-1][0] == 1:
            tree = importlib.import_module(
                kernels.__name__.replace("spatial.formats.newick_kernels", "graphs.tree_kernels")
            ).children(parent[: found[-1][2]], NONE)
            out = np.zeros(3 * most, np.uint8)
            results.append((kernels.write(*tree, data, *spans, out), out))
    return results


def annealed(kernels: ModuleType, rng: np.random.Generator) -> Any:
    tree = (
        random_tree(rng),
        tree_from_parents([-1, *[0] * 70]),  # a hub that stays
        perfect_binary(int(rng.integers(7, 64))),  # subtrees of one shape
    )[int(rng.integers(3))]
    n, position = tree.n, positions(tree, "light-first")
    parent = np.full(n, -1, np.int32)
    below = tree.parent >= 0
    parent[position[below]] = position[tree.parent[below]]
    width, height = int(rng.integers(1, 12)), 0
    height = -(-(n + int(rng.integers(0, 4))) // width)
    x, y = some_cells(rng, n, width, height)
    first = x.copy(), y.copy()
    ends = [[*parent[v : v + 1][parent[v : v + 1] >= 0].tolist(), *np.flatnonzero(parent == v)] for v in range(n)]
    starts = np.cumsum([0, *map(len, ends)]).astype(np.int32)
    near = np.array([u for group in ends for u in group], np.int32)
    shape, size = np.zeros(n, np.uint64), np.zeros(n, np.int32)
    shapes(parent, shape, size)
    board, tile = (
        kernels.Board(starts, near, x, y, shape, size, width, height),
        kernels.Tile(max(width, height), 2, int(rng.integers(2))),
    )
    random = importlib.import_module(
        kernels.__name__.replace("spatial.layout.tile_kernels", "core.compiled.random_kernels")
    ).Random(int(rng.integers(99)))
    accepted = (np.exp(-np.arange(20) / 0.9) * 2.0**63).astype(np.uint64)
    kernels.centre(board, rng.permutation(n).astype(np.int32))
    centred = board.places()
    middle = int(rng.integers(0, height))
    reads = []
    for top, bottom in ((0, middle), (middle, height)):
        if bottom > top and rng.random() < 0.7:  # where the time is up, what the centring moved stays so
            reads.append(kernels.anneal_tile(board, tile, (0, top), (width, bottom - top), random, accepted, 60.0))
    board.turn()
    kernels.centre(board, np.arange(n, dtype=np.int32))
    before = edge_energy(parent, *board.places())[0]
    none = np.empty(0, np.uint64)
    tile = kernels.Tile(max(width, height))
    for _ in range(3):
        reads.append(kernels.anneal_tile(board, tile, (0, 0), (width, height), random, none, 60.0))
    board.turn()
    assert edge_energy(parent, *board.places())[0] <= before  # swaps that add hops were not allowed
    assert len({*zip(*(at.tolist() for at in board.places()), strict=True)}) == n
    later = board.places()
    board.put(*first)  # as the vertices were
    reads.append(kernels.anneal_tile(board, tile, (0, 0), (width, height), random, accepted, 60.0))
    board.turn()
    assert len({*zip(*(at.tolist() for at in board.places()), strict=True)}) == n
    return later, board.places(), centred, reads


def centred(kernels: ModuleType, rng: np.random.Generator) -> Any:
    trees = importlib.import_module(kernels.__name__.replace("spatial.layout.order_kernels", "graphs.tree_kernels"))
    n = int(rng.integers(1, 40))
    parent = np.array([-1, *(rng.integers(0, max(1, v // 3 + 1)) for v in range(n - 1))], np.int32)
    sizes = trees.subtree_sizes(parent, NONE)
    starts, kids = trees.children(parent, trees.sorted_by(sizes, n))
    bytes_each = rng.integers(1, 5, n).astype(np.int32)
    filled = [kernels.fill(bytes_each, 6, 3, 12, back=back) for back in (False, True)]
    shape, size = np.zeros(n, np.uint64), np.zeros(n, np.int32)
    kernels.shapes(parent, shape, size)
    return kernels.centred_positions(kernels.Centring(starts, kids, sizes)), shape, size, filled


def costs(kernels: ModuleType, rng: np.random.Generator) -> Any:
    parent, _ = some_tree(rng)
    n = len(parent)
    width, height = 7, 12
    x, y = some_cells(rng, n, width, height)
    energy, longest = kernels.edge_energy(parent, x, y)
    energy += kernels.farthest(np.minimum(parent, np.arange(n, dtype=np.int32) - 1), x, y, np.zeros(n, np.int64))
    changes = np.zeros((4, width * height), np.int32)
    kernels.add_routes(x, y, width, changes, parent, np.arange(n, dtype=np.int32))
    largest = kernels.sum_routes(width, height, changes)
    return energy, longest, changes, largest


def curves(kernels: ModuleType, rng: np.random.Generator) -> Any:
    width, height = (int(side) for side in rng.integers(1, 12, 2))
    return (
        kernels.gilbert(width, height, width * height),
        kernels.gilbert(width, height, int(rng.integers(0, width * height))),
    )


def transformed(kernels: ModuleType, rng: np.random.Generator) -> Any:
    tree = importlib.import_module(
        kernels.__name__.replace("spatial.layout.virtual_tree_kernels", "graphs.tree_kernels")
    )
    return kernels.transform(*tree.children(some_tree(rng)[0], NONE))


def messages(kernels: ModuleType, rng: np.random.Generator) -> Any:
    n, nodes = 9, 14
    cell = rng.permutation(16)[:n].astype(np.int32)
    counted = bool(rng.integers(4))
    routed = bool(rng.integers(2))
    lengths = rng.integers(1, 4, 64 * routed).astype(np.int32)
    traffic = kernels.Traffic(cell % 4, cell // 4, 4, 64, lengths, counted)
    host = rng.integers(0, n, nodes).astype(np.int32)
    found = []
    for count in rng.integers(0, 30, 5):
        sender, receiver = rng.integers(0, nodes, (2, int(count)))
        starts = np.concatenate([[0], np.cumsum(rng.integers(0, 5, count))])
        route = rng.integers(0, 64, starts[-1]).astype(np.int32)
        sent = kernels.Messages(sender, receiver, host, int(rng.choice([1, 2, 16, 40])), starts, route)
        at = 0
        while at < count:
            at = kernels.travel(traffic, sent, at, 20, bool(count & 1))
        if not count & 1:
            kernels.arrive(traffic, sent)
        found.append(kernels.first_wrong(receiver, np.zeros(12, np.int32), 1))
        ways, reached = (sender.astype(np.int32), receiver.astype(np.int32)), np.zeros(nodes, np.int32)
        found.append([kernels.first_waiting(*ways, reached, begin) for begin in range(int(count))])
    return (
        traffic.messages,
        traffic.hops,
        traffic.longest,
        [traffic.chains(), traffic.loads(), traffic.busiest()],
        found,
    )


def program_folds(kernels: ModuleType, rng: np.random.Generator) -> Any:
    source, target = rng.integers(0, 14, (2, 20)).astype(np.int32)
    folded = []
    for code in range(8):
        values = rng.integers(0, 2**64, (14, 1), np.uint64)
        if code == 7:
            values = rng.integers(0, 2**31 - 1, (14, 2)).astype(np.uint64)
        kernels.fold_words(source, target, values, code)
        folded.append(values)
    for code in range(4):
        numbers = rng.choice([0.5, -2.5, 1e300, 3.0, -0.1, np.inf, np.nan], 14)
        kernels.fold_reals(source, target, numbers, code)
        folded.append(numbers.tobytes())
    return folded


def check_folds(kernels: ModuleType, rng: np.random.Generator) -> Any:
    parent, order = some_tree(rng)
    folded = []
    for code, up in itertools.product(range(8), (False, True)):
        values = rng.integers(0, 2**64, (len(parent), 1), np.uint64)
        if code == 7:
            values = rng.integers(0, 2**31 - 1, (len(parent), 2)).astype(np.uint64)
        kernels.fold_words(parent, order, values, code, up)
        numbers = rng.choice([0.5, -2.5, 1e300, 3.0, -0.1, np.inf, np.nan], len(parent))
        kernels.fold_reals(parent, order, numbers, code % 4, up)
        folded += [values, numbers.tobytes()]
    return folded


def queries(kernels: ModuleType, rng: np.random.Generator) -> Any:
    first, second = rng.integers(0, 40, (2, 60)).astype(np.int32)
    batch, load = np.full(60, -1, np.int32), np.zeros(40, np.int32)
    kernels.split(first, second, 3, batch, load)
    return batch


def some_fabric(rng: np.random.Generator) -> tuple[Any, list[np.ndarray]]:
    """A small machine, and messages on it by source: sources, targets, sizes, an order."""
    fabric = some_machine(rng)
    n = 15
    source, target = rng.integers(0, fabric.cells, (2, n)).astype(np.int32)
    source.sort()
    return fabric, [source, target, rng.integers(1, 4, n).astype(np.int32), np.arange(n, dtype=np.int32)]


def routed(kernels: ModuleType, rng: np.random.Generator) -> Any:
    fabric, (source, target, weight, order) = some_fabric(rng)
    reach = lengths(fabric)
    net = kernels.Net(fabric.links, reach.sides, reach.at, reach.ring)
    loads = np.zeros((6, fabric.cells), np.int64)
    messages, wanted = kernels.Messages((source, target), weight, loads), np.zeros(fabric.cells, np.uint8)
    among, window = usable(fabric), np.minimum(reach.sides, rng.choice([3, 5, fabric.cells]))
    ways = np.zeros((fabric.cells, window.prod()), np.uint16)
    kernels.measure(net, among.view(np.uint8), window, ways)
    for with_links in (False, True):
        if with_links:
            messages.follow()
        kernels.route_along(net, messages)
        kernels.route(net, messages, order[np.asarray(messages.hops) < 0], wanted)
    when, colour = np.full((2, len(order)), -1, np.int32)
    kernels.schedule(messages, order, fabric.cells, when, np.zeros(8 * fabric.cells, np.int32))
    kernels.paint(messages, order, fabric.cells, colour, np.zeros(fabric.cells, np.uint64))
    # The hops told are those of messages, and all that end in the window are told.
    onward = np.subtract(*(np.stack(np.unravel_index(cell, reach.sides), axis=1) for cell in (target, source)))
    place = sum(slots_of(reach.sides, window)[axis, reach.sides.max() - 1 + onward[:, axis]] for axis in range(3))
    told = np.where(place < 0, 2**16 - 1, ways[source, np.maximum(place, 0)])
    known = (np.abs(onward) <= window // 2).all(axis=1) & among[source] & among[target] | (told < 2**16 - 1)
    assert np.array_equal(told[known], np.asarray(messages.hops)[known])
    return messages.hops, messages.steps, loads, messages.trail, when, colour, ways


def routed_again(kernels: ModuleType, rng: np.random.Generator) -> Any:
    fabric, (source, target, weight, _) = some_fabric(rng)
    loads = np.zeros((6, fabric.cells), np.int64)
    machine = kernels.Machine(fabric.links, neighbours(fabric), loads)
    kernels.replay(machine, source, target, weight, 4 * fabric.cells)
    return machine.energy, machine.longest, machine.missing, loads


def crowded(kernels: ModuleType, rng: np.random.Generator) -> Any:
    random = importlib.import_module(
        kernels.__name__.replace("shorthaul.spatial.layout.crowd", "shorthaul.core.compiled.random")
    )
    parent, _ = some_tree(rng)
    fabric, n = some_machine(rng), len(parent)
    size = rng.integers(1, 5, n).astype(np.int32)
    tree = tree_from_parents(parent)
    place, load = rng.choice(np.flatnonzero(usable(fabric)), n).astype(np.int32), Load(size, size)
    position, ways = rng.permutation(np.arange(n, dtype=np.int32)), ways_around(fabric, 99 * (rng.random() < 0.7))[0]
    crowd = crowd_of(tree, load, fabric, place, 3, position, kernels.Crowd, ways)
    accepted = np.full(5, 2**62, np.uint64)
    kernels.centre_crowd(crowd, rng.permutation(np.arange(n, dtype=np.int32)))
    centred = crowd.grown, np.array(crowd.place)
    reads = kernels.anneal_crowd(crowd, random.Random(5), accepted, (0, n), 500.0)
    if len(ways[0]):  # hops added are those that a recount finds
        now = [send(fabric, tree.parent, at, size).energy(size) for at in (place, np.array(crowd.place)[position])]
        assert crowd.grown == now[1] - now[0]
    return centred, reads, crowd.grown, crowd.place


def spared(kernels: ModuleType, rng: np.random.Generator) -> Any:
    def beside(name: str) -> ModuleType:
        return importlib.import_module(kernels.__name__.replace("spatial.layout.road_kernels", name))

    tree, fabric = random_tree(rng, 25), some_machine(rng)
    n, reach, light_first = tree.n, lengths(fabric), positions(tree, "light-first")
    load = Load(rng.integers(1, 5, n).astype(np.int32), rng.integers(1, 4, n).astype(np.int32))
    place = rng.choice(np.flatnonzero(usable(fabric)), n).astype(np.int32)
    crowd = crowd_of(tree, load, fabric, place, 3, light_first, beside("spatial.layout.crowd_kernels").Crowd)
    net = beside("spatial.layout.fabric_kernels").Net(fabric.links, reach.sides, reach.at, reach.ring)
    roads = kernels.Roads(crowd, net, rng.random() < 0.5, 8)
    roads.limit = int(rng.integers(1, 4))
    random = beside("core.compiled.random_kernels").Random(int(rng.integers(99)))
    accepted = (np.exp(-np.arange(20) / 0.9) * 2.0**63).astype(np.uint64)
    reads = kernels.relieve(roads, random, accepted, 0, n, 3000)
    # What moves leave on the links is what a recount finds there.
    recount = send(fabric, tree.parent, np.array(crowd.place)[light_first], load.weight)
    assert np.array_equal(np.array(roads.loads), recount.loads)
    return reads, crowd.place, roads.loads


def cut(kernels: ModuleType, rng: np.random.Generator) -> Any:
    tree = tree_from_parents(some_tree(rng)[0])
    weight = rng.integers(1, 5, tree.n).astype(np.int32)
    starts, kids, *_ = parents_before(tree)
    return [kernels.fewest_cuts(starts, kids, weight, most, np.zeros(tree.n, np.int64)) for most in (4, 6, 20)]


def shared(kernels: ModuleType, rng: np.random.Generator) -> Any:
    starts, kids, *_ = parents_before(random_tree(rng))
    sums = np.sort(rng.integers(0, 99, len(kids) + 1))
    return kernels.best_stars(starts, kids, sums)


def outgrown(kernels: ModuleType, rng: np.random.Generator) -> Any:
    parent = parents_before(random_tree(rng, 60))[3]
    room = rng.integers(1, 5, len(parent) + 1)
    star, alone = rng.integers(0, 3, (2, len(parent))).astype(float)
    above = rng.integers(0, 2, len(parent)).astype(np.uint8)
    given = parent, np.cumsum(room // 2), np.append(np.cumsum(room), len(parent)), star, 9 * star, above, 5 * alone
    return [kernels.weights_of_growth(*given, is_told) for is_told in (False, True)]


def crowded_parts(rng: np.random.Generator) -> tuple[Any, ...]:
    parent = parents_before(random_tree(rng, 90))[3]
    room, star = np.sort(rng.integers(1, 9, rng.integers(2, 9))), rng.integers(0, 3, len(parent))
    fan = rng.integers(0, 30, len(parent))
    return parent, room, star, rng.integers(0, 2, len(parent)).astype(np.uint8), int(rng.integers(1, 4)), fan, 25


def outgrown_parts(kernels: ModuleType, rng: np.random.Generator) -> Any:
    return kernels.gains_of_volume(*crowded_parts(rng))


def reaches(kernels: ModuleType, rng: np.random.Generator) -> Any:
    return kernels.reaches_of_volume(*crowded_parts(rng))


CASES: list[tuple[str, Case]] = [
    ("shorthaul.graphs.tree_kernels", trees),
    ("shorthaul.spatial.check.check_kernels", replays),
    ("shorthaul.spatial.check.check_kernels", recounts),
    ("shorthaul.spatial.workloads.generator_kernels", grown),
    ("shorthaul.spatial.formats.newick_kernels", newick),
    ("shorthaul.spatial.layout.tile_kernels", annealed),
    ("shorthaul.spatial.layout.order_kernels", centred),
    ("shorthaul.spatial.layout.cost_kernels", costs),
    ("shorthaul.spatial.layout.curve_kernels", curves),
    ("shorthaul.spatial.layout.virtual_tree_kernels", transformed),
    ("shorthaul.spatial.computer.machine_kernels", messages),
    ("shorthaul.spatial.computer.fold_kernels", program_folds),
    ("shorthaul.spatial.check.fold_kernels", check_folds),
    ("shorthaul.spatial.algorithms.query_kernels", queries),
    ("shorthaul.spatial.layout.fabric_kernels", routed),
    ("shorthaul.spatial.layout.crowd_kernels", crowded),
    ("shorthaul.spatial.layout.road_kernels", spared),
    ("shorthaul.spatial.check.fabric_kernels", routed_again),
    ("shorthaul.spatial.bounds.cut_kernels", cut),
    ("shorthaul.spatial.bounds.star_kernels", shared),
    ("shorthaul.spatial.bounds.growth_kernels", outgrown),
    ("shorthaul.spatial.bounds.volume_kernels", outgrown_parts),
    ("shorthaul.spatial.bounds.part_kernels", reaches),
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case, 6)
