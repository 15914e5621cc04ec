"""Schedules of any CDAG from a topological order and Belady's replacement, in compiled code up to 10^6 nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray, require_budget
from shorthaul.pebble.orders import belady_kernels as kernels
from shorthaul.pebble.orders import order_kernels
from shorthaul.pebble.plan import Move, Plan

#: How much nearer a value counts that must be stored to give way.
PENALTIES: Final = (1.0, 2.0, 4.0)


def _given(cdag: Cdag) -> IntArray:
    return cdag.order


def _depth_first(cdag: Cdag) -> IntArray:
    return _postorder(cdag, cdag.outputs(), np.zeros(cdag.n, np.int64))


def _depth_first_by_need(cdag: Cdag) -> IntArray:
    parents = cdag.parents
    need = order_kernels.register_need(cdag.order, parents.starts, parents.targets, cdag.weights)
    return _postorder(cdag, cdag.outputs(), need - cdag.weights)


def _depth_first_backwards(cdag: Cdag) -> IntArray:
    return _postorder(cdag, cdag.outputs()[::-1].copy(), np.zeros(cdag.n, np.int64))


def _postorder(cdag: Cdag, roots: IntArray, rank: IntArray) -> IntArray:
    return order_kernels.depth_first_order(cdag.parents.starts, cdag.parents.targets, roots, rank)


def _recent_first(cdag: Cdag) -> IntArray:
    missing = cdag.parents.degrees()
    first = np.flatnonzero(missing == 0)
    return order_kernels.recent_first_order(missing, cdag.children.starts, cdag.children.targets, first)


#: Topological orders by name, each a function of the CDAG that returns all its nodes.
ORDERS: Final[dict[str, Callable[[Cdag], IntArray]]] = {
    "depth-first-by-need": _depth_first_by_need,
    "depth-first": _depth_first,
    "given": _given,
    "recent-first": _recent_first,
    "depth-first-backwards": _depth_first_backwards,
}


def order_of(plan: Plan) -> IntArray:
    """Return the nodes that ``plan`` computes, each where it is computed first."""
    computed: IntArray = plan.nodes[plan.kinds == Move.COMPUTE]
    _, first = np.unique(computed, return_index=True)
    order: IntArray = computed[np.sort(first)]
    return order


def replay_order(cdag: Cdag, budget: int, order: IntArray, *, penalty: float = 1.0) -> Plan:
    """Return the schedule that computes the nodes of ``order`` (inputs in it are skipped) with Belady's replacement.

    ``order`` is topological and holds every node that is no input once. Whenever room is short, the value with the
    farthest next use gives way, after Belady (1966); values already in slow memory go first by a factor ``penalty``.
    Dead values are dropped at once, outputs stored at once. Raises :class:`InfeasibleError` if a node cannot fit.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> triangle = pyramid(n=2, word=1)
    >>> replay_order(triangle, 4, triangle.order).traffic(triangle.weights)
    4
    """
    plan = _replayed(cdag, budget, order, penalty, None)
    assert plan is not None
    return plan


def replay_within(cdag: Cdag, budget: int, order: IntArray, *, penalty: float = 1.0, search: Search) -> Plan | None:
    """Return what :func:`replay_order` does, None if ``search`` expires before the end."""
    plan = _replayed(cdag, budget, order, penalty, search)
    search.spend(tuning.REPLAY_EFFORT + (cdag.n + cdag.edges) / tuning.REPLAY_RATE)
    return plan


def _replayed(cdag: Cdag, budget: int, order: IntArray, penalty: float, search: Search | None) -> Plan | None:
    require_budget(cdag, budget)
    computed = order[~cdag.is_input()[order]]
    parents = cdag.parents
    given, ends = cdag.given.view(np.uint8), cdag.is_output().view(np.uint8)
    replay = kernels.Replay(computed, parents.starts, parents.targets, cdag.weights, given, ends, budget, penalty)
    while not kernels.advance(replay, tuning.REPLAY_CALL):
        if search is not None and search.expired():
            return None
    return Plan(np.asarray(replay.kinds)[: replay.moves], np.asarray(replay.nodes)[: replay.moves])


def plan(cdag: Cdag, budget: int, order: IntArray | str | None = None, *, search: Search | None = None) -> Plan:
    """Return the best schedule that Belady's replacement gives for the orders of ``ORDERS`` (or just for ``order``).

    Orders are tried until ``search`` expires; the first is always finished. Raises :class:`InfeasibleError` if a node
    cannot fit.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> butterfly = fft(n=8, word=1)
    >>> plan(butterfly, 9).traffic(butterfly.weights)
    18
    """
    search = Search() if search is None else search
    best: tuple[int, Plan] | None = None
    least = cdag.algorithmic_bound()
    for candidate in _orders(cdag, order):
        for penalty in PENALTIES:
            if best is None:
                found: Plan | None = replay_order(cdag, budget, candidate, penalty=penalty)
                search.spend(tuning.REPLAY_EFFORT + (cdag.n + cdag.edges) / tuning.REPLAY_RATE)
            else:
                found = replay_within(cdag, budget, candidate, penalty=penalty, search=search)
            if found is not None and (best is None or found.traffic(cdag.weights) < best[0]):
                best = found.traffic(cdag.weights), found
            if best is not None and (best[0] == least or search.expired()):
                return best[1]
        assert best is not None
        search.keep(*best)
        search.report(best=best[0], bound=least, what="belady")
    assert best is not None
    return best[1]


def _orders(cdag: Cdag, order: IntArray | str | None) -> Iterator[IntArray]:
    if isinstance(order, str):
        yield ORDERS[order](cdag)
    elif order is not None:
        yield order
    else:
        for function in ORDERS.values():
            yield function(cdag)
