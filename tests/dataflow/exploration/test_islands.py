from __future__ import annotations

from shorthaul.core.search import Search
from shorthaul.dataflow import plan
from shorthaul.dataflow.check.replay import check_front
from shorthaul.dataflow.exploration.candidates import Knowledge
from shorthaul.dataflow.exploration.islands import improve, to_gain
from shorthaul.dataflow.mapping.arrays import build
from shorthaul.dataflow.plan import covers
from shorthaul.dataflow.workloads.generators import platform24, random_graph


def test_points_of_the_first_generation_get_shorter_periods_and_stay_right() -> None:
    application, platform = random_graph(12, seed=3), platform24()
    front = plan(application, generations=1, population=10, polish_effort=0.0, seed=2).plan.front
    instance, known = build(application, platform), Knowledge(list(front))
    before = to_gain(instance, known.points)
    search = Search(effort=0.2)
    improve(instance, known, search)
    assert all(any(covers(new, old) for new in known.points) for old in front)
    assert to_gain(instance, known.points) < before / 2
    assert check_front(application, platform, known.points).ok
    assert search.spent() < 0.4


def test_nothing_is_tried_where_points_meet_what_bounds_their_mappings() -> None:
    application, platform = random_graph(4, seed=1), platform24()
    front = plan(application, generations=1, population=10, polish_effort=0.3, seed=2).plan.front
    met = [point for point in front if point.gap == 0]
    assert met
    instance, known, search = build(application, platform), Knowledge(list(met)), Search(effort=0.2)
    assert to_gain(instance, met) == 0
    improve(instance, known, search)
    assert search.spent() == 0
    assert known.points == met
