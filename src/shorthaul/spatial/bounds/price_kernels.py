"""Kernel that finds what a tree takes at least, its vertices near cells that have prices."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

#: More than anything costs.
MUCH = cython.declare(cython.longlong, 2**60)
#: What :func:`_steps` returned, by reach.
_KNOWN: dict[int, tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = {}


@cython.final
@cython.cclass
class Priced:
    """What subtrees of all shapes take at least, by the cell that their top is on, and where its children are then."""

    starts: cython.const_int[::1]
    kids: cython.const_int[::1]  # kinds of children, each a shape, those of one kind together
    price: cython.const_longlong[::1]
    half: cython.longlong  # cells farther from the root along an axis cost nothing
    hop: cython.longlong
    step_x: cython.const_int[::1]
    step_y: cython.const_int[::1]
    least: cython.longlong[:, ::1]  # by shape and place; the last one is for all cells farther away
    chosen: cython.int[:, ::1]  # by child and place: the child's place
    # Of the star at work, by kind of its children:
    kind: cython.int[::1]
    many: cython.int[::1]
    near: cython.int[:, ::1]  # the steps to the cells that cost least
    cost: cython.longlong[:, ::1]
    held: cython.int[::1]
    place: cython.int[::1]  # of the cell a step away
    column: cython.int[::1]  # its column, -1 for none
    cells: cython.int[::1]  # the steps, by column
    # Of the assignment of children to cells: prices of kinds and cells, the kind in a column and one, and where its way
    # came from.
    child: cython.longlong[::1]
    cell: cython.longlong[::1]
    taken: cython.int[::1]
    way: cython.int[::1]
    short: cython.longlong[::1]
    done: cython.uchar[::1]

    def __init__(
        self,
        starts: cython.const_int[::1],
        kids: cython.const_int[::1],
        price: cython.const_longlong[::1],
        half: cython.longlong,
        hop: cython.longlong,
    ) -> None:
        shapes, places = int(starts.shape[0]) - 1, int(price.shape[0])
        most = int(np.diff(starts).max())
        reach = 4 * int(half) + 2
        while 2 * reach * reach < most:
            reach += 1
        of_shape = np.repeat(np.arange(shapes), np.diff(starts))
        kinds = int(np.bincount(np.unique(of_shape * shapes + np.asarray(kids)) // shapes, minlength=1).max())
        self.starts = starts
        self.kids = kids
        self.price = price
        self.half = half
        self.hop = hop
        self.step_x, self.step_y = _steps(reach)
        self.least = np.zeros((shapes, places + 1), np.int64)
        self.chosen = np.zeros((kids.shape[0], places + 1), np.int32)
        self.kind = np.zeros(kinds + 1, np.int32)
        self.many = np.zeros(kinds + 1, np.int32)
        self.near = np.zeros((kinds + 1, most + 1), np.int32)
        self.cost = np.zeros((kinds + 1, most + 1), np.int64)
        self.held = np.zeros(kinds + 1, np.int32)
        self.place = np.zeros(len(self.step_x), np.int32)
        self.column = np.full(len(self.step_x), -1, np.int32)
        columns = kinds * most + 2
        self.cells = np.zeros(columns, np.int32)
        self.child = np.zeros(most + 1, np.int64)
        self.cell = np.zeros(columns, np.int64)
        self.taken = np.zeros(columns, np.int32)
        self.way = np.zeros(columns, np.int32)
        self.short = np.zeros(columns, np.int64)
        self.done = np.zeros(columns, np.uint8)


def _steps(reach: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the columns and rows to all cells up to ``reach`` hops away but the own one, the nearest first."""
    if reach not in _KNOWN:
        y, x = (one.ravel() for one in np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.int32))
        hops = np.abs(x) + np.abs(y)
        order = np.argsort(hops, kind="stable")[1 : int((hops <= reach).sum())]
        _KNOWN[reach] = np.ascontiguousarray(x[order]), np.ascontiguousarray(y[order])
    return _KNOWN[reach]


def least_priced(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    price: cython.const_longlong[::1],
    half: cython.longlong,
    hop: cython.longlong,
) -> tuple[int, npt.NDArray[np.int64]]:
    """Return the least sum of edges and of prices of the cells used, and how many vertices are on cells of each price.

    Subtree shape i has children of shapes ``kids[starts[i]:starts[i + 1]]``, those of one shape together, all below i;
    the last is that of the tree, whose root is on a cell of its own. The cell x columns and y rows away from that costs
    ``price[a (a + 1) / 2 + b]``, a the larger and b the smaller of |x| and |y|, if a is at most ``half``, nothing
    otherwise; an edge costs ``hop`` for every hop. Several vertices may be on one cell, but not on that of the root,
    of their parent, or of another child of that one. What is beyond ``half`` is taken to lie where prices are nowhere
    near, so that the sum is a lower bound there.
    """
    priced = Priced(starts, kids, price, half, hop)
    shapes: cython.Py_ssize_t = starts.shape[0] - 1
    places: cython.Py_ssize_t = price.shape[0]
    count: cython.longlong[:, ::1] = np.zeros((shapes, places + 1), np.int64)
    used: cython.longlong[::1] = np.zeros(places + 1, np.int64)
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    p: cython.Py_ssize_t
    a: cython.longlong
    b: cython.longlong
    with cython.nogil:
        for i in range(shapes):
            _far(priced, i, places)
            p = 0
            for a in range(half + 1):
                for b in range(a + 1):
                    if (p == 0) == (i == shapes - 1):
                        priced.least[i, p] = price[p] if p > 0 else 0
                        if starts[i + 1] > starts[i] and not _is_far(priced, i, p, a, b):
                            priced.least[i, p] += _star(priced, i, p, a, b)
                    p += 1
        count[shapes - 1, 0] = 1
        for i in range(shapes - 1, -1, -1):
            for p in range(places + 1):
                if count[i, p] == 0:
                    continue
                used[p] += count[i, p]
                for k in range(starts[i], starts[i + 1]):  # far away, the children are, too
                    count[kids[k], priced.chosen[k, p]] += count[i, p]
    return int(priced.least[shapes - 1, 0]), np.asarray(used)[:places]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _far(priced: Priced, i: cython.Py_ssize_t, places: cython.Py_ssize_t) -> cython.void:
    """Work out what shape i takes where nothing has a price."""
    k: cython.Py_ssize_t
    at: cython.Py_ssize_t = 0
    for k in range(priced.starts[i], priced.starts[i + 1]):
        priced.least[i, places] += priced.least[priced.kids[k], places] + priced.hop * _hops(priced, at)
        priced.chosen[k, places] = cython.cast(cython.int, places)
        at += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_far(
    priced: Priced, i: cython.Py_ssize_t, at: cython.Py_ssize_t, x: cython.longlong, y: cython.longlong
) -> cython.bint:
    """Say whether the children of shape i pay nothing around the cell (x, y); if so, count and put them there."""
    places: cython.longlong = priced.price.shape[0]
    k: cython.Py_ssize_t
    step: cython.Py_ssize_t = 0
    for k in range(priced.starts[i], priced.starts[i + 1]):
        to: cython.longlong = _place(priced, step, x, y)
        if to == 0 or priced.least[priced.kids[k], to] > priced.least[priced.kids[k], places]:
            return False
        priced.chosen[k, at] = cython.cast(cython.int, to)
        step += 1
    priced.least[i, at] += priced.least[i, places]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _place(priced: Priced, step: cython.Py_ssize_t, x: cython.longlong, y: cython.longlong) -> cython.longlong:
    """Return the place of the cell a step from (x, y)."""
    a: cython.longlong = abs(x + priced.step_x[step])
    b: cython.longlong = abs(y + priced.step_y[step])
    if a < b:
        a, b = b, a
    return priced.price.shape[0] if a > priced.half else a * (a + 1) // 2 + b


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _hops(priced: Priced, step: cython.Py_ssize_t) -> cython.longlong:
    return abs(priced.step_x[step]) + abs(priced.step_y[step])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _star(
    priced: Priced, i: cython.Py_ssize_t, at: cython.Py_ssize_t, x: cython.longlong, y: cython.longlong
) -> cython.longlong:
    """Return what the children of shape i take at least, which is on the cell (x, y), the place ``at``."""
    begin: cython.Py_ssize_t = priced.starts[i]
    count: cython.Py_ssize_t = priced.starts[i + 1] - begin
    kinds: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    total: cython.longlong = 0
    columns: cython.Py_ssize_t = 0
    is_apart: cython.bint = True
    for j in range(begin, begin + count):
        if kinds == 0 or priced.kind[kinds - 1] != priced.kids[j]:
            priced.kind[kinds] = priced.kids[j]
            priced.many[kinds] = 0
            priced.held[kinds] = 0
            kinds += 1
        priced.many[kinds - 1] += 1
    _find_near(priced, kinds, count, x, y)
    for k in range(kinds):
        for j in range(count):
            if priced.column[priced.near[k, j]] < 0:
                columns += 1
                priced.column[priced.near[k, j]] = cython.cast(cython.int, columns)
                priced.cells[columns] = priced.near[k, j]
                priced.taken[columns] = 0
                priced.cell[columns] = 0
            if j < priced.many[k]:
                total += priced.cost[k, j]
                is_apart &= priced.taken[priced.column[priced.near[k, j]]] == 0
                priced.taken[priced.column[priced.near[k, j]]] = 1
    j = begin
    if is_apart:  # every kind has what it would like best
        for k in range(kinds):
            for count in range(priced.many[k]):
                priced.chosen[j, at] = priced.place[priced.near[k, count]]
                j += 1
    else:
        total = _assigned(priced, kinds, columns)
        for k in range(kinds):
            priced.held[k] = cython.cast(cython.int, j)
            j += priced.many[k]
        for j in range(1, columns + 1):
            if priced.taken[j] > 0:
                k = priced.taken[j] - 1
                priced.chosen[priced.held[k], at] = priced.place[priced.cells[j]]
                priced.held[k] += 1
    for k in range(1, columns + 1):
        priced.column[priced.cells[k]] = -1
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_near(
    priced: Priced, kinds: cython.Py_ssize_t, count: cython.Py_ssize_t, x: cython.longlong, y: cython.longlong
) -> cython.void:
    """Find the cells around (x, y) that cost least for each kind of children, so many that one is left for all."""
    places: cython.longlong = priced.price.shape[0]
    step: cython.Py_ssize_t
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    hops: cython.longlong
    before: cython.longlong = 0
    is_open: cython.bint
    for step in range(priced.step_x.shape[0]):
        hops = _hops(priced, step)
        if hops > before:
            before = hops
            is_open = False
            for k in range(kinds):
                is_open |= (
                    priced.held[k] < count
                    or priced.cost[k, count - 1] > hops * priced.hop + priced.least[priced.kind[k], places]
                )
            if not is_open:
                return
        at: cython.longlong = _place(priced, step, x, y)
        if at == 0:
            continue
        priced.place[step] = cython.cast(cython.int, at)
        for k in range(kinds):
            cost: cython.longlong = hops * priced.hop + priced.least[priced.kind[k], at]
            if priced.held[k] == count:
                if cost >= priced.cost[k, count - 1]:
                    continue
                j = count - 1
            else:
                j = priced.held[k]
                priced.held[k] += 1
            while j > 0 and priced.cost[k, j - 1] > cost:
                priced.cost[k, j] = priced.cost[k, j - 1]
                priced.near[k, j] = priced.near[k, j - 1]
                j -= 1
            priced.cost[k, j] = cost
            priced.near[k, j] = cython.cast(cython.int, step)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _assigned(priced: Priced, kinds: cython.Py_ssize_t, columns: cython.Py_ssize_t) -> cython.longlong:
    """Return the least cost of all children on columns of their own: the most of a kind first, others by shortest ways.

    Children of a kind that have columns have one price, so a way visits a kind once.
    """
    most: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    total: cython.longlong = 0
    for j in range(columns + 1):
        priced.taken[j] = 0
        priced.cell[j] = 0
    for k in range(kinds):
        priced.child[k] = 0
        if priced.many[k] > priced.many[most]:
            most = k
    priced.child[most] = priced.cost[most, priced.many[most] - 1]
    for k in range(priced.many[most]):
        j = priced.column[priced.near[most, k]]
        priced.taken[j] = cython.cast(cython.int, most + 1)
        priced.cell[j] = priced.cost[most, k] - priced.child[most]
    for k in range(kinds):
        if k != most:
            for _ in range(priced.many[k]):
                priced.taken[0] = cython.cast(cython.int, k + 1)
                _augment(priced, columns)
    for j in range(1, columns + 1):
        if priced.taken[j] > 0:
            total += _paid(priced, priced.taken[j] - 1, j)
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _paid(priced: Priced, kind: cython.Py_ssize_t, column: cython.Py_ssize_t) -> cython.longlong:
    """Return what a child takes on a column."""
    step: cython.Py_ssize_t = priced.cells[column]
    return priced.hop * _hops(priced, step) + priced.least[priced.kind[kind], priced.place[step]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _augment(priced: Priced, columns: cython.Py_ssize_t) -> cython.void:
    """Let a child of the kind in column 0 have a column, the others as many columns as before."""
    at: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    following: cython.Py_ssize_t
    least: cython.longlong
    cost: cython.longlong
    for j in range(columns + 1):
        priced.short[j] = MUCH
        priced.done[j] = 0
    priced.short[0] = 0
    while priced.taken[at] != 0:
        priced.done[at] = 2  # where its kind is visited
        k = priced.taken[at] - 1
        least = MUCH
        following = 0
        for j in range(1, columns + 1):
            if priced.done[j]:
                continue
            if priced.taken[j] == k + 1:
                priced.done[j] = 1
                priced.short[j] = priced.short[at]
                continue
            cost = priced.short[at] + _paid(priced, k, j) - priced.child[k] - priced.cell[j]
            if cost < priced.short[j]:
                priced.short[j] = cost
                priced.way[j] = cython.cast(cython.int, at)
            if priced.short[j] < least:
                least = priced.short[j]
                following = j
        at = following
    least = priced.short[at]
    for j in range(columns + 1):
        if priced.done[j]:
            priced.cell[j] -= least - priced.short[j]
            if priced.done[j] == 2:
                priced.child[priced.taken[j] - 1] += least - priced.short[j]
    while at != 0:
        j = priced.way[at]
        priced.taken[at] = priced.taken[j]
        at = j
