"""The least cost of cores that execute all actors within a period: a linear program over what one core can execute.

A column is a set of actors on a core of some kind whose executions, and accesses to buffers that are not in the core's
own memory, take no longer than the period (Gilmore and Gomory's program for cutting stock). Every actor is in a column.
A buffer is in the memory of one core. Channels that multicasts join are one buffer here, in which a core has a part if
one of them is in its memory: so no more cores do than there are channels, and one where all multicasts are replaced.
Columns are generated as they are needed. Prices of the rows prove that the cores for a period cost more than some
amount: no set of actors that a core can execute earns more than the core costs and the buffers in its memory
(:mod:`core_sets_kernels`), and all actors earn more than that amount and all buffers, as often as they may be in a
memory, together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.core_sets_kernels import CoreSets, dearest
from shorthaul.dataflow.bounds.firings import channels_together
from shorthaul.dataflow.bounds.prices import least_bytes
from shorthaul.dataflow.model import Application, Channel, Platform, ticks_for
from shorthaul.dataflow.plan import CorePrices

IntArray = npt.NDArray[np.int64]
#: What cores cost at least, in units, and prices of actors, of buffers, and of cores of each kind that prove it.
_Proof: TypeAlias = tuple[int, IntArray, IntArray, list[int]]
#: A core cost of the dearest core in whole numbers.
_UNITS: Final = 10**12
#: Products of counts and costs up to which whole numbers of 64 bits are enough.
_MOST_SUM: Final = 2**60
#: Longer than any period.
_ANY_PERIOD: Final = 2**62
#: By how much more the check may round up what the time left on a core earns.
_ROUNDED: Final = 2
#: By how much prices are scaled down beyond what was found, so that rounding them cannot break a proof.
_MARGIN: Final = 1e-9


@dataclass(frozen=True, slots=True)
class _Kind:
    """Cores that are alike: how many, what one costs, and per actor and buffer what they ask of it in ticks."""

    core_type: str
    local_bytes: int
    crossbar_bytes_per_s: float
    count: int
    cost: int
    ticks: IntArray
    first: IntArray
    buffer: IntArray
    near: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A set of actors on a core of a kind, the buffers in its memory, and the period it takes."""

    kind: int
    actors: tuple[int, ...]
    buffers: tuple[int, ...]
    period: int


def _mixed(first: IntArray, second: IntArray) -> IntArray:
    """Return a digest of every pair of numbers."""
    word = first.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + second.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # those of splitmix64
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    return (word ^ (word >> np.uint64(31))).astype(np.int64)


class CoreContents:
    """What the cores of a platform can execute of an application, for any period."""

    def __init__(self, application: Application, platform: Platform, strategy: str) -> None:
        multicasts = set(application.multicasts)
        actors = [actor for actor in application.actors if actor.id not in multicasts or strategy == "reference"]
        self.actors = [actor.id for actor in actors]
        together = channels_together(application)
        if strategy == "reference":  # every channel is a buffer of its own
            together = {channel.id: [channel] for channel in application.channels}
        self.buffers = [*together]
        self.size = np.array([least_bytes(group) for group in together.values()], np.int64)
        #: Per buffer, how many cores have a part of it in their memories at most.
        self.copies = np.array([len(group) if strategy == "mrb-explore" else 1 for group in together.values()])
        costs = [platform.core_types[core.type].cost for core in platform.cores]
        self.scale = Fraction(_UNITS) / Fraction(max(costs)) if max(costs) > 0 else Fraction(1)
        alike: dict[tuple[str, int, float], int] = {}
        for tile in platform.tiles:
            for core in tile.cores:
                key = (core.type, core.local_bytes, tile.crossbar_bytes_per_s)
                alike[key] = alike.get(key, 0) + 1
        self.kinds = [
            _Kind(
                *key,
                count,
                math.floor(Fraction(platform.core_types[key[0]].cost) * self.scale),
                *self._asked(application, [*together.values()], key),
            )
            for key, count in alike.items()
        ]
        self.sets = [
            CoreSets(kind.ticks, kind.first, kind.buffer, kind.near, self.size, kind.local_bytes) for kind in self.kinds
        ]
        #: Per actor and per buffer the number of its class: those alike have the same prices.
        self.actor_class, self.buffer_class = self._classes()
        self._program: _Program | None = None
        self.tolerance = tuning.CORE_SET_TOLERANCES[0]
        #: No period below is longer than all work on one core: a core cost for which this is not enough has no mapping.
        self.longest = sum(int(np.maximum(0, kind.ticks).sum() + kind.near.sum()) for kind in self.kinds)
        self.applies = len(platform.cores) * _UNITS * 4 < _MOST_SUM

    def _asked(
        self, application: Application, groups: Sequence[Sequence[Channel]], key: tuple[str, int, float]
    ) -> tuple[IntArray, ...]:  # fmt: skip
        core_type, local, bandwidth = key
        number = {name: i for i, name in enumerate(self.actors)}
        taken = {actor.id: actor.ticks.get(core_type, -1) for actor in application.actors}
        ticks = np.array([taken[name] for name in self.actors], np.int64)
        accesses: list[dict[int, int]] = [{} for _ in self.actors]
        for b, group in enumerate(groups):
            near = ticks_for(group[0].token_bytes, bandwidth, application.ticks_per_second)
            for end in (end for channel in group for end in (channel.src, channel.dst)):
                if end in number and self.size[b] > local:
                    ticks[number[end]] += near if ticks[number[end]] >= 0 else 0
                elif end in number:
                    accesses[number[end]][b] = accesses[number[end]].get(b, 0) + near
        first = np.cumsum([0, *map(len, accesses)]).astype(np.int64)
        buffer = np.array([b for asked in accesses for b in asked], np.int64)
        near_of = np.array([near for asked in accesses for near in asked.values()], np.int64)
        return ticks, first, buffer, near_of

    def _classes(self) -> tuple[IntArray, IntArray]:
        """Return the classes of the coarsest partition of actors and buffers that ask the same of one another.

        The program has prices that are equal in each: those of any solution, averaged over a class, are one.
        """
        of_actors, kinds = len(self.actors), self.kinds
        wide = np.zeros((of_actors + len(self.buffers), len(kinds) + 3), np.int64)
        wide[:of_actors, 1:-2] = np.column_stack([kind.ticks for kind in kinds])
        wide[of_actors:, 0], wide[of_actors:, -2], wide[of_actors:, -1] = 1, self.size, self.copies
        alike = np.unique(wide, axis=0, return_inverse=True)[1].ravel()
        actor = np.concatenate([np.repeat(np.arange(of_actors), np.diff(kind.first)) for kind in kinds])
        buffer = of_actors + np.concatenate([kind.buffer for kind in kinds])
        asked = np.concatenate([number + len(kinds) * kind.near for number, kind in enumerate(kinds)])
        count = 0
        while count < (count := int(alike.max(initial=-1)) + 1):
            sums = np.zeros(len(alike), np.int64)
            np.add.at(sums, actor, _mixed(asked, alike[buffer]))
            np.add.at(sums, buffer, _mixed(asked, alike[actor]))
            alike = np.unique(np.column_stack([alike, sums]), axis=0, return_inverse=True)[1].ravel()
        actors, buffers = (np.unique(part, return_inverse=True)[1] for part in (alike[:of_actors], alike[of_actors:]))
        return actors, buffers

    def raised(
        self, least: Mapping[float, int], known: Mapping[float, float], tolerance: float, search: Search
    ) -> tuple[dict[float, int], dict[float, CorePrices]]:
        """Return the least periods per core cost, raised at those that are ``known``, and the proofs by core cost.

        Known are periods of plans, or infinity. The widest gap is next, in steps that double, then by bisection until
        all are as close as the tolerance. Whatever cores cost for a period at least bounds all core costs below.
        """
        low, proofs, self.tolerance = dict(least), dict[float, CorePrices](), tolerance
        high, step = dict(known), dict.fromkeys(known, tuning.CORE_SET_STEP)
        while not search.expired():
            left = [cost for cost, most in high.items() if low[cost] * (1 + tolerance) + 1 < most]
            left = [cost for cost in left if low[cost] <= self.longest]
            if not left:
                break
            cost = max(left, key=lambda cost: (known[cost] / low[cost], cost))
            period = int(low[cost] + min(low[cost] * step[cost], (high[cost] - low[cost]) / 2, low[cost])) + 1
            share = max(1 / len(left), tuning.WIDEST_GAP_SHARE)
            proof = self.excluded(period, cost, sorted(low), search.part(share))
            if proof is not None:
                below = proof["core_cost"]
                proofs[below] = proof
                low |= {one: max(old, period + 1) for one, old in low.items() if one <= below}
            if low[cost] > period:
                step[cost] *= 2
            else:
                high[cost] = period
        return low, proofs

    def excluded(
        self, period: int, core_cost: float, costs: Sequence[float], search: Search
    ) -> CorePrices | None:  # fmt: skip
        """Return the proof that cores for a period cost more than one of the costs, ``core_cost`` or close to it.

        None if none was found.
        """
        for _ in range(2):
            program = self._program or _Program(self, ())
            program.limit(period)
            found = self._proven(program, period, core_cost, search)
            self._program = _Program(self, program.used()) if program.is_full or program.is_lost else program
            if not program.is_lost:  # numerical trouble, which another start may avoid
                break
        below = [cost for cost in costs if found is not None and found[0] > Fraction(cost) * self.scale]
        return self._document(period, max(below), *found[1:]) if found is not None and below else None

    def _proven(self, program: _Program, period: int, core_cost: float, search: Search) -> _Proof | None:
        """Generate columns until prices prove that they cost more than ``core_cost``, or it is clear that none do.

        Return the proof that they cost most.
        """
        units, best = Fraction(core_cost) * self.scale, None
        while True:
            search.spend(program.steps / tuning.CORE_SET_STEPS)
            if search.expired() or not program.solve() or program.cost <= float(units) / _UNITS:
                break
            earned, price, counted = program.prices()
            more = sum(n * kind.count for n, kind in zip(counted.tolist(), self.kinds, strict=True))
            above = (program.cost * _UNITS + more) / max(1.0, float(units) + more) - 1
            tolerance = max(self.tolerance, tuning.CORE_SET_SLACK * min(1.0, above))
            for steps in tuning.CORE_SET_LIMITS:
                ceilings, found = self._best_sets(period, (earned, price, counted), tolerance, steps, search)
                for column in found:
                    program.add(column)
                if found or None not in ceilings or search.expired():
                    break
            proof = self._proof(earned, price, counted, ceilings)
            if proof is not None and (best is None or proof[0] > best[0]):
                best = proof
            if not found or (best is not None and best[0] > units):
                break
        return best

    def _best_sets(
        self, period: int, prices: tuple[IntArray, IntArray, IntArray], tolerance: float, most_steps: int,
        search: Search,
    ) -> tuple[list[int | None], list[_Column]]:  # fmt: skip
        """Return what a set on a core of each kind earns at most (None: unknown), and sets that earn too much."""
        earned, price, counted = prices
        ceilings: list[int | None] = []
        found = []
        for k, (kind, at) in enumerate(zip(self.kinds, self.sets, strict=True)):
            target = int((kind.cost + int(counted[k])) * (1 + tolerance)) + 1
            done = at.steps
            most = int(min(most_steps, search.left() * tuning.CORE_SET_STEPS))
            is_over = dearest(at, period, earned, price, target, most)
            search.spend((at.steps - done) / tuning.CORE_SET_STEPS)
            ceilings.append(int(at.best) if is_over else None)
            for turn in range(min(int(at.found), len(at.taken))):
                taken, local = (np.flatnonzero(np.asarray(one)[turn]).tolist() for one in (at.taken, at.local))
                found.append(_Column(k, tuple(taken), tuple(local), period))
        return ceilings, found

    def _proof(
        self, earned: IntArray, price: IntArray, counted: IntArray, ceilings: Sequence[int | None]
    ) -> _Proof | None:
        """Return what prices prove that cores cost, and those prices: scaled down, or with dearer cores."""
        if None in ceilings:
            return None
        most = [ceiling for ceiling in ceilings if ceiling is not None]
        dearer = [max(0, ceiling + _ROUNDED - kind.cost) for ceiling, kind in zip(most, self.kinds, strict=True)]
        proofs = [(earned, price, dearer)]
        allowed = [kind.cost + int(more) for kind, more in zip(self.kinds, counted, strict=True)]
        if all(allowed):
            scale = max(ceiling / cost for ceiling, cost in zip(most, allowed, strict=True)) * (1 + _MARGIN)
            proofs.append((np.floor(earned / scale).astype(np.int64), np.ceil(price / scale).astype(np.int64),
                           counted.tolist()))  # fmt: skip

        def least(proof: tuple[IntArray, IntArray, list[int]]) -> int:
            of_actors, of_buffers, of_cores = proof
            more = sum(n * kind.count for n, kind in zip(of_cores, self.kinds, strict=True))
            return int(of_actors.sum() - (of_buffers * self.copies).sum()) - more

        return max(((least(proof), *proof) for proof in proofs), key=lambda proof: proof[0])

    def _document(
        self, period: int, core_cost: float, earned: IntArray, price: IntArray, dearer: Sequence[int]
    ) -> CorePrices:  # fmt: skip
        kinds = [
            {
                "core_type": kind.core_type,
                "local_bytes": kind.local_bytes,
                "crossbar_bytes_per_s": kind.crossbar_bytes_per_s,
                "price": more,
                "per_tick": int(at.per_tick),
                "per_byte": int(at.per_byte),
            }
            for kind, more, at in zip(self.kinds, dearer, self.sets, strict=True)
        ]
        return {
            "core_cost": core_cost,
            "period": period + 1,
            "units_per_core_cost": str(self.scale),
            "actors": {name: int(n) for name, n in zip(self.actors, earned, strict=True) if n},
            "buffers": {name: int(n) for name, n in zip(self.buffers, price, strict=True) if n},
            "cores": kinds,
        }


class _Program:
    """The linear program: columns of least cost, artificial ones for actors that are in none."""

    def __init__(self, contents: CoreContents, columns: Iterable[_Column]) -> None:
        from ortools.linear_solver import pywraplp  # SciPy's take several times as long to import

        self.contents = contents
        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        self.solver.SetSolverSpecificParametersAsString("use_preprocessing: false")  # half of the time of small ones
        self.optimal = pywraplp.Solver.OPTIMAL
        infinity = self.solver.infinity()
        self.cover = [self.solver.Constraint(float(n), infinity) for n in np.bincount(contents.actor_class)]
        held = np.bincount(contents.buffer_class, contents.copies)
        self.once = [self.solver.Constraint(-infinity, float(n)) for n in held]
        self.count = [self.solver.Constraint(-infinity, float(kind.count)) for kind in contents.kinds]
        self.objective = self.solver.Objective()
        self.added: list[tuple[_Column, Any]] = []
        self.period = _ANY_PERIOD
        self.is_lost = False
        self.last = tuple(np.zeros(len(rows), np.int64) for rows in (contents.actors, contents.buffers, self.count))
        for row in self.cover:
            row.SetCoefficient(self._variable(tuning.UNCOVERED_COST), 1.0)
        for column in columns:
            self.add(column)
        self.first = len(self.added)

    def _variable(self, cost: float) -> Any:
        variable = self.solver.NumVar(0.0, self.solver.infinity(), "")
        self.objective.SetCoefficient(variable, cost)
        return variable

    def add(self, column: _Column) -> None:
        """Let a set of actors be chosen."""
        variable = self._variable(self.contents.kinds[column.kind].cost / _UNITS)
        self.count[column.kind].SetCoefficient(variable, 1.0)
        for of, times in Counter(self.contents.actor_class[[*column.actors]].tolist()).items():
            self.cover[of].SetCoefficient(variable, float(times))
        for of, times in Counter(self.contents.buffer_class[[*column.buffers]].tolist()).items():
            self.once[of].SetCoefficient(variable, float(times))
        self.added.append((column, variable))

    def limit(self, period: int) -> None:
        """Let no set of actors be chosen that takes longer than a period."""
        for column, variable in self.added:
            if (column.period > period) != (column.period > self.period):
                variable.SetUb(self.solver.infinity() if column.period <= period else 0.0)
        self.period = period

    def used(self) -> list[_Column]:
        """Return the columns that do not cost far more than the last prices earn."""
        earned, price, counted = self.last
        most = 1 + tuning.DEAR_COLUMNS
        return [
            column
            for column, _ in self.added
            if earned[[*column.actors]].sum() - price[[*column.buffers]].sum()
            >= (self.contents.kinds[column.kind].cost + counted[column.kind]) / most
        ]

    @property
    def is_full(self) -> bool:
        """True if there are so many columns that solving takes long."""
        return len(self.added) > 2 * (self.first + len(self.cover))

    @property
    def steps(self) -> int:
        """What solving it counts."""
        rows = len(self.cover) + len(self.once) + len(self.count)
        return tuning.PROGRAM_STEPS + tuning.STEPS_PER_ENTRY * rows * (len(self.cover) + len(self.added))

    def solve(self) -> bool:
        """Return whether the program was solved."""
        self.is_lost = self.solver.Solve() != self.optimal
        return not self.is_lost

    @property
    def cost(self) -> float:
        """What the columns cost, in costs of the dearest core."""
        return float(self.objective.Value())

    def prices(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the prices of actors, of buffers in memories of cores, and of cores beyond what they cost."""

        def whole(rows: Sequence[Any], sign: int) -> IntArray:
            prices = np.array([sign * row.dual_value() for row in rows])
            return np.asarray(np.ceil(np.maximum(prices, 0.0) * _UNITS), np.int64)

        at = self.contents
        earned, price = whole(self.cover, 1)[at.actor_class], whole(self.once, -1)[at.buffer_class]
        self.last = earned, price, whole(self.count, -1)
        return self.last
