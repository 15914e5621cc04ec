"""Self-timed execution of multirate graphs with buffers of limited room: slow, obvious, tick by tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from shorthaul.dataflow.model import SdfGraph, phases


def self_timed_period(
    graph: SdfGraph, buffers: Mapping[str, Sequence[str]], capacities: Mapping[str, int], repetitions: Mapping[str, int]
) -> Fraction | None:
    """Return the ticks per iteration when every actor fires as soon as it can; None if the graph deadlocks.

    Execution times are above 0, and the graph is connected through buffers with capacities. Firings of one actor start
    in order; they take room for what they write when they start, and free what they read when they end.
    """
    times = {actor.id: phases(next(iter(actor.times.values()))) for actor in graph.actors}
    channels = {channel.id: channel for channel in graph.channels}
    tokens = {name: channel.tokens for name, channel in channels.items()}
    held = {(name, member): channels[member].tokens for name, members in buffers.items() for member in members}
    fired = dict.fromkeys(times, 0)
    running: list[tuple[int, str, int]] = []  # ticks left, actor, number of the firing
    seen: dict[object, tuple[int, dict[str, int]]] = {}
    of_buffer = {member: name for name, members in buffers.items() for member in members}
    now = 0

    def rate(amount: object, firing: int) -> int:
        amounts = phases(amount)
        return amounts[firing % len(amounts)]

    def can_fire(actor: str) -> bool:
        for name, channel in channels.items():
            if channel.target == actor and tokens[name] < rate(channel.consumption, fired[actor]):
                return False
            if channel.source == actor and name in of_buffer:
                buffer = of_buffer[name]
                if held[buffer, name] + rate(channel.production, fired[actor]) > capacities[buffer]:
                    return False
        return True

    while True:
        for left, actor, firing in [*running]:
            if left == 0:
                running.remove((left, actor, firing))
                for name, channel in channels.items():
                    if channel.source == actor:
                        tokens[name] += rate(channel.production, firing)
                    if channel.target == actor and name in of_buffer:
                        held[of_buffer[name], name] -= rate(channel.consumption, firing)
        for actor in times:
            while can_fire(actor):
                for name, channel in channels.items():
                    if channel.target == actor:
                        tokens[name] -= rate(channel.consumption, fired[actor])
                    if channel.source == actor and name in of_buffer:
                        held[of_buffer[name], name] += rate(channel.production, fired[actor])
                running.append((times[actor][fired[actor] % len(times[actor])], actor, fired[actor]))
                fired[actor] += 1
        if not running:
            return None
        phase = tuple(sorted((left, actor, firing % repetitions[actor]) for left, actor, firing in running))
        place = tuple(fired[actor] % repetitions[actor] for actor in times)
        state = (phase, place, tuple(tokens.values()), tuple(held.values()))
        if state in seen:
            before, count = seen[state]
            actor = next(iter(times))
            return Fraction((now - before) * repetitions[actor], fired[actor] - count[actor])
        seen[state] = now, dict(fired)
        now += 1
        running = [(left - 1, actor, firing) for left, actor, firing in running]
