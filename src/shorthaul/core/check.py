"""What an independent replay of a plan reports."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from shorthaul.core.amounts import Cost
from shorthaul.core.arguments import fields_checked


@dataclass(frozen=True, slots=True)
@fields_checked
class Violation:
    """One rule that a plan breaks.

    ``rule`` is a short stable name (``over-capacity``), ``place`` says where in the plan, ``message`` what happens
    there; ``required`` and ``available`` carry the two amounts that do not fit, where the rule has them.
    """

    rule: str
    place: str
    message: str
    required: float | None = None
    available: float | None = None

    def __str__(self) -> str:
        amounts = ""
        if self.required is not None and self.available is not None:
            amounts = f" (required {self.required:g}, available {self.available:g})"
        return f"{self.place}: {self.message}{amounts} [{self.rule}]"

    def document(self) -> dict[str, Any]:
        """Return the violation as the JSON object that result documents hold."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
@fields_checked
class CheckReport:
    """Every violation a replay found, and the cost as the replay sees it (None where the plan cannot be replayed).

    ``remarks`` are findings that do not make a plan wrong, such as a claimed number that differs from the replay's.
    """

    violations: tuple[Violation, ...] = ()
    cost: Cost | None = None
    remarks: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True if the plan breaks no rule."""
        return not self.violations

    def document(self) -> dict[str, Any]:
        """Return the report as the ``check`` object of a result document."""
        return {
            "ok": self.ok,
            "violations": [violation.document() for violation in self.violations],
            "remarks": list(self.remarks),
            **self.details,
        }
