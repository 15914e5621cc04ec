"""The smallest fast memory that moves inputs and outputs only, on any graph: found by search, proven by exhaustion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.local_search import annealing
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move, Plan, as_computed
from shorthaul.pebble.states.layered_search import layered, tables


@dataclass(frozen=True, slots=True, eq=False)
class LeastMemory:
    """``plan`` moves inputs and outputs only within ``budget``; with less than ``least`` no schedule does."""

    budget: int
    plan: Plan
    least: int


def peak_of(cdag: Cdag, plan: Plan, *, in_place: bool = False) -> int:
    """Return the most weight that is in fast memory at once; ``in_place`` where operands go next after a result.

    A value that is accumulated, and does not come back, is there from its first operand on.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> cdag = pyramid(n=2, word=1)
    >>> peak_of(cdag, belady.plan(cdag, 99))
    4
    """
    played = as_computed(plan, cdag.edge_arrays()[1])
    enters = (played.kinds == Move.LOAD) | (played.kinds == Move.COMPUTE)
    adding = np.flatnonzero(plan.kinds == Move.ACCUMULATE)
    enters[adding] = False
    enters[adding[np.unique(played.nodes[adding], return_index=True)[1]]] = True
    change = np.where(enters, 1, np.where(plan.kinds == Move.DELETE, -1, 0)) * cdag.weights[played.nodes]
    held = np.cumsum(change)
    if in_place:
        kinds, nodes = plan.kinds, plan.nodes
        gives_room = (kinds[:-1] == Move.COMPUTE) & (kinds[1:] == Move.DELETE) & (nodes[:-1] != nodes[1:])
        gives_room &= cdag.weights[nodes[1:]] >= cdag.weights[nodes[:-1]]
        held = held[~np.append(gives_room, False)]
    return int(held.max(initial=0))


def search_least(cdag: Cdag, start: Plan, *, search: Search) -> LeastMemory:
    """Return the smallest budget found from ``start``, a plan that moves inputs and outputs only, and what is proven.

    Budgets are multiples of the weights' divisor. No value is computed twice. Annealing at one less than the best
    lowers it. On graphs that are not too large, a search for plans that let nothing go and come back is completed at
    budgets in between: every set of computed values is one position, since all of them that are read later must be in
    fast memory. Where it finds none, the least budget is above.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> cdag = pyramid(n=4, word=1)
    >>> found = search_least(cdag, belady.plan(cdag, 99), search=Search())
    >>> found.budget, found.least
    (6, 6)
    """
    unit = int(np.gcd.reduce(cdag.weights))
    goal = cdag.algorithmic_bound()
    best, budget = start, peak_of(cdag, start)
    least = cdag.least_budget()
    if cdag.n <= tuning.MOST_FOR_LEAST_MEMORY:
        best, least = _exhausted(cdag, best, search.part(0.5))
        budget = peak_of(cdag, best)
    while budget > least and not search.expired():
        room = budget - unit
        begin = belady.plan(cdag, room, search=search.part(0.2).aside())
        found = annealing.improve(cdag, room, begin, search=search.part(0.5).aside(), goal=goal)
        if found.traffic(cdag.weights) > goal:
            break
        best, budget = found, peak_of(cdag, found)
        search.keep(budget, best)
    return LeastMemory(budget, best, least)


def _exhausted(cdag: Cdag, best: Plan, search: Search) -> tuple[Plan, int]:
    """Return the best plan and the least budget that complete searches leave, by bisection."""
    unit = int(np.gcd.reduce(cdag.weights))
    low, high = cdag.least_budget() // unit, peak_of(cdag, best) // unit
    given = tables(cdag)
    open_from = high  # budgets from here on take too long
    while low < min(high, open_from) and not search.expired():
        middle = (low + min(high, open_from)) // 2
        part = search.part(0.3, unlimited=tuning.LEAST_MEMORY_EFFORT).aside()
        outcome = layered(cdag, middle * unit, limit=1, search=part, given=given)
        if outcome.plan is not None:
            best, high = outcome.plan, peak_of(cdag, outcome.plan) // unit
            search.keep(high * unit, best)
        elif outcome.finished and outcome.complete:
            low = middle + 1
        else:
            open_from = middle
    return best, low * unit
