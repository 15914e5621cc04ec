from __future__ import annotations

import time

from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks


def square(value: int) -> int:
    return value * value


def slow(value: int) -> int:
    time.sleep(0.3)
    return value


def test_tasks_on_one_process_and_on_two() -> None:
    for workers in (1, 2):
        answers = sorted(run_tasks(square, list(range(5)), search=Search(workers=workers)))
        assert answers == [(index, index * index) for index in range(5)]


def test_tasks_not_started_are_dropped_when_time_is_over() -> None:
    answers = list(run_tasks(slow, list(range(30)), search=Search(workers=2, time_limit_s=0.4)))
    assert 0 < len(answers) < 30
