"""Figures of the affine engine, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import sympy
from sympy.printing.mathml import MathMLPresentationPrinter

from shorthaul.core.amounts import digits
from shorthaul.core.figure import Bar, Bars, Figure, Line, OfPoint, Series, Table, Text, by_point

_MOST_POINTS = 400
#: Characters of a formula that is typeset; a longer one fills a screen and is shown as text only.
_MOST_TYPESET = 600
_ORDER = "derived tiled order"
_OVER_MEMORY = "Loads over the fast memory"


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


class _Formulas(MathMLPresentationPrinter):  # type: ignore[misc]  # has no types
    """MathML with cases, which SymPy writes as a function of pairs."""

    def _print_Piecewise(self, expr: sympy.Piecewise) -> Any:  # noqa: N802  # SymPy looks for this name
        table = self.dom.createElement("mtable")
        for value, condition in expr.args:
            row = self.dom.createElement("mtr")
            word = self.dom.createElement("mtext")
            word.appendChild(self.dom.createTextNode("otherwise" if condition == sympy.true else "if"))
            for item in (self._print(value), word, *(() if condition == sympy.true else (self._print(condition),))):
                row.appendChild(self.dom.createElement("mtd")).appendChild(item)
            table.appendChild(row)
        brace = self.dom.createElement("mo")
        brace.appendChild(self.dom.createTextNode("{"))
        cases = self.dom.createElement("mrow")
        cases.appendChild(brace)
        cases.appendChild(table)
        return cases


def of_bound(formula: sympy.Expr, leading: sympy.Expr) -> tuple[Figure, ...]:
    """Return the formula; a report shows the proof with the bound itself."""
    formulas = tuple(
        f"<mrow><mtext>{name}</mtext><mo>{sign}</mo>{_Formulas().doprint(item)}</mrow>"
        for name, sign, item in (("loads", "≥", formula), ("leading term", "=", leading))
        if len(str(item)) <= _MOST_TYPESET
    )
    return (Text("Lower bound on the loads", f"{formula}\n\nleading term: {leading}", formulas),)


def of_memories(bound: Mapping[int, float], order: Mapping[int, float], sizes: str) -> tuple[Figure, ...]:
    """Return the bound over S at ``sizes``, and what the derived order loads at the memories asked for."""
    lines = (
        Line("lower bound", tuple(bound), tuple(bound.values()), "floor"),
        Line(_ORDER, tuple(order), tuple(order.values()), "points"),
    )
    note = f"at {sizes}" if sizes else ""
    drawn = lines if order else lines[:1]
    return (Series(_OVER_MEMORY, "S [words]", "loads [words]", drawn, log_x=True, log_y=True, note=note),)


def loads_by_line(
    lines: Mapping[str, tuple[int, str]],
    instances: Mapping[str, int],
    loads: Mapping[str, int],
    program_order: Mapping[str, int],
) -> Table:
    """Return what every statement loads in a plan and in the program's order; ``lines`` are numbers and texts."""
    total = max(1, sum(loads.values()))
    rows = [
        (*line, instances[name], loads[name], f"{loads[name] / total:.1%}", program_order[name])
        for name, line in lines.items()
    ]
    columns = ("line", "statement", "instances", "loads [words]", "share", "in program order")
    return Table("Loads by source line", columns, tuple(sorted(rows)))


def of_sweep(points: Sequence[Mapping[str, Any]], balance: float | None, unit: str) -> tuple[Figure, ...]:
    """Return loads and operational intensity over S, and with the machine's balance the roofline over S.

    ``unit`` is "words" or "bytes".
    """
    one = unit.removesuffix("s")
    loads = {"bound": "lower bound", "loads_words": _ORDER}
    if unit == "bytes":
        loads = {"bound_bytes": "lower bound", "loads_bytes": _ORDER}
    figures = [
        _over_memory(points, _OVER_MEMORY, f"loads [{unit}]", loads),
        _over_memory(
            points,
            "Operational intensity",
            f"operations per {one} loaded",
            {"oi_limit": "limit from the bound", "oi_reached": _ORDER},
            limit=None if balance is None else ("machine balance", balance),
            note="No schedule exceeds the limit; above the machine balance a kernel can be bound by computing.",
        ),
    ]
    if balance is not None:
        figures.append(
            _over_memory(
                points,
                "Roofline over the fast memory",
                "share of the machine's peak",
                {"peak_limit": "limit from the bound", "peak_reached": _ORDER},
                limit=("peak", 1.0),
                note=f"min(1, intensity / balance), the balance being {balance:g} operations per {one}.",
            )
        )
    orders = (
        (_label(point), partial(_order, str(point["order"]), point["loads_words"]))
        for point in points
        if "order" in point
    )
    return *figures, *by_point(orders)


def _label(point: Mapping[str, Any]) -> str:
    return f"S = {point['S']:,}"


def _order(text: str, loads: float) -> tuple[OfPoint]:
    """Return a derived order, a line per step."""
    return (Text("Derived order", "\n".join([*text.split("; "), f"loads at most {digits(loads)} words"])),)


def _over_memory(
    points: Sequence[Mapping[str, Any]],
    title: str,
    axis: str,
    names: Mapping[str, str],
    *,
    limit: tuple[str, float] | None = None,
    note: str = "",
) -> Series:
    at = tuple(point["S"] for point in points)
    lines = []
    for key, name in names.items():  # what an order reaches, it reaches with more memory; a limit holds with less
        style: Literal["step", "floor"] = "step" if name == _ORDER else "floor"
        lines.append(Line(name, at, tuple(point[key] for point in points), style))
    labels = tuple(map(_label, points))
    return Series(title, "S [words]", axis, tuple(lines), log_x=True, log_y=True, limit=limit, note=note, points=labels)


def of_check(comparisons: Sequence[Mapping[str, Any]]) -> tuple[Figure, ...]:
    """Return the bound beside the loads of every comparison."""
    rows = tuple((item["sizes"], item["how"], item["bound"], item["loads"]) for item in comparisons[:_MOST_POINTS])
    at = tuple(range(1, len(rows) + 1))
    lines = (
        Line("lower bound", at, tuple(row[2] for row in rows), "points"),
        Line("played", at, tuple(row[3] for row in rows), "points"),
    )
    return (
        Table("Bound against play", ("sizes", "how it is played", "bound", "loads"), rows),
        Series("Bound against play, drawn", "comparison", "loads [words]", lines),
    )


def of_checked_plan(levels: Sequence[tuple[int, float, float | None]]) -> tuple[Figure, ...]:
    """Return the loads of a plan beside their bound, for every S."""
    bars = [
        Bar(f"{name}, S = {words:,}", 0, amount, f"{amount:,.6g}", name)
        for words, bound, loads in levels
        for name, amount in (("loads", loads), ("lower bound", bound))
        if amount is not None
    ]
    return (Bars("Loads beside the bound", "words", tuple(bars), over_time=False),)
