from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.reference.pebble_replacement import traffic_of_order
from tests.samples import samples

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.local_search import annealing
from shorthaul.pebble.local_search import incremental_replay_kernels as kernels
from shorthaul.pebble.local_search.order_moves_kernels import Cooling
from shorthaul.pebble.model import Cdag, IntArray, build
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move, Plan
from shorthaul.pebble.workloads import kernels_as_graphs


def sample(seed: int) -> tuple[Cdag, int, Plan, float, np.random.Generator]:
    rng = np.random.default_rng(seed)
    cdag = random_cdag(rng, int(rng.integers(8, 40)), int(rng.choice([1, 3, 9])))
    budget = cdag.least_budget() + int(rng.integers(0, 5))
    penalty = belady.PENALTIES[seed % 3]
    return cdag, budget, belady.replay_order(cdag, budget, cdag.order, penalty=penalty), penalty, rng


def swapped(cdag: Cdag, order: IntArray, rng: np.random.Generator) -> tuple[IntArray, int, int]:
    """An order that differs in a stretch, and the stretch: neighbours that do not depend on each other are exchanged."""
    changed = order.copy()
    places = []
    for _ in range(12):
        place = int(rng.integers(len(order) - 1))
        if changed[place] not in cdag.parents.neighbours(int(changed[place + 1])):
            changed[[place, place + 1]] = changed[[place + 1, place]]
            places += [place, place + 2]
    return changed, min(places, default=0), max(places, default=0)


def attempt(schedule: annealing.Schedule, order: IntArray, first: int, stop: int, penalty: float) -> tuple[int, int]:
    """What ``order`` moves more than the schedule, and the step from which all is as before."""
    state = schedule.state
    np.asarray(state.changed)[first:stop] = order[first:stop]
    np.asarray(state.changed_position)[order[first:stop]] = np.arange(first, stop)
    return kernels.attempt(state, first, stop, penalty, 1 << 62)


def test_a_changed_stretch_costs_what_the_plain_replay_of_all_says() -> None:
    resumed = 0
    for seed in samples(200):
        cdag, budget, plan, penalty, rng = sample(seed)
        order = plan.nodes[plan.kinds == Move.COMPUTE]
        changed, first, stop = swapped(cdag, order, rng)
        if stop == 0:
            continue
        schedule = annealing.Schedule(cdag, budget, plan)
        assert schedule.traffic == plan.traffic(cdag.weights)
        more, end = attempt(schedule, changed, first, stop, penalty)
        expected = traffic_of_order(cdag, budget, changed.tolist(), penalty, before=order.tolist(), first=first)
        assert schedule.traffic + more == expected, seed
        resumed += first > 0 and end < len(order)
    assert resumed > len(samples(200)) // 4


def test_the_schedule_is_what_its_cost_says_after_any_number_of_moves() -> None:
    for seed in samples(80):
        cdag, budget, plan, penalty, _ = sample(seed)
        schedule = annealing.Schedule(cdag, budget, plan)
        for number in range(4):
            schedule.anneal(Cooling(Random(seed + number), 50, 2.0, 0.5, penalty))
            found = schedule.plan()
            report = replay(cdag, found, budget, recompute=False)
            assert report.ok, (seed, report.violations[:2])
            assert found.traffic(cdag.weights) == schedule.traffic, seed


def test_long_schedules_keep_what_is_in_fast_memory_at_every_row() -> None:
    cdag = kernels_as_graphs.random_cdag(n=600, degree=3, window=60, most=4, seed=2)
    budget = 2 * cdag.least_budget()
    schedule = annealing.Schedule(cdag, budget, belady.plan(cdag, budget))
    for seed in range(5):
        schedule.anneal(Cooling(Random(seed), 2000, 3.0, 0.3, 2.0))
        found = schedule.plan()
        assert replay(cdag, found, budget, recompute=False).ok
        assert found.traffic(cdag.weights) == schedule.traffic
        assert annealing.Schedule(cdag, budget, found).traffic == schedule.traffic


@pytest.mark.parametrize("seed", [0, 1])
def test_it_ends_by_itself_with_the_same_plan(seed: int) -> None:
    cdag = kernels_as_graphs.random_cdag(n=30, degree=3, window=30, most=3, seed=4)
    budget = cdag.least_budget()
    start = belady.plan(cdag, budget)
    first, second = (annealing.improve(cdag, budget, start, search=Search(seed=seed), patience=2) for _ in range(2))
    assert first.nodes.tolist() == second.nodes.tolist()
    assert first.traffic(cdag.weights) < start.traffic(cdag.weights)


def test_it_never_returns_a_worse_schedule() -> None:
    for seed in range(20):
        cdag, budget, plan, _, _ = sample(seed)
        found = annealing.improve(cdag, budget, plan, search=Search(effort=0.02, seed=seed))
        assert found.traffic(cdag.weights) <= plan.traffic(cdag.weights)
        assert replay(cdag, found, budget, recompute=False).ok


def test_a_call_of_the_kernel_is_bounded_where_a_value_is_read_by_everything() -> None:
    n = 20_000  # a value that n nodes read, each with an input of its own
    others, readers = 1 + np.arange(n), 1 + n + np.arange(n)
    hub = build(np.ones(2 * n + 1, np.int64), np.concatenate([np.zeros(n, np.int64), others]), np.tile(readers, 2))
    schedule = annealing.Schedule(hub, 4, belady.plan(hub, 4))
    cooling = Cooling(Random(1), 10**9, 1.0, 0.1, 2.0)
    schedule.anneal(cooling)
    assert tuning.ANNEALING_CALL <= cooling.work < 50 * tuning.ANNEALING_CALL
    assert not cooling.is_over()


def test_effort_decides_and_not_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    cdag = kernels_as_graphs.random_cdag(n=200, degree=3, window=40, most=3, seed=4)
    budget = cdag.least_budget()
    start = belady.plan(cdag, budget)
    plans = []
    for jump in (0.0, 0.7):
        ticks = itertools.count()
        monkeypatch.setattr(time, "monotonic", lambda jump=jump, ticks=ticks: next(ticks) * jump)
        plans.append(annealing.improve(cdag, budget, start, search=Search(effort=0.2), patience=None))
    assert plans[0].nodes.tolist() == plans[1].nodes.tolist()
    assert plans[0].traffic(cdag.weights) < start.traffic(cdag.weights)
