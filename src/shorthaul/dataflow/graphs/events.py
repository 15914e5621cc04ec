"""The event graph of a multirate graph: a node per firing of a round, an arc per dependence of two of them.

A round of an actor is a number of firings that divides its firings in an iteration; all rounds of an actor are alike
but for their start. Between the firings of the rounds of two actors, only the tightest dependence is kept
(Bodin, Munier-Kordon, Dupont de Dinechin: *K-periodic schedules for evaluating the maximum throughput of a
synchronous dataflow graph*).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow.model import PerPhase, SdfChannel, SdfGraph, phases
from shorthaul.graphs.csr import IntArray, distinct

FloatArray = npt.NDArray[np.float64]
#: Whole numbers up to here are safe in 64 bits.
SAFE = 2.0**62


@dataclass(frozen=True, slots=True)
class Events:
    """Arcs by target, each of ``ticks`` and of a ``delay`` in parts of ``1 / common`` iterations.

    Nodes are the firings of the rounds of all actors in turn; ``channel`` numbers the channel of each arc.
    """

    starts: IntArray
    source: IntArray
    target: IntArray
    ticks: IntArray
    delay: IntArray
    channel: IntArray
    common: int

    def cycle(self, into: IntArray, node: int) -> IntArray:
        """Return the arcs of the cycle that ``into`` leads to from ``node``, the way its tokens go."""
        seen: dict[int, int] = {}  # the arc into each
        while node not in seen:
            seen[node] = int(into[node])
            node = int(self.source[seen[node]])
        nodes = [*seen]
        return np.array([seen[there] for there in nodes[nodes.index(node) :]])[::-1]


class Unfolding:
    """The rounds of all actors of a graph, and the arcs of channels between them, which are worked out once."""

    def __init__(
        self, graph: SdfGraph, rounds: Mapping[str, int], repetitions: Mapping[str, int], last: Unfolding | None = None
    ) -> None:  # fmt: skip
        self.rounds = rounds
        self._repetitions = repetitions
        self._channels = graph.channels
        self._times = {actor.id: next(iter(actor.times.values())) for actor in graph.actors}
        self.common = lcm(*(repetitions[actor] // rounds[actor] for actor in rounds))
        *begins, self._count = accumulate(rounds.values(), initial=0)
        self._offset = dict(zip(rounds, begins, strict=True))
        #: Arcs by channel, tokens, and rounds of both its actors.
        self._known: dict[tuple[str, int, int, int], tuple[IntArray, ...]] = {} if last is None else last._known

    @cached_property
    def _arcs_of_graph(self) -> tuple[IntArray, IntArray]:
        columns, numbers = self._arcs(self._channels)
        order = np.argsort(columns[1], kind="stable")
        return columns[:, order], numbers[order]

    def events(self, rooms: Sequence[SdfChannel]) -> Events:
        """Return the event graph of the actors, with these channels behind those of the graph."""
        columns, numbers = self._arcs_of_graph
        if rooms:
            more, more_numbers = self._arcs(rooms)
            columns = np.concatenate([columns, more], axis=1)
            numbers = np.concatenate([numbers, more_numbers + len(self._channels)])
        order = np.argsort(columns[1], kind="stable")
        source, target, ticks, delay = (column[order] for column in columns)
        if columns.dtype == object:
            source, target, ticks = (column.astype(np.int64) for column in (source, target, ticks))
        starts = np.searchsorted(target, np.arange(self._count + 1))
        return Events(starts, source, target, ticks, delay, numbers[order], self.common)

    def _arcs(self, channels: Sequence[SdfChannel]) -> tuple[IntArray, IntArray]:
        """Return source, target, ticks and delay of the arcs of channels, and the number of each one's channel."""
        parts = [(np.zeros(0, np.int64),) * 4, *map(self._between_rounds, channels)]
        source, target, ticks, shift = map(np.concatenate, zip(*parts, strict=True))
        numbers = np.repeat(np.arange(len(channels)), [len(part[0]) for part in parts[1:]])
        ends = [(self._offset[c.source], self._offset[c.target]) for c in channels]
        source, target = np.array([source, target]) + np.array(ends, np.int64).reshape(-1, 2)[numbers].T
        moved = [_total(c.production, self._repetitions[c.source]) for c in channels]
        if max(int(np.abs(shift).max(initial=0)) * self.common, *moved, 0) >= SAFE:
            shift = shift.astype(object)
        delay = shift * self.common // np.array(moved, shift.dtype)[numbers]
        return np.stack([source, target, ticks, delay]), numbers

    def _between_rounds(self, channel: SdfChannel) -> tuple[IntArray, ...]:
        writes, reads = self.rounds[channel.source], self.rounds[channel.target]
        key = channel.id, channel.tokens, writes, reads
        if key not in self._known:
            self._known[key] = _arcs(channel, writes, reads, self._times[channel.source])
        return self._known[key]


def _total(rate: PerPhase, firings: int) -> int:
    amounts = phases(rate)
    return sum(amounts) * firings // len(amounts)


def _sums(rate: PerPhase, firings: int) -> IntArray:
    """Return how many tokens are moved before each firing of a round, and in all of it."""
    sums = np.zeros(firings + 1, np.int64)
    np.cumsum(np.resize(np.array(phases(rate), np.int64), firings), out=sums[1:])
    return sums


def _arcs(channel: SdfChannel, writes: int, reads: int, time: PerPhase) -> tuple[IntArray, ...]:
    """Return writer, reader, ticks and shift of every dependence between rounds of ``writes`` and ``reads`` firings.

    Reading firing r of some round needs tokens of writing firing p of some other. The rounds lie a multiple of the
    common divisor of their tokens apart; the least such shift at which the two share a token demands most.
    """
    wrote, took = _sums(channel.production, writes), _sums(channel.consumption, reads)
    step = gcd(int(wrote[-1]), int(took[-1]))
    if wrote[-1] // step >= writes:
        writer, reader = (grid.ravel() for grid in np.meshgrid(np.arange(writes), np.arange(reads)))
    else:
        writer, reader = _touching(channel.tokens, wrote, took, step)
    moves = (wrote[writer + 1] > wrote[writer]) & (took[reader + 1] > took[reader])
    writer, reader = writer[moves], reader[moves]
    shift = step * ((channel.tokens + wrote[writer] - took[reader + 1]) // step + 1)
    meets = shift < channel.tokens + wrote[writer + 1] - took[reader]
    writer = writer[meets]
    ticks = np.resize(np.array(phases(time), np.int64), writes)
    return writer, reader[meets], ticks[writer], shift[meets]


def _touching(tokens: int, wrote: IntArray, took: IntArray, step: int) -> tuple[IntArray, IntArray]:
    """Return every pair of firings that share a token at some shift, each once."""
    low = (tokens - took[1:]) // step + 1
    high = -((took[:-1] - tokens - wrote[-1]) // step)
    count = np.maximum(high - low, 0)
    reader = np.repeat(np.arange(len(count)), count)
    shift = step * (np.arange(len(reader)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count))
    first = np.searchsorted(wrote, np.maximum(shift + took[reader] - tokens, 0), "right") - 1
    last = np.searchsorted(wrote, np.minimum(shift + took[reader + 1] - tokens, wrote[-1]), "left")
    count = np.maximum(last - first, 0)
    writer = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    pairs = distinct(np.repeat(reader, count) * (len(wrote) - 1) + writer)
    return pairs % (len(wrote) - 1), pairs // (len(wrote) - 1)
