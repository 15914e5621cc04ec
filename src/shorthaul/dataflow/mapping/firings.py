"""Which tokens every firing of an application reads and writes, and which channels of its marked graph carry them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shorthaul.dataflow.graphs.expansion import to_sdf
from shorthaul.dataflow.graphs.multirate import Dependence, channel_names, dependences, firing_name
from shorthaul.dataflow.model import Application, PerPhase, phases


@dataclass(frozen=True, slots=True)
class Side:
    """The tokens that a firing moves through a channel: one, or a list of ``count``.

    ``parts`` are the channels of the marked graph that carry them, with how many each, in order.
    """

    channel: str
    count: int
    is_list: bool
    parts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Firing:
    """Firing ``number`` of the ``per_iteration`` of an actor; its sides are in the order of the channels."""

    actor: str
    number: int
    per_iteration: int
    reads: tuple[Side, ...]
    writes: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Carried:
    """The tokens of one channel of the marked graph: ``first`` is the number of the first in iteration 0."""

    channel: str
    first: int
    count: int
    per_iteration: int


def firings(application: Application) -> tuple[dict[str, Firing], dict[str, Carried]]:
    """Return the firing that every actor of the marked graph stands for, and what its channels carry."""
    graph = to_sdf(application)
    fires, found = dependences(graph)
    names = dict(zip(found, channel_names(found), strict=True))
    into: dict[tuple[str, tuple[str, int]], list[Dependence]] = {}
    out: dict[tuple[str, tuple[str, int]], list[Dependence]] = {}
    for edge in found:  # by rising firings of the target, which reads in order
        into.setdefault((edge.channel, edge.target), []).append(edge)
        out.setdefault((edge.channel, edge.source), []).append(edge)

    def side(channel: str, rate: PerPhase, number: int, edges: Iterable[Dependence]) -> Side:
        parts = tuple((names[edge], edge.count) for edge in edges)
        return Side(channel, phases(rate)[number % len(phases(rate))], rate != 1, parts)

    made: dict[str, Firing] = {}
    for actor in graph.actors:
        for number in range(fires[actor.id]):
            firing = actor.id, number
            reads = tuple(
                side(c.id, c.consumption, number, into.get((c.id, firing), ()))
                for c in graph.channels if c.target == actor.id
            )  # fmt: skip
            writes = tuple(
                side(c.id, c.production, number, sorted(out.get((c.id, firing), ()), key=lambda e: (e.delay, e.target)))
                for c in graph.channels if c.source == actor.id
            )  # fmt: skip
            made[firing_name(fires, firing)] = Firing(actor.id, number, fires[actor.id], reads, writes)
    amounts = {c.id: sum(phases(c.production)) * fires[c.source] // len(phases(c.production)) for c in graph.channels}
    carried = {names[e]: Carried(e.channel, e.first, e.count, amounts[e.channel]) for e in found}
    return made, carried
