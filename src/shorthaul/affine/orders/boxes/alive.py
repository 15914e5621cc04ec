"""What is alive inside of a box, instance by instance, instead of all that it touches.

Boxes along the innermost loop over boxes are a run. A group that depends on this loop loads the union of its cells
over the run, and needs room for a cell from its first access in the run to its last only; other groups hold all they
touch. So the room is the sum of these, and the most cells of the groups of the run that are alive at one instance.

It is counted once, in a box and those around it that share cells with it, as if all statements had instances at all
places. Boxes that are cut off have some of these, so no cell is alive for longer there, provided that a box elsewhere
is the same, moved: inside of it the time of an instance must follow from its place by one rule for all statements.
What has one place along the run is in one box only: this and those near it are counted, all others have less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.subspaces import integer_solution
from shorthaul.affine.orders.boxes.cells import Cells
from shorthaul.affine.orders.placement import Row
from shorthaul.affine.tuning import ALIVE_STEPS, MOST_ALIVE_POINTS

IntArray = npt.NDArray[np.int64]
#: Numbers for every column from which on these are sorted, not marked in a table.
_SPARSE = 30
#: Loops over boxes with their edges, the outermost first.
_Loops = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Line:
    """An access of a statement: its subscripts as functions of the iterators."""

    statement: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class _Run:
    """A box of a run ``along`` a loop, with as many as ``near`` on both sides; its number is ``centre``.

    Statements with one place along the loop are in the box ``apart`` only.
    """

    along: int
    near: int
    centre: int
    apart: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Alive:
    """The accesses of every group of cells, with places and times of the statements, at ``sizes``.

    ``times`` are None where the time of a statement is not affine. Inside of a box instances are in the order of the
    coordinates ``inside``, where these are equal in program order.
    """

    lines: tuple[tuple[Line, ...], ...]
    placement: Mapping[str, tuple[Row, ...]]
    times: Mapping[str, tuple[Row, ...] | None]
    first: tuple[int, ...]
    extents: tuple[int, ...]
    sizes: Mapping[str, int]
    inside: tuple[int, ...] = ()
    _known: dict[_Loops, int | None] = field(default_factory=dict)

    def most(self, cells: Sequence[Cells], loops: _Loops) -> int | None:
        """Return the most words held at a time in boxes of ``loops``, without a result; None where it is not known."""
        if loops not in self._known:
            self._known[loops] = self._most(cells, loops) if loops else None
        return self._known[loops]

    def _most(self, cells: Sequence[Cells], loops: _Loops) -> int | None:
        run = loops[-1][0]
        edges = dict(loops)
        held = [min(edges.get(at, extent), extent) for at, extent in enumerate(self.extents)]
        passing = [
            number for number, item in enumerate(cells) if run in item.loops and not _is_shared(item, cells, run)
        ]
        if any(tie.total == run for number in passing for tie in cells[number].ties):
            return None  # how long loops stay that follow from the run is not counted
        fixed = sum(int(item.count(held)) for number, item in enumerate(cells) if number not in passing)
        names = sorted({line.statement for number in passing for line in self.lines[number]})
        near = max((_boxes_of_a_cell(cells[number], held, run) for number in passing), default=0)
        bases = {name: self._basis(name, (run, *(at for at, _ in loops if at != run))) for name in names}
        if not passing or not self._move_together(names, bases):
            return None
        apart = {
            name: (rows[run].at((0,) * len(rows[run].factors), self.sizes) - self.first[run]) // held[run]
            for name, rows in self.placement.items()
            if name in bases and run not in (bases[name] or ())
        }
        centres = {number + more for number in apart.values() for more in range(-near, near + 1)} or {0}
        found = [self._most_near(edges, held, passing, bases, _Run(run, near, at, apart)) for at in sorted(centres)]
        return None if None in found else fixed + max(item for item in found if item is not None)

    def _most_near(
        self,
        edges: Mapping[int, int],
        held: Sequence[int],
        passing: Sequence[int],
        bases: Mapping[str, tuple[int, ...] | None],
        run: _Run,
    ) -> int | None:
        """Return the most words of the groups ``passing`` held at a time in one box of a run; None if too many."""
        ends = [
            (0, edge) if at in edges else (first, first + edge) for at, (first, edge) in enumerate(self._ends(held))
        ]
        low = self.first[run.along] + (run.centre - run.near) * held[run.along]
        ends[run.along] = low, low + (2 * run.near + 1) * held[run.along]
        sizes = {name: _points_in(ends, base, run.along, 2 * run.near + 1) for name, base in bases.items()}
        if sum(sizes.values()) > MOST_ALIVE_POINTS:
            return None
        effort.step(
            ALIVE_STEPS
            * sum(len(line.rows) * sizes[line.statement] for number in passing for line in self.lines[number])
        )
        points = {name: self._points(name, base, ends, run) for name, base in bases.items()}
        names = list(points)
        order = _ranks([np.vstack(points[name][1:]) for name in names])
        ranks = dict(zip(names, order, strict=True))
        middle = np.concatenate([ranks[name][points[name][1] == 0] for name in names])
        changes = np.zeros(sum(map(len, order)) + 1, np.int64)
        for number in passing:
            found = [self._values(line.rows, points[line.statement][0]) for line in self.lines[number]]
            when = np.concatenate([ranks[line.statement] for line in self.lines[number]])
            if not len(when):
                continue
            which = _places(np.concatenate(found, axis=1))
            begin, end = np.full(which.max() + 1, len(changes)), np.zeros(which.max() + 1, np.int64)
            np.minimum.at(begin, which, when)
            np.maximum.at(end, which, when)
            np.add.at(changes, begin, 1)
            np.add.at(changes, end + 1, -1)
        return int(np.cumsum(changes)[middle].max(initial=0))

    def _ends(self, held: Sequence[int]) -> Iterator[tuple[int, int]]:
        yield from zip(self.first, held, strict=True)

    def _basis(self, name: str, wanted: Sequence[int]) -> tuple[int, ...] | None:
        """Return coordinates that tell the iterators of a statement, first those ``wanted``; None if there are none."""
        rows, chosen = self.placement[name], list[int]()
        depth = len(rows[0].factors)
        for at in (*wanted, *(other for other in range(len(rows)) if other not in wanted)):
            more = [*(rows[other].factors for other in chosen), rows[at].factors]
            if len(chosen) < depth and np.linalg.matrix_rank(np.array(more)) == len(more):
                chosen.append(at)
        units = np.eye(depth, dtype=np.int64).tolist()
        matrix = tuple(rows[at].factors for at in chosen)
        if len(chosen) < depth or any(integer_solution(matrix, tuple(unit)) is None for unit in units):
            return None
        return tuple(chosen)

    def _move_together(self, names: Sequence[str], bases: Mapping[str, tuple[int, ...] | None]) -> bool:
        """True if the order of instances in boxes that are moved stays what it is."""
        moving = {}
        for name in names:
            base, times = bases[name], self.times[name]
            if base is None or times is None:
                return False
            matrix = tuple(self.placement[name][at].factors for at in base)
            weights = [integer_solution(matrix, row.factors) for row in times]
            if any(item is None for item in weights):
                return False
            moving[name] = [dict(zip(base, item or (), strict=True)) for item in weights]
        return all(self._same(*both, moving) for both in combinations(names, 2))

    def _same(self, one: str, two: str, moving: Mapping[str, list[dict[int, int]]]) -> bool:
        times = self.times[one] or (), self.times[two] or ()
        for at, (first, second) in enumerate(zip(*times, strict=True)):
            ways = [{key: value for key, value in moving[name][at].items() if value} for name in (one, two)]
            if ways[0] != ways[1]:
                return False
            if not ways[0] and first.at((0,) * len(first.factors), self.sizes) != second.at(
                (0,) * len(second.factors), self.sizes
            ):
                return True
        return True

    def _points(
        self, name: str, base: tuple[int, ...] | None, ends: Sequence[tuple[int, int]], run: _Run
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return iterators, the box along the run, and times of the instances of a statement, one per column."""
        assert base is not None
        rows = self.placement[name]
        widths = [ends[at][1] - ends[at][0] for at in base]
        places = np.indices(widths).reshape(len(base), math.prod(widths))
        places += np.array([[ends[at][0]] for at in base], np.int64).reshape(len(base), 1)
        constants = [rows[at].at((0,) * len(rows[at].factors), self.sizes) for at in base]
        turn = np.linalg.inv(np.array([rows[at].factors for at in base], float).reshape(len(base), len(base)))
        turned = np.rint(turn).astype(np.int64)
        points = _combined(turned, [-int(item) for item in turned @ np.array(constants, np.int64)], places)
        if run.along in base:
            low, high = ends[run.along]
            box = (places[base.index(run.along)] - low) // ((high - low) // (2 * run.near + 1)) - run.near
        else:  # in one box of the run
            number = run.apart[name] - run.centre
            points = points if abs(number) <= run.near else points[:, :0]
            box = np.full(points.shape[1], number)
        return points, box, self._values(self.times[name] or (), points)

    def _values(self, rows: Sequence[Row], points: IntArray) -> IntArray:
        constants = [row.at((0,) * len(row.factors), self.sizes) for row in rows]
        return _combined([row.factors for row in rows], constants, points)


def _combined(factors: Sequence[Sequence[int]] | IntArray, constants: Sequence[int], points: IntArray) -> IntArray:
    """Return ``factors @ points + constants`` for integers, column by column: products with 0 and 1 cost nothing."""
    made = np.empty((len(constants), points.shape[1]), np.int64)
    for row, constant, own in zip(made, constants, factors, strict=True):
        row[:] = constant
        for factor, column in zip(own, points, strict=True):
            if factor:
                row += column if factor == 1 else factor * column
    return made


def _points_in(ends: Sequence[tuple[int, int]], base: tuple[int, ...] | None, run: int, boxes: int) -> int:
    count = boxes if run not in (base or ()) else 1
    for at in base or ():
        count *= ends[at][1] - ends[at][0]
    return count


def _boxes_of_a_cell(cells: Cells, held: Sequence[int], run: int) -> int:
    """Return how many boxes further along the run a cell may be accessed once more."""
    found = []
    for row, spread in zip(cells.factors, cells.spread, strict=True):
        if row[run]:
            reach = sum(abs(factor) * (held[at] - 1) for at, factor in enumerate(row) if at != run) + spread
            found.append(-(-reach // (abs(row[run]) * held[run])))
    return min(found)


def _is_shared(item: Cells, cells: Sequence[Cells], run: int) -> bool:
    """True if another group of the array moves as this one: it may hold what this one does not load."""
    return any(
        other is not item
        and other.name == item.name
        and other.lattice == item.lattice
        and run in other.loops
        and (other.among or item.among or other.moves_as(item, run))
        for other in cells
    )


def _ranks(keys: Sequence[IntArray]) -> list[IntArray]:
    """Return the place of every column among all in lexicographic order; columns that are equal have one place."""
    return np.split(_places(np.concatenate(keys, axis=1)), np.cumsum([item.shape[1] for item in keys])[:-1])


def _places(columns: IntArray) -> IntArray:
    """Return the place of every column among all different ones in lexicographic order."""
    numbers = np.zeros(columns.shape[1], np.int64)
    for row in columns:
        least = int(row.min())
        numbers *= int(row.max()) - least + 1
        numbers += row - least
    if (last := int(numbers.max(initial=0))) > _SPARSE * len(numbers):
        return np.unique(numbers, return_inverse=True)[1].reshape(-1)
    there = np.zeros(last + 1, bool)
    there[numbers] = True
    return (np.cumsum(there) - 1)[numbers]
