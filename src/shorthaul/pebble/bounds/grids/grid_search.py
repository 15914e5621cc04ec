"""Iterations over boxes of cells, found in any graph by what its nodes read, whatever their numbers.

Only guesses are made here from what nodes share; what is returned was compared with the edges of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import layers
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray

#: Nodes with fewer or more operands are no cells; operands with more readers are no cells beside them.
_FEWEST, _MOST_OPERANDS, _MOST_READERS = 3, 32, 64
_ROUNDS, _MOST_AXES, _MOST_STARTS = 6, 3, 100
Position = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Nodes of cells of a box at several levels, shape (levels, side, ..., side).

    A node (t, x) with t > 0 reads (t - 1, y) for x itself and for every y next to it along an axis; with
    ``has_corners`` also for those beside x along several axes at once.
    """

    nodes: IntArray
    has_corners: bool


def histories(cdag: Cdag, *, search: Search) -> Iterator[History]:
    """Yield iterations over boxes that have no node in common, those of many levels first."""
    pairs = _pairs(cdag)
    effort = (cdag.n + cdag.edges + 4 * pairs) / tuning.PASS_RATE
    if pairs > tuning.MOST_GRID_PAIRS or effort > search.left():
        return
    search.spend(effort)
    graph = _Graph(cdag)
    failures = 0
    for seed in graph.seeds():
        if failures == tuning.GRIDS_PATIENCE or search.expired():
            return
        if graph.used[seed] or seed in graph.hopeless:
            continue
        found, work = graph.history(seed)
        search.spend(work / tuning.GRIDS_RATE)
        failures += found is None
        if found is not None:
            graph.take(found)
            yield found


def _pairs(cdag: Cdag) -> int:
    """Return how many pairs of operands there are."""
    degrees = cdag.parents.degrees()
    degrees = degrees[(degrees >= _FEWEST) & (degrees <= _MOST_OPERANDS)]
    return int((degrees * (degrees - 1) // 2).sum())


class _Graph:
    """A graph in which every node may have one before it, the same cell a level below, and one after it."""

    def __init__(self, cdag: Cdag) -> None:
        self._cdag = cdag
        self.used = np.zeros(cdag.n, np.bool_)
        self.hopeless: set[int] = set()
        self._before = _befores(cdag)
        self._after = np.full(cdag.n, -1, np.int64)
        has = self._before >= 0
        self._after[self._before[has]] = np.flatnonzero(has)
        sources, targets = cdag.edge_arrays()
        self._edges = np.sort(sources * cdag.n + targets)
        self._near: dict[int, list[int]] = {}

    def seeds(self) -> list[int]:
        """Return the middle nodes of the chains of two levels and more, the longest first, those with most operands."""
        place = np.zeros(self._cdag.n, np.int64)
        for v in self._cdag.order[self._before[self._cdag.order] >= 0].tolist():
            place[v] = place[self._before[v]] + 1
        length = place.copy()
        for v in self._cdag.order[::-1][self._after[self._cdag.order[::-1]] >= 0].tolist():
            length[v] = length[self._after[v]]
        middle = np.flatnonzero((length >= 2) & (place == (length + 1) // 2))
        ranked = np.lexsort((-self._cdag.parents.degrees()[middle], -length[middle]))
        found: list[int] = middle[ranked].tolist()
        return found

    def take(self, history: History) -> None:
        """Let no other history have these nodes."""
        self.used[history.nodes.ravel()] = True
        self._near.clear()

    def history(self, seed: int) -> tuple[History | None, int]:
        """Return the largest box of cells found around a node at all levels that it has there, and the work done."""
        near = self._level_of(seed)
        work = 20 * sum(map(len, near.values())) + 1
        cells = _box(_placed(_along_axes(near)))
        if cells is None:
            self.hopeless.update(near)
            return None, work
        levels = [cells]
        along = [step for step in _steps(cells.ndim) if np.abs(step).sum() < 2]
        while self._is_level(levels[-1], self._after[levels[-1]], along):
            levels.append(self._after[levels[-1]])
        while self._is_level(self._before[levels[0]], levels[0], along):
            levels.insert(0, self._before[levels[0]])
        if len(levels) < 3:
            self.hopeless.update(near)
            return None, work
        nodes = np.array(levels)
        has_corners = self._are_read(nodes[:-1], nodes[1:], _steps(cells.ndim))
        return History(nodes, has_corners), work + 10 * nodes.size

    def _is_level(self, below: IntArray, above: IntArray, steps: list[Position]) -> bool:
        """True if cells are there that no other history has, and read those below that are so many steps away."""
        if below.min() < 0 or above.min() < 0 or self.used[below].any() or self.used[above].any():
            return False
        return self._are_read(below[None], above[None], steps)

    def _are_read(self, below: IntArray, above: IntArray, steps: list[Position]) -> bool:
        """True if the cells above read those below that are so many steps away along the last axes."""
        for step in steps:
            read = tuple(slice(max(0, by), side + min(0, by)) for by, side in zip(step, below.shape[1:], strict=True))
            reader = tuple(
                slice(max(0, -by), side + min(0, -by)) for by, side in zip(step, below.shape[1:], strict=True)
            )
            if not self._are_edges(below[:, *read].ravel(), above[:, *reader].ravel()):
                return False
        return True

    def _are_edges(self, sources: IntArray, targets: IntArray) -> bool:
        wanted = sources * self._cdag.n + targets
        place = np.minimum(np.searchsorted(self._edges, wanted), len(self._edges) - 1)
        return bool((self._edges[place] == wanted).all())

    def _level_of(self, seed: int) -> dict[int, list[int]]:
        """Return the cells that hang together with one, each with the cells beside it: both read what the other was."""
        near: dict[int, list[int]] = {}
        queue = [seed]
        seen = {seed}
        for v in queue:
            near[v] = [w for w in self._beside(v) if v in self._beside(w)]
            new = [w for w in near[v] if w not in seen]
            seen.update(new)
            queue += new
        return near

    def _beside(self, v: int) -> list[int]:
        """Return what the nodes that a cell reads, other than its own, became."""
        if v not in self._near:
            after = self._after[self._cdag.parents.neighbours(v)]
            self._near[v] = [w for w in after.tolist() if w not in (-1, v) and not self.used[w]]
        return self._near[v]


def _steps(axes: int) -> list[Position]:
    return list(product((-1, 0, 1), repeat=axes))


def _befores(cdag: Cdag) -> IntArray:
    """Return for each node the operand that shares most readers with its other ones, -1 where there is none.

    No two nodes get the same. Cells at a wall share more with their neighbours: those that have no rival choose first,
    of several that choose the same the one with most operands has it, and the others choose again.
    """
    before = np.full(cdag.n, -1, np.int64)
    owner, operand, score = _shared(cdag)
    degree = cdag.parents.degrees()
    for _ in range(_ROUNDS):
        if not len(owner):
            break
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        most = np.maximum.reduceat(score, first)
        counts = np.diff(np.append(first, len(owner)))
        best = score == np.repeat(most, counts)
        alone = np.repeat(np.add.reduceat(best.astype(np.int64), first) == 1, counts)
        chosen = np.flatnonzero(best & alone)
        ranked = chosen[np.lexsort((-degree[owner[chosen]], operand[chosen]))]
        wanted, place, rivals = np.unique(operand[ranked], return_index=True, return_counts=True)
        winner = owner[ranked[place]]
        second = owner[ranked[np.minimum(place + 1, len(ranked) - 1)]]
        clear = (rivals == 1) | (degree[winner] > degree[second])
        before[winner[clear]] = wanted[clear]
        taken = np.zeros(cdag.n, np.bool_)
        taken[wanted[clear]] = True
        left = (before[owner] < 0) & ~taken[operand]
        if left.all():
            break
        owner, operand, score = owner[left], operand[left], score[left]
    return before


def _shared(cdag: Cdag) -> tuple[IntArray, IntArray, IntArray]:
    """Return nodes, their operands, and how many readers each operand shares with the other ones, by node.

    Only readers as deep as the node count: operands of many levels share more with one another.
    """
    sources, targets = cdag.edge_arrays()
    depth = layers(cdag.children, cdag.order)
    deepest = int(depth.max()) + 1
    kept = cdag.children.degrees()[sources] <= _MOST_READERS
    order = np.argsort(targets[kept], kind="stable")
    sources, targets = sources[kept][order], targets[kept][order]
    degree = np.bincount(targets, minlength=cdag.n)
    start = np.cumsum(degree) - degree
    pairs, places = [], []
    for size in range(_FEWEST, _MOST_OPERANDS + 1):
        nodes = np.flatnonzero(degree == size)
        one, other = np.triu_indices(size, 1)
        first, second = (start[nodes][:, None] + index for index in (one, other))
        low, high = np.minimum(sources[first], sources[second]), np.maximum(sources[first], sources[second])
        pairs.append(((low * cdag.n + high) * deepest + depth[nodes][:, None]).ravel())
        places.append((first.ravel(), second.ravel()))
    score = np.zeros(len(sources), np.int64)
    _, kind, count = np.unique(np.concatenate(pairs), return_inverse=True, return_counts=True)
    common = count[kind]
    for side in (0, 1):
        score += np.bincount(np.concatenate([place[side] for place in places]), common, len(sources)).astype(np.int64)
    kept = (degree[targets] >= _FEWEST) & (degree[targets] <= _MOST_OPERANDS)
    return targets[kept], sources[kept], score[kept]


def _along_axes(near: dict[int, list[int]]) -> dict[int, set[int]]:
    """Return the neighbours with which a cell shares most, as it does along an axis where it has diagonal ones too."""
    sets = {v: set(others) for v, others in near.items()}
    shared = {v: {w: len(others & sets[w]) for w in others} for v, others in sets.items()}
    most = {v: max(others.values(), default=0) for v, others in shared.items()}
    return {v: {w for w, count in others.items() if count == most[v] == most[w]} for v, others in shared.items()}


def _placed(near: dict[int, set[int]]) -> dict[Position, int]:
    """Return cells by their coordinates, from one with all its neighbours on; none if it has not."""
    most = max(map(len, near.values()))
    for start in [v for v, others in near.items() if len(others) == most][:_MOST_STARTS]:
        axes = _axes_at(near, start)
        if axes:
            break
    else:
        return {}
    count = len(axes)
    steps = [tuple(sign * (axis == one) for axis in range(count)) for one in range(count) for sign in (1, -1)]
    where: dict[int, Position] = {start: (0,) * count}
    cells = {where[start]: start}
    for axis, (one, other) in enumerate(axes):
        for sign, v in ((1, one), (-1, other)):
            where[v] = tuple(sign * (axis == index) for index in range(count))
            cells[where[v]] = v
    queue = list(where)
    for x in queue:
        for w in near[x]:
            if w in where:
                continue
            known = [where[z] for z in near[w] if z in where]
            places = {_sum(where[x], step) for step in steps}
            places = {
                place for place in places if place not in cells and all(_apart(place, other) == 1 for other in known)
            }
            if len(places) > 1:
                opposite = [z for z in near[x] if z in where and near[z] & near[w] == {x}]
                places &= {_mirrored(where[z], where[x]) for z in opposite}
            if len(places) == 1:
                where[w] = places.pop()
                cells[where[w]] = w
                queue.append(w)
                queue += [z for z in near[w] if z in where]
    return cells


def _axes_at(near: dict[int, set[int]], x: int) -> list[tuple[int, int]]:
    """Return the pairs of opposite neighbours of a cell, which have no other neighbour in common; none if unclear."""
    pairs: list[tuple[int, int]] = []
    for y in sorted(near[x]):
        opposite = [z for z in near[x] if z != y and near[y] & near[z] == {x}]
        if len(opposite) != 1:
            return []
        if y < opposite[0]:
            pairs.append((y, opposite[0]))
    return pairs if 2 * len(pairs) == len(near[x]) and len(pairs) <= _MOST_AXES else []


def _sum(place: Position, step: Position) -> Position:
    return tuple(one + other for one, other in zip(place, step, strict=True))


def _mirrored(place: Position, centre: Position) -> Position:
    return tuple(2 * middle - one for one, middle in zip(place, centre, strict=True))


def _apart(place: Position, other: Position) -> int:
    return sum(abs(one - two) for one, two in zip(place, other, strict=True))


def _box(cells: dict[Position, int]) -> IntArray | None:
    """Return the nodes of a box with all its cells, None if there is none; faces that lack most are taken off."""
    if not cells:
        return None
    places = np.array(list(cells))
    low = places.min(axis=0)
    grid = np.full(places.max(axis=0) - low + 1, -1, np.int64)
    grid[tuple((places - low).T)] = list(cells.values())
    while grid.size and grid.min() < 0:
        faces = []
        for axis, end in product(range(grid.ndim), (0, -1)):
            face = np.take(grid, end, axis=axis)
            faces.append((float((face < 0).mean()), -face.size, axis, end))
        _, _, axis, end = max(faces)
        kept = slice(1, None) if end == 0 else slice(None, -1)
        grid = grid[(slice(None),) * axis + (kept,)]
    return grid if grid.size and min(grid.shape) > 1 else None
