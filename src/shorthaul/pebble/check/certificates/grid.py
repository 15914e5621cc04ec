"""Iterations over boxes of cells, verified: the edges, and what segments of a schedule read and leave at least.

``nodes`` are the cells of a box level by level (``sides``: levels, then the sides of the box), cells in order. A node
of a level reads its own cell a level below and those beside it along an axis; with ``corners``, along several at once.
Of the schedule, every ``segment`` nodes counted in the levels above the first make a segment. The argument, and why the
numbers below hold, stand in ``bounds/grids/isoperimetry.py`` and ``bounds/grids/histories.py``; what a set of cells has
around it is found here from the bottom slice up, and what segments read and leave by the cheapest walk through sizes.

A first level of inputs and other nodes proves nothing, as first loads of the inputs would be taken for second ones.

With ``space``, sets of cells are taken to be far from all walls: there (m^(1/d) + 2)^d cells are around m, with
``corners`` or on a line, and m + 2 + sqrt(8 m - 4) in a plane. Of what segments read and leave then, a node less is
counted for each neighbour of a node that the box lacks, and for each node at a wall.

A cell may be read by way of a link, one of ``links``: a node that reads (t - 1, y), and that (t, x) reads. No link may
serve more than two cells. With ``both``, each two cells next to each other along an axis have one link at each level
that reads both, and that both read. Then, of B in a segment at a level, every link to a cell outside B is read or left
too; and of A a level below, what is in A or B only, d cells, and k + max(0, p - i(r + k)) cells at least, with p of A
and B, r of A or B.

``rows`` on a line of cells tells that the sizes of hexagons are used in place of the walk: of the cells that are K / 6
from both ends, K^2 / 24 + 1/2 are in a set at most that reads and leaves K nodes, 15 or more and fewer than 2 (cells -
1) (``known_networks.most_between``). Then ``segment`` is how many words are moved in each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError, whole
from shorthaul.pebble.model import IntArray

_FAR = 2**50
#: Least neighbourhoods are found for sets of up to so many segments; larger levels go in classes of this width.
_FURTHER, _WIDER = 4, 1.1
#: Steps of one part at most: sizes of segments times sizes of levels, twice; sizes of sets times slices, twice.
_MOST_STEPS = 4_000_000_000


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``grid`` proves; raises :class:`WrongError`."""
    sides = part.get("sides")
    if not isinstance(sides, list) or not 2 <= len(sides) <= 4 or any(type(side) is not int for side in sides):
        raise WrongError("sides must be two to four integers: levels, then the sides of the box")
    nodes = game.different(part, "nodes")
    if min(sides) < 2 or math.prod(sides) != len(nodes):
        raise WrongError(f"sides are those of {math.prod(sides)} nodes, from 2 on each")
    if any(type(part.get(key, False)) is not bool for key in ("both", "corners", "rows", "space")):
        raise WrongError("both, corners, rows and space must be true or false")
    table = nodes.reshape(sides)
    links = _Links(game, table, game.different(part, "links") if "links" in part else np.empty(0, np.int64))
    _are_read(game, table, links, has_corners=part.get("corners", False))
    if part.get("both", False):
        links.require_both_ways()
    given, ends = game.cdag.given[table[0]], game.cdag.is_output()[table[-1]]
    if given.any() and not given.all():
        raise WrongError("of the first level some are inputs and some are not")
    is_open = not given.all(), not ends.all()
    weights, moved_nodes = game.cdag.weights, np.append(nodes, links.nodes)
    least = int(weights[moved_nodes].min())
    counted = table[1 : len(table) - is_open[1]].ravel().tolist()
    held = most_held(game, counted, set(moved_nodes[~game.cdag.given[moved_nodes]].tolist()), moved_nodes, least)
    if not part.get("rows", False):
        moved = _of_segments(part, table, held, is_open=is_open) * least
    elif len(sides) != 2 or any(is_open):
        raise WrongError("rows are those of a line of cells, from inputs to outputs")
    else:
        moved = _of_rows(part, table, game.budget, least)
    known = [int(weights[level].sum()) for level, opened in zip(table[[0, -1]], is_open, strict=True) if not opened]
    return Proven(max(0, moved - sum(known)), moved_nodes)


class _Links:
    """Which nodes serve which cells: by the node that is read and the one that reads it."""

    def __init__(self, game: Game, table: IntArray, nodes: IntArray) -> None:
        if np.isin(nodes, table).any():
            raise WrongError("links: a cell is one")
        self.nodes, self._game, self._table = nodes, game, table
        self._place = {node: place for place, node in enumerate(table.ravel().tolist())}
        self._between: dict[tuple[int, int], int] = {}
        self._serves: dict[int, tuple[int, int]] = {}
        cells, readers = table[0].size, game.cdag.children
        for link in nodes.tolist():
            below = [node for node in game.operands()[link] if node in self._place]
            for reader in readers.neighbours(link).tolist():
                for node in below:
                    if self._place.get(reader, -1) // cells == self._place[node] // cells + 1:
                        self._between.setdefault((node, reader), link)

    def serve(self, node: int, reader: int) -> int | None:
        """Return the link by which one node is read, None if there is none; it may serve no other two cells."""
        link = self._between.get((node, reader))
        if link is not None:
            cells = self._table[0].size
            one, other = sorted((self._place[node] % cells, self._place[reader] % cells))
            if self._serves.setdefault(link, (one, other)) != (one, other):
                raise WrongError(f"links: {self._game.id(link)} serves more than two cells")
        return link

    def require_both_ways(self) -> None:
        """Raise :class:`WrongError` unless all cells next to each other along an axis have one link at each level."""
        for below, above in pairwise(self._table):
            for axis in range(below.ndim):
                first, second = ([np.delete(level, end, axis).ravel().tolist() for end in (-1, 0)] for level in
                                 (below, above))  # fmt: skip
                for node, beside, reader, other in zip(*first, *second, strict=True):
                    link = self.serve(node, other)
                    if link is None or self.serve(beside, reader) != link:
                        raise WrongError(f"both: {self._game.id(reader)} and a cell beside it have no link")


def _are_read(game: Game, table: IntArray, links: _Links, *, has_corners: bool) -> None:
    for step in product((-1, 0, 1), repeat=table.ndim - 1):
        if not has_corners and sum(map(abs, step)) > 1:
            continue
        above, below = table[1:], table[:-1]
        for axis, by in enumerate(step, 1):
            length = table.shape[axis]
            above = np.take(above, np.arange(max(0, -by), length - max(0, by)), axis=axis)
            below = np.take(below, np.arange(max(0, by), length - max(0, -by)), axis=axis)
        lacking = np.flatnonzero(~game.are_edges(below.ravel(), above.ravel()))
        for node, reader in zip(below.ravel()[lacking].tolist(), above.ravel()[lacking].tolist(), strict=True):
            if links.serve(node, reader) is None:
                raise WrongError(f"nodes: {game.id(reader)} does not read {game.id(node)}")


def _of_segments(part: Mapping[str, Any], table: IntArray, held: list[int], *, is_open: tuple[bool, bool]) -> int:
    """Return how many nodes are moved at least: what segments read and leave beyond what the memory holds."""
    cells = int(table[0].size)
    counted = cells * (len(table) - 1 - is_open[1])
    unit = whole(part, "unit", 1, counted)
    segment = whole(part, "segment", 1, counted)
    steps = -(-segment // unit)
    if steps**3 > _MOST_STEPS:
        raise WrongError("segment is too many units")
    further = _FURTHER // 2 if part.get("both", False) else _FURTHER
    most, corners = min(cells, further * steps * unit), part.get("corners", False)
    count, lost, cuts, axes = counted // segment, 0, None, table.ndim - 1
    if part.get("space", False):
        around = in_space(axes, most, has_corners=corners)
        lost = (len(table) - 1) * lost_at_walls(table.shape[1:], has_corners=corners)
        if part.get("both", False):
            cuts = np.array([0] + [math.ceil(2 * axes * m ** (1 - 1 / axes) - 5e-7) for m in range(1, most + 1)])
            lost += (len(table) - 1) * sum(2 * cells // side for side in table.shape[1:])
    else:
        around = neighbourhoods(table.shape[1:], most, has_corners=corners)
        cuts = cut_sizes(table.shape[1:], most) if part.get("both", False) else None
    ends = least_ends(around, cells, unit, steps, is_open=is_open, cuts=cuts, space=part.get("space", False))
    return count * ends - sum(held[: count - 1]) - lost


def most_held(game: Game, counted: list[int], left: set[int], read: IntArray, least: int) -> list[int]:
    """Return how many values the memory holds right before each of some nodes is computed, the largest numbers first.

    Each weighs ``least`` at least. One of ``left`` is held for what comes before, and one of ``read`` for what follows.
    What else a node reads takes room, and so will the node itself.
    """
    weights, operands, found = game.cdag.weights.tolist(), game.operands(), []
    kinds = left, set(read.tolist())
    for node in counted:
        rooms = (game.budget - sum(weights[one] for one in [*operands[node], node] if one == node or one not in kind)
                 for kind in kinds)  # fmt: skip
        found.append(sum(max(0, room) // least for room in rooms))
    return sorted(found, reverse=True)


def in_space(axes: int, most: int, *, has_corners: bool) -> IntArray:
    """Return how many cells ``m`` cells far from all walls and those beside them are at least, for 0..``most``.

    >>> in_space(2, 5, has_corners=False).tolist()
    [0, 5, 8, 10, 12, 13]
    """
    if axes > 2 and not has_corners:
        raise WrongError("space is known of lines, planes and corners only")
    found = [0]
    for cells in range(1, most + 1):
        if axes == 1:
            found.append(cells + 2)
        elif has_corners:
            side = cells ** (1 / axes)
            found.append(math.ceil((side + 2) ** axes - 5e-7))
        else:
            found.append(cells + 3 + math.isqrt(8 * cells - 5))  # the root of 8 m - 4, rounded up
    return np.array(found, dtype=np.int64)


def lost_at_walls(sides: tuple[int, ...], *, has_corners: bool) -> int:
    """Return how many neighbours the cells of a box lack, and how many cells lack some."""
    lacking = at_walls = 0
    cells = np.indices(sides).reshape(len(sides), -1).T
    for cell in cells.tolist():
        fewer = [(place > 0) + (place < side - 1) for place, side in zip(cell, sides, strict=True)]
        there = math.prod(one + 1 for one in fewer) if has_corners else 1 + sum(fewer)
        lacks = (3 ** len(sides) if has_corners else 1 + 2 * len(sides)) - there
        lacking += lacks
        at_walls += lacks > 0
    return lacking + at_walls


def _of_rows(part: Mapping[str, Any], table: IntArray, budget: int, least: int) -> int:
    levels, cells = table.shape
    words = whole(part, "segment", 1)

    def most(held: int) -> tuple[Fraction, int]:
        """Return how many nodes segments compute at most, and of how many, that many memories read and left."""
        ends = max(15, (held * budget + words - 1) // least)
        if ends >= 2 * (cells - 1):
            raise WrongError("segment is more than the cells of a line allow")
        return Fraction(ends * ends + 12, 24), (levels - 1) * max(0, cells - 2 * -(-ends // 6))

    full, counted = most(2)
    outer, _ = most(1)
    return words * max(0, math.ceil((counted - 2 * outer) / full) + 1) if counted > 2 * full else 0


def neighbourhoods(sides: tuple[int, ...], most: int, *, has_corners: bool) -> IntArray:
    """Return how many cells ``m`` cells of a box and those beside them are at least, for 0..``most``.

    >>> neighbourhoods((9, 9), 6, has_corners=False).tolist()
    [0, 3, 5, 6, 8, 9, 10]
    """
    ordered = sorted(sides)
    sizes = np.arange(min(most, ordered[0]) + 1)
    found = sizes + ((sizes > 0) & (sizes < ordered[0]))
    for side in ordered[1:]:
        if len(found) ** 2 * min(side, most) > _MOST_STEPS:
            raise WrongError("the box is too large")
        found = _stacked(found, side, min(most, (len(found) - 1) * side), has_corners)
    return found


def _stacked(slices: IntArray, height: int, most: int, has_corners: bool) -> IntArray:
    """Return the least neighbourhoods of sets of slices, ``slices`` those of cells in one."""
    sizes = np.arange(min(len(slices), most + 1))
    over = slices[: len(sizes)] if has_corners else sizes  # what a slice leaves in the one above it
    best = np.full(most + 1, _FAR)
    best[0] = 0
    paid = np.full((len(sizes), most + 1), _FAR)  # by the last slice and all cells: what they and those below have
    paid[sizes[1:], sizes[1:]] = slices[sizes[1:]]
    for count in range(1, height + 1):
        done = paid + (over[: len(paid), None] if count < height else 0)
        best = np.minimum(best, done.min(axis=0))
        widest = min(len(paid) - 1, most // (count + 1))
        if count == height or widest < 1:
            break
        # On a slice of s cells a smaller one, of t: what the two leave there is the larger of over[s] and slices[t].
        beyond = np.minimum.accumulate((paid + over[: len(paid), None])[::-1], axis=0)[::-1]
        after = np.full((widest + 1, most + 1), _FAR)
        for size in range(1, widest + 1):
            first = int(np.searchsorted(over[: len(paid)], slices[size], side="right"))  # these leave more
            cost = beyond[max(first, size)] if max(first, size) < len(paid) else np.full(most + 1, _FAR)
            if first > size:
                cost = np.minimum(cost, paid[size:first].min(axis=0) + slices[size])
            after[size, size:] = cost[: most + 1 - size]
        paid = np.minimum(after, _FAR)
    return np.minimum.accumulate(best[::-1])[::-1]


def cut_sizes(sides: tuple[int, ...], most: int) -> IntArray:
    """Return how many pairs of neighbours there are between ``m`` cells of a box and others at least, for 0..``most``.

    Pushed down, the slices of a set become larger downwards: each has its own pairs, and all between slices are as many
    as the lowest has cells, less those of the highest if that is at the top.

    >>> cut_sizes((4, 5), 9).tolist()
    [0, 2, 3, 4, 4, 5, 5, 5, 4, 5]
    """
    ordered = sorted(sides)
    found = np.ones(min(most, ordered[0]) + 1, np.int64)
    found[0] = 0
    if len(found) > ordered[0]:
        found[-1] = 0
    for side in ordered[1:]:
        largest = min(most, (len(found) - 1) * side)
        if len(found) * largest * min(side, most) > _MOST_STEPS:
            raise WrongError("the box is too large")
        best = np.full(largest + 1, _FAR)
        best[0] = 0
        sizes = np.arange(1, len(found))
        for is_full in (False, True):
            # By the lowest slice so far and all cells; the first one is the highest.
            paid = np.full((len(found), largest + 1), _FAR)
            paid[sizes, sizes] = found[1:] - (sizes if is_full else 0)
            for count in range(1, side + 1):
                if (count == side) == is_full:
                    best = np.minimum(best, (paid[1:] + sizes[:, None]).min(axis=0))
                smaller = np.minimum.accumulate(paid, axis=0)
                paid = np.full_like(paid, _FAR)
                for size in sizes[sizes <= largest].tolist():
                    paid[size, size:] = np.minimum(_FAR, smaller[size, : largest + 1 - size] + found[size])
        found = best
    return found


def least_ends(
    around: IntArray, cells: int, unit: int, steps: int, *, is_open: tuple[bool, bool], cuts: IntArray | None = None,
    space: bool = False,
) -> int:  # fmt: skip
    """Return how many nodes a set of ``steps`` units and more of the levels of a box reads and leaves at least.

    ``around`` are least neighbourhoods of up to so many cells, or of all. Sizes of levels go in classes of a unit, and
    in wider ones beyond, each number at its better end; what is larger than ``around`` knows is one class. ``cuts`` are
    those of sets with links both ways.
    """
    known = len(around) - 1
    lowest = np.concatenate([[0], np.arange(1, min(known, steps * unit) + 1, unit)])
    while lowest[-1] < known:
        following = max(int(lowest[-1] * _WIDER), int(lowest[-1]) + unit)
        if following > known:
            break
        lowest = np.append(lowest, following)
    highest = np.append(lowest[1:] - 1, known)
    inner = np.searchsorted(around, np.arange(known + 1), side="right") - 1
    grown, inside = around[lowest], inner[highest]
    gap = np.minimum.reduceat(around - inner, lowest)
    if known < cells:
        lowest, highest = np.append(lowest, known + 1), np.append(highest, cells)
        grown, inside, gap = np.append(grown, max(around[-1], known + 1)), np.append(inside, cells), np.append(gap, 0)
    units = np.minimum(np.arange(len(lowest)), steps)
    # From one level to the next one above it, by rows; the empty level is the first.
    step = np.maximum(gap, np.maximum(grown - highest[:, None], lowest[:, None] - inside))
    if cuts is not None:
        fewest = [int(cuts[one : min(last, known) + 1].min(initial=0 if one > known else _FAR)) for one, last in
                  zip(lowest.tolist(), highest.tolist(), strict=True)]  # fmt: skip
        is_all = known == cells and not space
        step = np.maximum(step, np.array(fewest) + _with_links(inner, lowest, highest, is_all=is_all))
    step[:, 0] = lowest
    if is_open[1]:
        step[:, 0] = np.minimum(lowest, step[:, 1:].min(axis=1))
    if is_open[0]:
        step[0] = np.minimum(step[0], gap)
    return _cheapest_walk(step, units, steps)


def _with_links(inner: IntArray, lowest: IntArray, highest: IntArray, *, is_all: bool) -> IntArray:
    """Return how many nodes of a level are read or left at least, by its class and that of the next one, beside links.

    ``inner`` is known of sets of up to so many cells, ``is_all`` tells that there are none larger.
    """
    known = len(inner) - 1
    # By the cells in common and those in either: what others in either, k, and those in common that they and the rest
    # do not enclose, come to.
    common, cover = np.arange(known + 1), [np.full(known + 1, _FAR if is_all else 0)]
    for either in range(known, -1, -1):
        cover.append(np.minimum(cover[-1] + 1, np.maximum(common - inner[either], 0)))
    beyond = np.array([*cover[:0:-1], np.zeros(known + 1, np.int64)])
    found = np.zeros((len(lowest), len(lowest)), np.int64)
    for row, (low, high) in enumerate(zip(lowest.tolist(), highest.tolist(), strict=True)):
        apart = np.maximum(0, np.maximum(lowest - high, low - highest))
        least = np.full(len(lowest), _FAR)
        while (apart < least).any():
            shared, either = (low + lowest - apart) // 2, (high + highest + apart + 1) // 2
            rest = beyond[np.minimum(either, known + 1), np.clip(shared, 0, known)]
            least = np.minimum(least, apart + rest)
            apart = apart + 1
        found[row] = least
    return found


def _cheapest_walk(step: IntArray, units: IntArray, steps: int) -> int:
    """Return the least cost of a walk through classes, from the first and back, that comes to so many units."""
    home = np.full(len(step), _FAR)  # the least cost of the way back
    home[0] = 0
    while True:
        shorter = np.minimum(home, (step + home).min(axis=1))
        if (shorter == home).all():
            break
        home = shorter
    paid: npt.NDArray[np.int64] = np.full((steps, len(step)), _FAR)
    paid[0, 0] = 0
    least = _FAR
    onwards = step[:, 1:].T.copy()  # by the class that is reached
    for total in range(steps):
        near = np.searchsorted(units[1:], total, side="right")  # classes that may have been the last
        if total:
            before = paid[total - units[1 : near + 1]]
            paid[total, 1 : near + 1] = (before + onwards[:near]).min(axis=1)
            paid[total, 0] = (paid[total] + step[:, 0]).min()
        far = np.searchsorted(units[1:], steps - total)
        if far < len(onwards):
            least = min(least, int(((paid[total] + onwards[far:]).min(axis=1) + home[1 + far :]).min()))
    return least
