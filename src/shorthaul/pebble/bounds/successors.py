"""Loads between one computation and the next: what the next one reads and the one before did not leave.

Just after a node was computed, it and its operands are in fast memory, and little else where the budget is tight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.graphs.csr import distinct
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds import parts
from shorthaul.pebble.bounds.piece import Piece, names
from shorthaul.pebble.model import LARGEST_TOTAL, BoolArray, Cdag, IntArray

FloatArray = npt.NDArray[np.float64]

#: A unit of weight is charged in so many parts: the store of a value goes in equal ones to all its readers.
_PARTS = 5040
#: Rows of charges that are worked out at once.
_ROWS = 4096
_NOTHING = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and what is proven of several overlapping sets of nodes.

    The first of the ``pieces`` is the best one.
    """

    excess: int
    pieces: tuple[Piece, ...] = ()


def excess(cdag: Cdag, budget: int, *, search: Search, taken: IntArray = _NOTHING) -> Found:
    """Return a lower bound on the traffic beyond inputs and outputs if no value is computed twice.

    Each node but the first is computed right after another one, and no two after the same. What it reads, and that
    one neither read nor is, was in the room that that one left, or is loaded in between; and it was stored before if
    it was computed: each reader is charged a share of that store. The cheapest way to give each node one before it
    is an assignment, and any prices of being the one before bound it from below. The same holds of any set of nodes,
    with what is read of each other and of inputs: nodes that leave much room are left out, as others would be
    computed after them for nothing. It holds of any of the values that they read, too: one piece is of those that are
    not ``taken`` by other arguments.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> excess(pyramid(n=10, word=1), 3, search=Search()).excess
    70
    """
    if int((cdag.weights + cdag.needs()).sum()) > LARGEST_TOTAL // (2 * _PARTS):  # what parts of it may weigh
        return Found(0)
    best: list[_Ascent] = []
    pieces: list[Piece] = []
    trying = search.part(tuning.SUCCESSORS_SETS)
    for nodes in _sets(cdag):
        best = sorted([*best, *_tried(cdag, nodes, budget, trying)], key=lambda ascent: -ascent.excess)
        pieces += [ascent.piece() for ascent in best[tuning.SUCCESSORS_KEPT :]]
        del best[tuning.SUCCESSORS_KEPT :]  # they may be large
    for ascent in best:
        ascent.go_on(tuning.SUCCESSORS_ROUNDS, search)
    most = max(best, key=lambda ascent: ascent.excess, default=None)
    pieces = sorted([*(ascent.piece() for ascent in best), *pieces], key=lambda piece: -piece.excess)
    if most is not None and np.isin(most.values, taken).any():
        for ascent in _tried(cdag, most.nodes, budget, search, taken):
            ascent.go_on(tuning.SUCCESSORS_ROUNDS, search)
            pieces.append(ascent.piece())
    return Found(pieces[0].excess if pieces else 0, tuple(piece for piece in pieces if piece.excess))


def _tried(cdag: Cdag, nodes: IntArray, budget: int, search: Search, taken: IntArray = _NOTHING) -> list[_Ascent]:
    """Return the prices of some nodes after a few rounds, if there is time; of values not ``taken``."""
    found = None if search.expired() else parts.restriction(cdag, nodes)
    steps = None if found is None else _steps(found[0], budget, search, np.isin(found[1], taken))
    if found is None or steps is None:
        return []
    ascent = _Ascent(found[1], ~found[0].given, steps)
    ascent.go_on(tuning.SUCCESSORS_TRIED, search)
    return [ascent]


def _sets(cdag: Cdag) -> Iterator[IntArray]:
    """Yield all nodes, and sets of those that need much, with and without the computed ones that they read."""
    yield np.arange(cdag.n)
    needs, (sources, targets) = cdag.needs(), cdag.edge_arrays()
    computed, counted = ~cdag.given, 0
    for least in np.unique(needs[computed])[:0:-1].tolist():
        chosen = computed & (needs >= least)
        if (count := int(np.count_nonzero(chosen))) < tuning.SUCCESSORS_MORE * counted:
            continue
        counted = count
        for with_read in (False, True):
            read = chosen[targets] & (with_read | cdag.given[sources])
            yield distinct(np.append(np.flatnonzero(chosen), sources[read]))


class _Ascent:
    """Prices of being the one before, on their way up, of one set of nodes."""

    def __init__(self, members: IntArray, computed: BoolArray, steps: _Steps) -> None:
        self.nodes, self.values = members[members >= 0], members[steps.values]
        self._computed, self._steps = members[computed], steps
        self._price = self._kept = np.zeros(len(steps.kind))
        self._best, self._prices = steps.first_loads, self._kept.astype(np.int64)
        self._stride, self._found = float(steps.after.max(initial=0)) / 2, 0
        self._rounds = self._last = self._halved = 0

    @property
    def excess(self) -> int:
        """What is proven so far."""
        unit = _PARTS * self._steps.unit
        return max(0, -(-(self._best - self._steps.first_loads) // unit) * (unit // _PARTS))

    def go_on(self, rounds: int, search: Search) -> None:
        """Raise prices up to the round of this number."""
        steps = self._steps
        if int(steps.after.max(axis=1).sum()) <= steps.first_loads:
            return
        while self._rounds < rounds:
            search.spend(steps.size / tuning.SUCCESSORS_RATE)
            if search.expired():
                break
            whole = np.floor(self._price).astype(np.int64)
            least, times = steps.least(whole)
            proven = int(least.sum()) - int(whole.sum())
            if proven > self._found:
                self._found, self._kept, self._last = proven, self._price, self._rounds
            elif self._rounds - self._last > tuning.SUCCESSORS_PATIENCE:
                self._stride, self._last, self._halved = self._stride / 2, self._rounds, self._halved + 1
                self._price = self._kept if self._halved > tuning.STRIDES_ONWARD else self._price
            if proven > self._best:
                self._best, self._prices = proven, whole
            self._price = np.maximum(0, self._price + self._stride * np.clip(times - 1, -1, 3))
            self._rounds += 1

    def piece(self) -> Piece:
        """Return what is proven of the nodes."""
        shown = partial(_shown, self._computed, self._prices, self.values)
        return Piece(self.values, self.excess, shown, len(self._prices) + len(self.values))


def _shown(nodes: IntArray, prices: IntArray, values: IntArray, cdag: Cdag) -> list[dict[str, Any]]:
    shown = {"nodes": names(cdag, nodes), "prices": prices.tolist(), "values": names(cdag, values)}
    return [{"kind": "successor", **shown}]


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """What computing one node right after another one is charged at least.

    ``after`` a node of the ``kind`` (they differ in the room that they leave, shape (nodes, kinds)), where the two have
    nothing in common, and for pairs that have, ascending by the later one (``later``, ``earlier``, ``charge``).
    ``values`` are those whose moves count, ``first_loads`` is what of all charges is no excess, ``unit`` divides all
    weights.
    """

    after: IntArray
    kind: IntArray
    later: IntArray
    earlier: IntArray
    charge: IntArray
    values: IntArray
    first_loads: int
    unit: int

    @property
    def size(self) -> int:
        """The number of charges."""
        return self.after.size + self.charge.size

    def least(self, price: IntArray) -> tuple[IntArray, FloatArray]:
        """Return each node's least charge and price of the node before it, and how often each is that one."""
        kinds = self.after.shape[1]
        cheapest = np.full(kinds, np.iinfo(np.int64).max // 2)
        np.minimum.at(cheapest, self.kind, price)
        least = (self.after + cheapest).min(axis=1)
        paid = self.charge + price[self.earlier]
        np.minimum.at(least, self.later, paid)
        taken = np.flatnonzero(paid == least[self.later])
        ties = np.bincount(self.later[taken], minlength=len(price))
        times = np.zeros(len(price))
        np.add.at(times, self.earlier[taken], 1 / ties[self.later[taken]])
        rest = ties == 0
        chosen = np.bincount((self.after[rest] + cheapest).argmin(axis=1), minlength=kinds)
        is_cheapest = price == cheapest[self.kind]
        times[is_cheapest] += (chosen / np.bincount(self.kind[is_cheapest], minlength=kinds))[self.kind[is_cheapest]]
        return least, times


def _steps(cdag: Cdag, budget: int, search: Search, is_taken: BoolArray) -> _Steps | None:
    """Return the charges, None where there is no time to find them; values that are taken count for nothing.

    Values with very many readers are taken to be there at all times; inputs with one reader are loaded once anyway.
    """
    from scipy.sparse import csr_array

    weights, readers = cdag.weights, cdag.children.degrees()
    per_unit = _PARTS + np.where(cdag.given, 0, _PARTS // np.maximum(1, readers))
    is_counted = (readers <= tuning.MOST_READERS) & (readers > cdag.given) & ~is_taken
    computed = np.flatnonzero(~cdag.given)
    m = len(computed)
    number = np.full(cdag.n, -1, dtype=np.int64)
    number[computed] = np.arange(m)
    sources, targets = cdag.edge_arrays()
    kept = is_counted[sources]
    sources, targets = sources[kept], number[targets[kept]]
    pairs = int((readers[sources] + 1).sum())
    if pairs > min(tuning.MOST_SUCCESSORS, tuning.SUCCESSOR_PAIRS_RATE * search.left()):
        return None
    search.spend(pairs / tuning.SUCCESSOR_PAIRS_RATE)
    reads = csr_array(((weights * per_unit)[sources], (targets, sources)), shape=(m, cdag.n))
    ones = np.ones(len(sources) + m, dtype=np.int64)
    leaves = csr_array((ones, (np.append(targets, np.arange(m)), np.append(sources, computed))), shape=(m, cdag.n))
    shared = (reads @ leaves.T).tocoo()
    later, earlier = shared.row.astype(np.int64), shared.col.astype(np.int64)
    other = later != earlier
    all_read = np.asarray(reads.sum(axis=1), dtype=np.int64)
    stored = np.bincount(targets, (weights * (per_unit - _PARTS))[sources], minlength=m).astype(np.int64)
    dearest = np.zeros(m, dtype=np.int64)
    np.maximum.at(dearest, targets, per_unit[sources])
    rooms, kind = np.unique(budget - cdag.needs()[computed], return_inverse=True)
    every = -(-len(rooms) // tuning.MOST_ROOMS)  # so many rooms next to each other count as the largest of them
    rooms, kind = np.append(rooms[every - 1 : -1 : every], rooms[-1]), kind // every
    after = np.empty((m, len(rooms)), dtype=np.int64)
    for first in range(0, m, _ROWS):
        rows = slice(first, first + _ROWS)
        spared = _spared(rooms, dearest[rows, None], stored[rows, None])
        after[rows] = np.maximum(0, all_read[rows, None] - spared)
    later, earlier = later[other], earlier[other]
    spared = _spared(rooms[kind[earlier]], dearest[later], stored[later])
    charge = np.maximum(0, all_read[later] - shared.data[other] - spared)
    first_loads = int((weights * _PARTS)[cdag.given & is_counted].sum())
    return _Steps(
        after, kind, later, earlier, charge, np.flatnonzero(is_counted), first_loads, int(np.gcd.reduce(weights))
    )


def _spared(rooms: IntArray, dearest: IntArray, stored: IntArray) -> IntArray:
    """Return what rooms of so many units spare: their loads, and of the stores no more than all, or of the dearest."""
    spared: IntArray = np.minimum(rooms * dearest, rooms * _PARTS + stored)
    return spared
