"""Small random problems: few actors, short times, tight memories."""

from __future__ import annotations

import random

from shorthaul.dataflow.model import (
    DECISIONS,
    Actor,
    Application,
    Channel,
    Core,
    CoreType,
    Decisions,
    Platform,
    Problem,
    Tile,
)


def small_platform(draw: random.Random) -> Platform:
    types = {"x": CoreType(1.0), "y": CoreType(0.5)}
    tiles = []
    for tile in range(draw.randint(1, 2)):
        cores = tuple(Core(f"p{tile}{i}", "xy"[i % 2], draw.choice((0, 4, 16))) for i in range(2))
        tiles.append(Tile(f"T{tile}", cores, draw.choice((4, 16)), draw.choice((1.0, 2.0))))
    return Platform("small", types, tuple(tiles), 1.0, None)


def small_problem(seed: int, most_actors: int = 5) -> Problem:
    """A random marked graph (delays, a cycle now and then, a multicast) on one or two tiles, with a random mapping."""
    draw = random.Random(seed)
    n = draw.randint(2, most_actors)
    actors = [Actor(f"a{i}", {"x": draw.randint(1, 4), "y": draw.randint(1, 6)}) for i in range(n)]
    channels: list[Channel] = []

    def connect(src: str, dst: str, delay: int, size: int) -> None:
        channels.append(Channel(f"c{len(channels)}", src, dst, size, delay))

    for target in range(1, n):
        connect(f"a{draw.randrange(target)}", f"a{target}", draw.choice((0, 1, 1, 2)), draw.randint(1, 3))
    if draw.random() < 0.4:
        source, target = sorted((draw.randrange(n), draw.randrange(n)), reverse=True)
        connect(f"a{source}", f"a{target}", draw.randint(1, 2), draw.randint(1, 3))
    if draw.random() < 0.7:
        actors.append(Actor("m", {"x": 1, "y": 1}, "multicast"))
        size, source = draw.randint(1, 3), draw.randrange(n)
        connect(f"a{source}", "m", draw.choice((0, 1)), size)
        for _ in range(2):
            connect("m", f"a{draw.randrange(source, n)}", 1, size)
    application = Application("small", tuple(actors), tuple(channels), "s")
    platform = small_platform(draw)
    decisions = Decisions(
        {actor.id: draw.choice(platform.cores).id for actor in actors},
        {"m": draw.randint(0, 1)} if len(actors) > n else {},
        {channel.id: draw.choice(DECISIONS) for channel in channels},
    )
    # a replaced multicast loses the delays of its outputs: keep it where that would deadlock
    if decisions.xi.get("m") and any(c.src == "m" and c.dst == channels_source(channels) for c in channels):
        decisions = Decisions(decisions.binding, {"m": 0}, decisions.channel_decision)
    return Problem(application, platform, decisions)


def channels_source(channels: list[Channel]) -> str:
    return next(c.src for c in channels if c.dst == "m")
