"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypedDict

from shorthaul.core.search import Search
from shorthaul.core.searching.keywords import SearchKeywords, TaskPlanSearchKeywords, TaskSearchKeywords
from shorthaul.pebble.options import (
    BoundOptions,
    CheckOptions,
    CodeOptions,
    MemoryOptions,
    PlanOptions,
    RunOptions,
    SweepOptions,
)

Method = Literal[
    "auto",
    "dwt",
    "tree",
    "tree-cuts",
    "memory-states",
    "mvm-tiling",
    "layer-by-layer",
    "layer-by-layer-freeing",
    "belady",
    "liu",
    "list-scheduling",
    "bisection",
    "tiles",
    "beam",
    "local-search",
    "exact",
]


class PricedKeywords(TypedDict, total=False):
    """What verbs with ``PricedOptions`` take."""

    load_price: str | float
    store_price: str | float
    order: Literal["free", "given"]
    partial: bool
    in_place: bool
    machine: str | PathLike[str] | None
    machine_level: str | None
    weight_bytes: float | None


class BudgetKeywords(PricedKeywords, total=False):
    """What verbs with ``BudgetOptions`` take."""

    budget: int | None


class BoundKeywords(BudgetKeywords, TaskPlanSearchKeywords, total=False):
    """The keywords of ``bound``."""

    recompute: bool
    search: Search | None
    options: BoundOptions | None


class CheckKeywords(PricedKeywords, SearchKeywords, total=False):
    """The keywords of ``check``."""

    budget: int | None
    recompute: bool
    bound: str | PathLike[str] | None
    search: Search | None
    options: CheckOptions | None


class CodeKeywords(BudgetKeywords, SearchKeywords, total=False):
    """The keywords of ``code``."""

    method: Method
    recompute: bool
    format: Literal["c", "json", "csv", "dot"] | None
    search: Search | None
    options: CodeOptions | None


class MemoryKeywords(TaskPlanSearchKeywords, total=False):
    """The keywords of ``memory``."""

    method: Method
    recompute: bool
    order: Literal["free", "given"]
    partial: bool
    in_place: bool
    capacities: str | Sequence[int] | None
    search: Search | None
    options: MemoryOptions | None


class PlanKeywords(BudgetKeywords, TaskPlanSearchKeywords, total=False):
    """The keywords of ``plan``."""

    method: Method
    recompute: bool
    restarts: int | None
    search: Search | None
    options: PlanOptions | None


class RunKeywords(BudgetKeywords, SearchKeywords, total=False):
    """The keywords of ``run``."""

    method: Method
    recompute: bool
    search: Search | None
    options: RunOptions | None


class SweepKeywords(PricedKeywords, TaskSearchKeywords, total=False):
    """The keywords of ``sweep``."""

    budgets: str | Sequence[int] | None
    points: int
    method: Method
    recompute: bool
    journal: str | PathLike[str] | None
    resume: str | PathLike[str] | None
    search: Search | None
    options: SweepOptions | None
