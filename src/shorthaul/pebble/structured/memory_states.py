"""Binary trees between given states of the fast memory: Eq. (8), with its first case read as infinite."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.pebble.model import Cdag, require_budget
from shorthaul.pebble.plan import Move, Plan, plan_of
from shorthaul.pebble.structured.forest import Forest, require_forest

#: Trees beyond this height are refused: the recursion follows the equation literally.
MOST_LEVELS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """A schedule that starts with ``initial`` and ends with the root and ``reuse`` in fast memory.

    ``traffic`` is what its loads and stores move, in the unit of the weights.
    """

    plan: Plan
    traffic: int


@dataclass(slots=True)
class _Recursion:
    """P_m(v, b, I, R) for one tree and one pair of states: cost and choice by (v, b)."""

    weights: list[int]
    parents: list[list[int]]
    initial: frozenset[int]
    reuse: frozenset[int]
    below: dict[int, frozenset[int]]
    known: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = field(default_factory=dict)

    def held(self, nodes: Collection[int]) -> int:
        return sum(self.weights[node] for node in nodes)

    def cost(self, v: int, b: int) -> float:
        """Return P_m(v, b, I_v, R_v), infinite if it cannot be done."""
        if (v, b) not in self.known:
            self.known[v, b] = self._cost(v, b)
        return self.known[v, b][0]

    def _cost(self, v: int, b: int) -> tuple[float, tuple[int, ...]]:
        kept = self.reuse & self.below[v]
        operands = self.parents[v]
        if self.held(kept | {v, *operands}) > b:
            return float("inf"), ()
        if v in self.initial:
            return self.held(kept - self.initial), ()
        if not operands:
            return self.weights[v], ()
        if len(operands) == 1:
            return self.cost(operands[0], b), (operands[0], -1, 0)
        options: list[tuple[float, tuple[int, ...]]] = []
        for first, second in (operands, operands[::-1]):
            waiting = self.held(self.initial & self.below[second])
            done = self.reuse & self.below[first]
            start = self.cost(first, b - waiting)
            spilled = start + self.cost(second, b - self.held(done)) + 2 * self.weights[first]
            stays = start + self.cost(second, b - self.held(done | {first}))
            options += [(stays, (first, second, 0)), (spilled, (first, second, 1))]
        return min(options)

    def moves(self, v: int, b: int) -> list[tuple[int, int]]:
        """Return the moves that reach the cost at (v, b)."""
        self.cost(v, b)
        kept = self.reuse & self.below[v]
        if v in self.initial:
            return [(Move.LOAD, node) for node in sorted(kept - self.initial)]
        operands = self.parents[v]
        if not operands:
            return [(Move.LOAD, v)]
        first, second, spilled = self.known[v, b][1]
        if second < 0:
            made = self.moves(first, b)
        else:
            waiting = self.held(self.initial & self.below[second])
            done = self.reuse & self.below[first]
            made = self.moves(first, b - waiting)
            if spilled:
                made += [(Move.STORE, first), (Move.DELETE, first)]
            made += self.moves(second, b - self.held(done if spilled else done | {first}))
            if spilled:
                made.append((Move.LOAD, first))
        made.append((Move.COMPUTE, v))
        return made + [(Move.DELETE, operand) for operand in operands if operand not in self.reuse]


def schedule(
    cdag: Cdag, root: int, budget: int, *, initial: Collection[int] = (), reuse: Collection[int] = ()
) -> Segment:
    """Return the schedule of Eq. (8) that computes ``root`` into fast memory.

    ``initial`` nodes are in fast memory (and in slow memory) at the start, ``reuse`` nodes at the end; nodes that are
    neither leave once they are read. Raises :class:`InputError` if a node has more than two parents or the tree is
    too high, :class:`InfeasibleError` if the budget does not suffice.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import kary
    >>> cdag = kary(k=2, depth=2, word=1)
    >>> schedule(cdag, 6, 4).traffic, schedule(cdag, 6, 4, initial=[4], reuse=[5]).traffic
    (4, 2)
    """
    recursion = _recursion(cdag, root, frozenset(initial), frozenset(reuse))
    cost = recursion.cost(root, budget)
    if cost == float("inf"):
        raise InfeasibleError(
            "fast memory between the given states",
            demand=budget + 1,
            limit=budget,
            place=f"node {cdag.id_of(root)}",
            cure="give a larger budget or smaller states",
        )
    return Segment(plan_of(recursion.moves(root, budget)), int(cost))


def _recursion(cdag: Cdag, root: int, initial: frozenset[int], reuse: frozenset[int]) -> _Recursion:
    parents = [cdag.parents.neighbours(v).tolist() for v in range(cdag.n)]
    below: dict[int, frozenset[int]] = {}
    height: dict[int, int] = {}
    stack = [(root, False)]
    while stack:
        v, ready = stack.pop()
        if len(parents[v]) > 2:
            raise InputError(
                "this method plans binary trees only",
                place=f"node {cdag.id_of(v)}",
                value=f"{len(parents[v])} operands",
            )
        if not ready:
            stack.append((v, True))
            stack += [(p, False) for p in parents[v]]
            continue
        below[v] = frozenset({v}).union(*(below[p] for p in parents[v])) & (initial | reuse | {v})
        height[v] = 1 + max((height[p] for p in parents[v]), default=0)
        if height[v] > MOST_LEVELS:
            raise InputError("is too high for this method", place="tree", allowed=f"up to {MOST_LEVELS} levels")
    return _Recursion(cdag.weights.tolist(), parents, initial, reuse, below)


def plan(cdag: Cdag, budget: int) -> Plan:
    """Return the schedule of Eq. (8) with empty states for every tree of ``cdag`` in turn, roots stored.

    Outputs computed from the same operands are not handled by the equation. Raises :class:`InputError` if ``cdag``
    is no forest of binary trees, :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import kary
    >>> cdag = kary(k=2, depth=3, word=1)
    >>> plan(cdag, 4).traffic(cdag.weights)
    11
    """
    require_budget(cdag, budget)
    forest: Forest = require_forest(cdag, "memory-states")
    if len(forest.twins.targets):
        raise InputError(
            "this method plans trees without outputs on the way",
            place="--method memory-states",
            value=f"output {cdag.id_of(int(forest.twins.targets[0]))}",
            cure="use --method dwt, tree or auto",
        )
    moves: list[tuple[int, int]] = []
    for root in forest.roots.tolist():
        recursion = _recursion(cdag, root, frozenset(), frozenset())
        recursion.cost(root, budget)
        moves += [*recursion.moves(root, budget), (Move.STORE, root), (Move.DELETE, root)]
    return plan_of(moves)
