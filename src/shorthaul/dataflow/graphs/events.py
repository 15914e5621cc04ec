"""The event graph of a multirate graph: a node per firing of a round, an arc per dependence of two of them.

A round of an actor is a number of firings that divides its firings in an iteration; all rounds of an actor are alike
but for their start. Between the firings of the rounds of two actors, only the tightest dependence is kept
(Bodin, Munier-Kordon, Dupont de Dinechin: *K-periodic schedules for evaluating the maximum throughput of a
synchronous dataflow graph*).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow.model import PerPhase, SdfChannel, SdfGraph, phases
from shorthaul.graphs.csr import IntArray

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Events:
    """Arcs by target. ``shift`` counts tokens; that many of ``per_iteration`` is the delay in iterations.

    Node ``offset[a] + p`` is firing p of a round of actor a; ``channel`` numbers the channel of each arc.
    """

    offset: Mapping[str, int]
    starts: IntArray
    source: IntArray
    target: IntArray
    ticks: IntArray
    shift: IntArray
    per_iteration: IntArray
    channel: IntArray
    common: int  # the least number by which every delay in iterations becomes whole

    def firing(self, node: int) -> tuple[str, int]:
        """Return the actor of a node and the number of the firing in its round."""
        actor = max((name for name in self.offset if self.offset[name] <= node), key=self.offset.__getitem__)
        return actor, node - self.offset[actor]


def event_graph(
    graph: SdfGraph, rounds: Mapping[str, int], repetitions: Mapping[str, int],
    known: dict[tuple[str, int, int], tuple[IntArray, IntArray, IntArray]],
) -> Events:  # fmt: skip
    """Return the event graph for the given rounds; ``known`` keeps the arcs of channels between calls."""
    times = {actor.id: next(iter(actor.times.values())) for actor in graph.actors}
    offset: dict[str, int] = {}
    count = 0
    for actor in graph.actors:
        offset[actor.id] = count
        count += rounds[actor.id]
    parts: list[Sequence[IntArray]] = []
    for number, channel in enumerate(graph.channels):
        a, b = channel.source, channel.target
        key = channel.id, rounds[a], rounds[b]
        if key not in known:
            known[key] = _arcs(channel, rounds[a], rounds[b])
        writer, reader, shift = known[key]
        ticks = np.resize(np.array(phases(times[a]), np.int64), rounds[a])
        size = len(writer)
        tokens = _total(channel.production, rounds[a]) * (repetitions[a] // rounds[a])
        parts.append(
            (writer + offset[a], reader + offset[b], ticks[writer], shift, np.full(size, tokens), np.full(size, number))
        )
    columns = [np.concatenate(column) if parts else np.zeros(0, np.int64) for column in zip(*parts, strict=True)]
    source, target, ticks, shift, per_iteration, numbers = columns or [np.zeros(0, np.int64)] * 6
    order = np.argsort(target, kind="stable")
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(target, minlength=count), out=starts[1:])
    common = lcm(*(repetitions[actor] // rounds[actor] for actor in rounds))
    return Events(
        offset, starts, source[order], target[order], ticks[order], shift[order], per_iteration[order], numbers[order],
        common,
    )  # fmt: skip


def _total(rate: PerPhase, firings: int) -> int:
    amounts = phases(rate)
    return sum(amounts) * firings // len(amounts)


def _sums(rate: PerPhase, firings: int) -> IntArray:
    """Return how many tokens are moved before each firing of a round, and in all of it."""
    sums = np.zeros(firings + 1, np.int64)
    np.cumsum(np.resize(np.array(phases(rate), np.int64), firings), out=sums[1:])
    return sums


def _arcs(channel: SdfChannel, writes: int, reads: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return writer, reader and shift of every dependence between rounds of ``writes`` and ``reads`` firings.

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
    return writer[meets], reader[meets], shift[meets]


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
    pairs = np.unique(np.repeat(reader, count) * (len(wrote) - 1) + writer)
    return pairs % (len(wrote) - 1), pairs // (len(wrote) - 1)
