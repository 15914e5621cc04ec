"""A plan of the search alone, with the quick bound."""

from __future__ import annotations

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.best import lower_bound
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.driver import begin, improved


def improve(problem: Problem, rules: Rules, search: Search) -> Plan:
    """Return the best plan of four annealings and of windows."""
    begun = begin(problem, rules, search)
    assert begun is not None
    return improved(begun, search, 4, lower_bound(problem, rules, search)).kept(search)
