"""Sums of products, verified: the terms, their coordinates and sums, and how many a number of words can compute.

``terms`` are triples of nodes: a term, the left and the right operand that it reads. ``sums`` are pairs: a node of a
sum (each term is one) and the node of the same sum that reads it, or null: a result. ``beside`` are pairs, if there are
any: an operand, and a value that every term reads that reads the operand; both count as one, of the weight of both.
``coordinates`` are triples (i, j, k), different for each term. A right operand tells (j, k), a sum (i, j), and a left
operand stands for d pairs (i, k) at most: of a left operands, b right ones and c sums, at most sqrt(d a b c) terms can
be made (Loomis and Whitney).

A schedule is cut after every ``stretch``-th term. What a stretch and the term before it read, operands and the values
of sums that are found or gone on with, is there at its start, or loaded; an operand counts as loaded where it is
computed. Of what the term before reads, only operands are of use then. Each of the c sums that they meet is complete at
the end, or leaves a value in fast memory, beside what the term there reads, or stored. Values that stretches hand on
join all stretches that meet a sum, so these are at most one more than such values. With ``begun`` as the price of a sum
met beyond those found, and ``left`` of one left beyond what the memory holds, what a stretch comes to is minimised over
c; all prices together are known, with ``left`` again for the sums that a term before completes. With ``late``, no term
before counts, and a term that no sum goes on to counts where the addition that reads it is made, the later one of two.
With ``stored``, each computed operand that ``readers`` terms or more read is stored, at this price per weight, unless
it is there at a cut, or all its terms are in one stretch: then only the rest of its weight is charged there.

With ``products``, the number of a product for each term, coordinates are those of each product, with d = 1; its
operands are on one side each, and a sum is in one. All U operands have at most m (1 - 1 / w) U^2 / 2 pairs that face
each other, if two do so in m products at most, and w operands, not more, all face one another (Turan). So q terms of c
sums have U >= q sqrt(2 / (m (1 - 1 / w) c)): the sum of sqrt(a b c) over the products is at most sqrt(c) times the root
of the sum of a b. The proof stands in ``bounds/segments.py``. With
``rent``, and ``near``, none of these count (:mod:`rent`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError, whole
from shorthaul.pebble.check.certificates.rent import Slices, moved
from shorthaul.pebble.model import IntArray

_ROUNDING = 5e-10
#: Up to so many terms, operands are counted in whole numbers.
_MOST_WHOLE = 256
#: Kinds of operands of several products.
_MOST_KINDS = 16
FloatArray = npt.NDArray[np.float64]


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``product`` proves; raises :class:`WrongError`."""
    cdag = game.cdag
    terms, left, right = _triples(game, part).T
    after = _sums(game, part)
    for operand in (left, right):
        lacking = np.flatnonzero(~game.are_edges(operand, terms))
        if len(lacking):
            raise WrongError(f"terms: {game.id(int(terms[lacking[0]]))} does not read its operand")
    beside = _beside(game, part, terms, left, right)
    members = np.flatnonzero(after != -2)
    root = _roots(cdag.order, after)
    if (after[terms] == -2).any() or len(np.unique(terms)) < len(terms):
        raise WrongError("terms: each must be a node of a sum, once")
    if cdag.given[members].any():  # its first load would count as a second one
        raise WrongError("sums: an input is in a sum")
    if (left == right).any():
        raise WrongError("terms: the operands of a term must differ")
    operands = np.union1d(np.union1d(left, right), beside[:, 1])
    if (after[operands] >= 0).any():
        raise WrongError("terms: an operand is a value that a sum goes on with")
    if game.recompute and not cdag.given[operands].all():
        raise WrongError("where values are computed again, operands have to be inputs")
    nodes = np.union1d(operands, members[after[members] >= 0])
    duplicates, is_symmetric = _shape(part, left, right, root[terms])
    weights = cdag.weights.copy()
    np.add.at(weights, beside[:, 0], cdag.weights[beside[:, 1]])
    if "rent" in part:
        return Proven(_rented(game, part, (terms, left, right, after, root[terms]), beside), nodes)
    stores = _Stores(_price(part, "stored", 1, 0), whole(part, "readers", 1) if "readers" in part else 1)
    if stores.price and game.recompute:
        raise WrongError("stored: where values are computed again, none has to be stored")
    per_term = _operands_of_products(_products(part, len(terms)), left, right) if "products" in part else None
    rates = _Rates(weights, left, right, duplicates, is_symmetric, stores, per_term)
    is_late = part.get("late", False) is True
    if stores.price and is_late:
        raise WrongError("stored: terms that are late have read their operands in other stretches")
    rooms, known = _rooms(game, terms, operands, after, is_late), int(cdag.weights[operands].sum())
    stored = stores.price * _weight_of_stores(game, left, right, beside, stores.readers)
    return Proven(_Stretches(game, part, rates, root[terms], rooms).excess(known, stored), nodes)


def _rented(game: Game, part: Mapping[str, Any], columns: tuple[IntArray, ...], beside: IntArray) -> int:
    """Return what rent proves; ``columns`` are terms, their operands, what reads each node of a sum, and sums."""
    terms, left, right, after, sums = columns
    duplicates, is_symmetric = _shape(part, left, right, sums)
    is_shared = len(np.intersect1d(left, right)) > 0
    if "products" in part or duplicates > 1 or (is_shared and not is_symmetric):
        raise WrongError("rent: an operand is in several slices")
    weights = game.cdag.weights.copy()
    np.add.at(weights, beside[:, 0], game.cdag.weights[beside[:, 1]])
    names = np.unique(np.append(left, right))
    sides = (np.append(left, right),) * 2 if is_shared else (left, right)
    slices = Slices(
        len(terms), len(np.unique(sums)), len(names), int(weights[names].min()),
        int(game.cdag.weights[after != -2].min()), _largest(np.array([row[2] for row in part["coordinates"]])),
        sum(1 / _largest(side) for side in sides), is_shared,
    )  # fmt: skip
    operands = np.union1d(names, beside[:, 1])
    spare = game.budget % math.gcd(*game.cdag.weights.tolist())  # no words fit there
    rooms = sum(_rooms(game, terms, operands, after, False)[0]) - spare * len(terms)
    known = moved(slices, rooms, _price(part, "rent", 1), whole(part, "near", 0))
    return max(0, math.ceil(known - _ROUNDING * (known + slices.operands * slices.weight)))


class _Stores(NamedTuple):
    """The price per weight of storing a computed operand, if it is read by so many terms."""

    price: float
    readers: int


def _weight_of_stores(game: Game, left: IntArray, right: IntArray, beside: IntArray, readers: int) -> int:
    """Return what the computed operands that so many terms read weigh, with those beside them."""
    names, times = np.unique(np.append(left, right), return_counts=True)
    chosen = set(names[times >= readers].tolist())
    stored = chosen | {value for operand, value in beside.tolist() if operand in chosen}
    return sum(int(game.cdag.weights[node]) for node in stored if not game.cdag.given[node])


def _triples(game: Game, part: Mapping[str, Any]) -> IntArray:
    rows = part.get("terms")
    if not isinstance(rows, list) or not rows or any(not isinstance(row, list) or len(row) != 3 for row in rows):
        raise WrongError("terms must be triples of nodes")
    return np.array([[game.node(name) for name in row] for row in rows], dtype=np.int64)


def _beside(game: Game, part: Mapping[str, Any], terms: IntArray, left: IntArray, right: IntArray) -> IntArray:
    """Return pairs of an operand and a value that its terms read too, shape (values, 2)."""
    rows = part.get("beside", [])
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != 2 for row in rows):
        raise WrongError("beside must be pairs of nodes")
    pairs = np.array([[game.node(name) for name in row] for row in rows], dtype=np.int64).reshape(-1, 2)
    further = pairs[:, 1]
    if len(np.unique(further)) < len(further) or np.isin(further, np.append(left, right)).any():
        raise WrongError("beside: a value is there twice, or an operand itself")
    for operand, value in pairs.tolist():
        reading = terms[(left == operand) | (right == operand)]
        if not len(reading) or not game.are_edges(np.full(len(reading), value), reading).all():
            raise WrongError(f"beside: {game.id(value)} is not read wherever {game.id(operand)} is")
    return pairs


def _sums(game: Game, part: Mapping[str, Any]) -> IntArray:
    """Return what reads each node of a sum, -1 for results, -2 for other nodes; shape (n,)."""
    rows = part.get("sums")
    if not isinstance(rows, list) or not rows or any(not isinstance(row, list) or len(row) != 2 for row in rows):
        raise WrongError("sums must be pairs of a node and the one that reads it, or null")
    after = np.full(game.cdag.n, -2, dtype=np.int64)
    for name, following in rows:
        node = game.node(name)
        if after[node] != -2:
            raise WrongError(f"sums: {game.id(node)} is there twice")
        after[node] = -1 if following is None else game.node(following)
    inner = np.flatnonzero(after >= 0)
    if (after[after[inner]] == -2).any() or not game.are_edges(inner, after[inner]).all():
        raise WrongError("sums: a node is not read by the one given, or that is in no sum")
    return after


def _roots(order: IntArray, after: IntArray) -> IntArray:
    """Return the result of the sum of each node, itself where it is in none."""
    root = np.arange(len(after))
    for node in order[::-1].tolist():
        if after[node] >= 0:
            root[node] = root[after[node]]
    return root


def _shape(part: Mapping[str, Any], left: IntArray, right: IntArray, sums: IntArray) -> tuple[int, bool]:
    """Return how many pairs (i, k) a left operand stands for at most; raises where coordinates do not tell terms.

    Also return whether all operands have one k, on either side, and no two terms the same two.
    """
    rows = part.get("coordinates")
    if not isinstance(rows, list) or len(rows) != len(left):
        raise WrongError("coordinates must be as many as terms")
    if any(not isinstance(row, list) or len(row) != 3 or any(type(one) is not int for one in row) for row in rows):
        raise WrongError("coordinates must be triples of integers")
    if any(abs(one) > 2**40 for row in rows for one in row):
        raise WrongError("coordinates are too large")
    place = np.array(rows, dtype=np.int64)
    if "products" in part:
        return _shape_of_products(_products(part, len(left)), place, (left, right, sums)), False
    i, j, k = place.T
    if len(np.unique(place, axis=0)) < len(place):
        raise WrongError("coordinates: two terms have the same")
    for key, of, pair in (("right operand", right, (j, k)), ("sum", sums, (i, j))):
        if len(np.unique(np.stack([of, *pair]), axis=1).T) > len(np.unique(of)):
            raise WrongError(f"coordinates: a {key} stands for several")
    faces = np.unique(np.stack([left, i, k], axis=1), axis=0)[:, 0]
    duplicates = _largest(faces)
    two = np.unique(np.stack([np.minimum(left, right), np.maximum(left, right)]), axis=1)
    levels = np.unique(np.stack([np.append(left, right), np.append(k, k)]), axis=1)
    is_symmetric = len(two.T) == len(left) and len(levels.T) == len(np.union1d(left, right))
    return duplicates, is_symmetric and duplicates == 1


def _products(part: Mapping[str, Any], terms: int) -> IntArray:
    numbers = part["products"]
    is_list = isinstance(numbers, list) and len(numbers) == terms
    if not is_list or any(type(one) is not int or not 0 <= one <= terms for one in numbers):
        raise WrongError("products must be integers from 0 on, as many as terms")
    return np.array(numbers, dtype=np.int64)


def _shape_of_products(products: IntArray, place: IntArray, ends: tuple[IntArray, IntArray, IntArray]) -> int:
    """Check that coordinates tell all terms of each product, and that its ends tell theirs; return 1."""
    left, right, sums = ends
    for product in np.unique(products).tolist():
        at = products == product
        if np.isin(sums[at], sums[~at]).any() or np.isin(left[at], right[at]).any():
            raise WrongError("products: a sum is in two, or an operand on both sides of one")
        if len(np.unique(place[at], axis=0)) < np.count_nonzero(at):
            raise WrongError("coordinates: two terms have the same")
        for end, axes in ((left, (0, 2)), (right, (1, 2)), (sums, (0, 1))):
            rows = np.column_stack([end[at], place[at][:, axes]])
            if len(np.unique(rows, axis=0)) > len(np.unique(end[at])):
                raise WrongError("coordinates: an operand or a sum stands for several")
    return 1


def _operands_of_products(products: IntArray, left: IntArray, right: IntArray) -> float:
    """Return how many operands a term has at least, times the square root of the number of sums that are met."""
    faced: dict[int, set[int]] = {}  # by operand, the operands of a product on one side that it faces, as numbers
    for side, operands in enumerate((left, right)):
        for number, operand in set(zip((2 * products + side).tolist(), operands.tolist(), strict=True)):
            faced.setdefault(operand, set()).add(number)
    kinds = sorted({tuple(sorted(one)) for one in faced.values()})
    if len(kinds) > _MOST_KINDS:
        raise WrongError("products: their operands are of too many kinds")
    facing = np.array([[len({number ^ 1 for number in one} & set(other)) for other in kinds] for one in kinds])
    cliques = {frozenset[int]()}
    size = 0
    while cliques := {
        one | {at} for one in cliques for at in range(len(kinds)) if at not in one and facing[at, list(one)].all()
    }:
        size += 1
    return math.sqrt(2 / (int(facing.max()) * (1 - 1 / size)))


def _price(part: Mapping[str, Any], key: str, most: int, usual: float | None = None) -> float:
    price = part.get(key, usual)
    if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price <= most:
        raise WrongError(f"{key} must be a price, from 0 to {most}")
    return float(price)


def _largest(values: IntArray) -> int:
    return int(np.unique(values, return_counts=True)[1].max())


def _rooms(game: Game, terms: IntArray, operands: IntArray, after: IntArray, is_late: bool) -> tuple[list[int], int]:
    """Return how much of the memory is of use after each term, and what is left beside all that one reads at most.

    Late terms are there with their addition; of two that one addition reads, that with less room.
    """
    served, weights = set(operands.tolist()), game.cdag.weights.tolist()

    def idle(node: int) -> int:
        over = [one for one in game.operands()[node] if after[one] < 0 or after[one] == node]
        return sum(weights[one] for one in over if one not in served)

    additions: dict[int, int] = {}
    going_on, products = set(after[after >= 0].tolist()), set(terms.tolist())
    for term in terms.tolist() if is_late else ():
        addition = int(after[term])
        if addition >= 0 and addition not in products and term not in going_on:
            additions[addition] = max(term, additions.get(addition, term), key=idle)
    late = {term: addition for addition, term in additions.items()}
    rooms, beside = [], 0
    for node in (late.get(term, term) for term in terms.tolist()):
        over = [one for one in game.operands()[node] if after[one] < 0 or after[one] == node]
        beside = max(beside, game.budget - sum(weights[one] for one in over))
        rooms.append(game.budget - idle(node))
    return rooms, beside


class _Rates:
    """What weight of operands a term takes at least, by the number of sums that its stretch meets.

    With ``stores``, only a part of the weight of an operand counts that has so many readers in the stretch.
    """

    def __init__(
        self, weights: IntArray, left: IntArray, right: IntArray, duplicates: int, is_symmetric: bool, stores: _Stores,
        per_term: float | None,
    ) -> None:  # fmt: skip
        self._weights = int(weights[left].min()), int(weights[right].min())
        self._most = _largest(left), _largest(right)
        self._duplicates, self.stores = duplicates, stores
        is_shared = len(np.intersect1d(left, right)) > 0
        if is_shared and per_term is None and not is_symmetric:
            raise WrongError("coordinates: an operand is on both sides, but of several k, or twice with the same one")
        self._is_symmetric = is_shared and is_symmetric
        self._most_of_both = _largest(np.append(left, right))
        self._per_term = per_term  # operands of several products, by the square root of the sums met

    def of(self, sums: int) -> FloatArray:
        """Return the least weight per term where so many sums are met, shape (sums,), from one sum on."""
        met = np.arange(1, sums + 1)
        price, readers = self.stores
        if self._is_symmetric:
            weight = min(self._weights)
            counts: FloatArray = np.where(met >= readers, price, 0.0)
            few = min(sums, _MOST_WHOLE)
            whole = np.array([self._values(terms) / terms for terms in range(1, few + 1)])
            beyond: FloatArray = (1 - counts) * (np.sqrt(8.0 * met + 1) + 1) / 2 / met
            least = np.maximum(self._sliced(whole, beyond), 2 / self._most_of_both - 2 * counts / readers)
            found: FloatArray = weight * least
            return found
        one, other = self._weights
        if self._per_term is None:
            all_of_them = self._by_faces(met)
        else:
            all_of_them = min(one, other) * np.maximum(self._per_term / np.sqrt(met), 2 / self._most_of_both)
        counts = np.where((self._duplicates + (self._per_term is not None)) * met >= readers, price, 0.0)
        rates: FloatArray = all_of_them - counts * np.minimum(all_of_them, (one + other) / readers)
        if self._per_term is not None or self._duplicates > 1:
            return rates
        few = min(sums, _MOST_WHOLE)
        whole = np.array([self._operands(terms) / terms for terms in range(1, few + 1)])
        further: FloatArray = (1 - counts) * 2 * np.sqrt(one * other / met)
        sliced: FloatArray = np.maximum(rates, self._sliced(whole, further))
        return sliced

    def _operands(self, terms: int) -> float:
        """Return the least weight of rows and columns that hold so many terms, full ones counted less."""
        (one, other), (price, readers) = self._weights, self.stores
        full, least = terms // readers, float("inf")
        for rows in range(1, terms + 1):
            for columns in {-(-terms // rows), max(readers, -(-terms // rows))} if full else {-(-terms // rows)}:
                less = one * min(rows, full) * (columns >= readers) + other * min(columns, full) * (rows >= readers)
                least = min(least, one * rows + other * columns - price * less)
        return least

    def _values(self, pairs: int) -> float:
        """Return how many values so many pairs have at least, full ones counted less: z of them are in many pairs."""
        price, readers = self.stores
        least = math.ceil((math.sqrt(8 * pairs + 1) + 1) / 2 - 1e-9)
        full = 0
        while full < readers and (full + 1) * readers - full * (full + 1) // 2 <= pairs:
            full += 1
        if full == readers:
            full = 2 * pairs // readers
        wide = max(least, readers + 1)
        return min(least if least <= readers else float("inf"), wide - price * min(full, wide))

    @staticmethod
    def _sliced(whole: FloatArray, beyond: FloatArray) -> FloatArray:
        """Return the least of the first numbers up to each place, and beyond those that are known of the others."""
        known = np.minimum.accumulate(whole[:_MOST_WHOLE])
        found: FloatArray = np.append(known, np.minimum(beyond[len(known) :], known[-1]))
        return found

    def _by_faces(self, met: IntArray) -> FloatArray:
        """Return the least weight of x left and y right operands per term.

        x y >= 1 / (d c), and both are as many as the terms of one operand allow.
        """
        heavy, other = self._weights
        least, fewest = (1 / most for most in self._most)
        area = 1 / (self._duplicates * met)
        x = np.maximum(least, np.sqrt(area * other / heavy))
        x = np.where(area / x < fewest, np.maximum(least, area / fewest), x)
        found: FloatArray = heavy * x + other * np.maximum(fewest, area / x)
        return found


class _Stretches:
    """What stretches come to, and what has to be moved for all terms."""

    def __init__(
        self, game: Game, part: Mapping[str, Any], rates: _Rates, sums: IntArray, rooms: tuple[list[int], int]
    ) -> None:
        weights = game.cdag.weights
        members = np.array([game.node(name) for name, _ in part["sums"]])
        value = int(weights[members].min())
        self._unit = math.gcd(*weights.tolist())
        self._terms, self._sums = len(sums), len(np.unique(sums))
        self._stretch = whole(part, "stretch", 1)
        begun, left = _price(part, "begun", value), _price(part, "left", value)
        self._known = self._sums * (begun + left)
        spare = game.budget % self._unit  # no words fit there
        self._rooms = [room - spare for room in rooms[0]]
        met = np.arange(1, self._sums + 1)
        price = rates.stores.price
        spared = np.minimum(met, (rooms[1] - spare) // value)
        self._priced = (begun + left) * met - max(0.0, left - price * value) * spared
        self._in_memory = 1 + price  # what a word that is there at a cut is worth
        is_late = part.get("late") is True
        most = value if is_late else math.inf  # for a value there that was a term before
        self._before, self._again = (0, 0.0) if is_late else (1, left)
        self._rates, self._limits = np.minimum(rates.of(self._sums), most), met * _largest(sums)
        self._is_whole = price in (0, 1)

    def _least(self, terms: int) -> float:
        """Return what so many terms come to at least, their operands in units of weight if each counts whole or not."""
        fits = self._limits >= terms
        units = terms * self._rates[fits] / self._unit
        if self._is_whole:
            units = np.ceil(units - 5e-8)
        return float((units * self._unit + self._priced[fits]).min())

    def excess(self, operands: int, stored: float) -> int:
        """Return what is moved beyond inputs and outputs, cut from the end, or in the mean over all ways to cut.

        All ``operands`` are there once, which is no excess; so much is known to be ``stored``.
        """
        cuts = max(0, math.ceil(self._terms / self._stretch) - 1)
        first, known = self._terms - cuts * self._stretch, self._known - stored
        room = self._in_memory * max(self._rooms)
        each = self._least(min(self._terms, self._stretch + self._before))
        from_end = self._least(first) + cuts * (each - room - self._again) - known
        together = self._terms * each - self._in_memory * sum(self._rooms) - self._sums * self._again
        in_the_mean = together / self._stretch - known
        moved = max(from_end, in_the_mean) if self._stretch <= self._terms else from_end
        return max(0, math.ceil(moved * (1 - _ROUNDING) - operands))
