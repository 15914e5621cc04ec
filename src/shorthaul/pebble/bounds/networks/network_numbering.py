"""Nodes numbered as the generators number them, for networks whose nodes come in any order.

Each function returns a guess, which is right if the graph is such a network at all: whoever asks compares the edges.
"""

from __future__ import annotations

import numpy as np

from shorthaul.graphs.csr import component_of, layers
from shorthaul.pebble.model import Cdag, IntArray


def levels(cdag: Cdag) -> list[IntArray] | None:
    """Return the nodes by their distance from the inputs; None if an edge skips a level.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> [len(level) for level in levels(pyramid(n=2))]
    [3, 2, 1]
    """
    depth = layers(cdag.children, cdag.order)
    sources, targets = cdag.edge_arrays()
    if bool((depth[targets] != depth[sources] + 1).any()):
        return None
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.cumsum(np.bincount(depth))[:-1])


def along_a_row(cdag: Cdag, rows: list[IntArray], shared: int) -> IntArray | None:
    """Return the numbers of a network of rows in which neighbours, and they alone, share ``shared`` readers.

    The first row is put in order from one of its ends, each other row by where its operands stand on average. None if
    the first row is none.
    """
    first = _path(cdag, rows[0], shared)
    if first is None:
        return None
    place = np.zeros(cdag.n)
    place[first] = np.arange(len(first))
    ordered = [first]
    for row in rows[1:]:
        mean = np.array([place[cdag.parents.neighbours(v)].mean() for v in row.tolist()])
        ordered.append(row[np.argsort(mean, kind="stable")])
        place[ordered[-1]] = np.arange(len(row))
    return _numbers(cdag, ordered)


def _path(cdag: Cdag, row: IntArray, shared: int) -> IntArray | None:
    """Return the nodes of a row from end to end; None if those with ``shared`` common readers form no path."""
    near: dict[int, list[int]] = {}
    for v in row.tolist():
        counts: dict[int, int] = {}
        for reader in cdag.children.neighbours(v).tolist():
            for other in cdag.parents.neighbours(reader).tolist():
                counts[other] = counts.get(other, 0) + 1
        near[v] = [other for other, count in counts.items() if other != v and count == shared]
        if len(near[v]) > 2:
            return None
    ends = [v for v, others in near.items() if len(others) == 1]
    if len(ends) != 2:
        return None
    path, before = [ends[0]], -1
    while True:
        following = [other for other in near[path[-1]] if other != before]
        if not following:
            break
        before = path[-1]
        path.append(following[0])
    return np.array(path) if len(path) == len(row) else None


def butterfly(cdag: Cdag, rows: list[IntArray]) -> IntArray | None:
    """Return the numbers of a butterfly whose nodes have two operands and two readers each; None if it is none.

    Taken without its later levels it falls into butterflies that merge two by two, output by output. The first of two
    is numbered in its own way, and hands its outputs' numbers to the second, whose operands then follow from above.
    """
    inner_parents = cdag.parents.degrees()[np.concatenate(rows[1:])]
    inner_children = cdag.children.degrees()[np.concatenate(rows[:-1])]
    if bool((inner_parents != 2).any()) or bool((inner_children != 2).any()):
        return None
    return _Butterfly(cdag, rows).numbers()


class _Butterfly:
    def __init__(self, cdag: Cdag, rows: list[IntArray]) -> None:
        self._cdag, self._rows = cdag, rows
        self._parents = [cdag.parents.neighbours(v).tolist() for v in range(cdag.n)]
        self._children = [cdag.children.neighbours(v).tolist() for v in range(cdag.n)]
        self._place = [-1] * cdag.n
        self._piece = self._pieces()

    def _pieces(self) -> list[IntArray]:
        """Return for every level which piece of the graph up to there each node belongs to."""
        cdag = self._cdag
        depth = np.empty(cdag.n, dtype=np.int64)
        for level, row in enumerate(self._rows):
            depth[row] = level
        sources, targets = cdag.edge_arrays()
        found = []
        for level in range(len(self._rows)):
            inner = depth[targets] <= level
            found.append(component_of(cdag.n, sources[inner], targets[inner]))
        return found

    def numbers(self) -> IntArray | None:
        """Return the numbers of all nodes."""
        rows = self._rows
        outputs = [int(rows[0][0])]
        self._place[outputs[0]] = 0
        for level in range(1, len(rows)):
            above: list[int] = []
            handed: list[int] = []
            for v in outputs:
                one, other = self._children[v]
                partner = [p for p in self._parents[one] if p != v]
                if sorted(self._parents[other]) != sorted([v, *partner]) or self._place[partner[0]] >= 0:
                    return None
                row = self._place[v]
                self._place[partner[0]] = row + (1 << (level - 1))
                self._place[one], self._place[other] = row, row + (1 << (level - 1))
                handed.append(partner[0])
                above += [one, other]
            if not self._number_below(handed, level - 1):
                return None
            outputs = above
        if min(self._place) < 0:
            return None
        place = np.array(self._place)
        return _numbers(self._cdag, [row[np.argsort(place[row])] for row in rows])

    def _number_below(self, outputs: list[int], level: int) -> bool:
        """Number all levels below given outputs of one piece; False if they turn out to be numbered already."""
        for below in range(level - 1, -1, -1):
            bit, piece = 1 << below, self._piece[below]
            zero: dict[int, int] = {}  # of each larger piece, the smaller one whose rows have the bit 0
            reached: list[int] = []
            for v in outputs:
                for p in self._parents[v]:
                    if self._place[p] >= 0:
                        continue
                    first = zero.setdefault(int(self._piece[below + 1][v]), int(piece[p]))
                    row = self._place[v] & ~bit
                    self._place[p] = row if piece[p] == first else row | bit
                    reached.append(p)
            if len(reached) != len(outputs):
                return False
            outputs = reached
        return True


def _numbers(cdag: Cdag, ordered: list[IntArray]) -> IntArray:
    numbers = np.empty(cdag.n, dtype=np.int64)
    numbers[np.concatenate(ordered)] = np.arange(cdag.n)
    return numbers
