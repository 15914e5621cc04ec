"""Loads between moments that follow one another in every schedule: a matrix that every iteration reads again.

A level holds the nodes of one depth. When its first node is computed, no other of it is, and nothing deeper; but all
that every node of it needs is. The first nodes of deeper levels follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import from_arrays, layers
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds import moment_kernels as kernels
from shorthaul.pebble.bounds.piece import Piece
from shorthaul.pebble.model import Cdag, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and the nodes that it is about: all.

    It counts between the first nodes of ``levels``. ``is_whole`` tells that all levels were looked at.
    """

    excess: int
    nodes: IntArray
    levels: tuple[int, ...] = ()
    is_whole: bool = True

    def pieces(self) -> list[Piece]:
        """Return the bound as one piece."""
        return [Piece(self.nodes, self.excess, self._shown, 1)] if self.excess else []

    def _shown(self, _: Cdag) -> list[dict[str, Any]]:
        return [{"kind": "moment", "levels": list(self.levels)}]


def excess(cdag: Cdag, budget: int, *, recompute: bool, search: Search) -> Found:
    """Return a lower bound on the traffic beyond inputs and outputs; 0 if ``search`` expires before.

    Between the first nodes of two levels, whichever they are, the second one's ancestors below the first level are
    computed. What they read, and what every node of the first level needs too, was in fast memory before; so it is in
    the room that the first one leaves, or is loaded between the two, and it was stored if it was computed and is no
    output. Its store is charged where it is read last, on the later level or above. The most over all chains of levels
    is taken. More than the narrowest levels are looked at only where these bring something. With ``recompute`` only
    inputs count.

    >>> from shorthaul.pebble.workloads.sparse import cg
    >>> excess(cg(n=6, percent=60.0, k=4, most=1, seed=0), 14, recompute=False, search=Search()).excess > 20
    True
    """
    effort = (cdag.n + cdag.edges) / tuning.PASS_RATE
    if effort > search.left():
        return Found(0, np.empty(0, dtype=np.int64))
    search.spend(effort)
    depth = layers(cdag.children, cdag.order)
    order = np.argsort(depth, kind="stable")
    first = min(1.0, max(tuning.MOMENTS_FIRST, tuning.MOMENTS_FIRST_EFFORT * cdag.n / max(search.left(), 1e-9)))
    found = _chained(cdag, budget, order, depth, recompute=recompute, search=search.part(first))
    if found.excess and not found.is_whole:
        more = _chained(cdag, budget, order, depth, recompute=recompute, search=search)
        found = max(found, more, key=lambda one: one.excess)
    return found


def _chained(cdag: Cdag, budget: int, order: IntArray, depth: IntArray, *, recompute: bool, search: Search) -> Found:
    """Return the bound of all nodes, in the order of their depth.

    Where the effort is not enough for all levels, it is that of the narrowest ones.
    """
    n, level = len(order), depth[order]
    sizes, weights, given = np.bincount(level), cdag.weights[order], cdag.given[order]
    number = np.empty(n, dtype=np.int64)
    number[order] = np.arange(n)
    tails, heads = (number[ends] for ends in cdag.edge_arrays())
    links = sizes + np.bincount(level[heads], minlength=len(sizes))
    # Of levels as narrow as each other drawn ones: these lie far apart.
    ranked = np.lexsort((search.generator().permutation(len(sizes)), sizes))
    ranked = ranked[ranked > 0][: tuning.MOST_MOMENTS]
    took = np.cumsum((sizes * np.cumsum(links))[ranked]) / tuning.MOMENTS_RATE
    chosen = np.sort(ranked[took <= search.left()])
    if len(chosen) < 2:
        return Found(0, order, is_whole=False)
    parents = from_arrays(n, heads, tails)
    deepest = np.full(n, -1, dtype=np.int64)
    np.maximum.at(deepest, tails, level[heads])
    taken = weights.copy()  # by a node that is computed, and its operands that nothing deeper reads
    np.add.at(taken, heads, np.where(deepest[tails] <= level[heads], weights[tails], 0))
    least = np.full(len(sizes), budget, dtype=np.int64)
    np.minimum.at(least, level, taken)
    last_read = np.where(given, -1, deepest) if not recompute else np.full(n, -1)
    counts = given if recompute else np.ones(n, dtype=np.bool_)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    later = np.searchsorted(chosen, np.arange(len(sizes)))
    table = kernels.Levels(
        weights, parents.starts, parents.targets, level, starts, chosen, later, budget - least, last_read,
        counts.view(np.uint8),
    )  # fmt: skip
    done, work = False, 0
    while not (done or search.expired()):
        done = kernels.advance(table, tuning.ORDER_CALL)
        search.spend((table.work - work) / tuning.MOMENTS_RATE)
        work = table.work
    met = table.done
    if met < 2:
        return Found(0, order, is_whole=False)
    most, levels = _longest(np.asarray(table.least)[:met, :met])
    return Found(most, order, tuple(chosen[list(levels)].tolist()), is_whole=met == len(ranked))


def _longest(least: IntArray) -> tuple[int, tuple[int, ...]]:
    """Return the chain of levels that comes to most, ``least[d, e]`` from each level to a deeper one, and what to.

    >>> _longest(np.array([[0, 1, 2], [0, 0, 4], [0, 0, 0]]))
    (5, (0, 1, 2))
    """
    best = np.zeros(len(least), dtype=np.int64)
    before = np.arange(len(least)) - 1
    for last in range(1, len(least)):
        sums = best[:last] + least[:last, last]
        first = int(sums.argmax())
        best[last] = sums[first]
        before[last] = first
    level = int(best.argmax())
    levels = [level]
    while before[levels[-1]] >= 0:
        levels.append(int(before[levels[-1]]))
    return int(best[level]), tuple(levels[::-1])
