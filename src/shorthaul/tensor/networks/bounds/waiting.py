"""A bound on the latency by waiting: what comes first is computed before the loads of what comes last are over.

Let every operation of an operator f need all that the operators E make, and let D be f and all operators of which every
operation needs one of f. Take the first step of the group of f in which f computes anything; if the anchor of the group
does not come after f, take all steps of the anchor at that tile of the sink. When they end, all of E and all that E
needs are computed, here or in groups before: sums between E and f are not cut, or all their parts are among these
steps. Nothing of D is computed before them, and no box that D reads changes during them, as boxes follow the sink and,
up from the anchor, its sums. So what D reads and nobody makes is there when they end, with the boxes that come next
and with what the next group loads early, in places that all together fit into the memory, or it is loaded later. Where
f is a barrier, the same holds when its group begins. So a plan takes at least what E and all that it needs take on a
unit, or to be loaded, and on top of that the time to load what D reads, less what fits into the memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shorthaul.tensor.networks.bounds.holding import Lengths, reached, through
from shorthaul.tensor.networks.bounds.phases import operators_after
from shorthaul.tensor.networks.boxes import blocks
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Access, Network, Operator, Regroup, Step, Stride
from shorthaul.tensor.networks.needs import Demand, demands, together

#: Operators of a network that are looked at.
_MOST_OPERATORS = 5000
#: Operators that others may wait for, those first of which most could be gained.
_MOST_TRIED = 24


@dataclass(frozen=True, slots=True)
class Waited:
    """The bound by waiting, and why it holds."""

    value_s: float
    proof: str


def waiting(network: Network, machine: Machine, needed: Mapping[int, Demand], known_s: float) -> Waited:
    """Return the largest bound by waiting that any operator gives, if it is above ``known_s``."""
    best = Waited(known_s, "")
    if not machine.levels[1].double_buffered or len(network.operators) > _MOST_OPERATORS:
        return best
    after, rate = operators_after(network), machine.levels[0].bandwidth_bytes_per_s
    capacity = float(machine.levels[1].capacity_bytes or 0)
    work = np.zeros((2, len(network.operators)))
    for number, demand in needed.items():
        unit = network.operators[number].unit
        each_s = machine.seconds_per_operation(unit, network.bits(number))
        work[int(unit == "vector"), number] = demand.operations * each_s

    def most(before: Sequence[int], then: Sequence[int]) -> float:
        """Return what the bound is at most where ``then`` follows all that ``before`` needs."""
        computed = work[:, after[:, before].any(1)].sum(1).max()
        return float(computed) + (_loaded(network, needed, then) - capacity) / rate

    offers = [(most([number], np.flatnonzero(after[number]).tolist()), number) for number in needed]
    offers = sorted((offer for offer in offers if offer[0] > known_s), key=lambda offer: (-offer[0], offer[1]))
    links = _links(network)
    closer, known = [], Known()
    for _, number in offers[:_MOST_TRIED]:
        whole, then = sorted(_needed_whole(network, number, known)), _dependent(network, number, links)
        if whole and _loaded(network, needed, then) > capacity:
            closer.append((most(whole, then), number, whole, then))
    for least_s, number, whole, then in sorted(closer, key=lambda item: (-item[0], item[1])):
        if least_s <= best.value_s:
            break
        later_s, before_s = (_loaded(network, needed, then) - capacity) / rate, _before(network, machine, whole)
        if before_s + later_s > best.value_s:
            names = ", ".join(network.operators[one].name for one in whole[-3:])
            told = (
                f"Every operation of {network.operators[number].name} needs all of {names}: {before_s:.6g} s with "
                f"what these need. Only {capacity:.6g} bytes of what is read from there on can be there by then, "
                f"the others pass in {later_s:.6g} s."
            )
            best = Waited(before_s + later_s, told)
    return best


def _loaded(network: Network, needed: Mapping[int, Demand], members: Sequence[int]) -> float:
    """Return the bytes that operators read of what nobody makes, each once."""
    read: dict[int, float] = {}
    for number in members:
        for tensor, amount in needed[number].read.items() if number in needed else ():
            if network.tensors[tensor].role != "made":
                read[tensor] = max(read.get(tensor, 0.0), amount)
    return sum(read.values())


#: What accesses read at least, by operator, place and extents.
Known = dict[tuple[int, int, Lengths], Lengths | None]


def _needed_whole(network: Network, last: int, known: Known) -> set[int]:
    """Return the operators before ``last`` of which each of its operations needs all positions."""
    found: set[int] = set()
    asked: dict[int, Lengths] = {}
    for number in range(last, -1, -1):
        operator = network.operators[number]
        if number != last and (not operator.writes or operator.writes[0].tensor not in asked):
            continue
        extents = [1] * len(operator.dims)
        if number != last:
            for index, length in zip(operator.writes[0].axes, asked[operator.writes[0].tensor], strict=True):
                for dim, _ in index.terms:
                    extents[dim] = min(length, operator.dims[dim])
            for dim in operator.reduced:
                extents[dim] = operator.dims[dim]
        for dim in range(len(operator.dims)) if operator.barrier else operator.whole:
            extents[dim] = operator.dims[dim]
        if number != last and tuple(extents) == operator.dims:
            found.add(number)
        for place, access in enumerate(operator.reads):
            form = (number, place, tuple(extents))
            if form not in known:
                known[form] = _all_of(network, operator, access, extents)
            lengths = known[form]
            before = asked.get(access.tensor)
            if lengths is not None and (before is None or math.prod(lengths) > math.prod(before)):
                asked[access.tensor] = lengths
    return found


def _all_of(network: Network, operator: Operator, access: Access, extents: Sequence[int]) -> Lengths | None:
    """Return how many positions in a row, per axis of a stored tensor, an access reads at least; None for gaps."""
    if operator.barrier:
        return network.tensors[access.tensor].shape
    used = [dim for index in access.axes for dim, _ in index.terms]
    if len(used) != len(set(used)) or any(index.exact for index in access.axes):
        return None
    for index in access.axes:
        reach = 0
        for dim, factor in sorted(index.terms, key=lambda term: abs(term[1])):
            if extents[dim] > 1 and abs(factor) > reach + index.divisor:
                return None
            reach += abs(factor) * (extents[dim] - 1)
    found = reached(replace(access, steps=()), extents, operator.dims)
    shape = access.shape
    for step in access.steps:
        if found is None or 0 in found or _mixes(step, found, shape):
            return None
        found, shape = through(found, shape, step)
    return None if found is None or 0 in found else found


def _mixes(step: Step, lengths: Lengths, shape: Sequence[int]) -> bool:
    """Return whether what a view reads may not be positions in a row of every axis of its source."""
    if isinstance(step, Stride):
        return any(abs(by) > 1 and length > 1 for by, length in zip(step.step, lengths, strict=True))
    if isinstance(step, Regroup):
        for ours, theirs in blocks(shape, step.source):
            whole = all(lengths[axis] == shape[axis] for axis in ours)
            if len(ours) + len(theirs) > 2 and not whole and any(lengths[axis] > 1 for axis in ours):
                return True
    return False


def _links(network: Network) -> list[set[int]]:
    """Return, by operator, the tensors of which each of its operations reads an element at least."""
    found = []
    for operator in network.operators:
        point = [size if dim in operator.whole else 1 for dim, size in enumerate(operator.dims)]
        sure = (a for a in operator.reads if operator.barrier or reached(a, point, operator.dims) is not None)
        found.append({access.tensor for access in sure})
    return found


def _dependent(network: Network, first: int, links: Sequence[set[int]]) -> list[int]:
    """Return ``first`` and the operators of which every operation needs one of it."""
    made = {access.tensor for access in network.operators[first].writes}
    found = [first]
    for number in range(first + 1, len(network.operators)):
        if not links[number].isdisjoint(made):
            found.append(number)
            made |= {access.tensor for access in network.operators[number].writes}
    return found


def _before(network: Network, machine: Machine, whole: Sequence[int]) -> float:
    """Return the seconds that operators made whole, and all that they need, take at least until they are computed."""
    targets = {access.tensor for number in whole for access in network.operators[number].writes}
    tensors = tuple(replace(tensor, is_output=at in targets) for at, tensor in enumerate(network.tensors))
    part = Network(network.name, tensors, network.operators[: max(whole) + 1])
    needed = demands(part, machine)
    seconds, read = together(part, machine, needed)
    loaded = sum(amount for tensor, amount in read.items() if part.tensors[tensor].role != "made")
    return max(*seconds.values(), loaded / machine.levels[0].bandwidth_bytes_per_s)
