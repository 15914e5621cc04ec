"""Parts of :mod:`crossing` that share nodes, found by prices of nodes, and how much of each is taken.

The most that shares of parts come to is a linear program. Its prices tell where a further part would raise the sum:
past a node, the disjoint paths worth most beyond the prices of their nodes are a flow of least cost. Shares are found
by raising the prices of what is taken (Garg and Koenemann 1998), within 2 % of the best ones; any shares are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.crossings import flow_kernels, share_kernels
from shorthaul.pebble.bounds.crossings.part import Part
from shorthaul.pebble.model import Cdag, IntArray

FloatArray = npt.NDArray[np.float64]

#: Sweeps over all parts between looks at their sum, and looks without a thousandth more after which it is left.
_SWEEPS, _LOOKS, _MORE = 20, 8, 1.001


def shared(
    cdag: Cdag, budget: int, known: Sequence[Part], *, search: Search, partial: bool = False
) -> list[tuple[Part, Fraction]]:
    """Return parts, the ``known`` ones among them, with shares of which no node gives more than itself.

    Nodes are looked at in a drawn order, over and over, as long as the search goes on and enough comes of it.
    """
    parts, weight = list(known), float(np.median(cdag.weights))
    prices = np.full(cdag.n, tuning.FIRST_NODE_PRICE * weight)
    for part in parts:
        prices[part.nodes] *= 1 + tuning.NODE_PRICE_STEP
    flows = _Flows(cdag, budget, prices, partial=partial)
    best: list[tuple[Part, Fraction]] = []
    reached, step = Fraction(0), tuning.NODE_PRICE_STEP
    order = search.generator().permutation(np.flatnonzero(cdag.parents.degrees() > 0))
    for turn in range(tuning.CROSSINGS_TURNS):
        new = flows.past(order, turn, step, search)
        parts += new
        if not parts:
            break
        found, now = _Sum(cdag.n, parts).found(search)
        total = sum((share * part.moved for part, share in found), Fraction(0))
        if total > reached:
            best, reached = found, total
        if search.expired() or len(new) < tuning.CROSSINGS_NEW * len(parts):
            break
        prices[:] = now + tuning.LAST_NODE_PRICE * weight
        step = tuning.LATER_PRICE_STEP
    return best


class _Flows:
    """The search for paths past nodes."""

    def __init__(self, cdag: Cdag, budget: int, prices: FloatArray, *, partial: bool = False) -> None:
        self._nodes, self._then = np.empty((2, cdag.n), dtype=np.int64)
        self._prices, self._budget = prices, budget
        self._flow = flow_kernels.Flow(
            cdag.weights, cdag.given.view(np.uint8), cdag.parents.starts, cdag.parents.targets,
            cdag.children.starts, cdag.children.targets, prices, self._nodes, self._then, partial,
        )  # fmt: skip
        self._least = np.unique(np.quantile(cdag.weights, (0.0, 0.5), method="nearest")).tolist()
        readers = cdag.children.degrees()
        self._has_common = (readers > 1) & (readers <= tuning.MOST_COMMON_READERS) & (not partial)
        self._most = 256 + 16 * int(budget / cdag.weights.mean())

    def past(self, order: IntArray, turn: int, step: float, search: Search) -> list[Part]:
        """Return a part for each node of an order, if one proves more than its nodes cost; raise their prices then.

        Paths go around one node after the other, then to its readers from what all of them need; through nodes of the
        least weight, or the median one, in turn.
        """
        found = list[Part]()
        for is_common, nodes in ((False, order), (True, order[self._has_common[order]])):
            for place, node in enumerate(nodes.tolist(), turn):
                if search.expired():
                    return found
                part = self._part(node, self._least[place % len(self._least)], is_common, search)
                if part is not None:
                    found.append(part)
                    self._prices[part.nodes] *= 1 + step
        return found

    def _part(self, node: int, least: int, is_common: bool, search: Search) -> Part | None:
        flow = self._flow
        work = flow.work
        moved = flow_kernels.past(flow, node, self._budget, least, self._most, is_common)
        search.spend((flow.work - work) / tuning.FLOWS_RATE + tuning.FLOW_EFFORT)
        if moved <= flow.price:
            return None
        return Part(self._nodes[: flow.count].copy(), self._then[: flow.count].copy(), moved, -1 if is_common else node)


class _Sum:
    """Parts, and how often each was taken."""

    def __init__(self, n: int, parts: Sequence[Part]) -> None:
        sizes = np.array([len(part.nodes) for part in parts])
        self._n, self._parts = n, parts
        self._nodes = np.concatenate([part.nodes for part in parts])
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._values = np.array([part.moved for part in parts], dtype=np.int64)
        self._owner = np.repeat(np.arange(len(parts)), sizes)

    def found(self, search: Search) -> tuple[list[tuple[Part, Fraction]], FloatArray]:
        """Return the parts with their shares, and prices of nodes at which hardly any costs less than it proves."""
        taken, prices = self._taken(search)
        size = np.diff(self._starts)
        if int(size[taken > 0].sum()) > tuning.MOST_SHARED_NAMES:
            ranked = np.argsort(-taken * self._values, kind="stable")
            kept = np.sort(ranked[np.cumsum(size[ranked]) <= tuning.MOST_SHARED_NAMES])
            if not len(kept):
                return [], prices
            return _Sum(self._n, [self._parts[at] for at in kept.tolist()]).found(search)[0], prices
        load = self._load(taken)
        whole = int(load.max())
        for at in np.argsort(-self._values / size, kind="stable").tolist():  # what is left goes to those worth most
            nodes = self._nodes[self._starts[at] : self._starts[at + 1]]
            more = whole - int(load[nodes].max())
            taken[at] += more
            load[nodes] += more
        return [(self._parts[at], Fraction(int(taken[at]), whole)) for at in np.flatnonzero(taken).tolist()], prices

    def _taken(self, search: Search) -> tuple[IntArray, FloatArray]:
        taken, prices = np.zeros(len(self._parts), dtype=np.int64), np.ones(self._n)
        shares = share_kernels.Shares(self._starts, self._nodes, self._values, taken, prices)
        best, looks, most = taken, 0, 0.0
        mean: FloatArray = np.zeros(self._n)
        while looks < _LOOKS and not (search.expired() and most):
            work = shares.work
            for _ in range(_SWEEPS):
                limit = share_kernels.take(shares, tuning.SHARE_STEP)
            search.spend((shares.work - work) / tuning.SHARES_RATE)
            if not taken.any():
                continue
            value = float(taken @ self._values) / int(self._load(taken).max())
            looks = 0 if value > most * _MORE else looks + 1
            if value > most:
                best, most = taken.copy(), value
            mean = 0.7 * mean + 0.3 * prices * ((1 + tuning.SHARE_STEP) / limit)
        return best.copy(), mean

    def _load(self, taken: IntArray) -> IntArray:
        return np.bincount(self._nodes, taken[self._owner], self._n).astype(np.int64)
