"""The plain twin of :mod:`shorthaul.pebble.local_search.rematerialisation_kernels`."""

from __future__ import annotations

from shorthaul.pebble.model import Cdag
from shorthaul.pebble.plan import Move, Plan, plan_of


def computed_again(cdag: Cdag, plan: Plan, budget: int) -> Plan:
    """Return the plan with loads replaced by computations where they are cheaper."""
    weight = cdag.weights.tolist()
    operands = [set(cdag.parents.neighbours(v).tolist()) for v in range(cdag.n)]
    red: set[int] = set()
    saved = set(cdag.inputs().tolist())
    moves: list[tuple[Move, int]] = []
    for kind, v in plan:
        steps = [(kind, v)]
        if kind == Move.LOAD and v not in red and not cdag.given[v]:
            missing = operands[v] - red
            extra = sum(weight[p] for p in missing)
            held = sum(weight[u] for u in red)
            is_cheap = extra < weight[v] and missing <= saved and held + extra + weight[v] <= budget
            if not missing or (len(missing) == 1 and is_cheap):
                around = [(Move.LOAD, p) for p in missing], [(Move.DELETE, p) for p in missing]
                steps = [*around[0], (Move.COMPUTE, v), *around[1]]
        for step, u in steps:
            moves.append((step, u))
            if step == Move.STORE:
                saved.add(u)
            elif step == Move.DELETE:
                red.discard(u)
            else:
                red.add(u)
    outputs = set(cdag.outputs().tolist())
    kept = []
    for i, (kind, v) in enumerate(moves):
        later = any(other == (Move.LOAD, v) for other in moves[i + 1 :])
        if kind != Move.STORE or v in outputs or later:
            kept.append((kind, v))
    return plan_of(kept)
