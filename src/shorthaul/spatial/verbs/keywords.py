"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypedDict

from shorthaul.core.search import Search
from shorthaul.core.searching.keywords import SearchKeywords, TaskPlanSearchKeywords, TaskSearchKeywords
from shorthaul.spatial.options import BoundOptions, CheckOptions, LcaOptions, PlanOptions, SweepOptions, TreefixOptions


class PlacingKeywords(TypedDict, total=False):
    """What verbs with ``PlacingOptions`` take."""

    order: Literal["auto", "centred", "light-first", "heavy-first", "dfs", "bfs", "random"]
    curve: Literal["auto", "hilbert", "gilbert", "z", "peano", "h-index", "snake", "row-major"]
    grid: str | tuple[int, int] | None


class TreeKeywords(TypedDict, total=False):
    """What verbs with ``TreeOptions`` take."""

    forest: bool


class LayoutKeywords(PlacingKeywords, total=False):
    """What verbs with ``LayoutOptions`` take."""

    refine: float | None
    restarts: int | None


class MachineKeywords(LayoutKeywords, total=False):
    """What verbs with ``MachineOptions`` take."""

    machine: str | PathLike[str] | None
    per_processor: int | None
    words: int
    count_links: bool


class BoundKeywords(PlacingKeywords, TreeKeywords, SearchKeywords, total=False):
    """The keywords of ``bound``."""

    machine: str | PathLike[str] | None
    per_processor: int | None
    vertex_bytes: int
    search: Search | None
    options: BoundOptions | None


class CheckKeywords(TreeKeywords, SearchKeywords, total=False):
    """The keywords of ``check``."""

    bound: str | PathLike[str] | None
    machine: str | PathLike[str] | None
    vertex_bytes: int
    table: str | PathLike[str] | None
    routes: str | PathLike[str] | None
    csl: str | PathLike[str] | None
    search: Search | None
    options: CheckOptions | None


class LcaKeywords(MachineKeywords, TreeKeywords, TaskSearchKeywords, total=False):
    """The keywords of ``lca``."""

    random: int | None
    method: Literal["auto", "convergecast", "rake-compress", "heavy-path"]
    barriers: bool
    search: Search | None
    options: LcaOptions | None


class PlanKeywords(LayoutKeywords, TreeKeywords, TaskPlanSearchKeywords, total=False):
    """The keywords of ``plan``."""

    objective: Literal["energy", "distance", "link-load"]
    exact: bool
    baselines: bool
    create: bool
    machine: str | PathLike[str] | None
    per_processor: int | None
    vertex_bytes: int
    table: str | PathLike[str] | None
    routes: str | PathLike[str] | None
    csl: str | PathLike[str] | None
    search: Search | None
    options: PlanOptions | None


class SweepKeywords(TreeKeywords, TaskSearchKeywords, total=False):
    """The keywords of ``sweep``."""

    orders: str | Sequence[str]
    curves: str | Sequence[str]
    sizes: str | Sequence[int]
    treefix: bool
    methods: str | Sequence[str]
    journal: str | PathLike[str] | None
    resume: str | PathLike[str] | None
    search: Search | None
    options: SweepOptions | None


class TreefixKeywords(MachineKeywords, TreeKeywords, TaskSearchKeywords, total=False):
    """The keywords of ``treefix``."""

    op: Literal["sum", "max", "min", "product", "xor", "or", "and", "affine"]
    direction: Literal["up", "down"]
    method: Literal["auto", "convergecast", "rake-compress", "heavy-path"]
    coins: Literal["local-maximum", "random-mate"]
    lengths: bool
    csl: str | PathLike[str] | None
    search: Search | None
    options: TreefixOptions | None
