"""Local search over topological orders: annealing, every order judged by its replay with Belady's replacement."""

from __future__ import annotations

from typing import Final

import numpy as np

from shorthaul.core import jit
from shorthaul.core.search import Budget
from shorthaul.pebble import belady, local_search_kernels
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.plan import Move, Plan

#: Moves tried in one round, divided by the graph's size: a round takes about a second.
_MOVES_PER_ROUND: Final = 2_000_000
#: Without a time limit the search ends after this many rounds without a better plan.
_PATIENCE: Final = 6


def order_of(plan: Plan) -> IntArray:
    """Return the nodes that ``plan`` computes, each where it is computed first."""
    computed = plan.nodes[plan.kinds == Move.COMPUTE]
    _, first = np.unique(computed, return_index=True)
    order: IntArray = computed[np.sort(first)]
    return order


def improve(cdag: Cdag, budget: int, start: Plan, *, search: Budget) -> Plan:
    """Return the best schedule met when annealing the order of ``start`` until ``search`` expires; never a worse one.

    Each round anneals the best order so far, in turn for every penalty of :mod:`belady`, on a compiled replay. Without
    a time limit it ends after some rounds without success. The same seed gives the same plan when it ends by itself.
    """
    jit.announce(local_search_kernels.__name__, 15)
    best, traffic = start, start.traffic(cdag.weights)
    order = order_of(start)
    least = cdag.algorithmic_bound()
    if len(order) < 2 or cdag.n > _MOVES_PER_ROUND // 20:
        return best
    random = search.generator()
    heat = float(np.median(cdag.weights))
    parents, children = cdag.parents, cdag.children
    idle = number = 0
    while traffic > least and idle < _PATIENCE * len(belady.PENALTIES) and not search.expired():
        penalty = belady.PENALTIES[number % len(belady.PENALTIES)]
        steps = _MOVES_PER_ROUND // (cdag.n + 20)
        if number == 0 or search.remaining_s() < 2:
            steps = max(1, steps // 10)  # the first round tells how it goes, the last must not run late
        found, cost = local_search_kernels.anneal(
            order, parents.starts, parents.targets, children.starts, children.targets, cdag.weights, cdag.is_output(),
            budget, penalty, steps, 2.0 * heat, 0.1 * heat, int(random.integers(2**31)),
        )  # fmt: skip
        number += 1
        idle += 1
        if cost < traffic:
            best, traffic, order = belady.replay_order(cdag, budget, found, penalty=penalty), cost, found
            idle = 0
        search.report(best=traffic, bound=least, what="local search")
    return best
