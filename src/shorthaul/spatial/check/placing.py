"""Whether a small tree has a layout of so few hops: searched anew, by trying all of them."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.check.placing_kernels import flood
from shorthaul.spatial.check.rooted import Rooted
from shorthaul.spatial.model import Grid, Tree

Numbers = npt.NDArray[np.int32]

#: Levels below a vertex whose vertices the kernel counts.
_LEVELS: Final = 7
#: Search nodes: some seconds.
_MOST_NODES: Final = 10_000_000


def least_is_above(tree: Tree, grid: Grid, most: int, nodes: int = _MOST_NODES) -> bool | None:
    """Return whether no layout of the tree on ``grid`` takes ``most`` hops or fewer, None if ``nodes`` do not tell.

    The vertices are placed one by one, and no further where less can be reached from those on the grid, by way of free
    cells, than there is below them. Of subtrees of one shape below a vertex, and of layouts that are mirrored, one
    order is tried.
    """
    edges = int((tree.parent >= 0).sum())
    if most < edges or tree.n > grid.cells:
        return True
    if len(tree.roots()) > 1:
        return None
    found, _ = flood(*_numbered(tree), *_cells(grid), most - edges, nodes)
    return None if found == 2 else found == 0


def _cells(grid: Grid) -> tuple[npt.NDArray[np.uint64], int, Numbers]:
    """Return the cells as bits of words, the bits from a row to the next, and cells of which one holds the root.

    Of cells that mirroring and turning the grid lead to one another, one is tried.
    """
    stride = grid.width + 1
    bits = np.zeros((grid.height, stride), np.uint8)
    bits[:, : grid.width] = 1
    packed = np.packbits(bits.ravel(), bitorder="little")
    packed = np.append(packed, np.zeros(-len(packed) % 8, np.uint8))
    first = set()
    for x, y in itertools.product(range(grid.width), range(grid.height)):
        images = {(u, v) for u in (x, grid.width - 1 - x) for v in (y, grid.height - 1 - y)}
        if grid.width == grid.height:
            images |= {(v, u) for u, v in images}
        first.add(min(v * stride + u for u, v in images))
    return packed.view("<u8").astype(np.uint64), stride, np.array(sorted(first), np.int32)


def _numbered(tree: Tree) -> tuple[Numbers, Numbers, npt.NDArray[np.uint8], Numbers]:
    """Return where the children of every vertex begin, the children, which are twins, and how many are below them.

    Of each and those after it, all, and those 1, 2, ... levels below their parent. Vertex 0 is the root, one with most
    vertices within three edges. Subtrees of one shape stand side by side.
    """
    near = [sum(map(len, itertools.islice(Rooted(tree, [v]).levels_below(v), 4))) for v in range(tree.n)]
    rooted = Rooted(tree, [int(np.argmax(near))])
    shape, known = [0] * tree.n, dict[tuple[int, ...], int]()
    levels = np.zeros((tree.n, _LEVELS + 1), np.int32)  # how many are 0, 1, ... levels below a vertex
    levels[:, 0] = 1
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
        counts[:, 0] = [rooted.size[kid] for kid in mine]
        counts[:, 1:] = levels[mine, :-1]
        below += [*np.cumsum(counts[::-1], axis=0, dtype=np.int32)[::-1]]
        starts.append(len(kids))
    ints = (np.array(starts, np.int32), np.array(kids, np.int32))
    return *ints, np.array(is_twin, np.uint8), np.array(below, np.int32).reshape(-1, _LEVELS + 1)
