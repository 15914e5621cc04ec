"""Beam search over downsets: layers of states cut to a width that grows while there is time."""

from __future__ import annotations

from itertools import count

from shorthaul.core.errors import NoPlanError
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, require_budget
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.states.layered_search import Cut, Outcome, layered, tables


def plan(
    cdag: Cdag,
    budget: int,
    *,
    search: Search,
    incumbent: Plan | None = None,
    widest: int = 2**20,
    goal: int | None = None,
) -> Plan:
    """Return the best plan found without recomputation until ``search`` expires, or until no width can improve it.

    ``incumbent`` is a plan to improve on, ``goal`` a traffic at which to stop (a lower bound). Layers are cut to
    ``widest`` states at last. Raises :class:`InfeasibleError` if some node cannot be computed,
    :class:`NoPlanError` if time is up before the first plan.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> cdag = fft(n=4, word=1)
    >>> plan(cdag, 4, search=Search()).traffic(cdag.weights)
    11
    """
    require_budget(cdag, budget)
    least = cdag.algorithmic_bound()
    goal = least if goal is None else max(goal, least)
    best = incumbent
    given = tables(cdag)
    generator = search.generator()
    unit = float(cdag.weights.mean())
    for attempt in count():
        turn, ranking = divmod(attempt, len(tuning.BEAM_RANKINGS))
        width = tuning.FIRST_BEAM << turn
        if width > widest or search.expired() or (best is not None and best.traffic(cdag.weights) <= goal):
            break
        greed, per_set = tuning.BEAM_RANKINGS[ranking]
        limit = int(cdag.weights.sum()) * 4 * cdag.n if best is None else best.traffic(cdag.weights) - least
        outcome = layered(
            cdag,
            budget,
            limit=limit,
            # The first pass is narrow and must end with a plan, however little time there is.
            search=Search(seed=search.seed) if attempt == 0 and best is None else search,
            cut=Cut(width, per_set, greed, tuning.BEAM_NOISE * unit if attempt else 0.0, generator),
            given=given,
        )
        best = outcome.plan or best
        if best is not None:
            search.keep(best.traffic(cdag.weights), best)
        search.report(best=None if best is None else best.traffic(cdag.weights), what=f"beam of width {width}")
        if is_exhausted(outcome):
            break
    if best is None:
        raise NoPlanError("no plan was found within the time limit: give more time, or --method belady")
    return best


def is_exhausted(outcome: Outcome) -> bool:
    """True if wider beams cannot find better plans: nothing was cut."""
    return outcome.finished and outcome.complete
