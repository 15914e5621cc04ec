"""The checker and a second replay, written apart from it, agree on random plans, legal and illegal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import tensor_replay
from tests.samples import samples
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.formats.documents import plan_document, problem_document
from shorthaul.tensor.model import CONTEST, CONTEST_LOOSE, RULES, SPEC, Machine, Problem
from shorthaul.tensor.plan import Granularity, Plan, Subgraph
from shorthaul.tensor.workloads.cases import GraphBuilder

#: The twin stops at the first broken rule of a subgraph; the names it has for ours.
TWIN_NAMES = {
    "operator-missing": "operator-missing",
    "empty-subgraph": "empty",
    "operator-twice": "twice",
    "operator-order": "order",
    "input-missing": "input",
    "disconnected": "connected",
    "granularity-too-small": "granularity",
    "granularity-over-native": "granularity",
    "granularity-over-reduction": "granularity",
    "partial-prologue": "prologue",
    "not-retainable": "retention",
    "output-retained": "retention",
    "ephemeral-shared": "ephemeral",
    "output-shapes": "shapes",
    "over-capacity": "capacity",
    "traversal-order": "traversal",
}


def compare(seed, rules, operators, sizes=None):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, operators=operators, sizes=sizes)
    plan = random_plan(rng, problem, rules)
    mine = replay(problem, plan, rules)
    twin = tensor_replay.replay(
        problem_document(problem), plan_document(plan), contest=rules is not SPEC, whole_prologues=rules is CONTEST
    )
    found = {TWIN_NAMES[violation.rule] for violation in mine.violations}
    # The twin counts a shared ephemeral tensor among the outputs, then complains about their shapes as well.
    consequences = {"graph-output", "shapes"} if "ephemeral" in found else {"graph-output"}
    assert set(twin.violations) - consequences <= found, (found, twin.violations)
    assert bool(found) == bool(twin.violations), (found, twin.violations)
    if not found:
        assert [subgraph.latency for subgraph in mine.subgraphs] == pytest.approx(twin.latencies, rel=1e-12)
    return not found


def test_a_pointwise_that_feeds_a_matmul_part_by_part():
    """Left operand: w >= K; right operand: h >= K; or the whole reduction in one step."""
    graph = GraphBuilder()
    left = graph.pointwise((graph.tensor(8, 4),), 1)
    graph.matmul(left, graph.pointwise((graph.tensor(4, 8),), 1), 1)
    problem = replace(graph.problem(1000, 1), machine=Machine(1000, 1, 8, 8))
    legal = {(4, 4, 3), (8, 5, 1), (1, 1, 4)}
    sides = {(3, 4, 3): ["left"], (4, 3, 2): ["right"], (2, 2, 2): ["left", "right"]}
    for w, h, k in [*legal, *sides]:
        plan = Plan((Subgraph((0, 1, 2), Granularity(w, h, k)),))
        broken = replay(problem, plan, CONTEST).violations
        assert [item.rule for item in broken] == ["partial-prologue"] * len(sides.get((w, h, k), []))
        assert all(side in item.message for side, item in zip(sides.get((w, h, k), []), broken, strict=True))
        assert not replay(problem, plan, CONTEST_LOOSE).violations


def test_what_a_shorter_reduction_had_whole_serves_one_more_step():
    graph = GraphBuilder()
    whole = graph.tensor(20, 6)
    deep = graph.matmul(whole, graph.tensor(6, 5), 1)
    short = graph.matmul(graph.matmul(graph.tensor(4, 20), deep, 1), graph.tensor(5, 6), 1)
    graph.pointwise((short, graph.matmul(graph.tensor(4, 20), whole, 1)), 1)
    problem = replace(graph.problem(1000, 1), machine=Machine(1000, 0.01, 8, 8))
    plan = Plan((Subgraph(tuple(range(5)), Granularity(6, 4, 2)),))
    found = replay(problem, plan, SPEC)
    twin = tensor_replay.replay(problem_document(problem), plan_document(plan), contest=False, whole_prologues=False)
    assert not found.violations
    assert found.subgraphs[0].latency == pytest.approx(twin.latencies[0], rel=1e-12)


def test_steps_that_meet_their_tile_stand_out_of_equal_ones():
    """In tile (r, r) of a square both slices of step r are the same; the sum finds its slice where the last step had it."""
    graph = GraphBuilder()
    square, factor = graph.tensor(40, 40), graph.tensor(4, 40)
    graph.matmul(square, square, 1)
    graph.pointwise((graph.matmul(factor, graph.tensor(40, 40), 1), factor), 1)
    problem = replace(graph.problem(1000, 1), machine=Machine(1000, 1, 8, 8))
    size = Granularity(4, 4, 4)
    product, sum_ = replay(problem, Plan((Subgraph((0,), size), Subgraph((1, 2), size))), SPEC).subgraphs
    assert product.trace.loads.reshape(10, 10, 10)[np.diag_indices(10, 3)].tolist() == [16] * 10
    assert sum_.trace.loads.reshape(10, 10)[:, -1].tolist() == [48] * 8 + [32, 32]


@given(seed=st.integers(0, 2**32), rules=st.sampled_from([SPEC, CONTEST, CONTEST_LOOSE]))
@settings(max_examples=len(samples(60)))
def test_checker_and_twin_agree_where_many_steps_are_equal(seed, rules):
    compare(seed, rules, operators=3, sizes=(16, 24, 36, 60))


@given(seed=st.integers(0, 2**32), rules=st.sampled_from([SPEC, CONTEST, CONTEST_LOOSE]))
@settings(max_examples=len(samples(200)))
def test_checker_and_twin_agree(seed, rules):
    compare(seed, rules, operators=5)


def beside_itself(rng, problem, plan):
    """Return two plans on two copies of a problem, the second one not quite the same, alone and in one."""
    shift = len(problem.tensors)
    changed = [*problem.operators]
    if rng.random() < 0.5:
        number = int(rng.integers(len(changed)))
        changed[number] = replace(changed[number], base_cost=changed[number].base_cost + 7)
    moved = [
        replace(item, inputs=tuple(shift + t for t in item.inputs), output=shift + item.output) for item in changed
    ]
    first = [*plan.subgraphs[:-1], replace(plan.subgraphs[-1], retained=())]
    second = [*plan.subgraphs]
    if rng.random() < 0.5:
        number = int(rng.integers(len(second)))
        second[number] = replace(second[number], retained=(), traversal=None)
    later = [
        replace(
            subgraph,
            operators=tuple(len(changed) + operator for operator in subgraph.operators),
            retained=tuple(shift + tensor for tensor in subgraph.retained),
        )
        for subgraph in second
    ]
    both = Problem((*problem.tensors, *problem.tensors), (*problem.operators, *moved), problem.machine)
    alone = (
        replay(problem, Plan(tuple(first)), CONTEST),
        replay(replace(problem, operators=tuple(changed)), Plan(tuple(second)), CONTEST),
    )
    return alone, replay(both, Plan((*first, *later)), CONTEST)


def test_repeated_blocks_are_replayed_as_if_each_were_alone():
    seen = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng)
        alone, both = beside_itself(rng, problem, random_plan(rng, problem, CONTEST))
        expected = [subgraph for half in alone for subgraph in half.subgraphs]
        for mine, other in zip(both.subgraphs, expected, strict=True):
            assert (mine is None) == (other is None)
            if mine is not None:
                seen += 1
                assert mine.latency == pytest.approx(other.latency, rel=1e-12)
                assert (mine.loads, mine.stores, mine.peak) == (other.loads, other.stores, other.peak)
    assert seen > 200


@pytest.mark.costly
@pytest.mark.parametrize("name", RULES)
def test_the_random_plans_are_both_legal_and_illegal(name):
    legal = [compare(seed, RULES[name], operators=3) for seed in range(150)]
    assert 30 <= sum(legal) <= 140


@pytest.mark.slow
def test_checker_and_twin_agree_on_many():
    legal = [
        compare(seed, rules, operators) for seed in range(4000) for rules in RULES.values() for operators in (2, 4, 8)
    ]
    assert sum(legal) > 4000
