"""Sums of products, verified: the terms, their coordinates and sums, and how many a number of words can compute.

``terms`` are triples of nodes: a term, the left and the right operand that it reads. ``sums`` are pairs: a node of a
sum (each term is one) and the node of the same sum that reads it, or null: a result. ``coordinates`` are triples (i, j,
k), different for each term. A right operand tells (j, k), a sum (i, j), and a left operand stands for d pairs (i, k) at
most: of a left operands, b right ones and c sums, at most sqrt(d a b c) terms can be made (Loomis and Whitney).

A schedule is cut, from its end, into segments of ``loaded`` words. In a segment, operands and the p values of sums that
it goes on with are there at its start, or loaded; an operand counts as loaded where it is computed. Each of the c sums
that it meets is complete at the end, or leaves a value in fast memory, or stored. Values that segments hand on join all
segments that meet a sum, so these are at most one more than such values. With ``begun`` as the price of a sum met
beyond those found, and ``left`` of one left beyond what the memory holds, what terms and prices come to in a segment
is maximised over p and c; all prices together are known. The proof stands in ``bounds/segments.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError, whole
from shorthaul.pebble.model import IntArray

_ROUNDING = 5e-10
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
    members = np.flatnonzero(after != -2)
    root = _roots(cdag.order, after)
    if (after[terms] == -2).any() or len(np.unique(terms)) < len(terms):
        raise WrongError("terms: each must be a node of a sum, once")
    if cdag.given[members].any():  # its first load would count as a second one
        raise WrongError("sums: an input is in a sum")
    if (left == right).any():
        raise WrongError("terms: the operands of a term must differ")
    operands = np.union1d(left, right)
    if (after[operands] >= 0).any():
        raise WrongError("terms: an operand is a value that a sum goes on with")
    results = np.unique(root[terms])
    nodes = np.union1d(operands, members)
    duplicates = _duplicates(part, left, right, root[terms])
    is_output = bool(cdag.is_output()[results].all())
    begun = _price(part, "begun")
    if game.recompute and not (is_output and cdag.given[operands].all() and begun == 0):
        raise WrongError("where values are computed again, it holds from inputs to outputs only, with begun 0")
    if int(cdag.weights[operands].sum()) + 3 * int(cdag.weights[nodes].max()) <= game.budget:
        return Proven(0, nodes)
    return Proven(_Segments(game, part, duplicates, left, right, root, terms, members).excess(operands), nodes)


def _triples(game: Game, part: Mapping[str, Any]) -> IntArray:
    rows = part.get("terms")
    if not isinstance(rows, list) or not rows or any(not isinstance(row, list) or len(row) != 3 for row in rows):
        raise WrongError("terms must be triples of nodes")
    return np.array([[game.node(name) for name in row] for row in rows], dtype=np.int64)


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


def _duplicates(part: Mapping[str, Any], left: IntArray, right: IntArray, sums: IntArray) -> int:
    """Return how many pairs (i, k) a left operand stands for at most; raises where coordinates do not tell terms."""
    rows = part.get("coordinates")
    if not isinstance(rows, list) or len(rows) != len(left):
        raise WrongError("coordinates must be as many as terms")
    if any(not isinstance(row, list) or len(row) != 3 or any(type(one) is not int for one in row) for row in rows):
        raise WrongError("coordinates must be triples of integers")
    if any(abs(one) > 2**40 for row in rows for one in row):
        raise WrongError("coordinates are too large")
    place = np.array(rows, dtype=np.int64)
    i, j, k = place.T
    if len(np.unique(place, axis=0)) < len(place):
        raise WrongError("coordinates: two terms have the same")
    for key, of, pair in (("right operand", right, (j, k)), ("sum", sums, (i, j))):
        if len(np.unique(np.stack([of, *pair]), axis=1).T) > len(np.unique(of)):
            raise WrongError(f"coordinates: a {key} stands for several")
    faces = np.unique(np.stack([left, i, k], axis=1), axis=0)[:, 0]
    return int(np.unique(faces, return_counts=True)[1].max())


def _price(part: Mapping[str, Any], key: str) -> float:
    value = part.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e15:
        raise WrongError(f"{key} must be a price, from 0 on")
    return float(value)


def _largest(values: IntArray) -> int:
    return int(np.unique(values, return_counts=True)[1].max())


class _Segments:
    """What segments compute, and what has to be moved for all terms."""

    def __init__(
        self, game: Game, part: Mapping[str, Any], duplicates: int, left: IntArray, right: IntArray,
        root: IntArray, terms: IntArray, members: IntArray,
    ) -> None:  # fmt: skip
        cdag, sums = game.cdag, root[terms]
        self._weights, self._budget = cdag.weights, game.budget
        self._loaded = whole(part, "loaded", 1)
        self._begun, self._left = _price(part, "begun"), _price(part, "left")
        self._terms, self._results = len(terms), np.unique(sums)
        self._value = int(cdag.weights[members].min())
        widest = max(int(cdag.weights[nodes].max()) for nodes in (left, right, members))
        self._reach = game.budget + self._loaded + widest - 1
        half = 2 if len(np.intersect1d(left, right)) else 1
        self._prices = int(cdag.weights[left].min()) / half, int(cdag.weights[right].min()) / half
        self._least = 1 / _largest(left), 1 / _largest(right)
        self._most_of_a_sum = _largest(sums)
        self._duplicates = duplicates
        ends = bool(cdag.is_output()[self._results].all())
        complete = int(cdag.weights[self._results].sum()) / self._value if ends else 0.0
        self._complete = max(complete, float(len(self._results)))

    def _per_term(self, met: IntArray) -> FloatArray:
        """Return the least weight of operands per term by the number of sums met.

        x left and y right operands per term: x y >= 1 / (d c), and both as many as the terms of one operand allow.
        """
        (heavy, other), (least, fewest) = self._prices, self._least
        area = 1 / (self._duplicates * met)
        x = np.maximum(least, np.sqrt(area * other / heavy))
        x = np.where(area / x < fewest, np.maximum(least, area / fewest), x)
        found: FloatArray = heavy * x + other * np.maximum(fewest, area / x)
        return found

    def _most(self) -> tuple[float, float]:
        """Return what terms less prices come to in a segment; also without the limit on the terms of a sum."""
        met = np.arange(1, len(self._results) + 1)
        per_term = self._per_term(met)
        paid = self._begun * met + self._left * np.maximum(0, met - self._budget / self._value)
        limit = (self._most_of_a_sum * met).astype(np.float64)
        last = self._reach // self._value
        best = alone = 0.0  # no sum is met
        turn = np.clip((self._reach - limit * per_term) / self._value, 0, last)  # more values found leave fewer terms
        for found in (np.zeros(len(met)), np.floor(turn), np.ceil(turn), np.full(len(met), float(last))):
            room = (self._reach - found * self._value) / per_term
            gained = self._begun * found - paid
            best = max(best, float((np.minimum(room, limit) + gained).max()))
            alone = max(alone, float((room + gained).max()))
        nothing = self._begun * last  # values found and no sum met
        return max(best, nothing), max(alone, nothing)

    def excess(self, operands: IntArray) -> int:
        """Return what is moved beyond inputs and outputs.

        m full segments, one before with fewer loads in proportion, and stores of values that sums leave.
        """
        most, alone = self._most()
        counted = self._terms - self._begun * len(self._results) - self._left * self._complete
        per_word = self._left / self._value  # a word stored in place of so many terms
        if counted <= 0 or most <= 0 or per_word * self._loaded > most:
            return 0
        full = max(0, math.ceil(counted / most) - 1)
        least = math.inf
        for segments in range(max(0, full - 2), full + 1):
            rest = counted - segments * most
            stored = max(0.0, rest - most)
            if stored and not per_word:
                continue
            first = min(1.0, min(rest, most) / alone)
            least = min(least, self._loaded * (segments + first) + (stored / per_word if stored else 0.0))
        known = int(self._weights[operands].sum())
        return max(0, math.ceil(least * (1 - _ROUNDING)) - known)
