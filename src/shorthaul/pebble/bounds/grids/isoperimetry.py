"""How few values a set of nodes of an iteration over a grid reads and leaves, whatever set of that size it is.

A cell x of a box of d dimensions has a node (x, t) at each of some levels, which reads (y, t - 1) for every cell y
that is x or next to it along an axis, as far as the box goes. N(A) are the cells of A and those next to them, I(A) the
cells y with N({y}) in A.

**Least neighbourhoods.** n(m) is a lower bound on |N(A)| over all A of m cells. *Push A down along an axis*: on each
line of this direction, put as many cells at its beginning as A has there. The neighbourhood of A has on a line at least
what A's cells there have around them on the line, and at least what A has on a line beside it. Pushed down, all these
sets are beginnings of the line, so the neighbourhood has no more than the most of these numbers: |N(A)| does not grow.
Pushed down along all axes until nothing changes, A consists of slices (one last coordinate z each) that lie above one
another and become smaller, s_0 >= s_1 >= ... >= s_(h-1). In slice z the neighbourhood holds that of A's slice there,
and what A has in slice z - 1: at least max(n'(s_z), s_(z-1)) cells, with n' of one dimension less; and s_(h-1) cells in
slice h if the box has one. The least sum of these over all such sequences is n(m). On a line, n(m) = m + 1, or m if it
is full. Where cells also read those beside them along several axes at once (nine points in a plane), slice z holds the
neighbourhood of A's slice z - 1 instead: max(n'(s_z), n'(s_(z-1))) cells, and the same argument holds.

Each n(m) may be lowered to the least n(m') with m' >= m: then it rises with m.

**Largest interiors.** N(I(A)) is a part of A, so n(|I(A)|) <= m, and |I(A)| is at most i(m), the largest e with
n(e) <= m.

**Levels.** Let S be a set of nodes of levels 1 to T, S_t its cells at level t, S_0 and S_(T+1) empty. It reads, at
level t - 1 outside S, |N(S_t) - S_(t-1)| nodes, and leaves |S_(t-1) - I(S_t)| nodes of S at level t - 1 to readers
outside S; the last level leaves all it has. With a = |S_(t-1)| and b = |S_t|, the sum is at least

    max(n(b) - i(b), n(b) - a, a - i(b)),

since I(S_t) lies in N(S_t), and a cell of the latter only is read if it is not in S, and left if it is. So what S reads
and leaves is at least the least sum of this over all sequences of sizes with as many nodes in all. Where level 0 is not
made of inputs, nodes of it that are not counted may be computed together with S: then S_0 is any set, and the first
level costs n(b) - i(b) at least. Likewise S_T may be any set that is not counted where the last level is not made of
outputs.

**Classes.** Sizes u (k - 1) < m <= u k are taken together, each number at its better end. The k of the levels of a set
of q nodes sum up to q / u at least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shorthaul.pebble.bounds.grids import segment_kernels as kernels
from shorthaul.pebble.model import IntArray

_FAR = 2**60


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """What sets of cells of a box have around them, by their size, as far as that is known.

    ``grown[m]`` is how many cells a set of m cells and those next to it are at least, ``inner[m]`` how many of m cells
    at most have all their neighbours in the set. Shape (sizes known + 1,); ``cells`` is how many the box has.
    """

    cells: int
    grown: IntArray
    inner: IntArray


def box(sides: tuple[int, ...], most: int, *, has_corners: bool = False, work: int = _FAR) -> Box | None:
    """Return what is known of sets of up to ``most`` cells; None if it takes more work.

    ``has_corners`` tells that cells read those beside them along several axes at once too.

    >>> square = box((9, 9), 12)
    >>> square.grown[:7].tolist(), square.inner[:7].tolist()
    ([0, 3, 5, 6, 8, 9, 10], [0, 0, 0, 1, 1, 2, 3])
    """
    ordered = sorted(sides)
    cells = int(np.prod(ordered))
    most = min(most, cells)
    line = np.arange(min(most, ordered[0]) + 1)
    grown = line + (line > 0) * (line < ordered[0])
    for side in ordered[1:]:
        least = np.full(min(most, (len(grown) - 1) * side) + 1, _FAR)
        least[0] = 0
        spent = kernels.grown(grown, side, has_corners, least, work)
        if spent < 0:
            return None
        work -= spent
        grown = np.minimum.accumulate(least[::-1])[::-1].copy()
    return Box(cells, grown, np.searchsorted(grown, np.arange(len(grown)), side="right") - 1)


def least_ends(found: Box, unit: int, most: int, *, is_open: tuple[bool, bool]) -> IntArray:
    """Return how many nodes a set reads and leaves at least, by its size in units, shape (most + 1,).

    Each number holds for all sets of that size up to twice ``most`` units. ``is_open`` tells whether the first level
    may read, and the last may be read by, nodes that are not counted. Sizes of levels must be known up to twice
    ``most`` units, or all cells.

    >>> least_ends(box((9, 9), 80), 1, 40, is_open=(False, False))[[1, 2, 8, 40]].tolist()
    [4, 7, 17, 48]
    """
    sizes = len(found.grown) - 1
    widest = min(2 * most, -(-sizes // unit))
    classes = np.arange(widest + 1)
    lowest, highest = unit * (classes - 1) + 1, np.minimum(unit * classes, sizes)
    lowest[0] = 0
    grown = np.minimum.reduceat(found.grown[: highest[-1] + 1], lowest)
    gap = np.minimum.reduceat((found.grown - found.inner)[: highest[-1] + 1], lowest)
    inner = found.inner[highest]
    end = lowest.copy()
    if is_open[1]:
        change = np.maximum(grown[:, None] - highest[None, :], lowest[None, :] - inner[:, None])
        end = np.minimum(end, np.maximum(gap[:, None], change).min(axis=0))
    totals = np.empty(4 * most + 1, dtype=np.int64)
    beyond = kernels.least_totals(grown, gap, inner, lowest, highest, is_open[0], end, totals)
    least: IntArray = np.minimum(np.minimum.accumulate(totals[::-1])[::-1], beyond)
    return least[: most + 1]
