"""Belady's replacement on an order of computation with repeats, written plainly: what it moves in all."""

from __future__ import annotations

from shorthaul.pebble.model import Cdag


def traffic_of_order(
    cdag: Cdag, budget: int, order: list[int], penalty: float, before: list[int] | None = None, first: int = 0
) -> int:
    """Return the weight loaded and stored when ``order`` is computed, values of the farthest next use giving way.

    What gives way ahead of step ``first`` is chosen as if the order were ``before``, which begins with the same steps.
    """
    weight = cdag.weights.tolist()
    operands = [cdag.parents.neighbours(v).tolist() for v in range(cdag.n)]
    outputs = set(cdag.outputs().tolist())

    def next_use(value: int, time: int) -> float:
        """When ``value`` is read after ``time``; infinite if it is computed again before."""
        seen = before if before is not None and time < first else order
        for later in range(time + 1, len(seen)):
            if value in operands[seen[later]]:
                return later
            if seen[later] == value:
                break
        return float("inf")

    red: set[int] = set()
    saved = set(cdag.inputs().tolist())
    traffic = 0
    for time, node in enumerate(order):
        missing = [p for p in operands[node] if p not in red]
        assert saved.issuperset(missing)
        room = budget - sum(weight[v] for v in red)
        need = weight[node] + sum(weight[p] for p in missing)
        gone: list[int] = []
        while room < need:
            others = red - set(operands[node])
            key = {v: ((next_use(v, time) - time) / (1.0 if v in saved else penalty), v in saved, -v) for v in others}
            victim = max(others, key=lambda v: key[v])
            gone.append(victim)
            red.remove(victim)
            room += weight[victim]
        for victim in reversed(gone):
            if room - weight[victim] >= need:
                room -= weight[victim]
                red.add(victim)
            elif victim not in saved:
                saved.add(victim)
                traffic += weight[victim]
        traffic += sum(weight[p] for p in missing)
        red |= {*missing, node}
        if node in outputs and node not in saved:
            saved.add(node)
            traffic += weight[node]
        red = {v for v in red if next_use(v, time) < float("inf")}
    return traffic
