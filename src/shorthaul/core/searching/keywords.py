"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations

from os import PathLike
from typing import TypedDict


class SearchKeywords(TypedDict, total=False):
    """What verbs with ``SearchOptions`` take."""

    effort: float | None
    time_limit: float | None
    seed: int
    memory_limit: str | None


class TaskSearchKeywords(SearchKeywords, total=False):
    """What verbs with ``TaskSearchOptions`` take."""

    workers: int | None
    cluster: str | None


class TaskPlanSearchKeywords(TaskSearchKeywords, total=False):
    """What verbs with ``TaskPlanSearchOptions`` take."""

    journal: str | PathLike[str] | None
    resume: str | PathLike[str] | None
