"""The grid of processors that a machine file describes: those that are dead, and the links between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.core.machines.files import machine_file, machine_text
from shorthaul.core.machines.schema import MachineFile, ProcessorSection
from shorthaul.spatial.model import MOST_PROCESSORS, Fabric

Links = npt.NDArray[np.int32]


def load_machine(path: Path) -> Fabric:
    """Return the machine in the file ``path``, or the bundled one of this name; raises :class:`InputError`."""
    found, text = machine_text(path, "grid", "processor")
    try:
        return machine_from_text(text)
    except InputError as error:
        raise error.in_file(found) from None


def machine_from_text(text: str) -> Fabric:
    """Return the machine that YAML or JSON text describes; raises :class:`InputError` with the field.

    >>> text = "{name: four, grid: {width: 2, height: 2}, processor: {memory_bytes: 64}}"
    >>> machine_from_text(text).links.tolist()[4]
    [1, 0, 1, 0]
    """
    return _fabric(machine_file(text, "grid", "processor"))


def _fabric(file: MachineFile) -> Fabric:
    grid, processor = file.grid, file.processor
    assert grid is not None
    assert processor is not None
    shape = (grid.layers, grid.height, grid.width)
    if grid.width * grid.height * grid.layers > MOST_PROCESSORS // 4:
        shown = f"{grid.width} x {grid.height} x {grid.layers}"
        raise InputError("has too many processors", place="grid", value=shown, allowed=f"up to {MOST_PROCESSORS // 4}")
    memory = processor.memory_bytes - processor.reserved_bytes
    if memory < 1:
        raise InputError(
            "leaves no memory",
            place="processor.reserved_bytes",
            value=processor.reserved_bytes,
            allowed=f"less than memory_bytes, {processor.memory_bytes}",
        )
    living = _living(processor, shape)
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
    rate, energy = file.network.link_bytes_per_s, file.network.pj_per_byte
    return Fabric(file.name, grid.width, grid.height, grid.layers, memory, living, links, rate, energy)


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
