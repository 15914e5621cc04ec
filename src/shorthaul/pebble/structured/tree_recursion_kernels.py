"""Compiled kernels of the tree recursion (Lemma 3.7) over step functions of the budget."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import subroutine, tiered

IntArray = npt.NDArray[np.int64]

INFINITE = 2**62
#: Up to this many computed parents all orders and subsets are tried, above it one order and all subsets.
MOST_ORDERED = 10
#: Labels kept per node with more parents than that.
MOST_LABELS = 4096
ALL_LABELS = 2**21

# Tasks of the emission beyond the four moves.
_EVALUATE = 4


@subroutine
def step_at(first: int, last: int, bounds: IntArray, budget: int) -> int:
    """Return the index of the segment that holds ``budget``, -1 below the first; segments ascend in first..last-1."""
    low = first
    high = last
    while low < high:
        middle = (low + high) // 2
        if bounds[middle] <= budget:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low > first else -1


@subroutine
def best_choice(
    parents: IntArray,
    weights: IntArray,
    starts: IntArray,
    stops: IntArray,
    bounds: IntArray,
    costs: IntArray,
    budget: int,
    need: int,
    choice: IntArray,
) -> tuple[int, int]:
    """Return (spill cost, smallest budget of the same choice) of computing ``parents`` within ``budget``.

    A choice keeps some parents in an order, each leaving less room to the next, and spills the others first, with the
    whole budget. ``choice`` receives the kept ones in order, then -1, then the spilled ones.
    """
    count = len(parents)
    total = 1 << count
    cost = np.full(total, INFINITE, dtype=np.int64)
    least = np.full(total, need, dtype=np.int64)
    via = np.full(total, -1, dtype=np.int64)
    held = np.zeros(total, dtype=np.int64)
    cost[0] = 0
    for kept in range(total):
        if cost[kept] >= INFINITE:
            continue
        for i in range(count):
            following = kept | (1 << i)
            if following == kept:
                continue
            parent = parents[i]
            held[following] = held[kept] + weights[parent]
            segment = step_at(starts[parent], stops[parent], bounds, budget - held[kept])
            if segment < 0:
                continue
            price = cost[kept] + costs[segment]
            bound = max(least[kept], bounds[segment] + held[kept])
            if price < cost[following] or (price == cost[following] and bound < least[following]):
                cost[following] = price
                least[following] = bound
                via[following] = i
    best = INFINITE
    best_least = INFINITE
    best_kept = -1
    for kept in range(total):
        price = cost[kept]
        bound = least[kept]
        for i in range(count):
            if price >= INFINITE:
                break
            if kept & (1 << i) == 0:
                parent = parents[i]
                segment = step_at(starts[parent], stops[parent], bounds, budget)
                if segment < 0:
                    price = INFINITE
                    break
                price += costs[segment] + 2 * weights[parent]
                bound = max(bound, bounds[segment])
        if price < best or (price == best and price < INFINITE and bound < best_least):
            best = price
            best_least = bound
            best_kept = kept
    if best_kept >= 0:
        size = 0
        for i in range(count):
            if best_kept & (1 << i):
                size += 1
        position = size
        kept = best_kept
        while kept:
            position -= 1
            choice[position] = parents[via[kept]]
            kept ^= 1 << via[kept]
        choice[size] = -1
        position = size + 1
        for i in range(count):
            if best_kept & (1 << i) == 0:
                choice[position] = parents[i]
                position += 1
    return best, best_least


@subroutine
def best_choice_ordered(
    parents: IntArray,
    weights: IntArray,
    starts: IntArray,
    stops: IntArray,
    bounds: IntArray,
    costs: IntArray,
    budget: int,
    need: int,
    choice: IntArray,
) -> tuple[int, int]:
    """Do what :func:`best_choice` does for one order: falling room needed beyond the value left behind (Liu's rule).

    Labels (weight held, cost) grow parent by parent; dominated ones are dropped, and the costliest above a limit.
    """
    count = len(parents)
    excess = np.empty(count, dtype=np.int64)
    for i in range(count):
        excess[i] = weights[parents[i]] - bounds[stops[parents[i]] - 1]
    order = np.argsort(excess)
    width = max(16, min(MOST_LABELS, ALL_LABELS // count))
    held = np.zeros((count + 1, width), dtype=np.int64)
    cost = np.zeros((count + 1, width), dtype=np.int64)
    least = np.full((count + 1, width), need, dtype=np.int64)
    back = np.zeros((count + 1, width), dtype=np.int64)  # 2 * label before + 1 if kept
    sizes = np.zeros(count + 1, dtype=np.int64)
    sizes[0] = 1
    for step in range(count):
        parent = parents[order[step]]
        size = sizes[step]
        full = step_at(starts[parent], stops[parent], bounds, budget)
        offers = np.empty((2 * size, 4), dtype=np.int64)
        made = 0
        for label in range(size):
            if full >= 0:
                offers[made, 0] = held[step, label]
                offers[made, 1] = cost[step, label] + costs[full] + 2 * weights[parent]
                offers[made, 2] = max(least[step, label], bounds[full])
                offers[made, 3] = 2 * label
                made += 1
            segment = step_at(starts[parent], stops[parent], bounds, budget - held[step, label])
            if segment >= 0:
                offers[made, 0] = held[step, label] + weights[parent]
                offers[made, 1] = cost[step, label] + costs[segment]
                offers[made, 2] = max(least[step, label], bounds[segment] + held[step, label])
                offers[made, 3] = 2 * label + 1
                made += 1
        by_cost = np.argsort(offers[:made, 1] * 1.0 + offers[:made, 0] * 1e-9)
        lightest = INFINITE
        kept = 0
        for position in by_cost:
            if offers[position, 0] < lightest and kept < width:
                lightest = offers[position, 0]
                held[step + 1, kept] = offers[position, 0]
                cost[step + 1, kept] = offers[position, 1]
                least[step + 1, kept] = offers[position, 2]
                back[step + 1, kept] = offers[position, 3]
                kept += 1
        sizes[step + 1] = kept
        if kept == 0:
            return INFINITE, INFINITE
    best = cost[count, 0]
    best_least = least[count, 0]
    label = 0
    is_kept = np.zeros(count, dtype=np.int64)
    for step in range(count, 0, -1):
        is_kept[step - 1] = back[step, label] & 1
        label = back[step, label] >> 1
    position = 0
    for step in range(count):
        if is_kept[step]:
            choice[position] = parents[order[step]]
            position += 1
    choice[position] = -1
    for step in range(count):
        if not is_kept[step]:
            position += 1
            choice[position] = parents[order[step]]
    return best, best_least


@subroutine
def choose(
    parents: IntArray,
    weights: IntArray,
    starts: IntArray,
    stops: IntArray,
    bounds: IntArray,
    costs: IntArray,
    budget: int,
    need: int,
    choice: IntArray,
) -> tuple[int, int]:
    """Return (spill cost, smallest budget of the same choice); see :func:`best_choice` for ``choice``."""
    if len(parents) == 0:
        choice[0] = -1
        return 0, need
    if len(parents) <= MOST_ORDERED:
        return best_choice(parents, weights, starts, stops, bounds, costs, budget, need, choice)
    return best_choice_ordered(parents, weights, starts, stops, bounds, costs, budget, need, choice)


@tiered(seconds=4)
def step_functions(
    order: IntArray, parent_starts: IntArray, parents: IntArray, weights: IntArray, needs: IntArray, largest: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return (starts, stops, bounds, costs): what each node's subtree spills, as a step function of the budget.

    ``order`` lists the computed nodes, parents first; ``parents`` (CSR by node) holds computed parents only. Within
    budgets from ``bounds[i]`` to below ``bounds[i + 1]`` (i in ``starts[v]..stops[v] - 1``) the value of v is reached
    with ``costs[i]`` spilled. Budgets above ``largest`` are not looked at.
    """
    n = len(weights)
    starts = np.zeros(n, dtype=np.int64)
    stops = np.zeros(n, dtype=np.int64)
    bounds = np.empty(4 * n + 16, dtype=np.int64)
    costs = np.empty(4 * n + 16, dtype=np.int64)
    used = 0
    own_bounds = np.empty(16, dtype=np.int64)
    own_costs = np.empty(16, dtype=np.int64)
    choice = np.empty(n + 1, dtype=np.int64)
    for v in order:
        mine = parents[parent_starts[v] : parent_starts[v + 1]]
        lowest = needs[v]
        for parent in mine:
            lowest = max(lowest, bounds[starts[parent]] if stops[parent] > starts[parent] else INFINITE)
        budget = largest
        count = 0
        while budget >= lowest:
            cost, least = choose(mine, weights, starts, stops, bounds, costs, budget, needs[v], choice)
            if cost >= INFINITE:
                break
            if count > 0 and own_costs[count - 1] == cost:
                own_bounds[count - 1] = least
            else:
                if count == len(own_bounds):
                    own_bounds = np.concatenate((own_bounds, np.empty(count, dtype=np.int64)))
                    own_costs = np.concatenate((own_costs, np.empty(count, dtype=np.int64)))
                own_bounds[count] = least
                own_costs[count] = cost
                count += 1
            budget = least - 1
        while used + count > len(bounds):
            bounds = np.concatenate((bounds, np.empty(len(bounds), dtype=np.int64)))
            costs = np.concatenate((costs, np.empty(len(costs), dtype=np.int64)))
        starts[v] = used
        for i in range(count - 1, -1, -1):
            bounds[used] = own_bounds[i]
            costs[used] = own_costs[i]
            used += 1
        stops[v] = used
    return starts, stops, bounds[:used].copy(), costs[:used].copy()


@tiered(seconds=4)
def emit(
    roots: IntArray,
    budget: int,
    all_starts: IntArray,
    all_parents: IntArray,
    parent_starts: IntArray,
    parents: IntArray,
    twin_starts: IntArray,
    twins: IntArray,
    weights: IntArray,
    needs: IntArray,
    starts: IntArray,
    stops: IntArray,
    bounds: IntArray,
    costs: IntArray,
) -> tuple[IntArray, IntArray]:
    """Return (kinds, nodes): the moves of the recursion's choice for each root in turn.

    ``all_parents`` holds inputs too (those are the nodes without entries in it), ``twins`` the outputs computed from
    the same operands, which are computed, stored and dropped just before their node.
    """
    n = len(weights)
    kinds = np.empty(8 * n + 8, dtype=np.int64)
    nodes = np.empty(8 * n + 8, dtype=np.int64)
    made = 0
    stack_kind = np.empty(8 * n + 8, dtype=np.int64)
    stack_node = np.empty(8 * n + 8, dtype=np.int64)
    stack_budget = np.empty(8 * n + 8, dtype=np.int64)
    choice = np.empty(n + 1, dtype=np.int64)
    for root in roots:
        top = 0
        for kind in (3, 1, _EVALUATE):
            stack_kind[top], stack_node[top], stack_budget[top] = kind, root, budget
            top += 1
        while top > 0:
            top -= 1
            kind, v, room = stack_kind[top], stack_node[top], stack_budget[top]
            if kind != _EVALUATE:
                kinds[made], nodes[made] = kind, v
                made += 1
                continue
            mine = parents[parent_starts[v] : parent_starts[v + 1]]
            choose(mine, weights, starts, stops, bounds, costs, room, needs[v], choice)
            # The stack is last in, first out: push what comes last first.
            operands = all_parents[all_starts[v] : all_starts[v + 1]]
            for p in operands:
                stack_kind[top], stack_node[top] = 3, p
                top += 1
            stack_kind[top], stack_node[top] = 2, v
            top += 1
            for u in twins[twin_starts[v] : twin_starts[v + 1]]:
                for move in (3, 1, 2):
                    stack_kind[top], stack_node[top] = move, u
                    top += 1
            kept = 0
            while choice[kept] >= 0:
                kept += 1
            for p in choice[kept + 1 : len(mine) + 1]:
                stack_kind[top], stack_node[top] = 0, p
                top += 1
            for p in operands:
                if all_starts[p] == all_starts[p + 1]:
                    stack_kind[top], stack_node[top] = 0, p
                    top += 1
            left = room
            for i in range(kept):
                left -= weights[choice[i]]
            for i in range(kept - 1, -1, -1):
                left += weights[choice[i]]
                stack_kind[top], stack_node[top], stack_budget[top] = _EVALUATE, choice[i], left
                top += 1
            for p in choice[kept + 1 : len(mine) + 1]:
                for move in (3, 1, _EVALUATE):
                    stack_kind[top], stack_node[top], stack_budget[top] = move, p, room
                    top += 1
    return kinds[:made].copy(), nodes[:made].copy()
