"""Iterations over boxes of cells, found in any graph by what its nodes read, whatever their numbers.

Only guesses are made here from what nodes share; what is returned was compared with the edges of the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import layers
from shorthaul.pebble import tuning
from shorthaul.pebble.model import BoolArray, Cdag, IntArray

#: Nodes with fewer or more operands are no cells; operands with more readers are no cells beside them.
_FEWEST, _MOST_OPERANDS, _MOST_READERS, _MOST_DEPTHS = 3, 32, 64, 2
_ROUNDS, _MOST_AXES, _MOST_STARTS = 6, 3, 100
#: Nodes that are looked at to tell whether there may be links.
_SAMPLE = 256
Position = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Nodes of cells of a box at several levels, shape (levels, side, ..., side).

    A node (t, x) with t > 0 reads (t - 1, y) for x itself and for every y next to it along an axis; with
    ``has_corners`` also for those beside x along several axes at once. It may do so by way of a link, a node that
    reads (t - 1, y) and that (t, x) reads, and that serves no other two cells: ``links`` are those between each two
    levels, if there are any. ``is_two_way`` tells that those next to each other along an axis have one link, which
    reads both, and which both read.
    """

    nodes: IntArray
    has_corners: bool
    links: tuple[IntArray, ...] = ()
    is_two_way: bool = False

    @property
    def moved(self) -> IntArray:
        """All nodes whose loads and stores are counted."""
        return np.concatenate([self.nodes.ravel(), *self.links])

    def without_first_level(self) -> History:
        """Return the same without the first level."""
        return replace(self, nodes=self.nodes[1:], links=self.links[1:])


def histories(cdag: Cdag, *, search: Search) -> Iterator[History]:
    """Yield iterations over boxes that have no node in common, those of many levels first, those with links last."""
    pairs = _pairs(cdag)
    effort = (cdag.n + cdag.edges + 2 * pairs) / tuning.PASS_RATE
    used = np.zeros(cdag.n, np.bool_)
    if pairs <= tuning.MOST_GRID_PAIRS and effort <= search.left():
        search.spend(effort)
        yield from _found(_Graph(cdag, _befores(cdag), used), search)
    search.spend(_SAMPLE / tuning.PASS_RATE)
    if not _may_be_linked(cdag):
        return
    pairs = int((cdag.parents.degrees() * cdag.children.degrees()).sum())
    effort = (cdag.n + cdag.edges + 2 * pairs) / tuning.PASS_RATE
    if pairs <= tuning.MOST_GRID_PAIRS and effort <= search.left():
        search.spend(effort)
        yield from _found(_Linked(cdag, _linked_befores(cdag), used), search)


def _found(graph: _Graph, search: Search) -> Iterator[History]:
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

    def __init__(self, cdag: Cdag, before: IntArray, used: BoolArray) -> None:
        self._cdag = cdag
        self.used = used
        self.hopeless: set[int] = set()
        self._before = before
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
        self.used[history.moved] = True
        self._near.clear()

    def history(self, seed: int) -> tuple[History | None, int]:
        """Return the largest box of cells found around a node at all levels that it has there, and the work done."""
        near = self._level_of(seed)
        work = 20 * sum(1 + len(others) for others in near.values())
        cells = _box(_with_corners(_placed(_along_axes(near)), near))
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
        links = self._links(nodes, _steps(cells.ndim) if has_corners else along)
        work += 10 * nodes.size
        if links is None:
            self.hopeless.update(near)
            return None, work
        return History(nodes, has_corners, links, bool(links) and self._is_two_way(nodes)), work

    def _links(self, _nodes: IntArray, _steps: list[Position]) -> tuple[IntArray, ...] | None:
        """Return the links between levels, none where all is read at once; None if one serves more than two cells."""
        return ()

    def _is_two_way(self, _nodes: IntArray) -> bool:
        """True if those next to each other along an axis have one link, which reads both, and which both read."""
        return False

    def _is_level(self, below: IntArray, above: IntArray, steps: list[Position]) -> bool:
        """True if cells are there that no other history has, and read those below that are so many steps away."""
        if below.min() < 0 or above.min() < 0 or self.used[below].any() or self.used[above].any():
            return False
        return self._are_read(below[None], above[None], steps)

    def _are_read(self, below: IntArray, above: IntArray, steps: list[Position]) -> bool:
        """True if the cells above read those below that are so many steps away along the last axes."""
        return all(self._are_met(below[:, *read].ravel(), above[:, *reader].ravel()) for read, reader in
                   (_apart_by(step, below.shape[1:]) for step in steps))  # fmt: skip

    def _are_met(self, sources: IntArray, targets: IntArray) -> bool:
        """True if each target reads its source."""
        return bool(self._are_edges(sources, targets).all())

    def _are_edges(self, sources: IntArray, targets: IntArray) -> BoolArray:
        wanted = sources * self._cdag.n + targets
        place = np.minimum(np.searchsorted(self._edges, wanted), len(self._edges) - 1)
        found: BoolArray = self._edges[place] == wanted
        return found

    def _level_of(self, seed: int) -> dict[int, list[int]]:
        """Return the cells that hang together with one, each with the cells beside it: both read what the other was.

        None of these may be what another one was: then they are no level, and none has a cell beside it.
        """
        near: dict[int, list[int]] = {}
        queue = [seed]
        seen = {seed}
        for v in queue:
            near[v] = [w for w in self._beside(v) if v in self._beside(w)]
            new = [w for w in near[v] if w not in seen]
            seen.update(new)
            queue += new
            if any(int(self._before[w]) in seen or int(self._after[w]) in seen for w in new):
                return {w: [] for w in seen}
        return near

    def _beside(self, v: int) -> list[int]:
        """Return what the nodes that a cell reads, other than its own, became."""
        if v not in self._near:
            after = self._after[self._cdag.parents.neighbours(v)]
            self._near[v] = [w for w in after.tolist() if w not in (-1, v) and not self.used[w]]
        return self._near[v]


class _Linked(_Graph):
    """A graph in which cells read those beside them by way of nodes of their own, as where there are several fields."""

    def _are_met(self, sources: IntArray, targets: IntArray) -> bool:
        return bool(((self._link(sources, targets) >= 0) | self._are_edges(sources, targets)).all())

    def _link(self, sources: IntArray, targets: IntArray) -> IntArray:
        """Return for each pair the first operand of the target that reads the source, -1 if there is none."""
        parents, found = self._cdag.parents, np.full(len(sources), -1, np.int64)
        degrees = parents.degrees()[targets]
        for rank in range(int(degrees.max(initial=0))):
            left = np.flatnonzero((found < 0) & (degrees > rank))
            operand = parents.targets[parents.starts[targets[left]] + rank]
            are_links = self._are_edges(sources[left], operand)
            found[left[are_links]] = operand[are_links]
        return found

    def _links(self, nodes: IntArray, steps: list[Position]) -> tuple[IntArray, ...] | None:
        cells = np.arange(nodes[0].size).reshape(nodes.shape[1:])
        found = []
        for below, above in pairwise(nodes):
            rows = [np.empty((0, 3), np.int64)]
            for step in steps:
                read, reader = _apart_by(step, cells.shape)
                sources, targets = below[read].ravel(), above[reader].ravel()
                linked = np.flatnonzero(~self._are_edges(sources, targets))
                ends = np.sort(np.stack([cells[read].ravel(), cells[reader].ravel()])[:, linked], axis=0)
                rows.append(np.column_stack([self._link(sources[linked], targets[linked]), *ends]))
            serving = np.unique(np.concatenate(rows), axis=0)
            found.append(np.unique(serving[:, 0]))
            if len(found[-1]) < len(serving):
                return None
        links = np.concatenate(found)
        if self.used[links].any() or len(np.unique(np.append(links, nodes))) < len(links) + nodes.size:
            return None
        return tuple(found) if len(links) else ()

    def _is_two_way(self, nodes: IntArray) -> bool:
        for axis in range(1, nodes.ndim):
            one, other = (np.take(nodes, range(by, nodes.shape[axis] - 1 + by), axis=axis) for by in (0, 1))
            link = self._link(one[:-1].ravel(), other[1:].ravel())
            if (link < 0).any() or (self._link(other[:-1].ravel(), one[1:].ravel()) != link).any():
                return False
        return True

    def _beside(self, v: int) -> list[int]:
        """Return what the nodes that the operands of a cell read, other than its own one, became."""
        if v not in self._near:
            parents = self._cdag.parents
            through = [u for u in parents.neighbours(v).tolist() if u != self._before[v]]
            read = {y for u in through for y in parents.neighbours(u).tolist()}
            after = self._after[sorted(read)]
            self._near[v] = [w for w in after.tolist() if w not in (-1, v) and not self.used[w]]
        return self._near[v]


def _apart_by(step: Position, sides: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return the places of cells that are read, and of those that read them, so many steps away."""
    read = tuple(slice(max(0, by), side + min(0, by)) for by, side in zip(step, sides, strict=True))
    return read, tuple(slice(max(0, -by), side + min(0, -by)) for by, side in zip(step, sides, strict=True))


def _may_be_linked(cdag: Cdag) -> bool:
    """True if, of some nodes drawn evenly, one in ten reads a value and two others that read it as well."""
    nodes = np.flatnonzero(cdag.parents.degrees() >= _FEWEST)
    nodes = nodes[:: -(-len(nodes) // _SAMPLE) or 1]
    seen = 0
    for v in nodes.tolist():
        operands = cdag.parents.neighbours(v).tolist()
        both = Counter(w for u in operands for w in cdag.parents.neighbours(u).tolist() if w in operands)
        seen += max(both.values(), default=0) > 1
    return 10 * seen > len(nodes)


def _linked_befores(cdag: Cdag) -> IntArray:
    """Return for each node the operand that most of its other ones read, -1 where it is not clear; no two get one."""
    before = np.full(cdag.n, -1, np.int64)
    sources, targets = cdag.edge_arrays()
    degrees, edges = cdag.parents.degrees(), np.sort(sources * cdag.n + targets)
    kept = (degrees[targets] >= _FEWEST) & (degrees[targets] <= _MOST_OPERANDS)
    through, node = sources[kept], targets[kept]
    owner = np.repeat(node, degrees[through])
    first = np.repeat(cdag.parents.starts[through] - np.cumsum(degrees[through]) + degrees[through], degrees[through])
    read = cdag.parents.targets[first + np.arange(len(first))]
    pairs = (read * cdag.n + owner)[cdag.children.degrees()[read] <= _MOST_READERS]
    place = np.minimum(np.searchsorted(edges, pairs), len(edges) - 1)
    read, times = np.unique(pairs[edges[place] == pairs], return_counts=True)
    for by_node in (True, False):  # the one that a node shares most with, then the node that shares most with it
        key = read % cdag.n if by_node else read // cdag.n
        order = np.lexsort((-times, key))
        read, times, key = read[order], times[order], key[order]
        is_first = np.diff(key, prepend=-1) != 0
        is_tie = np.append((np.diff(key) == 0) & (np.diff(times) == 0), False)
        read, times = read[is_first & ~is_tie], times[is_first & ~is_tie]
    before[read % cdag.n] = read // cdag.n
    return before


def _steps(axes: int) -> list[Position]:
    return list(product((-1, 0, 1), repeat=axes))


def _befores(cdag: Cdag) -> IntArray:
    """Return for each node the operand that shares most readers with its other ones, -1 where there is none.

    No two nodes get the same. Cells at a wall share more with their neighbours: those that have no rival choose first,
    of several that choose the same the one with most operands has it, and the others choose again.
    """
    before = np.full(cdag.n, -1, np.int64)
    owner, operand, score = _shared(cdag)
    degree = np.bincount(owner, minlength=cdag.n)
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

    Only readers as deep as the node count: operands of many levels share more with one another. What is read at more
    than two depths is left out: the cells around a box that no level computes.
    """
    sources, targets = cdag.edge_arrays()
    depth = layers(cdag.children, cdag.order)
    deepest = int(depth.max()) + 1
    depths = np.bincount(np.unique(sources * deepest + depth[targets]) // deepest, minlength=cdag.n)
    kept = (cdag.children.degrees()[sources] <= _MOST_READERS) & (depths[sources] <= _MOST_DEPTHS)
    kept &= cdag.parents.degrees()[targets] >= _FEWEST
    order = np.argsort(targets[kept], kind="stable")
    sources, targets = sources[kept][order], targets[kept][order]
    degree = np.bincount(targets, minlength=cdag.n)
    start = np.cumsum(degree) - degree
    pairs, places = [], []
    for size in range(2, _MOST_OPERANDS + 1):
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
    kept = (degree[targets] >= 2) & (degree[targets] <= _MOST_OPERANDS)
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


def _with_corners(cells: dict[Position, int], near: dict[int, list[int]]) -> dict[Position, int]:
    """Return the cells with others whose neighbours among them, also along several axes, are those of one place."""
    where = {v: place for place, v in cells.items()}
    steps = [step for step in _steps(len(next(iter(cells), ()))) if any(step)]
    queue = [w for v in where for w in near[v] if w not in where]
    for w in queue:
        around = {where[z] for z in near[w] if z in where}
        if w in where or not around:
            continue
        places = {_sum(place, step) for place in around for step in steps} - cells.keys()
        places = {place for place in places if {_sum(place, step) for step in steps} & cells.keys() == around}
        if len(places) == 1:
            where[w] = places.pop()
            cells[where[w]] = w
            queue += [z for z in near[w] if z not in where]
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
