"""Platforms: documents (JSON), machine files and bundled machines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from shorthaul.core.arguments import public
from shorthaul.core.document import parse_json, suffix_of
from shorthaul.core.errors import InputError
from shorthaul.core.machines.files import machine_file, machine_text, section_from
from shorthaul.core.machines.schema import CoresSection, ManyCoreSection, TileSection
from shorthaul.dataflow.formats.documents import FREE_KEYS, of_kind
from shorthaul.dataflow.formats.sdf3_elements import parse
from shorthaul.dataflow.formats.sdf3_platforms import platform_of
from shorthaul.dataflow.model import Core, CoreType, Platform, Tile

_YAML = (".yaml", ".yml")

PLATFORM_KIND = "shorthaul-dataflow-platform"


@public
def load_platform(path: Path) -> Platform:
    """Return the platform in a file: a document (JSON), a machine file, SDF3's; or the bundled machine of this name.

    Parameters
    ----------
    path : Path
        The file, or the name.

    Returns
    -------
    Platform
        The platform.

    Raises
    ------
    InputError
        If the file is missing or wrong: file, place, value and cure.

    Examples
    --------
    >>> len(load_platform(Path("many-core-24")).cores)
    24
    """
    found, text = machine_text(path, "many_core", place="--platform")
    try:
        if text.lstrip().startswith("<"):
            return platform_from_sdf3(text)
        if text.lstrip().startswith("{") and suffix_of(found) not in _YAML:
            document = parse_json(text)
            if "many_core" not in document:
                return platform_from(document)
        file = machine_file(text, "many_core")
        assert file.many_core is not None
        return _platform(file.name, file.many_core)
    except InputError as error:
        raise error.in_file(found) from None


def platform_from_sdf3(text: str) -> Platform:
    """Return the architecture in an XML text of SDF3; raises :class:`InputError` if it is wrong, or has none."""
    architecture = platform_of(parse(text))
    if architecture is None:
        raise InputError("has no architectureGraph", place="sdf3", cure="name the file that has it")
    return architecture


def platform_from(document: Any) -> Platform:
    """Return the platform that a JSON document describes; raises :class:`InputError` with everything that lacks."""
    document = of_kind(document, PLATFORM_KIND, None)
    section = {name: value for name, value in document.items() if name not in (*FREE_KEYS, "name")}
    name = document.get("name", "platform")
    if not isinstance(name, str):
        raise InputError("is not a name", place="name", value=name, allowed="text")
    return _platform(name, section_from(section, ManyCoreSection, cure="see docs/formats.md for every field"))


def platform_machine_text(platform: Platform) -> str:
    """Return the platform as a machine file."""
    section = {name: value for name, value in asdict(platform).items() if name != "name" and value is not None}
    return msgspec.yaml.encode({"name": platform.name, "many_core": section}).decode()


def _platform(name: str, section: ManyCoreSection) -> Platform:
    numbers, tile_numbers = itertools.count(1), itertools.count(1)
    tiles = []
    for place, tile in enumerate(section.tiles):
        for _ in range(tile.count):
            number = next(tile_numbers)
            cores = tuple(_cores(tile, f"tiles[{place}]", numbers))
            identity = _identity(tile, f"T{number}", f"tiles[{place}]", repeated=tile.count > 1)
            tiles.append(Tile(identity, cores, tile.tile_memory_bytes, tile.crossbar_bytes_per_s))
    types = {kind: CoreType(item.cost) for kind, item in section.core_types.items()}
    energies = section.crossbar_pj_per_byte, section.noc_pj_per_byte
    return Platform(name, types, tuple(tiles), section.noc_bytes_per_s, section.global_memory_bytes, *energies)


def _cores(tile: TileSection, place: str, numbers: Iterator[int]) -> Iterator[Core]:
    for entry, cores in enumerate(tile.cores):
        for _ in range(cores.count):
            repeated = cores.count * tile.count > 1
            identity = _identity(cores, f"p{next(numbers)}", f"{place}.cores[{entry}]", repeated=repeated)
            yield Core(identity, cores.type, cores.local_bytes)


def _identity(section: TileSection | CoresSection, made: str, place: str, *, repeated: bool) -> str:
    if section.id is None:
        return made
    if repeated:
        raise InputError(
            "one id for several alike", place=f"{place}.id", value=section.id, cure="leave it out, or list each alone"
        )
    return section.id
