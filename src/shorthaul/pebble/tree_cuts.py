"""Weighted trees beyond the recursion: which values to spill, and Liu's order for what is left.

Take any schedule of a tree and the first value it stores. All moves in that value's subtree can go first, in an empty
memory; whatever follows needs no more room than before. Repeating this, some optimal schedule computes one piece of the
tree after another, each piece in an empty memory and without storing anything but its result. Whether a piece fits is
decided by Liu's order (1987). So the optimum is the cheapest set of values to spill whose pieces all fit. Partial
answers of a subtree are compared by cost and by Liu's profile; those worth keeping cost less than the cheapest one with
the subtree's own value spilled, which keeps them few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.jit import announce
from shorthaul.core.search import Budget
from shorthaul.pebble import tree, tree_cuts_kernels
from shorthaul.pebble.forest import Forest, require_forest
from shorthaul.pebble.model import Cdag, IntArray, require_budget
from shorthaul.pebble.plan import Move, Plan, plan_of

_COMPILE_S = 25
#: Partial answers kept per node, tried one after another until none has to be dropped.
WIDTHS = (64, 512, 4096)


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """A schedule of a weighted tree; ``complete`` if the search left nothing out, so that it is optimal."""

    plan: Plan
    complete: bool


def plan(cdag: Cdag, budget: int, *, widths: Sequence[int] = WIDTHS, search: Budget | None = None) -> Cuts:
    """Return the schedule of the cheapest spilled set within ``budget``, never worse than Lemma 3.7.

    ``widths`` limit the partial answers kept per node, tried until nothing is left out. Raises :class:`InputError` if
    ``cdag`` is no forest, :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.model import from_pairs
    >>> cdag = from_pairs([7, 7, 1, 8, 5, 4, 2], [(0, 2), (1, 2), (2, 3), (4, 5), (3, 6), (5, 6)])
    >>> tree.plan(cdag, 15).traffic(cdag.weights), plan(cdag, 15).plan.traffic(cdag.weights)
    (29, 21)
    """
    require_budget(cdag, budget)
    forest = require_forest(cdag, "tree-cuts")
    best = Cuts(tree.plan(cdag, budget), complete=False)
    for width in widths:
        found = _with_width(cdag, forest, budget, width)
        if found is not None and found.plan.traffic(cdag.weights) <= best.plan.traffic(cdag.weights):
            best = found
        if best.complete or (search is not None and search.expired()):
            break
    return Cuts(best.plan, best.complete and twins_are_light(cdag, forest))


def _with_width(cdag: Cdag, forest: Forest, budget: int, width: int) -> Cuts | None:
    """Return the best plan with at most ``width`` partial answers per node, None if they did not suffice for one."""
    found = tree.recursion(cdag, largest=budget)
    announce("shorthaul.pebble.tree_cuts_kernels", _COMPILE_S)
    is_root = np.zeros(cdag.n, dtype=np.int64)
    is_root[forest.roots] = 1
    # The recursion's answer with the node spilled after all is better than whatever costs more.
    limits = np.where(is_root == 1, 0, 2 * cdag.weights - 1)
    limits[forest.order] += found.costs[found.stops[forest.order] - 1]
    operands, twin_needs = _needs(cdag, forest)
    common = (forest.order, forest.parents.starts, forest.parents.targets)
    starts, _, cut_flags, choice_starts, choices, complete = tree_cuts_kernels.cut_states(
        *common, cdag.weights, operands, twin_needs, is_root, limits, budget, width
    )
    if bool((np.diff(starts)[is_root[forest.order] == 1] == 0).any()):
        return None
    cut = tree_cuts_kernels.chosen_cuts(*common, is_root, starts, cut_flags, choice_starts, choices)
    following, first, _ = tree_cuts_kernels.liu_order(*common, cdag.weights, operands, twin_needs, cut)
    return Cuts(_moves(cdag, forest, cut, following.tolist(), first.tolist()), complete)


def least_memory(cdag: Cdag) -> int:
    """Return the smallest budget at which inputs and outputs alone are moved: Liu's order of each whole tree.

    It is exact where no output is heavier than the value computed beside it. Raises :class:`InputError` if ``cdag`` is
    no forest.

    >>> from shorthaul.pebble.generators import dwt
    >>> least_memory(dwt(n=256, d=8, word=1))
    10
    """
    forest = require_forest(cdag, "tree-cuts")
    announce("shorthaul.pebble.tree_cuts_kernels", _COMPILE_S)
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


def exact_bound(traffic: int) -> Bound:
    """Return the bound that a complete search proves."""
    return Bound(
        of="traffic",
        value=traffic,
        method="spilled sets of a tree, exhausted",
        proof=(
            "The moves below the first value stored can go first, in an empty memory; so some optimal schedule "
            "computes the pieces that the spilled values leave one after another, each without storing anything but "
            "its result. A piece fits if Liu's order of it does. All sets of spilled values were compared, subtree by "
            "subtree, by cost and by Liu's profile; only dominated ones were dropped. Computing a value again never "
            "helps, since only one computation reads it."
        ),
    )
