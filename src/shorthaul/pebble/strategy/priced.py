"""Plans and bounds of the game with prices: compute costs, dear or missing loads and stores, a given order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds import stages
from shorthaul.pebble.bounds.best import accumulated_bound
from shorthaul.pebble.exact import priced_search
from shorthaul.pebble.local_search import sequences
from shorthaul.pebble.local_search.sequences import Events, Game
from shorthaul.pebble.model import Cdag, Terms
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move, Plan
from shorthaul.pebble.request import Found, Request, going_on, is_met
from shorthaul.pebble.strategy import depth_first, in_place, kept
from shorthaul.pebble.strategy.traffic import find_plan_numbered, lower_bound, lower_bound_numbered

#: The methods that know prices.
METHODS = ("auto", "local-search", "exact")
#: What traffic beyond inputs and outputs costs; of outputs that are read, too; and where the graph is cut there.
_HALF = "and a value that is stored is loaded, so at least half of that is loads."
_KEPT = " The stores of outputs that are read count once."
_CUT = f"{_HALF} That is of the graph cut at outputs that are read, each loaded again as an input."
#: More than any plan pays.
_ANY_PRICE = 2**61


def find_priced_plan(request: Request, method: str) -> Found:
    """Return a plan that pays little, and the bound that stands beside it.

    Where only the traffic matters, it is the plan of least traffic. Otherwise events are annealed, from the plan of a
    game with less freedom, which has the effort that it has alone, or from the given order; small graphs are searched
    exhaustively.
    Raises :class:`NoPlanError` if none was found that fits, and :class:`InfeasibleError` if there is none.
    """
    if _is_traffic(request):
        search = request.search.priced(request.terms.load or 0, computing_of(request))
        found = find_plan_numbered(replace(request, terms=Terms(), search=search), method)
        return replace(found, bound=_of_traffic(request, found.bound))
    if _computes_once(request):
        search = request.search.priced(1, computing_of(request))
        found = find_priced_plan(replace(request, cdag=_free_of_cost(request.cdag), search=search), method)
        return replace(found, bound=_with_computing(request, found.bound))
    if method not in METHODS:
        raise InputError(
            "knows the usual prices only",
            place="--method",
            value=method,
            allowed=f"{', '.join(METHODS)} with compute costs, other prices, a given order or in place",
        )
    planner = _Planner(request, request.search.part(1.0, unlimited=tuning.AUTO_EFFORT))
    if method == "auto" and request.cdag.n <= tuning.FEW_NODES:
        planner.anneal(0.02)
        planner.prove(0.02)
        planner.search(0.02)
    if method != "exact":
        planner.begin()
        planner.anneal(0.3 if method == "auto" else 1.0)
    if method != "local-search":
        planner.prove(0.6)
        planner.search(0.7)
        planner.anneal(1.0)
    return planner.found()


class _Planner:
    """The cheapest events so far and what they pay, and the bound."""

    def __init__(self, request: Request, search: Search) -> None:
        terms = request.terms
        self.game = Game(terms.played(request.cdag), request.budget, request.recompute, terms)
        self._request, self._search, self._keep = request, search, request.search.keep
        self._again = request.search.again().aside()
        self._bound = trivial_bound(request)
        self._best: tuple[Events, int] | None = None
        self._moved: Bound | None = None
        resumed = request.search.start()
        self._start = None if resumed is None else sequences.events_of(self.game, resumed)

    def _take(self, events: Events, paid: int, method: str) -> None:
        if self._best is None or paid < self._best[1]:
            self._best, self._method = (events, paid), method
            self._keep(paid, lambda: sequences.played(self.game, events))

    def _is_over(self) -> bool:
        return self._best is not None and self._bound.is_met_by(self._best[1])

    def begin(self) -> None:
        """Start from a plan of a game with less freedom, so that none is dearer, unless the search is resumed.

        That one computes nothing twice, or else is one of the usual game.
        """
        request, game = self._request, self.game
        if self._start is not None or self._is_over():
            return
        if game.terms.in_order or not game.terms.offloads:
            if self._best is None:
                self._start = _start(request, game, self._search.part(tuning.USUAL_SHARE))
            return
        is_near = request.recompute or not game.terms.in_place
        self._search = going_on(self._search, tuning.GOING_ON_NEAR if is_near else tuning.GOING_ON_SHARE)
        if request.recompute:
            less = find_priced_plan(replace(request, recompute=False, search=self._again), "auto").plan
            self._take_plan(sequences.events_of(game, less))
            return
        if game.terms.slack(game.cdag) > 0:
            # Next to nothing, so not charged: what follows if it misses the bound has all of its effort.
            order = _start(request, game, self._search.beside(self._search.left()), "quick")
            if self._bound.is_met_by(request.paid(sequences.played(game, order))):
                self._take_plan(order)
                return
        is_one = request.cdag.least_budget() <= request.budget
        if is_one:
            usual = _usual(request, request.budget, self._again)
            self._moved = None if game.terms.slack(game.cdag) else usual.bound
            self._take_plan(_events(request, game, usual.plan, fits=True))
            if self._moved is None and is_met(game.cdag, usual):
                early = self._search.part(tuning.FIRST_BOUND_SHARE_IN_PLACE)
                self._bound = moved_bound(self._bound, request, early)
        if not self._is_over() and (not is_one or game.terms.slack(game.cdag) > 0):
            self._start = _start(request, game, self._search.part(tuning.START_SHARE_IN_PLACE))

    def _take_plan(self, events: Events) -> None:
        self._take(events, self._request.paid(sequences.played(self.game, events)), "annealed events")

    def anneal(self, share: float) -> None:
        """Anneal a start, else the best events, with a share of what is left."""
        if self._is_over():
            return
        search = self._search.part(share)
        start = self._start
        if start is None:
            start = _start(self._request, self.game, search.part(0.4)) if self._best is None else self._best[0]
        found = sequences.improve(self.game, start, search=search, goal=int(self._bound.value))
        if found is not None:
            self._take(*found, "annealed events")
            self._start = None
        elif self.game.recompute and not self.game.terms.offloads:
            self._start = depth_first.recomputed(self.game, tuning.MOST_RECOMPUTED) or self._start

    def prove(self, share: float) -> None:
        """Raise the bound by the one on the traffic and by an integer program, with a share of what is left."""
        search = self._search.part(share)
        if not self._is_over():
            self._bound = moved_bound(self._bound, self._request, search.part(0.4), self._moved)
        if not self._is_over():
            limit = _ANY_PRICE if self._best is None else self._best[1]
            self._bound = _staged(self._bound, self.game, limit, search)

    def search(self, share: float) -> None:
        """Search a small graph exhaustively, with a share of what is left; it may prove a bound."""
        if self._is_over() or self.game.cdag.n > priced_search.MOST_NODES:
            return
        limit = _ANY_PRICE if self._best is None else self._best[1]
        done = priced_search.solve(self.game, limit=limit, search=self._search.part(share))
        if done.is_complete and done.events is None and self._best is None:
            raise InfeasibleError(
                "fast memory (every plan needs more than the limit)",
                demand=self.game.budget + 1,
                limit=self.game.budget,
                cure=self._cure("give a larger budget"),
            )
        if done.events is not None:
            self._take(done.events, done.least, "exact")
        if done.least > self._bound.value:
            self._bound = _exhausted(done)

    def _cure(self, larger: str) -> str:
        """What may help: recomputation only where it is not allowed yet, prices only where one is inf."""
        ways = [larger, *([] if self.game.recompute else ["allow recomputation"])]
        ways += [] if self.game.terms.offloads else ["give prices below inf"]
        return ", or ".join(ways)

    def found(self) -> Found:
        """Return the plan; raises :class:`NoPlanError` if there is none."""
        if self._best is None:
            cure = self._cure("give a larger budget or more time")
            raise NoPlanError(f"no plan that fits was found; there may be none\n  do:      {cure}")
        return Found(sequences.played(self.game, self._best[0]), self._method, self._bound)


def priced_bound(request: Request) -> Bound:
    """Return the best lower bound on what a plan pays."""
    if _is_traffic(request):
        usual = replace(request, terms=Terms(), search=request.search.aside())
        return _of_traffic(request, lower_bound_numbered(usual))
    if _computes_once(request):
        return _with_computing(request, priced_bound(replace(request, cdag=_free_of_cost(request.cdag))))
    terms, search = request.terms, request.search.part(1.0, unlimited=tuning.AUTO_EFFORT)
    game = Game(terms.played(request.cdag), request.budget, request.recompute, terms)
    best = moved_bound(trivial_bound(request), request, search.part(0.3))
    best = _staged(best, game, _ANY_PRICE, search.part(0.5))
    if game.cdag.n <= priced_search.MOST_NODES:
        done = priced_search.solve(game, limit=_ANY_PRICE, search=search)
        if done.least > best.value and (done.events is not None or not done.is_complete):
            best = _exhausted(done)
    return best


def moved_bound(known: Bound, request: Request, search: Search, usual: Bound | None = None) -> Bound:
    """Return the bound that follows from the one on the traffic if it is higher than the one known.

    ``usual`` is the one on the traffic, no output being read, if that has been found within the same memory.
    """
    terms, cdag = request.terms, request.cdag
    if terms.load is None or terms.store is None:
        return known
    both = terms.load + min(terms.load, terms.store)
    if cdag.kept is None:
        return _beyond(known, request, cdag, both, _HALF, search, usual=usual)
    if not request.recompute:
        whole, names = kept.cut(cdag)
        known = _beyond(known, request, whole, both, _CUT, search.part(0.5), names)
    return _beyond(known, request, cdag.unkept(), terms.load, _HALF + _KEPT, search, usual=usual)


def _beyond(
    known: Bound,
    request: Request,
    cdag: Cdag,
    price: int,
    why: str,
    search: Search,
    cut: kept.Names | None = None,
    usual: Bound | None = None,
) -> Bound:
    """Return what follows from the traffic of ``cdag`` if two units of it cost ``price``, where that is more."""
    budget = request.budget + request.terms.slack(cdag)
    if request.terms.partial:
        usual = accumulated_bound(cdag, budget, search=search.aside())
    elif usual is None:
        bounded = lower_bound if request.terms.in_order else lower_bound_numbered
        usual = bounded(replace(request, cdag=cdag, terms=Terms(), budget=budget, search=search.aside()))
    beyond = int(usual.value) - cdag.algorithmic_bound()
    value = request.terms.least(request.cdag) + -(-price * beyond // 2)
    if value <= known.value:
        return known
    proof = f"{usual.proof} So at least {beyond} is moved beside inputs and outputs; {why}{_larger(request.terms)}"
    details = {name: told for name, told in usual.details.items() if name == "certificate"}
    if cut is not None and details:
        details["certificate"] = {**details["certificate"], "cut": cut}
    return Bound("total", value, f"traffic ({usual.method})", proof, details)


def _staged(known: Bound, game: Game, limit: int, search: Search) -> Bound:
    """Return the bound of the integer program if it is higher than the one known."""
    cdag, terms = game.cdag, game.terms
    value = stages.least_paid(cdag, game.budget, terms, recompute=game.recompute, limit=limit, search=search)
    return Bound("total", value, "stages", stages.PROOF + _larger(terms)) if value > known.value else known


def _larger(terms: Terms) -> str:
    more = " The memory is taken as larger by the heaviest result that fits into the room of an operand."
    return more if terms.in_place else ""


def _exhausted(done: priced_search.Outcome) -> Bound:
    if done.is_complete:
        end = "was completed up to the optimum"
    else:
        end = "excluded all lower prices: what it left open cannot pay less than the bound"
    left_out = "positions that were reached at no more, and let go what could have stayed"
    return Bound(
        "total", done.least, "exhausted search", f"A search over all plans {end}. It left out only {left_out}."
    )


def _is_traffic(request: Request) -> bool:
    """True if only the traffic matters: a plan pays the same for computing whatever it does."""
    terms, cdag = request.terms, request.cdag
    may_repeat = request.recompute and bool(cdag.compute.any())
    is_other = terms.in_order or terms.in_place or may_repeat or cdag.kept is not None
    return terms.offloads and terms.load == terms.store and not is_other


def _computes_once(request: Request) -> bool:
    """True if plans pay for computing, but all the same: it would only hide what they differ in."""
    return not request.recompute and bool(request.cdag.compute.any())


def _free_of_cost(cdag: Cdag) -> Cdag:
    return replace(cdag, compute=np.zeros(cdag.n, dtype=np.int64))


def _with_computing(request: Request, bound: Bound) -> Bound:
    """Return a bound where computing is free as one where it is paid for, once for each value."""
    compute = computing_of(request)
    proof = f"{bound.proof} Computing every value once costs {compute}."
    return replace(bound, value=bound.value + compute, proof=proof)


def _start(request: Request, game: Game, search: Search, method: str = "local-search") -> Events:
    """Return the events of a plan of little traffic that computes nothing twice, in the given order if there is one.

    Where results take the room of operands, the plan, by ``method``, has room for one more; its order is replayed.
    """
    slack = game.terms.slack(game.cdag)
    if request.terms.in_order:
        plan = belady.replay_order(game.cdag, game.budget + slack, request.cdag.order)
    else:
        plan = _usual(request, game.budget + slack, search, method if slack else "auto").plan
    return _events(request, game, plan, fits=not slack)


def _events(request: Request, game: Game, plan: Plan, *, fits: bool) -> Events:
    """Return the events of a plan, if it ``fits``, or its order replayed in place: what pays less."""
    starts = [sequences.events_of(game, plan)] if fits or not game.terms.offloads else []
    if game.terms.in_place and game.terms.offloads:
        starts.append(in_place.replayed(game, plan.nodes[plan.kinds == Move.COMPUTE]))
    return min(starts, key=lambda events: request.paid(sequences.played(game, events)))


def _usual(request: Request, budget: int, search: Search, method: str = "auto") -> Found:
    cdag = request.terms.played(request.cdag).unkept()
    return find_plan_numbered(Request(cdag, budget, False, search.aside(), order=request.order), method)


def _of_traffic(request: Request, bound: Bound) -> Bound:
    """Return a bound on the traffic as one on what is paid, both prices being the same."""
    price, compute = request.terms.load or 0, computing_of(request)
    proof = f"{bound.proof} A unit of traffic costs {price}, and computing every value once {compute} in all."
    return Bound("total", price * bound.value + compute, bound.method, proof, bound.details)


def computing_of(request: Request) -> int:
    """Return what computing everything once costs."""
    seen = request.terms.played(request.cdag)
    return int(seen.compute[~seen.given].sum())


def trivial_bound(request: Request) -> Bound:
    """Return what every plan pays."""
    proof = "Every value is computed at least once"
    if request.terms.load is not None:
        proof += ", every input loaded"
    if request.terms.store is not None:
        proof += ", every output stored"
    return Bound("total", request.terms.least(request.cdag), "algorithmic", f"{proof}.")
