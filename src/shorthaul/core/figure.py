"""Figures as data: what an engine's ``views.py`` makes, a result document carries, and ``report`` draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from shorthaul.core.errors import InputError, unknown_name

Number = int | float


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a :class:`Series`: ``y`` over ``x``, of the same length."""

    name: str
    x: tuple[Number, ...]
    y: tuple[Number | None, ...]
    style: Literal["line", "step", "points", "bar", "area"] = "line"


@dataclass(frozen=True, slots=True)
class Series:
    """Curves over one axis; ``limit`` draws a horizontal line (a capacity) with its name."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    stacked: bool = False
    limit: tuple[str, Number] | None = None
    note: str = ""


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
    """Intervals on lanes over time: a Gantt chart, a timeline, a memory map.

    ``point`` is the label of the point of a front that it shows; a page shows those of one point at a time.
    """

    title: str
    x_label: str
    bars: tuple[Bar, ...]
    note: str = ""
    point: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A heat map: ``values[y][x]``, None where there is nothing; ``paths`` are poly-lines drawn over it."""

    title: str
    values: tuple[tuple[Number | None, ...], ...]
    scale_label: str
    paths: tuple[tuple[tuple[Number, Number], ...], ...] = ()
    note: str = ""


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
    """Rows of text and numbers under named columns; ``point`` as for :class:`Bars`."""

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


Figure = Series | Bars | Grid | Network | Scatter | Table | Text

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


def figure_document(figure: Figure) -> dict[str, Any]:
    """Return ``figure`` as a JSON object with its type under ``figure``.

    >>> figure_document(Text("Proof", "trivial"))
    {'figure': 'text', 'title': 'Proof', 'body': 'trivial', 'formulas': ()}
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
