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
#: Numbers for every instance from which on these are sorted, not kept in a table.
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


@dataclass(frozen=True)
class _Form:
    """An affine function of the place in a box: its value at the first place, and a factor for every coordinate."""

    first: int
    factors: tuple[int, ...]

    def ends(self, widths: Sequence[int]) -> tuple[int, int]:
        """Return the least and the largest value in a box."""
        far = [factor * (width - 1) for factor, width in zip(self.factors, widths, strict=True)]
        return self.first + sum(min(0, item) for item in far), self.first + sum(max(0, item) for item in far)

    def times_plus(self, factor: int, other: _Form, more: int) -> _Form:
        """Return this form times ``factor``, plus another one and a constant."""
        factors = tuple(factor * a + b for a, b in zip(self.factors, other.factors, strict=True))
        return _Form(factor * self.first + other.first + more, factors)

    def values(self, widths: Sequence[int]) -> IntArray:
        """Return the values at all places of a box, the last coordinate changing first."""
        found = np.array([self.first], np.int64)
        for factor, width in zip(self.factors, widths, strict=True):
            found = np.add.outer(found, factor * np.arange(width)).reshape(-1)
        return found


@dataclass(frozen=True)
class _Box:
    """Instances of a statement in boxes of a run: how many along each coordinate, their boxes, and their iterators."""

    widths: tuple[int, ...]
    number: _Form
    iterators: tuple[_Form, ...]

    @property
    def count(self) -> int:
        return math.prod(self.widths)

    def forms(self, rows: Sequence[Row], sizes: Mapping[str, int]) -> tuple[_Form, ...]:
        """Return rows over the iterators as forms over the box."""
        made = []
        for row in rows:
            form = _Form(row.at((0,) * len(row.factors), sizes), (0,) * len(self.widths))
            for factor, iterator in zip(row.factors, self.iterators, strict=True):
                form = iterator.times_plus(factor, form, 0)
            made.append(form)
        return tuple(made)


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
        boxes = {
            name: self._box(name, base or (), ends, run)
            for name, base in bases.items()
            if abs(run.apart.get(name, run.centre) - run.centre) <= run.near
        }
        if sum(box.count for box in boxes.values()) > MOST_ALIVE_POINTS:
            return None
        groups = [[line for line in dict.fromkeys(self.lines[number]) if line.statement in boxes] for number in passing]
        effort.step(
            ALIVE_STEPS * sum(len(line.rows) * boxes[line.statement].count for group in groups for line in group)
        )
        when = _numbers(
            [(box, (box.number, *box.forms(self.times[name] or (), self.sizes))) for name, box in boxes.items()]
        )
        if when is None:
            return None
        ranks = dict(zip(boxes, when, strict=True))
        changes = np.zeros(_size(when) + 1, np.int64)
        for group in groups:
            held_in = [boxes[line.statement] for line in group]
            cells = _numbers(
                [(box, box.forms(line.rows, self.sizes)) for box, line in zip(held_in, group, strict=True)]
            )
            if cells is None:
                return None
            begin, end = np.full(_size(cells), len(changes)), np.full(_size(cells), -1)
            for line, which in zip(group, cells, strict=True):
                np.minimum.at(begin, which, ranks[line.statement])
                np.maximum.at(end, which, ranks[line.statement])
            np.add.at(changes, begin[end >= 0], 1)
            np.add.at(changes, end[end >= 0] + 1, -1)
        alive = np.cumsum(changes)
        most = 0
        for name, box in boxes.items():
            if 0 <= (middle := -box.number.first) < box.widths[0]:
                most = max(most, int(alive[ranks[name].reshape(box.widths)[middle]].max()))
        return most

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

    def _box(self, name: str, base: tuple[int, ...], ends: Sequence[tuple[int, int]], run: _Run) -> _Box:
        """Return the instances of a statement whose coordinates ``base`` are between ``ends``."""
        rows = [self.placement[name][at] for at in base]
        turn = np.linalg.inv(np.array([row.factors for row in rows], float).reshape(len(base), len(base)))
        least = [ends[at][0] - row.at((0,) * len(row.factors), self.sizes) for at, row in zip(base, rows, strict=True)]
        widths, steps = [1], [[0] * len(base)]
        for place, at in enumerate(base):
            unit = [int(other == place) for other in range(len(base))]
            width = ends[at][1] - ends[at][0]
            if at == run.along:  # the first coordinate tells the box, this one the place in it
                width //= 2 * run.near + 1
                widths[0], steps[0] = 2 * run.near + 1, [width * item for item in unit]
            widths.append(width)
            steps.append(unit)
        first = -run.near if run.along in base else run.apart[name] - run.centre
        iterators = tuple(
            _Form(
                sum(factor * item for factor, item in zip(factors, least, strict=True)),
                tuple(sum(factor * item for factor, item in zip(factors, step, strict=True)) for step in steps),
            )
            for factors in np.rint(turn).astype(int).tolist()
        )
        return _Box(tuple(widths), _Form(first, (1,) + (0,) * len(base)), iterators)


def _size(numbers: Sequence[IntArray]) -> int:
    return 1 + max((int(item.max(initial=-1)) for item in numbers), default=-1)


def _numbers(parts: Sequence[tuple[_Box, tuple[_Form, ...]]]) -> list[IntArray] | None:
    """Return a number for the values of forms at every place of every box; they are in lexicographic order.

    Values that are equal have one number. None where numbers would not fit.
    """
    made, size = [_Form(0, (0,) * len(box.widths)) for box, _ in parts], 1
    for forms in zip(*(forms for _, forms in parts), strict=True):
        ends = [form.ends(box.widths) for form, (box, _) in zip(forms, parts, strict=True)]
        least = min(low for low, _ in ends)
        wide = max(high for _, high in ends) - least + 1
        made = [whole.times_plus(wide, form, -least) for whole, form in zip(made, forms, strict=True)]
        size *= wide
    if size >= 2**63:
        return None
    found = [form.values(box.widths) for form, (box, _) in zip(made, parts, strict=True)]
    if size > _SPARSE * sum(map(len, found)):
        places = np.unique(np.concatenate(found), return_inverse=True)[1]
        return np.split(places, np.cumsum([len(item) for item in found])[:-1])
    return found


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
