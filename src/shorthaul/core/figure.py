"""Figures as data: what an engine's ``views.py`` makes, a result document carries, and ``report`` draws.

Where a figure has a ``point``, it shows that point of a front or sweep. A page shows the figures of one point at a
time, chosen in a list, in a :class:`Scatter` with these ``labels``, or in a :class:`Series` with these ``points``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from shorthaul.core.errors import InputError, unknown_name

Number = int | float


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a :class:`Series`: ``y`` over ``x``, of the same length.

    A ``step`` keeps its value up to the next x (what a plan reaches, it reaches with more memory too), a ``floor``
    takes the next one at once (a bound holds with less memory too).
    """

    name: str
    x: tuple[Number, ...]
    y: tuple[Number | None, ...]
    style: Literal["line", "step", "floor", "points", "bar", "area"] = "line"


@dataclass(frozen=True, slots=True)
class Series:
    """Curves over one axis; ``limit`` draws a horizontal line (a capacity) with its name.

    ``points`` names what stands at each x of the first line. Where the axis is time (``over_time``), a trace shows
    the curves as counters.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    stacked: bool = False
    limit: tuple[str, Number] | None = None
    note: str = ""
    points: tuple[str, ...] = ()
    point: str = ""
    over_time: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One interval of :class:`Bars`: ``lane`` is occupied from ``start`` to ``stop``; ``group`` gives the colour."""

    lane: str
    start: Number
    stop: Number
    label: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Intervals on lanes over time: a Gantt chart, a timeline, a memory map; amounts where ``over_time`` is false."""

    title: str
    x_label: str
    bars: tuple[Bar, ...]
    note: str = ""
    point: str = ""
    over_time: bool = True


@dataclass(frozen=True, slots=True)
class Grid:
    """A heat map: ``values[y][x]``, None where there is nothing; ``paths`` are poly-lines drawn over it."""

    title: str
    values: tuple[tuple[Number | None, ...], ...]
    scale_label: str
    paths: tuple[tuple[tuple[Number, Number], ...], ...] = ()
    note: str = ""
    point: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a :class:`Network`; ``group`` gives the colour, ``hover`` the text under the mouse."""

    id: str
    label: str
    x: Number
    y: Number
    group: str = ""
    shape: Literal["circle", "square"] = "circle"
    hover: str = ""


@dataclass(frozen=True, slots=True)
class Network:
    """A graph with a layout; ``edges`` are pairs of node ids."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    note: str = ""
    point: str = ""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points in two or three named dimensions (a Pareto front); ``group`` gives the colour of each."""

    title: str
    axes: tuple[str, ...]
    points: tuple[tuple[Number, ...], ...]
    labels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text and numbers under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Number | None, ...], ...]
    note: str = ""
    point: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A passage of text (a proof, a listing), shown as written below its ``formulas``, which are MathML."""

    title: str
    body: str
    formulas: tuple[str, ...] = ()
    point: str = ""


#: What may be shown of one point of a front.
OfPoint = Series | Bars | Grid | Network | Table | Text
Figure = OfPoint | Scatter

#: Values in the figures of all points of a front together, at most.
_MOST_OF_POINTS = 40_000

_TYPES: dict[str, type[Any]] = {
    "series": Series,
    "bars": Bars,
    "grid": Grid,
    "network": Network,
    "scatter": Scatter,
    "table": Table,
    "text": Text,
}
_NAMES = {figure_type: name for name, figure_type in _TYPES.items()}


def by_point(points: Iterable[tuple[str, Callable[[], Iterable[OfPoint]]]]) -> tuple[OfPoint, ...]:
    """Return the figures of named points, each named after its point; of the first ones if all are too many for a page.

    >>> [figure.title for figure in by_point([("S = 4", lambda: [Text("Order", "i, j")])])]
    ['Order: S = 4']
    """
    figures: list[OfPoint] = []
    room = _MOST_OF_POINTS
    for label, make in points:
        own = [replace(figure, title=f"{figure.title}: {label}", point=label) for figure in make()]
        room -= sum(map(_size, own))
        if figures and room < 0:
            break
        figures += own
    return tuple(figures)


def _size(figure: OfPoint) -> int:
    if isinstance(figure, Series):
        return sum(len(line.x) for line in figure.lines)
    if isinstance(figure, Bars):
        return len(figure.bars)
    if isinstance(figure, Grid):
        return sum(map(len, figure.values))
    if isinstance(figure, Network):
        return len(figure.nodes) + len(figure.edges)
    return len(figure.rows) if isinstance(figure, Table) else 1


def by_argument(of: str, values: Mapping[str, Number]) -> Bars:
    """Return what every argument proves as a lower bound on ``of``, the best first.

    >>> [(bar.lane, bar.group) for bar in by_argument("traffic", {"inputs": 8, "cuts": 12}).bars]
    [('cuts', 'best'), ('inputs', 'weaker')]
    """
    best = max(values.values(), default=0)
    bars = tuple(
        Bar(name, 0, value, f"{value:,.6g}", "best" if value == best else "weaker")
        for name, value in sorted(values.items(), key=lambda item: -item[1])
    )
    return Bars("What every argument proves", f"lower bound on {of}", bars, over_time=False)


def figure_document(figure: Figure) -> dict[str, Any]:
    """Return ``figure`` as a JSON object with its type under ``figure``.

    >>> figure_document(Text("Proof", "trivial"))
    {'figure': 'text', 'title': 'Proof', 'body': 'trivial', 'formulas': (), 'point': ''}
    """
    return {"figure": _NAMES[type(figure)], **msgspec.to_builtins(figure)}


def figures_of(document: object, *, file: str | Path = "") -> tuple[Figure, ...]:
    """Return the figures of a result document; raises :class:`InputError` for anything else."""
    found = document.get("figures") if isinstance(document, Mapping) else None
    if not isinstance(found, list):
        raise InputError("is not a result document", file=file, cure="name a file that --result wrote")
    try:
        return tuple(figure_from_document(item, place=f"figures[{at}]") for at, item in enumerate(found))
    except InputError as error:
        raise error.in_file(file) from None


def figure_from_document(document: object, *, place: str = "figures") -> Figure:
    """Return the figure that ``document`` describes; raises :class:`InputError` naming the place if it is none."""
    if not isinstance(document, Mapping) or not isinstance(document.get("figure"), str):
        raise InputError("is not a figure", place=place, value=document, allowed="objects with a 'figure' type")
    name = document["figure"]
    if name not in _TYPES:
        raise unknown_name("figure type", name, _TYPES, place=f"{place}.figure")
    fields = {key: value for key, value in document.items() if key != "figure"}
    try:
        figure: Figure = msgspec.convert(fields, _TYPES[name])
    except msgspec.ValidationError as error:
        raise InputError(f"is not a {name}: {error}", place=place) from None
    return figure
