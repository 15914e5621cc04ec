"""Kernel that weighs the subtrees of a tree which outgrow the grid, so that no edge counts more than once."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Weights = npt.NDArray[np.float64]

#: Subtrees of at most so many vertices are tried for having too many vertices of one colour.
MOST_TRIED = cython.declare(cython.longlong, 400)


@cython.final
@cython.cclass
class Growth:
    """What is known of the subtree of every vertex, parents before children.

    Let the load on a subtree be the weight of those above it. What the weights within it can add at most falls with
    that load, along a concave curve: its ``value`` and ``slope`` without load, and breakpoints, where the slope falls
    by ``drop``. A vertex has at most one breakpoint of its own; those below it form a leftist heap by their places.
    """

    starts: cython.const_int[::1]
    kids: cython.const_int[::1]
    sums: cython.const_longlong[::1]
    alternate: cython.const_longlong[::1]
    near: cython.longlong  # no subtree of so few vertices is crowded
    size: cython.longlong[::1]
    depths: cython.longlong[::1]  # summed, below the vertex
    largest: cython.longlong[::1]  # size of a child
    settled: cython.uchar[::1]  # has a long edge for certain, or is too large to be tried
    value: cython.double[::1]
    slope: cython.double[::1]
    heap: cython.int[::1]
    place: cython.double[::1]
    drop: cython.double[::1]
    left: cython.int[::1]
    right: cython.int[::1]
    rank: cython.int[::1]
    queue: cython.int[::1]
    reach: cython.double[::1]  # the least load that its own weight brings about, 0 for none
    is_long: cython.uchar[::1]  # has a weight for a long edge below it

    def __init__(
        self,
        starts: cython.const_int[::1],
        kids: cython.const_int[::1],
        sums: cython.const_longlong[::1],
        alternate: cython.const_longlong[::1],
    ) -> None:
        n: cython.Py_ssize_t = kids.shape[0]
        self.starts = starts
        self.kids = kids
        self.sums = sums
        self.alternate = alternate
        self.near = alternate[min(1, alternate.shape[0] - 1)]
        self.size = np.ones(n, np.int64)
        self.depths = np.zeros(n, np.int64)
        self.largest = np.zeros(n, np.int64)
        self.settled = np.zeros(n, np.uint8)
        self.value = np.zeros(n + 1)
        self.slope = np.zeros(n)
        self.heap = np.full(n, -1, np.int32)
        self.place = np.zeros(n)
        self.drop = np.zeros(n)
        self.left = np.full(n, -1, np.int32)
        self.right = np.full(n, -1, np.int32)
        self.rank = np.ones(n, np.int32)
        self.queue = np.empty(MOST_TRIED, np.int32)
        self.reach = np.zeros(n)
        self.is_long = np.zeros(n, np.uint8)


def most_of_growth(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    sums: cython.const_longlong[::1],
    alternate: cython.const_longlong[::1],
) -> float:
    """Return how much longer than one hop each the edges of a tree are together, by the best weights of two arguments.

    Parents precede their children, of which vertex v has kids[starts[v]:starts[v + 1]]; the roots are those of n.
    The vertices below one are together ``sums[k]`` hops or more from it if they are k. A subtree in which more than
    ``alternate[t]`` vertices are t, t - 2, ... levels down has an edge of two hops; the table ends with a number that
    no subtree reaches. From the leaves up, a linear program is solved exactly (but for rounding).
    """
    growth = Growth(starts, kids, sums, alternate)
    with cython.nogil:
        _grow(growth)
    return float(growth.value[kids.shape[0]])


def weights_of_growth(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    sums: cython.const_longlong[::1],
    alternate: cython.const_longlong[::1],
) -> tuple[Weights, Weights]:
    """Return the weights of which :func:`most_of_growth` is the sum: of the distances below every vertex, shape (n,).

    The second ones are those for a long edge somewhere below it.
    """
    growth = Growth(starts, kids, sums, alternate)
    load: cython.double[::1] = np.zeros(kids.shape[0])
    own: cython.double[::1] = np.zeros(kids.shape[0])
    longer: cython.double[::1] = np.zeros(kids.shape[0])
    with cython.nogil:
        _grow(growth)
        _assign(growth, load, own, longer)
    return np.asarray(own), np.asarray(longer)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _assign(
    growth: Growth, load: cython.double[::1], own: cython.double[::1], longer: cython.double[::1]
) -> cython.void:
    """Let every vertex have what its load lacks to its reach; ``load`` is from those above it, at first none."""
    v: cython.Py_ssize_t
    for v in range(growth.kids.shape[0]):
        own[v] = max(0.0, growth.reach[v] - load[v])
        load[v] += own[v]
        if growth.is_long[v]:
            longer[v] = max(0.0, 1 - load[v] * growth.largest[v])
        for i in range(growth.starts[v], growth.starts[v + 1]):
            load[growth.kids[i]] = load[v]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _grow(growth: Growth) -> cython.void:
    n: cython.Py_ssize_t = growth.kids.shape[0]
    v: cython.Py_ssize_t
    for v in range(n - 1, -1, -1):
        for i in range(growth.starts[v], growth.starts[v + 1]):
            _add(growth, v, growth.kids[i])
        if growth.size[v] > 1:
            _weigh(growth, v)
    for i in range(growth.starts[n], growth.starts[n + 1]):
        growth.value[n] += growth.value[growth.kids[i]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(growth: Growth, v: cython.Py_ssize_t, kid: cython.Py_ssize_t) -> cython.void:
    if growth.starts[kid] == growth.starts[kid + 1]:  # a leaf weighs nothing: spare looking it up
        growth.size[v] += 1
        growth.depths[v] += 1
        growth.largest[v] = max(growth.largest[v], 1)
        return
    growth.size[v] += growth.size[kid]
    growth.depths[v] += growth.depths[kid] + growth.size[kid]
    growth.largest[v] = max(growth.largest[v], growth.size[kid])
    growth.settled[v] |= growth.settled[kid]
    growth.value[v] += growth.value[kid]
    growth.slope[v] += growth.slope[kid]
    growth.heap[v] = _merged(growth, growth.heap[v], growth.heap[kid])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(growth: Growth, v: cython.Py_ssize_t) -> cython.void:
    """Let the subtree of v have a weight: one for a long edge somewhere, or as its distances demand."""
    excess: cython.longlong = growth.sums[growth.size[v] - 1] - growth.depths[v]
    if not growth.settled[v] and (excess > 0 or _is_crowded(growth, v)):
        # With weight w, every edge below v bears w: beside a load that leaves 1 - load * largest.
        growth.settled[v] = 1
        growth.is_long[v] = 1
        growth.value[v] += 1
        growth.slope[v] -= growth.largest[v]
    if growth.size[v] > MOST_TRIED:
        growth.settled[v] = 1
    if excess > 0 and growth.slope[v] > -excess:
        _raise(growth, v, cython.cast(cython.double, excess))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _raise(growth: Growth, v: cython.Py_ssize_t, excess: cython.double) -> cython.void:
    """Let the subtree of v bear a weight of its own, ``excess`` a unit, where that is more than what is lost below."""
    end: cython.double = 1 / cython.cast(cython.double, growth.largest[v])
    at: cython.double = 0
    slope: cython.double = growth.slope[v]
    k: cython.Py_ssize_t
    while slope > -excess and at < end:
        k = growth.heap[v]
        following: cython.double = end if k < 0 else min(end, growth.place[k])
        growth.value[v] += (slope + excess) * (following - at)
        at = following
        if at < end:
            slope -= growth.drop[k]
            growth.heap[v] = _merged(growth, growth.left[k], growth.right[k])
    if slope < -excess:
        growth.place[v] = at
        growth.drop[v] = -excess - slope
        growth.heap[v] = _merged(growth, growth.heap[v], v)
    growth.slope[v] = -excess
    growth.reach[v] = at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _merged(growth: Growth, a: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.int:
    """Return the heap of two."""
    if a < 0 or b < 0:
        return cython.cast(cython.int, max(a, b))
    if growth.place[b] < growth.place[a]:
        a, b = b, a
    growth.right[a] = _merged(growth, growth.right[a], b)
    left: cython.Py_ssize_t = growth.left[a]
    right: cython.Py_ssize_t = growth.right[a]
    if left < 0 or growth.rank[left] < growth.rank[right]:
        growth.left[a] = cython.cast(cython.int, right)
        growth.right[a] = cython.cast(cython.int, left)
    growth.rank[a] = 1 + (0 if growth.right[a] < 0 else growth.rank[growth.right[a]])
    return cython.cast(cython.int, a)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_crowded(growth: Growth, v: cython.Py_ssize_t) -> cython.bint:
    """Whether the subtree of v has more vertices t, t - 2, ... levels down than the grid has cells as far away."""
    if growth.size[v] > MOST_TRIED or growth.size[v] <= growth.near:
        return False
    even: cython.longlong = 1
    odd: cython.longlong = 0
    level: cython.Py_ssize_t = 0
    begin: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = 1
    filled: cython.Py_ssize_t = 1
    growth.queue[0] = cython.cast(cython.int, v)
    # Where the grid has room for all, nothing further down can crowd it.
    while begin < end and growth.alternate[level] < growth.size[v]:
        for i in range(begin, end):
            for j in range(growth.starts[growth.queue[i]], growth.starts[growth.queue[i] + 1]):
                growth.queue[filled] = growth.kids[j]
                filled += 1
        begin = end
        end = filled
        level += 1
        if level & 1:
            odd += end - begin
        else:
            even += end - begin
        if (odd if level & 1 else even) > growth.alternate[level]:
            return True
    return False
