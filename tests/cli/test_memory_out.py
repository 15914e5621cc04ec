from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from shorthaul import dataflow
from shorthaul.cli import main
from shorthaul.cli.app import app
from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.constraints import Constraints
from shorthaul.dataflow.exploration.kept import Explored
from shorthaul.dataflow.model import Problem
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.verbs.inputs import PLANS
from shorthaul.dataflow.workloads.generators import sobel


@pytest.mark.parametrize("is_direct", [True, False], ids=["memory", "import"])
@pytest.mark.parametrize(
    ("command", "number", "shown"),
    [
        ("pebble plan fft:n=8,word=1 --budget 4", 1, "traffic"),
        ("tensor plan transformer-block", 1, "latency"),
        ("dataflow plan sobel --generations 20 --workers 1", 12, "footprint_bytes"),
        ("spatial plan yule:n=100", 1, "energy"),
    ],
)
def test_the_plan_kept_is_the_answer_where_memory_runs_out(
    command: str, number: int, shown: str, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = None if is_direct else MemoryError()  # an extension that could not be imported
    error = MemoryError() if is_direct else ImportError("initialization failed")
    noted, as_usual = [], Search._note

    def note(search: Search, cost: float, plan: object) -> None:
        as_usual(search, cost, plan)
        noted.append(cost)
        if len(noted) == number:
            raise error from cause

    monkeypatch.setattr(Search, "_note", note)
    done = CliRunner().invoke(app, [*command.split(), "--effort", "1"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 0, done.output
    assert len(noted) == number
    assert shown in done.stdout


def test_figures_that_have_no_room_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("shorthaul.core.result.figure_document", no_room)
    done = CliRunner().invoke(app, ["spatial", "plan", "yule:n=100", "--effort", "0.1", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["plan"]
    assert not document["figures"]


def test_points_beyond_the_limits_are_no_answer() -> None:
    kept: list[Explored] = []

    class Keeping(Search):
        def keep(self, cost: float, plan: Any) -> None:
            super().keep(cost, plan)
            kept.append(plan)

    dataflow.plan(sobel(), search=Keeping(effort=0.3, workers=1), generations=10)
    explored, problem = kept[-1], Problem(sobel())
    for limits in ({"max_cost": 2.0}, {"deadline": 20_000}, {"max_footprint": 1}, {"latency": True}):
        answered = PLANS.answered(explored, problem, PlanOptions(**limits))
        front = () if answered is None else answered.front
        allowed = Constraints(**limits).allow if "latency" not in limits else lambda _: False
        assert list(front) == [point for point in explored.points if allowed(point)]
        assert 0 < len(front) < len(explored.points) or limits.keys() & {"max_footprint", "latency"}


def test_only_what_memory_caused_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def note(*_: object) -> None:
        raise ImportError("initialization failed")

    monkeypatch.setattr(Search, "_note", note)
    done = CliRunner().invoke(app, ["tensor", "plan", "transformer-block", "--effort", "1"])
    assert isinstance(done.exception, ImportError)


def test_memory_that_runs_out_in_a_destructor_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A line that says nothing but ``MemoryError:``; other errors there are told."""

    class Wrong:
        def __init__(self, error: type[Exception]) -> None:
            self.error = error

        def __del__(self) -> None:
            raise self.error

    before, sys.unraisablehook = sys.unraisablehook, main.tell_unraisable
    try:
        Wrong(MemoryError)
        assert capsys.readouterr().err == ""
        Wrong(ValueError)
        assert "ValueError" in capsys.readouterr().err
    finally:
        sys.unraisablehook = before
