"""Kernels that anneal layouts with several vertices per processor."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.random_kernels import Random

#: What a move costs in reads of the refinement in tiles, a vertex that is where it should be, and each neighbour that
#: is looked at: these are further apart.
MOVE = cython.declare(cython.longlong, 24)
SKIP = cython.declare(cython.longlong, 8)
LOOK = cython.declare(cython.longlong, 3)
#: So many vertices on a full processor are looked at for the one to change places with: all by default on wafers of up
#: to four each. On 162,500 vertices that is 0.7 to 5 % fewer hops than a random one.
MOST_PARTNERS = cython.declare(cython.longlong, 4)
#: Bits of a random word: where all are zero, processors exchange what they hold. Of one in 2, 4 and 16, 4 was best.
WHOLE = cython.declare(cython.ulonglong, 0x30000)
#: In place of hops that are not known.
NO_WAY = cython.declare(cython.longlong, 0xFFFF)
#: More hops than any move adds.
NEVER = cython.declare(cython.longlong, 1 << 60)


@cython.final
@cython.cclass
class Crowd:
    """Vertices on processors, up to ``most`` of them and ``room`` bytes on each one that is ``living``.

    Vertex v, of ``size[v]`` bytes, is next to near[starts[v]:starts[v + 1]] in the tree, over edges of these
    ``weight``. Those on a processor are a ring by ``after`` and ``before``, in which ``head`` is one of them. ``sides``
    are layers, height and width of the grid, ``at``, ``first`` and ``ring`` its lengths as in the routing. ``ways`` are
    the hops around what is dead from a processor to those near it, as :func:`measure` writes them: from cell c to one
    that is i further along an axis, ways[c, the sum over the axes of slots[axis, i]], negative where that is too far.
    """

    def __init__(
        self,
        tree: tuple[Any, Any, Any, Any],
        living: cython.const_uchar[::1],
        lengths: tuple[Any, Any, Any],
        limits: tuple[int, int],
        place: cython.int[::1],
        ways: cython.const_ushort[:, ::1],
        slots: cython.const_int[:, ::1],
    ) -> None:
        n = place.shape[0]
        self.starts, self.near, self.weight, self.size = tree
        self.living = living
        self.sides, self.at, self.ring = lengths
        self.first = np.array([0, self.sides[0], self.sides[0] + self.sides[1]], np.int64)
        self.room, self.most = limits
        self.place = place
        self.where = np.zeros((n, 3), np.int32)
        self.head = np.full(living.shape[0], -1, np.int32)
        self.after = np.zeros(n, np.int32)
        self.before = np.zeros(n, np.int32)
        self.count = np.zeros(living.shape[0], np.int32)
        self.used = np.zeros(living.shape[0], np.int64)
        self.grown = 0
        self.ways = ways
        self.slots = slots
        self.middle = slots.shape[1] // 2
        self.is_flat = self.sides[0] == 1 and max(self.ring) == 0 and self.at[self.at.shape[0] - 1] == self.sides[2] - 1
        self.is_flat = self.is_flat and self.at[self.sides[1]] == self.sides[1] - 1
        self.unit = max(1, int(np.asarray(self.weight).mean()) // 16) if len(self.weight) else 1
        self.reads = 0
        self.partner = -1
        self.between = 0
        self.sum = np.zeros(max(self.sides), np.int64)
        with cython.nogil:
            for v in range(n):
                enter(self, v, self.place[v])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(crowd: Crowd, v: cython.Py_ssize_t, cell: cython.longlong) -> cython.void:
    """Put a vertex on a processor."""
    axis: cython.Py_ssize_t
    rest: cython.longlong = cell
    head: cython.Py_ssize_t = crowd.head[cell]
    if head < 0:
        crowd.after[v] = v
        crowd.before[v] = v
    else:
        crowd.after[v] = head
        crowd.before[v] = crowd.before[head]
        crowd.after[crowd.before[head]] = v
        crowd.before[head] = v
    crowd.head[cell] = v
    crowd.count[cell] += 1
    crowd.used[cell] += crowd.size[v]
    crowd.place[v] = cell
    for axis in range(2, -1, -1):
        crowd.where[v, axis] = rest % crowd.sides[axis]
        rest = rest // crowd.sides[axis]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave(crowd: Crowd, v: cython.Py_ssize_t) -> cython.void:
    """Take a vertex from its processor."""
    cell: cython.Py_ssize_t = crowd.place[v]
    crowd.head[cell] = crowd.after[v] if crowd.after[v] != v else -1
    crowd.after[crowd.before[v]] = crowd.after[v]
    crowd.before[crowd.after[v]] = crowd.before[v]
    crowd.count[cell] -= 1
    crowd.used[cell] -= crowd.size[v]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hops(
    crowd: Crowd, cell: cython.longlong, z: cython.int, y: cython.int, x: cython.int, u: cython.Py_ssize_t
) -> cython.longlong:
    """Return the hops from a processor, at these coordinates, to where u is; around what is dead where it is near."""
    if crowd.ways.shape[0] > 0:
        place: cython.longlong = crowd.slots[1, crowd.middle + crowd.where[u, 1] - y]
        place += crowd.slots[2, crowd.middle + crowd.where[u, 2] - x]
        place += crowd.slots[0, crowd.middle + crowd.where[u, 0] - z]
        if place >= 0 and crowd.ways[cell, place] < NO_WAY:
            return crowd.ways[cell, place]
    if crowd.is_flat:
        return abs(y - crowd.where[u, 1]) + abs(x - crowd.where[u, 2])
    return _along(crowd, 0, z, u) + _along(crowd, 1, y, u) + _along(crowd, 2, x, u)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _along(crowd: Crowd, axis: cython.Py_ssize_t, here: cython.Py_ssize_t, u: cython.Py_ssize_t) -> cython.longlong:
    """Return the hops along an axis from a coordinate to that of u as if nothing were dead."""
    first: cython.Py_ssize_t = crowd.first[axis]
    hops: cython.longlong = abs(crowd.at[first + here] - crowd.at[first + crowd.where[u, axis]])
    return min(hops, crowd.ring[axis] - hops) if crowd.ring[axis] > 0 else hops


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _change(
    crowd: Crowd,
    v: cython.Py_ssize_t,
    cell: cython.longlong,
    z: cython.int,
    y: cython.int,
    x: cython.int,
    other: cython.Py_ssize_t,
) -> cython.longlong:
    """Return by how much the edges of v grow when it moves to ``cell``; its edge to ``other`` keeps its length."""
    total: cython.longlong = 0
    u: cython.Py_ssize_t
    k: cython.Py_ssize_t
    here: cython.longlong = crowd.place[v]
    from_z: cython.int = crowd.where[v, 0]
    from_y: cython.int = crowd.where[v, 1]
    from_x: cython.int = crowd.where[v, 2]
    for k in range(crowd.starts[v], crowd.starts[v + 1]):
        u = crowd.near[k]
        if u == other:
            crowd.between = crowd.weight[k]
        else:
            total += crowd.weight[k] * (_hops(crowd, cell, z, y, x, u) - _hops(crowd, here, from_z, from_y, from_x, u))
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _axis(crowd: Crowd, bits: cython.ulonglong) -> cython.Py_ssize_t:
    if crowd.sides[0] > 1 and bits & 6 == 6:
        return 0
    return 2 if bits & 1 else 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _step(crowd: Crowd, v: cython.Py_ssize_t, u: cython.Py_ssize_t, bits: cython.ulonglong) -> cython.longlong:
    """Return the processor beside that of v, nearer to u along a random axis; -1 where there is none."""
    axis: cython.Py_ssize_t = _axis(crowd, bits)
    onward: cython.longlong = crowd.where[u, axis] - crowd.where[v, axis]
    if onward == 0:
        return -1
    if crowd.ring[axis] > 0 and 2 * abs(onward) > crowd.sides[axis]:
        onward = -onward
    return beside(crowd, crowd.place[v], bits & 7 | (8 if onward > 0 else 0))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def beside(crowd: Crowd, cell: cython.longlong, bits: cython.ulonglong) -> cython.longlong:
    """Return a random neighbour of a processor; -1 where the grid ends."""
    axis: cython.Py_ssize_t = _axis(crowd, bits)
    stride: cython.longlong = 1 if axis == 2 else crowd.sides[2] if axis == 1 else crowd.sides[2] * crowd.sides[1]
    place = cell // stride % crowd.sides[axis]
    if bits & 8:
        if place + 1 < crowd.sides[axis]:
            return cell + stride
        return cell - stride * place if crowd.ring[axis] > 0 else -1
    if place > 0:
        return cell - stride
    return cell + stride * (crowd.sides[axis] - 1) if crowd.ring[axis] > 0 else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _price(crowd: Crowd, v: cython.Py_ssize_t, cell: cython.longlong, u: cython.Py_ssize_t) -> cython.longlong:
    """Return the hops that moving v to ``cell`` adds, NEVER if it cannot; ``partner`` takes its place (or -1: none).

    Another one there than u is the partner if there are others: v is to come nearer to u.
    """
    here: cython.longlong = crowd.place[v]
    other: cython.Py_ssize_t
    change: cython.longlong
    own: cython.longlong
    least: cython.longlong = NEVER
    column: cython.int = crowd.sides[2]
    row: cython.int = cython.cast(cython.int, cell) // column
    z: cython.int = row // cython.cast(cython.int, crowd.sides[1])
    x: cython.int = cython.cast(cython.int, cell) - row * column
    y: cython.int = row - z * cython.cast(cython.int, crowd.sides[1])
    crowd.partner = -1
    crowd.reads += LOOK * (crowd.starts[v + 1] - crowd.starts[v])
    own = _change(crowd, v, cell, z, y, x, -1)
    if crowd.count[cell] < crowd.most and crowd.used[cell] + crowd.size[v] <= crowd.room:
        return own
    for _ in range(min(crowd.count[cell], MOST_PARTNERS)):
        crowd.head[cell] = crowd.after[crowd.head[cell]]  # so that all have their turn
        other = crowd.head[cell]
        if (
            (other == u and crowd.count[cell] > 1)
            or crowd.used[cell] - crowd.size[other] + crowd.size[v] > crowd.room
            or crowd.used[here] - crowd.size[v] + crowd.size[other] > crowd.room
        ):
            continue
        crowd.reads += LOOK * (crowd.starts[other + 1] - crowd.starts[other])
        crowd.between = 0
        change = _change(crowd, other, here, crowd.where[v, 0], crowd.where[v, 1], crowd.where[v, 2], v)
        # The edge between the two, if there is one, keeps its length.
        change += crowd.between * _hops(crowd, cell, z, y, x, v)
        if change < least:
            crowd.partner = other
            least = change
    return own + least


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(crowd: Crowd, v: cython.Py_ssize_t, cell: cython.longlong, worse: cython.longlong) -> cython.void:
    """Move v to ``cell``, as it was priced last."""
    here: cython.longlong = crowd.place[v]
    crowd.grown += worse
    leave(crowd, v)
    if crowd.partner >= 0:
        leave(crowd, crowd.partner)
        enter(crowd, crowd.partner, here)
    enter(crowd, v, cell)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _exchange(
    crowd: Crowd, random: Random, accepted: cython.const_ulonglong[::1], v: cython.Py_ssize_t, u: cython.Py_ssize_t
) -> cython.void:
    """Let all on the processor of v change places with all on one beside u, or if u is far, on one beside v."""
    bits: cython.ulonglong = random.word()
    here: cython.longlong = crowd.place[v]
    cell: cython.longlong
    if _hops(crowd, here, crowd.where[v, 0], crowd.where[v, 1], crowd.where[v, 2], u) < 3:
        cell = beside(crowd, crowd.place[u], bits)
    else:
        cell = _step(crowd, v, u, bits)
    if cell < 0 or cell == here or crowd.living[cell] == 0:
        return
    worse: cython.longlong = _carry(crowd, here, cell) + _carry(crowd, cell, here)
    if not is_accepted(crowd, random, accepted, worse):
        return
    crowd.grown += worse
    count: cython.longlong = crowd.count[cell]
    w: cython.Py_ssize_t
    for _ in range(crowd.count[here]):
        w = crowd.head[here]
        leave(crowd, w)
        enter(crowd, w, cell)
    for _ in range(count):  # those who were there before are the last of the ring
        w = crowd.before[crowd.head[cell]]
        leave(crowd, w)
        enter(crowd, w, here)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _carry(crowd: Crowd, source: cython.longlong, cell: cython.longlong) -> cython.longlong:
    """Return by how much edges to third processors grow if all on one go to another; those between the two do not."""
    total: cython.longlong = 0
    v: cython.Py_ssize_t = crowd.head[source]
    u: cython.Py_ssize_t
    k: cython.Py_ssize_t
    column: cython.int = crowd.sides[2]
    row: cython.int = cython.cast(cython.int, cell) // column
    z: cython.int = row // cython.cast(cython.int, crowd.sides[1])
    x: cython.int = cython.cast(cython.int, cell) - row * column
    y: cython.int = row - z * cython.cast(cython.int, crowd.sides[1])
    for _ in range(crowd.count[source]):
        crowd.reads += LOOK * (crowd.starts[v + 1] - crowd.starts[v])
        for k in range(crowd.starts[v], crowd.starts[v + 1]):
            u = crowd.near[k]
            if crowd.place[u] != source and crowd.place[u] != cell:
                total += crowd.weight[k] * (
                    _hops(crowd, cell, z, y, x, u)
                    - _hops(crowd, source, crowd.where[v, 0], crowd.where[v, 1], crowd.where[v, 2], u)
                )
        v = crowd.after[v]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _middle(crowd: Crowd, v: cython.Py_ssize_t) -> cython.longlong:
    """Return the processor at the median of the neighbours of v along every axis, as if no axis were a ring."""
    axis: cython.Py_ssize_t
    k: cython.Py_ssize_t
    at: cython.longlong
    cell: cython.longlong = 0
    half: cython.longlong = 0
    for k in range(crowd.starts[v], crowd.starts[v + 1]):
        half += crowd.weight[k]
    for axis in range(3):
        low: cython.longlong = crowd.sides[axis]
        high: cython.longlong = 0
        for k in range(crowd.starts[v], crowd.starts[v + 1]):
            at = crowd.where[crowd.near[k], axis]
            crowd.sum[at] += crowd.weight[k]
            low = min(low, at)
            high = max(high, at)
        seen: cython.longlong = 0
        median: cython.longlong = -1
        for at in range(low, high + 1):
            seen += crowd.sum[at]
            crowd.sum[at] = 0
            if median < 0 and 2 * seen >= half:
                median = at
        cell = cell * crowd.sides[axis] + median
    return cell


def centre_crowd(crowd: Crowd, vertices: cython.const_int[::1]) -> None:
    """Move these vertices, one after the other, to the middle of their neighbours.

    Each goes there, or beside it, if that saves hops, and changes places with somebody where the processor is full.
    """
    turn: cython.longlong
    v: cython.Py_ssize_t
    with cython.nogil:
        for i in range(vertices.shape[0]):
            v = vertices[i]
            middle: cython.longlong = _middle(crowd, v)
            for turn in range(5):
                cell: cython.longlong = middle if turn == 0 else beside(crowd, middle, (turn - 1 & 2) << 2 | (turn & 1))
                if cell == crowd.place[v]:
                    break
                if cell < 0 or crowd.living[cell] == 0:
                    continue
                worse = _price(crowd, v, cell, -1)
                if worse < 0:
                    _move(crowd, v, cell, worse)
                    break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_accepted(
    crowd: Crowd, random: Random, accepted: cython.const_ulonglong[::1], worse: cython.longlong
) -> cython.bint:
    """Whether a move that adds d hops, times weights, is done: if a random word is below ``accepted[d // unit]``."""
    if worse <= 0:
        return True
    if crowd.unit > 1:
        worse = worse // crowd.unit
    return worse < accepted.shape[0] and random.word() < accepted[worse]


def anneal_crowd(
    crowd: Crowd,
    random: Random,
    accepted: cython.const_ulonglong[::1],
    window: tuple[int, int],
    reads_per_vertex: cython.double,
) -> int:
    """Try moves of the vertices from window[0] to window[1] - 1, so many reads for each; return the reads.

    A random vertex moves to the processor of a neighbour in the tree, or beside it, or if that is three hops away or
    more, mostly one hop towards it. Where a processor is full, it changes places with the one there, of up to
    ``MOST_PARTNERS``, whose edges grow least. One time in four, all on its processor change places with all on another.
    """
    begin: cython.longlong = window[0]
    count: cython.longlong = window[1] - window[0]
    work: cython.longlong = cython.cast(cython.longlong, reads_per_vertex * count)
    v: cython.Py_ssize_t
    u: cython.Py_ssize_t
    bits: cython.ulonglong
    degree: cython.longlong
    cell: cython.longlong
    far: cython.bint
    with cython.nogil:
        crowd.reads = 0
        while crowd.reads < work:
            crowd.reads += SKIP
            bits = random.word()
            v = begin + ((bits >> 40) * count >> 24)
            degree = crowd.starts[v + 1] - crowd.starts[v]
            if degree == 0:
                continue
            u = crowd.near[crowd.starts[v] + ((bits >> 24 & 0xFFFF) * degree >> 16)]
            cell = crowd.place[u]
            if cell == crowd.place[v]:
                continue
            if bits & WHOLE == 0:
                crowd.reads += MOVE - SKIP
                _exchange(crowd, random, accepted, v, u)
                continue
            far = _hops(crowd, crowd.place[v], crowd.where[v, 0], crowd.where[v, 1], crowd.where[v, 2], u) >= 3
            if far and bits & 0x180:
                cell = _step(crowd, v, u, bits)
            elif bits & 16:
                cell = beside(crowd, cell, bits)
                if cell >= 0 and far and bits & 0x20:
                    cell = beside(crowd, cell, bits >> 9)
                    if cell >= 0 and bits & 0x40:
                        cell = beside(crowd, cell, bits >> 12)
            if cell < 0 or cell == crowd.place[v] or crowd.living[cell] == 0:
                continue
            crowd.reads += MOVE - SKIP
            worse = _price(crowd, v, cell, u)
            if not is_accepted(crowd, random, accepted, worse):
                continue
            _move(crowd, v, cell, worse)
    return int(crowd.reads)
