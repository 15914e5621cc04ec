"""Better mappings than the explorer's: annealing on the load of the busiest resource, then exact schedules.

The load of the busiest core or interconnect bounds the period of a mapping from below, and changes by a few sums when
an actor moves. So annealing sees millions of mappings; only those whose load leaves room for a better point are
scheduled, exactly, the most promising first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.constraints import Constraints
from shorthaul.dataflow.bounds.period import period_bound
from shorthaul.dataflow.exploration.candidates import Candidate, Knowledge, budgets_of, key_of
from shorthaul.dataflow.exploration.decoders import MultiStart
from shorthaul.dataflow.exploration.few_tokens import few_tokens
from shorthaul.dataflow.exploration.load_kernels import anneal, begin
from shorthaul.dataflow.exploration.tiling import tiled
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import Instance, decisions_of, genes
from shorthaul.dataflow.mapping.binding import (
    determine_channel_bindings,
    mapped,
    mapped_point,
    needed_capacities,
)
from shorthaul.dataflow.mapping.loads_kernels import Loads
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes, Problem
from shorthaul.dataflow.model import Decisions
from shorthaul.dataflow.modulo.memory_limits import filled, fits
from shorthaul.dataflow.modulo.periodic import dive_effort, self_timed_within
from shorthaul.dataflow.modulo.solver import Decided, Solved, annealed_point, decide_mapping, make_point, solve_mapping
from shorthaul.dataflow.options import Decoding, PlanOptions
from shorthaul.dataflow.plan import Point


def polish(
    instance: Instance,
    knowledge: Knowledge,
    options: PlanOptions,
    search: Search,
    constraints: Constraints,
    keep: Callable[[Sequence[Point]], None] = lambda _: None,
) -> None:
    """Add better points within the constraints, until the search is used up.

    Whenever one is added, the points within the constraints are handed to ``keep``.
    """
    _Polishing(instance, knowledge, options, search, constraints, keep).run()


class _Polishing:
    """Annealing that looks for mappings that may lead to better points, and their schedules."""

    def __init__(
        self,
        instance: Instance,
        knowledge: Knowledge,
        options: PlanOptions,
        search: Search,
        constraints: Constraints,
        keep: Callable[[Sequence[Point]], None],
    ) -> None:
        self.instance, self.options, self.search = instance, options, search
        self.known = knowledge
        self.rivals: dict[tuple[int, int], float] = {}  # by price and bytes
        self.efforts = [0.0] * len(tuning.STEP_SHARES)
        self.above = [0.0] * len(tuning.STEP_SHARES)  # by what share first schedules were above loads of late
        self.constraints, self.keep = constraints, keep
        decoding = replace(options, decoder="caps", start="compact")
        kept = instance.multicast_of < 0
        tasks = int(kept.sum() + kept[instance.src].sum() + kept[instance.dst].sum())
        self.exact = tasks <= tuning.MOST_POLISHED_TASKS
        self.weights = tuning.LOAD_WEIGHTS_OF_FEW if tasks <= tuning.FEW_TASKS else tuning.LOAD_WEIGHTS
        self.decoder = MultiStart(instance, decoding, orders=tuning.ORDERS_TRIED if self.exact else 1)
        able = np.zeros((len(instance.able), len(instance.core_tile)), np.int64)
        for number, cores in enumerate(instance.able):
            able[number, : len(cores)] = cores
        counts = np.array([len(cores) for cores in instance.able], np.int64)
        fixed = np.array([actor.id in constraints.binding for actor in instance.application.actors], np.uint8)
        flips = options.strategy == "mrb-explore" and _all_replaceable(instance)
        common = options.mrb_consumer == "common-tile"
        tokens = few_tokens(instance.application)
        names = [channel.id for channel in instance.application.channels]
        least = np.maximum(1, instance.delay)
        self.tokens = dict(zip(names, tokens.tolist(), strict=True))
        #: Where channels need more tokens than the least for a schedule, trees with the least decide too little.
        is_decided = bool((tokens == least).all())
        size, near = int((least * instance.token_bytes).sum()), _near_memory(instance)
        exchanges = size > tuning.EXCHANGED * near
        self.atomic = options.capacity_rule == "atomic-firing"
        dives = sorted(map(self._dive, knowledge.points[:: len(knowledge.points) // tuning.DIVES_LOOKED_AT + 1]))
        is_cheap = bool(dives) and dives[len(dives) // 2] * tuning.MANY_DIVES <= _effort(tasks)
        #: Whether trees are small beside an exact solve, and decide much, or bytes are limited, which lists and CAPS
        #: do not look at: many mappings are then tried once. Else they get schedules by self-timed execution, and local
        #: search from there.
        self.is_soon = is_cheap and (is_decided or constraints.max_footprint is not None)
        self.few = replace(instance, delay=tokens if constraints.max_footprint is None else instance.delay)
        self.loads = Loads(Problem(self.few), able, counts, fixed, flips, common, exchanges)
        #: Whether mappings are looked for tile by tile too: buffers of actors that move find no room then.
        self.is_tiled = exchanges and not constraints.binding
        self.random, self.draw = Random(search.seed), search.generator()
        self.most_period = math.inf if constraints.deadline is None else constraints.deadline
        self.most_bytes = 1 << 60 if constraints.max_footprint is None else constraints.max_footprint
        most = math.inf if constraints.max_cost is None else constraints.max_cost
        sums = budgets_of(instance, np.asarray(self.loads.price), tuning.MOST_BUDGETS)
        self.most_price = 1e6 * most + 1
        self.budgets = [sum_ for sum_ in sums if sum_ <= self.most_price]
        if is_decided and tasks > tuning.FEW_TASKS:
            self.weights = tuning.DECIDED_WEIGHTS
        self.ratio = float(self.draw.random()) if self.is_tiled else 0.0
        self.longer = max(1, tasks // tuning.FEW_TASKS)
        for point in () if knowledge.turns and not self.is_soon else knowledge.points:
            if begin(self.loads, _genotype(instance, point)):
                self._take()

    def _dive(self, point: Point) -> float:
        return dive_effort(mapped_point(self.instance.application, self.instance.platform, point))

    def run(self) -> None:
        """Anneal and solve in turns; end when many turns found no mapping that had not been solved."""
        idle = 0
        while not self.search.expired() and idle < tuning.MOST_IDLE_TURNS:
            spent = self.search.spent()
            self._anneal(self.known.turns)
            idle = 0 if self.known.waiting else idle + 1
            self._solve(tuning.SOLVES_OVER_REST * max(self.search.spent() - spent, tuning.LEAST_POLISH))
            self.known.turns += 1
        self.known.is_over = idle >= tuning.MOST_IDLE_TURNS

    def _anneal(self, number: int) -> None:
        """Look for mappings of less load within the prices, from the best ones within them or within the next lower.

        Of n prices of the same least load the root of n are taken, in large networks in any order, and all only if a
        share of what is left allows. After first turns there, annealing goes on where it pays most, longer and from
        less heat; where actors are put into tiles first, prices are taken in turn, as the loads of few cores are those
        of many. While no point keeps to the limits, only the highest price allowed is of interest.
        """
        turn = number // len(tuning.LOAD_COOLINGS)
        loads = self.loads
        least_bytes = min((candidate.bytes for candidate in self.known.best[0].values()), default=self.most_bytes)
        budgets = self.budgets[-1:]
        if not any(map(self.constraints.allow, self.known.points)):
            pass
        elif self.is_tiled:
            budgets = [self._next_budget() for _ in self.known.alike(self.budgets)]
        else:
            budgets = [
                int(budget)
                for alike in self.known.alike(self.budgets)
                for budget in self.draw.choice(alike, math.isqrt(len(alike)), replace=False)
            ]
        end, is_led = math.inf, turn > 0 and not (self.is_soon or self.is_tiled)
        if not self.is_soon:
            budgets = budgets if self.is_tiled else self.draw.permutation(budgets).tolist()
            end = self.search.spent() + tuning.ANNEAL_SHARE[turn == 0] * self.search.left()
        for each in budgets:
            # prices where it was not tried come first
            budget = max(budgets, key=lambda at: self.known.gains.get(at, math.inf)) if is_led else each
            most_bytes = least_bytes if self.draw.random() < 1 / 3 else self.most_bytes
            small = most_bytes == least_bytes
            if small and is_led:
                budget = int(self.draw.choice(budgets))
            start = (self.known.within(budget, 1) if small else None) or self.known.within(budget, 0)
            if start is None:
                return
            genotype = start.genotype
            if self.is_soon and self.draw.integers(2):
                genotype = self._genotype_of_best(budget) or genotype
            cooling = tuning.LOAD_COOLINGS[1 if is_led else number % len(tuning.LOAD_COOLINGS)]
            moves = tuning.LOAD_MOVES
            if is_led:
                moves *= self.longer << _twice(self.known.anneals[budget])
            elif turn and not self.is_soon:
                moves <<= _twice(turn)
            if self.is_tiled:
                moved = tiled(self.few, genotype, self.random, moves, self.search, self._cores(budget))
                genotype, cooling = (genotype, cooling) if moved is None else (moved, tuning.TILED_COOLING)
            if not begin(loads, genotype):
                continue
            done = loads.steps
            anneal(loads, self.random, moves, budget, most_bytes, *cooling, *self.weights)
            self.search.spend((loads.steps - done) / tuning.LOAD_STEPS)
            if is_led and not small:
                self.known.gain(budget, start.load, loads.best_load, loads.steps - done)
            self._take(small=small)
            if self.search.expired() or self.search.spent() > end:
                return

    def _next_budget(self) -> int:
        """Return prices one after the other, evenly spread on a scale of ratios."""
        self.ratio = (self.ratio + (math.sqrt(5) - 1) / 2) % 1
        low, high = max(1, self.budgets[:2][-1]), self.budgets[-1]
        price = low * (high / low) ** self.ratio
        return min(self.budgets, key=lambda budget: abs(budget - price))

    def _cores(self, budget: int) -> list[int]:
        """Return drawn cores that a price allows, cheap ones and those of other tiles first: they have more memory."""
        price, tile = np.asarray(self.loads.price), self.instance.core_tile
        drawn, used = price * np.exp(self.draw.random(len(price))), np.ones(tile.max() + 1)
        cores: list[int] = []
        left = budget
        while True:
            worth = np.where(price <= left, drawn * used[tile], math.inf)
            worth[cores] = math.inf
            core = int(worth.argmin())
            if worth[core] == math.inf:
                return cores
            cores.append(core)
            left -= int(price[core])
            used[tile[core]] += 1

    def _genotype_of_best(self, budget: int) -> Genotypes | None:
        """Return the mapping of the least period within a price."""
        within = (point for point in self.known.points if point.core_cost * 1e6 <= budget + 1)
        best = min(within, key=lambda point: point.period, default=None)
        return None if best is None else _genotype(self.instance, best)

    def _take(self, *, small: bool = False) -> None:
        """Keep the best mapping of the annealing where it may lead to a better point."""
        at = self.loads
        if at.best_load < 0:
            return
        arrays = (at.best.compact, at.best.xi, at.best.decision, at.best.binding)
        copy = Genotypes(*(np.array(array) for array in arrays))
        copy.compact[0] = 1
        found = Candidate(copy, at.best_load, at.best_bytes, at.best_price)
        for one in (found, replace(found, small=True)) if small else (found,):
            self.known.note(one)
            if one.price <= self.most_price and one.load <= self.most_period and one.load < self._rival(one):
                key = key_of(one.genotype), int(one.small)
                if key not in self.known.seen:
                    self.known.waiting[key] = one
                if self.is_soon:
                    break

    def _rival(self, candidate: Candidate) -> float:
        """Return the least period at the candidate's price, of a small one that of points as small."""
        at = candidate.price, candidate.bytes if candidate.small else self.most_bytes
        if at not in self.rivals:
            cost = at[0] / 1e6 + 1e-7
            rivals = (one for one in self.known.points if one.core_cost <= cost and one.footprint_bytes <= at[1])
            self.rivals[at] = min((one.period for one in rivals), default=math.inf)
        return self.rivals[at]

    def _step(self, candidate: Candidate) -> int:
        """Return 1 for what is next for the least footprint: where trees are small, after a first schedule."""
        return int(candidate.small and (candidate.tries > 0 or not self.is_soon))

    def _rank(self, candidate: Candidate) -> tuple[float, float]:
        """Return the least for the mapping to solve next: much to gain, few tries of it and at its price.

        In large networks the step comes first that has least of its share of the effort.
        """
        tries, step = candidate.tries + self.known.solves[candidate.price, candidate.small] / 2, self._step(candidate)
        if self.is_soon or candidate.small:
            worth = candidate.load / self._rival(candidate) * tuning.TRY_AGAIN[0] ** tries
            return 0.0 if self.is_soon else self.efforts[step] / tuning.STEP_SHARES[step], worth
        # as far above the load as it is, or as those before were at first, half of that is there to stay
        above = self.above[step] if candidate.point is None else candidate.point.period / candidate.load - 1
        worth = candidate.load * (1 + above / 2) / self._rival(candidate) * tuning.TRY_AGAIN[1] ** tries
        return self.efforts[step] / tuning.STEP_SHARES[step], worth

    def _solve(self, effort: float) -> None:
        """Schedule the most promising mappings until this effort is spent, again if that may still lead somewhere."""
        begun = self.search.spent()
        while self.known.waiting and not self.search.expired() and self.search.spent() - begun <= effort:
            self.known.waiting = {key: one for key, one in self.known.waiting.items() if one.load < self._rival(one)}
            if not self.known.waiting:
                return
            key = min(self.known.waiting, key=lambda key: self._rank(self.known.waiting[key]))
            candidate = self.known.waiting.pop(key)
            spent = self.search.spent()
            self.known.seen.add(key)
            self.known.solves[candidate.price, candidate.small] += 1
            try:
                solved = self._solved(candidate)
            except InputError:  # these multicasts cannot be replaced together
                solved = None
            self.efforts[self._step(candidate)] += self.search.spent() - spent
            if solved is None:
                continue
            self._add(solved.point)
            if candidate.point is None and solved.point is not None:
                above, step = solved.point.period / candidate.load - 1, self._step(candidate)
                self.above[step] = (3 * (self.above[step] or above) + above) / 4
            least = solved.least * (1 + tuning.FRUGAL_GAIN * (not self.is_soon))
            is_better = least < self._rival(candidate) and solved.least <= self.most_period
            # local search finds no more where a try found nothing
            is_stuck = not self.is_soon and solved.point is candidate.point
            if is_better and not is_stuck and (solved.point is None or solved.point.period > least):
                self.known.waiting[key] = replace(
                    candidate, load=max(candidate.load, solved.least), tries=candidate.tries + 1, point=solved.point
                )

    def _add(self, point: Point | None) -> None:
        if point is not None and self.known.add(point):
            self.rivals.clear()
            self.keep([point for point in self.known.points if self.constraints.allow(point)])

    def _solved(self, candidate: Candidate) -> Solved | Decided | None:
        mapping = decisions_of(self.instance, candidate.genotype, 0)
        tasks = len(mapping.binding) + 2 * len(mapping.channel_decision)
        effort = max(0.01, _effort(tasks) * 2.0 ** (candidate.tries - 1))
        if not self.is_soon:
            if candidate.point is not None:
                moves = tuning.FRUGAL_MOVES << 2 * candidate.tries
                most = None if candidate.small else self.most_bytes
                return annealed_point(
                    self.instance, candidate.point, self.search, moves, atomic=self.atomic, most_bytes=most
                )
            point = self._self_timed(mapping, tasks, small=candidate.small)
            if point is None:
                return None
            return Solved(point, candidate.load if self.exact else point.period, "self-timed")
        decoding: Decoding = replace(self.options, decoder="modulo", start="compact", solver_effort=effort)
        warm = candidate.point
        is_known = self._rival(candidate) < math.inf or self.constraints.max_footprint is not None
        if not candidate.small and candidate.tries == 0 and is_known:
            return self._decided(candidate, mapping, 2 * effort, small=True)
        warm = warm or self._greedy(candidate)
        if warm is not None and candidate.tries == 0:
            return Solved(warm, candidate.load, "CAPS-HMS")
        decided = self._decided(candidate, mapping, effort, small=candidate.small)
        if candidate.small:
            found = None if decided is None else decided.point
            if found is None or decided is None:
                return None
            return Solved(found, found.period, "trees")
        if decided is not None:
            is_clear = decided.point is not None or decided.least >= self._rival(candidate)
            if is_clear or candidate.tries < 2:
                point = decided.point or warm
                return None if point is None else Solved(point, decided.least, "trees")
        rival = self._rival(candidate)
        try:
            return solve_mapping(
                self.instance, mapping, decoding, warm, self.search, None if rival == math.inf else int(rival)
            )
        except InfeasibleError:
            return None

    def _decided(self, candidate: Candidate, mapping: Decisions, effort: float, *, small: bool) -> Decided | None:
        """Return what trees find soon, ``small`` with few tokens only; None if they would be too large."""
        most_bytes = self.constraints.max_footprint
        rival = self._rival(candidate)
        if most_bytes is not None:
            rival = min(rival, self.most_period + 1, self.instance.never)
        if rival == math.inf:
            return None
        tries = max(0, candidate.tries - 1)
        return decide_mapping(
            self.instance, mapping, self.tokens, self.options, self.search, int(rival), tries, effort, small=small,
            most_bytes=most_bytes,
        )  # fmt: skip

    def _greedy(self, candidate: Candidate) -> Point | None:
        """Return the point of a mapping that CAPS-HMS finds with buffers of any size."""
        try:
            return self.decoder.point_of(candidate.genotype, 0, self.search)
        except InfeasibleError:
            return None

    def _self_timed(self, mapping: Decisions, tasks: int, *, small: bool) -> Point | None:
        """Return the point of a mapping that self-timed execution makes, with few tokens if ``small``.

        Else buffers may hold more where their memories have room.
        """
        self.search.spend(tasks / tuning.LISTED_TASKS)
        application, platform = self.instance.application, self.instance.platform
        network = substitute_mrbs(application, mapping.xi)
        tokens = {buffer.id: self.tokens[buffer.id] for buffer in network.buffers}
        common = self.options.mrb_consumer == "common-tile"
        memory = determine_channel_bindings(network, platform, mapping, tokens, common_tile=common)
        if memory is None:
            return None
        net = mapped(application, platform, network, mapping.binding, memory)
        if not small:
            tokens = filled(net, platform.memories, tokens, self.most_bytes)
        moves = 0 if small else tuning.FRUGAL_MOVES
        least = int(period_bound(net).value)
        schedule = self_timed_within(net, least, self.search, tokens, moves, atomic=self.atomic)
        if schedule is None:
            return None
        held = needed_capacities(net, schedule.starts, schedule.period, atomic_firing=self.atomic)
        if not fits(net, platform.memories, held):
            return None
        return make_point(self.instance, mapping, net, schedule, held)


def _effort(tasks: int) -> float:
    """Return the effort of the first exact solve of a mapping."""
    return float(tuning.SOLVE_OVER_BUILDING * tasks / tuning.SOLVED_TASKS)


def _twice(number: int) -> int:
    """Return how often the next of so many is twice as long: 0 1 0 2 0 1 0 3 ..."""
    return ((number + 1) & -(number + 1)).bit_length() - 1


def _near_memory(instance: Instance) -> int:
    """Return the bytes of all memories of cores and tiles."""
    tiles = instance.platform.tiles
    return sum(tile.tile_memory_bytes + sum(core.local_bytes for core in tile.cores) for tile in tiles)


def _all_replaceable(instance: Instance) -> bool:
    try:
        substitute_mrbs(instance.application, dict.fromkeys(instance.application.multicasts, 1))
    except InputError:
        return False
    return True


def _genotype(instance: Instance, point: Point) -> Genotypes:
    """Return the genotype of a point; replaced multicasts are on the core of what feeds them, or on one that can."""
    genotype = genes(instance, Decisions(point.binding, point.xi, point.channel_decision))
    binding = np.asarray(genotype.binding)[0]
    for actor in np.flatnonzero(binding < 0):
        core = binding[instance.src[instance.feeding[instance.multicast_of[actor]]]]
        binding[actor] = core if core in instance.able[actor] else instance.able[actor][0]
    return genotype
