"""Accelerators of zigzag (YAML) as machine files: its memories by operand become levels, registers go to the array."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from shorthaul.core.document import convert
from shorthaul.core.errors import InputError
from shorthaul.core.machines.arrays import Accelerator, OperandMemory

#: zigzag counts cycles; the figures of a machine file are per second.
CLOCK_HZ: Final = 1e9
_OPERANDS: Final = ("I1", "I2", "O")

Positive = Annotated[float, Meta(gt=0)]
Cost = Annotated[float, Meta(ge=0)]
_Bits = Annotated[int, Meta(ge=1, le=128)]


class _Port(Struct):
    type: Literal["read", "write", "read_write"]
    bandwidth_max: Positive
    allocation: list[str] = []


class _Memory(Struct):
    size: Positive
    operands: Annotated[list[Literal["I1", "I2", "O"]], Meta(min_length=1)]
    ports: Annotated[list[_Port], Meta(min_length=1)]
    served_dimensions: list[str]
    r_cost: Cost | None = None
    w_cost: Cost | None = None

    def bandwidth(self, way: str, operand: str = "") -> float:
        """Return the bits that pass in a cycle: of the widest port for this way, of an operand if that has one."""
        fitting = [port for port in self.ports if port.type in {way, "read_write"}] or self.ports
        end = "tl" if way == "read" else "fh"
        own = [port for port in fitting if f"{operand},{end}" in (item.replace(" ", "") for item in port.allocation)]
        return max(port.bandwidth_max for port in own or fitting)

    def pj_per_byte(self, way: str, operand: str) -> float | None:
        """Return picojoules per byte of an operand; a cost is that of all bits of a port."""
        cost = self.r_cost if way == "read" else self.w_cost
        return None if cost is None else cost * 8 / self.bandwidth(way, operand)


class _Array(Struct):
    dimensions: Annotated[list[str], Meta(min_length=1)]
    sizes: list[Annotated[int, Meta(ge=1)]]
    unit_energy: Cost | None = None
    is_imc: bool = False
    input_precision: tuple[_Bits, _Bits] = (8, 8)

    def size(self, names: list[str]) -> int:
        """Return how many units lie along dimensions."""
        return math.prod(size for name, size in zip(self.dimensions, self.sizes, strict=True) if name in names)


class _Accelerator(Struct):
    memories: Annotated[dict[str, _Memory], Meta(min_length=2)]
    operational_array: _Array
    name: str = "accelerator"


def is_zigzag(value: dict[Any, Any]) -> bool:
    """Return whether a document is an accelerator of zigzag."""
    return {"memories", "operational_array"} <= value.keys()


def machine_of_zigzag(value: dict[str, Any]) -> dict[str, Any]:
    """Return an accelerator of zigzag as the document of a machine file; raises :class:`InputError`.

    The last memory is the outermost level. The memory next to it of every operand is the level inside of that, the one
    after them another level, if every operand has one. What the array reads and writes of the innermost memories goes
    to the energy of its operations: an operand counts once where the array shares it. What lies along a dimension of
    the array is told by the registers that serve it: those of sums the reduction, those of weights the places.

    >>> port = {"type": "read_write", "bandwidth_max": 64}
    >>> near = {"size": 8192, "operands": ["I1", "I2", "O"], "ports": [port], "served_dimensions": ["D1"]}
    >>> array = {"dimensions": ["D1"], "sizes": [4]}
    >>> found = machine_of_zigzag({"memories": {"near": near, "far": near}, "operational_array": array})
    >>> [level["name"] for level in found["levels"]], found["levels"][1]["capacity_bytes"]
    (['far', 'near'], 1024)
    """
    found = convert(value, _Accelerator)
    array = found.operational_array
    if array.is_imc:
        allowed = "an array beside its memories"
        raise InputError("computes in memory", place="operational_array.is_imc", value=True, allowed=allowed)
    if len(array.sizes) != len(array.dimensions):
        allowed = f"{len(array.dimensions)} sizes, one per dimension"
        raise InputError(
            "has sizes that do not fit", place="operational_array.sizes", value=array.sizes, allowed=allowed
        )
    outer = list(found.memories)[-1]
    return Accelerator(
        name=found.name,
        source="an accelerator of zigzag",
        operands=_OPERANDS,
        memories={key: _memory(memory, array, is_outermost=key == outer) for key, memory in found.memories.items()},
        sides=dict(zip(array.dimensions, array.sizes, strict=True)),
        shared=_shared_operands(found),
        clock_hz=CLOCK_HZ,
        vector_rate=array.sizes[0],
        unit_pj=array.unit_energy,
        input_bits=array.input_precision,
    ).document()


def _memory(memory: _Memory, array: _Array, *, is_outermost: bool) -> OperandMemory:
    # The outermost memory is there once, whatever it says it serves: zigzag has one port of it as well.
    unserved = [name for name in array.dimensions if name not in memory.served_dimensions]
    return OperandMemory(
        bits=memory.size,
        operands=tuple(memory.operands),
        copies=1 if is_outermost else array.size(unserved),
        bits_per_s=memory.bandwidth("read") * CLOCK_HZ,
        served=frozenset(memory.served_dimensions),
        pj_per_byte={
            (way, operand): memory.pj_per_byte(way, operand) for way in ("read", "write") for operand in memory.operands
        },
    )


def _shared_operands(found: _Accelerator) -> dict[str, str]:
    """Return, by dimension of the array, the operand that its units along it have in common.

    A memory next to the array that serves some dimensions, and not all, says so of its operand. Of what is left the
    first dimension is taken for output channels, the next for input channels, further ones for places.
    """
    names = found.operational_array.dimensions
    known: dict[str, str] = {}
    for operand in ("O", "I2", "I1"):
        innermost = next((memory for memory in found.memories.values() if operand in memory.operands), None)
        served = names if innermost is None else innermost.served_dimensions
        if not set(names) <= set(served):
            known |= {name: operand for name in served if name in names and name not in known}
    left = [operand for operand in ("I1", "O") if operand not in known.values()]
    for name in names:
        if name not in known:
            known[name] = left.pop(0) if left else "I2"
    return known
