"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypedDict

from shorthaul.core.search import Search
from shorthaul.pebble.options import (
    BoundOptions,
    CheckOptions,
    CodeOptions,
    MemoryOptions,
    PlanOptions,
    RunOptions,
    SweepOptions,
)


class BoundKeywords(TypedDict, total=False):
    """The keywords of ``bound``."""

    load_price: str | float
    store_price: str | float
    order: Literal["free", "given"]
    partial: bool
    in_place: bool
    machine: str | PathLike[str] | None
    machine_level: str | None
    weight_bytes: float | None
    budget: int | None
    recompute: bool
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    workers: int | None
    cluster: str | None
    search: Search | None
    options: BoundOptions | None


class CheckKeywords(TypedDict, total=False):
    """The keywords of ``check``."""

    load_price: str | float
    store_price: str | float
    order: Literal["free", "given"]
    partial: bool
    in_place: bool
    machine: str | PathLike[str] | None
    machine_level: str | None
    weight_bytes: float | None
    budget: int | None
    recompute: bool
    bound: str | PathLike[str] | None
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    search: Search | None
    options: CheckOptions | None


class CodeKeywords(TypedDict, total=False):
    """The keywords of ``code``."""

    load_price: str | float
    store_price: str | float
    order: Literal["free", "given"]
    partial: bool
    in_place: bool
    machine: str | PathLike[str] | None
    machine_level: str | None
    weight_bytes: float | None
    budget: int | None
    method: Literal[
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
        "tiles",
        "beam",
        "local-search",
        "exact",
    ]
    recompute: bool
    format: Literal["c", "json", "csv", "dot"]
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    search: Search | None
    options: CodeOptions | None


class MemoryKeywords(TypedDict, total=False):
    """The keywords of ``memory``."""

    method: Literal[
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
        "tiles",
        "beam",
        "local-search",
        "exact",
    ]
    recompute: bool
    order: Literal["free", "given"]
    partial: bool
    in_place: bool
    capacities: str | Sequence[int] | None
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    workers: int | None
    cluster: str | None
    search: Search | None
    options: MemoryOptions | None


class PlanKeywords(TypedDict, total=False):
    """The keywords of ``plan``."""

    load_price: str | float
    store_price: str | float
    order: Literal["free", "given"]
    partial: bool
    in_place: bool
    machine: str | PathLike[str] | None
    machine_level: str | None
    weight_bytes: float | None
    budget: int | None
    method: Literal[
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
        "tiles",
        "beam",
        "local-search",
        "exact",
    ]
    recompute: bool
    restarts: int | None
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    workers: int | None
    cluster: str | None
    journal: str | PathLike[str] | None
    resume: str | PathLike[str] | None
    search: Search | None
    options: PlanOptions | None


class RunKeywords(TypedDict, total=False):
    """The keywords of ``run``."""

    load_price: str | float
    store_price: str | float
    order: Literal["free", "given"]
    partial: bool
    in_place: bool
    machine: str | PathLike[str] | None
    machine_level: str | None
    weight_bytes: float | None
    budget: int | None
    method: Literal[
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
        "tiles",
        "beam",
        "local-search",
        "exact",
    ]
    recompute: bool
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    search: Search | None
    options: RunOptions | None


class SweepKeywords(TypedDict, total=False):
    """The keywords of ``sweep``."""

    load_price: str | float
    store_price: str | float
    order: Literal["free", "given"]
    partial: bool
    in_place: bool
    machine: str | PathLike[str] | None
    machine_level: str | None
    weight_bytes: float | None
    budgets: str | Sequence[int] | None
    points: int
    method: Literal[
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
        "tiles",
        "beam",
        "local-search",
        "exact",
    ]
    recompute: bool
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    workers: int | None
    cluster: str | None
    journal: str | PathLike[str] | None
    resume: str | PathLike[str] | None
    search: Search | None
    options: SweepOptions | None
