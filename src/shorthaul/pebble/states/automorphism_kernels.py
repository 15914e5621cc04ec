"""Colours of a graph's nodes for finding automorphisms, and states turned by automorphisms into a small form."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.bits import wrapped_product, wrapped_sum

#: How many automorphisms applied to one state are noted.
_TRAIL = 10_000


@cython.final
@cython.cclass
class Refinement:
    """A graph whose nodes are coloured, with room to work in."""

    parent_starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    child_starts: cython.const_longlong[::1]
    children: cython.const_longlong[::1]
    fresh: cython.ulonglong[::1]
    seen: cython.ulonglong[::1]  # a hash table of colours; 0 is none

    def __init__(
        self,
        parent_starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        child_starts: cython.const_longlong[::1],
        children: cython.const_longlong[::1],
    ) -> None:
        n = parent_starts.shape[0] - 1
        self.parent_starts = parent_starts
        self.parents = parents
        self.child_starts = child_starts
        self.children = children
        self.fresh = np.empty(n, np.uint64)
        self.seen = np.empty(1 << (2 * n).bit_length(), np.uint64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mixed(value: cython.ulonglong) -> cython.ulonglong:
    value = wrapped_product(value ^ (value >> 30), 0xBF58_476D_1CE4_E5B9)
    value = wrapped_product(value ^ (value >> 27), 0x94D0_49BB_1331_11EB)
    return value ^ (value >> 31)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _recolour(graph: Refinement, colours: cython.const_ulonglong[::1]) -> cython.longlong:
    """Write fresh colours by those of node, parents and children; return how many differ."""
    count: cython.longlong = 0
    mask: cython.longlong = graph.seen.shape[0] - 1
    i: cython.Py_ssize_t
    for i in range(graph.seen.shape[0]):
        graph.seen[i] = 0
    for v in range(colours.shape[0]):
        above = 0
        below = 0
        for i in range(graph.parent_starts[v], graph.parent_starts[v + 1]):
            above = wrapped_sum(above, _mixed(wrapped_sum(colours[graph.parents[i]], 1)))
        for i in range(graph.child_starts[v], graph.child_starts[v + 1]):
            below = wrapped_sum(below, _mixed(wrapped_sum(colours[graph.children[i]], 2)))
        colour = wrapped_sum(_mixed(wrapped_sum(above, 3)), _mixed(wrapped_sum(below, 5)))
        colour = _mixed(wrapped_sum(colours[v], colour))
        graph.fresh[v] = colour
        if colour == 0:
            colour = 1
        slot = cython.cast(cython.longlong, colour >> 1) & mask
        while graph.seen[slot] != 0 and graph.seen[slot] != colour:
            slot = (slot + 1) & mask
        if graph.seen[slot] == 0:
            graph.seen[slot] = colour
            count += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _refine(graph: Refinement, colours: cython.ulonglong[::1]) -> cython.longlong:
    classes: cython.longlong = 0
    rounds: cython.longlong = 1
    count: cython.longlong = _recolour(graph, colours)
    while count != classes:
        classes = count
        for v in range(colours.shape[0]):
            colours[v] = graph.fresh[v]
        count = _recolour(graph, colours)
        rounds += 1
    return rounds


def refine(graph: Refinement, colours: cython.ulonglong[::1]) -> int:
    """Refine ``colours`` by those of parents and children until no class divides; return how many rounds it took.

    A colour depends on the graph and the colours given alone, not on the numbers of the nodes.
    """
    with cython.nogil:
        rounds = _refine(graph, colours)
    return int(rounds)


@cython.final
@cython.cclass
class Group:
    """Automorphisms: g takes v to ``rows[g, v]``, and the nodes 4 i + j of the bits j to ``images[g, i, bits]``.

    ``image`` is room for a state, ``trail`` what was applied to the last one, as far as it is long.
    """

    def __init__(self, rows: cython.const_longlong[:, ::1], images: cython.const_ulonglong[:, :, :, ::1]) -> None:
        self.rows = rows
        self.images = images
        self.words = images.shape[3]
        self.image = np.empty(3 * images.shape[3], np.uint64)
        self.trail = np.empty(_TRAIL, np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compared(
    group: Group,
    number: cython.longlong,
    sets: cython.const_ulonglong[::1],
    first: cython.longlong,
    part: cython.longlong,
) -> cython.longlong:
    """Write the image of a third of the state at ``first``; return -1, 0 or 1 as it is smaller, equal or larger."""
    words: cython.longlong = group.words
    begin: cython.longlong = part * words
    bits: cython.longlong
    k: cython.Py_ssize_t
    for k in range(words):
        group.image[begin + k] = 0
    for i in range(group.images.shape[1]):
        bits = (sets[first + begin + (i >> 4)] >> (4 * (i & 15))) & 15
        if bits:
            for k in range(words):
                group.image[begin + k] |= group.images[number, i, bits, k]
    for k in range(begin, begin + words):
        if group.image[k] != sets[first + k]:
            return -1 if group.image[k] < sets[first + k] else 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_of_orbits(
    group: Group,
    sets: cython.const_ulonglong[::1],
    first: cython.longlong,
    nodes: cython.longlong[::1],
    count: cython.longlong,
) -> cython.longlong:
    """Keep of the first ``count`` nodes those that no automorphism which keeps the state takes lower; return how many.

    What follows computing a node is then, but for names, what follows computing one that is kept.
    """
    kept: cython.longlong
    part: cython.Py_ssize_t
    i: cython.Py_ssize_t
    for number in range(group.rows.shape[0]):
        if count == 1:
            break
        part = 0
        while part < 3 and _compared(group, number, sets, first, part) == 0:
            part += 1
        if part == 3:
            kept = 0
            for i in range(count):
                if group.rows[number, nodes[i]] >= nodes[i]:
                    nodes[kept] = nodes[i]
                    kept += 1
            count = kept
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make_small(group: Group, sets: cython.ulonglong[::1], first: cython.longlong) -> cython.longlong:
    """Turn the state at ``first`` by automorphisms as long as one makes it smaller; return how many were applied."""
    steps: cython.longlong = 0
    number: cython.longlong = 0
    unchanged: cython.longlong = 0
    part: cython.Py_ssize_t
    k: cython.Py_ssize_t
    while unchanged < group.images.shape[0]:
        order = 0
        for part in range(3):
            if order == 0:
                order = _compared(group, number, sets, first, part)
            elif order < 0:
                _compared(group, number, sets, first, part)
        if order < 0:
            for k in range(3 * group.words):
                sets[first + k] = group.image[k]
            if steps < group.trail.shape[0]:
                group.trail[steps] = number
            steps += 1
            unchanged = 0
        else:
            unchanged += 1
            number += 1
            if number == group.images.shape[0]:
                number = 0
    return steps


def turn(group: Group, state: cython.ulonglong[::1]) -> list[int]:
    """Make one state small; return the numbers of the automorphisms that were applied to it."""
    with cython.nogil:
        steps = make_small(group, state, 0)
    return [group.trail[i] for i in range(steps)]
