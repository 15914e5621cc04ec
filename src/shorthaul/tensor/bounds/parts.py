"""The linear program of a graph that is too wide for all its groups: they fall into parts, ever larger ones.

Bounds are worked out in passes, each of several times the effort of the one before. How a pass divides its effort
depends on that alone, not on how much there is in all: the last one is cut off where the search ends. So a search of
more effort does all that one of less does, and then goes on: no bound falls with more effort.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.columns import Program, has_turns
from shorthaul.tensor.bounds.fronts import narrow_order
from shorthaul.tensor.bounds.groups.regions import cut_links
from shorthaul.tensor.bounds.prices import Prices, keep
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.tuning import PARTS_EFFORT_PER_OPERATOR, PARTS_EFFORT_PER_SQUARE

#: How many operators hang together at most, one program after the other, and the share of what is left that each takes.
_ROUNDS: Final = ((1, 0.7), (3, 0.5), (8, 0.5), (16, 1.0))
#: The effort of the first pass: this, or so many times what parts of one operator take at least.
_FIRST: Final = 0.25
_TIMES_PARTS: Final = 1.5
#: The part of that which has to be there (random graphs of 1,500 operators take 0.52 of it, 103 of branches 0.9).
_ENOUGH: Final = 0.5
#: How many times the effort of a pass the next one has.
_TIMES: Final = 4
#: A pass that spends less than this part of its effort has nothing more to do.
_IDLE: Final = 0.1


def parts_effort(problem: Problem) -> float:
    """Return the effort that the program of all parts of one operator takes at least."""
    count = len(problem.operators)
    return PARTS_EFFORT_PER_OPERATOR * count + PARTS_EFFORT_PER_SQUARE * count**2


def stage(search: Search, effort: float) -> Search:
    """Return a part of this effort, also where less is left: what it does with it is the same, but may be cut off.

    >>> search = Search(effort=1)
    >>> part = stage(search, 4)
    >>> part.spend(1)
    >>> part.part(0.5).effort, part.expired()
    (0.02, True)
    """
    part = search.part(1.0)
    part.effort = effort
    return part


def passes(problem: Problem, search: Search) -> Iterator[Search]:
    """Yield the searches of passes, until ``search`` ends."""
    effort = max(_FIRST, _TIMES_PARTS * parts_effort(problem))
    while not search.expired():
        yield stage(search, effort)
        effort *= _TIMES


def is_idle(part: Search) -> bool:
    """True if a pass has spent so little that there is nothing more to do."""
    return part.effort is not None and part.spent() < _IDLE * part.effort


def is_covered(part: Search) -> bool:
    """True if there is as much effort in all as a pass may take: without, one of more effort does no more."""
    return part.effort is None or part.affords(part.effort - part.spent())


class PartPrograms:
    """The programs of ever larger parts, each gone on with as often as there is effort; ``best`` are prices proven."""

    def __init__(self, problem: Problem, rules: Rules, plan: Plan | None = None) -> None:
        self._problem = problem
        self._rules = rules
        self._plan = plan
        self._order: list[int] | None = None
        self._programs: list[Program] = []
        self.best: Prices | None = None

    def go_on(self, search: Search) -> None:
        """Raise the best prices within ``search``, if not too little is left."""
        if not search.affords(_ENOUGH * parts_effort(self._problem)):
            return
        if self._order is None:
            self._order = narrow_order(self._problem, search)
        for number, (most, share) in enumerate(_ROUNDS):
            part = search.part(share)
            if number == len(self._programs):
                program = self._program(self._order, most, part)
                if not program.diagram.is_complete:
                    break
                self._programs.append(program)
            program = self._programs[number]
            if program.is_proven():
                continue
            prices = program.solve(part, plan=self._plan)
            if self.best is None or prices.value > self.best.value:
                self.best = prices
                keep(search, prices)

    def are_proven(self) -> bool:
        """True if all programs are proven to their values."""
        return len(self._programs) == len(_ROUNDS) and all(program.is_proven() for program in self._programs)

    def _program(self, order: list[int], most: int, search: Search) -> Program:
        """Return the next program, which begins with what the one before it has found."""
        cuts = cut_links(self._problem, self._rules, order, most)
        program = Program(self._problem, self._rules, search, cuts=cuts, order=order)
        if program.diagram.is_complete and self._programs:
            program.resume(self._programs[-1])
        elif program.diagram.is_complete:
            program.enter_parts(search)
        return program


def part_prices(problem: Problem, rules: Rules, search: Search) -> Prices | None:
    """Return the best prices that are proven within ``search``, None if there are none, or too little is left."""
    if not has_turns(problem, rules):
        return None
    programs = PartPrograms(problem, rules)
    for part in passes(problem, search):
        programs.go_on(part)
        if programs.are_proven() or is_idle(part):
            break
    return programs.best
