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
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray, require_budget
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.structured import liu_kernels, tree_recursion
from shorthaul.pebble.structured import tree_cuts_kernels as kernels
from shorthaul.pebble.structured.forest import Forest, require_forest, twins_are_light


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """A schedule of a weighted tree, and what it is known to be.

    ``complete`` if the search left nothing out, so that it is optimal; ``least`` bounds the traffic of any schedule.
    """

    plan: Plan
    complete: bool
    least: int


def plan(
    cdag: Cdag, budget: int, *, widths: Sequence[int] = tuning.TREE_CUTS_WIDTHS, search: Search | None = None
) -> Cuts:
    """Return the schedule of the cheapest spilled set within ``budget``, never worse than Lemma 3.7.

    ``widths`` limit the partial answers kept per node, tried until nothing is left out. Raises :class:`InputError` if
    ``cdag`` is no forest, :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.model import from_pairs
    >>> cdag = from_pairs([7, 7, 1, 8, 5, 4, 2], [(0, 2), (1, 2), (2, 3), (4, 5), (3, 6), (5, 6)])
    >>> tree_recursion.plan(cdag, 15).traffic(cdag.weights), plan(cdag, 15).plan.traffic(cdag.weights)
    (29, 21)
    """
    require_budget(cdag, budget)
    search = (Search() if search is None else search).part(1.0, unlimited=tuning.AUTO_EFFORT)
    recursion = tree_recursion.recursion(cdag, largest=budget, method="tree-cuts")
    search.spend((cdag.n + cdag.edges) / tuning.PASS_RATE)
    best, complete = tree_recursion.moves(recursion, budget), False
    problem = _problem(recursion, budget)
    costs: dict[int, float] = {}
    for width in widths:
        before = search.spent()
        cuts = problem.cuts(width, search, relaxed=False)
        if cuts is None:
            break
        found = _plan_of(problem, cuts, search)
        if found is not None and found.traffic(cdag.weights) <= best.traffic(cdag.weights):
            best, complete = found, bool(cuts.complete)
        costs[width] = search.spent() - before
        if complete or search.left() < tuning.TREE_CUTS_GROWTH * costs[width]:
            break
    least = cdag.algorithmic_bound()
    if not twins_are_light(cdag, recursion.forest):
        return Cuts(best, complete=False, least=least)
    if complete:
        return Cuts(best, complete=True, least=best.traffic(cdag.weights))
    # The bound takes as long as the plan of its width did.
    affordable = [width for width, cost in costs.items() if cost <= search.left()]
    relaxed = problem.cuts(max(affordable), search, relaxed=True) if affordable else None
    return Cuts(best, complete=False, least=least if relaxed is None else _relaxed(problem, relaxed))


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """A forest as the kernels have it, with the costs above which an answer is of no use."""

    cdag: Cdag
    forest: Forest
    budget: int
    tree: kernels.Tree
    limits: IntArray

    def cuts(self, width: int, search: Search, *, relaxed: bool) -> kernels.Cuts | None:
        """Return the states with at most ``width`` partial answers per node; None if ``search`` expires before."""
        cuts = kernels.Cuts(self.tree, self.limits, self.budget, width, relaxed)
        done, work = False, 0
        while not done:
            if search.expired():
                return None
            done = kernels.advance(cuts, self.tree, tuning.ORDER_CALL)
            search.spend((cuts.work - work) / tuning.TREE_CUTS_RATE)
            work = cuts.work
        return cuts

    def cheapest_states(self, cuts: kernels.Cuts) -> IntArray | None:
        """Return the cheapest state of each root; None if one has none."""
        starts = np.asarray(cuts.starts)
        is_root = self.cdag.is_output()[self.forest.order]
        return None if bool((np.diff(starts)[is_root] == 0).any()) else starts[:-1][is_root]


def _problem(found: tree_recursion.Recursion, budget: int) -> _Problem:
    cdag, forest = found.cdag, found.forest
    # The recursion's answer with the node spilled after all is better than whatever costs more.
    limits = 2 * cdag.weights - 1
    limits[forest.roots] = 0
    limits[forest.order] += found.costs[found.stops[forest.order] - 1]
    return _Problem(cdag, forest, budget, _tree(cdag, forest), limits)


def _tree(cdag: Cdag, forest: Forest) -> kernels.Tree:
    """Return the forest with the weight of all operands of each node, and what its heaviest twin takes with them."""
    operands = cdag.needs() - cdag.weights
    owners = np.repeat(np.arange(cdag.n, dtype=np.int64), forest.twins.degrees())
    twin_needs = np.zeros(cdag.n, dtype=np.int64)
    np.maximum.at(twin_needs, owners, operands[owners] + cdag.weights[forest.twins.targets])
    is_root = np.zeros(cdag.n, dtype=np.uint8)
    is_root[forest.roots] = 1
    parents = forest.parents
    return kernels.Tree(
        forest.order, parents.starts, parents.targets, cdag.weights, operands, twin_needs, is_root
    )  # fmt: skip


def _plan_of(problem: _Problem, cuts: kernels.Cuts, search: Search) -> Plan | None:
    """Return the plan of the cheapest states; None if some root has none, or if ``search`` expires before."""
    if problem.cheapest_states(cuts) is None:
        return None
    cdag, twins = problem.cdag, problem.forest.twins
    pieces = liu_kernels.Pieces(kernels.chosen_cuts(cuts, problem.tree))
    while not liu_kernels.advance(pieces, problem.tree, tuning.ORDER_CALL):
        if search.expired():
            return None
    moves = liu_kernels.Moves(cdag.parents.starts, cdag.parents.targets, twins.starts, twins.targets)
    liu_kernels.emit(moves, pieces, problem.tree)
    return Plan(np.array(moves.kinds[: moves.count]), np.array(moves.nodes[: moves.count]))


def _relaxed(problem: _Problem, cuts: kernels.Cuts) -> int:
    """Return a lower bound on the traffic: what was beyond the width has been replaced by something better."""
    cheapest = problem.cheapest_states(cuts)
    assert cheapest is not None  # what stands in for others fits
    return problem.cdag.algorithmic_bound() + int(cuts.costs()[cheapest].sum())


def least_memory(cdag: Cdag) -> int:
    """Return the smallest budget at which inputs and outputs alone are moved: Liu's order of each whole tree.

    It is exact where no output is heavier than the value computed beside it. Raises :class:`InputError` if ``cdag`` is
    no forest.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> least_memory(dwt(n=256, d=8, word=1))
    10
    """
    forest = require_forest(cdag, "tree-cuts")
    tree, pieces = _tree(cdag, forest), liu_kernels.Pieces(np.zeros(cdag.n, dtype=np.int64))
    while not liu_kernels.advance(pieces, tree, tuning.ORDER_CALL):
        pass
    return int(np.asarray(pieces.peaks)[forest.roots].max())


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
