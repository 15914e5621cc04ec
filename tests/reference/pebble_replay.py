"""A move-by-move replay with sets, the obvious twin of the checker."""

from __future__ import annotations

from collections import Counter

from shorthaul.pebble.model import Cdag
from shorthaul.pebble.plan import Move, Plan


def replay(cdag: Cdag, plan: Plan, budget: int, *, recompute: bool) -> tuple[Counter[str], int, int, int]:
    """Return (violations by rule, loads, stores, peak)."""
    weights = cdag.weights.tolist()
    inputs, outputs = set(cdag.inputs().tolist()), set(cdag.outputs().tolist())
    red: set[int] = set()
    blue, computed = set(inputs), set()
    stored: set[int] = set()
    found: Counter[str] = Counter()
    loads = stores = peak = 0
    for move, node in plan:
        if move is Move.LOAD:
            found["load-of-absent"] += node not in blue
            red.add(node)
            loads += weights[node]
        elif move is Move.STORE:
            found["store-of-absent"] += node not in red
            blue.add(node)
            stored.add(node)
            stores += weights[node]
        elif move is Move.COMPUTE:
            found["computed-input"] += node in inputs
            found["missing-operand"] += not set(cdag.parents.neighbours(node).tolist()) <= red
            found["recomputed"] += not recompute and node in computed
            computed.add(node)
            red.add(node)
        else:
            found["delete-of-absent"] += node not in red
            red.discard(node)
        held = sum(weights[v] for v in red)
        peak = max(peak, held)
        found["over-budget"] += move in {Move.LOAD, Move.COMPUTE} and held > budget
    found["missing-output"] += len(outputs - stored)
    return +found, loads, stores, peak
