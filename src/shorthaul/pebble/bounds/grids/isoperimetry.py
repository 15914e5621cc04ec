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

**Far from the walls** sets have more around them. Let the cells be those of the whole space: a set of the box reads and
leaves as much as there, but for cells outside that it would read, at most one for each pair of a node and a neighbour
that the box lacks, and nodes at a wall that it would leave to readers outside. No node is in two segments, so all of
them together lose (T levels) x (such pairs of a level + cells at a wall) at most. In space n(m) is

- where cells are read along several axes at once, (m^(1/d) + 2)^d: A with the unit cube around each cell has the volume
  m, with all that is read it is the sum of this and a cube of side 2 (Brunn and Minkowski);
- in a plane, five points, m + 2 + sqrt(8 m - 4): let e cells of A be even (x + y is) and o <= e odd. Turned by 45
  degrees, the neighbours of even cells are the sum of these and the corners of a square, so (sqrt(e) + 1)^2 odd cells
  at least, and (sqrt(o) + 1)^2 even ones if o > 0. So |N(A)| >= max(e, (sqrt(o) + 1)^2) + (sqrt(e) + 1)^2; for o = 0
  that is more. It is least where both in the maximum are equal: with more even cells it grows, and with fewer it is m +
  2 + 2 (sqrt(e) + sqrt(o)), which grows as e and o come nearer. With r = sqrt(e) = sqrt(o) + 1 there, m = 2 r^2 - 2 r +
  1 and |N(A)| >= m + 4 r.

**Links.** A cell may read another one y by way of a node of its own, its link: it reads (t - 1, y), and x reads it at
level t; no link serves more than two cells at one level. All above holds with links: let y be a cell of N(S_t) that is
not in S at level t - 1. If y is in S_t, its own node is read. Else some x in S_t reads it; if it does so by a link that
is not in S, that is read, else (t - 1, y) is. Links of such y differ, as one of their cells is in S_t and the other is
not. Likewise a cell y of S_(t-1) that is not in I(S_t) is left itself if it is not in S_t; else some x reads it that is
not in S_t, and either y is left or their link is.

*Links both ways*, as where fields stand between cells: each link of two cells x and y reads both at level t - 1, and
both read it at level t. Then a link of which one cell is in B = S_t and the other is not is always read (it is not in
S, a node of S reads it) or left (it is in S, another node reads it): e(|B|) nodes at least, the fewest pairs of
neighbours between a set of that size and the rest. The nodes of level t - 1 add to that. With A = S_(t-1), cells of A
or B only are left or read, d of them. Let x in A and B have a neighbour y in neither. If their link is in S, y is read,
else x is left. Let C be all that is read or left so: a neighbour of a cell of A and B that is not in C is in A or B or
in C. With p = |A and B| = (a + b - d) / 2 and r = |A or B| = (a + b + d) / 2, c of C in A and B and k others: n(p - c)
<= r + k, so c >= p - i(r + k). The level costs e(b) + d + min over k of (k + max(0, p - i(r + k))) at least, the least
over all d, if that is more than what was said above. Pushed down along an axis, a set has no more pairs with the rest:
on a line one at most, and between two lines as many as their numbers differ by. Far from walls e(m) is 2 d m^((d - 1) /
d) at least, as both ends of each line that meets the set count, and d projections have the product m^(d - 1) or more;
at walls a pair for each neighbour that the box lacks is lost.

**Classes.** Sizes u (k - 1) < m <= u k are taken together, each number at its better end. The k of the levels of a set
of q nodes sum up to q / u at least.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.grids import segment_kernels as kernels
from shorthaul.pebble.model import IntArray

_FAR = 2**60
#: What rounding may add to a number of cells.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """What sets of cells of a box have around them, by their size, as far as that is known.

    ``grown[m]`` is how many cells a set of m cells and those next to it are at least, ``inner[m]`` how many of m cells
    at most have all their neighbours in the set. Shape (sizes known + 1,); ``cells`` is how many the box has.
    """

    cells: int
    grown: IntArray
    inner: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Cells with links both ways: ``cut[m]`` is how many pairs of neighbours there are between m cells and others.

    ``is_whole`` tells that no set is larger than those that are known.
    """

    cut: IntArray
    is_whole: bool


def box(sides: tuple[int, ...], most: int, *, search: Search, has_corners: bool = False) -> Box | None:
    """Return what is known of sets of up to ``most`` cells; None if it takes more than is left.

    ``has_corners`` tells that cells read those beside them along several axes at once too.

    >>> square = box((9, 9), 12, search=Search())
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
        work = int(min(search.left() * tuning.GRID_BOX_RATE, _FAR))
        spent = kernels.grown(grown, side, has_corners, least, work)
        search.spend((spent if spent >= 0 else work) / tuning.GRID_BOX_RATE)
        if spent < 0:
            return None
        grown = np.minimum.accumulate(least[::-1])[::-1].copy()
    return Box(cells, grown, np.searchsorted(grown, np.arange(len(grown)), side="right") - 1)


def space(sides: tuple[int, ...], most: int, *, has_corners: bool = False) -> Box | None:
    """Return what is known of sets of up to ``most`` cells far from all walls; None of five-point sets in space.

    >>> space((9, 9), 13).grown[[0, 1, 2, 5, 13]].tolist()
    [0, 5, 8, 13, 25]
    """
    axes, cells = len(sides), int(np.prod(sides))
    sizes = np.arange(min(most, cells) + 1)
    if has_corners or axes == 1:
        grown = np.ceil((sizes ** (1 / axes) + 2) ** axes - _ROUNDING).astype(np.int64)
    elif axes == 2:
        grown = sizes + 2 + np.ceil(np.sqrt(np.maximum(8 * sizes - 4, 0))).astype(np.int64)
    else:
        return None
    grown[0] = 0
    return Box(cells, grown, np.searchsorted(grown, sizes, side="right") - 1)


def lost_at_walls(sides: tuple[int, ...], *, has_corners: bool = False) -> int:
    """Return what sets of a level read and leave less than they would far from all walls, all of them together.

    >>> lost_at_walls((9, 9)), lost_at_walls((9,))
    (68, 4)
    """
    steps = [step for step in product((-1, 0, 1), repeat=len(sides)) if has_corners or np.abs(step).sum() == 1]
    cells = int(np.prod(sides))
    outside = sum(cells - int(np.prod(np.subtract(sides, np.abs(step)))) for step in steps)
    return outside + cells - int(np.prod(np.maximum(np.subtract(sides, 2), 0)))


def links(sides: tuple[int, ...], most: int) -> Links:
    """Return the least cuts of sets of up to ``most`` cells of a box.

    >>> links((4, 5), 20).cut.tolist()
    [0, 2, 3, 4, 4, 5, 5, 5, 4, 5, 5, 5, 4, 5, 5, 5, 4, 4, 3, 2, 0]
    """
    ordered = sorted(sides)
    most = min(most, int(np.prod(ordered)))
    line = np.arange(min(most, ordered[0]) + 1)
    cut = ((line > 0) & (line < ordered[0])).astype(np.int64)
    for side in ordered[1:]:
        widest, larger = len(cut) - 1, min(most, (len(cut) - 1) * side)
        least = np.full(larger + 1, _FAR)
        least[0] = 0
        paid = np.full((widest + 2, larger + 1), _FAR)  # by the last slice and all cells
        slices = np.arange(1, widest + 1)
        paid[slices, slices] = cut[1:] + slices
        for height in range(1, side + 1):
            best = paid[:-1] - (np.arange(widest + 1)[:, None] if height == side else 0)
            least = np.minimum(least, best.min(axis=0))
            wider = np.minimum.accumulate(paid[::-1], axis=0)[::-1]
            paid = np.full_like(paid, _FAR)
            for size in range(1, min(widest, larger) + 1):
                paid[size, size:] = np.minimum(wider[size, : larger + 1 - size] + cut[size], _FAR)
        cut = least
        line = np.arange(len(cut))
    return Links(cut, len(cut) == int(np.prod(ordered)) + 1)


def links_in_space(axes: int, most: int) -> Links:
    """Return the least cuts of sets of up to ``most`` cells far from all walls.

    >>> links_in_space(2, 5).cut.tolist()
    [0, 4, 6, 7, 8, 9]
    """
    sizes = np.arange(most + 1)
    return Links(np.ceil(2 * axes * sizes ** ((axes - 1) / axes) - _ROUNDING).astype(np.int64) * (sizes > 0), False)


def lost_links(sides: tuple[int, ...]) -> int:
    """Return how many neighbours along an axis the cells of a box lack.

    >>> lost_links((9, 9)), lost_links((9,))
    (36, 2)
    """
    return sum(2 * int(np.prod(sides)) // side for side in sides)


def least_ends(
    found: Box, unit: int, most: int, *, is_open: tuple[bool, bool], between: Links | None = None
) -> IntArray:
    """Return how many nodes a set reads and leaves at least, by its size in units, shape (most + 1,).

    Each number holds for all sets of that size up to twice ``most`` units. ``is_open`` tells whether the first level
    may read, and the last may be read by, nodes that are not counted. Sizes of levels must be known up to twice
    ``most`` units, or all cells. ``between`` is what is known of links both ways, where cells have such.

    >>> square = box((9, 9), 80, search=Search())
    >>> least_ends(square, 1, 40, is_open=(False, False))[[1, 2, 8, 40]].tolist()
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
    if between is not None:
        step = np.maximum(gap, np.maximum(grown - highest[:, None], lowest[:, None] - inner))
        step = np.maximum(step, _linked_steps(found, between, lowest, highest))
        if is_open[0]:
            step[0] = np.minimum(step[0], gap)
        step[:, 0] = end
        totals, beyond = _walks(step, 4 * most)
    else:
        totals = np.empty(4 * most + 1, dtype=np.int64)
        beyond = kernels.least_totals(grown, gap, inner, lowest, highest, is_open[0], end, totals)
    least: IntArray = np.minimum(np.minimum.accumulate(totals[::-1])[::-1], beyond)
    return least[: most + 1]


def _linked_steps(found: Box, between: Links, lowest: IntArray, highest: IntArray) -> IntArray:
    """Return what a level costs at least by its links both ways, on top of one of another class (by rows)."""
    known = len(found.grown) - 1
    table = _covers(found, between.is_whole)
    first = np.maximum(0, np.maximum(lowest - highest[:, None], lowest[:, None] - highest))
    least: IntArray = np.full_like(first, _FAR)
    apart = 0
    while True:
        d = first + apart
        both, either = (lowest + lowest[:, None] - d) // 2, -((d + highest + highest[:, None]) // -2)
        least = np.minimum(least, d + table[np.minimum(either, known + 1), np.maximum(both, 0)])
        apart += 1
        if (first + apart >= least).all():
            break
    least += np.minimum.reduceat(between.cut[: highest[-1] + 1], lowest)
    return least


def _covers(found: Box, is_whole: bool) -> IntArray:
    """Return min over k of (k + max(0, p - i(r + k))), by r and p, shape (sizes known + 2, sizes known + 1).

    The last row holds for all larger r.
    """
    known = len(found.grown) - 1
    sizes = np.arange(known + 1)
    table = np.zeros((known + 2, known + 1), np.int64)
    if is_whole:
        table[-1] = _FAR
    for either in range(known, -1, -1):
        table[either] = np.minimum(np.maximum(0, sizes - found.inner[either]), table[either + 1] + 1)
    if is_whole:
        table[-1] = 0
    return table


def _walks(step: IntArray, most: int) -> tuple[IntArray, int]:
    """Return what walks from the empty class and back cost at least by the sum of classes, and those that pass most."""
    widest = len(step) - 1
    totals, beyond = np.full(most + 1, _FAR), _FAR
    paid = np.full((most + 1, widest + 1), _FAR)
    paid[0, 0] = 0
    onwards = step[:, 1:].T.copy()
    for total in range(most + 1):
        near = min(total, widest)
        if near:
            before = paid[total - np.arange(1, near + 1)]
            paid[total, 1 : near + 1] = (before + onwards[:near]).min(axis=1)
        paid[total, 0] = min(int(paid[total, 0]), int((paid[total, 1:] + step[1:, 0]).min()))
        totals[total] = paid[total, 0]
        if total + widest > most:
            beyond = min(beyond, int((paid[total] + onwards[most - total :]).min()))
    return totals, beyond
