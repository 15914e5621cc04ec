"""The steps of one subgraph, replayed: what each one computes, loads, stores and holds.

This is the specification. A step asks the subgraph's outputs for their tile; the demand walks up through the
operators to the tensors that have to be loaded. The walk is the same in every step, only the rows and columns differ,
so it is made once (:func:`walk`) and its slices are then followed through all steps as arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.model import Problem
from shorthaul.tensor.plan import Granularity

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Steps replayed at once, at least those of a tile: their arrays stay in the processor's cache.
_CHUNK: Final = 1 << 15
#: Steps of a tile that begin where the tile does, along its rows and columns, and those behind them.
_MEETING: Final = 4


class Extent(StrEnum):
    """Which rows, or columns, of a tensor a slice covers."""

    TILE = "tile"  #: those of the output tile
    STEP = "step"  #: those of the reduction step
    FULL = "full"  #: all


class Marking(StrEnum):
    """Which axis of a slice is charged unpadded."""

    NONE = "none"
    ROWS = "rows"  #: of a slice asked as the right input of a MatMul
    COLUMNS = "columns"  #: of a slice asked as the left input of a MatMul


@dataclass(frozen=True, slots=True)
class Demand:
    """A slice of ``tensor`` asked for in every step of the MatMul ``sink``; in each tile's last step if it is None."""

    tensor: int
    rows: Extent
    columns: Extent
    sink: int | None
    marking: Marking


@dataclass(frozen=True, slots=True)
class Work:
    """A slice of the output of ``operator`` that is computed.

    ``reduction`` is STEP for a sink MatMul, FULL for a MatMul above another, None for a Pointwise operator.
    """

    operator: int
    demand: Demand
    reduction: Extent | None


#: What a walk finds.
Walk = tuple[list[Work], list[Demand]]


def walk(problem: Problem, inside: frozenset[int], outputs: Iterable[int]) -> Walk:
    """Return what the operators ``inside`` compute for a tile of ``outputs``, and what has to be there for it."""
    works: list[Work] = []
    inputs: list[Demand] = []
    pending = [Demand(tensor, Extent.TILE, Extent.TILE, None, Marking.NONE) for tensor in outputs]
    seen = set(pending)
    while pending:
        demand = pending.pop()
        index = problem.producer[demand.tensor]
        if index is None or index not in inside:
            inputs.append(demand)
            continue
        operator = problem.operators[index]
        if not operator.is_matmul:
            works.append(Work(index, demand, None))
            asked = [
                Demand(tensor, demand.rows, demand.columns, demand.sink, demand.marking) for tensor in operator.inputs
            ]
        else:
            # A demand without a sink came through Pointwise operators only: this MatMul is a sink itself.
            is_sink = demand.sink is None
            sink = index if is_sink else demand.sink
            reduction = Extent.STEP if is_sink else Extent.FULL
            works.append(Work(index, replace(demand, sink=sink), reduction))
            left, right = operator.inputs
            asked = [
                Demand(left, demand.rows, reduction, sink, Marking.COLUMNS),
                Demand(right, reduction, demand.columns, sink, Marking.ROWS),
            ]
        fresh = [item for item in dict.fromkeys(asked) if item not in seen]
        seen.update(fresh)
        pending += fresh
    return works, inputs


@dataclass(frozen=True, slots=True)
class Grid:
    """The tiles of a subgraph (``rows`` x ``columns`` of them, numbered row by row) and the steps of each."""

    height: int
    width: int
    granularity: Granularity
    rows: int
    columns: int
    steps_per_tile: int

    @property
    def tiles(self) -> int:
        """The number of tiles."""
        return self.rows * self.columns

    @property
    def steps(self) -> int:
        """The number of steps of the whole subgraph."""
        return self.tiles * self.steps_per_tile


def grid(problem: Problem, walked: Walk, outputs: Sequence[int], granularity: Granularity) -> Grid:
    """Return the grid of a subgraph whose ``outputs`` (at least one) have one shape."""
    works, _ = walked
    shape = problem.tensors[outputs[0]]
    longest = max((problem.reduction(work.operator) for work in works if work.reduction is Extent.STEP), default=1)
    return Grid(
        height=shape.height,
        width=shape.width,
        granularity=granularity,
        rows=-(-shape.height // granularity.h),
        columns=-(-shape.width // granularity.w),
        steps_per_tile=-(-longest // granularity.k),
    )


@dataclass(frozen=True, slots=True)
class StepTrace:
    """What happens in steps of which each stands for ``count`` equal ones in a row, in the order of execution.

    ``tile`` is the number of the output tile, ``loads`` and ``stores`` are elements moved, ``working_set`` is
    elements held, ``compute`` and ``latency`` are times.
    """

    count: Integers
    tile: Integers
    compute: Floats
    loads: Integers
    stores: Integers
    working_set: Integers
    latency: Floats


def joined(traces: Sequence[StepTrace]) -> StepTrace:
    """Return the trace of consecutive chunks as one, every step by itself."""
    count = np.concatenate([trace.count for trace in traces])

    def each(name: str) -> NDArray[Any]:
        return np.repeat(np.concatenate([getattr(trace, name) for trace in traces]), count)

    names = ("tile", "compute", "loads", "stores", "working_set", "latency")
    return StepTrace(np.ones(count.sum(), np.int64), *map(each, names))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a subgraph finds in fast memory, leaves there and stores."""

    outputs: tuple[int, ...]
    resident: frozenset[int]
    retained: frozenset[int]
    #: Fast memory is flushed between spatial tiles.
    flushes: bool


def replay_steps(
    problem: Problem,
    inside: frozenset[int],
    walked: Walk,
    grid: Grid,
    traversal: Integers | None,
    around: Surroundings,
) -> Iterator[StepTrace]:
    """Yield the trace of all steps, a chunk at a time.

    ``inside`` are the subgraph's operators; ``traversal`` is the order of its tiles, None for row by row.
    """
    works, inputs = walked
    loaded = [demand for demand in inputs if demand.tensor not in around.resident]
    stored = [tensor for tensor in around.outputs if tensor not in around.retained]
    held = held_throughout(problem, inside, around)
    pivots = _differing_steps(problem, walked, grid)
    at_once = max(1, _CHUNK // len(pivots))
    for first in range(0, grid.tiles, at_once):
        tiles = first, min(first + at_once, grid.tiles)
        steps = _Steps(problem, grid, traversal, pivots, tiles, meets=_may_meet(walked))
        compute = _compute(problem, works, steps)
        loads, input_slices = _loads(problem, loaded, steps, around)
        tile_size = steps.tile_size()
        stores = np.where(steps.is_last, tile_size * len(stored), 0)
        working_set = held + tile_size * len(stored) + input_slices
        latency = np.maximum(compute, (loads + stores) / problem.machine.bandwidth)
        own = slice(len(steps.tile) - len(steps.count), None)
        yield StepTrace(
            count=steps.count,
            tile=steps.tile[own],
            compute=compute[own],
            loads=loads[own],
            stores=stores[own],
            working_set=working_set[own],
            latency=latency[own],
        )


def steps_replayed(problem: Problem, walked: Walk, grid: Grid) -> int:
    """Return how many steps are replayed at most; in every tile those where a slice may meet one of it count."""
    of_a_tile = len(_differing_steps(problem, walked, grid)) + (_MEETING if _may_meet(walked) else 0)
    return grid.tiles * min(of_a_tile, grid.steps_per_tile)


def _differing_steps(problem: Problem, walked: Walk, grid: Grid) -> Integers:
    """Return the steps of a tile that may differ from the step before them, whatever the tile.

    Those are the first ones, which the tile before may have prepared, and those around the end of a reduction: its
    last part is shorter, then it is not asked for, then nothing of it is left from the step before.
    """
    ends = [
        -(-problem.reduction(work.operator) // grid.granularity.k)
        for work in walked[0]
        if work.reduction is Extent.STEP
    ]
    pivots = np.array(sorted({0, 1, *(end + after for end in ends for after in (-1, 0, 1))}), dtype=np.int64)
    return pivots[pivots < grid.steps_per_tile]


def _may_meet(walked: Walk) -> bool:
    """True if one slice of a tensor may follow the tile along an axis that another one follows the step along."""
    works, inputs = walked
    rows: dict[int, set[Extent]] = {}
    columns: dict[int, set[Extent]] = {}
    for demand in [*inputs, *(work.demand for work in works)]:
        rows.setdefault(demand.tensor, set()).add(demand.rows)
        columns.setdefault(demand.tensor, set()).add(demand.columns)
    return any({Extent.TILE, Extent.STEP} <= extents for extents in [*rows.values(), *columns.values()])


def held_throughout(problem: Problem, inside: frozenset[int], around: Surroundings) -> int:
    """Return the size of the tensors that stay whole in fast memory during the subgraph.

    A tensor resident from before and retained again counts once if it is only named again, twice if it is produced
    again (the old one may still be read while the new one is made).
    """
    produced = {problem.operators[index].output for index in inside}
    size = sum(problem.tensors[tensor].size for tensor in around.resident)
    named_again = around.resident - produced
    return size + sum(problem.tensors[tensor].size for tensor in around.retained if tensor not in named_again)


@dataclass(frozen=True, slots=True)
class _Slices:
    """Rows ``top`` to ``bottom`` and columns ``left`` to ``right`` (ends excluded) of one tensor, for each step.

    ``present`` says in which steps the slice is asked for.
    """

    present: Mask
    top: Integers
    bottom: Integers
    left: Integers
    right: Integers

    def size(self) -> Integers:
        return (self.bottom - self.top) * (self.right - self.left)

    def is_same(self, other: _Slices) -> Mask:
        """Where both are asked for and cover the same rows and columns."""
        same: Mask = self.present & other.present
        same &= (self.top == other.top) & (self.bottom == other.bottom)
        same &= (self.left == other.left) & (self.right == other.right)
        return same

    def before(self, flushed: Mask) -> _Slices:
        """Return for each step the slice of the step before it, absent where fast memory was ``flushed`` between."""
        arrays = (np.roll(values, 1) for values in (self.top, self.bottom, self.left, self.right))
        return _Slices(np.roll(self.present, 1) & ~flushed, *arrays)


class _Steps:
    """Steps of consecutive tiles, and the one before them if there is one: which slice is which.

    Of equal steps in a row only the first one is there: each of ``pivots``, and where a slice may be one of the tile
    (``meets``) the step that begins where the tile does, and the next one.
    """

    def __init__(
        self,
        problem: Problem,
        grid: Grid,
        traversal: Integers | None,
        pivots: Integers,
        tiles: tuple[int, int],
        *,
        meets: bool,
    ) -> None:
        self.problem = problem
        self.grid = grid
        size, many = grid.granularity, grid.steps_per_tile
        place = np.arange(*tiles, dtype=np.int64)
        number = np.add.outer(place * many, pivots).ravel()
        if meets:
            tile = place if traversal is None else traversal[place]
            tops, lefts = (tile // grid.columns) * size.h, (tile % grid.columns) * size.w
            met = [(start // size.k + after, start % size.k == 0) for start in (tops, lefts) for after in (0, 1)]
            number = np.unique(
                np.concatenate([number, *((place * many + step)[begins & (step < many)] for step, begins in met)])
            )
        self.count = np.diff(number, append=tiles[1] * many)
        if tiles[0]:
            number = np.concatenate([[tiles[0] * many - 1], number])
        position, self.k_step = np.divmod(number, many)
        self.tile = position if traversal is None else traversal[position]
        self.is_last: Mask = self.k_step == many - 1
        self.is_first_of_tile = self.k_step == 0
        self._tile_row, self._tile_column = np.divmod(self.tile, grid.columns)
        self._none = np.zeros_like(number)

    def tile_size(self) -> Integers:
        top, bottom = self._range(Extent.TILE, self._tile_row, self.grid.granularity.h, self.grid.height, None)
        left, right = self._range(Extent.TILE, self._tile_column, self.grid.granularity.w, self.grid.width, None)
        return (bottom - top) * (right - left)

    def slices(self, demand: Demand) -> _Slices:
        """Return rows and columns of ``demand`` in every step."""
        tensor = self.problem.tensors[demand.tensor]
        size = self.grid.granularity
        top, bottom = self._range(demand.rows, self._tile_row, size.h, tensor.height, demand.sink)
        left, right = self._range(demand.columns, self._tile_column, size.w, tensor.width, demand.sink)
        return _Slices(self.is_asked(demand.sink), top, bottom, left, right)

    def is_asked(self, sink: int | None) -> Mask:
        """Where the MatMul ``sink`` is not done yet; the last step of every tile for None."""
        if sink is None:
            return self.is_last
        start, stop = self.reduction_step(sink)
        return np.less(start, stop)

    def _range(
        self, extent: Extent, tile_index: Integers, tile_length: int, length: int, sink: int | None
    ) -> tuple[Integers, Integers]:
        if extent is Extent.FULL:
            return self._none, self._none + length
        if extent is Extent.STEP:
            assert sink is not None, "only a sink MatMul has reduction steps"
            return self.reduction_step(sink)
        start = tile_index * tile_length
        return start, np.minimum(start + tile_length, length)

    def reduction_step(self, sink: int) -> tuple[Integers, Integers]:
        """Return the part of the reduction of ``sink`` that each step does."""
        start = self.k_step * self.grid.granularity.k
        return start, np.minimum(start + self.grid.granularity.k, self.problem.reduction(sink))


def _loads(problem: Problem, demands: list[Demand], steps: _Steps, around: Surroundings) -> tuple[Integers, Integers]:
    """Return for each step the elements loaded and the elements that its input slices take in fast memory.

    A slice that the step before used is there already, and so is every slice of a tensor that it used whole.
    """
    loads = np.zeros(len(steps.tile), dtype=np.int64)
    held = np.zeros(len(steps.tile), dtype=np.int64)
    flushed = steps.is_first_of_tile.copy() if around.flushes else np.zeros(len(steps.tile), dtype=np.bool_)
    flushed[0] = True  # nothing came before the first step, and the predecessor of a chunk is not counted
    for tensor in sorted({demand.tensor for demand in demands}):
        slices = [steps.slices(demand) for demand in demands if demand.tensor == tensor]
        before = [item.before(flushed) for item in slices]
        whole_before = np.zeros(len(steps.tile), dtype=np.bool_)
        for item in before:
            whole_before |= item.present & (item.size() == problem.tensors[tensor].size)
        for number, item in enumerate(slices):
            is_distinct = item.present.copy()
            for earlier in slices[:number]:
                is_distinct &= ~item.is_same(earlier)
            is_there = whole_before.copy()
            for other in before:
                is_there |= item.is_same(other)
            size = np.where(is_distinct, item.size(), 0)
            loads += np.where(is_there, 0, size)
            if tensor not in around.retained:  # one that is being retained is held whole anyway
                held += size
    return loads, held


def _compute(problem: Problem, works: list[Work], steps: _Steps) -> Floats:
    """Return for each step the time its operators take."""
    total = np.zeros(len(steps.tile))
    for operator in sorted({work.operator for work in works}):
        mine = [work for work in works if work.operator == operator]
        slices = [steps.slices(work.demand) for work in mine]
        charges = [_charge(problem, work, item, steps) for work, item in zip(mine, slices, strict=True)]
        reductions = [_reduction(problem, work, steps) for work in mine]
        for number in range(len(mine)):
            for earlier in range(number):
                same = slices[number].is_same(slices[earlier]) & np.logical_and(
                    reductions[number][0] == reductions[earlier][0], reductions[number][1] == reductions[earlier][1]
                )
                # Computed once, at the dearest of its charges: the later of the two is merged into the earlier.
                charges[earlier] = np.where(same, np.maximum(charges[earlier], charges[number]), charges[earlier])
                charges[number] = np.where(same, 0.0, charges[number])
                slices[number] = replace(slices[number], present=slices[number].present & ~same)
        for charge in charges:
            total += charge
    return total


def _reduction(problem: Problem, work: Work, steps: _Steps) -> tuple[Integers | int, Integers | int]:
    if work.reduction is None:
        return 0, 0
    if work.reduction is Extent.FULL:
        return 0, problem.reduction(work.operator)
    return steps.reduction_step(work.operator)


def _charge(problem: Problem, work: Work, slices: _Slices, steps: _Steps) -> Floats:
    """Return for each step the time of one operator's slice, 0 where it is not asked for.

    A slice smaller than the native tile pays for the whole tile, except along the marked axis.
    """
    machine = problem.machine
    rows: Floats = (slices.bottom - slices.top) / machine.native_height
    columns: Floats = (slices.right - slices.left) / machine.native_width
    if work.demand.marking is not Marking.ROWS:
        rows = np.ceil(rows)
    if work.demand.marking is not Marking.COLUMNS:
        columns = np.ceil(columns)
    part: Floats | float = 1.0
    if work.reduction is Extent.STEP:
        start, stop = steps.reduction_step(work.operator)
        part = (stop - start) / problem.reduction(work.operator)
    cost = problem.operators[work.operator].base_cost * part * rows * columns
    return np.where(slices.present, cost, 0.0)
