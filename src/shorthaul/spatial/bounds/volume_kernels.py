"""Kernel that weighs parts of a tree which hold more vertices than the grid has cells within their reach."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Levels = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]

#: What edges from a vertex lead to: children of any reach, of less than its own, or these and theirs of less again.
ANY = cython.declare(cython.Py_ssize_t, 0)
LESS = cython.declare(cython.Py_ssize_t, 1)
LESS_TWICE = cython.declare(cython.Py_ssize_t, 2)
#: Columns have so many bits where they are kept together with one of these.
COLUMN_BITS = cython.declare(cython.longlong, 5)
#: A vertex is looked at where so many in a hundred of the cells within its reach could be held by vertices below it:
#: 0 to 55 prove the same of Yule and perfect binary trees.
CROWDED = cython.declare(cython.longlong, 55)


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
    added: cython.double[:, :, :, ::1]  # by what its edges lead to, of children that were weighed
    leaves: cython.longlong[::1]  # among its children
    count: cython.longlong[:, ::1]  # itself and the vertices within b levels below it, but for children weighed
    tall: cython.longlong[:, ::1]  # children with b - 2 levels or more
    missed: cython.longlong[:, ::1]  # cells that these miss, since few of their children have b - 3 levels
    # Where the weights themselves are asked for, of every vertex:
    row: cython.longlong[::1]  # its number among those that were weighed, -1 for others
    below: cython.longlong[::1]  # levels below it
    ball: cython.uchar[::1]  # its reach and 1 where it is the top of a part, 0 where it is not
    # Of those that were weighed:
    chosen: cython.uchar[:, :, :, ::1]  # the column of its load and what its edges lead to, by the reach and load of it
    step: cython.uchar[:, :, :, ::1]  # what becomes of its reach, by what edges of its parent lead to, reach and load
    weighed: cython.longlong
    # Of the vertex at work:
    levels: cython.longlong
    is_weighed: cython.bint
    within: cython.longlong[::1]
    lacking: cython.longlong[::1]
    total: cython.double[:, :, ::1]  # as ``added``, with itself; and where its own edges lead to children of less reach

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
        self.added = np.zeros((rows, 3, reaches, reaches + 1))
        self.count = np.zeros((rows, reaches), np.int64)
        self.tall = np.zeros((rows, reaches), np.int64)
        self.missed = np.zeros((rows, reaches), np.int64)
        self.leaves = np.zeros(rows, np.int64)
        told = int(parent.shape[0]) if remembered >= 0 else 0
        self.row = np.full(told, -1, np.int64)
        self.below = np.zeros(told, np.int64)
        self.ball = np.zeros(told, np.uint8)
        self.chosen = np.zeros((max(remembered, 0), 2, reaches, reaches + 1), np.uint8)
        self.step = np.zeros((max(remembered, 0), 3, reaches, reaches + 1), np.uint8)
        self.weighed = 0
        self.levels = 0
        self.is_weighed = False
        self.within = np.zeros(reaches, np.int64)
        self.lacking = np.zeros(reaches, np.int64)
        self.total = np.zeros((2, reaches, reaches + 1))


def most_of_volume(
    parent: cython.const_int[::1],
    room: cython.const_longlong[::1],
    star: cython.const_longlong[::1],
    above: cython.const_uchar[::1],
) -> float:
    """Return how much longer than one hop each the edges of a tree are together, since parts of it outgrow the grid.

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
    count for ``star[u]`` as if they bore the most that they can, and but for parts below vertices that hold few: as
    functions of the load from above they bend where an edge below can bear no more, so that they are known from the
    loads 1 / (2 i + 1).
    """
    volume = Volume(parent, room, star, above)
    with cython.nogil:
        gain: cython.double = _weigh_all(volume)
    return float(gain)


def reaches_of_volume(
    parent: cython.const_int[::1],
    room: cython.const_longlong[::1],
    star: cython.const_longlong[::1],
    above: cython.const_uchar[::1],
) -> tuple[Levels, Weights, Flags]:
    """Return the reaches and weights behind :func:`most_of_volume`, -1 for those in no part, and what is irregular.

    The regular reach is one less than the parent's, at most the levels below, and none where the parent has none or 0:
    0 of those that have it, 2 of the tops of parts, 1 of others. Takes some 1,000 bytes for each vertex weighed.
    """
    first = Volume(parent, room, star, above)
    with cython.nogil:
        _weigh_all(first)
    volume = Volume(parent, room, star, above, first.weighed)
    reach: cython.longlong[::1] = np.full(parent.shape[0], -1, np.int64)
    weight: cython.double[::1] = np.zeros(parent.shape[0])
    irregular: cython.uchar[::1] = np.zeros(parent.shape[0], np.uint8)
    column: cython.longlong[::1] = np.zeros(parent.shape[0], np.int64)
    leads: cython.longlong[::1] = np.zeros(parent.shape[0], np.int64)
    with cython.nogil:
        _weigh_all(volume)
        _tell(volume, reach, weight, irregular, column, leads)
    return np.asarray(reach), np.asarray(weight), np.asarray(irregular)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tell(
    volume: Volume,
    reach: cython.longlong[::1],
    weight: cython.double[::1],
    irregular: cython.uchar[::1],
    column: cython.longlong[::1],
    leads: cython.longlong[::1],
) -> cython.void:
    """Follow what was chosen from the roots down; ``column`` is that of the load below a vertex."""
    v: cython.Py_ssize_t
    w: cython.Py_ssize_t
    above: cython.Py_ssize_t
    load: cython.Py_ssize_t
    step: cython.longlong
    regular: cython.longlong
    limited: cython.Py_ssize_t
    for v in range(volume.parent.shape[0]):
        above = volume.parent[v]
        w = volume.row[v]
        load = volume.most + 1
        limited = 0
        regular = -1
        if above >= 0 and reach[above] >= 0:
            if reach[above] > 0:
                regular = min(reach[above] - 1, volume.below[v])
            step = 1 if w < 0 else volume.step[w, leads[above], reach[above], column[above]]
            reach[v] = -1 if step == 0 else regular if step == 1 else reach[above] + step - 2
            if reach[v] >= 0:
                load = column[above]
                limited = leads[above] == LESS_TWICE
        irregular[v] = reach[v] != regular
        if reach[v] < 0 and w >= 0 and volume.ball[v] > 0:
            reach[v] = volume.ball[v] - 1
            irregular[v] = 2
        column[v] = load
        leads[v] = LESS
        if reach[v] >= 0 and w >= 0:
            column[v] = volume.chosen[w, limited, reach[v], load] & ((1 << COLUMN_BITS) - 1)
            leads[v] = volume.chosen[w, limited, reach[v], load] >> COLUMN_BITS
            weight[v] = volume.load[column[v]] - volume.load[load]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh_all(volume: Volume) -> cython.double:
    v: cython.Py_ssize_t
    alone: cython.double
    gain: cython.double = 0
    for v in range(volume.parent.shape[0] - 1, -1, -1):
        above: cython.longlong = volume.parent[v]
        if volume.top < 0 or volume.owner[volume.top] != v:  # a leaf
            if above >= 0:
                _turn_to(volume, above)
                volume.leaves[volume.top] += 1
            continue
        alone = _weigh(volume, volume.top)
        volume.top -= 1
        if above < 0:
            gain += alone
        else:
            _turn_to(volume, above)
            _add(volume, alone)
        volume.weighed += volume.is_weighed
    return gain


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _turn_to(volume: Volume, v: cython.longlong) -> cython.void:
    """Let the row of v be the top one."""
    if volume.top >= 0 and volume.owner[volume.top] == v:
        return
    volume.top += 1
    row: cython.Py_ssize_t = volume.top
    b: cython.Py_ssize_t
    volume.owner[row] = v
    volume.leaves[row] = 0
    volume.height[row] = 1
    volume.apart[row] = 0
    volume.is_loaded[row] = 0
    for b in range(volume.most + 1):
        volume.count[row, b] = 1
        volume.tall[row, b] = 0
        volume.missed[row, b] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(volume: Volume, row: cython.Py_ssize_t) -> cython.double:
    """Let the vertex of a row have a reach and a weight where that pays; return what its subtree proves on its own."""
    v: cython.Py_ssize_t = volume.owner[row]
    b: cython.Py_ssize_t
    alone: cython.double = volume.apart[row] + cython.cast(cython.double, volume.star[v])
    volume.levels = volume.height[row]
    for b in range(1, volume.most + 1):
        volume.count[row, b] += volume.leaves[row]
        if b <= 2:
            volume.tall[row, b] += volume.leaves[row]
    volume.is_weighed = volume.is_loaded[row] or volume.star[v] > 0 or _is_crowded(volume, row)
    for b in range(volume.most + 1):
        volume.within[b] = volume.count[row, b]
        volume.lacking[b] = 2 * max(0, 3 - volume.tall[row, b])
    if volume.below.shape[0] > 0:
        volume.below[v] = volume.levels
        if volume.is_weighed:
            volume.row[v] = volume.weighed
    if not volume.is_weighed:
        return alone
    for b in range(min(volume.levels, volume.most) + 1):
        _weigh_reach(volume, row, b)
        if volume.total[0, b, volume.most + 1] > alone:
            alone = volume.total[0, b, volume.most + 1]
            if volume.ball.shape[0] > 0:
                volume.ball[v] = cython.cast(cython.uchar, b + 1)
    return alone


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh_reach(volume: Volume, row: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.void:
    """Find the best weight of the vertex of a row where its reach is b, by the load on it."""
    v: cython.Py_ssize_t = volume.owner[row]
    w: cython.Py_ssize_t = volume.weighed
    star: cython.double = cython.cast(cython.double, volume.star[v])
    leads: cython.Py_ssize_t
    i: cython.Py_ssize_t
    limited: cython.Py_ssize_t
    cells: cython.longlong = 2 * b * (b + 1) + 1
    room: cython.double
    bears: cython.longlong
    most: cython.double
    best: cython.Py_ssize_t
    gain: cython.double
    for leads in range(3):
        room = cython.cast(cython.double, min(volume.room[b], cells - _missed(volume, row, b, leads)))
        bears = 2 * b + 1 if leads == ANY or volume.above[v] else max(2 * b - 1, 0)
        most = 0
        best = -1
        for i in range(max(b - 1, 0), volume.most + 2):  # an edge from v bears 2 b - 1 or more for every unit
            gain = volume.load[i] * cython.cast(cython.double, volume.count[row, b])
            gain += star * max(0.0, 1 - volume.load[i] * cython.cast(cython.double, bears))
            if volume.is_loaded[row]:
                gain += volume.added[row, leads, b, i]
            if best < 0 or gain - volume.load[i] * room >= most:
                most = gain - volume.load[i] * room
                best = i
            gain = most + volume.load[i] * room
            for limited in range(2):
                if leads == limited or (leads > limited and gain > volume.total[limited, b, i]):
                    volume.total[limited, b, i] = gain
                    if w < volume.chosen.shape[0]:
                        volume.chosen[w, limited, b, i] = cython.cast(cython.uchar, best + (leads << COLUMN_BITS))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_crowded(volume: Volume, row: cython.Py_ssize_t) -> cython.bint:
    """Whether the vertices below one come near to the cells within its reach, so that there may be too many of them."""
    b: cython.Py_ssize_t
    cells: cython.longlong
    for b in range(1, min(volume.height[row], volume.most) + 1):
        cells = min(volume.room[b], 2 * b * (b + 1) + 1 - _missed(volume, row, b, LESS_TWICE))
        if volume.count[row, b] > cells or (b > 2 and 100 * volume.count[row, b] >= CROWDED * cells):
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
    tall: cython.longlong = volume.tall[row, b]
    if leads == ANY or b < 2 or tall > 3:
        return 0
    if tall == 3:
        return 2
    if tall < 2:
        return 4 * b
    return min(2 * b + 1, 4 + (volume.missed[row, b] if b > 3 and leads == LESS_TWICE else 0))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(volume: Volume, alone: cython.double) -> cython.void:
    """Add the vertex that was weighed last to its parent, which has the top row."""
    row: cython.Py_ssize_t = volume.top
    leads: cython.Py_ssize_t
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    volume.height[row] = max(volume.height[row], volume.levels + 1)
    volume.apart[row] += alone
    for a in range(1, volume.most + 1):
        if not volume.is_weighed:
            volume.count[row, a] += volume.within[a - 1]
        if volume.levels >= a - 2:
            volume.tall[row, a] += 1
            volume.missed[row, a] += volume.lacking[a - 1]
    if not volume.is_weighed:
        return
    if not volume.is_loaded[row]:
        volume.is_loaded[row] = 1
        for leads in range(3):
            for a in range(volume.most + 1):
                for i in range(volume.most + 2):
                    volume.added[row, leads, a, i] = 0
    for a in range(volume.most + 1):
        for i in range(max(a - 1, 0), volume.most + 2):
            _add_reach(volume, row, alone, a, i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_reach(
    volume: Volume, row: cython.Py_ssize_t, alone: cython.double, a: cython.Py_ssize_t, i: cython.Py_ssize_t
) -> cython.void:
    """Add it where its parent has the reach a and the load of column i: left out, or with the best reach."""
    leads: cython.Py_ssize_t
    best: cython.double
    found: cython.double
    step: cython.uchar
    for leads in range(3):
        best = alone
        step = 0
        if a > 0:
            found = volume.total[leads == LESS_TWICE, min(a - 1, volume.levels), i]
            if found > best:
                best = found
                step = 1
        if leads == ANY and 0 < a <= volume.levels:
            found = volume.total[0, a, i] - volume.load[i] * cython.cast(cython.double, 2 * a + 1)
            if found > best:
                best = found
                step = 2
        if leads == ANY and a < min(volume.levels, volume.most) and i >= a:
            found = volume.total[0, a + 1, i] - volume.load[i] * cython.cast(cython.double, 4 * (a + 1))
            if found > best:
                best = found
                step = 3
        volume.added[row, leads, a, i] += best
        if volume.weighed < volume.step.shape[0]:
            volume.step[volume.weighed, leads, a, i] = step
