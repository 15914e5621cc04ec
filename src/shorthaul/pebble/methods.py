"""Planners and bounds by name, and how ``auto`` picks and combines them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Budget
from shorthaul.pebble import dwt, layer_by_layer, memory_states, mvm_tiling, tree, tree_cuts
from shorthaul.pebble.forest import as_forest, recursion_is_optimal
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.plan import Plan


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is asked for: a plan or a bound for ``cdag`` within ``budget``, in the time that ``search`` gives."""

    cdag: Cdag
    budget: int
    recompute: bool
    search: Budget


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A plan, the method that found it, and the best lower bound met on the way."""

    plan: Plan
    method: str
    bound: Bound


def algorithmic_bound(cdag: Cdag) -> Bound:
    """Return the bound of Proposition 2.4.

    >>> from shorthaul.pebble.generators import dwt
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
    """Return the best lower bound on the traffic."""
    if as_forest(request.cdag) is not None:
        return _auto(request).bound
    return algorithmic_bound(request.cdag)


Planner = Callable[[Request], Found]


def _tree(request: Request) -> Found:
    return _recursion(request, tree.plan(request.cdag, request.budget), "tree")


def _dwt(request: Request) -> Found:
    return _recursion(request, dwt.plan(request.cdag, request.budget), "dwt")


def _recursion(request: Request, found: Plan, method: str) -> Found:
    cdag = request.cdag
    forest = as_forest(cdag)
    if forest is not None and recursion_is_optimal(cdag, forest):
        return Found(found, method, recursion_bound(found.traffic(cdag.weights)))
    return Found(found, method, algorithmic_bound(cdag))


def _tree_cuts(request: Request) -> Found:
    found = tree_cuts.plan(request.cdag, request.budget, search=request.search)
    if found.complete:
        return Found(found.plan, "tree-cuts", tree_cuts.exact_bound(found.plan.traffic(request.cdag.weights)))
    return Found(found.plan, "tree-cuts", algorithmic_bound(request.cdag))


def _memory_states(request: Request) -> Found:
    return _recursion(request, memory_states.plan(request.cdag, request.budget), "memory-states")


def _mvm_tiling(request: Request) -> Found:
    found = mvm_tiling.plan(request.cdag, request.budget)
    return Found(found, "mvm-tiling", algorithmic_bound(request.cdag))


def _layer_by_layer(request: Request) -> Found:
    found = layer_by_layer.plan(request.cdag, request.budget)
    return Found(found, "layer-by-layer", algorithmic_bound(request.cdag))


def _layer_by_layer_freeing(request: Request) -> Found:
    found = layer_by_layer.plan(request.cdag, request.budget, freeing=True)
    return Found(found, "layer-by-layer-freeing", algorithmic_bound(request.cdag))


def _auto(request: Request) -> Found:
    forest = as_forest(request.cdag)
    if forest is not None:
        return _tree(request) if recursion_is_optimal(request.cdag, forest) else _tree_cuts(request)
    if mvm_tiling.recognise(request.cdag) is not None:
        return _mvm_tiling(request)
    return _layer_by_layer_freeing(request)


PLANNERS: dict[str, Planner] = {
    "auto": _auto,
    "dwt": _dwt,
    "tree": _tree,
    "tree-cuts": _tree_cuts,
    "memory-states": _memory_states,
    "mvm-tiling": _mvm_tiling,
    "layer-by-layer": _layer_by_layer,
    "layer-by-layer-freeing": _layer_by_layer_freeing,
}


def find_plan(request: Request, method: str) -> Found:
    """Return the plan of ``method`` and the bound that stands beside it."""
    return PLANNERS[method](request)
