"""The options of each verb: dataclass fields, Python keywords and command-line flags alike."""

from __future__ import annotations

from dataclasses import dataclass

from shorthaul.core.options import option, validate

#: The planners that can be asked for by name.
METHODS = (
    "auto",
    "dwt",
    "tree",
    "memory-states",
    "mvm-tiling",
    "layer-by-layer",
    "layer-by-layer-freeing",
    "belady",
    "liu",
    "beam",
    "local-search",
    "exact",
)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a plan is asked for."""

    budget: int | None = option(
        None, "The fast memory's capacity, in the unit of the weights (default: the least that works).", least=1
    )
    method: str = option("auto", "How to plan.", choices=METHODS)
    recompute: bool = option(False, "Allow values to be computed more than once.")

    def __post_init__(self) -> None:
        validate(self)
