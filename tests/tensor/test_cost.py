"""The closed form of the search against the step-by-step replay, on random problems and plans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.cost_model.cost import Costs
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.cost_model.traversal import ALL, moves_of
from shorthaul.tensor.model import CONTEST, SPEC


def compare(seed, rules, operators):
    """Compare every subgraph that can be replayed, legal or not; return how many compared equal, and how many above."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, operators=operators)
    plan = random_plan(rng, problem, rules)
    equal = above = 0
    for subgraph, seen in zip(plan.subgraphs, replay(problem, plan, rules).subgraphs, strict=True):
        if seen is None:
            continue
        profile = profile_of(problem, frozenset(subgraph.operators), seen.outputs, seen.resident, seen.retained)
        costs = Costs(profile, problem.machine).at(subgraph.granularity)
        rows, columns = costs.rows, costs.columns
        assert (rows, columns, costs.steps) == (seen.grid.rows, seen.grid.columns, seen.grid.steps_per_tile)
        if subgraph.traversal is None and rules.default_order_flushes:
            latency = costs.isolated()
        else:
            order = range(rows * columns) if subgraph.traversal is None else subgraph.traversal
            latency = costs.total(moves_of(np.array(order), rows, columns))
            assert costs.floor <= latency * (1 + 1e-12)
        peak = costs.peak
        if profile.is_mixed:
            assert latency >= seen.latency * (1 - 1e-9)
            assert peak >= seen.peak
            above += 1
        else:
            assert latency == pytest.approx(seen.latency, rel=1e-9)
            assert peak == seen.peak
            equal += 1
    return equal, above


@given(seed=st.integers(0, 2**32), rules=st.sampled_from([SPEC, CONTEST]), operators=st.integers(1, 7))
@settings(max_examples=250, deadline=None, derandomize=True)
def test_closed_form_equals_replay(seed, rules, operators):
    compare(seed, rules, operators)


def test_the_random_plans_cover_both_kinds():
    counts = np.sum([compare(seed, SPEC, 5) for seed in range(200)], axis=0)
    assert counts[0] > 200
    assert counts[1] > 10


@pytest.mark.slow
def test_closed_form_equals_replay_on_many():
    for seed in range(10_000):
        for rules in (SPEC, CONTEST):
            compare(seed, rules, 6)


@pytest.mark.parametrize("rows", range(1, 7))
@pytest.mark.parametrize("columns", range(1, 7))
def test_serpentines(rows, columns):
    for serpentine in ALL:
        order = serpentine.order(rows, columns)
        assert sorted(order.tolist()) == list(range(rows * columns))
        assert moves_of(order, rows, columns)[1].sum() == 0, "a serpentine never jumps"
