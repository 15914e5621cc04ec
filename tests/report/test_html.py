from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
import sympy
from tests.commands import shorthaul as command
from tests.report.sample import FIGURES, sample

import shorthaul
from shorthaul.affine.views import of_bound
from shorthaul.core.drawing.plots import plotly_figure
from shorthaul.core.errors import InputError
from shorthaul.core.figure import Text, figure_document, figure_from_document
from shorthaul.report.html import render
from shorthaul.report.text import print_summary, print_table


def test_every_figure_survives_its_document() -> None:
    for figure in FIGURES:
        assert figure_from_document(json.loads(json.dumps(figure_document(figure)))) == figure


def test_page_holds_every_figure_and_needs_no_network() -> None:
    page = render([sample().document([1, 2])], names=["result.json"])
    for figure in FIGURES:
        assert f"<h2>{figure.title}</h2>" in page
    assert page.count('<script type="application/json"') == sum(plotly_figure(figure) is not None for figure in FIGURES)
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?(https?:)?//", page)
    assert "every input is loaded once" in page
    assert "20.00%" in page


def test_labels_cannot_break_out_of_the_page() -> None:
    page = render([sample().document()], names=["result.json"])
    embedded = re.findall(r'data-plot="[^"]+">(.*?)</script>', page, flags=re.DOTALL)
    drawn = [json.loads(text) for text in embedded]
    assert any("more </script> words" in str(figure) for figure in drawn)


def test_several_results_stand_side_by_side() -> None:
    page = render([sample().document(), sample().document()], names=["a.json", "b.json"])
    assert "Side by side" in page
    assert 'id="result-2"' in page
    document = sample().document()
    other = {
        **document,
        "provenance": {**document["provenance"], "command": "other verb"},
        "kind": "shorthaul/other-result",
        "cost": {"energy_hops": 4},
        "bound": None,
        "gap": None,
    }
    mixed = render([sample().document(), other], names=["a.json", "b.json"])
    assert '<th class="number">loads</th>' not in mixed
    assert '<td class="number">energy_hops</td>' in mixed
    # results of one input are told apart by their command
    assert f"<td>{document['provenance']['input']}</td><td>other verb</td>" in mixed
    assert '<h1>sample.json <small class="soft">other verb</small></h1>' in mixed


NO_AXES = {"figure": "scatter", "title": "S", "axes": [], "points": []}
ROW_TOO_LONG = {"figure": "table", "title": "T", "columns": ["a"], "rows": [[1, 2]]}


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "is not a result document"),
        ([], "is not a result document"),
        ({"kind": "x", "cost": {}, "provenance": {}, "figures": [{"figure": "pie"}]}, "unknown figure type"),
        ({"kind": "x", "cost": {}, "provenance": {}, "figures": [{"figure": "text", "title": 3}]}, "is not a text"),
        ({"kind": "x", "cost": [1], "provenance": {}}, "is damaged"),
        ({"kind": "x", "cost": {"a": "1"}, "provenance": {}}, "is damaged"),
        ({"kind": "x", "cost": {}, "provenance": {}, "bound": {"value": "1"}}, "is damaged"),
        ({"kind": "x", "cost": {}, "provenance": {}, "bound": {"proof": 1}}, "is damaged"),
        ({"kind": "x", "cost": {}, "provenance": {}, "check": {"violations": 3}}, "damaged result document"),
        ({"kind": "x", "cost": {}, "provenance": {}, "bound": {"of": "a", "value": 1}}, "damaged result document"),
        ({"kind": "x", "cost": {}, "provenance": {}, "figures": [NO_AXES]}, "damaged result document"),
        ({"kind": "x", "cost": {}, "provenance": {}, "figures": [ROW_TOO_LONG]}, "not one cell per column"),
    ],
)
def test_wrong_documents_are_named(document: object, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        render([document], names=["wrong.json"])  # type: ignore[list-item]
    assert "wrong.json" in str(caught.value)


def test_report_command(tmp_path: Path) -> None:
    tmp_path.joinpath("r.json").write_text(json.dumps(sample().document()))
    done = command("report", "r.json", "-o", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sample.json" in tmp_path.joinpath("page.html").read_text()
    missing = command("report", "r.jsn", cwd=tmp_path)
    assert missing.returncode == 2
    assert "did you mean 'r.json'" in missing.stderr
    assert not tmp_path.joinpath("report.html").exists()


def test_summary_for_people() -> None:
    out = io.StringIO()
    print_summary(sample(), file=out)
    assert "bound on traffic" in out.getvalue()
    assert "20.00%" in out.getvalue()
    assert "passed" in out.getvalue()


def test_tables_align_numbers() -> None:
    out = io.StringIO()
    print_table(("name", "n"), (("a", 1), ("[b]", 1000)), file=out)
    assert out.getvalue().splitlines()[1].endswith("    1")
    assert "[b]" in out.getvalue()


def test_the_entries_of_a_front_are_the_least_of_each() -> None:
    document = sample().document()
    assert "least traffic" not in render([document], names=["r.json"])
    assert "least traffic" in render([{**document, "plan": {"front": [{}, {}]}}], names=["r.json"])


def test_of_a_front_one_point_is_shown_at_a_time() -> None:
    page = render([sample().document()], names=["r.json"])
    assert page.count("<select data-points><option>p</option><option>q</option></select>") == 1
    assert re.findall(r'<section data-point="(.)"><h2>(.*?)</h2>', page) == [
        ("p", "Schedule of p"),
        ("q", "Schedule of q"),
        ("q", "Load of q"),
    ]


@pytest.mark.parametrize(
    ("formula", "says"),
    [("<script>alert(1)</script>", "<script> in a formula"), ("<mi>N", "no MathML"), ("&lol;", "no MathML")],
)
def test_formulas_are_mathml_and_nothing_else(formula: str, says: str) -> None:
    plain = Text("Bound", "N", ('<mi href="javascript:alert(1)" onclick="alert(1)">N</mi>',))
    page = render([{**sample().document(), "figures": [figure_document(plain)]}], names=["r.json"])
    assert '<math display="block"><mi>N</mi></math>' in page
    wrong = figure_document(Text("Bound", "N", (formula,)))
    with pytest.raises(InputError, match=says):
        render([{**sample().document(), "figures": [wrong]}], names=["r.json"])


def test_a_notebook_shows_formulas_typeset() -> None:
    assert "<mi>N</mi><mo>⋅</mo><msqrt><mn>2</mn></msqrt>" in sample()._repr_html_()


def test_cases_of_a_formula_are_told_apart() -> None:
    n, m = sympy.symbols("NI M", positive=True)
    (text,) = of_bound(sympy.Piecewise((n * m, m >= 3), (0, True)), n)
    page = render([{**sample().document(), "figures": [figure_document(text)]}], names=["r.json"])
    assert "<mtext>if</mtext>" in page
    assert "<mi>M</mi><mo>⋅</mo><mi>NI</mi>" in page
    assert "<mtext>otherwise</mtext>" in page


def test_curves_of_several_results_are_drawn_together() -> None:
    one, two = sample().document(), sample().document()
    page = render([one, two], names=["a.json", "b.json"])
    assert page.count("<h2>Occupancy: compared</h2>") == 1
    assert "sample.json (2): used" in page
    assert "compared</h2>" not in render([one], names=["a.json"])


def test_formulas_as_other_versions_write_them() -> None:
    old = Text("T", "N", ("<mfenced><mfenced><mi>N</mi></mfenced><mi>M</mi></mfenced><mi>&ExponentialE;</mi>",))
    page = render([{**sample().document(), "figures": [figure_document(old)]}], names=["r.json"])
    inner = "<mrow><mo>(</mo><mi>N</mi><mo>)</mo></mrow>"
    assert f"<mrow><mo>(</mo>{inner}<mo>,</mo><mi>M</mi><mo>)</mo></mrow><mi>e</mi>" in page


def test_what_a_sweep_found_is_shown_point_by_point() -> None:
    """In every engine: each point of the curve leads to figures of its own, and steps where a plan or a bound holds."""
    sweeps = (
        shorthaul.pebble.sweep("fft:n=4,word=1", budgets="3,6", effort=0.02),
        shorthaul.affine.sweep("matvec", size="M=20,N=20", least=8, most=64, points=2, effort=0.1),
        shorthaul.tensor.sweep("example-1", points=2, effort=0.1),
        shorthaul.dataflow.buffers("examples/cd2dat.xml", serial=True),
    )
    for result in sweeps:
        curve, *others = result.figures
        assert {"step", "floor"} >= {line.style for line in curve.lines[:2]} >= {"step"}
        assert len(curve.points) == len(curve.lines[0].x) == len(set(curve.points))
        shown = [figure.point for figure in others if figure.point]
        assert list(dict.fromkeys(shown)) == list(curve.points)
        assert len(set(map(shown.count, shown))) == 1
