"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Literal, TypedDict

from shorthaul.core.search import Search
from shorthaul.core.searching.keywords import SearchKeywords, TaskPlanSearchKeywords, TaskSearchKeywords
from shorthaul.dataflow.model import Platform
from shorthaul.dataflow.options import (
    BoundOptions,
    BuffersOptions,
    CheckOptions,
    CodeOptions,
    PlanOptions,
    RunOptions,
    ScheduleOptions,
    SweepOptions,
    ThroughputOptions,
)


class DecodingKeywords(TypedDict, total=False):
    """What verbs with ``Decoding`` take."""

    decoder: Literal["caps", "multistart", "modulo", "window"]
    order: Literal["inverse", "topological"]
    start: Literal["compact", "earliest"]
    capacity_rule: Literal["access", "atomic-firing"]
    mrb_consumer: Literal["first", "common-tile"]
    tolerance: float
    solver_effort: float


class BoundKeywords(TaskPlanSearchKeywords, total=False):
    """The keywords of ``bound``."""

    strategy: Literal["reference", "mrb-always", "mrb-explore"]
    machine: Platform | str | PathLike[str] | None
    search: Search | None
    options: BoundOptions | None


class BuffersKeywords(TaskPlanSearchKeywords, total=False):
    """The keywords of ``buffers``."""

    core_type: str | None
    serial: bool
    shared: bool
    unit: Literal["tokens", "bytes"]
    deadline: int | None
    search: Search | None
    options: BuffersOptions | None


class CheckKeywords(TypedDict, total=False):
    """The keywords of ``check``."""

    bound: str | PathLike[str] | None
    machine: Platform | str | PathLike[str] | None
    search: Search | None
    options: CheckOptions | None


class CodeKeywords(TypedDict, total=False):
    """The keywords of ``code``."""

    point: int
    machine: Platform | str | PathLike[str] | None
    search: Search | None
    options: CodeOptions | None


class PlanKeywords(TaskPlanSearchKeywords, total=False):
    """The keywords of ``plan``."""

    decoder: Literal["caps", "multistart", "modulo", "window"]
    order: Literal["inverse", "topological"]
    start: Literal["compact", "earliest", "evolve"]
    capacity_rule: Literal["access", "atomic-firing"]
    mrb_consumer: Literal["first", "common-tile"]
    tolerance: float
    solver_effort: float
    strategy: Literal["reference", "mrb-always", "mrb-explore"]
    polish_effort: float | None
    generations: int
    population: int
    offspring: int
    crossover: float
    deadline: int | None
    max_cost: float | None
    max_footprint: int | None
    max_latency: int | None
    latency: bool
    bind: str | Mapping[str, str] | None
    restarts: int | None
    pick: Literal["period", "footprint", "cost", "latency"] | None
    front: int
    machine: Platform | str | PathLike[str] | None
    search: Search | None
    options: PlanOptions | None


class RunKeywords(TaskSearchKeywords, total=False):
    """The keywords of ``run``."""

    point: int | None
    images: str | PathLike[str] | None
    iterations: int
    generations: int
    machine: Platform | str | PathLike[str] | None
    search: Search | None
    options: RunOptions | None


class ScheduleKeywords(DecodingKeywords, SearchKeywords, total=False):
    """The keywords of ``schedule``."""

    point: int
    chrome_trace: str | PathLike[str] | None
    journal: str | PathLike[str] | None
    resume: str | PathLike[str] | None
    machine: Platform | str | PathLike[str] | None
    search: Search | None
    options: ScheduleOptions | None


class SweepKeywords(TaskSearchKeywords, total=False):
    """The keywords of ``sweep``."""

    generations: int
    population: int
    offspring: int
    seeds: int
    decoder: Literal["caps", "multistart", "modulo", "window"]
    journal: str | PathLike[str] | None
    resume: str | PathLike[str] | None
    machine: Platform | str | PathLike[str] | None
    search: Search | None
    options: SweepOptions | None


class ThroughputKeywords(TypedDict, total=False):
    """The keywords of ``throughput``."""

    core_type: str | None
    serial: bool
    capacities: bool
    search: Search | None
    options: ThroughputOptions | None
