"""Independent checks: a layout against its tree, and the results of the tree algorithms against sequential ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.spatial.check.check_kernels import (
    Log,
    largest_load,
    lowest_common_ancestors,
    set_earlier,
    tally,
)
from shorthaul.spatial.check.fold_kernels import fold_reals, fold_words
from shorthaul.spatial.model import Grid, Tree
from shorthaul.spatial.plan import Layout

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]

#: The checker's own numbering of the operators.
CODES = {"sum": 0, "max": 1, "min": 2, "product": 3, "xor": 4, "or": 5, "and": 6, "affine": 7}

_MOST = 50
#: Messages of a layout that are replayed at a time.
_AT_ONCE = 2**20


def check_layout(layout: Layout, tree: Tree | None = None) -> CheckReport:
    """Return every violation of ``layout`` (of ``tree``, if given) and its cost as recounted from the table.

    Rules: ``wrong-size``, ``wrong-parent``, ``outside-grid``, ``processor-shared``. At most fifty violations of each
    rule are listed.
    """
    violations = [] if tree is None else differing_parents(layout, tree)
    if violations and violations[0].rule == "wrong-size":
        return CheckReport(tuple(violations))
    parent, x, y = layout.parent, layout.x, layout.y
    outside = (x < 0) | (y < 0) | (x >= layout.grid.width) | (y >= layout.grid.height)
    violations += [
        Violation("outside-grid", f"vertex {v}", f"({x[v]}, {y[v]}) lies outside the grid {layout.grid}")
        for v in np.flatnonzero(outside)[:_MOST].tolist()
    ]
    if not outside.any():
        violations += _shared(x, y, layout.grid)
    if violations:
        return CheckReport(tuple(violations))
    replay = Replay(x, y, layout.grid, chains=False)
    for first in range(0, len(x), _AT_ONCE):  # in blocks, which take less memory: all are sent at once
        child = np.arange(first, min(first + _AT_ONCE, len(x)), dtype=np.int32)
        child = child[(parent[child] >= 0) & (parent[child] != child)]
        replay.round(parent[child], child)
    return CheckReport(cost=replay.cost())


def differing_parents(layout: Layout, tree: Tree) -> list[Violation]:
    """Return where the layout is not one of ``tree``: another size, or other parents."""
    n = len(layout.x)
    if tree.n != n:
        message = f"the layout has {n} vertices, the tree {tree.n}"
        return [Violation("wrong-size", "x, y", message, tree.n, n)]
    parent = layout.parent
    differ = np.flatnonzero(np.where(parent == np.arange(n), -1, parent) != tree.parent)
    return [
        Violation("wrong-parent", f"vertex {v}", f"parent {parent[v]} in the layout, {tree.parent[v]} in the tree")
        for v in differ[:_MOST].tolist()
    ]


def _shared(x: Index, y: Index, grid: Grid) -> list[Violation]:
    earlier = np.full(len(x), -1, np.int32)
    set_earlier(x, y, grid.width, np.full(grid.cells, -1, np.int32), earlier)
    again = np.flatnonzero(earlier >= 0)[:_MOST]
    return [
        Violation("processor-shared", f"vertex {v}", f"processor ({x[v]}, {y[v]}) already holds vertex {earlier[v]}")
        for v in again.tolist()
    ]


class Replay:
    """Plays a log of messages between processors at (x, y) of ``grid`` and recounts what it costs.

    Without ``chains`` all messages are sent at once, however many calls tell them.
    """

    def __init__(self, x: Index, y: Index, grid: Grid, *, links: bool = True, chains: bool = True) -> None:
        self._loads = np.zeros((grid.height, grid.width, 2, 2) if links else (0, 0, 0, 0), np.int32)
        self._clock = np.zeros(len(x) if chains else 0, np.int64)
        self._far = np.zeros_like(self._clock)
        self._log = Log(x, y, self._loads, self._clock, self._far)

    def round(self, sender: Index, receiver: Index, words: int = 1) -> None:
        """Send one message of so many words from every ``sender[i]`` to ``receiver[i]`` (processors), all at once."""
        tally(self._log, sender, receiver, words, *np.empty((2, len(sender) if len(self._clock) else 0), np.int64))

    def cost(self) -> Cost:
        """Return energy, depth (longest chain of messages), distance (longest chain in hops) and link load."""
        longest = int(self._log.longest)
        chains = (self._clock.max(), self._far.max()) if len(self._clock) else (min(1, longest), longest)
        cost = {"energy_hops": int(self._log.energy), "depth": int(chains[0]), "distance_hops": int(chains[1])}
        if self._loads.size:
            cost["link_load"] = largest_load(self._loads)
        return Cost(**cost)


def _folds(tree: Tree, values: Values, operator: str, direction: str) -> Values:
    """Return the fold of the values, shape (n, words), of every subtree or root path: integers modulo 2^64."""
    code, up = CODES[operator], direction == "up"
    result = np.array(values)
    if result.dtype.kind == "f":
        fold_reals(tree.parent, tree.parents_first, result[:, 0], code, up)
        return result
    flipped = result.dtype.kind == "i" and operator in {"max", "min"}
    words = result.view(np.uint64)
    words ^= np.uint64(flipped << 63)
    fold_words(tree.parent, tree.parents_first, words, code, up)
    words ^= np.uint64(flipped << 63)
    return result


def first_overflow(tree: Tree, values: Values, operator: str, direction: str) -> int:
    """Return the first vertex whose sum or product does not fit in the type of ``values``, shape (n, words); or -1.

    Real numbers overflow where the sum of their magnitudes does, or the product of those above 1; infinite ones do not.
    """
    if operator not in {"sum", "product"}:
        return -1
    most = max(abs(float(end(initial=0))) for end in (values.max, values.min))
    if operator == "sum" and tree.n * most < (2.0**62 if values.dtype.kind in "iu" else 2.0**1000):
        return -1
    if values.dtype.kind == "f":
        size = np.abs(np.where(np.isfinite(values), values, 0.0))
        size = size if operator == "sum" else np.maximum(size, 1.0)
        over = ~np.isfinite(_folds(tree, size, operator, direction)[:, 0])
    else:
        kept = _folds(tree, values, operator, direction)[:, 0].astype(np.float64)
        if operator == "sum":
            high, low = (
                _folds(tree, half.astype(np.int64), "sum", direction)[:, 0].astype(np.float64)
                for half in (values >> 32, values & 0xFFFFFFFF)
            )
            exact = high * 2.0**32 + low
        else:
            exact = _folds(tree, values.astype(np.float64), "product", direction)[:, 0]
        # What is kept differs by multiples of 2^64; the rounded sum is off by less than 2^40, a product that fits, of
        # at most 63 factors beyond 1, by less than 2^20. No number: a factor 0 beyond an overflow, so 0 is right.
        over = np.abs(exact - kept) > 2.0**62
    wrong = np.flatnonzero(over)
    return int(wrong[0]) if len(wrong) else -1


def check_treefix(tree: Tree, values: Values, operator: str, direction: str, result: Values) -> CheckReport:
    """Compare treefix sums with a sequential fold; ``values`` and ``result`` have shape (n, words).

    Rule ``wrong-sum``, for at most fifty vertices. Sums and products of real numbers may differ by what two orders of
    rounding can make of them.
    """
    right = _folds(tree, values, operator, direction)
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            same = np.abs(right - result) <= _rounding(tree, values, operator, direction, right)
        same |= (right == result) | (np.isnan(right) & np.isnan(result))
    else:
        same = right == result
    wrong = np.flatnonzero(~same.all(axis=1))[:_MOST]
    return CheckReport(
        tuple(
            Violation("wrong-sum", f"vertex {v}", f"{result[v].tolist()} instead of {right[v].tolist()}")
            for v in wrong.tolist()
        )
    )


def _rounding(tree: Tree, values: Values, operator: str, direction: str, right: Values) -> Values:
    """Return by how much the sums or products of real numbers may differ from one order to another."""
    if operator in {"max", "min"}:
        return np.zeros_like(right)
    terms = _folds(tree, np.ones_like(values), "sum", direction)
    size = np.abs(np.where(np.isfinite(values), values, 0.0))
    unit = 2.0**-53
    if operator == "sum":
        return np.asarray(2 * terms * unit * _folds(tree, size, "sum", direction))
    # Each product is rounded by its share, or below the smallest normal number by 2^-1075, which later factors enlarge.
    return np.asarray(
        2 * terms * (unit * np.abs(right) + _folds(tree, np.maximum(size, 1), "product", direction) * 2.0**-1074)
    )


def check_lca(tree: Tree, queries: Index, answers: Index) -> CheckReport:
    """Compare lowest common ancestors (-1: different trees) with those found by climbing; ``queries`` is (q, 2)."""
    first, second = np.ascontiguousarray(queries[:, 0]), np.ascontiguousarray(queries[:, 1])
    right = np.empty(len(first), np.int32)
    lowest_common_ancestors(tree.parent, tree.parents_first, first, second, right)
    return CheckReport(
        tuple(
            Violation("wrong-ancestor", f"query {q}", f"{answers[q]} instead of {right[q]} for {queries[q].tolist()}")
            for q in np.flatnonzero(right != answers)[:_MOST].tolist()
        )
    )
