"""Belady's replacement and exact play against slow twins."""

from __future__ import annotations

import random
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from shorthaul.core.errors import InfeasibleError
from shorthaul.graphs.replay import belady_loads, least_loads


def random_graph(seed: int, largest: int) -> list[list[int]]:
    draw = random.Random(seed)
    n, inputs = draw.randint(4, largest), draw.randint(1, 4)
    operands: list[list[int]] = [[] for _ in range(n)]
    for v in range(inputs, n):
        operands[v] = draw.sample(range(v), min(v, draw.randint(1, 3)))
    return operands


def arrays(operands: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.cumsum([0] + [len(item) for item in operands])
    return starts, np.array([u for item in operands for u in item], dtype=np.int64)


def fewest_loads_of_order(order: list[int], operands: list[list[int]], capacity: int) -> int:
    """All choices of what to keep, by dynamic programming over (time, red set)."""

    @cache
    def least(time: int, red: frozenset[int]) -> int:
        if time == len(order):
            return 0
        v = order[time]
        needed = set(operands[v])
        others = sorted(red - needed)
        room = min(len(others), capacity - len(needed) - 1)
        return len(needed - red) + min(
            least(time + 1, frozenset({*kept, *needed, v})) for kept in combinations(others, room)
        )

    return least(0, frozenset())


def fewest_loads(operands: list[list[int]], capacity: int) -> int:
    """Dijkstra-free twin: all orders and all choices."""
    n = len(operands)

    @cache
    def least(done: frozenset[int], red: frozenset[int]) -> int:
        if len(done) == n:
            return 0
        best = 10**9
        for v in range(n):
            if v in done or not set(operands[v]) <= done:
                continue
            needed = set(operands[v])
            others = sorted(red - needed)
            room = min(len(others), capacity - len(needed) - 1)
            for kept in combinations(others, room):
                after = frozenset({*kept, *needed, v})
                best = min(best, len(needed - red) + least(done | {v}, after))
        return best

    return least(frozenset(v for v in range(n) if not operands[v]), frozenset())


def test_belady_is_the_least_for_an_order() -> None:
    for seed in range(60):
        operands = random_graph(seed, 14)
        order = [v for v in range(len(operands)) if operands[v]]
        capacity = max(map(len, operands)) + 1 + seed % 3
        loads = belady_loads(np.array(order), *arrays(operands), capacity)
        assert loads.shape == (len(order),)
        assert loads.sum() == fewest_loads_of_order(order, operands, capacity)


def test_exact_play_is_the_least_over_all_orders() -> None:
    for seed in range(40):
        operands = random_graph(seed + 100, 10)
        capacity = max(map(len, operands)) + 1 + seed % 2
        exact = least_loads(operands, capacity)
        assert exact.proven
        assert exact.loads == fewest_loads(operands, capacity)


def test_a_vertex_that_does_not_fit() -> None:
    operands = [[], [], [0, 1]]
    with pytest.raises(InfeasibleError, match="fast memory: 3 needed, the limit is 2"):
        belady_loads(np.array([2]), *arrays(operands), 2)
    with pytest.raises(InfeasibleError, match="fast memory: 3 needed, the limit is 2"):
        least_loads(operands, 2)


def test_vertices_that_read_nothing_are_computed_not_loaded() -> None:
    assert least_loads([None, None, [0, 1]], 3).loads == 0
    assert least_loads([[], [], [0, 1]], 3).loads == 2


def test_giving_up_returns_a_bound() -> None:
    operands = [[] for _ in range(5)] + [[a, b] for a in range(5) for b in range(a)]
    full = least_loads(operands, 4, most_states=200_000)
    short = least_loads(operands, 4, most_states=3)
    assert not short.proven
    assert short.loads <= full.loads
