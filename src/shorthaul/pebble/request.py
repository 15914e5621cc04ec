"""A planning request (graph, memory, limits of the search) and its answer (plan, method, bound)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.best import exhausted
from shorthaul.pebble.model import Cdag, IntArray, Terms
from shorthaul.pebble.plan import Move, Plan, as_computed


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is asked for: a plan or a bound for ``cdag`` within ``budget``, as good as ``search`` allows.

    ``terms`` are the prices and the order; the usual ones are those of the paper. ``order`` is an order of computation
    to begin with, beside those of the methods. A budget that holds all values is as good as any larger one, with which
    products might not fit.
    """

    cdag: Cdag
    budget: int
    recompute: bool
    search: Search
    terms: Terms = Terms()
    order: IntArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", min(self.budget, int(self.cdag.weights.sum())))

    @property
    def is_usual(self) -> bool:
        """True for the paper's game, in which only the traffic counts and no output is read."""
        return self.terms.is_usual and self.cdag.kept is None and not self.cdag.compute.any()

    def paid(self, plan: Plan) -> int:
        """Return what ``plan`` pays: in the usual game its traffic."""
        weights, compute = self.cdag.weights, self.cdag.compute
        paid = (self.terms.load or 0) * plan.weight_of(Move.LOAD, weights)
        paid += (self.terms.store or 0) * plan.weight_of(Move.STORE, weights)
        nodes = plan.nodes[plan.kinds == Move.COMPUTE]
        if self.terms.partial:  # once for each value
            begun = as_computed(plan, self.cdag.edge_arrays()[1])
            nodes = np.unique(begun.nodes[begun.kinds == Move.COMPUTE])
        return paid + int(compute[nodes].sum())


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A plan, the method that found it, and the best lower bound met on the way."""

    plan: Plan
    method: str
    bound: Bound


def going_on(search: Search, share: float = tuning.GOING_ON_SHARE) -> Search:
    """Return what goes on from a plan that was found with as much effort (``Search.again``): a share of that.

    >>> going_on(Search(effort=10)).left()
    5.0
    """
    return search.part(1.0 if search.is_by_clock else share)


def is_met(cdag: Cdag, found: Found) -> bool:
    """True if the plan costs what its bound says: it is optimal."""
    return found.bound.is_met_by(found.plan.traffic(cdag.weights))


def cheaper(cdag: Cdag, first: Found, second: Found) -> Found:
    """Return the second plan if it costs less than the first."""
    return second if second.plan.traffic(cdag.weights) < first.plan.traffic(cdag.weights) else first


def better(cdag: Cdag, first: Bound, value: float, *, proven: bool, recompute: bool) -> Bound:
    """Return the higher of a bound and what a search has proven, rounded up to what weights add up to."""
    unit = int(np.gcd.reduce(cdag.weights))
    up = -(-int(value) // unit) * unit
    return first if up <= first.value else exhausted(cdag, first, up, proven_optimal=proven, recompute=recompute)
