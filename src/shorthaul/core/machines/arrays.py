"""An array of multipliers with memories of single operands, as other tools describe it, as a machine file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shorthaul.core.errors import InputError

#: What can lie along a side of the array along which inputs, weights or sums are shared.
_ROLES: Final = ("columns", "rows", "reduction")
#: A rate without end, as machine files write it.
MOST_RATE: Final = 1e21
#: What machine files call inputs, weights and sums.
_SERVES: Final = ("inputs", "weights", "outputs")
_ALL_ROLES: Final = ("rows", "columns", "batch", "reduction", "taps")


@dataclass(frozen=True, slots=True)
class OperandMemory:
    """A memory of some operands: what one copy holds and passes on, and the sides of the array that a copy serves."""

    bits: float
    operands: tuple[str, ...]
    copies: int
    bits_per_s: float
    served: frozenset[str]
    #: Picojoules per byte by way (read, write) and operand; None where they are not known.
    pj_per_byte: Mapping[tuple[str, str], float | None]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """Memories from the innermost to the outermost, sides of the array, and the operand that is shared along each."""

    name: str
    source: str
    #: What inputs, weights and sums are called.
    operands: tuple[str, str, str]
    memories: Mapping[str, OperandMemory]
    sides: Mapping[str, int]
    #: By side; a side that is not here shares nothing in particular.
    shared: Mapping[str, str]
    clock_hz: float
    #: Operations per cycle that are no products.
    vector_rate: float
    unit_pj: float | None
    input_bits: tuple[int, int] = (8, 8)
    place: str = field(default="memories", kw_only=True)

    def size(self, sides: Sequence[str] | frozenset[str]) -> int:
        """Return how many units lie along sides."""
        return math.prod(size for name, size in self.sides.items() if name in sides)

    def chains(self) -> dict[str, list[str]]:
        """Return the memories of every operand, from the innermost; raises :class:`InputError` for less than two."""
        outer = list(self.memories)[-1]
        found = {}
        for operand in self.operands:
            chain = [key for key, memory in self.memories.items() if operand in memory.operands]
            if len(chain) < 2 or chain[-1] != outer:
                allowed = f"in {outer}, the outermost one, and in a memory before"
                raise InputError(
                    f"has no place for the operand {operand}", place=self.place, value=chain, allowed=allowed
                )
            found[operand] = chain
        return found

    def document(self) -> dict[str, Any]:
        """Return the document of a machine file; raises :class:`InputError`.

        The memory next to the outermost of every operand is in the level inside of that, the one after them in the
        next level, and so on: levels have memories for operands of their own, or for some operands only. What the array
        reads and writes of the innermost memories goes to the energy of its operations: an operand counts once where
        the array shares it.
        """
        chains = self.chains()
        levels = [self._level([list(self.memories)[-1]], outermost=True)]
        for depth in range(2, 1 + max(len(chain) for chain in chains.values())):
            held: dict[str, list[str]] = {}
            for operand, chain in chains.items():
                if len(chain) >= depth:
                    held.setdefault(chain[-depth], []).append(operand)
            level = self._level(list(held))
            if len(held) > 1 or len(next(iter(held.values()))) < len(chains):
                level["memories"] = [self._memory(name, held[name], chains) for name in held]
                level["capacity_bytes"] = sum(memory["capacity_bytes"] for memory in level["memories"])
            levels.append(level)
            if len(levels) > 2:
                level["capacity_bytes"] = min(level["capacity_bytes"], levels[-2]["capacity_bytes"])
                for memory in level.get("memories", ()):
                    memory["capacity_bytes"] = min(memory["capacity_bytes"], level["capacity_bytes"])
        bits = max(self.input_bits)
        matrix: dict[str, Any] = {"operations_per_cycle": {bits: 2 * self.size(list(self.sides))}}
        sums = {"sum_bits": {bits: 2 * bits}}
        each = self._pj_per_multiplication(chains)
        if each is not None:
            matrix["pj_per_operation"] = {bits: each / 2}
        vector = {**matrix, "operations_per_cycle": {bits: self.vector_rate}}
        roles = dict(zip(self.operands, _ROLES, strict=True))
        sides = [
            {"size": size, "spreads": [roles[self.shared[name]]] if name in self.shared else list(_ALL_ROLES)}
            for name, size in self.sides.items()
        ]
        compute = {"clock_hz": self.clock_hz, "matrix": matrix | sums, "vector": vector, "array": sides}
        return {"name": self.name, "source": self.source, "levels": levels, "compute": compute}

    def _memory(self, name: str, operands: Sequence[str], chains: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return a memory of a level that holds some operands, with its part where it holds others elsewhere.

        Sums take twice the bits of an operand, which outputs do not: registers of sums hold as many of these. Registers
        next to the array that hold what one pass of it takes are filled for the next one meanwhile, as if they were
        there twice. Along sides that share its only operand, copies hold the same, or parts of a sum.
        """
        memory, sums = self.memories[name], self.operands[2]
        bits = memory.bits * len(operands) / len(memory.operands)
        alike = 1
        if len(operands) == 1:
            alike = self.size([side for side in self.sides if self.shared.get(side) == operands[0]])
            alike //= self.size([side for side in memory.served if self.shared.get(side) == operands[0]])
        own = max(self.input_bits)
        if [name] * len(operands) == [chains[operand][0] for operand in operands]:
            if list(operands) == [sums]:
                bits /= 2
            if bits < 2 * own:
                bits *= 2
        found: dict[str, Any] = {
            "name": name,
            "serves": [_SERVES[self.operands.index(operand)] for operand in operands],
            "capacity_bytes": max(1, int(bits * memory.copies / alike // 8)),
            "bandwidth_bytes_per_s": min(memory.bits_per_s * memory.copies / alike / 8, MOST_RATE),
        }
        for way in ("read", "write"):
            energies = [memory.pj_per_byte.get((way, operand)) for operand in operands]
            known = [energy for energy in energies if energy is not None]
            if len(known) == len(energies):
                is_of_all = way == ("read" if list(operands) == [sums] else "write")
                found[f"{way}_pj_per_byte"] = sum(known) / len(known) * (alike if is_of_all else 1)
        return found

    def _level(self, names: list[str], *, outermost: bool = False) -> dict[str, Any]:
        """Return memories side by side as one level: all their bytes and ports, and the mean of their energies."""
        memories = [self.memories[name] for name in names]
        moved = sum(item.bits_per_s * item.copies for item in memories)
        level: dict[str, Any] = {"name": " + ".join(names), "bandwidth_bytes_per_s": min(moved / 8, MOST_RATE)}
        if not outermost:
            level["capacity_bytes"] = int(sum(item.bits * item.copies for item in memories) // 8)
        for way in ("read", "write"):
            energies = [item.pj_per_byte.get((way, operand)) for item in memories for operand in item.operands]
            known = [energy for energy in energies if energy is not None]
            if len(known) == len(energies):
                level[f"{way}_pj_per_byte"] = sum(known) / len(known)
        return level

    def _pj_per_multiplication(self, chains: Mapping[str, list[str]]) -> float | None:
        """Return the energy of a multiplication with what it reads and writes of the innermost memories."""
        if self.unit_pj is None:
            return None
        total = self.unit_pj
        widths = (*self.input_bits, 2 * max(self.input_bits))
        for operand, bits in zip(self.operands, widths, strict=True):
            memory = self.memories[chains[operand][0]]
            shared = self.size([side for side in memory.served if self.shared.get(side) == operand])
            for way in ("read", "write") if operand == self.operands[2] else ("read",):
                each = memory.pj_per_byte.get((way, operand))
                if each is None:
                    return None
                total += each * bits / 8 / shared
        return total
