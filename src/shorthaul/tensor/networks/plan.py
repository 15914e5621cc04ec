"""A plan of a network: groups of operators executed together, tile by tile, and what stays near in between."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loop:
    """A dimension of an operator cut into tiles of ``tile`` positions, the last one perhaps smaller."""

    operator: int
    dim: int
    tile: int


@dataclass(frozen=True, slots=True)
class Inner:
    """How what an operator does in a step is cut for the memory ``level`` (2 is inside of the first near one)."""

    operator: int
    level: int
    loops: tuple[Loop, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Operators executed together in steps.

    The last operator is the *sink*; every other one leads to it. ``loops``, from the outermost to the innermost, cut
    dimensions of the sink, and after those reduced dimensions of one further operator, the *anchor*, that accumulates
    its output tile over them. ``kept`` are tensors that stay whole in the memory where tiles live until their last
    reader. ``inner`` cuts the largest region of an operator once more for every memory further inside.
    """

    operators: tuple[int, ...]
    loops: tuple[Loop, ...] = ()
    kept: tuple[int, ...] = ()
    inner: tuple[Inner, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """Groups, executed one after the other."""

    groups: tuple[Group, ...]
