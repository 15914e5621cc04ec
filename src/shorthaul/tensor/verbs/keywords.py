"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Literal, TypedDict

from shorthaul.core.search import Search
from shorthaul.core.searching.keywords import SearchKeywords, TaskPlanSearchKeywords, TaskSearchKeywords
from shorthaul.tensor.options import CheckOptions, PlanOptions, RuleOptions, RunOptions, SweepOptions


class MachineKeywords(TypedDict, total=False):
    """What verbs with ``MachineOptions`` take."""

    machine: str | PathLike[str] | None
    dim: str | Mapping[str, int] | None


class RuleKeywords(MachineKeywords, total=False):
    """What verbs with ``RuleOptions`` take."""

    rules: Literal["spec", "contest", "contest-loose"]


class BoundKeywords(RuleKeywords, TaskPlanSearchKeywords, total=False):
    """The keywords of ``bound``."""

    search: Search | None
    options: RuleOptions | None


class CheckKeywords(RuleKeywords, total=False):
    """The keywords of ``check``."""

    bound: str | PathLike[str] | None
    search: Search | None
    options: CheckOptions | None


class PlanKeywords(RuleKeywords, TaskPlanSearchKeywords, total=False):
    """The keywords of ``plan``."""

    restarts: int
    objective: Literal["balanced", "time", "energy"]
    search: Search | None
    options: PlanOptions | None


class RunKeywords(RuleKeywords, SearchKeywords, total=False):
    """The keywords of ``run``."""

    inputs: str | PathLike[str] | None
    search: Search | None
    options: RunOptions | None


class SweepKeywords(RuleKeywords, TaskSearchKeywords, total=False):
    """The keywords of ``sweep``."""

    over: Literal["capacity", "bandwidth"]
    least: float | None
    most: float | None
    points: int
    journal: str | PathLike[str] | None
    resume: str | PathLike[str] | None
    search: Search | None
    options: SweepOptions | None
