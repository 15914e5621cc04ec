"""Replay of periodic schedules of multirate graphs: every token is there before it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.dataflow.model import SdfChannel, SdfGraph, phases
from shorthaul.dataflow.plan import PeriodicSchedule

_MOST_VIOLATIONS = 100


def check_schedule(graph: SdfGraph, schedule: PeriodicSchedule) -> CheckReport:
    """Replay one iteration of ``schedule`` on ``graph``, whose actors have one execution time each (or per phase).

    Iterations are alike, so that a dependence kept in one is kept in all. Rounds are unrolled firing by firing.
    """
    violations: list[Violation] = []
    for actor in graph.actors:
        count, starts = schedule.firings.get(actor.id, 0), schedule.starts.get(actor.id, ())
        if count < 1 or not starts or count % len(starts) or schedule.period * len(starts) % count:
            message = f"{len(starts)} starts of a round do not make up {count} firings"
            violations.append(Violation("rounds", f"starts.{actor.id}", message))
    if schedule.denominator < 1 or schedule.period < 0:
        violations.append(Violation("period", "period", "is below 0, or its denominator below 1"))
    for channel in () if violations else graph.channels:
        violations += _late(graph, schedule, channel)[: _MOST_VIOLATIONS - len(violations)]
    if violations:
        return CheckReport(tuple(violations))
    return CheckReport((), Cost(period=schedule.period / schedule.denominator))


def check_storage(
    graph: SdfGraph, buffers: Mapping[str, Sequence[str]], capacities: Mapping[str, int], schedule: PeriodicSchedule
) -> CheckReport:
    """Replay ``schedule`` on ``graph`` with so much room in each buffer, named with its channels.

    A firing takes room when it starts; a reading firing gives it back when it ends, the last reader's counts.
    """
    of_channel = {channel: name for name, channels in buffers.items() for channel in channels}
    violations, room = [], []
    for channel in graph.channels:
        if channel.id not in of_channel:
            continue
        free = capacities.get(of_channel[channel.id], -1) - channel.tokens
        if free < 0:
            message = "there is no room for the initial tokens"
            violations.append(Violation("buffer-too-small", f"channel {channel.id}", message))
        back = SdfChannel(channel.id, channel.target, channel.consumption, channel.source, channel.production, free, 0)
        room.append(replace(back, id=f"room in {channel.id}"))
    if violations:
        return CheckReport(tuple(violations))
    return check_schedule(replace(graph, channels=(*graph.channels, *room)), schedule)


def _start(schedule: PeriodicSchedule, actor: str, firing: int) -> int:
    """Return when a firing starts, firings of earlier iterations having numbers below 0."""
    starts = schedule.starts[actor]
    number, place = divmod(firing, len(starts))
    return starts[place] + number * (schedule.period * len(starts) // schedule.firings[actor])


def _late(graph: SdfGraph, schedule: PeriodicSchedule, channel: SdfChannel) -> list[Violation]:
    """Return the readings of one iteration that start before what they read is written."""
    times = {actor.id: phases(next(iter(actor.times.values()))) for actor in graph.actors}
    writes, reads = schedule.firings[channel.source], schedule.firings[channel.target]
    produce, consume = phases(channel.production), phases(channel.consumption)
    wrote = [*accumulate((produce[k % len(produce)] for k in range(writes)), initial=0)]
    took = [*accumulate((consume[k % len(consume)] for k in range(reads)), initial=0)]
    if wrote[-1] != took[-1]:
        message = f"an iteration writes {wrote[-1]} tokens and reads {took[-1]}"
        return [Violation("balance", f"channel {channel.id}", message)]
    back = -channel.tokens // wrote[-1]  # the iteration that writes the first token read in iteration 0
    firing, token = back * writes, back * wrote[-1]
    found: list[Violation] = []
    ends: dict[int, int] = {}
    for reader in range(reads):
        if took[reader + 1] == took[reader]:
            continue
        low, high = took[reader] - channel.tokens, took[reader + 1] - channel.tokens
        while token + produce[firing % len(produce)] <= low:
            token += produce[firing % len(produce)]
            firing += 1
        here, at = firing, token
        start = _start(schedule, channel.target, reader)
        while at < high:
            amount = produce[here % len(produce)]
            if amount and here not in ends:
                time = times[channel.source][here % len(times[channel.source])]
                ends[here] = _start(schedule, channel.source, here) + time * schedule.denominator
            if amount and ends[here] > start:
                found.append(
                    Violation(
                        "order", f"channel {channel.id}",
                        f"firing {reader} of {channel.target} reads what firing {here} of {channel.source} has not"
                        " written yet", ends[here], start,
                    )
                )  # fmt: skip
                break
            at += amount
            here += 1
    return found
