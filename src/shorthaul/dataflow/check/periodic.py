"""Replay of periodic schedules of multirate graphs: every token is there before it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.dataflow.model import SdfChannel, SdfGraph, phases
from shorthaul.dataflow.plan import PeriodicSchedule

_MOST_VIOLATIONS = 100
Integers = npt.NDArray[np.int64]  # or of objects, where numbers are larger
#: Whole numbers up to here are safe in 64 bits.
_SAFE = 2**62


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
    times = {actor.id: phases(next(iter(actor.times.values()))) for actor in graph.actors}
    for channel in () if violations else graph.channels:
        violations += _late(times[channel.source], schedule, channel)[: _MOST_VIOLATIONS - len(violations)]
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


def _starts(schedule: PeriodicSchedule, actor: str, firings: Integers) -> Integers:
    """Return when firings start, those of earlier iterations having numbers below 0."""
    starts = np.array(schedule.starts[actor], object)
    number, place = firings // len(starts), (firings % len(starts)).astype(np.int64)
    step = schedule.period * len(starts) // schedule.firings[actor]
    if max(abs(starts).max(), step) + (int(abs(number).max(initial=0)) + 1) * step < _SAFE:
        starts = starts.astype(np.int64)
    else:
        number = number.astype(object)
    begun: Integers = starts[place] + number * step
    return begun


def _late(times: Sequence[int], schedule: PeriodicSchedule, channel: SdfChannel) -> list[Violation]:
    """Return the readings of one iteration that start before what firings of so many ticks write is there."""
    writes, reads = schedule.firings[channel.source], schedule.firings[channel.target]
    write_round = math.lcm(len(schedule.starts[channel.source]), len(times))
    read_round = len(schedule.starts[channel.target])
    produce, consume = phases(channel.production), phases(channel.consumption)
    pairs = _meetings(produce, consume, channel.tokens, writes, reads, write_round, read_round)
    if isinstance(pairs, str):
        return [Violation("balance", f"channel {channel.id}", pairs)]
    writers, readers = pairs
    ends = _starts(schedule, channel.source, writers)
    ends = ends + np.array(times)[(writers % len(times)).astype(np.int64)] * schedule.denominator
    starts = _starts(schedule, channel.target, readers)
    _, first = np.unique(np.where(ends > starts, readers, -1), return_index=True)
    found = []
    for reader, writer, end, start in (
        (readers[k], writers[k], ends[k], starts[k]) for k in first if ends[k] > starts[k]
    ):
        message = (
            f"firing {reader} of {channel.target} reads what firing {writer} of {channel.source} has not written yet"
        )
        found.append(Violation("order", f"channel {channel.id}", message, int(end), int(start)))
    return found


@lru_cache(maxsize=32)
def _meetings(
    produce: tuple[int, ...], consume: tuple[int, ...], tokens: int, writes: int, reads: int, write_round: int,
    read_round: int,
) -> tuple[Integers, Integers] | str:  # fmt: skip
    """Return writing and reading firings that share a token, or what is wrong with their number.

    Channels are often alike, and the same in all points of a front.
    """
    write_round, read_round = math.lcm(write_round, len(produce)), math.lcm(read_round, len(consume))
    in_rounds = write_round * read_round < writes + reads and writes % write_round == reads % read_round == 0
    wrote = _sums(produce, write_round if in_rounds else writes)
    took = _sums(consume, read_round if in_rounds else reads)
    written, read = int(wrote[-1]), int(took[-1])
    if in_rounds:
        written, read = written * (writes // write_round), read * (reads // read_round)
    if written != read:
        return f"an iteration writes {written} tokens and reads {read}"
    return _pairs_of_rounds(tokens, wrote, took) if in_rounds else _pairs(tokens, wrote, took)


def _sums(rates: Sequence[int], firings: int) -> Integers:
    """Return how many tokens 0, 1, ... firings move."""
    return np.concatenate([[0], np.cumsum(np.resize(np.array(rates, np.int64), firings))])


def _pairs(tokens: int, wrote: Integers, took: Integers) -> tuple[Integers, Integers]:
    """Return writing and reading firings that share a token, for every reading firing of one iteration.

    ``wrote`` and ``took`` count the tokens of an iteration, in which as many are written as read.
    """
    readers = np.flatnonzero(np.diff(took))
    low, high = took[readers] - tokens, took[readers + 1] - tokens - 1
    first, last = (
        token // wrote[-1] * (len(wrote) - 1) + np.searchsorted(wrote, token % wrote[-1], "right") - 1
        for token in (low, high)
    )
    count = last - first + 1
    writers = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count - first, count)
    moves = np.diff(wrote)[writers % (len(wrote) - 1)] > 0
    return writers[moves], np.repeat(readers, count)[moves]


def _pairs_of_rounds(tokens: int, wrote: Integers, took: Integers) -> tuple[Integers, Integers]:
    """Return, for every pair of firings of a round, those that share a token with the least time between them.

    ``wrote`` and ``took`` count the tokens of a round of either actor. Round m reads tokens from m r on, and round n
    writes them from n w on, behind the initial ones. Both take the same time per token, so that the time between two
    firings depends on m r - n w alone, which may be any multiple of what r and w have in common.
    """
    written, read = int(wrote[-1]), int(took[-1])
    common = math.gcd(written, read)
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(len(wrote) - 1), np.arange(len(took) - 1), indexing="ij"))
    least = wrote[i] - took[j + 1] + 1 + tokens
    least += -least % common
    meet = (wrote[i] < wrote[i + 1]) & (took[j] < took[j + 1]) & (least < wrote[i + 1] - took[j] + tokens)
    i, j, least = i[meet], j[meet], least[meet]
    whole = written // common
    if whole * max(written, read) >= _SAFE:
        least = least.astype(object)
    m = least // common % whole * pow(read // common, -1, whole) % whole
    n = (m * read - least) // written
    return n * (len(wrote) - 1) + i, m * (len(took) - 1) + j
