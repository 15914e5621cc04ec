"""What prices prove about every computed set, by trying all that can be in fast memory: the twin of the kernels."""

from __future__ import annotations

from itertools import product

from shorthaul.pebble.model import Cdag

Prices = dict[tuple[frozenset[int], int], tuple[int, int]]
OUT, SAVED, UNSAVED = 0, 1, 2


def live_after(cdag: Cdag, done: frozenset[int]) -> list[int]:
    """Return the values that are read after ``done``, but for inputs that nothing has read yet."""
    given = set(cdag.inputs().tolist())
    readers = {u: set(cdag.children.neighbours(u).tolist()) for u in done}
    return [u for u in sorted(done) if not readers[u] <= done and (u not in given or readers[u] & done)]


def computed_sets(cdag: Cdag) -> list[frozenset[int]]:
    """Return all computed sets, inputs included, small ones first."""
    layer = {frozenset(cdag.inputs().tolist())}
    found: list[frozenset[int]] = []
    while layer:
        found += sorted(layer, key=sorted)
        layer = {done | {v} for done in layer for v in _ready(cdag, done)}
    return found


def ahead(cdag: Cdag, budget: int, prices: Prices) -> dict[frozenset[int], int]:
    """Return a(D) of every computed set: the largest such that no step makes cost and potential together fall."""
    values: dict[frozenset[int], int] = {}
    for done in reversed(computed_sets(cdag)):
        steps = [_least(cdag, budget, prices, done, v) + values[done | {v}] for v in _ready(cdag, done)]
        values[done] = min(steps, default=0)
    return values


def _ready(cdag: Cdag, done: frozenset[int]) -> list[int]:
    return [v for v in range(cdag.n) if v not in done and set(cdag.parents.neighbours(v).tolist()) <= done]


def _least(cdag: Cdag, budget: int, prices: Prices, done: frozenset[int], v: int) -> int:
    """Return the least change of all prices together when ``v`` is computed, whatever is red and stays."""
    operands = set(cdag.parents.neighbours(v).tolist())
    given = set(cdag.inputs().tolist())
    after = done | {v}
    values = live_after(cdag, done)
    weights = cdag.weights.tolist()
    room = budget - weights[v] - sum(weights[p] for p in operands)
    least: int | None = None
    for places in product(*([OUT, SAVED] if u in given else [OUT, SAVED, UNSAVED] for u in values)):
        change, held = (prices[after, v][1] if (after, v) in prices else 0), 0
        change += sum(prices[after, u][0] for u in operands - set(values) if (after, u) in prices)
        for u, place in zip(values, places, strict=True):
            before = 0 if place == OUT else prices[done, u][place - 1]
            then = 0
            if u in operands or place != OUT:
                then = prices[after, u][max(place, SAVED) - 1] if (after, u) in prices else 0
            if u not in operands and place != OUT:
                held += weights[u]
            change += then - before
        if held <= room and (least is None or change < least):
            least = change
    assert least is not None
    return least
