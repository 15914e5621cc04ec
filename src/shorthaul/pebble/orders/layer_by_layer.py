"""The layer-by-layer baseline of the paper's evaluation, and the same order with values freed as soon as they die."""

from __future__ import annotations

from typing import Final

from shorthaul.core.errors import NoPlanError
from shorthaul.core.search import Search
from shorthaul.graphs.csr import layers
from shorthaul.pebble.model import Cdag, require_budget
from shorthaul.pebble.plan import Move, Plan, plan_of

#: Nodes between two looks at the clock.
_LOOK: Final = 1000


def order_of(cdag: Cdag) -> list[int]:
    """Return the computed nodes layer by layer, constants first, then ascending by index and descending in turn."""
    depth = layers(cdag.children, cdag.order).tolist()
    by_layer: list[list[int]] = [[] for _ in range(max(depth) + 1)]
    for node, layer in enumerate(depth):
        by_layer[layer].append(node)
    order: list[int] = cdag.constants().tolist()
    for layer, nodes in enumerate(by_layer[1:]):
        order += nodes if layer % 2 == 0 else reversed(nodes)
    return order


def plan(cdag: Cdag, budget: int, *, freeing: bool = False, search: Search | None = None) -> Plan:
    """Return the layer-by-layer schedule within ``budget``.

    Inputs are loaded when they are needed; outputs are stored and dropped at once. All other values wait in one queue
    in the order in which they entered the fast memory; when room is needed, the first that is no operand of the node
    at hand leaves, stored if it is still needed and nowhere else. The paper's 445 and 636 words follow when dead
    values wait in that queue too; with ``freeing`` they are dropped at once, which needs far less memory. Raises
    :class:`InfeasibleError` if some node cannot be computed, :class:`NoPlanError` if ``search`` ends before.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> cdag = dwt(n=8, d=3, word=1)
    >>> [plan(cdag, 8, freeing=freeing).traffic(cdag.weights) for freeing in (False, True)]
    [18, 16]
    """
    require_budget(cdag, budget)
    return plan_of(_played(cdag, budget, freeing=freeing, search=search).moves)


def _played(cdag: Cdag, budget: int, *, freeing: bool, search: Search | None = None) -> _Queue:
    queue = _Queue(cdag, budget, freeing=freeing)
    for number, node in enumerate(order_of(cdag)):
        queue.compute(node)
        if search is not None and number % _LOOK == 0 and search.expired():
            raise NoPlanError("no plan found before the search ended\n  do:      give it more time, or --method quick")
    return queue


class _Queue:
    """The fast memory: what is in it by age, and the moves made so far."""

    def __init__(self, cdag: Cdag, budget: int, *, freeing: bool) -> None:
        self._weights = cdag.weights.tolist()
        self._starts = cdag.parents.starts.tolist()
        self._parents = cdag.parents.targets.tolist()
        self._readers = cdag.children.degrees().tolist()  # how many computations still read each node
        self._in_slow = cdag.is_input().tolist()
        self._freeing = freeing
        self._free = self.least_free = budget
        self._queue: dict[int, None] = {}  # insertion order is age
        self.moves: list[tuple[int, int]] = []

    def compute(self, node: int) -> None:
        operands = dict.fromkeys(self._parents[self._starts[node] : self._starts[node + 1]])
        for operand in operands:
            if operand not in self._queue:
                self._enter(Move.LOAD, operand, operands)
        self._enter(Move.COMPUTE, node, operands)
        if self._readers[node] == 0:
            self.moves.append((Move.STORE, node))
            self._drop(node)
        for operand in operands:
            self._readers[operand] -= 1
            if self._freeing and self._readers[operand] == 0:
                self._drop(operand)

    def _enter(self, move: Move, node: int, pinned: dict[int, None]) -> None:
        while self._free < self._weights[node]:
            oldest = next(waiting for waiting in self._queue if waiting not in pinned)
            if self._readers[oldest] and not self._in_slow[oldest]:
                self.moves.append((Move.STORE, oldest))
                self._in_slow[oldest] = True
            self._drop(oldest)
        self.moves.append((move, node))
        self._queue[node] = None
        self._free -= self._weights[node]
        self.least_free = min(self.least_free, self._free)

    def _drop(self, node: int) -> None:
        self.moves.append((Move.DELETE, node))
        del self._queue[node]
        self._free += self._weights[node]


def least_memory(cdag: Cdag, *, freeing: bool = False) -> int:
    """Return the smallest budget at which the baseline moves inputs and outputs only."""
    goal = cdag.algorithmic_bound()
    low, high = cdag.least_budget(), int(cdag.weights.sum())
    if freeing:  # all that is in fast memory is read again, so nothing of it may leave
        return high - _played(cdag, high, freeing=True).least_free
    while low < high:
        middle = (low + high) // 2
        if plan(cdag, middle, freeing=freeing).traffic(cdag.weights) == goal:
            high = middle
        else:
            low = middle + 1
    return low
