"""Small trees searched through: the best layout, and the proof that none takes less."""

from __future__ import annotations

from concurrent.futures import wait
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.core.searching.threads import Threads
from shorthaul.spatial.bounds.energy import energy_bound
from shorthaul.spatial.bounds.placing_kernels import search_layout
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.model import Grid, Tree

Numbers = npt.NDArray[np.int32]
#: Levels below a vertex whose vertices are counted.
_LEVELS: Final = 7
#: Search nodes per effort: 1 to 4 million take a second.
_NODES_PER_EFFORT: Final = 1.5e6
#: How often a search is asked whether its time is over, in seconds.
_LOOK_S: Final = 0.05


def solve(stored: StoredTree, search: Search, effort: float) -> tuple[StoredTree, Bound]:
    """Return the best layout that so much effort finds, and how much energy it proves that every layout takes.

    A layout of as many hops as the bound is searched for; if there is none the bound is one hop higher.
    """
    bound = energy_bound(Tree(stored.parent), stored.grid, stored.vertex, search=search)
    least, best = int(bound.value), edge_energy(stored.parent, stored.x, stored.y)[0]
    part = search.within(effort)
    while least < best and not part.expired():
        is_settled, found = find_layout(stored, least, part)
        if not is_settled:
            break
        if found is not None:
            stored, best = found, least
            search.keep(best, found)
        else:
            least += 1
        search.report(best=best, bound=least, what="exact")
    if least == bound.value:
        return stored, bound
    proof = f"All layouts on {stored.grid} of less than {least} hops were searched through: there is none."
    values = {**bound.details["values"], "exact": least}
    return stored, replace(bound, value=least, method="exact", proof=proof, details={**bound.details, "values": values})


def find_layout(stored: StoredTree, most: int, search: Search) -> tuple[bool, StoredTree | None]:
    """Return whether the effort of ``search`` told if a layout takes at most ``most`` hops, and the layout if one does.

    The vertices are placed one by one, the most crowded first, and no further where what is free around them is too
    little for the others.
    """
    spare = most - int((stored.parent >= 0).sum())
    if spare < 0:
        return True, None
    nodes = int(search.left() * _NODES_PER_EFFORT)
    order, *numbered = _rooted(stored.parent)
    around = min(max(_LEVELS, spare) + 1, stored.grid.width + stored.grid.height - 1)
    cells, stop = _cells(stored.grid, around), np.zeros(1, np.uint8)
    with Threads(1) as beside:
        searching = beside.submit(search_layout, *numbered, *cells, spare, nodes, stop)
        try:
            while not wait([searching], _LOOK_S).done:
                stop[0] = search.remaining_s() <= 0
        finally:
            stop[0] = 1
    found, cell, left = searching.result()
    search.spend((nodes - left) / _NODES_PER_EFFORT)
    if found != 1:
        return found == 0, None
    y, x = np.empty((2, stored.n), np.int32)
    row, column = np.divmod(cell, stored.grid.width + 2 * around)
    y[order], x[order] = row - around, column - around
    return True, replace(stored, x=x, y=y)


def _rooted(parent: npt.NDArray[np.int32]) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
    """Return the vertices from roots in crowds on, and the arguments of the kernel that say of them what is below."""
    n = len(parent)
    beside: list[list[int]] = [[] for _ in range(n)]
    for v in np.flatnonzero(parent >= 0).tolist():
        beside[v].append(int(parent[v]))
        beside[parent[v]].append(v)
    above, order, roots = [-1] * n, list[int](), list[int]()
    for v in sorted(range(n), key=lambda v: -_crowd(beside, v)):
        if v not in order:
            roots.append(len(order))
            order += _from_root(beside, above, v)
    shape, known = [0] * n, dict[tuple[int, ...], int]()
    size, tall = np.ones(n, np.int64), np.zeros(n, np.int64)
    count = np.zeros((n, _LEVELS + 1), np.int32)  # at 0, 1, ... levels below
    count[:, 0] = 1
    kids = [sorted((k for k in beside[v] if k != above[v]), key=beside.__getitem__) for v in range(n)]
    for v in reversed(order):
        shape[v] = known.setdefault(tuple(sorted(shape[k] for k in kids[v])), len(known))
        for k in kids[v]:
            size[v] += size[k]
            tall[v] = max(tall[v], tall[k] + 1)
            count[v, 1:] += count[k, :-1]
    rank = np.empty(n, np.int32)
    rank[order] = np.arange(n)
    starts, rows, below = [0], [], []
    for v in order:
        mine = sorted(kids[v], key=lambda k: (-size[k], shape[k]))
        for i, k in enumerate(mine):
            rows.append((rank[k], i > 0 and shape[k] == shape[mine[i - 1]], 1 + tall[mine[i:]].max()))
            level = np.append(0, count[mine[i:], :-1].sum(axis=0))
            alike = [level[t % 2 : t + 1 : 2].sum() for t in range(_LEVELS + 1)]
            below.append((level.cumsum(), alike))
        starts.append(len(rows))
    counted = np.array(below, np.int32).reshape(-1, 2, _LEVELS + 1)
    first, order_, starts_ = (np.array(one, np.int32) for one in (roots, order, starts))
    return order_, first, starts_, np.array(rows, np.int32).reshape(-1, 3), counted


def _crowd(beside: list[list[int]], v: int) -> int:
    """Return how many vertices are within three edges of one."""
    near = {v}
    for _ in range(3):
        near |= {one for at in near for one in beside[at]}
    return len(near)


def _from_root(beside: list[list[int]], above: list[int], root: int) -> list[int]:
    """Return the vertices below a root, parents first, which are noted in ``above``."""
    order = [root]
    for v in order:
        for k in beside[v]:
            if k != above[v]:
                above[k] = v
                order.append(k)
    return order


def _cells(grid: Grid, around: int) -> tuple[Numbers, Numbers, npt.NDArray[np.uint8], Numbers]:
    """Return the steps within so many hops, how many within each, the cells taken, and those that a root can be on.

    Mirrored layouts cost the same: a root is in one quarter of the grid, of a square in one half of that.
    """
    width = grid.width + 2 * around
    y, x = (one.ravel() for one in np.mgrid[-around : around + 1, -around : around + 1])
    hops = np.abs(x) + np.abs(y)
    near = np.argsort(hops, kind="stable")[1 : int((hops <= around).sum())]
    taken = np.ones((grid.height + 2 * around, width), np.uint8)
    taken[around:-around, around:-around] = 0
    row, column = np.mgrid[: (grid.height + 1) // 2, : (grid.width + 1) // 2]
    first = ((row + around) * width + column + around)[(column >= row) | (grid.width != grid.height)]
    ring = np.searchsorted(hops[near], np.arange(around + 1), side="right")
    step = y[near] * width + x[near]
    return step.astype(np.int32), ring.astype(np.int32), taken.ravel(), first.astype(np.int32)
