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
    """What is known of vertices with a child that is done and not done themselves: a stack, a row each.

    Let the load on a subtree be the weight of those above it. What the weights within it can add at most falls with
    that load, along a concave curve: its ``value`` and ``slope`` without load, and breakpoints, where the slope falls
    by ``drop``. A vertex has at most one breakpoint of its own; those below it form a leftist heap by their places.
    """

    parent: cython.const_int[::1]
    sums: cython.const_longlong[::1]
    alternate: cython.const_longlong[::1]
    star: cython.const_double[::1]  # by vertex, see below; empty where there are none
    borne: cython.const_double[::1]
    above: cython.const_uchar[::1]
    alone: cython.const_double[::1]
    near: cython.longlong  # no subtree of so few vertices is crowded
    top: cython.Py_ssize_t
    owner: cython.longlong[::1]  # the vertex of a row
    size: cython.longlong[::1]
    depths: cython.longlong[::1]  # summed, below the vertex
    largest: cython.longlong[::1]  # size of a child
    height: cython.Py_ssize_t[::1]
    level: cython.longlong[:, ::1]  # vertices so many levels below it, where it is not settled
    settled: cython.uchar[::1]  # has a long edge for certain, or is too large to be tried
    value: cython.double[::1]
    slope: cython.double[::1]
    heap: cython.int[::1]
    # Of breakpoints, from 1:
    points: cython.Py_ssize_t
    place: cython.double[::1]
    drop: cython.double[::1]
    left: cython.int[::1]
    right: cython.int[::1]
    rank: cython.int[::1]
    # Of vertices, where the weights themselves are asked for:
    reach: cython.double[::1]  # the least load that its own weight brings about, 0 for none
    longer: cython.longlong[::1]  # size of the largest child where it has a weight for a long edge below it, or 0
    mixed: cython.double[::1]  # the load up to which it is weighed in part as it is on its own, 0 for none

    def __init__(
        self,
        parent: cython.const_int[::1],
        sums: cython.const_longlong[::1],
        alternate: cython.const_longlong[::1],
        star: cython.const_double[::1],
        borne: cython.const_double[::1],
        above: cython.const_uchar[::1],
        alone: cython.const_double[::1],
        is_told: cython.bint,
    ) -> None:
        n = int(parent.shape[0])
        rows = n.bit_length() + 2  # the largest subtree of a vertex is done first
        enough = np.flatnonzero(np.asarray(alternate) >= MOST_TRIED)
        self.parent = parent
        self.sums = sums
        self.alternate = alternate
        self.star = star
        self.borne = borne
        self.above = above
        self.alone = alone
        self.near = alternate[min(1, alternate.shape[0] - 1)]
        self.top = -1
        self.owner = np.zeros(rows, np.int64)
        self.size = np.zeros(rows, np.int64)
        self.depths = np.zeros(rows, np.int64)
        self.largest = np.zeros(rows, np.int64)
        self.height = np.zeros(rows, np.intp)
        self.level = np.zeros((rows, int(enough[0] if len(enough) else alternate.shape[0]) + 2), np.int64)
        self.settled = np.zeros(rows, np.uint8)
        self.value = np.zeros(rows)
        self.slope = np.zeros(rows)
        self.heap = np.zeros(rows, np.int32)
        self.points = 0  # memory that is not touched is free
        self.place = np.zeros(n + 1)
        self.drop = np.zeros(n + 1)
        self.left = np.zeros(n + 1, np.int32)
        self.right = np.zeros(n + 1, np.int32)
        self.rank = np.zeros(n + 1, np.int32)
        self.reach = np.zeros(n if is_told else 0)
        self.longer = np.zeros(n if is_told else 0, np.int64)
        self.mixed = np.zeros(n if is_told else 0)


def weights_of_growth(
    parent: cython.const_int[::1],
    sums: cython.const_longlong[::1],
    alternate: cython.const_longlong[::1],
    star: cython.const_double[::1],
    borne: cython.const_double[::1],
    above: cython.const_uchar[::1],
    alone: cython.const_double[::1],
    is_told: cython.bint = False,
) -> tuple[float, Weights, Weights, Weights]:
    """Return how much longer than one hop each the edges of a tree are together, by the best weights of four arguments.

    The vertices are numbered subtree by subtree, parents first and the largest subtree of a parent last. Those below
    one are together ``sums[k]`` hops or more from it if they are k. A subtree in which more than
    ``alternate[t]`` vertices are t, t - 2, ... levels down has an edge of two hops; the table ends with a number that
    no subtree reaches. Leaf j of the star of v, by the sizes of the subtrees at them, is as many hops longer than one
    as it adds to ``star[v]``, and as many times its size as it adds to ``borne[v]``; where ``above[v]`` is set, the
    parent is the last of them. The edges below v, and then the one above it, are ``alone[v]`` hops longer by arguments
    of their own.

    From the leaves up, a linear program is solved exactly (but for rounding): a load L on a subtree leaves an edge
    above k vertices 1 - k L for what is below. Leaf j of a star counts with what is left by its own size, since
    that of the j smallest does, weighed by how much is left to the next larger one. The other
    arguments count with what is left of the largest size. As weights may be mixed, values follow the concave hull.

    If asked for, the weights come as well: of the distances below every vertex, shape (n,), those for a long edge
    somewhere below it, and those of what is ``alone``. Stars have what these leave.
    """
    growth = Growth(parent, sums, alternate, star, borne, above, alone, is_told)
    n: cython.Py_ssize_t = parent.shape[0] if is_told else 0
    # Of the weights below a vertex, how many times those are taken that bring about a load there.
    load: cython.double[::1] = np.zeros(n)
    times: cython.double[::1] = np.ones(n)
    own: cython.double[::1] = np.zeros(n)
    longer: cython.double[::1] = np.zeros(n)
    shares: cython.double[::1] = np.zeros(n)
    v: cython.Py_ssize_t
    gain: cython.double = 0
    at: cython.longlong
    with cython.nogil:
        for v in range(parent.shape[0] - 1, -1, -1):
            at = parent[v]
            if growth.top >= 0 and growth.owner[growth.top] == v:
                _weigh(growth, v, growth.top)
                if at >= 0:
                    _add(growth, at)
                else:
                    gain += growth.value[growth.top]
                    growth.top -= 1
            elif at >= 0:  # a leaf
                if growth.top < 0 or growth.owner[growth.top] != at:
                    growth.top += 1
                    _begin(growth, at)
                growth.size[growth.top] += 1
                growth.depths[growth.top] += 1
                growth.largest[growth.top] = max(growth.largest[growth.top], 1)
                growth.level[growth.top, 1] += 1
        for v in range(n):
            if parent[v] >= 0:
                load[v] = load[parent[v]]
                times[v] = times[parent[v]]
            if load[v] < growth.mixed[v]:
                shares[v] = times[v] * (1 - load[v] / growth.mixed[v])
                times[v] -= shares[v]
                load[v] = growth.mixed[v]
            if load[v] < growth.reach[v]:  # what the load from above lacks
                own[v] = times[v] * (growth.reach[v] - load[v])
                load[v] = growth.reach[v]
            if growth.longer[v] > 0:
                longer[v] = times[v] * max(0.0, 1 - load[v] * growth.longer[v])
    return float(gain), np.asarray(own), np.asarray(longer), np.asarray(shares)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(growth: Growth, v: cython.longlong) -> cython.void:
    """Let the top row be that of v, of which nothing else is known."""
    row: cython.Py_ssize_t = growth.top
    growth.owner[row] = v
    growth.size[row] = 1
    growth.depths[row] = 0
    growth.largest[row] = 0
    growth.height[row] = 1
    growth.level[row, 0] = 1
    growth.level[row, 1] = 0
    growth.settled[row] = 0
    growth.value[row] = 0
    growth.slope[row] = 0
    growth.heap[row] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(growth: Growth, above: cython.longlong) -> cython.void:
    """Add the vertex of the top row to its parent, and let that have the top row."""
    kid: cython.Py_ssize_t = growth.top
    row: cython.Py_ssize_t = kid - 1
    level: cython.Py_ssize_t
    last: cython.Py_ssize_t = growth.level.shape[1] - 1
    if row < 0 or growth.owner[row] != above:  # it takes the same row
        growth.owner[kid] = above
        growth.depths[kid] += growth.size[kid]
        growth.largest[kid] = growth.size[kid]
        growth.size[kid] += 1
        growth.height[kid] = min(growth.height[kid] + 1, last)
        for level in range(growth.height[kid] if not growth.settled[kid] else 0, 0, -1):
            growth.level[kid, level] = growth.level[kid, level - 1]
        growth.level[kid, 0] = 1
        return
    growth.top = row
    growth.size[row] += growth.size[kid]
    growth.depths[row] += growth.depths[kid] + growth.size[kid]
    growth.largest[row] = max(growth.largest[row], growth.size[kid])
    growth.settled[row] |= growth.settled[kid]
    growth.value[row] += growth.value[kid]
    growth.slope[row] += growth.slope[kid]
    growth.heap[row] = _merged(growth, growth.heap[row], growth.heap[kid])
    if growth.settled[row]:
        return
    while growth.height[row] < min(growth.height[kid] + 1, last):
        growth.height[row] += 1
        growth.level[row, growth.height[row]] = 0
    for level in range(1, min(growth.height[kid] + 1, last) + 1):
        growth.level[row, level] += growth.level[kid, level - 1]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(growth: Growth, v: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.void:
    """Let the subtree of v have a weight: one for a long edge somewhere, or as its star and its distances demand."""
    excess: cython.longlong = growth.sums[growth.size[row] - 1] - growth.depths[row]
    if growth.star.shape[0] > 0 and growth.star[v] > 0:
        growth.settled[row] = 1
        growth.value[row] += growth.star[v]
        growth.slope[row] -= growth.borne[v]
    if not growth.settled[row] and (excess > 0 or _is_crowded(growth, row)):
        # With weight w, every edge below v bears w: beside a load that leaves 1 - load * largest.
        growth.settled[row] = 1
        if growth.longer.shape[0] > 0:
            growth.longer[v] = growth.largest[row]
        growth.value[row] += 1
        growth.slope[row] -= growth.largest[row]
    if growth.size[row] > MOST_TRIED:
        growth.settled[row] = 1
    if excess > 0 and growth.slope[row] > -excess:
        _raise(growth, v, row, cython.cast(cython.double, excess))
    if growth.alone[v] > growth.value[row]:
        growth.settled[row] = 1
        _mix(growth, v, row)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _raise(growth: Growth, v: cython.Py_ssize_t, row: cython.Py_ssize_t, excess: cython.double) -> cython.void:
    """Let the subtree of v bear a weight of its own, ``excess`` a unit, where that is more than what is lost below."""
    end: cython.double = 1 / cython.cast(cython.double, growth.largest[row])
    at: cython.double = 0
    slope: cython.double = growth.slope[row]
    k: cython.Py_ssize_t
    while slope > -excess and at < end:
        k = growth.heap[row]
        following: cython.double = end if k == 0 else min(end, growth.place[k])
        growth.value[row] += (slope + excess) * (following - at)
        at = following
        if at < end:
            slope -= growth.drop[k]
            growth.heap[row] = _merged(growth, growth.left[k], growth.right[k])
    if slope < -excess:
        growth.points += 1
        growth.place[growth.points] = at
        growth.drop[growth.points] = -excess - slope
        growth.heap[row] = _merged(growth, growth.heap[row], growth.points)
    growth.slope[row] = -excess
    if growth.reach.shape[0] > 0:
        growth.reach[v] = at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mix(growth: Growth, v: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.void:
    """Let the value without load be what the subtree of v proves on its own, and go down from there in a straight line.

    It goes to the breakpoint where it is flattest, or to where the load leaves nothing of the largest edge.
    """
    alone: cython.double = growth.alone[v]
    end: cython.double = 1 / cython.cast(cython.double, growth.size[row] if growth.above[v] else growth.largest[row])
    value: cython.double = growth.value[row]
    slope: cython.double = growth.slope[row]
    at: cython.double = 0
    k: cython.Py_ssize_t
    while at < end:
        k = growth.heap[row]
        following: cython.double = end if k == 0 else min(end, growth.place[k])
        value += slope * (following - at)
        at = following
        if k > 0:
            slope -= growth.drop[k]
            growth.heap[row] = _merged(growth, growth.left[k], growth.right[k])
        if at >= end or slope * at <= value - alone:
            break
    growth.value[row] = alone
    growth.slope[row] = (value - alone) / at
    if at < end:
        growth.place[k] = at
        growth.drop[k] = growth.slope[row] - slope
        growth.left[k] = growth.right[k] = growth.rank[k] = 0
        growth.heap[row] = _merged(growth, growth.heap[row], k)
    if growth.mixed.shape[0] > 0:
        growth.mixed[v] = at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _merged(growth: Growth, a: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.int:
    """Return the heap of two, 0 for none."""
    if a == 0 or b == 0:
        return cython.cast(cython.int, max(a, b))
    if growth.place[b] < growth.place[a]:
        a, b = b, a
    growth.right[a] = _merged(growth, growth.right[a], b)
    left: cython.Py_ssize_t = growth.left[a]
    right: cython.Py_ssize_t = growth.right[a]
    if left == 0 or growth.rank[left] < growth.rank[right]:
        growth.left[a] = cython.cast(cython.int, right)
        growth.right[a] = cython.cast(cython.int, left)
    growth.rank[a] = 0 if growth.right[a] == 0 else growth.rank[growth.right[a]] + 1
    return cython.cast(cython.int, a)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_crowded(growth: Growth, row: cython.Py_ssize_t) -> cython.bint:
    """Whether the subtree of v has more vertices t, t - 2, ... levels down than the grid has cells as far away."""
    level: cython.Py_ssize_t
    alike: cython.longlong = 0  # so many levels down, or two, four, ... fewer
    other: cython.longlong = 0
    if growth.size[row] > MOST_TRIED or growth.size[row] <= growth.near:
        return False
    for level in range(growth.height[row] + 1):
        alike, other = other + growth.level[row, level], alike
        if growth.alternate[level] >= growth.size[row]:  # room for all: nothing further down can crowd it
            return False
        if alike > growth.alternate[level]:
            return True
    return False
