"""Applications and platforms made from their parameters: the three image pipelines, the figures, random graphs."""

from __future__ import annotations

import random
from typing import Final

from shorthaul.core.arguments import public
from shorthaul.core.errors import InputError
from shorthaul.dataflow.model import (
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

_FLOAT: Final = 4
_INT16: Final = 2


def _expect(most: int, **amounts: int) -> None:
    """Raise :class:`InputError` for the first amount that is not from 1 to ``most``."""
    for name, amount in amounts.items():
        if not 1 <= amount <= most:
            raise InputError("is out of range", place=name, value=amount, allowed=f"1 to {most}")


@public
def platform24(
    *, tiles: int = 4, per_type: int = 2, local_bytes: int = 5 * 2**19, tile_bytes: int = 50 * 2**20
) -> Platform:
    """Return the paper's platform: tiles of two cores of each of three types, 8 GiB/s crossbars, a 4 GiB/s NoC.

    Parameters
    ----------
    tiles : int, default 4
        How many tiles.
    per_type : int, default 2
        Cores of each of the three types on a tile.
    local_bytes : int, default 2621440
        Memory of a core.
    tile_bytes : int, default 52428800
        Memory of a tile.

    Returns
    -------
    Platform
        The platform.

    Examples
    --------
    >>> len(platform24().cores)
    24
    """
    _expect(1000, tiles=tiles, per_type=per_type)
    types = {"t1": CoreType(1.5), "t2": CoreType(1.0), "t3": CoreType(0.5)}
    made = []
    number = 0
    for tile in range(1, tiles + 1):
        cores = []
        for name in types:
            for _ in range(per_type):
                number += 1
                cores.append(Core(f"p{number}", name, local_bytes))
        made.append(Tile(f"T{tile}", tuple(cores), tile_bytes, 8 * 2**30))
    return Platform(f"{number}-core", types, tuple(made), 4 * 2**30)


class _Builder:
    """Collects actors and channels; times are those of the slowest of the three core types."""

    def __init__(self) -> None:
        self.actors: list[Actor] = []
        self.channels: list[Channel] = []

    def actor(self, name: str, slow: int, *, kind: str = "actor") -> str:
        tau = {"t1": round(slow / 3), "t2": round(slow / 2), "t3": slow}
        self.actors.append(Actor(name, tau, "multicast" if kind == "multicast" else "actor"))
        return name

    def connect(self, src: str, dst: str, size: int) -> None:
        self.channels.append(Channel(f"c{len(self.channels) + 1}", src, dst, size, delay=1, capacity=1))

    def application(self, name: str) -> Application:
        return Application(name, tuple(self.actors), tuple(self.channels))


@public
def sobel(width: int = 1920, height: int = 1080) -> Application:
    """Return the Sobel filter on one frame: RGB and gray in 32-bit floats, gradients one pixel smaller.

    Parameters
    ----------
    width : int, default 1920
        Width of the frame in pixels.
    height : int, default 1080
        Height of the frame in pixels.

    Returns
    -------
    Application
        The network.

    Examples
    --------
    >>> len(sobel().actors), len(sobel().channels), sum(c.token_bytes for c in sobel().channels)
    (7, 7, 74613612)
    """
    _expect(2**16, width=width, height=height)
    build = _Builder()
    for name, slow in (("src", 5200), ("gray", 9200)):
        build.actor(name, slow)
    build.actor("mc", 700, kind="multicast")
    for name, slow in (("gx", 9900), ("gy", 9900), ("mag", 6500), ("sink", 2633)):
        build.actor(name, slow)
    gray, gradient = width * height * _FLOAT, (width - 1) * (height - 1) * _FLOAT
    for src, dst, size in (
        ("src", "gray", 3 * gray),
        ("gray", "mc", gray),
        ("mc", "gx", gray),
        ("mc", "gy", gray),
        ("gx", "mag", gradient),
        ("gy", "mag", gradient),
        ("mag", "sink", gradient),
    ):
        build.connect(src, dst, size)
    return build.application("sobel")


@public
def sobel4(width: int = 1920, height: int = 1080) -> Application:
    """Return the Sobel filter on four overlapping parts of a frame, 16-bit gradients, joined at the end.

    Parameters
    ----------
    width : int, default 1920
        Width of the frame in pixels.
    height : int, default 1080
        Height of the frame in pixels.

    Returns
    -------
    Application
        The network.

    Examples
    --------
    >>> len(sobel4().actors), len(sobel4().channels), sum(c.token_bytes for c in sobel4().channels)
    (23, 29, 74685636)
    """
    _expect(2**16, width=width, height=height)
    build = _Builder()
    build.actor("src", 5200)
    left, top = width // 2, height // 2
    parts = [(w, h) for h in (top + 1, height - top) for w in (left + 1, width - left)]
    for part, (w, h) in enumerate(parts):
        names = {name: f"{name}{part}" for name in ("gray", "mc", "gx", "gy", "mag")}
        build.actor(names["gray"], 2300)
        build.actor(names["mc"], 175, kind="multicast")
        build.actor(names["gx"], 2475)
        build.actor(names["gy"], 2475)
        build.actor(names["mag"], 1625)
        gray, pixels = w * h * _FLOAT, (w - 1) * (h - 1)
        build.connect("src", names["gray"], 3 * gray)
        build.connect(names["gray"], names["mc"], gray)
        for gradient in (names["gx"], names["gy"]):
            build.connect(names["mc"], gradient, gray)
        for gradient in (names["gx"], names["gy"]):
            build.connect(gradient, names["mag"], pixels * _INT16)
        build.connect(names["mag"], "join", pixels * _FLOAT)
    build.actor("join", 300)
    build.actor("sink", 2333)
    build.connect("join", "sink", (width - 1) * (height - 1) * _FLOAT)
    return build.application("sobel4")


@public
def multicamera(cameras: int = 4, width: int = 800, height: int = 600) -> Application:
    """Return edge detection on several cameras, tracked, fused and displayed (8-bit frames, small messages).

    Times and structure are a reconstruction to the paper's counts and byte totals.

    Parameters
    ----------
    cameras : int, default 4
        How many cameras.
    width : int, default 800
        Width of a frame in pixels.
    height : int, default 600
        Height of a frame in pixels.

    Returns
    -------
    Application
        The network.

    Examples
    --------
    >>> len(multicamera().actors), len(multicamera().channels), sum(c.token_bytes for c in multicamera().channels)
    (62, 111, 52928000)
    """
    _expect(1000, cameras=cameras)
    _expect(2**16, width=width, height=height)
    build = _Builder()
    frame = width * height
    rgb = 3 * frame
    stages = (
        ("src", 3000), ("gray", 5200), ("smooth", 8200), ("gx", 5600), ("gy", 5600), ("mag", 6500), ("ang", 9800),
        ("diff", 4800), ("nms", 7300),
    )  # fmt: skip
    for camera in range(cameras):
        names = {name: f"{name}{camera}" for name, _ in stages}
        for name, slow in stages:
            build.actor(names[name], slow)
        cast = {}
        for letter in "gsxym":
            cast[letter] = build.actor(f"mc{letter}{camera}", 40, kind="multicast")
        build.connect(names["src"], names["gray"], rgb)
        for source, multicast, targets in (
            ("gray", "g", ("smooth", "diff")),
            ("smooth", "s", ("gx", "gy")),
            ("gx", "x", ("mag", "ang")),
            ("gy", "y", ("mag", "ang")),
            ("mag", "m", ("nms", "diff")),
        ):
            build.connect(names[source], cast[multicast], frame)
            for target in targets:
                build.connect(cast[multicast], names[target], frame)
        _finish_camera(build, names, frame)
    build.actor("track", 6000)
    build.actor("fuse", 12000)
    build.actor("display", 4000)
    for letter, size in (("p", 3200), ("i", 1600), ("b", 1600)):
        multicast = build.actor(f"mc{letter}", 40, kind="multicast")
        build.connect("track", multicast, size)
        build.connect(multicast, "fuse", size)
        build.connect(multicast, "display", size)
    build.connect("fuse", "display", rgb)
    build.connect("fuse", "display", rgb)
    return build.application("multicamera")


def _finish_camera(build: _Builder, names: dict[str, str], frame: int) -> None:
    for source, target in (
        ("ang", "nms"), ("diff", ""), ("nms", ""), ("smooth", "diff"), ("gx", "nms"), ("gy", "nms"), ("mag", ""),
        ("ang", ""),
    ):  # fmt: skip
        build.connect(names[source], names[target] if target else "fuse", frame)
    build.connect(names["nms"], "track", 27200)


def _figure_platform() -> Platform:
    """One tile of six cores; every access over the crossbar takes one tick of the figures' applications."""
    cores = tuple(
        Core(f"p{number}", kind, 2**20) for number, kind in enumerate(("t1", "t1", "t2", "t2", "t3", "t3"), 1)
    )
    types = {"t1": CoreType(1.5), "t2": CoreType(1.0), "t3": CoreType(0.5)}
    return Platform("one tile", types, (Tile("T1", cores, 50 * 2**20, 8 * 2**30),), 4 * 2**30)


def _same_on_every_core(times: dict[str, int], multicast: str | None = None) -> tuple[Actor, ...]:
    return tuple(
        Actor(name, {"t1": tau, "t2": tau, "t3": tau}, "multicast" if name == multicast else "actor")
        for name, tau in times.items()
    )


def _figure_problem(name: str, actors: tuple[Actor, ...], first_delay: int, mapping: Decisions) -> Problem:
    ends = (("a1", "a2"), ("a2", "a3"), ("a2", "a4"), ("a3", "a5"), ("a4", "a5"))
    channels = tuple(
        Channel(f"c{i}", src, dst, 38_000, first_delay if i == 1 else 0, 2) for i, (src, dst) in enumerate(ends, 1)
    )
    return Problem(Application(name, actors, channels, "ms"), _figure_platform(), mapping)


def figure1(*, replaced: bool) -> Problem:
    """Return Fig. 1's application with the mapping of Fig. 4 (multicast replaced) or Fig. 5 (multicast kept)."""
    actors = _same_on_every_core({"a1": 1, "a2": 1, "a3": 7, "a4": 7, "a5": 1}, "a2")
    binding = {"a1": "p3", "a2": "p3", "a3": "p1", "a4": "p2", "a5": "p3"}
    decision = {"c1": "PROD", "c2": "CONS", "c3": "CONS", "c4": "PROD", "c5": "PROD"}
    mapping = Decisions(binding, {"a2": int(replaced)}, decision)
    return _figure_problem("fig4" if replaced else "fig5", actors, 1, mapping)


def figure7() -> Problem:
    """Return Fig. 7's application with its mapping: every channel in the memory of the one tile."""
    actors = _same_on_every_core({"a1": 2, "a2": 1, "a3": 3, "a4": 3, "a5": 4})
    binding = {"a1": "p1", "a2": "p1", "a3": "p2", "a4": "p3", "a5": "p4"}
    mapping = Decisions(binding, {}, {f"c{i}": "TILE-PROD" for i in range(1, 6)})
    return _figure_problem("fig7", actors, 0, mapping)


def random_graph(
    actors: int = 12, density: float = 0.3, multicasts: int = 2, most: int = 2000, seed: int = 0
) -> Application:
    """Return a random marked graph: a random acyclic network with delays, some back edges with tokens, multicasts.

    Every plain actor but the first reads from an earlier one; ``density`` is the chance of each further edge.
    """
    draw = random.Random(seed)
    made = [
        Actor(f"a{i}", {"t1": max(1, tau // 3), "t2": max(1, tau // 2), "t3": tau})
        for i, tau in enumerate((draw.randint(3, most) for _ in range(actors)), 1)
    ]
    channels: list[Channel] = []

    def connect(src: str, dst: str, delay: int, size: int) -> None:
        channels.append(Channel(f"c{len(channels) + 1}", src, dst, size, delay))

    for target in range(1, actors):
        sources = {draw.randrange(target)} | {s for s in range(target) if draw.random() < density / max(1, target / 4)}
        for source in sorted(sources):
            connect(f"a{source + 1}", f"a{target + 1}", draw.choice((0, 0, 1, 1, 2)), draw.randrange(1, 2**22))
        if draw.random() < density / 4:
            connect(
                f"a{target + 1}", f"a{draw.randrange(target + 1) + 1}", draw.randint(1, 3), draw.randrange(1, 2**20)
            )
    for number in range(1, multicasts + 1):
        name, size = f"mc{number}", draw.randrange(1, 2**22)
        made.append(Actor(name, {"t1": 13, "t2": 20, "t3": 40}, "multicast"))
        source = draw.randrange(actors - 1) if actors > 1 else 0
        connect(f"a{source + 1}", name, draw.choice((0, 1)), size)
        for _ in range(draw.randint(2, 3)):
            later = draw.randrange(source + 1, actors) if source + 1 < actors else source
            connect(name, f"a{later + 1}", 1, size)
    return Application("random", tuple(made), tuple(channels))
