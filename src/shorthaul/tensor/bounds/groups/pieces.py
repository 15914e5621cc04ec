"""What a subgraph computes, loads and holds, piece by piece, and the least of each at a range of granularities.

All granularities that the rules allow are divided into boxes. Compute and traffic of a piece are never less in a box
than at its largest granularity, and what it holds never less than at its smallest one; those of all pieces of a
subgraph add up to no more than its own.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model.profile import COLUMNS_EXACT, FULL, ROWS_EXACT, STEP, TILE
from shorthaul.tensor.model import Problem, Rules, Tensor

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: Where the boxes begin along each axis, as parts of the native tile.
_TILE_PARTS: Final = (0, 1 / 16, 1 / 8, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 4 / 5, 8 / 9, 1)
_STEP_PARTS: Final = (0, 1 / 16, 1 / 4, 1 / 2, 1)
#: The same without a native tile to keep to: so many parts of the longest axis, and parts no shorter than this.
_DIVISORS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024, 2048)
_SHORTEST: Final = 3


#: Rows of a table: what takes time in all steps, in the last step of a tile alone, and how much of the former that step
#: may have at most; traffic likewise; elements held in a tile's first step, and in its last one.
TIME: Final = 0
TRAFFIC: Final = 3
HELD: Final = 6
ROWS: Final = 8


def mix(last: Floats, others: Floats) -> Floats:
    """Return what the rows of time and traffic weigh, if time has these weights in the last steps of tiles, and others.

    Traffic has the rest of 1. No step takes less than such a mean, and what a tile's last step has of a piece that all
    steps share is at most the third row of it, so the least is met at one end.
    """
    return np.stack(
        [
            part
            for at, rest in ((last, others), (1 - last, 1 - others))
            for part in (rest, at, np.minimum(at - rest, 0))
        ],
        axis=1,
    )


class Demand(NamedTuple):
    """A slice asked for in the steps of a reduction of length ``sink`` (0: in the last step of a tile)."""

    rows: int
    columns: int
    sink: int
    exact: int


class Work(NamedTuple):
    """The slices of ``output`` that one operator computes, each with what it does of its own reduction."""

    base_cost: float
    output: Tensor
    slices: tuple[tuple[Demand, int], ...]


class Load(NamedTuple):
    """The slices (rows, columns, sink) of one tensor that are loaded, and which share of that counts.

    ``beside`` is what others may ask of it (rows, columns) in the same group, where they are not among the slices.
    """

    tensor: Tensor
    slices: tuple[tuple[int, int, int], ...]
    share: float = 1.0
    beside: tuple[tuple[int, int], ...] = ()


class Boxes:
    """The granularities of groups with outputs of a shape in boxes, and the least of pieces in each of them.

    A table of a piece has a column per box, and the rows above; traffic is in elements.
    """

    def __init__(self, problem: Problem, rules: Rules, shape: Tensor) -> None:
        machine, self.shape = problem.machine, shape
        self.machine = machine
        if rules.granularity_is_native:
            w, h = (_ranges(native, _TILE_PARTS) for native in (machine.native_width, machine.native_height))
            k = _ranges(machine.native_width, _STEP_PARTS)
        else:
            shapes = [problem.tensors[operator.output] for operator in problem.operators]
            sinks = [problem.reduction(index) for index, each in enumerate(problem.operators) if each.is_matmul]
            longest = max(shape.width for shape in shapes), max(shape.height for shape in shapes), max(sinks, default=1)
            w, h, k = (_ranges(most, _parts_of(most)) for most in longest)
        w, h = (
            [(first, min(last, most)) for first, last in ranges if first <= most]
            for ranges, most in ((w, shape.width), (h, shape.height))
        )
        every = np.array(list(product(w, h, k)), dtype=np.int64)
        self.w, self.h, self.k = (every[:, axis].T for axis in range(3))  # first and last of each box

    def table(self, piece: Work | Load) -> Floats:
        """Return the table of a piece."""
        table = np.zeros((ROWS, len(self.w[0])))
        if isinstance(piece, Work):
            times = [self._time(piece, demand, reduction) for demand, reduction in piece.slices]
            most = np.max(times, axis=0)
            self._share(table[TIME : TIME + 3], most, [demand.sink for demand, _ in piece.slices])
        else:
            most = self._traffic(piece)
            self._share(table[TRAFFIC : TRAFFIC + 3], most, [sink for _, _, sink in piece.slices])
            for rows, columns, sink in piece.slices:  # each by itself: others may be the same by chance
                size = self._held(rows, self.shape.height, piece.tensor.height, sink, self.h)
                size = size * self._held(columns, self.shape.width, piece.tensor.width, sink, self.w)
                row = HELD + (not sink)
                table[row] = np.maximum(table[row], size)
            table *= piece.share
        return table

    def _share(self, rows: Floats, most: Floats, sinks: list[int]) -> None:
        """Write what a piece takes into the rows: where its slices are asked for in all steps, and which ones share it.

        A slice in the steps of a reduction is computed, or passes by, as much in each as that is long. Several slices
        may be the same in some steps by chance: then nothing is known.
        """
        if not any(sinks):
            rows[1] = most
            return
        rows[0] = most
        rows[2] = most * np.minimum(1.0, self.k[1] / sinks[0]) if len(sinks) == 1 else most

    def outputs(self, stored: int, held: float) -> Floats:
        """Return the table of outputs that are stored, and of what is held whole all the time."""
        table = np.zeros((ROWS, len(self.w[0])))
        table[TRAFFIC + 1] = stored * self.shape.size
        table[HELD:] = held + stored * self.w[0] * self.h[0]
        return table

    def allowed(self, k_limit: float, left_prologue: int, right_prologue: int) -> Mask:
        """Return the boxes in which some granularity is allowed."""
        allowed: Mask = self.k[0] <= k_limit
        sides = (
            (left_prologue, self.w[1], self.shape.width, self.machine.native_width),
            (right_prologue, self.h[1], self.shape.height, self.machine.native_height),
        )
        for reduction, longest, length, native in sides:
            if reduction:
                whole = longest >= min(length, reduction) if reduction <= native else np.zeros_like(allowed)
                allowed &= whole | (self.k[1] >= reduction)
        return allowed

    def _down(self) -> Integers:
        """Return the fewest tiles along a column."""
        tiles: Integers = -(-self.shape.height // self.h[1])
        return tiles

    def _across(self) -> Integers:
        tiles: Integers = -(-self.shape.width // self.w[1])
        return tiles

    def _time(self, work: Work, demand: Demand, reduction: int) -> Floats:
        """Return the least time that a slice takes in all tiles; in each step that asks for it, it is computed."""
        machine, output, sink = self.machine, work.output, demand.sink
        rows = {TILE: self.shape.height, STEP: sink, FULL: output.height}[demand.rows] / machine.native_height
        columns = {TILE: self.shape.width, STEP: sink, FULL: output.width}[demand.columns] / machine.native_width
        first = self.h[0] / machine.native_height if demand.rows == TILE else None
        down = _native(rows, self._down(), first, is_exact=demand.exact == ROWS_EXACT)
        first = self.w[0] / machine.native_width if demand.columns == TILE else None
        across = _native(columns, self._across(), first, is_exact=demand.exact == COLUMNS_EXACT)
        again = sink and reduction != STEP and STEP not in (demand.rows, demand.columns)
        time: Floats = work.base_cost * down * across * (-(-sink // self.k[1]) if again else 1)
        return time

    def _traffic(self, load: Load) -> Floats:
        """Return the fewest elements loaded: the tensor once, or in every tile what passes by in several steps."""
        tensor, slices, _, beside = load
        least = np.full(len(self.w[0]), float(tensor.size))
        whole = np.zeros(len(self.w[0]), dtype=np.bool_)
        for rows, columns, sink in slices:
            whole |= self._may_be_full(rows, self.shape.height, sink, self.h) & self._may_be_full(
                columns, self.shape.width, sink, self.w
            )
        for rows, columns in beside if tensor.size <= self.machine.capacity else ():
            # A step that has all of the tensor, whoever asked for it, leaves nothing to load for the next one.
            whole |= self._may_be_full(rows, self.shape.height, tensor.height, self.h) & self._may_be_full(
                columns, self.shape.width, tensor.width, self.w
            )
        down, across = self._down(), self._across()
        for rows, columns, sink in slices:
            if STEP not in (rows, columns):
                continue
            # Of the parts that pass by in every tile, two may be there by chance, as other slices.
            chances = 2 * (len(slices) > 1 or any(code[columns == STEP] == TILE for code in beside))
            if rows == STEP:
                rest = sink - chances * self.h[1]
                extent = self.shape.width * down if columns == TILE else tensor.width * down * across
            else:
                rest = sink - chances * self.w[1]
                extent = self.shape.height * across if rows == TILE else tensor.height * down * across
            passes = np.maximum(rest, 0) * extent
            least = np.where((sink > self.k[1]) & ~whole, np.maximum(least, passes), least)
        return least

    def _may_be_full(self, code: int, length: int, sink: int, tiles: Integers) -> Mask:
        """Return where a slice may be the whole along one axis."""
        if code == STEP:
            may: Mask = self.k[1] >= sink
        elif code == TILE:
            may = tiles[1] >= length
        else:
            may = np.ones(len(self.k[1]), dtype=np.bool_)
        return may

    def _held(self, code: int, output: int, length: int, sink: int, tiles: Integers) -> Integers:
        """Return the least length along one axis of a slice, in the first step that asks for it."""
        if code == FULL:
            return np.full(len(self.k[0]), length)
        smallest: Integers = np.minimum(tiles[0], output) if code == TILE else np.minimum(self.k[0], sink)
        return smallest


def _native(extent: float, tiles: Integers, first: Floats | None, *, is_exact: bool) -> Floats:
    """Return the fewest native tiles along one axis in all tiles; a slice that follows them extends so far in all.

    Then ``first`` is the least length of all tiles but the last one.
    """
    if not is_exact:
        extent = math.ceil(extent)
    if first is None:
        return tiles.astype(np.float64) * extent
    found: Floats = np.maximum(0 if is_exact else (tiles - 1) * np.ceil(first) + 1, float(extent))
    return found


def _parts_of(most: int) -> tuple[float, ...]:
    return (0, *(1 / parts for parts in _DIVISORS if parts == 1 or most > _SHORTEST * parts))


def _ranges(native: int, parts: tuple[float, ...]) -> list[tuple[int, int]]:
    """Return ranges from 1 to the native length, or the longest one."""
    first = sorted({max(1, round(native * part)) for part in parts})
    return list(zip(first, [*(following - 1 for following in first[1:]), native], strict=True))
