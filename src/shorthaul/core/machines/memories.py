"""The memories of a machine file: what fits into one of them, and what moving bytes into and out of it takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from shorthaul.core.errors import InputError, unknown_name
from shorthaul.core.machines.files import load_machine_file
from shorthaul.core.machines.schema import OPERANDS, LevelSection, MachineFile


class MemoryDocument(TypedDict):
    """The memory of a machine that something is planned for, as results name it."""

    name: str
    level: str
    over: str
    capacity_bytes: int
    bandwidth_bytes_per_s: float
    weight_bytes: NotRequired[float]


@dataclass(frozen=True, slots=True)
class FastMemory:
    """A memory of a machine, the fast one, over the next outer one, the slow one."""

    machine: str
    slow: LevelSection
    fast: LevelSection

    @property
    def capacity_bytes(self) -> int:
        """The bytes that fit."""
        assert self.fast.capacity_bytes is not None  # as levels_of has seen
        return self.fast.capacity_bytes

    def moved(self, name: str, loads_bytes: float, stores_bytes: float = 0.0) -> dict[str, float]:
        """Return bytes, seconds and, where the machine file has energies, joules of what is moved; ``name`` leads.

        >>> fast_memory("cortex-m7").moved("traffic", 216.0)
        {'traffic_bytes': 216.0, 'traffic_s': 1e-06}
        """
        both = loads_bytes + stores_bytes
        result = {f"{name}_bytes": both, f"{name}_s": both / self.slow.bandwidth_bytes_per_s}
        load, store = joules_per_byte(self.slow, self.fast), joules_per_byte(self.fast, self.slow)
        if load is not None and store is not None:
            result[f"{name}_j"] = load * loads_bytes + store * stores_bytes
        return result

    def least(self, name: str, at_least_bytes: float) -> dict[str, float]:
        """Return what moving so many bytes takes at least, whether they are loaded or stored."""
        ways = (self.moved(name, at_least_bytes), self.moved(name, 0.0, at_least_bytes))
        return min(ways, key=lambda amounts: amounts.get(f"{name}_j", 0.0))

    def document(self) -> MemoryDocument:
        """Return the memory as a JSON object."""
        return {
            "name": self.machine,
            "level": self.fast.name,
            "over": self.slow.name,
            "capacity_bytes": self.capacity_bytes,
            "bandwidth_bytes_per_s": self.slow.bandwidth_bytes_per_s,
        }


def fast_memory(machine: str | Path, level: str | None = None) -> FastMemory:
    """Return a memory of the machine in a file, or the bundled one of this name, with the next outer one.

    Without ``level`` it is the one next to the outermost. Raises :class:`InputError`.

    >>> fast_memory("desktop-cpu", "L1").slow.name
    'L2'
    """
    found = load_machine_file(machine, "levels")
    try:
        levels = levels_of(found)
    except InputError as error:
        raise error.in_file(machine) from None
    inner = [item.name for item in levels[1:]]
    if level is not None and level not in inner:
        raise unknown_name("memory", level, inner, place="--machine-level", cure=f"give one that {machine} has")
    at = 1 if level is None else 1 + inner.index(level)
    return FastMemory(found.name, levels[at - 1], levels[at])


def levels_of(file: MachineFile) -> tuple[LevelSection, ...]:
    """Return the memories of a machine file; raises :class:`InputError` for levels that contradict."""
    levels = tuple(file.levels or ())
    if len(levels) < 2:
        raise InputError("has one level", place="levels", value=len(levels), allowed="two or more, the outermost first")
    if levels[0].capacity_bytes is not None:
        cure = "leave it out, and put a level that holds everything in front"
        raise InputError("limits the outermost level", place="levels[0].capacity_bytes", cure=cure)
    capacity = None
    for number, level in enumerate(levels[1:], 1):
        if any(level.name == other.name for other in levels[:number]):
            cure = "give every level a name of its own"
            raise InputError("is the name of two levels", place=f"levels[{number}].name", value=level.name, cure=cure)
        place = f"levels[{number}].capacity_bytes"
        if level.capacity_bytes is None:
            raise InputError("is missing", place=place, allowed="bytes, from 1")
        if level.capacity_bytes < 1:
            raise InputError("holds nothing", place=place, value=level.capacity_bytes, allowed="bytes, from 1")
        if capacity is not None and level.capacity_bytes > capacity:
            allowed = f"up to {capacity}"
            raise InputError(
                "exceeds that of the level around", place=place, value=level.capacity_bytes, allowed=allowed
            )
        capacity = level.capacity_bytes
    if levels[0].memories:
        raise InputError("divides the outermost level", place="levels[0].memories", cure="put a level in front of it")
    served: set[str] = set(OPERANDS)
    for number, level in enumerate(levels[1:], 1):
        served = _served(level, served, f"levels[{number}].memories", is_first=number == 1)
    return levels


def _served(level: LevelSection, outside: set[str], place: str, *, is_first: bool) -> set[str]:
    """Return the operands that a level has a memory for; raises :class:`InputError` for memories that contradict."""
    if not level.memories and outside == set(OPERANDS):
        return outside
    found: set[str] = set()
    for number, memory in enumerate(level.memories):
        twice = found.intersection(memory.serves) | {name for name in memory.serves if memory.serves.count(name) > 1}
        if twice:
            raise InputError("serves an operand twice", place=f"{place}[{number}].serves", value=sorted(twice)[0])
        found.update(memory.serves)
        assert level.capacity_bytes is not None
        if memory.capacity_bytes is not None and memory.capacity_bytes > level.capacity_bytes:
            limit = f"up to {level.capacity_bytes}, the bytes of the level"
            where = f"{place}[{number}].capacity_bytes"
            raise InputError("exceeds the level", place=where, value=memory.capacity_bytes, allowed=limit)
    found = found if level.memories else set(OPERANDS)
    if is_first and found != outside:
        lacking = sorted(outside - found)[0]
        raise InputError(f"has no memory for {lacking}", place=place, cure="tiles live here: all operands need a place")
    if not found <= outside:
        lacking = sorted(found - outside)[0]
        raise InputError(f"serves {lacking}, which the level around does not", place=place, value=sorted(found))
    return found


def joules_per_byte(source: LevelSection, target: LevelSection) -> float | None:
    """Return the energy of a byte that is read in one level and written in another, None where it is not stated."""
    write = target.read_pj_per_byte if target.write_pj_per_byte is None else target.write_pj_per_byte
    if source.read_pj_per_byte is None or write is None:
        return None
    return (source.read_pj_per_byte + write) * 1e-12
