"""Compiled kernels of Liu's order (1987) for the pieces of a tree, and the moves of that order."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.queue_kernels import Stack
from cython.cimports.shorthaul.pebble.structured.sorting_kernels import Sorter
from cython.cimports.shorthaul.pebble.structured.tree_cuts_kernels import Tree


@cython.final
@cython.cclass
class Pieces:
    """Liu's order of the nodes within each piece that the ``cut`` nodes leave, as far as it is found.

    The piece that ends in a cut node or root v starts with ``first[v]`` and goes on with ``following``, -1 at its end;
    it needs ``peaks[v]``. The segments of a node are a run of one list, linked to the nodes they compute.
    """

    cut: cython.const_longlong[::1]
    following: cython.longlong[::1]
    first: cython.longlong[::1]
    peaks = cython.declare(cython.longlong[::1], visibility="readonly")
    starts: cython.longlong[::1]  # the segments of each node
    stops: cython.longlong[::1]
    hills: Stack
    valleys: Stack
    firsts: Stack
    lasts: Stack
    segments: cython.longlong[::1]  # of the operands of the node at hand, with the valley before each
    before: cython.longlong[::1]
    sorter: Sorter
    position: cython.Py_ssize_t

    def __init__(self, cut: cython.const_longlong[::1]) -> None:
        n = cut.shape[0]
        self.cut = cut
        self.following = np.full(n, -1, np.int64)
        self.first = np.full(n, -1, np.int64)
        self.peaks = np.zeros(n, np.int64)
        self.starts = np.zeros(n, np.int64)
        self.stops = np.zeros(n, np.int64)
        self.hills = Stack()
        self.valleys = Stack()
        self.firsts = Stack()
        self.lasts = Stack()
        self.segments = np.empty(n, np.int64)
        self.before = np.empty(n, np.int64)
        self.sorter = Sorter(n)
        self.position = 0


def advance(pieces: Pieces, tree: Tree, segments: cython.longlong) -> bool:
    """Order about ``segments`` further segments; True at the end."""
    with cython.nogil:
        while segments > 0 and pieces.position < tree.order.shape[0]:
            segments -= 1 + _order(pieces, tree, tree.order[pieces.position])
            pieces.position += 1
    return bool(pieces.position == tree.order.shape[0])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _order(pieces: Pieces, tree: Tree, v: cython.longlong) -> cython.Py_ssize_t:
    """Order what ``v`` is computed from; return the number of segments."""
    base: cython.Py_ssize_t = pieces.hills.size
    count: cython.Py_ssize_t = 0
    edge: cython.Py_ssize_t
    held: cython.longlong = 0
    for edge in range(tree.parent_starts[v], tree.parent_starts[v + 1]):
        node = tree.parents[edge]
        if pieces.cut[node]:
            continue
        now = 0
        for at in range(pieces.starts[node], pieces.stops[node]):
            pieces.sorter.keys[count] = pieces.valleys.items[at] - pieces.hills.items[at]
            pieces.segments[count] = at
            pieces.before[count] = now
            now = pieces.valleys.items[at]
            count += 1
    pieces.sorter.number(count)
    pieces.sorter.sort(count)
    for i in range(count):
        at = pieces.segments[pieces.sorter.places[i]]
        now = held - pieces.before[pieces.sorter.places[i]]
        held = now + pieces.valleys.items[at]
        _append(pieces, base, now + pieces.hills.items[at], held, pieces.firsts.items[at], pieces.lasts.items[at])
    _append(pieces, base, max(tree.twin_needs[v], tree.operands[v] + tree.weights[v]), tree.weights[v], v, v)
    pieces.starts[v] = base
    pieces.stops[v] = pieces.hills.size
    for i in range(base + 1, pieces.hills.size):
        pieces.following[pieces.lasts.items[i - 1]] = pieces.firsts.items[i]
    pieces.following[v] = -1
    pieces.first[v] = pieces.firsts.items[base]
    pieces.peaks[v] = pieces.hills.items[base]
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _append(
    pieces: Pieces, base: cython.Py_ssize_t, hill: cython.longlong, valley: cython.longlong, first: cython.longlong,
    last: cython.longlong,
) -> cython.void:  # fmt: skip
    """Append a segment to those from ``base`` on, so that hills fall and valleys rise."""
    top: cython.Py_ssize_t = pieces.hills.size - 1
    while top >= base and (hill >= pieces.hills.items[top] or valley <= pieces.valleys.items[top]):
        pieces.following[pieces.lasts.items[top]] = first
        first = pieces.firsts.items[top]
        hill = max(hill, pieces.hills.items[top])
        top -= 1
    pieces.hills.size = top + 1
    pieces.valleys.size = top + 1
    pieces.firsts.size = top + 1
    pieces.lasts.size = top + 1
    pieces.hills.push(hill)
    pieces.valleys.push(valley)
    pieces.firsts.push(first)
    pieces.lasts.push(last)


@cython.final
@cython.cclass
class Moves:
    """The moves of the pieces, one piece after another, each result stored.

    ``all_parents`` holds inputs too (those are the nodes without entries in it), ``twins`` the outputs computed from
    the same operands, which are computed, stored and dropped just before their node.
    """

    all_starts: cython.const_longlong[::1]
    all_parents: cython.const_longlong[::1]
    twin_starts: cython.const_longlong[::1]
    twins: cython.const_longlong[::1]
    kinds = cython.declare(cython.uchar[::1], visibility="readonly")
    nodes = cython.declare(cython.longlong[::1], visibility="readonly")
    count = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(
        self,
        all_starts: cython.const_longlong[::1],
        all_parents: cython.const_longlong[::1],
        twin_starts: cython.const_longlong[::1],
        twins: cython.const_longlong[::1],
    ) -> None:
        # a load and a deletion of every operand, three moves of a node or twin
        most = 2 * all_parents.shape[0] + 3 * (all_starts.shape[0] + twins.shape[0])
        self.all_starts = all_starts
        self.all_parents = all_parents
        self.twin_starts = twin_starts
        self.twins = twins
        self.kinds = np.empty(most, np.uint8)
        self.nodes = np.empty(most, np.int64)
        self.count = 0


def emit(moves: Moves, pieces: Pieces, tree: Tree) -> None:
    """Write the moves."""
    with cython.nogil:
        for position in range(tree.order.shape[0]):
            last = tree.order[position]
            if not pieces.cut[last] and not tree.is_root[last]:
                continue
            node = pieces.first[last]
            while node >= 0:
                _compute(moves, pieces, node)
                node = pieces.following[node]
            _move(moves, 1, last)
            _move(moves, 3, last)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compute(moves: Moves, pieces: Pieces, node: cython.longlong) -> cython.void:
    edge: cython.Py_ssize_t
    for edge in range(moves.all_starts[node], moves.all_starts[node + 1]):
        parent = moves.all_parents[edge]
        if pieces.cut[parent] or moves.all_starts[parent] == moves.all_starts[parent + 1]:
            _move(moves, 0, parent)
    for edge in range(moves.twin_starts[node], moves.twin_starts[node + 1]):
        _move(moves, 2, moves.twins[edge])
        _move(moves, 1, moves.twins[edge])
        _move(moves, 3, moves.twins[edge])
    _move(moves, 2, node)
    for edge in range(moves.all_starts[node], moves.all_starts[node + 1]):
        _move(moves, 3, moves.all_parents[edge])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(moves: Moves, kind: cython.uchar, node: cython.longlong) -> cython.void:
    """Write a move: 0 load, 1 store, 2 compute, 3 delete."""
    moves.kinds[moves.count] = kind
    moves.nodes[moves.count] = node
    moves.count += 1
