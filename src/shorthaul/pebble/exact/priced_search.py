"""The least that a plan can pay, on small graphs: an A* over all positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.exact import priced_search_kernels as kernels
from shorthaul.pebble.local_search.sequences import Events, Game

#: The exact search takes graphs of up to this many nodes.
MOST_NODES = 64
_FIRST_POSITIONS, _MOST_POSITIONS = 2**14, 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The cheapest sequence below the limit, None if there is none or it was not found.

    No plan pays less than ``least``. ``is_complete`` tells that the search came to its end: the sequence is the best,
    or there is none below the limit.
    """

    events: Events | None
    least: int
    is_complete: bool


def solve(game: Game, *, limit: int, search: Search) -> Outcome:
    """Return the cheapest sequence of a graph of up to ``MOST_NODES`` nodes that pays less than ``limit``.

    >>> from shorthaul.pebble.model import Terms, build
    >>> cdag = build([3, 2, 2, 2], [0, 0, 1, 2], [1, 2, 3, 3], compute=[1, 4, 1, 5], given=np.zeros(4, dtype=bool))
    >>> found = solve(Game(cdag, 7, True, Terms(None, None)), limit=99, search=Search())
    >>> found.least, found.is_complete
    (11, True)
    """
    least, room = 0, _FIRST_POSITIONS
    while True:
        positions = kernels.Positions(_rules(game), room, limit)
        while not (positions.is_done or positions.is_full or search.expired()):
            before = positions.work
            kernels.search(positions, tuning.POSITIONS_CALL)
            search.spend((positions.work - before) / tuning.POSITIONS_RATE)
        least = max(least, positions.least)
        if positions.is_done:
            found = None if positions.found < 0 else _events(game, kernels.events_to(positions, positions.found))
            return Outcome(found, least, True)
        if search.expired() or room >= _MOST_POSITIONS:
            return Outcome(None, least, False)
        room *= 8


def _rules(game: Game) -> kernels.Rules:
    cdag, terms, names = game.cdag, game.terms, game.cdag.order
    number = np.empty(cdag.n, dtype=np.int64)
    number[names] = np.arange(cdag.n)
    sources, targets = cdag.edge_arrays()
    parents, readers = np.zeros((2, cdag.n), dtype=np.uint64)
    np.bitwise_or.at(parents, number[targets], np.uint64(1) << number[sources].astype(np.uint64))
    np.bitwise_or.at(readers, number[sources], np.uint64(1) << number[targets].astype(np.uint64))
    load, store = (-1 if price is None else price for price in (terms.load, terms.store))
    return kernels.Rules(
        cdag.weights[names], cdag.compute[names], parents, readers, _set(cdag.given[names]),
        _set(cdag.is_output()[names]), game.budget, load, store, game.recompute, terms.in_order, terms.in_place,
    )  # fmt: skip


def _set(members: npt.NDArray[np.bool_]) -> int:
    return sum(1 << node for node in np.flatnonzero(members).tolist())


def _events(game: Game, path: list[int]) -> Events:
    codes = np.array(path, dtype=np.int64)
    return Events(game.cdag.order[codes // 2], (codes % 2).astype(np.uint8))
