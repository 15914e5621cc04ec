"""The same effort and seed: the same answer at any number of workers, all tasks on processes."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import shorthaul
from shorthaul.core.result import Result
from shorthaul.core.searching import signals, tasks
from shorthaul.core.searching.signals import TaskSearch, Told
from shorthaul.tensor.search import driver
from tests.samples import ALL
from tests.tensor.contest_family import contest_problem

FRONT: dict[str, Any] = {"generations": 2, "population": 6, "offspring": 3, "polish_effort": 0.0}
CALLS: dict[str, Callable[..., Result[Any]]] = {
    "pebble bound": lambda **how: shorthaul.pebble.bound("pyramid:n=30", budget=160, effort=0.3, **how),
    "pebble plan": lambda **how: shorthaul.pebble.plan("fft:n=8", budget=80, restarts=3, effort=0.1, **how),
    "pebble sweep": lambda **how: shorthaul.pebble.sweep("fft:n=4", points=4, effort=0.1, **how),
    "tensor bound": lambda **how: shorthaul.tensor.bound(contest_problem(8213), rules="contest", effort=1.5, **how),
    "tensor plan": lambda **how: shorthaul.tensor.plan("transformer-block", restarts=3, effort=0.05, **how),
    "tensor sweep": lambda **how: shorthaul.tensor.sweep("example-3", points=4, effort=0.3, **how),
    "affine bound": lambda **how: shorthaul.affine.bound("matvec", size="M=90,N=90,S=9", **how),
    "affine plan": lambda **how: shorthaul.affine.plan("matvec", size="M=5,N=5,S=7", evaluations=3, **how),
    "affine sweep": lambda **how: shorthaul.affine.sweep("matvec", size="M=90,N=90", points=3, **how),
    "dataflow bound": lambda **how: shorthaul.dataflow.bound("fig7", effort=0.5, **how),
    "dataflow buffers": lambda **how: shorthaul.dataflow.buffers("sobel", serial=True, effort=0.01, **how),
    "dataflow plan": lambda **how: shorthaul.dataflow.plan("sobel", restarts=3, **FRONT, **how),
    "dataflow sweep": lambda **how: shorthaul.dataflow.sweep("fig7", generations=2, population=6, offspring=3, **how),
    "spatial plan": lambda **how: shorthaul.spatial.plan("yule:n=300", restarts=3, refine=0.05, **how),
    "spatial sweep": lambda **how: shorthaul.spatial.sweep("yule", sizes="64,128", **how),
}


def answer(result: Result[Any]) -> dict[str, Any]:
    """Return the document without what depends on the clock, or on the workers."""
    document = result.to_dict()
    del document["provenance"]
    return document


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=name, marks=pytest.mark.slow if name.split()[1] != "plan" else ())
        for name, call in CALLS.items()
    ],
)
def test_workers_do_not_change_an_answer(call: Callable[..., Result[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = answer(call(workers=1))
    monkeypatch.setattr(tasks, "_is_worth_a_start", lambda _: True)
    assert answer(call(workers=5 if ALL else 2)) == alone


def test_a_killed_worker_changes_no_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    alone = answer(CALLS["pebble sweep"](workers=1))
    monkeypatch.setattr(tasks, "_is_worth_a_start", lambda _: True)
    from shorthaul.core.searching import processes

    start, started = processes._Crew.start, []

    def start_and_kill(crew: Any) -> bool:
        done = start(crew)
        started.append(crew.workers[-1].process.pid)
        if len(started) == 2:
            os.kill(started[0], signal.SIGKILL)
        return done

    monkeypatch.setattr(processes._Crew, "start", start_and_kill)
    assert answer(CALLS["pebble sweep"](workers=2)) == alone
    assert len(started) > 2
    assert "a worker process died" in capfd.readouterr().err


#: The functions of the tasks of plans.
PLANNING = {"_restarted", "_anneal", "_explored", "_refined_again", "_done"}


class _Telling:
    """The signals of a task on another process."""

    def __init__(self, work: tasks.Work[Any, Any]) -> None:
        self.work = work

    def is_stopped(self) -> bool:
        return False

    def tell(self, best: float) -> None:
        pass

    def stop(self) -> None:
        raise AssertionError

    def keep(self, cost: float, plan: Any) -> None:
        self.work.hear(Told(cost, pickle.loads(pickle.dumps(plan))))


@pytest.mark.parametrize("name", [name for name in CALLS if name.endswith("plan")])
def test_what_processes_told_before_they_died_counts(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """All tasks are lost at their end, and the time is over by then."""
    for quick in ("_fused", "_first_annealed"):  # in which tensor finds all that there is in small problems
        monkeypatch.setattr(driver, quick, lambda _schedules, start, *_: start)
    monkeypatch.setattr(driver, "_has_windows", lambda *_: False)
    found = CALLS[name](workers=1)
    run = tasks._run
    told: list[Told | None] = []

    def dying(work: tasks.Work[Any, Any]) -> Iterator[tuple[int, Any]]:
        if work.function.__name__ in PLANNING and work.search.keeps and not told:
            lost = []
            while (taken := work.take(1, 0)) is not None:
                index, allowed = taken
                lost.append(index)
                work.function(work.tasks[index], TaskSearch(allowed, _Telling(work)))
            for index in reversed(lost):
                work.put_back(index)
            told.append(work.told)
            work.search.stop()
        yield from run(work)

    monkeypatch.setattr(tasks, "_run", dying)
    monkeypatch.setattr(signals, "_TELL_S", 0)
    monkeypatch.setattr(signals, "_SEND_OVER", 0)
    again = CALLS[name](workers=2)
    assert len(told) == 1
    assert again.cost == found.cost
