"""The exact solver without recomputation: breadth-first branch and bound over downsets, by rising cost limits.

A state is what is computed, what is in fast memory, and what of that is nowhere else; a macro-move computes one node,
loads its missing operands and lets an inclusion-minimal set of values go, stored lazily. All states of as many steps
are kept beside each other (Zhou and Hansen's breadth-first heuristic search), so that each downset keeps only states
that no other can become more cheaply. A pass whose limit no plan meets proves that limit as a bound, the first pass
that finds a plan finds an optimal one.
"""

from __future__ import annotations

import numpy as np

from shorthaul.core.search import Budget
from shorthaul.pebble import beam, belady, local_search
from shorthaul.pebble.downsets import Tables, layered, tables
from shorthaul.pebble.model import Cdag, require_budget
from shorthaul.pebble.plan import Plan

#: The seconds of the first turn of beam, local search and passes; each further turn takes so many times as long.
_FIRST_TURN_S = 1.0
_GROWTH = 3.0
#: Passes shorter than this part of their time are followed by wider steps of the limit.
_SHORT = 0.1


def solve(
    cdag: Cdag, budget: int, *, search: Budget, incumbent: Plan | None = None, known_bound: int = 0
) -> tuple[Plan, int, bool]:
    """Return (best plan, lower bound on the traffic, whether the plan is proven optimal).

    No value is computed twice. ``incumbent`` is a plan to start from, ``known_bound`` a lower bound on the traffic
    that is proven already. Without a time limit the search ends when the proof is complete or outgrows the memory it
    may take. Raises :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.generators import fft
    >>> solve(fft(n=4, word=1), 3, search=Budget(time_limit_s=60))[1:]
    (14, True)
    """
    require_budget(cdag, budget)
    bound = max(cdag.algorithmic_bound(), known_bound)
    solver = _Solver(cdag, budget, tables(cdag), search)
    best = belady.plan(cdag, budget) if incumbent is None else incumbent
    best = local_search.improve(cdag, budget, best, search=solver.part(0.15 * _FIRST_TURN_S), goal=bound)
    best = beam.plan(cdag, budget, search=solver.part(0.15 * _FIRST_TURN_S), incumbent=best, goal=bound)
    seconds = _FIRST_TURN_S
    while best.traffic(cdag.weights) > bound and not search.expired():
        best, bound, outgrown = solver.proven(best, bound, seconds)
        if best.traffic(cdag.weights) > bound and not search.expired():
            best = solver.improved(best, bound, seconds)
        if outgrown and search.time_limit_s is None:
            break
        seconds *= _GROWTH
    return best, bound, best.traffic(cdag.weights) <= bound


class _Solver:
    """One problem, and its turns."""

    def __init__(self, cdag: Cdag, budget: int, given: Tables, search: Budget) -> None:
        self._cdag = cdag
        self._budget = budget
        self._given = given
        self._search = search
        self._turn = 0

    def part(self, seconds: float) -> Budget:
        """Return a budget of so many seconds, or of what is left; every one has a seed of its own."""
        left = self._search.remaining_s()
        part = self._search.part(min(1.0, seconds / max(left, 1e-9)), endless_s=seconds)
        self._turn += 1
        part.seed = self._search.seed + self._turn
        return part

    def improved(self, best: Plan, bound: int, seconds: float) -> Plan:
        """Return a better plan if beam or local search find one."""
        best = local_search.improve(self._cdag, self._budget, best, search=self.part(0.3 * seconds), goal=bound)
        if best.traffic(self._cdag.weights) <= bound:
            return best
        return beam.plan(self._cdag, self._budget, search=self.part(0.9 * seconds), incumbent=best, goal=bound)

    def proven(self, best: Plan, bound: int, seconds: float) -> tuple[Plan, int, bool]:
        """Return the best plan and bound after complete passes, and whether these outgrow the memory.

        First one pass below the best plan, which proves it optimal or finds an optimal one; if that takes too much,
        passes of rising limits.
        """
        cdag, least = self._cdag, self._cdag.algorithmic_bound()
        unit = int(np.gcd.reduce(cdag.weights))
        traffic = best.traffic(cdag.weights)
        target, step = traffic, unit
        search = self.part(0.25 * seconds)
        rising = False
        while bound < traffic:
            started = search.elapsed_s()
            outcome = layered(cdag, self._budget, limit=target - least, search=search, given=self._given)
            if outcome.plan is not None and outcome.excess is not None and outcome.complete:
                return outcome.plan, least + outcome.excess, False
            if outcome.finished and outcome.complete:
                bound = target
                self._search.report(best=traffic, bound=bound, what="exact")
                is_short = search.elapsed_s() - started < _SHORT * seconds
                step = 2 * step if is_short else unit
            elif not rising:
                rising = True
                search = self.part(0.25 * seconds)
            elif step > unit:
                step = unit
            else:
                return best, bound, not search.expired()
            target = min(bound + step, traffic)
        return best, bound, False
