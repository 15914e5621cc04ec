"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from shorthaul.affine.options import BoundOptions, CdagOptions, CheckOptions, CodeOptions, PlanOptions, SweepOptions
from shorthaul.core.search import Search


class BoundKeywords(TypedDict, total=False):
    """The keywords of ``bound``."""

    machine: str | PathLike[str] | None
    machine_level: str | None
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
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    workers: int | None
    cluster: str | None
    search: Search | None
    options: BoundOptions | None


class CdagKeywords(TypedDict, total=False):
    """The keywords of ``cdag``."""

    function: str | None
    size: str | Mapping[str, int] | None
    search: Search | None
    options: CdagOptions | None


class CheckKeywords(TypedDict, total=False):
    """The keywords of ``check``."""

    machine: str | PathLike[str] | None
    machine_level: str | None
    function: str | None
    profile: Literal["best", "iolb"]
    size: str | Mapping[str, int] | None
    bound: str | PathLike[str] | None
    reassociate: bool
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    search: Search | None
    options: CheckOptions | None


class CodeKeywords(TypedDict, total=False):
    """The keywords of ``code``."""

    machine: str | PathLike[str] | None
    machine_level: str | None
    function: str | None
    profile: Literal["best", "iolb"]
    size: str | Mapping[str, int] | None
    level: str | Sequence[int] | None
    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None
    search: Search | None
    options: CodeOptions | None


class PlanKeywords(TypedDict, total=False):
    """The keywords of ``plan``."""

    machine: str | PathLike[str] | None
    machine_level: str | None
    function: str | None
    profile: Literal["best", "iolb"]
    size: str | Mapping[str, int] | None
    level: str | Sequence[int] | None
    evaluations: int | None
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

    machine: str | PathLike[str] | None
    machine_level: str | None
    function: str | None
    profile: Literal["best", "iolb"]
    size: str | Mapping[str, int] | None
    least: int
    most: int
    points: int
    balance: float | None
    unit: Literal["words", "bytes"]
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
