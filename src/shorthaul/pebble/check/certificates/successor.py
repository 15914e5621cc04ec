"""Loads between one computation and the next, verified: prices of being the one before.

``nodes`` are computed ones, each with one of the ``prices``, integers from 0; ``values`` are some of them, and inputs.
Each of the nodes but the first is computed right after another of them, no two after the same. What it reads of the
values, and that one neither read nor is, was in the room that that one left, or is loaded in between, and was stored
before if it was computed; all readers among the nodes share the charge of a store. So the least charge and price of
the one before, summed over all nodes, less all prices, is paid at least, by moves of the values. (The first one may be
charged as if it came after the last: that is no more than all that it reads.) A unit of weight counts as 5,040, so
that a store falls into shares. Values of more than 64 readers are taken to be there always; inputs that are read once
do not count, and first loads of the others are no excess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError
from shorthaul.pebble.model import LARGEST_TOTAL, IntArray

_UNIT, _MOST_READERS = 5040, 64
#: Pairs of computations that have a value in common, at most.
_MOST_PAIRS = 20_000_000


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``successor`` proves; raises :class:`WrongError`."""
    cdag = game.cdag
    prices, given, values = part.get("prices"), game.different(part, "nodes"), game.different(part, "values")
    if not isinstance(prices, list) or any(type(price) is not int or not 0 <= price <= 2**60 for price in prices):
        raise WrongError("prices must be integers from 0")
    if len(prices) != len(given) or cdag.given[given].any():
        raise WrongError("nodes must be computed ones, and prices as many")
    if not np.isin(values[~cdag.given[values]], given).all():
        raise WrongError("values must be inputs or among the nodes")
    if int(cdag.weights.sum()) > LARGEST_TOTAL // (2 * _UNIT) or sum(prices) > 2**60:
        raise WrongError("weights or prices are too large")
    price = np.zeros(cdag.n, dtype=np.int64)
    price[given] = prices
    steps = _Steps(game, given, values)
    least = np.minimum(steps.after_strangers(price), steps.after_others(price))
    beyond = int(least[given].sum()) - sum(prices) - steps.first_loads
    unit = math.gcd(*cdag.weights.tolist())
    return Proven(max(0, -(-beyond // (_UNIT * unit)) * unit), steps.nodes)


class _Steps:
    """What computing a node after another one is charged, in small units."""

    def __init__(self, game: Game, chosen: IntArray, known: IntArray) -> None:
        cdag, weights, size = game.cdag, game.cdag.weights, game.cdag.n
        is_chosen, is_known = np.zeros((2, size), dtype=np.bool_)
        is_chosen[chosen], is_known[known] = True, True
        sources, targets = cdag.edge_arrays()
        inner = is_known[sources] & is_chosen[targets]
        order = np.argsort(sources[inner], kind="stable")
        sources, self._readers = sources[inner][order], targets[inner][order]
        self._degrees = readers = np.bincount(sources, minlength=size)
        self._size, self._chosen, self._is_chosen = size, chosen, is_chosen
        counts = (readers <= _MOST_READERS) & ~(cdag.given & (readers == 1)) & (readers > 0)
        self.nodes = np.flatnonzero(counts)
        store = np.where(cdag.given, 0, _UNIT // np.maximum(1, readers))  # a reader's share of a store, per weight
        self._read = sources[counts[sources]], self._readers[counts[sources]]
        self._charge = weights * (_UNIT + store)
        values, nodes = self._read
        self._all, self._stored, self._dearest = (np.zeros(size, dtype=np.int64) for _ in range(3))
        np.add.at(self._all, nodes, self._charge[values])
        np.add.at(self._stored, nodes, (weights * store)[values])
        np.maximum.at(self._dearest, nodes, (_UNIT + store)[values])
        self._room = game.budget - cdag.needs()
        self.first_loads = _UNIT * int(weights[counts & cdag.given].sum())

    def _left(self, nodes: IntArray, shared: IntArray, room: IntArray) -> IntArray:
        """Return the charges of some nodes that find values of a charge, and others in so much room."""
        spared = np.minimum(room * self._dearest[nodes], room * _UNIT + self._stored[nodes])
        left: IntArray = np.maximum(0, self._all[nodes] - shared - spared)
        return left

    def after_strangers(self, price: IntArray) -> IntArray:
        """Return the least charge and price of each node after one with which it has nothing in common."""
        least = np.full(self._size, 2**62)
        everybody = np.arange(self._size)
        cheapest = 2**62
        for node in self._chosen[np.argsort(-self._room[self._chosen], kind="stable")].tolist():
            if price[node] < cheapest:  # else one with as much room and more is as cheap
                cheapest = int(price[node])
                room = np.full(self._size, self._room[node])
                least = np.minimum(least, self._left(everybody, np.zeros_like(room), room) + cheapest)
        return least

    def after_others(self, price: IntArray) -> IntArray:
        """Return the least charge and price of each node after one that read or is a value that it reads."""
        values, nodes = self._read
        least = np.full(self._size, 2**62)
        has = self._degrees[values] + self._is_chosen[values]  # its readers, and itself
        if int(has.sum()) > _MOST_PAIRS:
            raise WrongError("too many pairs of nodes have a value in common")
        later, value = np.repeat(nodes, has), np.repeat(values, has)
        place = np.arange(len(later)) - np.repeat(np.cumsum(has) - has, has)
        is_itself = place == self._degrees[value]
        starts = np.cumsum(self._degrees) - self._degrees
        earlier = np.where(is_itself, value, self._readers[np.where(is_itself, 0, starts[value] + place)])
        kept = later != earlier
        later, earlier, value = later[kept], earlier[kept], value[kept]
        order = np.argsort(later * self._size + earlier, kind="stable")
        later, earlier, charge = later[order], earlier[order], self._charge[value][order]
        if len(later) == 0:
            return least
        first = np.flatnonzero((np.diff(later, prepend=-1) != 0) | (np.diff(earlier, prepend=-1) != 0))
        shared = np.add.reduceat(charge, first)
        later, earlier = later[first], earlier[first]
        np.minimum.at(least, later, self._left(later, shared, self._room[earlier]) + price[earlier])
        return least
