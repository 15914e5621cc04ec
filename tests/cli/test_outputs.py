"""What a command writes: none of its inputs, and no file twice; a document also where there is no plan."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.commands import shorthaul, shorthaul_json

GRAPH = "digraph { a -> c; b -> c; c -> d; b -> d }"


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph, a plan of it and the result."""
    folder = tmp_path_factory.mktemp("planned")
    folder.joinpath("graph.dot").write_text(GRAPH)
    made = shorthaul(
        "pebble", "plan", "graph.dot", "--budget", "4", "-o", "plan.json", "--result", "result.json", cwd=folder
    )
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("pebble", "check", "graph.dot", "plan.json", "--budget", "4", "--result", "plan.json"),
        ("pebble", "plan", "graph.dot", "--budget", "4", "-o", "new.json", "--journal", "new.json"),
        ("pebble", "plan", "graph.dot", "--budget", "4", "-o", "new.json", "--result", "new.json"),
        ("convert", "graph.dot", "graph.dot"),
    ],
)
def test_no_input_is_written_over(arguments: tuple[str, ...], planned: Path, tmp_path: Path) -> None:
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = shorthaul(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "of this command" in done.stderr or "by this command" in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_problem_without_a_plan_has_a_document(tmp_path: Path) -> None:
    tmp_path.joinpath("graph.dot").write_text(GRAPH)
    asked = ("pebble", "plan", "graph.dot", "--budget", "2")
    printed = shorthaul_json(*asked, "--result", "result.json", cwd=tmp_path, status=3)
    assert printed == json.loads(tmp_path.joinpath("result.json").read_text())
    assert (printed["kind"], printed["status"], printed["plan"]) == ("shorthaul/pebble-result", "infeasible", None)
    assert printed["infeasible"]["limit"] == 2
    whence = printed["provenance"]
    assert (whence["command"], whence["input"], whence["options"]["budget"]) == ("pebble plan", "graph.dot", 2)
    assert shorthaul("report", "result.json", "-o", "page.html", cwd=tmp_path).returncode == 0
