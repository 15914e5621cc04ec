"""Annealing of schedules, only the stretch that a move changes replayed: thousands of moves per second at any size.

The order of computation changes in a stretch; from there on values give way by farthest next use until the memories are
the same again as before. So a move costs what the stretch costs, not what the graph does, and what earlier replays, or
another search, decided elsewhere stays.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, pairwise
from typing import Final, ParamSpec, TypeVar, cast

import numpy as np

from shorthaul.core import jit
from shorthaul.core.search import Search
from shorthaul.pebble.local_search import annealing_kernels
from shorthaul.pebble.local_search import incremental_replay_kernels as kernels
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.plan import Move, Plan

P = ParamSpec("P")
R = TypeVar("R")

#: Seconds that the first compilation of the kernels takes.
COMPILE_S: Final = 6
#: Most moves between two looks at the clock, fewer where a step is much work: so many readers looked at in all.
_SLICE: Final = 1000
_WORK: Final = 20_000_000
#: How much less work is done between two looks without compiling.
_SLOWER: Final = 30
#: The steps that a move replays, roughly.
_STRETCH: Final = 100
#: Moves per computation of the first round, and at most; rounds grow while they fail.
_FIRST, _MOST = 60, 2000
#: What a round starts with, in turn: the temperature in median weights, and how much nearer a value counts that must be
#: stored to give way. All rounds end at the temperature _COLD.
_ROUNDS: Final = ((0.3, 2.0), (1.0, 2.0), (0.6, 4.0), (0.3, 8.0), (1.0, 4.0), (0.6, 1.0))
_COLD: Final = 0.1
#: Rounds without a better schedule after which the search ends by itself.
PATIENCE: Final = 6
#: Below so many moves per computation a round starts no hotter than this: it has no time to repair what heat destroys.
_HURRIED: Final = 30
_MILD: Final = 0.3


class Schedule:
    """A schedule that can be annealed in place; ``traffic`` is what it moves, ``state`` what the kernels work on.

    With ``plain`` the kernels are not compiled, but run as Python: some thousand moves per second.
    """

    def __init__(self, cdag: Cdag, budget: int, plan: Plan, *, plain: bool = False) -> None:
        self._budget = budget
        self._plain = plain
        n = cdag.n
        order = plan.nodes[plan.kinds == Move.COMPUTE]
        node = np.full((n, kernels.COLUMNS), -1, np.int64)
        node[:, kernels.WEIGHT] = cdag.weights
        node[order, kernels.POSITION] = node[order, kernels.CHANGED] = np.arange(len(order))
        node[order, kernels.STORED] = kernels.NEVER
        width = min(n, budget // int(cdag.weights.min()) + 1)
        counters = np.zeros(kernels.COUNTERS, np.int64)
        counters[kernels.SPACING] = max(16, width // 4)
        rows = len(order) // int(counters[kernels.SPACING]) + 1
        head, entries, counters[kernels.FREE] = _lists(cdag, plan, node[:, kernels.POSITION])
        parents, children = cdag.parents, cdag.children
        self.state = kernels.State(
            parents.starts, parents.targets, children.starts, children.targets, node, order, order.copy(), head,
            entries, np.empty(len(entries), np.int64), np.empty(len(order), np.int64), np.empty((n, 2), np.int64),
            np.empty(2 * n, np.int64), np.empty((rows, width, 2), np.int64), np.zeros((rows, 2), np.int64), counters,
        )  # fmt: skip
        self._held = np.empty(len(order), np.int64)
        self._mark = np.empty(n, np.int64)
        if plain:  # Python reads and writes views faster than arrays
            self.state = kernels.State(*map(_viewed, self.state))
            self._held, self._mark = _viewed(self._held), _viewed(self._mark)
        self.traffic = int(cdag.weights[cdag.outputs()].sum()) + self._callable(kernels.set_up)(self.state, budget)

    def anneal(self, steps: int, *, penalty: float, hot: float, cold: float, seed: int) -> None:
        """Try so many moves while the temperature falls from ``hot`` to ``cold``, in the unit of the weights."""
        # The kernels draw from NumPy's global generator, which in plain Python is everybody's.
        kept = np.random.get_state() if self._plain else None  # noqa: NPY002
        self.traffic += self._callable(annealing_kernels.anneal)(
            self.state, self._held, self._mark, self._budget, penalty, steps, hot, cold, seed
        )
        if kept is not None:
            np.random.set_state(kept)  # noqa: NPY002

    def plan(self) -> Plan:
        """Return the schedule as moves."""
        return Plan(*self._callable(kernels.moves_of)(self.state, self._budget))

    def _callable(self, function: Callable[P, R]) -> Callable[P, R]:
        return jit.interpreted(function) if self._plain else function


def _viewed(array: IntArray) -> IntArray:
    """Return a view that is indexed like ``array`` and gives Python's own integers."""
    return cast("IntArray", memoryview(array.data))


def _lists(cdag: Cdag, plan: Plan, position: IntArray) -> tuple[IntArray, IntArray, int]:
    """Return which values give way before each step of ``plan``: (first entries, entries, the first free entry)."""
    last = np.full(cdag.n, -1, np.int64)
    sources, targets = cdag.edge_arrays()
    np.maximum.at(last, sources, position[targets])
    step = np.cumsum(plan.kinds == Move.COMPUTE)
    early = np.flatnonzero((plan.kinds == Move.DELETE) & (step <= last[plan.nodes]))
    entries = np.zeros((len(early) + int(step[-1]) + cdag.edges, 2), np.int64)
    entries[:, kernels.FOLLOWING] = np.arange(1, len(entries) + 1)
    entries[: len(early), kernels.VALUE] = plan.nodes[early]
    head = np.full(int(step[-1]), -1, np.int64)
    for entry, at in enumerate(step[early].tolist()):
        entries[entry, kernels.FOLLOWING] = head[at]
        head[at] = entry
    return head, entries, len(early)


def moves_at_once(cdag: Cdag) -> int:
    """Return how many moves are tried between two looks at the clock: few where values have very many readers.

    A step looks at all readers of its operands.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import stencil
    >>> moves_at_once(stencil(n=100, t=100, word=1))
    1000
    """
    degrees = cdag.children.degrees().astype(np.float64)
    work = float((degrees**2).sum()) / max(1, int(np.count_nonzero(~cdag.is_input())))
    return int(np.clip(_WORK / (_STRETCH * (work + 1)), 10, _SLICE))


def improve(
    cdag: Cdag,
    budget: int,
    start: Plan,
    *,
    search: Search,
    goal: int = 0,
    patience: int | None = PATIENCE,
    plain: bool = False,
    until: Callable[[], bool] = lambda: False,
) -> Plan:
    """Return the best schedule met when annealing ``start``, which computes no value twice, until ``search`` expires.

    Every round anneals the best schedule so far; rounds grow while they fail, and fit into the time that is left. It
    ends after ``patience`` rounds of failure (None: never), when ``until`` says so, and always at a traffic of ``goal``
    (a lower bound). The result is never worse than ``start``; the same seed gives the same plan when the search ends by
    itself. With ``plain`` nothing is compiled, for graphs of some thousand nodes in a short time.

    >>> from shorthaul.pebble.orders import belady
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> butterfly = fft(n=16, word=1)
    >>> start = belady.plan(butterfly, 6)
    >>> improve(butterfly, 6, start, search=Search(), goal=58).traffic(butterfly.weights)
    58
    """
    goal = max(goal, cdag.algorithmic_bound())
    best, traffic = start, start.traffic(cdag.weights)
    count = int(np.count_nonzero(start.kinds == Move.COMPUTE))
    if count < 2 or traffic <= goal:
        return best
    if not plain:
        jit.announce(annealing_kernels.__name__, COMPILE_S)
    random = search.generator()
    unit = float(np.median(cdag.weights))
    moves, idle, size = _FIRST * count, 0, max(10, moves_at_once(cdag) // (_SLOWER if plain else 1))
    rate = 0.0  # moves per second
    for hot, penalty in cycle(_ROUNDS):
        if until() or search.expired() or traffic <= goal or (patience is not None and idle >= patience):
            break
        began, done = search.elapsed_s(), 0
        # Against a limit the first round is short, to tell how fast moves are: heat must fall before time is up.
        left = moves if search.time_limit_s is None else int(rate * search.remaining_s())
        slices = max(4, min(moves, left) // size)
        heat = hot if slices * size >= _HURRIED * count else min(hot, _MILD)
        schedule = Schedule(cdag, budget, best, plain=plain)
        for warm, cool in pairwise(np.geomspace(heat * unit, _COLD * unit, slices + 1).tolist()):
            schedule.anneal(size, penalty=penalty, hot=warm, cold=cool, seed=int(random.integers(2**31)))
            done += size
            if search.expired() or until():
                break
        rate = done / max(search.elapsed_s() - began, 1e-6)
        if schedule.traffic < traffic:
            best, traffic, idle = schedule.plan(), schedule.traffic, 0
            search.report(best=traffic, bound=goal, what="annealing")
        else:
            idle += 1
            moves = min(2 * moves, _MOST * count) if done >= moves // 2 else moves
    return best
