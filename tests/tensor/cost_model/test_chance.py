"""Bounds on all orders of tiles beside the best of them, and the checker's beside ours."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.samples import samples
from tests.tensor.columns import column
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.check.tile_floor import least_in_any_order
from shorthaul.tensor.cost_model import chance_kernels, cost_kernels, order_kernels
from shorthaul.tensor.cost_model.cost import Costs, kernel_arguments
from shorthaul.tensor.cost_model.exhaustion import least_of_orders
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import CONTEST
from shorthaul.tensor.plan import Granularity

#: Tiles of which the best order is looked for.
MOST_TILES = 9


def some_groups(seed):
    """Yield the groups of a random plan: problem, profile, and column."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, operators=7)
    plan = random_plan(rng, problem, CONTEST)
    for subgraph, seen in zip(plan.subgraphs, replay(problem, plan, CONTEST).subgraphs, strict=True):
        inside = frozenset(subgraph.operators)
        if seen is None or not seen.retained <= {problem.operators[index].output for index in inside}:
            continue
        profile = profile_of(problem, inside, seen.outputs, seen.resident, seen.retained)
        yield problem, profile, column(problem, inside, list(seen.outputs), seen.resident, seen.retained)


def best_order(orders, rows, columns):
    """Return the latency of the best order at the granularity that ``orders`` has taken (Held and Karp)."""
    tiles = [*product(range(rows), range(columns))]
    times = np.array(
        [[np.inf if a == b else chance_kernels.entered(orders, *a, *b) for b in tiles] for a in tiles], dtype=float
    )
    best = np.full((1 << len(tiles), len(tiles)), np.inf)
    for number, tile in enumerate(tiles):
        best[1 << number, number] = chance_kernels.entered(orders, -1, -1, *tile)
    for done in range(1, 1 << len(tiles)):
        after = (best[done][:, None] + times).min(axis=0)
        for number in range(len(tiles)):
            if not done >> number & 1:
                best[done | 1 << number, number] = min(best[done | 1 << number, number], after[number])
    return best[-1].min() + chance_kernels.later(orders)


def floors(seed, tries):
    """Return how many floors were compared with the best order, how many of them that meets, and how many are mixed."""
    found = np.zeros(3, dtype=int)
    rng = np.random.default_rng(seed)
    for problem, profile, item in some_groups(seed):
        kernel = cost_kernels.Costs(*kernel_arguments(profile, problem.machine))
        orders = order_kernels.Orders(kernel, *profile.mixed_axes)
        costs = Costs(profile, problem.machine)
        for _ in range(tries):
            k = int(rng.integers(1, 9))
            w, h = (
                min(k if rng.random() < 0.7 else int(rng.integers(1, 13)), most) for most in (item.width, item.height)
            )
            rows, columns = -(-profile.height // h), -(-profile.width // w)
            if rows * columns > MOST_TILES:
                continue
            judged = least_in_any_order(problem.machine, item, w, h, k, np.inf)
            quick = chance_kernels.floor(orders, w, h, k) if profile.is_mixed else order_kernels.floor(kernel, w, h, k)
            costs.at(Granularity(w, h, k))
            followed = costs.follow(rng.permutation(rows * columns))
            if costs.peak > problem.machine.capacity:
                assert judged == np.inf
                continue
            floor = max(quick, least_of_orders(orders, profile, (w, h, k)))
            least = best_order(orders, rows, columns)
            assert floor == pytest.approx(judged, rel=1e-9)
            assert floor <= least * (1 + 1e-9)
            assert least <= followed * (1 + 1e-9)
            found += 1, floor >= least * (1 - 1e-9), profile.is_mixed
    return found


def test_no_order_is_below_the_floor_and_the_checker_finds_the_same():
    compared, met, mixed = np.sum([floors(seed, 4) for seed in samples(240)], axis=0)
    assert mixed > len(samples(240)) / 5
    assert met > 0.98 * compared


@pytest.mark.slow
def test_no_order_is_below_the_floor_of_many():
    _, _, mixed = np.sum([floors(seed, 12) for seed in range(1000, 3000)], axis=0)
    assert mixed > 1000
