"""Options of the verbs of the tensor engine."""

from __future__ import annotations

from dataclasses import dataclass

from shorthaul.core.options import option, validate

RULE_NAMES = ("spec", "contest")


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options of ``plan``, ``bound``, ``check`` and ``run``."""

    rules: str = option("spec", "The paper as written, or the contest's final rules.", choices=RULE_NAMES)

    def __post_init__(self) -> None:
        validate(self)
