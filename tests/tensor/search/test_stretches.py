"""Stretches of a sequence on their own: what changes in one changes the whole plan by as much."""

from __future__ import annotations

import numpy as np
import pytest
from tests.samples import samples
from tests.tensor.random_plans import random_problem
from tests.tensor.search.test_search import walked
from tests.tensor.search.test_windows import begun

from shorthaul.core.search import Search
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST, RULES
from shorthaul.tensor.search import stretches as stretching
from shorthaul.tensor.search.schedules import Schedules
from shorthaul.tensor.search.stretches import stretches


@pytest.mark.costly
@pytest.mark.parametrize("name", RULES)
def test_a_change_of_a_stretch_is_one_of_the_whole(name):
    rules = RULES[name]
    changed = equal = needing = 0
    for seed in samples(120):
        problem = random_problem(np.random.default_rng(seed), operators=12)
        schedules, alone = begun(problem, rules)
        if alone is None or len(alone.sequence) < 4:
            continue
        moves = schedules.begin(alone.sequence, seed)
        for _ in range(5):
            sequence = walked(schedules, moves)
        whole = schedules.solution(sequence).latency
        for stretch in stretches(problem, sequence, schedules.plan(sequence), 5, 3):
            own, needed = stretch.alone()
            part = Schedules(own, rules, later=needed)
            walk = part.begin(stretch.own(sequence), seed)
            if walk is None:  # it computes again, too late, what one of its groups takes from before it
                continue
            before = part.sequences.total
            for _ in range(8 if len(own.operators) > 2 else 0):
                groups = walked(part, walk)
                found = schedules.solution(stretch.into(sequence, groups))
                assert found is not None
                more = part.sequences.total - before
                # Less where something is kept across a border now, or made in the stretch and elsewhere.
                assert found.latency - whole <= more + 1e-9 * whole
                after = stretch.begin + len(groups)
                kept = [subgraph.retained for subgraph in schedules.plan(found.sequence).subgraphs]
                others = (*sequence[: stretch.begin], *sequence[stretch.end :])
                is_apart = rules.retains_inputs or {*stretch.operators}.isdisjoint(
                    index for group in others for index in group
                )
                if is_apart and not kept[after - 1] and not (stretch.begin and kept[stretch.begin - 1]):
                    assert found.latency - whole == pytest.approx(more, abs=1e-9 * whole)
                    equal += 1
                changed += 1
                needing += any(own.consumers[tensor] for tensor in needed)
    assert changed > 30
    assert equal > 0.6 * changed
    assert needing > 5


def test_a_stretch_stores_what_comes_later_needs():
    """Fusing all that takes a tensor in a stretch is refused while a later group needs the tensor."""
    for seed in range(20):
        problem = random_problem(np.random.default_rng(seed), operators=9)
        schedules, alone = begun(problem)
        if alone is None:
            continue
        for stretch in stretches(problem, alone.sequence, schedules.plan(alone.sequence), 4, 4):
            own, needed = stretch.alone()
            inner = [tensor for tensor in needed if own.consumers[tensor]]
            for tensor in inner:
                pair = tuple(sorted({own.producer[tensor], *own.consumers[tensor]}))
                rest = tuple((operator,) for operator in own.topological_order if operator not in pair)
                for place in range(len(rest) + 1):
                    groups = (*rest[:place], pair, *rest[place:])
                    assert Schedules(own, CONTEST, later=needed).solution(groups) is None
                if Schedules(own, CONTEST).solution((*rest[:place], pair, *rest[place:])) is not None:
                    return
    pytest.fail("no pair that could be fused but for what comes later")


@pytest.mark.parametrize("workers", [1, 2])
def test_annealed_stretches(workers, monkeypatch):
    monkeypatch.setattr(stretching, "STRETCH_OPERATORS", 8)
    problem = random_problem(np.random.default_rng(5), operators=30)
    schedules, alone = begun(problem)
    found = stretching.anneal_stretches(schedules, alone, Search(effort=0.4, workers=workers), 0.0)
    seen = replay(problem, schedules.plan(found.sequence), CONTEST)
    assert not seen.violations
    assert seen.cost["latency"] == pytest.approx(found.latency)
    assert found.latency < 0.99 * alone.latency
