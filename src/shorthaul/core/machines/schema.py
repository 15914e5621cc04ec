"""What a machine file may hold: memories and compute units for tensors, a grid for trees, tiles of cores."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

#: The most processors that any engine counts.
MOST_PROCESSORS = 2**27

Count = Annotated[int, Meta(ge=1, le=MOST_PROCESSORS)]
Coordinate = Annotated[int, Meta(ge=0, le=MOST_PROCESSORS)]
Place = Annotated[list[Coordinate], Meta(min_length=2, max_length=3, description="x, y, and z if there are layers.")]
Rate = Annotated[float, Meta(gt=0, le=1e21)]
Energy = Annotated[float, Meta(ge=0, le=1e9)]
#: Amounts by the bits of a number: 8, 16, 32, ...
ByBits = dict[Annotated[int, Meta(ge=1, le=128)], Rate]


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
    link_bytes_per_s: Annotated[
        Rate | None, Meta(description="Bytes per second that a link of one hop passes; without, no seconds are told.")
    ] = None
    pj_per_byte: Annotated[
        Energy | None, Meta(description="Picojoules to move a byte by one hop; without, no joules are told.")
    ] = None


class DiesSection(Struct, forbid_unknown_fields=True, frozen=True):
    """How the grid is cut into dies."""

    width: Annotated[Count, Meta(description="Processors of a die in a row.")]
    height: Annotated[Count, Meta(description="Processors of a die in a column.")]
    crossing_hops: Annotated[int, Meta(ge=1, le=1000, description="Hops that a link from die to die counts as.")]


#: What of an operator a memory may serve: the tensors that it reads, those of a product that are its second factor, and
#: what it makes.
OPERANDS = ("inputs", "weights", "outputs")


class MemorySection(Struct, forbid_unknown_fields=True, frozen=True):
    """One of several memories of a level: it serves some operands, and no other one of the level serves these."""

    name: Annotated[str, Meta(description="What the memory is called in results.")]
    serves: Annotated[
        list[Literal["inputs", "weights", "outputs"]],
        Meta(
            min_length=1,
            description="What lies here: what operators read, of products the second factor (weights), what they make.",
        ),
    ]
    capacity_bytes: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Bytes that fit here; those of the level without.")
    ] = None
    bandwidth_bytes_per_s: Annotated[
        Rate | None, Meta(description="Bytes per second between here and the next inner level; the level's without.")
    ] = None
    read_pj_per_byte: Annotated[
        Energy | None, Meta(description="Picojoules to read a byte here; those of the level without.")
    ] = None
    write_pj_per_byte: Annotated[
        Energy | None, Meta(description="Picojoules to write a byte here; those of reading, or of the level, without.")
    ] = None


class LevelSection(Struct, forbid_unknown_fields=True, frozen=True):
    """One memory; levels stand from the outermost, which holds everything, to the innermost."""

    name: Annotated[str, Meta(description="What the level is called in results.")]
    bandwidth_bytes_per_s: Annotated[
        Rate, Meta(description="Bytes per second that pass between this level and the next inner one, both ways.")
    ]
    capacity_bytes: Annotated[
        int | None,
        Meta(description="Bytes that one tile may take here; the outermost level has none and holds everything."),
    ] = None
    read_pj_per_byte: Annotated[Energy | None, Meta(description="Picojoules to read a byte here.")] = None
    write_pj_per_byte: Annotated[
        Energy | None, Meta(description="Picojoules to write a byte here; those of reading where it is missing.")
    ] = None
    double_buffered: Annotated[
        bool,
        Meta(description="Whether tiles that change take their space twice, so that transfers and compute overlap."),
    ] = True
    memories: Annotated[
        list[MemorySection],
        Meta(max_length=3, description="The memories of the level, where these serve operands of their own."),
    ] = []

    def memory_of(self, operand: str) -> int | None:
        """Return the number of the memory that serves an operand, 0 where there are none; None for no memory."""
        serving = [number for number, memory in enumerate(self.memories) if operand in memory.serves]
        return serving[0] if serving else None if self.memories else 0

    def energy(self, operand: str, way: Literal["read", "write"]) -> float | None:
        """Return the picojoules to read or write a byte of an operand, None where they are not stated."""
        own = next((memory for memory in self.memories if operand in memory.serves), None)
        for place in (self,) if own is None else (own, self):
            if way == "write" and place.write_pj_per_byte is not None:
                return place.write_pj_per_byte
            if place.read_pj_per_byte is not None:
                return place.read_pj_per_byte
        return None


class UnitSection(Struct, forbid_unknown_fields=True, frozen=True):
    """What computes one kind of operation."""

    operations_per_cycle: Annotated[
        ByBits,
        Meta(
            min_length=1,
            description="Operations per cycle by the bits of the widest operand; a multiply-accumulate is two.",
        ),
    ]
    pj_per_operation: Annotated[
        dict[Annotated[int, Meta(ge=1, le=128)], Energy],
        Meta(description="Picojoules per operation, by the bits of the widest operand."),
    ] = {}
    sum_bits: Annotated[
        dict[Annotated[int, Meta(ge=1, le=128)], Annotated[int, Meta(ge=1, le=256)]],
        Meta(
            description="Bits of a sum that is not complete yet, by the bits of the widest operand, where it passes "
            "between memories further inside than the next to the outermost; without them, or beyond the widest, those "
            "of outputs."
        ),
    ] = {}


class ArraySide(Struct, forbid_unknown_fields=True, frozen=True):
    """One side of the array of the matrix unit."""

    size: Annotated[int, Meta(ge=1, le=2**20, description="Multipliers along this side.")]
    spreads: Annotated[
        list[Literal["rows", "columns", "batch", "reduction", "taps"]],
        Meta(min_length=1, description="Which dimensions of a product or convolution can lie along it."),
    ]


class ComputeSection(Struct, forbid_unknown_fields=True, frozen=True):
    """What computes, all cores together."""

    clock_hz: Annotated[Rate, Meta(description="Cycles per second.")]
    matrix: Annotated[UnitSection, Meta(description="Products and convolutions.")]
    vector: Annotated[UnitSection, Meta(description="All other operations.")]
    array: Annotated[
        list[ArraySide],
        Meta(max_length=6, description="The sides of the matrix unit; without them every operator fills it."),
    ] = []


class CoreTypeSection(Struct, forbid_unknown_fields=True, frozen=True):
    """What a type of core costs."""

    cost: Annotated[float, Meta(ge=0, le=1e9, description="What one core of the type costs where it is used.")]


class CoresSection(Struct, forbid_unknown_fields=True, frozen=True):
    """One core of a tile, or several alike."""

    type: Annotated[str, Meta(description="One of core_types.")]
    local_bytes: Annotated[int, Meta(ge=0, le=10**15, description="Bytes of the core's own memory.")]
    id: Annotated[str | None, Meta(description="The name of the core; p1, p2, ... without.")] = None
    count: Annotated[int, Meta(ge=1, le=10_000, description="How many cores alike.")] = 1


class TileSection(Struct, forbid_unknown_fields=True, frozen=True):
    """Cores and a memory around one crossbar, or several such tiles alike."""

    cores: list[CoresSection]
    tile_memory_bytes: Annotated[int, Meta(ge=0, le=10**15, description="Bytes of the memory that its cores share.")]
    crossbar_bytes_per_s: Annotated[
        float, Meta(gt=0, le=1e18, description="Bytes per second that the crossbar carries.")
    ]
    id: Annotated[str | None, Meta(description="The name of the tile; T1, T2, ... without.")] = None
    count: Annotated[int, Meta(ge=1, le=10_000, description="How many tiles alike.")] = 1


class ManyCoreSection(Struct, forbid_unknown_fields=True, frozen=True):
    """Tiles of cores, joined by a network, and a global memory."""

    core_types: dict[str, CoreTypeSection]
    tiles: list[TileSection]
    noc_bytes_per_s: Annotated[float, Meta(gt=0, le=1e18, description="Bytes per second between tiles.")]
    global_memory_bytes: Annotated[
        Annotated[int, Meta(ge=0, le=10**15)] | None,
        Meta(description="Bytes of the global memory; as large as needed without."),
    ] = None
    crossbar_pj_per_byte: Annotated[
        Energy | None, Meta(description="Picojoules of a byte that passes a crossbar; without, no joules are told.")
    ] = None
    noc_pj_per_byte: Annotated[
        Energy | None, Meta(description="Picojoules of a byte that passes between tiles; without, no joules are told.")
    ] = None


class MachineFile(Struct, forbid_unknown_fields=True, frozen=True):
    """A machine: memories and compute units, a grid of processors and the network between them, or tiles of cores."""

    name: Annotated[str, Meta(description="What the machine is called in results.")]
    levels: Annotated[
        list[LevelSection] | None, Meta(description="The memories, from the outermost to the innermost.")
    ] = None
    compute: ComputeSection | None = None
    grid: GridSection | None = None
    processor: ProcessorSection | None = None
    network: NetworkSection = NetworkSection()
    dies: DiesSection | None = None
    many_core: ManyCoreSection | None = None
    source: Annotated[str, Meta(description="Where the figures come from.")] = ""


def schema() -> dict[str, Any]:
    """Return the JSON schema of machine files.

    >>> schema()["$defs"]["GridSection"]["required"]
    ['width', 'height']
    """
    return msgspec.json.schema(MachineFile)
