"""The certificate of a bound, verified: for no subgraph are its dual prices above its least latency.

See :mod:`shorthaul.tensor.check.column_floor` for the latency. Shares no code with the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError
from shorthaul.tensor.check.column_floor import TooManyError, cheaper
from shorthaul.tensor.check.groups.by_box import favoured_by_box
from shorthaul.tensor.check.groups.history import NO_TURNS, Deed, Turns
from shorthaul.tensor.check.groups.parts import NO_PARTS, Demand, Parts
from shorthaul.tensor.check.groups.pricing import Groups, Prices
from shorthaul.tensor.check.slices import STEP, TILE, WHOLE, Column
from shorthaul.tensor.model import Problem, Rules, Tensor

_Row = TypeVar("_Row")

#: States, and groups in the making, above which a certificate is not verified; groups above which boxes judge them.
_MOST_GROUPS: Final = 200_000
_MANY_GROUPS: Final = 20_000
#: Groups in the making that go on from each state at first: what is much too dear is found among them.
_WIDTH: Final = 4
#: Prices may exceed a latency, and the bound what they add up to, by this part: rounding.
_ROUNDING: Final = 1e-9
#: What a certificate may have; the last of these only where groups are cut.
_ORDERED: Final = {"cover", "link", "hand_over", "order", "support", "succession"}
_CUT: Final = {"cuts", "weight", "taking"}
#: What an axis of a slice follows, as certificates name it.
_AXES: Final = {"full": WHOLE, "tile": TILE, "step": STEP}


@dataclass(frozen=True, slots=True)
class Certificate:
    """Prices of what every plan must do: cover operators, link takers to makers, hand over what is found resident.

    ``order``, takers before makers, is one in which groups have few states; without one it is the problem's, backwards.
    """

    value: float
    cover: Mapping[int, float]
    link: Mapping[tuple[int, int], float]
    hand_over: Mapping[int, float]
    order: tuple[int, ...] | None = None
    parts: Parts = NO_PARTS
    turns: Turns = NO_TURNS


def certificate_of(problem: Problem, bound: Mapping[str, Any], place: str) -> Certificate:
    """Return the certificate in the ``bound`` object of a result document; raises :class:`InputError`."""
    given = bound.get("certificate")
    if not isinstance(given, dict):
        raise InputError("holds no certificate", place=f"{place}.certificate", allowed="a bound of a linear program")
    unknown = sorted({*given} - _ORDERED - (_CUT if "cuts" in given else set()))
    if unknown:
        raise InputError("says nothing in a certificate", place=f"{place}.certificate.{unknown[0]}")
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
    order = _order(problem, given.get("order"), place)
    parts, turns = _parts(problem, given, place), _turns(problem, given, f"{place}.certificate")
    if parts.cuts and (turns.supports or turns.successions):
        raise InputError("has cuts beside supports or successions", place=f"{place}.certificate", value="cuts")
    return Certificate(float(value), by_operator, link, by_tensor, order, parts, turns)


def _turns(problem: Problem, given: dict[str, Any], place: str) -> Turns:
    """Return what a certificate says of groups one after the other."""
    made = {operator.output for operator in problem.operators}
    known = {"run": set(range(len(problem.operators))), "stored": made, "retained": made}
    supports: list[tuple[frozenset[Deed], float]] = []
    successions: list[tuple[frozenset[frozenset[int]], float]] = []
    for number, row in enumerate(_rows(given, "support", place)):
        try:
            deeds = frozenset((kind, deed) for kind, deed in row[0] if deed in known[kind])
            is_right = len(deeds) == len(row[0]) and any(kind == "run" for kind, _ in deeds) and _is_price(row[1])
            supports.append((deeds, row[1]))
        except (TypeError, ValueError, KeyError, IndexError):
            is_right = False
        if not is_right:
            cure = "give deeds, an operator that is run among them, and a price"
            raise InputError("is no support", place=f"{place}.support[{number}]", value=row, cure=cure)
    for number, row in enumerate(_rows(given, "succession", place)):
        try:
            sets = frozenset(map(frozenset, row[0]))
            is_right = bool(sets) and all(each and each <= made for each in sets) and _is_price(row[1])
            successions.append((sets, row[1]))
        except (TypeError, ValueError, IndexError):
            is_right = False
        if not is_right:
            cure = "give sets of tensors that operators make, and a price"
            raise InputError("is no succession", place=f"{place}.succession[{number}]", value=row, cure=cure)
    return Turns(supports, successions)


def _rows(given: dict[str, Any], name: str, place: str) -> list[Any]:
    rows = given.get(name, [])
    if not isinstance(rows, list):
        raise InputError("must be a list", place=f"{place}.{name}", value=rows)
    return rows


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and _is_number(value) and value >= 0


def _parts(problem: Problem, given: dict[str, Any], place: str) -> Parts:
    """Return where groups are cut."""
    if "cuts" not in given:
        return NO_PARTS
    where = f"{place}.certificate"
    pairs = {(operator, tensor) for operator, each in enumerate(problem.operators) for tensor in each.inputs}
    cuts = given["cuts"]
    if not isinstance(cuts, list) or any(
        not isinstance(cut, list) or not all(map(_is_number, cut)) or tuple(cut) not in pairs for cut in cuts
    ):
        raise InputError("must be a list of operators, each with a tensor it takes", place=f"{where}.cuts", value=cuts)
    weight: dict[Tensor, float] = {}
    for number, row in enumerate(_rows(given, "weight", where)):
        here = f"{where}.weight[{number}]"
        if not isinstance(row, list) or len(row) != 3 or not all(map(_is_number, row)) or not 0 <= row[2] <= 1:
            raise InputError("must be a width, a height and a weight from 0 to 1", place=here, value=row)
        weight[Tensor(row[0], row[1])] = float(row[2])
    taking: dict[tuple[int, int, Tensor, frozenset[Demand]], float] = {}
    for number, row in enumerate(_rows(given, "taking", where)):
        here = f"{where}.taking[{number}]"
        try:
            operator, tensor, width, height, slices, price = row
            demands = frozenset(
                (_AXES[rows], _AXES[columns], length, marking) for rows, columns, length, marking in slices
            )
            key = operator, tensor, Tensor(width, height), demands
            is_known = key in taking
        except (TypeError, ValueError, KeyError):
            cure = "give an operator, a tensor, a width, a height, slices and a price"
            raise InputError("is no taking", place=here, value=row, cure=cure) from None
        if is_known or not _is_number(price) or price < 0:
            raise InputError("must have one price from 0", place=here, value=price)
        taking[key] = float(price)
    return Parts(frozenset((operator, tensor) for operator, tensor in cuts), weight, taking)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


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

    Raises :class:`InputError` where it prices what the rules do not ask for, or is too large.
    """
    others = (certificate.hand_over, certificate.parts.cuts, certificate.turns.supports, certificate.turns.successions)
    if rules.retains_inputs and any(others):
        cure = "leave out hand_over, cuts, support and succession: a tensor may stay for any number of groups"
        raise InputError("says nothing under these rules", place="bound.certificate", value=rules.name, cure=cure)
    supports = (price for _, price in certificate.turns.supports)
    total = math.fsum([*certificate.cover.values(), *certificate.link.values(), *supports])
    if certificate.value > total * (1 + _ROUNDING):
        message = "the bound is above what its prices add up to"
        return [Violation("certificate-sum", "bound", message, certificate.value, total)]
    parts = replace(certificate.parts, taking=_lowered(certificate.parts.taking))
    turns = certificate.turns.lowered(1 - _ROUNDING)
    prices = Prices(
        _lowered(certificate.cover), _lowered(certificate.link), _lowered(certificate.hand_over), parts, turns
    )
    try:
        groups = Groups(problem, rules, prices, _MOST_GROUPS, certificate.order)
        right: dict[Column, float] = {}
        few = _wrong(problem, rules, groups.favoured(math.inf, _WIDTH), right)
        return few or _wrong(problem, rules, _favoured(groups), right)
    except TooManyError:
        raise InputError(
            "is stated, not verified: the graph has more groups of operators than are looked at",
            place="bound.certificate",
        ) from None


def _wrong(
    problem: Problem, rules: Rules, favoured: Iterable[tuple[Column | None, float, str]], right: dict[Column, float]
) -> list[Violation]:
    """Return a column whose prices exceed its latency, if there is one; ``right`` are prices that do not, so far."""
    worths: dict[Column, tuple[float, str]] = {}
    for item, worth, name in favoured:
        if item is None:
            message = f"prices add up to {worth:.12g}, more than this part of a group costs"
            return [Violation("certificate-part", name, message)]
        if worth > max(right.get(item, 0.0), worths.get(item, (0.0, ""))[0]):
            worths[item] = worth, name
    for item, (worth, name) in worths.items():
        size = cheaper(problem, rules, item, worth)
        if size is not None:
            message = f"its prices, {worth:.12g}, may exceed its latency at granularity {list(size)}"
            return [Violation("certificate-price", name, message)]
        right[item] = worth
    return []


def _lowered(prices: Mapping[_Row, float]) -> dict[_Row, float]:
    return {row: price * (1 - _ROUNDING) for row, price in prices.items()}


def _favoured(groups: Groups) -> Iterable[tuple[Column | None, float, str]]:
    """Return every column whose prices may exceed its latency, with what they add up to and its operators."""
    try:
        return list(groups.favoured(_MANY_GROUPS))
    except TooManyError:
        return favoured_by_box(groups, _MOST_GROUPS)
