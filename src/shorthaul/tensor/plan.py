"""A schedule: which operators run together, on which tiles, in which order, and what stays in fast memory between."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Granularity:
    """How a subgraph is sliced: output tiles of ``w`` columns and ``h`` rows, reductions in steps of ``k``."""

    w: int
    h: int
    k: int


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Operators executed together.

    ``retained`` are the tensors kept in fast memory for the next subgraph; ``traversal`` is the order in which the
    tiles (numbered row by row) are executed, None for the default order; ``latency`` is what the plan claims the
    subgraph takes, None where it claims nothing.
    """

    operators: tuple[int, ...]
    granularity: Granularity
    retained: tuple[int, ...] = ()
    traversal: tuple[int, ...] | None = None
    latency: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Subgraphs, executed one after the other."""

    subgraphs: tuple[Subgraph, ...]
