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
from shorthaul.pebble import beam
from shorthaul.pebble.downsets import Tables, layered, tables
from shorthaul.pebble.model import Cdag, require_budget
from shorthaul.pebble.plan import Plan

#: The part of the time that the beam gets for the first plan.
_BEAM_SHARE = 0.3
#: Of what is left, the part for the pass that would prove the beam's plan optimal.
_CLOSING_SHARE = 0.4
#: Of what is left then, the part for passes of rising limits.
_RAISING_SHARE = 0.5
#: The seconds that count as a part where there is no time limit.
_ENDLESS_SLICE_S = 60.0
#: Passes shorter than this, in seconds, are followed by wider steps of the limit.
_SHORT_S = 0.5


def solve(
    cdag: Cdag,
    budget: int,
    *,
    search: Budget,
    incumbent: Plan | None = None,
    known_bound: int = 0,
) -> tuple[Plan, int, bool]:
    """Return (best plan, lower bound on the traffic, whether the plan is proven optimal).

    No value is computed twice. ``incumbent`` is a plan to start from, ``known_bound`` a lower bound on the traffic
    that is proven already. Raises :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.generators import fft
    >>> solve(fft(n=4, word=1), 3, search=Budget(time_limit_s=60))[1:]
    (16, True)
    """
    require_budget(cdag, budget)
    least = cdag.algorithmic_bound()
    bound = max(least, known_bound)
    best = beam.plan(cdag, budget, search=_slice(search, _BEAM_SHARE), incumbent=incumbent, goal=bound)
    given = tables(cdag)
    best, bound = _closed(cdag, budget, best, bound, _slice(search, _CLOSING_SHARE), given)
    best, bound = _raised(cdag, budget, best, bound, _slice(search, _RAISING_SHARE), given)
    if best.traffic(cdag.weights) > bound and not search.expired():
        best = beam.plan(cdag, budget, search=search, incumbent=best, goal=bound)
    return best, bound, best.traffic(cdag.weights) <= bound


def _slice(search: Budget, share: float) -> Budget:
    """Return a budget of a part of the remaining time, and some time where there is no limit."""
    return search.part(share, endless_s=_ENDLESS_SLICE_S)


def _closed(cdag: Cdag, budget: int, best: Plan, bound: int, search: Budget, given: Tables) -> tuple[Plan, int]:
    """Return the best plan and bound after one pass that proves the best plan optimal or finds an optimal one."""
    traffic, least = best.traffic(cdag.weights), cdag.algorithmic_bound()
    if traffic <= bound:
        return best, bound
    outcome = layered(cdag, budget, limit=traffic - least, search=search, given=given)
    if not outcome.finished:
        return best, bound
    if outcome.plan is None or outcome.excess is None:
        return best, traffic
    return outcome.plan, least + outcome.excess


def _raised(cdag: Cdag, budget: int, best: Plan, bound: int, search: Budget, given: Tables) -> tuple[Plan, int]:
    """Return the best plan and bound after passes of rising limits."""
    unit = int(np.gcd.reduce(cdag.weights))
    step = unit
    while bound < best.traffic(cdag.weights) and not search.expired():
        target = min(bound + step, best.traffic(cdag.weights))
        before = search.elapsed_s()
        outcome = layered(cdag, budget, limit=target - cdag.algorithmic_bound(), search=search, given=given)
        if outcome.plan is not None and outcome.excess is not None:
            return outcome.plan, cdag.algorithmic_bound() + outcome.excess
        if outcome.finished:
            bound = target
        elif step == unit:
            break
        step = 2 * step if search.elapsed_s() - before < _SHORT_S and outcome.finished else unit
    return best, bound
