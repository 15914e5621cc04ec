"""Several memories: the bound of each, and one order that is near all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shorthaul.affine.bounds.best import AffineBound, lower_bound
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.plan import LevelLoads
from shorthaul.core.check import CheckReport
from shorthaul.core.search import Search


def level_bounds(
    found: AffineBound,
    options: BoundOptions,
    flow: DataFlow | None,
    sizes: Mapping[str, int],
    capacities: tuple[int, ...],
    search: Search,
) -> dict[int, float]:
    """Return the bound on the loads into every memory; ``found`` is that of the largest, S in ``sizes``."""
    result = {}
    for words in capacities:
        here = {**sizes, "S": words}
        least = found.value(here)
        if words != sizes["S"]:  # arguments made for this memory may be better, and never hold less
            own = lower_bound(found.program, options, flow=flow, search=search, share=1 / len(capacities), sizes=here)
            least = max(least, own.value(here))
        result[words] = max(0.0, least)
    return result


def level_rows(bounds: Mapping[int, float], loads: Mapping[int, float], least: int = 0) -> list[LevelLoads]:
    """Return what results hold of every memory, the smallest first, with the ``loads`` of an order at most.

    Memories of less than ``least`` words are too small for any order.
    """
    return [
        {
            "S": words,
            "bound": bounds[words],
            "loads_words": None if words < least else loads.get(words),
        }
        for words in sorted(bounds)
    ]


def replayed_rows(report: CheckReport, bounds: Mapping[int, float]) -> list[LevelLoads]:
    """Return what a replay found for every memory beside its bound, the smallest first; none if it did not end."""
    loaded = {row["S"]: row["loads_words"] for row in report.details.get("levels", ())}
    return [{"S": words, "bound": bounds[words], "loads_words": loaded[words]} for words in sorted(loaded)]


def all_met(rows: Sequence[LevelLoads]) -> bool:
    """True if the loads into every memory meet its bound."""
    return all(row["loads_words"] is not None and row["loads_words"] <= row["bound"] for row in rows)
