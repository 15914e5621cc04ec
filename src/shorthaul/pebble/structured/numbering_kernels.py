"""Compiled loops that number the nodes of a graph by its structure: refinement of cells, and orders by keys."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.pebble.structured.sorting_kernels import Sorter

IntArray = npt.NDArray[np.int64]


@cython.final
@cython.cclass
class Cells:
    """An ordered partition of the nodes, refined until all nodes of a cell have as many links to every cell.

    A cell is known by the place of its first node. Nothing depends on the order of the nodes within a cell.
    """

    parent_starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    child_starts: cython.const_longlong[::1]
    children: cython.const_longlong[::1]
    nodes = cython.declare(cython.longlong[::1], visibility="readonly")  # cell by cell
    place: cython.longlong[::1]
    cell: cython.longlong[::1]  # of each node
    size: cython.longlong[::1]  # of the cell that begins at a place
    queue: cython.longlong[::1]  # cells that others are still to be split by, in a ring
    is_queued: cython.uchar[::1]
    first: cython.Py_ssize_t
    waiting: cython.Py_ssize_t
    splitter: cython.longlong[::1]
    links: cython.longlong[::1]  # of each node to the splitter
    reached: cython.longlong[::1]  # of each cell, how many of its nodes have links; they stand at its end
    met: Sorter  # the cells that have such nodes
    by_links: cython.longlong[::1]  # room to sort by links
    counts: cython.longlong[::1]
    next: cython.Py_ssize_t  # cells before this place are single nodes
    work = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self,
        parent_starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        child_starts: cython.const_longlong[::1],
        children: cython.const_longlong[::1],
        colours: cython.const_longlong[::1],
        nodes: cython.longlong[::1],
    ) -> None:
        n = colours.shape[0]
        self.parent_starts = parent_starts
        self.parents = parents
        self.child_starts = child_starts
        self.children = children
        self.nodes = nodes
        self.place = np.empty(n, np.int64)
        self.cell = np.empty(n, np.int64)
        self.size = np.zeros(n, np.int64)
        self.queue = np.empty(n, np.int64)
        self.is_queued = np.zeros(n, np.uint8)
        self.splitter = np.empty(n, np.int64)
        self.links = np.zeros(n, np.int64)
        self.reached = np.zeros(n, np.int64)
        self.met = Sorter(n)
        self.by_links = np.empty(n, np.int64)
        self.counts = np.zeros(n + 1, np.int64)
        self.first = 0
        self.waiting = 0
        self.next = 0
        self.work = 0
        _begin(self, colours)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(cells: Cells, colours: cython.const_longlong[::1]) -> cython.void:
    """Make a cell of every colour; the nodes are sorted by it."""
    start: cython.longlong = 0
    for i in range(cells.nodes.shape[0]):
        v = cells.nodes[i]
        if i > 0 and colours[v] != colours[cells.nodes[i - 1]]:
            start = i
        cells.place[v] = i
        cells.cell[v] = start
        cells.size[start] += 1
    for i in range(cells.nodes.shape[0]):
        if cells.cell[cells.nodes[i]] == i:
            _push(cells, i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(cells: Cells, start: cython.longlong) -> cython.void:
    if not cells.is_queued[start]:
        cells.is_queued[start] = 1
        cells.queue[(cells.first + cells.waiting) % cells.queue.shape[0]] = start
        cells.waiting += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _swap(cells: Cells, first: cython.longlong, second: cython.longlong) -> cython.void:
    """Exchange the nodes at two places."""
    one = cells.nodes[first]
    other = cells.nodes[second]
    cells.nodes[first] = other
    cells.nodes[second] = one
    cells.place[other] = first
    cells.place[one] = second


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split_by(
    cells: Cells, count: cython.longlong, starts: cython.const_longlong[::1], targets: cython.const_longlong[::1]
) -> cython.void:
    """Split every cell by the links that its nodes have from the first ``count`` nodes of the splitter."""
    met: cython.longlong = 0
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    for i in range(count):
        for e in range(starts[cells.splitter[i]], starts[cells.splitter[i] + 1]):
            v = targets[e]
            start = cells.cell[v]
            if cells.links[v] == 0:
                if cells.reached[start] == 0:
                    cells.met.keys[met] = start
                    met += 1
                cells.reached[start] += 1
                _swap(cells, cells.place[v], start + cells.size[start] - cells.reached[start])
            cells.links[v] += 1
            cells.work += 1
    cells.met.number(met)
    cells.met.sort(met)
    for i in range(met):
        _split(cells, cells.met.keys[cells.met.places[i]])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(cells: Cells, start: cython.longlong) -> cython.void:
    """Split a cell by the links of its last nodes, the fewest first, and forget the links."""
    stop: cython.longlong = start + cells.size[start]
    begin: cython.longlong = stop - cells.reached[start]
    most: cython.longlong = 0
    least: cython.longlong = cells.links[cells.nodes[begin]]
    i: cython.longlong
    for i in range(begin, stop):
        most = max(most, cells.links[cells.nodes[i]])
        least = min(least, cells.links[cells.nodes[i]])
    if most > least:
        _order(cells, begin, stop, most)
    cells.reached[start] = 0
    largest: cython.longlong = start
    width: cython.longlong = begin - start
    was_queued: cython.bint = cells.is_queued[start] != 0
    if width > 0:
        cells.size[start] = width
    i = begin
    while i < stop:
        same = cells.links[cells.nodes[i]]
        end = i
        while end < stop and cells.links[cells.nodes[end]] == same:
            cells.cell[cells.nodes[end]] = i
            end += 1
        cells.size[i] = end - i
        if end - i > width:
            width = end - i
            largest = i
        i = end
    if cells.size[start] < stop - start:
        i = start
        while i < stop:
            if was_queued or i != largest:
                _push(cells, i)
            i += cells.size[i]
    for i in range(begin, stop):
        cells.links[cells.nodes[i]] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _order(cells: Cells, begin: cython.longlong, stop: cython.longlong, most: cython.longlong) -> cython.void:
    """Sort nodes by their links, which are ``most`` at most."""
    total: cython.longlong = 0
    for i in range(begin, stop):
        cells.by_links[i] = cells.nodes[i]
        cells.counts[cells.links[cells.nodes[i]]] += 1
    for i in range(most + 1):
        here = cells.counts[i]
        cells.counts[i] = total
        total += here
    for i in range(begin, stop):
        v = cells.by_links[i]
        spot = begin + cells.counts[cells.links[v]]
        cells.counts[cells.links[v]] += 1
        cells.nodes[spot] = v
        cells.place[v] = spot
    for i in range(most + 1):
        cells.counts[i] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _refine(cells: Cells) -> cython.void:
    """Split by the next cell that waits."""
    start = cells.queue[cells.first]
    count = cells.size[start]
    cells.first = (cells.first + 1) % cells.queue.shape[0]
    cells.waiting -= 1
    cells.is_queued[start] = 0
    for i in range(count):
        cells.splitter[i] = cells.nodes[start + i]
    cells.work += count
    _split_by(cells, count, cells.parent_starts, cells.parents)
    _split_by(cells, count, cells.child_starts, cells.children)


def advance(cells: Cells, work: cython.longlong) -> bool:
    """Refine for so many steps; where no cell divides, set a node of the first cell of several apart. True at the end.

    Where all nodes of each such cell look alike to all automorphisms, the outcome does not depend on which is taken.
    """
    work += cells.work
    with cython.nogil:
        while cells.work < work and (cells.waiting > 0 or cells.next < cells.nodes.shape[0]):
            if cells.waiting > 0:
                _refine(cells)
            elif cells.size[cells.next] == 1:
                cells.next += 1
            else:
                cells.size[cells.next] -= 1
                last = cells.next + cells.size[cells.next]
                cells.cell[cells.nodes[last]] = last
                cells.size[last] = 1
                cells.work += 1
                _push(cells, last)
    return bool(cells.waiting == 0 and cells.next == cells.nodes.shape[0])


def distances(
    parent_starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    child_starts: cython.const_longlong[::1],
    children: cython.const_longlong[::1],
    is_passed: cython.const_uchar[::1],
    roots: cython.const_longlong[::1],
) -> tuple[IntArray, IntArray]:
    """Return the distance of each node from the first of ``roots`` in its component, and the last nodes reached.

    Edges are taken in both directions; nodes that are not passed have distance -1. The last nodes are one of each
    component, in the order of their roots.
    """
    distance = np.full(is_passed.shape[0], -1, np.int64)
    queue = np.empty(is_passed.shape[0], np.int64)
    lasts = np.empty(roots.shape[0], np.int64)
    distance_view: cython.longlong[::1] = distance
    queue_view: cython.longlong[::1] = queue
    lasts_view: cython.longlong[::1] = lasts
    with cython.nogil:
        count = _walk(
            parent_starts, parents, child_starts, children, is_passed, roots, distance_view, queue_view, lasts_view
        )
    return distance, lasts[:count]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk(
    parent_starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    child_starts: cython.const_longlong[::1],
    children: cython.const_longlong[::1],
    is_passed: cython.const_uchar[::1],
    roots: cython.const_longlong[::1],
    distance: cython.longlong[::1],
    queue: cython.longlong[::1],
    lasts: cython.longlong[::1],
) -> cython.longlong:
    count: cython.longlong = 0
    first: cython.longlong
    size: cython.longlong
    e: cython.Py_ssize_t
    for i in range(roots.shape[0]):
        if distance[roots[i]] >= 0 or not is_passed[roots[i]]:
            continue
        queue[0] = roots[i]
        distance[roots[i]] = 0
        first = 0
        size = 1
        while first < size:
            v = queue[first]
            first += 1
            for e in range(parent_starts[v], parent_starts[v + 1]):
                size = _meet(parents[e], distance[v] + 1, is_passed, distance, queue, size)
            for e in range(child_starts[v], child_starts[v + 1]):
                size = _meet(children[e], distance[v] + 1, is_passed, distance, queue, size)
        lasts[count] = queue[size - 1]
        count += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _meet(
    node: cython.longlong,
    far: cython.longlong,
    is_passed: cython.const_uchar[::1],
    distance: cython.longlong[::1],
    queue: cython.longlong[::1],
    size: cython.longlong,
) -> cython.longlong:
    """Put a node that was not reached yet into the queue; return the queue's new size."""
    if distance[node] < 0 and is_passed[node]:
        distance[node] = far
        queue[size] = node
        size += 1
    return size
