"""S-partition bounds: the most values that a given number of loads can compute (Hong and Kung 1981, with constants).

A schedule is cut, from its end, into segments of T loaded words each; only the first may load less, and it starts with
an empty memory. If no segment computes more than M of N values, and one that loads r < T computes r M / T at most, then
T N / M words are loaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.networks import known_networks
from shorthaul.pebble.bounds.piece import Piece, names
from shorthaul.pebble.bounds.sums_of_products import Contraction, contractions
from shorthaul.pebble.model import Cdag, IntArray

FloatArray = npt.NDArray[np.float64]

#: Loads per segment that are tried, in budgets.
_LENGTHS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 128.0)
#: Prices of sums that start or are left, in terms per sum and root of the budget.
_PRICES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0, 1.5, 2.0)
#: Amounts of sums are grouped into this many classes, each taken at its better end.
_CLASSES = 160
#: What rounding may add to a bound, relatively.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and disjoint pieces that it is the sum of."""

    excess: int
    pieces: tuple[Piece, ...]


def excess(cdag: Cdag, budget: int, *, recompute: bool, search: Search) -> Found:
    """Return the S-partition bound of a recognised network, or of all sums of products together.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import matmul
    >>> excess(matmul(m=16, n=16, k=16, word=1), 16, recompute=False, search=Search()).excess
    991
    """
    for graph, nodes in known_networks.with_and_without_walls(cdag):
        network = known_networks.recognised(graph, search=search)
        if network is not None:
            found = known_networks.excess(graph, network, budget, recompute=recompute)
            piece = Piece(nodes, found.excess, partial(found.shown, network, nodes), len(nodes))
            return Found(found.excess, (piece,) if found.excess else ())
    if cdag.n > tuning.MOST_FOR_PRODUCTS:
        return Found(0, ())
    pieces, failures = [], 0
    for one in contractions(cdag, search=search):
        cut = contraction_excess(cdag, one, budget, recompute=recompute, search=search)
        failures = 0 if cut.excess else failures + 1
        if cut.excess:
            size = 3 * len(one.terms) + 2 * len(one.accumulators)
            pieces.append(Piece(one.nodes, cut.excess, partial(cut.shown, one), size))
        elif failures == tuning.PRODUCTS_PATIENCE:
            break
    return Found(sum(piece.excess for piece in pieces), tuple(pieces))


@dataclass(frozen=True, slots=True)
class Cut:
    """What a contraction moves beyond inputs and outputs, by segments of so many words, and prices of sums."""

    excess: int
    loaded: int = 1
    begun: float = 0.0
    left: float = 0.0

    def shown(self, found: Contraction, cdag: Cdag) -> list[dict[str, Any]]:
        """Return the certificate."""
        terms = names(cdag, np.column_stack([found.terms, found.pairs]))
        nodes = names(cdag, found.accumulators)
        after = [None if node < 0 else cdag.id_of(node) for node in found.after.tolist()]
        prices = {"loaded": self.loaded, "begun": self.begun, "left": self.left}
        parts = {
            "terms": [terms[at : at + 3] for at in range(0, len(terms), 3)],
            "coordinates": found.places.tolist(),
            "sums": [list(pair) for pair in zip(nodes, after, strict=True)],
        }
        return [{"kind": "product", **prices, **parts}]


def contraction_excess(cdag: Cdag, found: Contraction, budget: int, *, recompute: bool, search: Search) -> Cut:
    """Return a lower bound on what the nodes of a contraction move beyond inputs and outputs.

    Let a segment find a left operands, b right ones and p partial values of sums in fast memory at its start or among
    its T loads (a computed operand counts as loaded where it is computed), so that their weights are at most budget
    plus T. It computes at most sqrt(d a b c) terms of c sums (Loomis and Whitney). Each of the c sums leaves a value
    in fast memory or in slow memory at the end, or is complete; and in all, the segments that meet a sum are at most
    one more than the partial values found. With a price on both, what a segment may compute is maximised over p and c.

    With ``recompute`` it holds where all operands are inputs and all sums outputs, without the last argument. Lengths
    of segments and prices are tried as long as the search goes on: each gives a bound.
    """
    given, widest = cdag.is_input(), int(cdag.weights[found.nodes].max())
    if int(cdag.weights[found.operands].sum()) + 3 * widest <= budget:
        return Cut(0)  # all operands fit at once, with a sum, a term and the sum after it
    if recompute and not (found.ends_in_outputs and bool(given[found.operands].all())):
        return Cut(0)
    terms, sums = len(found.left), int(found.sums.max()) + 1
    left = (
        max(float(sums), int(cdag.weights[found.results].sum()) / found.sum_weight) if found.ends_in_outputs else sums
    )
    room = budget / found.sum_weight
    step = math.sqrt(max(1.0, room * found.duplicates))
    best, cut = 0.0, (1, 0.0, 0.0)
    for length in _LENGTHS:
        loads = max(1, int(length * budget))
        rows = _Segments(found, sums, budget, budget + loads + widest - 1)
        for start_price in (0.0,) if recompute else _PRICES:
            if search.expired():
                break
            search.spend(rows.size / tuning.SEGMENT_RATE + tuning.SEGMENT_EFFORT)
            for left_price, most, unlimited in rows.most(start_price * step, step):
                counted = terms - step * (start_price * sums + left_price * left)
                per_store = left_price * step / found.sum_weight
                if most > 0 and counted > 0:
                    moved = _least_moved(counted, loads, most, unlimited, per_store)
                    best, cut = max((best, cut), (moved, (loads, start_price * step, left_price * step)))
    beyond = best * (1 - _ROUNDING) - int(cdag.weights[found.operands].sum())
    return Cut(max(0, math.ceil(beyond)), *cut)


def _least_moved(counted: float, loads: int, most: float, unlimited: float, per_store: float) -> float:
    """Return the least loads of some full segments, ``most`` values in each, and a first one, with further stores.

    The first segment starts with an empty memory; with r of ``loads`` loads it computes at most r / loads of what a
    full one would, were there no other limits than operands. A word stored beyond the outputs leaves ``per_store``
    fewer values to count; either that pays for no segment, or nothing is claimed.
    """
    if per_store * loads > most:
        return 0.0
    full = max(0, math.ceil(counted / most) - 1)
    rest = counted - full * most
    moved = loads * (full + min(1.0, rest / unlimited))
    if full and per_store:
        moved = min(moved, loads * (full - 1 + most / unlimited) + rest / per_store)
    return moved


class _Segments:
    """What segments compute for classes of p (partial values found) and c (sums met), at most."""

    def __init__(self, found: Contraction, sums: int, budget: int, reach: int) -> None:
        self._partial = _classes(reach // found.sum_weight)
        self._met = _classes(sums)
        most_met = self._met[1][None, :].astype(np.float64)
        least_partial = self._partial[0][:, None].astype(np.float64)
        price = _price_of_a_term(found, np.maximum(most_met, 1.0))
        per_sum = int(np.bincount(found.sums).max())
        self._unlimited = (reach - least_partial * found.sum_weight) / price
        self._computed = np.minimum(self._unlimited, per_sum * most_met)
        self._kept = np.maximum(0.0, self._met[0] - budget / found.sum_weight)
        self.size = self._computed.size

    def most(self, start_price: float, step: float) -> Iterator[tuple[float, float, float]]:
        """Yield prices of a sum that is left, and the most terms computed less prices of sums started and left.

        A sum met beyond the partial values was started. Prices of sums left are in terms of ``step``. The third number
        is without the limit on the terms of a sum.
        """
        prices = start_price * (self._met[0][None, :] - self._partial[1][:, None])
        computed, unlimited = ((most - prices).max(axis=0) for most in (self._computed, self._unlimited))
        for left_price in _PRICES if self._kept.any() else (0.0,):
            kept = left_price * step * self._kept
            yield left_price, float((computed - kept).max()), float((unlimited - kept).max())


def _classes(most: int) -> tuple[IntArray, IntArray]:
    """Return the first and the last number of each of a few classes of 0..most."""
    wide = np.geomspace(32, max(33, most + 1), _CLASSES).astype(np.int64)
    ends = np.unique(np.concatenate([np.arange(33), wide]))
    ends = np.append(ends[ends <= most], most + 1)
    return ends[:-1], ends[1:] - 1


def _price_of_a_term(found: Contraction, met: FloatArray) -> FloatArray:
    """Return the least weight of operands per term where this number of sums is met.

    Per term, at least 1 / (terms of one operand) of each operand, and their product at least 1 / (d c).
    """
    left_least = 1.0 / int(np.bincount(found.left).max())
    right_least = 1.0 / int(np.bincount(found.right).max())
    area = 1.0 / (found.duplicates * met)
    left = np.maximum(np.sqrt(area * found.right_weight / found.left_weight), left_least)
    right = np.maximum(area / left, right_least)
    left = np.maximum(area / right, left_least)
    price: FloatArray = found.left_weight * left + found.right_weight * right
    return price
