"""Orders by list scheduling for least traffic: next comes what computes most per weight that has to be moved.

The scheduler plays the game as it goes. Whatever is computable without loading and makes the fast memory emptier comes
at once, whatever else needs no load comes while there is room. Otherwise it looks ahead: for the values that most nodes
wait for alone, for those wanted last, and for the first node of a base order, it counts what could be computed without
further loads once that value is there, its ancestors included, per weight loaded and memory taken. Tiles come out of
this by themselves: skewed bands of a stencil, blocks of a transform, squares of a product. Many rules are raced, every
order judged by its replay with Belady's replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady
from shorthaul.pebble.orders import list_scheduling_kernels as kernels
from shorthaul.pebble.orders import list_scheduling_memory_kernels as memory
from shorthaul.pebble.orders.fusion import Fused, fuse
from shorthaul.pebble.plan import Plan


@dataclass(frozen=True, slots=True)
class Rules:
    """What one run of the scheduler prefers.

    ``base`` names an order of :mod:`belady`. ``fused`` lets values read once go with their reader.
    ``capacity`` is the share of the budget to plan with, ``live`` the share of it that values not in slow memory may
    fill by themselves. ``growth`` and ``overflow`` are what memory taken, and memory missing, count beside loads;
    ``dirty`` is how much nearer a value's next use counts that would have to be stored. ``by_score`` is
    how many values that most nodes wait for are looked at, ``longest`` how many nodes one look may ask for.
    """

    base: str = "depth-first-by-need"
    fused: bool = False
    capacity: float = 1.0
    live: float = 1.0
    growth: float = 0.1
    overflow: float = 1.0
    dirty: float = 1.0
    by_score: int = 3
    longest: int = 64


RULES: Final = (
    Rules(base="given", growth=0.3, dirty=2.0),
    Rules(),
    Rules(fused=True, base="depth-first", growth=0.3, live=0.8),
    Rules(base="given", by_score=0, growth=0.0, live=0.85),
    Rules(base="depth-first", by_score=0, growth=0.0, live=0.75),
    Rules(base="given", capacity=0.8, dirty=4.0),
    Rules(fused=True, growth=1.0, overflow=2.0, capacity=0.9),
    Rules(base="recent-first", growth=0.0, by_score=1, longest=512),
)


class Scheduler:
    """Runs of the scheduler on one CDAG, its fused graph and its base orders made once."""

    def __init__(self, cdag: Cdag, budget: int) -> None:
        self._cdag = cdag
        self._budget = budget
        self._fused: dict[bool, Fused] = {}
        self._orders: dict[str, IntArray] = {}

    def order(self, rules: Rules, search: Search, seed: int) -> IntArray | None:
        """Return a topological order of the nodes that are no inputs, found by ``rules``, shape (computed nodes,).

        Return None if ``search`` expires before.
        """
        cdag = self._cdag
        search.spend(tuning.LIST_RUN_EFFORT + (cdag.n + cdag.edges) / tuning.PASS_RATE)
        if rules.base not in self._orders:
            self._orders[rules.base] = belady.ORDERS[rules.base](cdag)
        if rules.fused not in self._fused:
            self._fused[rules.fused] = fuse(cdag, tuning.FUSED if rules.fused else 0)
        base, fused = self._orders[rules.base], self._fused[rules.fused]
        groups = fused.order_of_groups(base)
        preferences = memory.Rules(rules.growth, rules.overflow, rules.dirty, rules.by_score, rules.longest)
        capacity = max(int(rules.capacity * self._budget), cdag.least_budget())
        state = memory.State(
            fused.parents.starts, fused.parents.targets, fused.children.starts, fused.children.targets,
            fused.weights, fused.given.view(np.uint8), groups, preferences, capacity, Random(seed),
        )  # fmt: skip
        run = kernels.Run(state, int(rules.live * capacity), tuning.LIST_MOST_STEPS * (cdag.n + cdag.edges))
        done, work = False, 0
        while not done:
            if search.expired():
                return None
            done = kernels.advance(run, tuning.ORDER_CALL)
            before, work = work, kernels.work_of(run)
            search.spend((work - before) / tuning.LIST_RATE)
        return fused.expanded(np.asarray(run.order), base[~cdag.is_input()[base]])


def plan(
    cdag: Cdag,
    budget: int,
    *,
    search: Search,
    incumbent: Plan,
    goal: int = 0,
) -> Plan:
    """Return the best schedule of all rules until ``search`` expires, never worse than ``incumbent``.

    It ends early at a traffic of ``goal`` (a lower bound). The same seed gives the same plan when it ends by itself.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import stencil
    >>> cells = stencil(n=30, t=20, word=1)
    >>> first = belady.plan(cells, 12)
    >>> plan(cells, 12, search=Search(), incumbent=first).traffic(cells.weights) < first.traffic(cells.weights)
    True
    """
    best, traffic = incumbent, incumbent.traffic(cdag.weights)
    goal = max(goal, cdag.algorithmic_bound())
    search = search.part(1.0, unlimited=tuning.AUTO_EFFORT)
    cost = (cdag.n + cdag.edges) / tuning.LIST_RUN_RATE
    random = search.generator()
    scheduler = Scheduler(cdag, budget)
    for rules in RULES:
        if traffic <= goal or search.left() < cost:
            break
        before = search.spent()
        order = scheduler.order(rules, search, int(random.integers(2**31)))
        if order is None:
            break
        for penalty in belady.PENALTIES:
            found = belady.replay_within(cdag, budget, order, penalty=penalty, search=search)
            if found is not None and found.traffic(cdag.weights) < traffic:
                best, traffic = found, found.traffic(cdag.weights)
            if search.expired():
                break
        cost = max(cost, search.spent() - before)
        search.keep(traffic, best)
        search.report(best=traffic, bound=goal, what="list scheduling")
    return best
