"""What runs (an application graph), what it runs on (a platform), and where everything is put (a mapping)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any, Final, Literal

from shorthaul.core.arguments import fields_checked
from shorthaul.core.errors import InputError, unknown_name

#: The five places a channel may be asked to live, seen from its producer and its (first) consumer.
DECISIONS: Final = ("PROD", "TILE-PROD", "CONS", "TILE-CONS", "GLOBAL")
GLOBAL_MEMORY: Final = "q_global"
NOC: Final = "h_NoC"
TICKS_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
#: Amounts above these are refused: sums of them must stay exact in 64 bits.
MOST_TICKS: Final = 10**9
MOST_BYTES: Final = 10**12
MOST_TOKENS: Final = 10**6


#: An amount of every firing, or of the firings in turn.
PerPhase = int | tuple[int, ...]
#: In a file that gives no actor an execution time, all take one tick, on a core type of this name.
UNTIMED_TYPE: Final = "default"
UNTIMED: Final = "every actor takes one tick, as where a file gives no execution time (SDF3's tools take 0)"


def phases(amount: PerPhase) -> tuple[int, ...]:
    """Return the amounts of the firings in turn."""
    return amount if isinstance(amount, tuple) else (amount,)


def untimed(times: Iterable[Mapping[str, PerPhase | None]]) -> tuple[str, ...]:
    """Return the remark on actors whose times are those of a file without any."""
    return (UNTIMED,) if all(time == {UNTIMED_TYPE: 1} for time in times) else ()


@dataclass(frozen=True, slots=True)
@fields_checked
class Actor:
    """A computation; ``tau`` gives its execution time in ticks per core type (a type left out cannot run it).

    A tuple gives the times of its firings in turn (cyclo-static data flow). A copy is a multicast that always stays.
    """

    id: str
    tau: Mapping[str, PerPhase | None]
    kind: Literal["actor", "multicast", "copy"] = "actor"

    @property
    def ticks(self) -> dict[str, int]:
        """The execution time of the first firing on every core type that can run it; in a marked graph, of all."""
        return {kind: phases(time)[0] for kind, time in self.tau.items() if time is not None}


@dataclass(frozen=True, slots=True)
@fields_checked
class Channel:
    """A FIFO from ``src`` to ``dst``: token size in bytes, initial tokens, capacity in tokens, tokens per firing.

    A tuple gives the tokens of the firings in turn (cyclo-static data flow).
    """

    id: str
    src: str
    dst: str
    token_bytes: int
    delay: int = 0
    capacity: int | None = None
    produce: PerPhase = 1
    consume: PerPhase = 1


@dataclass(frozen=True, slots=True)
@fields_checked
class Application:
    """Actors and channels. One tick is one ``time_unit``. Raises :class:`InputError` for a graph that makes no sense.

    >>> a, b = Actor("a", {"t": 1}), Actor("b", {"t": 2})
    >>> Application("pair", (a, b), (Channel("c", "a", "b", 4),)).is_marked_graph
    True
    """

    name: str
    actors: tuple[Actor, ...]
    channels: tuple[Channel, ...]
    time_unit: Literal["s", "ms", "us", "ns"] = "us"

    def __post_init__(self) -> None:
        if not self.actors:
            raise InputError("has no actors", place="actors", allowed="one or more")
        _unique((f"actors[{number}]", actor.id) for number, actor in enumerate(self.actors))
        _unique((f"channels[{number}]", channel.id) for number, channel in enumerate(self.channels))
        for number, actor in enumerate(self.actors):
            _check_actor(actor, f"actors[{number}] ({actor.id})")
        known = {actor.id for actor in self.actors}
        for number, channel in enumerate(self.channels):
            _check_channel(channel, known, f"channels[{number}] ({channel.id})")
        self._check_multicasts()
        if self.is_marked_graph:
            check_deadlock(
                [actor.id for actor in self.actors], [(c.src, c.dst, c.id) for c in self.channels if c.delay == 0]
            )

    @property
    def is_marked_graph(self) -> bool:
        """True if every firing takes the same time, and produces and consumes one token per channel."""
        times = (time for actor in self.actors for time in actor.tau.values())
        return not any(isinstance(time, tuple) for time in times) and all(
            channel.produce == channel.consume == 1 for channel in self.channels
        )

    @property
    def ticks_per_second(self) -> int:
        """Ticks of the time grid in one second."""
        return TICKS_PER_SECOND[self.time_unit]

    @property
    def multicasts(self) -> tuple[str, ...]:
        """The ids of the multicast actors, in declaration order."""
        return tuple(actor.id for actor in self.actors if actor.kind == "multicast")

    def _check_multicasts(self) -> None:
        into: dict[str, list[Channel]] = {actor.id: [] for actor in self.actors if actor.kind != "actor"}
        out: dict[str, list[Channel]] = {name: [] for name in into}
        for channel in self.channels:
            into.get(channel.dst, []).append(channel)
            out.get(channel.src, []).append(channel)
        for name, channels in into.items():
            _check_multicast(name, channels, out[name])
        feeder = {name: into[name][0].src for name in into}
        for name, above in feeder.items():
            for _ in feeder:
                if above == name:
                    place, cure = f"actors ({name})", "give the cycle an actor"
                    raise InputError("is a multicast fed by multicasts alone", place=place, cure=cure)
                above = feeder.get(above, "")


def _check_multicast(name: str, into: list[Channel], out: list[Channel]) -> None:
    place = f"actors ({name})"
    if len(into) != 1 or not out:
        problem = "is a multicast without exactly one input and at least one output"
        raise InputError(problem, place=place, value=f"{len(into)} inputs, {len(out)} outputs")
    for channel in (*into, *out):
        size, rates = channel.token_bytes, (channel.produce, channel.consume)
        if size != into[0].token_bytes:
            problem = f"is a multicast whose channels differ in token size: {into[0].id!r} and {channel.id!r}"
            cure = "give its channels one token_bytes, or make it a plain actor"
            raise InputError(
                problem, place=place, value=sorted({into[0].token_bytes, size}), allowed="one token size", cure=cure
            )
        if rates != (1, 1):
            problem = f"is a multicast on channels with rates above 1: {channel.id!r}"
            shown, cure = f"produce {rates[0]}, consume {rates[1]}", "make both rates 1, or make it a plain actor"
            raise InputError(problem, place=place, value=shown, allowed="produce 1, consume 1", cure=cure)
    if into[0].src == name:
        raise InputError("is a multicast that feeds itself", place=place)


def _check_actor(actor: Actor, place: str) -> None:
    if not any(value is not None for value in actor.tau.values()):
        raise InputError("has no core type that can run it", place=f"{place}.tau", value=dict(actor.tau))
    for name, value in actor.tau.items():
        if value is not None and not (value != () and all(0 <= time <= MOST_TICKS for time in phases(value))):
            allowed = f"0 to {MOST_TICKS} ticks, a list of such for the firings in turn, null where it cannot run"
            raise InputError("is not an execution time", place=f"{place}.tau.{name}", value=value, allowed=allowed)


def _check_channel(channel: Channel, known: set[str], place: str) -> None:
    for end in ("src", "dst"):
        if getattr(channel, end) not in known:
            raise unknown_name("actor", getattr(channel, end), known, place=f"{place}.{end}")
    ranges = {"token_bytes": (0, MOST_BYTES), "delay": (0, MOST_TOKENS), "capacity": (1, MOST_TOKENS)}
    for name, (least, most) in ranges.items():
        value = getattr(channel, name)
        if value is not None and not least <= value <= most:
            raise InputError("is out of range", place=f"{place}.{name}", value=value, allowed=f"{least} to {most}")
    for name, rate in (("produce", channel.produce), ("consume", channel.consume)):
        least = 0 if isinstance(rate, tuple) else 1
        if not any(phases(rate)) or not all(least <= tokens <= MOST_TOKENS for tokens in phases(rate)):
            allowed = f"1 to {MOST_TOKENS}, or a list for the firings in turn, some above 0"
            raise InputError("is out of range", place=f"{place}.{name}", value=rate, allowed=allowed)


def _unique(names: Iterable[tuple[str, str]]) -> None:
    """Raise :class:`InputError` for the second of two equal ids among (place, id), naming both places."""
    seen: dict[str, str] = {}
    for place, name in names:
        if not name:
            raise InputError("has an empty id", place=f"{place}.id", value=name)
        if name in seen:
            cure = f"give one of {seen[name]} and {place} another id"
            raise InputError("an id is given twice", place=f"{place}.id", value=name, cure=cure)
        seen[name] = place


def _distinct(names: Iterable[tuple[str, str]], others: set[str]) -> None:
    for place, name in names:
        if name in others:
            cure = "the names of memories are q_CORE, q_tile_TILE, q_global, of interconnects h_TILE, h_NoC: rename"
            raise InputError("an id makes two resources share a name", place=f"{place}.id", value=name, cure=cure)


def check_deadlock(nodes: list[str], edges: list[tuple[str, str, str]]) -> None:
    """Raise :class:`InputError` naming a cycle of ``edges`` (from, to, channel), all of channels without tokens."""
    out: dict[str, list[tuple[str, str]]] = {node: [] for node in nodes}
    waiting = dict.fromkeys(nodes, 0)
    for source, target, channel in edges:
        out[source].append((target, channel))
        waiting[target] += 1
    ready = [node for node in nodes if not waiting[node]]
    while ready:
        for target, _ in out[ready.pop()]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    left = {node for node in nodes if waiting[node]}
    if not left:
        return
    into = {target: (source, channel) for source, target, channel in edges if source in left and target in left}
    path: list[str] = []
    node = next(node for node in nodes if node in left)
    while node not in path:
        path.append(node)
        node = into[node][0]
    cycle = [*path[path.index(node) :], node][::-1]
    names = sorted({into[target][1] for target in cycle})
    raise InputError(
        "deadlock: a cycle of channels without initial tokens",
        place="channels",
        value=" -> ".join(cycle),
        cure=f"give one of {', '.join(names)} a delay of 1 or more",
    )


@dataclass(frozen=True, slots=True)
@fields_checked
class SdfActor:
    """An actor and its execution time in ticks on every core type that can run it."""

    id: str
    times: Mapping[str, PerPhase]


@dataclass(frozen=True, slots=True)
@fields_checked
class SdfChannel:
    """A channel: ``source`` writes ``production`` tokens a firing, ``target`` reads ``consumption`` tokens a firing.

    ``tokens`` are there initially, each of ``token_bytes``. ``capacity`` counts tokens, None where it is not given.
    """

    id: str
    source: str
    production: PerPhase
    target: str
    consumption: PerPhase
    tokens: int
    token_bytes: int
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
@fields_checked
class SdfGraph:
    """A synchronous or cyclo-static data-flow graph; ``multicasts`` copy what they read to all their outputs."""

    name: str
    actors: tuple[SdfActor, ...]
    channels: tuple[SdfChannel, ...]
    multicasts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = {actor.id for actor in self.actors}
        if not known:
            raise InputError("has no actors", place="actors", allowed="one or more")
        _unique((f"actors[{number}]", actor.id) for number, actor in enumerate(self.actors))
        _unique((f"channels[{number}]", channel.id) for number, channel in enumerate(self.channels))
        for actor in self.actors:
            if not actor.times:
                raise InputError("has no core type that can run it", place=f"actor {actor.id}", value=actor.times)
        for channel in self.channels:
            for end in ("source", "target"):
                if getattr(channel, end) not in known:
                    place = f"channel {channel.id}.{end}"
                    raise unknown_name("actor", getattr(channel, end), known, place=place)

    @property
    def is_cyclo_static(self) -> bool:
        """True if some actor has several phases."""
        return any(count > 1 for count in self.phase_counts().values())

    def phase_counts(self) -> dict[str, int]:
        """Return after how many firings the rates and times of every actor repeat."""
        counts = {actor.id: lcm(*(len(phases(time)) for time in actor.times.values())) for actor in self.actors}
        for channel in self.channels:
            for actor, rate in ((channel.source, channel.production), (channel.target, channel.consumption)):
                counts[actor] = lcm(counts[actor], len(phases(rate)))
        return counts


@dataclass(frozen=True, slots=True)
@fields_checked
class Core:
    """A processor core of a core type, with its core-local memory in bytes."""

    id: str
    type: str
    local_bytes: int


@dataclass(frozen=True, slots=True)
@fields_checked
class Tile:
    """Cores and a tile-local memory around one crossbar."""

    id: str
    cores: tuple[Core, ...]
    tile_memory_bytes: int
    crossbar_bytes_per_s: float


@dataclass(frozen=True, slots=True)
@fields_checked
class CoreType:
    """What one allocated core of a type costs."""

    cost: float


@dataclass(frozen=True, slots=True)
@fields_checked
class Platform:
    """Tiles joined by a network on chip, and the global memory (``None``: as large as needed).

    Raises :class:`InputError` for a platform that makes no sense.
    """

    name: str
    core_types: Mapping[str, CoreType]
    tiles: tuple[Tile, ...]
    noc_bytes_per_s: float
    global_memory_bytes: int | None = None
    crossbar_pj_per_byte: float | None = None
    noc_pj_per_byte: float | None = None

    def __post_init__(self) -> None:
        if not self.tiles or not self.cores:
            raise InputError("has no cores", place="tiles")
        tiles = list(enumerate(self.tiles))
        cores = [(f"tiles[{t}].cores[{c}]", core.id) for t, tile in tiles for c, core in enumerate(tile.cores)]
        _unique((f"tiles[{t}]", tile.id) for t, tile in tiles)
        _unique(cores)
        # memories and interconnects are named after cores and tiles: "q_tile_T1" may belong to one of them only
        _distinct(
            [(place, local_memory(name)) for place, name in cores], {*map(tile_memory, self._tiles), GLOBAL_MEMORY}
        )
        _distinct([(f"tiles[{t}]", crossbar(tile.id)) for t, tile in tiles], {NOC})
        _distinct(cores, {*map(crossbar, self._tiles), NOC})
        for name, core_type in self.core_types.items():
            if not 0 <= core_type.cost <= 1e9:
                raise InputError(
                    "is not a core cost", place=f"core_types.{name}.cost", value=core_type.cost, allowed="0 to 1e9"
                )
        _positive(self.noc_bytes_per_s, "noc_bytes_per_s")
        _size(self.global_memory_bytes, "global_memory_bytes")
        for number, tile in enumerate(self.tiles):
            place = f"tiles[{number}] ({tile.id})"
            _positive(tile.crossbar_bytes_per_s, f"{place}.crossbar_bytes_per_s")
            _size(tile.tile_memory_bytes, f"{place}.tile_memory_bytes")
            for core in tile.cores:
                _size(core.local_bytes, f"{place}.cores ({core.id}).local_bytes")
                if core.type not in self.core_types:
                    raise unknown_name("core type", core.type, self.core_types, place=f"{place}.cores ({core.id}).type")

    @property
    def _tiles(self) -> list[str]:
        return [tile.id for tile in self.tiles]

    @property
    def cores(self) -> tuple[Core, ...]:
        """Every core, tile by tile."""
        return tuple(core for tile in self.tiles for core in tile.cores)

    @property
    def tile_of(self) -> dict[str, Tile]:
        """The tile of every core, by core id."""
        return {core.id: tile for tile in self.tiles for core in tile.cores}

    @property
    def memories(self) -> dict[str, int | None]:
        """Capacity in bytes of every memory by name: ``q_CORE``, ``q_TILE``, ``q_global`` (None: unlimited)."""
        local = {local_memory(core.id): core.local_bytes for core in self.cores}
        tiles = {tile_memory(tile.id): tile.tile_memory_bytes for tile in self.tiles}
        return {**local, **tiles, GLOBAL_MEMORY: self.global_memory_bytes}


def local_memory(core: str) -> str:
    """Return the name of a core's own memory."""
    return f"q_{core}"


def tile_memory(tile: str) -> str:
    """Return the name of a tile's shared memory."""
    return f"q_tile_{tile}"


def crossbar(tile: str) -> str:
    """Return the name of a tile's crossbar."""
    return f"h_{tile}"


@lru_cache(maxsize=1 << 16)  # an expanded graph asks the same thousands of times
def ticks_for(size: int, bytes_per_s: float, ticks_per_second: int) -> int:
    """Return the ticks that ``size`` bytes take at a bandwidth: at least 1, rounded up, computed exactly.

    >>> ticks_for(24883200, 2**33, 10**6)
    2897
    """
    exact = Fraction(size) * ticks_per_second / Fraction(bytes_per_s)
    return max(1, -(-exact.numerator // exact.denominator))


def _positive(value: float, place: str) -> None:
    if not 0 < value <= 1e18:
        raise InputError("is not a bandwidth", place=place, value=value, allowed="bytes per second above 0")


def _size(value: int | None, place: str) -> None:
    if value is not None and not 0 <= value <= 10**15:
        raise InputError("is not a memory size", place=place, value=value, allowed="0 to 10^15 bytes")


@dataclass(frozen=True, slots=True)
@fields_checked
class Decisions:
    """One mapping: actor to core, multicast replaced or kept, channel to kind of memory."""

    binding: Mapping[str, str]
    xi: Mapping[str, int] = field(default_factory=dict)
    channel_decision: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the mapping as JSON, by the names of the paper."""
        return {"binding": dict(self.binding), "xi": dict(self.xi), "channel_decision": dict(self.channel_decision)}


@dataclass(frozen=True, slots=True)
@fields_checked
class Problem:
    """The application, and what comes with it (if any): a platform, a mapping, the longest period in ticks."""

    application: Application
    platform: Platform | None = None
    mapping: Decisions | None = None
    deadline: int | None = None


def check_mapping(application: Application, platform: Platform, mapping: Decisions) -> None:
    """Raise :class:`InputError` if ``mapping`` names unknown things, leaves an actor out or cannot run one."""
    actors = {actor.id: actor for actor in application.actors}
    cores = {core.id: core for core in platform.cores}
    multicasts = set(application.multicasts)
    for name, value in mapping.xi.items():
        if name not in multicasts:
            raise unknown_name("multicast", name, multicasts, place="xi")
        if value not in {0, 1}:
            raise InputError("is not a replacement decision", place=f"xi.{name}", value=value, allowed="0 or 1")
    for name, core in mapping.binding.items():
        if name not in actors:
            raise unknown_name("actor", name, actors, place="binding")
        if core not in cores:
            raise unknown_name("core", core, cores, place=f"binding.{name}")
        if actors[name].tau.get(cores[core].type) is None:
            allowed = ", ".join(sorted(kind for kind, tau in actors[name].tau.items() if tau is not None))
            raise InputError(
                f"is bound to a core of type {cores[core].type!r}, which cannot run it",
                place=f"binding.{name}",
                value=core,
                allowed=f"cores of type {allowed}",
            )
    for name in actors:
        if name not in mapping.binding and not mapping.xi.get(name, 0):
            raise InputError("an actor is not bound to a core", place="binding", value=name, cure="name its core")
    channels = {channel.id for channel in application.channels}
    for name, decision in mapping.channel_decision.items():
        if name not in channels:
            raise unknown_name("channel", name, channels, place="channel_decision")
        if decision not in DECISIONS:
            raise unknown_name("channel decision", decision, DECISIONS, place=f"channel_decision.{name}")
