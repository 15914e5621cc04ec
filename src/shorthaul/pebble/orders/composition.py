"""Composition of module schedules: the graph is cut into modules, each shape is planned once, Belady splices them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import distinct, from_arrays
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray, require_budget
from shorthaul.pebble.orders import belady, module_kernels
from shorthaul.pebble.orders.modules import Decomposition, alike, decompositions, quotient
from shorthaul.pebble.plan import Move, Plan

#: A planner of modules: a schedule of a CDAG within a budget, for a search.
ModulePlanner = Callable[[Cdag, int, Search], Plan]


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """A decomposition, and an order of computation in which the nodes of a module stand side by side."""

    traffic: int
    modules: Decomposition
    order: IntArray


def plan(cdag: Cdag, budget: int, *, search: Search, planner: ModulePlanner) -> Plan:
    """Return the best schedule composed of schedules of modules.

    Decompositions (parts that share inputs only, connected parts of a few levels, stretches of a good order between
    cuts where little is live) are compared with the modules' nodes in the orders of :mod:`belady`. For the best of
    them ``planner`` plans each shape of module once; all modules of the shape take over that order. The whole order is
    replayed with Belady's replacement, so that values stay from module to module. Raises :class:`InfeasibleError` if
    some node cannot be computed.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> cdag = fft(n=64, word=1)
    >>> found = plan(cdag, 16, search=Search(), planner=lambda part, room, _: belady.plan(part, room))
    >>> found.traffic(cdag.weights), belady.plan(cdag, 16).traffic(cdag.weights)
    (234, 292)
    """
    require_budget(cdag, budget)
    best = belady.plan(cdag, budget, search=search.part(0.3))
    least = cdag.algorithmic_bound()
    drafts = _drafts(cdag, budget, best, search.part(0.5))
    for number, draft in enumerate(drafts):
        if best.traffic(cdag.weights) == least or search.expired():
            break
        order = _planned(cdag, budget, draft, search.part(tuning.MODULES_SHARE / (len(drafts) - number)), planner)
        for candidate, penalty in itertools.product((order, draft.order), belady.PENALTIES):
            if search.expired():
                break
            found = belady.replay_within(cdag, budget, candidate, penalty=penalty, search=search)
            if found is not None and found.traffic(cdag.weights) < best.traffic(cdag.weights):
                best = found
        search.keep(best.traffic(cdag.weights), best)
        search.report(best=best.traffic(cdag.weights), bound=least, what=f"composition of {draft.modules.name}")
    return best


def _drafts(cdag: Cdag, budget: int, start: Plan, search: Search) -> list[_Draft]:
    """Return the best drafts, one per decomposition, until ``search`` expires."""
    orders = [start.nodes[start.kinds == Move.COMPUTE], *(function(cdag) for function in belady.ORDERS.values())]
    places = []
    for order in orders:
        place = np.empty(cdag.n, dtype=np.int64)
        place[order] = np.arange(len(order))
        places.append(place)
    drafts: list[_Draft] = []
    computed = np.flatnonzero(~cdag.is_input())
    for modules in decompositions(cdag, orders[0]):
        search.spend((cdag.n + cdag.edges) / tuning.PASS_RATE)
        best: _Draft | None = None
        for turn in _turns(cdag, budget, modules, search):
            for place in places:
                order = computed[np.lexsort((place[computed], turn[modules.of[computed]]))]
                found = belady.replay_within(cdag, budget, order, search=search)
                if found is not None and (best is None or found.traffic(cdag.weights) < best.traffic):
                    best = _Draft(found.traffic(cdag.weights), modules, order)
                if search.expired():
                    break
            if search.expired():
                break
        if best is not None:
            drafts.append(best)
        if search.expired():
            break
    return sorted(drafts, key=lambda draft: draft.traffic)[: tuning.MODULES_PLANNED]


def _turns(cdag: Cdag, budget: int, modules: Decomposition, search: Search) -> Iterator[IntArray]:
    """Yield orders of the modules, as the turn of each, shape (modules,)."""
    graph = quotient(cdag, modules)
    seen: set[bytes] = set()
    by_sharing = _by_sharing(cdag, budget, modules, search)
    candidates = [] if by_sharing is None else [by_sharing]
    for function in belady.ORDERS.values():
        order = function(graph)
        candidates.append(order[order > 0] - 1)
    for candidate in candidates:
        turn = np.empty(modules.count, dtype=np.int64)
        turn[candidate] = np.arange(modules.count)
        if turn.tobytes() not in seen:
            seen.add(turn.tobytes())
            yield turn


def _by_sharing(cdag: Cdag, budget: int, modules: Decomposition, search: Search) -> IntArray | None:
    """Return the modules, next always the ready one that shares most with what was read and computed last.

    What lies back by more than ``budget`` is forgotten. Return None if ``search`` expires before the end.
    """
    sources, targets = cdag.edge_arrays()
    pairs = distinct(sources * modules.count + modules.of[targets])
    value, reader = pairs // modules.count, pairs % modules.count
    readers, touched = from_arrays(cdag.n, value, reader), from_arrays(modules.count, reader, value)
    made = np.flatnonzero(modules.of >= 0)
    results = from_arrays(modules.count, modules.of[made], made)
    from_others = (modules.of[value] >= 0) & (modules.of[value] != reader)
    missing = np.bincount(reader[from_others], minlength=modules.count).astype(np.int64)
    sharing = module_kernels.Sharing(
        cdag.weights, readers.starts, readers.targets, touched.starts, touched.targets, results.starts,
        results.targets, missing, budget,
    )  # fmt: skip
    while not module_kernels.advance(sharing, tuning.REPLAY_CALL):
        if search.expired():
            return None
    return np.asarray(sharing.order)


def _planned(cdag: Cdag, budget: int, draft: _Draft, search: Search, planner: ModulePlanner) -> IntArray:
    """Return the order of the draft with every module in the order that ``planner`` finds for its shape.

    Shapes that make up most of the graph come first.
    """
    place = np.empty(cdag.n, dtype=np.int64)
    place[draft.order] = np.arange(len(draft.order))
    shapes = sorted(alike(cdag, draft.modules, search), key=lambda shape: -shape.members.size)
    total = sum(shape.members.size for shape in shapes)
    order = draft.order.copy()
    for shape in shapes:
        if search.expired():
            break
        if shape.members.shape[1] > 2:
            part = search.part(shape.members.size / total, unlimited=tuning.MODULE_UNLIMITED)
            found = planner(shape.part, budget, part)
            first = place[shape.members].min(axis=1, keepdims=True)
            inner = shape.members[:, found.nodes[found.kinds == Move.COMPUTE]]
            order[first + np.arange(inner.shape[1])] = inner
        total -= shape.members.size
    return order
