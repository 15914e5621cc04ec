"""Schedules executed on real arrays, slice by slice, by a machine that refuses what the plan has not made resident."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.errors import DefectError, InputError
from shorthaul.tensor.model import Operator, Problem, Rules
from shorthaul.tensor.plan import Execution, Plan, Subgraph

Array = NDArray[np.float64]
#: Rows from, rows to, columns from, columns to (ends excluded).
Slice = tuple[int, int, int, int]

#: The largest relative difference between a schedule's output and the direct evaluation: summation order only.
_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an execution moved and made: ``loads``, ``stores`` and ``peak`` in elements, ``outputs`` by tensor."""

    loads: int
    stores: int
    peak: int
    largest_error: float
    outputs: dict[int, Array]

    def document(self) -> Execution:
        """Return the outcome as a JSON object, without the arrays."""
        return {
            "loads": self.loads,
            "stores": self.stores,
            "peak": self.peak,
            "largest_error": self.largest_error,
            "outputs": sorted(self.outputs),
        }


def execute(problem: Problem, plan: Plan, rules: Rules, *, seed: int = 0) -> Outcome:
    """Execute ``plan`` on random arrays and compare every graph output with the direct evaluation of the graph.

    Raises :class:`InputError` where the plan wants what is in neither memory, more than fast memory holds, or to
    leave a graph output behind; :class:`DefectError` if an output differs from the direct evaluation.
    """
    arrays = random_inputs(problem, seed)
    machine = _Machine(problem, arrays)
    for index, subgraph in enumerate(plan.subgraphs):
        _SubgraphRun(problem, machine, subgraph, rules, index, _needed_later(problem, plan, index)).execute()
    expected = evaluate(problem, arrays)
    largest_error = 0.0
    outputs = {}
    for tensor in problem.graph_outputs:
        outputs[tensor] = machine.slow_tensor(tensor, f"the end, graph output {tensor}")
        scale = max(float(np.abs(expected[tensor]).max()), 1e-300)
        largest_error = max(largest_error, float(np.abs(outputs[tensor] - expected[tensor]).max()) / scale)
    if not largest_error <= _TOLERANCE:
        raise DefectError(f"the executed plan is off by {largest_error:g} from the direct evaluation")
    return Outcome(machine.loads, machine.stores, machine.peak, largest_error, outputs)


def random_inputs(problem: Problem, seed: int) -> dict[int, Array]:
    """Return random arrays for the graph inputs, scaled so that long products stay near 1."""
    generator = np.random.default_rng(seed)
    arrays = {}
    for tensor in problem.graph_inputs:
        shape = problem.tensors[tensor]
        arrays[tensor] = generator.standard_normal((shape.height, shape.width)) / np.sqrt(shape.height)
    return arrays


def evaluate(problem: Problem, inputs: dict[int, Array]) -> dict[int, Array]:
    """Return every tensor, evaluated whole and in order."""
    arrays = dict(inputs)
    for index in problem.topological_order:
        operator = problem.operators[index]
        values = [arrays[tensor] for tensor in operator.inputs]
        arrays[operator.output] = values[0] @ values[1] if operator.is_matmul else pointwise(index, values)
    return arrays


def pointwise(index: int, values: list[Array]) -> Array:
    """Return the fixed nonlinear function that stands for Pointwise operator ``index``; not symmetric in its inputs."""
    total = sum((position + 1.0) * value for position, value in enumerate(values))
    result: Array = np.tanh(total + 0.1 * (index % 7)) + 0.25 * total
    return result


def _needed_later(problem: Problem, plan: Plan, index: int) -> frozenset[int]:
    """Return the tensors that later subgraphs take from memory before one makes them anew."""
    needed: set[int] = set()
    made: set[int] = set()
    for subgraph in plan.subgraphs[index + 1 :]:
        operators = [problem.operators[operator] for operator in subgraph.operators]
        made |= {operator.output for operator in operators}
        needed |= {tensor for operator in operators for tensor in operator.inputs} - made
    return frozenset(needed)


class _Machine:
    """Slow memory, the whole tensors resident in fast memory, and the counts of what moved."""

    def __init__(self, problem: Problem, inputs: dict[int, Array]) -> None:
        self.problem = problem
        self.resident: dict[int, Array] = {}
        self.loads = self.stores = self.peak = 0
        self._slow = dict(inputs)
        self._written: dict[int, int] = {}

    def load(self, tensor: int, part: Slice, place: str) -> Array:
        array = self.slow_tensor(tensor, place)[part[0] : part[1], part[2] : part[3]]
        self.loads += array.size
        return array.copy()

    def slow_tensor(self, tensor: int, place: str) -> Array:
        """Return a tensor that is in slow memory whole."""
        whole = self.problem.tensors[tensor].size
        if tensor not in self._slow or self._written.get(tensor, whole) < whole:
            raise InputError(f"tensor {tensor} is neither in slow memory nor resident", place=place)
        return self._slow[tensor]

    def store(self, tensor: int, part: Slice, value: Array) -> None:
        if tensor not in self._slow:
            shape = self.problem.tensors[tensor]
            self._slow[tensor] = np.full((shape.height, shape.width), np.nan)
            self._written[tensor] = 0
        self._slow[tensor][part[0] : part[1], part[2] : part[3]] = value
        self.stores += value.size
        # Storing a tensor once more, after recomputing it, cannot make it more than whole.
        size = self.problem.tensors[tensor].size
        self._written[tensor] = min(size, self._written.get(tensor, size) + value.size)

    def hold(self, elements: int, place: str) -> None:
        """Take note of what fast memory holds in this step; refuse more than its capacity."""
        self.peak = max(self.peak, elements)
        if elements > self.problem.machine.capacity:
            raise InputError(
                "the working set exceeds fast memory",
                place=place,
                value=f"{elements} elements",
                allowed=f"up to {self.problem.machine.capacity:g}",
            )


class _SubgraphRun:
    """One subgraph while it executes."""

    def __init__(
        self,
        problem: Problem,
        machine: _Machine,
        subgraph: Subgraph,
        rules: Rules,
        index: int,
        needed_later: frozenset[int],
    ) -> None:
        self.problem, self.machine, self.subgraph, self.rules, self.index = problem, machine, subgraph, rules, index
        self.maker = {problem.operators[operator].output: operator for operator in subgraph.operators}
        used = {tensor for operator in subgraph.operators for tensor in problem.operators[operator].inputs}
        self.retained = frozenset(subgraph.retained)
        self.outputs = [
            tensor for tensor in self.maker if tensor not in used or tensor in self.retained or tensor in needed_later
        ]
        self.stored = [tensor for tensor in self.outputs if tensor not in self.retained]
        self.output_side = self._output_side()
        made = [self.maker[tensor] for tensor in self.output_side if tensor in self.maker]
        self.sinks = [operator for operator in made if problem.operators[operator].is_matmul]
        # What is kept for the next subgraph: made or loaded here, or simply kept on.
        self.kept: dict[int, Array] = {}
        for tensor in self.retained:
            if tensor in machine.resident and tensor not in self.maker:
                self.kept[tensor] = machine.resident[tensor]
            else:
                shape = problem.tensors[tensor]
                self.kept[tensor] = np.full((shape.height, shape.width), np.nan)
        self.slices: dict[tuple[int, Slice], Array] = {}
        self.sums: dict[int, Array] = {}
        self.memo: dict[tuple[int, Slice], Array] = {}
        self.place = ""

    def _output_side(self) -> list[int]:
        """Return the tensors reached from an output through Pointwise operators only, sources before their users."""
        reached: list[int] = []
        seen: set[int] = set()
        pending = [(tensor, False) for tensor in self.outputs]
        while pending:
            tensor, is_done = pending.pop()
            if is_done:
                reached.append(tensor)
            elif tensor not in seen:
                seen.add(tensor)
                operator = self._maker_of(tensor)
                pending.append((tensor, True))
                if operator is not None and not operator.is_matmul:
                    pending += [(other, False) for other in operator.inputs]
        return reached

    def execute(self) -> None:
        """Execute all tiles and leave what is retained in fast memory."""
        shape, size = self.problem.tensors[self.outputs[0]], self.subgraph.granularity
        columns = -(-shape.width // size.w)
        tiles = self.subgraph.traversal
        order = range(columns * -(-shape.height // size.h)) if tiles is None else tiles
        steps = max((-(-self.problem.reduction(sink) // size.k) for sink in self.sinks), default=1)
        for position, tile in enumerate(order):
            top, left = tile // columns * size.h, tile % columns * size.w
            area = (top, min(top + size.h, shape.height), left, min(left + size.w, shape.width))
            if tiles is None and self.rules.default_order_flushes:
                self.slices.clear()
            for step in range(steps):
                self.place = f"subgraph {self.index}, step {position * steps + step}"
                self._step(area, step, is_last=step == steps - 1)
        for tensor, array in self.kept.items():
            if np.isnan(array).any():
                raise InputError(f"tensor {tensor} is retained but never whole in fast memory", place=self.place)
        self.machine.resident = self.kept

    def _step(self, area: Slice, step: int, *, is_last: bool) -> None:
        k = self.subgraph.granularity.k
        parts = {sink: (step * k, min((step + 1) * k, self.problem.reduction(sink))) for sink in self.sinks}
        active = {sink: part for sink, part in parts.items() if part[0] < part[1]}
        self._load(self._wanted(area, active, is_last=is_last))
        self._hold(area)
        self.memo.clear()
        for sink, (start, stop) in active.items():
            left, right = self.problem.operators[sink].inputs
            product = self._value(left, (area[0], area[1], start, stop)) @ self._value(right, (start, stop, *area[2:]))
            self.sums[sink] = product if start == 0 else self.sums[sink] + product
        if is_last:
            finished = self._finish_tile(area)
            for tensor in self.outputs:
                if tensor in self.retained:
                    self.kept[tensor][area[0] : area[1], area[2] : area[3]] = finished[tensor]
                else:
                    self.machine.store(tensor, area, finished[tensor])

    def _wanted(self, area: Slice, active: dict[int, tuple[int, int]], *, is_last: bool) -> set[tuple[int, Slice]]:
        """Return the slices that this step takes from outside the subgraph."""
        wanted: set[tuple[int, Slice]] = set()
        seen: set[tuple[int, Slice]] = set()
        for sink, (start, stop) in active.items():
            left, right = self.problem.operators[sink].inputs
            self._want(left, (area[0], area[1], start, stop), wanted, seen)
            self._want(right, (start, stop, area[2], area[3]), wanted, seen)
        if is_last:
            wanted |= {(tensor, area) for tensor in self.output_side if tensor not in self.maker}
        return wanted

    def _want(self, tensor: int, part: Slice, wanted: set[tuple[int, Slice]], seen: set[tuple[int, Slice]]) -> None:
        pending = [(tensor, part)]
        while pending:
            item = pending.pop()
            if item in seen:
                continue
            seen.add(item)
            operator = self._maker_of(item[0])
            if operator is None:
                wanted.add(item)
            else:
                pending += self._sources(operator, item[1])

    def _sources(self, operator: Operator, part: Slice) -> list[tuple[int, Slice]]:
        """Return the slices from which an operator that is no sink computes a slice."""
        if not operator.is_matmul:
            return [(tensor, part) for tensor in operator.inputs]
        left, right = operator.inputs
        length = self.problem.tensors[left].width
        return [(left, (part[0], part[1], 0, length)), (right, (0, length, part[2], part[3]))]

    def _maker_of(self, tensor: int) -> Operator | None:
        return self.problem.operators[self.maker[tensor]] if tensor in self.maker else None

    def _load(self, wanted: set[tuple[int, Slice]]) -> None:
        """Bring the wanted slices into fast memory; those of the step before are there already, others are dropped."""
        before, self.slices = self.slices, {}
        for tensor, part in sorted(wanted):
            if tensor in self.machine.resident:
                continue
            shape = self.problem.tensors[tensor]
            whole = before.get((tensor, (0, shape.height, 0, shape.width)))
            if (tensor, part) in before:
                array = before[tensor, part]
            elif whole is not None:
                array = whole[part[0] : part[1], part[2] : part[3]]
            else:
                array = self.machine.load(tensor, part, self.place)
            self.slices[tensor, part] = array
            if tensor in self.kept:
                self.kept[tensor][part[0] : part[1], part[2] : part[3]] = array

    def _hold(self, area: Slice) -> None:
        tile = (area[1] - area[0]) * (area[3] - area[2])
        held = sum(array.size for (tensor, _), array in self.slices.items() if tensor not in self.kept)
        held += tile * len(self.stored) + sum(array.size for array in self.machine.resident.values())
        held += sum(array.size for tensor, array in self.kept.items() if array is not self.machine.resident.get(tensor))
        self.machine.hold(held, self.place)

    def _read(self, tensor: int, part: Slice) -> Array:
        """Return a slice from fast memory; refuse what is not there."""
        if tensor in self.machine.resident:
            return self.machine.resident[tensor][part[0] : part[1], part[2] : part[3]]
        if (tensor, part) not in self.slices:
            rows, columns = f"rows {part[0]} to {part[1]}", f"columns {part[2]} to {part[3]}"
            raise InputError(f"{rows}, {columns} of tensor {tensor} are not in fast memory", place=self.place)
        return self.slices[tensor, part]

    def _value(self, tensor: int, part: Slice) -> Array:
        """Return a slice that a MatMul of this step takes: read, or computed on the way."""
        pending = [(tensor, part)]
        while pending:
            item = pending[-1]
            operator = self._maker_of(item[0])
            sources = [] if operator is None else self._sources(operator, item[1])
            missing = [source for source in sources if source not in self.memo]
            if missing:
                pending += missing
                continue
            pending.pop()
            if item not in self.memo:
                self.memo[item] = self._read(*item) if operator is None else self._computed(item[0], sources)
        return self.memo[tensor, part]

    def _computed(self, tensor: int, sources: list[tuple[int, Slice]]) -> Array:
        index, values = self.maker[tensor], [self.memo[source] for source in sources]
        return values[0] @ values[1] if self.problem.operators[index].is_matmul else pointwise(index, values)

    def _finish_tile(self, area: Slice) -> dict[int, Array]:
        """Return the finished tile of every tensor on the output side."""
        finished: dict[int, Array] = {}
        for tensor in self.output_side:
            operator = self._maker_of(tensor)
            if operator is None:
                finished[tensor] = self._read(tensor, area)
            elif operator.is_matmul:
                finished[tensor] = self.sums[self.maker[tensor]]
            else:
                finished[tensor] = pointwise(self.maker[tensor], [finished[other] for other in operator.inputs])
        return finished
