"""The exact decoder: the least period of a mapped network, found by local search and proven by branch and bound.

A schedule of period P stays one when every residue is kept and P grows, so that one proof at P - 1 makes P optimal. The
local search changes the orders on all resources, the branch and bound decides them at one period, and CP-SAT is asked
about what neither settles at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shorthaul.core.random_kernels import Random
from shorthaul.dataflow.mapping.binding import MappedNetwork
from shorthaul.dataflow.mapping.start_times import serial_schedule, settled, staged
from shorthaul.dataflow.modulo import branching_kernels, selection_kernels
from shorthaul.dataflow.modulo.cp_model import start_at
from shorthaul.dataflow.modulo.disjunctive_graph import (
    DisjunctiveGraph,
    IntArray,
    disjunctive_graph,
    fixed_differences,
    resources,
    starts_of,
    times_of,
    turns,
)
from shorthaul.dataflow.modulo.work_allowance import Allowance
from shorthaul.dataflow.plan import Point

#: Rounds of the local search: first and last temperature as shares of the lower bound, and whether to start afresh.
_ROUNDS = ((0.003, 0.003, True), (0.005, 0.001, False))
_FIRST_MOVES = 4000
_FIRST_NODES = 1200
#: Longest call of a kernel, in nominal seconds: Ctrl-C is heard between calls.
_CALL_S = 0.3
#: The round from which CP-SAT gets turns too, and the nominal seconds of the first.
_CP_ROUND, _CP_S = 6, 0.1
#: Bytes of matrices that a branch and bound may hold, and the least depth worth starting with.
_TREE_BYTES = 2**27
_LEAST_DEPTH = 40
#: Most sums of durations that are looked at for one pair of tasks.
_SUMS = 256


@dataclass(frozen=True, slots=True)
class Schedule:
    """Start ticks of all tasks at a period; ``least`` is the least period not proven impossible, ``method`` by what."""

    period: int
    starts: dict[str, int]
    least: int
    method: str = ""


def modulo_schedule(
    net: MappedNetwork, least: int, allowance: Allowance, hint: Point | None, *, atomic: bool = False
) -> Schedule:
    """Return the schedule of the least period found, and the least period not excluded (equal to it when proven).

    ``least`` is a lower bound on the period, ``hint`` a schedule of this network to start from. Buffers are as large as
    the schedule needs: as few bytes as its residues allow, counted from firing to firing with ``atomic``.
    """
    period, starts = _serial(net) if hint is None else (hint.period, dict(hint.starts))
    search = _Search(disjunctive_graph(net), net, starts, period, least, allowance)
    search.run()
    if search.period < period:
        period, starts = search.period, search.starts({}, atomic=atomic)
    return Schedule(period, _from_zero(settled(net, starts)), search.least, search.method)


def modulo_schedule_within(
    net: MappedNetwork, least: int, allowance: Allowance, hint: Point | None, capacities: Mapping[str, int], *,
    atomic: bool = False, most: int | None = None,
) -> Schedule | None:  # fmt: skip
    """Return as :func:`periodic` does, with buffers of these ``capacities``; None if there is no start.

    ``hint`` is used only if its buffers are no larger. Periods from ``most`` on are of no interest: what is proven is
    that there is none below, and the schedule may be any.
    """
    if hint is not None and all(hint.capacities[name] <= tokens for name, tokens in capacities.items()):
        period, starts = hint.period, dict(hint.starts)
    else:
        serial = serial_schedule(net, capacities)
        if serial is None:
            return None
        period, starts = serial
    search = _Search(disjunctive_graph(net, capacities, atomic=atomic), net, starts, period, least, allowance, most)
    search.run(cp=False)
    if search.period < period:
        period, starts = search.period, search.starts(capacities, atomic=atomic)
    return Schedule(period, _from_zero(settled(net, starts)), search.least, search.method)


def _serial(net: MappedNetwork) -> tuple[int, dict[str, int]]:
    serial = serial_schedule(net)
    assert serial is not None, "networks without initial tokens on a cycle are refused earlier"
    return serial


def _from_zero(starts: dict[str, int]) -> dict[str, int]:
    first = min(starts.values())
    return {name: start - first for name, start in starts.items()}


class _Search:
    """The best times so far at ``period``, and ``least``, below which there are none."""

    def __init__(
        self, graph: DisjunctiveGraph, net: MappedNetwork, starts: dict[str, int], period: int, least: int,
        allowance: Allowance, most: int | None = None,
    ) -> None:  # fmt: skip
        self.graph, self.net = graph, net
        self.period, self.least, self.method = period, least, ""
        self.most = period if most is None else most
        self.best = times_of(graph, starts)
        self.first = (self.best, period)
        self.allowance = allowance
        self.random = Random(1)
        self.layout = selection_kernels.Graph(graph)
        self.room = selection_kernels.Annealing(self.layout)
        self.trees: dict[int, _Tree] = {}

    def open(self) -> bool:
        """True while there is something to decide and work left to do it with."""
        return self.least < self.goal and not self.allowance.is_over

    @property
    def goal(self) -> int:
        """What a period must be less than to be of interest."""
        return min(self.period, self.most)

    def starts(self, capacities: Mapping[str, int], *, atomic: bool) -> dict[str, int]:
        """Return the starts of the best schedule, with whole periods that keep the buffers small."""
        found = settled(self.net, starts_of(self.graph, self.best))
        placed = staged(self.net, found, self.period, capacities, atomic=atomic)
        assert placed is not None, "the graph has arcs for tokens and places wherever these can be short"
        return placed

    def run(self, *, cp: bool = True) -> None:
        """Alternate the searches, each round twice as long as the last, until the period is proven or work is up.

        With ``cp``, CP-SAT is asked too.
        """
        turn = 0
        while self.open():
            hot, cold, afresh = _ROUNDS[turn % len(_ROUNDS)]
            start = self.first if afresh else (self.best, self.period)
            moves = _FIRST_MOVES << min(turn, 40)
            # annealing seldom finds what is left to gain where that is less than its heat
            moves = moves if self.goal - self.least > hot * self.least else moves >> 1
            self.anneal(start, moves, hot * self.least, cold * self.least)
            # the bound itself is often met, and one tick less than the best often impossible
            middle = (self.least + self.goal - 1) // 2
            for target, share in ((self.least, 2), (self.goal - 1, 1), (middle, 12)):
                if self.open() and self.least <= target < self.goal:
                    self.decide(target, (_FIRST_NODES << min(turn, 40)) // share)
            if cp and turn >= _CP_ROUND and self.open():
                self.solve(self.goal - 1, _CP_S * 2.0 ** (turn - _CP_ROUND))
            turn += 1

    def anneal(self, start: tuple[IntArray, int], moves: int, hot: float, cold: float) -> None:
        """Look for a better schedule by local search from ``start``, times at a period."""
        cost = 1e-6 + 3.5e-8 * len(self.best)
        moves = max(0, min(moves, int(min(_CALL_S, self.allowance.left_s) / cost)))
        best = start[0].copy()
        period = selection_kernels.improve(
            self.layout, self.room, self.random, best, start[1], self.least, moves, hot, cold
        )
        self.allowance.spend(max(1, moves) * cost)
        if period < self.period:
            self.period, self.best = period, best

    def decide(self, target: int, nodes: int) -> None:
        """Look for a schedule of period ``target`` at most, or for a proof that there is none, with so many nodes."""
        n = len(self.best)
        self.trees = {period: tree for period, tree in self.trees.items() if self.least <= period < self.period}
        if target not in self.trees:
            closing_s = 2e-9 * n**3
            if closing_s > max(_CALL_S, self.allowance.left_s):  # nothing would be left, not even soon
                return
            self.trees[target] = _Tree(self.graph, target)
            self.allowance.spend(closing_s)
        tree = self.trees[target]
        cost = 1e-6 + 1e-8 * n**2 + 1.5e-9 * tree.triples
        while nodes > 0 and self.open() and tree.outcome == branching_kernels.PAUSED:
            used = tree.go_on(max(1, min(nodes, int(min(_CALL_S, self.allowance.left_s) / cost))))
            self.allowance.spend(used * cost)
            nodes -= used
        if tree.outcome == branching_kernels.EXHAUSTED:
            self.least, self.method = target + 1, "branch and bound over the orders on all resources"
        elif tree.outcome == branching_kernels.FOUND:
            self.period, self.best = target, tree.times
            self.anneal((self.best, target), 0, 1.0, 1.0)

    def solve(self, target: int, seconds: float) -> None:
        """Ask CP-SAT for a schedule of period ``target``."""
        answer = start_at(self.net, target, self.allowance.part(seconds), starts_of(self.graph, self.best))
        if answer is None:
            return
        if answer:
            self.period, self.best = target, times_of(self.graph, answer)
        else:
            self.least, self.method = target + 1, "CP-SAT"


class _Tree:
    """A branch and bound at one period, which can be interrupted and gone on with."""

    def __init__(self, graph: DisjunctiveGraph, period: int) -> None:
        self.times: IntArray = np.zeros(len(graph.names), np.int64)
        before, after, ticks = turns(graph)
        starts, members = resources(graph)
        #: What a node costs grows with these: which task lies between which two on a resource.
        self.triples = int((np.diff(starts) ** 3).sum())
        root = fixed_differences(graph, period)
        n = len(graph.names)
        depth = min(4 * len(ticks) + 8, _TREE_BYTES // (8 * n * n + len(ticks)))
        self.outcome = branching_kernels.PAUSED
        if root is None:
            self.outcome = branching_kernels.EXHAUSTED
        elif depth < _LEAST_DEPTH and depth < 4 * len(ticks) + 8:
            self.outcome = branching_kernels.TOO_DEEP
        else:
            self.on = branching_kernels.Resources(starts, members, _SUMS)
            self.tree = branching_kernels.Tree(period, graph.duration, before, after, ticks, depth, root)

    def go_on(self, nodes: int) -> int:
        """Visit up to ``nodes`` more nodes; return how many were visited."""
        self.outcome, visited = branching_kernels.branch(self.tree, self.on, nodes, self.times)
        return visited
