"""Machine files: a grid of processors, those that are dead, the links between them, as YAML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from shorthaul.core.document import convert, decode_text, read_bytes
from shorthaul.core.errors import InputError, unknown_name
from shorthaul.spatial.model import MOST_PROCESSORS, Fabric

Links = npt.NDArray[np.int32]

_BUNDLED = Path(__file__).parent / "data"
#: Larger machine files are refused: dead processors take some 10 bytes each.
_MOST_BYTES = 2**26

Count = Annotated[int, Meta(ge=1, le=MOST_PROCESSORS)]
Coordinate = Annotated[int, Meta(ge=0, le=MOST_PROCESSORS)]
Place = Annotated[list[Coordinate], Meta(min_length=2, max_length=3, description="x, y, and z if there are layers.")]


class GridSection(Struct, forbid_unknown_fields=True, frozen=True):
    """How many processors there are."""

    width: Annotated[Count, Meta(description="Processors in a row (x).")]
    height: Annotated[Count, Meta(description="Processors in a column (y).")]
    layers: Annotated[Count, Meta(description="Layers above one another (z), for 3-D machines.")] = 1


class ProcessorSection(Struct, forbid_unknown_fields=True, frozen=True):
    """What a processor holds, and which ones are dead."""

    memory_bytes: Annotated[int, Meta(ge=1, le=2**40, description="Bytes of memory of each processor.")]
    reserved_bytes: Annotated[int, Meta(ge=0, description="Bytes of them that hold no vertices, such as code.")] = 0
    dead: Annotated[list[Place], Meta(description="The processors that hold nothing.")] = []
    dead_share: Annotated[
        float, Meta(ge=0, lt=1, description="Share of further dead processors, drawn at random, for studies.")
    ] = 0.0
    dead_seed: Annotated[int, Meta(ge=0, description="Seed of that draw.")] = 0


class NetworkSection(Struct, forbid_unknown_fields=True, frozen=True):
    """Which links there are."""

    topology: Annotated[Literal["mesh", "torus"], Meta(description="torus: rows, columns and stacks are rings.")] = (
        "mesh"
    )
    dead_links: Annotated[
        list[Annotated[list[Place], Meta(min_length=2, max_length=2)]],
        Meta(description="Pairs of neighbouring processors whose link is dead, both ways."),
    ] = []
    forwards_through_dead: Annotated[
        bool, Meta(description="Whether the router of a dead processor still passes messages on.")
    ] = False


class DiesSection(Struct, forbid_unknown_fields=True, frozen=True):
    """How the grid is cut into dies."""

    width: Annotated[Count, Meta(description="Processors of a die in a row.")]
    height: Annotated[Count, Meta(description="Processors of a die in a column.")]
    crossing_hops: Annotated[int, Meta(ge=1, le=1000, description="Hops that a link from die to die counts as.")]


class MachineFile(Struct, forbid_unknown_fields=True, frozen=True):
    """A machine: a grid of processors with memory, and the network between them."""

    name: Annotated[str, Meta(description="What the machine is called in results.")]
    grid: GridSection
    processor: ProcessorSection
    network: NetworkSection = NetworkSection()
    dies: DiesSection | None = None
    source: Annotated[str, Meta(description="Where the figures come from.")] = ""


def schema() -> dict[str, Any]:
    """Return the JSON schema of machine files.

    >>> schema()["$defs"]["GridSection"]["required"]
    ['width', 'height']
    """
    return msgspec.json.schema(MachineFile)


def bundled() -> list[str]:
    """Return the names of the machines that come with the package.

    >>> bundled()
    ['wafer-750x994']
    """
    return sorted(path.stem for path in _BUNDLED.glob("*.yaml"))


def load_machine(path: Path) -> Fabric:
    """Return the machine in the file ``path``, or the bundled one of this name; raises :class:`InputError`."""
    if not path.exists() and path.suffix == "" and path.parent == Path():
        if str(path) not in bundled():
            cure = "give the path of a machine file, or the name of a bundled machine"
            raise unknown_name("machine", str(path), bundled(), place="--machine", cure=cure)
        path = _BUNDLED / f"{path}.yaml"
    data = read_bytes(path)
    if len(data) > _MOST_BYTES:
        raise InputError("is too large", file=path, value=f"{len(data)} bytes", allowed=f"up to {_MOST_BYTES}")
    try:
        return machine_from_text(decode_text(data))
    except InputError as error:
        raise error.in_file(path) from None


def machine_from_text(text: str) -> Fabric:
    """Return the machine that YAML or JSON text describes; raises :class:`InputError` with the field.

    >>> text = "{name: four, grid: {width: 2, height: 2}, processor: {memory_bytes: 64}}"
    >>> machine_from_text(text).links.tolist()[4]
    [1, 0, 1, 0]
    """
    try:
        value = msgspec.yaml.decode(text.encode(), strict=True)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"is not YAML: {problem}", allowed="a machine file, see docs/machines.md") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InputError("is not a machine file", value=value, allowed="name, grid, processor, network, dies, source")
    return _fabric(convert(value, MachineFile))


def _fabric(file: MachineFile) -> Fabric:
    grid = file.grid
    shape = (grid.layers, grid.height, grid.width)
    if grid.width * grid.height * grid.layers > MOST_PROCESSORS // 4:
        shown = f"{grid.width} x {grid.height} x {grid.layers}"
        raise InputError("has too many processors", place="grid", value=shown, allowed=f"up to {MOST_PROCESSORS // 4}")
    memory = file.processor.memory_bytes - file.processor.reserved_bytes
    if memory < 1:
        raise InputError(
            "leaves no memory",
            place="processor.reserved_bytes",
            value=file.processor.reserved_bytes,
            allowed=f"less than memory_bytes, {file.processor.memory_bytes}",
        )
    living = _living(file.processor, shape)
    links = _links(file, shape)
    for i, (one, other) in enumerate(file.network.dead_links):
        place = f"network.dead_links[{i}]"
        first, second = _number(one, shape, f"{place}[0]"), _number(other, shape, f"{place}[1]")
        there = [way for way in range(6) if links[way, first] and _beyond(shape, way)[first] == second]
        back = [way for way in range(6) if links[way, second] and _beyond(shape, way)[second] == first]
        if not there:
            raise InputError("is no link", place=place, value=[one, other], allowed="two neighbouring processors, once")
        links[there, first] = links[back, second] = 0
    if not file.network.forwards_through_dead:
        for way in range(6):
            links[way, ~(living & living[_beyond(shape, way)])] = 0
    return Fabric(file.name, grid.width, grid.height, grid.layers, memory, living, links)


def _living(processor: ProcessorSection, shape: tuple[int, int, int]) -> npt.NDArray[np.bool_]:
    living = np.ones(shape[0] * shape[1] * shape[2], np.bool_)
    for i, place in enumerate(processor.dead):
        living[_number(place, shape, f"processor.dead[{i}]")] = False
    further = round(processor.dead_share * len(living))
    living[np.random.default_rng(processor.dead_seed).permutation(len(living))[:further]] = False
    if not living.any():
        raise InputError("leaves no living processor", place="processor.dead", allowed="at least one that lives")
    return living


def _number(place: list[int], shape: tuple[int, int, int], where: str) -> int:
    x, y, z = (*place, 0)[:3]
    if x >= shape[2] or y >= shape[1] or z >= shape[0]:
        allowed = f"x below {shape[2]}, y below {shape[1]}, z below {shape[0]}"
        raise InputError("lies outside the grid", place=where, value=place, allowed=allowed)
    return (z * shape[1] + y) * shape[2] + x


def _links(file: MachineFile, shape: tuple[int, int, int]) -> Links:
    """Return the lengths of all links as if nothing were dead; of a ring of two, the second link is left out."""
    links = np.ones((6, *shape), np.int32)
    dies = file.dies
    for axis in range(3):
        length = shape[axis]
        step = (0, dies.height, dies.width)[axis] if dies is not None else 0
        crossing = dies.crossing_hops if dies is not None else 1
        at = np.arange(length)
        hops = np.where((at + 1) % step == 0, crossing, 1) if step else np.ones(length, np.int64)
        hops[-1] = 0 if file.network.topology == "mesh" or length < 3 else crossing if step and step < length else 1
        onward = np.expand_dims(hops, tuple(other for other in range(3) if other != axis))
        links[2 * axis] *= onward.astype(np.int32)
        links[2 * axis + 1] *= np.roll(onward, 1, axis).astype(np.int32)
    return links.reshape(6, -1)


def _beyond(shape: tuple[int, int, int], way: int) -> Links:
    """Return the processor that the link in direction ``way`` leads to, for every processor."""
    numbers = np.arange(shape[0] * shape[1] * shape[2], dtype=np.int32).reshape(shape)
    return np.roll(numbers, -1 if way % 2 == 0 else 1, way // 2).ravel()
