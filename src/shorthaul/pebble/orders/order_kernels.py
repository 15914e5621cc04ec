"""Compiled loops of topological orders, and the levels of a graph."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def depth_first_order(
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    roots: cython.const_longlong[::1],
    rank: cython.const_longlong[::1],
) -> IntArray:
    """Return the nodes in postorder from ``roots`` upwards through ``parents``, shape (nodes reached,).

    The parents of a node are visited by descending ``rank``; equal ranks in the order given.
    """
    n: cython.Py_ssize_t = starts.shape[0] - 1
    state = np.zeros(n, np.uint8)
    order = np.empty(n, np.int64)
    stack = np.empty(n + parents.shape[0] + 1, np.int64)
    state_view: cython.uchar[::1] = state
    order_view: cython.longlong[::1] = order
    stack_view: cython.longlong[::1] = stack
    with cython.nogil:
        count = _depth_first(starts, parents, roots, rank, state_view, order_view, stack_view)
    return order[:count]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _depth_first(
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    roots: cython.const_longlong[::1],
    rank: cython.const_longlong[::1],
    state: cython.uchar[::1],
    order: cython.longlong[::1],
    stack: cython.longlong[::1],
) -> cython.Py_ssize_t:
    count: cython.Py_ssize_t = 0
    top: cython.Py_ssize_t
    first: cython.Py_ssize_t
    spot: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    for root in range(roots.shape[0]):
        top = 0
        stack[0] = roots[root]
        while top >= 0:
            node = stack[top]
            if state[node] != 0:
                if state[node] == 1:
                    state[node] = 2
                    order[count] = node
                    count += 1
                top -= 1
                continue
            state[node] = 1
            first = top + 1
            for edge in range(starts[node + 1] - 1, starts[node] - 1, -1):
                parent = parents[edge]
                if state[parent] == 0:
                    # insertion keeps the highest rank on top of the stack
                    top += 1
                    spot = top
                    while spot > first and rank[stack[spot - 1]] > rank[parent]:
                        stack[spot] = stack[spot - 1]
                        spot -= 1
                    stack[spot] = parent
    return count


def recent_first_order(
    missing: cython.longlong[::1],
    child_starts: cython.const_longlong[::1],
    children: cython.const_longlong[::1],
    roots: cython.const_longlong[::1],
) -> IntArray:
    """Return a topological order of all nodes that always takes the node made ready last, shape (n,).

    ``roots`` are the nodes without parents. ``missing`` counts the parents of each node, and is used up.
    """
    order = np.empty(missing.shape[0], np.int64)
    stack = np.empty(missing.shape[0], np.int64)
    order_view: cython.longlong[::1] = order
    stack_view: cython.longlong[::1] = stack
    with cython.nogil:
        _recent_first(missing, child_starts, children, roots, order_view, stack_view)
    return order


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _recent_first(
    missing: cython.longlong[::1],
    child_starts: cython.const_longlong[::1],
    children: cython.const_longlong[::1],
    roots: cython.const_longlong[::1],
    order: cython.longlong[::1],
    stack: cython.longlong[::1],
) -> cython.void:
    count: cython.Py_ssize_t = 0
    edge: cython.Py_ssize_t
    top: cython.Py_ssize_t
    for place in range(roots.shape[0]):
        top = 0
        stack[0] = roots[place]
        while top >= 0:
            node = stack[top]
            top -= 1
            order[count] = node
            count += 1
            for edge in range(child_starts[node + 1] - 1, child_starts[node] - 1, -1):
                child = children[edge]
                missing[child] -= 1
                if missing[child] == 0:
                    top += 1
                    stack[top] = child


def register_need(
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    weights: cython.const_longlong[::1],
) -> IntArray:
    """Return for every node the fast memory that its ancestors need if they were a tree, shape (n,).

    Sethi and Ullman's numbers for weights: parents are evaluated by descending need less weight, as stored.
    """
    need = np.empty(weights.shape[0], np.int64)
    need_view: cython.longlong[::1] = need
    by_slack: cython.longlong[::1] = np.empty(weights.shape[0], np.int64)
    with cython.nogil:
        _register_need(order, starts, parents, weights, need_view, by_slack)
    return need


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _register_need(
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    weights: cython.const_longlong[::1],
    need: cython.longlong[::1],
    by_slack: cython.longlong[::1],
) -> cython.void:
    i: cython.Py_ssize_t
    spot: cython.Py_ssize_t
    gap: cython.Py_ssize_t
    count: cython.Py_ssize_t
    for place in range(order.shape[0]):
        node = order[place]
        count = starts[node + 1] - starts[node]
        for i in range(count):
            by_slack[i] = parents[starts[node] + i]
        gap = count >> 1
        while gap > 0:  # Shell's method, equal ones by number
            for i in range(gap, count):
                parent = by_slack[i]
                slack = need[parent] - weights[parent]
                spot = i
                while spot >= gap:
                    other = by_slack[spot - gap]
                    ahead = need[other] - weights[other]
                    if ahead > slack or (ahead == slack and other < parent):
                        break
                    by_slack[spot] = other
                    spot -= gap
                by_slack[spot] = parent
            gap >>= 1
        held = 0
        peak = 0
        for i in range(count):
            parent = by_slack[i]
            peak = max(peak, held + need[parent])
            held += weights[parent]
        need[node] = max(peak, held + weights[node])


def lower_to_children(
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    values: cython.longlong[::1],
) -> None:
    """Give every node the least of its own value and its children's; negative values are none."""
    with cython.nogil:
        _lower(order, starts, parents, values)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lower(
    order: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    values: cython.longlong[::1],
) -> cython.void:
    edge: cython.Py_ssize_t
    for place in range(order.shape[0] - 1, -1, -1):
        node = order[place]
        for edge in range(starts[node], starts[node + 1]):
            parent = parents[edge]
            if values[parent] < 0 or values[node] < values[parent]:
                values[parent] = values[node]
