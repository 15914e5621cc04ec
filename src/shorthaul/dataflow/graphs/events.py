"""The event graph of a multirate graph: a node per firing of a round, an arc per dependence of two of them.

A round of an actor is a number of firings that divides its firings in an iteration; all rounds of an actor are alike
but for their start. Between the firings of the rounds of two actors, only the tightest dependence is kept
(Bodin, Munier-Kordon, Dupont de Dinechin: *K-periodic schedules for evaluating the maximum throughput of a
synchronous dataflow graph*).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow.model import PerPhase, SdfChannel, SdfGraph, phases
from shorthaul.graphs.csr import IntArray, distinct

FloatArray = npt.NDArray[np.float64]
#: The arcs of channels, by name, initial tokens and rounds.
Arcs = dict[tuple[str, int, int, int], tuple[IntArray, ...]]


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


def event_graph(graph: SdfGraph, rounds: Mapping[str, int], repetitions: Mapping[str, int], known: Arcs) -> Events:
    """Return the event graph for the given rounds; ``known`` keeps the arcs of channels between calls."""
    offset: dict[str, int] = {}
    count = 0
    for actor in graph.actors:
        offset[actor.id] = count
        count += rounds[actor.id]
    times = {actor.id: next(iter(actor.times.values())) for actor in graph.actors}
    parts: list[tuple[IntArray, ...]] = []
    for number, channel in enumerate(graph.channels):
        a, b = channel.source, channel.target
        key = channel.id, channel.tokens, rounds[a], rounds[b]
        if key not in known:
            known[key] = _arcs(channel, rounds[a], rounds[b], times[a])
        writer, reader, ticks, shift = known[key]
        tokens = _total(channel.production, rounds[a]) * (repetitions[a] // rounds[a])
        size = len(writer)
        parts.append(
            (writer + offset[a], reader + offset[b], ticks, shift, np.full(size, tokens), np.full(size, number))
        )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.zeros(0, np.int64)] * 6
    order = np.argsort(columns[1], kind="stable")
    source, target, ticks, shift, per_iteration, numbers = (column[order] for column in columns)
    starts = np.searchsorted(target, np.arange(count + 1))
    common = lcm(*(repetitions[actor] // rounds[actor] for actor in rounds))
    return Events(offset, starts, source, target, ticks, shift, per_iteration, numbers, common)


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
