"""Results as short tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shorthaul.core.result import Result

#: Violations printed for people; the document holds them all.
_MOST_VIOLATIONS = 200


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let the command line decide what it means that the reader went away; Rich would end the program."""
        raise BrokenPipeError


def console(file: TextIO) -> Console:
    """Return a console on ``file``; without a terminal, lines are as long as they need to be."""
    return _Console(file=file, highlight=False, width=None if file.isatty() else 200)


def amount(value: float | None) -> str:
    """Return a number for people: thousands separated, six significant digits.

    >>> amount(1234567.0), amount(0.25), amount(2**53 + 1), amount(None)
    ('1,234,567', '0.25', '9,007,199,254,740,993', '-')
    """
    try:
        if value is None or math.isnan(value):
            return "-"
    except OverflowError:  # a whole number of a file, beyond all floating-point ones
        return "beyond 1e308"
    if float(value).is_integer() and abs(value) < 1e21:
        return f"{int(value):,}"
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.1f}"


def entries(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> list[list[Any]]:
    """Return the entries ``names`` of every row, None where it has none."""
    return [[row.get(name) for name in names] for row in rows]


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, file: TextIO, title: str = "") -> None:
    """Print rows under named columns; numbers are right-aligned."""
    body = [list(row) for row in rows]
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = all(_is_number(row[index]) for row in body)
        table.add_column(column, justify="right" if numeric and body else "left", overflow="fold")
    for row in body:
        cells = (amount(cell) if _is_number(cell) else str(cell) for cell in row)
        table.add_row(*(escape(cell) for cell in cells))
    console(file).print(table)


def _is_number(cell: Any) -> bool:
    return cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool))


def print_summary(result: Result[Any], *, file: TextIO) -> None:
    """Print cost, bound, gap, status, check and time of ``result`` as a two-column table."""
    out = console(file)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in _summary(result):
        table.add_row(name, escape(text))
    out.print(table)
    if result.check is not None:
        for violation in result.check.violations[:_MOST_VIOLATIONS]:
            out.print(f"  violation: {escape(str(violation))}", soft_wrap=True)
        hidden = len(result.check.violations) - _MOST_VIOLATIONS
        if hidden > 0:
            out.print(f"  ... and {hidden} more")
        for remark in result.check.remarks[:_MOST_VIOLATIONS]:
            out.print(f"  remark: {escape(remark)}", soft_wrap=True)


def _summary(result: Result[Any]) -> list[tuple[str, str]]:
    rows = [] if result.status is None else [("status", result.status.value)]
    rows += [(name, amount(value)) for name, value in result.amounts().items()]
    if result.bound is not None:
        rows.append((f"bound on {result.bound.of}", f"{amount(result.bound.value)}  ({result.bound.method})"))
    if result.cost is not None and result.bound is not None and result.status != "invalid":
        rows.append(("gap", "-" if result.gap is None else f"{result.gap:.2%}"))
    if result.check is not None:
        count = len(result.check.violations)
        rows.append(("check", "passed" if result.check.ok else f"{count} violation{'s' if count > 1 else ''}"))
    if result.provenance is not None:
        interrupted = "  (interrupted)" if result.provenance.interrupted else ""
        rows.append(("time", f"{result.provenance.wall_time_s:.2f} s{interrupted}"))
    return rows
