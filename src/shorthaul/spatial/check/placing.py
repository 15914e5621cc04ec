"""Whether a small tree has a layout of so few hops: searched anew, by trying all of them."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.check.placing_kernels import place
from shorthaul.spatial.check.rooted import Rooted
from shorthaul.spatial.model import Grid, Tree

Numbers = npt.NDArray[np.int32]

#: Levels of which the kernel counts the vertices, and hops around a vertex that it looks at if nothing is to spare.
_LEVELS: Final = 5
#: Search nodes: some seconds.
_MOST_NODES: Final = 10_000_000


def least_is_above(tree: Tree, grid: Grid, most: int, nodes: int = _MOST_NODES) -> bool | None:
    """Return whether no layout of the tree on ``grid`` takes ``most`` hops or fewer, None if ``nodes`` do not tell.

    The vertices are placed one by one, and no further where those on the grid leave too little room for the others.
    Of subtrees of one shape below a vertex, and of layouts that are mirrored, one order is tried.
    """
    edges = int((tree.parent >= 0).sum())
    if most < edges or tree.n > grid.cells:
        return True
    if len(tree.roots()) > 1:
        return None
    spare = most - edges
    around = min(max(_LEVELS, spare) + 1, grid.width + grid.height - 1)
    found, _, _ = place(*_numbered(tree), *_cells(grid, around), spare, nodes)
    return None if found == 2 else found == 0


def _cells(grid: Grid, around: int) -> tuple[Numbers, Numbers, npt.NDArray[np.uint8], Numbers]:
    """Return the steps to what is within so many hops, how many there are, which cells are taken, and where it begins.

    A root is in one quarter of the grid, or one half of that: what is mirrored costs the same.
    """
    width = grid.width + 2 * around
    reach = range(-around, around + 1)
    steps = sorted((abs(x) + abs(y), y * width + x) for x in reach for y in reach if 0 < abs(x) + abs(y) <= around)
    ring = [sum(hops <= t for hops, _ in steps) for t in range(around + 1)]
    taken = np.ones((grid.height + 2 * around, width), np.uint8)
    taken[around : around + grid.height, around : around + grid.width] = 0
    quarter = [
        (y + around) * width + x + around
        for y in range((grid.height + 1) // 2)
        for x in range((grid.width + 1) // 2)
        if grid.width != grid.height or y <= x
    ]
    step = np.array([step for _, step in steps], np.int32)
    return step, np.array(ring, np.int32), taken.ravel(), np.array(quarter, np.int32)


def _numbered(tree: Tree) -> tuple[Numbers, Numbers, npt.NDArray[np.uint8], Numbers]:
    """Return where the children of every vertex begin, the children, which are twins, and how many are below them.

    Vertex 0 is the root, one with most vertices within three edges. Subtrees of one shape stand side by side.
    """
    near = [sum(map(len, itertools.islice(Rooted(tree, [v]).levels_below(v), 4))) for v in range(tree.n)]
    rooted = Rooted(tree, [int(np.argmax(near))])
    shape, known = [0] * tree.n, dict[tuple[int, ...], int]()
    levels = np.ones((tree.n, _LEVELS + 1), np.int32)  # how many are within 0, 1, ... levels below a vertex, and itself
    for v in reversed(rooted.order):
        shape[v] = known.setdefault(tuple(sorted(shape[kid] for kid in rooted.kids[v])), len(known))
        for kid in rooted.kids[v]:
            levels[v, 1:] += levels[kid, :-1]
    number = {v: i for i, v in enumerate(rooted.order)}
    starts, kids, is_twin, below = [0], list[int](), list[bool](), list[Numbers]()
    for v in rooted.order:
        mine = sorted(rooted.kids[v], key=lambda kid: (-rooted.size[kid], shape[kid]))
        kids += [number[kid] for kid in mine]
        is_twin += [i > 0 and shape[kid] == shape[mine[i - 1]] for i, kid in enumerate(mine)]
        counts = np.zeros((len(mine), _LEVELS + 1), np.int32)
        counts[:, 1:] = levels[mine, :-1]
        below += [*np.cumsum(counts[::-1], axis=0, dtype=np.int32)[::-1]]
        starts.append(len(kids))
    ints = (np.array(starts, np.int32), np.array(kids, np.int32))
    return *ints, np.array(is_twin, np.uint8), np.array(below, np.int32).reshape(-1, _LEVELS + 1)
