"""Annealing on the tiles of actors alone: buffers that save most for their bytes are in the memories of tiles.

Actors are in tiles, not on cores. What crosses the network follows at once, as memories are filled anew for every
arrangement: first with buffers of which an access saves most ticks of the network per byte, counting all accesses that
are in the buffer's tile.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp
from cython.cimports.shorthaul.core.compiled.random_kernels import Random

#: How often an actor that moves goes to the tile of one that it shares a buffer with.
NEIGHBOUR = cython.declare(cython.double, 0.6)


@cython.final
@cython.cclass
class Tiling:
    """Actors in tiles. A buffer is accessed by ``members``, its writer first, then its readers.

    ``near`` and ``far`` hold ticks of an access per buffer: of a crossbar, and of the network. ``order`` lists buffers,
    each with every number of accesses that a tile may have, in the order in which they are put into memories. ``work``
    holds the ticks per actor and tile, over the cores there; -1 where it cannot run. ``tile`` and ``place`` are
    changed: the tile of every actor, and of every buffer, -1 for the global memory.
    """

    starts: cython.const_longlong[::1]
    members: cython.const_longlong[::1]
    size: cython.const_longlong[::1]
    near: cython.const_longlong[::1]
    far: cython.const_longlong[::1]
    order: cython.const_longlong[:, ::1]
    work: cython.const_double[:, ::1]
    room: cython.const_longlong[::1]
    movable: cython.const_longlong[::1]
    tile: cython.longlong[::1]
    best: cython.longlong[::1]
    place: cython.longlong[::1]
    best_place: cython.longlong[::1]
    left: cython.longlong[::1]
    load: cython.double[::1]  # of tiles' cores, of crossbars, of the network
    tried: cython.double[::1]  # the same after a move
    tried_place: cython.longlong[::1]
    touches: cython.const_longlong[::1]  # where the buffers of every actor begin in ``touched``
    touched: cython.const_longlong[::1]
    turn_of: cython.longlong[::1]  # the last move that touched a buffer
    turn: cython.longlong
    first: cython.const_longlong[:, ::1]  # where ``order`` first has a buffer with so many accesses or less
    queue: cython.longlong[::1]  # the buffer whose turn it is there; -1 for none, and in the end
    after: cython.longlong[::1]  # the next turn of any buffer; behind the end, the first one
    turn_in_queue: cython.longlong[::1]
    one: cython.longlong[::1]  # the tile a buffer goes to, and another that is as good
    other: cython.longlong[::1]
    steps: cython.longlong

    def __init__(
        self, starts: cython.const_longlong[::1], members: cython.const_longlong[::1],
        size: cython.const_longlong[::1], near: cython.const_longlong[::1], far: cython.const_longlong[::1],
        order: cython.const_longlong[:, ::1], work: cython.const_double[:, ::1],
        room: cython.const_longlong[::1], movable: cython.const_longlong[::1], tile: cython.longlong[::1],
        place: cython.longlong[::1],
    ) -> None:  # fmt: skip
        self.starts = starts
        self.members = members
        self.size = size
        self.near = near
        self.far = far
        self.order = order
        self.work = work
        self.room = room
        self.movable = movable
        self.tile = tile
        self.best = np.zeros(work.shape[0], np.int64)
        self.place = place
        self.best_place = np.zeros(size.shape[0], np.int64)
        self.left = np.zeros(room.shape[0], np.int64)
        self.load = np.zeros(2 * room.shape[0] + 1, np.float64)
        self.tried = np.zeros(2 * room.shape[0] + 1, np.float64)
        self.tried_place = np.full(size.shape[0], -1, np.int64)
        counts = np.diff(starts)
        pairs = np.unique(np.asarray(members) * len(counts) + np.repeat(np.arange(len(counts)), counts))
        self.touches = np.searchsorted(pairs, np.arange(work.shape[0] + 1) * len(counts))
        self.touched = pairs % max(1, len(counts))
        self.turn_of = np.zeros(size.shape[0], np.int64)
        self.turn = 0
        first = np.full((len(counts), counts.max(initial=0) + 1), order.shape[0])
        first[tuple(np.asarray(order).T)] = np.arange(order.shape[0])
        np.minimum.accumulate(first, axis=1, out=first)
        self.first = first
        self.queue = np.full(order.shape[0] + 1, -1, np.int64)
        self.after = np.full(order.shape[0] + 1, order.shape[0], np.int64)
        self.turn_in_queue = np.full(size.shape[0], -1, np.int64)
        self.one = np.zeros(size.shape[0], np.int64)
        self.other = np.zeros(size.shape[0], np.int64)
        self.steps = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _before(at: Tiling, turn: cython.longlong) -> cython.longlong:
    """Return the last turn of a buffer before that one; the end where there is none."""
    turn -= 1
    while turn >= 0 and at.queue[turn] < 0:
        turn -= 1
    return turn if turn >= 0 else at.queue.shape[0] - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _prefer(at: Tiling, b: cython.Py_ssize_t) -> cython.void:
    """Find the tile of a buffer: its writer's or first reader's, whichever has more accesses; and its turn."""
    k: cython.Py_ssize_t
    start: cython.Py_ssize_t = at.starts[b]
    end: cython.Py_ssize_t = at.starts[b + 1]
    of_one: cython.longlong = 0
    of_other: cython.longlong = 0
    one: cython.longlong = at.tile[at.members[start]]
    other: cython.longlong = at.tile[at.members[min(start + 1, end - 1)]]
    for k in range(start, end):
        of_one += at.tile[at.members[k]] == one
        of_other += at.tile[at.members[k]] == other
    if of_other > of_one:
        one = other
        of_one = of_other
    elif of_other < of_one:
        other = one
    at.one[b] = one
    at.other[b] = other
    at.steps += end - start
    if at.turn_in_queue[b] != at.first[b, of_one]:
        if at.turn_in_queue[b] >= 0:
            at.after[_before(at, at.turn_in_queue[b])] = at.after[at.turn_in_queue[b]]
            at.queue[at.turn_in_queue[b]] = -1
        turn = at.first[b, of_one]
        before = _before(at, turn)
        at.after[turn] = at.after[before]
        at.after[before] = turn
        at.queue[turn] = b
        at.turn_in_queue[b] = turn


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _carry(at: Tiling, b: cython.Py_ssize_t, home: cython.longlong, times: cython.double) -> cython.void:
    """Add the accesses to a buffer in a tile, -1 for the global memory, to loads so many times."""
    k: cython.Py_ssize_t
    tiles: cython.Py_ssize_t = at.room.shape[0]
    near: cython.double = times * at.near[b]
    far: cython.double = times * at.far[b]
    for k in range(at.starts[b], at.starts[b + 1]):
        tile = at.tile[at.members[k]]
        if tile == home:
            at.tried[tiles + tile] += near
        else:
            at.tried[2 * tiles] += far
            at.tried[tiles + tile] += far
            if home >= 0:
                at.tried[tiles + home] += far
    at.steps += at.starts[b + 1] - at.starts[b]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(at: Tiling) -> cython.void:
    """Put buffers into their tiles while there is room; of two as good, into the one with more.

    Where a buffer finds no room at its first turn, it finds none later: so it has only that turn.
    """
    i: cython.Py_ssize_t
    b: cython.Py_ssize_t
    home: cython.longlong
    for i in range(at.room.shape[0]):
        at.left[i] = at.room[i]
    turn = at.after[at.queue.shape[0] - 1]
    while at.queue[turn] >= 0:
        b = at.queue[turn]
        turn = at.after[turn]
        home = at.one[b]
        if at.left[at.other[b]] > at.left[home]:
            home = at.other[b]
        if at.left[home] >= at.size[b]:
            at.left[home] -= at.size[b]
        else:
            home = -1
        at.tried_place[b] = home
        if at.turn_of[b] == at.turn:
            _carry(at, b, home, 1.0)
        elif home != at.place[b]:
            _carry(at, b, at.place[b], -1.0)
            _carry(at, b, home, 1.0)
    at.steps += at.size.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(at: Tiling, weight: cython.double) -> cython.double:
    """Work out loads from nothing; return the energy."""
    i: cython.Py_ssize_t
    for i in range(at.tried.shape[0]):
        at.tried[i] = 0.0
    for i in range(at.movable.shape[0]):
        actor = at.movable[i]
        at.tried[at.tile[actor]] += at.work[actor, at.tile[actor]]
    for i in range(at.size.shape[0]):
        at.turn_of[i] = at.turn
        _prefer(at, i)
    return _energy(at, weight)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lift(at: Tiling, actor: cython.longlong) -> cython.void:
    """Take an actor and the buffers that it touches from the loads."""
    k: cython.Py_ssize_t
    b: cython.Py_ssize_t
    at.tried[at.tile[actor]] -= at.work[actor, at.tile[actor]]
    for k in range(at.touches[actor], at.touches[actor + 1]):
        b = at.touched[k]
        at.turn_of[b] = at.turn
        _carry(at, b, at.place[b], -1.0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _settle(at: Tiling, actor: cython.longlong, tile: cython.longlong) -> cython.void:
    """Put an actor into a tile."""
    at.tile[actor] = tile
    for k in range(at.touches[actor], at.touches[actor + 1]):
        _prefer(at, at.touched[k])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _energy(at: Tiling, weight: cython.double) -> cython.double:
    """Return the busiest resource's load once memories are filled, and a little for the others."""
    i: cython.Py_ssize_t
    most: cython.double = 0.0
    squares: cython.double = 0.0
    _fill(at)
    for i in range(at.tried.shape[0]):
        most = max(most, at.tried[i])
        squares += at.tried[i] * at.tried[i]
    return most + weight * squares / max(most, 1.0) / at.tried.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep(at: Tiling) -> cython.void:
    """Keep what was tried."""
    i: cython.Py_ssize_t
    for i in range(at.load.shape[0]):
        at.load[i] = at.tried[i]
    for i in range(at.place.shape[0]):
        at.place[i] = at.tried_place[i]


def anneal_tiles(
    at: Tiling, random: Random, moves: cython.longlong, hot: cython.double, cold: cython.double, weight: cython.double
) -> int:
    """Move actors to other tiles, and leave them where the energy was least; return the accesses looked at.

    The temperature falls from ``hot`` to ``cold``, shares of the energy.
    """
    _move: cython.longlong
    least: cython.double
    heat: cython.double = hot
    fall: cython.double = exp(_log_ratio(hot, cold) / max(1, moves))
    with cython.nogil:
        energy = _begin(at, weight)
        least = energy
        _keep(at)
        _note(at)
        for _move in range(moves):
            heat *= fall
            actor = at.movable[random.below(at.movable.shape[0])]
            there = random.below(at.room.shape[0])
            if random.real() < NEIGHBOUR and at.size.shape[0] > 0:
                b = random.below(at.size.shape[0])
                first = at.starts[b]
                length = at.starts[b + 1] - first
                actor = at.members[first + random.below(length)]
                there = at.tile[at.members[first + random.below(length)]]
            here = at.tile[actor]
            if here == there or at.work[actor, there] < 0:
                continue
            at.turn += 1
            for i in range(at.load.shape[0]):
                at.tried[i] = at.load[i]
            _lift(at, actor)
            at.tried[there] += at.work[actor, there]
            _settle(at, actor, there)
            after = _energy(at, weight)
            if after <= energy or random.real() < exp((energy - after) / (heat * energy + 1e-9)):
                energy = after
                _keep(at)
                if after < least:
                    least = after
                    _note(at)
            else:
                _settle(at, actor, here)
        for i in range(at.tile.shape[0]):
            at.tile[i] = at.best[i]
        for i in range(at.place.shape[0]):
            at.place[i] = at.best_place[i]
    return int(at.steps)


def _log_ratio(hot: float, cold: float) -> float:
    return float(np.log(cold / hot))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note(at: Tiling) -> cython.void:
    for i in range(at.tile.shape[0]):
        at.best[i] = at.tile[i]
    for i in range(at.place.shape[0]):
        at.best_place[i] = at.place[i]
