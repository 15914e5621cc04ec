"""The smallest fast memory that moves inputs and outputs only in other games than the usual one.

In place, with values that are computed again, in a given order, or accumulated operand by operand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.exact import accumulation, accumulation_search, priced_search
from shorthaul.pebble.exact.least_memory import LeastMemory, peak_of
from shorthaul.pebble.local_search import sequences
from shorthaul.pebble.local_search.sequences import Game
from shorthaul.pebble.model import Cdag, Terms
from shorthaul.pebble.plan import Plan


def in_terms(cdag: Cdag, plan: Plan, terms: Terms) -> Plan:
    """Return the plan as ``terms`` allow it: in place with every result in the room of the widest operand that is dead.

    Accumulated, every value adds its operands one after the other where it was computed.

    >>> from shorthaul.pebble.model import from_pairs
    >>> from shorthaul.pebble.orders import belady
    >>> chain = from_pairs([1] * 3, [(0, 1), (1, 2)])
    >>> peak_of(chain, in_terms(chain, belady.plan(chain, 9), Terms(in_place=True)), in_place=True)
    1
    """
    if terms.partial:
        return accumulation.accumulated(cdag, plan)
    game = Game(cdag, int(cdag.weights.sum()), True, terms)
    return sequences.played(game, sequences.events_of(game, plan))


def search_least(cdag: Cdag, start: Plan, terms: Terms, *, least: int, search: Search, recompute: bool) -> LeastMemory:
    """Return the smallest budget found from ``start``, a plan that moves inputs and outputs only, and what is proven.

    ``least`` is a budget below which there is no such plan. Small graphs are searched exhaustively at budgets in
    between; then plans are annealed.

    >>> from shorthaul.pebble.orders import belady
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> cdag = pyramid(n=4, word=1)
    >>> found = search_least(
    ...     cdag, belady.plan(cdag, 99), Terms(in_place=True), least=1, search=Search(), recompute=False
    ... )
    >>> found.budget, found.least
    (5, 5)
    """
    cdag = replace(cdag, compute=np.zeros(cdag.n, dtype=np.int64))  # only what is moved counts
    unit, goal = int(np.gcd.reduce(cdag.weights)), cdag.algorithmic_bound()
    best, budget = in_terms(cdag, start, terms), 0
    least = max(-(-least // unit) * unit, int(terms.needs(cdag).max()))

    def take(found: Plan) -> None:
        nonlocal best, budget
        best, budget = found, peak_of(cdag, found, in_place=terms.in_place)
        search.keep(budget, best)

    take(best)
    open_from = budget  # budgets from here on take too long
    is_small = (cdag.edges if terms.partial else cdag.n) <= priced_search.MOST_NODES
    while is_small and least < min(budget, open_from) and not search.expired():
        room = (least + min(budget, open_from)) // 2 // unit * unit
        part = search.part(0.2, unlimited=tuning.LEAST_MEMORY_EFFORT).aside()
        plan, is_complete = _searched(Game(cdag, room, recompute, terms), goal, part)
        if plan is not None:
            take(plan)
        elif is_complete:
            least = room + unit
        else:
            open_from = room
    return lowered(cdag, LeastMemory(budget, best, least), terms, search=search, recompute=recompute)


def lowered(cdag: Cdag, known: LeastMemory, terms: Terms, *, search: Search, recompute: bool) -> LeastMemory:
    """Return the smallest budget found by annealing events from a plan.

    That is done at less than the best budget, again and again, by twice as much after it is reached, by a quarter where
    it is not. What does not fit is charged, so orders that need more memory lie on the way.
    """
    unit, goal = int(np.gcd.reduce(cdag.weights)), cdag.algorithmic_bound()
    best, budget, least = known.plan, known.budget, known.least
    step = (budget - least) // tuning.LEAST_MEMORY_STEPS // unit * unit
    while budget > least and not search.expired():
        step = max(unit, step)
        part = search.part(tuning.LEAST_MEMORY_SHARE, unlimited=tuning.LEAST_MEMORY_EFFORT).aside()
        plan = _annealed(Game(cdag, max(least, budget - step), recompute, terms), best, goal, part)
        if plan is not None:
            best, budget = plan, peak_of(cdag, plan, in_place=terms.in_place)
            search.keep(budget, best)
            step *= 2
        elif step == unit:
            break
        else:
            step = step // 4 // unit * unit
    return LeastMemory(budget, best, least)


def _searched(game: Game, goal: int, search: Search) -> tuple[Plan | None, bool]:
    """Return a plan that pays ``goal``, and whether the exhaustive search for one came to its end."""
    if game.terms.partial:
        done = accumulation_search.solve(game, limit=goal + 1, search=search)
        return done.plan, done.is_complete
    events = priced_search.solve(game, limit=goal + 1, search=search)
    return None if events.events is None else sequences.played(game, events.events), events.is_complete


def _annealed(game: Game, start: Plan, goal: int, search: Search) -> Plan | None:
    """Return a plan that pays ``goal``, annealed from one that needs more memory; None if none was met."""
    if game.terms.partial:
        plan = accumulation.improve(game, [start], search=search, goal=goal)
        return None if plan is None or plan[1] > goal else plan[0]
    found = sequences.improve(game, sequences.events_of(game, start), search=search, goal=goal)
    return None if found is None or found[1] > goal else sequences.played(game, found[0])
