"""Which groups and loops a plan of a network may have: what is wrong with them, and which rows sums cut."""

from __future__ import annotations

from collections.abc import Iterator

from shorthaul.core.check import Violation
from shorthaul.tensor.networks.model import Network, Operator
from shorthaul.tensor.networks.plan import Group

#: Steps of a group at most.
MOST_STEPS = 10**7


def group_faults(network: Network, group: Group, where: str) -> Iterator[Violation]:
    """Yield what is wrong with a group."""
    members = group.operators
    if not members or any(not 0 <= number < len(network.operators) for number in members):
        yield Violation("empty-group", where, "has no operator, or an unknown one")
        return
    items = [network.operators[number] for number in members]
    made: set[int] = set()
    for number, item in zip(members, items, strict=True):
        later = {a.tensor for other in members[members.index(number) + 1 :] for a in network.operators[other].reads}
        if number != members[-1] and not any(access.tensor in later for access in item.writes):
            yield Violation("not-connected", where, f"nothing after {item.name} reads what it makes")
        inside = {network.producer[a.tensor] for a in item.reads if a.tensor in network.producer} & set(members)
        if not {a.tensor for n in inside for a in network.operators[n].writes} <= made:
            yield Violation("operator-order", where, f"{item.name} comes before what it reads")
        made |= {access.tensor for access in item.writes}
        if item.barrier and len(members) > 1:
            yield Violation("barrier-fused", where, f"{item.name} cannot be fused: its inner structure is not known")
    yield from loop_faults(network, group, where)


def loop_faults(network: Network, group: Group, where: str) -> Iterator[Violation]:
    """Yield what is wrong with the loops of a group."""
    sink, seen, anchor = group.operators[-1], set(), None
    steps, unknown = 1, False
    for loop in group.loops:
        text = f"loop over dimension {loop.dim} of operator {loop.operator}"
        if loop.operator not in group.operators or not 0 <= loop.dim < len(network.operators[loop.operator].dims):
            yield Violation("loop-unknown", where, f"{text}: there is no such dimension")
            unknown = True
            continue
        item = network.operators[loop.operator]
        size = item.dims[loop.dim]
        if not 1 <= loop.tile <= size:
            yield Violation("tile-size", where, f"{text}: tiles of {loop.tile}", loop.tile, size)
            continue
        steps *= -(-size // loop.tile)
        if (loop.operator, loop.dim) in seen:
            yield Violation("loop-twice", where, text)
        seen.add((loop.operator, loop.dim))
        if loop.dim in item.whole | item.running:
            yield Violation("cut-row", where, f"{text}: {item.name} needs it whole")
        if loop.operator == sink:
            if anchor is not None:
                yield Violation("loop-order", where, f"{text}: inside a loop of the anchor")
        elif anchor not in {None, loop.operator} or loop.dim not in reduced(item):
            yield Violation("loop-order", where, f"{text}: neither of the sink nor a reduction of one anchor")
        else:
            anchor = loop.operator
    if unknown:
        return
    cut = [at for at, loop in enumerate(group.loops) if loop.tile < network.operators[loop.operator].dims[loop.dim]]
    for number, (_, place) in running(network, group).items():
        if place != cut[-1]:
            text = f"rows of {network.operators[number].name} are cut by a loop that is not the last one"
            yield Violation("loop-order", where, text)
    if steps > MOST_STEPS:
        yield Violation("too-many-steps", where, "more steps than can be replayed", steps, MOST_STEPS)


def running(network: Network, group: Group) -> dict[int, tuple[int, int]]:
    """Return the operators whose rows are cut by sums over them: what these make, and the place of the loop."""
    found = {}
    places = {
        loop.operator: place
        for place, loop in enumerate(group.loops)
        if loop.dim in reduced(network.operators[loop.operator])
        and loop.tile < network.operators[loop.operator].dims[loop.dim]
    }
    for number in group.operators:
        adds = adding(network, number) if network.operators[number].running else -1
        if adds in places:
            found[number] = (network.operators[adds].writes[0].tensor, places[adds])
    return found


def adding(network: Network, number: int) -> int:
    """Return the operator that adds up over the rows of another one: the first behind it that adds up at all."""
    while True:
        number = max(network.consumers[network.operators[number].writes[0].tensor])
        if reduced(network.operators[number]):
            return number


def reduced(item: Operator) -> set[int]:
    """Return the dimensions that an operator adds up over."""
    kept = {dim for axis in item.writes[0].axes for dim, _ in axis.terms}
    return set(range(len(item.dims))) - kept
