"""A lower bound from a linear program over all subgraphs that a plan may be made of.

A *column* is a connected set of operators with what it finds resident and what it retains, at the least latency of any
granularity and order. Every plan is a choice of columns that satisfies

- *cover*: every operator is in a column;
- *link*: for every operator and every tensor it takes from another, some column that holds the operator makes the
  tensor itself or finds it resident, or some column stores it;
- *hand over*: a tensor is found resident no more often than it is retained.

So the least total of the linear relaxation bounds every plan, and its dual prices are the certificate: for no column do
the prices of the rows it serves exceed its latency. Columns are generated: the prices of those so far are looked for a
column that they favour, until there is none. At any time prices divided by the largest ratio of worth to latency are a
certificate of a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.fronts import fronts, narrow_order
from shorthaul.tensor.bounds.groups.cutting import Links
from shorthaul.tensor.bounds.groups.diagram import Diagram
from shorthaul.tensor.bounds.groups.ordering import UNORDERED, Ordering
from shorthaul.tensor.bounds.groups.rows import Rows
from shorthaul.tensor.bounds.master import Master, alike_rows
from shorthaul.tensor.bounds.prices import Parts, Prices
from shorthaul.tensor.bounds.pricing import Column, Pricing, column_of
from shorthaul.tensor.bounds.walking import Found
from shorthaul.tensor.cost_model.exhaustion import Floor
from shorthaul.tensor.cost_model.granularity import Granularities
from shorthaul.tensor.cost_model.profile import Profile, profile_of
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.tuning import (
    ARCS_PER_EFFORT,
    BUILDING_SHARE,
    COLUMNS_PER_EFFORT,
    ENTERED_PER_EFFORT,
    EXHAUSTED_PER_EFFORT,
    FOUND_PER_EFFORT,
    KINDS_PER_EFFORT,
    MOST_LABELS,
    MOST_NODES,
    PROFILED_PER_EFFORT,
)

Floats = NDArray[np.float64]

#: Pairs of width and height above which the program does not apply, where the native tile says how many there are.
_MOST_TILES: Final = 1 << 20
#: Columns that enter the linear program at once.
_ENTERING: Final = 300
#: The weight of compute in parts that others are drawn to at first.
_FIRST_WEIGHT: Final = 0.2
#: Prices above a latency by this part are rounding.
_ROUNDING: Final = 1e-9
#: What rounding may make of prices of parts that come to nothing together, as a part of all prices.
_SLACK: Final = 1e-13
#: Where groups are judged box by box, prices are lowered by this part.
_LESS: Final = 1e-10
#: Groups in the making that go on at each node, one pricing after the other, and if they are judged box by box.
_WIDTHS: Final = ((2, False), (32, True), (MOST_LABELS, True))
#: The weight of the best prices so far against the last ones.
_INERTIA: Final = 0.5
#: Fronts, as many times as a diagram may have nodes, above which none is begun (measured: 0.04 to 5 nodes a front).
_TOO_WIDE: Final = 30
#: The share of the effort in which columns are generated; the rest is left to those who ask, and to later passes.
_GENERATING: Final = 0.75
#: While a bound gains this part of its program's value at a time, the inertia is kept.
_GAINED: Final = 0.01
#: How far away neighbours may be that tell rows apart, one program after the other before that with all rows; the part
#: of all rows that their classes may be, and the share of the effort that each takes.
_RADII: Final = (0, 1)
_MOST_CLASSES: Final = 0.5
_ALIKE: Final = 0.8
#: A program whose bound is this near to its value is solved.
_CLOSE: Final = 1e-7
#: What an amount of a column may be above a whole number.
_WHOLE: Final = 1e-6
#: The part of a plan's latency by which one of other groups may be dearer, to be looked for all the same.
_SPARE: Final = 0.03


def has_columns(problem: Problem, rules: Rules) -> bool:
    """True if the linear program applies: latencies of most columns can be exhausted."""
    machine = problem.machine
    return not rules.granularity_is_native or machine.native_width * machine.native_height <= _MOST_TILES


def has_turns(problem: Problem, rules: Rules) -> bool:
    """True if columns say what is retained for the next group, so that there are windows, and rows of order.

    Where tensors stay for any number of groups, they do not.
    """
    return not rules.retains_inputs and has_columns(problem, rules)


def column_program(
    problem: Problem,
    rules: Rules,
    search: Search,
    later: frozenset[int] = frozenset(),
) -> Program | None:
    """Return the linear program, None if it does not apply or if the graph has too many groups.

    What is far too wide for its diagram, with the effort there is, is not begun.
    """
    if not has_columns(problem, rules):
        return None
    order = narrow_order(problem, search)
    if is_too_wide(problem, order, search.left()):
        return None
    program = Program(problem, rules, search, later, order=order)
    return program if program.diagram.is_complete else None


def is_too_wide(problem: Problem, order: list[int], effort: float) -> bool:
    """True if there are far too many groups for a diagram of this order, with this effort."""
    nodes = min(MOST_NODES, ARCS_PER_EFFORT * BUILDING_SHARE * effort)
    return fronts(problem, order) > _TOO_WIDE * nodes


class _Latency:
    """The least latency of a profile, as far as it is known: ``met`` by some granularity, ``proven`` for all."""

    def __init__(self, met: float, floor: Callable[[], Floor]) -> None:
        self.met = met
        self.proven = 0.0
        self.is_final = False
        self._make = floor
        self._floor: Floor | None = None

    def raise_it(self) -> int:
        """Look at some more granularities; return how many."""
        if self._floor is None:
            self._floor = self._make()
        done = self._floor.raise_it()
        self.proven = max(self.proven, self._floor.value)
        self.is_final = self._floor.is_final
        return done


class Program:
    """The linear program with the columns so far, each at its least latency."""

    def __init__(
        self,
        problem: Problem,
        rules: Rules,
        search: Search,
        later: frozenset[int] = frozenset(),
        cuts: Links = frozenset(),
        order: Sequence[int] | None = None,
        ordering: Ordering = UNORDERED,
    ) -> None:
        self.problem = problem
        self.rules = rules
        self.diagram = Diagram(problem, rules, search.part(BUILDING_SHARE), MOST_NODES, later, cuts, order, ordering)
        self.columns: dict[Column, float] = {}
        self._parts: dict[Column, float] = {}
        #: Whether its solution breaks no row of an ordering that would be found.
        self.is_ordered = not has_turns(problem, rules)
        self.value = math.inf  #: of the linear program with the columns so far
        self._granularities = Granularities(problem.machine, rules)
        self._latencies: dict[Profile, _Latency] = {}
        self._latency_of: dict[int, _Latency] = {}  # by number of a profile
        rows = self.diagram.rows
        self._master = Master(rows.asked, np.arange(rows.number))
        self._radii = list(_RADII)  #: in which rows are to be taken as alike, until that is solved
        self._best = np.zeros(rows.number)  # prices, proven
        self._centre = self._best.copy()  # prices that others are drawn to, proven or not
        self._centre[rows.prices :] = _FIRST_WEIGHT
        if self.diagram.is_complete:
            self.pricing = Pricing(self.diagram)
            search.spend(self.pricing.made())
            self._begin(search)

    def _begin(self, search: Search) -> None:
        """Enter each operator alone."""
        for index in self.diagram.rows.cover:
            self._enter_group(frozenset([index]), frozenset(), frozenset(), search)

    def _enter_group(
        self, inside: frozenset[int], resident: frozenset[int], retained: frozenset[int], search: Search
    ) -> None:
        """Enter a group of a plan, if it fits."""
        made = {self.problem.operators[index].output for index in inside}
        taken = {tensor for index in inside for tensor in self.problem.operators[index].inputs}
        shared = (made & taken) - retained if self.rules.stores_shared else set()
        beside = frozenset(tensor for tensor in shared if not {*self.problem.consumers[tensor]} <= inside)
        for stored in {frozenset[int](), beside}:
            column = column_of(self.problem, self.diagram.rows, inside, resident, retained, stored)
            met = self._latency(column, search).met
            if math.isfinite(met):
                self.enter(column, met)

    def enter_parts(self, search: Search) -> None:
        """Enter all parts of one operator, and begin with the prices of these."""
        before = self.pricing.made()
        for column, traffic in self.pricing.parts():
            self.enter(column, traffic)
            search.spend(1 / COLUMNS_PER_EFFORT)
        search.spend(self.pricing.made() - before)
        self._use(self._master, search)
        solved = self._master.solve(search)
        if solved is not None:
            self._centre = solved[1]

    def resume(self, earlier: Program) -> None:
        """Begin with the columns and the prices of a program with fewer rows, or groups cut into smaller parts."""
        rows, others = self.diagram.rows, earlier.diagram.rows
        for column, latency in earlier.columns.items():
            self.enter(column_of(self.problem, rows, column.inside, column.resident, column.retained), latency)
        self._granularities, self._latencies = earlier._granularities, earlier._latencies
        pairs = [*enumerate(range(others.first_support))]
        pairs += [(row, others.support[deeds]) for deeds, row in rows.support.items() if deeds in others.support]
        pairs += [(row, others.hand_over[tensor]) for tensor, row in rows.hand_over.items()]
        pairs += [(row, others.succession[sets]) for sets, row in rows.succession.items() if sets in others.succession]
        pairs += [(row, others.cut[taking]) for taking, row in rows.cut.items() if taking in others.cut]
        pairs += [(row, others.weight[shape]) for shape, row in rows.weight.items()]
        mine, theirs = zip(*pairs, strict=True)
        self._centre[[*mine]] = earlier._best[[*theirs]]
        if not self.diagram.cuts and np.count_nonzero(self._centre) == np.count_nonzero(earlier._best):
            self._best = self._centre.copy()  # the same prices of the same rows
        known = dict(zip(theirs, mine, strict=True))
        for column, latency in earlier._parts.items():
            if all(row in known for row in column.rows):
                self.enter(column._replace(rows=tuple(known[row] for row in column.rows)), latency)

    def enter(self, column: Column, latency: float) -> bool:
        """Enter a column, or lower its cost; return whether that changes the program."""
        columns = self._parts if column.is_part else self.columns
        if latency >= columns.get(column, math.inf):
            return False
        columns[column] = latency
        return self._master.enter(column.rows, column.signs, latency)

    def _latency(self, column: Column, search: Search) -> _Latency:
        produced = {self.problem.operators[index].output for index in column.inside}
        consumed = {tensor for index in column.inside for tensor in self.problem.operators[index].inputs}
        outputs = sorted((produced - consumed) | column.retained | column.beside)
        profile = profile_of(self.problem, column.inside, outputs, column.resident, column.retained)
        search.spend(len(column.inside) / PROFILED_PER_EFFORT)
        if profile not in self._latencies:
            before = self._granularities.kinds
            execution = self._granularities.best(profile)
            search.spend((self._granularities.kinds - before) / KINDS_PER_EFFORT)
            met = math.inf if execution is None else execution.latency
            self._latencies[profile] = _Latency(met, partial(Floor, profile, self.problem.machine, self.rules, met))
        return self._latencies[profile]

    def solve(self, search: Search, plan: Plan | None = None, *, is_proof: bool = True) -> Prices:
        """Generate columns until none is favoured or the search ends; return the best prices that are proven.

        ``plan`` is one known. Prices that are the same for all rows alike come first, as they are soon proven. Where no
        proof is wanted, only the columns that are found soon are generated. A second call goes on.
        """
        resident: frozenset[int] = frozenset()
        for subgraph in () if plan is None else plan.subgraphs:
            retained = frozenset(subgraph.retained)
            self._enter_group(frozenset(subgraph.operators), resident, retained, search)
            resident = retained
        most = search.part(_GENERATING)
        for radius in [*self._radii] if is_proof else ():
            classes = alike_rows(self.problem, self.diagram.rows, self.diagram.later, radius)
            part, few = most.part(_ALIKE), classes.max(initial=0) < _MOST_CLASSES * len(classes)
            if few:
                self._use(Master(self.diagram.rows.asked, classes), search)
                self._close(part, is_proof=True)
            if not few or self.is_proven() or not part.expired():
                self._radii.remove(radius)
        self._use(Master(self.diagram.rows.asked, np.arange(self.diagram.rows.number)), search)
        self._close(most, is_proof=is_proof)
        return self._prices(self._best)

    def _use(self, master: Master, search: Search) -> None:
        """Go on with a program over other classes of rows."""
        self._master = master
        search.spend((len(self.columns) + len(self._parts)) / ENTERED_PER_EFFORT)
        for column, latency in (self.columns | self._parts).items():
            master.enter(column.rows, column.signs, latency)
        dear = self._dear()
        for row in range(self.diagram.rows.asked):
            master.enter((row,), (1.0,), dear)
        for row in self.diagram.rows.weight.values():  # no weight is above 1
            master.enter((row,), (1.0,), 1.0)

    def priced(self) -> Ordering:
        """Return the rows of the ordering that have prices."""
        rows = self.diagram.rows
        return Ordering(
            tuple(deeds for deeds, row in rows.support.items() if self._best[row] > 0),
            tuple(sets for sets, row in rows.succession.items() if self._best[row] > 0),
        )

    def _dear(self) -> float:
        """Return more than a plan of the columns takes."""
        return 10 * math.fsum(self.columns.values()) + 1

    def _close(self, search: Search, *, is_proof: bool) -> None:
        """Generate columns of the program as it is until none is favoured or the search ends."""
        widths = [*_WIDTHS]
        width, is_by_box = widths.pop(0)
        inertia = _INERTIA
        while not search.expired():
            solved = self._master.solve(search)
            if solved is None:
                break
            self.value, last = solved
            if self.is_proven():
                break
            if not self._worth(self._centre):
                inertia = 0.0  # nothing is known to be drawn to
            point = inertia * self._centre + (1 - inertia) * last
            is_whole = width == MOST_LABELS
            is_proven = is_proof and (is_whole or not inertia)
            found, ratio = self._generate(point, search, width, is_by_box, is_proven=is_proven)
            gained = self._prove(point, ratio)
            if found:
                inertia = _INERTIA if is_whole == is_by_box else 0.0
            elif inertia:
                if not is_whole or gained < _GAINED * self.value:
                    inertia = 0.0
            elif is_proof and ratio is None and widths:
                width, is_by_box = widths.pop(0)
                inertia = _INERTIA if width == MOST_LABELS else 0.0
            else:
                break

    def _scaled(self, prices: Floats, scale: float) -> Floats:
        """Return prices of another scale, and weights as they are."""
        scaled = prices.copy()
        scaled[: self.diagram.rows.prices] *= scale
        return scaled

    def chosen(self, ordering: Ordering, search: Search) -> tuple[float, list[tuple[Column, float]]]:
        """Return the value of the columns so far under an ordering, and how much of which one that has."""
        rows = Rows(self.problem, self.rules, self.diagram.later, ordering)
        master = Master(rows.asked, np.arange(rows.number))
        found = {}
        for known, latency in self.columns.items():
            column = column_of(self.problem, rows, known.inside, known.resident, known.retained)
            if master.enter(column.rows, column.signs, latency):
                found[master.key(column.rows, column.signs)] = column
        search.spend(len(self.columns) / COLUMNS_PER_EFFORT)
        dear = self._dear()
        for row in range(rows.asked):
            master.enter((row,), (1.0,), dear)
        solved = master.solve(search)
        if solved is None:
            return math.inf, []
        return solved[0], [(found[key], amount) for key, amount in master.amounts().items() if key in found]

    def useful(self, latency: float, search: Search) -> list[Column]:
        """Return the columns so far that may be in a plan of about ``latency``, those that waste least first.

        What a column takes above the prices of what it serves, any plan of them with it takes above their value. A
        plan may turn out better than its columns, as others of its groups may keep more; hence a little is to spare.
        A column that the solution has several times, to retain a tensor for several groups, is there as often.
        """
        if self._master.classes != self.diagram.rows.number:
            self._use(Master(self.diagram.rows.asked, np.arange(self.diagram.rows.number)), search)
        solved = self._master.solve(search)
        if solved is None:
            return []
        value, prices = solved
        room = latency * (1 + _SPARE) - value
        wasted = {
            column: met - float(prices[list(column.rows)] @ np.array(column.signs))
            for column, met in self.columns.items()
        }
        amounts = self._master.amounts()
        times = {
            column: max(1, math.ceil(amounts.get(self._master.key(column.rows, column.signs), 1.0) - _WHOLE))
            for column in wasted
            if wasted[column] < room
        }
        return [column for column in sorted(times, key=wasted.__getitem__) for _ in range(times[column])]

    def _worth(self, prices: Floats) -> float:
        """Return what all rows that ask for something are worth together."""
        return float(prices[: self.diagram.rows.asked].sum())

    def _prove(self, point: Floats, ratio: float | None) -> float:
        """Take note of a certificate, true divided by ``ratio``, if there is one; return what it gains."""
        before = self._worth(self._best)
        if ratio is not None and self._worth(point) / ratio > before:
            self._best = self._scaled(point, 1 / ratio)
        gained = self._worth(self._best) - before
        if self._worth(self._best) > self._worth(self._centre):
            self._centre = self._best
        return gained

    def is_proven(self) -> bool:
        """True if the best prices prove the value of the program."""
        return self._worth(self._best) >= (1 - _CLOSE) * self.value

    def _generate(
        self, duals: Floats, search: Search, width: int, is_by_box: bool, *, is_proven: bool
    ) -> tuple[int, float | None]:
        """Enter columns that the prices favour; return how many, and the largest ratio of a worth to a latency.

        Of the groups in the making ``width`` go on at each node. If none are favoured
        and ``is_proven``, latencies are proven as far as the prices need it.
        """
        lowered = 1.0
        if is_by_box:
            lowered -= _LESS  # groups that are worth just what they take are many, and not favoured
        pricing = self.pricing.favoured_by_box if is_by_box else self.pricing.favoured
        found, is_complete = pricing(self._scaled(duals, lowered), search, width=width, most=MOST_LABELS)
        search.spend(len(found) / FOUND_PER_EFFORT)
        found = self.pricing.ranked(found)
        entered, of_parts = self._offer_parts(found, _SLACK * self._worth(duals), search)
        ratio = 1.0
        unsure = []
        for item in found:
            if self.pricing.is_part(item.profile):
                continue
            known = self._latency_of.get(item.profile)
            if known is None:
                if entered >= _ENTERING or search.expired():
                    ratio = max(ratio, item.worth / max(self.pricing.least(item.profile), 1e-300))
                    continue
                known = self._latency_of[item.profile] = self._latency(self.pricing.column(item), search)
                known.proven = max(known.proven, self.pricing.least(item.profile))
            if known.met < item.worth * (1 - _ROUNDING) and entered < _ENTERING:
                # Prices between the program's and others may favour what is in it already.
                entered += self.enter(self.pricing.column(item), known.met)
            elif known.proven < item.worth * (1 - _ROUNDING):
                unsure.append((item, known))
            ratio = max(ratio, item.worth / max(known.proven, 1e-300))
        if entered or not is_complete or not is_proven:
            return entered, max(ratio, of_parts) / lowered if is_complete else None
        # Only what is still favoured at the latencies met has to be proven.
        ratio = of_parts
        for item, known in unsure:
            worth = item.worth * (1 - _ROUNDING)
            while known.proven < worth <= known.met and not known.is_final and not search.expired():
                search.spend(known.raise_it() / EXHAUSTED_PER_EFFORT)
            if known.proven < worth:
                ratio = max(ratio, item.worth / max(known.proven, 1e-300))
                if known.is_final or known.met < worth:
                    entered += self.enter(self.pricing.column(item), known.proven if known.is_final else known.met)
        return entered, ratio / lowered

    def _offer_parts(self, found: list[Found], slack: float, search: Search) -> tuple[int, float]:
        """Enter parts that are favoured by more than rounding; return how many, and the largest ratio of theirs."""
        entered, ratio = 0, 1.0
        for item in found:
            if not self.pricing.is_part(item.profile):
                continue
            least = self.pricing.least(item.profile)
            if item.worth <= least + slack:
                continue
            ratio = max(ratio, item.worth / max(least, 1e-300))
            if least < item.worth * (1 - _ROUNDING) and entered < _ENTERING:
                traffic = self.pricing.times(item.profile)[2]
                entered += self.enter(self.pricing.column(item), traffic)
                search.spend(1 / COLUMNS_PER_EFFORT)
        return entered, ratio

    def _prices(self, duals: Floats) -> Prices:
        rows = self.diagram.rows
        return Prices(
            {row: float(duals[row]) for row in rows.cover if duals[row] > 0},
            {link: float(duals[row]) for link, row in rows.link.items() if duals[row] > 0},
            {tensor: float(duals[row]) for tensor, row in rows.hand_over.items() if duals[row] > 0},
            tuple(self.diagram.order),
            {deeds: float(duals[row]) for deeds, row in rows.support.items() if duals[row] > 0},
            {sets: float(duals[row]) for sets, row in rows.succession.items() if duals[row] > 0},
            self._parts_of(duals) if self.diagram.cuts else None,
        )

    def _parts_of(self, duals: Floats) -> Parts:
        rows = self.diagram.rows
        return Parts(
            self.diagram.cuts,
            {shape: min(max(float(duals[row]), 0.0), 1.0) for shape, row in rows.weight.items()},
            {taking: float(duals[row]) for taking, row in rows.cut.items() if duals[row] > 0},
        )
