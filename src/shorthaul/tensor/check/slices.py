"""What a subgraph asks for and computes, without names: slices by tensor to load, and by operator to compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: What an axis of a slice follows.
WHOLE: Final = 0
TILE: Final = 1
STEP: Final = 2


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of a tensor of ``height`` x ``width``: what its axes follow, and in the steps of which reduction.

    ``length`` is 0 for a slice that only the last step of a tile asks for. A slice that is computed has a ``cost``, a
    ``marking`` and, for a MatMul, ``part`` if a step does part of the reduction, or the whole of it.
    """

    rows: int
    columns: int
    length: int
    height: int
    width: int
    cost: float = 0.0
    marking: str = "none"
    part: str = "none"


@dataclass(frozen=True, slots=True)
class Column:
    """A subgraph in its surroundings, without names: slices by tensor to load, and by operator to compute."""

    height: int
    width: int
    longest: int
    deepest: int
    prologues: tuple[int, int]
    loads: tuple[tuple[Slice, ...], ...]
    works: tuple[tuple[Slice, ...], ...]
    stored: int
    held: int


def meets(group: tuple[Slice, ...], axis: str) -> bool:
    """True if some of these slices follow a tile along this axis, and some a step."""
    return {TILE, STEP} <= {getattr(item, axis) for item in group}


def mixed(group: tuple[Slice, ...]) -> bool:
    """Return whether slices may coincide by chance: along one axis some follow the tile and others the step."""
    return meets(group, "rows") or meets(group, "columns")
