"""The game with prices: Dijkstra's algorithm over all positions, for graphs of a few nodes."""

from __future__ import annotations

import heapq

from shorthaul.pebble.model import Cdag, Terms


def least_paid(cdag: Cdag, budget: int, terms: Terms, *, recompute: bool) -> int | None:
    """Return the least that any plan pays, None if there is none.

    One move at a time: load, store, compute, delete. Without loads inputs are computed; without stores outputs count when
    they were computed. In place, a result may take the room of an operand that is no lighter.
    """
    n = cdag.n
    weight, cost = cdag.weights.tolist(), cdag.compute.tolist()
    operands = [set(cdag.parents.neighbours(v).tolist()) for v in range(n)]
    inputs = set() if terms.load is None else set(cdag.inputs().tolist())
    outputs = set(cdag.outputs().tolist())
    start = (frozenset[int](), frozenset(inputs), frozenset[int]())
    best = {start: 0}
    queue = [(0, 0, start)]
    count = 0
    while queue:
        paid, _, position = heapq.heappop(queue)
        if best[position] < paid:
            continue
        red, blue, done = position
        if outputs <= (blue if terms.store is not None else done):
            return paid
        room = budget - sum(weight[v] for v in red)
        for v in range(n):
            following = []
            if v in red:
                following.append((0, (red - {v}, blue, done)))
                if terms.store is not None:
                    following.append((terms.store * weight[v], (red, blue | {v}, done)))
            elif weight[v] <= room:
                if terms.load is not None and v in blue:
                    following.append((terms.load * weight[v], (red | {v}, blue, done)))
                early = terms.in_order and any(u not in done and u not in inputs for u in range(v))
                allowed = recompute if v in done else not early
                if v not in inputs and operands[v] <= red and allowed:
                    following.append((cost[v], (red | {v}, blue, done | {v})))
            if v not in red and v not in inputs and terms.in_place and operands[v] <= red:
                early = terms.in_order and any(u not in done and u not in inputs for u in range(v))
                if recompute if v in done else not early:
                    following += [
                        (cost[v], ((red - {u}) | {v}, blue, done | {v})) for u in operands[v] if weight[u] >= weight[v]
                    ]
            for price, reached in following:
                if paid + price < best.get(reached, paid + price + 1):
                    best[reached] = paid + price
                    count += 1
                    heapq.heappush(queue, (paid + price, count, reached))
    return None
