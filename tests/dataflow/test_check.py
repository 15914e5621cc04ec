"""The checker finds every injected fault, and names it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.dataflow.small import small_problem
from tests.samples import samples

from shorthaul.dataflow.check.replay import check_point
from shorthaul.dataflow.check.tokens import Access, played, replay_buffer
from shorthaul.dataflow.verbs import planning
from shorthaul.dataflow.verbs.planning import schedule
from shorthaul.dataflow.workloads import generators

PROBLEM = generators.figure7()
POINT = schedule(PROBLEM, decoder="caps", order="topological").plan.front[0]


def rules(point, problem=PROBLEM) -> set[str]:
    return {violation.rule for violation in check_point(problem.application, problem.platform, point).violations}


def moved(point, changes: dict[str, int]):
    return dataclasses.replace(point, starts={name: t + changes.get(name, 0) for name, t in point.starts.items()})


def whole_firing(name: str, by: int) -> dict[str, int]:
    tasks = [t for t in POINT.starts if t == name or t.startswith(f"({name},") or t.endswith(f",{name})")]
    return dict.fromkeys(tasks, by)


def test_the_untouched_point_passes() -> None:
    report = check_point(PROBLEM.application, PROBLEM.platform, POINT)
    assert report.ok
    assert dict(report.cost) == {"period": 10, "footprint_bytes": 190_000, "core_cost": POINT.core_cost}


def test_overlap_on_a_core() -> None:
    shifted = dataclasses.replace(POINT, binding={**POINT.binding, "a3": "p4"})
    assert "overlap" in rules(shifted)
    places = {v.place for v in check_point(PROBLEM.application, PROBLEM.platform, shifted).violations}
    assert "p4" in places


def test_overlap_on_a_crossbar() -> None:
    report = check_point(PROBLEM.application, PROBLEM.platform, moved(POINT, whole_firing("a5", 1)))
    assert "h_T1" in {v.place for v in report.violations if v.rule == "overlap"}


def test_overlap_wrapped_around_the_period() -> None:
    problem = generators.figure1(replaced=False)
    point = schedule(problem, decoder="caps", order="topological").plan.front[0]
    # a3 holds p1 for the whole period of 7: one tick less must wrap into itself
    assert "overlap" in rules(dataclasses.replace(point, period=6), problem)
    whole = moved(POINT, whole_firing("a4", 3))  # from 10..15 to 13..18 of a period of 10, into a3's accesses
    report = check_point(PROBLEM.application, PROBLEM.platform, whole)
    assert any(v.rule == "overlap" and v.place == "h_T1" for v in report.violations)
    report = check_point(problem.application, problem.platform, dataclasses.replace(point, period=6))
    assert any("wrapped around the period" in v.message for v in report.violations)


def test_token_read_early() -> None:
    later = moved(POINT, dict.fromkeys(POINT.starts, 10))
    assert rules(later) == set()
    assert rules(moved(later, whole_firing("a2", -10))) >= {"token-absent"}


def test_buffer_too_small() -> None:
    problem = generators.figure1(replaced=True)
    point = schedule(problem, decoder="caps", order="topological").plan.front[0]
    assert point.capacities["c4"] == 2
    small = dataclasses.replace(point, capacities={**point.capacities, "c4": 1})
    assert "buffer-too-small" in rules(small, problem)


def test_memory_over_capacity() -> None:
    problem = generators.figure1(replaced=True)
    point = schedule(problem, decoder="caps").plan.front[0]
    big = dataclasses.replace(point, capacities={**point.capacities, "c4": 40})
    assert "memory-over-capacity" in rules(big, problem)


def test_buffers_of_absurd_size_are_refused_not_replayed() -> None:
    big = dataclasses.replace(POINT, capacities={**POINT.capacities, "c4": 2**63})
    assert rules(big) == {"buffer-too-large"}


def test_wrong_route() -> None:
    name = next(iter(POINT.routes))
    wrong = dataclasses.replace(POINT, routes={**POINT.routes, name: ("h_T1", "h_NoC")})
    assert rules(wrong) == {"wrong-route"}
    missing = {task: route for task, route in POINT.routes.items() if task != name}
    assert rules(dataclasses.replace(POINT, routes=missing)) == {"wrong-route"}


def test_wrong_channel_binding() -> None:
    wrong = dataclasses.replace(POINT, channel_binding={**POINT.channel_binding, "c1": "q_p5"}, routes=None)
    assert "channel-binding" in rules(wrong)
    nowhere = dataclasses.replace(POINT, channel_binding={**POINT.channel_binding, "c1": "q_p99"})
    assert rules(nowhere) == {"channel-binding"}
    decided = dataclasses.replace(POINT, channel_decision={**POINT.channel_decision, "c1": "PROD"})
    assert rules(decided) == {"channel-binding"}


def test_missing_start_unbound_actor_period_zero() -> None:
    assert rules(dataclasses.replace(POINT, starts={k: v for k, v in POINT.starts.items() if k != "a3"})) == {"start"}
    assert rules(moved(POINT, {"a1": -1})) == {"start"}
    assert rules(dataclasses.replace(POINT, binding={**POINT.binding, "a3": "p77"})) == {"binding"}
    assert rules(dataclasses.replace(POINT, period=0)) == {"period"}


def test_read_after_execution_and_write_before_its_end() -> None:
    assert "firing-order" in rules(moved(POINT, {"(c4,a5)": 3}))
    assert "firing-order" in rules(moved(POINT, {"(a1,c1)": -1}))


def test_a_false_claim_is_remarked() -> None:
    report = check_point(PROBLEM.application, PROBLEM.platform, dataclasses.replace(POINT, footprint_bytes=1))
    assert report.ok
    assert "footprint_bytes is claimed as 1" in report.remarks[0]


def test_one_token_less_is_always_found() -> None:
    """Capacities are what the schedule needs: with one place less, some place is overwritten."""
    for seed in samples(120):
        problem = small_problem(seed)
        delay = {channel.id: channel.delay for channel in problem.application.channels}
        point = schedule(problem, decoder="caps", start="earliest").plan.front[0]
        for name, tokens in point.capacities.items():
            if tokens > max(1, delay[name]):
                less = dataclasses.replace(point, capacities={**point.capacities, name: tokens - 1})
                assert "buffer-too-small" in rules(less, problem)


def test_tokens_pass_at_the_tick_they_come() -> None:
    write = Access("w", 0, 5, 0, 5)
    assert not replay_buffer(write, [Access("r", 5, 10, 5, 10)], period=10, delay=0, capacity=1)
    assert replay_buffer(write, [Access("r", 4, 9, 4, 9)], period=10, delay=0, capacity=2)
    assert replay_buffer(write, [Access("r", 5, 11, 5, 11)], period=10, delay=0, capacity=1)


def test_what_is_not_played_has_no_fault() -> None:
    rng, right = np.random.default_rng(5), 0
    for _ in range(600):
        period, delay, more, *times = (
            int(n) for n in rng.integers((1, 0, 0, 0, 0, 0, 0, 0, 0), (9, 4, 3, 9, 4, 20, 4, 20, 4))
        )
        write, *reads = (
            Access(name, start, start + length, start, start + length)
            for name, start, length in zip("wrs", times[::2], times[1::2], strict=True)
        )
        terms = {"period": period, "delay": delay, "capacity": max(1, delay + more)}
        found = played(write, reads, **terms)
        assert replay_buffer(write, reads, **terms) == found
        right += not found
    assert 100 < right < 500


def test_executions_of_no_length() -> None:
    write = Access("w", 3, 3, 3, 3)
    assert not replay_buffer(write, [Access("r", 3, 3, 3, 3)], period=2, delay=1, capacity=1)
    assert not replay_buffer(write, [Access("r", 3, 3, 3, 3)], period=2, delay=0, capacity=1)


@pytest.mark.parametrize(
    ("write", "read"),
    [(Access("w", 3, 3, 9, 3), Access("r", 20, 20, 20, 24)), (Access("w", 3, 5, 3, 5), Access("r", 30, 30, 30, 24))],
)
def test_an_access_away_from_its_execution_is_found(write: Access, read: Access) -> None:
    """Accesses that take no time, moved to before or behind their execution."""
    faults = replay_buffer(write, [read], period=50, delay=0, capacity=1)
    assert [fault[0] for fault in faults] == ["firing-order"]


def test_a_plan_that_memory_leaves_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(planning.views, "front_figure", no_room)
    made = planning.plan(generators.sobel(), generations=2, effort=0.2)
    assert made.check is not None
    assert made.check.ok
    assert made.check.details["points"] == len(made.plan.front)
    assert made.cost is not None
    assert made.cost["period"] == min(point.period for point in made.plan.front)
