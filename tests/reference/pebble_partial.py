"""The game with partial values: Dijkstra's algorithm over all positions, for graphs of a few nodes."""

from __future__ import annotations

import heapq

from shorthaul.pebble.model import Cdag, Terms


def least_paid(cdag: Cdag, budget: int, terms: Terms) -> int | None:
    """Return the least that any plan pays, computing left aside; None if there is none.

    One move at a time: load, store, delete, add an operand to a value, compute a value without operands. A slow copy is
    of use until its value changes.
    """
    n, weight = cdag.n, cdag.weights.tolist()
    operands = [frozenset(cdag.parents.neighbours(v).tolist()) for v in range(n)]
    inputs = set() if terms.load is None else set(cdag.inputs().tolist())
    outputs = cdag.outputs().tolist()
    # in fast memory; with a slow copy that is of use; by value the operands that are in, None before it has begun
    begun = tuple(frozenset() if v in inputs else None for v in range(n))
    start = (frozenset[int](), frozenset(inputs), begun)
    best = {start: 0}
    queue = [(0, 0, start)]
    count = 0
    while queue:
        paid, _, position = heapq.heappop(queue)
        if best[position] < paid:
            continue
        red, blue, state = position
        if all(state[v] == operands[v] and (terms.store is None or v in blue) for v in outputs):
            return paid
        room = budget - sum(weight[v] for v in red)
        following = []
        for v in range(n):
            if v in red:
                following.append((0, (red - {v}, blue, state)))
                if terms.store is not None:
                    following.append((terms.store * weight[v], (red, blue | {v}, state)))
            elif v in blue and terms.load is not None and weight[v] <= room:
                following.append((terms.load * weight[v], (red | {v}, blue, state)))
            if v in inputs or not (v in red or (state[v] is None and weight[v] <= room)):
                continue
            if not operands[v] and state[v] is None:
                after = (*state[:v], frozenset(), *state[v + 1 :])
                following.append((0, (red | {v}, blue, after)))
            for u in operands[v] - (state[v] or frozenset()):
                if u in red and state[u] == operands[u]:
                    after = (*state[:v], (state[v] or frozenset()) | {u}, *state[v + 1 :])
                    following.append((0, (red | {v}, blue - {v}, after)))
        for price, reached in following:
            if paid + price < best.get(reached, paid + price + 1):
                best[reached] = paid + price
                count += 1
                heapq.heappush(queue, (paid + price, count, reached))
    return None
