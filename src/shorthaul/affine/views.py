"""Figures of the affine engine, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.figure import Figure, Line, Series, Table, Text

_MOST_POINTS = 400


def of_plan(
    loads: npt.NDArray[np.int64], program_order: npt.NDArray[np.int64], bound: float, tiling: str
) -> tuple[Figure, ...]:
    """Return the loads over time of a plan and of the program order, beside the bound on their total."""
    lines = tuple(
        Line(name, *_thinned(np.cumsum(item)))
        for name, item in (("this plan", loads), ("program order", program_order))
    )
    return (
        Series(
            "Loads over time",
            "statement instances executed",
            "loads so far [words]",
            lines,
            limit=("lower bound on the total", bound),
            note=tiling,
        ),
    )


def _thinned(values: npt.NDArray[np.int64]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    at = np.unique(np.linspace(0, max(len(values) - 1, 0), min(len(values), _MOST_POINTS)).astype(np.int64))
    return tuple((at + 1).tolist()), tuple(values[at].tolist())


def of_bound(formula: str, leading: str, proof: str) -> tuple[Figure, ...]:
    """Return formula and proof."""
    return (Text("Lower bound on the loads", f"{formula}\n\nleading term: {leading}"), Text("Proof", proof))


def of_sweep(points: Sequence[Mapping[str, Any]], balance: float | None) -> tuple[Figure, ...]:
    """Return loads over S, and the operational intensity over S against the machine's balance."""
    sizes = tuple(point["S"] for point in points)
    lines = [Line("lower bound", sizes, tuple(point["bound"] for point in points))]
    if any(point.get("loads_words") is not None for point in points):
        lines.append(Line("tiled order", sizes, tuple(point.get("loads_words") for point in points), "points"))
    first = Series("Loads over the fast memory", "S [words]", "loads [words]", tuple(lines), log_x=True, log_y=True)
    intensity = Line("limit from the bound", sizes, tuple(point["oi_limit"] for point in points))
    limit = None if balance is None else ("machine balance", balance)
    second = Series(
        "Operational intensity",
        "S [words]",
        "operations per word loaded",
        (intensity,),
        log_x=True,
        log_y=True,
        limit=limit,
        note="No schedule exceeds the limit; above the machine balance a kernel can be bound by computing.",
    )
    return first, second


def of_check(comparisons: Sequence[Mapping[str, Any]]) -> tuple[Figure, ...]:
    """Return the bound beside the loads of every comparison."""
    rows = tuple((item["sizes"], item["how"], item["bound"], item["loads"]) for item in comparisons)
    return (Table("Bound against play", ("sizes", "how it is played", "bound", "loads"), rows[:_MOST_POINTS]),)
