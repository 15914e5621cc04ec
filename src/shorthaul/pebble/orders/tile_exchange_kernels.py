"""The compiled loop that exchanges groups between the tiles of :mod:`tiles`."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, pow  # noqa: A004 -- the one of C
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.pebble.orders.tile_kernels import Reads

#: How often two groups change places although the one alone would fit.
SWAPS = cython.declare(cython.double, 0.3)


@cython.final
@cython.cclass
class Exchange:
    """Moves of groups between tiles that read the same, tried by annealing what all tiles read.

    ``tile`` is -1 for what is in no tile. Groups in a tile weigh at most ``size`` together, or what they weighed. The
    temperature falls from ``hot`` to ``cold``, in the unit of the classes' weights. In the end, ``best`` is the best
    assignment met, which reads ``-least`` less than the first.
    """

    reads: Reads
    starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    child_starts: cython.const_longlong[::1]
    children: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]
    size: cython.longlong
    steps: cython.longlong
    hot: cython.double
    cold: cython.double
    random: Random
    tile: cython.longlong[::1]
    members: cython.const_longlong[::1]  # the groups in tiles
    count: cython.int[:, ::1]  # readers by tile and class
    held: cython.longlong[::1]  # weight in each tile
    step: cython.longlong
    cost: cython.longlong
    least = cython.declare(cython.longlong, visibility="readonly")
    best = cython.declare(cython.longlong[::1], visibility="readonly")
    # What has moved since the best assignment, and from where; -1: too much, ``best`` was written.
    moved: cython.longlong[::1]
    source: cython.longlong[::1]
    moves: cython.Py_ssize_t

    def __init__(
        self,
        tile: cython.longlong[::1],
        reads: Reads,
        starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        child_starts: cython.const_longlong[::1],
        children: cython.const_longlong[::1],
        weights: cython.const_longlong[::1],
        size: cython.longlong,
    ) -> None:
        n = tile.shape[0]
        tiles = int(np.max(tile)) + 1
        self.reads = reads
        self.starts = starts
        self.parents = parents
        self.child_starts = child_starts
        self.children = children
        self.weights = weights
        self.size = size
        self.tile = np.array(tile)
        self.members = np.flatnonzero(np.asarray(tile) >= 0)
        self.count = np.zeros((tiles, reads.weights.shape[0]), np.int32)
        self.held = np.zeros(tiles, np.int64)
        self.cost = 0
        self.least = 0
        self.best = np.array(tile)
        self.moved = np.empty(n + 2, np.int64)
        self.source = np.empty(n + 2, np.int64)
        self.moves = 0
        self.schedule(0, 1.0, 1.0, Random(0))
        with cython.nogil:
            _count(self, reads)

    def schedule(self, steps: cython.longlong, hot: cython.double, cold: cython.double, random: Random) -> None:
        """Set how many moves are tried, and at which temperatures."""
        self.step = 0
        self.steps = steps
        self.hot = hot
        self.cold = cold
        self.random = random


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(exchange: Exchange, reads: Reads) -> cython.void:
    edge: cython.Py_ssize_t
    for place in range(exchange.members.shape[0]):
        group = exchange.members[place]
        tile = exchange.tile[group]
        exchange.held[tile] += exchange.weights[group]
        for edge in range(reads.starts[group], reads.starts[group + 1]):
            exchange.count[tile, reads.classes[edge]] += 1


def advance(exchange: Exchange, steps: cython.longlong) -> bool:
    """Try ``steps`` further moves; True at the end."""
    reads: Reads = exchange.reads
    stop: cython.longlong = min(exchange.steps, exchange.step + steps)
    with cython.nogil:
        while exchange.step < stop:
            _try_move(exchange, reads, exchange.random)
            exchange.step += 1
        if stop == exchange.steps:
            _write_best(exchange)
    return bool(stop == exchange.steps)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _try_move(exchange: Exchange, reads: Reads, random: Random) -> cython.void:
    """Move a group to a tile that reads a class that it reads, or let it change places with a group there."""
    group: cython.longlong = exchange.members[random.below(exchange.members.shape[0])]
    first: cython.longlong = reads.starts[group]
    is_swap: cython.bint
    if first == reads.starts[group + 1]:
        return
    value = reads.classes[first + random.below(reads.starts[group + 1] - first)]
    first = reads.reader_starts[value]
    other = reads.readers[first + random.below(reads.reader_starts[value + 1] - first)]
    source = exchange.tile[group]
    target = exchange.tile[other]
    if target < 0 or target == source:
        return
    is_swap = exchange.held[target] + exchange.weights[group] > exchange.size or random.real() < SWAPS
    more = exchange.weights[group]
    if is_swap:
        more -= exchange.weights[other]
    if (more > 0 and exchange.held[target] + more > exchange.size) or (
        more < 0 and exchange.held[source] - more > exchange.size
    ):
        return
    exchange.tile[group] = target
    if is_swap:
        exchange.tile[other] = source
    if (
        _may_stand(exchange, group, target)
        and (not is_swap or _may_stand(exchange, other, source))
        and _is_accepted(exchange, reads, random, group, other if is_swap else -1, source, target)
    ):
        exchange.held[target] += more
        exchange.held[source] -= more
        return
    exchange.tile[group] = source
    if is_swap:
        exchange.tile[other] = target


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_accepted(
    exchange: Exchange,
    reads: Reads,
    random: Random,
    group: cython.longlong,
    other: cython.longlong,
    source: cython.longlong,
    target: cython.longlong,
) -> cython.bint:
    """Move ``group``, and ``other`` the other way if there is one, in the counts, or leave these as they are."""
    change: cython.longlong = _move(exchange, reads, group, source, target)
    if other >= 0:
        change += _move(exchange, reads, other, target, source)
    if change > 0 and random.real() >= exp(-change / _heat(exchange)):
        _move(exchange, reads, group, target, source)
        if other >= 0:
            _move(exchange, reads, other, source, target)
        return False
    exchange.cost += change
    if exchange.cost < exchange.least:
        exchange.least = exchange.cost
        exchange.moves = 0
    elif exchange.moves >= 0:
        exchange.moved[exchange.moves] = group
        exchange.source[exchange.moves] = source
        exchange.moves += 1
        if other >= 0:
            exchange.moved[exchange.moves] = other
            exchange.source[exchange.moves] = target
            exchange.moves += 1
        if exchange.moves + 2 > exchange.moved.shape[0]:
            _write_best(exchange)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _heat(exchange: Exchange) -> cython.double:
    done: cython.double = exchange.step / cython.cast(cython.double, exchange.steps)
    return exchange.hot * pow(exchange.cold / exchange.hot, done)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_best(exchange: Exchange) -> cython.void:
    """Write the best assignment: the present one, with what has moved since taken back."""
    if exchange.moves < 0:
        return
    for place in range(exchange.tile.shape[0]):
        exchange.best[place] = exchange.tile[place]
    for place in range(exchange.moves - 1, -1, -1):
        exchange.best[exchange.moved[place]] = exchange.source[place]
    exchange.moves = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(
    exchange: Exchange, reads: Reads, group: cython.longlong, source: cython.longlong, target: cython.longlong
) -> cython.longlong:
    """Move ``group`` in the counts of readers by tile and class; return by how much more weight the tiles read."""
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
def _may_stand(exchange: Exchange, group: cython.longlong, target: cython.longlong) -> cython.bint:
    """True if ``group`` in tile ``target`` comes after what it needs and before what needs it; tile -1 is anywhere."""
    edge: cython.Py_ssize_t
    for edge in range(exchange.starts[group], exchange.starts[group + 1]):
        if exchange.tile[exchange.parents[edge]] > target:
            return False
    for edge in range(exchange.child_starts[group], exchange.child_starts[group + 1]):
        if -1 < exchange.tile[exchange.children[edge]] < target:
            return False
    return True
