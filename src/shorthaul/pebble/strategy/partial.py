"""Plans and bounds of the game in which values are accumulated operand by operand."""

from __future__ import annotations

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.exact import accumulation, accumulation_search
from shorthaul.pebble.local_search.sequences import Game
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move, Plan, plan_of, with_stores
from shorthaul.pebble.request import Found, Request, going_on
from shorthaul.pebble.strategy.priced import METHODS, computing_of, moved_bound, trivial_bound
from shorthaul.pebble.strategy.traffic import find_plan, find_plan_numbered

_PROOF = (
    "A search over all plans {}. It left out only positions that were reached at no more, and let go what could have "
    "stayed."
)


def find_partial_plan(request: Request, method: str) -> Found:
    """Return a plan that pays little, and the bound beside it: annealed orders, on small graphs searched exhaustively.

    Raises :class:`NoPlanError` if none was found that fits, and :class:`InfeasibleError` if there is none.
    """
    if method not in METHODS:
        allowed = f"{', '.join(METHODS)} with --partial"
        raise InputError("does not accumulate values", place="--method", value=method, allowed=allowed)
    if request.recompute:
        cure = "leave one of the two flags out: a partial value is accumulated once"
        raise InputError("cannot be combined with --partial", place="--recompute", value=True, cure=cure)
    again, search = request.search.again().aside(), request.search.part(1.0, unlimited=tuning.AUTO_EFFORT)
    game, bound = _game(request), trivial_bound(request)
    computing = computing_of(request)
    is_small = game.cdag.edges < tuning.MOST_SEARCHED_STEPS
    best = None
    if method != "exact":
        if request.terms.offloads and request.cdag.least_budget() <= request.budget:
            search = going_on(search)
        share = search.part(0.5 if is_small else 0.8)
        known = _starts(request, share.part(tuning.USUAL_SHARE), again)
        shown, goal = share.priced(1, computing), int(bound.value) - computing
        if known and request.cdag.least_budget() <= request.budget:
            start = known[0]
            best = start, request.paid(start) - computing
            request.search.keep(best[1] + computing, lambda: start)
            shown.report(best=best[1], bound=goal, what="annealing accumulations")
        found = accumulation.improve(game, known, search=shown, goal=goal)
        if found is not None and (best is None or found[1] < best[1]):
            best = found
            shown.report(best=best[1], bound=goal, what="annealing accumulations")
        if best is not None and game.cdag.kept is not None and game.terms.store is not None:
            plan = with_stores(best[0], np.flatnonzero(game.cdag.kept), game.cdag.edge_arrays()[1])
            best = plan, request.paid(plan) - computing
        if best is not None:
            plan, paid = best
            request.search.keep(paid + computing, lambda: plan)
    is_met = best is not None and bound.is_met_by(best[1] + computing)
    if not is_met:
        bound = moved_bound(bound, request, search.part(0.2 if is_small else 1.0))
        is_met = best is not None and bound.is_met_by(best[1] + computing)
    if method == "exact" or (method == "auto" and (is_small or best is None) and not is_met):
        limit = 2**61 if best is None else best[1]
        done = accumulation_search.solve(game, limit=limit, search=search)
        if done.plan is not None:
            best = done.plan, done.least
        if done.is_complete and best is None:
            raise InfeasibleError(
                "fast memory (every plan needs more than the limit)",
                demand=game.budget + 1,
                limit=game.budget,
                cure="allow prices below inf, or give a larger budget",
            )
        bound = _raised(bound, done, computing)
    if best is None:
        raise NoPlanError(
            "no plan that fits was found; there may be none\n  do:      give a larger budget or more time"
        )
    return Found(best[0], "exact" if bound.method == "exhausted search" else "annealed accumulations", bound)


def _starts(request: Request, search: Search, again: Search) -> list[Plan]:
    """Return the plan of least traffic that computes every value at once, if that fits, and orders from chains of sums.

    The first is a plan, with the effort of ``again``, the other one an order of accumulations alone.
    """
    terms, cdag = request.terms, request.cdag.unkept()
    if not terms.offloads:
        return []
    starts = []
    if cdag.least_budget() <= request.budget:
        usual = find_plan_numbered(Request(cdag, request.budget, False, again, order=request.order), "auto").plan
        starts.append(accumulation.accumulated(cdag, usual))
    if cdag.edges:
        graph, edges = accumulation.chained(cdag)
        budget = request.budget + int(cdag.weights[~cdag.given].max())
        order = edges[belady.order_of(find_plan(Request(graph, budget, False, search.aside()), "auto").plan)]
        starts.append(plan_of([(Move.ACCUMULATE, edge) for edge in order[order >= 0].tolist()]))
    return starts


def partial_bound(request: Request) -> Bound:
    """Return the best lower bound on what a plan pays."""
    search: Search = request.search.part(1.0, unlimited=tuning.PARTS_EFFORT)
    known = moved_bound(trivial_bound(request), request, search.part(0.5))
    done = accumulation_search.solve(_game(request), limit=2**61, search=search)
    return known if done.is_complete and done.plan is None else _raised(known, done, computing_of(request))


def _game(request: Request) -> Game:
    return Game(request.terms.played(request.cdag), request.budget, False, request.terms)


def _raised(known: Bound, done: accumulation_search.Outcome, computing: int) -> Bound:
    if done.least + computing <= known.value:
        return known
    end = "was completed up to the optimum" if done.is_complete else "excluded all lower prices"
    return Bound("total", done.least + computing, "exhausted search", _PROOF.format(end))
