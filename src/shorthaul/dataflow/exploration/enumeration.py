"""Fronts proven complete: every mapping whose load leaves room for a better point, and every better point of each.

Mappings are those that decisions name: an actor on a core, a buffer in the memory of its writer, of the reader that
CONS means, of the tile of either, or in the global one; multicasts replaced or kept as the strategy allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.constraints import Constraints
from shorthaul.dataflow.exploration.mappings_kernels import Tree, first_branch, layout, mapping_of, next_mapping
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import Instance, decisions_of
from shorthaul.dataflow.mapping.binding import determine_channel_bindings, mapped
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes, Problem
from shorthaul.dataflow.mapping.mapping_kernels import Mapping as Layout
from shorthaul.dataflow.modulo.mapping_front import better_schedules
from shorthaul.dataflow.modulo.periodic import Schedule
from shorthaul.dataflow.modulo.solver import make_point
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.plan import Point, covers

IntArray = npt.NDArray[np.int64]
#: Prices of cores count in millionths.
_MILLION = 10**6
#: Most products of a period and a price that are looked at.
_MOST_PRODUCT = 2**62


@dataclass(slots=True)
class Points:
    """Points none of which covers another."""

    points: list[Point]

    def add(self, point: Point) -> bool:
        """Add a point in the place of those that it covers; False if another covers it."""
        if any(covers(other, point) for other in self.points):
            return False
        self.points = [other for other in self.points if not covers(point, other)] + [point]
        return True


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A mapping, and what bounds its points from below: load, price in units, bytes of its buffers."""

    genotype: Genotypes
    load: int
    price: int
    size: int


class Enumeration:
    """All mappings of a problem, as far as effort goes; it can be interrupted, and goes on with more points known."""

    def __init__(self, instance: Instance, options: PlanOptions, constraints: Constraints) -> None:
        self.instance, self.options, self.constraints = instance, options, constraints
        self.problem = Problem(instance)
        self.points = Points([])
        millionths = np.rint(instance.core_cost * _MILLION).astype(np.int64)
        self.unit = math.gcd(*millionths.tolist()) or 1
        self.price = millionths // self.unit
        self.dearest = int(self.price.sum())
        if constraints.max_cost is not None:
            self.dearest = min(self.dearest, math.floor(constraints.max_cost * _MILLION / self.unit + 1e-6))
        self.never = instance.never
        if constraints.deadline is not None:
            self.never = min(self.never, constraints.deadline + 1)
        self.is_complete = False
        #: How often it was gone on with, and whether some first actor has been seen on its first core to the end.
        self.attempts, self.has_moved = 0, False
        self.applies = (
            np.abs(millionths - instance.core_cost * _MILLION).max() < 1e-3
            and self.never * max(1, int(self.price.sum())) < _MOST_PRODUCT
            and len(instance.feeding) <= tuning.MOST_FLIPPED
            and len(instance.tau) + 2 * len(instance.src) <= tuning.MOST_ENUMERATED_TASKS
        )
        self.leaves: list[_Leaf] = []
        self.trees = self._trees()
        self.tree: _Part | None = None

    def run(self, points: Points, search: Search) -> None:
        """Add better points; :attr:`is_complete` once there are no others within the constraints.

        What does not get on in two attempts, the second with better points to start from, is given up.
        """
        self.points = points
        if self.attempts > 1 and not self.has_moved:
            return
        self.attempts += 1
        while self.applies and not self.is_complete and not search.expired():
            if not self._settle(search):
                break
            if self.tree is None:
                self.tree = next(self.trees, None)
                self.is_complete = self.tree is None
            elif self._collect(self.tree, search):
                self.tree, self.has_moved = None, True
            else:
                self.has_moved |= first_branch(self.tree.at) > self.tree.first_branch

    def _collect(self, tree: _Part, search: Search) -> bool:
        """Look for mappings that may lead to better points; True if there are no more in this tree."""
        tree.at.compete(*self._rivals(tree.size))
        while len(self.leaves) < tuning.LEAVES_AT_ONCE and not search.expired():
            done = tree.at.steps
            most_steps = int(min(tuning.CALL_EFFORT, search.left()) * tuning.LOAD_STEPS) + 1
            found = next_mapping(tree.at, most_steps)
            search.spend((tree.at.steps - done) / tuning.LOAD_STEPS)
            if found == 0:
                return True
            if found > 0:
                one = Genotypes(*(np.array(array) for array in tree.one))
                load = mapping_of(tree.at, one)
                self.leaves.append(_Leaf(one, load, int(tree.at.paid), tree.size))
        return False

    def _settle(self, search: Search) -> bool:
        """Look for all better points of the mappings that were found; False if that was not decided for one."""
        self.leaves.sort(key=lambda leaf: -leaf.load / self.below(leaf.price, leaf.size))
        while self.leaves:
            leaf = self.leaves[-1]
            if leaf.load < self.below(leaf.price, leaf.size) and (search.expired() or not self._improve(leaf, search)):
                return False
            self.leaves.pop()
        return True

    def _improve(self, leaf: _Leaf, search: Search) -> bool:
        application, platform = self.instance.application, self.instance.platform
        decisions = decisions_of(self.instance, leaf.genotype, 0)
        network = substitute_mrbs(application, decisions.xi)
        search.spend((len(network.actors) + 2 * len(network.buffers)) / (2 * tuning.SOLVED_TASKS))
        few = {buffer.id: max(1, buffer.delay) for buffer in network.buffers}
        common = self.options.mrb_consumer == "common-tile"
        memory = determine_channel_bindings(network, platform, decisions, few, common_tile=common)
        assert memory is not None, "its buffers were put there"
        net = mapped(application, platform, network, decisions.binding, memory)

        def add(schedule: Schedule, tokens: Mapping[str, int]) -> None:
            self.points.add(make_point(self.instance, decisions, net, schedule, tokens))

        atomic = self.options.capacity_rule == "atomic-firing"
        return better_schedules(net, platform.memories, _Rivals(self, leaf.price), add, search, atomic=atomic)

    def _units(self, point: Point) -> int:
        return round(point.core_cost * _MILLION / self.unit)

    def below(self, price: int, size: int) -> int:
        """Return below which period points at a price with so many bytes are of interest."""
        most = self.constraints.max_footprint
        if price > self.dearest or (most is not None and size > most):
            return 1
        rivals = (p.period for p in self.points.points if p.footprint_bytes <= size and self._units(p) <= price)
        return min(rivals, default=self.never)

    def smaller(self, price: int, period: int) -> int:
        """Return below how many bytes points at a price with such a period are of interest."""
        most = self.constraints.max_footprint
        rivals = (p.footprint_bytes for p in self.points.points if p.period <= period and self._units(p) <= price)
        return min(rivals, default=_MOST_PRODUCT if most is None else most + 1)

    def _rivals(self, size: int) -> tuple[IntArray, IntArray]:
        """Return, per step of prices, the most that cores cost on it, and what periods have to be below there."""
        costs = sorted({0, *(self._units(point) for point in self.points.points if point.footprint_bytes <= size)})
        most = [min(after - 1, self.dearest) for after in costs[1:]] + [self.dearest]
        return np.array(most, np.int64), np.array([self.below(cost, size) for cost in costs], np.int64)

    def _trees(self) -> Iterator[_Part]:
        """Yield a tree for every choice of replaced multicasts, those with the least footprint first."""
        instance = self.instance
        choices = {"reference": (0,), "mrb-always": (1,), "mrb-explore": (1, 0)}[self.options.strategy]
        parts = []
        for xi in product(choices, repeat=len(instance.feeding)):
            try:
                network = substitute_mrbs(
                    instance.application, dict(zip(instance.application.multicasts, xi, strict=True))
                )
            except InputError:  # a cycle without tokens
                continue
            size = sum(max(1, buffer.delay) * buffer.token_bytes for buffer in network.buffers)
            parts.append((size, xi))
        for size, xi in sorted(parts):
            yield _Part(self, xi, size)


@dataclass(frozen=True, slots=True)
class _Rivals:
    """What points at a price have to be better than."""

    of: Enumeration
    price: int

    def below(self, size: int) -> int:
        return self.of.below(self.price, size)

    def smaller(self, period: int) -> int:
        return self.of.smaller(self.price, period)


class _Part:
    """The tree of mappings with some multicasts replaced."""

    def __init__(self, of: Enumeration, xi: tuple[int, ...], size: int) -> None:
        instance, problem = of.instance, of.problem
        actors, channels = len(instance.tau), len(instance.src)
        self.size = size
        self.one = (
            np.ones(1, np.int8), np.array([xi], np.int8), np.zeros((1, channels), np.int8),
            np.zeros((1, actors), np.int64),
        )  # fmt: skip
        self.layout = Layout(problem)
        layout(problem, self.layout, Genotypes(*(np.array(array) for array in self.one)))
        able = np.zeros((len(instance.core_tile), actors), np.uint8)
        for actor, cores in enumerate(instance.able):
            able[cores, actor] = 1
        work, items = self._items(instance, of.price)
        core_kind, tile_kind = _kinds(instance, able)
        common = of.options.mrb_consumer == "common-tile"
        self.first_branch = int(instance.able[items[0]][0]) + 1
        self.at = Tree(problem, self.layout, common, items, of.price, able, core_kind, tile_kind, work)

    def _items(self, instance: Instance, price: IntArray) -> tuple[IntArray, IntArray]:
        """Return the least priced work left at every depth, and the actors and buffers in the order of the tree.

        Actors come along the buffers that they share with earlier ones, those of most work first.
        """
        live, root = np.asarray(self.layout.live).astype(bool), np.asarray(self.layout.root)
        tokens = np.maximum(1, instance.delay) * instance.token_bytes
        worth = dict.fromkeys(np.flatnonzero(live).tolist(), 0)
        ends: dict[int, set[int]] = {}
        accesses: dict[int, list[int]] = {actor: [] for actor in worth}
        for channel, buffer in enumerate(root.tolist()):
            both = [instance.src[channel]] if buffer == channel else []
            both += [instance.dst[channel]] if live[instance.dst[channel]] else []
            for actor in map(int, both):
                ends.setdefault(buffer, set()).add(actor)
                accesses[actor].append(channel)
        for actor in worth:
            worth[actor] = min(
                int(price[core]) * int(
                    instance.tau[actor, instance.core_type[core]]
                    + sum(
                        instance.ticks[channel, instance.core_tile[core]]
                        for channel in accesses[actor]
                        if tokens[root[channel]] > instance.limits[core]
                    )
                )
                for core in instance.able[actor].tolist()
            )  # fmt: skip
        items: list[int] = []
        left = [0]
        placed: set[int] = set()
        while len(placed) < len(worth):
            near = {actor: sum(actor in all_ends and bool(all_ends & placed) for all_ends in ends.values())
                    for actor in worth if actor not in placed}  # fmt: skip
            actor = max(near, key=lambda actor: (near[actor], worth[actor], -actor))
            placed.add(actor)
            done = [buffer for buffer, all_ends in ends.items() if actor in all_ends and all_ends <= placed]
            items += [actor, *(-1 - buffer for buffer in done)]
            left += [worth[actor], *([0] * len(done))]
        total = sum(left)
        return (total - np.cumsum(left)).astype(np.int64), np.array(items, np.int64)


def _kinds(instance: Instance, able: npt.NDArray[np.uint8]) -> tuple[IntArray, IntArray]:
    """Return the kinds of cores and of tiles: equal ones may change their names."""
    kinds: dict[object, int] = {}
    cores = [
        kinds.setdefault((core.type, core.local_bytes, able[number].tobytes()), len(kinds))
        for number, core in enumerate(instance.platform.cores)
    ]
    tiles = []
    for number, tile in enumerate(instance.platform.tiles):
        members = sorted(kind for kind, home in zip(cores, instance.core_tile.tolist(), strict=True) if home == number)
        what = (tile.crossbar_bytes_per_s, tile.tile_memory_bytes, tuple(members))
        tiles.append(kinds.setdefault(what, len(kinds)))
    return np.array(cores, np.int64), np.array(tiles, np.int64)
