"""Options of the verbs of the tensor engine."""

from __future__ import annotations

from dataclasses import dataclass

from shorthaul.core.options import option, validate

RULE_NAMES = ("spec", "contest", "contest-loose")
_RULES_HELP = "The paper as written, the contest's final rules, or those before its rule on fused prologues."


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """Options of ``bound`` and ``run``."""

    rules: str = option("spec", _RULES_HELP, choices=RULE_NAMES)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True)
class CheckOptions(RuleOptions):
    """Options of ``check``."""

    bound: str | None = option(None, "A result document: the certificate of its bound is verified.")


@dataclass(frozen=True, slots=True)
class PlanOptions(RuleOptions):
    """Options of ``plan``."""

    restarts: int = option(
        4,
        "Annealings, each from a seed of its own; with a time limit alone, one per core at least.",
        least=1,
        most=10_000,
        free=True,
    )


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """Options of ``sweep``."""

    over: str = option("capacity", "What is varied.", choices=("capacity", "bandwidth"))
    least: float | None = option(None, "The smallest amount (default: a quarter of the machine's).", least=1e-9)
    most: float | None = option(None, "The largest amount (default: four times the machine's).", most=1e15)
    points: int = option(9, "How many amounts, evenly spaced on a logarithmic scale.", least=1, most=1000)
    rules: str = option("spec", _RULES_HELP, choices=RULE_NAMES)

    def __post_init__(self) -> None:
        validate(self)
