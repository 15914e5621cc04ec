"""S-partition bounds: the most values that a given number of loads can compute (Hong and Kung 1981, with constants).

Schedules of networks are cut into segments of so many loaded words. Those of sums of products are cut after so many
terms: what is of use in fast memory is known there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds import rents
from shorthaul.pebble.bounds.networks import known_networks
from shorthaul.pebble.bounds.piece import Piece, names
from shorthaul.pebble.bounds.sums_of_products import Contraction, contractions
from shorthaul.pebble.model import Cdag, IntArray

FloatArray = npt.NDArray[np.float64]

#: How many lengths of stretches are tried; prices of sums found and left, in weights of a value.
_STRETCHES = 60
_FOUND, _LEFT = (0.0, 0.5, 1.0), (0.0, 0.5, 1.0)
#: Prices of storing a computed operand, in its weight.
_STORED = (0.5, 1.0)
#: Amounts of sums are grouped into this many classes, each taken at its better end.
_CLASSES = 160
#: Operands of a few terms are counted in whole numbers, up to so many terms of one slice.
_MOST_WHOLE = 256
#: What rounding may add to a bound, relatively, and to a number of units of weight.
_ROUNDING, _UNIT_ROUNDING = 1e-9, 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and disjoint pieces that it is the sum of."""

    excess: int
    pieces: tuple[Piece, ...]


def excess(cdag: Cdag, budget: int, *, recompute: bool, search: Search) -> Found:
    """Return the S-partition bound of all sums of products together, or of a recognised network.

    Networks are only sought where values may be computed again: else crossings, tables and grids say more.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import matmul
    >>> excess(matmul(m=16, n=16, k=16, word=1), 16, recompute=False, search=Search()).excess
    1504
    """
    network = known_networks.recognised(cdag, search=search) if recompute else None
    if network is not None:
        proven = known_networks.excess(cdag, network, budget)
        piece = Piece(np.arange(cdag.n), proven.excess, partial(proven.shown, network), cdag.n)
        return Found(proven.excess, (piece,) if proven.excess else ())
    if cdag.n > tuning.MOST_FOR_PRODUCTS:
        return Found(0, ())
    pieces, failures = [], 0
    for found in contractions(cdag, search=search):
        ways = [found] if found.whole is None else [found, found.whole]
        cuts = [contraction_excess(cdag, way, budget, recompute=recompute, search=search) for way in ways]
        cut, one = max(zip(cuts, ways, strict=True), key=lambda pair: pair[0].excess)
        failures = 0 if cut.excess else failures + 1
        if cut.excess:
            size = 3 * len(one.terms) + 2 * len(one.accumulators) + 2 * len(one.beside)
            pieces.append(Piece(one.nodes, cut.excess, partial(cut.shown, one), size))
        elif failures == tuning.PRODUCTS_PATIENCE:
            break
    return Found(sum(piece.excess for piece in pieces), tuple(pieces))


@dataclass(frozen=True, slots=True)
class Cut:
    """What a contraction moves beyond inputs and outputs, by stretches of so many terms, and prices of sums."""

    excess: int
    stretch: int = 1
    begun: float = 0.0
    left: float = 0.0
    stored: float = 0.0
    readers: int = 1
    is_late: bool = False
    rent: float = 0.0
    near: int = 0

    def shown(self, found: Contraction, cdag: Cdag) -> list[dict[str, Any]]:
        """Return the certificate."""
        terms = names(cdag, np.column_stack([found.terms, found.pairs]))
        nodes = names(cdag, found.accumulators)
        after = [None if node < 0 else cdag.id_of(node) for node in found.after.tolist()]
        prices: dict[str, Any] = {"stretch": self.stretch, "begun": self.begun, "left": self.left}
        if self.stored:
            prices |= {"stored": self.stored, "readers": self.readers}
        if self.is_late:
            prices |= {"late": True}
        if self.rent:
            prices = {"rent": self.rent, "near": self.near}
        if found.products.any():
            prices["products"] = found.products.tolist()
        parts = {
            "terms": [terms[at : at + 3] for at in range(0, len(terms), 3)],
            "coordinates": found.places.tolist(),
            "sums": [list(pair) for pair in zip(nodes, after, strict=True)],
            "beside": [names(cdag, pair) for pair in found.beside],
        }
        return [{"kind": "product", **prices, **parts}]


def contraction_excess(cdag: Cdag, found: Contraction, budget: int, *, recompute: bool, search: Search) -> Cut:
    """Return a lower bound on what the nodes of a contraction move beyond inputs and outputs.

    **Theorem.** Terms are numbered as they are computed; N of them, in Z sums. Cut a schedule after some of them. A
    stretch and the term t before it, q terms of c sums, read operands of a weight of q r(c) at least, see
    :func:`_rates`; values that are read wherever an operand is count with it. They are in fast memory at the cut, as
    all that t reads is, or loaded in the stretch, or computed in it, once each. So are the p values of sums, of weight
    s at least, that were computed before: what t computes, and partial ones that go on in the stretch. Of what t reads,
    the partial sum is of no use any more, nor is what is no operand of any term. Let R(t) be the rest of
    the memory. So the stretch loads q r(c) + p s - R(t) at least. Each of its c sums is complete at its end, or the
    last value computed for it is in fast memory, beside all that the term there reads, H values at most, or is stored
    in the stretch; it is no output then. Partial values found join all stretches that meet a sum: these are one more
    than such values at most. So with prices 0 <= begun <= s of c - p, and 0 <= left <= s of sums that are left or
    completed, each stretch comes to

        g(q) - R(t), where g(q) is the least of q r(c) + begun c + left max(0, c - H) over all c,

    as p = 0 is the worst; the prices come to Z (begun + left) at most in all, and left for each cut after a sum's last
    term. The first stretch begins with an empty memory. With stretches of Q terms from the end, and a first one of the
    remaining o, this is

        (ceil(N / Q) - 1) (g(Q + 1) - max R - left) + g(o) - Z (begun + left),

    where g counts with c sums of their terms only, and in whole units of weight if stored is 0 or 1. The mean over all
    ways to cut after every Q-th term is N / Q times g(Q + 1) less the mean of R, less Z left / Q, and the same prices:
    a stretch that ends after the last term and one that begins before the first make up one of Q terms.

    **Late terms.** Where an addition reads a term that no sum goes on to, say that this term is done as the addition is
    made; of two such terms the first is done as it is computed, as before. Then at the cut the values that were added
    are over, and R(t) has no room for them. A term that was computed before its stretch is found there as a value of
    weight s, or loaded, like an operand: e of them take e s for e r(c), so r(c) becomes min(r(c), s). All nodes of a
    sum but its late terms still hang together, so they join its stretches. What t reads need not be there: stretches
    count without the term before, Q terms for Q + 1.

    **Stores of operands.** A computed operand that terms of two stretches read is stored, or in fast memory at the cut
    after the first of them; stores of operands are no outputs. Call one closed if all its terms are in one stretch. Let
    0 <= stored <= 1 be the price per weight of a store, and W the weight of the computed operands that D terms and more
    read. Then stored W is added, if a stretch is charged only 1 - stored of a closed one, which has D terms in it: q
    r(c) becomes less where that can be (:func:`_rates`). Operands and last values of sums at the end of a stretch weigh
    R(t) at most together, and the latter are H values at most: with stored, they spare stored R(t) + max(0, left -
    stored s) min(c, H), in place of left min(c, H), and R counts 1 + stored times. Terms are not late then, as operands
    are of the stretch that computes the terms.

    Where values may be computed again, take for every sum one computation of its result, and go back from each value
    to the computation that this copy of it is from. These computations of its nodes are what is said above of the
    computations, as each copy is in fast memory or in slow memory until it is read; operands have to be inputs.

    Lengths of stretches and prices are tried as long as the search goes on: each gives a bound, as rents of the memory
    do (:mod:`rents`), which come first.
    """
    given, widest = cdag.is_input(), int(cdag.weights[found.nodes].max())
    if int(cdag.weights[found.operands].sum()) + 3 * widest <= budget:
        return Cut(0)  # all operands fit at once, with a sum, a term and the sum after it
    if recompute and not bool(given[found.operands].all()):
        return Cut(0)
    if found.is_shared and not (found.is_symmetric or found.products.any()):
        return Cut(0)
    unit = int(np.gcd.reduce(cdag.weights))
    rented = rents.most(found, _rooms(cdag, found, budget // unit * unit, is_late=False)[1], search=search)
    operands = int(cdag.weights[found.operands].sum())
    best, most = Cut(0, rent=rented.rent, near=rented.near), rented.moved + operands
    stretches = _Stretches(cdag, found, budget, stores=not recompute)
    for stretch in np.unique(np.geomspace(1, len(found.terms), _STRETCHES).astype(np.int64)).tolist():
        if search.expired():
            break
        search.spend(stretches.size / tuning.SEGMENT_RATE + tuning.SEGMENT_EFFORT)
        moved, cut = stretches.moved(stretch)
        if moved > most:
            best, most = cut, moved
    beyond = most * (1 - _ROUNDING) - operands
    return replace(best, excess=max(0, math.ceil(beyond)))


class _Stretches:
    """What stretches between two terms move, by the number of sums that they meet.

    Arrays have the shape (ways to cut, prices of sums, numbers of sums), or what begins it.
    """

    def __init__(self, cdag: Cdag, found: Contraction, budget: int, *, stores: bool) -> None:
        self._unit = int(np.gcd.reduce(cdag.weights))
        self._terms, self._sums, value = len(found.terms), int(found.sums.max()) + 1, found.sum_weight
        fewest, most = (ends[1:].astype(np.float64) for ends in _classes(self._sums))
        self._ways = _ways(cdag, found, stores=stores)
        ways = [_rooms(cdag, found, budget // self._unit * self._unit, is_late=way[3]) for way in self._ways]
        largest, together, held = np.array(ways, dtype=np.float64).T[:, :, None]
        stored, _, weight, is_late = np.array(self._ways, dtype=np.float64).T[:, :, None]
        self._before = 1 - is_late
        self._is_whole = (stored == np.rint(stored))[:, :, None]
        computed = np.where(is_late > 0, float(value), np.inf)
        rates = np.array([_rates(found, most, price, readers) for price, readers, *_ in self._ways])
        self._rate = np.minimum(rates, computed)[:, None]
        self._limit = int(np.bincount(found.sums).max()) * most
        begun, left = (prices.ravel() for prices in np.meshgrid(_FOUND, _LEFT))
        self._begun, self._left = begun * value, left * value
        self._known = self._sums * (self._begun + self._left) - stored * weight
        self._room, self._rooms = ((1 + stored) * room for room in (largest, together))
        spared = np.maximum(0.0, self._left - stored * value)[:, :, None] * np.minimum(fewest, (held // value)[:, None])
        self._priced = (self._begun + self._left)[:, None] * fewest - spared
        self.size = self._priced.size

    def _least(self, stretch: int, before: FloatArray | float = 0.0) -> FloatArray:
        """Return what a stretch and the term before come to by prices; operands that count whole are in units."""
        terms = np.minimum(stretch + before, self._terms)
        weight = np.where(self._limit >= terms, terms * self._rate / self._unit, np.inf)
        weight = np.where(self._is_whole, np.ceil(weight - _UNIT_ROUNDING), weight)
        found: FloatArray = (self._unit * weight + self._priced).min(axis=2)
        return found

    def moved(self, stretch: int) -> tuple[float, Cut]:
        """Return the most that is proven with stretches of so many terms, and how."""
        cuts, least = -(-self._terms // stretch) - 1, self._least(stretch, self._before[:, None])
        again = self._before * self._left
        from_end = cuts * (least - self._room - again) + self._least(self._terms - cuts * stretch) - self._known
        in_the_mean = (self._terms * least - self._rooms - self._sums * again) / stretch - self._known
        moved = np.maximum(from_end, in_the_mean)
        way, best = np.unravel_index(int(moved.argmax()), moved.shape)
        stored, readers, _, is_late = self._ways[way]
        begun, left = float(self._begun[best]), float(self._left[best])
        return float(moved[way, best]), Cut(0, stretch, begun, left, stored, readers, is_late)


def _ways(cdag: Cdag, found: Contraction, *, stores: bool) -> list[tuple[float, int, int, bool]]:
    """Return the ways to cut: without stores, after terms or late, and with stores if they are counted."""
    ways = [(0.0, 1, 0, False)]
    if len(_late(found)[0]):
        ways.append((0.0, 1, 0, True))
    return ways + ([(*one, False) for one in _stores(cdag, found)] if stores else [])


def _stores(cdag: Cdag, found: Contraction) -> list[tuple[float, int, int]]:
    """Return prices of stores, from how many terms that read it on an operand counts, and what these weigh together."""
    terms, made = np.bincount(found.pairs.ravel(), minlength=cdag.n), ~cdag.given
    weights = cdag.weights * made
    weights += np.bincount(found.beside[:, 0], weights[found.beside[:, 1]], cdag.n).astype(np.int64)
    counted = np.flatnonzero((terms > 1) & (weights > 0))
    if len(counted) == 0:
        return []
    return [(stored, int(terms[counted].min()), int(weights[counted].sum())) for stored in _STORED]


def _late(found: Contraction) -> tuple[IntArray, IntArray]:
    """Return the places of terms that no sum goes on to and that an addition reads, and these additions."""
    nodes = found.accumulators
    sequence = np.argsort(nodes, kind="stable")
    after = found.after[sequence[np.searchsorted(nodes, found.terms, sorter=sequence)]]
    is_late = (after >= 0) & ~np.isin(after, found.terms) & ~np.isin(found.terms, found.after)
    late = np.flatnonzero(is_late)
    return late, after[late]


def _rooms(cdag: Cdag, found: Contraction, budget: int, *, is_late: bool) -> tuple[int, int, int]:
    """Return how much of the memory is of use after a term at most, and in all, and the most beside all that one reads.

    Of two late terms of one addition the first one computed is not late: the one with more room counts as that.
    """
    is_operand, goes_on_to = np.zeros(cdag.n, dtype=np.bool_), np.full(cdag.n, -1, dtype=np.int64)
    is_operand[found.operands] = True
    goes_on_to[found.accumulators] = found.after
    sources, targets = cdag.edge_arrays()
    is_over = (goes_on_to[sources] < 0) | (goes_on_to[sources] == targets)
    read, idle = (
        np.bincount(targets, np.where(chosen, cdag.weights[sources], 0), cdag.n).astype(np.int64)
        for chosen in (is_over, is_over & ~is_operand[sources])
    )
    events = found.terms
    if is_late:
        places, additions = _late(found)
        sequence = np.argsort(idle[events[places]], kind="stable")[::-1]  # of two, the one with less room is late
        _, first = np.unique(additions[sequence], return_index=True)
        events = events.copy()
        events[places[sequence[first]]] = additions[sequence[first]]
    return (
        budget - int(idle[events].min()),
        budget * len(events) - int(idle[events].sum()),
        budget - int(read[events].min()),
    )


def _rates(found: Contraction, met: FloatArray, stored: float = 0.0, readers: int = 1) -> FloatArray:
    """Return the least weight of operands per term of a set of terms that meets so many sums.

    With a left operands and b right ones of c sums there are at most sqrt(d a b c) terms (Loomis and Whitney), and per
    term at least 1 / (terms of one operand) of each operand. With d = 1 an operand tells k: e terms of one k are of e
    sums, and have operands enough if e <= a b; where operands of both sides are the same values, if e <= u (u - 1) / 2
    for u of them, and no two have the same two. The least over all e <= c holds for the sum over all k.

    Of several products with d = 1, each term and each sum is of one, and each operand on one side of each. With a left
    operands, b right ones and c sums of a product, all its terms are at most the sum of sqrt(a b c), and that is at
    most the square root of all c times the sum of a b (Cauchy and Schwarz). That sum counts pairs of operands that
    face each other, once for each product in which they do, m at most. If no more than w operands all face one another,
    it is m (1 - 1 / w) U^2 / 2 at most for U operands (Turan). So q terms of c sums have 2 f q / sqrt(c) of them, with
    ``factor`` f = 1 / sqrt(2 m (1 - 1 / w)): 1 if operands have two kinds that face one another, sqrt(3) / 2 if they
    have three, as weights, values and gradients do. Each term has two, and one is in so many terms at most.

    Of operands that have so many ``readers``, or more, among the terms only 1 - ``stored`` counts. At most one in so
    many terms has them, two where operands of both sides are the same values; none where fewer sums are met, as the
    terms of a right operand are of different ones, d of those of a left one of the same at most.
    """
    left, right, is_several = found.left_weight, found.right_weight, bool(found.products.any())
    counts: FloatArray = np.where((found.duplicates + is_several) * met >= readers, stored, 0.0)
    loss = counts * (left + right) / readers
    rates: FloatArray
    if found.is_symmetric:
        least = min(left, right)
        most = int(np.bincount(np.unique(found.pairs, return_inverse=True)[1].ravel()).max())
        rates = np.maximum(_symmetric_rate(met, stored, readers) * least, 2 * least * (1 / most - counts / readers))
    elif is_several:
        most = int(np.bincount(found.pairs.ravel()).max())
        price = 2 * min(left, right) * np.maximum(found.factor / np.sqrt(met), 1 / most)
        rates = np.maximum(price - loss, (1 - counts) * price)
    else:
        price = _price_of_a_term(found, left, right, met)
        rates = np.maximum(price - loss, (1 - counts) * price)
        if found.duplicates == 1:
            rates = np.maximum(rates, _sliced_rate(left, right, met, stored, readers))
    return rates


def _symmetric_rate(met: FloatArray, stored: float = 0.0, readers: int = 1) -> FloatArray:
    """Return how many values per term up to so many different pairs have at least.

    Values of so many pairs or more count less: of z values there are z D - z (z - 1) / 2 pairs, if z <= D.

    >>> _symmetric_rate(np.array([1.0, 2.0, 3.0, 10.0])).tolist()
    [2.0, 1.5, 1.0, 0.5]
    """
    few = np.arange(1, _MOST_WHOLE + 1)
    fewest = np.ceil((1 + np.sqrt(1 + 8 * few)) / 2 - _ROUNDING)
    closed = np.arange(1, readers + 1)
    closed = np.searchsorted(closed * readers - closed * (closed - 1) // 2, few, side="right")
    closed = np.where(closed == readers, 2 * few // readers, closed)
    values = np.maximum(fewest, readers + 1)
    values -= stored * np.minimum(closed, values)
    values = np.where(fewest > readers, values, np.where(closed > 0, np.minimum(fewest, values), fewest))
    whole = np.minimum.accumulate(values / few)
    beyond = (1 + np.sqrt(1 + 8 * met)) / (2 * met) * (1 - stored * (met >= readers))
    rates: FloatArray = np.minimum(whole[np.minimum(met, _MOST_WHOLE).astype(np.int64) - 1], np.where(
        met > _MOST_WHOLE, beyond, np.inf))  # fmt: skip
    return rates


def _sliced_rate(left: int, right: int, met: FloatArray, stored: float = 0.0, readers: int = 1) -> FloatArray:
    """Return the least weight per term of rows of weight ``left`` and columns that hold up to so many terms.

    Columns of so many terms or more count less, if there are so many rows; and the other way round.

    >>> _sliced_rate(1, 1, np.array([1.0, 2.0, 4.0, 7.0])).tolist()
    [2.0, 1.5, 1.0, 0.8333333333333334]
    """
    few = np.arange(1, min(_MOST_WHOLE, int(met.max())) + 1)
    rows, closed = few[:, None], few[None, :] // readers
    least = -(-few[None, :] // rows)
    weights = np.full(len(few), np.inf)
    for columns in (least, np.maximum(least, readers)) if stored else (least,):
        spared = left * (columns >= readers) * np.minimum(rows, closed)
        spared = spared + right * (rows >= readers) * np.minimum(columns, closed)
        weights = np.minimum(weights, (left * rows + right * columns - stored * spared).min(axis=0))
    whole = np.minimum.accumulate(weights / few)
    beyond = 2 * np.sqrt(left * right / met) * (1 - stored * (met >= readers))
    rates: FloatArray = np.minimum(whole[np.minimum(met, len(few)).astype(np.int64) - 1], np.where(
        met > _MOST_WHOLE, beyond, np.inf))  # fmt: skip
    return rates


def _classes(most: int) -> tuple[IntArray, IntArray]:
    """Return the first and the last number of each of a few classes of 0..most."""
    wide = np.geomspace(32, max(33, most + 1), _CLASSES).astype(np.int64)
    ends = np.unique(np.concatenate([np.arange(33), wide]))
    ends = np.append(ends[ends <= most], most + 1)
    return ends[:-1], ends[1:] - 1


def _price_of_a_term(found: Contraction, left_weight: float, right_weight: float, met: FloatArray) -> FloatArray:
    """Return the least weight of operands per term where this number of sums is met, by the inequality.

    Per term, at least 1 / (terms of one operand) of each operand, and their product at least 1 / (d c).
    """
    left_least = 1.0 / int(np.bincount(found.left).max())
    right_least = 1.0 / int(np.bincount(found.right).max())
    area = 1.0 / (found.duplicates * met)
    left = np.maximum(np.sqrt(area * right_weight / left_weight), left_least)
    right = np.maximum(area / left, right_least)
    left = np.maximum(area / right, left_least)
    price: FloatArray = left_weight * left + right_weight * right
    return price
