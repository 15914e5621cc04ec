"""The roofline over results of several engines: how fast a machine can run what was planned, and what was possible.

A plan that moves Q for W operations has the intensity W / Q; a machine of this peak and bandwidth runs it at no more
than min(peak, bandwidth * W / Q) (Williams, Waterman, Patterson 2009). The lower bound on Q gives the highest
intensity that any plan can have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.core.figure import Figure, Line, Series, Table

#: By kind of result: the entry of its cost that counts what is moved.
_MOVED: Final = {
    "shorthaul/affine-result": "loads_words",
    "shorthaul/pebble-result": "traffic",
    "shorthaul/tensor-result": "traffic",
}


@dataclass(frozen=True, slots=True)
class Point:
    """One result on the roofline: operations, what its plan moves (None without one), and what any plan moves."""

    name: str
    operations: float
    moved: float | None
    least: float | None


def roofline(
    documents: Sequence[Mapping[str, Any]], *, names: Sequence[str], peak: float, bandwidth: float
) -> tuple[Figure, ...]:
    """Return the roofline of a machine with the results that count operations and traffic on it, and their table.

    ``peak`` is in operations, ``bandwidth`` in the results' own unit of data (words, elements, weights), both per the
    same unit of time. Raises :class:`InputError` if one of them is no amount, or no result counts its operations.
    """
    for flag, value in (("--peak", peak), ("--bandwidth", bandwidth)):
        if not 0 < value < float("inf"):
            raise InputError("is out of range", place=flag, value=value, allowed="numbers above 0")
    points = [
        point for document, name in zip(documents, names, strict=True) if (point := _point(document, name)) is not None
    ]
    if not points:
        raise InputError(
            "no result counts its operations and what it moves",
            place="--peak",
            value=", ".join(sorted({str(document.get("kind")) for document in documents})),
            allowed="results of affine plan or bound with --size, pebble plan, tensor plan or check",
        )
    return _curve(points, peak, bandwidth), _table(points, peak, bandwidth)


def _point(document: Mapping[str, Any], name: str) -> Point | None:
    """Return the place of a result, None if it does not count its operations or what it moves."""
    amount = _MOVED.get(str(document.get("kind")))
    operations = document.get("operations")
    if amount is None or not isinstance(operations, int | float) or operations <= 0:
        return None
    moved, bound = (document.get("cost") or {}).get(amount), document.get("bound") or {}
    least = bound.get("value") if bound.get("of") == amount else None
    moved, least = (value if value is not None and value > 0 else None for value in (moved, least))
    if moved is None and least is None:
        return None
    label = (document.get("provenance") or {}).get("input") or name
    return Point(str(label), float(operations), moved, least)


def _curve(points: Sequence[Point], peak: float, bandwidth: float) -> Series:
    def reached(intensity: float) -> float:
        return min(peak, bandwidth * intensity)

    placed = [
        (f"{point.name}: {what}", point.operations / amount)
        for point in points
        for what, amount in (("this plan", point.moved), ("limit from the bound", point.least))
        if amount
    ]
    ridge = peak / bandwidth
    ends = [ridge, *(intensity for _, intensity in placed)]
    axis = sorted({ridge, *np.geomspace(min(ends) / 4, max(ends) * 4, 65).tolist()})
    roof = Line("the machine", tuple(axis), tuple(reached(intensity) for intensity in axis))
    marks = [Line(name, (intensity,), (reached(intensity),), "points") for name, intensity in placed]
    return Series(
        title="Roofline",
        x_label="operations per unit of data moved",
        y_label="operations per unit of time",
        lines=(roof, *marks),
        log_x=True,
        log_y=True,
        limit=("peak", peak),
        note=(
            f"Bandwidth binds left of {ridge:g} operations per unit of data, the peak right of it. "
            "Every result counts data in its own unit."
        ),
    )


def _table(points: Sequence[Point], peak: float, bandwidth: float) -> Table:
    ridge = peak / bandwidth
    rows = []
    for point in points:
        intensity = point.operations / point.moved if point.moved else None
        limit = point.operations / point.least if point.least else None
        best = limit if intensity is None else intensity
        assert best is not None, "a point has a plan or a bound"
        bound_by = "bandwidth" if best < ridge else "peak"
        rows.append((point.name, point.operations, intensity, limit, min(1.0, best / ridge), bound_by))
    columns = ("input", "operations", "intensity", "its limit", "share of the peak", "bound by")
    return Table("On the roofline", columns, tuple(rows))
