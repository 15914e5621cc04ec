"""Compiled kernels of the tree recursion (Lemma 3.7) over step functions of the budget."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.core.compiled.queue_kernels import Stack
from cython.cimports.shorthaul.pebble.structured.sorting_kernels import Sorter

IntArray = npt.NDArray[np.int64]

INFINITE = cython.declare(cython.longlong, 1 << 62)
#: Up to this many computed parents all orders and subsets are tried, above it one order and all subsets.
MOST_ORDERED = cython.declare(cython.Py_ssize_t, 10)
#: Labels kept per node with more parents than that: at most, at least, and as the quotient of all by the parents.
MOST_LABELS = cython.declare(cython.Py_ssize_t, 4096)
LEAST_LABELS = cython.declare(cython.Py_ssize_t, 16)
ALL_LABELS = cython.declare(cython.Py_ssize_t, 1 << 21)


@cython.final
@cython.cclass
class StepFunctions:
    """What each node's subtree spills, as a step function of the budget.

    ``parents`` (by node) holds computed parents only. Within budgets from ``bounds[i]`` to below ``bounds[i + 1]`` (i
    in ``starts[v]..stops[v] - 1``) the value of v is reached with ``costs[i]`` spilled. A choice keeps some parents in
    an order, each leaving less room to the next, and spills the others first, with the whole budget.
    """

    def __init__(
        self,
        parent_starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        weights: cython.const_longlong[::1],
        needs: cython.const_longlong[::1],
    ) -> None:
        n = weights.shape[0]
        degrees = np.unique(np.diff(parent_starts))
        most = int(degrees.max())
        labels = int(((degrees + 1) * [_width(degree) for degree in degrees.tolist()]).max())
        offers = 2 * MOST_LABELS if most > MOST_ORDERED else 0
        self.parent_starts = parent_starts
        self.parents = parents
        self.weights = weights
        self.needs = needs
        self.starts = np.zeros(n, np.int64)
        self.stops = np.zeros(n, np.int64)
        self.bounds = Stack()
        self.costs = Stack()
        self.own_bounds = Stack()
        self.own_costs = Stack()
        self.budget = -1
        self.place = 0
        self.choice = np.empty(most + 2, np.int64)
        self.held = np.empty(labels, np.int64)
        self.cost = np.empty(labels, np.int64)
        self.least = np.empty(labels, np.int64)
        self.via = np.empty(labels, np.int64)
        self.sizes = np.empty(most + 1, np.int64)
        self.offer_held = np.empty(offers, np.int64)
        self.offer_cost = np.empty(offers, np.int64)
        self.offer_least = np.empty(offers, np.int64)
        self.offer_via = np.empty(offers, np.int64)
        self.by_excess = Sorter(most)
        self.by_cost = Sorter(offers)

    def steps(self) -> tuple[IntArray, IntArray]:
        """Return (bounds, costs)."""
        return self.bounds.values(), self.costs.values()


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _width(count: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return how many labels, or subsets, a node with this number of parents has per step at most."""
    if count <= MOST_ORDERED:
        return 1 << count
    return max(LEAST_LABELS, min(MOST_LABELS, ALL_LABELS // count))


def advance(
    functions: StepFunctions, order: cython.const_longlong[::1], largest: cython.longlong, work: cython.longlong
) -> bool:
    """Go on for about ``work`` steps with the nodes of ``order``, parents first; True at the end.

    Budgets above ``largest`` are not looked at.
    """
    with cython.nogil:
        while work > 0 and functions.place < order.shape[0]:
            work -= work_of(functions, order[functions.place])
            _advance(functions, order[functions.place], largest)
    return bool(functions.place == order.shape[0])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def work_of(functions: StepFunctions, v: cython.longlong) -> cython.longlong:
    """Return about how many steps a choice for ``v`` takes."""
    count: cython.Py_ssize_t = functions.parent_starts[v + 1] - functions.parent_starts[v]
    return 1 + count * _width(count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _advance(functions: StepFunctions, v: cython.longlong, largest: cython.longlong) -> cython.void:
    """Find the step of node ``v`` that holds the present budget, and go on below it."""
    last: cython.Py_ssize_t = functions.own_costs.size - 1
    if functions.budget < 0:
        functions.budget = largest
    cost = INFINITE
    least = 0
    if functions.budget >= _lowest(functions, v):
        cost, least = choose(functions, v, functions.budget)
    if cost < INFINITE:
        if last >= 0 and functions.own_costs.items[last] == cost:
            functions.own_bounds.items[last] = least
        else:
            functions.own_bounds.push(least)
            functions.own_costs.push(cost)
        functions.budget = least - 1
        if functions.budget >= 0:
            return
    functions.starts[v] = functions.bounds.size
    while functions.own_costs.size > 0:
        functions.own_costs.size -= 1
        functions.own_bounds.size -= 1
        functions.bounds.push(functions.own_bounds.items[functions.own_bounds.size])
        functions.costs.push(functions.own_costs.items[functions.own_costs.size])
    functions.stops[v] = functions.bounds.size
    functions.budget = -1
    functions.place += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lowest(functions: StepFunctions, v: cython.longlong) -> cython.longlong:
    """Return a budget below which ``v`` cannot be computed."""
    lowest: cython.longlong = functions.needs[v]
    edge: cython.Py_ssize_t
    for edge in range(functions.parent_starts[v], functions.parent_starts[v + 1]):
        parent = functions.parents[edge]
        if functions.starts[parent] == functions.stops[parent]:
            return INFINITE
        lowest = max(lowest, functions.bounds.items[functions.starts[parent]])
    return lowest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_at(functions: StepFunctions, v: cython.longlong, budget: cython.longlong) -> cython.longlong:
    """Return the index of the step of ``v`` that holds ``budget``, -1 below the first."""
    low: cython.longlong = functions.starts[v]
    high: cython.longlong = functions.stops[v]
    while low < high:
        middle = (low + high) >> 1
        if functions.bounds.items[middle] <= budget:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low > functions.starts[v] else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose(
    functions: StepFunctions, v: cython.longlong, budget: cython.longlong
) -> tuple[cython.longlong, cython.longlong]:
    """Return (spill cost, smallest budget of the same choice) of computing ``v`` within ``budget``; set ``choice``."""
    first: cython.Py_ssize_t = functions.parent_starts[v]
    count: cython.Py_ssize_t = functions.parent_starts[v + 1] - first
    best: tuple[cython.longlong, cython.longlong]
    if count == 0:
        functions.choice[0] = -1
        return 0, functions.needs[v]
    if count <= MOST_ORDERED:
        _keep_subsets(functions, first, count, budget, functions.needs[v])
        best = _best_subset(functions, first, count, budget)
    else:
        best = _best_labels(functions, first, count, budget, functions.needs[v])
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep_subsets(
    functions: StepFunctions, first: cython.Py_ssize_t, count: cython.Py_ssize_t, budget: cython.longlong,
    need: cython.longlong,
) -> cython.void:  # fmt: skip
    """Find for each set of parents the least cost of keeping them all, in the best order (shortest paths)."""
    total: cython.longlong = 1 << count
    for kept in range(total):
        functions.cost[kept] = INFINITE
        functions.least[kept] = need
        functions.via[kept] = -1
    functions.cost[0] = 0
    functions.held[0] = 0
    for kept in range(total):
        if functions.cost[kept] >= INFINITE:
            continue
        for i in range(count):
            following = kept | (cython.cast(cython.longlong, 1) << i)
            if following == kept:
                continue
            parent = functions.parents[first + i]
            functions.held[following] = functions.held[kept] + functions.weights[parent]
            segment = step_at(functions, parent, budget - functions.held[kept])
            if segment < 0:
                continue
            price = functions.cost[kept] + functions.costs.items[segment]
            bound = max(functions.least[kept], functions.bounds.items[segment] + functions.held[kept])
            if price < functions.cost[following] or (
                price == functions.cost[following] and bound < functions.least[following]
            ):
                functions.cost[following] = price
                functions.least[following] = bound
                functions.via[following] = i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best_subset(
    functions: StepFunctions, first: cython.Py_ssize_t, count: cython.Py_ssize_t, budget: cython.longlong
) -> tuple[cython.longlong, cython.longlong]:
    """Return what :func:`choose` does: the best set of parents to keep, the others spilled."""
    best: cython.longlong = INFINITE
    best_least: cython.longlong = INFINITE
    best_kept: cython.longlong = -1
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t = count
    for kept in range(cython.cast(cython.longlong, 1) << count):
        price = functions.cost[kept]
        bound = functions.least[kept]
        for i in range(count):
            if price > best or price >= INFINITE:
                break
            if (kept >> i) & 1 == 0:
                parent = functions.parents[first + i]
                segment = step_at(functions, parent, budget)
                if segment < 0:
                    price = INFINITE
                    break
                price += functions.costs.items[segment] + 2 * functions.weights[parent]
                bound = max(bound, functions.bounds.items[segment])
        if price < best or (price == best and price < INFINITE and bound < best_least):
            best = price
            best_least = bound
            best_kept = kept
    if best_kept < 0:
        return best, best_least
    for i in range(count - 1, -1, -1):
        if (best_kept >> i) & 1 == 0:
            functions.choice[at] = functions.parents[first + i]
            at -= 1
    functions.choice[at] = -1
    while best_kept:
        at -= 1
        i = functions.via[best_kept]
        functions.choice[at] = functions.parents[first + i]
        best_kept ^= cython.cast(cython.longlong, 1) << i
    return best, best_least


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best_labels(
    functions: StepFunctions, first: cython.Py_ssize_t, count: cython.Py_ssize_t, budget: cython.longlong,
    need: cython.longlong,
) -> tuple[cython.longlong, cython.longlong]:  # fmt: skip
    """Do what :func:`choose` does for one order: falling room needed beyond the value left behind (Liu's rule).

    Labels (weight held, cost) grow parent by parent; dominated ones are dropped, and the costliest above a limit.
    """
    width: cython.Py_ssize_t = _width(count)
    label: cython.longlong = 0
    for step in range(count):
        parent = functions.parents[first + step]
        functions.by_excess.keys[step] = functions.weights[parent] - functions.bounds.items[functions.stops[parent] - 1]
    functions.by_excess.number(count)
    functions.by_excess.sort(count)
    functions.sizes[0] = 1
    functions.held[0] = 0
    functions.cost[0] = 0
    functions.least[0] = need
    for step in range(count):
        parent = functions.parents[first + functions.by_excess.places[step]]
        _keep_labels(functions, step, width, _offers(functions, step, width, parent, budget))
        if functions.sizes[step + 1] == 0:
            return INFINITE, INFINITE
    # back from the cheapest label: who is spilled stands from the last place down, who is kept before them
    at = count
    for step in range(count, 0, -1):
        if functions.via[step * width + label] & 1 == 0:
            functions.choice[at] = functions.parents[first + functions.by_excess.places[step - 1]]
            at -= 1
        label = functions.via[step * width + label] >> 1
    functions.choice[at] = -1
    label = 0
    for step in range(count, 0, -1):
        if functions.via[step * width + label] & 1:
            at -= 1
            functions.choice[at] = functions.parents[first + functions.by_excess.places[step - 1]]
        label = functions.via[step * width + label] >> 1
    return functions.cost[count * width], functions.least[count * width]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _offers(
    functions: StepFunctions, step: cython.Py_ssize_t, width: cython.Py_ssize_t, parent: cython.longlong,
    budget: cython.longlong,
) -> cython.Py_ssize_t:  # fmt: skip
    """Write what follows from every label if ``parent`` is spilled, and if it is kept; return how many."""
    made: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    full: cython.longlong = step_at(functions, parent, budget)
    for label in range(functions.sizes[step]):
        at = step * width + label
        if full >= 0:
            functions.offer_held[made] = functions.held[at]
            functions.offer_cost[made] = (
                functions.cost[at] + functions.costs.items[full] + 2 * functions.weights[parent]
            )
            functions.offer_least[made] = max(functions.least[at], functions.bounds.items[full])
            functions.offer_via[made] = 2 * label
            made += 1
        segment = step_at(functions, parent, budget - functions.held[at])
        if segment >= 0:
            functions.offer_held[made] = functions.held[at] + functions.weights[parent]
            functions.offer_cost[made] = functions.cost[at] + functions.costs.items[segment]
            functions.offer_least[made] = max(functions.least[at], functions.bounds.items[segment] + functions.held[at])
            functions.offer_via[made] = 2 * label + 1
            made += 1
    return made


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep_labels(
    functions: StepFunctions, step: cython.Py_ssize_t, width: cython.Py_ssize_t, offers: cython.Py_ssize_t
) -> cython.void:
    """Let the offers be the labels of the next step, less those dominated, by cost, then by what they hold."""
    kept: cython.Py_ssize_t = 0
    lightest: cython.longlong = INFINITE
    for i in range(offers):
        functions.by_cost.keys[i] = functions.offer_held[i]
    functions.by_cost.number(offers)
    functions.by_cost.sort(offers)
    for i in range(offers):
        functions.by_cost.keys[i] = functions.offer_cost[i]
    functions.by_cost.sort(offers)
    for i in range(offers):
        offer = functions.by_cost.places[i]
        if functions.offer_held[offer] < lightest and kept < width:
            lightest = functions.offer_held[offer]
            at = (step + 1) * width + kept
            functions.held[at] = lightest
            functions.cost[at] = functions.offer_cost[offer]
            functions.least[at] = functions.offer_least[offer]
            functions.via[at] = functions.offer_via[offer]
            kept += 1
    functions.sizes[step + 1] = kept
