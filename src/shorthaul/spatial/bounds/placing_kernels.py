"""Kernel of exhaustive search: whether a small tree has a layout whose edges take few hops more than one each."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int32]

#: What a search ends with: there is no such layout, there is one, or the nodes were spent.
NONE = cython.declare(cython.int, 0)
FOUND = cython.declare(cython.int, 1)
SPENT = cython.declare(cython.int, 2)
#: More than there are free cells beside a vertex.
LEAVES_LATER = cython.declare(cython.longlong, 8)


@cython.final
@cython.cclass
class Partial:
    """The layout of a part of some trees, which grows vertex by vertex; the grid has a rim of cells that are taken."""

    roots: cython.const_int[::1]
    starts: cython.const_int[::1]
    kids: cython.const_int[:, ::1]  # also, whether of the same shape as the one before, and the levels from here on
    below: cython.const_int[:, :, ::1]  # by child and level: what is counted against the free cells, see below
    step: cython.const_int[::1]  # from a cell to those around it, by distance
    ring: cython.const_int[::1]  # how many cells are within 0, 1, ... hops, but the cell itself
    side: cython.const_int[::1]  # the steps to the four cells beside one
    cells: cython.const_int[::1]  # of the grid
    row: cython.int[::1]  # of a cell, and its column, by number as ``taken``
    column: cython.int[::1]
    taken: cython.uchar[::1]
    stop: cython.const_uchar[::1]
    cell: cython.int[::1]  # of a vertex that is placed
    next: cython.int[::1]  # the child to be placed next, an index of kids
    placed: cython.int[::1]
    count: cython.Py_ssize_t
    rooted: cython.Py_ssize_t  # roots that are placed
    spare: cython.longlong  # hops beyond one per edge that are left
    nodes: cython.longlong
    within: cython.longlong[::1]  # free cells within so many hops of the vertex at work
    steps: cython.longlong[::1]  # free cells at most so many steps over free cells from some vertices
    even: cython.longlong[::1]  # so many steps from them, or two, four, ... fewer
    seen: cython.longlong[::1]  # by cell: when it was last seen
    queue: cython.int[::1]
    now: cython.longlong
    need: cython.longlong[::1]  # hops beyond one that the edges below a vertex take at least, those to be placed

    def __init__(
        self,
        roots: cython.const_int[::1],
        starts: cython.const_int[::1],
        kids: cython.const_int[:, ::1],
        below: cython.const_int[:, :, ::1],
        step: cython.const_int[::1],
        ring: cython.const_int[::1],
        taken: cython.const_uchar[::1],
        spare: cython.longlong,
        nodes: cython.longlong,
        stop: cython.const_uchar[::1],
    ) -> None:
        n = int(starts.shape[0]) - 1
        self.roots = roots
        self.starts = starts
        self.kids = kids
        self.below = below
        self.step = step
        self.ring = ring
        self.side = step[:4]
        row, column = np.divmod(np.arange(taken.shape[0], dtype=np.int32), np.int32(max(step[:4])))
        self.row = row
        self.column = column
        self.taken = np.array(taken)
        self.stop = stop
        self.cells = np.flatnonzero(np.asarray(taken) == 0).astype(np.int32)
        self.cell = np.full(n, -1, np.int32)
        self.next = np.array(starts[:n])
        self.placed = np.zeros(n, np.int32)
        self.count = 0
        self.rooted = 1
        self.spare = spare
        self.nodes = nodes
        self.within = np.zeros(ring.shape[0], np.int64)
        self.steps = np.zeros(below.shape[2], np.int64)
        self.even = np.zeros(below.shape[2], np.int64)
        self.seen = np.zeros(taken.shape[0], np.int64)
        self.queue = np.zeros(taken.shape[0], np.int32)
        self.now = 0
        self.need = np.zeros(n, np.int64)


def search_layout(
    roots: cython.const_int[::1],
    starts: cython.const_int[::1],
    kids: cython.const_int[:, ::1],
    below: cython.const_int[:, :, ::1],
    step: cython.const_int[::1],
    ring: cython.const_int[::1],
    taken: cython.const_uchar[::1],
    first: cython.const_int[::1],
    spare: int,
    nodes: int,
    stop: cython.const_uchar[::1],
) -> tuple[int, Numbers, int]:
    """Search for a layout whose edges take at most ``spare`` hops beyond one each, vertex 0 on a cell of ``first``.

    ``roots`` are the first vertices of the trees, that of the first one is 0. The children of vertex v are
    ``kids[i, 0]`` from i = starts[v] to starts[v + 1] - 1; ``kids[i, 1]`` says whether
    the child's subtree has the shape of the one before it. Of the subtrees of these, from i on, ``kids[i, 2]`` is how
    many levels below v they reach, ``below[i, 0, t]`` how many vertices are within t levels, and ``below[i, 1, t]`` how
    many are t, t - 2, ... levels below it. From a cell, ``step[: ring[t]]`` lead to those within t hops; the
    cells of the grid are those not ``taken``, with a rim of taken ones as wide as a step. Who sets ``stop[0]`` ends it.

    Returns 0 where there is none, 1 where there is, 2 where ``nodes`` were spent before that was known; the cells of
    the layout; and the nodes left.
    """
    partial = Partial(roots, starts, kids, below, step, ring, taken, spare, nodes, stop)
    found: cython.int = NONE
    with cython.nogil:
        for i in range(first.shape[0]):
            if found == NONE:
                found = _put(partial, 0, first[i], 0)
    return found, np.asarray(partial.cell), partial.nodes


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(partial: Partial, v: cython.Py_ssize_t, cell: cython.int, longer: cython.longlong) -> cython.int:
    """Place a vertex on a cell, its edge ``longer`` than one hop, and all after it; undo it unless that works."""
    partial.taken[cell] = 1
    partial.cell[v] = cell
    partial.placed[partial.count] = cython.cast(cython.int, v)
    partial.count += 1
    partial.spare -= longer
    found: cython.int = _go_on(partial)
    if found != FOUND:
        partial.spare += longer
        partial.count -= 1
        partial.taken[cell] = 0
        partial.cell[v] = -1
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _go_on(partial: Partial) -> cython.int:
    """Place what is left: the next child of the vertex that has fewest free cells to choose from."""
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    best: cython.Py_ssize_t = -1
    choice: cython.longlong
    least: cython.longlong = 0
    needs: cython.longlong
    own: cython.longlong = 0
    due: cython.longlong
    level: cython.Py_ssize_t
    levels: cython.Py_ssize_t = partial.below.shape[2] - 1
    left: cython.longlong = partial.spare
    found: cython.int = NONE
    if partial.count == partial.placed.shape[0]:
        return FOUND
    if partial.nodes <= 0 or partial.stop[0]:
        return SPENT
    partial.nodes -= 1
    for i in range(partial.count - 1, -1, -1):  # the latest has most to say
        v = partial.placed[i]
        if partial.next[v] == partial.starts[v + 1]:
            continue
        needs = partial.need[v] = _needs(partial, v)
        left -= needs
        if left < 0:
            return NONE
        choice = partial.within[1] - (partial.starts[v + 1] - partial.next[v])
        if choice > 0 and partial.kids[partial.next[v], 2] == 1:  # leaves that have room can wait
            choice += LEAVES_LATER
        if best < 0 or choice <= least:
            best, least, own = v, choice, needs
    if best >= 0 and partial.rooted == partial.roots.shape[0] and _is_too_far(partial, left):
        return NONE
    if partial.spare == 0 and best >= 0:  # all within some levels have room within as many steps
        _flood(partial, -1, levels)
        for level in range(1, levels + 1):
            due = 0
            for i in range(partial.count):
                v = partial.placed[i]
                if partial.next[v] < partial.starts[v + 1]:
                    due += partial.below[partial.next[v], 0, level]
            if due > partial.steps[level]:
                return NONE
    if best < 0:  # the next tree
        partial.rooted += 1
        for i in range(partial.cells.shape[0]):
            if found == NONE and not partial.taken[partial.cells[i]]:
                found = _put(partial, partial.roots[partial.rooted - 1], partial.cells[i], 0)
        partial.rooted -= 1
        return found
    at: cython.Py_ssize_t = partial.next[best]
    lowest: cython.int = partial.cell[partial.kids[at - 1, 0]] if partial.kids[at, 1] else -1
    hops: cython.Py_ssize_t
    cell: cython.int
    partial.next[best] += 1
    for hops in range(1, min(left + own + 1, partial.ring.shape[0] - 1) + 1):
        for i in range(partial.ring[hops - 1], partial.ring[hops]):
            cell = partial.cell[best] + partial.step[i]
            if found == NONE and cell > lowest and not partial.taken[cell]:
                found = _put(partial, partial.kids[at, 0], cell, hops - 1)
    partial.next[best] -= 1
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_too_far(partial: Partial, left: cython.longlong) -> cython.bint:
    """Whether fewer free cells than vertices to be placed can be reached, with so many hops to spare for each way."""
    n: cython.Py_ssize_t = partial.placed.shape[0]
    empty: cython.longlong = partial.cells.shape[0] - n  # cells that may stay so
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    cell: cython.int
    far: cython.longlong
    for k in range(partial.cells.shape[0]):
        cell = partial.cells[k]
        if partial.taken[cell]:
            continue
        empty -= 1
        for i in range(partial.count):
            v = partial.placed[i]
            if partial.next[v] < partial.starts[v + 1]:
                far = abs(partial.row[cell] - partial.row[partial.cell[v]])
                far += abs(partial.column[cell] - partial.column[partial.cell[v]])
                if far <= partial.kids[partial.next[v], 2] + left + partial.need[v]:
                    empty += 1
                    break
        if empty < 0:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _needs(partial: Partial, v: cython.Py_ssize_t) -> cython.longlong:
    """Return how many hops beyond one each the edges to the children left, and those below them, take at least.

    The children are on different free cells. All within some levels of the vertex are within as many hops of it, and
    what their edges have to spare; where these spare none, each is as many steps over free cells from it as levels, or
    two, four, ... fewer.
    """
    level: cython.Py_ssize_t
    looked: cython.Py_ssize_t = 0
    most: cython.Py_ssize_t = partial.ring.shape[0] - 1
    at: cython.Py_ssize_t = partial.next[v]
    left: cython.longlong = partial.starts[v + 1] - at
    stars: cython.longlong = 0
    balls: cython.longlong = 0
    deepest: cython.Py_ssize_t = min(partial.kids[at, 2], partial.below.shape[2] - 1)
    _flood(partial, v, deepest)
    for level in range(1, deepest + 1):
        if balls == 0 and (
            partial.below[at, 0, level] > partial.steps[level] or partial.below[at, 1, level] > partial.even[level]
        ):
            balls = 1
        while looked < min(level + balls, most):
            looked += 1
            _look(partial, v, looked)
        while level + balls <= most and partial.below[at, 0, level] > partial.within[level + balls]:
            balls += 1
            if looked < min(level + balls, most):
                looked += 1
                _look(partial, v, looked)
    level = 1
    while level <= most:
        if looked < level:
            looked += 1
            _look(partial, v, looked)
        if left <= partial.within[level]:
            break
        stars += left - partial.within[level]
        level += 1
    return max(stars, balls)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _flood(partial: Partial, v: cython.Py_ssize_t, levels: cython.Py_ssize_t) -> cython.void:
    """Count the free cells by the steps over free cells that lead there from a vertex, or for -1 from all with kids."""
    level: cython.Py_ssize_t
    head: cython.Py_ssize_t = 0
    tail: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    i: cython.Py_ssize_t
    u: cython.Py_ssize_t
    cell: cython.int
    beside: cython.int
    partial.now += 1
    for i in range(partial.count if v < 0 else 1):
        u = partial.placed[i] if v < 0 else v
        if partial.next[u] < partial.starts[u + 1]:
            partial.queue[tail] = partial.cell[u]
            tail += 1
    sources: cython.Py_ssize_t = tail
    for level in range(1, levels + 1):
        end = tail
        while head < end:
            cell = partial.queue[head]
            head += 1
            for i in range(4):
                beside = cell + partial.side[i]
                if not partial.taken[beside] and partial.seen[beside] != partial.now:
                    partial.seen[beside] = partial.now
                    partial.queue[tail] = beside
                    tail += 1
        partial.steps[level] = tail - sources
        partial.even[level] = tail - end + (partial.even[level - 2] if level > 1 else 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look(partial: Partial, v: cython.Py_ssize_t, hops: cython.Py_ssize_t) -> cython.void:
    """Count the free cells so many hops from a vertex."""
    i: cython.Py_ssize_t
    free: cython.longlong = 0
    for i in range(partial.ring[hops - 1], partial.ring[hops]):
        free += not partial.taken[partial.cell[v] + partial.step[i]]
    partial.within[hops] = partial.within[hops - 1] + free
