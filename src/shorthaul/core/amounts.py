"""Costs and bounds: named amounts that stand beside each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shorthaul.core.arguments import fields_checked
from shorthaul.core.errors import DefectError

#: Relative slack when a cost is compared with a bound: both are sums of floating-point numbers in some engines.
TOLERANCE = 1e-9
#: Floating-point numbers from here on are whole, and not all of the whole numbers.
_ALL_WHOLE = 2**53


def exact_amount(total: Any) -> float:
    """Return a number that is rounded no further: an int where it is whole, or too large for floats to tell all apart.

    The latter are rounded down: a plan that keeps an average of whole amounts has one that is no larger.

    >>> from fractions import Fraction
    >>> exact_amount(Fraction(2**60 + 4, 4)), exact_amount(Fraction(1, 2)), exact_amount(6.0)
    (288230376151711745, 0.5, 6)
    """
    if not math.isfinite(total):
        return float(total)
    return int(total) if total >= _ALL_WHOLE or total == int(total) else float(total)


def digits(amount: float) -> str:
    """Return an amount for people, to the last digit before the point.

    >>> digits(2**53 + 1), digits(1234.5), digits(math.inf)
    ('9,007,199,254,740,993', '1,234', 'inf')
    """
    return f"{round(amount):,}" if math.isfinite(amount) else str(amount)


class Cost(Mapping[str, float]):
    """What a plan moves or takes: amounts by name, the unit in the name.

    >>> Cost(traffic=16, loads=8, stores=8)["traffic"]
    16
    """

    __slots__ = ("_amounts",)

    def __init__(self, **amounts: float) -> None:
        self._amounts = dict(amounts)

    def __getitem__(self, name: str) -> float:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def __repr__(self) -> str:
        return f"Cost({', '.join(f'{name}={amount!r}' for name, amount in self._amounts.items())})"

    def document(self) -> dict[str, float]:
        """Return the amounts as a JSON object."""
        return dict(self._amounts)


@dataclass(frozen=True, slots=True)
@fields_checked
class Bound:
    """A proven lower bound ``value`` on the cost entry named ``of``: ``method`` names the argument, ``proof`` tells it.

    ``details`` holds what an engine adds to the ``bound`` object of its documents (a formula, the values of weaker
    bounds, ...).
    """

    of: str
    value: float
    method: str
    proof: str
    details: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the bound as the ``bound`` object of a result document."""
        return {"of": self.of, "value": self.value, "method": self.method, "proof": self.proof, **self.details}

    def is_met_by(self, cost: float) -> bool:
        """True if ``cost`` equals the bound up to rounding.

        >>> Bound("latency_s", 1.0e-9, "traffic", "").is_met_by(1.1e-9)
        False
        """
        return cost <= self.value + TOLERANCE * (abs(self.value) or 1.0)


def gap(cost: float, bound: float) -> float | None:
    """Return cost / bound - 1: 0 if both are 0, None if only the bound is.

    Raises :class:`DefectError` if the cost lies below the bound, which would make the bound false.

    >>> gap(3, 2)
    0.5
    >>> gap(0, 0)
    0.0
    """
    if cost < bound - TOLERANCE * (abs(bound) or 1.0):
        raise DefectError(
            f"a plan of cost {cost!r} beats the lower bound {bound!r}: the bound is wrong, please report this"
        )
    if bound == 0:
        return 0.0 if cost == 0 else None
    if math.isinf(bound):
        return 0.0
    return max(0.0, cost / bound - 1)
