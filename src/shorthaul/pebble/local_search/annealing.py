"""Annealing of schedules, only the stretch that a move changes replayed: thousands of moves per second at any size.

The order of computation changes in a stretch; from there on values give way by farthest next use until the memories are
the same again as before. So a move costs what the stretch costs, not what the graph does, and what earlier replays, or
another search, decided elsewhere stays.
"""

from __future__ import annotations

from itertools import cycle

import numpy as np

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.local_search import annealing_kernels, schedule_kernels
from shorthaul.pebble.local_search.incremental_replay_kernels import State
from shorthaul.pebble.local_search.order_moves_kernels import Cooling, Graph, Mover
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move, Plan


class Schedule:
    """A schedule that can be annealed in place; ``traffic`` is what it moves, ``state`` what the kernels work on."""

    def __init__(self, cdag: Cdag, budget: int, plan: Plan) -> None:
        order = plan.nodes[plan.kinds == Move.COMPUTE]
        position = np.full(cdag.n, -1, np.int64)
        position[order] = np.arange(len(order))
        graph = graph_of(cdag)
        width = min(cdag.n, budget // int(cdag.weights.min()) + 1)
        self.state = State(graph, budget, order.copy(), position, *victims_of(cdag, plan, position), width)
        self._mover = Mover(graph, self.state.order, self.state.changed)
        self.traffic = int(cdag.weights[cdag.outputs()].sum()) + schedule_kernels.set_up(self.state)

    def anneal(self, cooling: Cooling) -> None:
        """Anneal until the round is over, or for the work of one call."""
        self.traffic += annealing_kernels.anneal(self.state, self._mover, cooling, tuning.ANNEALING_CALL)

    def plan(self) -> Plan:
        """Return the schedule as moves."""
        return Plan(*schedule_kernels.moves_of(self.state))


def graph_of(cdag: Cdag) -> Graph:
    """Return the graph as the kernels see it."""
    parents, children = cdag.parents, cdag.children
    given = cdag.given.view(np.uint8)
    return Graph(parents.starts, parents.targets, children.starts, children.targets, cdag.weights, given)


def victims_of(cdag: Cdag, plan: Plan, position: IntArray) -> tuple[IntArray, IntArray, IntArray, int]:
    """Return which values give way before each step of ``plan``: (first entries, values, next ones, the first free)."""
    last = np.full(cdag.n, -1, np.int64)
    sources, targets = cdag.edge_arrays()
    np.maximum.at(last, sources, position[targets])
    step = np.cumsum(plan.kinds == Move.COMPUTE)
    early = np.flatnonzero((plan.kinds == Move.DELETE) & (step <= last[plan.nodes]))
    at = step[early]
    room = len(early) + int(step[-1]) + cdag.edges
    values, following = np.zeros(room, np.int64), np.arange(1, room + 1)
    values[: len(early)] = plan.nodes[early]
    following[: len(early)] = np.where(np.diff(at, prepend=-1) == 0, np.arange(len(early)) - 1, -1)
    head = np.full(int(step[-1]), -1, np.int64)
    head[at] = np.arange(len(early))  # the last of several assignments stays
    return head, values, following, len(early)


def improve(
    cdag: Cdag,
    budget: int,
    start: Plan,
    *,
    search: Search,
    goal: int = 0,
    patience: int | None = tuning.ANNEALING_PATIENCE,
) -> Plan:
    """Return the best schedule met that computes no value twice, when annealing ``start`` until ``search`` expires.

    Every round anneals the best schedule that one ended with; rounds grow while they fail, and fit into what is left.
    It ends after ``patience`` rounds of failure (None: never), and always at a traffic of ``goal`` (a lower bound). The
    result is never worse than ``start``.

    >>> from shorthaul.pebble.orders import belady
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> butterfly = fft(n=16, word=1)
    >>> start = belady.plan(butterfly, 6)
    >>> improve(butterfly, 6, start, search=Search(), goal=58).traffic(butterfly.weights)
    58
    """
    goal = max(goal, cdag.algorithmic_bound())
    count = int(np.count_nonzero(~cdag.given))
    if count < 2 or cdag.n + cdag.edges > tuning.LARGEST_ANNEALED or start.traffic(cdag.weights) <= goal:
        return start
    is_once = np.count_nonzero(start.kinds == Move.COMPUTE) == count
    base = best = start if is_once else belady.replay_order(cdag, budget, belady.order_of(start))
    traffic = least = best.traffic(cdag.weights)
    random = Random(search.seed)
    unit = float(np.median(cdag.weights))
    pace = Pace(search, tuning.ANNEALING_RATE)
    moves, idle = tuning.ANNEALING_FIRST_MOVES * count, 0
    for hot, penalty in cycle(tuning.ANNEALING_ROUNDS):
        if search.expired() or least <= goal or (patience is not None and idle >= patience):
            break
        if pace.moves_left() < tuning.ANNEALING_HURRIED * count:
            hot = min(hot, tuning.ANNEALING_MILD)  # there is no time to repair what heat destroys
        schedule = Schedule(cdag, budget, base)
        cooling = Cooling(random, moves, hot * unit, tuning.ANNEALING_COLD * unit, penalty)
        while not (cooling.is_over() or search.expired()):
            cooling.most_work = cooling.work + pace.work_left()
            before = cooling.work, cooling.step
            schedule.anneal(cooling)
            pace.note(cooling.work - before[0], cooling.step - before[1])
            if schedule.traffic < least:  # the round may end with more
                best, least = schedule.plan(), schedule.traffic
                search.keep(least, best)
        if schedule.traffic < traffic:
            base, traffic, idle = schedule.plan(), schedule.traffic, 0
            search.report(best=least, bound=goal, what="annealing")
        else:
            idle += 1
            is_whole = cooling.step >= moves // 2
            moves = min(2 * moves, tuning.ANNEALING_MOST_MOVES * count) if is_whole else moves
    return best if least < start.traffic(cdag.weights) else start


class Pace:
    """How much work and how many moves fit into what is left of a search, by the experience so far."""

    def __init__(self, search: Search, rate: float) -> None:
        self._search, self._rate = search, rate
        self._first = search.spent()
        self._work = self._moves = 0

    def note(self, work: int, moves: int) -> None:
        """Note work that was done, in this many moves."""
        self._search.spend(work / self._rate)
        self._work += work
        self._moves += moves

    def work_left(self) -> float:
        """Return how much work can still be done."""
        spent = self._search.spent() - self._first
        rate = self._work / spent if self._work and spent > 0 else self._rate
        return rate * self._search.left()

    def moves_left(self) -> float:
        """Return how many moves can still be tried."""
        return self.work_left() * self._moves / self._work if self._work else float("inf")
