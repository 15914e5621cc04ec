"""Local search over orders of computation: annealing, every order judged by its replay with Belady's replacement."""

from __future__ import annotations

from typing import Final

import numpy as np

from shorthaul.core import jit
from shorthaul.core.search import Budget
from shorthaul.pebble import belady, local_search_kernels
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.plan import Move, Plan

#: The work of one call of the kernel, so that it answers in a fraction of a second: replayed nodes, edges, and values
#: looked at.
_WORK: Final = 8_000_000
#: Graphs of more nodes and edges than this are not annealed as a whole.
_LARGEST: Final = 200_000
#: Without a time limit the search ends after so many turns of growing rounds without a better plan.
_PATIENCE: Final = 3
#: The calls of the longest round.
_MOST_CALLS: Final = 8
#: The temperatures between which a round falls, in median weights.
_HOT, _COLD = 2.0, 0.1
#: How often a move computes a value once more, or once less.
_AGAIN: Final = 0.15
_COMPILE_S: Final = 15


def order_of(plan: Plan, *, repeats: bool = False) -> IntArray:
    """Return the nodes that ``plan`` computes, each where it is computed first, or with ``repeats`` all of them."""
    computed: IntArray = plan.nodes[plan.kinds == Move.COMPUTE]
    if repeats:
        return computed
    _, first = np.unique(computed, return_index=True)
    order: IntArray = computed[np.sort(first)]
    return order


def improve(cdag: Cdag, budget: int, start: Plan, *, search: Budget, recompute: bool = False, goal: int = 0) -> Plan:
    """Return the best schedule met when annealing the order of ``start`` until ``search`` expires; never a worse one.

    A move takes some computations to another place in the order, with those that they need or that need them; with
    ``recompute`` a value may also be computed once more, just before it is read, instead of being kept or loaded. Each
    round anneals the best order so far, in turn for every penalty of :mod:`belady`, on a compiled replay; rounds grow
    while they fail. Without a time limit it ends after some turns without success, and always at a traffic of
    ``goal`` (a lower bound). The same seed gives the same plan when it ends by itself.
    """
    best, traffic = start, start.traffic(cdag.weights)
    order = order_of(start, repeats=recompute)
    least = cdag.algorithmic_bound()
    goal = max(goal, least)
    if len(order) < 2 or cdag.n + cdag.edges > _LARGEST:
        return best
    jit.announce(local_search_kernels.__name__, _COMPILE_S)
    random = search.generator()
    idle, calls = 0, 1
    while traffic > goal and idle < _PATIENCE and not search.expired():
        idle += 1
        for penalty in belady.PENALTIES:
            found, excess = _round(cdag, budget, order, penalty, calls, _AGAIN * recompute, random, search)
            if least + excess < traffic:
                best = belady.replay_order(cdag, budget, found, penalty=penalty)
                traffic, order, idle = least + excess, found, 0
            search.report(best=traffic, bound=goal, what="local search")
            if traffic <= goal or search.expired():
                return best
        calls = min(_MOST_CALLS, 2 * calls) if idle else max(1, calls // 4)
    return best


def _round(
    cdag: Cdag,
    budget: int,
    order: IntArray,
    penalty: float,
    calls: int,
    again: float,
    random: np.random.Generator,
    search: Budget,
) -> tuple[IntArray, int]:
    """Return the best order of one annealing round, cut into calls so that the clock is looked at, and its excess."""
    parents, children = cdag.parents, cdag.children
    unit = float(np.median(cdag.weights))
    red = min(cdag.n, budget // max(1, int(unit)))  # values looked at for each one that gives way
    steps = max(1, _WORK // (cdag.n * (1 + red // 8) + cdag.edges + 20))
    heats = unit * np.geomspace(_HOT, _COLD, calls + 1)
    best: tuple[IntArray, int] | None = None
    for hot, cold in zip(heats[:-1].tolist(), heats[1:].tolist(), strict=True):
        found, excess, order = local_search_kernels.anneal(
            order, parents.starts, parents.targets, children.starts, children.targets, cdag.weights,
            budget, penalty, steps, hot, cold, again, int(random.integers(2**31)),
        )  # fmt: skip
        if best is None or excess < best[1]:
            best = found, int(excess)
        if search.expired():
            break
    assert best is not None  # a round has at least one call
    return best
