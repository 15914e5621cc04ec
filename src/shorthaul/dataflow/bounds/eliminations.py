"""Orders in which the actors of a graph are eliminated, and the tables that are kept then."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.tile_sets_kernels import Elimination

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Order:
    """The actors in the order of their elimination, and for each those that matter then, as they go later."""

    actors: tuple[int, ...]
    scopes: tuple[tuple[int, ...], ...]
    cells: int

    def tables(self, ends: Sequence[tuple[int, int]], units: int) -> tuple[Elimination, IntArray]:
        """Return the tables where items are shared by two actors each, and the items in the order of their ways."""
        place = {actor: i for i, actor in enumerate(self.actors)}
        items: list[list[tuple[int, int]]] = [[] for _ in self.actors]
        for number, pair in enumerate(ends):
            one, other = sorted(pair, key=lambda actor: place[actor])
            items[place[one]].append((number, 1 + self.scopes[place[one]].index(other)))
        last = len(self.actors) - 1
        children: list[list[int]] = [[] for _ in self.actors]
        for i, scope in enumerate(self.scopes[:last]):
            children[place[scope[0]] if scope else last].append(i)
        bits: list[list[int]] = []
        for parent, found in enumerate(children):
            found.sort(key=lambda i: -len(self.scopes[i]))
            bag = {self.actors[parent]: 0} | {actor: 1 + k for k, actor in enumerate(self.scopes[parent])}
            bits += [[bag[actor] for actor in self.scopes[i]] for i in found]
        listed = np.array([number for found in items for number, _ in found], np.int64)
        tables = Elimination(
            np.array([len(scope) for scope in self.scopes], np.int64), _ends(items), listed,
            np.array([bit for found in items for _, bit in found], np.int64), _ends(children),
            np.array([i for found in children for i in found], np.int64), _ends(bits),
            np.array([bit for found in bits for bit in found], np.int64), units,
        )  # fmt: skip
        return tables, listed


def _ends(parts: Sequence[Sequence[object]]) -> IntArray:
    return np.cumsum([0, *map(len, parts)]).astype(np.int64)


def best_order(count: int, pairs: Sequence[tuple[int, int]]) -> Order:
    """Return the best of some orders: next is an actor whose neighbours get the fewest new ties, any of them."""
    near: list[set[int]] = [set() for _ in range(count)]
    for one, other in pairs:
        near[one].add(other)
        near[other].add(one)
    found = (_order([set(others) for others in near], random.Random(seed)) for seed in range(tuning.TILE_SET_ORDERS))
    return min(found, key=lambda order: order.cells)


def _order(near: list[set[int]], draw: random.Random) -> Order:
    """Return an order; ``near`` is used up."""

    def missing(actor: int) -> int:
        return sum(two not in near[one] for one, two in combinations(near[actor], 2))

    left = {actor: missing(actor) for actor in range(len(near))}
    actors: list[int] = []
    scopes: list[set[int]] = []
    while left:
        actor = min(left, key=lambda one: (left[one], len(near[one]), draw.random()))
        del left[actor]
        scope = near[actor]
        actors.append(actor)
        scopes.append(scope)
        for one in scope:
            near[one] |= scope
            near[one] -= {one, actor}
        for one in scope.union(*(near[other] for other in scope)):
            left[one] = missing(one)
    place = {actor: i for i, actor in enumerate(actors)}
    ordered = tuple(tuple(sorted(scope, key=lambda actor: place[actor])) for scope in scopes)
    return Order(tuple(actors), ordered, sum(1 << len(scope) for scope in ordered))
