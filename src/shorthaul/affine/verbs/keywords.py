"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from shorthaul.affine.options import BoundOptions, CdagOptions, CheckOptions, CodeOptions, PlanOptions, SweepOptions
from shorthaul.core.search import Search
from shorthaul.core.searching.keywords import SearchKeywords, TaskPlanSearchKeywords, TaskSearchKeywords


class MachineKeywords(TypedDict, total=False):
    """What verbs with ``MachineOptions`` take."""

    machine: str | PathLike[str] | None
    machine_level: str | None


class BoundKeywords(MachineKeywords, TaskPlanSearchKeywords, total=False):
    """The keywords of ``bound``."""

    function: str | None
    profile: Literal["best", "iolb"]
    size: str | Mapping[str, int] | None
    level: str | Sequence[int] | None
    small: str | Sequence[str] | None
    format: Literal["text", "latex", "sympy"]
    proof: bool
    upper: bool
    reassociate: bool
    one_branch: bool
    search: Search | None
    options: BoundOptions | None


class CdagKeywords(TypedDict, total=False):
    """The keywords of ``cdag``."""

    function: str | None
    size: str | Mapping[str, int] | None
    search: Search | None
    options: CdagOptions | None


class CheckKeywords(MachineKeywords, SearchKeywords, total=False):
    """The keywords of ``check``."""

    function: str | None
    profile: Literal["best", "iolb"]
    size: str | Mapping[str, int] | None
    bound: str | PathLike[str] | None
    reassociate: bool
    search: Search | None
    options: CheckOptions | None


class CodeKeywords(MachineKeywords, SearchKeywords, total=False):
    """The keywords of ``code``."""

    function: str | None
    profile: Literal["best", "iolb"]
    size: str | Mapping[str, int] | None
    level: str | Sequence[int] | None
    search: Search | None
    options: CodeOptions | None


class PlanKeywords(MachineKeywords, TaskPlanSearchKeywords, total=False):
    """The keywords of ``plan``."""

    function: str | None
    profile: Literal["best", "iolb"]
    size: str | Mapping[str, int] | None
    level: str | Sequence[int] | None
    evaluations: int | None
    search: Search | None
    options: PlanOptions | None


class SweepKeywords(MachineKeywords, TaskSearchKeywords, total=False):
    """The keywords of ``sweep``."""

    function: str | None
    profile: Literal["best", "iolb"]
    size: str | Mapping[str, int] | None
    least: int
    most: int
    points: int
    balance: float | None
    unit: Literal["words", "bytes"]
    journal: str | PathLike[str] | None
    resume: str | PathLike[str] | None
    search: Search | None
    options: SweepOptions | None
