"""Kernel that weighs parts of a tree which hold more vertices than the grid has cells within their reach."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.spatial.bounds.volume_constants import ANY, COLUMN_BITS, LESS, LESS_TWICE


@cython.final
@cython.cclass
class Volume:
    """What is known of vertices with a child that is done and not done themselves: a stack, a row each.

    By their reach b: how much weights add below the children of a vertex, by the load on them. The column i is for
    weights above them of 1 / (2 i + 1) together, the last one for none.
    """

    parent: cython.const_int[::1]
    room: cython.const_longlong[::1]
    star: cython.const_longlong[::1]
    above: cython.const_uchar[::1]
    most: cython.Py_ssize_t  # the largest reach
    load: cython.double[::1]  # by column
    top: cython.Py_ssize_t
    owner: cython.longlong[::1]  # the vertex of a row
    height: cython.longlong[::1]  # levels below it
    apart: cython.double[::1]  # what the subtrees of its children prove, each on its own
    is_loaded: cython.uchar[::1]  # whether any of its children was weighed
    # By what its edges lead to, its reach and the load, of children that were weighed; the last row is empty:
    added: cython.double[::1]
    # By reach: whether that differs between edges to any children and to those of less reach, and between these and
    # those that have less again. Where it does not, only the last is known.
    is_any: cython.uchar[:, ::1]
    is_less: cython.uchar[:, ::1]
    leaves: cython.longlong[::1]  # among its children
    level: cython.longlong[:, ::1]  # vertices so many levels below it, but for children weighed, up to its height
    tallest: cython.longlong[:, ::1]  # levels below its four tallest children, -1 where it has fewer
    second: cython.longlong[:, :, ::1]  # levels below the three tallest children of the first two of them
    alone: cython.double[::1]  # by vertex: what its subtree proves on its own
    # Where the weights themselves are asked for, of every vertex:
    row: cython.longlong[::1]  # its number among those that were weighed, -1 for others
    below: cython.longlong[::1]  # levels below it
    ball: cython.uchar[::1]  # its reach and 1 where it is the top of a part, 0 where it is not
    # Of those that were weighed:
    chosen: cython.uchar[:, ::1]  # the column of its load and what its edges lead to: as ``total``
    kept: cython.double[:, ::1]  # ``total``
    weighed: cython.longlong
    # Of the vertex at work:
    levels: cython.longlong
    is_weighed: cython.bint
    tall: cython.longlong[::1]  # levels below its three tallest children
    total: cython.double[::1]  # as ``added``, with itself; and where its own edges lead to children of less reach
    is_two: cython.uchar[::1]  # whether these are two, by reach

    def __init__(
        self,
        parent: cython.const_int[::1],
        room: cython.const_longlong[::1],
        star: cython.const_longlong[::1],
        above: cython.const_uchar[::1],
        remembered: cython.Py_ssize_t = -1,
    ) -> None:
        reaches = int(room.shape[0])
        rows = int(parent.shape[0]).bit_length() + 2  # the largest subtree of a vertex is done first
        self.most = reaches - 1
        self.parent = parent
        self.room = room
        self.star = star
        self.above = above
        self.load = np.append(1 / (2 * np.arange(reaches) + 1), 0.0)
        self.top = -1
        self.owner = np.zeros(rows, np.int64)
        self.height = np.zeros(rows, np.int64)
        self.apart = np.zeros(rows)
        self.is_loaded = np.zeros(rows, np.uint8)
        self.added = np.zeros((rows + 1) * 3 * reaches * (reaches + 1))
        self.is_any = np.zeros((rows + 1, reaches), np.uint8)
        self.is_less = np.zeros((rows + 1, reaches), np.uint8)
        self.level = np.zeros((rows, reaches + 2), np.int64)
        self.tallest = np.zeros((rows, 4), np.int64)
        self.second = np.zeros((rows, 2, 3), np.int64)
        self.leaves = np.zeros(rows, np.int64)
        told = int(parent.shape[0]) if remembered >= 0 else 0
        self.row = np.full(told, -1, np.int64)
        self.below = np.zeros(told, np.int64)
        self.ball = np.zeros(told, np.uint8)
        self.alone = np.zeros(parent.shape[0])
        self.chosen = np.zeros((max(remembered, 0), 2 * reaches * (reaches + 1)), np.uint8)
        self.kept = np.zeros((max(remembered, 0), 2 * reaches * (reaches + 1)))
        self.weighed = 0
        self.levels = 0
        self.is_weighed = False
        self.tall = np.zeros(3, np.int64)
        self.total = np.zeros(2 * reaches * (reaches + 1))
        self.is_two = np.zeros(reaches, np.uint8)


def gains_of_volume(
    parent: cython.const_int[::1],
    room: cython.const_longlong[::1],
    star: cython.const_longlong[::1],
    above: cython.const_uchar[::1],
) -> npt.NDArray[np.float64]:
    """Return how much longer than one hop each the edges of every subtree are together, since it outgrows the grid.

    The vertices are numbered subtree by subtree, parents first and the largest subtree of a parent last. Within b hops
    of a processor are ``room[b]``, itself included; reaches are smaller than there are such numbers. Edges of vertex v,
    to its children and where ``above[v]`` is set also to its
    parent, are together ``star[v]`` hops longer than one each; no edge is among those of both its ends.

    Let W be a connected part of the tree, v its top, and let every u of W reach the cells within r(u) hops. All that
    W reaches is what v does, and for each edge, from u to its child k, what k reaches and u does not. As a processor
    moves by a hop, the cells within b hops of it leave at most 2 b + 1 behind, and at most 2 b - 1 with the second
    hop on. So, with a = r(u) and b = r(k),

        |W| <= room[r(v)] + sum over the edges of c + d (their hops - 1), where
        b < a: c = 0, d = 2 b + 1;   b = a: c = 2 a + 1, d = 2 a - 1;   b = a + 1: c = 4 (a + 1), d = 2 a + 1,

    less what v, its children and theirs never reach where the edges between them are of one hop (see ``_missed``).
    With a weight w for this, an edge bears w d; no edge may bear more than 1 together. The tree is cut into
    parts, in which every u has a reach and a weight for the part below it; what the edges can bear beside that goes to
    their sum ``star[u]``. The best cuts, reaches and weights are found from the leaves up, but that all edges of u
    count for ``star[u]`` as if they bore the most that they can: as functions of the load from above they bend where
    an edge below can bear no more, so that they are known from the loads 1 / (2 i + 1).
    """
    volume = Volume(parent, room, star, above)
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
                volume.leaves[volume.top] += 1
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
def at(volume: Volume, leads: cython.longlong, b: cython.longlong) -> cython.Py_ssize_t:
    """Return where the columns of a reach begin."""
    return (leads * (volume.most + 1) + b) * (volume.most + 2)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(volume: Volume, v: cython.longlong, height: cython.longlong) -> cython.void:
    """Let the top row be that of v."""
    row: cython.Py_ssize_t = volume.top
    volume.owner[row] = v
    volume.leaves[row] = 0
    volume.height[row] = height
    volume.apart[row] = 0
    volume.is_loaded[row] = 0
    volume.level[row, 0] = 1
    for i in range(4):
        volume.tallest[row, i] = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(volume: Volume, row: cython.Py_ssize_t) -> cython.double:
    """Let the vertex of a row have a reach and a weight where that pays; return what its subtree proves on its own."""
    v: cython.Py_ssize_t = volume.owner[row]
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    count: cython.longlong = 0
    alone: cython.double = volume.apart[row] + cython.cast(cython.double, volume.star[v])
    volume.levels = volume.height[row]
    volume.level[row, 1] += volume.leaves[row]
    for i in range(4):  # leaves are the smallest
        if volume.tallest[row, i] < 0 and volume.leaves[row] > 0:
            volume.tallest[row, i] = 0
            volume.leaves[row] -= 1
    for i in range(3):
        volume.tall[i] = volume.tallest[row, i]
    volume.is_weighed = volume.is_loaded[row] or volume.star[v] > 0 or _is_crowded(volume, row)
    if volume.below.shape[0] > 0:
        volume.below[v] = volume.levels
        if volume.is_weighed:
            volume.row[v] = volume.weighed
    if not volume.is_weighed:
        return alone
    for b in range(min(volume.levels, volume.most) + 1):
        count += volume.level[row, b]
        _weigh_reach(volume, row, b, count)
        if volume.total[at(volume, 0, b) + volume.most + 1] > alone:
            alone = volume.total[at(volume, 0, b) + volume.most + 1]
            if volume.ball.shape[0] > 0:
                volume.ball[v] = cython.cast(cython.uchar, b + 1)
    if volume.weighed < volume.kept.shape[0]:
        for i in range(volume.total.shape[0]):
            volume.kept[volume.weighed, i] = volume.total[i]
    return alone


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh_reach(volume: Volume, row: cython.Py_ssize_t, b: cython.Py_ssize_t, count: cython.longlong) -> cython.void:
    """Find the best weight of the vertex of a row where its reach is b, by the load on it."""
    v: cython.Py_ssize_t = volume.owner[row]
    star: cython.double = cython.cast(cython.double, volume.star[v])
    cells: cython.longlong = 2 * b * (b + 1) + 1
    leads: cython.Py_ssize_t
    i: cython.Py_ssize_t
    room: cython.double
    spare: cython.double
    bears: cython.double
    most: cython.double
    best: cython.Py_ssize_t
    gain: cython.double
    added: cython.Py_ssize_t
    is_told: cython.bint = volume.weighed < volume.chosen.shape[0]
    known: cython.Py_ssize_t = row if volume.is_loaded[row] else volume.owner.shape[0]
    volume.is_two[b] = is_told or volume.is_any[known, b]
    before: cython.Py_ssize_t = at(volume, volume.is_two[b], b)  # where edges lead to children of less reach
    total: cython.Py_ssize_t = before
    for leads in range(2, -1, -1):
        if (leads == ANY and not volume.is_two[b]) or (leads == LESS and not is_told and not volume.is_less[known, b]):
            continue
        room = cython.cast(cython.double, min(volume.room[b], cells - _missed(volume, row, b, leads)))
        spare = cython.cast(cython.double, count) - room
        bears = cython.cast(cython.double, 2 * b + 1 if leads == ANY or volume.above[v] else max(2 * b - 1, 0))
        added = at(volume, 3 * known + leads, b)
        if leads == ANY:
            total = at(volume, 0, b)
        if star == 0 and not is_told:
            _weigh_lead(volume, b, spare, room, added, before if leads < 2 else -1, total)
            continue
        most = -1e300
        best = 0
        for i in range(max(b - 1, 0), volume.most + 2):  # an edge from v bears 2 b - 1 or more for every unit
            gain = volume.added[added + i] + volume.load[i] * spare
            if star > 0:
                gain += star * max(0.0, 1 - volume.load[i] * bears)
            if gain >= most:
                most = gain
                best = i
            gain = most + volume.load[i] * room
            if leads == 2 or gain >= volume.total[before + i]:
                volume.total[total + i] = gain
                if is_told:
                    volume.chosen[volume.weighed, total + i] = cython.cast(cython.uchar, best + (leads << COLUMN_BITS))
            elif leads == ANY:
                volume.total[total + i] = volume.total[before + i]
                if is_told:
                    volume.chosen[volume.weighed, total + i] = volume.chosen[volume.weighed, before + i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh_lead(
    volume: Volume,
    b: cython.Py_ssize_t,
    spare: cython.double,
    room: cython.double,
    added: cython.Py_ssize_t,
    before: cython.Py_ssize_t,
    total: cython.Py_ssize_t,
) -> cython.void:
    """Do so for what its edges lead to where it has no star; no less than at ``before``, if that is not negative."""
    i: cython.Py_ssize_t
    most: cython.double = -1e300
    gain: cython.double
    for i in range(max(b - 1, 0), volume.most + 2):
        most = max(most, volume.added[added + i] + volume.load[i] * spare)
        gain = most + volume.load[i] * room
        volume.total[total + i] = gain if before < 0 else max(volume.total[before + i], gain)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_crowded(volume: Volume, row: cython.Py_ssize_t) -> cython.bint:
    """Whether a weight for v, or a reach that is not regular, pays: no child was weighed.

    Without weights below, what v adds is its load times the vertices within its reach.
    """
    b: cython.Py_ssize_t
    count: cython.longlong = 1
    cells: cython.longlong
    for b in range(1, min(volume.height[row], volume.most) + 1):
        count += volume.level[row, b]
        cells = 2 * b * (b + 1) + 1
        if volume.level[row, b] > 2 * b + 1 or volume.level[row, b - 1] + volume.level[row, b] > 4 * b:
            return True
        if count > volume.room[b] or (count > cells - 4 * b and count > cells - _missed(volume, row, b, LESS_TWICE)):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _missed(volume: Volume, row: cython.Py_ssize_t, b: cython.longlong, leads: cython.Py_ssize_t) -> cython.longlong:
    """Return how many of the cells b and b - 1 hops from v nothing reaches if its and its children's edges are short.

    Where the children reach less than v does, a vertex b - 1 or b levels down reaches such a cell only by steps away
    from v, so only by way of a tall child of v
    and a tall child of it. A child stands in one of four directions; with one of them, b - 1 hops to its side at most
    2 b - 1 and 2 b - 3 cells are reached. The two straight ones of a direction without a child are never reached:
    (b, 0) and (b - 1, 0). Two children side by side miss a quarter of the cells, 2 b + 1 with these. If they
    are opposite, and their children reach less than they do, (1, 0) and (-1, 0), each in turn, miss two cells in each
    of three directions in which they have no tall child: (b, 0) and (b - 1, 0), (1, b - 1) and (1, b - 2), (1, 1 - b)
    and (1, 2 - b).

    Where these edges are longer, shorten one by a hop, those of grandchildren first: all below it moves by one cell,
    and uncovers as many cells as it has runs on the lines along its way. A grandchild u has 2 r(u) + 1, one on each
    line. A child u has no more: the cells that its children reach, r(u) - 1 hops from themselves, are one run on every
    line less than r(u) - 1 from it; of the two lines on one side beyond, the nearer has two runs only if the farther
    has none. Vertices that come to share a cell on the way do no harm: the count above is of directions.
    """
    i: cython.Py_ssize_t
    missed: cython.longlong = 4
    if leads == ANY or b < 2 or volume.tallest[row, 3] >= b - 2:
        return 0
    if volume.tallest[row, 2] >= b - 2:
        return 2
    if volume.tallest[row, 1] < b - 2:
        return 4 * b
    if b > 3 and leads == LESS_TWICE:
        for i in range(3):
            missed += 2 * (volume.second[row, 0, i] < b - 3) + 2 * (volume.second[row, 1, i] < b - 3)
    return min(2 * b + 1, missed)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(volume: Volume, above: cython.longlong, alone: cython.double) -> cython.void:
    """Add the vertex of the top row, which was weighed last, to its parent, and let that have the top row."""
    row: cython.Py_ssize_t = volume.top - 1
    a: cython.Py_ssize_t
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
    _add_tall(volume, row)
    if volume.is_weighed:
        for a in range(volume.most + 1):
            _add_reach(volume, row, alone, a)
        volume.is_loaded[row] = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_tall(volume: Volume, row: cython.Py_ssize_t) -> cython.void:
    """Keep the vertex that was weighed last if it is among the tallest children."""
    at: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    while at < 4 and volume.tallest[row, at] >= volume.levels:
        at += 1
    for i in range(3, at, -1):
        volume.tallest[row, i] = volume.tallest[row, i - 1]
    if at < 4:
        volume.tallest[row, at] = volume.levels
    if at < 2:
        for i in range(3):
            volume.second[row, 1, i] = volume.second[row, 0, i] if at == 0 else volume.tall[i]
            if at == 0:
                volume.second[row, 0, i] = volume.tall[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_reach(volume: Volume, row: cython.Py_ssize_t, alone: cython.double, a: cython.Py_ssize_t) -> cython.void:
    """Add it where its parent has the reach a: left out, or with the best reach."""
    i: cython.Py_ssize_t
    begin: cython.Py_ssize_t = max(a - 1, 0)
    end: cython.Py_ssize_t = volume.most + 2
    any_: cython.Py_ssize_t = at(volume, 3 * row, a)
    less: cython.Py_ssize_t = any_ + at(volume, 1, 0)
    twice: cython.Py_ssize_t = less + at(volume, 1, 0)
    reach: cython.Py_ssize_t = max(min(a - 1, volume.levels), 0)
    regular: cython.Py_ssize_t = at(volume, 0, reach)
    limited: cython.Py_ssize_t = at(volume, volume.is_two[reach], reach)
    is_first: cython.bint = not volume.is_loaded[row]
    if is_first:
        volume.is_any[row, a] = volume.is_less[row, a] = volume.weighed < volume.chosen.shape[0]
        if volume.is_any[row, a] or _is_irregular(volume, alone, a, regular):
            for i in range(begin, end):
                volume.added[any_ + i] = volume.added[less + i] = volume.added[twice + i] = 0
            is_first = False
            volume.is_any[row, a] = True
    elif not volume.is_any[row, a] and _is_irregular(volume, alone, a, regular):
        volume.is_any[row, a] = True
        for i in range(begin, end):
            volume.added[any_ + i] = volume.added[(less if volume.is_less[row, a] else twice) + i]
    if not volume.is_less[row, a] and a > 0 and limited != regular:
        volume.is_less[row, a] = True
        for i in range(begin, end):
            volume.added[less + i] = 0 if is_first else volume.added[twice + i]
    if volume.is_any[row, a]:
        for i in range(begin, end):
            volume.added[any_ + i] += max(_regular(volume, alone, a, regular + i), _irregular(volume, a, i))
    if volume.is_less[row, a]:
        for i in range(begin, end):
            volume.added[less + i] += _regular(volume, alone, a, regular + i)
    if is_first:
        for i in range(begin, end):
            volume.added[twice + i] = _regular(volume, alone, a, limited + i)
    else:
        for i in range(begin, end):
            volume.added[twice + i] += _regular(volume, alone, a, limited + i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _regular(volume: Volume, alone: cython.double, a: cython.Py_ssize_t, total: cython.Py_ssize_t) -> cython.double:
    """Return what the vertex weighed last adds below a parent of reach a where it is left out, or reaches less."""
    return max(alone, volume.total[total]) if a > 0 else alone


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _irregular(volume: Volume, a: cython.Py_ssize_t, i: cython.Py_ssize_t) -> cython.double:
    """Return what the vertex weighed last adds below a parent of reach a, with the same reach or one more."""
    width: cython.Py_ssize_t = volume.most + 2
    best: cython.double = -1
    if 0 < a <= volume.levels:
        best = volume.total[a * width + i] - volume.load[i] * cython.cast(cython.double, 2 * a + 1)
    if a < min(volume.levels, volume.most) and i >= a:
        best = max(best, volume.total[(a + 1) * width + i] - volume.load[i] * cython.cast(cython.double, 4 * (a + 1)))
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_irregular(
    volume: Volume, alone: cython.double, a: cython.Py_ssize_t, regular: cython.Py_ssize_t
) -> cython.bint:
    """Whether another reach than the regular one is best below a parent of reach a, for any load."""
    i: cython.Py_ssize_t
    end: cython.Py_ssize_t = volume.most + 2
    same: cython.Py_ssize_t = at(volume, 0, a)
    more: cython.Py_ssize_t = at(volume, 0, a + 1)
    row: cython.double = cython.cast(cython.double, 2 * a + 1)
    ring: cython.double = cython.cast(cython.double, 4 * (a + 1))
    found: cython.bint = False
    if a > volume.levels:
        return False
    if a == 0 or a == volume.levels or a == volume.most:  # one of the two that there are
        for i in range(max(a - 1, 0), end):
            found |= _irregular(volume, a, i) > _regular(volume, alone, a, regular + i)
        return found
    found = _irregular(volume, a, a - 1) > _regular(volume, alone, a, regular + a - 1)
    for i in range(a, end):
        usual: cython.double = max(alone, volume.total[regular + i])
        found |= volume.total[same + i] - volume.load[i] * row > usual
        found |= volume.total[more + i] - volume.load[i] * ring > usual
    return found
