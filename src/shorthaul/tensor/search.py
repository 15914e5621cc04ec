"""The search for a schedule."""

from __future__ import annotations

from shorthaul.core.search import Budget
from shorthaul.tensor.baseline import one_operator_per_subgraph
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan


def improve(problem: Problem, rules: Rules, search: Budget) -> Plan:
    """Return the best schedule found within ``search``."""
    plan = one_operator_per_subgraph(problem, rules)
    search.report(what="one operator per subgraph")
    return plan
