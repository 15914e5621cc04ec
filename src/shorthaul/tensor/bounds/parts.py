"""The linear program of a graph that is too wide for all its groups: they fall into parts, ever larger ones."""

from __future__ import annotations

from typing import Final

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.columns import Program, has_columns
from shorthaul.tensor.bounds.fronts import narrow_order
from shorthaul.tensor.bounds.groups.regions import cut_links
from shorthaul.tensor.bounds.prices import Prices
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.tuning import PARTS_EFFORT_PER_OPERATOR, PARTS_EFFORT_PER_SQUARE

#: How many operators hang together at most, one program after the other, and the share of what is left that each takes.
_ROUNDS: Final = ((1, 0.7), (3, 0.5), (8, 0.5), (16, 1.0))


def parts_effort(problem: Problem) -> float:
    """Return the effort that the program of all parts of one operator takes at least."""
    count = len(problem.operators)
    return PARTS_EFFORT_PER_OPERATOR * count + PARTS_EFFORT_PER_SQUARE * count**2


def part_prices(
    problem: Problem, rules: Rules, search: Search, plan: Plan | None = None, order: list[int] | None = None
) -> Prices | None:
    """Return the best prices that are proven within ``search``, None if there are none, or too little is left.

    ``order`` is one of narrow fronts, if it is known.
    """
    if not has_columns(problem, rules) or min(search.left(), search.remaining_s()) < parts_effort(problem):
        return None
    order = narrow_order(problem, search) if order is None else order
    best: Prices | None = None
    earlier: Program | None = None
    for most, share in _ROUNDS:
        part = search.part(share)
        program = Program(problem, rules, part, cuts=cut_links(problem, rules, order, most), order=order)
        if not program.diagram.is_complete:
            break
        if earlier is None:
            program.enter_parts(part)
        else:
            program.resume(earlier)
        prices = program.solve(part, plan=plan)
        if best is None or prices.value > best.value:
            best = prices
        earlier = program
    return best
