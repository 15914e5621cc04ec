"""The exact decoder: the least period of a mapped network, found by local search and proven by branch and bound.

A schedule of period P stays one when every residue is kept and P grows, so that one proof at P - 1 makes P optimal. The
local search changes the orders on all resources, the branch and bound decides them at one period.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.mapping.binding import MappedNetwork
from shorthaul.dataflow.mapping.start_times import add_periods, place_timeless, serial_schedule
from shorthaul.dataflow.modulo import (
    annealing_kernels,
    branching_kernels,
    differences_kernels,
    propagation_kernels,
    selection_kernels,
    self_timed_kernels,
)
from shorthaul.dataflow.modulo.disjunctive_graph import (
    DisjunctiveGraph,
    IntArray,
    disjunctive_graph,
    fixed_differences,
    resources,
    starts_of,
    times_of,
    turns,
    whole_periods,
)
from shorthaul.dataflow.plan import Point

#: Arcs that one move of the local search looks at, per node: an estimate, for the length of a call.
_ARCS_PER_MOVE = 8
#: Turns that a node of a tree decides beside the one it branches on, where there are many: for the length of a dive.
_TURNS_AT_ONCE = 8
#: Steps that a node takes per turn of the network (sobel4 and multicamera).
_STEPS_PER_TURN = 15
#: Bytes of an entry that is kept to be taken back: its place and its value.
_ENTRY_BYTES = 16
#: Longer than any period.
_NEVER = 1 << 60


@dataclass(frozen=True, slots=True)
class Schedule:
    """Start ticks of all tasks at a period; ``least`` is the least period not proven impossible, ``method`` by what."""

    period: int
    starts: dict[str, int]
    least: int
    method: str = ""


def modulo_schedule(
    net: MappedNetwork, least: int, search: Search, hint: Point | None, *, atomic: bool = False, most: int | None = None
) -> Schedule:
    """Return the schedule of the least period found, and the least period not excluded (equal to it when proven).

    ``least`` is a lower bound on the period, ``hint`` a schedule of this network to start from. Buffers are as large as
    the schedule needs: as few bytes as its residues allow, counted from firing to firing with ``atomic``. Periods from
    ``most`` on are of no interest: the search ends when there is none below.
    """
    period, starts = _serial(net) if hint is None else (hint.period, dict(hint.starts))
    solver = _Solver(disjunctive_graph(net), net, starts, period, least, search, most)
    solver.run()
    return solver.schedule(period, starts, {}, atomic=atomic)


def modulo_schedule_within(
    net: MappedNetwork, least: int, search: Search, capacities: Mapping[str, int], *, atomic: bool = False,
    most: int | None = None,
) -> Schedule | None:  # fmt: skip
    """Return as :func:`modulo_schedule` does, with buffers of these ``capacities``; None if there is no start.

    Periods from ``most`` on are of no interest: it is proven that there is none below, and the schedule may be any.
    """
    serial = serial_schedule(net, capacities)
    if serial is None:
        return None
    period, starts = serial
    solver = _Solver(disjunctive_graph(net, capacities, atomic=atomic), net, starts, period, least, search, most)
    solver.run()
    return solver.schedule(period, starts, capacities, atomic=atomic)


def annealed_within(
    net: MappedNetwork, least: int, search: Search, hint: Point, capacities: Mapping[str, int], moves: int, *,
    atomic: bool = False,
) -> Schedule:  # fmt: skip
    """Return as :func:`modulo_schedule_within` does what so many moves of the local search make of a schedule."""
    graph = disjunctive_graph(net, capacities, atomic=atomic)
    solver = _Solver(graph, net, dict(hint.starts), hint.period, least, search)
    solver.improve(moves)
    return solver.schedule(hint.period, dict(hint.starts), capacities, atomic=atomic)


def self_timed_within(
    net: MappedNetwork, least: int, search: Search, capacities: Mapping[str, int], moves: int, *, atomic: bool = False
) -> Schedule | None:
    """Return what moves of the local search make of a self-timed execution with buffers of these ``capacities``.

    What its last iterations have in the mean says what follows what; where no period suffices for that, the first one
    does, without those after it. None where firings wait for one another in a circle.
    """
    graph = disjunctive_graph(net, capacities, atomic=atomic)
    solver = _Solver(graph, net, {}, _NEVER, least, search)
    times = np.zeros((tuning.ITERATIONS[0], len(graph.names)), np.int64)
    at = self_timed_kernels.Execution(solver.layout, times, tuning.ITERATIONS[1])
    period = self_timed_kernels.execute(at, least, tuning.HELD_BACK)
    search.spend(at.steps / tuning.EXECUTION_STEPS)
    if not period:
        return None
    late = times[-tuning.LAST_ITERATIONS :]
    solver.take((late - period * np.arange(len(late))[:, None]).mean(axis=0).astype(np.int64), period)
    if solver.period == _NEVER:
        solver.take(times[0], max(int((times[0] + graph.duration).max()), least))
    if moves:
        solver.improve(moves)
    return solver.schedule(_NEVER, {}, capacities, atomic=atomic)


def least_schedule(
    net: MappedNetwork, least: int, most: int, capacities: Mapping[str, int], search: Search, *, atomic: bool
) -> Schedule:
    """Return the schedule of the least period below ``most`` with buffers of these ``capacities``, by trees alone.

    Where there is none its period is ``most``, and there are no starts. It is proven if ``least`` is no less.
    """
    solver = _Solver(disjunctive_graph(net, capacities, atomic=atomic), net, {}, most, least, search)
    solver.settle()
    return solver.schedule(most, {}, capacities, atomic=atomic)


def dive_effort(net: MappedNetwork) -> float:
    """Return about what it takes a tree to decide all turns of a network once."""
    tasks = [task for group in (net.reads, net.writes) for some in group.values() for task in some if task.duration]
    crossing = Counter(interconnect for task in tasks for interconnect in task.route)
    turns = sum(n * (n - 1) // 2 for n in (*crossing.values(), *Counter(net.binding.values()).values()))
    nodes = 3 * len(net.network.actors) + len(tasks)
    return _nodes_of_dive(nodes, turns) * _STEPS_PER_TURN * turns / tuning.BRANCHING_STEPS + _closing(nodes)


def _nodes_of_dive(nodes: int, turns: int) -> float:
    return nodes + turns / _TURNS_AT_ONCE


def _closing(nodes: int) -> float:
    """Return the effort of closing the differences between so many nodes."""
    return float(nodes**3 / tuning.CLOSING_STEPS)


@dataclass(frozen=True, slots=True)
class Trees:
    """Decides periods soon, by trees as large as so many ``dives``.

    A dive is about as many nodes as decide all turns.
    """

    search: Search
    dives: float
    narrowed: float
    atomic: bool

    def schedule(
        self,
        net: MappedNetwork,
        least: int,
        most: int,
        capacities: Mapping[str, int],
        *,
        from_below: bool = False,
    ) -> Schedule:
        """Return a schedule of a period below ``most`` whose buffers have these ``capacities``.

        First one tick below ``most`` is asked for, or ``from_below`` the bound ``least``; then shorter ones, until what
        trees left open is shorter by a share of ``narrowed`` at most. Where none is found the period is ``most``, and
        there are no starts.
        """
        solver = _Solver(disjunctive_graph(net, capacities, atomic=self.atomic), net, {}, most, least, self.search)
        nodes = int(self.dives * _nodes_of_dive(len(solver.graph.names), len(solver.turns[2])))
        solver.narrow(nodes, self.narrowed, from_below=from_below)
        return solver.schedule(most, {}, capacities, atomic=self.atomic)


def _serial(net: MappedNetwork) -> tuple[int, dict[str, int]]:
    serial = serial_schedule(net)
    assert serial is not None, "networks without initial tokens on a cycle are refused earlier"
    return serial


class _Solver:
    """The best times so far at ``period``, and ``least``, below which there are none."""

    def __init__(
        self, graph: DisjunctiveGraph, net: MappedNetwork, starts: dict[str, int], period: int, least: int,
        search: Search, most: int | None = None,
    ) -> None:  # fmt: skip
        self.graph, self.net = graph, net
        self.period, self.least, self.method = period, least, ""
        self.most = period if most is None else most
        self.best = times_of(graph, starts)
        self.first = (self.best, period)
        self.search = search
        self.random = Random(1)
        self.layout = selection_kernels.Graph(graph)
        self.room = selection_kernels.Selection(self.layout)
        self.trees: dict[int, _Tree] = {}

    @cached_property
    def turns(self) -> tuple[IntArray, IntArray, IntArray]:
        """What must take turns, which trees decide."""
        return turns(self.graph)

    def is_open(self) -> bool:
        """True while there is something to decide and effort left to do it with."""
        return self.least < self.goal and not self.search.expired()

    @property
    def goal(self) -> int:
        """Only periods below this are of interest."""
        return min(self.period, self.most)

    def schedule(self, period: int, starts: dict[str, int], capacities: Mapping[str, int], *, atomic: bool) -> Schedule:
        """Return the best schedule, with whole periods that keep the buffers small; the one given if none is better."""
        if self.period < period:
            period = self.period
            times = place_timeless(self.net, starts_of(self.graph, self.best))
            placed = add_periods(self.net, times, period, capacities, atomic=atomic)
            assert placed is not None, "the graph has arcs for tokens and places wherever these can be short"
            starts = placed
        starts = place_timeless(self.net, starts) if starts else starts
        first = min(starts.values(), default=0)
        return Schedule(period, {name: start - first for name, start in starts.items()}, self.least, self.method)

    def run(self) -> None:
        """Alternate the searches, each round twice as long as the last, until the period is proven or effort is up."""
        number = 0
        while self.is_open():
            hot, cold, afresh = tuning.COOLINGS[number % len(tuning.COOLINGS)]
            start = self.first if afresh else (self.best, self.period)
            moves = tuning.FIRST_MOVES << min(number, 40)
            # annealing seldom finds what is left to gain where that is less than its heat
            moves = moves if self.goal - self.least > hot * self.least else moves >> 1
            self.anneal(start, moves, hot * self.least, cold * self.least)
            # the bound itself is often met, and one tick less than the best often impossible
            middle = (self.least + self.goal - 1) // 2
            targets = (self.least, self.goal - 1, middle)
            for target, divisor in zip(targets, tuning.NODE_DIVISORS, strict=True):
                if self.is_open() and self.least <= target < self.goal:
                    self.decide(target, (tuning.FIRST_NODES << min(number, 40)) // divisor)
            number += 1

    def narrow(self, nodes: int, narrowed: float, *, from_below: bool) -> None:
        """Decide by trees of so many nodes: one tick below the best and the bound, or ``from_below`` the other way.

        Then halfway between what was not found and the best, until that is shorter by ``narrowed`` of the bound, and
        one tick below the best while that finds one.
        """
        most = self.period
        if not from_below:
            self.decide(most - 1, nodes)
            if self.period == most:
                return
        if self.is_open():
            self.decide(self.least, nodes)
        if from_below and self.is_open():
            self.decide(self.goal - 1, nodes)
        low = self.least + 1
        while self.is_open() and self.period < most and self.goal - low > narrowed * self.least:
            middle = (low + self.goal - 1) // 2
            self.decide(middle, nodes)
            low = max(low if self.period <= middle else middle + 1, self.least)
        last = most
        while self.is_open() and self.period < last:
            last = self.period
            self.decide(last - 1, nodes)

    def settle(self) -> None:
        """Decide by ever larger trees, until the period is proven or the effort is spent."""
        nodes, spent = tuning.FIRST_NODES, -1.0
        while self.is_open() and self.search.spent() > spent:
            spent = self.search.spent()
            for target in (self.goal - 1, self.least, (self.least + self.goal - 1) // 2):
                if self.is_open() and self.least <= target < self.goal:
                    self.decide(target, nodes)
            nodes *= 2

    def anneal(self, start: tuple[IntArray, int], moves: int, hot: float, cold: float) -> None:
        """Look for a better schedule by local search from ``start``, times at a period."""
        most = min(tuning.CALL_EFFORT, self.search.left()) * tuning.SELECTION_STEPS / (_ARCS_PER_MOVE * len(self.best))
        best, done = start[0].copy(), self.room.steps
        period = annealing_kernels.improve(
            self.layout, self.room, self.random, best, start[1], self.least, min(moves, int(most)), hot, cold
        )
        self.search.spend((self.room.steps - done) / tuning.SELECTION_STEPS)
        if period < self.period:
            self.period, self.best = period, best - whole_periods(self.graph, best, period)

    def improve(self, moves: int) -> None:
        """Look for a better schedule by so many moves of local search from the best one, with little heat."""
        hot, cold = tuning.FRUGAL_COOLING
        self.anneal((self.best, self.period), moves, hot * self.least, cold * self.least)

    def take(self, times: IntArray, period: int) -> None:
        """Take the orders that times have at a period, if they have a schedule of a shorter one than the best."""
        found, done = times.copy(), self.room.steps
        least = selection_kernels.evaluate(self.layout, self.room, found, period, self.least, self.period - 1)
        self.search.spend((self.room.steps - done) / tuning.SELECTION_STEPS)
        if least < self.period:
            self.period, self.best = least, found - whole_periods(self.graph, found, least)

    def decide(self, target: int, nodes: int) -> None:
        """Look for a schedule of period ``target`` at most, or for a proof that there is none, in ``nodes`` nodes."""
        self.trees = {period: tree for period, tree in self.trees.items() if self.least <= period < self.period}
        if target not in self.trees:
            closing = _closing(len(self.best))
            if closing > max(tuning.CALL_EFFORT, self.search.left()) or closing > self.search.remaining_s():
                return  # nothing would be left, not even soon
            self.trees[target] = _Tree(self.graph, self.turns, target)
            self.search.spend(closing)
        tree = self.trees[target]
        while nodes > 0 and self.is_open() and tree.outcome == branching_kernels.PAUSED:
            nodes -= tree.visit(nodes, self.search)
        if tree.outcome == branching_kernels.EXHAUSTED:
            self.least, self.method = target + 1, "branch and bound over the orders on all resources"
        elif tree.outcome == branching_kernels.FOUND:
            self.best = tree.times
            found = selection_kernels.evaluate(self.layout, self.room, self.best, target, self.least, target)
            self.period = min(found, target)
            self.best -= whole_periods(self.graph, self.best, self.period)


class _Tree:
    """A branch and bound at one period, which can be interrupted and gone on with."""

    def __init__(self, graph: DisjunctiveGraph, taken: tuple[IntArray, IntArray, IntArray], period: int) -> None:
        self.times: IntArray = np.zeros(len(graph.names), np.int64)
        before, after, ticks = taken
        root = fixed_differences(graph, period)
        self.outcome = branching_kernels.PAUSED
        if root is None:
            self.outcome = branching_kernels.EXHAUSTED
        else:
            self.on = propagation_kernels.Resources(*resources(graph), tuning.MOST_SUMS)
            self.at = differences_kernels.Differences(period, graph.duration, before, after, ticks, root)
            self.tree = branching_kernels.Tree(len(ticks), 4 * len(ticks) + 8, tuning.PATIENCE)

    def visit(self, nodes: int, search: Search) -> int:
        """Visit up to ``nodes`` more nodes, but only for a moment; return how many were visited."""
        steps, done = int(min(tuning.CALL_EFFORT, search.left()) * tuning.BRANCHING_STEPS), self.at.steps
        self.outcome, visited = branching_kernels.branch(
            self.tree, self.at, self.on, nodes, steps + 1, tuning.TREE_BYTES // _ENTRY_BYTES, self.times
        )
        search.spend((self.at.steps - done) / tuning.BRANCHING_STEPS)
        return visited
