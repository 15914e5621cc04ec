"""Layouts on the processors of a machine file: several vertices on each, around what is dead."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.errors import InfeasibleError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.core.searching.deadline import expect_time
from shorthaul.graphs.component_kernels import join
from shorthaul.graphs.tree_kernels import sorted_by
from shorthaul.spatial import tuning
from shorthaul.spatial.layout import curves, orders
from shorthaul.spatial.layout.annealing import accepted_words, further, most_neighbours, temperatures
from shorthaul.spatial.layout.crowd_kernels import Crowd, anneal_crowd, centre_crowd
from shorthaul.spatial.layout.fabric_kernels import Messages, Net, measure, paint, route, route_along, schedule
from shorthaul.spatial.layout.order_kernels import fill
from shorthaul.spatial.model import Fabric, Load, Tree

Index = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Ways = npt.NDArray[np.uint16]
#: Hops around what is dead to processors near by, in a window of this width along each axis: none.
NO_WAYS: tuple[Ways, Counts] = np.empty((0, 0), np.uint16), np.ones(3, np.int64)


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the axes of a machine are: ``sides``, where coordinates lie ``at``, the way around a ``ring`` (or 0)."""

    sides: Counts
    at: Counts
    ring: Counts


def lengths(fabric: Fabric) -> Lengths:
    """Return the lengths of the axes, which are those of the links that are not dead."""
    sides = np.array([fabric.layers, fabric.height, fabric.width], np.int64)
    at, ring = [], []
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        onward = fabric.links[2 * axis].reshape(sides).max(axis=others).astype(np.int64)
        ring.append(int(onward.sum()) if onward[-1] else 0)
        at.append(np.concatenate([[0], np.cumsum(np.maximum(onward[:-1], 1))]))
        if ring[-1]:
            ring[-1] = int(at[-1][-1] + onward[-1])
    return Lengths(sides, np.concatenate(at), np.array(ring, np.int64))


def net_of(fabric: Fabric) -> Net:
    """Return the links of a machine as the routing takes them."""
    found = lengths(fabric)
    return Net(fabric.links, found.sides, found.at, found.ring)


@dataclass(frozen=True, slots=True)
class Traffic:
    """One message from every parent to each child: their ``hops`` by vertex (0 for roots), and the ``loads``.

    ``loads`` of shape (6, cells) are the sizes over each link, ways as in :class:`Fabric`. If asked for, the message to
    vertex v takes the links ``trail[starts[v]:starts[v + 1]]``, each way * cells + the processor that it leaves, in
    round ``round[v]``, or at any time in colour ``colour[v]``.
    """

    hops: Index
    loads: Counts
    starts: Counts
    trail: Index
    round: Index
    colour: Index

    def energy(self, weight: Index) -> int:
        """Return the hops of all messages, each times its size."""
        return int((self.hops.astype(np.int64) * weight).sum())


def send(fabric: Fabric, parent: Index, place: Index, weight: Index, *, trails: bool = False) -> Traffic:
    """Return the traffic of one message from every parent to each child, on shortest ways that are not dead.

    Raises :class:`InfeasibleError` if there is no way.
    """
    net = net_of(fabric)
    n, cells = len(parent), fabric.cells
    source = np.where(parent >= 0, place[parent], place).astype(np.int32)
    loads = np.zeros((6, cells), np.int64)
    none, nothing = np.zeros(n + 1, np.int64), np.empty(0, np.int32)
    messages = Messages((source, place), weight, loads)
    wanted = np.zeros(cells, np.uint8)
    _route(net, messages, source, wanted)
    hops = np.asarray(messages.hops)
    lost = np.flatnonzero(hops < 0)
    if len(lost):
        v = int(lost[0])
        way = f"from vertex {parent[v]} on processor {source[v]} to vertex {v} on processor {place[v]}"
        raise InfeasibleError("a way " + way, demand=1, limit=0, place=f"machine {fabric.name}")
    if not trails:
        return Traffic(hops, loads, none, nothing, nothing, nothing)
    messages.follow()
    _route(net, messages, source, wanted)
    starts = np.asarray(messages.starts)
    longest_first = np.argsort(-np.asarray(messages.steps), kind="stable").astype(np.int32)
    trail = np.asarray(messages.trail)[: starts[-1]]
    when, colour = np.full((2, n), -1, np.int32)
    schedule(messages, longest_first, cells, when, np.zeros(8 * cells, np.int32))
    paint(messages, longest_first, cells, colour, np.zeros(cells, np.uint64))
    return Traffic(hops, loads, starts, trail, when, colour)


def _route(net: Net, messages: Messages, source: Index, wanted: npt.NDArray[np.uint8]) -> None:
    """Send all messages: most are short and free, in turn; the others source by source."""
    route_along(net, messages)
    left = np.flatnonzero(np.asarray(messages.hops) < 0)
    route(net, messages, left[np.argsort(source[left], kind="stable")].astype(np.int32), wanted)


class Routes:
    """The shortest ways between the processors of a machine, found when asked for."""

    def __init__(self, fabric: Fabric) -> None:
        self._net = net_of(fabric)
        self._loads, self._wanted = np.zeros((6, fabric.cells), np.int64), np.zeros(fabric.cells, np.uint8)

    def between(self, source: Index, target: Index) -> tuple[Counts, Index]:
        """Return the ways between living processors that reach one another: where each begins, and their links.

        Those of way i stand from ``starts[i]`` to ``starts[i + 1]``, each way * cells + the processor that it leaves.
        """
        messages = Messages((source, target), np.zeros(len(source), np.int32), self._loads)
        _route(self._net, messages, source, self._wanted)
        messages.follow()
        _route(self._net, messages, source, self._wanted)
        return np.asarray(messages.starts), np.asarray(messages.trail)


def usable(fabric: Fabric) -> npt.NDArray[np.bool_]:
    """Return which living processors can reach one another: the largest part of the machine, shape (cells,)."""
    numbers = np.arange(fabric.cells).reshape(fabric.layers, fabric.height, fabric.width)
    joined = [np.flatnonzero(fabric.links[2 * axis]) for axis in range(3)]
    targets = [np.roll(numbers, -1, axis).ravel()[along] for axis, along in enumerate(joined)]
    part = np.empty(fabric.cells, np.int64)
    join(np.concatenate(joined), np.concatenate(targets), part)
    largest = int(np.bincount(part[fabric.living]).argmax())
    return np.asarray(fabric.living & (part == largest))


def along_curve(fabric: Fabric, among: npt.NDArray[np.bool_]) -> Index:
    """Return the processors of ``among`` along the curve: over the floor, up and down through the layers in turn."""
    x, y = curves.cells("auto", fabric.grid)
    floor = y.astype(np.int64) * fabric.width + x
    layer = np.arange(fabric.layers) * (fabric.width * fabric.height)
    stacks = floor[:, None] + layer
    stacks[1::2] = stacks[1::2, ::-1]
    sequence = stacks.ravel().astype(np.int32)
    return sequence[among[sequence]]


def expect_room(size: Index, fabric: Fabric, among: int) -> None:
    """Raise :class:`InfeasibleError` if vertices of these sizes cannot all be on ``among`` processors: by how much."""
    n, memory = len(size), fabric.memory_bytes
    largest, smallest, total = int(size.max()), int(size.min()), int(size.sum(dtype=np.int64))
    cure = f"give at most {memory // -(-n // among)} bytes per vertex, or a larger machine"
    if largest > memory:
        raise InfeasibleError("memory of a processor in bytes", demand=largest, limit=memory, cure=cure)
    if total > memory * among:
        cure = f"{total - memory * among} bytes are too many; {cure}"
        raise InfeasibleError(f"memory of {among} processors in bytes", demand=total, limit=memory * among, cure=cure)
    if n > among * (memory // smallest):
        cure = f"{memory} bytes hold {memory // smallest} vertices of {smallest}; {cure}"
        raise InfeasibleError(
            f"vertices on {among} processors", demand=n, limit=among * (memory // smallest), cure=cure
        )


def _most_each(size: Index, fabric: Fabric, among: int) -> int | None:
    """Return the fewest vertices per processor that all fit with, filling ``among`` processors in turn; or None."""
    n = len(size)
    low, high = -(-n // among), n
    if size.min() == size.max():
        return low if low <= fabric.memory_bytes // int(size[0]) else None
    if fill(size, fabric.memory_bytes, n, among, back=True)[1] < n:
        return None
    while low < high:  # more vertices per processor hardly ever need more processors
        middle = (low + high) // 2
        if fill(size, fabric.memory_bytes, middle, among, back=True)[1] == n:
            high = middle
        else:
            low = middle + 1
    return low


def ordered(tree: Tree, order: str, search: Search) -> dict[str, Index]:
    """Return the positions of the vertices in ``order``; several orders for auto where there is time for these."""
    names = ("light-first", "centred", "dfs") if order == "auto" else (order,)
    found: dict[str, Index] = {}
    for name in names:
        began = time.monotonic()
        found[name] = orders.positions(tree, name, generator=search.generator())
        expect_time(search)
        if order == "auto" and len(found) == 1:
            passes = tuning.LEAST_PLACED_PASSES + tuning.PLACED_PASSES
            if search.remaining_s() < passes * (time.monotonic() - began):
                break
    return {name: found[name] for name in ("centred", "dfs", "light-first") if name in found} or found


def most_vertices(load: Load, fabric: Fabric, positions: dict[str, Index]) -> int:
    """Return the fewest vertices per processor with which every order fits that fits at all, or else that by size.

    Raises :class:`InfeasibleError` if memory does not suffice, :class:`NoPlanError` if it is too fragmented.
    """
    among = int(usable(fabric).sum())
    expect_room(load.bytes, fabric, among)
    for tried in (positions, _by_size(load)):
        found = [_most_each(_by_position(load, position), fabric, among) for position in tried.values()]
        if fits := [most for most in found if most is not None]:
            break
    else:
        total, room = int(load.bytes.sum(dtype=np.int64)), fabric.memory_bytes * among
        raise NoPlanError(
            f"vertices of {total} bytes do not fit on processors of {fabric.memory_bytes}, {room} in all, neither in "
            "order nor the largest first\n  do:      give fewer bytes per vertex, or a larger machine"
        )
    return max(fits)


def _by_position(load: Load, position: Index) -> Index:
    size = np.empty_like(load.bytes)
    size[position] = load.bytes
    return size


def _by_size(load: Load) -> dict[str, Index]:
    position = np.empty(len(load.bytes), np.int32)
    position[np.argsort(-load.bytes, kind="stable")] = np.arange(len(position), dtype=np.int32)
    return {"largest-first": position}


def place_on_fabric(load: Load, fabric: Fabric, positions: dict[str, Index], most: int) -> dict[str, Index]:
    """Return a layout for every order that fits: the processor of every vertex; or else for the order by size.

    Up to ``most`` consecutive vertices of an order share a processor; the processors follow a curve. Raises
    :class:`InfeasibleError` if no layout has so few per processor, :class:`NoPlanError` if no order fits.
    """
    sequence = along_curve(fabric, usable(fabric))
    expect_room(load.bytes, fabric, len(sequence))
    demand, least = (-(-len(load.bytes) // among) for among in (most, len(sequence)))
    if demand > len(sequence):
        raise InfeasibleError(
            f"processors, with {most} vertices on each", demand=demand, limit=len(sequence),
            place=f"machine {fabric.name}", cure=f"give at least --per-processor {least}, or a larger machine",
        )  # fmt: skip
    found = {}
    for tried in (positions, _by_size(load)):
        for name, position in tried.items():
            for back in (False, True):  # who goes back is farther from its neighbours
                size = _by_position(load, position)
                at, placed = fill(size, fabric.memory_bytes, most, len(sequence), back=back)
                if placed == len(position):
                    found[name] = sequence[at][position]
                    break
        if found:
            break
    else:
        cure = f"give at least --per-processor {most_vertices(load, fabric, positions)}"
        raise NoPlanError(
            f"{most} vertices per processor, on {len(sequence)} processors, are too few\n  do:      {cure}"
        )
    return found


def refine_on_fabric(
    tree: Tree, load: Load, fabric: Fabric, place: Index, most: int, effort: float | None, search: Search
) -> Index:
    """Return places that annealing with so much effort finds (None: as long as it pays).

    Hops are counted around what is dead as far as a table of these takes a small part of it, else as if nothing were.
    Vertices of many neighbours move to the middle of them. The temperature falls geometrically, stage by stage; each
    goes over the vertices in windows of light-first order.
    """
    n = tree.n
    effort = further(n, effort, search, tuning.CROWD_EFFORT)
    edges = load.weight[tree.parent >= 0]
    if not len(edges) or effort <= 0 or search.expired():
        return place
    position = orders.positions(tree, "light-first")
    ways, spent = ways_around(fabric, min(effort, search.remaining_s()))
    if len(ways[0]):
        search.spend(spent)
        effort -= spent
    crowd = crowd_of(tree, load, fabric, place, most, position, ways=ways)
    best, best_place = 0, place
    reads = min(effort, search.remaining_s()) * tuning.READS_PER_EFFORT / n
    each = n / np.count_nonzero(np.bincount(place))
    steps = by_weight(temperatures(reads, tuning.HOTTEST_FACTOR / np.sqrt(each)), edges)
    began, remaining_s, generator = time.monotonic(), search.remaining_s(), search.generator()
    middles = position[most_neighbours(tree.degrees() + (tree.parent >= 0))]
    centre_crowd(crowd, middles)
    for stage, temperature in enumerate(steps):
        accepted = accepted_words(temperature / crowd.unit)
        first = int(generator.integers(-tuning.WINDOW, 0))
        for begin in range(first, n, tuning.WINDOW):
            if time.monotonic() >= began + (stage + 1) / len(steps) * remaining_s or search.interrupted:
                break
            window = (max(begin, 0), min(begin + tuning.WINDOW, n))
            if window[0] < window[1]:
                random = Random(int(generator.integers(0, 2**63)))
                done = anneal_crowd(crowd, random, accepted, window, reads / len(steps))
                search.spend(done / tuning.READS_PER_EFFORT)
        centre_crowd(crowd, middles)
        if crowd.grown < best:
            best, best_place = crowd.grown, np.array(crowd.place)[position]
        search.report(best=best, bound=None, what="refine: hops added")
        if search.expired():
            break
    return best_place


def by_weight(steps: npt.NDArray[np.float64], weight: Index) -> npt.NDArray[np.float64]:
    """Return temperatures in hops of a mean message at first and of their geometric mean at last: light ones settle."""
    return steps * np.geomspace(weight.mean(), np.exp(np.log(weight).mean()), len(steps))


def ways_around(fabric: Fabric, effort: float) -> tuple[tuple[Ways, Counts], float]:
    """Return the hops between processors near one another, in a window as wide as it pays, and the effort of that.

    It pays with the share of links that are dead. None are told where the lengths of the axes do.
    """
    shape = (fabric.layers, fabric.height, fabric.width)
    dead = 0.0
    for axis, others in enumerate(((1, 2), (0, 2), (0, 1))):
        links = fabric.links[2 * axis].reshape(shape)
        usual = links.max(others, keepdims=True)
        dead += (links != usual).mean() + (usual.ravel()[:-1] == 0).mean() if shape[axis] > 1 else 0
    share = min(tuning.MOST_MEASURED, dead * tuning.MEASURED_SHARE) * effort
    for reach in tuning.MEASURED_REACHES:
        window = np.minimum(np.array(shape, np.int64), 2 * reach + 1)
        spent = 2 * fabric.cells * int(window.prod()) * tuning.MEASURED_EFFORT
        if spent <= share and 2 * fabric.cells * window.prod() <= tuning.MEASURED_BYTES:
            ways = np.empty((fabric.cells, window.prod()), np.uint16)
            measure(net_of(fabric), usable(fabric).view(np.uint8), window, ways)
            return (ways, window), spent
    return NO_WAYS, 0


def slots_of(sides: Counts, window: Counts) -> Index:
    """Return where in a window, flattened, processors stand by how far onward they are, by axis; negative outside."""
    far = int(sides.max()) - 1
    slots = np.full((3, 2 * far + 1), -(2**28), np.int32)
    stride = 1
    for axis in (2, 1, 0):
        side, width = sides[axis], window[axis]
        onward = np.arange(1 - side, side)
        place = np.where(onward % side > width // 2, onward % side - side + width, onward % side)
        inside = (onward % side <= width // 2) | (place > width // 2)
        slots[axis, far + onward[inside]] = place[inside] * stride
        stride *= width
    return slots


def crowd_of(
    tree: Tree,
    load: Load,
    fabric: Fabric,
    place: Index,
    most: int,
    position: Index,
    kind: type[Crowd] = Crowd,
    ways: tuple[Ways, Counts] = NO_WAYS,
) -> Crowd:
    """Return the vertices on their processors, numbered by ``position``; ``kind`` is the class or its plain twin."""
    n = tree.n
    vertex = np.empty(n, np.int32)
    vertex[position] = np.arange(n, dtype=np.int32)
    child = np.flatnonzero(tree.parent >= 0)
    below, above = position[child], position[tree.parent[child]]
    end, other = np.concatenate([below, above]), np.concatenate([above, below])
    starts = np.concatenate([[0], np.cumsum(np.bincount(end, minlength=n))]).astype(np.int32)
    order = sorted_by(end, n - 1)
    weight = np.concatenate([load.weight[child]] * 2)[order]
    found = lengths(fabric)
    return kind(
        (starts, other[order], weight, load.bytes[vertex]),
        usable(fabric).view(np.uint8),
        (found.sides, found.at, found.ring),
        (fabric.memory_bytes, most),
        place[vertex],
        ways[0],
        slots_of(found.sides, ways[1]),
    )


def processor_table(fabric: Fabric, parent: Index, place: Index, load: Load, traffic: Traffic) -> dict[str, Any]:
    """Return columns by processor: where it is, whether it lives, what it holds, sends, receives and passes on.

    ``held`` from ``starts[p]`` to ``starts[p + 1]`` are the vertices of processor p.
    """
    cells = fabric.cells
    number = np.arange(cells, dtype=np.int32)
    held = sorted_by(place, cells - 1)
    count = np.bincount(place, minlength=cells)
    moved = np.flatnonzero((parent >= 0) & (traffic.hops > 0))
    return {
        "x": number % fabric.width,
        "y": number // fabric.width % fabric.height,
        "z": number // (fabric.width * fabric.height),
        "living": fabric.living,
        "vertices": count,
        "bytes": np.bincount(place, weights=load.bytes, minlength=cells).astype(np.int64),
        "sent": np.bincount(place[parent[moved]], minlength=cells),
        "received": np.bincount(place[moved], minlength=cells),
        "link_load": traffic.loads.max(axis=0),
        "starts": np.concatenate([[0], np.cumsum(count)]),
        "held": held,
    }
