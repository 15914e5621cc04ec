"""Architectures and mappings of SDF3 files: tiles joined by a network, and what runs and lies where."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from itertools import permutations

from shorthaul.core.errors import InputError
from shorthaul.dataflow.formats.sdf3_elements import integer, known, new, only, required
from shorthaul.dataflow.model import TICKS_PER_SECOND, Core, CoreType, Decisions, Platform, Tile

#: SDF3 counts memory in bits and bandwidth in bits per tick; the ticks of its applications are microseconds here.
_BITS = 8
_BYTES_PER_S = TICKS_PER_SECOND["us"] / _BITS
_MOST_BITS = 10**15


def platform_of(root: ET.Element) -> Platform | None:
    """Return the architecture graph of an SDF3 file, None if it has none.

    A tile's memory is its processor's own; several processors share it. The network interface is the crossbar. Raises
    :class:`InputError` with everything that lacks.
    """
    if root.find("architectureGraph") is None:
        return None
    graph = only(root, "architectureGraph", "sdf3")
    faults: list[InputError] = []
    tiles: dict[str, Tile] = {}
    types: dict[str, CoreType] = {}
    out = 0.0
    for element in graph.iterfind("tile"):
        try:
            name = new(required(element, "name"), tiles, "tile")
            tiles[name] = _tile(element, name)
        except InputError as error:
            faults.append(error)
            continue
        types |= {core.type: CoreType(1.0) for core in tiles[name].cores}
        out += tiles[name].crossbar_bytes_per_s
    named = [element.get("name", "") for element in graph.iterfind("tile")]
    pairs = set()
    for element in graph.iterfind("connection"):
        try:
            ends = required(element, "srcTile"), required(element, "dstTile")
            for end in ends:
                known(end, named, f"connection {element.get('name', '')}".rstrip())
            pairs.add(ends)
        except InputError as error:
            faults.append(error)
    missing = [pair for pair in permutations(tiles, 2) if pair not in pairs]
    if pairs and missing:
        shown, allowed = (
            ", ".join(map(" to ".join, missing[:6])),
            "a connection from every tile to every other, or none",
        )
        faults.append(InputError("tiles are not joined", place="connections", value=shown, allowed=allowed))
    if len(faults) == 1:
        raise faults[0]
    if faults:
        listed = "\n".join("  - " + str(fault).replace("\n", "\n  ") for fault in faults)
        raise InputError(f"has {len(faults)} faults\n{listed}", place="architectureGraph")
    return Platform(graph.get("name") or "architecture", types, tuple(tiles.values()), out, 0)


def _tile(element: ET.Element, name: str) -> Tile:
    place = f"tile {name}"
    processors = element.findall("processor")
    if not processors:
        raise InputError(
            "has no processor", place=place, allowed="one or more", cure='add <processor name="" type=""/>'
        )
    memory, interface = only(element, "memory", place), only(element, "networkInterface", place)
    bits = integer(required(memory, "size"), f"{place}: memory", least=0, most=_MOST_BITS)
    ways = [
        integer(required(interface, way), f"{place}: {way}", least=1, most=_MOST_BITS)
        for way in ("inBandwidth", "outBandwidth")
    ]
    alone = len(processors) == 1
    cores: dict[str, Core] = {}
    for processor in processors:
        core = new(f"{name}.{required(processor, 'name')}", cores, f"{place}, processor")
        cores[core] = Core(core, required(processor, "type"), bits // _BITS if alone else 0)
    return Tile(name, tuple(cores.values()), 0 if alone else bits // _BITS, min(ways) * _BYTES_PER_S)


def mapping_of_file(root: ET.Element, writers: Mapping[str, str]) -> Decisions | None:
    """Return the mapping in an SDF3 file, None if it has none; ``writers`` names the writer of every channel.

    Core ``processor`` of tile ``tile`` is ``tile.processor``. A channel listed in the memory of its writer's tile is
    there, else with its reader.
    """
    if root.find("mapping") is None:
        return None
    binding: dict[str, str] = {}
    tile_of: dict[str, str] = {}
    held: dict[str, set[str]] = {}
    for tile in only(root, "mapping", "sdf3").iterfind("tile"):
        name = required(tile, "name")
        for processor in tile.iterfind("processor"):
            for entry in processor.iterfind("actor"):
                actor = new(required(entry, "name"), binding, "mapping: actor")
                binding[actor], tile_of[actor] = f"{name}.{required(processor, 'name')}", name
        for entry in tile.iterfind("memory/channel"):
            channel = required(entry, "name")
            known(channel, writers, f"mapping: memory of tile {name}")
            held.setdefault(channel, set()).add(name)
    decision = {
        channel: "PROD" if tile_of.get(writers[channel]) in tiles else "CONS" for channel, tiles in held.items()
    }
    return Decisions(binding, {}, decision)
