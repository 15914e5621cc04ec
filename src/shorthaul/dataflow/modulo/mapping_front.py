"""All points of one mapping that are better than those known: branch and bound over the tokens that buffers hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.period import period_bound
from shorthaul.dataflow.mapping.binding import MappedNetwork, needed_capacities
from shorthaul.dataflow.mapping.start_times import tokens_to_itself
from shorthaul.dataflow.modulo.memory_limits import Box, fewest, fits, room
from shorthaul.dataflow.modulo.periodic import Schedule, least_schedule


class Rivals(Protocol):
    """What schedules have to be better than."""

    def below(self, size: int) -> int:
        """Return below which periods schedules with so many bytes in buffers are of interest; falling with bytes."""

    def smaller(self, period: int) -> int:
        """Return below how many bytes schedules of such a period are of interest; falling with the period."""


def better_schedules(
    net: MappedNetwork, limits: Mapping[str, int | None], rivals: Rivals,
    add: Callable[[Schedule, Mapping[str, int]], None], search: Search, *, atomic: bool,
) -> bool:  # fmt: skip
    """Hand schedules and the tokens of their buffers to ``add`` until there is none left of interest; True if so.

    Nothing in a box is better than its least period with the bytes of ``low``: either a tree proves
    that no such period is of interest, or the schedule it finds has more tokens in some buffer. That buffer holds fewer
    in one part of the box, and at least as many in the other.
    """
    writes, size_of = net.write_tasks(), {buffer.id: buffer.token_bytes for buffer in net.network.buffers}

    def size(tokens: Mapping[str, int]) -> int:
        return sum(tokens[name] * size_of[name] for name in size_of)

    low = {b.id: tokens_to_itself(net, b, writes[b.id], atomic=atomic) for b in net.network.buffers}
    longest = _longest_period(net)
    boxes = [Box(low, {}, int(period_bound(net).value))]
    while boxes:
        box = boxes.pop()
        most, spare = rivals.below(size(box.low)), rivals.smaller(box.least) - 1 - size(box.low)
        if box.least >= most or spare < 0 or not fits(net, limits, box.low):
            continue
        high = fewest(box.high, room(net, limits, box.low, spare))
        found = least_schedule(net, box.least, min(most, longest + 1), high, search, atomic=atomic)
        if found.least < found.period:
            return False
        if not found.starts:
            continue
        tokens = needed_capacities(net, found.starts, found.period, atomic_firing=atomic)
        is_small = fits(net, limits, tokens)
        if is_small and found.period < rivals.below(size(tokens)):
            add(found, tokens)
        if is_small and size(tokens) == size(box.low):
            continue
        name = max(size_of, key=lambda name: (tokens[name] - box.low[name]) * size_of[name])
        boxes.append(Box({**box.low, name: tokens[name]}, high, found.period))
        boxes.append(Box(box.low, {**high, name: tokens[name] - 1}, found.period))
    return True


def _longest_period(net: MappedNetwork) -> int:
    """Return a period that a mapping meets if any: all its tasks one after the other, as residues order them."""
    accesses = (task for group in (net.reads, net.writes) for tasks in group.values() for task in tasks)
    return max(1, sum(net.execution.values()) + sum(task.duration for task in accesses))
