"""Schedules that may compute values again: an exact search on small graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray, require_budget
from shorthaul.pebble.plan import Move, Plan, plan_of
from shorthaul.pebble.states import recomputation_kernels as kernels

#: The exact search takes graphs of up to this many nodes.
MOST_NODES = 64
#: Positions that fit into the arrays of the largest search (about 100 bytes each).
_MOST_POSITIONS = 2**23
_MOST_POSITIONS_OF_PART = 2**20
_FIRST_POSITIONS = 2**13
#: Parts are searched for excesses up to this multiple of their weight.
_MOST_EXCESS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """A CDAG whose values may be computed again.

    ``outside`` is the weight that computing a node takes up beside itself and its operands, shape (n,).
    """

    cdag: Cdag
    outside: IntArray


def whole(cdag: Cdag) -> Game:
    """Return the game of a whole CDAG."""
    return Game(cdag, np.zeros(cdag.n, dtype=np.int64))


def solve(cdag: Cdag, budget: int, *, search: Search, incumbent: Plan) -> tuple[Plan, int, bool]:
    """Return (best plan, lower bound on the traffic, whether the plan is proven optimal), recomputation allowed.

    A* over what is in fast memory and what is in slow memory, nodes computed one at a time and as late as possible
    in between. ``incumbent`` is a plan to improve on. Graphs of more than ``MOST_NODES`` nodes are left as they are.
    Raises :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.orders import belady
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> cdag = fft(n=4, word=1)
    >>> solve(cdag, 3, search=Search(time_limit=60), incumbent=belady.plan(cdag, 3))[1:]
    (14, True)
    """
    require_budget(cdag, budget)
    traffic, least = incumbent.traffic(cdag.weights), cdag.algorithmic_bound()
    if traffic <= least or cdag.n > MOST_NODES:
        return incumbent, least, traffic <= least
    bound = least
    room = _FIRST_POSITIONS
    game = whole(cdag)
    while True:
        found, reached = _search(game, budget, traffic, room, search)
        bound = max(bound, min(reached, traffic))
        if found is not None or bound == traffic:
            return found or incumbent, bound, True
        if search.expired() or room >= _MOST_POSITIONS:
            return incumbent, bound, False
        room *= 8


def least_excess(game: Game, budget: int, *, search: Search) -> int:
    """Return a lower bound on the traffic of a part beyond its inputs and outputs, as good as the time allows.

    Every node, what it reads and what it takes beside must fit into the budget.
    """
    cdag = game.cdag
    weight = int(cdag.weights.sum())
    least = cdag.algorithmic_bound()
    if cdag.n > MOST_NODES:
        return 0
    limit = least + _MOST_EXCESS * weight
    room, bound = _FIRST_POSITIONS, least
    while True:
        found, reached = _search(game, budget, limit, room, search)
        bound = max(bound, reached)
        if found is not None or bound >= limit or search.expired() or room >= _MOST_POSITIONS_OF_PART:
            return bound - least
        room *= 8


def _search(game: Game, budget: int, limit: int, room: int, search: Search) -> tuple[Plan | None, int]:
    """Return an optimal plan below ``limit`` if there is one and time and room suffice, and a proven lower bound."""
    cdag = game.cdag
    order = cdag.order
    position = np.empty(cdag.n, dtype=np.int64)
    position[order] = np.arange(cdag.n)
    unit = int(np.gcd.reduce(cdag.weights))
    weights = cdag.weights[order] // unit
    sources, targets = cdag.edge_arrays()
    parents = np.zeros(cdag.n, dtype=np.uint64)
    np.bitwise_or.at(parents, position[targets], np.uint64(1) << position[sources].astype(np.uint64))
    graph = kernels.Game(
        weights, parents, game.outside[order] // unit, _set(cdag.is_output()[order]), _set(cdag.given[order]),
        budget // unit,
    )  # fmt: skip
    positions = kernels.Positions(graph, room, -(-limit // unit))
    while not (positions.is_done or positions.is_full or search.expired()):
        before = positions.work
        kernels.search(positions)
        search.spend((positions.work - before) / tuning.RECOMPUTING_RATE)
    if positions.found >= 0:
        path = kernels.path_to(positions, positions.found)
        return _plan(cdag, path, parents.tolist()), kernels.cost_of(positions, positions.found) * unit
    return None, limit if positions.is_done else positions.bucket * unit


def _set(members: npt.NDArray[np.bool_]) -> int:
    return sum(1 << node for node in np.flatnonzero(members).tolist())


def _plan(cdag: Cdag, path: list[tuple[int, int, int]], parents: list[int]) -> Plan:
    """Return the moves between positions (node computed, red set, saved set), nodes numbered along ``cdag.order``."""
    name = cdag.order.tolist()
    moves: list[tuple[int, int]] = []

    def move(kind: Move, members: int) -> None:
        moves.extend((kind, name[v]) for v in range(cdag.n) if members >> v & 1)

    for (_, red, saved), (node, red_after, saved_after) in pairwise(path):
        operands, own = parents[node], 1 << node
        move(Move.STORE, saved_after & ~saved & ~own)
        move(Move.DELETE, red & ~red_after & ~operands)
        move(Move.LOAD, operands & ~red)
        move(Move.COMPUTE, own)
        move(Move.STORE, saved_after & ~saved & own)
        move(Move.DELETE, ((red & operands) | operands | own) & ~red_after)
    return plan_of(moves)
