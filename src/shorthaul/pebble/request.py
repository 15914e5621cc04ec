"""A planning request (graph, memory, limits of the search) and its answer (plan, method, bound)."""

from __future__ import annotations

from dataclasses import dataclass

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.pebble.bounds.best import exhausted
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.plan import Plan


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is asked for: a plan or a bound for ``cdag`` within ``budget``, as good as ``search`` allows."""

    cdag: Cdag
    budget: int
    recompute: bool
    search: Search


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A plan, the method that found it, and the best lower bound met on the way."""

    plan: Plan
    method: str
    bound: Bound


def is_met(cdag: Cdag, found: Found) -> bool:
    """True if the plan costs what its bound says: it is optimal."""
    return found.bound.is_met_by(found.plan.traffic(cdag.weights))


def cheaper(cdag: Cdag, first: Found, second: Found) -> Found:
    """Return the second plan if it costs less than the first."""
    return second if second.plan.traffic(cdag.weights) < first.plan.traffic(cdag.weights) else first


def better(first: Bound, value: float, *, proven: bool, recompute: bool) -> Bound:
    """Return the higher of a bound and what a search has proven."""
    if value <= first.value:
        return first
    return exhausted(int(value), proven_optimal=proven, recompute=recompute)
