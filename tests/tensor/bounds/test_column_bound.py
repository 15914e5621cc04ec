"""The linear program over subgraphs: no plan beats it, and on most small problems a plan meets it."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from tests.reference.tensor_exhaustive import best_execution, best_latency
from tests.reference.tensor_program import program_value
from tests.samples import samples
from tests.tensor.annealed import improve
from tests.tensor.bounds.programs import column_prices
from tests.tensor.bounds.test_bound import starved
from tests.tensor.contest_family import contest_problem
from tests.tensor.search.test_exhaustive import tiny_problem

import shorthaul.tensor
from shorthaul.core.errors import InfeasibleError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.cost_model.granularity import Granularities
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import CONTEST, CONTEST_LOOSE, RULES


def ratio(problem, rules, best):
    """Return the best latency over the bound, which it must not beat; None without one."""
    prices = column_prices(problem, rules, Search(effort=3))
    if prices is None:
        return None
    assert prices.value <= best * (1 + 1e-9)
    return best / prices.value if prices.value else None


def searched(seed, rules):
    problem = starved(seed, 7)
    try:
        plan = improve(problem, rules, Search(effort=0.05, workers=1))
    except (InfeasibleError, NoPlanError):
        return None
    return ratio(problem, rules, replay(problem, plan, rules).cost["latency"])


def exhausted(seed, rules, operators):
    problem = tiny_problem(seed, operators)
    best = best_latency(problem, rules, longest=len(problem.operators))
    return None if np.isinf(best) else ratio(problem, rules, best)


@pytest.mark.costly
@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: rules.name)
def test_no_search_beats_it_and_many_meet_it(rules):
    """Most under the contest's rules; under those of the paper graph inputs that fit are there for nothing."""
    ratios = [found for seed in samples(64) if (found := searched(seed, rules)) is not None]
    assert len(ratios) > 0.75 * len(samples(64))
    assert sum(found < 1 + 1e-6 for found in ratios) > len(ratios) / (12 if rules.retains_inputs else 2)


@pytest.mark.costly
@pytest.mark.parametrize("rules", [CONTEST, CONTEST_LOOSE], ids=lambda rules: rules.name)
def test_no_plan_of_two_operators_beats_it(rules):
    ratios = [found for seed in range(6) if (found := exhausted(seed, rules, 2)) is not None]
    assert sum(found < 1 + 1e-6 for found in ratios) >= 3


@pytest.mark.slow
def test_no_plan_beats_it():
    for seed in range(1000, 1400):
        for rules in (CONTEST, CONTEST_LOOSE):
            searched(seed, rules)
    for seed in range(200, 260):
        exhausted(seed, CONTEST, 3)


def all_at_once(problem, rules, *, exhausts):
    """Return the bound beside the program over all groups; they are at every granularity, or as good as is found."""
    granularities = Granularities(problem.machine, rules)

    def latency(group):
        if exhausts:
            seen = SimpleNamespace(outputs=group.outputs, resident={*group.resident}, retained={*group.retained})
            return best_execution(problem, rules, SimpleNamespace(operators=group.inside), seen)
        sets = frozenset(group.inside), [*group.outputs], frozenset(group.resident), frozenset(group.retained)
        found = granularities.best(profile_of(problem, *sets))
        return math.inf if found is None else found.latency

    prices = column_prices(problem, rules, Search(effort=5))
    assert prices is not None
    value = program_value(problem, latency)
    assert prices.value <= value * (1 + 1e-9)
    return prices.value >= value * (1 - 1e-6)


@pytest.mark.costly
@pytest.mark.parametrize("exhausts", [True, False])
@pytest.mark.parametrize("rules", [CONTEST, CONTEST_LOOSE], ids=lambda rules: rules.name)
def test_it_is_worth_what_the_program_over_all_groups_is(rules, exhausts):
    """Below that only where slices of one tensor may coincide: then latencies are bounded, not known."""
    problems = [tiny_problem(seed, 2) if exhausts else starved(seed, 5) for seed in range(10, 18)]
    assert sum(all_at_once(problem, rules, exhausts=exhausts) for problem in problems) > 6


@pytest.mark.slow
def test_programs_of_the_contest_s_kind_are_worth_that_too():
    problems = [problem for seed in range(9000, 9080) if len((problem := contest_problem(seed)).operators) <= 10]
    assert len(problems) > 15
    for rules in (CONTEST, CONTEST_LOOSE):
        assert all(all_at_once(problem, rules, exhausts=False) for problem in problems)


def test_groups_that_the_program_has_already_are_no_progress() -> None:
    """Mixed prices favoured them again and again, until the effort was spent."""
    found = shorthaul.tensor.plan(contest_problem(2221), rules="contest", effort=0.6, workers=1)
    assert found.bound is not None
    assert found.bound.is_met_by(found.cost["latency"])
