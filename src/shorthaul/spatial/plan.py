"""The plan: a layout, a processor for every vertex; tables of what algorithms computed; what results say beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.model import Grid


@dataclass(frozen=True, slots=True)
class Layout:
    """Vertex v, whose parent is ``parent[v]``, sits on processor (``x[v]``, ``y[v]``) of ``grid``.

    All arrays have shape (n,), int32; a root's parent is -1. ``z[v]`` is the layer, on machines that have several.
    """

    parent: npt.NDArray[np.int32]
    x: npt.NDArray[np.int32]
    y: npt.NDArray[np.int32]
    grid: Grid
    z: npt.NDArray[np.int32] | None = None

    def _repr_html_(self) -> str:
        return f"<p>layout of {len(self.x)} vertices on a grid of {self.grid}</p>"


@dataclass(frozen=True, slots=True)
class VertexTable:
    """What an algorithm computed: arrays by name, one entry per vertex (or query)."""

    arrays: Mapping[str, npt.NDArray[Any]]


class MachineExtra(TypedDict):
    """What a layout makes of a machine: its name, its processors, how many it uses, what the fullest one holds."""

    name: str
    processors: int
    living: int
    used: int
    per_processor: int
    largest_bytes: int
    memory_bytes: int
    rounds: NotRequired[int]
    colours: NotRequired[int]


class BoundExtra(TypedDict):
    """What ``bound`` and ``check`` say beside the bound: vertices, width and height of the grid."""

    vertices: NotRequired[int]
    grid: NotRequired[list[int]]
    machine: NotRequired[MachineExtra]


class RelayedCost(TypedDict):
    """The cost of one message per edge of the virtual tree, whose vertices have few children."""

    energy_hops: int
    energy_per_vertex: float
    distance_hops: int
    depth: int
    nodes: int
    bound: int


class PlanExtra(TypedDict):
    """What ``plan`` says beside the layout; ``baselines`` are the costs of other orders along the same curve."""

    vertices: int
    grid: list[int]
    placement: str
    curve: NotRequired[str]
    energy_per_vertex: float
    energy_per_edge: float
    virtual_tree: NotRequired[RelayedCost]
    machine: NotRequired[MachineExtra]
    baselines: list[dict[str, float | str]]
    creation: NotRequired[dict[str, Any]]


class RunExtra(TypedDict):
    """What ``treefix`` and ``lca`` say beside the cost of their messages.

    ``cycles`` by the clock of :class:`Machine`; ``looks``: how often the host asked whether any node is left;
    ``constants``: how many numbers it wrote into computations and registers; ``given``: what the processors held before
    the first message, in words per node.
    """

    vertices: int
    grid: list[int]
    method: str
    energy_per_vertex: float
    messages: int
    rounds: int
    longest_message_hops: int
    cycles: int
    looks: int
    constants: int
    given: dict[str, float]
    words_per_processor: NotRequired[int]
    messages_per_processor: NotRequired[int]
    cycles_by_method: NotRequired[dict[str, int]]
    machine: NotRequired[MachineExtra]
    queries: NotRequired[int]
    barriers: NotRequired[bool]


class SweepPoint(TypedDict):
    """One tree with one placement or one algorithm; ``distance_hops`` and ``link_load`` where they were counted."""

    vertices: int
    what: str
    energy_hops: float
    depth: float
    distance_hops: NotRequired[float]
    link_load: NotRequired[float]
    energy_per_vertex: float
    bound: float


class SweepExtra(TypedDict):
    """What ``sweep`` found."""

    points: list[SweepPoint]
