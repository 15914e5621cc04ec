"""The closed form of the search against the step-by-step replay, on random problems and plans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import samples
from tests.tensor.columns import column
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.tensor.check.column_floor import Steps
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.cost_model import order_kernels
from shorthaul.tensor.cost_model.cost import ALL, Costs
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import CONTEST, SPEC


def compare(seed, rules, operators):
    """Compare every subgraph that can be replayed, legal or not; return how many, and how many slices coincide by chance."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, operators=operators)
    plan = random_plan(rng, problem, rules)
    compared = mixed = 0
    for subgraph, seen in zip(plan.subgraphs, replay(problem, plan, rules).subgraphs, strict=True):
        if seen is None:
            continue
        profile = profile_of(problem, frozenset(subgraph.operators), seen.outputs, seen.resident, seen.retained)
        costs = Costs(profile, problem.machine)
        size = subgraph.granularity
        costs.at(size)
        order = None if subgraph.traversal is None else np.array(subgraph.traversal)
        latency = costs.isolated() if order is None and rules.default_order_flushes else costs.follow(order)
        assert latency == pytest.approx(seen.latency, rel=1e-9)
        assert costs.peak == seen.peak
        if not profile.is_mixed:
            assert order_kernels.floor(costs.kernel, size.w, size.h, size.k) <= latency * (1 + 1e-12)
        elif rules is CONTEST and all(problem.producer[t] in subgraph.operators for t in seen.retained):
            group = column(problem, frozenset(subgraph.operators), list(seen.outputs), seen.resident, seen.retained)
            checked = Steps(problem, group, *(np.array([length]) for length in (size.w, size.h, size.k)))
            assert checked.held(only_sure=True)[0] <= seen.peak
        compared += 1
        mixed += profile.is_mixed
    return compared, mixed


@given(seed=st.integers(0, 2**32), rules=st.sampled_from([SPEC, CONTEST]), operators=st.integers(1, 7))
@settings(max_examples=len(samples(250)))
def test_closed_form_equals_replay(seed, rules, operators):
    compare(seed, rules, operators)


def test_what_one_sink_leaves_there_serves_another_for_one_step():
    assert compare(1729, CONTEST, 7)[0] > 0


def test_the_random_plans_cover_slices_that_coincide():
    compared, mixed = np.sum([compare(seed, rules, 5) for seed in samples(400) for rules in (SPEC, CONTEST)], axis=0)
    assert compared > len(samples(400))
    assert mixed > len(samples(400)) / 20


@pytest.mark.slow
def test_closed_form_equals_replay_on_many():
    for seed in range(10_000):
        for rules in (SPEC, CONTEST):
            compare(seed, rules, 6)


@pytest.mark.costly
@pytest.mark.parametrize("order", ALL, ids=str)
def test_a_regular_order_costs_what_its_list_of_tiles_costs(order):
    compared = 0
    for seed in samples(160):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, operators=4)
        plan = random_plan(rng, problem, SPEC)
        for subgraph, seen in zip(plan.subgraphs, replay(problem, plan, SPEC).subgraphs, strict=True):
            if seen is None:
                continue
            profile = profile_of(problem, frozenset(subgraph.operators), seen.outputs, seen.resident, seen.retained)
            costs = Costs(profile, problem.machine)
            costs.at(subgraph.granularity)
            tiles = order.order(seen.grid.rows, seen.grid.columns)
            assert sorted(tiles.tolist()) == list(range(seen.grid.tiles))
            assert costs.walk(order) == pytest.approx(costs.follow(tiles), rel=1e-12)
            compared += seen.grid.tiles > 3
    assert compared > len(samples(160)) / 2
