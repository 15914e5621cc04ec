"""Figures as data frames, CSV, DOT and traces, from results and from their documents."""

from __future__ import annotations

import csv
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.commands import shorthaul as command
from tests.report.sample import FIGURES

import shorthaul
from shorthaul.core.drawing.exports import TABULAR, chosen, csv_text, table, trace_document
from shorthaul.core.errors import InputError
from shorthaul.core.figure import Bar, Bars, Network, Table, Text
from shorthaul.pebble.formats.dot import read_dot


@pytest.fixture(scope="module")
def result() -> Any:
    return shorthaul.tensor.plan("example-1", effort=0.1)


@pytest.mark.parametrize("figure", [figure for figure in FIGURES if isinstance(figure, TABULAR)], ids=lambda f: f.title)
def test_every_figure_is_a_table(figure: Any) -> None:
    columns, rows = table(figure)
    assert len(set(columns)) == len(columns)
    assert {len(row) for row in rows} <= {len(columns)}
    read = list(csv.reader(csv_text(figure).splitlines(keepends=True)))
    assert read[0] == list(columns)
    assert len(read) == len(rows) + 1


def test_the_figure_that_is_asked_for(result: Any) -> None:
    with pytest.raises(InputError, match="Fast memory over time"):
        chosen(result.figures, "Fast memory over tim", TABULAR, "a table")
    assert chosen(result.figures, "Subgraphs", TABULAR, "a table").title == "Subgraphs"
    assert isinstance(chosen(result.figures, None, TABULAR, "a table"), Table)
    for wrong in (-1, 99, True, 1.5):
        with pytest.raises(InputError, match="is no figure"):
            chosen(result.figures, wrong, TABULAR, "a table")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no figure that is a graph"):
        chosen((Text("Proof", "trivial"),), None, (Network,), "a graph")


def test_a_result_is_taken_away(result: Any, tmp_path: Path) -> None:
    rows = chosen(result.figures, "Subgraphs", TABULAR, "")
    if find_spec("pandas") is None:
        with pytest.raises(InputError, match="need pandas"):
            result.to_dataframe("Subgraphs")
    else:
        frame = result.to_dataframe("Subgraphs")
        assert (list(frame.columns), len(frame)) == (list(rows.columns), len(rows.rows))
    assert result.figure("Timeline of subgraphs").data
    result.to_csv(tmp_path / "a.csv")
    result.to_dot(tmp_path / "a.dot")
    result.to_perfetto(tmp_path / "a.json")
    assert len(tmp_path.joinpath("a.csv").read_text().splitlines()) == len(rows.rows) + 1
    network = chosen(result.figures, None, (Network,), "")
    assert read_dot(tmp_path.joinpath("a.dot").read_text()).n == len(network.nodes)
    events = json.loads(tmp_path.joinpath("a.json").read_text())["traceEvents"]
    bars = [bar for figure in result.figures if isinstance(figure, Bars) for bar in figure.bars]
    assert sorted((e["ts"], e["dur"]) for e in events if e["ph"] == "X") == sorted(
        (b.start, b.stop - b.start) for b in bars
    )
    with pytest.raises(InputError, match="is not a path"):
        result.to_csv(5)


def test_lanes_of_a_trace_are_threads() -> None:
    charts = [Bars("A", "ticks", (Bar("x", 0, 1), Bar("y", 1, 3), Bar("x", 2, 3))), Bars("B", "s", (Bar("x", 0, 1),))]
    events = trace_document(charts)["traceEvents"]
    assert [(e["pid"], e["tid"]) for e in events if e["ph"] == "X"] == [(1, 1), (1, 2), (1, 1), (2, 1)]
    assert [e["args"]["name"] for e in events if e["ph"] == "M"] == ["A (ticks)", "x", "y", "B (s)", "x"]


def test_documents_are_exported(result: Any, tmp_path: Path) -> None:
    result.save(tmp_path / "r.json")
    listed = command("export", "r.json", cwd=tmp_path)
    assert listed.returncode == 0
    assert "Timeline of subgraphs" in listed.stdout
    for target in ("a.csv", "a.dot", "a.json"):
        assert command("export", "r.json", target, cwd=tmp_path).returncode == 0
    result.to_csv(tmp_path / "b.csv")
    assert tmp_path.joinpath("a.csv").read_bytes() == tmp_path.joinpath("b.csv").read_bytes()
    for arguments, says in (
        (("r.json", "a.png"), "is of no known format"),
        (("r.json", "a.csv", "--figure", "Subgraph"), "did you mean 'Subgraphs'"),
        (("a.json", "b.json"), "is not a result document"),
        (("r.json", "r.json"), "is an input of this command"),
    ):
        done = command("export", *arguments, cwd=tmp_path)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr
