"""Local search over orders of computation, by annealing; with recomputation every order is judged by its whole replay.

Without recomputation :mod:`annealing` replays only what a move changes.
"""

from __future__ import annotations

import numpy as np

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.local_search import annealing
from shorthaul.pebble.local_search.order_moves_kernels import Cooling
from shorthaul.pebble.local_search.recomputing_kernels import Annealing, anneal
from shorthaul.pebble.local_search.windows import Window, whole, window
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move, Plan

#: The moves of a round that ends by its work.
_ANY_NUMBER = 1 << 60


def improve(
    cdag: Cdag,
    budget: int,
    start: Plan,
    *,
    search: Search,
    recompute: bool = False,
    goal: int = 0,
    patience: int | None = tuning.ANNEALING_PATIENCE,
) -> Plan:
    """Return the best schedule met when annealing the order of ``start`` until ``search`` expires; never a worse one.

    A move takes some computations to another place in the order, with those that they need or that need them. Without
    ``recompute``, see :func:`annealing.improve`. With it a value may also be computed once more, just before it is
    read, instead of being kept or loaded: each round anneals the best order so far, in turn for every penalty of
    :mod:`belady`, on a compiled replay; rounds grow while they fail, and long orders are annealed in windows: stretches
    between the same contents of the fast memory. It ends after some rounds without success (those of annealing without
    recomputation number ``patience``; None: never), and always at a traffic of ``goal`` (a lower bound).
    """
    goal = max(goal, cdag.algorithmic_bound())
    count = int(np.count_nonzero(start.kinds == Move.COMPUTE))
    if count < 2 or cdag.n + cdag.edges > tuning.LARGEST_ANNEALED or start.traffic(cdag.weights) <= goal:
        return start
    if not recompute:
        once = start
        if count > np.count_nonzero(~cdag.is_input()):
            once = belady.replay_order(cdag, budget, belady.order_of(start))
        found = annealing.improve(cdag, budget, once, search=search, goal=goal, patience=patience)
        return found if found.traffic(cdag.weights) < start.traffic(cdag.weights) else start
    annealer = _Annealer(cdag, budget, start, search, goal)
    idle, size = 0, 1
    while idle < tuning.RECOMPUTING_PATIENCE and not annealer.is_done():
        before = annealer.traffic
        if count <= tuning.MOST_ANNEALED_WHOLE:
            annealer.turn(size)
        if count > tuning.LEAST_IN_WINDOWS:
            annealer.sweep()
        idle = idle + 1 if annealer.traffic == before else 0
        size = min(tuning.LARGEST_ROUND, 2 * size) if idle else max(1, size // 4)
    return annealer.best


class _Annealer:
    """The best schedule so far, and the ways to a better one."""

    def __init__(self, cdag: Cdag, budget: int, start: Plan, search: Search, goal: int) -> None:
        self._cdag = cdag
        self._budget = budget
        self._search = search
        self._goal = goal
        self._pace = annealing.Pace(search, tuning.ANNEALING_RATE)
        self._random, self._draws = search.generator(), Random(search.seed)
        self.best = start
        self.traffic = start.traffic(cdag.weights)
        self._order = belady.order_of(start, repeats=True)
        self._unit = float(np.median(cdag.weights))

    def is_done(self) -> bool:
        """True if the goal is met or time is up."""
        return self.traffic <= self._goal or self._search.expired()

    def turn(self, size: int) -> None:
        """Anneal the whole order, once for every penalty, in rounds of this size."""
        for penalty in belady.PENALTIES:
            found, excess = self._round(whole(self._cdag, self._order), penalty, size, tuning.RECOMPUTING_HOT)
            if self._cdag.algorithmic_bound() + excess < self.traffic:
                self._take(self._replay(found, penalty), found)
            if self.is_done():
                break

    def sweep(self) -> None:
        """Anneal windows from the beginning of the order to its end."""
        penalty, plan = self._replayed()
        low, high = tuning.WINDOW
        stop = 0
        while stop < len(self._order) and not self.is_done():
            size = int(self._random.integers(low, high))
            first = max(0, stop - int(self._random.integers(0, size // 2)))
            stop = min(len(self._order), first + size)
            if stop - first < 2:
                break
            part = window(self._cdag, plan, first, stop)
            found, _ = self._round(part, penalty, 1, tuning.RECOMPUTING_WARM)
            order = np.concatenate([self._order[:first], part.nodes[found], self._order[stop:]])
            stop = first + len(found)
            other = self._replay(order, penalty)
            if other.traffic(self._cdag.weights) <= plan.traffic(self._cdag.weights):
                plan, self._order = other, order
                if other.traffic(self._cdag.weights) < self.traffic:
                    self._take(other, order)

    def _replayed(self) -> tuple[float, Plan]:
        """Return the penalty at which the order costs least, and its schedule."""
        plans = {penalty: self._replay(self._order, penalty) for penalty in belady.PENALTIES}
        return min(plans.items(), key=lambda item: item[1].traffic(self._cdag.weights))

    def _replay(self, order: IntArray, penalty: float) -> Plan:
        self._search.spend((self._cdag.n + self._cdag.edges) / tuning.REPLAY_RATE)
        return belady.replay_order(self._cdag, self._budget, order, penalty=penalty)

    def _take(self, plan: Plan, order: IntArray) -> None:
        self.best, self.traffic, self._order = plan, plan.traffic(self._cdag.weights), order
        self._search.keep(self.traffic, plan)
        self._search.report(best=self.traffic, bound=self._goal, what="local search")

    def _round(self, part: Window, penalty: float, size: int, hot: float) -> tuple[IntArray, int]:
        """Return the best order of one annealing round and its excess."""
        schedule = Annealing(part.graph, part.frame, self._budget, part.order)
        cold = tuning.RECOMPUTING_COLD * self._unit
        cooling = Cooling(self._draws, _ANY_NUMBER, hot * self._unit, cold, penalty)
        while True:
            work, step = cooling.work, cooling.step
            cooling.most_work = min(float(size * tuning.ROUND_WORK), work + self._pace.work_left())
            anneal(schedule, cooling, tuning.ANNEALING_CALL)
            self._pace.note(cooling.work - work, cooling.step - step)
            if cooling.is_over() or self._search.expired():
                return schedule.best_order(), schedule.best_cost
