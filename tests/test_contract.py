"""Every engine keeps the promises of the command line: documents, checks, bounds, reports, exit statuses."""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from shorthaul.core.figure import figure_document, figure_from_document
from tests.commands import shorthaul, shorthaul_here, shorthaul_json
from tests.contracts.contract import Broken, Contract

CONTRACTS: list[Contract] = [
    import_module(f"tests.contracts.{path.stem}").CONTRACT
    for path in sorted(Path(__file__).parent.joinpath("contracts").glob("*.py"))
    if path.stem not in {"__init__", "contract"}
]
REQUIRED = {"kind", "version", "status", "cost", "bound", "gap", "check", "plan", "provenance"}


def by_engine(contract: Contract) -> str:
    return contract.engine


def write_files(contract: Contract, folder: Path, broken: Broken | None = None) -> None:
    for name, text in {**contract.files, **(broken.files if broken else {})}.items():
        folder.joinpath(name).write_text(text)


@pytest.mark.parametrize("contract", CONTRACTS, ids=by_engine)
def test_plan_check_report(contract: Contract, tmp_path: Path) -> None:
    write_files(contract, tmp_path)
    arguments = (contract.engine, "plan", *contract.plan, "-o", contract.plan_file, "--result", "result.json")
    document = shorthaul_json(*arguments, cwd=tmp_path)
    assert set(document) >= REQUIRED
    assert document["kind"] == f"shorthaul/{contract.engine}-result"
    assert document["status"] in {"optimal", "feasible"}
    assert document["check"]["ok"] is True
    assert document["check"]["violations"] == []
    assert set(document["provenance"]) >= {"version", "options", "seed", "input", "input_digest", "wall_time_s"}
    if contract.objective is not None:
        cost, bound = document["cost"][contract.objective], document["bound"]
        assert bound["of"] == contract.objective
        assert bound["method"]
        assert bound["proof"]
        assert cost >= bound["value"] * (1 - 1e-9)
        if bound["value"]:
            assert document["gap"] == pytest.approx(cost / bound["value"] - 1, abs=1e-9)

    # what was written is what was printed, and comes back unchanged
    assert json.loads(tmp_path.joinpath("result.json").read_text()) == document
    figures = [figure_document(figure_from_document(figure)) for figure in document["figures"]]
    assert json.loads(json.dumps(figures)) == document["figures"]

    # the plan file stands on its own
    checked = shorthaul_json(contract.engine, "check", *contract.check, contract.plan_file, cwd=tmp_path)
    assert checked["check"]["ok"] is True
    if contract.objective is not None:
        assert checked["cost"] == document["cost"]

    # the report is one file that needs no network
    shown = shorthaul("report", "result.json", "-o", "report.html", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    page = tmp_path.joinpath("report.html").read_text()
    assert document["figures"], "a result has something to look at"
    for figure in document["figures"]:
        assert figure["title"] in page
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?(https?:)?//", page)


@pytest.mark.parametrize("contract", CONTRACTS, ids=by_engine)
def test_same_seed_same_plan(contract: Contract, tmp_path: Path) -> None:
    write_files(contract, tmp_path)
    first, second = (
        shorthaul_json(contract.engine, "plan", *contract.plan, "--seed", "3", cwd=tmp_path) for _ in range(2)
    )
    assert (first["cost"], first["plan"]) == (second["cost"], second["plan"])


@pytest.mark.parametrize("contract", CONTRACTS, ids=by_engine)
def test_verbs_in_python_have_the_same_form(contract: Contract) -> None:
    engine = import_module(f"shorthaul.{contract.engine}")
    for verb in ("plan", "bound", "check", "sweep"):
        parameters = list(inspect.signature(getattr(engine, verb)).parameters.values())
        assert parameters[0].name in {"workload", "problem", "program", "cdag"}, "the workload comes first"
        assert parameters[0].default is inspect.Parameter.empty
        search = next(parameter for parameter in parameters if parameter.name == "search")
        assert search.kind is inspect.Parameter.KEYWORD_ONLY
        assert search.default is None


@pytest.mark.parametrize("contract", CONTRACTS, ids=by_engine)
def test_cases_are_listed(contract: Contract, tmp_path: Path) -> None:
    listed = shorthaul(contract.engine, "cases", cwd=tmp_path)
    assert listed.returncode == 0
    assert listed.stdout.strip()
    document = shorthaul_json(contract.engine, "cases", cwd=tmp_path)
    assert all({"name", "summary", "usage", "parameters"} <= set(case) for case in document["cases"])
    assert document["cases"][0]["name"] in listed.stdout


@pytest.mark.parametrize(
    ("contract", "broken"),
    [pytest.param(c, b, id=f"{c.engine}-{b.name}") for c in CONTRACTS for b in c.broken],
)
def test_broken_input(contract: Contract, broken: Broken, tmp_path: Path) -> None:
    write_files(contract, tmp_path, broken)
    before = {path.name for path in tmp_path.iterdir()}
    run = shorthaul if broken is contract.broken[0] else shorthaul_here
    done = run(contract.engine, *broken.arguments, cwd=tmp_path)
    assert done.returncode == broken.status, done.stderr
    for text in broken.says:
        assert text in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == before, "nothing half-written"
