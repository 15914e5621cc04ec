"""The same effort and seed: the same answer at any number of workers, all tasks on processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shorthaul
from shorthaul.core.result import Result
from shorthaul.core.searching import tasks
from tests.tensor.contest_family import contest_problem

FRONT = {"generations": 2, "population": 6, "offspring": 3, "polish_effort": 0.0}
CALLS: dict[str, Callable[..., Result[Any]]] = {
    "pebble bound": lambda **how: shorthaul.pebble.bound("pyramid:n=30", budget=160, effort=0.3, **how),
    "pebble plan": lambda **how: shorthaul.pebble.plan("fft:n=8", budget=80, restarts=3, effort=0.2, **how),
    "pebble sweep": lambda **how: shorthaul.pebble.sweep("fft:n=4", points=4, effort=0.1, **how),
    "tensor bound": lambda **how: shorthaul.tensor.bound(contest_problem(8213), rules="contest", effort=1.5, **how),
    "tensor plan": lambda **how: shorthaul.tensor.plan("transformer-block", restarts=3, effort=0.3, **how),
    "tensor sweep": lambda **how: shorthaul.tensor.sweep("example-3", points=4, effort=0.3, **how),
    "affine bound": lambda **how: shorthaul.affine.bound("matvec", size="M=90,N=90,S=9", **how),
    "affine plan": lambda **how: shorthaul.affine.plan("matvec", size="M=9,N=9,S=9", evaluations=3, **how),
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
    assert answer(call(workers=5)) == alone


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
