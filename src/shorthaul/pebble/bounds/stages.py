"""A bound on what plans pay with prices: an integer program over stages.

Some nodes are computed for the first time in an order known beforehand: all of them where the order is given, else
those of a path, or a few of these. Each ends a stage. What the fast memory holds then has to fit, and what was not
there before has to have come in during the stage, its operands too. What stays through a stage leaves room for what is
computed in it. That says less than the rules do.
"""

from __future__ import annotations

from math import floor, gcd, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import run_solver
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray, Terms

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

PROOF = (
    "Some values are computed for the first time in an order known beforehand; each ends a stage. At the end of a "
    "stage what is in fast memory fits into it; what was not there before came in during the stage, and so did its "
    "operands unless they were there; what stays through a stage leaves room for each value that is computed in it. "
    "An integer program over what is there and what comes in, stage by stage, pays at least this."
)


def milestones(cdag: Cdag, terms: Terms) -> list[int]:
    """Return nodes that every plan computes for the first time in this order: all in a given one, else a longest path.

    >>> from shorthaul.pebble.model import from_pairs
    >>> milestones(from_pairs([1] * 4, [(0, 1), (1, 2), (0, 3), (1, 3)]), Terms(load=None))
    [1, 2]
    """
    if terms.in_order:
        return np.flatnonzero(~cdag.given).tolist()
    after = np.zeros(cdag.n, dtype=np.int64)
    for node in cdag.order[::-1].tolist():
        after[node] = 1 + max(after[cdag.children.neighbours(node)].tolist(), default=0)
    after[cdag.given] = 0
    path = [int(after.argmax())]
    while len(following := cdag.children.neighbours(path[-1])):
        path.append(int(following[after[following].argmax()]))
    return path


def least_paid(cdag: Cdag, budget: int, terms: Terms, *, recompute: bool, limit: int, search: Search) -> int:
    """Return a lower bound on what any plan pays, ``limit`` at most, as good as ``search`` allows.

    ``cdag`` is the graph as plans see it. Where the program would be too large it is one of a few milestones.

    >>> from shorthaul.pebble.model import build
    >>> back = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 4)]
    >>> chain = build([1] * 6, *zip(*back), compute=[1, 2, 3, 4, 5, 6], given=np.zeros(6, dtype=bool))
    >>> least_paid(chain, 3, Terms(None, None), recompute=True, limit=99, search=Search(effort=1))
    22
    """
    least = terms.least(cdag)
    order = milestones(cdag, terms)
    if limit <= least:
        return limit
    few = search.part(tuning.STAGED_SHARE_OF_FEW)
    best = _least_of_few(cdag, budget, terms, order, recompute=recompute, limit=limit, search=few)
    size = len(order) * (cdag.n + cdag.edges)
    if best < limit and size <= min(tuning.MOST_STAGED, tuning.STAGED_SIZE * search.left()):
        best = max(best, _least(cdag, budget, terms, order, recompute=recompute, limit=limit, search=search))
    return best


def _least(
    cdag: Cdag, budget: int, terms: Terms, order: list[int], *, recompute: bool, limit: int, search: Search
) -> int:
    """Return what the program with these milestones proves."""
    program = _Program(cdag, terms, order, recompute=recompute)
    budget += terms.slack(cdag)  # an operand whose room a result takes could stay until the result is there
    program.require(budget)
    program.fit_in_between(budget)
    unit, beside = program.pay()
    return max(terms.least(cdag), beside + unit * program.least(-(-(limit - beside) // unit), search))


def _least_of_few(
    cdag: Cdag, budget: int, terms: Terms, order: list[int], *, recompute: bool, limit: int, search: Search
) -> int:
    """Return what a few milestones prove: the best one, then with it the best second one, and so on.

    Any part of the milestones is computed in their order too. One of them is a choice of what to keep at one moment.
    Those that are tried are spread, where most is read later first; then they lie closer and closer to the best.
    """
    best = terms.least(cdag)
    chosen: list[int] = []
    effort = tuning.STAGED_EFFORT_OF_ONE * (cdag.n + cdag.edges)
    read_later = _read_later(cdag, order)
    if read_later.max() <= budget + terms.slack(cdag):
        return best
    apart = max(1, len(order) // (2 * tuning.SPREAD_STAGES))
    spread: list[int] = []
    for place in np.argsort(-read_later, kind="stable").tolist():
        if len(spread) < tuning.SPREAD_STAGES and all(abs(place - other) >= apart for other in spread):
            spread.append(place)

    def with_one(place: int) -> int:
        search.spend(effort * (1 + len(chosen)))
        asked = [order[at] for at in sorted({*chosen, place})]
        part = search.part(tuning.STAGED_SHARE)
        return _least(cdag, budget, terms, asked, recompute=recompute, limit=limit, search=part)

    while best < limit:
        step, places, found = 2 * apart, spread, (best, -1)
        while places and found[0] < limit:
            for place in places:
                if place not in chosen and found[0] < limit and not search.expired():
                    found = max(found, (with_one(place), place))
            step, at = step // 2, found[1]
            places = [] if step == 0 or at < 0 else [near for near in (at - step, at + step) if 0 <= near < len(order)]
        if found[0] <= best:
            break
        best = found[0]
        chosen.append(found[1])
    return best


def _read_later(cdag: Cdag, order: list[int]) -> IntArray:
    """Return for each milestone the weight of what is surely computed by then, and read then or surely later."""
    first, last = _spans(cdag, order)
    change = np.zeros(len(order) + 2, dtype=np.int64)
    for node, weight in enumerate(cdag.weights.tolist()):
        latest = max((first[reader] for reader in cdag.children.neighbours(node).tolist()), default=last[node])
        if last[node] <= latest:
            change[last[node]] += weight
            change[latest + 1] -= weight
    return np.cumsum(change)[: len(order)]


class _Program:
    """The integer program. Stage t ends with the computation of ``order[t]``; one more stage holds the rest."""

    def __init__(self, cdag: Cdag, terms: Terms, order: list[int], *, recompute: bool) -> None:
        from ortools.sat.python import cp_model

        self.model = cp_model.CpModel()
        self._cdag, self._terms, self._order, self._recompute = cdag, terms, order, recompute
        self._first, self._last = _spans(cdag, order)
        stages, new = len(order), self.model.new_bool_var
        spans = [(stage, node) for node in range(cdag.n) for stage in range(self._first[node], stages + 1)]
        #: What is in fast memory at the end of a stage, what is computed in it (or is an input that is loaded), what is
        #: loaded again; by stage and node.
        self._there: dict[tuple[int, int], cp_model.IntVar] = {at: new("") for at in spans if at[0] < stages}
        self._made = {at: new("") for at in spans}
        self._loaded = {at: new("") for at in spans if terms.offloads and not cdag.given[at[1]]}

    def require(self, budget: int) -> None:
        """Add what every plan keeps to."""
        cdag, model, stages = self._cdag, self.model, len(self._order)
        weights = (cdag.weights // (unit := int(np.gcd.reduce(cdag.weights)))).tolist()
        operands = [cdag.parents.neighbours(node).tolist() for node in range(cdag.n)]
        for stage, node in enumerate(self._order):
            held = [
                (weights[other], self._there[stage, other]) for other in range(cdag.n) if (stage, other) in self._there
            ]
            model.add(sum(weight * there for weight, there in held) <= budget // unit)
            model.add(self._made[stage, node] == 1)
            for other in [node, *operands[node]]:
                model.add(self._there[stage, other] == 1)
        for at, there in self._there.items():
            model.add(there <= self._could_be(at))
        for (stage, node), made in self._made.items():
            for operand in operands[node]:
                model.add(made <= self._could_be((stage, operand)))
        for node in np.flatnonzero(~cdag.given).tolist():
            times = [self._made[stage, node] for stage in range(self._first[node], stages + 1)]
            model.add_at_least_one(times[: self._last[node] + 1 - self._first[node]])
            if not self._recompute:
                model.add_exactly_one(times)

    def fit_in_between(self, budget: int) -> None:
        """Add that what stays through a stage leaves room for each value that is computed in it."""
        cdag, model = self._cdag, self.model
        unit = int(np.gcd.reduce(cdag.weights))
        weights, room = (cdag.weights // unit).tolist(), budget // unit
        for stage in range(1, len(self._order)):
            stays = {}
            for node in range(cdag.n):
                before, at = (stage - 1, node), (stage, node)
                if before in self._there and at in self._there:
                    stays[node] = model.new_bool_var("")
                    came = [part[at] for part in (self._made, self._loaded) if at in part]
                    model.add(stays[node] >= self._there[before] + self._there[at] - 1 - sum(came))
            whole = model.new_int_var(0, room, "")
            model.add(whole == sum(weights[node] * variable for node, variable in stays.items()))
            for node in np.flatnonzero(~cdag.given).tolist():
                if (stage, node) in self._made and node != self._order[stage]:
                    own = [node, *cdag.parents.neighbours(node).tolist()]
                    need = sum(weights[other] for other in own)
                    apart = whole - sum(weights[other] * stays[other] for other in own if other in stays)
                    model.add(apart + need * self._made[stage, node] <= room)

    def _could_be(self, at: tuple[int, int]) -> Any:
        """Return what is positive if a value is in fast memory some time in a stage."""
        before = (at[0] - 1, at[1])
        return sum(
            part[key] for part, key in ((self._there, before), (self._made, at), (self._loaded, at)) if key in part
        )

    def pay(self) -> tuple[int, int]:
        """Minimise what is paid; return the unit in which, and what is paid beside: the stores of outputs."""
        cdag, terms = self._cdag, self._terms
        weights, compute = cdag.weights.tolist(), cdag.compute.tolist()
        load, store = terms.load or 0, terms.store or 0
        prices = [load * weights[node] if cdag.given[node] else compute[node] for node in range(cdag.n)]
        paid = [(prices[node], made) for (_, node), made in self._made.items()]
        paid += [(load * weights[node], loaded) for (_, node), loaded in self._loaded.items()]
        outputs = cdag.is_output()
        for node in {node for _, node in self._loaded if store and not outputs[node]}:
            stored = self.model.new_bool_var("")
            for (_, other), loaded in self._loaded.items():
                if other == node:
                    self.model.add(loaded <= stored)
            paid.append((store * weights[node], stored))
        unit = gcd(*(price for price, _ in paid)) or 1
        self._most = sum(price // unit for price, _ in paid)
        self._total: Any = sum(price // unit * variable for price, variable in paid if price)
        self.model.minimize(self._total)
        return unit, store * int(cdag.weights[outputs].sum())

    def least(self, limit: int, search: Search) -> int:
        """Return a lower bound on the total, at most ``limit``, both in its unit."""
        from ortools.sat.python import cp_model

        if self._most == 0:
            return 0
        if limit <= self._most:
            self.model.add(self._total < limit)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.linearization_level = 2  # at 1 some training graphs stay at the trivial bound
        solver.parameters.max_deterministic_time = min(search.left(), tuning.STAGED_EFFORT) * tuning.STAGED_TIME
        solver.parameters.max_time_in_seconds = max(0.01, min(search.remaining_s(), 1e6))
        status = run_solver(solver, self.model, search)
        search.spend(solver.response_proto.deterministic_time / tuning.STAGED_TIME)
        if status == cp_model.INFEASIBLE:
            return limit
        reached = solver.best_objective_bound  # a whole number, as a float
        return min(limit, floor(reached * (1 - 1e-15) + 1e-3)) if isfinite(reached) else 0


def _spans(cdag: Cdag, order: list[int]) -> tuple[list[int], list[int]]:
    """Return the first stage in which each node can be computed, and the last in which it must have been."""
    first, last = [0] * cdag.n, [len(order)] * cdag.n
    place = {node: stage for stage, node in enumerate(order)}
    for node in cdag.order.tolist():
        earliest = [first[other] + (other in place) for other in cdag.parents.neighbours(node).tolist()]
        first[node] = place.get(node, max(earliest, default=0))
    for node in cdag.order[::-1].tolist():
        latest = [last[other] for other in cdag.children.neighbours(node).tolist()]
        last[node] = place.get(node, min(latest, default=len(order)))
    return first, last
