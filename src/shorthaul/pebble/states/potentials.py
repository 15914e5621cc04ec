"""Potentials: bounds on what states of a small graph are still charged, by prices for holding values.

All computed sets of a small graph are few, however many states there are. The prices of :mod:`potential_kernels` make a
linear program whose optimum weighs all values and all orders against the capacity at once; here they climb along the
gradient of the softened bound (Nesterov), and sets and steps through which no plan below the limit can lead are
dropped on the way. In large graphs entries share prices, so that sets which no gradient meets are priced too, and climb
only where a bound is near the least. What a bound claims is computed in whole numbers.

**Against time.** What a step is charged and the potential behind it are no less than the potential before it. So the
way to a state (computed set D, red values R) was charged the potential of the start at least, and what all ways to D
take beyond that (:func:`potential_kernels.look_back`), less the potential of the state. A search from the end has
charged what comes after; and since it charges where a value leaves against time, it has charged the load of each live
value that is out, and the store of one that was computed, which the way to the state was charged for, too: these are
taken off. Of a red value that leaves later on it has charged the store. If the value is saved by now, so has the way to
the state, and one of the two is taken off; if not, the value counts in the potential as unsaved. The search does not
know, so the dearer of the two is taken off. Of values that have no price nothing is: what they are charged is not in
the potential. What is left depends on D and on the red values one by one: it is a potential of the same kind.
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
from shorthaul.pebble.states.priced_parts import Chains, Problem, chains_of, least_needed, part_of, problem_of

WordArray = npt.NDArray[np.uint64]
ByteArray = npt.NDArray[np.uint8]
SmallArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]

#: Graphs have at most this many nodes and computations, and weights (in units of their divisor) add up to this at most.
MOST_NODES = 128
_MOST_COMPUTED = 64
_MOST_WEIGHT = 2**15
#: Computed sets, steps between them, entries.
_MOST_SETS = 3 * 2**19
_MOST_STEPS = 2**24
_MOST_ENTRIES = 2**26
#: Computed sets made room for at first, and all that a search has prices for if it does not ask for more.
_FEW_SETS = 2**14
#: Lattices of up to this many sets have a price for every entry from the start, the others one for every class.
_MOST_PRICED_APART = 2**14
#: Once prices of classes hardly rise, up to this many entries get one each.
_MOST_SPLIT = 2**23
#: Slots of the table in which classes are found, at most.
_MOST_CLASS_SLOTS = 2**22
#: Prices are counted in parts of this.
_WHOLE = 2**16
#: Prices start at this share of the charge.
_FIRST_PRICE = 0.5
#: Steps of the climb between two exact bounds, on a lattice of up to so many steps and on a larger one.
_STEPS, _FEW_STEPS, _MANY = 10, 4, 2**19
#: So many more values than are too few to drop are tried to drop at most.
_MORE_DROPPED = 15
#: Computed sets priced in one call: a look at the clock and for Ctrl-C in between.
_CALL = 2**15
#: The climb ends when this many exact bounds on end have risen by less than so much of what is missing to the limit.
_PATIENCE, _LEAST_RISE = 6, 0.06
#: Then steps and temperatures are multiplied by this, until they are below that part of what they were.
_SLOWER, _LEAST_SLOWED = 0.5, 0.2
#: What is no more than this (in mean weights) above the least bound is near it at any temperature.
_NEAR = 0.15


class _Pace(NamedTuple):
    """Rates and temperatures (in mean weights): the first, by what each is multiplied per step, and the least.

    Sets through which the bound is no more than ``margin`` temperatures above the least are climbed on.
    """

    rate: float
    slowing: float
    least_rate: float
    temperature: float
    cooling: float
    least_temperature: float
    margin: float


_APART = _Pace(0.05, 0.985, 0.003, 0.6, 0.98, 0.02, float("inf"))
_BY_CLASS = _Pace(0.05, 0.965, 0.005, 0.4, 0.96, 0.05, 4.0)


def _nothing() -> Potential:
    none, first = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    table = SetTable(np.zeros(0, dtype=np.uint64), none)
    live, classes = np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int32)
    return Potential(table, none, first, none, first, live, classes, none, np.zeros((2, 0), dtype=np.int64), 1)


#: No potential: the heuristic is 0.
NO_POTENTIAL = _nothing()


class Lattice(NamedTuple):
    """The arrays of :class:`lattice_kernels.Lattice`."""

    sets: WordArray
    step_first: IntArray
    nodes: ByteArray
    targets: SmallArray
    live_first: IntArray
    live: ByteArray
    classes: SmallArray


def lattice_of(
    problem: Problem, *, most_sets: int = _MOST_SETS, most_steps: int = _MOST_STEPS, search: Search | None = None
) -> Lattice | None:
    """Return all computed sets of a graph, each entry a class of its own; None if they are too many, or time is up."""
    graph = lattice_kernels.Problem(*problem)
    size = min(_FEW_SETS, most_sets)
    while True:  # most graphs have few, or too many at once
        room = min(most_steps, 16 * size)
        sets, step_first = np.empty(size, dtype=np.uint64), np.empty(size + 1, dtype=np.int64)
        nodes, targets = np.empty(room, dtype=np.uint8), np.empty(room, dtype=np.int32)
        slots = 1 << (2 * size - 1).bit_length()
        keys, ranks = np.zeros(slots, dtype=np.uint64), np.full(slots, -1, dtype=np.int64)
        count = lattice_kernels.enumerate_steps(graph, SetTable(keys, ranks), sets, step_first, nodes, targets)
        if search is not None:
            search.spend(size / tuning.COMPUTED_SETS_RATE)
        if count >= 0:
            break
        if size == most_sets or (search is not None and 8 * size > search.left() * tuning.COMPUTED_SETS_RATE):
            return None
        size = min(8 * size, most_sets)
    sets, step_first = sets[:count].copy(), step_first[: count + 1].copy()
    live_first, live = np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    lattice_kernels.find_live(graph, sets, live_first, live)
    entries, steps = int(live_first[-1]), int(step_first[-1])
    if entries > _MOST_ENTRIES:
        return None
    live = np.empty(entries, dtype=np.uint8)
    lattice_kernels.find_live(graph, sets, live_first, live)
    classes = np.arange(entries, dtype=np.int32)
    return Lattice(sets, step_first, nodes[:steps].copy(), targets[:steps].copy(), live_first, live, classes)


def _by_class(problem: Problem, lattice: Lattice) -> Lattice:
    """Return the lattice with one class for entries of a value where the same of what is near it is computed.

    Near are the nodes that touch it, all that several read, or nothing, and those that read what they alone do.
    """
    count = len(problem.room)
    readers = np.array([int(problem.touchers[v]).bit_count() - 1 for v in range(count)])
    alone = sum(1 << v for v in np.flatnonzero(readers == 1).tolist())
    main = sum(1 << v for v in range(count) if readers[v] != 1 or int(problem.before[v]) & alone)
    near = problem.touchers | np.uint64(main)
    slots = min(_MOST_CLASS_SLOTS, 1 << (2 * len(lattice.live) + 1).bit_length())
    keys, owners = np.zeros(slots, dtype=np.uint64), np.zeros(slots, dtype=np.int64)
    ranks = np.full(slots, -1, dtype=np.int64)
    classes = np.empty(len(lattice.live), dtype=np.int32)
    found = lattice_kernels.classify(lattice_kernels.Lattice(*lattice), near, keys, owners, ranks, classes)
    return lattice if found < 0 else lattice._replace(classes=classes)


def initial_prices(
    cdag: Cdag,
    budget: int,
    *,
    most_sets: int = _FEW_SETS,
    search: Search | None = None,
    start: Potentials | None = None,
) -> Potentials | None:
    """Return the prices to begin with; None if the graph has too many nodes or weights.

    They are of the largest part with at most so many computed sets, and at first those of ``start``, a smaller part.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> found = initial_prices(fft(n=4, word=1), 3)
    >>> found.climb(6, search=Search(time_limit=60))
    >>> found.excess
    6
    """
    unit = int(np.gcd.reduce(cdag.weights))
    if cdag.n > MOST_NODES or int(cdag.weights.sum()) > _MOST_WEIGHT * unit:
        return None
    chains = chains_of(cdag)
    order = least_needed(cdag, chains)
    most_sets = min(_MOST_SETS, most_sets)
    fewest, most = max(0, chains.computed - _MOST_COMPUTED), len(order)
    fitting: tuple[Chains, Problem, Lattice] | None = None
    while fewest <= most and not (search is not None and search.expired()):
        dropped = (fewest + min(most, fewest + _MORE_DROPPED)) // 2
        part = part_of(chains, set(order[:dropped]))
        problem = problem_of(cdag, budget, part)
        lattice = lattice_of(problem, most_sets=most_sets, search=search)
        if lattice is None:
            fewest = dropped + 1
        else:
            fitting, most = (part, problem, lattice), dropped - 1
    return None if fitting is None else Potentials(cdag.n, *fitting, unit, chains.computed, start)


class Potentials:
    """The prices of one graph and budget, which climb as long as they are given time.

    ``excess`` is the bound they prove on the traffic beyond inputs and outputs, or the limit of the last climb if that
    is less; ``is_flat`` tells that it hardly rises any more.
    """

    def __init__(
        self,
        n: int,
        chains: Chains,
        problem: Problem,
        lattice: Lattice,
        unit: int,
        computed: int,
        start: Potentials | None,
    ) -> None:
        self.is_whole = chains.computed == computed
        self._n, self._chains, self._unit = n, chains, unit
        self._problem, self._graph = problem, lattice_kernels.Problem(*problem)
        self._pace = _APART if len(lattice.sets) <= _MOST_PRICED_APART else _BY_CLASS
        self._lattice = lattice if self._pace is _APART else _by_class(problem, lattice)
        self._mean_weight = float(problem.weights.mean())
        self._limit: int | None = None
        self._value = self._best = -float("inf")
        self._values: list[float] = []
        self._number = 0
        self._slowed = 1.0
        self.is_flat = False
        self.excess = 0
        self._begin()
        if start is not None:
            self._go_on_from(start)

    @property
    def is_small(self) -> bool:
        """True if the graph has few computed sets: then prices climb in no time."""
        return self._pace is _APART and self.is_whole

    @property
    def sets(self) -> int:
        """How many computed sets are left through which a plan below the limit can lead."""
        return len(self._lattice.sets)

    def _begin(self) -> None:
        lattice, count = self._lattice, len(self._problem.room)
        owner = np.zeros(int(lattice.classes.max(initial=-1)) + 1, dtype=np.int64)
        owner[lattice.classes] = lattice.live
        self._charges = self._problem.weights[owner]
        charge = self._charges.astype(np.float64)
        self._prices = _FIRST_PRICE * np.array([charge, np.where(owner < count, 2 * charge, 0.0)])
        self._best_prices = self._prices
        self._mean, self._square = np.zeros_like(self._prices), np.zeros_like(self._prices)
        self._over = np.zeros(len(lattice.sets))
        self._over_steps = np.zeros(len(lattice.nodes))

    def _go_on_from(self, start: Potentials) -> None:
        """Take the prices of a smaller part, where it has the first entry of a class."""
        lattice, known = self._lattice, start._lattice
        if len(known.live) == 0:
            return
        numbers = {nodes[0]: number for number, nodes in enumerate(start._chains.nodes)}
        names = np.array([numbers.get(nodes[0], -1) for nodes in self._chains.nodes], dtype=np.int64)
        classes, entries = np.unique(lattice.classes, return_index=True)
        sets = lattice.sets[np.searchsorted(lattice.live_first, entries, side="right") - 1]
        shares = np.zeros(len(sets), dtype=np.uint64)
        for number, name in enumerate(names[: self._chains.computed].tolist()):
            if name >= 0:
                shares |= (sets >> np.uint64(number) & np.uint64(1)) << np.uint64(name)
        by_set = np.argsort(known.sets)
        rows = by_set[np.searchsorted(known.sets[by_set], shares).clip(max=len(by_set) - 1)]
        owners = names[lattice.live[entries]]
        keys = np.repeat(np.arange(len(known.sets)), np.diff(known.live_first)) * 256 + known.live
        at = np.searchsorted(keys, rows * 256 + owners).clip(max=len(keys) - 1)
        found = (known.sets[rows] == shares) & (owners >= 0) & (keys[at] == rows * 256 + owners)
        self._prices[:, classes[found]] = start._best_prices[:, known.classes[at[found]]]
        self._number = start._number

    def climb(self, limit: int, *, search: Search) -> None:
        """Raise the bound until time is up, it hardly rises, or no plan with an excess below ``limit`` is left."""
        lowest = -(-limit // self._unit)
        self._limit = lowest if self._limit is None else min(self._limit, lowest)
        while self._settle(self._limit, search) and not search.expired() and not self.is_flat:
            self._step_up(search)
            self._values.append(self._best)
            if _is_flat(self._values, self._limit * _WHOLE):
                self.is_flat = not (self._slow_down() or self._split())

    def _slow_down(self) -> bool:
        """Go back to the best prices and on from there in smaller, colder steps; False if they are small already."""
        if self._slowed <= _LEAST_SLOWED:
            return False
        self._slowed *= _SLOWER
        self._prices = self._best_prices
        self._values.clear()
        return True

    def _split(self) -> bool:
        """Give every entry a price of its own; False if it has one, or there are too many."""
        lattice = self._lattice
        if len(self._charges) >= len(lattice.live) or len(lattice.live) > _MOST_SPLIT:
            return False
        self._charges = self._charges[lattice.classes]
        self._best_prices = self._prices = np.ascontiguousarray(self._best_prices[:, lattice.classes])
        self._mean, self._square = np.zeros_like(self._prices), np.zeros_like(self._prices)
        self._lattice = lattice._replace(classes=np.arange(len(lattice.live), dtype=np.int32))
        self._values.clear()
        return True

    def _step_up(self, search: Search) -> None:
        """Take a few steps along the gradient of the softened bound, where it is not far above the least."""
        pace = self._pace
        lattice, used = self._near_least()
        prices, mean, square = (
            np.ascontiguousarray(array[:, used]) for array in (self._prices, self._mean, self._square)
        )  # fmt: skip
        ahead, through = np.empty(len(lattice.sets)), np.empty(len(lattice.nodes))
        steps = lattice_kernels.Lattice(*lattice)
        work = kernels.Prices(self._graph, steps, self._charges[used], prices, ahead, through)
        for _ in range(_STEPS if len(lattice.nodes) <= _MANY else _FEW_STEPS):
            self._number += 1
            warmth = self._temperature() * self._mean_weight
            rate = max(pace.rate * pace.slowing**self._number, pace.least_rate) * self._slowed
            if not (_look_ahead(work, warmth, False, search) and _follow(work, warmth, search)):
                break
            kernels.climb(work, self._number, rate, mean, square)
            search.spend(2 * self._work_of(lattice))
            if search.expired():
                break
        self._prices = self._prices.copy()
        self._prices[:, used], self._mean[:, used], self._square[:, used] = prices, mean, square

    def _near_least(self) -> tuple[Lattice, IntArray]:
        """Return what prices are to climb on, with classes of its own, and which classes these are."""
        lattice = self._lattice
        most = (self._pace.margin * self._temperature() + _NEAR) * self._mean_weight * _WHOLE
        sets, steps = self._over <= most, self._over_steps <= most
        if not sets.all():
            lattice = _part(lattice, sets, steps)
        is_used = np.zeros(len(self._charges), dtype=bool)
        is_used[lattice.classes] = True
        number = (np.cumsum(is_used) - 1).astype(np.int32)
        return lattice._replace(classes=number[lattice.classes]), np.flatnonzero(is_used)

    def _temperature(self) -> float:
        pace = self._pace
        return max(pace.temperature * pace.cooling**self._number, pace.least_temperature) * self._slowed

    def _work_of(self, lattice: Lattice) -> float:
        """Return the effort of looking ahead once: values that are live, summed over all steps."""
        live = int((np.diff(lattice.live_first) * np.diff(lattice.step_first)).sum())
        return (live + 10 * len(lattice.nodes)) / tuning.PRICING_RATE

    def _exact(
        self, given: FloatArray, search: Search
    ) -> tuple[kernels.Prices, FloatArray, FloatArray, FloatArray] | None:
        """Return prices in whole parts, and what they prove for every set and step; None if time was up before."""
        prices = np.floor(given * _WHOLE)
        ahead, through = np.zeros(len(self._lattice.sets)), np.empty(len(self._lattice.nodes))
        steps = lattice_kernels.Lattice(*self._lattice)
        work = kernels.Prices(self._graph, steps, self._charges, prices, ahead, through)
        is_done = _look_ahead(work, 0.0, True, search)
        search.spend(self._work_of(self._lattice) + tuning.PRICING_EFFORT)
        return (work, prices, ahead, through) if is_done else None

    def _settle(self, limit: int, search: Search) -> bool:
        """Take the bound that the prices prove, and drop what no plan below the limit passes; False if nothing is left.

        Plans of ``limit`` or more may pass what is dropped: so the bound is never above the limit.
        """
        lattice = self._lattice
        found = self._exact(self._prices, search) if len(lattice.sets) > 0 else None
        if found is None:
            return False
        work, _, ahead, through = found
        most = (limit - 1) * _WHOLE
        self._value = float(ahead[0])
        if self._value > self._best:
            self._best, self._best_prices = self._value, self._prices
        value = limit if ahead[0] > most else int(-(-ahead[0] // _WHOLE))
        self.excess = max(self.excess, value * self._unit)
        behind = np.full(len(ahead), np.inf)
        kernels.look_back(work, behind)
        over = behind + ahead
        over_steps = np.repeat(behind, np.diff(lattice.step_first)) + through
        keep = over <= most
        is_open = bool(keep[-1])
        if not keep.all():
            steps = (over_steps <= most) & np.repeat(keep, np.diff(lattice.step_first)) & keep[lattice.targets]
            self._lattice = _part(lattice, keep, steps)
            over, over_steps = over[keep], over_steps[steps]
        self._over, self._over_steps = over - self._value, over_steps - self._value
        return is_open

    def potential(self, search: Search, *, from_end: bool = False) -> Potential:
        """Return the potential for a search below the limit, in time or against it; none if time is up.

        With ``from_end`` it is that of a search against time (see above).
        """
        lattice = self._lattice
        found = self._exact(self._best_prices, search)
        if found is None:
            return NO_POTENTIAL
        work, prices, bounds, _ = found
        sets = lattice.sets
        if from_end:
            bounds = np.full(len(sets), np.inf)
            kernels.look_back(work, bounds)
            owner = np.zeros(prices.shape[1], dtype=np.int64)
            owner[lattice.classes] = lattice.live
            store = _WHOLE * np.where(owner < len(self._problem.room), self._charges, 0)
            out = _WHOLE * self._charges + store
            bounds -= np.diff(np.cumsum([0.0, *out[lattice.classes]])[lattice.live_first])
            prices = out - np.maximum(prices[1] * (store > 0), prices[0] + np.array([store, np.zeros_like(store)]))
            sets = sets ^ np.uint64(2**self._chains.computed - 1)
        slots = 1 << max(1, 2 * len(sets) - 1).bit_length()
        keys, ranks = np.zeros(slots, dtype=np.uint64), np.full(slots, -1, dtype=np.int64)
        table = SetTable(keys, ranks)
        enter_all(table, sets, np.arange(len(sets)))
        places = np.full(self._n, -1, dtype=np.int64)
        for number, nodes in enumerate(self._chains.nodes[: self._chains.computed]):
            places[nodes[0]] = number
        name_first = np.cumsum([0, *(len(nodes) for nodes in self._chains.nodes)])
        names = np.array([v for nodes in self._chains.nodes for v in nodes], dtype=np.int64)
        # A set that no step leads out of any more, for all plans would pass a dropped one, is as good as dropped.
        bounded = np.minimum(bounds, 2.0**52).astype(np.int64)
        return Potential(
            table, places, name_first, names, lattice.live_first, lattice.live, lattice.classes, bounded,
            prices.astype(np.int64), _WHOLE,
        )  # fmt: skip


def _part(lattice: Lattice, keep: BoolArray, steps: BoolArray) -> Lattice:
    """Return some sets of a lattice, and those of some steps that lead from one to another."""
    source = np.repeat(np.arange(len(keep)), np.diff(lattice.step_first))
    steps = steps & keep[source] & keep[lattice.targets]
    live = np.diff(lattice.live_first)
    entries = np.repeat(keep, live)
    number = (np.cumsum(keep) - 1).astype(np.int32)
    degrees = np.bincount(source[steps], minlength=len(keep))[keep]
    return Lattice(
        lattice.sets[keep],
        np.concatenate([[0], np.cumsum(degrees)]),
        lattice.nodes[steps],
        number[lattice.targets[steps]],
        np.concatenate([[0], np.cumsum(live[keep])]),
        lattice.live[entries],
        lattice.classes[entries],
    )


def _look_ahead(work: kernels.Prices, temperature: float, is_whole: bool, search: Search) -> bool:
    """Look ahead in short calls; False if time was up before the start was reached."""
    count = len(work.ahead)
    for end in range(count, 0, -_CALL):
        if end < count and search.expired():
            return False
        kernels.look_ahead(work, max(0, end - _CALL), end, temperature, is_whole)
    return True


def _follow(work: kernels.Prices, temperature: float, search: Search) -> bool:
    """Follow the flow in short calls; False if time was up before the end was reached."""
    count = len(work.ahead)
    for begin in range(0, count, _CALL):
        if begin > 0 and search.expired():
            return False
        kernels.follow(work, begin, min(begin + _CALL, count), temperature)
    return True


def _is_flat(values: list[float], goal: float) -> bool:
    """True if the last values rose by little of what is missing to the goal."""
    if len(values) <= _PATIENCE:
        return False
    return values[-1] - values[-1 - _PATIENCE] < _LEAST_RISE * (goal - values[-1])
