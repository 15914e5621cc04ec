"""A first plan that takes little: operators folded into those before them, without a price for every pair."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shorthaul.tensor.networks.grouping.groups import MOST_OPERATORS, MOST_READS, Forming, Tilings
from shorthaul.tensor.networks.model import Network


def folded(tilings: Tilings, capacity: float) -> Forming:
    """Return groups of one operator that adds up at most, with what follows it position by position, tiled.

    What such an operator makes stays inside, and no tile of it is needed twice: that rarely costs anything. Rows that
    cannot be cut do: a normalisation after a product leaves it few rows at a time, so prices decide about those.
    """
    state = Forming(tilings, capacity, {}, {}, {})
    sums: set[int] = set()
    for number, item in enumerate(tilings.network.operators):
        state.members[number], state.group_of[number] = (number,), number
        if item.reduced or item.barrier:
            sums.add(number)
            continue
        for first in sorted(state.sources(number), reverse=True):
            groups = state.between(first, number)
            members = tuple(sorted(one for group in groups for one in state.members[group]))
            with_sums = groups & sums
            if with_sums <= {first} and not (with_sums and item.rows) and _is_passed_on(tilings.network, members):
                for group in groups:
                    del state.members[group]
                sums.difference_update(groups)
                sums.update({number} if with_sums else ())
                state.members[number] = members
                state.group_of.update(dict.fromkeys(members, number))
                break
    for sink, members in list(state.members.items()):
        if not state.put(members):
            del state.members[sink]
            for number in members:  # prices may still join operators that do not fit alone
                if not state.put((number,)):
                    state.members[number], state.group_of[number] = (number,), number
    for number in tilings.network.row_sums:
        _join_sums(state, number)
    return state


def _is_passed_on(network: Network, members: Sequence[int]) -> bool:
    """Return whether operators can be a group, and read what they make of one another position by position."""
    if not _can_be_a_group(network, members):
        return False
    operators = [network.operators[number] for number in members]
    made = {access.tensor for item in operators for access in item.writes}
    return all(
        network.tensors[access.tensor].elements == math.prod(item.dims)
        for item in operators
        for access in item.reads
        if access.tensor in made
    )


def _can_be_a_group(network: Network, members: Sequence[int]) -> bool:
    """Return whether operators are few enough, none of them a barrier, and all lead to the last one."""
    operators = [network.operators[number] for number in members]
    if len(members) > MOST_OPERATORS or sum(len(item.reads) for item in operators) > MOST_READS:
        return False
    read = {access.tensor for item in operators for access in item.reads}
    return not any(item.barrier for item in operators) and all(item.writes[0].tensor in read for item in operators[:-1])


def _join_sums(state: Forming, number: int) -> None:
    """Join a softmax to the group before it and to the sums that may cut its rows, if that pays."""
    network = state.tilings.network
    rows, last = state.group_of[number], state.group_of[network.row_sums[number][0]]
    groups = state.between(max(state.sources(rows), default=rows), last) | state.between(rows, last)
    operators = tuple(sorted(one for group in groups for one in state.members[group]))
    if operators[-1] in state.members and rows != last and _can_be_a_group(network, operators):
        tiled = state.tilings.best(operators, state.capacity)
        if tiled is not None and tiled.score < state.apart(*groups):
            state.join(groups)
