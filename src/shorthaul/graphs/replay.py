"""The red-white pebble game on concrete CDAGs: Belady's replacement on an order, and exact play on small graphs.

Rules (Olivry et al., Definition 3.2): every input is white at the start; a vertex is computed once, when all its
operands are red, and becomes red and white; a white vertex may be made red again, which is one load; a red pebble may
be removed at any time; at most ``capacity`` vertices are red. Only loads are counted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import Demand, InfeasibleError

IntArray = npt.NDArray[np.int64]


def belady_loads(order: IntArray, starts: IntArray, operands: IntArray, capacity: int) -> IntArray:
    """Return the loads that each operation of ``order`` needs when the value used last in the future is evicted.

    For a given order this is the least possible (Belady 1966). ``operands[starts[v]:starts[v + 1]]`` are the distinct
    operands of vertex v, ``order`` lists every vertex that is computed, shape (operations,), as is the result. Raises
    :class:`InfeasibleError` if an operation with its operands does not fit.

    >>> belady_loads(np.array([1, 2]), np.array([0, 0, 1, 2]), np.array([0, 0]), capacity=2)
    array([1, 0])
    """
    from shorthaul.graphs.replay_kernels import belady

    loads = np.zeros(len(order), dtype=np.int64)
    order, starts, operands = (np.ascontiguousarray(item, dtype=np.int64) for item in (order, starts, operands))
    outcome = int(belady(order, starts, operands, int(capacity), loads))
    if outcome <= -2:
        node = -2 - outcome
        need = int(starts[node + 1] - starts[node]) + 1
        raise does_not_fit(node, need, capacity)
    return loads


def does_not_fit(node: int, need: int, capacity: int) -> InfeasibleError:
    """Return the error for a vertex whose operands and result exceed the fast memory."""
    return InfeasibleError(
        "fast memory",
        demand=need,
        limit=capacity,
        place=f"vertex {node}",
        contributors=[Demand("its operands", need - 1), Demand("its result", 1)],
        cure=f"use S of at least {need}",
    )


@dataclass(frozen=True, slots=True)
class ExactPlay:
    """The outcome of an exact search: ``loads`` if it is ``proven`` the least, else a lower bound on it."""

    loads: int
    proven: bool
    states: int


def least_loads(operands: Sequence[Sequence[int] | None], capacity: int, *, most_states: int = 300_000) -> ExactPlay:
    """Return the least loads with which the red-white game on a small CDAG can be won, over all orders.

    ``operands[v]`` are the operands of vertex v, empty for an input, None for a computed vertex that reads nothing. A*
    over (computed, red) with the number of values that are still needed and not red as estimate; the search gives up
    after ``most_states`` states.

    >>> least_loads([[], [], [0, 1], [0, 2]], capacity=3)
    ExactPlay(loads=2, proven=True, states=3)
    """
    game = _Game(operands, capacity)
    start = (game.whites, 0)
    queue: list[tuple[int, int, int, int, int]] = [(game.estimate(*start), 0, 0, *start)]
    best: dict[tuple[int, int], int] = {start: 0}
    states, bound = 0, 0
    while queue:
        estimate, _, loads, white, red = heapq.heappop(queue)
        if best[white, red] < loads:
            continue
        bound = max(bound, estimate)
        states += 1
        if white == game.everything:
            return ExactPlay(loads, proven=True, states=states)
        if states > most_states:
            return ExactPlay(bound, proven=False, states=states)
        for step, after_white, after_red in game.moves(white, red):
            reached = (after_white, after_red)
            total = loads + step
            if total < best.get(reached, 1 << 60):
                best[reached] = total
                # among equal estimates the state that is furthest comes first
                rank = -after_white.bit_count()
                heapq.heappush(queue, (total + game.estimate(*reached), rank, total, *reached))
    raise AssertionError("the game cannot be won although every operation fits")


class _Game:
    """The rules on bit sets."""

    def __init__(self, operands: Sequence[Sequence[int] | None], capacity: int) -> None:
        self.capacity = capacity
        self.needs = [sum(1 << u for u in set(item)) if item else 0 for item in operands]
        self.users = [0] * len(operands)
        for v, needs in enumerate(self.needs):
            if needs.bit_count() + 1 > capacity and needs:
                raise does_not_fit(v, needs.bit_count() + 1, capacity)
            for u in _bits(needs):
                self.users[u] |= 1 << v
        self.everything = (1 << len(operands)) - 1
        self.whites = sum(1 << v for v, item in enumerate(operands) if item is not None and not item)

    def alive(self, white: int, values: int) -> int:
        """Return those of ``values`` that a vertex not yet computed needs."""
        return sum(1 << u for u in _bits(values) if self.users[u] & ~white)

    def estimate(self, white: int, red: int) -> int:
        """Every white value that is needed and not red will be loaded."""
        return self.alive(white, white & ~red).bit_count()

    def moves(self, white: int, red: int) -> Iterator[tuple[int, int, int]]:
        """Yield (loads, white, red) after computing one more vertex; as much is kept red as fits."""
        for v in _bits(self.everything & ~white):
            needs = self.needs[v]
            if needs & ~white:
                continue
            loads = (needs & ~red).bit_count()
            after = white | 1 << v
            others = list(_bits(red & ~needs))
            room = min(len(others), self.capacity - needs.bit_count() - 1)
            for kept in combinations(others, room):
                now = sum(1 << u for u in kept) | needs | 1 << v
                yield loads, after, self.alive(after, now)


def _bits(values: int) -> Iterator[int]:
    while values:
        low = values & -values
        yield low.bit_length() - 1
        values ^= low
