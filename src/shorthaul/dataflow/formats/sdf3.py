"""SDF3 XML, the field's exchange format: application graphs of types ``sdf`` and ``csdf``."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from shorthaul.core.document import decode_text
from shorthaul.core.errors import ABSENT, InputError, nearest_name
from shorthaul.dataflow.formats.sdf3_elements import integer, known, new, only, parse, required
from shorthaul.dataflow.model import (
    MOST_BYTES,
    MOST_TICKS,
    MOST_TOKENS,
    UNTIMED_TYPE,
    PerPhase,
    SdfActor,
    SdfChannel,
    SdfGraph,
    phases,
)

#: SDF3 counts token sizes in bits.
_BITS = 8
_NUMBER = re.compile(r"(?:[0-9]*\.)?[0-9]+([eE][+-]?[0-9]{1,3})?")


def read_sdf3(path: Path, data: bytes) -> SdfGraph:
    """Return the application graph of an SDF3 file; execution times are in ticks, token sizes in bytes.

    Sizes of tokens, given in bits, are rounded up to bytes; a channel without a size has tokens of one byte. Where no
    actor has an execution time, every one takes one tick. Raises
    :class:`InputError` naming file, element and value.
    """
    text = decode_text(data, file=path)
    try:
        return _graph(parse(text))
    except InputError as error:
        raise error.in_file(path) from None


def sdf3_deadline(path: Path, data: bytes) -> int | None:
    """Return the longest period of an iteration, in ticks, that the file's throughput constraint allows; None if any.

    Raises :class:`InputError` for a constraint that is no throughput: iterations per tick.
    """
    root = parse(decode_text(data, file=path))
    asked = root.findall(f"applicationGraph/{root.get('type', 'sdf')}Properties/graphProperties/timeConstraints/*")
    periods = []
    for element in asked:
        place, text = f"timeConstraints: {element.tag}", (element.text or "").strip()
        if element.tag != "throughput":
            raise InputError(
                "is a constraint of another kind", file=path, place=place, value=text or ABSENT,
                allowed="throughput: iterations per tick", cure="remove it",
            )  # fmt: skip
        iterations = float(text) if _NUMBER.fullmatch(text) else 0.0
        if not 1 / MOST_TICKS <= iterations <= 1:
            raise InputError(
                "is not a throughput", file=path, place=place, value=text or ABSENT,
                allowed=f"iterations per tick, 1 / {MOST_TICKS} to 1", cure="write 0.001 for a period of 1000 ticks",
            )  # fmt: skip
        periods.append(math.floor(1 / Fraction(text)))
    return min(periods, default=None)


def _graph(root: ET.Element) -> SdfGraph:
    application = only(root, "applicationGraph", "sdf3")
    graph_type = root.get("type", "sdf")
    sdf = only(application, graph_type, "applicationGraph")
    properties = application.findall(f"{graph_type}Properties")
    phased = graph_type == "csdf"
    times: dict[str, dict[str, PerPhase]] = {}
    sizes: dict[str, ET.Element] = {}
    for entry in (entry for group in properties for entry in group.iterfind("actorProperties")):
        name = new(required(entry, "actor"), times, "actorProperties of")
        times[name] = _times(entry, name, phased=phased)
    for entry in (entry for group in properties for entry in group.iterfind("channelProperties")):
        sizes[new(required(entry, "channel"), sizes, "channelProperties of")] = entry
    ports: dict[str, dict[str, _Port]] = {}
    for element in sdf.iterfind("actor"):
        name = new(required(element, "name"), ports, "actor")
        ports[name] = {}
        for port in element.iterfind("port"):
            ports[name][new(required(port, "name"), ports[name], f"actor {name}, port")] = _port(port, name, phased)
    if not ports:
        raise InputError("has no actor", place=graph_type, allowed="one or more", cure="add <actor> elements")
    for name in times:
        known(name, ports, "actorProperties")
    timeless = [name for name in ports if not times.get(name)]
    if 0 < len(timeless) < len(ports):
        raise InputError(
            "an actor has no execution time, while others have", place=f"{graph_type}Properties", value=timeless[0],
            cure="add actorProperties with a processor and its executionTime, or leave out those of all actors",
        )  # fmt: skip
    channels: dict[str, SdfChannel] = {}
    used: dict[tuple[str, str], str] = {}
    for element in sdf.iterfind("channel"):
        name = new(required(element, "name"), channels, "channel")
        channels[name] = _channel(element, name, ports, used, sizes.get(name))
    for name, found in ports.items():
        _expect_rounds(name, found, times.get(name) or {})
    for name in sizes:
        known(name, channels, "channelProperties")
    title = application.get("name") or sdf.get("name") or "sdf"
    actors = tuple(SdfActor(name, times.get(name) or {UNTIMED_TYPE: 1}) for name in ports)
    return SdfGraph(title, actors, tuple(channels.values()))


@dataclass(frozen=True, slots=True)
class _Port:
    kind: str
    rate: PerPhase


def _expect_rounds(actor: str, ports: Mapping[str, _Port], times: Mapping[str, PerPhase]) -> None:
    """Raise :class:`InputError` where lists of an actor do not go around in the phases that the longest has."""
    lists = {f"port {name}: rate": port.rate for name, port in ports.items()}
    lists |= {f"processor {kind}: executionTime": time for kind, time in times.items()}
    count = max((len(phases(found)) for found in lists.values()), default=1)
    for name, found in lists.items():
        if count % len(phases(found)):
            raise InputError(
                f"does not fit the {count} phases of the actor", place=f"actor {actor}, {name}", value=_list(found),
                allowed=f"{count} numbers, or as many as divide {count}, which repeat", cure="give one per phase",
            )  # fmt: skip


def _times(properties: ET.Element, actor: str, *, phased: bool) -> dict[str, PerPhase]:
    times: dict[str, PerPhase] = {}
    for processor in properties.iterfind("processor"):
        kind = new(required(processor, "type"), times, f"actor {actor}, processor")
        place = f"actor {actor}, processor {kind}: executionTime"
        found = processor.findall("executionTime")
        if len(found) > 1:
            raise InputError(
                "is given several times", place=place, value=", ".join(time.get("time", "?") for time in found),
                allowed="one", cure="keep the one of the worst case",
            )  # fmt: skip
        if found:
            times[kind] = _amounts(required(found[0], "time"), place, least=0, most=MOST_TICKS, phased=phased)
    return times


def _port(port: ET.Element, actor: str, phased: bool) -> _Port:
    place = f"actor {actor}, port {required(port, 'name')}"
    kind = required(port, "type")
    if kind not in {"in", "out"}:
        raise InputError(
            "unknown port type", place=place, value=kind, allowed="in, out", nearest=nearest_name(kind, ("in", "out"))
        )
    rate = _amounts(port.get("rate", "1"), f"{place}: rate", least=0 if phased else 1, most=MOST_TOKENS, phased=phased)
    if not any(phases(rate)):
        raise InputError(
            "never moves a token", place=f"{place}: rate", value=port.get("rate"),
            allowed="a rate above 0 in some phase", cure="leave the port and its channel out",
        )  # fmt: skip
    return _Port(kind, rate)


def _channel(
    element: ET.Element, name: str, ports: Mapping[str, Mapping[str, _Port]], used: dict[tuple[str, str], str],
    properties: ET.Element | None,
) -> SdfChannel:  # fmt: skip
    ends = []
    for end, kind in (("src", "out"), ("dst", "in")):
        actor, port = required(element, f"{end}Actor"), required(element, f"{end}Port")
        known(actor, ports, f"channel {name}: {end}Actor")
        place = f"channel {name}: {end}Port"
        fitting = [other for other, found in ports[actor].items() if found.kind == kind]
        if port not in fitting:
            problem = "has no such port" if port not in ports[actor] else f"uses this port the other way, not {kind!r}"
            raise InputError(
                f"actor {actor} {problem}", place=place, value=port,
                allowed=", ".join(fitting) or f"none: the actor has no port of type {kind!r}",
                nearest=nearest_name(port, fitting),
                cure=f'add <port name="..." type="{kind}" rate="..."/> to the actor',
            )  # fmt: skip
        if (actor, port) in used:
            raise InputError(
                f"channel {used[actor, port]} is at this port of actor {actor} already", place=place, value=port,
                allowed="one channel at each port", cure="give the actor another port",
            )  # fmt: skip
        used[actor, port] = name
        ends.append((actor, ports[actor][port].rate))
    (source, production), (target, consumption) = ends
    tokens = integer(element.get("initialTokens", "0"), f"channel {name}: initialTokens", least=0, most=MOST_TOKENS)
    bits, capacity = _BITS, None
    if properties is not None:
        size = properties.find("tokenSize")
        if size is not None:
            bits = integer(required(size, "sz"), f"channel {name}: tokenSize", least=0, most=MOST_BYTES * _BITS)
        buffer = properties.find("bufferSize")
        if buffer is not None and buffer.get("sz") is not None:
            capacity = integer(str(buffer.get("sz")), f"channel {name}: bufferSize", least=1, most=MOST_TOKENS)
    size_bytes = max(1, math.ceil(bits / _BITS))
    return SdfChannel(name, source, production, target, consumption, tokens, size_bytes, capacity)


def _amounts(text: str, place: str, *, least: int, most: int, phased: bool) -> PerPhase:
    """Return an integer or, if ``phased``, as many as stand between commas."""
    if not phased:
        return integer(text, place, least=least, most=most)
    found = tuple(integer(part, place, least=least, most=most) for part in text.split(","))
    return found if len(found) > 1 else found[0]


def sdf3_text(graph: SdfGraph) -> str:
    """Return ``graph`` as an SDF3 file; reading it again gives the same graph, lists repeated if they must be."""
    kind = "csdf" if graph.is_cyclo_static else "sdf"
    root = ET.Element("sdf3", {"type": kind, "version": "1.0"})
    application = ET.SubElement(root, "applicationGraph", {"name": graph.name})
    sdf = ET.SubElement(application, kind, {"name": graph.name, "type": graph.name})
    rounds = _rounds(graph)
    elements = {actor.id: ET.SubElement(sdf, "actor", {"name": actor.id, "type": actor.id}) for actor in graph.actors}
    for channel in graph.channels:
        out, into = f"{channel.id}_out", f"{channel.id}_in"
        rate = {"type": "out", "name": out, "rate": _list(channel.production, rounds[channel.source])}
        ET.SubElement(elements[channel.source], "port", rate)
        rate = {"type": "in", "name": into, "rate": _list(channel.consumption, rounds[channel.target])}
        ET.SubElement(elements[channel.target], "port", rate)
        ends = {"srcActor": channel.source, "srcPort": out, "dstActor": channel.target, "dstPort": into}
        tokens = {"initialTokens": str(channel.tokens)} if channel.tokens else {}
        ET.SubElement(sdf, "channel", {"name": channel.id, **ends, **tokens})
    properties = ET.SubElement(application, f"{kind}Properties")
    for actor in graph.actors:
        entry = ET.SubElement(properties, "actorProperties", {"actor": actor.id})
        for number, (core_type, time) in enumerate(actor.times.items()):
            default = {"default": "true"} if number == 0 else {}
            processor = ET.SubElement(entry, "processor", {"type": core_type, **default})
            ET.SubElement(processor, "executionTime", {"time": _list(time, rounds[actor.id])})
    for channel in graph.channels:
        entry = ET.SubElement(properties, "channelProperties", {"channel": channel.id})
        if channel.capacity is not None:
            ET.SubElement(entry, "bufferSize", {"sz": str(channel.capacity)})
        ET.SubElement(entry, "tokenSize", {"sz": str(channel.token_bytes * _BITS)})
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _rounds(graph: SdfGraph) -> dict[str, int]:
    """Return how many numbers the lists of every actor need, 1 where the longest holds all phases as it is."""
    longest = {actor.id: max(map(len, map(phases, actor.times.values())), default=1) for actor in graph.actors}
    for channel in graph.channels:
        for actor, rate in ((channel.source, channel.production), (channel.target, channel.consumption)):
            longest[actor] = max(longest[actor], len(phases(rate)))
    return {actor: 1 if count == longest[actor] else count for actor, count in graph.phase_counts().items()}


def _list(amount: PerPhase, count: int = 1) -> str:
    found = phases(amount)
    return ",".join(map(str, found * max(1, count // len(found)) if len(found) > 1 else found))
