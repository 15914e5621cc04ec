"""Kernel that weighs balls of a tree which hold more vertices than the grid has cells within their reach."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Levels = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


@cython.final
@cython.cclass
class Volume:
    """What is known of vertices with a child that is done and not done themselves: a stack, a row each.

    By levels b: how much weights add below the children of a vertex in a ball that ends b levels below it, by the load
    on them. The column i is for weights above them of 1 / (2 i + 1) together, the last one for none.
    """

    parent: cython.const_int[::1]
    room: cython.const_longlong[::1]
    star: cython.const_longlong[::1]
    above: cython.const_uchar[::1]
    most: cython.Py_ssize_t  # levels of a ball
    load: cython.double[::1]  # by column
    top: cython.Py_ssize_t
    owner: cython.longlong[::1]  # the vertex of a row
    height: cython.longlong[::1]  # levels below it
    apart: cython.double[::1]  # what the subtrees of its children prove, each on its own
    is_loaded: cython.uchar[::1]  # whether anything below it has a weight
    added: cython.double[:, :, ::1]
    leaves: cython.longlong[::1]  # among its children
    count: cython.longlong[:, ::1]  # vertices within b levels below it, itself included
    tall: cython.longlong[:, ::1]  # children with b - 2 levels or more
    missed: cython.longlong[:, ::1]  # cells that these miss, since few of their children have b - 3 levels
    # Where the weights themselves are asked for, of every vertex:
    chosen: cython.uchar[:, :, ::1]  # by b, the column of its load once it has its own weight, by that of the load
    ball: cython.uchar[::1]  # levels of the ball that it begins where none above reaches it, 0 for none
    below: cython.longlong[::1]  # levels below it, 0 where nothing there has a weight
    # Of the vertex at work:
    levels: cython.longlong
    is_weighed: cython.bint  # whether it or anything below it has a weight
    excess: cython.longlong[::1]
    within: cython.longlong[::1]
    lacking: cython.longlong[::1]
    total: cython.double[:, ::1]  # as ``added``, with its own weight

    def __init__(
        self,
        parent: cython.const_int[::1],
        room: cython.const_longlong[::1],
        star: cython.const_longlong[::1],
        above: cython.const_uchar[::1],
        remembers: bool = False,
    ) -> None:
        levels = int(room.shape[0])
        self.most = levels - 1
        rows = int(parent.shape[0]).bit_length() + 2  # the largest subtree of a vertex is done first
        self.parent = parent
        self.room = room
        self.star = star
        self.above = above
        self.load = np.append(1 / (2 * np.arange(levels) + 1), 0.0)
        self.top = -1
        self.owner = np.zeros(rows, np.int64)
        self.height = np.zeros(rows, np.int64)
        self.apart = np.zeros(rows)
        self.is_loaded = np.zeros(rows, np.uint8)
        self.added = np.zeros((rows, levels, levels + 1))
        self.count = np.zeros((rows, levels), np.int64)
        self.tall = np.zeros((rows, levels), np.int64)
        self.missed = np.zeros((rows, levels), np.int64)
        self.leaves = np.zeros(rows, np.int64)
        told = int(parent.shape[0]) if remembers else 0
        self.chosen = np.zeros((told, levels, levels + 1), np.uint8)
        self.ball = np.zeros(told, np.uint8)
        self.below = np.zeros(told, np.int64)
        self.levels = 0
        self.is_weighed = False
        self.excess = np.zeros(levels, np.int64)
        self.within = np.zeros(levels, np.int64)
        self.lacking = np.zeros(levels, np.int64)
        self.total = np.zeros((levels, levels + 1))


def most_of_volume(
    parent: cython.const_int[::1],
    room: cython.const_longlong[::1],
    star: cython.const_longlong[::1],
    above: cython.const_uchar[::1],
) -> float:
    """Return how much longer than one hop each the edges of a tree are together, since balls of it outgrow the grid.

    The vertices are numbered subtree by subtree, parents first and the largest subtree of a parent last. Within b hops
    of a processor are ``room[b]``, itself included; balls have fewer
    levels than there are such numbers. Edges of vertex v, to its children and where ``above[v]`` is set also to its
    parent, are together ``star[v]`` hops longer than one each; no edge is among those of both its ends.

    Let W be the vertices at most t levels below v, and b(u) the levels that W has below u: it falls by one or more
    along every edge. Let u reach the cells within b(u) hops. What it reaches at the end of an edge of one hop, its
    parent reaches as well; every further hop of the edge adds a cell on each of 2 b(u) + 1 lines, at most. So

        |W| <= room[t] + sum over the edges, each with its lower end u, of (2 b(u) + 1) (its hops - 1),

    less what v, its children and theirs never reach where the edges between them are of one hop (see ``_missed``).
    With a weight w for v, an edge bears w (2 b(u) + 1); no edge may bear more than 1 together. The tree is cut into
    such balls, and every u in a ball has a weight for what W has below it; what its edges can bear beside that goes to
    their sum ``star[u]``. The best cuts and weights are found from the leaves up, but that the edge above u counts for
    ``star[u]`` as if it bore u's weight too: as functions of the load from above they bend where an edge below can
    bear no more, so that they are known from the loads 1 / (2 i + 1).
    """
    volume = Volume(parent, room, star, above)
    with cython.nogil:
        gain: cython.double = _weigh_all(volume)
    return float(gain)


def balls_of_volume(
    parent: cython.const_int[::1],
    room: cython.const_longlong[::1],
    star: cython.const_longlong[::1],
    above: cython.const_uchar[::1],
) -> tuple[Levels, Weights]:
    """Return the balls and weights behind :func:`most_of_volume`: how many levels that of every vertex has, 0 for none.

    Takes some 650 bytes per vertex.
    """
    volume = Volume(parent, room, star, above, True)
    levels: cython.longlong[::1] = np.zeros(parent.shape[0], np.int64)
    column: cython.longlong[::1] = np.zeros(parent.shape[0], np.int64)
    weight: cython.double[::1] = np.zeros(parent.shape[0])
    with cython.nogil:
        _weigh_all(volume)
        _tell(volume, levels, column, weight)
    return np.asarray(levels), np.asarray(weight)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tell(
    volume: Volume, levels: cython.longlong[::1], column: cython.longlong[::1], weight: cython.double[::1]
) -> cython.void:
    """Follow what was chosen from the roots down; ``column`` is that of the load below a vertex."""
    v: cython.Py_ssize_t
    above: cython.longlong
    load: cython.longlong
    for v in range(volume.parent.shape[0]):
        above = volume.parent[v]
        load = volume.most + 1
        levels[v] = volume.ball[v]
        if above >= 0 and levels[above] > 0:
            levels[v] = min(levels[above] - 1, volume.below[v])
            load = column[above]
        if levels[v] > 0:
            column[v] = volume.chosen[v, levels[v], load]
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
    """Let the vertex of a row have a weight where that pays, and return what its subtree proves on its own."""
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    most: cython.double
    gain: cython.double
    star: cython.double = cython.cast(cython.double, volume.star[volume.owner[row]])
    above: cython.longlong = volume.above[volume.owner[row]]
    alone: cython.double = volume.apart[row] + star
    is_loaded: cython.bint = volume.is_loaded[row]
    if not _exceeds(volume, row) and not is_loaded:
        return 0
    remembers: cython.bint = volume.below.shape[0] > 0
    v: cython.Py_ssize_t = volume.owner[row]
    best: cython.Py_ssize_t
    if remembers:
        volume.below[v] = volume.levels
    for i in range(volume.most + 2):
        volume.total[0, i] = alone - star * volume.load[i] * above
    for b in range(1, min(volume.levels, volume.most) + 1):
        most = 0
        best = 0
        for i in range(b - 1, volume.most + 2):  # an edge from v bears 2 b - 1 for every unit
            gain = star * max(0.0, 1 - volume.load[i] * (2 * b - 1 + 2 * above))
            if is_loaded:
                gain += volume.added[row, b, i]
            if volume.load[i] * volume.excess[b] + gain >= most:
                most = volume.load[i] * volume.excess[b] + gain
                best = i
            volume.total[b, i] = max(gain, most - volume.load[i] * volume.excess[b])
            if remembers:
                volume.chosen[v, b, i] = cython.cast(cython.uchar, best)
        if volume.total[b, volume.most + 1] > alone:
            alone = volume.total[b, volume.most + 1]
            if remembers:
                volume.ball[v] = cython.cast(cython.uchar, b)
    return alone


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _exceeds(volume: Volume, row: cython.Py_ssize_t) -> cython.bint:
    """Whether any ball has more vertices than there are cells for it: count them, and by how many they are too many."""
    b: cython.Py_ssize_t
    cells: cython.longlong
    volume.is_weighed = volume.is_loaded[row] or volume.star[volume.owner[row]] > 0
    volume.levels = volume.height[row]
    for b in range(1, volume.most + 1):
        volume.count[row, b] += volume.leaves[row]
        if b <= 2:
            volume.tall[row, b] += volume.leaves[row]
    for b in range(1, min(volume.levels, volume.most) + 1):
        cells = 2 * b * (b + 1) + 1 - _missed(b, volume.tall[row, b], volume.missed[row, b])
        volume.excess[b] = max(0, volume.count[row, b] - min(volume.room[b], cells))
        volume.is_weighed |= volume.excess[b] > 0
    for b in range(volume.most + 1):
        volume.within[b] = volume.count[row, b]
        volume.lacking[b] = 2 * max(0, 3 - volume.tall[row, b])
    return volume.is_weighed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _missed(b: cython.longlong, tall: cython.longlong, missed: cython.longlong) -> cython.longlong:
    """Return how many of the cells b and b - 1 hops from v nothing reaches if its and its children's edges are short.

    A vertex b - 1 or b levels down reaches such a cell only by steps away from v, so only by way of a tall child of v
    and a tall child of it. A child stands in one of four directions; with one of them, b - 1 hops to its side at most
    2 b - 1 and 2 b - 3 cells are reached. The two straight ones of a direction without a child are never reached:
    (b, 0) and (b - 1, 0). Two children side by side miss a quarter of the cells, 2 b + 1 with these. If they
    are opposite, (1, 0) and (-1, 0), each in turn misses two cells in each of three directions in which it has no tall
    child: (b, 0) and (b - 1, 0), (1, b - 1) and (1, b - 2), (1, 1 - b) and (1, 2 - b).

    Where these edges are longer, shorten one by a hop, those of grandchildren first: all below it moves by one cell,
    and uncovers as many cells as it has runs on the lines along its way. A grandchild u has 2 b(u) + 1, one on each
    line. A child u has no more: the cells that its children reach, b(u) - 1 hops from themselves, are one run on every
    line less than b(u) - 1 from it; of the two lines on one side beyond, the nearer has two runs only if the farther
    has none. Vertices that come to share a cell on the way do no harm: the count above is of directions.
    """
    if b < 2 or tall > 3:
        return 0
    if tall == 3:
        return 2
    if tall < 2:
        return 4 * b
    return min(2 * b + 1, 4 + (missed if b > 3 else 0))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(volume: Volume, alone: cython.double) -> cython.void:
    """Add the vertex that was weighed last to its parent, which has the top row."""
    row: cython.Py_ssize_t = volume.top
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    below: cython.Py_ssize_t
    volume.height[row] = max(volume.height[row], volume.levels + 1)
    volume.apart[row] += alone
    for b in range(1, volume.most + 1):
        volume.count[row, b] += volume.within[b - 1]
        if volume.levels >= b - 2:
            volume.tall[row, b] += 1
            volume.missed[row, b] += volume.lacking[b - 1]
    if not volume.is_weighed:
        return
    if not volume.is_loaded[row]:
        volume.is_loaded[row] = 1
        for b in range(volume.most + 1):
            for i in range(volume.most + 2):
                volume.added[row, b, i] = 0
    for b in range(1, volume.most + 1):
        below = min(b - 1, volume.levels)
        for i in range(b - 1, volume.most + 2):
            volume.added[row, b, i] += volume.total[below, i]
