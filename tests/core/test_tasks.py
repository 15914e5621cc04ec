from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching import processes
from shorthaul.core.searching import tasks as subject
from shorthaul.core.searching.ending import ENDING_COMMANDS
from shorthaul.core.searching.tasks import run_tasks


@pytest.fixture(autouse=True)
def _start_processes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_is_worth_a_start", lambda _: True)


@pytest.fixture(params=[pytest.param("fresh", marks=pytest.mark.slow), "forked"])
def _both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with fresh processes, and with copies of this one, as commands have them."""
    monkeypatch.setattr(processes, "can_fork", lambda: request.param == "forked")


def square(value: int, _: Search) -> int:
    return value * value


def slow(value: int, search: Search) -> int:
    """Wait for the end of the search; -1 where it did not come."""
    end = time.monotonic() + 60
    while not search.expired():
        if time.monotonic() > end:
            return -1
        time.sleep(0.01)
    return value


def dying(flag: Path, search: Search) -> int:
    search.spend(0.25)
    if not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def dying_always(process: int, _: Search) -> int:
    if os.getpid() != process:
        os.kill(os.getpid(), signal.SIGKILL)
    return process


def without_time(process: int, _: Search) -> int:
    if os.getpid() != process:
        signal.raise_signal(signal.SIGXCPU)
    return process


def failing(value: int, _: Search) -> int:
    raise InputError("is wrong", place="value", value=value)


def telling(value: int, search: Search) -> int:
    search.report(best=value)
    return value


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow), 5])
def test_answers_and_effort_do_not_depend_on_the_workers(workers: int) -> None:
    search = Search(workers=workers, effort=3)
    assert sorted(run_tasks(effort_of, list(range(4)), search=search)) == [(at, 0.75) for at in range(4)]
    assert search.left() == 0


def test_tasks_of_more_work_have_more_of_the_effort() -> None:
    shared = run_tasks(
        effort_of, list(range(3)), search=Search(workers=2, effort=6), weights=[0.5, 0.5, 2], turns=[2, 0, 1]
    )
    assert sorted(shared) == [(0, 1), (1, 1), (2, 4)]


def effort_of(_: int, search: Search) -> float:
    left = search.left()
    search.spend(left)
    return left


def test_tasks_not_started_are_dropped_when_time_is_over() -> None:
    search = Search(workers=2, time_limit=2)
    answers = dict(run_tasks(slow, list(range(30)), search=search, shares_time=False))
    assert answers.items() <= {0: 0, 1: 1}.items(), "at most those that were running, stopped"


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize("_both", ["fresh", "forked"], indirect=True)
def test_a_process_that_is_killed_loses_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    flags = [tmp_path / "one", tmp_path / "two", tmp_path / "three"]
    search = Search(workers=2, effort=9)
    answers = dict(run_tasks(dying, flags, search=search))
    assert len(answers) == 3
    assert os.getpid() not in answers.values(), "other processes take over"
    assert search.left() == 8.25
    assert capfd.readouterr().err.count("a worker process died") == 1


@pytest.mark.skipif(not ENDING_COMMANDS, reason="a system without such signals")
def test_a_process_without_processor_time_ends_the_search(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    search = Search(workers=2, effort=9)
    answers = dict(run_tasks(without_time, [os.getpid()] * 9, search=search))
    assert search.interrupted
    assert len(answers) < 9
    assert "no processor time left" in capfd.readouterr().err


@pytest.mark.usefixtures("_both")
def test_a_task_that_no_process_survives_is_done_here() -> None:
    here = os.getpid()
    assert sorted(run_tasks(dying_always, [here, here], search=Search(workers=2))) == [(0, here), (1, here)]


@pytest.mark.usefixtures("_both")
def test_a_task_that_crashes_every_process_is_a_defect_and_not_done_here() -> None:
    with pytest.raises(RuntimeError, match="3 processes that worked on one task crashed, the last one by SIGSEGV"):
        list(run_tasks(crashing, [os.getpid()] * 2, search=Search(workers=2, effort=1)))


def crashing(process: int, _: Search) -> int:
    if os.getpid() != process:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # without the report of the tests
        signal.raise_signal(signal.SIGSEGV)
    return process


def test_errors_of_tasks_are_those_of_the_search() -> None:
    with pytest.raises(InputError, match="is wrong") as caught:
        list(run_tasks(failing, [1, 2], search=Search(workers=2)))
    assert caught.value.value in {1, 2}
    assert caught.value.place == "value"


@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_behind_an_answer_that_is_enough_are_dropped(workers: int) -> None:
    found = dict(run_tasks(square, [5, 3, 2, 7], search=Search(workers=workers), enough=lambda value: value == 9))
    assert min(at for at, value in found.items() if value == 9) == 1
    assert found[0] == 25


def test_tasks_end_once_nothing_more_is_wanted() -> None:
    answers: dict[int, int] = {}
    search = Search(workers=2, time_limit=600)
    for at, answer in run_tasks(
        until_its_end, list(range(30)), search=search, shares_time=False, closed=lambda: bool(answers)
    ):
        answers[at] = answer
    assert answers in ({0: 0}, {0: 0, 1: 1}), "the second one was stopped, and no other was begun"


def until_its_end(value: int, search: Search) -> int:
    """Return 0 at once, others as :func:`slow` does."""
    return slow(value, search) if value else 0


@pytest.mark.parametrize("workers", [1, 2])
def test_the_search_hears_of_the_best_cost(workers: int) -> None:
    seen: list[float] = []
    list(run_tasks(telling, [5, 3, 7], search=Search(workers=workers), watch=seen.append))
    assert seen[-1] == 3


def test_a_copy_need_not_be_sent_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    answers = dict(run_tasks(called, [lambda: 1, lambda: 2], search=Search(workers=2)))  # which do not pickle
    assert answers == {0: 1, 1: 2}


def called(task: Callable[[], int], _: Search) -> int:
    return task()


def test_processes_of_programs_are_not_copied() -> None:
    with Search():
        assert not processes.can_fork()


def test_little_work_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    answers = dict(run_tasks(process_of, [0] * 50, search=Search(workers=2, effort=1)))
    assert set(answers.values()) == {os.getpid()}


def process_of(_: int, search: Search) -> int:
    search.spend(0.001)
    return os.getpid()
