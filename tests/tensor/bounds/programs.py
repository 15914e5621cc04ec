"""The best prices of the linear program over all groups, for tests."""

from __future__ import annotations

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.columns import column_program
from shorthaul.tensor.bounds.prices import Prices
from shorthaul.tensor.model import Problem, Rules


def column_prices(problem: Problem, rules: Rules, search: Search) -> Prices | None:
    """Return the best prices that are proven as far as ``search`` gets, None without a program."""
    program = column_program(problem, rules, search)
    return None if program is None else program.solve(search)
