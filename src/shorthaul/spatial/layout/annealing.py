"""Refinement of a layout below light-first by simulated annealing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.spatial import tuning
from shorthaul.spatial.layout.annealing_kernels import Placement, anneal
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.tree_kernels import sorted_by

Index = npt.NDArray[np.int32]


def refine(stored: StoredTree, effort: float, search: Search) -> StoredTree:
    """Return the best places that annealing with so much effort finds; never worse ones.

    Swaps bring a vertex next to a neighbour in the tree. The temperature falls geometrically, stage by stage; in each,
    windows of vertices that follow one another in light-first order take their turns. Tree, effort and seed decide the
    answer, unless the time limit is too short for them: then every turn ends at its share of the time.
    """
    edges = int((stored.parent >= 0).sum())
    if edges == 0:
        return stored
    if search.effort is not None:
        effort = min(effort, search.left())
    began, remaining_s = time.monotonic(), search.remaining_s()
    best, best_x, best_y = edge_energy(stored.parent, stored.x, stored.y)[0], stored.x, stored.y
    x, y = stored.x.copy(), stored.y.copy()
    placement, random = _placement(stored, x, y, best), Random(search.seed)
    reads = min(effort, remaining_s) * tuning.READS_PER_EFFORT
    for stage, temperature in enumerate(_temperatures(reads / stored.n)):
        for first, last in _windows(stored.n):
            left = round(reads * (last - first) / stored.n / tuning.STAGES)
            share = (stage + last / stored.n) / tuning.STAGES
            while left > 0 and not search.expired() and time.monotonic() < began + share * remaining_s:
                before = placement.reads
                anneal(placement, random, first, last - first, temperature, min(left, tuning.READS_AT_ONCE))
                left -= placement.reads - before
                search.spend((placement.reads - before) / tuning.READS_PER_EFFORT)
        if placement.energy < best:
            best, best_x, best_y = placement.energy, x.copy(), y.copy()
        search.report(best=best, bound=edges, what="refine")
        if search.expired():
            break
    return replace(stored, x=best_x, y=best_y)


def _windows(n: int) -> Iterator[tuple[int, int]]:
    """Yield the first vertex of each window and of the next."""
    count = -(-n // tuning.WINDOW)
    for turn in range(count):
        yield n * turn // count, n * (turn + 1) // count


def _temperatures(reads_per_vertex: float) -> npt.NDArray[np.float64]:
    hottest = tuning.HOTTEST_FACTOR * reads_per_vertex**tuning.HOTTEST_POWER
    return np.geomspace(max(hottest, tuning.COLDEST), tuning.COLDEST, tuning.STAGES)


def _placement(stored: StoredTree, x: Index, y: Index, energy: int) -> Placement:
    child = np.flatnonzero(stored.parent >= 0).astype(np.int32)
    above = stored.parent[child]
    end, other = np.concatenate([child, above]), np.concatenate([above, child])
    starts = np.concatenate([[0], np.cumsum(np.bincount(end, minlength=stored.n))]).astype(np.int32)
    holder = np.full(stored.grid.cells, -1, np.int32)
    holder[y * np.int64(stored.grid.width) + x] = np.arange(stored.n, dtype=np.int32)
    return Placement(starts, other[sorted_by(end, stored.n - 1)], x, y, holder, stored.grid.width, energy)
