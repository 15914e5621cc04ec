"""Figures as tables for spreadsheets and data frames, as DOT, and as traces for Perfetto."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from shorthaul.core.document import save_json, write_text
from shorthaul.core.drawing.plots import DRAWN
from shorthaul.core.drawing.svg import svg_file
from shorthaul.core.errors import InputError, unknown_name
from shorthaul.core.figure import Bars, Figure, Grid, Network, Scatter, Series, Table

Cell = str | int | float | None

#: Kinds of figures that are rows of something, what is asked for most first.
TABULAR: Final = (Table, Scatter, Series, Bars, Grid, Network)


def chosen(figures: Sequence[Figure], which: str | int | None, kinds: tuple[type[Any], ...], what: str) -> Any:
    """Return the figure of these kinds that a title or a number from 0 names; else the first of the first kind.

    What shows one point of a front only comes last. Raises :class:`InputError`, with the titles there are, without any.
    """
    found = [figure for figure in figures if isinstance(figure, kinds)]
    if not found:
        titles = [figure.title for figure in figures]
        cure = "make a report, which shows texts and tables too" if titles else "read the result document"
        raise InputError(f"has no figure that is {what}", place="result", value=", ".join(titles) or "none", cure=cure)
    if which is None:
        ranks = {kind: rank for rank, kind in enumerate(kinds)}
        return min(found, key=lambda figure: (bool(getattr(figure, "point", "")), ranks[type(figure)]))
    if isinstance(which, int) and not isinstance(which, bool):
        if 0 <= which < len(found):
            return found[which]
        raise InputError("is no figure", place="figure", value=which, allowed=f"0 to {len(found) - 1}")
    if not isinstance(which, str):
        raise InputError("is no figure", place="figure", value=which, allowed="a title or a number")
    for figure in found:
        if figure.title == which:
            return figure
    raise unknown_name("figure", which, [figure.title for figure in found], place="figure")


def with_answer(figures: Sequence[Figure], document: Mapping[str, Any]) -> tuple[Figure, ...]:
    """Return the figures of a document; where none of them has rows, also its status, costs, bound and gap as one row.

    >>> table(with_answer((), {"bound": {"of": "loads", "value": 9, "method": "counting"}})[0])
    (('bound on loads', 'method'), ((9, 'counting'),))
    """
    if any(isinstance(figure, TABULAR) for figure in figures):
        return tuple(figures)
    bound = document.get("bound") or {}
    row = {"status": document.get("status"), **(document.get("cost") or {})}
    row |= {f"bound on {bound['of']}": bound["value"], "method": bound["method"]} if bound else {}
    row = {name: cell for name, cell in {**row, "gap": document.get("gap")}.items() if cell is not None}
    return (*figures, Table("Answer", tuple(row), (tuple(row.values()),))) if row else tuple(figures)


def table(figure: Figure) -> tuple[tuple[str, ...], Sequence[tuple[Cell, ...]]]:
    """Return the columns and rows of a figure, one row per point, bar, cell or node.

    >>> table(Scatter("Front", ("period", "cost"), ((10, 2.5), (12, 1))))
    (('period', 'cost'), [(10, 2.5), (12, 1)])
    """
    if isinstance(figure, Table):
        return figure.columns, figure.rows
    if isinstance(figure, Series):
        points = [(line.name, x, y) for line in figure.lines for x, y in zip(line.x, line.y, strict=True)]
        return ("curve", figure.x_label, figure.y_label), points
    if isinstance(figure, Scatter):
        more = {name: column for name, column in (("label", figure.labels), ("group", figure.groups)) if column}
        rows = [(*point, *(column[at] for column in more.values())) for at, point in enumerate(figure.points)]
        return (*figure.axes, *more), rows
    if isinstance(figure, Bars) and not figure.over_time:
        return ("lane", "group", figure.x_label), [(bar.lane, bar.group, bar.stop - bar.start) for bar in figure.bars]
    if isinstance(figure, Bars):
        return ("lane", "start", "stop", "label", "group"), [
            (bar.lane, bar.start, bar.stop, bar.label, bar.group) for bar in figure.bars
        ]
    if isinstance(figure, Grid):
        cells = [(x, y, value) for y, row in enumerate(figure.values) for x, value in enumerate(row)]
        return ("x", "y", figure.scale_label or "value"), [cell for cell in cells if cell[2] is not None]
    if isinstance(figure, Network):
        return ("node", "label", "group", "x", "y"), [(n.id, n.label, n.group, n.x, n.y) for n in figure.nodes]
    raise InputError("is text, not a table", place="figure", value=figure.title)


def csv_text(figure: Figure) -> str:
    r"""Return a figure as CSV, its columns named in the first line.

    >>> csv_text(Table("Sizes", ("n", "loads"), ((8, 64), (16, 300.5))))
    'n,loads\n8,64\n16,300.5\n'
    """
    return csv_of(*table(figure))


def csv_of(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV under the names of their columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def dot_text(network: Network) -> str:
    """Return a network as DOT.

    >>> from shorthaul.core.figure import Node
    >>> print(dot_text(Network("Graph", (Node("a", "in", 0, 0), Node("b", "out", 1, 0)), (("a", "b"),))))
    digraph "Graph" {
      "a" [label="in", pos="0,0"];
      "b" [label="out", pos="1,0"];
      "a" -> "b";
    }
    """
    nodes = [f'  {quoted(n.id)} [label={quoted(n.label)}, pos="{n.x:g},{n.y:g}"];' for n in network.nodes]
    edges = [f"  {quoted(source)} -> {quoted(target)};" for source, target in network.edges]
    return "\n".join((f"digraph {quoted(network.title)} {{", *nodes, *edges, "}"))


def quoted(text: str) -> str:
    """Return a name as DOT writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def timelines(figures: Sequence[Figure], which: str | int | None = None) -> list[Bars | Series]:
    """Return the timelines and counters among figures, or the one that a title or a number names.

    Raises :class:`InputError` without any.
    """
    found = [figure for figure in figures if isinstance(figure, Bars | Series) and figure.over_time]
    first = chosen(found or figures, which, (Bars, Series) if found else (), "a timeline")
    return found if which is None else [first]


def trace_document(charts: Sequence[Bars | Series]) -> dict[str, Any]:
    """Return timelines as a trace that Perfetto and Chrome's tracing page open: a process each, a thread per lane.

    The curves of a :class:`Series` are counters. One unit of the time axis becomes one microsecond; the name of a
    process says what the unit is.

    >>> from shorthaul.core.figure import Bar
    >>> trace_document([Bars("Schedule", "ticks", (Bar("core 0", 0, 5, "gauss"),))])["traceEvents"][-1]
    {'name': 'gauss', 'cat': '', 'ph': 'X', 'ts': 0, 'dur': 5, 'pid': 1, 'tid': 1}
    """
    events: list[dict[str, Any]] = []
    for process, chart in enumerate(charts, 1):
        named = {"name": f"{chart.title} ({chart.x_label})"}
        events.append({"name": "process_name", "ph": "M", "pid": process, "tid": 0, "args": named})
        events += _counters(chart, process) if isinstance(chart, Series) else _intervals(chart, process)
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _intervals(chart: Bars, process: int) -> Iterator[dict[str, Any]]:
    lanes = {lane: at for at, lane in enumerate(dict.fromkeys(bar.lane for bar in chart.bars), 1)}
    for lane, thread in lanes.items():
        yield {"name": "thread_name", "ph": "M", "pid": process, "tid": thread, "args": {"name": lane}}
    for bar in chart.bars:
        place = {"pid": process, "tid": lanes[bar.lane]}
        name = bar.label or bar.group or bar.lane
        yield {"name": name, "cat": bar.group, "ph": "X", "ts": bar.start, "dur": bar.stop - bar.start, **place}


def _counters(chart: Series, process: int) -> Iterator[dict[str, Any]]:
    for line in chart.lines:
        for x, y in zip(line.x, line.y, strict=True):
            yield {"name": line.name, "ph": "C", "ts": x, "pid": process, "args": {chart.y_label: y}}


def write_figure(figures: Sequence[Figure], path: Path, which: str | None = None) -> str:
    """Write a figure in the format that the suffix of ``path`` names; say what was written.

    ``.csv`` is a table, ``.dot`` a graph, ``.svg`` a drawing, ``.json`` a trace of all timelines. Raises
    :class:`InputError`.
    """
    suffix = path.suffix.lower()
    if suffix in {"", ".csv"}:
        rows = chosen(figures, which, TABULAR, "a table")
        write_text(path, csv_text(rows))
        return str(rows.title)
    if suffix == ".dot":
        network = chosen(figures, which, (Network,), "a graph")
        write_text(path, dot_text(network) + "\n")
        return str(network.title)
    if suffix == ".svg":
        drawn = chosen(figures, which, DRAWN, "a drawing")
        write_text(path, svg_file(drawn))
        return str(drawn.title)
    charts = timelines(figures, which)
    save_json(path, trace_document(charts), indent=None)
    first, last = charts[0].title, charts[-1].title
    return first if len(charts) == 1 else f"{len(charts):,} timelines, {first} to {last}"
