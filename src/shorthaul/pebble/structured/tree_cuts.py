"""Weighted trees beyond the recursion: which values to spill, and Liu's order for what is left.

Take any schedule of a tree and the first value it stores. All moves in that value's subtree can go first, in an empty
memory; whatever follows needs no more room than before. Repeating this, some optimal schedule computes one piece of the
tree after another, each piece in an empty memory and without storing anything but its result. Whether a piece fits is
decided by Liu's order (1987). So the optimum is the cheapest set of values to spill whose pieces all fit. Partial
answers of a subtree are compared by cost and by Liu's profile; those worth keeping cost less than the cheapest one with
the subtree's own value spilled, which keeps them few.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.pebble.model import Cdag, IntArray, require_budget
from shorthaul.pebble.plan import Move, Plan, plan_of
from shorthaul.pebble.structured import tree_cuts_kernels, tree_recursion
from shorthaul.pebble.structured.forest import Forest, require_forest

COMPILE_S = 12
#: Partial answers kept per node, tried one after another until none has to be dropped.
WIDTHS = (64, 512, 4096)
#: How many times as long the next width may take.
_GROWTH = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """A schedule of a weighted tree, and what it is known to be.

    ``complete`` if the search left nothing out, so that it is optimal; ``least`` bounds the traffic of any schedule.
    """

    plan: Plan
    complete: bool
    least: int


def plan(cdag: Cdag, budget: int, *, widths: Sequence[int] = WIDTHS, search: Search | None = None) -> Cuts:
    """Return the schedule of the cheapest spilled set within ``budget``, never worse than Lemma 3.7.

    ``widths`` limit the partial answers kept per node, tried until nothing is left out. Raises :class:`InputError` if
    ``cdag`` is no forest, :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.model import from_pairs
    >>> cdag = from_pairs([7, 7, 1, 8, 5, 4, 2], [(0, 2), (1, 2), (2, 3), (4, 5), (3, 6), (5, 6)])
    >>> tree_recursion.plan(cdag, 15).traffic(cdag.weights), plan(cdag, 15).plan.traffic(cdag.weights)
    (29, 21)
    """
    require_budget(cdag, budget)
    forest = require_forest(cdag, "tree-cuts")
    light = twins_are_light(cdag, forest)
    best = Cuts(tree_recursion.plan(cdag, budget), complete=False, least=cdag.algorithmic_bound())
    for width in widths:
        began = time.monotonic()
        found = _with_width(cdag, forest, budget, width)
        if found.plan.traffic(cdag.weights) <= best.plan.traffic(cdag.weights):
            best = found
        # The next width takes up to so many times as long, and the bound as long again.
        if best.complete or (search is not None and search.remaining_s() < _GROWTH * (time.monotonic() - began)):
            break
    if not light:
        return Cuts(best.plan, complete=False, least=cdag.algorithmic_bound())
    if best.complete:
        return Cuts(best.plan, complete=True, least=best.plan.traffic(cdag.weights))
    return Cuts(best.plan, complete=False, least=_relaxed(cdag, forest, budget, width))


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """What the kernels are given: the forest, needs, and costs above which an answer is of no use."""

    common: tuple[IntArray, IntArray, IntArray]
    operands: IntArray
    twin_needs: IntArray
    is_root: IntArray
    limits: IntArray


def _problem(cdag: Cdag, forest: Forest, budget: int) -> _Problem:
    found = tree_recursion.recursion(cdag, largest=budget)
    is_root = np.zeros(cdag.n, dtype=np.int64)
    is_root[forest.roots] = 1
    # The recursion's answer with the node spilled after all is better than whatever costs more.
    limits = np.where(is_root == 1, 0, 2 * cdag.weights - 1)
    limits[forest.order] += found.costs[found.stops[forest.order] - 1]
    operands, twin_needs = _needs(cdag, forest)
    return _Problem(
        (forest.order, forest.parents.starts, forest.parents.targets), operands, twin_needs, is_root, limits
    )


def _with_width(cdag: Cdag, forest: Forest, budget: int, width: int) -> Cuts:
    """Return the best plan with at most ``width`` partial answers per node, the recursion's if they do not suffice."""
    given = _problem(cdag, forest, budget)
    starts, _, spilled, choice_starts, choices, complete = tree_cuts_kernels.cut_states(
        *given.common, cdag.weights, given.operands, given.twin_needs, given.is_root, given.limits, budget, width, False
    )
    least = cdag.algorithmic_bound()
    if bool((np.diff(starts)[given.is_root[forest.order] == 1] == 0).any()):
        return Cuts(tree_recursion.plan(cdag, budget), complete=False, least=least)
    cut = tree_cuts_kernels.chosen_cuts(*given.common, given.is_root, starts, spilled, choice_starts, choices)
    following, first, _ = tree_cuts_kernels.liu_order(
        *given.common, cdag.weights, given.operands, given.twin_needs, cut
    )
    return Cuts(_moves(cdag, forest, cut, following.tolist(), first.tolist()), complete, least)


def _relaxed(cdag: Cdag, forest: Forest, budget: int, width: int) -> int:
    """Return a lower bound on the traffic: what is beyond ``width`` is replaced by something better."""
    given = _problem(cdag, forest, budget)
    starts, costs, *_ = tree_cuts_kernels.cut_states(
        *given.common, cdag.weights, given.operands, given.twin_needs, given.is_root, given.limits, budget, width, True
    )
    roots = starts[:-1][given.is_root[forest.order] == 1]
    return cdag.algorithmic_bound() + int(costs[roots].sum())


def least_memory(cdag: Cdag) -> int:
    """Return the smallest budget at which inputs and outputs alone are moved: Liu's order of each whole tree.

    It is exact where no output is heavier than the value computed beside it. Raises :class:`InputError` if ``cdag`` is
    no forest.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> least_memory(dwt(n=256, d=8, word=1))
    10
    """
    forest = require_forest(cdag, "tree-cuts")
    operands, twin_needs = _needs(cdag, forest)
    no_cut = np.zeros(cdag.n, dtype=np.int64)
    common = (forest.order, forest.parents.starts, forest.parents.targets)
    _, _, peaks = tree_cuts_kernels.liu_order(*common, cdag.weights, operands, twin_needs, no_cut)
    return int(peaks[forest.roots].max())


def _needs(cdag: Cdag, forest: Forest) -> tuple[IntArray, IntArray]:
    """Return the weight of all operands of each node, and what its heaviest twin takes with them (0: no twin)."""
    operands = cdag.needs() - cdag.weights
    owners = np.repeat(np.arange(cdag.n, dtype=np.int64), forest.twins.degrees())
    twin_needs = np.zeros(cdag.n, dtype=np.int64)
    np.maximum.at(twin_needs, owners, operands[owners] + cdag.weights[forest.twins.targets])
    return operands, twin_needs


def twins_are_light(cdag: Cdag, forest: Forest) -> bool:
    """True if no output is heavier than the value kept for later that is computed beside it (Lemma 3.2)."""
    kept = np.setdiff1d(forest.order, forest.roots)
    return bool((forest.needs[kept] == cdag.needs()[kept]).all())


def _moves(cdag: Cdag, forest: Forest, cut: IntArray, following: list[int], first: list[int]) -> Plan:
    starts, parents = cdag.parents.starts.tolist(), cdag.parents.targets.tolist()
    twin_starts, twins = forest.twins.starts.tolist(), forest.twins.targets.tolist()
    is_input, spilled = cdag.is_input().tolist(), cut.tolist()
    is_root = set(forest.roots.tolist())
    moves: list[tuple[int, int]] = []
    for last in forest.order.tolist():
        if not spilled[last] and last not in is_root:
            continue
        node = first[last]
        while node >= 0:
            operands = parents[starts[node] : starts[node + 1]]
            moves += [(Move.LOAD, p) for p in operands if is_input[p] or spilled[p]]
            for twin in twins[twin_starts[node] : twin_starts[node + 1]]:
                moves += [(Move.COMPUTE, twin), (Move.STORE, twin), (Move.DELETE, twin)]
            moves.append((Move.COMPUTE, node))
            moves += [(Move.DELETE, p) for p in operands]
            node = following[node]
        moves += [(Move.STORE, last), (Move.DELETE, last)]
    return plan_of(moves)


def bound_of(found: Cuts) -> Bound:
    """Return the bound that the search proves, complete or not."""
    end = (
        "only dominated ones were dropped."
        if found.complete
        else "where there were too many, one that is better than all that were dropped stood in for them."
    )
    return Bound(
        of="traffic",
        value=found.least,
        method="spilled sets of a tree" + (", exhausted" if found.complete else ", relaxed"),
        proof=(
            "The moves below the first value stored can go first, in an empty memory; so some optimal schedule "
            "computes the pieces that the spilled values leave one after another, each without storing anything but "
            "its result. A piece fits if Liu's order of it does. Sets of spilled values were compared subtree by "
            f"subtree, by cost and by Liu's profile; {end} Computing a value again never helps, since only one "
            "computation reads it."
        ),
    )
