"""Plans executed on arrays: the right outputs, the replay's counts, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import samples
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.core.errors import InputError
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST, SPEC
from shorthaul.tensor.plan import Granularity, Plan, Subgraph
from shorthaul.tensor.run import evaluate, execute, random_inputs
from shorthaul.tensor.workloads.cases import GraphBuilder, example_1, example_3, example_5

WHOLE = Granularity(128, 128, 1)


def same_as_the_replay(seed, rules, operators):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, operators=operators)
    plan = random_plan(rng, problem, rules)
    found = replay(problem, plan, rules)
    if found.violations:
        return False
    outcome = execute(problem, plan, rules, seed=seed)
    assert outcome.loads == sum(subgraph.loads for subgraph in found.subgraphs)
    assert outcome.stores == sum(subgraph.stores for subgraph in found.subgraphs)
    assert outcome.peak == found.cost["peak"]
    assert outcome.largest_error < 1e-9
    return True


@given(seed=st.integers(0, 2**32), rules=st.sampled_from([SPEC, CONTEST]))
@settings(max_examples=len(samples(200)))
def test_execution_moves_what_the_replay_says(seed, rules):
    same_as_the_replay(seed, rules, operators=4)


def test_enough_random_plans_are_executed():
    assert sum(same_as_the_replay(seed, SPEC, operators=3) for seed in range(100)) > 30


@pytest.mark.slow
def test_execution_moves_what_the_replay_says_on_many():
    runs = [same_as_the_replay(seed, rules, 5) for seed in range(3000) for rules in (SPEC, CONTEST)]
    assert sum(runs) > 1500


def test_outputs_are_those_of_the_graph():
    problem = example_5()
    outcome = execute(problem, Plan((Subgraph((0, 1), Granularity(128, 128, 32)),)), SPEC, seed=5)
    arrays = random_inputs(problem, 5)
    np.testing.assert_allclose(outcome.outputs[4], arrays[0] @ arrays[1] @ arrays[2], rtol=1e-10, atol=1e-12)
    assert set(evaluate(problem, arrays)) == {0, 1, 2, 3, 4}


def refusal(problem, *subgraphs):
    with pytest.raises(InputError) as caught:
        execute(problem, Plan(subgraphs), SPEC)
    return str(caught.value)


def test_refuses_what_is_in_neither_memory():
    problem = example_3()
    text = refusal(problem, Subgraph((0,), WHOLE, retained=(1,)), Subgraph((1,), WHOLE), Subgraph((2,), WHOLE))
    assert text.startswith("subgraph 2, step 0: tensor 1 is neither in slow memory nor resident")


def test_refuses_a_working_set_above_capacity():
    text = refusal(example_5(), Subgraph((0, 1), Granularity(128, 128, 128)))
    assert "subgraph 0, step 0: the working set exceeds fast memory" in text
    assert "65536 elements" in text


def test_refuses_to_leave_a_graph_output_in_fast_memory():
    text = refusal(example_1(), Subgraph((0, 1), WHOLE, retained=(2,)))
    assert "graph output 2: tensor 2 is neither in slow memory nor resident" in text


def test_refuses_to_keep_what_was_never_there():
    text = refusal(example_3(), Subgraph((0,), WHOLE, retained=(2,)))
    assert "tensor 2 is retained but never whole in fast memory" in text


def test_a_kept_input_is_read_where_it_is():
    problem = example_3()
    plan = Plan((Subgraph((0,), WHOLE, retained=(0, 1)), Subgraph((1,), WHOLE, retained=(1, 2)), Subgraph((2,), WHOLE)))
    roomy = replace(problem, machine=replace(problem.machine, capacity=200_000))
    outcome = execute(roomy, plan, SPEC)
    assert (outcome.loads, outcome.stores) == (16384, 16384)


def test_long_chains_and_many_diamonds_are_executed():
    graph = GraphBuilder()
    x = graph.tensor(4, 4)
    for _ in samples(1500):
        x = graph.pointwise((x, graph.pointwise((x,), 1)), 1)
    graph.matmul(x, graph.matmul(x, x, 1), 1)
    problem = graph.problem(1000, 1)
    plan = Plan((Subgraph(tuple(range(len(problem.operators))), Granularity(4, 2, 2)),))
    outcome = execute(problem, plan, SPEC)
    assert outcome.loads == replay(problem, plan, SPEC).subgraphs[0].loads
