"""Trees: the recursion of Lemma 3.7 as shortest paths over subsets, with step functions of the budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray, require_budget
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.structured import tree_recursion_kernels as kernels
from shorthaul.pebble.structured import tree_recursion_moves_kernels as moves_kernels
from shorthaul.pebble.structured.forest import Forest, require_forest


@dataclass(frozen=True, slots=True, eq=False)
class Recursion:
    """What the recursion spills as step functions of the budget.

    Node v of the forest costs ``costs[i]`` within budgets from ``bounds[i]`` on, for i in ``starts[v]..stops[v] - 1``.
    """

    cdag: Cdag
    forest: Forest
    functions: kernels.StepFunctions
    starts: IntArray
    stops: IntArray
    bounds: IntArray
    costs: IntArray


def recursion(cdag: Cdag, *, largest: int | None = None, method: str = "tree") -> Recursion:
    """Return the recursion's costs for every budget up to ``largest`` (None: all that make a difference).

    Raises :class:`InputError` if ``cdag`` is no forest.
    """
    forest = require_forest(cdag, method)
    top = int(forest.needs.max() + cdag.weights.sum()) if largest is None else largest
    functions = kernels.StepFunctions(forest.parents.starts, forest.parents.targets, cdag.weights, forest.needs)
    while not kernels.advance(functions, forest.order, top, tuning.ORDER_CALL):
        pass
    bounds, costs = functions.steps()
    return Recursion(
        cdag, forest, functions, np.asarray(functions.starts), np.asarray(functions.stops), bounds, costs
    )  # fmt: skip


def plan(cdag: Cdag, budget: int, *, method: str = "tree") -> Plan:
    """Return the schedule of Lemma 3.7 for every tree of ``cdag`` in turn.

    It is optimal under the condition of :func:`shorthaul.pebble.structured.forest.recursion_is_optimal`. Raises
    :class:`InputError` if ``cdag`` is no forest, :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> cdag = dwt(n=8, d=3, word=1)
    >>> plan(cdag, 5).traffic(cdag.weights)
    16
    """
    require_budget(cdag, budget)
    return moves(recursion(cdag, largest=budget, method=method), budget)


def moves(found: Recursion, budget: int) -> Plan:
    """Return the schedule of a recursion within a budget that it covers."""
    cdag, forest = found.cdag, found.forest
    emission = moves_kernels.Emission(
        forest.roots, budget, cdag.parents.starts, cdag.parents.targets, forest.twins.starts, forest.twins.targets
    )
    while not moves_kernels.emit(emission, found.functions, tuning.ORDER_CALL):
        pass
    return Plan(np.array(emission.kinds[: emission.moves]), np.array(emission.nodes[: emission.moves]))


def curve(cdag: Cdag, *, method: str = "tree") -> tuple[IntArray, IntArray]:
    """Return (budgets, traffic): the recursion's traffic from each of these budgets on, ascending budgets.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> [column.tolist() for column in curve(dwt(n=8, d=3, word=1))]
    [[3, 4, 5], [22, 18, 16]]
    """
    found = recursion(cdag, method=method)
    starts, stops = found.starts[found.forest.roots], found.stops[found.forest.roots]
    least = int(found.bounds[starts].max())
    segments = np.concatenate([np.arange(a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)])
    budgets = np.unique(np.maximum(found.bounds[segments], least))
    spilled = np.zeros(len(budgets), dtype=np.int64)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        spilled += found.costs[start + np.searchsorted(found.bounds[start:stop], budgets, side="right") - 1]
    changes = np.concatenate([[True], spilled[1:] != spilled[:-1]])
    return budgets[changes], spilled[changes] + cdag.algorithmic_bound()


def least_memory(cdag: Cdag, *, method: str = "tree") -> int:
    """Return the smallest budget at which the recursion moves inputs and outputs only."""
    return int(curve(cdag, method=method)[0][-1])
