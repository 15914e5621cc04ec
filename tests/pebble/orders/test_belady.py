from __future__ import annotations

import numpy as np
import pytest
from tests.reference.pebble_game_kernels import least_traffic
from tests.samples import samples

from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.local_search import annealing
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move
from shorthaul.pebble.workloads import kernels_as_graphs


def random_cdag(rng: np.random.Generator, n: int, *, most: int = 4) -> Cdag:
    """A random CDAG without isolated nodes."""
    edges = set()
    for v in range(1, n):
        for p in rng.choice(v, size=min(v, int(rng.integers(1, 4))), replace=False).tolist():
            edges.add((p, v))
    starts, stops = zip(*sorted(edges), strict=True)
    return build(rng.integers(1, most + 1, n), list(starts), list(stops))


def is_topological(cdag: Cdag, order: np.ndarray) -> bool:
    place = {int(v): i for i, v in enumerate(order)}
    computed = [v for v in range(cdag.n) if cdag.parents.neighbours(v).size]
    return set(computed) <= set(place) and all(
        place[p] < place[v] for v in computed for p in cdag.parents.neighbours(v).tolist() if p in place
    )


@pytest.mark.parametrize("name", belady.ORDERS)
def test_orders_are_topological(name: str) -> None:
    for seed in range(60):
        cdag = random_cdag(np.random.default_rng(seed), 3 + seed % 20)
        assert is_topological(cdag, belady.ORDERS[name](cdag))


def test_plans_pass_the_check_and_never_beat_the_game() -> None:
    met = 0
    for seed in samples(160):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(3, 9)), most=int(rng.choice([1, 3])))
        budget = cdag.least_budget() + int(rng.integers(0, 4))
        plan = belady.plan(cdag, budget)
        assert replay(cdag, plan, budget, recompute=False).ok
        optimum = least_traffic(cdag, budget, recompute=False)
        assert optimum is not None
        assert plan.traffic(cdag.weights) >= optimum
        met += plan.traffic(cdag.weights) == optimum
    assert met >= 0.8 * len(samples(160))  # a heuristic, but not a bad one


def farthest_next_use(cdag: Cdag, budget: int, order: list[int]) -> int:
    """Belady's replacement written plainly, for unit weights where every value counts alike."""
    uses = {v: [t for t, w in enumerate(order) if v in cdag.parents.neighbours(w).tolist()] for v in range(cdag.n)}
    saved = set(cdag.inputs().tolist())
    red: set[int] = set()
    traffic = 0
    for t, v in enumerate(order):
        operands = set(cdag.parents.neighbours(v).tolist())
        need = len(operands - red) + 1
        while budget - len(red) < need:
            victim = max(red - operands, key=lambda u: (min(s for s in uses[u] if s > t), u in saved, -u))
            red.remove(victim)
            if victim not in saved:
                traffic += 1
                saved.add(victim)
        traffic += len(operands - red)
        red |= operands | {v}
        red -= {u for u in red if not any(s > t for s in uses[u])}
        traffic += v in cdag.outputs().tolist()
    return traffic


def test_replay_agrees_with_its_plain_twin_on_unit_weights() -> None:
    for seed in range(80):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(5, 30)), most=1)
        budget = cdag.least_budget() + int(rng.integers(0, 3))
        order = [v for v in range(cdag.n) if cdag.parents.neighbours(v).size]
        mine = belady.replay_order(cdag, budget, cdag.order).traffic(cdag.weights)
        assert mine == farthest_next_use(cdag, budget, order)


def test_a_node_that_cannot_fit_is_named() -> None:
    with pytest.raises(InfeasibleError, match="fast memory"):
        belady.plan(kernels_as_graphs.fft(n=8, word=1), 2)


def test_local_search_improves_and_passes_the_check() -> None:
    cdag = kernels_as_graphs.pyramid(n=6, word=1)
    start = belady.plan(cdag, 3, "given")
    better = annealing.improve(cdag, 3, start, search=Search(seed=1))
    assert replay(cdag, better, 3, recompute=False).ok
    assert better.traffic(cdag.weights) < start.traffic(cdag.weights)
    again = annealing.improve(cdag, 3, start, search=Search(seed=1))
    assert again.nodes.tolist() == better.nodes.tolist()


def test_order_of_a_plan_is_what_it_computes() -> None:
    cdag = kernels_as_graphs.fft(n=4, word=1)
    plan = belady.plan(cdag, 4)
    order = belady.order_of(plan)
    assert sorted(order.tolist()) == [v for v in range(cdag.n) if cdag.parents.neighbours(v).size]
    assert order.tolist() == plan.nodes[plan.kinds == Move.COMPUTE].tolist()
