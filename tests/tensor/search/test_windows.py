"""Windows of a plan solved over all groups in them: never a worse plan, and one that the replay accepts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tensor.annealed import improve
from tests.tensor.bounds.test_bound import starved
from tests.tensor.random_plans import random_problem

from shorthaul.core.search import Search
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST
from shorthaul.tensor.search import windows
from shorthaul.tensor.search.schedules import Schedules
from shorthaul.tensor.search.stretches import stretches


def begun(problem, rules=CONTEST):
    """Return the schedules of a problem, and one operator per group; None if one does not fit."""
    schedules = Schedules(problem, rules)
    return schedules, schedules.solution(tuple((operator,) for operator in problem.topological_order))


def latency(problem, schedules, solution):
    seen = replay(problem, schedules.plan(solution.sequence), CONTEST)
    assert not seen.violations
    return seen.cost["latency"]


def test_windows_of_small_graphs(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW_OPERATORS", 4)
    better = 0
    for seed in range(4):
        problem = random_problem(np.random.default_rng(seed), operators=12)
        problem = replace(problem, machine=replace(problem.machine, bandwidth=0.1))
        schedules, alone = begun(problem)
        if alone is None:
            continue
        found = windows.solve_windows(schedules, alone, Search(effort=0.5))
        assert latency(problem, schedules, found) == pytest.approx(found.latency)
        assert found.latency <= alone.latency
        better += found.latency < alone.latency
    assert better >= 2


def test_a_window_over_all_finds_what_the_search_finds():
    met = compared = 0
    for seed in range(8):
        problem = starved(seed, 5)
        schedules, alone = begun(problem)
        if alone is None:
            continue
        found = windows.solve_windows(schedules, alone, Search(effort=1))
        best = replay(problem, improve(problem, CONTEST, Search(effort=0.05, workers=1)), CONTEST).cost["latency"]
        met += found.latency <= best * (1 + 1e-9)
        compared += 1
    assert met >= 0.8 * compared


def test_the_groups_of_a_window_are_those_of_the_sequence():
    problem = random_problem(np.random.default_rng(3), operators=12)
    schedules, alone = begun(problem)
    plan = schedules.plan(alone.sequence)
    cut = list(stretches(problem, alone.sequence, plan, 4, 2))
    assert [window.end for window in cut] == [len(alone.sequence), *(window.begin for window in cut[:-1])]
    assert cut[-1].begin == 0
    for window in cut:
        own = [subgraph.operators for subgraph in window.plan(plan).subgraphs]
        assert window.into(alone.sequence, own) == alone.sequence
