"""A result: plan + cost + bound + gap + status + provenance, and the JSON document that carries it."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from shorthaul.core.amounts import Bound, Cost, gap
from shorthaul.core.arguments import public
from shorthaul.core.check import CheckReport
from shorthaul.core.document import save_json, write_text
from shorthaul.core.drawing.exports import (
    TABULAR,
    chosen,
    csv_text,
    dot_text,
    table,
    timelines,
    trace_document,
    with_answer,
)
from shorthaul.core.errors import DefectError, InputError
from shorthaul.core.figure import Figure, Network, Text, figure_document
from shorthaul.core.provenance import Provenance

PlanT_co = TypeVar("PlanT_co", covariant=True)
ExtraT_co = TypeVar("ExtraT_co", bound=Mapping[str, object], covariant=True, default=Mapping[str, object])

#: The names of columns, and rows.
Rows = tuple[Sequence[str], Iterable[Sequence[Any]]]
#: The version of every result document's layout.
RESULT_VERSION = 1


class Status(StrEnum):
    """How a search or a check ended."""

    OPTIMAL = "optimal"  #: the cost meets a bound, or the search was exhaustive
    FEASIBLE = "feasible"  #: a checked plan, not proven optimal
    INFEASIBLE = "infeasible"  #: proven: no plan exists
    TIMEOUT = "timeout"  #: nothing found within the time limit
    INVALID = "invalid"  #: only from ``check``: the given plan breaks a rule


@dataclass(frozen=True, slots=True)
class PlanFile:
    """How the plan of a result is shown as JSON, written and listed, given its workload."""

    document: Callable[[Any, Any], Any]
    save: Callable[[Path, Any, Any], None]
    table: Callable[[Any, Any], Rows]
    workload: Any


@dataclass(frozen=True, slots=True, repr=False)
class Result(Generic[PlanT_co, ExtraT_co]):
    """What every verb of every engine returns.

    ``kind`` names the document (``shorthaul/tensor-result``); ``status`` is None for verbs that seek no plan
    (``bound``, ``cases``). A plan can only be carried together with a check that passed; a cost below its bound is
    refused. ``extra`` holds what one verb adds to its document, a typed dictionary; ``figures`` what the report draws.

    Raises :class:`DefectError` if the plan's check is missing or failed, or if the cost beats the bound.
    """

    kind: str
    status: Status | None
    cost: Cost | None = None
    bound: Bound | None = None
    check: CheckReport | None = None
    plan: PlanT_co | None = None
    provenance: Provenance | None = None
    extra: ExtraT_co = field(default_factory=lambda: cast("ExtraT_co", {}))
    figures: tuple[Figure, ...] = ()
    plan_file: PlanFile | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.plan is not None and self.status is not Status.INVALID and (self.check is None or not self.check.ok):
            found = "was not made" if self.check is None else "; ".join(map(str, self.check.violations[:3]))
            raise DefectError(f"{self.kind}: a plan is returned whose check {found}")
        if self.status is not Status.INVALID:
            _ = self.gap  # raises if the bound is beaten

    @property
    def gap(self) -> float | None:
        """Cost / bound - 1 for the bounded entry of the cost; None without both, or if only the bound is 0."""
        if self.cost is None or self.bound is None or self.bound.of not in self.cost:
            return None
        return gap(self.cost[self.bound.of], self.bound.value)

    def document(self, plan: Any = None) -> dict[str, Any]:
        """Return the result document; ``plan`` is the plan as JSON, made by the engine's ``formats``."""
        return {
            "kind": self.kind,
            "version": RESULT_VERSION,
            "status": None if self.status is None else self.status.value,
            "cost": None if self.cost is None else self.cost.document(),
            "bound": None if self.bound is None else self.bound.document(),
            "gap": None if self.status is Status.INVALID else self.gap,
            "check": None if self.check is None else self.check.document(),
            "plan": plan,
            "provenance": None if self.provenance is None else self.provenance.document(),
            **self.extra,
            "figures": [figure_document(figure) for figure in self.figures],
        }

    def to_dict(self) -> dict[str, object]:
        """Return the result document with the plan; a plan of more than 10^5 entries by its length and digest."""
        form = self.plan_file
        return self.document(None if form is None or self.plan is None else form.document(self.plan, form.workload))

    @public
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result document; a plan of more than 10^5 entries to ``PATH.npz``, which the document names.

        Raises :class:`InputError` if a file cannot be written.
        """
        target = _path(path)
        document = self.to_dict()
        plan, form = document["plan"], self.plan_file
        if form is not None and isinstance(plan, dict) and "digest" in plan:
            columns = target.with_name(f"{target.name}.npz")
            form.save(columns, self.plan, form.workload)
            document["plan"] = {**plan, "file": columns.name}
        save_json(target, document)

    @public
    def figure(self, which: str | int | None = None) -> Any:
        """Return a figure as a ``plotly.graph_objects.Figure``: the one with this title or number, else the first.

        Raises :class:`InputError` if there is none, or Plotly is missing. Tables and texts are no drawings: see
        :meth:`to_dataframe`.
        """
        try:
            go = import_module("plotly.graph_objects")
        except ImportError:
            cure = "pip install 'shorthaul[plotly]'; to_svg() and shorthaul.report() do without"
            raise InputError("figures to work on need Plotly", cure=cure) from None
        from shorthaul.core.drawing.plots import DRAWN, plotly_figure

        made = chosen(self.figures, which, DRAWN, "a drawing")
        return go.Figure(plotly_figure(made)).update_layout(title_text=made.title, margin_t=60)

    @public
    def to_dataframe(self, which: str | int | None = None) -> Any:
        """Return a figure as a pandas data frame: the one with this title or number, else the first.

        Where no figure has rows, the answer is one: status, costs, bound and gap.

        Raises :class:`InputError` if there is none, or pandas is missing.
        """
        try:
            frames = import_module("pandas")
        except ImportError:
            raise InputError("data frames need pandas", cure="pip install pandas") from None
        columns, rows = table(chosen(with_answer(self.figures, self.document()), which, TABULAR, "a table"))
        return frames.DataFrame(rows, columns=list(columns))

    @public
    def to_csv(self, path: str | os.PathLike[str], which: str | int | None = None) -> None:
        """Write a figure as CSV: the one with this title or number, else the first, else the answer as one row.

        Raises :class:`InputError` if there is none, or the file cannot be written.
        """
        write_text(_path(path), csv_text(chosen(with_answer(self.figures, self.document()), which, TABULAR, "a table")))

    @public
    def to_svg(self, path: str | os.PathLike[str], which: str | int | None = None) -> None:
        """Write a drawing as SVG: the one with this title or number, else the first.

        Raises :class:`InputError` if there is none, or the file cannot be written.
        """
        from shorthaul.core.drawing.plots import DRAWN
        from shorthaul.core.drawing.svg import svg_file

        write_text(_path(path), svg_file(chosen(self.figures, which, DRAWN, "a drawing")))

    @public
    def to_dot(self, path: str | os.PathLike[str], which: str | int | None = None) -> None:
        """Write a graph among the figures as DOT; raises :class:`InputError` if there is none."""
        write_text(_path(path), dot_text(chosen(self.figures, which, (Network,), "a graph")) + "\n")

    @public
    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Write all timelines as one trace for ui.perfetto.dev; raises :class:`InputError` if there is none."""
        save_json(_path(path), trace_document(timelines(self.figures)), indent=None)

    def amounts(self) -> dict[str, float]:
        """Return the cost by what it is called; of a front, the least of each entry, which no one point need have."""
        several = len(getattr(self.plan, "front", ())) > 1
        return {f"least {name}" if several else name: amount for name, amount in (self.cost or {}).items()}

    def __repr__(self) -> str:
        parts = [] if self.status is None else [self.status.value]
        parts += [f"{name} {amount:g}" for name, amount in self.amounts().items()]
        if self.bound is not None:
            parts.append(f"bound on {self.bound.of} {_known(self.bound.value, 'g')}({self.bound.method})")
        if self.gap is not None:
            parts.append(f"gap {self.gap:.2%}")
        return f"<{self.kind.removeprefix('shorthaul/')}: {', '.join(parts) or 'no plan'}>"

    def _repr_html_(self) -> str:
        from shorthaul.core.drawing.formulas import typeset
        from shorthaul.core.drawing.svg import svg_text

        rows = [("status", "" if self.status is None else self.status.value)]
        rows += [(name, f"{amount:,.10g}") for name, amount in self.amounts().items()]
        if self.bound is not None:
            known = _known(self.bound.value, ",.10g")
            rows.append((f"bound on {self.bound.of}", f"{known}({self.bound.method})"))
        if self.gap is not None:
            rows.append(("gap", f"{self.gap:.2%}"))
        if self.check is not None:
            rows.append(("check", "passed" if self.check.ok else f"{len(self.check.violations):,} violations"))
        cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        texts = (figure for figure in self.figures if isinstance(figure, Text) and not figure.point)
        formulas = "".join(typeset(formula) for text in texts for formula in text.formulas)
        drawings = (drawing for figure in self.figures if (drawing := svg_text(figure)) is not None)
        return f"<table><caption>{html.escape(self.kind)}</caption>{cells}</table>{formulas}{next(drawings, '')}"


def _known(value: float, form: str) -> str:
    """Return a number and a blank; nothing for the value of a formula whose sizes are not given."""
    return "" if math.isnan(value) else f"{value:{form}} "


def _path(path: str | os.PathLike[str]) -> Path:
    return Path(os.fsdecode(path))
