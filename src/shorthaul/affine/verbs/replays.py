"""Orders of one program compared by replay: as derived and as searched, for one memory or several."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

import numpy as np

from shorthaul.affine import tuning
from shorthaul.affine.effort import OutOfEffortError
from shorthaul.affine.model import Program
from shorthaul.affine.orders.memories.levels import LevelOrder
from shorthaul.affine.orders.upper_bound import UpperBound
from shorthaul.affine.orders.upper_report import orders_text
from shorthaul.affine.plan import IntArray, Plan
from shorthaul.affine.replay.cdag import ConcreteCdag
from shorthaul.affine.replay.listing import listed_order
from shorthaul.affine.replay.tile_order import best_origin, tiled_order
from shorthaul.affine.replay.tiling import Tiling, best_tiling, tile_space
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads


@dataclass(frozen=True, slots=True)
class Offer:
    """An order of the computed vertices, how it was made, and what it costs."""

    value: float
    order: IntArray
    how: str


class Replays:
    """Orders of one program that are replayed; ``best`` is the best so far.

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
        self.program, self.cdag, self.sizes, self.capacities, self.search = program, cdag, sizes, capacities, search
        self._floor = int(np.count_nonzero(cdag.used()[: cdag.inputs]))
        self.best: Offer | None = None
        self._offers: list[Offer] = []

    def given(self) -> None:
        """Offer the program order, and that of a search that this one goes on from."""
        resumed = self.search.start()
        self.offer(self.cdag.program_order, "program order")
        if isinstance(resumed, Plan):
            self.offer(self.order_of(resumed), resumed.tiling)

    def loads(self, order: IntArray, capacity: int) -> int:
        """Return the loads of an order into a memory of ``capacity`` words."""
        return int(belady_loads(order, self.cdag.starts, self.cdag.operands, capacity).sum())

    def offer(self, order: IntArray, how: str, known: Mapping[int, int] | None = None) -> None:
        """Take note of an order, and of ``how`` it was made, if it is better than all before.

        ``known`` holds its loads into a memory, if they are known.
        """
        value = self._value(order, known or {})
        if self.cdag.n <= tuning.LARGEST_LISTED:
            self._offers.append(Offer(value, order, how))
        if self.best is None or value < self.best.value:
            self.best = Offer(value, order, how)
            self.search.keep(value, lambda: self.plan_of(order, how))

    @property
    def offers(self) -> tuple[Offer, ...]:
        """The best order so far, then others to begin list scheduling with, the best first."""
        others = sorted(self._offers, key=lambda offer: offer.value)
        first = () if self.best is None else (self.best,)
        kept: list[Offer] = []
        for offer in (*first, *others):
            if not any(offer.value == item.value and np.array_equal(offer.order, item.order) for item in kept):
                kept.append(offer)
        return tuple(kept[: tuning.MOST_LISTED_OFFERS])

    def _value(self, order: IntArray, known: Mapping[int, int] = MappingProxyType({})) -> float:
        """Return what an order costs."""
        every = {words: self.loads(order, words) for words in self.capacities if words not in known}
        loads = [*every.values(), *known.values()]
        return float(loads[0]) if len(loads) == 1 else statistics.geometric_mean(max(1, count) for count in loads)

    def evaluations(self, asked: int | None) -> int:
        """Return how many tiled orders are replayed for each memory at most."""
        most = max(tuning.LEAST_REPLAYS, min(tuning.MOST_REPLAYS, tuning.REPLAYED_INSTANCES // self.cdag.n))
        return max(1, (asked or most) // len(self.capacities))

    def derive(self, here: UpperBound | LevelOrder, evaluations: int) -> int | None:
        """Replay the derived orders ``here``; return the loads of the first one into the largest memory."""
        replayed = None
        with suppress(OutOfEffortError):
            if isinstance(here, LevelOrder):
                order = tiled_order(here.order, self.cdag, self.sizes)
                self.offer(order, "derived: " + orders_text(here))
                replayed = self.loads(order, self.capacities[0])
            alone = here.alone if isinstance(here, LevelOrder) else dict.fromkeys(self.capacities, here)
            for words, upper in alone.items():
                loads = self._derived(upper, words, max(1, min(8, evaluations // 4)))
                replayed = loads if replayed is None else replayed
        return replayed

    def _derived(self, upper: UpperBound, words: int, tries: int) -> int:
        """Try the order derived for one memory; return its loads."""
        how, sizes = "derived: " + orders_text(upper), {**self.sizes, "S": words}

        def keep(order: IntArray, loads: int) -> None:
            self.offer(order, how, {words: loads})

        return best_origin(upper, self.cdag, sizes, self.search, floor=self._floor, tries=tries, keep=keep)[1]

    def tile(self, words: int, evaluations: int, search: Search) -> None:
        """Replay tiled orders of the concrete instances, for one memory."""
        with suppress(OutOfEffortError):
            space = tile_space(self.program, self.sizes, self.cdag)

            def keep(tiling: Tiling, loads: int) -> None:
                self.offer(space.order(tiling), space.describe(tiling), {words: loads})

            best_tiling(space, words, search, evaluations=evaluations, floor=self._floor, keep=keep)

    def improve(self, others: Iterable[Offer], floor: float) -> Offer:
        """Return the best order of all, ``others`` too, and of those that list scheduling makes of it.

        Orders that are made of the program order count as well. It goes on with what is better, down to ``floor``
        loads; larger orders are left as they are.
        """
        assert self.best is not None
        kept, others = self.best.value, tuple(others)
        self.best = found = min((*others, self.best), key=lambda offer: offer.value)  # of orders alike a derived one
        if found.value < kept:
            self.search.keep(found.value, lambda: self.plan_of(found.order, found.how))
        if self.cdag.n <= tuning.LARGEST_LISTED:
            search, self._offers = self.search.beside(tuning.LISTING_EFFORT), [*others, *self._offers]
            given = Offer(self._value(self.cdag.program_order), self.cdag.program_order, "program order")
            first, *further = self.offers  # the best of these need not become the best
            starts = [first, *(item for item in (given, *further) if item is given or item.how != given.how)]
            for base in starts if first.how != given.how else [first, *further]:
                self._listed(base.order, f"list scheduling of: {base.how}", floor, search)
        return self.best

    def _listed(self, base: IntArray, how: str, floor: float, search: Search) -> None:
        """Offer what list scheduling makes of one order, and of what it has made, while that is better."""
        better = True
        least = self._value(base)
        while better:
            better, given = False, base
            for words, window, weight in product(self.capacities, tuning.LISTING_WINDOWS, tuning.LISTING_WEIGHTS):
                if self.best is None or self.best.value <= floor or search.expired():
                    return
                order = listed_order(self.cdag, given, words, window, weight)
                value = self._value(order)
                search.spend(2 * self.cdag.n / tuning.REPLAYED_PER_EFFORT)
                if value < least:
                    least, base, better = value, order, True
                    self.offer(order, how)

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

    def plan_of(self, order: IntArray, how: str) -> Plan:
        """Return an order as a plan, with how it was made."""
        first = len(self.cdag.names) - len(self.program.statements)
        parameters = {name: self.sizes[name] for name in self.program.parameters}
        deepest = max(len(item.iterators) for item in self.program.statements)
        rows = np.ascontiguousarray(self.cdag.coordinates[order][:, :deepest])
        names, owner = self.cdag.names[first:], self.cdag.owner[order] - first
        return Plan(parameters, self.capacities[0], names, owner, rows, how, self.capacities[1:])
