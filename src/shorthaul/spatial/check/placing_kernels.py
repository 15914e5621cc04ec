"""Kernel of the checker: whether a small tree has a layout of so few hops, by trying all of them."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int32]

#: What a search ends with: there is no such layout, there is one, or the nodes were spent.
NONE = cython.declare(cython.int, 0)
FOUND = cython.declare(cython.int, 1)
SPENT = cython.declare(cython.int, 2)
#: Levels below a vertex whose vertices are counted against the free cells in their reach.
LEVELS = cython.declare(cython.Py_ssize_t, 5)


@cython.final
@cython.cclass
class Placing:
    """A tree that is placed vertex by vertex, parents first, on a grid with a rim of cells that are taken."""

    starts: cython.const_int[::1]  # the children of vertex v are kids[starts[v]] to kids[starts[v + 1] - 1]
    kids: cython.const_int[::1]
    is_twin: cython.const_uchar[::1]  # of a child: of the same shape as the one before it
    below: cython.const_int[:, ::1]  # so many are within 0, 1, ... levels of the parent, at or after this child
    step: cython.const_int[::1]  # from a cell to those around it, by distance
    ring: cython.const_int[::1]  # how many cells are within 0, 1, ... hops, but the cell itself
    taken: cython.uchar[::1]
    cell: cython.int[::1]  # of a vertex that is placed
    next: cython.int[::1]  # the child to be placed next, an index of kids
    placed: cython.int[::1]
    count: cython.Py_ssize_t
    spare: cython.longlong  # hops beyond one per edge that are left
    nodes: cython.longlong
    within: cython.longlong[::1]

    def __init__(
        self,
        starts: cython.const_int[::1],
        kids: cython.const_int[::1],
        is_twin: cython.const_uchar[::1],
        below: cython.const_int[:, ::1],
        step: cython.const_int[::1],
        ring: cython.const_int[::1],
        taken: cython.const_uchar[::1],
        spare: cython.longlong,
        nodes: cython.longlong,
    ) -> None:
        n = int(starts.shape[0]) - 1
        self.starts = starts
        self.kids = kids
        self.is_twin = is_twin
        self.below = below
        self.step = step
        self.ring = ring
        self.taken = np.array(taken)
        self.cell = np.full(n, -1, np.int32)
        self.next = np.array(starts[:n])
        self.placed = np.zeros(n, np.int32)
        self.count = 0
        self.spare = spare
        self.nodes = nodes
        self.within = np.zeros(ring.shape[0], np.int64)


def place(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    is_twin: cython.const_uchar[::1],
    below: cython.const_int[:, ::1],
    step: cython.const_int[::1],
    ring: cython.const_int[::1],
    taken: cython.const_uchar[::1],
    first: cython.const_int[::1],
    spare: int,
    nodes: int,
) -> tuple[int, Numbers, int]:
    """Search for a layout whose edges take ``spare`` hops beyond one each at most, vertex 0 on a cell of ``first``.

    The children of vertex v are kids[starts[v]] to kids[starts[v + 1] - 1]; a twin has the shape of the one before it.
    Of each and those after it, ``below`` counts those within 0, 1, ... levels of their parent. ``step`` leads to cells
    within 1, 2, ... hops, ``ring`` counts these; the grid has a rim, as wide, of cells that are ``taken``.

    Returns 0 where there is none, 1 where there is, or 2 where ``nodes`` were spent before that was known; the cells of
    the layout; and the nodes left.
    """
    placing = Placing(starts, kids, is_twin, below, step, ring, taken, spare, nodes)
    found: cython.int = NONE
    with cython.nogil:
        for i in range(first.shape[0]):
            if found == NONE:
                found = _put(placing, 0, first[i], 0)
    return found, np.asarray(placing.cell), placing.nodes


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(placing: Placing, v: cython.Py_ssize_t, cell: cython.int, longer: cython.longlong) -> cython.int:
    """Place a vertex on a cell, its edge ``longer`` than one hop, and all after it; undo it unless that works."""
    placing.taken[cell] = 1
    placing.cell[v] = cell
    placing.placed[placing.count] = cython.cast(cython.int, v)
    placing.count += 1
    placing.spare -= longer
    found: cython.int = _search(placing)
    if found != FOUND:
        placing.spare += longer
        placing.count -= 1
        placing.taken[cell] = 0
        placing.cell[v] = -1
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _search(placing: Placing) -> cython.int:
    """Place what is left: the next child of the vertex that has fewest free cells to choose from."""
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    best: cython.Py_ssize_t = -1
    choice: cython.longlong
    least: cython.longlong = 0
    needs: cython.longlong
    own: cython.longlong = 0
    left: cython.longlong = placing.spare
    found: cython.int = NONE
    if placing.count == placing.placed.shape[0]:
        return FOUND
    if placing.nodes <= 0:
        return SPENT
    placing.nodes -= 1
    for i in range(placing.count):
        v = placing.placed[i]
        if placing.next[v] == placing.starts[v + 1]:
            continue
        needs = _needs(placing, v)
        left -= needs
        if left < 0:
            return NONE
        choice = placing.within[1] - (placing.starts[v + 1] - placing.next[v])
        if best < 0 or choice < least:
            best, least, own = v, choice, needs
    at: cython.Py_ssize_t = placing.next[best]
    least_cell: cython.int = placing.cell[placing.kids[at - 1]] if placing.is_twin[at] else -1
    hops: cython.Py_ssize_t
    cell: cython.int
    placing.next[best] += 1
    for hops in range(1, min(left + own + 1, placing.ring.shape[0] - 1) + 1):
        for i in range(placing.ring[hops - 1], placing.ring[hops]):
            cell = placing.cell[best] + placing.step[i]
            if found == NONE and cell > least_cell and not placing.taken[cell]:
                found = _put(placing, placing.kids[at], cell, hops - 1)
    placing.next[best] -= 1
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _needs(placing: Placing, v: cython.Py_ssize_t) -> cython.longlong:
    """Return how many hops beyond one per edge the children of a vertex that are left need at least, and theirs.

    The children are on different free cells; and all within some levels of the vertex are within as many hops of it,
    and what their edges have to spare.
    """
    i: cython.Py_ssize_t
    hops: cython.Py_ssize_t
    level: cython.Py_ssize_t
    most: cython.Py_ssize_t = placing.ring.shape[0] - 1
    free: cython.longlong = 0
    at: cython.Py_ssize_t = placing.next[v]
    left: cython.longlong = placing.starts[v + 1] - at
    needs: cython.longlong = 0
    spare: cython.longlong
    for hops in range(1, most + 1):
        for i in range(placing.ring[hops - 1], placing.ring[hops]):
            free += not placing.taken[placing.cell[v] + placing.step[i]]
        placing.within[hops] = free
        if left > free:  # so many are farther away
            needs += left - free
    for level in range(2, LEVELS + 1):
        spare = 0
        while level + spare <= most and placing.below[at, level] > placing.within[level + spare]:
            spare += 1
        needs = max(needs, spare)
    return needs
