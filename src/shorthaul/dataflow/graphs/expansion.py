"""Multirate applications: to and from the SDF graphs of ``multirate``, and as the marked graph of one iteration."""

from __future__ import annotations

from collections import Counter

from shorthaul.core.arguments import public
from shorthaul.dataflow.graphs.multirate import check_live, expand
from shorthaul.dataflow.model import Actor, Application, Channel, SdfActor, SdfChannel, SdfGraph


def from_sdf(graph: SdfGraph) -> Application:
    """Return a graph as an application, rates, phases and all. Raises :class:`InputError` if it makes no sense."""
    return Application(
        graph.name,
        tuple(
            Actor(actor.id, actor.times, "multicast" if actor.id in graph.multicasts else "actor")
            for actor in graph.actors
        ),
        tuple(
            Channel(c.id, c.source, c.target, c.token_bytes, c.tokens, c.capacity, c.production, c.consumption)
            for c in graph.channels
        ),
    )


def to_sdf(application: Application) -> SdfGraph:
    """Return an application as an SDF graph."""
    actors = tuple(
        SdfActor(actor.id, {kind: tau for kind, tau in actor.tau.items() if tau is not None})
        for actor in application.actors
    )
    channels = tuple(
        SdfChannel(c.id, c.src, c.produce, c.dst, c.consume, c.delay, c.token_bytes, c.capacity)
        for c in application.channels
    )
    return SdfGraph(application.name, actors, channels, application.multicasts)


def check_iteration(application: Application) -> None:
    """Raise :class:`InputError` if no iteration can be executed: inconsistent rates, a deadlock, too many firings."""
    if not application.is_marked_graph:  # whose deadlocks the model itself finds
        check_live(to_sdf(application))


@public
def marked_graph(application: Application) -> Application:
    """Return the application with one actor per firing of an iteration and one token per channel and firing.

    Firing k of actor ``a`` becomes ``a#k`` (from 0; ``a`` itself if it fires once). A marked graph is returned as it
    is.

    Parameters
    ----------
    application : Application
        The network, with any rates.

    Returns
    -------
    Application
        The network with one firing per actor.

    Raises
    ------
    InputError
        If the graph is inconsistent, deadlocks or grows too large.

    Examples
    --------
    >>> pair = (Actor("a", {"t": 1}), Actor("b", {"t": 1}))
    >>> graph = marked_graph(Application("g", pair, (Channel("c", "a", "b", 8, 0, 1, 2, 3),)))
    >>> [(c.src, c.dst, c.token_bytes) for c in graph.channels]
    [('a#0', 'b#0', 16), ('a#1', 'b#0', 8), ('a#1', 'b#1', 8), ('a#2', 'b#1', 16)]
    """
    if application.is_marked_graph:
        return application
    expanded = from_sdf(expand(to_sdf(application)))
    # Buffers in place of multicasts drop the initial tokens of outputs. Where the firings of one would not all lose as
    # many, readers would get tokens in another order, so it becomes a copy.
    kinds = {actor.id: actor.kind for actor in application.actors}
    firings = Counter(actor.id.rpartition("#")[0] for actor in expanded.actors if actor.id not in kinds)
    kinds |= {
        c.src: "copy"
        for c in application.channels
        if kinds[c.src] == "multicast" and c.src in firings and c.delay % firings[c.src]
    }
    actors = tuple(
        Actor(actor.id, actor.tau, kinds[actor.id if actor.id in kinds else actor.id.rpartition("#")[0]])
        for actor in expanded.actors
    )
    return Application(application.name, actors, expanded.channels, application.time_unit)
