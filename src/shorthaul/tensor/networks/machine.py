"""The memories and compute units of a machine file, as plans of networks are priced on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from shorthaul.core.errors import InputError
from shorthaul.core.machines.files import load_machine_file
from shorthaul.core.machines.memories import levels_of
from shorthaul.core.machines.schema import OPERANDS, ArraySide, LevelSection, MachineFile, UnitSection

#: Seconds of latency that a second of the outermost memory's traffic is worth, where compute decides the time. At 0.01,
#: MobileNetV2 on ``edge-45nm`` moves twice as much in 7 % more time, as fewer groups are joined, and layers on zigzag's
#: machines take up to twice the energy; latencies on ``phone-npu`` are at most 0.7 % below those of 0.5 to 1.
TRAFFIC_WEIGHT = 0.7


@dataclass(frozen=True, slots=True)
class Machine:
    """Memories from the outermost, which holds everything, to the innermost; units; all amounts in SI units.

    Of what lies inside of a memory (``is_inside``), nothing waits for first loads and last stores: tiles of the memory
    follow one another. ``traffic_weight`` is what searches reckon with: so many seconds of latency a second of the
    outermost memory's traffic is worth.
    """

    name: str
    levels: tuple[LevelSection, ...]
    clock_hz: float
    units: dict[str, UnitSection]
    array: tuple[ArraySide, ...] = ()
    is_inside: bool = False
    traffic_weight: float = TRAFFIC_WEIGHT

    def seconds_per_operation(self, unit: str, bits: int) -> float:
        """Return the time of one operation on operands of so many bits."""
        rates = self.units[unit].operations_per_cycle
        enough = [width for width in rates if width >= bits]
        rate = rates[min(enough)] if enough else rates[max(rates)] * max(rates) / bits
        return 1.0 / (rate * self.clock_hz)

    def most_row_bytes(self) -> float:
        """Return the bytes of a row, read and written, that fits next to the outermost memory beside the next one."""
        level = self.levels[1]
        rooms = self.capacities(1)
        ends = [rooms[number] for name in ("inputs", "outputs") if (number := level.memory_of(name)) is not None]
        return min(ends) / (2 if level.double_buffered else 1)

    def inside(self, outer: int) -> Machine:
        """Return the machine whose outermost memory is the level ``outer``.

        It has no array: steps fill that, or do not, and tiles inside of a step change nothing about it.
        """
        return replace(self, levels=self.levels[outer:], array=(), is_inside=True)

    def ports(self) -> tuple[tuple[int, frozenset[int], float], ...]:
        """Return what passes further inside, first all of every level: the level, operands, and seconds of a byte."""
        inside = list(enumerate(self.levels))[1:-1]
        whole = [(at, frozenset(range(len(OPERANDS))), 1 / level.bandwidth_bytes_per_s) for at, level in inside]
        own = [
            (at, frozenset(OPERANDS.index(name) for name in memory.serves), 1 / memory.bandwidth_bytes_per_s)
            for at, level in inside
            for memory in level.memories
            if memory.bandwidth_bytes_per_s is not None
        ]
        return (*whole, *own)

    def capacities(self, level: int) -> tuple[float, ...]:
        """Return the bytes of every memory of a level."""
        section = self.levels[level]
        whole = section.capacity_bytes or 0
        return tuple(float(memory.capacity_bytes or whole) for memory in section.memories) or (float(whole),)

    def served(self, level: int) -> tuple[int | None, ...]:
        """Return the memory of a level that inputs, weights and outputs have, None for no memory."""
        return tuple(self.levels[level].memory_of(name) for name in OPERANDS)

    def byte_s(self, operand: int) -> float:
        """Return the seconds of a byte of an operand that passes its outermost memory."""
        level, number = self.levels[0], self.served(0)[operand]
        own = level.memories[number].bandwidth_bytes_per_s if number is not None and level.memories else None
        return 1 / (own or level.bandwidth_bytes_per_s)

    def traffic_weights(self) -> tuple[float, ...]:
        """Return what a byte is worth that passes the outermost memory, against the mean: loads by operand, stores.

        Where a memory serves operands of its own, it is the energy that tells.
        """
        known = self._joules_by_end() if self.levels[0].memories or self.levels[1].memories else []
        if not sum(known):
            return (1.0,) * (len(OPERANDS) + 1)
        return tuple(each * len(known) / sum(known) for each in known)

    def _joules_by_end(self) -> list[float]:
        """Return the energy of a byte that passes the outermost memory: loads by operand, stores; empty if unknown."""
        found = [self.joules_per_byte(0, inward=True, operand=number) for number in range(len(OPERANDS))]
        known = [each for each in (*found, self.joules_per_byte(0, inward=False, operand=2)) if each is not None]
        return known if len(known) > len(found) else []

    def joules_per_operation(self, unit: str, bits: int) -> float | None:
        """Return the energy of one operation, None where the machine file has none."""
        energies = self.units[unit].pj_per_operation
        if not energies:
            return None
        enough = [width for width in energies if width >= bits]
        pj = energies[min(enough)] if enough else energies[max(energies)] * bits / max(energies)
        return pj * 1e-12

    def sums_are_wider(self, unit: str, bits: int, output_bits: int) -> float:
        """Return how many times the bits of an output a sum has that goes on, of operands of so many bits."""
        enough = [width for width in self.units[unit].sum_bits if width >= bits]
        return max(1.0, self.units[unit].sum_bits[min(enough)] / output_bits) if enough else 1.0

    def joules_per_byte(self, outer: int, *, inward: bool, operand: int) -> float | None:
        """Return the energy of a byte between a level and the next inner one, None where the machine file has none.

        ``operand`` is its number among inputs, weights and outputs.
        """
        source, target = self.levels[outer], self.levels[outer + 1]
        if not inward:
            source, target = target, source
        read, write = source.energy(OPERANDS[operand], "read"), target.energy(OPERANDS[operand], "write")
        return None if read is None or write is None else (read + write) * 1e-12

    def joules_moved(self, loads: float, stores: float, worth: float) -> float:
        """Return the energy of what passes the outermost memory, ``worth`` by what it is worth; 0 if unknown."""
        known = self._joules_by_end()
        if not known:
            return 0.0
        if self.levels[0].memories or self.levels[1].memories:
            return worth * sum(known) / len(known)
        return loads * known[0] + stores * known[-1]

    def joules_to_copy(self, operand: int) -> float | None:
        """Return the energy of a byte that is made next to the outermost memory and copied to another one there."""
        level = self.levels[1]
        read, write = level.energy("outputs", "read"), level.energy(OPERANDS[operand], "write")
        return None if read is None or write is None else (read + write) * 1e-12


def load_machine(machine: str | Path) -> Machine:
    """Return the machine in a file, or the bundled one of this name; raises :class:`InputError`."""
    found = load_machine_file(machine, "levels", "compute")
    try:
        return machine_of(found)
    except InputError as error:
        raise error.in_file(machine) from None


def machine_of(file: MachineFile) -> Machine:
    """Return the memories and units of a machine file; raises :class:`InputError` for levels that contradict."""
    assert file.compute is not None
    levels = levels_of(file)
    units = {"matrix": file.compute.matrix, "vector": file.compute.vector}
    return Machine(file.name, levels, file.compute.clock_hz, units, tuple(file.compute.array))
