"""The closed form of the search against the step-by-step replay, on random problems and plans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.cost_model.cost import step_costs
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.cost_model.traversal import ALL, PLAIN, isolated_moves, moves_of, plain_moves
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
        size = subgraph.granularity
        costs = step_costs(profile, problem.machine, *(np.array([value]) for value in (size.w, size.h, size.k)))
        rows, columns = int(costs.rows[0]), int(costs.columns[0])
        assert (rows, columns, costs.steps[0]) == (seen.grid.rows, seen.grid.columns, seen.grid.steps_per_tile)
        if subgraph.traversal is None and rules.default_order_flushes:
            moves = isolated_moves(costs.rows, costs.columns)
        else:
            order = range(rows * columns) if subgraph.traversal is None else subgraph.traversal
            moves = moves_of(np.array(order), rows, columns)[..., None]
        latency, peak = float(costs.total(moves)[0]), float(costs.peak[0])
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
@settings(max_examples=500, deadline=None, derandomize=True)
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
    for plain in PLAIN:
        counted = plain_moves(np.array([rows]), np.array([columns]), by_columns=plain.by_columns)[..., 0]
        assert np.array_equal(counted, moves_of(plain.order(rows, columns), rows, columns))
    assert isolated_moves(np.array([rows]), np.array([columns])).sum() == rows * columns
