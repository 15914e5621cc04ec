"""SDF3 XML, the field's exchange format: application graphs of type ``sdf``, read and written."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from shorthaul.core.document import decode_text
from shorthaul.core.errors import InputError, nearest_name
from shorthaul.dataflow.multirate import SdfActor, SdfChannel, SdfGraph

#: SDF3 counts token sizes in bits.
_BITS = 8
#: In a file that gives no actor an execution time, all take one tick, on a core type of this name.
_DEFAULT_TYPE = "default"


def read_sdf3(path: Path, data: bytes) -> SdfGraph:
    """Return the application graph of an SDF3 file; execution times are in ticks, token sizes in bytes.

    Sizes of tokens, given in bits, are rounded up to bytes; a channel without a size has tokens of one byte. Where no
    actor has an execution time, every one takes one tick. Raises
    :class:`InputError` naming file, element and value.
    """
    text = decode_text(data, file=path)
    try:
        return _graph(_parse(text))
    except InputError as error:
        raise error.in_file(path) from None


def _parse(text: str) -> ET.Element:
    if "<!ENTITY" in text:
        raise InputError("declares entities, which SDF3 files have no use for", cure="remove the DOCTYPE")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        line, column = error.position
        raise InputError(f"is not XML: {error.msg.partition(':')[0]}", place=f"line {line} column {column}") from None
    for element in root.iter():  # namespaces carry no meaning here
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "sdf3":
        raise InputError("is not an SDF3 file", place="root element", value=root.tag, allowed="sdf3")
    kind = root.get("type", "sdf")
    if kind != "sdf":
        raise InputError(
            "is an SDF3 graph of another type", place="sdf3", value=kind, allowed="sdf",
            cure="give every actor one rate per port and one execution time, instead of one per phase",
        )  # fmt: skip
    return root


def _graph(root: ET.Element) -> SdfGraph:
    graphs = root.findall("applicationGraph")
    if len(graphs) > 1:
        raise InputError(
            "holds several application graphs", place="sdf3", value=", ".join(g.get("name", "?") for g in graphs),
            allowed="one", cure="keep one per file",
        )  # fmt: skip
    application = graphs[0] if graphs else None
    sdf = None if application is None else application.find("sdf")
    if application is None or sdf is None:
        raise InputError("has no applicationGraph with an sdf element", place="sdf3")
    times = {
        _required(entry, "actor"): dict(_times(entry))
        for entry in application.iterfind("sdfProperties/actorProperties")
    }
    sizes = {_required(entry, "channel"): entry for entry in application.iterfind("sdfProperties/channelProperties")}
    rates: dict[tuple[str, str], int] = {}
    actors: list[SdfActor] = []
    for element in sdf.iterfind("actor"):
        name = _required(element, "name")
        if any(actor.id == name for actor in actors):
            raise InputError("is given twice", place=f"actor {name}")
        for port in element.iterfind("port"):
            rates[name, _required(port, "name")] = _rate(port, name)
        actors.append(SdfActor(name, times.get(name) or {_DEFAULT_TYPE: 1}))
    if not actors:
        raise InputError("has no actor", place="sdf")
    names = {actor.id for actor in actors}
    for name in times:
        _known(name, names, "actorProperties")
    timeless = [actor.id for actor in actors if not times.get(actor.id)]
    if 0 < len(timeless) < len(actors):
        raise InputError(
            "an actor has no execution time, while others have", place="sdfProperties", value=timeless[0],
            cure="add actorProperties with a processor and its executionTime, or leave out those of all actors",
        )  # fmt: skip
    channels: list[SdfChannel] = []
    for element in sdf.iterfind("channel"):
        channel = _channel(element, names, rates, sizes)
        if any(other.id == channel.id for other in channels):
            raise InputError("is given twice", place=f"channel {channel.id}")
        channels.append(channel)
    for name in sizes:
        _known(name, {channel.id for channel in channels}, "channelProperties")
    name = application.get("name") or sdf.get("name") or "sdf"
    return SdfGraph(name, tuple(actors), tuple(channels))


def _times(properties: ET.Element) -> Iterator[tuple[str, int]]:
    actor = _required(properties, "actor")
    for processor in properties.iterfind("processor"):
        kind = _required(processor, "type")
        time = processor.find("executionTime")
        if time is not None:
            place = f"actor {actor}, processor {kind}: executionTime"
            yield kind, _integer(_required(time, "time"), place, least=0)


def _rate(port: ET.Element, actor: str) -> int:
    place = f"actor {actor}, port {_required(port, 'name')}"
    kind = _required(port, "type")
    if kind not in {"in", "out"}:
        raise InputError("unknown port type", place=place, value=kind, allowed="in, out")
    return _integer(port.get("rate", "1"), f"{place}: rate", least=1)


def _channel(
    element: ET.Element, names: set[str], rates: dict[tuple[str, str], int], properties: dict[str, ET.Element]
) -> SdfChannel:
    name = _required(element, "name")
    ends = []
    for end in ("src", "dst"):
        actor, port = _required(element, f"{end}Actor"), _required(element, f"{end}Port")
        _known(actor, names, f"channel {name}: {end}Actor")
        if (actor, port) not in rates:
            ports = sorted(other for owner, other in rates if owner == actor)
            raise InputError(
                f"actor {actor} has no such port",
                place=f"channel {name}: {end}Port",
                value=port,
                allowed=", ".join(ports) or "none",
                nearest=nearest_name(port, ports),
            )
        ends.append((actor, rates[actor, port]))
    (source, production), (target, consumption) = ends
    tokens = _integer(element.get("initialTokens", "0"), f"channel {name}: initialTokens", least=0)
    bits, capacity = _BITS, None
    if name in properties:
        size = properties[name].find("tokenSize")
        if size is not None:
            bits = _integer(_required(size, "sz"), f"channel {name}: tokenSize", least=0)
        buffer = properties[name].find("bufferSize")
        if buffer is not None and buffer.get("sz") is not None:
            capacity = _integer(str(buffer.get("sz")), f"channel {name}: bufferSize", least=1)
    size_bytes = max(1, math.ceil(bits / _BITS))
    return SdfChannel(name, source, production, target, consumption, tokens, size_bytes, capacity)


def _required(element: ET.Element, attribute: str) -> str:
    value = element.get(attribute)
    if not value:
        named = " ".join(f'{key}="{other}"' for key, other in element.attrib.items())
        raise InputError(f"lacks the attribute {attribute!r}", place=f"<{element.tag} {named}>".replace(" >", ">"))
    return value


def _integer(text: str, place: str, *, least: int) -> int:
    allowed = f"integers from {least} to {2**53}"
    try:
        value = int(text)
    except ValueError:
        raise InputError("is not an integer", place=place, value=text, allowed=allowed) from None
    if not least <= value <= 2**53:
        raise InputError("is out of range", place=place, value=value, allowed=allowed)
    return value


def _known(name: str, names: set[str], place: str) -> None:
    if name not in names:
        raise InputError(
            "names something that does not exist", place=place, value=name, nearest=nearest_name(name, names)
        )


def sdf3_text(graph: SdfGraph) -> str:
    """Return ``graph`` as an SDF3 file; reading it again gives the same graph."""
    root = ET.Element("sdf3", {"type": "sdf", "version": "1.0"})
    application = ET.SubElement(root, "applicationGraph", {"name": graph.name})
    sdf = ET.SubElement(application, "sdf", {"name": graph.name, "type": graph.name})
    elements = {actor.id: ET.SubElement(sdf, "actor", {"name": actor.id, "type": actor.id}) for actor in graph.actors}
    for channel in graph.channels:
        out, into = f"{channel.id}_out", f"{channel.id}_in"
        rate = {"type": "out", "name": out, "rate": str(channel.production)}
        ET.SubElement(elements[channel.source], "port", rate)
        rate = {"type": "in", "name": into, "rate": str(channel.consumption)}
        ET.SubElement(elements[channel.target], "port", rate)
        ends = {"srcActor": channel.source, "srcPort": out, "dstActor": channel.target, "dstPort": into}
        tokens = {"initialTokens": str(channel.tokens)} if channel.tokens else {}
        ET.SubElement(sdf, "channel", {"name": channel.id, **ends, **tokens})
    properties = ET.SubElement(application, "sdfProperties")
    for actor in graph.actors:
        entry = ET.SubElement(properties, "actorProperties", {"actor": actor.id})
        for number, (kind, time) in enumerate(actor.times.items()):
            default = {"default": "true"} if number == 0 else {}
            processor = ET.SubElement(entry, "processor", {"type": kind, **default})
            ET.SubElement(processor, "executionTime", {"time": str(time)})
    for channel in graph.channels:
        entry = ET.SubElement(properties, "channelProperties", {"channel": channel.id})
        if channel.capacity is not None:
            ET.SubElement(entry, "bufferSize", {"sz": str(channel.capacity)})
        ET.SubElement(entry, "tokenSize", {"sz": str(channel.token_bytes * _BITS)})
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
