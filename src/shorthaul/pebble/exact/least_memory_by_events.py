"""The smallest fast memory that moves inputs and outputs only, in place or in a given order, by searches for events."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.exact import priced_search
from shorthaul.pebble.exact.least_memory import LeastMemory, peak_of
from shorthaul.pebble.local_search import sequences
from shorthaul.pebble.local_search.sequences import Events, Game
from shorthaul.pebble.model import Cdag, Terms
from shorthaul.pebble.plan import Plan


def in_terms(cdag: Cdag, plan: Plan, terms: Terms) -> Plan:
    """Return the plan as ``terms`` allow it: in place with every result in the room of the widest operand that is dead.

    >>> from shorthaul.pebble.model import from_pairs
    >>> from shorthaul.pebble.orders import belady
    >>> chain = from_pairs([1] * 3, [(0, 1), (1, 2)])
    >>> peak_of(chain, in_terms(chain, belady.plan(chain, 9), Terms(in_place=True)), in_place=True)
    1
    """
    game = Game(cdag, int(cdag.weights.sum()), True, terms)
    return sequences.played(game, sequences.events_of(game, plan))


def search_least(cdag: Cdag, start: Plan, terms: Terms, *, least: int, search: Search, recompute: bool) -> LeastMemory:
    """Return the smallest budget found from ``start``, a plan that moves inputs and outputs only, and what is proven.

    ``least`` is a budget below which there is no such plan. Small graphs are searched exhaustively at budgets in
    between; then events are annealed at less than the best, again and again, by twice as much after it is reached, by a
    quarter where it is not.

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
    best = in_terms(cdag, start, terms)
    budget = peak_of(cdag, best, in_place=terms.in_place)
    least = max(-(-least // unit) * unit, int(terms.needs(cdag).max()))

    def take(room: int, events: Events) -> None:
        nonlocal best, budget
        best = sequences.played(Game(cdag, room, recompute, terms), events)
        budget = peak_of(cdag, best, in_place=terms.in_place)

    open_from = budget  # budgets from here on take too long
    while least < min(budget, open_from) and cdag.n <= priced_search.MOST_NODES and not search.expired():
        room = (least + min(budget, open_from)) // 2 // unit * unit
        part = search.part(0.2, unlimited=tuning.LEAST_MEMORY_EFFORT)
        done = priced_search.solve(Game(cdag, room, recompute, terms), limit=goal + 1, search=part)
        if done.events is not None:
            take(room, done.events)
        elif done.is_complete:
            least = room + unit
        else:
            open_from = room
    step = (budget - least) // tuning.LEAST_MEMORY_STEPS // unit * unit
    while budget > least and not search.expired():
        step = max(unit, step)
        game = Game(cdag, max(least, budget - step), recompute, terms)
        part = search.part(tuning.LEAST_MEMORY_SHARE, unlimited=tuning.LEAST_MEMORY_EFFORT)
        found = sequences.improve(game, sequences.events_of(game, best), search=part, goal=goal)
        if found is not None and found[1] <= goal:
            take(game.budget, found[0])
            step *= 2
        elif step == unit:
            break
        else:
            step = step // 4 // unit * unit
    return LeastMemory(budget, best, least)
