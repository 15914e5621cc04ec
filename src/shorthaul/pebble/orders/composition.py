"""Composition of module schedules: the graph is cut into modules, each shape is planned once, Belady splices them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble.model import Cdag, IntArray, require_budget
from shorthaul.pebble.orders import belady
from shorthaul.pebble.orders.modules import Decomposition, alike, decompositions, quotient
from shorthaul.pebble.plan import Move, Plan

#: A planner of modules: a schedule of a CDAG within a budget, in the time given.
ModulePlanner = Callable[[Cdag, int, Search], Plan]

#: Decompositions whose modules are planned: the best ones as they stand.
_PLANNED: Final = 3
#: Modules of more nodes than this keep their order.
_LARGEST_MODULE: Final = 2000
#: Where there is no time limit, each module shape is planned this long, in seconds.
_ENDLESS_S: Final = 2.0
#: The penalty of :mod:`belady` with which decompositions are compared.
_PENALTY: Final = 2.0
#: Values read by more modules than this say nothing about which of them should follow each other.
_MOST_USERS: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """A decomposition, when each module's turn comes, and the order of computation that this gives."""

    traffic: int
    modules: Decomposition
    turn: IntArray
    order: IntArray


def plan(cdag: Cdag, budget: int, *, search: Search, planner: ModulePlanner) -> Plan:
    """Return the best schedule composed of schedules of modules.

    Decompositions (parts that share inputs only, connected parts of so many levels, stretches of a good order between
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
        if best.traffic(cdag.weights) == least:
            break
        order = draft.order
        if not search.expired():
            order = _planned(cdag, budget, draft, search.part(1 / (len(drafts) - number)), planner)
        for candidate in (draft.order,) if order is draft.order else (order, draft.order):
            for penalty in belady.PENALTIES:
                found = belady.replay_order(cdag, budget, candidate, penalty=penalty)
                if found.traffic(cdag.weights) < best.traffic(cdag.weights):
                    best = found
        search.report(best=best.traffic(cdag.weights), bound=least, what=f"composition of {draft.modules.name}")
    return best


def _drafts(cdag: Cdag, budget: int, start: Plan, search: Search) -> list[_Draft]:
    """Return the best drafts, one per decomposition, until time is up; the first is always looked at."""
    orders = [start.nodes[start.kinds == Move.COMPUTE], *(function(cdag) for function in belady.ORDERS.values())]
    places = []
    for order in orders:
        place = np.empty(cdag.n, dtype=np.int64)
        place[order] = np.arange(len(order))
        places.append(place)
    drafts: list[_Draft] = []
    computed = np.flatnonzero(~cdag.is_input())
    for modules in decompositions(cdag, orders[0]):
        best: _Draft | None = None
        for turn in _turns(cdag, budget, modules):
            for place in places:
                order = computed[np.lexsort((place[computed], turn[modules.of[computed]]))]
                traffic = belady.replay_order(cdag, budget, order, penalty=_PENALTY).traffic(cdag.weights)
                if best is None or traffic < best.traffic:
                    best = _Draft(traffic, modules, turn, order)
                if search.expired():
                    break
            if search.expired():
                break
        assert best is not None  # every decomposition has a first order
        drafts.append(best)
        if search.expired():
            break
    return sorted(drafts, key=lambda draft: draft.traffic)[:_PLANNED]


def _turns(cdag: Cdag, budget: int, modules: Decomposition) -> Iterator[IntArray]:
    """Yield orders of the modules, as the turn of each, shape (modules,)."""
    graph = quotient(cdag, modules)
    seen: set[bytes] = set()
    candidates = [_by_sharing(cdag, budget, modules)]
    for function in belady.ORDERS.values():
        order = function(graph)
        candidates.append(order[order > 0] - 1)
    for candidate in candidates:
        turn = np.empty(modules.count, dtype=np.int64)
        turn[candidate] = np.arange(modules.count)
        if turn.tobytes() not in seen:
            seen.add(turn.tobytes())
            yield turn


def _by_sharing(cdag: Cdag, budget: int, modules: Decomposition) -> IntArray:
    """Return the modules, next always the ready one that shares most with what was read and computed last.

    What lies back by more than ``budget`` is forgotten.
    """
    sources, targets = cdag.edge_arrays()
    pairs = np.unique(sources * modules.count + modules.of[targets])
    value, reader = pairs // modules.count, pairs % modules.count
    readers = _grouped(value, reader, cdag.n)
    touched = _grouped(reader, value, modules.count)
    made = np.flatnonzero(modules.of >= 0)
    results = _grouped(modules.of[made], made, modules.count)
    from_others = (modules.of[value] >= 0) & (modules.of[value] != reader)
    missing = np.bincount(reader[from_others], minlength=modules.count).tolist()
    weights = cdag.weights.tolist()
    score = [0] * modules.count
    ready = [(0, module) for module in range(modules.count) if not missing[module]]
    done = [False] * modules.count
    recent: dict[int, None] = {}
    held = 0

    def credit(node: int, sign: int) -> None:
        if len(readers[node]) > _MOST_USERS:
            return
        for module in readers[node]:
            score[module] += sign * weights[node]
            if not done[module] and not missing[module]:
                heapq.heappush(ready, (-score[module], module))

    order: list[int] = []
    while ready:
        key, module = heapq.heappop(ready)
        if done[module] or key != -score[module]:
            continue
        done[module] = True
        order.append(module)
        for node in results[module]:
            for other in readers[node]:
                if other != module:
                    missing[other] -= 1
                    if not missing[other]:
                        heapq.heappush(ready, (-score[other], other))
        for node in (*touched[module], *results[module]):
            if node in recent:
                del recent[node]
            else:
                held += weights[node]
                credit(node, 1)
            recent[node] = None
        while held > budget:
            oldest = next(iter(recent))
            del recent[oldest]
            held -= weights[oldest]
            credit(oldest, -1)
    return np.array(order, dtype=np.int64)


def _grouped(keys: IntArray, values: IntArray, count: int) -> list[list[int]]:
    """Return the values of each key from 0 to ``count`` - 1, in their order."""
    by_key = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[by_key], np.arange(count + 1)).tolist()
    ordered = values[by_key].tolist()
    return [ordered[first:last] for first, last in pairwise(starts)]


def _planned(cdag: Cdag, budget: int, draft: _Draft, search: Search, planner: ModulePlanner) -> IntArray:
    """Return the order of the draft with every module in the order that ``planner`` finds for its shape.

    Shapes that make up most of the graph come first.
    """
    place = np.empty(cdag.n, dtype=np.int64)
    place[draft.order] = np.arange(len(draft.order))
    shapes = sorted(alike(cdag, draft.modules), key=lambda shape: -shape.members.size)
    total = sum(shape.members.size for shape in shapes)
    inner: list[IntArray] = [np.empty(0, np.int64)] * draft.modules.count
    for shape in shapes:
        size = shape.members.shape[1]
        sequences = np.take_along_axis(shape.members, np.argsort(place[shape.members], axis=1), axis=1)
        if 2 < size <= _LARGEST_MODULE and not search.expired():
            part = search.part(shape.members.size / total, endless_s=_ENDLESS_S)
            found = planner(shape.part, budget, part)
            sequences = shape.members[:, found.nodes[found.kinds == Move.COMPUTE]]
        total -= shape.members.size
        for module, sequence in zip(shape.modules.tolist(), sequences, strict=True):
            inner[module] = sequence
    return np.concatenate([inner[module] for module in np.argsort(draft.turn).tolist()])
