"""Kernel that weighs parts of a tree which hold more vertices than the grid has cells within their reach."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt


@cython.final
@cython.cclass
class Volume:
    """What is known of vertices with a child that is done and not done themselves: a stack, a row each.

    By their reach b: how much weights add below the children of a vertex, by the load on them. The column i is for
    weights above them of 1 / (2 i + 1) together, the last one for none.
    """

    def __init__(
        self,
        parent: cython.const_int[::1],
        room: cython.const_longlong[::1],
        star: cython.const_longlong[::1],
        above: cython.const_uchar[::1],
        each: cython.longlong,
        fan: cython.const_longlong[::1],
        widest: cython.longlong,
        remembered: cython.Py_ssize_t = -1,
    ) -> None:
        reaches = int(room.shape[0])
        rows = int(parent.shape[0]).bit_length() + 2  # the largest subtree of a vertex is done first
        self.most = reaches - 1
        self.parent = parent
        self.room = room
        self.star = star
        self.above = above
        self.each = each
        self.fan = fan
        self.widest = widest
        self.load = np.append(1 / (2 * np.arange(reaches) + 1), 0.0)
        self.top = -1
        self.owner = np.zeros(rows, np.int64)
        self.height = np.zeros(rows, np.int64)
        self.apart = np.zeros(rows)
        self.is_loaded = np.zeros(rows, np.uint8)
        self.added = np.zeros((rows + 1, reaches, reaches + 1))
        self.overlap = np.zeros((rows, reaches), np.int64)
        self.level = np.zeros((rows, reaches + 2), np.int64)
        told = int(parent.shape[0]) if remembered >= 0 else 0
        self.row = np.full(told, -1, np.int64)
        self.below = np.zeros(told, np.int64)
        self.ball = np.zeros(told, np.uint8)
        self.alone = np.zeros(parent.shape[0])
        self.chosen = np.zeros((max(remembered, 0), reaches, reaches + 1), np.uint8)
        self.kept = np.zeros((max(remembered, 0), reaches, reaches + 1))
        self.weighed = 0
        self.levels = 0
        self.is_weighed = False
        self.total = np.zeros((reaches, reaches + 1))


def gains_of_volume(
    parent: cython.const_int[::1],
    room: cython.const_longlong[::1],
    star: cython.const_longlong[::1],
    above: cython.const_uchar[::1],
    each: cython.longlong,
    fan: cython.const_longlong[::1],
    widest: cython.longlong,
) -> npt.NDArray[np.float64]:
    """Return how many hops beyond one each the edges of every subtree take together, since it outgrows the grid.

    The vertices are numbered subtree by subtree, parents first and the largest subtree of a parent last. Within b hops
    of a processor are ``room[b]``, itself included, for ``each`` vertices each; reaches are smaller than there are such
    numbers. Edges of vertex v, to its children and where ``above[v]`` is set also to its parent, are together
    ``star[v]`` hops longer than one each; no edge is among those of both its ends. ``fan[v]`` of them lead to children,
    and up to ``widest`` leaves of a star have as much room as without an end of the grid.

    Let W be a connected part of the tree, v its top, and let every u of W reach the cells within r(u) hops. All that
    W reaches is what v does, and for each edge, from u to its child k, what k reaches and u does not. As a processor
    moves by a hop, the cells within b hops of it leave at most 2 b + 1 behind, and at most 2 b - 1 with the second
    hop on. So, with a = r(u) and b = r(k),

        |W| / each <= room[r(v)] + sum over the edges of c + d (their hops beyond 1), where
        b < a: c = 0, d = 2 b + 1;   b = a: c = 2 a + 1, d = 2 a - 1;   b = a + 1: c = 4 (a + 1), d = 2 a + 1.

    What the children in a star reach overlaps: with their edges as short as can be, they are on all cells within r - 1
    hops of u and some r hops away, and with a reach b < a reach what is within r - 1 + b hops and little more. Longer
    edges are shortened hop by hop, the farthest child to the cell before its own or, where that is taken, to one that
    is free and nearer to u: what is reached shrinks by 2 b + 1 a hop at most. So only hops beyond the least of the star
    count, which bears as much less. Where one of them has the reach a as well, c = 2 a + 1 still, and d = 2 a + 1; or
    d = 2 a - 1 with c = 4 a, a ring.

    With a weight w for this, an edge bears w d; no edge may bear more than 1 together. The tree is cut into
    parts, in which every u has a reach and a weight for the part below it; what the edges can bear beside that goes to
    their sum ``star[u]``. The best cuts, reaches and weights are found from the leaves up, but that all edges of u
    count for ``star[u]`` as if they bore the most that they can, and then lead to no larger reaches: as functions of
    the load from above they bend where an edge below can bear no more, so that they are known from the loads
    1 / (2 i + 1).
    """
    volume = Volume(parent, room, star, above, each, fan, widest)
    with cython.nogil:
        weigh_all(volume)
    return np.asarray(volume.alone)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def weigh_all(volume: Volume) -> cython.void:
    """Weigh all vertices, from the last on."""
    v: cython.Py_ssize_t
    for v in range(volume.parent.shape[0] - 1, -1, -1):
        above: cython.longlong = volume.parent[v]
        if volume.top < 0 or volume.owner[volume.top] != v:  # a leaf
            if above >= 0:
                if volume.top < 0 or volume.owner[volume.top] != above:
                    volume.top += 1
                    _begin(volume, above, 1)
                    volume.level[volume.top, 1] = 0
                volume.level[volume.top, 1] += 1
            continue
        volume.alone[v] = _weigh(volume, volume.top)
        if above < 0:
            volume.top -= 1
        else:
            _add(volume, above, volume.alone[v])
        volume.weighed += volume.is_weighed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(volume: Volume, v: cython.longlong, height: cython.longlong) -> cython.void:
    """Let the top row be that of v."""
    row: cython.Py_ssize_t = volume.top
    a: cython.Py_ssize_t
    for a in range(volume.most + 1 if volume.star[v] > 0 else 0):
        volume.overlap[row, a] = overlapping(volume, v, a)
    volume.owner[row] = v
    volume.height[row] = height
    volume.apart[row] = 0
    volume.is_loaded[row] = 0
    volume.level[row, 0] = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(volume: Volume, row: cython.Py_ssize_t) -> cython.double:
    """Let the vertex of a row have a reach and a weight where that pays; return what its subtree proves on its own."""
    v: cython.Py_ssize_t = volume.owner[row]
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    count: cython.longlong = 0
    star: cython.double = cython.cast(cython.double, volume.star[v])
    known: cython.Py_ssize_t = row if volume.is_loaded[row] else volume.owner.shape[0]
    room: cython.double
    bears: cython.double
    overlap: cython.double
    most: cython.double
    gain: cython.double
    best: cython.Py_ssize_t
    alone: cython.double = volume.apart[row] + star
    volume.levels = volume.height[row]
    volume.is_weighed = volume.is_loaded[row] or volume.star[v] > 0 or _is_crowded(volume, row)
    if volume.below.shape[0] > 0:
        volume.below[v] = volume.levels
        if volume.is_weighed:
            volume.row[v] = volume.weighed
    if not volume.is_weighed:
        return alone
    for b in range(min(volume.levels, volume.most) + 1):
        count += volume.level[row, b]
        room = cython.cast(cython.double, volume.room[b])
        bears = cython.cast(cython.double, 2 * b + 1 if volume.above[v] else max(2 * b - 1, 0))
        overlap = cython.cast(cython.double, volume.overlap[row, b])
        most = -1e300
        best = 0
        for i in range(max(b - 1, 0), volume.most + 2):  # an edge from v bears 2 b - 1 or more for every unit
            gain = volume.added[known, b, i] + volume.load[i] * (cython.cast(cython.double, count) / volume.each - room)
            if star > 0:
                gain += star * max(0.0, 1 - volume.load[i] * bears) + volume.load[i] * overlap
            if gain >= most:
                most = gain
                best = i
            volume.total[b, i] = most + volume.load[i] * room
            if volume.weighed < volume.chosen.shape[0]:
                volume.chosen[volume.weighed, b, i] = cython.cast(cython.uchar, best)
        if volume.total[b, volume.most + 1] > alone:
            alone = volume.total[b, volume.most + 1]
            if volume.ball.shape[0] > 0:
                volume.ball[v] = cython.cast(cython.uchar, b + 1)
    if volume.weighed < volume.kept.shape[0]:
        for b in range(volume.most + 1):
            for i in range(volume.most + 2):
                volume.kept[volume.weighed, b, i] = volume.total[b, i]
    return alone


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_crowded(volume: Volume, row: cython.Py_ssize_t) -> cython.bint:
    """Whether a weight for v, or a reach that is not regular, pays: no child was weighed.

    Without weights below, what v adds is its load times the vertices within its reach.
    """
    b: cython.Py_ssize_t
    count: cython.longlong = 1
    for b in range(1, min(volume.height[row], volume.most) + 1):
        count += volume.level[row, b]
        if volume.level[row, b] > (2 * b + 1) * volume.each:
            return True
        if (
            volume.level[row, b - 1] + volume.level[row, b] > 4 * b * volume.each
            or count > volume.room[b] * volume.each
        ):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(volume: Volume, above: cython.longlong, alone: cython.double) -> cython.void:
    """Add the vertex of the top row, which was weighed last, to its parent, and let that have the top row."""
    row: cython.Py_ssize_t = volume.top - 1
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    regular: cython.Py_ssize_t
    best: cython.double
    same: cython.Py_ssize_t
    levels: cython.Py_ssize_t = min(volume.levels, volume.most)
    if row >= 0 and volume.owner[row] == above:
        volume.top = row
        while volume.height[row] <= volume.levels:
            volume.height[row] += 1
            if volume.height[row] <= volume.most + 1:
                volume.level[row, volume.height[row]] = 0
        if not volume.is_weighed:
            for a in range(levels + 1):
                volume.level[row, a + 1] += volume.level[row + 1, a]
    else:
        row = volume.top
        for a in range(levels, -1, -1):
            volume.level[row, a + 1] = 0 if volume.is_weighed else volume.level[row, a]
        _begin(volume, above, volume.levels + 1)
    volume.apart[row] += alone
    if volume.is_weighed:
        for a in range(volume.most + 1):  # where its parent has this reach: left out, or with the best reach
            begin = max(a - 1, 0)
            regular = min(a - 1, volume.levels) if a > 0 else -1
            if not volume.is_loaded[row]:
                for i in range(begin, volume.most + 2):
                    volume.added[row, a, i] = 0
            for i in range(begin, volume.most + 2):
                best = alone
                if regular >= 0:
                    best = max(best, volume.total[regular, i])
                if 0 < a <= volume.levels:
                    same = 4 * a if i < a and volume.star[above] > 0 and volume.overlap[row, a] > 0 else 2 * a + 1
                    best = max(best, volume.total[a, i] - volume.load[i] * cython.cast(cython.double, same))
                if i >= a and is_larger(volume, volume.owner[row], a, volume.levels):
                    best = max(best, volume.total[a + 1, i] - volume.load[i] * cython.cast(cython.double, 4 * (a + 1)))
                volume.added[row, a, i] += best
        volume.is_loaded[row] = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def is_larger(volume: Volume, v: cython.longlong, a: cython.Py_ssize_t, levels: cython.longlong) -> cython.bint:
    """Whether below v, of reach a, a child with so many levels below it may have a larger reach."""
    return a < min(levels, volume.most) and volume.star[v] == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def overlapping(volume: Volume, v: cython.longlong, a: cython.Py_ssize_t) -> cython.longlong:
    """Return how many of the cells that children add by the hops of the star of v, of reach a, are reached already."""
    k: cython.longlong = volume.fan[v]
    b: cython.longlong = a - 1
    if volume.star[v] == 0 or a == 0 or k > volume.widest or k < 5 * volume.each:
        return 0
    ring: cython.longlong = 2  # of the farthest children
    while volume.each * (2 * ring * (ring + 1) + 1) - 1 < k:
        ring += 1
    last: cython.longlong = k + 1 - volume.each * (2 * ring * (ring - 1) + 1)  # children there
    hops: cython.longlong = volume.each * 4 * (ring - 2) * (ring - 1) * ring // 3 + (ring - 1) * last
    inner: cython.longlong = ring - 1 + b
    cells: cython.longlong = 2 * inner * (inner + 1) - 2 * a * (a + 1)
    cells += min(4 * (ring + b), min(last, 4) * (2 * b + 1) + max(last - 4, 0) * (b + 1))
    return max(0, (2 * b + 1) * hops - cells)
