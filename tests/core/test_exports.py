"""Figures as data frames, CSV, DOT and traces, from results and from their documents."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.commands import shorthaul as command
from tests.report.sample import FIGURES, sample

import shorthaul
from shorthaul.core.drawing.exports import TABULAR, chosen, csv_text, table, trace_document
from shorthaul.core.drawing.plots import DRAWN
from shorthaul.core.drawing.svg import svg_text
from shorthaul.core.errors import InputError
from shorthaul.core.figure import Bar, Bars, Figure, Grid, Line, Network, Node, Scatter, Series, Table, Text
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


def test_an_answer_without_rows_is_one_row(tmp_path: Path) -> None:
    bound = replace(shorthaul.spatial.bound("yule:n=63"), figures=())
    bound.to_csv(tmp_path / "a.csv")
    header, row = tmp_path.joinpath("a.csv").read_text().splitlines()
    assert header == "bound on energy_hops,method"
    assert float(row.split(",")[0]) == bound.bound.value
    bound.save(tmp_path / "a.json")
    done = command("export", "a.json", "b.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert tmp_path.joinpath("b.csv").read_text() == tmp_path.joinpath("a.csv").read_text()


def test_without_plotly_there_are_pages_and_svg(result: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(InputError, match=r"pip install 'shorthaul\[plotly\]'"):
        result.figure()
    result.to_svg(tmp_path / "a.svg")
    assert "Plotly.newPlot" in shorthaul.report(result, tmp_path / "a.html").read_text()


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
    with pytest.raises(InputError, match="text or a path"):
        result.to_csv(5)


def test_lanes_of_a_trace_are_threads() -> None:
    charts = [Bars("A", "ticks", (Bar("x", 0, 1), Bar("y", 1, 3), Bar("x", 2, 3))), Bars("B", "s", (Bar("x", 0, 1),))]
    events = trace_document(charts)["traceEvents"]
    assert [(e["pid"], e["tid"]) for e in events if e["ph"] == "X"] == [(1, 1), (1, 2), (1, 1), (2, 1)]
    assert [e["args"]["name"] for e in events if e["ph"] == "M"] == ["A (ticks)", "x", "y", "B (s)", "x"]


def test_curves_over_time_are_counters(tmp_path: Path) -> None:
    """The trace of a plan, long ones too, has the weight in fast memory after each move as a counter."""
    for case, budget in (("fft:n=8,word=1", 5), ("stencil:n=20,t=12,word=1", 16)):
        made = shorthaul.pebble.plan(case, budget=budget, effort=0.02)
        made.to_perfetto(tmp_path / "trace.json")
        events = json.loads(tmp_path.joinpath("trace.json").read_text())["traceEvents"]
        held: set[int] = set()
        expected = []
        for time, (kind, node) in enumerate(made.plan):
            held = held - {node} if kind.name == "DELETE" else held | {node}
            place = {"ts": time, "pid": 1, "args": {"weight in fast memory": len(held)}}
            expected.append({"name": "occupancy", "ph": "C", **place})
        assert [event for event in events if event["ph"] == "C"] == expected
    with pytest.raises(InputError, match="has no figure that is a timeline"):
        shorthaul.pebble.bound(case, budget=budget, effort=0.02).to_perfetto(tmp_path / "none.json")


def test_documents_are_exported(result: Any, tmp_path: Path) -> None:
    result.save(tmp_path / "r.json")
    listed = command("export", "r.json", cwd=tmp_path)
    assert listed.returncode == 0
    assert "Timeline of subgraphs" in listed.stdout
    for target in ("a.csv", "a.dot", "a.svg", "a.json"):
        assert command("export", "r.json", target, cwd=tmp_path).returncode == 0
    assert command("export", "r.json", "-o", "c.csv", cwd=tmp_path).returncode == 0
    assert tmp_path.joinpath("c.csv").read_bytes() == tmp_path.joinpath("a.csv").read_bytes()
    result.to_csv(tmp_path / "b.csv")
    result.to_svg(tmp_path / "b.svg")
    for kind in ("csv", "svg"):
        assert tmp_path.joinpath(f"a.{kind}").read_bytes() == tmp_path.joinpath(f"b.{kind}").read_bytes()
    for arguments, says in (
        (("r.json", "a.png"), "has the suffix of another format"),
        (("r.json", "a.csv", "--figure", "Subgraph"), "did you mean 'Subgraphs'"),
        (("r.json", "d.csv", "-o", "e.csv"), "cannot be combined with TARGET"),
        (("a.json", "b.json"), "is not a result document"),
        (("r.json", "r.json"), "is an input of this command"),
    ):
        done = command("export", *arguments, cwd=tmp_path)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def shapes(figure: Figure) -> list[dict[str, str]]:
    text = svg_text(figure)
    assert text is not None
    root = ET.fromstring(text)
    assert figure.title in root.attrib["aria-label"]
    return [{"tag": item.tag.split("}")[1], **item.attrib} for item in root.iter()]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.title)
def test_drawings_are_svg(figure: Figure) -> None:
    if not isinstance(figure, DRAWN):
        assert svg_text(figure) is None
        return
    for item in shapes(figure):
        assert float(item.get("width", 1)) >= 0
        assert float(item.get("height", 1)) >= 0


def test_every_point_and_bar_has_its_place() -> None:
    dots = [item for item in shapes(Scatter("P", ("x", "y"), ((1, 5), (2, 7), (3, 6)))) if item["tag"] == "circle"]
    assert [float(d["cx"]) for d in dots] == sorted(float(d["cx"]) for d in dots)
    assert min(dots, key=lambda d: float(d["cy"])) is dots[1]  # up is down in SVG
    bars = [i for i in shapes(Bars("B", "t", (Bar("x", 0, 2), Bar("y", 2, 6)))) if i["tag"] == "rect"]
    assert 2 * float(bars[0]["width"]) == pytest.approx(float(bars[1]["width"]), rel=1e-2)
    assert float(bars[0]["y"]) < float(bars[1]["y"])


@pytest.mark.parametrize(
    "figure",
    [
        Series("S", "x", "y", ()),
        Series("S", "x", "y", (Line("a", (1,), (None,)),)),
        Series("S", "x", "y", (Line("a", (1, 2), (0, 0)),), log_x=True, log_y=True),
        Bars("B", "t", ()),
        Bars("B", "t", (Bar("a", 5, 5),)),
        Grid("G", (), "v"),
        Grid("G", ((None,),), "v"),
        Network("N", (), ()),
        Network("N", (Node("<a>", "&", 0, 0),), ()),
        Scatter("P", ("x", "y"), ()),
        Scatter("P", ("x", "y", "z"), ((1, 1, 1),)),
    ],
    ids=repr,
)
def test_odd_figures_are_drawn(figure: Figure) -> None:
    assert "nan" not in str(svg_text(figure))
    shapes(figure)


def test_large_figures_stay_small_and_lose_no_lane_and_no_extreme() -> None:
    bars = Bars("B", "t", tuple(Bar(f"core {at % 3}", at, at + 2) for at in range(20_000)))
    drawn = [item for item in shapes(bars) if item["tag"] == "rect"]
    assert len({item["y"] for item in drawn}) == 3
    assert 1000 < len(drawn) < 10_000
    curve = [(7 * at) % 1000 for at in range(20_000)]
    curve[11_234] = 5000
    path = next(
        i["d"]
        for i in shapes(Series("S", "x", "y", (Line("a", tuple(range(20_000)), tuple(curve)),)))
        if i.get("fill") == "none"
    )
    assert len(path) < 20_000
    assert " 34" in path  # the one high value, at the top of the drawing


def test_a_notebook_shows_numbers_and_a_drawing() -> None:
    shown = sample()._repr_html_()
    assert "<caption>shorthaul/sample-result</caption>" in shown
    assert shown.count("<svg ") == 1
    assert "Occupancy" in shown
    assert "<td>passed</td>" in shown


@pytest.mark.parametrize("method", ["save", "to_csv", "to_svg", "to_dot", "to_perfetto"])
def test_a_path_is_asked_for(result: Any, method: str) -> None:
    for wrong in ((), (None,), (3,), (b"a.csv",), ("a.csv", "b", "c"), ("a.csv", object())):
        with pytest.raises(InputError, match=r"allowed|do:"):
            getattr(result, method)(*wrong)
