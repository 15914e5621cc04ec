"""Orders of one program compared by replay: as derived and as searched, for one memory or several."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from shorthaul.affine import tuning
from shorthaul.affine.effort import OutOfEffortError
from shorthaul.affine.model import Program
from shorthaul.affine.orders.memories.levels import LevelOrder
from shorthaul.affine.orders.upper_bound import UpperBound
from shorthaul.affine.orders.upper_report import orders_text
from shorthaul.affine.plan import IntArray, Plan
from shorthaul.affine.replay.cdag import ConcreteCdag
from shorthaul.affine.replay.tile_order import best_origin, tiled_order
from shorthaul.affine.replay.tiling import Tiling, best_tiling, tile_space
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads


class Replays:
    """The best order so far, that of a search that this one goes on from included.

    An order costs its loads, of several memories their geometric mean: a tenth less counts alike in each.
    """

    def __init__(
        self,
        program: Program,
        cdag: ConcreteCdag,
        sizes: Mapping[str, int],
        capacities: tuple[int, ...],
        search: Search,
    ) -> None:
        self.program, self.cdag, self.sizes, self.capacities, self._search = program, cdag, sizes, capacities, search
        self._best: tuple[float, IntArray, str] | None = None
        resumed = search.start()
        self._given = [(cdag.program_order, "program order")]
        if isinstance(resumed, Plan):
            self._given.append((self.order_of(resumed), resumed.tiling))
        for order, how in self._given:
            self.offer(order, how)

    def loads(self, order: IntArray, capacity: int) -> int:
        """Return the loads of an order into a memory of ``capacity`` words."""
        return int(belady_loads(order, self.cdag.starts, self.cdag.operands, capacity).sum())

    def offer(self, order: IntArray, how: str, known: Mapping[int, int] | None = None) -> None:
        """Take note of an order, and of ``how`` it was made, if it is better than all before.

        ``known`` holds its loads into a memory, if they are known.
        """
        every = {words: self.loads(order, words) for words in self.capacities if words not in (known or {})}
        loads = [*every.values(), *(known or {}).values()]
        value = float(loads[0]) if len(loads) == 1 else statistics.geometric_mean(max(1, count) for count in loads)
        if self._best is None or value < self._best[0]:
            self._best = value, order, how
            self._search.keep(value, self._plan_of(order, how))

    def search(
        self, here: UpperBound | LevelOrder | None, bounds: Mapping[int, float], evaluations: int | None
    ) -> int | None:
        """Try the derived orders ``here`` and tiled ones; return the loads of the former into the largest memory.

        ``bounds`` are those of the memories, ``evaluations`` says how many tiled orders are replayed at most.
        """
        self._best, replayed = None, None  # of orders alike a derived one comes first
        alone = here.alone if isinstance(here, LevelOrder) else dict.fromkeys(self.capacities, here)
        most = max(tuning.LEAST_REPLAYS, min(tuning.MOST_REPLAYS, tuning.REPLAYED_INSTANCES // self.cdag.n))
        most = max(1, (evaluations or most) // len(self.capacities))
        with suppress(OutOfEffortError):
            if isinstance(here, LevelOrder):
                order = tiled_order(here.order, self.cdag, self.sizes)
                self.offer(order, "derived: " + orders_text(here))
                replayed = self.loads(order, self.capacities[0])
            for words, upper in alone.items():
                loads = None if upper is None else self._derived(upper, words, bounds[words], max(1, min(8, most // 4)))
                replayed = loads if replayed is None else replayed
            for left, words in zip(range(len(alone), 0, -1), alone, strict=True):
                self._tiled(words, bounds[words], most, self._search.part(1 / left))
        for order, how in self._given:
            self.offer(order, how)
        return replayed

    def _derived(self, upper: UpperBound, words: int, floor: float, tries: int) -> int:
        """Try the order derived for one memory; return its loads."""
        how, sizes = "derived: " + orders_text(upper), {**self.sizes, "S": words}

        def keep(order: IntArray, loads: int) -> None:
            self.offer(order, how, {words: loads})

        return best_origin(upper, self.cdag, sizes, self._search, floor=floor, tries=tries, keep=keep)[1]

    def _tiled(self, words: int, floor: float, evaluations: int, search: Search) -> None:
        """Try tiled orders of the concrete instances, for one memory."""
        space = tile_space(self.program, self.sizes, self.cdag)

        def keep(tiling: Tiling, loads: int) -> None:
            self.offer(space.order(tiling), space.describe(tiling), {words: loads})

        best_tiling(space, words, search, evaluations=evaluations, floor=floor, keep=keep)

    def best(self) -> Plan:
        """Return the best plan."""
        assert self._best is not None
        return self._plan_of(*self._best[1:])

    def order_of(self, plan: Plan) -> IntArray:
        """Return the computed vertices in the order of a plan of all of them."""
        number = {name: at for at, name in enumerate(self.cdag.names)}
        owner = np.array([number[name] for name in plan.names])[plan.statements]
        order, deepest = self.cdag.program_order, plan.iterations.shape[1]
        given = np.lexsort(np.column_stack([owner, plan.iterations]).T)
        listed = np.column_stack([self.cdag.owner[order], self.cdag.coordinates[order][:, :deepest]])
        found = np.empty(len(order), np.int64)
        found[given] = order[np.lexsort(listed.T)]
        return found

    def _plan_of(self, order: IntArray, how: str) -> Plan:
        first = len(self.cdag.names) - len(self.program.statements)
        parameters = {name: self.sizes[name] for name in self.program.parameters}
        deepest = max(len(item.iterators) for item in self.program.statements)
        rows = np.ascontiguousarray(self.cdag.coordinates[order][:, :deepest])
        names, owner = self.cdag.names[first:], self.cdag.owner[order] - first
        return Plan(parameters, self.capacities[0], names, owner, rows, how, self.capacities[1:])
