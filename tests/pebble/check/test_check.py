"""The checker: every rule, and agreement with the obvious replay on random moves."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import pebble_replay
from tests.samples import samples

from shorthaul.pebble.check.replay import MOST_LISTED, occupancy, replay
from shorthaul.pebble.model import Cdag, from_pairs
from shorthaul.pebble.plan import Move, Plan, plan_of
from shorthaul.pebble.workloads import kernels_as_graphs

L, S, C, D = Move.LOAD, Move.STORE, Move.COMPUTE, Move.DELETE
GOOD = [(L, 0), (L, 1), (C, 2), (D, 0), (D, 1), (S, 2), (D, 2)]


def pair() -> Cdag:
    return from_pairs([2, 3, 4], [(0, 2), (1, 2)])


def test_a_good_plan_passes() -> None:
    report = replay(pair(), plan_of(GOOD), 9)
    assert report.ok
    assert report.cost is not None
    assert report.cost.document() == {"traffic": 9, "loads": 5, "stores": 4, "peak": 9}
    assert occupancy(pair(), plan_of(GOOD)).tolist() == [2, 5, 9, 7, 4, 4, 0]


@pytest.mark.parametrize(
    ("moves", "budget", "rule", "message"),
    [
        ([(L, 2), *GOOD], 99, "load-of-absent", "move 0: loads 2, which is not in slow memory"),
        ([(S, 2), *GOOD], 99, "store-of-absent", "move 0: stores 2, which is not in fast memory"),
        ([*GOOD, (D, 2)], 99, "delete-of-absent", "move 7: deletes 2, which is not in fast memory"),
        ([(C, 0), *GOOD], 99, "computed-input", "move 0: computes 0, which is an input"),
        ([GOOD[0], *GOOD[2:4], *GOOD[5:]], 99, "missing-operand", "move 1: computes 2 without 1 in fast memory"),
        (GOOD, 8, "over-budget", "move 2: 2 does not fit in fast memory (required 9, available 8)"),
        (GOOD[:5], 99, "missing-output", "the end: output 2 is not in slow memory"),
        ([*GOOD[:3], (D, 2), *GOOD[2:]], 99, "recomputed", "move 4: computes 2 again, which is not allowed here"),
    ],
)
def test_every_rule(moves: list[tuple[int, int]], budget: int, rule: str, message: str) -> None:
    report = replay(pair(), plan_of(moves), budget, recompute=False)
    assert [violation.rule for violation in report.violations].count(rule) == 1
    assert any(str(violation).startswith(message) for violation in report.violations)


def test_a_repeated_computation_is_remarked_where_it_is_allowed() -> None:
    report = replay(pair(), plan_of([*GOOD[:3], (D, 2), *GOOD[2:]]), 9)
    assert report.ok
    assert report.remarks == ("1 computations repeat an earlier one",)


def test_useless_moves_are_remarked() -> None:
    report = replay(pair(), plan_of([(L, 0), *GOOD]), 9)
    assert report.ok
    assert report.remarks == ("1 moves load or compute a value that is in fast memory already",)
    assert report.cost is not None
    assert report.cost["loads"] == 7


def test_an_empty_plan_lacks_its_outputs() -> None:
    report = replay(pair(), plan_of([]), 9)
    assert [violation.rule for violation in report.violations] == ["missing-output"]


def test_violations_are_counted_beyond_the_list() -> None:
    report = replay(pair(), plan_of([(D, 0)] * (MOST_LISTED + 5)), 9)
    assert len(report.violations) == MOST_LISTED
    assert report.remarks == (f"{MOST_LISTED + 6} violations found, the first {MOST_LISTED} are listed",)


@settings(max_examples=len(samples(200)))
@given(data=st.data(), recompute=st.booleans(), budget=st.integers(1, 30))
def test_random_moves_against_the_obvious_replay(data: st.DataObject, recompute: bool, budget: int) -> None:
    seed = data.draw(st.integers(0, 1000))
    cdag = kernels_as_graphs.random_cdag(n=6, degree=2, window=4, most=5, seed=seed)
    moves = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=60))
    plan: Plan = plan_of(moves)
    report = replay(cdag, plan, budget, recompute=recompute)
    rules, loads, stores, peak = pebble_replay.replay(cdag, plan, budget, recompute=recompute)
    assert Counter(violation.rule for violation in report.violations) == rules
    assert report.cost is not None
    assert (report.cost["loads"], report.cost["stores"], report.cost["peak"]) == (loads, stores, peak)


def test_millions_of_moves() -> None:
    cdag = kernels_as_graphs.stencil(n=1000, t=1)
    rounds = np.tile(np.array([[L, 0], [D, 0]]), (1_000_000, 1))
    report = replay(cdag, Plan(rounds[:, 0].astype(np.uint8), rounds[:, 1]), 16)
    assert report.cost is not None
    assert report.cost["loads"] == 16_000_000
    assert {violation.rule for violation in report.violations} == {"missing-output"}
