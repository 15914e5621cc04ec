"""The search: never above one operator per subgraph, always legal, the same plan from the same seed."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tests.tensor.random_plans import random_problem

from shorthaul.core.errors import InfeasibleError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.tensor.bounds.best import lower_bound
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST, RULES, SPEC
from shorthaul.tensor.search.baseline import one_operator_per_subgraph
from shorthaul.tensor.search.driver import improve
from shorthaul.tensor.search.groups import Groups, bits
from shorthaul.tensor.search.moves import neighbour
from shorthaul.tensor.search.sequence import evaluate, plan_of, steps_of


@pytest.mark.parametrize("name", RULES)
def test_every_sequence_is_a_legal_plan_of_the_latency_claimed(name):
    """Random walks through the search's moves; wherever the search sees a plan, the replay sees the same plan."""
    rules = RULES[name]
    seen = retained = recomputed = 0
    for seed in range(30):
        problem = random_problem(np.random.default_rng(seed), operators=7)
        groups = Groups(problem, rules)
        random = Random(seed)
        sequence = tuple(1 << operator for operator in problem.topological_order)
        for _ in range(40):
            changed = neighbour(groups, sequence, random)
            found = evaluate(groups, changed) if changed else None
            if found is None:
                continue
            sequence = changed
            latency, steps = found.latency, steps_of(groups, sequence, found)
            checked = replay(problem, plan_of(groups, steps), rules)
            assert not checked.violations
            assert not checked.remarks
            assert checked.cost["latency"] == pytest.approx(latency, rel=1e-9)
            seen += 1
            retained += any(step.retained for step in steps)
            recomputed += sum(len(list(bits(step.operators))) for step in steps) > len(problem.operators)
    assert seen > 150
    assert retained > 25
    assert recomputed > 10


@pytest.mark.parametrize("name", RULES)
def test_search_is_legal_and_not_above_one_operator_per_subgraph(name):
    rules = RULES[name]
    for seed in range(12):
        problem = random_problem(np.random.default_rng(seed), operators=6)
        try:
            alone = replay(problem, one_operator_per_subgraph(problem, rules), rules).cost["latency"]
        except (InfeasibleError, NoPlanError):
            continue
        found = replay(problem, improve(problem, rules, Search(effort=0.2, workers=1)), rules)
        assert not found.violations
        assert lower_bound(problem, rules).value * (1 - 1e-9) <= found.cost["latency"] <= alone * (1 + 1e-9)


def test_same_seed_same_plan_on_one_process_and_on_two():
    problem = random_problem(np.random.default_rng(5), operators=8)
    plans = [improve(problem, CONTEST, Search(effort=1, seed=3, workers=workers)) for workers in (1, 2, 1)]
    assert plans[0] == plans[1] == plans[2]


def test_nothing_fits():
    problem = random_problem(np.random.default_rng(0), operators=3)
    tiny = type(problem)(problem.tensors, problem.operators, type(problem.machine)(1.0, 1.0, 2, 2))
    with pytest.raises((InfeasibleError, NoPlanError)):
        improve(tiny, SPEC, Search(workers=1))
