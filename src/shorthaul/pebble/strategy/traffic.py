"""Planners and bounds by name, and how ``auto`` picks and combines them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.best import best_bound, bound_of_program
from shorthaul.pebble.exact import beam
from shorthaul.pebble.exact import solver as exact
from shorthaul.pebble.local_search import annealing, rematerialisation, sequences
from shorthaul.pebble.local_search.sequences import Game
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.orders import belady, bisection, layer_by_layer, list_scheduling, tiles
from shorthaul.pebble.orders.blocks import block_orders, places
from shorthaul.pebble.orders.blocks.block_orders import Shapes
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.request import Found, Request, better, cheaper, going_on, is_met
from shorthaul.pebble.states import recomputation
from shorthaul.pebble.strategy.renumbering import renumbered
from shorthaul.pebble.structured import matrix_vector, memory_states, tree_cuts, tree_recursion, wavelet
from shorthaul.pebble.structured.forest import as_forest, recursion_is_optimal


def algorithmic_bound(cdag: Cdag) -> Bound:
    """Return the bound of Proposition 2.4.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> algorithmic_bound(dwt(n=8, d=3, word=1)).value
    16
    """
    return Bound(
        of="traffic",
        value=cdag.algorithmic_bound(),
        method="algorithmic",
        proof="Every input is loaded and every output stored at least once (Proposition 2.4).",
    )


def recursion_bound(traffic: int) -> Bound:
    """Return the bound that the recursion's own cost is, where it is proven optimal."""
    return Bound(
        of="traffic",
        value=traffic,
        method="tree recursion",
        proof=(
            "The graph is a forest, outputs of the same operands apart, and all values kept for later weigh the same. "
            "Some optimal schedule then evaluates one subtree after another, each value spilled at most at its own "
            "subtree's end; the recursion of Lemma 3.7 takes the least cost over all of those. Computing a value "
            "again never helps, since only one computation reads it."
        ),
    )


def lower_bound(request: Request) -> Bound:
    """Return the best lower bound on the traffic: by formulas and cuts, and by searches if the graph is small.

    The nodes are numbered by the structure of the graph first: the bound does not depend on how they were.
    """
    return lower_bound_numbered(renumbered(request)[0])


def lower_bound_numbered(request: Request) -> Bound:
    """Return the best lower bound on the traffic where nodes are numbered by the structure of the graph already."""
    cdag = request.cdag
    if as_forest(cdag) is not None:
        return _auto(request).bound
    start = _quick(request)
    if cdag.n > tuning.MOST_FOR_EXACT:
        return _computed_bound(request, start.plan, share=1.0)
    best = _computed_bound(request, start.plan)
    if best.is_met_by(start.plan.traffic(cdag.weights)):
        return best
    search = request.search.part(0.9, unlimited=tuning.AUTO_EFFORT / 2)
    found = Found(start.plan, start.method, best)
    if request.recompute:
        plan, _, _ = exact.solve(cdag, request.budget, search=search.part(0.2), incumbent=start.plan)
        found = cheaper(cdag, found, replace(found, plan=plan))
    return _searched(request, found, search).bound


def _large_bound_share(request: Request) -> float:
    """Return the share of what is left that the bound of a large graph has: more where each node has little."""
    wanted = tuning.LARGE_BOUND_EFFORT * request.cdag.n / max(request.search.left(), 1e-9)
    return min(max(tuning.LARGE_BOUND_SHARE, wanted), tuning.MOST_BOUND_SHARE)


def _computed_bound(request: Request, plan: Plan, *, share: float | None = None) -> Bound:
    """Return the best bound that no search of the whole has to prove; it need not exceed what ``plan`` costs."""
    if request.cdag.n > tuning.MOST_FOR_EXACT:
        most = tuning.AUTO_EFFORT / 4
        share = share or _large_bound_share(request)
    else:  # the whole is searched afterwards: more adds next to nothing
        most = tuning.BOUND_EFFORT
        share = min(share or tuning.BOUND_SHARE, most / max(request.search.left(), most))
    search = request.search.part(share, unlimited=most).aside()
    cdag, budget, goal = request.cdag, request.budget, plan.traffic(request.cdag.weights)
    is_wanted = not request.recompute and cdag.algorithmic_bound() < goal
    known = bound_of_program(cdag, budget, search=request.search) if is_wanted else None
    proving = request.search if request.search.proves else None
    return best_bound(cdag, budget, recompute=request.recompute, search=search, goal=goal, known=known, proving=proving)


Planner = Callable[[Request], Found]


def _recursion(request: Request, planned: Callable[[Cdag, int], Plan], method: str) -> Found:
    cdag, forest = request.cdag, as_forest(request.cdag)
    found = planned(cdag, request.budget)
    if forest is not None and recursion_is_optimal(cdag, forest):
        return Found(found, method, recursion_bound(found.traffic(cdag.weights)))
    return Found(found, method, algorithmic_bound(cdag))


def _tree_cuts(request: Request) -> Found:
    found = tree_cuts.plan(request.cdag, request.budget, search=request.search.part(1.0, unlimited=tuning.AUTO_EFFORT))
    least = algorithmic_bound(request.cdag)
    return Found(found.plan, "tree-cuts", tree_cuts.bound_of(found) if found.least > least.value else least)


def _mvm_tiling(request: Request, mvm: matrix_vector.Mvm | None = None) -> Found:
    found = matrix_vector.plan(request.cdag, request.budget, mvm)
    return Found(found, "mvm-tiling", algorithmic_bound(request.cdag))


def _layer_by_layer(request: Request, *, freeing: bool = False) -> Found:
    found = layer_by_layer.plan(request.cdag, request.budget, freeing=freeing, search=request.search)
    return Found(found, "layer-by-layer" + "-freeing" * freeing, algorithmic_bound(request.cdag))


def _belady(request: Request) -> Found:
    found = belady.plan(request.cdag, request.budget, search=request.search)
    return Found(found, "belady", algorithmic_bound(request.cdag))


def _list_scheduling(request: Request) -> Found:
    return _list_scheduled(request, _begun(request, "list-scheduling", 0.3), request.search)


def _bisection(request: Request) -> Found:
    return _bisected(request, _begun(request, "bisection", 0.3), request.search)


def _tiles(request: Request) -> Found:
    return _tiled(request, _begun(request, "tiles", 0.3), request.search)


def _begun(request: Request, method: str, share: float) -> Found:
    return replace(_belady(replace(request, search=request.search.part(share))), method=method)


def _local_search(request: Request) -> Found:
    given = _begun(request, "local-search", 0.5)
    return _annealed(request, given, request.search.part(1.0, unlimited=tuning.AUTO_EFFORT))


def _beam(request: Request) -> Found:
    cdag, search = request.cdag, request.search.part(1.0, unlimited=tuning.AUTO_EFFORT)
    given = _begun(replace(request, search=search), "beam", 0.2)
    found = beam.plan(cdag, request.budget, search=search, incumbent=given.plan)
    return replace(given, plan=found)


def _exact(request: Request) -> Found:
    """The search begins at once: many small graphs are solved sooner than bounded."""
    cdag, start = request.cdag, _quick(request)
    bounds = [algorithmic_bound(cdag)]

    def bounding(best: Plan) -> int:
        bounds.append(_computed_bound(request, best))
        return int(bounds[-1].value)

    search = request.search.part(1.0)
    found, value, proven = exact.solve(cdag, request.budget, search=search, incumbent=start.plan, bounding=bounding)
    best = max(bounds, key=lambda bound: bound.value)
    return Found(found, "exact", better(cdag, best, value, proven=proven, recompute=False))


def _is_done(request: Request, found: Found) -> bool:
    """True if the plan is optimal, or the time is up: what follows would take some to see that."""
    return request.search.remaining_s() <= 0 or is_met(request.cdag, found)


def _auto(request: Request) -> Found:
    cdag = request.cdag
    forest = as_forest(cdag)
    if forest is not None:
        return _TREE(request) if recursion_is_optimal(cdag, forest) else _tree_cuts(request)
    best = _quick(request)
    if is_met(cdag, best) or request.search.expired():
        return best
    left = request.search.left()
    best = Found(best.plan, best.method, _computed_bound(request, best.plan))
    if _is_done(request, best):
        return best
    now = request.search.left()
    usual = (1 - tuning.LARGE_BOUND_SHARE) * left / now if 0 < now < left < inf else 1.0
    search = request.search.part(1.0, unlimited=tuning.AUTO_EFFORT)
    best = _from_program(request, best, search.part(tuning.ORIGIN_ORDER_SHARE))
    if _is_done(request, best):
        return best
    best = _ordered(request, best, search.part(_share_of_orders(cdag, usual)), search)
    if _is_done(request, best) or cdag.n > tuning.MOST_FOR_LOCAL_SEARCH:
        return best
    best = _annealed(request, best, search.part(_share_of_annealing(cdag)))
    if _is_done(request, best) or cdag.n > tuning.MOST_FOR_EXACT:
        return best
    best = _searched(request, best, search.part(0.8 if cdag.n <= tuning.MOST_FOR_PROOFS else 0.5))
    if _is_done(request, best):
        return best
    # The exact solver's beams share its time with its proofs; wider ones of their own find more.
    goal = int(best.bound.value)
    found = beam.plan(cdag, request.budget, search=search.part(0.6), incumbent=best.plan, goal=goal)
    best = cheaper(cdag, best, Found(found, "beam", best.bound))
    return _annealed(request, best, search)


def _from_program(request: Request, best: Found, search: Search) -> Found:
    """Return the plan with the order of the program that the graph was made from, if it has a better one."""
    cdag = request.cdag
    if cdag.origin is None or cdag.n <= tuning.MOST_FOR_EXACT:
        return best
    order = cdag.origin.order(request.budget, int(cdag.weights.min()), search.part(0.9).aside())
    if order is None:
        return best
    found = belady.plan(cdag, request.budget, order, search=search)
    return cheaper(cdag, best, Found(found, "order of the program", best.bound))


def _share_of_annealing(cdag: Cdag) -> float:
    """Return which part of its effort ``auto`` anneals with, before it tries to prove an optimum if it does."""
    if cdag.n <= tuning.MOST_FOR_PROOFS:
        return 0.05
    return 0.5 if cdag.n <= tuning.MOST_FOR_EXACT else 1.0


def _share_of_orders(cdag: Cdag, usual: float) -> float:
    """Return which part of its effort ``auto`` takes for tiles and list scheduling: all where nothing else follows.

    ``usual`` is how many times as much is left after the usual bound as is now: a longer one takes from annealing.
    """
    if cdag.n <= tuning.MOST_FOR_EXACT:
        return 0.05
    return min(1.0, 0.6 * max(1.0, usual)) if cdag.n <= tuning.MOST_FOR_LOCAL_SEARCH else 1.0


def _ordered(request: Request, best: Found, search: Search, whole: Search) -> Found:
    """Return the best of list scheduling, bisection, blocks and tiles.

    Bisection has part of the ``whole`` effort, and blocks that lead go on with part of it.
    """
    best = _list_scheduled(request, best, search.part(0.3))
    if not _is_done(request, best) and request.cdag.n > tuning.MOST_FOR_PROOFS:
        best = _bisected(request, best, whole.part(tuning.BISECTION_SHARE))
    if not _is_done(request, best) and request.cdag.n > tuning.MOST_FOR_PROOFS:
        best = _in_blocks(request, best, search.part(tuning.BLOCKS_SHARE), whole)
    return best if _is_done(request, best) else _tiled(request, best, search.part(0.75))


def _list_scheduled(request: Request, best: Found, search: Search) -> Found:
    cdag, goal = request.cdag, int(best.bound.value)
    found = list_scheduling.plan(cdag, request.budget, search=search, incumbent=best.plan, goal=goal)
    return cheaper(cdag, best, Found(found, "list-scheduling", best.bound))


def _bisected(request: Request, best: Found, search: Search) -> Found:
    cdag, goal = request.cdag, int(best.bound.value)
    found = bisection.plan(cdag, request.budget, search=search, incumbent=best.plan, goal=goal)
    return cheaper(cdag, best, Found(found, "bisection", best.bound))


def _in_blocks(request: Request, best: Found, search: Search, whole: Search) -> Found:
    cdag, goal, shapes = request.cdag, int(best.bound.value), list[Shapes]()
    placed = places.pieces(cdag, search=search)
    for part in (search, whole.part(tuning.PLACED_SHARE)) if placed else ():
        found = block_orders.plan(cdag, request.budget, placed, shapes, search=part, goal=goal)
        best = best if found is None else cheaper(cdag, best, Found(found, "blocks", best.bound))
        if best.method != "blocks" or cdag.n <= tuning.MOST_FOR_EXACT:
            break
    return best


def _tiled(request: Request, best: Found, search: Search) -> Found:
    cdag, goal = request.cdag, int(best.bound.value)
    patience = _patience(request, tuning.TILES_PATIENCE)
    found = tiles.plan(cdag, request.budget, search=search, incumbent=best.plan, goal=goal, patience=patience)
    return cheaper(cdag, best, Found(found, "tiles", best.bound))


def _patience(request: Request, usual: int) -> int | None:
    """Return how long a race goes on without success: as long as it may where a limit was given."""
    return usual if request.search.is_unlimited else None


def _annealed(request: Request, best: Found, search: Search) -> Found:
    """Return the plan whose order is annealed, nothing computed twice."""
    cdag, goal = request.cdag, int(best.bound.value)
    patience = _patience(request, tuning.ANNEALING_PATIENCE)
    found = annealing.improve(cdag, request.budget, best.plan, search=search, goal=goal, patience=patience)
    return cheaper(cdag, best, Found(found, "local-search", best.bound))


def _annealed_events(request: Request, best: Found, search: Search) -> Found:
    """Return the plan whose loads and computations are annealed, values computed again where that is cheaper."""
    cdag, goal = request.cdag, int(best.bound.value)
    if _is_done(request, best) or cdag.n + cdag.edges > tuning.LARGEST_ANNEALED:
        return best
    game = Game(cdag, request.budget, True, request.terms)
    events = sequences.improve(game, sequences.events_of(game, best.plan), search=search, goal=goal)
    if events is not None:
        best = cheaper(cdag, best, Found(sequences.played(game, events[0]), "annealed events", best.bound))
        search.keep(best.plan.traffic(cdag.weights), best.plan)
    return best


def _recomputing(request: Request, method: str) -> Found:
    """Return a plan that may compute values again, which is never dearer than the one of ``method`` that does not.

    That one has as much effort as it has where nothing may be computed again, and what improves it half as much.
    """
    cdag, search = request.cdag, request.search
    resumed = search.start()
    once = search.again() if resumed is None else search.again().aside()
    best = PLANNERS[method](replace(request, recompute=False, search=once))
    if as_forest(cdag) is not None and method not in _ANNEALING:
        return best
    best = replace(best, bound=algorithmic_bound(cdag))
    if resumed is not None:
        best = cheaper(cdag, best, replace(best, plan=resumed, method="resumed"))
    if method not in _ANNEALING or _is_done(request, best):
        return best
    is_small = cdag.n <= recomputation.MOST_NODES
    if method in ("auto", "exact"):
        best = replace(best, bound=_computed_bound(request, best.plan))
    search = going_on(search.part(1.0, unlimited=tuning.AUTO_EFFORT))
    if method != "exact":
        best = _annealed_events(request, best, search.part(0.4 if method == "auto" and is_small else 1.0))
    if method in ("auto", "exact") and is_small and not _is_done(request, best):
        best = _searched(request, best, search.part(0.8))
        best = _annealed_events(request, best, search) if method == "auto" else best
    return best


def _quick(request: Request) -> Found:
    """Return the best of the planners that take no search."""
    cdag = request.cdag
    mvm = matrix_vector.recognise(cdag)
    tiled = None if mvm is None else _mvm_tiling(request, mvm)
    if tiled is not None and request.search.expired():
        return tiled
    best = _belady(Request(cdag, request.budget, request.recompute, request.search.part(0.5)))
    if request.order is not None:
        given = belady.plan(cdag, request.budget, request.order, search=request.search.part(0.2))
        best = cheaper(cdag, best, replace(best, plan=given))
    resumed = request.search.start()
    if resumed is not None:
        best = cheaper(cdag, best, replace(best, plan=resumed, method="resumed"))
    return best if tiled is None else cheaper(cdag, best, tiled)


def _searched(request: Request, best: Found, search: Search) -> Found:
    """Return what the exact solver makes of the best plan and bound so far."""
    cdag, budget, recompute = request.cdag, request.budget, request.recompute
    if recompute:
        found, value, proven = recomputation.solve(cdag, budget, search=search, incumbent=best.plan)
    else:
        known = int(best.bound.value)
        found, value, proven = exact.solve(cdag, budget, search=search, incumbent=best.plan, known_bound=known)
    bound = better(cdag, best.bound, value, proven=proven, recompute=recompute)
    name = "exact, recomputing" if recompute else "exact"
    return cheaper(cdag, Found(best.plan, best.method, bound), Found(found, name, bound))


_TREE: Planner = partial(_recursion, planned=tree_recursion.plan, method="tree")

PLANNERS: dict[str, Planner] = {
    "auto": _auto,
    "quick": _quick,
    "dwt": partial(_recursion, planned=wavelet.plan, method="dwt"),
    "tree": _TREE,
    "tree-cuts": _tree_cuts,
    "memory-states": partial(_recursion, planned=memory_states.plan, method="memory-states"),
    "mvm-tiling": _mvm_tiling,
    "liu": _tree_cuts,  # Liu's order of each whole tree; where it does not fit, of every piece of the cheapest cuts
    "belady": _belady,
    "list-scheduling": _list_scheduling,
    "bisection": _bisection,
    "tiles": _tiles,
    "local-search": _local_search,
    "beam": _beam,
    "exact": _exact,
    "layer-by-layer": _layer_by_layer,
    "layer-by-layer-freeing": partial(_layer_by_layer, freeing=True),
}


#: The methods whose plans are improved by events where values may be computed again.
_ANNEALING = ("auto", "beam", "local-search", "exact")


def find_plan(request: Request, method: str) -> Found:
    """Return the plan of ``method`` and the bound that stands beside it.

    The nodes are numbered by the structure of the graph first, so that only the order in which the graph lists them,
    one start among others, depends on how they were. Where values may be computed again, loads of the plan that this
    makes cheaper are replaced.
    """
    inner, out = renumbered(request)
    found = find_plan_numbered(inner, method)
    return replace(found, plan=out(found.plan))


def find_plan_numbered(request: Request, method: str) -> Found:
    """Return what :func:`find_plan` does where nodes are numbered by the structure of the graph already.

    A game that has numbered them plans so the usual game with as much effort as that one has alone.
    """
    search = request.search
    found = _recomputing(request, method) if request.recompute else PLANNERS[method](request)
    kept = search.best()
    if kept is not None:
        found = cheaper(request.cdag, found, replace(found, plan=kept))
    if request.recompute and not is_met(request.cdag, found):
        again = rematerialisation.computed_again(request.cdag, found.plan, request.budget)
        found = cheaper(request.cdag, found, replace(found, plan=again))
    search.keep(found.plan.traffic(request.cdag.weights), found.plan)
    return found
