"""Fronts proven complete: every mapping whose load leaves room for a better point, and every better point of each.

Mappings are those that decisions name: an actor on a core, a buffer in the memory of its writer, of the reader that
CONS means, of the tile of either, or in the global one; multicasts replaced or kept as the strategy allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.constraints import Constraints
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import Instance, decisions_of
from shorthaul.dataflow.mapping.binding import determine_channel_bindings, mapped
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes, Problem
from shorthaul.dataflow.mapping.mappings_kernels import first_branch, mapping_of, next_mapping
from shorthaul.dataflow.mapping.trees import MILLION, MOST_PRODUCT, MappingTree, is_small, trees, units_of
from shorthaul.dataflow.modulo.mapping_front import better_schedules
from shorthaul.dataflow.modulo.periodic import Schedule
from shorthaul.dataflow.modulo.solver import make_point
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.plan import Point, covers

IntArray = npt.NDArray[np.int64]


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
        self.price, self.unit = units_of(instance)
        self.dearest = int(self.price.sum())
        if constraints.max_cost is not None:
            self.dearest = min(self.dearest, math.floor(constraints.max_cost * MILLION / self.unit + 1e-6))
        self.never = instance.never
        if constraints.deadline is not None:
            self.never = min(self.never, constraints.deadline + 1)
        self.is_complete = False
        #: How often it was gone on with, and whether some first actor has been seen on its first core to the end.
        self.attempts, self.has_moved = 0, False
        self.applies = is_small(instance, self.never, tuning.MOST_ENUMERATED_TASKS)
        self.leaves: list[_Leaf] = []
        consumer = int(options.mrb_consumer == "common-tile")
        self.trees = iter(trees(self.problem, instance, self.price, options.strategy, consumer))
        self.tree: MappingTree | None = None

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

    def _collect(self, tree: MappingTree, search: Search) -> bool:
        """Look for mappings that may lead to better points; True if there are no more in this tree."""
        tree.at.compete(*self._rivals(tree.size))
        while len(self.leaves) < tuning.LEAVES_AT_ONCE and not search.expired():
            done = tree.at.steps
            most_steps = int(min(tuning.CALL_EFFORT, search.left()) * tuning.TREE_STEPS) + 1
            found = next_mapping(tree.at, most_steps)
            search.spend((tree.at.steps - done) / tuning.TREE_STEPS)
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
        return round(point.core_cost * MILLION / self.unit)

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
        return min(rivals, default=MOST_PRODUCT if most is None else most + 1)

    def _rivals(self, size: int) -> tuple[IntArray, IntArray]:
        """Return, per step of prices, the most that cores cost on it, and what periods have to be below there."""
        costs = sorted({0, *(self._units(point) for point in self.points.points if point.footprint_bytes <= size)})
        most = [min(after - 1, self.dearest) for after in costs[1:]] + [self.dearest]
        return np.array(most, np.int64), np.array([self.below(cost, size) for cost in costs], np.int64)


@dataclass(frozen=True, slots=True)
class _Rivals:
    """What points at a price have to be better than."""

    of: Enumeration
    price: int

    def below(self, size: int) -> int:
        return self.of.below(self.price, size)

    def smaller(self, period: int) -> int:
        return self.of.smaller(self.price, period)
