"""Sets of deeds that the columns of a linear program's solution do not support enough, and the program with them.

See :mod:`shorthaul.tensor.bounds.groups.supports`. The rows of the plain program ask once per operator whether it finds
its inputs. So a group that runs an operator again may load what nobody stores, and groups may wait for one another in a
circle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, TypeVar

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.columns import Program
from shorthaul.tensor.bounds.groups.ordering import (
    RETAINED,
    RUN,
    STORED,
    Deed,
    Deeds,
    GroupDeeds,
    Ordering,
    Succession,
    deeds_of,
    holds_one,
)
from shorthaul.tensor.bounds.prices import Prices
from shorthaul.tensor.model import Problem
from shorthaul.tensor.tuning import SUPPORTS_PER_EFFORT

#: A set is asked for if its supports lack this much of a unit.
_LACKING: Final = 0.02
#: Rows of a kind that are added at once; and how often, before columns are generated.
_AT_ONCE: Final = 100
_ROUNDS: Final = 5
#: A program whose value is above this part of a plan's latency meets it.
_LESS: Final = 1 - 1e-9

#: Amounts up to this are rounding.
_SOME: Final = 1e-7

_Row = TypeVar("_Row")
_Amounts = Sequence[tuple[GroupDeeds, float]]


def ordered_prices(program: Program, search: Search, latency: float) -> tuple[Program, Prices | None]:
    """Return the program with what the order of groups asks for, as far as it matters, and the best prices proven.

    ``latency`` is what a plan takes: a program of that value needs no more rows. Prices are None if they are no better.
    """
    best: Prices | None = None
    while program.is_proven() and program.value < latency * _LESS and not search.expired():
        ordering = _ordered(program, search, latency)
        if ordering == program.diagram.ordering:
            program.is_ordered = not search.expired()
            break
        later = Program(
            program.problem,
            program.rules,
            search,
            program.diagram.later,
            order=program.diagram.decided,
            ordering=ordering,
        )
        if not later.diagram.is_complete:
            break
        later.resume(program)
        prices = later.solve(search)
        if best is None or prices.value > best.value:
            best = prices
        program = later
    return program, best


def _ordered(program: Program, search: Search, latency: float) -> Ordering:
    """Return an ordering that raises the value of the columns so far, as far as it may."""
    ordering = program.priced()
    for _ in range(_ROUNDS):
        if search.expired():
            break
        value, columns = program.chosen(ordering, search)
        if value >= latency * _LESS:
            break
        chosen = [(deeds_of(program.problem, *column[:3]), amount) for column, amount in columns]
        lacking = unsupported(program.problem, program.diagram.later, chosen, search)
        more = Ordering(_fresh(lacking, ordering.supports), _fresh(outnumbered(chosen), ordering.successions))
        if not any(more):
            break
        ordering = Ordering(ordering.supports + more.supports, ordering.successions + more.successions)
    return ordering


def _fresh(found: list[_Row], known: tuple[_Row, ...]) -> tuple[_Row, ...]:
    """Return those found that are not known, not too many."""
    return tuple([row for row in found if row not in known][:_AT_ONCE])


def outnumbered(chosen: _Amounts) -> list[Succession]:
    """Return successions of which more groups find a set resident than others retain one."""
    finding: dict[frozenset[int], float] = {}
    keeping: dict[frozenset[int], float] = {}
    for group, amount in chosen:
        finds = frozenset(deed.number for deed in group.needs if deed.kind == RETAINED)
        keeps = frozenset(deed.number for deed in group.does if deed.kind == RETAINED)
        if finds:
            finding[finds] = finding.get(finds, 0.0) + amount
        if keeps:
            keeping[keeps] = keeping.get(keeps, 0.0) + amount
    found = []
    for apart in _apart(_cut(finding, keeping), keeping):
        sets = frozenset(each for each in apart if not any(other < each for other in apart))
        has = sum(amount for keeps, amount in keeping.items() if holds_one(keeps, sets))
        if sum(amount for finds, amount in finding.items() if holds_one(finds, sets)) > has + _LACKING:
            found.append(sets)
    return found


def _cut(finding: dict[frozenset[int], float], keeping: dict[frozenset[int], float]) -> list[frozenset[int]]:
    """Return the sets found resident that lack the most: those from which no flow leads on (a least cut)."""
    left, spare = dict(finding), dict(keeping)
    flow: dict[tuple[frozenset[int], frozenset[int]], float] = {}
    while True:
        # The sets of which more may come, those that retain them, and whom else these serve, one after the other.
        came: dict[frozenset[int], tuple[frozenset[int], ...]] = {finds: () for finds in left if left[finds] > _SOME}
        pending, seen, path = list(came), set[frozenset[int]](), None
        while pending and path is None:
            finds = pending.pop(0)
            for keeps in keeping:
                if keeps in seen or not finds <= keeps:
                    continue
                seen.add(keeps)
                way = (*came[finds], finds, keeps)
                if spare[keeps] > _SOME:
                    path = way
                    break
                for other in finding:
                    if other not in came and flow.get((other, keeps), 0.0) > _SOME:
                        came[other] = way
                        pending.append(other)
        if path is None:
            return list(came)
        steps = list(pairwise(path))
        amount = min([left[path[0]], spare[path[-1]], *(flow[two, one] for one, two in steps[1::2])])
        left[path[0]] -= amount
        spare[path[-1]] -= amount
        for number, (one, two) in enumerate(steps):
            pair, sign = ((two, one), -1) if number % 2 else ((one, two), 1)
            flow[pair] = flow.get(pair, 0.0) + sign * amount


def _apart(sets: list[frozenset[int]], keeping: dict[frozenset[int], float]) -> list[list[frozenset[int]]]:
    """Return the sets in parts that nobody retains sets of two of."""
    parts: list[list[frozenset[int]]] = []
    for each in sets:
        touching = [part for part in parts if any(each <= k and other <= k for other in part for k in keeping)]
        parts = [part for part in parts if part not in touching]
        parts.append([each, *(other for part in touching for other in part)])
    return parts


class _Supports:
    """The groups of a solution by what they do; ``looked_at`` counts those asked whether they support a set."""

    def __init__(self, chosen: _Amounts) -> None:
        self._chosen = chosen
        self._doing: dict[Deed, list[int]] = {}
        for number, (group, _) in enumerate(chosen):
            for deed in group.does:
                self._doing.setdefault(deed, []).append(number)
        self.looked_at = 0

    def of(self, deeds: Deeds) -> list[tuple[GroupDeeds, float]]:
        """Return the groups that support a set."""
        numbers = sorted({number for deed in deeds for number in self._doing.get(deed, ())})
        self.looked_at += len(numbers)
        return [self._chosen[number] for number in numbers if self._chosen[number][0].needs.isdisjoint(deeds)]

    def amount(self, deeds: Deeds) -> float:
        """Return what the supports of a set come to."""
        return sum(amount for _, amount in self.of(deeds))


def unsupported(problem: Problem, later: frozenset[int], chosen: _Amounts, search: Search | None = None) -> list[Deeds]:
    """Return sets of which every plan does a deed, and whose supports come to less than a unit.

    Groups of at least a certain amount do what they can, one after the other. What they cannot do
    is in sets, of which other groups may support little.
    """
    asked = [Deed(RUN, index) for index in problem.topological_order if index not in later]
    asked += [Deed(STORED, tensor) for index in sorted(later) for tensor in problem.operators[index].inputs]
    asked = [deed for deed in asked if deed.kind == RUN or problem.producer[deed.number] is not None]
    found: dict[Deeds, None] = {}
    supports = _Supports(chosen)
    for least in sorted({round(amount, 6) for _, amount in chosen}, reverse=True):
        done: set[Deed] = set()
        for goal in asked:
            _do(done, [group for group, amount in chosen if amount >= least - 1e-6])
            if goal in done:
                continue
            deeds = _reduced(_lacking(goal, done, supports), goal, supports)
            if supports.amount(deeds) < 1 - _LACKING:
                found[deeds] = None
                done |= deeds
            done.add(goal)
    if search is not None:
        search.spend(supports.looked_at / SUPPORTS_PER_EFFORT)
    return [*found]


def _do(done: set[Deed], groups: Iterable[GroupDeeds]) -> None:
    """Add what groups do that find what they need, one after the other."""
    waiting = list(groups)
    while ready := [group for group in waiting if group.needs <= done]:
        waiting = [group for group in waiting if not group.needs <= done]
        for group in ready:
            done |= group.does


def _lacking(goal: Deed, done: set[Deed], supports: _Supports) -> Deeds:
    """Return a set that holds ``goal``, and of every group that would support it a deed that it needs, if not done."""
    deeds = frozenset([goal])
    while True:
        ways = [group.needs - done for group, _ in supports.of(deeds) if not group.needs <= done]
        if not ways:
            return deeds
        deeds = min((deeds | {need} for need in ways[0]), key=lambda more: (supports.amount(more), sorted(more)))


def _reduced(deeds: Deeds, goal: Deed, supports: _Supports) -> Deeds:
    """Return a set without deeds but for the goal that others do not need, so that fewer groups support it."""
    amount = supports.amount(deeds)
    for deed in sorted(deeds - {goal}):
        less = supports.amount(deeds - {deed})
        if less <= amount:
            deeds, amount = deeds - {deed}, less
    return deeds
