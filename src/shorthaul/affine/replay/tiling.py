"""Tiled orders of a concrete CDAG, and the search for the tile sizes that need the fewest loads.

Loop coordinates are skewed until no dependence points backwards in any of them; boxes in these coordinates can then be
executed one after the other. A vertex of a shallower nest goes with its first user. Whatever order of tiles results,
the ready vertex of least rank comes next, so that the order respects every dependence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product, zip_longest

import numpy as np
import numpy.typing as npt

from shorthaul.affine.integer_sets.points import pairs
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import ConcreteCdag
from shorthaul.affine.tuning import REPLAYED_PER_EFFORT
from shorthaul.core.search import Search
from shorthaul.graphs.csr import Csr, from_arrays
from shorthaul.graphs.replay import belady_loads

IntArray = npt.NDArray[np.int64]
_LARGEST_SKEW = 2


@dataclass(frozen=True, slots=True)
class Tiling:
    """Tile sizes by loop, outermost tile loop first; ``split`` keeps top-level nests apart. 0: a loop is not cut."""

    sizes: tuple[tuple[int, int], ...] = ()  #: (coordinate, size)
    split: bool = True


@dataclass(frozen=True)
class TileSpace:
    """A CDAG with the skewed loop coordinates of its vertices.

    ``values`` has shape (vertices, coordinates); ``full`` tells the vertices that have all of them; ``nest`` is the
    position of a vertex's top-level nest; ``names`` are the coordinates in words, as ``i + t``.
    """

    cdag: ConcreteCdag
    names: tuple[str, ...]
    values: IntArray
    full: npt.NDArray[np.bool_]
    nest: IntArray
    users: Csr

    def describe(self, tiling: Tiling) -> str:
        """Return a tiling in words."""
        parts = [f"({self.names[at]}) by {size}" for at, size in tiling.sizes if size]
        apart = "each top-level nest on its own; " if tiling.split and len(np.unique(self.nest)) > 1 else ""
        return f"{apart}tiles {', '.join(parts)}, program order inside" if parts else "program order"

    def order(self, tiling: Tiling) -> IntArray:
        """Return the computed vertices in the tiled order, shape (computed vertices,)."""
        from shorthaul.affine.replay.tiling_kernels import Edges, ready_order, spread_ranks

        cut = [(at, size) for at, size in tiling.sizes if size]
        given = np.flatnonzero(self.full)
        if not cut or not len(given):  # at small sizes the deepest nests may be empty
            return self.cdag.program_order
        columns = [self.values[given, at] // size for at, size in cut]
        if tiling.split:
            columns.insert(0, self.nest[given])
        keys = np.column_stack(columns)
        _, ranks = np.unique(_packed(keys), return_inverse=True)
        rank = np.zeros(self.cdag.n, dtype=np.int64)
        rank[given] = ranks.reshape(-1)
        cdag = self.cdag
        edges = Edges(cdag.starts, cdag.operands, self.users.starts, self.users.targets, cdag.inputs)
        spread_ranks(edges, rank, self.full.astype(np.uint8))
        order = np.empty(cdag.n - cdag.inputs, np.int64)
        ready_order(edges, np.argsort(rank, kind="stable"), order)
        return order

    def loads(self, tiling: Tiling, capacity: int) -> int:
        """Return the loads of the tiled order with ``capacity`` words."""
        return int(belady_loads(self.order(tiling), self.cdag.starts, self.cdag.operands, capacity).sum())


def _packed(keys: IntArray) -> IntArray:
    """Return one integer per row that sorts as the rows do."""
    result = np.zeros(len(keys), dtype=np.int64)
    for at in range(keys.shape[1]):
        column = keys[:, at] - keys[:, at].min()
        result = result * (int(column.max()) + 1) + column
    return result


def tile_space(program: Program, sizes: Mapping[str, int], cdag: ConcreteCdag) -> TileSpace:
    """Return the loop coordinates of ``cdag``, skewed so that boxes are legal tiles where that is possible."""
    names = max(program.statements, key=lambda item: len(item.iterators)).iterators
    raw = np.zeros((cdag.n, len(names)), dtype=np.int64)
    full = np.zeros(cdag.n, dtype=np.bool_)
    nest = np.zeros(cdag.n, dtype=np.int64)
    deep = [item for item in program.statements if set(item.iterators) >= set(names)]
    phase = {item.name: at for at, item in enumerate(deep)}
    first_input = len(cdag.names) - len(program.statements)
    for at, item in enumerate(program.statements):
        mine = np.flatnonzero(cdag.owner == first_input + at)
        rows, times = pairs(item.schedule, sizes)
        if not len(rows):
            continue
        ranked = np.lexsort(times.T[::-1])  # vertices are numbered in program order
        nest[mine] = times[ranked, 0]
        for column, name in enumerate(names):
            if name in item.iterators:
                raw[mine, column] = times[ranked, item.times[item.iterators.index(name)]]
        full[mine] = item.name in phase
        if len(deep) > 1 and names and all(one.iterators[0] == names[0] for one in deep) and _one_nest(deep):
            raw[mine, 0] = raw[mine, 0] * len(deep) + phase.get(item.name, 0)
    sinks = np.repeat(np.arange(cdag.n), np.diff(cdag.starts))
    users = from_arrays(cdag.n, cdag.operands, sinks)
    values, shown = _skewed(raw, names, full, cdag.operands, sinks)
    return TileSpace(cdag, shown, values, full, nest, users)


def _one_nest(deep: Sequence[object]) -> bool:
    """True if the statements share their outermost loop, which is where a time loop alternates between them."""
    starts = {str(item.schedule.range().dim_min(0)) for item in deep}  # type: ignore[attr-defined]
    return len(starts) == 1


def _skewed(
    raw: IntArray, names: Sequence[str], full: npt.NDArray[np.bool_], sources: IntArray, sinks: IntArray
) -> tuple[IntArray, tuple[str, ...]]:
    inner = full[sources] & full[sinks]
    distances = np.unique(raw[sinks[inner]] - raw[sources[inner]], axis=0) if inner.any() else raw[:0]
    columns, shown = [], []
    for at, name in enumerate(names):
        factors = _least_skew(distances, at)
        columns.append(raw[:, : at + 1] @ np.array([*factors, 1], dtype=np.int64))
        terms = [f"{factor} {names[k]}" if factor > 1 else names[k] for k, factor in enumerate(factors) if factor]
        shown.append(" + ".join([name, *terms]))
    return np.column_stack(columns) if columns else raw, tuple(shown)


def _least_skew(distances: IntArray, at: int) -> tuple[int, ...]:
    """Return the smallest multiples of the outer coordinates to add so that no dependence points backwards."""
    choices = sorted(product(range(_LARGEST_SKEW + 1), repeat=at), key=lambda item: (sum(item), item))
    for factors in choices:
        if not len(distances) or (distances[:, : at + 1] @ np.array([*factors, 1])).min() >= 0:
            return factors
    return (0,) * at


def best_tiling(
    space: TileSpace,
    capacity: int,
    search: Search,
    *,
    evaluations: int = 200,
    floor: float = 0,
    keep: Callable[[Tiling, int], None] = lambda _tiling, _loads: None,
) -> tuple[Tiling, int]:
    """Return the tiling of fewest loads that the search finds, and these loads; every better one goes to ``keep``.

    Starts from the program order and from square tiles in every order of the tile loops, then changes one size at a
    time. Stops after ``evaluations`` replays, when the search ends, or at ``floor`` loads, which cannot be beaten.
    """
    best = Tiling()
    least = space.loads(best, capacity)
    keep(best, least)
    seen = {best}
    for candidate in _starts(space, capacity):
        if search.expired() or least <= floor or len(seen) > evaluations * 2 // 3:
            break
        if candidate not in seen:
            seen.add(candidate)
            loads = space.loads(candidate, capacity)
            search.spend(space.cdag.n / REPLAYED_PER_EFFORT)
            if loads < least:
                best, least = candidate, loads
                keep(best, least)
            search.report(best=least, bound=floor or None, what=space.describe(best))
    improved = True
    while improved and least > floor:
        improved = False
        for candidate in _neighbours(best):
            if search.expired() or len(seen) > evaluations:
                return best, least
            if candidate in seen:
                continue
            seen.add(candidate)
            loads = space.loads(candidate, capacity)
            search.spend(space.cdag.n / REPLAYED_PER_EFFORT)
            if loads < least:
                best, least, improved = candidate, loads, True
                keep(best, least)
                search.report(best=least, bound=floor or None, what=space.describe(best))
                break
    return best, least


def _starts(space: TileSpace, capacity: int) -> Iterator[Tiling]:
    """Yield tilings to begin with, squares and lines by turns: few are replayed where that takes all the effort."""
    for split in (True, False) if len(np.unique(space.nest)) > 1 else (True,):
        for both in zip_longest(_squares(len(space.names), capacity), _lines(space, capacity)):
            yield from (Tiling(cut, split) for cut in both if cut is not None)


def _squares(count: int, capacity: int) -> Iterator[tuple[tuple[int, int], ...]]:
    words = (
        math.sqrt(capacity + 1) - 1,
        math.sqrt(capacity / 2),
        math.sqrt(capacity / 3),
        capacity ** (1 / 3),
        capacity / 2,
    )
    for edge in sorted({max(1, round(value)) for value in words}, reverse=True):
        for chosen in range(min(count, 4), 0, -1):
            for at in permutations(range(count), chosen):
                # the innermost tile loop walks along one coordinate, the others are cut into squares
                yield (*((k, edge) for k in at[:-1]), (at[-1], 1 if chosen > 1 else edge))
                yield tuple((k, edge) for k in at)


def _lines(space: TileSpace, capacity: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield one loop cut, so that as many lines of another one stay as fit, or up to twice as many.

    This pays where others may not be cut; lines of a triangle are half as long on average. The innermost loops come
    first, as cuts of the outermost one alone change nothing.
    """
    extents = (np.ptp(space.values[space.full], axis=0) + 1).tolist() if space.full.any() else []
    for halves, at in product((2, 3, 4), range(len(extents) - 1, 0, -1)):
        for other in sorted({*extents[:at], *extents[at + 1 :]}, reverse=True):
            edge = capacity // other * halves // 2
            if 1 < edge < extents[at]:
                yield ((at, edge),)


def _neighbours(tiling: Tiling) -> Iterator[Tiling]:
    for place, (at, size) in enumerate(tiling.sizes):
        others = {size * 2, size + 1, size - 1, size * 3 // 4, size // 2, size * 5 // 4}
        for other in sorted(others - {size}):
            if other >= 1:
                changed = (*tiling.sizes[:place], (at, other), *tiling.sizes[place + 1 :])
                yield replace(tiling, sizes=changed)
