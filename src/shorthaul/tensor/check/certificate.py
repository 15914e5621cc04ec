"""The certificate of a bound, verified: for no subgraph are its dual prices above its least latency.

See :mod:`shorthaul.tensor.check.column_floor` for the latency. Shares no code with the bound.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Meta, Struct

from shorthaul.core.check import Violation
from shorthaul.core.document import convert
from shorthaul.core.errors import InputError
from shorthaul.tensor.check.column_floor import TooManyError, cheaper
from shorthaul.tensor.check.groups.by_box import favoured_by_box
from shorthaul.tensor.check.groups.history import NO_TURNS, Turns
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
#: What an axis of a slice follows, as certificates name it.
_AXES: Final = {"full": WHOLE, "tile": TILE, "step": STEP}

_Value = Annotated[float, Meta(ge=-1e300, le=1e300)]
_Price = Annotated[float, Meta(ge=0, le=1e300)]
_Axis = Literal["full", "tile", "step"]
_Slice = tuple[_Axis, _Axis, int, Literal["none", "rows", "columns"]]


class _Given(Struct, forbid_unknown_fields=True):
    """A certificate as documents have it."""

    cover: list[tuple[int, _Price]]
    link: list[tuple[int, int, _Price]]
    hand_over: list[tuple[int, _Price]]
    order: list[int] | None = None
    support: list[tuple[list[tuple[Literal["run", "stored", "retained"], int]], _Price]] = []
    succession: list[tuple[list[list[int]], _Price]] = []
    cuts: list[tuple[int, int]] | None = None
    weight: list[tuple[int, int, Annotated[float, Meta(ge=0, le=1)]]] | None = None
    taking: list[tuple[int, int, int, int, list[_Slice], _Price]] | None = None


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
    where = f"{place}.certificate"
    if not isinstance(bound.get("certificate"), dict):
        raise InputError("holds no certificate", place=where, allowed="a bound of a linear program")
    given = convert(bound["certificate"], _Given, place=where)
    value = convert(bound.get("value"), _Value, place=f"{place}.value")
    operators = range(len(problem.operators))
    taken = {(operator, tensor) for operator in operators for tensor in problem.operators[operator].inputs}
    links = {(operator, tensor) for operator, tensor in taken if problem.producer[tensor] is not None}
    cover = _priced(given.cover, {(operator,) for operator in operators}, f"{where}.cover")
    hand_over = _priced(given.hand_over, {(tensor,) for tensor in range(len(problem.tensors))}, f"{where}.hand_over")
    parts, turns = _parts(given, taken, where), _turns(problem, given, where)
    if parts.cuts and (turns.supports or turns.successions):
        raise InputError("has cuts beside supports or successions", place=where, value="cuts")
    return Certificate(
        value,
        {operator: price for (operator,), price in cover.items()},
        _priced(given.link, links, f"{where}.link"),
        {tensor: price for (tensor,), price in hand_over.items()},
        _order(problem, given.order, f"{where}.order"),
        parts,
        turns,
    )


def _priced(rows: Sequence[tuple[Any, ...]], known: Container[tuple[int, ...]], where: str) -> dict[Any, float]:
    """Return the prices by what they are of; raises :class:`InputError` for what is not known, or there twice."""
    found: dict[tuple[int, ...], float] = {}
    for number, (*key, price) in enumerate(rows):
        if tuple(key) not in known or tuple(key) in found:
            problem = "is priced twice" if tuple(key) in found else "is not in the problem"
            raise InputError(problem, place=f"{where}[{number}]", value=key)
        found[tuple(key)] = price
    return found


def _turns(problem: Problem, given: _Given, where: str) -> Turns:
    """Return what a certificate says of groups one after the other."""
    made = {operator.output for operator in problem.operators}
    known = {"run": range(len(problem.operators)), "stored": made, "retained": made}
    for number, (deeds, _) in enumerate(given.support):
        if any(deed not in known[kind] for kind, deed in deeds) or all(kind != "run" for kind, _ in deeds):
            cure = "give deeds, an operator that is run among them, and a price"
            raise InputError("is no support", place=f"{where}.support[{number}]", value=deeds, cure=cure)
    for number, (sets, _) in enumerate(given.succession):
        if not sets or not all(each and made.issuperset(each) for each in sets):
            cure = "give sets of tensors that operators make, and a price"
            raise InputError("is no succession", place=f"{where}.succession[{number}]", value=sets, cure=cure)
    return Turns(
        [(frozenset(deeds), price) for deeds, price in given.support],
        [(frozenset(map(frozenset, sets)), price) for sets, price in given.succession],
    )


def _parts(given: _Given, taken: Container[tuple[int, int]], where: str) -> Parts:
    """Return where groups are cut."""
    if given.cuts is None:
        if given.weight is not None or given.taking is not None:
            raise InputError("says nothing without cuts", place=where, value="weight, taking")
        return NO_PARTS
    wrong = next((cut for cut in given.cuts if cut not in taken), None)
    if wrong is not None:
        raise InputError("is no operator and a tensor it takes", place=f"{where}.cuts", value=wrong)
    taking: dict[tuple[int, int, Tensor, frozenset[Demand]], float] = {}
    for number, (operator, tensor, width, height, slices, price) in enumerate(given.taking or ()):
        demands = frozenset((_AXES[rows], _AXES[columns], length, marking) for rows, columns, length, marking in slices)
        if (key := (operator, tensor, Tensor(width, height), demands)) in taking:
            raise InputError("must have one price", place=f"{where}.taking[{number}]", value=price)
        taking[key] = price
    weight = {Tensor(width, height): share for width, height, share in given.weight or ()}
    return Parts(frozenset(given.cuts), weight, taking)


def _order(problem: Problem, given: list[int] | None, where: str) -> tuple[int, ...] | None:
    if given is None:
        return None
    if sorted(given) != list(range(len(problem.operators))):
        raise InputError("must hold every operator once", place=where, allowed=f"0 to {len(problem.operators) - 1}")
    turn = {operator: number for number, operator in enumerate(given)}
    for operator, number in turn.items():
        if any(turn[taker] > number for taker in problem.consumers[problem.operators[operator].output]):
            raise InputError("must come after all operators that take its output", place=where, value=operator)
    return tuple(given)


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
