"""The certificate of a bound, verified: for no subgraph are its dual prices above its least latency.

See :mod:`shorthaul.tensor.check.column_floor` for the latency. Shares no code with the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError
from shorthaul.tensor.check.column_floor import Column, cheaper, column
from shorthaul.tensor.model import Problem, Rules

#: Groups above which a certificate is not verified.
_MOST_GROUPS: Final = 20_000
#: Prices may exceed a latency, and the bound what they add up to, by this part: rounding.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Certificate:
    """Prices of what every plan must do: cover operators, link takers to makers, hand over what is found resident."""

    value: float
    cover: Mapping[int, float]
    link: Mapping[tuple[int, int], float]
    hand_over: Mapping[int, float]


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
    return Certificate(float(value), by_operator, link, by_tensor)


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
    worths: dict[Column, tuple[float, str]] = {}
    for number, inside in enumerate(_groups(problem, rules)):
        if number >= _MOST_GROUPS:
            raise InputError(
                "is stated, not verified: the graph has more connected groups than are looked at",
                place="bound.certificate",
                allowed=f"graphs with up to {_MOST_GROUPS} groups",
            )
        for item, worth, name in _columns(problem, certificate, inside):
            if worth > worths.get(item, (0.0, ""))[0]:
                worths[item] = worth, name
    for item, (worth, name) in worths.items():
        size = cheaper(problem, rules, item, worth * (1 - _ROUNDING))
        if size is not None:
            message = f"its prices, {worth:.12g}, may exceed its latency at granularity {list(size)}"
            return [Violation("certificate-price", name, message)]
    return []


def _groups(problem: Problem, rules: Rules) -> Iterator[frozenset[int]]:
    """Yield all connected sets of operators, grown one operator at a time."""
    machine = problem.machine
    beside: dict[int, set[int]] = {index: set() for index in range(len(problem.operators))}
    apart: dict[int, set[int]] = {index: set() for index in beside}
    for index, operator in enumerate(problem.operators):
        for side, tensor in enumerate(operator.inputs):
            source = problem.producer[tensor]
            if source is None:
                continue
            beside[index].add(source)
            beside[source].add(index)
            is_prologue = operator.is_matmul and not problem.operators[source].is_matmul
            most = (machine.native_width, machine.native_height)[side]
            if rules.prologues_are_whole and is_prologue and problem.reduction(index) > max(most, machine.native_width):
                apart[index].add(source)  # neither one step nor one tile holds the reduction
                apart[source].add(index)
    layer = {frozenset([index]) for index in beside}
    while layer:
        yield from layer
        layer = {
            inside | {other}
            for inside in layer
            for other in set().union(*(beside[index] for index in inside)) - inside
            if not apart[other] & inside
        }


def _columns(problem: Problem, certificate: Certificate, inside: frozenset[int]) -> Iterator[tuple[Column, float, str]]:
    """Yield every column of a set of operators with what its prices add up to."""
    produced = {problem.operators[index].output for index in inside}
    consumed = {tensor for index in inside for tensor in problem.operators[index].inputs}
    sinks = produced - consumed
    shapes = {problem.tensors[tensor] for tensor in sinks}
    if len(shapes) > 1:
        return
    capacity = problem.machine.capacity
    inner = {t for t, consumers in enumerate(problem.consumers) if consumers and problem.producer[t] is not None}
    keep = sorted(tensor for tensor in produced & inner if problem.tensors[tensor] in shapes)
    read = sorted((consumed - produced) & inner)
    for retained in _fitting(problem, keep, capacity):
        room = capacity - sum(problem.tensors[tensor].size for tensor in retained)
        for resident in _fitting(problem, read, room):
            worth = _worth(problem, certificate, inside, produced | set(resident), sinks - set(retained))
            worth += math.fsum(certificate.hand_over.get(tensor, 0.0) for tensor in retained)
            worth -= math.fsum(certificate.hand_over.get(tensor, 0.0) for tensor in resident)
            if worth > 0:
                outputs = sorted(sinks | set(retained))
                item = column(problem, inside, outputs, frozenset(resident), frozenset(retained))
                yield item, worth, f"operators {sorted(inside)}, resident {list(resident)}, retained {list(retained)}"


def _fitting(problem: Problem, tensors: list[int], room: float) -> Iterator[tuple[int, ...]]:
    for count in range(len(tensors) + 1):
        some = [c for c in combinations(tensors, count) if sum(problem.tensors[t].size for t in c) <= room]
        if not some:
            return
        yield from some


def _worth(
    problem: Problem, certificate: Certificate, inside: frozenset[int], there: set[int], stored: set[int]
) -> float:
    """Return the prices of covering, and of every link that a tensor there, or one stored, serves."""
    served = {(index, tensor) for index in inside for tensor in problem.operators[index].inputs if tensor in there}
    served |= {(consumer, tensor) for tensor in stored for consumer in problem.consumers[tensor]}
    covered = [certificate.cover.get(index, 0.0) for index in inside]
    return math.fsum([*covered, *(certificate.link.get(link, 0.0) for link in served)])
