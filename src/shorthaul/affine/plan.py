"""A plan: an order of all statement instances, to be run with Belady's replacement in a fast memory of S words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from shorthaul.core.machines.memories import MemoryDocument

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """The instances in execution order: ``names[statements[k]]`` at ``iterations[k]`` is the k-th.

    ``iterations`` has shape (instances, deepest nest), rows padded with zeros; ``sizes`` are the parameters' values,
    ``fast_memory`` is S in words, ``levels`` are smaller memories in front of it, the largest first. ``tiling`` says in
    words how the order was made.
    """

    sizes: Mapping[str, int]
    fast_memory: int
    names: tuple[str, ...]
    statements: IntArray
    iterations: IntArray
    tiling: str = ""
    levels: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.statements)


class StatementText(TypedDict):
    """A statement as it was read."""

    name: str
    text: str
    line: int
    domain: str


class ProgramText(TypedDict):
    """A program as it was read."""

    function: str
    parameters: list[str]
    defaults: dict[str, int]
    statements: list[StatementText]


class ShortForm(TypedDict):
    """A formula without guards and floors, and the conditions under which it holds."""

    formula: str
    where: list[str]


class OrderStep(TypedDict):
    """One step of a derived order: its statements, their order, and how long each class of values is kept."""

    statements: list[str]
    order: str
    kept: list[str]


class UpperDocument(TypedDict):
    """A derived order: formulas of its loads, of its tiles, and how near the lower bound it comes.

    At given sizes ``value`` are the loads of the order ``at_sizes``, ``without_cache`` those of keeping nothing.
    """

    formula: str
    simple: ShortForm | None
    leading: str
    tiles: dict[str, str]
    holds_for: str
    where: dict[str, str]
    tightness: float | None
    steps: list[OrderStep]
    method: str
    value: NotRequired[float]
    without_cache: NotRequired[float]
    at_sizes: NotRequired[list[OrderStep]]
    value_bytes: NotRequired[float]
    replayed_loads_words: NotRequired[int | None]


class LevelLoads(TypedDict):
    """One of several memories: its words, the bound on the loads into it, and those of the order, if there is one."""

    S: int
    bound: float
    loads_words: float | None


class BoundExtra(TypedDict):
    """What ``bound`` says beside the bound; ``upper`` is None where no order was derived.

    ``no_order`` tells which memories are too small for any order; then ``upper`` has no value at these.
    """

    sizes: dict[str, int]
    program: ProgramText
    upper: UpperDocument | None
    operations: float | None
    no_order: NotRequired[str]
    levels: NotRequired[list[LevelLoads]]
    machine: NotRequired[MemoryDocument]


class PlanExtra(TypedDict):
    """What ``plan`` says beside the order.

    ``not_listed`` tells why no plan comes with it: its instances are too many, and the cost is that of the formula.
    """

    sizes: dict[str, int]
    tiling: str
    operations: float | None
    program_order_loads_words: int | None
    upper: UpperDocument | None
    not_listed: NotRequired[str]
    levels: NotRequired[list[LevelLoads]]
    machine: NotRequired[MemoryDocument]


class CheckExtra(TypedDict):
    """What ``check`` says: ``sizes`` of the plan replayed, or the ``formula`` of the bound tested."""

    sizes: NotRequired[dict[str, int]]
    formula: NotRequired[str]
    levels: NotRequired[list[LevelLoads]]
    machine: NotRequired[MemoryDocument]


class CodeExtra(TypedDict):
    """What ``code`` says: the C file, the sizes of its tiles, its loads, and where it leaves the derived order.

    Loads are those of a replay, or at most by the order's formula.
    """

    code: str
    sizes: dict[str, int]
    tiles: dict[str, int]
    loads_words: float | None
    is_replayed: bool
    remarks: list[str]
    levels: NotRequired[list[LevelLoads]]
    machine: NotRequired[MemoryDocument]


class SweepPoint(TypedDict):
    """One size of fast memory; with ``balance`` also shares of the peak, on a machine also seconds and joules.

    ``order`` is the derived order, where there is one.
    """

    S: int
    bound: float
    loads_words: float | None
    bound_bytes: float
    loads_bytes: float | None
    bound_s: NotRequired[float]
    bound_j: NotRequired[float]
    loads_s: NotRequired[float]
    loads_j: NotRequired[float]
    oi_limit: float | None
    oi_reached: float | None
    peak_limit: NotRequired[float | None]
    peak_reached: NotRequired[float | None]
    may_be_compute_bound: NotRequired[bool]
    order: NotRequired[str]


class SweepExtra(TypedDict):
    """What ``sweep`` found."""

    points: list[SweepPoint]
    operations: float | None
    formula: str
    upper: UpperDocument | None
    machine: NotRequired[MemoryDocument]
