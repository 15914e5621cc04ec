"""Potentials: bounds on what states of a small graph are still charged, by prices for holding values.

All computed sets of a small graph are few, however many states there are. The prices of :mod:`potential_kernels` make a
linear program whose optimum weighs all values and all orders against the capacity at once; here they climb along the
gradient of the softened bound (Nesterov), and sets and steps through which no plan below the limit can lead are
dropped on the way. What a bound claims is computed in whole numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import BoolArray, Cdag, IntArray
from shorthaul.pebble.states import lattice_kernels
from shorthaul.pebble.states import potential_kernels as kernels
from shorthaul.pebble.states.pattern_database_kernels import SetTable, enter_all
from shorthaul.pebble.states.potential_kernels import Potential

WordArray = npt.NDArray[np.uint64]
FloatArray = npt.NDArray[np.float64]

#: Graphs have at most this many nodes, and weights (in units of their divisor) add up to this at most.
MOST_NODES = 64
_MOST_WEIGHT = 2**15
#: Computed sets, and steps between them.
_MOST_SETS = 2**14
_MOST_STEPS = 2**16
#: Prices are counted in parts of this.
_WHOLE = 2**16
#: Prices start at this share of the charge.
_FIRST_PRICE = 0.5
#: Steps of the climb between two exact bounds.
_STEPS = 10
#: The climb ends when this many exact bounds on end have risen by less than so much of what is missing to the limit.
_PATIENCE, _LEAST_RISE = 6, 0.06
#: Rates and temperatures (in mean weights): the first, by what each is multiplied per step, and the least.
_RATE, _SLOWING, _LEAST_RATE = 0.05, 0.985, 0.003
_TEMPERATURE, _COOLING, _LEAST_TEMPERATURE = 0.6, 0.98, 0.02


def _nothing() -> Potential:
    none = np.zeros(0, dtype=np.int64)
    table = SetTable(np.zeros(0, dtype=np.uint64), none)
    return Potential(table, none, none, none, np.zeros((2, 0), dtype=np.int64), 1)


#: No potential: the heuristic is 0.
NO_POTENTIAL = _nothing()


class Problem(NamedTuple):
    """The arrays of :class:`lattice_kernels.Problem`."""

    weights: IntArray
    parents: WordArray
    children: WordArray
    given: npt.NDArray[np.uint8]
    room: IntArray
    touched_first: IntArray
    touched: IntArray


class Lattice(NamedTuple):
    """The arrays of :class:`lattice_kernels.Lattice`."""

    sets: WordArray
    step_first: IntArray
    nodes: IntArray
    targets: IntArray
    live_first: IntArray
    live: IntArray
    masks: WordArray


def problem_of(cdag: Cdag, budget: int) -> Problem:
    """Return the graph as the kernels see it, in units of the weights' divisor."""
    unit = int(np.gcd.reduce(cdag.weights))
    weights = cdag.weights // unit
    sources, targets = cdag.edge_arrays()
    parents, children = np.zeros(cdag.n, dtype=np.uint64), np.zeros(cdag.n, dtype=np.uint64)
    np.bitwise_or.at(parents, targets, np.uint64(1) << sources.astype(np.uint64))
    np.bitwise_or.at(children, sources, np.uint64(1) << targets.astype(np.uint64))
    read = np.zeros(cdag.n, dtype=np.int64)
    np.add.at(read, targets, weights[sources])
    touched_first = cdag.parents.starts + np.arange(cdag.n + 1)
    touched = np.concatenate([np.sort([v, *cdag.parents.neighbours(v).tolist()]) for v in range(cdag.n)])
    room = budget // unit - weights - read
    return Problem(weights, parents, children, cdag.is_input().view(np.uint8), room, touched_first, touched)


def lattice_of(problem: Problem, *, most_sets: int = _MOST_SETS, most_steps: int = _MOST_STEPS) -> Lattice | None:
    """Return all computed sets of a graph; None if they are too many."""
    sets = np.empty(most_sets, dtype=np.uint64)
    sets[0] = _set(problem.given)
    step_first = np.empty(most_sets + 1, dtype=np.int64)
    nodes, targets = np.empty(most_steps, dtype=np.int64), np.empty(most_steps, dtype=np.int64)
    slots = 1 << (2 * most_sets - 1).bit_length()
    keys, ranks = np.zeros(slots, dtype=np.uint64), np.full(slots, -1, dtype=np.int64)
    graph = lattice_kernels.Problem(*problem)
    count = lattice_kernels.enumerate_steps(graph, SetTable(keys, ranks), sets, step_first, nodes, targets)
    if count < 0:
        return None
    sets, step_first = sets[:count].copy(), step_first[: count + 1].copy()
    live_first, masks = np.zeros(count + 1, dtype=np.int64), np.empty(count, dtype=np.uint64)
    lattice_kernels.find_live(graph, sets, masks, live_first)
    bits = np.unpackbits(masks.view(np.uint8).reshape(count, 8), axis=1, bitorder="little")
    live = np.nonzero(bits)[1].astype(np.int64)
    steps = step_first[-1]
    return Lattice(sets, step_first, nodes[:steps].copy(), targets[:steps].copy(), live_first, live, masks)


def _set(members: npt.NDArray[np.uint8]) -> np.uint64:
    return np.uint64(sum(1 << v for v in np.flatnonzero(members).tolist()))


def initial_prices(cdag: Cdag, budget: int) -> Potentials | None:
    """Return the prices to begin with; None if the graph has too many nodes, computed sets or weights.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> found = initial_prices(fft(n=4, word=1), 3)
    >>> found.climb(6, search=Search(time_limit=60))
    >>> found.excess
    6
    """
    unit = int(np.gcd.reduce(cdag.weights))
    if cdag.n > MOST_NODES or int(cdag.weights.sum()) > _MOST_WEIGHT * unit:
        return None
    problem = problem_of(cdag, budget)
    lattice = lattice_of(problem)
    return None if lattice is None else Potentials(problem, lattice, unit)


class Potentials:
    """The prices of one graph and budget, which climb as long as they are given time.

    ``excess`` is the bound they prove on the traffic beyond inputs and outputs, or the limit of the last climb if that
    is less; ``is_flat`` tells that it hardly rises any more.
    """

    def __init__(self, problem: Problem, lattice: Lattice, unit: int) -> None:
        self._problem, self._graph, self._unit = problem, lattice_kernels.Problem(*problem), unit
        self._lattice, self._steps = lattice, lattice_kernels.Lattice(*lattice)
        self._mean_weight = float(problem.weights.mean())
        self._limit: int | None = None
        self._value = 0.0
        self._values: list[float] = []
        self._number = 0
        self.is_flat = False
        self.excess = 0
        self._begin()

    @property
    def sets(self) -> int:
        """How many computed sets are left through which a plan below the limit can lead."""
        return len(self._lattice.sets)

    def _begin(self) -> None:
        problem, lattice = self._problem, self._lattice
        charge = problem.weights[lattice.live].astype(np.float64)
        is_given = problem.given[lattice.live] == 1
        done = np.repeat(lattice.sets, np.diff(lattice.live_first))
        # An input that nothing has read yet is not in fast memory, and no input is ever unsaved.
        waits = is_given & (problem.children[lattice.live] & done == 0)
        self._prices = _FIRST_PRICE * np.array([np.where(waits, 0.0, charge), np.where(is_given, 0.0, 2 * charge)])
        self._mean, self._square = np.zeros_like(self._prices), np.zeros_like(self._prices)
        self._ends = np.zeros(len(lattice.nodes))

    def climb(self, limit: int, *, search: Search) -> None:
        """Raise the bound until time is up, it hardly rises, or no plan with an excess below ``limit`` is left."""
        lowest = -(-limit // self._unit)
        self._limit = lowest if self._limit is None else min(self._limit, lowest)
        search.spend(self._live_in_steps() / tuning.PRICING_RATE)
        while self._settle(self._limit) and not search.expired() and not self.is_flat:
            self._step_up(search)
            search.spend(self._live_in_steps() / tuning.PRICING_RATE)
            self._values.append(self._value)
            self.is_flat = _is_flat(self._values, self._limit * _WHOLE)

    def _step_up(self, search: Search) -> None:
        """Take a few steps along the gradient of the softened bound."""
        work, _, _ = self._work(self._prices, self._ends)
        for _ in range(_STEPS):
            self._number += 1
            warmth = max(_TEMPERATURE * _COOLING**self._number, _LEAST_TEMPERATURE) * self._mean_weight
            rate = max(_RATE * _SLOWING**self._number, _LEAST_RATE)
            kernels.look_ahead(work, warmth, False)
            kernels.follow(work, warmth)
            kernels.climb(work, self._number, rate, self._mean, self._square)
            search.spend(2 * self._live_in_steps() / tuning.PRICING_RATE)
            if search.expired():
                break

    def _live_in_steps(self) -> int:
        """Return how many values are live, summed over all steps."""
        lattice = self._lattice
        return int((np.diff(lattice.live_first) * np.diff(lattice.step_first)).sum())

    def _work(self, prices: FloatArray, ends: FloatArray) -> tuple[kernels.Prices, FloatArray, FloatArray]:
        """Return what the kernels work on, and where they write what prices prove for every set and step."""
        ahead, through = np.zeros(len(self._lattice.sets)), np.empty(len(self._lattice.nodes))
        return kernels.Prices(self._graph, self._steps, prices, ends, ahead, through), ahead, through

    def _exact(self) -> tuple[kernels.Prices, FloatArray, FloatArray, FloatArray]:
        """Return prices in whole parts, and what they prove for every set and step."""
        prices = np.floor(self._prices * _WHOLE)
        work, ahead, through = self._work(prices, self._ends * _WHOLE)
        kernels.look_ahead(work, 0.0, True)
        return work, prices, ahead, through

    def _settle(self, limit: int) -> bool:
        """Take the bound that the prices prove, and drop what no plan below the limit passes; False if nothing is left.

        Plans of ``limit`` or more may pass what is dropped: so the bound is never above the limit.
        """
        lattice = self._lattice
        if len(lattice.sets) == 0:
            return False
        work, _, ahead, through = self._exact()
        most = (limit - 1) * _WHOLE
        self._value = float(ahead[0])
        value = limit if ahead[0] > most else int(-(-ahead[0] // _WHOLE))
        self.excess = max(self.excess, value * self._unit)
        behind = np.full(len(ahead), np.inf)
        kernels.look_back(work, behind)
        keep = behind + ahead <= most
        source = np.repeat(np.arange(len(keep)), np.diff(lattice.step_first))
        steps = keep[source] & keep[lattice.targets] & (behind[source] + through <= most)
        if not steps.all():
            self._drop(lattice, keep, steps, source)
        return bool(keep[-1])

    def _drop(self, lattice: Lattice, keep: BoolArray, steps: BoolArray, source: IntArray) -> None:
        entries = np.repeat(keep, np.diff(lattice.live_first))
        number = np.cumsum(keep) - 1
        degrees = np.bincount(source[steps], minlength=len(keep))[keep]
        self._lattice = Lattice(
            lattice.sets[keep],
            np.concatenate([[0], np.cumsum(degrees)]),
            lattice.nodes[steps],
            number[lattice.targets[steps]],
            np.concatenate([[0], np.cumsum(np.diff(lattice.live_first)[keep])]),
            lattice.live[entries],
            lattice.masks[keep],
        )
        self._steps = lattice_kernels.Lattice(*self._lattice)
        self._ends = self._ends[steps]
        self._prices, self._mean, self._square = (
            np.ascontiguousarray(array[:, entries]) for array in (self._prices, self._mean, self._square)
        )

    def potential(self) -> Potential:
        """Return the potential for a search below the limit."""
        lattice = self._lattice
        _, prices, ahead, _ = self._exact()
        slots = 1 << max(1, 2 * len(lattice.sets) - 1).bit_length()
        keys, ranks = np.zeros(slots, dtype=np.uint64), np.full(slots, -1, dtype=np.int64)
        table = SetTable(keys, ranks)
        enter_all(table, lattice.sets & ~_set(self._problem.given), np.arange(len(lattice.sets)))
        # A set that no step leads out of any more, for all plans would pass a dropped one, is as good as dropped.
        bounded = np.minimum(ahead, 2.0**52).astype(np.int64)
        return Potential(table, lattice.live_first, lattice.live, bounded, prices.astype(np.int64), _WHOLE)


def _is_flat(values: list[float], goal: float) -> bool:
    """True if the last values rose by little of what is missing to the goal."""
    if len(values) <= _PATIENCE:
        return False
    return values[-1] - values[-1 - _PATIENCE] < _LEAST_RISE * (goal - values[-1])
