"""Latency, as the checker counts it: iteration by iteration, from every first firing to what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def replayed_latency(
    channels: Iterable[tuple[str, str, int]], spans: Mapping[str, tuple[int, int]], period: int
) -> int | None:
    """Return the longest time from a first firing to the end of the first that follows from it at every end.

    ``channels`` are (writer, reader, initial tokens), ``spans`` begin and end of every firing in iteration 0. Firings
    ``a#0`` and ``a#1`` are of actor ``a``. None if no actor is without inputs or all are read from.
    """
    arcs = list(channels)
    out: dict[str, list[tuple[str, int]]] = {name: [] for name in spans}
    for writer, reader, tokens in arcs:
        out[writer].append((reader, tokens))
    actor = {name: name.split("#")[0] for name in spans}
    between = [(actor[writer], actor[reader]) for writer, reader, _ in arcs if actor[writer] != actor[reader]]
    begun = set(actor.values()) - {reader for _, reader in between}
    ended = set(actor.values()) - {writer for writer, _ in between}
    longest: list[int] = []
    for name in spans:
        if actor[name] not in begun:
            continue
        iteration = {name: 0}
        moved: dict[str, None] = {name: None}
        while moved:  # tokens go on until none arrives in an earlier iteration
            reached: dict[str, None] = {}
            for writer in moved:
                for reader, tokens in out[writer]:
                    if iteration[writer] + tokens < iteration.get(reader, 1 << 60):
                        iteration[reader] = iteration[writer] + tokens
                        reached[reader] = None
            moved = reached
        for end in ended:
            arrived = [spans[n][1] + period * k - spans[name][0] for n, k in iteration.items() if actor[n] == end]
            longest += [min(arrived)] if arrived else []
    return max(longest, default=None)
