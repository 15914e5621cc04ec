"""Compiled loops of :mod:`tiles`: which sums are computed side by side, and in which order."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import exp, pow  # noqa: A004 -- the one of C
from cython.cimports.shorthaul.core.compiled.queue_kernels import Heap, Stack
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.dataclasses import dataclass

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Reads:
    """Which group reads which classes of values, both ways, and what a class weighs.

    ``made`` is the class that a group's own value is in, -1 where nobody else reads it.
    """

    starts: cython.const_longlong[::1]
    classes: cython.const_longlong[::1]
    reader_starts: cython.const_longlong[::1]
    readers: cython.const_longlong[::1]
    made: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]


@cython.final
@cython.cclass
class Growth:
    """Tiles that grow one after another, up to a weight of ``size``.

    First come targets all of whose operands the tile reads already, then the class of values is taken that completes
    most targets per weight, or the target that misses least; else the tile is closed, and the next
    target of ``order`` starts another. ``waiting`` counts for each group the groups that have to come before it, and is
    used up; ``children`` are the groups that wait for it.
    """

    reads: Reads
    order: cython.const_longlong[::1]
    is_target: cython.const_uchar[::1]
    child_starts: cython.const_longlong[::1]
    children: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]
    size: cython.longlong
    waiting: cython.longlong[::1]
    tile = cython.declare(cython.longlong[::1], visibility="readonly")  # of each group, -1: none
    turn = cython.declare(cython.longlong[::1], visibility="readonly")
    is_open: cython.uchar[::1]  # may be put into the tile now
    absent: cython.longlong[::1]  # classes not read by the tile
    missing: cython.longlong[::1]  # their weight
    which: cython.longlong[::1]  # their indices, combined by exclusive or: the index itself where there is one
    solo: cython.longlong[::1]  # of each class: the open groups touched by the tile that miss it alone
    inside: cython.longlong[::1]  # of each class: the last tile that read it
    taken: cython.longlong[::1]  # the classes read by this tile
    classes_taken: cython.longlong
    tiles = cython.declare(cython.longlong, visibility="readonly")
    turns: cython.longlong
    held: cython.longlong  # weight in this tile
    is_growing: cython.bint
    place: cython.Py_ssize_t  # in order
    work = cython.declare(cython.longlong, visibility="readonly")  # steps so far
    whole: Heap  # classes, by how many groups they complete per weight
    single: Heap  # groups, by what they miss
    ready: Stack  # groups that miss nothing

    def __init__(
        self,
        order: cython.const_longlong[::1],
        is_target: cython.const_uchar[::1],
        reads: Reads,
        child_starts: cython.const_longlong[::1],
        children: cython.const_longlong[::1],
        waiting: cython.longlong[::1],
        weights: cython.const_longlong[::1],
        size: cython.longlong,
    ) -> None:
        n = waiting.shape[0]
        classes = reads.weights.shape[0]
        self.reads = reads
        self.order = order
        self.is_target = is_target
        self.child_starts = child_starts
        self.children = children
        self.weights = weights
        self.size = size
        self.waiting = waiting
        self.tile = np.full(n, -1, np.int64)
        self.turn = np.full(n, -1, np.int64)
        self.is_open = np.zeros(n, np.uint8)
        self.absent = np.zeros(n, np.int64)
        self.missing = np.zeros(n, np.int64)
        self.which = np.zeros(n, np.int64)
        self.solo = np.zeros(classes, np.int64)
        self.inside = np.full(classes, -1, np.int64)
        self.taken = np.empty(classes, np.int64)
        self.classes_taken = 0
        self.tiles = 0
        self.turns = 0
        self.held = 0
        self.is_growing = False
        self.place = 0
        self.work = 0
        self.whole = Heap()
        self.single = Heap()
        self.ready = Stack()
        with cython.nogil:
            _count(self, reads)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(growth: Growth, reads: Reads) -> cython.void:
    """Set what each group misses at the start."""
    place: cython.Py_ssize_t
    for group in range(growth.waiting.shape[0]):
        growth.is_open[group] = growth.is_target[group] and growth.waiting[group] == 0
        growth.absent[group] = reads.starts[group + 1] - reads.starts[group]
        for place in range(reads.starts[group], reads.starts[group + 1]):
            growth.which[group] ^= reads.classes[place]
            growth.missing[group] += reads.weights[reads.classes[place]]


def advance(growth: Growth, work: cython.longlong) -> bool:
    """Grow tiles for ``work`` further steps; True when every target is in one."""
    reads: Reads = growth.reads
    work += growth.work
    with cython.nogil:
        while growth.work < work and growth.place < growth.order.shape[0]:
            _grow(growth, reads)
    return bool(growth.place == growth.order.shape[0])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _grow(growth: Growth, reads: Reads) -> cython.void:
    """Start a tile, or let it grow by a group or a class, or close it."""
    group: cython.longlong = growth.order[growth.place]
    growth.work += 1
    if not growth.is_growing:
        if growth.tile[group] >= 0 or not growth.is_target[group]:
            growth.place += 1
            return
        growth.is_growing = True
        growth.whole.size = 0
        growth.single.size = 0
        growth.ready.size = 0
        growth.ready.push(group)
        growth.held = 0
    group = _ready_group(growth)
    if group < 0:
        value = _best_class(growth, reads)
        group = _best_group(growth, reads, value)
        if group < 0 and value >= 0:
            _take(growth, reads, value)
            return
    if group >= 0 and (growth.held == 0 or growth.held + growth.weights[group] <= growth.size):
        growth.held += growth.weights[group]
        _put(growth, reads, group)
        return
    _close(growth, reads)
    growth.is_growing = False
    growth.place += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _ready_group(growth: Growth) -> cython.longlong:
    """Return a group that reads nothing new, -1 if there is none."""
    while growth.ready.size > 0:
        growth.ready.size -= 1
        group = growth.ready.items[growth.ready.size]
        if growth.is_open[group]:
            return group
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best_class(growth: Growth, reads: Reads) -> cython.longlong:
    """Return the class that completes most groups per weight, -1 if none completes any."""
    while growth.whole.size > 0:
        value = growth.whole.items[0]
        ratio = -growth.solo[value] / cython.cast(cython.double, reads.weights[value])
        if growth.inside[value] != growth.tiles and growth.solo[value] > 0 and ratio == growth.whole.keys[0]:
            return value
        growth.whole.pop()
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best_group(growth: Growth, reads: Reads, value: cython.longlong) -> cython.longlong:
    """Return the group that misses least, -1 if none is touched or if taking class ``value`` gives more per weight."""
    while growth.single.size > 0:
        group = growth.single.items[0]
        if growth.is_open[group] and growth.missing[group] == growth.single.keys[0]:
            if value < 0 or growth.solo[value] * growth.missing[group] < reads.weights[value]:
                return group
            return -1
        growth.single.pop()
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _wait_alone(growth: Growth, reads: Reads, group: cython.longlong, more: cython.longlong) -> cython.void:
    """Count one group more, or less, that misses one class alone."""
    value: cython.longlong = growth.which[group]
    growth.solo[value] += more
    if growth.solo[value] > 0:
        growth.whole.push(-growth.solo[value] / cython.cast(cython.double, reads.weights[value]), value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take(growth: Growth, reads: Reads, value: cython.longlong) -> cython.void:
    """Let the tile read class ``value``: its readers miss one class less."""
    edge: cython.Py_ssize_t
    growth.inside[value] = growth.tiles
    growth.taken[growth.classes_taken] = value
    growth.classes_taken += 1
    growth.work += reads.reader_starts[value + 1] - reads.reader_starts[value]
    for edge in range(reads.reader_starts[value], reads.reader_starts[value + 1]):
        group = reads.readers[edge]
        growth.absent[group] -= 1
        growth.missing[group] -= reads.weights[value]
        growth.which[group] ^= value
        if not growth.is_open[group]:
            continue
        if growth.absent[group] == 0:
            growth.ready.push(group)
            continue
        growth.single.push(growth.missing[group], group)
        if growth.absent[group] == 1:
            _wait_alone(growth, reads, group, 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(growth: Growth, reads: Reads, group: cython.longlong) -> cython.void:
    """Put ``group`` into the tile, which reads all that it reads from now on, and its own value."""
    edge: cython.Py_ssize_t
    growth.tile[group] = growth.tiles
    growth.turn[group] = growth.turns
    growth.turns += 1
    growth.is_open[group] = False
    if growth.absent[group] == 1 and reads.starts[group + 1] - reads.starts[group] > 1:
        _wait_alone(growth, reads, group, -1)
    for edge in range(growth.child_starts[group], growth.child_starts[group + 1]):
        child = growth.children[edge]
        growth.waiting[child] -= 1
        if growth.waiting[child] > 0 or not growth.is_target[child]:
            continue
        growth.is_open[child] = True
        if growth.absent[child] == 0:
            growth.ready.push(child)
        elif growth.absent[child] < reads.starts[child + 1] - reads.starts[child]:
            growth.single.push(growth.missing[child], child)
            if growth.absent[child] == 1:
                _wait_alone(growth, reads, child, 1)
    for edge in range(reads.starts[group], reads.starts[group + 1] + 1):
        value = reads.classes[edge] if edge < reads.starts[group + 1] else reads.made[group]
        if value >= 0 and growth.inside[value] != growth.tiles:
            _take(growth, reads, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _close(growth: Growth, reads: Reads) -> cython.void:
    """End the tile: what it read is absent again."""
    place: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    for place in range(growth.classes_taken):
        value = growth.taken[place]
        growth.solo[value] = 0
        for edge in range(reads.reader_starts[value], reads.reader_starts[value + 1]):
            group = reads.readers[edge]
            if growth.absent[group] == 1:
                growth.solo[growth.which[group]] = 0
            growth.absent[group] += 1
            growth.missing[group] += reads.weights[value]
            growth.which[group] ^= value
    growth.classes_taken = 0
    growth.tiles += 1


@cython.final
@cython.cclass
class Exchange:
    """Groups that change tiles after :class:`Growth`, by annealing what all tiles read.

    Every group stays in a tile after those of the groups that it needs (``parents``) and before those that need it.
    """

    growth: Growth
    starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    members: cython.const_longlong[::1]  # the groups in tiles
    count: cython.int[:, ::1]  # readers by tile and class
    held: cython.longlong[::1]  # weight in each tile
    random: Random

    def __init__(
        self, growth: Growth, starts: cython.const_longlong[::1], parents: cython.const_longlong[::1], random: Random
    ) -> None:
        self.growth = growth
        self.starts = starts
        self.parents = parents
        self.members = np.flatnonzero(np.asarray(growth.tile) >= 0)
        self.count = np.zeros((growth.tiles, growth.solo.shape[0]), np.int32)
        self.held = np.zeros(growth.tiles, np.int64)
        self.random = random

    def anneal(self, steps: cython.longlong, hot: cython.double, cold: cython.double) -> None:
        """Try ``steps`` moves at temperatures from ``hot`` to ``cold``, in the unit of the classes' weights."""
        place: cython.Py_ssize_t
        edge: cython.Py_ssize_t
        reads: Reads = self.growth.reads
        cooling: cython.double = pow(cold / hot, 1.0 / steps)
        with cython.nogil:
            for place in range(self.members.shape[0]):
                group = self.members[place]
                self.held[self.growth.tile[group]] += self.growth.weights[group]
                for edge in range(reads.starts[group], reads.starts[group + 1]):
                    self.count[self.growth.tile[group], reads.classes[edge]] += 1
            for _step in range(steps):
                _try_move(self, self.growth, reads, self.random, hot)
                hot *= cooling


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _try_move(exchange: Exchange, growth: Growth, reads: Reads, random: Random, heat: cython.double) -> cython.void:
    """Move a group to a tile that reads a class that it reads; a group of it comes back if there is no room."""
    group: cython.longlong = exchange.members[random.below(exchange.members.shape[0])]
    first: cython.longlong = reads.starts[group]
    if first == reads.starts[group + 1]:
        return
    value = reads.classes[first + random.below(reads.starts[group + 1] - first)]
    first = reads.reader_starts[value]
    other = reads.readers[first + random.below(reads.reader_starts[value + 1] - first)]
    source = growth.tile[group]
    target = growth.tile[other]
    if target < 0 or target == source:
        return
    more: cython.longlong = growth.weights[group]
    is_swap: cython.bint = exchange.held[target] + more > growth.size
    if is_swap:
        more -= growth.weights[other]
    if exchange.held[target] + more > growth.size or exchange.held[source] - more > growth.size:
        return
    growth.tile[group] = target
    if is_swap:
        growth.tile[other] = source
    if _stands(exchange, growth, group) and (not is_swap or _stands(exchange, growth, other)):
        change: cython.longlong = _shift(exchange, reads, group, source, target)
        if is_swap:
            change += _shift(exchange, reads, other, target, source)
        if change <= 0 or random.real() < exp(-change / heat):
            exchange.held[target] += more
            exchange.held[source] -= more
            return
        _shift(exchange, reads, group, target, source)
        if is_swap:
            _shift(exchange, reads, other, source, target)
    growth.tile[group] = source
    if is_swap:
        growth.tile[other] = target


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shift(
    exchange: Exchange, reads: Reads, group: cython.longlong, source: cython.longlong, target: cython.longlong
) -> cython.longlong:
    """Count ``group`` as a reader in ``target``, no longer in ``source``; return what weight more the tiles read."""
    more: cython.longlong = 0
    place: cython.Py_ssize_t
    for place in range(reads.starts[group], reads.starts[group + 1]):
        value = reads.classes[place]
        if exchange.count[target, value] == 0:
            more += reads.weights[value]
        exchange.count[target, value] += 1
        exchange.count[source, value] -= 1
        if exchange.count[source, value] == 0:
            more -= reads.weights[value]
    return more


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _stands(exchange: Exchange, growth: Growth, group: cython.longlong) -> cython.bint:
    """True if ``group`` comes after what it needs and before what needs it; tile -1 is anywhere."""
    edge: cython.Py_ssize_t
    for edge in range(exchange.starts[group], exchange.starts[group + 1]):
        if growth.tile[exchange.parents[edge]] > growth.tile[group]:
            return False
    for edge in range(growth.child_starts[group], growth.child_starts[group + 1]):
        if -1 < growth.tile[growth.children[edge]] < growth.tile[group]:
            return False
    return True


def levels(
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    tile: cython.const_longlong[::1],
    backwards: cython.bint,
) -> IntArray:
    """Return the longest path to every node inside its own tile, or minus the longest one from it, shape (n,)."""
    level = np.zeros(tile.shape[0], np.int64)
    level_view: cython.longlong[::1] = level
    with cython.nogil:
        _levels(order, starts, parents, tile, backwards, level_view)
    return level


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _levels(
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    tile: cython.const_longlong[::1],
    backwards: cython.bint,
    level: cython.longlong[::1],
) -> cython.void:
    edge: cython.Py_ssize_t
    for place in range(order.shape[0]):
        node = order[order.shape[0] - 1 - place] if backwards else order[place]
        for edge in range(starts[node], starts[node + 1]):
            parent = parents[edge]
            if tile[parent] != tile[node]:
                continue
            if backwards:
                level[parent] = min(level[parent], level[node] - 1)
            else:
                level[node] = max(level[node], level[parent] + 1)
