"""Synchronous and cyclo-static data-flow graphs: consistency, repetition vector, liveness, expansion to a marked graph.

A cyclo-static actor goes through phases, one per firing, each with its own rates and execution times (Bilsen et al.,
*Cyclo-static dataflow*, IEEE Trans. Signal Processing 1996); a synchronous one has one phase.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import gcd, lcm
from typing import Final

from shorthaul.core.errors import InputError
from shorthaul.dataflow.graphs.timing import ROOM, TURN, mean
from shorthaul.dataflow.model import PerPhase, SdfActor, SdfChannel, SdfGraph, phases

#: An expansion above this many firings in one iteration is refused.
MOST_FIRINGS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Dependence:
    """One channel of an expansion: ``target`` reads ``count`` tokens that ``source`` wrote ``delay`` iterations ago.

    Both are firings, pairs (actor, number within the iteration). ``first`` is the number, on the channel, of the first
    token that ``target`` so reads in the first iteration; initial tokens count from 0.
    """

    channel: str
    source: tuple[str, int]
    target: tuple[str, int]
    delay: int
    count: int
    first: int


def repetition_vector(graph: SdfGraph) -> dict[str, int]:
    """Return how often each actor fires in one iteration: the smallest positive solution of the balance equations.

    Every actor ends with its last phase. Raises :class:`InputError` naming the channel at which the rates contradict
    each other (Lee and Messerschmitt's consistency).

    >>> a, b = SdfActor("a", {"t": 1}), SdfActor("b", {"t": 1})
    >>> repetition_vector(SdfGraph("g", (a, b), (SdfChannel("c", "a", 2, "b", 3, 0, 4),)))
    {'a': 3, 'b': 2}
    """
    rate: dict[str, Fraction] = {}  # firings; an iteration has whole rounds of phases
    round_of = graph.phase_counts()
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
        rounds = {member: rate[member] / round_of[member] for member in component}
        scale = lcm(*(count.denominator for count in rounds.values()))
        common = gcd(*(int(count * scale) for count in rounds.values()))
        result.update({member: int(rounds[member] * scale) // common * round_of[member] for member in component})
    return {actor.id: result[actor.id] for actor in graph.actors}


def _propagate(root: str, around: Mapping[str, list[SdfChannel]], rate: dict[str, Fraction]) -> list[str]:
    """Set the rate of every actor connected to ``root``; return them."""
    component, todo = [root], [root]
    while todo:
        here = todo.pop()
        for channel in around[here]:
            forward = channel.source == here
            other = channel.target if forward else channel.source
            ratio = mean(channel.production) / mean(channel.consumption)
            expected = rate[here] * (ratio if forward else 1 / ratio)
            if other not in rate:
                rate[other] = expected
                component.append(other)
                todo.append(other)
            elif rate[other] != expected:
                raise InputError(
                    "the rates are inconsistent: no number of firings brings this channel back to its initial tokens",
                    place=f"channel {channel.id}",
                    value=f"{channel.source} writes {_shown(channel.production)},"
                    f" {channel.target} reads {_shown(channel.consumption)}",
                    allowed=f"rates for which {other} fires {expected} times for every firing of {root}",
                    cure="change a rate of this channel or of the others between these actors",
                )
    return component


def _shown(rate: PerPhase) -> str:
    return ",".join(map(str, phases(rate)))


def _iteration(graph: SdfGraph) -> dict[str, int]:
    """Return the firings of an iteration; raises :class:`InputError` if too many to go through them all."""
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
    """Return the firings and the channels of the equivalent marked graph.

    The tokens of a channel, the initial ones first, are read in the order in which they are written. Raises
    :class:`InputError` if the graph is inconsistent or too large.
    """
    repetitions = _iteration(graph)
    found: list[Dependence] = []
    for channel in graph.channels:
        writes = repetitions[channel.source]
        written, read = _Stream(channel.production), _Stream(channel.consumption)
        for reader in range(repetitions[channel.target]):
            target = channel.target, reader
            low, high = read.before(reader) - channel.tokens, read.before(reader + 1) - channel.tokens
            for firing in range(written.firing(low), written.firing(high - 1) + 1) if low < high else ():
                first = max(low, written.before(firing))
                count = min(high, written.before(firing + 1)) - first
                if count:
                    source, delay = (channel.source, firing % writes), -(firing // writes)
                    found.append(Dependence(channel.id, source, target, delay, count, first + channel.tokens))
    return repetitions, found


def firing_name(repetitions: Mapping[str, int], firing: tuple[str, int]) -> str:
    """Return the actor that stands for a firing in the expansion."""
    actor, number = firing
    return actor if repetitions[actor] == 1 else f"{actor}#{number}"


def channel_names(found: Iterable[Dependence]) -> list[str]:
    """Return the channels that stand for the dependences in the expansion, in their order."""
    channels = [edge.channel for edge in found]
    per_channel, seen = Counter(channels), Counter[str]()
    names = []
    for channel in channels:
        names.append(channel if per_channel[channel] == 1 else f"{channel}#{seen[channel]}")
        seen[channel] += 1
    return names


class _Stream:
    """The tokens that an actor writes or reads, numbered through all its firings, also the negative ones."""

    def __init__(self, rate: PerPhase) -> None:
        self._sums = [0, *accumulate(phases(rate))]
        self._phases, self._total = len(self._sums) - 1, self._sums[-1]

    def before(self, firing: int) -> int:
        """Return the number of the first token of a firing."""
        rounds, phase = divmod(firing, self._phases)
        return rounds * self._total + self._sums[phase]

    def firing(self, token: int) -> int:
        """Return the firing of a token."""
        rounds, rest = divmod(token, self._total)
        return rounds * self._phases + bisect_right(self._sums, rest) - 1


def check_live(graph: SdfGraph) -> None:
    """Raise :class:`InputError` naming actors that wait for each other if the graph cannot finish one iteration.

    So are graphs that are inconsistent or too large.
    """
    repetitions = _iteration(graph)
    tokens = {channel.id: channel.tokens for channel in graph.channels}
    reads: dict[str, list[tuple[str, tuple[int, ...]]]] = {actor.id: [] for actor in graph.actors}
    writes: dict[str, list[tuple[str, tuple[int, ...], str]]] = {actor.id: [] for actor in graph.actors}
    for channel in graph.channels:
        reads[channel.target].append((channel.id, phases(channel.consumption)))
        writes[channel.source].append((channel.id, phases(channel.production), channel.target))
    fired = dict.fromkeys(repetitions, 0)
    todo = [actor.id for actor in graph.actors]
    while todo:
        here = todo.pop()
        count = fired[here]
        while count < repetitions[here] and all(tokens[name] >= rate[count % len(rate)] for name, rate in reads[here]):
            for name, rate in reads[here]:
                tokens[name] -= rate[count % len(rate)]
            for name, rate, _ in writes[here]:
                tokens[name] += rate[count % len(rate)]
            count += 1
        if count > fired[here]:
            fired[here] = count
            todo += [target for *_, target in writes[here]]
    stuck = next((actor for actor, count in repetitions.items() if fired[actor] < count), None)
    if stuck is not None:
        raise deadlock(
            *_waiting(stuck, {channel.id: channel.source for channel in graph.channels}, tokens, fired, reads)
        )


def _waiting(
    stuck: str, source: Mapping[str, str], tokens: Mapping[str, int], fired: Mapping[str, int],
    reads: Mapping[str, Sequence[tuple[str, tuple[int, ...]]]],
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Return a cycle of actors that each wait for the one before, and the channels that lack tokens."""
    actors: list[str] = []
    channels: list[str] = []
    while stuck not in actors:
        actors.append(stuck)
        channels.append(next(c for c, rate in reads[stuck] if tokens[c] < rate[fired[stuck] % len(rate)]))
        stuck = source[channels[-1]]
    first = actors.index(stuck)
    return actors[first:][::-1], channels[first:][::-1]


def deadlock(actors: Sequence[str], channels: Sequence[str]) -> InputError:
    """Return the error of a graph in which these actors wait for each other, as these channels lack tokens or room."""
    names = [f"room in {c.removesuffix(ROOM)}" if c.endswith(ROOM) else c for c in channels if not c.endswith(TURN)]
    return InputError(
        "the graph deadlocks: these actors wait for each other's tokens", place=f"channels {shown(names)}",
        value=shown(actors), allowed="enough initial tokens on every cycle",
        cure="add initial tokens to a channel between them",
    )  # fmt: skip


def shown(names: Sequence[str], most: int = 12) -> str:
    """Return the names, or so many of them."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def expand(graph: SdfGraph) -> SdfGraph:
    """Return the marked graph of an iteration: one actor per firing (``a#0``, ``a#1``, ...), every rate 1.

    A channel of the expansion carries all tokens that one firing hands to another in one token of their joint size.
    A graph of one phase whose rates are all 1 is returned unchanged. Raises :class:`InputError` for
    inconsistent, dead or too large graphs.

    >>> a, b = SdfActor("a", {"t": 1}), SdfActor("b", {"t": 1})
    >>> marked = expand(SdfGraph("g", (a, b), (SdfChannel("c", "a", 1, "b", 2, 0, 4),)))
    >>> [actor.id for actor in marked.actors], [(c.source, c.target, c.tokens) for c in marked.channels]
    (['a#0', 'a#1', 'b'], [('a#0', 'b', 0), ('a#1', 'b', 0)])
    """
    check_live(graph)
    rates = {rate for channel in graph.channels for rate in (channel.production, channel.consumption)}
    if rates <= {1} and not graph.is_cyclo_static:
        return graph
    repetitions, found = dependences(graph)

    sizes = {channel.id: channel.token_bytes for channel in graph.channels}
    channels = []
    for edge, identity in zip(found, channel_names(found), strict=True):
        ends = [firing_name(repetitions, firing) for firing in (edge.source, edge.target)]
        size = edge.count * sizes[edge.channel]
        channels.append(SdfChannel(identity, ends[0], 1, ends[1], 1, edge.delay, size))
    actors = tuple(
        SdfActor(
            firing_name(repetitions, (actor.id, number)),
            {kind: phases(time)[number % len(phases(time))] for kind, time in actor.times.items()},
        )
        for actor in graph.actors
        for number in range(repetitions[actor.id])
    )
    return SdfGraph(graph.name, actors, tuple(channels))
