"""Multirate synchronous data-flow graphs: consistency, repetition vector, liveness, expansion to a marked graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Final

from shorthaul.core.errors import InputError

#: An expansion above this many firings in one iteration is refused.
MOST_FIRINGS: Final = 100_000


@dataclass(frozen=True, slots=True)
class SdfActor:
    """An actor and its execution time in ticks on every core type that can run it."""

    id: str
    times: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SdfChannel:
    """A channel: ``source`` writes ``production`` tokens a firing, ``target`` reads ``consumption`` tokens a firing.

    ``tokens`` are there initially, each of ``token_bytes``. ``capacity`` counts tokens, None where it is not given.
    """

    id: str
    source: str
    production: int
    target: str
    consumption: int
    tokens: int
    token_bytes: int
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class SdfGraph:
    """A synchronous data-flow graph."""

    name: str
    actors: tuple[SdfActor, ...]
    channels: tuple[SdfChannel, ...]


@dataclass(frozen=True, slots=True)
class Dependence:
    """One channel of an expansion: ``target`` reads ``count`` tokens that ``source`` wrote ``delay`` iterations ago.

    Both are firings, pairs (actor, number within the iteration).
    """

    channel: str
    source: tuple[str, int]
    target: tuple[str, int]
    delay: int
    count: int


def repetition_vector(graph: SdfGraph) -> dict[str, int]:
    """Return how often each actor fires in one iteration: the smallest positive solution of the balance equations.

    Raises :class:`InputError` naming the channel at which the rates contradict each other (Lee and Messerschmitt's
    consistency).

    >>> a, b = SdfActor("a", {"t": 1}), SdfActor("b", {"t": 1})
    >>> repetition_vector(SdfGraph("g", (a, b), (SdfChannel("c", "a", 2, "b", 3, 0, 4),)))
    {'a': 3, 'b': 2}
    """
    rate: dict[str, Fraction] = {}
    around: dict[str, list[SdfChannel]] = {actor.id: [] for actor in graph.actors}
    for channel in graph.channels:
        around[channel.source].append(channel)
        around[channel.target].append(channel)
    result: dict[str, int] = {}
    for actor in graph.actors:
        if actor.id in rate:
            continue
        rate[actor.id] = Fraction(1)
        component = _propagate(actor.id, around, rate)
        scale = lcm(*(rate[member].denominator for member in component))
        counts = {member: int(rate[member] * scale) for member in component}
        common = gcd(*counts.values())
        result.update({member: count // common for member, count in counts.items()})
    return {actor.id: result[actor.id] for actor in graph.actors}


def _propagate(root: str, around: Mapping[str, list[SdfChannel]], rate: dict[str, Fraction]) -> list[str]:
    """Set the rate of every actor connected to ``root``; return them."""
    component, todo = [root], [root]
    while todo:
        here = todo.pop()
        for channel in around[here]:
            forward = channel.source == here
            other = channel.target if forward else channel.source
            ratio = Fraction(channel.production, channel.consumption)
            expected = rate[here] * (ratio if forward else 1 / ratio)
            if other not in rate:
                rate[other] = expected
                component.append(other)
                todo.append(other)
            elif rate[other] != expected:
                raise InputError(
                    "the rates are inconsistent: no number of firings brings this channel back to its initial tokens",
                    place=f"channel {channel.id}",
                    value=f"{channel.source} writes {channel.production}, {channel.target} reads {channel.consumption}",
                    allowed=f"rates for which {other} fires {expected} times for every firing of {root}",
                    cure="change a rate of this channel or of the others between these actors",
                )
    return component


def _iteration(graph: SdfGraph) -> dict[str, int]:
    """Return the repetition vector; raises :class:`InputError` if it has too many firings to go through them all."""
    repetitions = repetition_vector(graph)
    total = sum(repetitions.values())
    if total > MOST_FIRINGS:
        most = max(repetitions, key=lambda actor: repetitions[actor])
        raise InputError(
            "one iteration has too many firings", place=f"actor {most}, which fires {repetitions[most]} times",
            value=total, allowed=f"up to {MOST_FIRINGS}",
            cure="choose rates of the channels with larger common divisors",
        )  # fmt: skip
    return repetitions


def dependences(graph: SdfGraph) -> tuple[dict[str, int], list[Dependence]]:
    """Return the repetition vector and the channels of the equivalent marked graph, one iteration a period.

    Token k of a channel (the initial ones first) is read by firing k div consumption and was written by firing
    (k - tokens) div production. Raises :class:`InputError` if the graph is inconsistent or too large.
    """
    repetitions = _iteration(graph)
    found: list[Dependence] = []
    for channel in graph.channels:
        writes = repetitions[channel.source]
        for reader in range(repetitions[channel.target]):
            counts: dict[tuple[int, int], int] = {}
            low = reader * channel.consumption - channel.tokens
            high = low + channel.consumption
            for firing in range(low // channel.production, (high - 1) // channel.production + 1):
                key = firing % writes, -(firing // writes)
                written = firing * channel.production
                counts[key] = min(high, written + channel.production) - max(low, written) + counts.get(key, 0)
            found += [
                Dependence(channel.id, (channel.source, writer), (channel.target, reader), delay, count)
                for (writer, delay), count in counts.items()
            ]
    return repetitions, found


def check_live(graph: SdfGraph) -> None:
    """Raise :class:`InputError` naming actors that wait for each other if the graph cannot finish one iteration.

    So are graphs that are inconsistent or too large.
    """
    left = _iteration(graph)
    tokens = {channel.id: channel.tokens for channel in graph.channels}
    reads: dict[str, list[SdfChannel]] = {actor.id: [] for actor in graph.actors}
    writes: dict[str, list[SdfChannel]] = {actor.id: [] for actor in graph.actors}
    for channel in graph.channels:
        reads[channel.target].append(channel)
        writes[channel.source].append(channel)
    todo = [actor.id for actor in graph.actors]
    while todo:
        here = todo.pop()
        ready = min((tokens[channel.id] // channel.consumption for channel in reads[here]), default=left[here])
        firings = min(left[here], ready)
        if firings <= 0:
            continue
        left[here] -= firings
        for channel in reads[here]:
            tokens[channel.id] -= firings * channel.consumption
        for channel in writes[here]:
            tokens[channel.id] += firings * channel.production
            todo.append(channel.target)
    stuck = [actor for actor, count in left.items() if count > 0]
    if stuck:
        raise InputError(
            "the graph deadlocks: these actors wait for each other's tokens",
            value=", ".join(stuck[:12]),
            allowed="enough initial tokens on every cycle",
            cure="add initial tokens to a channel between them",
        )


def expand(graph: SdfGraph) -> SdfGraph:
    """Return the equivalent marked graph: one actor per firing (``a#0``, ``a#1``, ...), every rate 1.

    A channel of the expansion carries all tokens that one firing hands to another in one token of their joint size.
    Graphs whose rates are all 1 are returned unchanged. Raises :class:`InputError` for inconsistent, dead or too
    large graphs.

    >>> a, b = SdfActor("a", {"t": 1}), SdfActor("b", {"t": 1})
    >>> marked = expand(SdfGraph("g", (a, b), (SdfChannel("c", "a", 1, "b", 2, 0, 4),)))
    >>> [actor.id for actor in marked.actors], [(c.source, c.target, c.tokens) for c in marked.channels]
    (['a#0', 'a#1', 'b'], [('a#0', 'b', 0), ('a#1', 'b', 0)])
    """
    check_live(graph)
    if all(channel.production == channel.consumption == 1 for channel in graph.channels):
        return graph
    repetitions, found = dependences(graph)

    def name(firing: tuple[str, int]) -> str:
        actor, number = firing
        return actor if repetitions[actor] == 1 else f"{actor}#{number}"

    sizes = {channel.id: channel.token_bytes for channel in graph.channels}
    per_channel: dict[str, int] = {}
    for edge in found:
        per_channel[edge.channel] = per_channel.get(edge.channel, 0) + 1
    seen: dict[str, int] = {}
    channels = []
    for edge in found:
        number = seen[edge.channel] = seen.get(edge.channel, -1) + 1
        identity = edge.channel if per_channel[edge.channel] == 1 else f"{edge.channel}#{number}"
        size = edge.count * sizes[edge.channel]
        channels.append(SdfChannel(identity, name(edge.source), 1, name(edge.target), 1, edge.delay, size))
    actors = tuple(
        SdfActor(name((actor.id, number)), actor.times)
        for actor in graph.actors
        for number in range(repetitions[actor.id])
    )
    return SdfGraph(graph.name, actors, tuple(channels))
