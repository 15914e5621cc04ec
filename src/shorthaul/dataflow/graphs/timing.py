"""Multirate graphs as they are analysed: one execution time per actor, firings in turn, room in channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from shorthaul.core.errors import InputError, unknown_name
from shorthaul.dataflow.model import PerPhase, SdfActor, SdfChannel, SdfGraph, phases

#: What the names of added channels end in: an actor's turn, the room in a channel.
TURN, ROOM = ":turn", ":room"


def timed(graph: SdfGraph, core_type: str | None = None, *, serial: bool = False) -> SdfGraph:
    """Return the graph with the execution times of one core type, or of each actor's fastest (None).

    With ``serial``, a channel of one token lets no two firings of an actor overlap. Raises :class:`InputError` if no
    or not every actor runs on the type.

    >>> timed(SdfGraph("g", (SdfActor("a", {"t": 3, "u": 2}),), ())).actors[0].times
    {'u': 2}
    """
    actors = []
    for actor in graph.actors:
        if core_type is not None and core_type not in actor.times:
            known = sorted({kind for other in graph.actors for kind in other.times})
            if core_type not in known:
                raise unknown_name("core type", core_type, known, place="--core-type")
            raise InputError(
                "has no execution time on this core type", place=f"actor {actor.id}", value=core_type,
                allowed=", ".join(actor.times), cure="leave --core-type out: each actor takes its fastest",
            )  # fmt: skip
        kind = core_type or min(actor.times, key=lambda kind: mean(actor.times[kind]))
        actors.append(SdfActor(actor.id, {kind: actor.times[kind]}))
    turns = tuple(SdfChannel(f"{a.id}{TURN}", a.id, 1, a.id, 1, 1, 0) for a in graph.actors) if serial else ()
    return replace(graph, actors=tuple(actors), channels=(*graph.channels, *turns))


def bounded(graph: SdfGraph, capacities: Mapping[str, int]) -> SdfGraph:
    """Return the graph with room for so many tokens in the channels named; a firing takes the room when it starts.

    Room is given back when the reading firing ends, as in SDF3's analyses.

    >>> g = SdfGraph("g", (SdfActor("a", {"t": 3}),), (SdfChannel("c", "a", 2, "a", 2, 2, 1),))
    >>> bounded(g, {"c": 5}).channels[1].tokens
    3
    """
    room = tuple(
        SdfChannel(f"{c.id}{ROOM}", c.target, c.consumption, c.source, c.production, capacities[c.id] - c.tokens, 0)
        for c in graph.channels
        if c.id in capacities
    )
    return replace(graph, channels=(*graph.channels, *room))


def mean(time: PerPhase) -> Fraction:
    """Return the time, or the rate, of a firing in the mean."""
    return Fraction(sum(phases(time)), len(phases(time)))
