"""The least that a plan pays where values are accumulated operand by operand, on small graphs: an A* over positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.local_search.sequences import Game
from shorthaul.pebble.plan import Move, Plan, plan_of

#: Positions kept at most: some 300 bytes each.
_MOST_POSITIONS = 1_000_000

#: What is in fast memory, which steps are done, whose slow copies are up to date: sets as bits.
Position = tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The cheapest plan below the limit, None if there is none or it was not found; what it pays beside computing.

    No plan pays less than ``least``. ``is_complete`` tells that the search came to its end.
    """

    plan: Plan | None
    least: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _Event:
    """Values leave, then one is loaded (``step`` is -1) or a step is done."""

    leaving: tuple[int, ...]
    step: int
    node: int


def solve(game: Game, *, limit: int, search: Search) -> Outcome:
    """Return the cheapest plan that pays less than ``limit``, computing left aside.

    >>> from shorthaul.pebble.model import Terms, from_pairs
    >>> graph = from_pairs([1] * 4, [(0, 3), (1, 3), (2, 3)])
    >>> solve(Game(graph, 2, False, Terms(partial=True)), limit=99, search=Search()).least
    4
    """
    rules = _Rules(game)
    start: Position = (0, 0, 0)
    cost = {start: 0}
    origin: dict[Position, tuple[Position, _Event]] = {}
    first = rules.still(start)
    queue = [(first, 0, start)] if first is not None and first < limit else []
    least = 0
    while queue:
        total, paid, position = heappop(queue)
        if cost[position] < paid:
            continue
        least = total
        if position[1] == rules.all_steps:
            return Outcome(rules.played(_path(origin, position)), total, True)
        if search.expired() or len(cost) > _MOST_POSITIONS:
            return Outcome(None, least, False)
        search.spend((game.cdag.n + len(rules.steps)) / tuning.ACCUMULATION_RATE)
        for event, price, reached in rules.events(position):
            if paid + price < cost.get(reached, limit):
                still = rules.still(reached)
                if still is not None and paid + price + still < limit:
                    cost[reached] = paid + price
                    origin[reached] = position, event
                    heappush(queue, (paid + price + still, paid + price, reached))
    return Outcome(None, limit, True)


def _path(origin: dict[Position, tuple[Position, _Event]], end: Position) -> list[_Event]:
    path = []
    while end in origin:
        end, event = origin[end]
        path.append(event)
    return path[::-1]


class _Rules:
    """The steps: every accumulation, and every computation from nothing; what each needs and pays."""

    def __init__(self, game: Game) -> None:
        cdag, terms = game.cdag, game.terms
        sources, targets = cdag.edge_arrays()
        constants = cdag.constants().tolist()
        self.edges = cdag.edges
        self.steps = [*zip(sources.tolist(), targets.tolist(), strict=True), *((-1, node) for node in constants)]
        self.all_steps = (1 << len(self.steps)) - 1
        self._makes, self._uses = [0] * cdag.n, [0] * cdag.n  # the steps that make a value, and all it takes part in
        for number, (source, target) in enumerate(self.steps):
            self._makes[target] |= 1 << number
            self._uses[target] |= 1 << number
            if source >= 0:
                self._uses[source] |= 1 << number
        self._weights, self._given, self._outputs = (
            cdag.weights.tolist(), cdag.given.tolist(), cdag.is_output().tolist()
        )  # fmt: skip
        self._budget, self._load, self._store = game.budget, terms.load, terms.store

    def still(self, position: Position) -> int | None:
        """Return what is paid at least from here, None if no plan leads on."""
        red, done, stored = position
        charge = 0
        for node, weight in enumerate(self._weights):
            if self._outputs[node] and self._makes[node] & ~done:
                charge += (self._store or 0) * weight
            if not self._uses[node] & ~done or red >> node & 1:
                continue
            if self._given[node] or self._makes[node] & done:
                back = self._back(node, stored)
                if back is None:
                    return None
                charge += back
        return charge

    def _back(self, node: int, stored: int) -> int | None:
        """Return what loading a value pays, with its store if that is still to be paid; None if it cannot be."""
        if self._load is None or (self._store is None and not self._given[node]):
            return None
        is_stored = self._given[node] or stored >> node & 1
        weight: int = self._weights[node]
        return (self._load + (0 if is_stored else self._store or 0)) * weight

    def events(self, position: Position) -> Iterator[tuple[_Event, int, Position]]:
        """Yield what can happen, what it pays, and where it leads; what nobody uses any more is not there."""
        red, done, stored = position
        for number, (source, target) in enumerate(self.steps):
            bit, own = 1 << number, 1 << target
            if done & bit or (source >= 0 and not (red >> source & 1 and not self._makes[source] & ~done)):
                continue
            if not red & own and self._makes[target] & done:
                continue
            after = done | bit
            complete = self._outputs[target] and not self._makes[target] & ~after
            price = (self._store or 0) * self._weights[target] if complete else 0
            kept = 1 << source if source >= 0 else 0
            for leaving in ((),) if red & own else self._rooms(red, kept, self._weights[target]):
                held = self._without(red | own, leaving)
                for node in (source, target):
                    if node >= 0 and not self._uses[node] & ~after:
                        held &= ~(1 << node)
                written = stored | own if complete and self._store is not None else stored & ~own
                yield _Event(leaving, number, target), price, (held, after, written)
        for node, weight in enumerate(self._weights):
            if red >> node & 1 or not self._uses[node] & ~done or not (self._given[node] or self._makes[node] & done):
                continue
            back = self._back(node, stored)
            for leaving in () if back is None else self._rooms(red, 0, weight):
                held = self._without(red | 1 << node, leaving)
                yield _Event(leaving, -1, node), back or 0, (held, done, stored | 1 << node)

    @staticmethod
    def _without(red: int, leaving: tuple[int, ...]) -> int:
        for node in leaving:
            red &= ~(1 << node)
        return red

    def _rooms(self, red: int, kept: int, weight: int) -> Iterator[tuple[int, ...]]:
        """Yield the sets of values whose leaving makes room, none of which could stay."""
        held = [node for node in range(len(self._weights)) if red >> node & 1]
        missing = weight - self._budget + sum(self._weights[node] for node in held)
        candidates = sorted((n for n in held if not kept >> n & 1), key=lambda node: -self._weights[node])
        yield from self._sets(candidates, missing)

    def _sets(self, candidates: list[int], missing: int) -> Iterator[tuple[int, ...]]:
        if missing <= 0:
            yield ()
            return
        for at, node in enumerate(candidates):
            if self._weights[node] >= missing:
                yield (node,)
            else:
                for rest in self._sets(candidates[at + 1 :], missing - self._weights[node]):
                    yield (node, *rest)

    def played(self, events: list[_Event]) -> Plan:
        """Return the moves; a value that leaves and is still used is stored, unless its slow copy is up to date."""
        moves: list[tuple[int, int]] = []
        done = 0
        stored = {node for node, given in enumerate(self._given) if given}
        for event in events:
            for node in event.leaving:
                moves += [] if node in stored else [(Move.STORE, node)]
                moves.append((Move.DELETE, node))
                stored.add(node)
            if event.step < 0:
                moves.append((Move.LOAD, event.node))
                continue
            source, target = self.steps[event.step]
            done |= 1 << event.step
            moves.append((Move.COMPUTE, target) if source < 0 else (Move.ACCUMULATE, event.step))
            stored.discard(target)
            if self._outputs[target] and not self._makes[target] & ~done and self._store is not None:
                moves.append((Move.STORE, target))
                stored.add(target)
            for node in (source, target):
                if node >= 0 and not self._uses[node] & ~done:
                    moves.append((Move.DELETE, node))
        return plan_of(moves)
