"""Loads between one computation and the next: what the next one reads and the one before did not leave.

Just after a node was computed, it and its operands are in fast memory, and little else where the budget is tight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.piece import Piece, names
from shorthaul.pebble.model import LARGEST_TOTAL, Cdag, IntArray

FloatArray = npt.NDArray[np.float64]

#: A unit of weight is charged in so many parts: the store of a value goes in equal ones to all its readers.
_PARTS = 5040
#: Rows of charges that are worked out at once.
_ROWS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and the prices of being the one before that show it."""

    excess: int
    prices: IntArray | None = None

    def pieces(self, cdag: Cdag) -> list[Piece]:
        """Return the bound as one piece, of the whole graph."""
        if self.prices is None or self.excess == 0:
            return []
        return [Piece(np.arange(cdag.n), self.excess, partial(self._shown, self.prices), len(self.prices))]

    def _shown(self, prices: IntArray, cdag: Cdag) -> list[dict[str, Any]]:
        nodes = names(cdag, np.flatnonzero(~cdag.given))
        return [{"kind": "successor", "nodes": nodes, "prices": prices.tolist()}]


def excess(cdag: Cdag, budget: int, *, search: Search) -> Found:
    """Return a lower bound on the traffic beyond inputs and outputs if no value is computed twice.

    Each node but the first is computed right after another one, and no two after the same. What it reads, and that
    one neither read nor is, was in the room that that one left, or is loaded in between; and it was stored before if
    it was computed: each reader is charged a share of that store. The cheapest way to give each node one before it
    is an assignment, and any prices of being the one before bound it from below.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> excess(pyramid(n=10, word=1), 3, search=Search()).excess
    70
    """
    steps = _steps(cdag, budget, search)
    if steps is None:
        return Found(0)
    price = kept = np.zeros(len(steps.kind))
    best, prices = steps.first_loads, kept.astype(np.int64)
    stride, found, last, halved = float(steps.after.max(initial=0)) / 2, 0, 0, 0
    for number in range(tuning.SUCCESSORS_ROUNDS if int(steps.after.max(axis=1).sum()) > best else 0):
        search.spend(steps.size / tuning.SUCCESSORS_RATE)
        if search.expired():
            break
        whole = np.floor(price).astype(np.int64)
        least, times = steps.least(whole)
        proven = int(least.sum()) - int(whole.sum())
        if proven > found:
            found, kept, last = proven, price, number
        elif number - last > tuning.SUCCESSORS_PATIENCE:
            stride, last, halved = stride / 2, number, halved + 1
            price = kept if halved > tuning.STRIDES_ONWARD else price
        if proven > best:
            best, prices = proven, whole
        price = np.maximum(0, price + stride * np.clip(times - 1, -1, 3))
    unit = _PARTS * int(np.gcd.reduce(cdag.weights))
    return Found(max(0, -(-(best - steps.first_loads) // unit) * (unit // _PARTS)), prices)


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """What computing one node right after another one is charged at least.

    ``after`` a node of the ``kind`` (they differ in the room that they leave, shape (nodes, kinds)), where the two have
    nothing in common, and for pairs that have, ascending by the later one (``later``, ``earlier``, ``charge``).
    ``first_loads`` is what of all charges is no excess.
    """

    after: IntArray
    kind: IntArray
    later: IntArray
    earlier: IntArray
    charge: IntArray
    first_loads: int

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


def _steps(cdag: Cdag, budget: int, search: Search) -> _Steps | None:
    """Return the charges, None where there is no time to find them.

    Values with very many readers are taken to be there at all times; inputs with one reader are loaded once anyway.
    """
    from scipy.sparse import csr_array

    weights, readers = cdag.weights, cdag.children.degrees()
    if int(weights.sum()) > LARGEST_TOTAL // (2 * _PARTS):
        return None
    per_unit = _PARTS + np.where(cdag.given, 0, _PARTS // np.maximum(1, readers))
    is_counted = (readers <= tuning.MOST_READERS) & ~(cdag.given & (readers == 1))
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
    return _Steps(after, kind, later, earlier, charge, first_loads)


def _spared(rooms: IntArray, dearest: IntArray, stored: IntArray) -> IntArray:
    """Return what rooms of so many units spare: their loads, and of the stores no more than all, or of the dearest."""
    spared: IntArray = np.minimum(rooms * dearest, rooms * _PARTS + stored)
    return spared
