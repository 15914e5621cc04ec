"""The options of each verb: dataclass fields, Python keywords and command-line flags alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shorthaul.core.options import INTEGERS, option, validate
from shorthaul.core.search import ONE_PER_WORKER, RESTARTS

#: The planners that can be asked for by name.
METHODS = (
    "auto",
    "dwt",
    "tree",
    "tree-cuts",
    "memory-states",
    "mvm-tiling",
    "layer-by-layer",
    "layer-by-layer-freeing",
    "belady",
    "liu",
    "list-scheduling",
    "tiles",
    "beam",
    "local-search",
    "composition",
    "exact",
)
#: Budgets above this are refused; the weights of all nodes together stay far below it.
LARGEST_BUDGET = 2**60
_BUDGET = "The fast memory's capacity, in the unit of the weights"


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a plan is asked for."""

    budget: int | None = option(
        None, f"{_BUDGET} (default: the least for which a plan exists).", least=1, most=LARGEST_BUDGET
    )
    method: str = option("auto", "How to plan.", choices=METHODS, free=True)
    recompute: bool = option(False, "Allow values to be computed more than once.")
    restarts: int | None = option(None, RESTARTS + ONE_PER_WORKER, least=1, most=10_000, free=True)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True)
class BoundOptions:
    """What a lower bound is asked for."""

    budget: int | None = option(
        None, f"{_BUDGET} (default: the least for which a plan exists).", least=1, most=LARGEST_BUDGET
    )
    recompute: bool = option(False, "Bound plans that may compute values more than once.")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """By which rules a plan is replayed."""

    budget: int | None = option(
        None, f"{_BUDGET} (default: no limit, only the peak is reported).", least=1, most=LARGEST_BUDGET
    )
    recompute: bool = option(True, "Allow values to be computed more than once.")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """How the smallest fast memory is looked for."""

    method: str = option("auto", "Whose smallest memory: the best known, or one planner's own.", choices=METHODS)
    recompute: bool = option(False, "Allow values to be computed more than once.")
    capacities: str | None = option(
        None,
        "Capacities in bits for the SRAM table, separated by commas (default: the powers of two at hand).",
        form=INTEGERS,
    )

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """Which budgets are compared."""

    budgets: str | None = option(
        None,
        "Budgets separated by commas, or first:last:step (default: up to --points, least to enough).",
        form=INTEGERS,
    )
    points: int = option(12, "How many budgets to choose where --budgets does not say.", least=1, most=1000)
    method: str = option("auto", "How to plan.", choices=METHODS)
    recompute: bool = option(False, "Allow values to be computed more than once.")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What is executed: a plan made here, or the given one."""

    budget: int | None = option(
        None, f"{_BUDGET} (default: the least for which a plan exists).", least=1, most=LARGEST_BUDGET
    )
    method: str = option("auto", "How to plan, without --plan.", choices=METHODS)
    recompute: bool = option(False, "Allow values to be computed more than once.")
    plan: Path | None = option(None, "Execute this plan instead of making one.")
    data: Path | None = option(None, "Numbers for the inputs, one per line in node order (default: random ones).")

    def __post_init__(self) -> None:
        validate(self)
