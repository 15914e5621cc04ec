"""Tiles that run together along the innermost loop over boxes, where they share what passes by.

A sum over pairs of rows holds a tile of results and reads two rows a step. Where both are rows of one matrix, any set
of tiles may be held together, a *cluster*, and every row that one of them needs is read once: a triangle of m rows
serves m (m + 1) / 2 pairs. So tiles are small, all pairs are shared out among clusters that fit, and the rows of all
clusters are to be few: a search exchanges tiles between clusters.

Tiles may be put together in any way if nothing that shares memory lies in two of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from math import exp, prod

import numpy as np

from shorthaul.affine import effort
from shorthaul.affine.orders.boxes.cells import Cells
from shorthaul.affine.orders.boxes.regions import boxes_in
from shorthaul.affine.orders.boxes.steps import Box, BoxStep, is_visited_once
from shorthaul.affine.tuning import CLUSTER_MOVES, CLUSTER_TILES, MOST_CLUSTERED_TILES, MOVES_PER_STEP

#: The place of a tile: its number along every loop over boxes but the innermost.
Tile = tuple[int, ...]
#: What passes by, but for one subscript that tells tiles apart: its name, lattice, and the other subscripts.
_Family = tuple[object, ...]


@dataclass(frozen=True)
class ClusteredStep(BoxStep):
    """Boxes of which the tiles in ``clusters``, by their numbers, run together along the innermost loop.

    ``by_array`` are the loads of all clusters, and ``held`` is what the largest needs room for.
    """

    clusters: Mapping[Tile, int] = field(default_factory=dict)
    by_array: Mapping[str, int] = field(default_factory=dict)
    held: int = 0

    @property
    def room(self) -> int:
        """The most words held at a time, with room for one result."""
        return self.held

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:
        """Return the loads at the sizes for which tiles were put together; as much as is used in a smaller memory."""
        return self.loads_bytes(sizes, capacity, self.counts.words)

    def loads_bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> float:
        """Return the bytes at these sizes."""
        if capacity < self.capacities[-1]:
            return self.plain.loads_bytes(sizes, capacity, widths)
        return sum(widths[name] * count for name, count in self.by_array.items())


@dataclass
class _Tiles:
    """What every tile holds, in words, and which blocks of what passes by it needs; blocks with their ``lengths``.

    ``always`` is held beside all tiles.
    """

    areas: dict[Tile, int] = field(default_factory=dict)
    blocks: dict[Tile, set[int]] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    arrays: list[str] = field(default_factory=list)
    always: int = 1


def clustered(step: BoxStep, free: Collection[int]) -> ClusteredStep | None:
    """Return boxes in the best clusters of tiles found, None where they cannot be put together or need more loads.

    Nothing that shares memory lies in two tiles that differ in loops that are ``free``, all but one of the step's.
    """
    inside = [loop for loop in step.box.loops if loop not in free]
    loops = tuple(loop for loop in step.box.loops if loop in free)
    if len(step.boxes) > 1 or len(inside) != 1 or len(loops) < 2 or step.box.outer:
        return None
    (inner,) = inside
    best: ClusteredStep | None = None
    least = step.loads(step.sizes, step.capacities[0])
    for count in CLUSTER_TILES:
        edge = -(-max(step.extents[at] for at in loops) // count)
        box = Box((*loops, inner), (*(min(edge, step.extents[at]) for at in loops), 1), step.box.first)
        tiles = _tiles(replace(step, boxes=(box,)))
        if tiles is None:
            return None
        found = _grouped(tiles, step.capacities[0]) if len(tiles.areas) <= MOST_CLUSTERED_TILES else None
        if found is None:
            continue
        made = _made(step, box, tiles, found)
        loads = made.loads(step.sizes, step.capacities[0])
        if loads < least:
            best, least = made, loads
    return best


def _made(step: BoxStep, box: Box, tiles: _Tiles, clusters: Mapping[Tile, int]) -> ClusteredStep:
    """Return the step with its loads: what passes by once in every cluster, of all else what tiles load."""
    inner = box.loops[-1]
    plain = replace(step, boxes=(box,))
    by_array: Counter[str] = Counter()
    for item in step.cells:
        if inner not in item.loops:
            by_array[item.array] += _fixed_loads(plain, item)
    held, needed = Counter[int](), dict[int, set[int]]()
    for tile, number in clusters.items():
        held[number] += tiles.areas[tile]
        needed.setdefault(number, set()).update(tiles.blocks[tile])
    for blocks in needed.values():
        for at in blocks:
            by_array[tiles.arrays[at]] += tiles.lengths[at] * step.extents[inner]
    most = max(held[number] + sum(tiles.lengths[at] for at in blocks) for number, blocks in needed.items())
    own = {item.name: getattr(plain, item.name) for item in fields(BoxStep)}
    return ClusteredStep(**own, clusters=clusters, by_array=by_array, held=tiles.always + most)


def _fixed_loads(step: BoxStep, cells: Cells) -> int:
    """Return the loads of what does not depend on the innermost loop: tile by tile, but for what is written first."""
    loops = step.box.loops[:-1]
    if cells.loops.isdisjoint(loops):
        return int(cells.count(step.extents)) - cells.fresh
    if cells.is_written_first and is_visited_once(replace(step.box, loops=loops), cells):
        return 0
    return sum(count for _, count in _counts(step, cells)) - cells.fresh


def _counts(step: BoxStep, cells: Cells) -> Iterator[tuple[Tile, int]]:
    """Yield the cells of every tile, row by row where there is one for every point."""
    box = step.box
    loops = list(zip(box.loops[:-1], box.edges[:-1], strict=True))
    rows = [(next(iter(cells.loops.intersection(box.loops[:-1]))), 1)] if cells.is_injective else []
    ends = boxes_in(cells.where, step.extents, box.first, [*loops, *rows])
    assert ends is not None
    sizes = np.broadcast_to(cells.count(list((ends[1] - ends[0] + 1).T.astype(np.float64))), (len(ends[0]),))
    for low, count in zip(ends[0].tolist(), sizes.tolist(), strict=True):
        yield tuple((low[at] - box.first[at]) // edge for at, edge in loops), int(count)


def _tiles(step: BoxStep) -> _Tiles | None:
    """Return what tiles hold and need, None if they share nothing or what passes by is no row for each."""
    inner, loops = step.box.loops[-1], step.box.loops[:-1]
    result = _Tiles()
    spans: dict[_Family, list[tuple[Tile, int, int]]] = {}
    arrays: dict[_Family, str] = {}
    factors: dict[_Family, int] = {}
    for item in step.cells:
        if inner not in item.loops and item.loops.isdisjoint(loops):
            result.always += int(item.count(step.extents))
        elif inner not in item.loops:
            for tile, count in _counts(step, item):
                result.areas[tile] = result.areas.get(tile, 0) + count
        else:
            made = _family(step, item)
            ends = boxes_in(item.where, step.extents, step.box.first, list(zip(loops, step.box.edges, strict=False)))
            if made is None or ends is None:
                return None
            key, at, times = made
            arrays[key], factors[key] = item.array, times
            low, high = list(item.ends(*ends))[at]
            for place, first, last in zip(ends[0].tolist(), low.tolist(), high.tolist(), strict=True):
                tile = tuple(
                    (place[loop] - step.box.first[loop]) // edge
                    for loop, edge in zip(loops, step.box.edges, strict=False)
                )
                spans.setdefault(key, []).append((tile, first, last + 1))
    if len(spans) == sum(inner in item.loops for item in step.cells):
        return None  # no two read the same
    for key, found in spans.items():
        bounds = sorted({end for _, first, last in found for end in (first, last)})
        start = len(result.lengths)
        number = {first: start + at for at, first in enumerate(bounds)}
        result.lengths += [factors[key] * (b - a) for a, b in pairwise(bounds)]
        result.arrays += [arrays[key]] * (len(bounds) - 1)
        for tile, first, last in found:
            result.areas.setdefault(tile, 0)
            result.blocks.setdefault(tile, set()).update(range(number[first], number[last]))
    for tile in result.areas:
        result.blocks.setdefault(tile, set())
    return result


def _family(step: BoxStep, cells: Cells) -> tuple[_Family, int, int] | None:
    """Return what tells rows that pass by from others, the subscript that tells tiles apart, and cells for each.

    None if a tile needs anything but rows between two of them, one cell of each in every step.
    """
    inner, loops = step.box.loops[-1], step.box.loops[:-1]
    lines = list(zip(cells.factors, cells.least, cells.spread, strict=True))
    varying = [at for at, (row, _, _) in enumerate(lines) if any(row[loop] for loop in loops)]
    if cells.fresh or not cells.fill_boxes or any(cells.spread) or len(varying) != 1:
        return None
    (at,) = varying
    if sum(map(bool, lines[at][0])) != 1:
        return None
    others = tuple(line for other, line in enumerate(lines) if other != at)
    times = prod(
        step.extents[loop] for row, _, _ in others for loop, factor in enumerate(row) if factor and loop != inner
    )
    return (cells.name, cells.lattice, at, others), at, times


class _Search:
    """Tiles in clusters, of which one may be empty: as little as can be found passes by, and all of them fit.

    Clusters that are too large cost more while tiles are exchanged, and count as found only where none is.
    """

    def __init__(self, tiles: _Tiles, capacity: int, clusters: Sequence[Sequence[Tile]]) -> None:
        self.tiles, self.capacity = tiles, capacity - tiles.always
        self.names = sorted(tiles.areas)
        count = len(clusters)
        self.uses = [[0] * len(tiles.lengths) for _ in range(count)]
        self.areas, self.passing = [0] * count, [0] * count
        self.home = dict[Tile, int]()
        for number, members in enumerate(clusters):
            for tile in members:
                self.put(tile, number)

    def put(self, tile: Tile, number: int) -> None:
        """Add a tile to a cluster."""
        uses = self.uses[number]
        for at in self.tiles.blocks[tile]:
            if not uses[at]:
                self.passing[number] += self.tiles.lengths[at]
            uses[at] += 1
        self.areas[number] += self.tiles.areas[tile]
        self.home[tile] = number

    def take(self, tile: Tile) -> int:
        """Take a tile out of its cluster, which is returned."""
        number = self.home[tile]
        uses = self.uses[number]
        for at in self.tiles.blocks[tile]:
            uses[at] -= 1
            if not uses[at]:
                self.passing[number] -= self.tiles.lengths[at]
        self.areas[number] -= self.tiles.areas[tile]
        return number

    def over(self, number: int) -> int:
        """Return by how much a cluster is too large."""
        return max(0, self.areas[number] + self.passing[number] - self.capacity)

    def annealed(self) -> dict[Tile, int]:
        """Return the best clusters found by moving and exchanging tiles."""
        random = np.random.default_rng(0)
        widest = max(self.tiles.lengths)
        penalty = 2 / widest
        best, least, count = dict(self.home), sum(self.passing), len(self.uses)
        crowded = sum(map(bool, map(self.over, range(count))))
        for move in range(CLUSTER_MOVES):
            if move % MOVES_PER_STEP == 0:
                effort.step()
                draws = random.integers(0, 1 << 30, (MOVES_PER_STEP, 3)).tolist()
                chances = random.random(MOVES_PER_STEP).tolist()
            first, second, third = draws[move % MOVES_PER_STEP]
            tile, other = self.names[first % len(self.names)], self.names[second % len(self.names)]
            a, b = self.home[tile], self.home[other] if third % 2 else second % count
            if a == b:
                continue
            before = self.passing[a] + self.passing[b] + penalty * (self.over(a) + self.over(b))
            full = bool(self.over(a)) + bool(self.over(b))
            moved = [(tile, b), (other, a)] if third % 2 else [(tile, b)]
            self._move(moved)
            worse = self.passing[a] + self.passing[b] + penalty * (self.over(a) + self.over(b)) - before
            heat = widest * (1 - move / CLUSTER_MOVES) ** 2
            if worse > 0 and chances[move % MOVES_PER_STEP] >= (exp(-worse / heat) if heat else 0.0):
                self._move([(tile, a), (other, b)] if third % 2 else [(tile, a)])
                continue
            crowded += bool(self.over(a)) + bool(self.over(b)) - full
            if not crowded and sum(self.passing) < least:
                best, least = dict(self.home), sum(self.passing)
        return best

    def _move(self, moved: Sequence[tuple[Tile, int]]) -> None:
        for tile, _ in moved:
            self.take(tile)
        for tile, number in moved:
            self.put(tile, number)


def _grouped(tiles: _Tiles, capacity: int) -> dict[Tile, int] | None:
    """Return the clusters of the tiles, by number; None if one tile does not fit alone."""
    left, clusters = sorted(tiles.areas), list[list[Tile]]()
    while left:
        effort.step()
        members, needed, area = list[Tile](), set[int](), tiles.always
        while True:
            options = [
                (sum(tiles.lengths[at] for at in tiles.blocks[tile] - needed), -tiles.areas[tile], tile)
                for tile in left
            ]
            passing = sum(tiles.lengths[at] for at in needed)
            fitting = [item for item in options if area - item[1] + passing + item[0] <= capacity]
            if not fitting:
                break
            _, less, tile = min(fitting)
            members.append(tile)
            left.remove(tile)
            needed |= tiles.blocks[tile]
            area -= less
        if not members:
            return None
        clusters.append(members)
    return _Search(tiles, capacity, [*clusters, []]).annealed()
