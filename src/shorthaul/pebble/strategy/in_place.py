"""An order replayed where results may take the room of operands: a first sequence of events that fits."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from shorthaul.pebble.local_search.sequences import Events, Game
from shorthaul.pebble.model import IntArray

_NEVER = 2**62


def replayed(game: Game, order: IntArray) -> Events:
    """Return the events that compute all nodes in an order, what is read again latest leaving first (Belady).

    The budget is at least what every node needs in place, and values can be stored and loaded. A result that does not
    fit takes the room of an operand: one that nobody reads again, else, when nothing else is left, one that is read
    latest.

    >>> from shorthaul.pebble.model import Terms, from_pairs
    >>> game = Game(from_pairs([1] * 3, [(0, 1), (1, 2)]), 1, False, Terms(in_place=True))
    >>> replayed(game, game.cdag.order).nodes.tolist()
    [0, 1, 2]
    """
    return _Replay(game, order).events()


class _Replay:
    def __init__(self, game: Game, order: IntArray) -> None:
        cdag = game.cdag
        self._order = [node for node in order.tolist() if not cdag.given[node]]
        self._weights, self._room = cdag.weights.tolist(), game.budget
        starts, parents = cdag.parents.starts.tolist(), cdag.parents.targets.tolist()
        self._operands = [parents[starts[node] : starts[node + 1]] for node in range(cdag.n)]
        self._uses: list[list[int]] = [[] for _ in range(cdag.n)]  # readers still to come, the next one last
        for at in range(len(self._order) - 1, -1, -1):
            for parent in self._operands[self._order[at]]:
                self._uses[parent].append(at)
        self._fast: set[int] = set()
        self._latest: list[tuple[int, int]] = []
        self._events: list[tuple[int, int]] = []

    def events(self) -> Events:
        for node in self._order:
            operands = self._operands[node]
            for parent in operands:
                if parent not in self._fast:
                    self._free(self._weights[parent], operands)
                    self._enter(parent, load=1)
            for parent in operands:
                self._uses[parent].pop()
                heappush(self._latest, (-self._next(parent), parent))
            self._result(node, operands)
            for parent in [*operands, node]:
                if parent in self._fast and not self._uses[parent]:
                    self._leave(parent)
        nodes, loads = np.array(self._events, dtype=np.int64).reshape(-1, 2).T
        return Events(nodes, loads.astype(np.uint8))

    def _result(self, node: int, operands: list[int]) -> None:
        """Put a result beside its operands, or into the room of one."""
        wide = [parent for parent in operands if self._weights[parent] >= self._weights[node]]
        dead = [parent for parent in wide if not self._uses[parent]]
        if self._room < self._weights[node]:
            if not dead:
                self._free(self._weights[node], operands)
            if dead or self._room < self._weights[node]:
                self._leave(max(dead or wide, key=lambda parent: self._weights[parent] if dead else self._next(parent)))
        self._enter(node, load=0)

    def _free(self, weight: int, kept: list[int]) -> None:
        """Let values go until there is room, or only those are left that are kept."""
        held_back = []
        while self._room < weight and self._latest:
            key, node = heappop(self._latest)
            if node not in self._fast or -key != self._next(node):
                continue
            if node in kept:
                held_back.append((key, node))
            else:
                self._leave(node)
        for item in held_back:
            heappush(self._latest, item)

    def _enter(self, node: int, *, load: int) -> None:
        self._events.append((node, load))
        self._fast.add(node)
        self._room -= self._weights[node]
        heappush(self._latest, (-self._next(node), node))

    def _leave(self, node: int) -> None:
        self._fast.remove(node)
        self._room += self._weights[node]

    def _next(self, node: int) -> int:
        return self._uses[node][-1] if self._uses[node] else _NEVER
