"""Refinement of a layout below light-first by simulated annealing."""

from __future__ import annotations

import time

import numpy as np

from shorthaul.core import jit
from shorthaul.core.search import Search
from shorthaul.graphs.csr import from_arrays
from shorthaul.spatial.layout.annealing_kernels import anneal
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.model import Tree
from shorthaul.spatial.plan import Layout

#: Swaps between two looks at the clock.
_CHUNK = 100_000
_HOTTEST, _COLDEST = 1.2, 0.12


def refine(tree: Tree, layout: Layout, *, seconds: float, search: Search) -> Layout:
    """Return the best layout that ``seconds`` of annealing from ``layout`` find; never a worse one.

    Swaps bring a vertex next to a neighbour in the tree; the temperature falls geometrically with the time used.
    Stops early when ``budget`` ends. The result depends on the machine's speed; only its being no worse is certain.
    """
    edge = np.flatnonzero(tree.parent >= 0)
    if len(edge) == 0:
        return layout
    jit.announce("shorthaul.spatial.layout.annealing_kernels", 3, group="spatial")
    ends = tree.parent[edge].astype(np.int64)
    graph = from_arrays(tree.n, np.concatenate([edge, ends]), np.concatenate([ends, edge]))
    starts, near = graph.starts.astype(np.int32), graph.targets.astype(np.int32)
    x, y = layout.x.copy(), layout.y.copy()
    width, height = layout.grid.width, layout.grid.height
    holder = np.full(layout.grid.cells, -1, np.int32)
    holder[y * np.int64(width) + x] = np.arange(tree.n, dtype=np.int32)
    state = np.array([search.seed * 2 + 1], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    anneal(starts, near, x, y, holder, width, height, _COLDEST, 0, state)  # compiled before the clock starts
    energy, _ = edge_energy(tree.parent, x, y)
    best, best_x, best_y = energy, layout.x, layout.y
    begun = time.monotonic()
    while (used := time.monotonic() - begun) < seconds and not search.expired():
        temperature = _HOTTEST * (_COLDEST / _HOTTEST) ** (used / seconds)
        energy += anneal(starts, near, x, y, holder, width, height, temperature, _CHUNK, state)
        if energy < best:
            best, best_x, best_y = energy, x.copy(), y.copy()
        search.report(best=best, bound=len(edge), what="refine")
    return Layout(layout.parent, best_x, best_y, layout.grid)
