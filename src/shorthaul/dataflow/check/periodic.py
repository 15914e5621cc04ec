"""Replay of periodic schedules of multirate graphs: every token is there before it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, product

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.dataflow.model import SdfChannel, SdfGraph, phases
from shorthaul.dataflow.plan import PeriodicSchedule

_MOST_VIOLATIONS = 100


def check_schedule(graph: SdfGraph, schedule: PeriodicSchedule) -> CheckReport:
    """Replay one iteration of ``schedule`` on ``graph``, whose actors have one execution time each (or per phase).

    Iterations are alike, so that a dependence kept in one is kept in all. Rounds are unrolled firing by firing; where
    an iteration has more firings than there are pairs of firings of a round, these pairs are looked at instead.
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
    write_round = math.lcm(len(schedule.starts[channel.source]), len(produce), len(times[channel.source]))
    read_round = math.lcm(len(schedule.starts[channel.target]), len(consume))
    if write_round * read_round < writes + reads and writes % write_round == reads % read_round == 0:
        wrote, took = _sums(produce, write_round), _sums(consume, read_round)
        return _late_in_rounds(schedule, channel, times[channel.source], wrote, took)
    wrote, took = _sums(produce, writes), _sums(consume, reads)
    if wrote[-1] != took[-1]:
        return [_unbalanced(channel, wrote[-1], took[-1])]
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
                found.append(_early(channel, reader, here, ends[here], start))
                break
            at += amount
            here += 1
    return found


def _sums(rates: Sequence[int], firings: int) -> list[int]:
    """Return how many tokens 0, 1, ... firings move."""
    return [*accumulate((rates[k % len(rates)] for k in range(firings)), initial=0)]


def _late_in_rounds(
    schedule: PeriodicSchedule, channel: SdfChannel, times: Sequence[int], wrote: list[int], took: list[int]
) -> list[Violation]:
    """Return, for every pair of firings of a round, the reading that starts earliest before what it reads is written.

    ``wrote`` and ``took`` count the tokens of a round of either actor. Round m reads tokens from m r on, and round n
    writes them from n w on, behind the initial ones. Both take the same time per token, so that the time between two
    firings depends on m r - n w alone, which may be any multiple of what r and w have in common.
    """
    written, read = wrote[-1], took[-1]
    rounds = [schedule.firings[channel.source] // (len(wrote) - 1), schedule.firings[channel.target] // (len(took) - 1)]
    if rounds[0] * written != rounds[1] * read:
        return [_unbalanced(channel, rounds[0] * written, rounds[1] * read)]
    common, found = math.gcd(written, read), []
    for i, j in product(range(len(wrote) - 1), range(len(took) - 1)):
        least = wrote[i] - took[j + 1] + 1 + channel.tokens
        least += -least % common
        if wrote[i] == wrote[i + 1] or took[j] == took[j + 1] or least >= wrote[i + 1] - took[j] + channel.tokens:
            continue
        whole = written // common
        m = least // common * pow(read // common, -1, whole) % whole
        n = (m * read - least) // written
        firing, reader = n * (len(wrote) - 1) + i, m * (len(took) - 1) + j
        end = _start(schedule, channel.source, firing) + times[i % len(times)] * schedule.denominator
        if end > (start := _start(schedule, channel.target, reader)):
            found.append(_early(channel, reader, firing, end, start))
    return found


def _early(channel: SdfChannel, reader: int, firing: int, end: int, start: int) -> Violation:
    message = f"firing {reader} of {channel.target} reads what firing {firing} of {channel.source} has not written yet"
    return Violation("order", f"channel {channel.id}", message, end, start)


def _unbalanced(channel: SdfChannel, written: int, read: int) -> Violation:
    message = f"an iteration writes {written} tokens and reads {read}"
    return Violation("balance", f"channel {channel.id}", message)
