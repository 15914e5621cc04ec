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

#: How often an actor that moves goes to the tile of one that it shares a buffer with, and how often two change places.
NEIGHBOUR = cython.declare(cython.double, 0.6)
EXCHANGE = cython.declare(cython.double, 0.3)


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
        self.steps = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _accesses(at: Tiling, b: cython.Py_ssize_t, tile: cython.longlong) -> cython.longlong:
    """Return how many accesses to a buffer are from a tile."""
    k: cython.Py_ssize_t
    found: cython.longlong = 0
    for k in range(at.starts[b], at.starts[b + 1]):
        found += at.tile[at.members[k]] == tile
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(at: Tiling) -> cython.void:
    """Put buffers into the tile of their writer or first reader, whichever has more accesses, while there is room."""
    i: cython.Py_ssize_t
    b: cython.Py_ssize_t
    tiles: cython.Py_ssize_t = at.room.shape[0]
    for i in range(tiles):
        at.left[i] = at.room[i]
    for b in range(at.size.shape[0]):
        at.place[b] = -1
    for i in range(at.order.shape[0]):
        b = at.order[i, 0]
        if at.place[b] >= 0:
            continue
        one = at.tile[at.members[at.starts[b]]]
        other = at.tile[at.members[at.starts[b] + 1]] if at.starts[b + 1] > at.starts[b] + 1 else one
        at.steps += at.starts[b + 1] - at.starts[b]
        if one != other:
            of_one = _accesses(at, b, one)
            of_other = _accesses(at, b, other)
            if of_other > of_one or (of_other == of_one and at.left[other] > at.left[one]):
                one = other
                of_one = of_other
        else:
            of_one = _accesses(at, b, one)
        if of_one >= at.order[i, 1] and at.left[one] >= at.size[b]:
            at.place[b] = one
            at.left[one] -= at.size[b]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _energy(at: Tiling, weight: cython.double) -> cython.double:
    """Return the busiest resource's load once memories are filled, and a little for the others."""
    tiles: cython.Py_ssize_t = at.room.shape[0]
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    most: cython.double = 0.0
    squares: cython.double = 0.0
    _fill(at)
    for i in range(at.load.shape[0]):
        at.load[i] = 0.0
    for i in range(at.movable.shape[0]):
        actor = at.movable[i]
        at.load[at.tile[actor]] += at.work[actor, at.tile[actor]]
    for b in range(at.size.shape[0]):
        home = at.place[b]
        for k in range(at.starts[b], at.starts[b + 1]):
            tile = at.tile[at.members[k]]
            if tile == home:
                at.load[tiles + tile] += at.near[b]
            else:
                at.load[2 * tiles] += at.far[b]
                at.load[tiles + tile] += at.far[b]
                if home >= 0:
                    at.load[tiles + home] += at.far[b]
    for i in range(at.load.shape[0]):
        most = max(most, at.load[i])
        squares += at.load[i] * at.load[i]
    return most + weight * squares / max(most, 1.0) / at.load.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _runs(at: Tiling, actor: cython.longlong, tile: cython.longlong) -> cython.bint:
    return at.work[actor, tile] >= 0


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
        energy = _energy(at, weight)
        least = energy
        _note(at)
        for _move in range(moves):
            heat *= fall
            actor = at.movable[random.below(at.movable.shape[0])]
            second = actor
            here = at.tile[actor]
            there = random.below(at.room.shape[0])
            chance = random.real()
            if chance < EXCHANGE:
                second = at.movable[random.below(at.movable.shape[0])]
                there = at.tile[second]
            elif chance < EXCHANGE + NEIGHBOUR and at.size.shape[0] > 0:
                b = random.below(at.size.shape[0])
                first = at.starts[b]
                length = at.starts[b + 1] - first
                actor = at.members[first + random.below(length)]
                second = actor
                here = at.tile[actor]
                there = at.tile[at.members[first + random.below(length)]]
            if here == there or not _runs(at, actor, there) or (second != actor and not _runs(at, second, here)):
                continue
            at.tile[actor] = there
            if second != actor:
                at.tile[second] = here
            after = _energy(at, weight)
            if after <= energy or random.real() < exp((energy - after) / (heat * energy + 1e-9)):
                energy = after
                if after < least:
                    least = after
                    _note(at)
            else:
                at.tile[actor] = here
                if second != actor:
                    at.tile[second] = there
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
