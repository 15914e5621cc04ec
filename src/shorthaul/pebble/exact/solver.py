"""The exact solver without recomputation: breadth-first branch and bound over downsets.

A state is what is computed, what is in fast memory, and what of that is nowhere else; a macro-move computes one node,
loads its missing operands and lets an inclusion-minimal set of values go, stored lazily. All states of as many steps
are kept beside each other (Zhou and Hansen's breadth-first heuristic search), so that each downset keeps only states
that no other can become more cheaply; of states that an automorphism of the graph takes into each other one is kept.
Schedules read from their ends are of the same kind, and often one way leads through a tenth of the states that the
other does: short passes tell which. A pass below the best plan proves it optimal or finds an optimal one; passes below
lower limits prove these as bounds. Passes go on turn by turn, with beams and local search in between, and begin again
when tables of parts, which grow from turn to turn, say more; what is left open at the end still tells a bound.
"""

from __future__ import annotations

from collections.abc import Callable

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.exact import beam, pattern_choice
from shorthaul.pebble.local_search import annealing
from shorthaul.pebble.model import Cdag, IntArray, require_budget
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.states import automorphisms as symmetry
from shorthaul.pebble.states import potentials
from shorthaul.pebble.states.layered_search import Cut, Layers, Outcome, layered, tables
from shorthaul.pebble.states.pattern_database_kernels import Patterns
from shorthaul.pebble.states.potentials import NO_POTENTIAL, Potentials


def solve(
    cdag: Cdag,
    budget: int,
    *,
    search: Search,
    incumbent: Plan | None = None,
    known_bound: int = 0,
    bounding: Callable[[Plan], int] | None = None,
) -> tuple[Plan, int, bool]:
    """Return (best plan, lower bound on the traffic, whether the plan is proven optimal).

    No value is computed twice. ``incumbent`` is a plan to start from, ``known_bound`` a lower bound on the traffic
    that is proven already; ``bounding`` finds another, given the best plan, where the first pass takes long. Without a
    limit the search ends when the proof is complete or outgrows the memory it may take. Raises
    :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> solve(fft(n=4, word=1), 3, search=Search())[1:]
    (14, True)
    """
    require_budget(cdag, budget)
    bound = max(cdag.algorithmic_bound(), known_bound)
    start = belady.plan(cdag, budget) if incumbent is None else incumbent
    solver = _Solver(cdag, budget, start, bound, search)
    effort = tuning.FIRST_TURN
    solver.improve(tuning.FIRST_LOOK * effort)
    solver.begin(effort)
    if bounding is not None and not solver.is_done():
        solver.raise_to(bounding(solver.best))
    turn = effort
    while not solver.is_done():
        solver.use_potential(turn)
        solver.use_tables(turn)
        solver.run(turn)
        if not solver.is_done():
            solver.improve(turn)
        effort *= tuning.TURN_GROWTH
        turn = min(effort, tuning.TURN_PART * search.left())  # else passes below lower limits have none in the last one
    return solver.best, solver.bound, solver.gap() <= 0


class _Solver:
    """One problem, what is known of it, and its passes."""

    def __init__(self, cdag: Cdag, budget: int, best: Plan, bound: int, search: Search) -> None:
        self._cdag, self._budget, self._search = cdag, budget, search
        self._given = {from_end: tables(cdag, from_end=from_end) for from_end in (False, True)}
        self._from_end = False
        self._least = cdag.algorithmic_bound()
        self._tables: pattern_choice.Tables | None = None
        self._chosen = pattern_choice.NOTHING
        self._prices: Potentials | None = None
        self._potential = {False: NO_POTENTIAL, True: NO_POTENTIAL}
        self._automorphisms: IntArray | None = None
        self._main: Layers | None = None
        self._rising: Layers | None = None
        self._target = self._step = self._most_sets = 0
        self._turn = 0
        self._short = tuning.WITHOUT_PRICES_SHARE if cdag.n <= potentials.MOST_NODES else tuning.WITHOUT_TABLES_SHARE
        self.best, self.bound = best, bound

    def gap(self) -> int:
        """Return by how much the best plan exceeds the bound."""
        return self.best.traffic(self._cdag.weights) - self.bound

    def is_done(self) -> bool:
        """True if the best plan is optimal, the search expired, or without a limit the memory is full."""
        is_outgrown = self._search.is_unlimited and self._main is not None and self._main.outgrown
        return self.gap() <= 0 or self._search.expired() or (is_outgrown and self._turn > 1)

    def _part(self, effort: float) -> Search:
        """Return a part of this effort, or of what is left; every one has a seed of its own."""
        part = self._search.part(min(1.0, effort / max(self._search.left(), 1e-9)), unlimited=effort)
        self._turn += 1
        part.seed = self._search.seed + self._turn
        return part

    def improve(self, effort: float) -> None:
        """Look for a better plan by local search and beams."""
        if self.gap() <= 0:
            return
        cdag, budget, goal = self._cdag, self._budget, self.bound
        self.best = annealing.improve(
            cdag, budget, self.best, search=self._part(tuning.LOCAL_SHARE * effort), goal=goal
        )
        if self.gap() > 0:
            self.best = beam.plan(
                cdag, budget, search=self._part(tuning.BEAM_SHARE * effort), incumbent=self.best, goal=goal
            )
        self._search.keep(self.best.traffic(cdag.weights), self.best)
        self._search.report(best=self.best.traffic(cdag.weights), bound=self.bound, what="exact")

    def begin(self, effort: float) -> None:
        """Try the pass below the best plan for a while."""
        if self.gap() <= 0:
            return
        self._automorphisms = symmetry.automorphisms(self._cdag, search=self._part(tuning.SYMMETRY_SHARE * effort))
        self._start_over(effort)

    def _start_over(self, effort: float, share: float = 0.0) -> None:
        """Go on with the pass below the best plan for a while, or begin one where the other way is shorter."""
        self._turn_around(effort)
        if self.gap() <= 0:
            return
        for one in (self._main, self._rising):
            if one is not None:
                one.guide(self._patterns(one.is_from_end), self._potential[one.is_from_end])
        if self._main is None or self._main.outgrown or self._main.is_from_end != self._from_end:
            self._main = self._layers(self.best.traffic(self._cdag.weights))
        self._continue_main((share or self._short) * effort)

    def _turn_around(self, effort: float) -> None:
        """Search from the start or from the end, whichever gets further with passes below parts of the limit."""
        scores = {False: (0, 0.0), True: (0, 0.0)}
        share = min(tuning.DIRECTION_SHARE * effort, tuning.DIRECTION_SHARE * self._search.left())
        for from_end in scores:
            part = self._part(share)
            for step in range(1, tuning.DIRECTION_STEPS + 1):
                spent = part.spent()
                excess = (self.best.traffic(self._cdag.weights) - self._least) * step // tuning.DIRECTION_STEPS
                if not self._raise_by(
                    self._layers(self._least + excess, from_end=from_end).run(part), self._least + excess
                ):
                    break
                if self.gap() <= 0:
                    return
                scores[from_end] = (step, spent - part.spent())
        self._from_end = scores[True] > scores[False]

    def use_potential(self, effort: float) -> None:
        """Begin the pass again with a potential of what is still to come, after beams that it guides."""
        if self.gap() <= 0 or self._search.expired():
            return
        most_sets = int(tuning.PRICED_SETS * effort)
        if most_sets > self._most_sets and not (self._prices and self._prices.is_whole):
            self._most_sets = most_sets
            self._prices = potentials.initial_prices(
                self._cdag, self._budget, most_sets=most_sets, search=self._search, start=self._prices
            )
        found = self._prices
        if found is None or found.is_flat or self._search.expired():
            return
        if not found.is_small:
            self._price_many(found, effort)
            return
        for turn in range(tuning.CLIMBS):
            self._climb(found, tuning.CLIMB_SHARE * effort)
            if self.gap() <= 0 or self._search.expired():
                return
            is_last = found.is_flat or turn == tuning.CLIMBS - 1
            if is_last or turn == 0:
                self._take_potential(found)
                self._guided(tuning.WIDE_BEAM if is_last else tuning.NARROW_BEAM, tuning.GUIDED_SHARE * effort)
            if is_last:
                break
        self._start_over(effort, tuning.PRICED_SHARE)

    def _take_potential(self, prices: Potentials) -> None:
        self._potential = {end: prices.potential(self._search, from_end=end) for end in (False, True)}

    def _climb(self, prices: Potentials, effort: float) -> None:
        prices.climb(self.best.traffic(self._cdag.weights) - self._least, search=self._part(effort))
        self.raise_to(self._least + prices.excess)

    def _price_many(self, prices: Potentials, effort: float) -> None:
        """Let the prices of a graph with many computed sets go on climbing, then begin the pass again with them."""
        effort = min(effort, tuning.MANY_PART * self._search.left())
        self._climb(prices, tuning.MANY_SHARE * effort)
        if self.gap() <= 0 or self._search.expired() or not self._is_well_priced():
            return
        self._take_potential(prices)
        self._guided(tuning.WIDE_BEAM, tuning.GUIDED_SHARE * effort)
        if self.gap() > 0:
            self._start_over(effort, tuning.MANY_SHARE)

    def _is_well_priced(self) -> bool:
        """True if prices prove more than half of what the best plan costs beyond the least: tables seldom do."""
        known = 0 if self._prices is None else self._prices.excess
        return 2 * known > self.best.traffic(self._cdag.weights) - self._least

    def _guided(self, width: int, effort: float) -> None:
        """Look for a better plan by a beam that the potential guides."""
        outcome = layered(
            self._cdag,
            self._budget,
            limit=self.best.traffic(self._cdag.weights) - self._least,
            search=self._part(effort),
            cut=Cut(width, is_guided=True),
            given=self._given[False],
            potential=self._potential[False],
        )
        if outcome.plan is not None:
            self.best = outcome.plan
        self._search.keep(self.best.traffic(self._cdag.weights), self.best)

    def use_tables(self, effort: float) -> None:
        """Begin the pass again with better tables of what is still to come, whichever way is shorter with them."""
        if self.gap() <= 0 or self._search.expired() or self._is_well_priced():
            return
        part = self._part(min(tuning.TABLES_SHARE * effort, tuning.TABLES_PART * self._search.left()))
        if self._tables is None:
            self._tables = pattern_choice.Tables(self._cdag, self._budget, search=part)
        found = self._tables.chosen(part)
        if found.excess <= self._chosen.excess:
            return
        self._chosen = found
        self.raise_to(self._least + found.excess)
        if self.gap() > 0:
            self._start_over(effort)

    def run(self, effort: float) -> None:
        """Go on with the pass below the best plan, and with one below a lower limit."""
        self._continue_main(tuning.MAIN_SHARE * effort)
        part = self._part(tuning.RISING_SHARE * effort)
        while self.gap() > 0 and not part.expired() and self._continue_rising(part, tuning.SHORT_SHARE * effort):
            pass

    def _layers(self, traffic: int, *, from_end: bool | None = None) -> Layers:
        """Return a pass for plans cheaper than ``traffic``, one way or as the pass below the best plan."""
        limit = traffic - self._least
        from_end = self._from_end if from_end is None else from_end
        return Layers(
            self._cdag,
            self._budget,
            limit,
            self._given[from_end],
            patterns=self._patterns(from_end),
            potential=self._potential[from_end],
            automorphisms=self._automorphisms,
        )

    def _patterns(self, from_end: bool) -> Patterns:
        return self._chosen.from_end if from_end else self._chosen.from_start

    def raise_to(self, bound: int) -> None:
        """Take a lower bound that is proven."""
        self.bound = max(self.bound, min(bound, self.best.traffic(self._cdag.weights)))
        self._search.report(best=self.best.traffic(self._cdag.weights), bound=self.bound, what="exact")

    def _raise_by(self, outcome: Outcome, traffic: int) -> bool:
        """Take what a pass below ``traffic`` has found, if it is complete; False if it is not."""
        if not (outcome.finished and outcome.complete):
            return False
        if outcome.plan is None:
            self.raise_to(traffic)
        else:  # it is optimal
            self.best = outcome.plan
            self.bound = outcome.plan.traffic(self._cdag.weights)
        return True

    def _continue_main(self, effort: float) -> None:
        if self._main is None or self._main.outgrown:
            return
        traffic = self.best.traffic(self._cdag.weights)
        self._main.lower(traffic - self._least)
        outcome = self._main.run(self._part(effort))
        if not self._raise_by(outcome, traffic):
            self.raise_to(self._least + self._main.proven)

    def _continue_rising(self, part: Search, short: float) -> bool:
        """Go on with the pass below a lower limit; False if it takes longer than the part."""
        unit = self._given[False].unit
        if self._rising is None or self._target <= self.bound:
            self._target = min(self.bound + max(self._step, unit), self.best.traffic(self._cdag.weights))
            self._rising = self._layers(self._target)
        before = part.spent()
        outcome = self._rising.run(part)
        if self._raise_by(outcome, self._target):
            is_short = part.spent() - before < short
            self._step = 2 * max(self._step, unit) if is_short else unit
            self._rising = None
        elif self._rising.outgrown and self._step > unit:
            self._step, self._rising = unit, None
        else:
            self.raise_to(self._least + self._rising.proven)
            return False
        return True
