"""What is done before the searches are compiled: annealing and small proofs in plain Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from shorthaul.core import jit
from shorthaul.core.search import Search
from shorthaul.pebble.local_search import annealing, annealing_kernels
from shorthaul.pebble.request import Found, Request, better, cheaper, is_met
from shorthaul.pebble.startup import compiling
from shorthaul.pebble.states import layered_search

#: Above this many nodes nothing is annealed, nor waited for.
MOST_NODES: Final = 50_000
#: Up to so many nodes and edges annealing is plain Python until it is compiled, which it is at once where so many times
#: the time for that is left and no process beside this one compiles it; seconds that larger graphs wait at a time.
_MOST_FOR_PLAIN: Final = 20_000
_ROOM_TO_COMPILE: Final = 1.2
_NAP_S: Final = 0.05
#: Up to so many nodes an optimum is looked for in plain Python: by annealing and by a complete search, each for such a
#: part of the time, or so many seconds: compiling takes far longer.
_MOST_FOR_PROOF: Final = 64
_PLAIN_SHARE: Final = 0.3
_ANNEALING_S: Final = 2.0
_PROOF_S: Final = 6.0


def annealed_meanwhile(request: Request, best: Found, *, is_small: bool, needed: str | None = None) -> Found:
    """Return the plan annealed while a process beside this one compiles the searches, where time is limited.

    Annealing is compiled first, for most graphs gain from it; until then it is plain Python. It goes on until all
    searches are compiled, but leaves them half of the time; or until the module ``needed`` is. With ``is_small`` an
    exact search follows, and what plain Python can prove in a moment is proven without compiling anything.
    """
    cdag, search = request.cdag, request.search
    missing = compiling.missing(is_small=is_small, recompute=request.recompute)
    is_done = not missing if needed is None else needed not in missing
    if is_done or cdag.n > MOST_NODES or is_met(cdag, best):
        return best
    is_limited = search.time_limit_s is not None
    is_beside = is_limited and compiling.begin(missing, "until then searches are slow, or left out")
    if is_small and cdag.n <= _MOST_FOR_PROOF and not request.recompute:
        best = _proven_plainly(request, best)
        if is_met(cdag, best):
            return best
    if not is_limited:
        compiling.begin(compiling.share(missing), "others are compiled here")
        return best
    if not is_beside:
        return _annealed_until(request, best, search, lambda: False, plain=True) if is_plain(request) else best
    if cdag.n + cdag.edges <= _MOST_FOR_PLAIN:
        best = _annealed_until(request, best, search, _annealing_is_compiled, plain=True)
    while not _annealing_is_compiled() and not search.expired():
        time.sleep(_NAP_S)
    if is_met(cdag, best) or not _annealing_is_compiled():
        return best
    if needed is not None:
        return _annealed_until(request, best, search, lambda: jit.is_ready(needed))
    return _annealed_until(request, best, search.part(0.5), lambda: not jit.compiled_elsewhere)


def _proven_plainly(request: Request, best: Found) -> Found:
    """Return the plan annealed for a moment, optimal if a complete search in plain Python ends soon enough."""
    cdag, search = request.cdag, request.search
    best = _annealed_until(
        request, best, search.part(_PLAIN_SHARE, endless_s=_ANNEALING_S), _annealing_is_compiled, plain=True
    )
    if is_met(cdag, best):
        return best
    limit = best.plan.traffic(cdag.weights) - cdag.algorithmic_bound()

    def complete() -> layered_search.Outcome:
        part = search.part(_PLAIN_SHARE, endless_s=_PROOF_S)
        return layered_search.layered(cdag, request.budget, limit=limit, search=part)

    seconds = _PROOF_S if search.time_limit_s is None else _PLAIN_SHARE * search.remaining_s()
    found = jit.interpreted_for(seconds, complete)
    if found is None or not (found.finished and found.complete):
        return best
    if found.plan is not None:
        best = Found(found.plan, "exact", best.bound)
    value = best.plan.traffic(cdag.weights)
    return replace(best, bound=better(best.bound, value, proven=True, recompute=False))


def _annealing_is_compiled() -> bool:
    return jit.is_ready(annealing_kernels.__name__)


def _annealed_until(
    request: Request, best: Found, search: Search, until: Callable[[], bool], *, plain: bool = False
) -> Found:
    """Return the plan annealed for as long as it takes; in plain Python if that is asked for."""
    found = annealing.improve(
        request.cdag, request.budget, best.plan, search=search, goal=int(best.bound.value), patience=None, plain=plain,
        until=until,
    )  # fmt: skip
    return cheaper(request.cdag, best, Found(found, "local-search", best.bound))


def is_plain(request: Request) -> bool:
    """True if annealing stays plain Python: the graph is not too large, and compiling would take too long."""
    module, search = annealing_kernels.__name__, request.search
    if jit.is_ready(module) or request.cdag.n + request.cdag.edges > _MOST_FOR_PLAIN:
        return False
    fits = search.remaining_s() >= _ROOM_TO_COMPILE * jit.expected_s(annealing.COMPILE_S)
    return module in jit.compiled_elsewhere or not fits
