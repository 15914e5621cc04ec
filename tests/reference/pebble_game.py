"""The game itself: Dijkstra's algorithm over all positions (red set, blue set), for graphs of a dozen nodes."""

from __future__ import annotations

import heapq

from shorthaul.pebble.model import Cdag


def least_traffic(cdag: Cdag, budget: int, *, recompute: bool) -> int | None:
    """Return the least traffic of any schedule, None if there is none; the rules are those of the paper's section 2."""
    n = cdag.n
    weight = cdag.weights.tolist()
    parents = [sum(1 << p for p in cdag.parents.neighbours(v).tolist()) for v in range(n)]
    inputs = sum(1 << v for v in cdag.inputs().tolist())
    outputs = sum(1 << v for v in cdag.outputs().tolist())
    start = (0, inputs, 0)  # red, blue, computed (only without recomputation)
    best = {start: 0}
    queue = [(0, *start)]
    while queue:
        cost, red, blue, done = heapq.heappop(queue)
        if best[red, blue, done] < cost:
            continue
        if blue & outputs == outputs:
            return cost
        held = sum(weight[v] for v in range(n) if red >> v & 1)
        for v in range(n):
            bit = 1 << v
            following = []
            if red & bit:
                following.append((cost, red ^ bit, blue, done))
                if not blue & bit:
                    following.append((cost + weight[v], red, blue | bit, done))
            elif held + weight[v] <= budget:
                if blue & bit:
                    following.append((cost + weight[v], red | bit, blue, done))
                if not inputs & bit and red & parents[v] == parents[v] and (recompute or not done & bit):
                    following.append((cost, red | bit, blue, done if recompute else done | bit))
            for price, *position in following:
                key = tuple(position)
                if price < best.get(key, price + 1):
                    best[key] = price
                    heapq.heappush(queue, (price, *position))
    return None
