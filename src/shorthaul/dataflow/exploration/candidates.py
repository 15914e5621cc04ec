"""Mappings that may lead to better points, and all that polishing knows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow.bounds.period_at_cost import sums_of
from shorthaul.dataflow.exploration.enumeration import Points
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes
from shorthaul.dataflow.plan import Point

#: Equal for equal mappings.
Key: TypeAlias = tuple[bytes, ...]


def key_of(genotypes: Genotypes) -> Key:
    """Return what tells the first individual from others."""
    return tuple(np.asarray(genes)[0].tobytes() for genes in (genotypes.xi, genotypes.decision, genotypes.binding))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mapping, and what bounds its points from below: load, bytes of buffers, and price in millionths.

    Load and bytes are those of buffers of few tokens. A ``small`` mapping is for points of the least footprint: it
    competes with those that have no more bytes alone.
    """

    genotype: Genotypes
    load: int
    bytes: int
    price: int
    tries: int = 0
    point: Point | None = None
    small: bool = False


@dataclass(slots=True)
class Knowledge(Points):
    """What polishing knows after some turns: the points so far, and the mappings that may lead to better ones."""

    #: By price the mapping of the least load within it: of any, of small ones.
    best: tuple[dict[int, Candidate], ...] = field(default_factory=lambda: ({}, {}))
    #: Mappings to schedule, those that were, and how many were at every price.
    waiting: dict[tuple[Key, int], Candidate] = field(default_factory=dict)
    seen: set[tuple[Key, int]] = field(default_factory=set)
    solves: Counter[tuple[int, int]] = field(default_factory=Counter)
    turns: int = 0
    #: By price the share by which a step of annealing lowers the load (the last one counts half), and how many it got.
    gains: dict[int, float] = field(default_factory=dict)
    anneals: Counter[int] = field(default_factory=Counter)
    #: True where many turns have found no mapping to schedule.
    is_over: bool = False

    def note(self, found: Candidate) -> None:
        """Take a mapping for the best at its price if no other is as good."""
        best = self.best[found.small]
        for price, other in list(best.items()):
            if price >= found.price and other.load >= found.load:
                del best[price]
        if all(other.load > found.load for price, other in best.items() if price <= found.price):
            best[found.price] = found

    def gain(self, price: int, before: int, after: int, steps: int) -> None:
        """Take note of how far so many steps of annealing at a price made the load fall; negative ones are none."""
        rate = max(0, before - after) / max(1, before) / max(1, steps) if after >= 0 else 0.0
        self.gains[price] = (self.gains.get(price, rate) + rate) / 2
        self.anneals[price] += 1

    def alike(self, budgets: Sequence[int]) -> list[list[int]]:
        """Return the prices within which there are mappings, those of the same least load together."""
        alike: dict[int, list[int]] = {}
        for budget in budgets:
            least = self.within(budget, 0)
            if least is not None and least.price <= budget:
                alike.setdefault(least.load, []).append(budget)
        return [*alike.values()]

    def within(self, budget: int, kind: int) -> Candidate | None:
        """Return the mapping of the least load within a price, the cheapest where none is; None if none is known."""
        lower = [price for price in self.best[kind] if price <= budget]
        return self.best[kind][max(lower, default=min(self.best[kind]))] if self.best[kind] else None


def budgets_of(instance: Instance, price: npt.NDArray[np.int64], count: int) -> list[int]:
    """Return the sums of core prices, rising; at most ``count`` of them."""
    kinds, counts = np.unique(price, return_counts=True)
    most = np.minimum(counts, len(instance.tau))
    ordered = sums_of(dict(zip(kinds.tolist(), most.tolist(), strict=True)))
    if len(ordered) <= count:
        return ordered
    # dense where cores are few
    return [ordered[i] for i in np.unique(np.geomspace(1, len(ordered), count).astype(int) - 1).tolist()]
