"""Loads between sums that read all their products at once: sparse matrices times vectors, again and again.

A sum of many products fills the fast memory when it is computed. So little of what the next ones are made of was there
before: operands, or products computed beforehand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.graphs.csr import component_of, distinct
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.piece import Piece, names
from shorthaul.pebble.model import BoolArray, Cdag, IntArray

FloatArray = npt.NDArray[np.float64]

#: What rounding may add to a bound, relatively.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and the nodes that it is about.

    It is cut after every ``stretch``-th of the ``sums``, and charges each of their products so much.
    """

    excess: int
    nodes: IntArray
    sums: IntArray | None = None
    stretch: int = 1
    charge: float = 0.0

    def pieces(self) -> list[Piece]:
        """Return the bound as one piece."""
        if self.sums is None or self.excess == 0:
            return []
        return [Piece(self.nodes, self.excess, partial(self._shown, self.sums), len(self.sums))]

    def _shown(self, sums: IntArray, cdag: Cdag) -> list[dict[str, Any]]:
        cuts = {"stretch": self.stretch, "charge": self.charge}
        return [{"kind": "gather", **cuts, "sums": names(cdag, sums)}]


@dataclass(frozen=True, slots=True, eq=False)
class _Products:
    """Products of two inputs or sums that nothing but one sum reads: ``nodes``, ``sums``, ``one``, ``other``.

    ``is_sum`` (shape (n,)) tells which nodes are sums. Products hang together by operands in groups; ``most`` of one
    sum are in one group.
    ``is_bipartite``: each operand has one of two sides, in all its products. ``alike`` have the same two operands.
    """

    nodes: IntArray
    sums: IntArray
    one: IntArray
    other: IntArray
    is_sum: BoolArray
    most: int
    is_bipartite: bool
    alike: int

    def operands(self, products: int) -> FloatArray:
        """Return how many operands that many products of a group have at least, for 0..``products``."""
        count = np.arange(2 * products + 2)
        pairs = self.alike * (count * count // 4 if self.is_bipartite else count * (count - 1) // 2)
        return np.searchsorted(pairs, np.arange(products + 1)).astype(np.float64)


def excess(cdag: Cdag, budget: int, *, search: Search) -> Found:
    """Return a lower bound on the traffic beyond inputs and outputs if no value is computed twice.

    Cut a schedule after every q-th sum. Were all products of a stretch those of its q sums, their operands would be
    loaded, or have been in the room beside the last sum before, or be sums themselves. They are at least as many per
    product as those of q products of a group. A product that is computed in an earlier stretch is stored and loaded,
    or takes room when that ends; what such products share with others there is bounded too. The bound is the mean over
    the q ways to cut, for the best q. Sums that bring less than they spare the next ones are left out.

    >>> from shorthaul.pebble.workloads.sparse import exp
    >>> excess(exp(n=12, percent=30.0, k=4, most=1, seed=0), 8, search=Search()).excess
    55
    """
    best = Found(0, np.empty(0, dtype=np.int64))
    effort = (cdag.n + cdag.edges) / tuning.PASS_RATE
    if effort > search.left():
        return best
    search.spend(effort)
    products = _products(cdag)
    for stretch in range(1, tuning.LONGEST_STRETCH + 1):
        is_hopeless = len(products.nodes) == 0 or stretch * products.most > tuning.MOST_CARRIED
        if is_hopeless or search.left() < effort:
            break
        search.spend(effort)
        found = _stretched(cdag, products, budget, stretch)
        if found.excess > best.excess:
            best = found
    return best


def _products(cdag: Cdag) -> _Products:
    sources, targets = cdag.edge_arrays()
    private = (cdag.parents.degrees() > 0) & (cdag.children.degrees() == 1)
    is_sum = np.bincount(targets[private[sources]], minlength=cdag.n) >= 2
    into = np.full(cdag.n, -1, dtype=np.int64)
    ends = (private & ~is_sum)[sources] & is_sum[targets]
    into[sources[ends]] = targets[ends]
    counts = (into[targets] >= 0) & (cdag.given | is_sum)[sources]
    number = np.bincount(targets[counts], minlength=cdag.n)
    counts &= (number == 2)[targets]
    nodes, (one, other) = targets[counts][::2], sources[counts].reshape(-1, 2).T
    group = component_of(cdag.n, one, other)[one]
    _, in_group = np.unique(np.stack([into[nodes], group], axis=1), axis=0, return_counts=True)
    _, alike = np.unique(np.sort(np.stack([one, other], axis=1), axis=1), axis=0, return_counts=True)
    side = component_of(2 * cdag.n, np.concatenate([one, other]), np.concatenate([other, one]) + cdag.n)
    is_bipartite = not bool((side[one] == side[one + cdag.n]).any())
    return _Products(
        nodes, into[nodes], one, other, is_sum, int(in_group.max(initial=0)), is_bipartite, int(alike.max(initial=1))
    )  # fmt: skip


def _stretched(cdag: Cdag, products: _Products, budget: int, stretch: int) -> Found:
    """Return the bound from stretches of that many sums."""
    weights = cdag.weights
    lightest = int(weights[products.nodes].min())
    operand = int(min(weights[products.one].min(), weights[products.other].min()))
    together = stretch * products.most
    least = products.operands(together)
    ratio = float((least[1:] / np.arange(1, together + 1)).min())
    charge = min(ratio * operand, 2.0 * lightest)
    ratio = charge / operand
    room = budget - cdag.needs()
    fit = np.maximum(room, 0) // lightest
    gains = _gains(products, ratio, operand, lightest, together)
    dearest = max(0.0, charge - lightest) * fit
    gained = np.where(fit < len(gains), gains[np.minimum(fit, len(gains) - 1)], dearest)
    sources, targets = cdag.edge_arrays()
    serves = np.zeros(cdag.n, dtype=np.bool_)
    serves[products.one] = serves[products.other] = True
    beside = np.bincount(targets, (weights * serves)[sources], cdag.n)
    spared = (room + beside + gained) / stretch + weights * serves
    return replace(_from_worthy(cdag, products, charge, spared), stretch=stretch, charge=charge)


def _gains(products: _Products, ratio: float, operand: int, lightest: int, together: int) -> FloatArray:
    """Return what so many products computed in an earlier stretch spare beyond the room that they take, from 0 on.

    k of them in a group spare k charges later, and add to the operands now what e and k products need beyond e
    charges, where e are those of this stretch.
    """
    fit = tuning.MOST_CARRIED
    least = products.operands(together + fit)
    own = np.arange(together + 1)
    extra = least[own[None, :] + np.arange(fit + 1)[:, None]] - ratio * own
    alone = operand * (ratio * np.arange(fit + 1) - extra.min(axis=1)) - lightest * np.arange(fit + 1)
    best: FloatArray = np.maximum(alone, 0.0)
    for count in range(1, fit + 1):
        best[count] = max(best[count], best[count - 1], float((best[:count] + alone[count:0:-1]).max()))
    return best


def _from_worthy(cdag: Cdag, products: _Products, charge: float, spared: FloatArray) -> Found:
    """Return the bound from sums that bring more than they spare; products of other sums, or for them, do not count."""
    is_sum, n = products.is_sum.copy(), cdag.n
    is_sum[np.setdiff1d(np.flatnonzero(is_sum), products.sums)] = False
    while True:
        loaded = cdag.given | is_sum
        counts = is_sum[products.sums] & loaded[products.one] & loaded[products.other]
        sums, one, other = products.sums[counts], products.one[counts], products.other[counts]
        used = np.bincount(np.concatenate([one, other]), minlength=n)
        first = np.where(cdag.given & (used == 1), cdag.weights, 0)  # loaded once in any case
        worth = charge * (np.bincount(sums, minlength=n) + used) - np.bincount(sums, first[one] + first[other], n)
        dropped = is_sum & (worth < spared)
        if not dropped.any():
            break
        is_sum &= ~dropped
    if len(sums) == 0:
        return Found(0, np.empty(0, dtype=np.int64))
    operands = distinct(np.concatenate([one, other]))
    total = charge * len(sums) - float(spared[is_sum].sum()) - int(cdag.weights[operands[cdag.given[operands]]].sum())
    excess = max(0, math.ceil(total - _ROUNDING * charge * len(sums)))
    nodes = distinct(np.concatenate([operands, products.nodes[is_sum[products.sums]]]))
    return Found(excess, nodes, np.flatnonzero(is_sum))
