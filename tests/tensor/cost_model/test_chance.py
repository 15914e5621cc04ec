"""Bounds on all orders of tiles where slices coincide by chance, beside every order, and the checker's beside ours."""

from __future__ import annotations

from itertools import islice, permutations

import numpy as np
import pytest
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.check.slices import column
from shorthaul.tensor.check.tile_floor import least_in_any_order
from shorthaul.tensor.cost_model import chance_kernels, cost_kernels, order_kernels
from shorthaul.tensor.cost_model.cost import Costs, kernel_arguments
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import CONTEST
from shorthaul.tensor.plan import Granularity

#: Orders of a granularity that are followed.
MOST_ORDERS = 130


def mixed_groups(seed):
    """Yield the groups of a random plan that have slices which may coincide by chance: problem, profile, and column."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, operators=7)
    plan = random_plan(rng, problem, CONTEST)
    for subgraph, seen in zip(plan.subgraphs, replay(problem, plan, CONTEST).subgraphs, strict=True):
        inside = frozenset(subgraph.operators)
        if seen is None or not seen.retained <= {problem.operators[index].output for index in inside}:
            continue
        profile = profile_of(problem, inside, seen.outputs, seen.resident, seen.retained)
        if profile.is_mixed:
            yield problem, profile, column(problem, inside, list(seen.outputs), seen.resident, seen.retained)


def floors(seed, tries):
    """Return how many floors were compared with all orders, or many, and how many of them some order meets."""
    compared = met = 0
    rng = np.random.default_rng(seed)
    for problem, profile, item in mixed_groups(seed):
        kernel = cost_kernels.Costs(*kernel_arguments(profile, problem.machine))
        orders = order_kernels.Orders(kernel, *profile.mixed_axes)
        costs = Costs(profile, problem.machine)
        for _ in range(tries):
            k = int(rng.integers(1, 9))
            w, h = (
                min(k if rng.random() < 0.7 else int(rng.integers(1, 9)), most) for most in (item.width, item.height)
            )
            floor = chance_kernels.floor(orders, w, h, k)
            assert floor == pytest.approx(least_in_any_order(problem.machine, item, w, h, k, np.inf), rel=1e-9)
            costs.at(Granularity(w, h, k))
            tiles = -(-profile.height // h) * -(-profile.width // w)
            every = [np.array(order) for order in islice(permutations(range(tiles)), MOST_ORDERS)]
            every += [rng.permutation(tiles) for _ in range(20)]
            least = min(costs.follow(order) for order in every)
            if costs.peak > problem.machine.capacity:
                assert floor == np.inf
                continue
            assert floor <= least * (1 + 1e-12)
            compared += 1
            met += floor >= least * (1 - 1e-9)
    return compared, met


def test_no_order_is_below_the_floor_and_the_checker_finds_the_same():
    compared, met = np.sum([floors(seed, 4) for seed in range(160)], axis=0)
    assert compared > 20
    assert met > compared / 2


@pytest.mark.slow
def test_no_order_is_below_the_floor_of_many():
    compared, _ = np.sum([floors(seed, 12) for seed in range(1000, 9000)], axis=0)
    assert compared > 3000
