"""The memories and compute units of a machine file, as plans of networks are priced on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shorthaul.core.errors import InputError
from shorthaul.core.machines.files import load_machine_file
from shorthaul.core.machines.memories import joules_per_byte, levels_of
from shorthaul.core.machines.schema import ArraySide, LevelSection, MachineFile, UnitSection


@dataclass(frozen=True, slots=True)
class Machine:
    """Memories from the outermost, which holds everything, to the innermost; units; all amounts in SI units."""

    name: str
    levels: tuple[LevelSection, ...]
    clock_hz: float
    units: dict[str, UnitSection]
    array: tuple[ArraySide, ...] = ()

    def seconds_per_operation(self, unit: str, bits: int) -> float:
        """Return the time of one operation on operands of so many bits."""
        rates = self.units[unit].operations_per_cycle
        enough = [width for width in rates if width >= bits]
        rate = rates[min(enough)] if enough else rates[max(rates)] * max(rates) / bits
        return 1.0 / (rate * self.clock_hz)

    def most_row_bytes(self) -> float:
        """Return the bytes of a row, read and written, that fits next to the outermost memory beside the next one."""
        level = self.levels[1]
        return float(level.capacity_bytes or 0) / (2 if level.double_buffered else 1)

    def inside(self, outer: int) -> Machine:
        """Return the machine whose outermost memory is the level ``outer``."""
        return Machine(self.name, self.levels[outer:], self.clock_hz, self.units, self.array)

    def joules_per_operation(self, unit: str, bits: int) -> float | None:
        """Return the energy of one operation, None where the machine file has none."""
        energies = self.units[unit].pj_per_operation
        if not energies:
            return None
        enough = [width for width in energies if width >= bits]
        pj = energies[min(enough)] if enough else energies[max(energies)] * bits / max(energies)
        return pj * 1e-12

    def joules_per_byte(self, outer: int, *, inward: bool) -> float | None:
        """Return the energy of a byte between a level and the next inner one, None where the machine file has none."""
        source, target = self.levels[outer], self.levels[outer + 1]
        return joules_per_byte(source, target) if inward else joules_per_byte(target, source)


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
