"""Automorphisms of a CDAG: of states that are alike but for the names of their nodes the exact search keeps one.

They are found by individualisation and refinement (McKay): fix nodes one by one; of the nodes that look like the next
one, each that an automorphism takes it to gives a generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.states import automorphism_kernels as kernels
from shorthaul.pebble.states.automorphism_kernels import Group

WordArray = npt.NDArray[np.uint64]

#: At most this many automorphisms are used.
_MOST = 96
#: Nodes tried as images before an automorphism is given up.
_MOST_TRIED = 400

#: No automorphism but the identity.
NO_GROUP = Group(np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0, 16, 1), dtype=np.uint64))


def automorphisms(cdag: Cdag, *, search: Search) -> IntArray:
    """Return automorphisms that keep the weights and the inputs, shape (count, n): row g takes node v to ``row[v]``.

    Those found in the time given; the identity is left out.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> automorphisms(pyramid(n=2), search=Search()).tolist()
    [[2, 1, 0, 4, 3, 5]]
    """
    return _Finder(cdag, search).find()


@dataclass(slots=True)
class _Tries:
    left: int


class _Finder:
    def __init__(self, cdag: Cdag, search: Search) -> None:
        self._cdag, self._search = cdag, search
        sources, targets = cdag.edge_arrays()
        self._edges = np.sort(sources * cdag.n + targets)
        self._ends = (sources, targets)
        parents, children = cdag.parents, cdag.children
        self._graph = kernels.Refinement(parents.starts, parents.targets, children.starts, children.targets)

    def find(self) -> IntArray:
        n = self._cdag.n
        rows: list[IntArray] = []
        base = self._refine((2 * self._cdag.weights + self._cdag.given).astype(np.uint64))
        while len(rows) < _MOST and not self._search.expired():
            cell = _first_cell(base)
            if len(cell) == 0:
                break
            node = int(cell[0])
            fixed = self._individualise(base, node)
            for other in cell[1:].tolist():
                if len(rows) == _MOST or self._search.expired():
                    break
                tries = _Tries(_MOST_TRIED)
                row = self._extend(fixed, self._individualise(base, other), tries)
                if row is not None:
                    rows.append(row)
            base = fixed
        return np.array(rows, dtype=np.int64).reshape(len(rows), n)

    def _refine(self, colours: WordArray) -> WordArray:
        refined = colours.copy()
        rounds = kernels.refine(self._graph, refined)
        size = self._cdag.n + self._cdag.edges
        self._search.spend(rounds * size / tuning.COLOURING_RATE + tuning.COLOURING_EFFORT)
        return refined

    def _individualise(self, colours: WordArray, node: int) -> WordArray:
        marked = colours.copy()
        marked[node] ^= np.uint64(0x5851F42D4C957F2D)
        return self._refine(marked)

    def _extend(self, left: WordArray, right: WordArray, tries: _Tries) -> IntArray | None:
        """Return an automorphism that takes every class of ``left`` to that of ``right``."""
        if tries.left <= 0 or self._search.expired() or not bool((np.sort(left) == np.sort(right)).all()):
            return None
        tries.left -= 1
        cell = _first_cell(left)
        if len(cell) == 0:
            row = np.empty(len(left), dtype=np.int64)
            row[np.argsort(left)] = np.argsort(right)
            return row if self._keeps_edges(row) else None
        node = int(cell[0])
        fixed = self._individualise(left, node)
        images = np.flatnonzero(right == left[node]).tolist()
        for image in sorted(images, key=lambda v: v != node):  # as little is moved as may be
            found = self._extend(fixed, self._individualise(right, image), tries)
            if found is not None:
                return found
        return None

    def _keeps_edges(self, row: IntArray) -> bool:
        sources, targets = self._ends
        moved = np.sort(row[sources] * self._cdag.n + row[targets])
        kinds = 2 * self._cdag.weights + self._cdag.given
        return bool((moved == self._edges).all()) and bool((kinds[row] == kinds).all())


def _first_cell(colours: WordArray) -> IntArray:
    """Return the nodes of the smallest class of more than one, ascending; none if all differ."""
    _, inverse, counts = np.unique(colours, return_inverse=True, return_counts=True)
    sizes = counts[inverse]
    several = np.flatnonzero(sizes > 1)
    if len(several) == 0:
        return several
    first = several[np.argmin(sizes[several])]
    return np.flatnonzero(inverse == inverse[first])


def group_of(rows: IntArray) -> Group:
    """Return the automorphisms as tables of the images of four nodes at a time."""
    count, n = rows.shape
    if count == 0:
        return NO_GROUP
    words, groups = (n + 63) // 64, (n + 3) // 4
    images = np.zeros((count, groups, 16, words), dtype=np.uint64)
    for v in range(n):
        bits = np.flatnonzero(np.arange(16) >> (v & 3) & 1)
        for g in range(count):
            image = int(rows[g, v])
            images[g, v >> 2, bits, image >> 6] |= np.uint64(1 << (image & 63))
    return Group(np.ascontiguousarray(rows), images)
