"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Literal, TypedDict

from shorthaul.core.search import Search
from shorthaul.tensor.options import CheckOptions, PlanOptions, RuleOptions, RunOptions, SweepOptions


class BoundKeywords(TypedDict, total=False):
    """The keywords of ``bound``."""

    machine: str | PathLike[str] | None
    dim: str | Mapping[str, int] | None
    rules: Literal["spec", "contest", "contest-loose"]
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    workers: int | None
    cluster: str | None
    search: Search | None
    options: RuleOptions | None


class CheckKeywords(TypedDict, total=False):
    """The keywords of ``check``."""

    machine: str | PathLike[str] | None
    dim: str | Mapping[str, int] | None
    rules: Literal["spec", "contest", "contest-loose"]
    bound: str | PathLike[str] | None
    search: Search | None
    options: CheckOptions | None


class PlanKeywords(TypedDict, total=False):
    """The keywords of ``plan``."""

    machine: str | PathLike[str] | None
    dim: str | Mapping[str, int] | None
    rules: Literal["spec", "contest", "contest-loose"]
    restarts: int
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

    machine: str | PathLike[str] | None
    dim: str | Mapping[str, int] | None
    rules: Literal["spec", "contest", "contest-loose"]
    inputs: str | PathLike[str] | None
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    search: Search | None
    options: RunOptions | None


class SweepKeywords(TypedDict, total=False):
    """The keywords of ``sweep``."""

    machine: str | PathLike[str] | None
    dim: str | Mapping[str, int] | None
    rules: Literal["spec", "contest", "contest-loose"]
    over: Literal["capacity", "bandwidth"]
    least: float | None
    most: float | None
    points: int
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
