"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypedDict

from shorthaul.core.search import Search
from shorthaul.spatial.options import BoundOptions, CheckOptions, LcaOptions, PlanOptions, SweepOptions, TreefixOptions


class BoundKeywords(TypedDict, total=False):
    """The keywords of ``bound``."""

    order: Literal["auto", "centred", "light-first", "heavy-first", "dfs", "bfs", "random"]
    curve: Literal["auto", "hilbert", "gilbert", "z", "peano", "h-index", "snake", "row-major"]
    grid: str | tuple[int, int] | None
    machine: str | PathLike[str] | None
    per_processor: int | None
    vertex_bytes: int
    forest: bool
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    search: Search | None
    options: BoundOptions | None


class CheckKeywords(TypedDict, total=False):
    """The keywords of ``check``."""

    bound: str | PathLike[str] | None
    machine: str | PathLike[str] | None
    vertex_bytes: int
    table: str | PathLike[str] | None
    routes: str | PathLike[str] | None
    csl: str | PathLike[str] | None
    forest: bool
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    search: Search | None
    options: CheckOptions | None


class LcaKeywords(TypedDict, total=False):
    """The keywords of ``lca``."""

    order: Literal["auto", "centred", "light-first", "heavy-first", "dfs", "bfs", "random"]
    curve: Literal["auto", "hilbert", "gilbert", "z", "peano", "h-index", "snake", "row-major"]
    grid: str | tuple[int, int] | None
    refine: float | None
    restarts: int | None
    layout: str | PathLike[str] | None
    machine: str | PathLike[str] | None
    per_processor: int | None
    words: int
    count_links: bool
    random: int | None
    method: Literal["auto", "rake-compress", "convergecast", "heavy-path"]
    barriers: bool
    forest: bool
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    workers: int | None
    cluster: str | None
    search: Search | None
    options: LcaOptions | None


class PlanKeywords(TypedDict, total=False):
    """The keywords of ``plan``."""

    order: Literal["auto", "centred", "light-first", "heavy-first", "dfs", "bfs", "random"]
    curve: Literal["auto", "hilbert", "gilbert", "z", "peano", "h-index", "snake", "row-major"]
    grid: str | tuple[int, int] | None
    refine: float | None
    restarts: int | None
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
    forest: bool
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


class SweepKeywords(TypedDict, total=False):
    """The keywords of ``sweep``."""

    orders: str | Sequence[str]
    curves: str | Sequence[str]
    sizes: str | Sequence[int]
    treefix: bool
    methods: str | Sequence[str]
    forest: bool
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


class TreefixKeywords(TypedDict, total=False):
    """The keywords of ``treefix``."""

    order: Literal["auto", "centred", "light-first", "heavy-first", "dfs", "bfs", "random"]
    curve: Literal["auto", "hilbert", "gilbert", "z", "peano", "h-index", "snake", "row-major"]
    grid: str | tuple[int, int] | None
    refine: float | None
    restarts: int | None
    layout: str | PathLike[str] | None
    machine: str | PathLike[str] | None
    per_processor: int | None
    words: int
    count_links: bool
    op: Literal["sum", "max", "min", "product", "xor", "or", "and", "affine"]
    direction: Literal["up", "down"]
    method: Literal["auto", "rake-compress", "convergecast", "heavy-path"]
    coins: Literal["local-maximum", "random-mate"]
    lengths: bool
    csl: str | PathLike[str] | None
    forest: bool
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    workers: int | None
    cluster: str | None
    search: Search | None
    options: TreefixOptions | None
