"""One self-contained HTML file from result documents; it needs no network to be viewed."""

from __future__ import annotations

import functools
import gzip
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

import jinja2
from markupsafe import Markup

from shorthaul.core.arguments import public
from shorthaul.core.document import load_json, write_text
from shorthaul.core.drawing.exports import TABULAR, table
from shorthaul.core.drawing.formulas import typeset
from shorthaul.core.drawing.plots import PALETTE, plotly_figure
from shorthaul.core.drawing.words import described
from shorthaul.core.errors import InputError
from shorthaul.core.figure import Bars, Figure, Series, Table, Text, figure_from_document
from shorthaul.core.files.outputs import expect_writable
from shorthaul.core.result import Result
from shorthaul.core.version import VERSION
from shorthaul.report.text import amount

#: Intervals that Plotly still draws quickly; longer timelines are drawn on a canvas, what is in view only.
_MOST_PLOTTED = 2000
#: Rows of the table beside a drawing; the figure has them all in its document.
_MOST_ROWS = 200

#: Results whose curves still can be told apart in one drawing.
_MOST_COMPARED = 6

#: What a bound says in words.
_TEXTS_OF_BOUND = ("of", "method", "proof")

_CARD_TONES = {"optimal": "good", "infeasible": "bad", "invalid": "bad", "timeout": "bad"}


Report: TypeAlias = Result[object] | Mapping[str, object] | str | PathLike[str]


@public
def report(
    results: Report | Iterable[Report],
    path: str | PathLike[str] = "report.html",
    *,
    overview: Sequence[Figure] = (),
) -> Path:
    """Draw results as one self-contained HTML file and return its path.

    Parameters
    ----------
    results : Result, mapping, path or iterable
        A result, a result document (``Result.to_dict``), the path of one, or several such.
    path : str or PathLike, default "report.html"
        The file to write.
    overview : sequence of Figure
        Figures of all results together, drawn first.

    Returns
    -------
    Path
        The path of the page.

    Raises
    ------
    InputError
        If something is not a result, or a file cannot be read or written.

    Examples
    --------
    >>> report([], "page.html")
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: report(): nothing to draw, or no path
      allowed: results, and a path to write
    """
    single = isinstance(results, Result | Mapping | str | PathLike)
    if isinstance(results, bytes) or not (single or isinstance(results, Iterable)):
        allowed = "a result, a result document, the path of one, or a list of such"
        raise InputError("is not a result", place="results", value=results, allowed=allowed)
    given = cast("list[Report]", [results] if single else list(cast("Iterable[Report]", results)))
    if not given or not isinstance(path, str | PathLike):
        raise InputError("nothing to draw, or no path", place="report()", allowed="results, and a path to write")
    documents, names = [], []
    for number, item in enumerate(given):
        name = os.fsdecode(item) if isinstance(item, str | PathLike) else f"results[{number}]"
        names.append(name)
        documents.append(
            item.to_dict()
            if isinstance(item, Result)
            else load_json(name)
            if isinstance(item, str | PathLike)
            else item
        )
    expect_results(documents, names=names)
    target = Path(os.fsdecode(path))
    expect_writable(target, (".html", ".htm"))
    write_text(target, render(cast("list[Mapping[str, Any]]", documents), names=names, overview=overview))
    return target


def render(documents: Sequence[Mapping[str, Any]], *, names: Sequence[str], overview: Sequence[Figure] = ()) -> str:
    """Return the page for result ``documents``; ``names`` says which file each came from.

    ``overview`` are figures of all results together, drawn first.

    Raises :class:`InputError` if a document is not a result or holds a broken figure.
    """
    results = [
        _result(document, name, index) for index, (document, name) in enumerate(zip(documents, names, strict=True))
    ]
    data = files("shorthaul.report").joinpath("data")
    first = results[0]
    return _page().render(
        title=f"shorthaul: {first['name']}" if len(results) == 1 else f"shorthaul: {len(results)} results",
        subtitle=first["kind"] if len(results) == 1 else ", ".join(sorted({result["kind"] for result in results})),
        results=results,
        overview=[
            _figure(figure, f"overview-{number}")
            for number, figure in enumerate([*overview, *_overlaid(documents, results)])
        ],
        comparison=_comparison(documents, results),
        plotly_js=_script_of_plotly(),
        timeline_js=Markup(data.joinpath("timeline.js").read_text(encoding="utf-8")),
        version=VERSION,
    )


@functools.cache
def _page() -> jinja2.Template:
    """Return the page to fill in, compiled once, however many results a program draws."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shorthaul.report", "data"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("report.html.jinja")


@functools.cache
def _script_of_plotly() -> str:
    try:
        packed = files("shorthaul.report").joinpath("data", "plotly.min.js.gz").read_bytes()
    except OSError:
        cure = "install it again; in a checkout: make kernels"
        raise InputError("this installation lacks the script that pages draw with", cure=cure) from None
    return gzip.decompress(packed).decode()


def expect_results(documents: Sequence[Any], *, names: Sequence[str]) -> None:
    """Raise :class:`InputError` for the first of ``documents``, from the files ``names``, that is no result."""
    cure = "write one with --result FILE or --json"
    for document, file in zip(documents, names, strict=True):
        kind = document.get("kind") if isinstance(document, Mapping) else None
        if not isinstance(kind, str) or "cost" not in document or "provenance" not in document:
            raise InputError("is not a result document", file=file, place="kind", value=kind, cure=cure)
        for key in ("cost", "bound", "provenance"):
            value = document.get(key)
            if value is not None and not isinstance(value, Mapping):
                raise InputError(
                    "is damaged", file=file, place=key, value=value, allowed="an object, or null", cure=cure
                )
        amounts = {f"cost.{name}": value for name, value in (document["cost"] or {}).items()}
        amounts["bound.value"] = (document.get("bound") or {}).get("value")
        for place, value in amounts.items():
            if value is not None and not isinstance(value, int | float):
                raise InputError("is damaged", file=file, place=place, value=value, allowed="a number", cure=cure)
        for key, value in (document.get("bound") or {}).items():
            if key in _TEXTS_OF_BOUND and not isinstance(value, str):
                raise InputError("is damaged", file=file, place=f"bound.{key}", value=value, allowed="text", cure=cure)


def _result(document: Mapping[str, Any], file: str, index: int) -> dict[str, Any]:
    expect_results([document], names=[file])
    kind = str(document["kind"])
    try:
        return _checked_result(document, file, index, kind)
    except InputError as error:
        raise error.in_file(file) from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        problem = f"is a damaged result document: {type(error).__name__} {error}"
        raise InputError(problem, file=file, cure="write it again with --result FILE") from None


def _checked_result(document: Mapping[str, Any], file: str, index: int, kind: str) -> dict[str, Any]:
    provenance = document["provenance"] or {}
    check = document.get("check") or {}
    bound = document.get("bound")
    figures = [
        _figure(figure_from_document(figure, place=f"figures[{number}]"), f"plot-{index}-{number}")
        for number, figure in enumerate(document.get("figures") or [])
    ]
    of_points = [figure for figure in figures if figure["point"]]
    if of_points:
        of_points[0]["points"] = list(dict.fromkeys(figure["point"] for figure in of_points))
    shown = ("rule", "place", "message")
    return {
        "name": str(provenance.get("input") or file),
        "command": str(provenance.get("command") or kind),
        "kind": kind,
        "cards": _cards(document, check),
        "violations": [
            {
                **{name: violation[name] for name in shown},
                "required": amount(violation.get("required")),
                "available": amount(violation.get("available")),
            }
            for violation in check.get("violations", [])
        ],
        "bound": bound and {**{key: bound[key] for key in _TEXTS_OF_BOUND}, "value": amount(bound["value"])},
        "formulas": [figure for figure in figures if figure["formulas"]],
        "figures": [figure for figure in figures if not figure["formulas"]],
        "provenance": [
            (name, value if isinstance(value, str) else json.dumps(value)) for name, value in provenance.items()
        ],
    }


def _cards(document: Mapping[str, Any], check: Mapping[str, Any]) -> list[dict[str, str]]:
    cards = []
    status = document.get("status")
    if status:
        cards.append({"name": "status", "value": status, "tone": _CARD_TONES.get(status, "")})
    plan = document.get("plan")
    front = plan.get("front") if isinstance(plan, Mapping) else None
    least = "least " if isinstance(front, list) and len(front) > 1 else ""  # which no one point need have
    costs = (document["cost"] or {}).items()
    cards += [{"name": f"{least}{name}", "value": amount(value), "tone": ""} for name, value in costs]
    if document.get("bound"):
        bound = document["bound"]
        cards.append({"name": f"bound on {bound['of']}", "value": amount(bound["value"]), "tone": ""})
    if document.get("gap") is not None:
        cards.append({"name": "gap", "value": f"{document['gap']:.2%}", "tone": ""})
    if check:
        passed = bool(check.get("ok"))
        text = "passed" if passed else f"{len(check['violations'])} violations"
        cards.append({"name": "check", "value": text, "tone": "good" if passed else "bad"})
    time_s = (document["provenance"] or {}).get("wall_time_s")
    if time_s is not None:
        cards.append({"name": "time", "value": f"{time_s:.2f} s", "tone": ""})
    return cards


def _figure(figure: Figure, identity: str) -> dict[str, Any]:
    long = isinstance(figure, Bars) and len(figure.bars) > _MOST_PLOTTED
    plot = None if long else plotly_figure(figure)
    body: dict[str, Any] = {
        "id": identity,
        "title": figure.title,
        "note": getattr(figure, "note", ""),
        "point": getattr(figure, "point", ""),
        "points": [],
        "words": described(figure),
        "plot": plot,
        "json": None if plot is None else _embedded(plot),
        "timeline": _embedded(_timeline(figure)) if isinstance(figure, Bars) and long else None,
        "columns": None,
        "rows": None,
        "hidden": 0,
        "body": figure.body if isinstance(figure, Text) else "",
        "formulas": [Markup(typeset(formula)) for formula in figure.formulas] if isinstance(figure, Text) else [],
    }
    if isinstance(figure, TABULAR):
        columns, rows = table(figure)
        if isinstance(figure, Table) and any(len(row) != len(columns) for row in rows):
            raise ValueError(f"a row of {figure.title!r} has not one cell per column")
        shown = rows if isinstance(figure, Table) else rows[:_MOST_ROWS]
        numeric = [all(not isinstance(row[column], str) for row in shown) for column in range(len(columns))]
        body["columns"] = [{"name": name, "numeric": flag} for name, flag in zip(columns, numeric, strict=True)]
        body["rows"] = [[cell if isinstance(cell, str) else amount(cell) for cell in row] for row in shown]
        body["hidden"] = len(rows) - len(shown)
    return body


def _embedded(document: Any) -> Markup:
    """Return a document as JSON inside a script element, which "</script>" inside a label must not end."""
    return Markup(json.dumps(document, allow_nan=False).replace("<", "\\u003c"))


def _timeline(figure: Bars) -> dict[str, Any]:
    """Return intervals as columns, those of a lane together and by their start, as ``timeline.js`` reads them."""
    lanes = {lane: at for at, lane in enumerate(dict.fromkeys(bar.lane for bar in figure.bars))}
    groups = {group: at for at, group in enumerate(dict.fromkeys(bar.group for bar in figure.bars))}
    bars = sorted(figure.bars, key=lambda bar: (lanes[bar.lane], bar.start))
    return {
        "unit": figure.x_label,
        "lanes": list(lanes),
        "groups": list(groups),
        "colours": [PALETTE[at % len(PALETTE)] for at in groups.values()],
        "lane": [lanes[bar.lane] for bar in bars],
        "start": [bar.start for bar in bars],
        "stop": [bar.stop for bar in bars],
        "group": [groups[bar.group] for bar in bars],
        "label": [bar.label for bar in bars],
    }


def _overlaid(documents: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> list[Series]:
    """Return the curves that two results or more have under the same title and axes, in one drawing each."""
    found: dict[tuple[str, str, str], list[tuple[int, Series]]] = {}
    for number, document in enumerate(documents):
        for item in document.get("figures") or []:
            figure = figure_from_document(item)
            if isinstance(figure, Series) and not figure.point and not figure.stacked:
                found.setdefault((figure.title, figure.x_label, figure.y_label), []).append((number, figure))
    names = [str(result["name"]) for result in results]
    names = [name if names.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(names, 1)]
    return [
        replace(
            same[0][1],
            title=f"{title}: compared",
            lines=tuple(replace(line, name=f"{names[at]}: {line.name}") for at, own in same for line in own.lines),
            points=(),
            note="",
        )
        for (title, _, _), same in found.items()
        if 1 < len(same) <= _MOST_COMPARED
    ]


def _comparison(documents: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row per result; results of several kinds share only the entry of the cost that their bound is on."""
    alike = len({document["kind"] for document in documents}) == 1
    columns = (
        list(dict.fromkeys(name for document in documents for name in document.get("cost") or {})) if alike else []
    )
    rows = []
    for document, result in zip(documents, results, strict=True):
        cost, bound, gap = document.get("cost") or {}, document.get("bound") or {}, document.get("gap")
        cells = [amount(cost.get(column)) for column in columns]
        if not alike:
            of = bound.get("of") or next(iter(cost), "")
            cells = [of, amount(cost.get(of))]
        gap_text = "-" if gap is None else f"{gap:.2%}"
        texts = [result["name"], result["command"], document.get("status") or "-"]
        rows.append([*texts, *cells, amount(bound.get("value")), gap_text])
    if alike and len(documents) == 2:
        costs = [document.get("cost") or {} for document in documents]
        changes = [_change(*(cost.get(column) for cost in costs)) for column in columns]
        bounds = [(document.get("bound") or {}).get("value") for document in documents]
        rows.append(["second against first", "", "", *changes, _change(*bounds), ""])
    numbers = [*(columns if alike else ["amount", "cost"]), "bound", "gap"]
    return {"texts": ["input", "command", "status"], "numbers": numbers, "rows": rows}


def _change(first: float | None, second: float | None) -> str:
    return "-" if not first or second is None else f"{second / first - 1:+.2%}"
