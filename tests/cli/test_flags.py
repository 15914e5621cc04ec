from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from shorthaul.cli import endings
from shorthaul.cli.flags import Output, SearchFlags
from shorthaul.cli.verbs import single, verb
from shorthaul.core.errors import DefectError, Demand, InfeasibleError, InputError, NoPlanError
from shorthaul.core.options import option, validate


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    method: str = option("auto", "How.", choices=("auto", "exact"))
    rounds: int = option(3, "How often [in vain].", least=1, most=9)
    shared: bool = option(True, "Share.")

    def __post_init__(self) -> None:
        validate(self)


app = single()


@verb(app, "go")
def go(workload: Annotated[str, typer.Argument()], options: Options, search: SearchFlags, output: Output) -> None:
    """Do it."""
    raise_for = {
        "infeasible": InfeasibleError("memory", demand=3, limit=2, contributors=[Demand("node 1", 3)]),
        "none": NoPlanError("no plan within 1 s"),
        "defect": DefectError("wrong"),
        "bad": InputError("is bad", value=3),
    }
    if workload in raise_for:
        raise raise_for[workload]
    print(workload, options, search.seed, search.time_limit, output.output, output.json)


@verb(app, "other")
def other() -> None:
    """Something else."""


def invoke(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
    return result.exit_code, result.stdout, result.stderr


def test_fields_are_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "_LATE_S", 600.0)  # it would end this process
    status, out, _ = invoke(
        "go", "x", "--method", "exact", "--no-shared", "--seed", "7", "-o", "p", "--time-limit", "2"
    )
    assert status == 0
    assert out.split() == ["x", "Options(method='exact',", "rounds=3,", "shared=False)", "7", "2.0", "p", "False"]


def test_help_names_every_flag() -> None:
    _, out, _ = invoke("go", "--help")
    flags = (
        "--method",
        "--rounds",
        "--no-shared",
        "--time-limit",
        "--seed",
        "--output",
        "--result",
        "--json",
    )
    for text in (*flags, "One of: auto, exact.", "How often [in vain]."):
        assert text in out


def test_exit_statuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert invoke("go", "bad")[0] == 2
    assert invoke("go", "infeasible")[0] == 3
    assert invoke("go", "none")[0] == 4
    assert invoke("go", "defect")[0] == 70
    assert [path.name.partition("defect-")[0] for path in tmp_path.iterdir()] == ["shorthaul-"]
    assert "node 1: 3" in invoke("go", "infeasible")[2]


def test_infeasible_prints_a_document() -> None:
    status, out, _ = invoke("go", "infeasible", "--json")
    document = json.loads(out)
    assert status == 3
    assert document["status"] == "infeasible"
    assert document["infeasible"]["demand"] == 3


def test_wrong_flags_name_the_nearest() -> None:
    status, _, err = invoke("go", "x", "--method", "exakt")
    assert status == 2
    assert "did you mean 'exact'" in err
    status, _, err = invoke("go", "x", "--rounds", "10")
    assert status == 2
    assert "--rounds" in err
    assert "1 to 9" in err


def test_what_is_no_number_is_told_the_range() -> None:
    for given in ("many", "1.5", "1e3", ""):
        status, _, err = invoke("go", "x", "--rounds", given)
        assert status == 2
        assert "--rounds: is of another type" in err
        assert f"found:   {given!r}" in err
        assert "allowed: an integer, 1 to 9" in err


def test_a_place_that_cannot_be_written_is_refused_before_the_search(tmp_path: Path) -> None:
    for flag, path in (("-o", "none/p.json"), ("--result", "none/r.json"), ("-o", ".")):
        status, out, err = invoke("go", "x", flag, str(tmp_path / path))
        assert status == 2
        assert not out
        assert "folder does not exist" in err or "is a directory" in err


def test_standard_output_is_for_the_document_alone() -> None:
    for flag in ("-o", "--result"):
        status, out, err = invoke("go", "x", flag, "-")
        assert status == 2
        assert not out
        assert "is no file to write" in err
        assert "--json" in err
