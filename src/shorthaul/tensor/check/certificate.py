"""The certificate of a bound, verified: for no subgraph are its dual prices above its least latency.

See :mod:`shorthaul.tensor.check.column_floor` for the latency. Shares no code with the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError
from shorthaul.tensor.check.column_floor import cheaper
from shorthaul.tensor.check.group_boxes import favoured_by_box
from shorthaul.tensor.check.group_pricing import Groups, Prices, TooManyError
from shorthaul.tensor.check.slices import Column
from shorthaul.tensor.model import Problem, Rules

_Row = TypeVar("_Row")

#: States, and groups in the making, above which a certificate is not verified; groups above which boxes judge them.
_MOST_GROUPS: Final = 200_000
_MANY_GROUPS: Final = 20_000
#: Prices may exceed a latency, and the bound what they add up to, by this part: rounding.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Certificate:
    """Prices of what every plan must do: cover operators, link takers to makers, hand over what is found resident.

    ``order``, takers before makers, is one in which groups have few states; where there is none, the checker finds one.
    """

    value: float
    cover: Mapping[int, float]
    link: Mapping[tuple[int, int], float]
    hand_over: Mapping[int, float]
    order: tuple[int, ...] | None = None


def certificate_of(problem: Problem, bound: Mapping[str, Any], place: str) -> Certificate:
    """Return the certificate in the ``bound`` object of a result document; raises :class:`InputError`."""
    given = bound.get("certificate")
    if not isinstance(given, dict):
        raise InputError("holds no certificate", place=f"{place}.certificate", allowed="a bound of a linear program")
    operators, tensors = range(len(problem.operators)), range(len(problem.tensors))
    cover = _table(given, "cover", (operators,), place)
    link = _table(given, "link", (operators, tensors), place)
    hand_over = _table(given, "hand_over", (tensors,), place)
    for operator, tensor in link:
        if tensor not in problem.operators[operator].inputs or problem.producer[tensor] is None:
            raise InputError(
                "is no tensor that the operator takes from another", place=f"{place}.certificate.link", value=tensor
            )
    value = bound.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError("must be a number", place=f"{place}.value", value=value)
    by_operator = {operator: price for (operator,), price in cover.items()}
    by_tensor = {tensor: price for (tensor,), price in hand_over.items()}
    return Certificate(float(value), by_operator, link, by_tensor, _order(problem, given.get("order"), place))


def _order(problem: Problem, given: object, place: str) -> tuple[int, ...] | None:
    if given is None:
        return None
    where = f"{place}.certificate.order"
    if not isinstance(given, list) or any(isinstance(item, bool) or not isinstance(item, int) for item in given):
        raise InputError("must be a list of operators", place=where, value=given)
    if sorted(given) != list(range(len(problem.operators))):
        raise InputError("must hold every operator once", place=where, allowed=f"0 to {len(problem.operators) - 1}")
    turn = {operator: number for number, operator in enumerate(given)}
    for operator, number in turn.items():
        if any(turn[taker] > number for taker in problem.consumers[problem.operators[operator].output]):
            raise InputError("must come after all operators that take its output", place=where, value=operator)
    return tuple(given)


def _table(given: dict[str, Any], name: str, ranges: tuple[range, ...], place: str) -> dict[Any, float]:
    rows = given.get(name)
    where = f"{place}.certificate.{name}"
    if not isinstance(rows, list):
        raise InputError("must be a list", place=where, value=rows)
    found: dict[Any, float] = {}
    for number, row in enumerate(rows):
        here = f"{where}[{number}]"
        if not isinstance(row, list) or len(row) != len(ranges) + 1:
            raise InputError("must be a list of numbers and a price", place=here, value=row)
        *key, price = row
        if any(isinstance(k, bool) or not isinstance(k, int) or k not in r for k, r in zip(key, ranges, strict=True)):
            raise InputError("is not in the problem", place=here, value=key)
        is_number = isinstance(price, int | float) and not isinstance(price, bool)
        if not is_number or not math.isfinite(price) or price < 0:
            raise InputError("must be a price from 0", place=here, value=price)
        if tuple(key) in found:
            raise InputError("is priced twice", place=here, value=key)
        found[tuple(key)] = float(price)
    return found


def verify(problem: Problem, rules: Rules, certificate: Certificate) -> list[Violation]:
    """Return what is wrong with a certificate: none, and its value bounds the latency of every plan from below.

    Raises :class:`InputError` under rules that it does not apply to.
    """
    if rules.stores_shared or rules.retains_inputs or not rules.granularity_is_native:
        raise InputError("has no certificates", place="--rules", value=rules.name, allowed="contest or contest-loose")
    total = math.fsum([*certificate.cover.values(), *certificate.link.values()])
    if certificate.value > total * (1 + _ROUNDING):
        message = "the bound is above what its prices add up to"
        return [Violation("certificate-sum", "bound", message, certificate.value, total)]
    prices = Prices(_lowered(certificate.cover), _lowered(certificate.link), _lowered(certificate.hand_over))
    worths: dict[Column, tuple[float, str]] = {}
    try:
        for item, worth, name in _favoured(Groups(problem, rules, prices, _MOST_GROUPS, certificate.order)):
            if worth > worths.get(item, (0.0, ""))[0]:
                worths[item] = worth, name
    except TooManyError:
        raise InputError(
            "is stated, not verified: the graph has more groups of operators than are looked at",
            place="bound.certificate",
        ) from None
    for item, (worth, name) in worths.items():
        size = cheaper(problem, rules, item, worth)
        if size is not None:
            message = f"its prices, {worth:.12g}, may exceed its latency at granularity {list(size)}"
            return [Violation("certificate-price", name, message)]
    return []


def _lowered(prices: Mapping[_Row, float]) -> dict[_Row, float]:
    return {row: price * (1 - _ROUNDING) for row, price in prices.items()}


def _favoured(groups: Groups) -> Iterable[tuple[Column, float, str]]:
    """Return every column whose prices may exceed its latency, with what they add up to and its operators."""
    try:
        return list(groups.favoured(_MANY_GROUPS))
    except TooManyError:
        return favoured_by_box(groups, _MOST_GROUPS)
