"""Mappings that may lead to better points, all that polishing knows of them, and which differ only in names."""

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

#: Equal for two mappings that become one when equal cores, and equal tiles, change their names.
Key: TypeAlias = tuple[bytes, tuple[int, ...], tuple[int, ...]]
_GLOBAL = 4


class Symmetry:
    """Numbers cores and tiles in the order in which the actors of a mapping use them."""

    def __init__(self, instance: Instance) -> None:
        self._multicast_of = instance.multicast_of.tolist()
        self._feeding = instance.feeding.tolist()
        self._src, self._dst = instance.src.tolist(), instance.dst.tolist()
        self._tile = instance.core_tile.tolist()
        tiles = instance.platform.tiles
        kinds: dict[object, int] = {}
        self._core_kind = [
            kinds.setdefault((core.type, core.local_bytes), len(kinds)) for tile in tiles for core in tile.cores
        ]
        of_tile: dict[object, int] = {}
        self._tile_kind = []
        for number, tile in enumerate(tiles):
            cores = sorted(kind for kind, t in zip(self._core_kind, self._tile, strict=True) if t == number)
            what = (tile.crossbar_bytes_per_s, tile.tile_memory_bytes, tuple(cores))
            self._tile_kind.append(of_tile.setdefault(what, len(of_tile)))

    def key(self, genotypes: Genotypes, number: int = 0) -> Key:
        """Return the key of an individual; its channel decisions name the memories where its buffers are."""
        xi, decision, binding = (
            np.asarray(genes)[number].tolist() for genes in (genotypes.xi, genotypes.decision, genotypes.binding)
        )
        live = [multicast < 0 or not xi[multicast] for multicast in self._multicast_of]
        tile_name: dict[int, int] = {}
        tiles_of: dict[int, int] = {}
        core_name: dict[int, int] = {}
        cores_of: dict[tuple[int, int], int] = {}
        named: list[int] = []
        for core in (core for core, there in zip(binding, live, strict=True) if there):
            tile = self._tile[core]
            if tile not in tile_name:
                kind = self._tile_kind[tile]
                rank = tiles_of[kind] = tiles_of.get(kind, -1) + 1
                tile_name[tile] = kind * len(self._tile_kind) + rank
            if core not in core_name:
                place = (tile_name[tile], self._core_kind[core])
                rank = cores_of[place] = cores_of.get(place, -1) + 1
                core_name[core] = (place[0] * len(self._tile) + place[1]) * len(self._tile) + rank
            named.append(core_name[core])
        memories: dict[int, int] = {}
        for channel, (source, target) in enumerate(zip(self._src, self._dst, strict=True)):
            root = channel
            while not live[source]:
                root = self._feeding[self._multicast_of[source]]
                source = self._src[root]
            if live[target] and root not in memories:
                core = binding[source] if decision[root] < 2 else binding[target]
                if decision[root] == _GLOBAL:
                    memories[root] = -1
                elif decision[root] % 2 == 0:
                    memories[root] = core_name[core]
                else:
                    memories[root] = -2 - tile_name[self._tile[core]]
        return bytes(xi), tuple(named), tuple(memories[root] for root in sorted(memories))


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
