"""Local search over orders of computation, by annealing; with recomputation every order is judged by its whole replay.

Without recomputation :mod:`annealing` replays only what a move changes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from shorthaul.core import jit
from shorthaul.core.search import Search
from shorthaul.pebble.local_search import annealing, recomputing_kernels
from shorthaul.pebble.local_search.windows import Window, whole, window
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move, Plan

#: The work of one call of the kernel, so that it answers in a fraction of a second: replayed nodes, edges, and values
#: looked at.
_WORK: Final = 8_000_000
#: Orders of up to so many computations are annealed as a whole, those of more than the second number in windows.
_WHOLE: Final = 600
_ALONE: Final = 150
#: The computations of a window.
_WINDOW: Final = (30, 200)
#: Graphs of more nodes and edges than this are left as they are.
_LARGEST: Final = 1_000_000
#: Without a time limit the search ends after so many turns of growing rounds without a better plan.
_PATIENCE: Final = 3
#: The calls of the longest round.
_MOST_CALLS: Final = 8
#: The temperatures between which a round falls, in median weights; windows begin cooler.
_HOT, _WARM, _COLD = 2.0, 1.0, 0.1
#: How often a move computes a value once more, or once less.
_AGAIN: Final = 0.15
#: Seconds that the first compilation of the kernels takes.
COMPILE_S: Final = 8


def improve(
    cdag: Cdag,
    budget: int,
    start: Plan,
    *,
    search: Search,
    recompute: bool = False,
    goal: int = 0,
    patience: int | None = annealing.PATIENCE,
    plain: bool = False,
) -> Plan:
    """Return the best schedule met when annealing the order of ``start`` until ``search`` expires; never a worse one.

    A move takes some computations to another place in the order, with those that they need or that need them. Without
    ``recompute``, see :func:`annealing.improve`. With it a value may also be computed once more, just before it is
    read, instead of being kept or loaded: each round anneals the best order so far, in turn for every penalty of
    :mod:`belady`, on a compiled replay; rounds grow while they fail, and long orders are annealed in windows: stretches
    between the same contents of the fast memory. It ends after some rounds without success (those of annealing without
    recomputation number ``patience``; None: never), and always at a traffic of ``goal`` (a lower bound). The same seed
    gives the same plan when it ends by itself. With ``plain`` annealing without recomputation is not compiled.
    """
    goal = max(goal, cdag.algorithmic_bound())
    count = int(np.count_nonzero(start.kinds == Move.COMPUTE))
    if count < 2 or cdag.n + cdag.edges > _LARGEST or start.traffic(cdag.weights) <= goal:
        return start
    if not recompute:
        once = start
        if count > np.count_nonzero(~cdag.is_input()):
            once = belady.replay_order(cdag, budget, belady.order_of(start))
        found = annealing.improve(cdag, budget, once, search=search, goal=goal, patience=patience, plain=plain)
        return found if found.traffic(cdag.weights) < start.traffic(cdag.weights) else start
    jit.announce(recomputing_kernels.__name__, COMPILE_S)
    annealer = _Annealer(cdag, budget, start, search, goal)
    idle, calls = 0, 1
    while idle < _PATIENCE and not annealer.is_done():
        before = annealer.traffic
        if count <= _WHOLE:
            annealer.turn(calls)
        if count > _ALONE:
            annealer.sweep()
        idle = idle + 1 if annealer.traffic == before else 0
        calls = min(_MOST_CALLS, 2 * calls) if idle else max(1, calls // 4)
    return annealer.best


class _Annealer:
    """The best schedule so far, and the ways to a better one."""

    def __init__(self, cdag: Cdag, budget: int, start: Plan, search: Search, goal: int) -> None:
        self._cdag = cdag
        self._budget = budget
        self._search = search
        self._goal = goal
        self._random = search.generator()
        self.best = start
        self.traffic = start.traffic(cdag.weights)
        self._order = belady.order_of(start, repeats=True)
        self._unit = float(np.median(cdag.weights))

    def is_done(self) -> bool:
        """True if the goal is met or time is up."""
        return self.traffic <= self._goal or self._search.expired()

    def turn(self, calls: int) -> None:
        """Anneal the whole order, once for every penalty, each round in so many calls of falling temperature."""
        for penalty in belady.PENALTIES:
            heats = np.geomspace(_HOT, _COLD, calls + 1).tolist()
            found, excess = self._round(whole(self._cdag, self._order), penalty, list(pairwise(heats)))
            if self._cdag.algorithmic_bound() + excess < self.traffic:
                self._take(belady.replay_order(self._cdag, self._budget, found, penalty=penalty), found)
            if self.is_done():
                break

    def sweep(self) -> None:
        """Anneal windows from the beginning of the order to its end."""
        penalty, plan = self._replayed()
        low, high = _WINDOW
        stop = 0
        while stop < len(self._order) and not self.is_done():
            size = int(self._random.integers(low, high))
            first = max(0, stop - int(self._random.integers(0, size // 2)))
            stop = min(len(self._order), first + size)
            if stop - first < 2:
                break
            part = window(self._cdag, plan, first, stop)
            found, _ = self._round(part, penalty, [(_WARM, _COLD)])
            order = np.concatenate([self._order[:first], part.nodes[found], self._order[stop:]])
            stop = first + len(found)
            other = belady.replay_order(self._cdag, self._budget, order, penalty=penalty)
            if other.traffic(self._cdag.weights) <= plan.traffic(self._cdag.weights):
                plan, self._order = other, order
                if other.traffic(self._cdag.weights) < self.traffic:
                    self._take(other, order)

    def _replayed(self) -> tuple[float, Plan]:
        """Return the penalty at which the order costs least, and its schedule."""
        plans = {p: belady.replay_order(self._cdag, self._budget, self._order, penalty=p) for p in belady.PENALTIES}
        return min(plans.items(), key=lambda item: item[1].traffic(self._cdag.weights))

    def _take(self, plan: Plan, order: IntArray) -> None:
        self.best, self.traffic, self._order = plan, plan.traffic(self._cdag.weights), order
        self._search.report(best=self.traffic, bound=self._goal, what="local search")

    def _round(self, part: Window, penalty: float, heats: list[tuple[float, float]]) -> tuple[IntArray, int]:
        """Return the best order of one annealing round and its excess; the clock is looked at between calls."""
        n = len(part.nodes)
        red = min(n, self._budget // max(1, int(self._unit)))  # values looked at for each one that gives way
        steps = max(1, _WORK // (n * (1 + red // 8) + len(part.parents.targets) + 20))
        order = part.order
        best: tuple[IntArray, int] | None = None
        for hot, cold in heats:
            found, excess, order = recomputing_kernels.anneal(
                order, part.parents.starts, part.parents.targets, part.children.starts, part.children.targets,
                part.weights, part.frame, self._budget, penalty, steps, hot * self._unit, cold * self._unit,
                _AGAIN, int(self._random.integers(2**31)),
            )  # fmt: skip
            if best is None or excess < best[1]:
                best = found, int(excess)
            if self._search.expired():
                break
        assert best is not None  # a round has at least one call
        return best
