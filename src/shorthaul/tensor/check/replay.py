"""Replay of a schedule: every rule it breaks, and what it costs. Shares no code with the search."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.errors import InputError
from shorthaul.tensor.check.likeness import likeness
from shorthaul.tensor.check.steps import (
    Grid,
    StepTrace,
    Surroundings,
    grid,
    joined,
    replay_steps,
    steps_replayed,
    walk,
)
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan, Subgraph

#: Steps that differ above which a subgraph's replay is refused: it would take hours.
LARGEST_REPLAY: Final = 10**9
#: Steps up to which the trace of a subgraph is kept, not only its totals.
LARGEST_TRACE: Final = 1 << 20
#: A claimed latency may differ from the replay's by this fraction without being remarked on.
_CLAIM_TOLERANCE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class SubgraphReplay:
    """One subgraph as the replay sees it: totals, and the trace of its steps if there are at most 2^20.

    ``compute`` and ``latency`` are times, ``loads``, ``stores`` and ``peak`` elements. ``inputs`` are the tensors used
    and not produced inside, ``outputs`` those stored or retained.
    """

    grid: Grid
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    resident: frozenset[int]
    retained: frozenset[int]
    compute: float
    loads: int
    stores: int
    peak: int
    latency: float
    trace: StepTrace | None


@dataclass(frozen=True, slots=True)
class Replay:
    """A plan as the replay sees it; ``subgraphs`` has None where a subgraph cannot be replayed."""

    violations: tuple[Violation, ...]
    remarks: tuple[str, ...]
    subgraphs: tuple[SubgraphReplay | None, ...]

    @property
    def cost(self) -> Cost | None:
        """Latency, traffic and peak of the plan; None if a subgraph cannot be replayed or there is none."""
        done = [subgraph for subgraph in self.subgraphs if subgraph is not None]
        if not done or len(done) < len(self.subgraphs):
            return None
        return Cost(
            latency=math.fsum(subgraph.latency for subgraph in done),
            traffic=sum(subgraph.loads + subgraph.stores for subgraph in done),
            peak=max(subgraph.peak for subgraph in done),
        )

    def report(self) -> CheckReport:
        """Return violations, remarks and cost, with every subgraph's latency as the replay sees it."""
        latencies = [None if subgraph is None else subgraph.latency for subgraph in self.subgraphs]
        return CheckReport(self.violations, self.cost, self.remarks, {"subgraph_latencies": latencies})


def replay(problem: Problem, plan: Plan, rules: Rules) -> Replay:
    """Return every violation of ``plan`` and what each of its subgraphs does, step by step.

    Raises :class:`InputError` if a granularity makes more steps than can be replayed.
    """
    violations: list[Violation] = []
    remarks: list[str] = []
    done: list[SubgraphReplay | None] = []
    in_slow_memory = set(problem.graph_inputs)
    resident: frozenset[int] = frozenset()
    runs = _Runs(problem, plan)
    known: dict[Hashable, SubgraphReplay] = {}
    for index, subgraph in enumerate(plan.subgraphs):
        flow = _Flow(problem, rules, runs, index, subgraph, resident)
        violations += _broken_structure(problem, subgraph, rules, index)
        violations += flow.broken_rules(in_slow_memory)
        found = _replay_subgraph(problem, subgraph, rules, flow, index, known)
        if isinstance(found, Violation):
            violations.append(found)
        done.append(found if isinstance(found, SubgraphReplay) else None)
        if isinstance(found, SubgraphReplay):
            violations += _over_capacity(problem, found, index)
            remarks += _wrong_claim(subgraph, found.latency, index)
        if len(set(subgraph.retained)) < len(subgraph.retained):
            remarks.append(f"subgraph {index}: a tensor is named twice in tensors_to_retain")
        in_slow_memory |= set(flow.outputs) - flow.retained
        resident = flow.retained
    violations += _missing_operators(problem, plan)
    return Replay(tuple(violations), tuple(remarks), tuple(done))


class _Flow:
    """Which tensors one subgraph takes, makes, stores and keeps."""

    def __init__(
        self,
        problem: Problem,
        rules: Rules,
        runs: _Runs,
        index: int,
        subgraph: Subgraph,
        resident: frozenset[int],
    ) -> None:
        self.problem = problem
        self.rules = rules
        self.index = index
        self.resident = resident
        self.inside = frozenset(subgraph.operators)
        self.retained = frozenset(subgraph.retained)
        self.produced = {problem.operators[operator].output for operator in self.inside}
        self.consumed = {tensor for operator in self.inside for tensor in problem.operators[operator].inputs}
        self.inputs = tuple(sorted(self.consumed - self.produced))
        #: Not retained, consumed inside, and wanted by a later subgraph all the same.
        self.shared = {
            tensor for tensor in (self.produced & self.consumed) - self.retained if runs.is_wanted_later(tensor, index)
        }
        stored = self.shared if rules.stores_shared else set()
        self.outputs = tuple(sorted((self.produced - self.consumed) | (self.produced & self.retained) | stored))

    def broken_rules(self, in_slow_memory: set[int]) -> Iterator[Violation]:
        place = f"subgraph {self.index}"
        for tensor in self.inputs:
            if tensor not in in_slow_memory and tensor not in self.resident:
                message = f"tensor {tensor} is needed but is neither in slow memory nor resident"
                yield Violation("input-missing", place, message)
        if not self.rules.stores_shared:
            for tensor in sorted(self.shared):
                message = (
                    f"tensor {tensor} is consumed inside and by a later subgraph that does not produce it, "
                    "and is not retained"
                )
                yield Violation("ephemeral-shared", place, message)
        for tensor in sorted(self.retained):
            if tensor in self.problem.graph_outputs:
                message = f"graph output {tensor} is retained, but must end in slow memory"
                yield Violation("output-retained", place, message)
            elif tensor not in self._may_retain():
                allowed = (
                    "it neither produces nor loads it nor finds it resident"
                    if self.rules.retains_inputs
                    else "it does not produce it"
                )
                yield Violation("not-retainable", place, f"tensor {tensor} cannot be retained: {allowed}")

    def _may_retain(self) -> set[int]:
        if self.rules.retains_inputs:
            return self.produced | self.consumed | self.resident
        return self.produced


class _Runs:
    """In which subgraphs each operator runs."""

    def __init__(self, problem: Problem, plan: Plan) -> None:
        self.problem = problem
        self._runs: dict[int, list[int]] = {}
        for index, subgraph in enumerate(plan.subgraphs):
            for operator in frozenset(subgraph.operators):
                self._runs.setdefault(operator, []).append(index)

    def is_wanted_later(self, tensor: int, index: int) -> bool:
        """True if a subgraph after ``index`` consumes ``tensor`` and none up to and with that one produces it."""
        producer = self.problem.producer[tensor]
        assert producer is not None, "only tensors that a subgraph produces are asked about"
        wanted = min(self._next(consumer, index) for consumer in self.problem.consumers[tensor])
        return wanted < self._next(producer, index)

    def _next(self, operator: int, index: int) -> float:
        runs = self._runs.get(operator, [])
        position = bisect_right(runs, index)
        return runs[position] if position < len(runs) else math.inf


def _broken_structure(problem: Problem, subgraph: Subgraph, rules: Rules, index: int) -> Iterator[Violation]:
    """Yield what is wrong with one subgraph's operators and granularity, whatever surrounds it."""
    place = f"subgraph {index}"
    operators = subgraph.operators
    if not operators:
        yield Violation("empty-subgraph", place, "has no operator")
        return
    for operator in sorted(operator for operator, count in Counter(operators).items() if count > 1):
        yield Violation("operator-twice", place, f"operator {operator} is listed twice")
    position = {operator: number for number, operator in enumerate(operators)}
    for operator, number in position.items():
        for tensor in dict.fromkeys(problem.operators[operator].inputs):
            source = problem.producer[tensor]
            if source is not None and position.get(source, -1) > number:
                message = f"operator {operator} is listed before operator {source}, which produces its input {tensor}"
                yield Violation("operator-order", place, message)
    parts = _connected_parts(problem, frozenset(operators))
    if len(parts) > 1:
        groups = " and ".join(str(part) for part in parts)
        message = f"operators {groups} are not connected through tensors produced inside"
        yield Violation("disconnected", place, message, required=1, available=len(parts))
    yield from _broken_granularity(problem, subgraph, rules, place)


def _connected_parts(problem: Problem, inside: frozenset[int]) -> list[list[int]]:
    """Return the operators grouped by who is connected through tensors produced inside."""
    if len(inside) == 1:
        return [list(inside)]
    left = set(inside)
    parts = []
    while left:
        part = [min(left)]
        left.remove(part[0])
        for operator in part:  # grows while it is walked
            sources = (problem.producer[tensor] for tensor in problem.operators[operator].inputs)
            targets = problem.consumers[problem.operators[operator].output]
            found = left.intersection([*targets, *(source for source in sources if source is not None)])
            left -= found
            part += sorted(found)
        parts.append(sorted(part))
    return parts


def _broken_granularity(problem: Problem, subgraph: Subgraph, rules: Rules, place: str) -> Iterator[Violation]:
    size = subgraph.granularity
    machine = problem.machine
    native = {"w": machine.native_width, "h": machine.native_height, "k": machine.native_width}
    for name, value in (("w", size.w), ("h", size.h), ("k", size.k)):
        if value < 1:
            yield Violation("granularity-too-small", place, f"granularity {name} is below 1", value, 1)
        elif rules.granularity_is_native and value > native[name]:
            message = f"granularity {name} exceeds the native tile"
            yield Violation("granularity-over-native", place, message, value, native[name])
    for operator in dict.fromkeys(subgraph.operators):
        if problem.operators[operator].is_matmul and size.k > problem.reduction(operator):
            message = f"granularity k exceeds the reduction of operator {operator}"
            yield Violation("granularity-over-reduction", place, message, size.k, problem.reduction(operator))
    if rules.prologues_are_whole:
        yield from _partial_prologues(problem, subgraph, place)


def _partial_prologues(problem: Problem, subgraph: Subgraph, place: str) -> Iterator[Violation]:
    """Yield each Pointwise that makes an operand for part of a reduction, in tiles that do not hold the whole of it."""
    size = subgraph.granularity
    inside = dict.fromkeys(subgraph.operators)
    for operator in inside:
        if not problem.operators[operator].is_matmul or size.k >= problem.reduction(operator):
            continue
        left, right = problem.operators[operator].inputs
        for side, tensor, name, available in (("left", left, "w", size.w), ("right", right, "h", size.h)):
            source = problem.producer[tensor]
            if source is None or source not in inside or problem.operators[source].is_matmul:
                continue
            if available < problem.reduction(operator):
                message = (
                    f"Pointwise operator {source} feeds the {side} operand of MatMul {operator}, whose reduction takes "
                    f"several steps: granularity {name} must be at least the reduction"
                )
                yield Violation("partial-prologue", place, message, problem.reduction(operator), available)


def _replay_subgraph(
    problem: Problem,
    subgraph: Subgraph,
    rules: Rules,
    flow: _Flow,
    index: int,
    known: dict[Hashable, SubgraphReplay],
) -> SubgraphReplay | Violation | None:
    """Return what a subgraph does, or why it cannot be replayed (None where another violation says it).

    What ``known`` holds of one that is like it is taken from there.
    """
    place = f"subgraph {index}"
    size = subgraph.granularity
    shapes = {problem.tensors[tensor]: tensor for tensor in flow.outputs}
    if len(shapes) > 1:
        listed = ", ".join(f"tensor {tensor} is {shape.height} x {shape.width}" for shape, tensor in shapes.items())
        return Violation("output-shapes", place, f"its outputs differ in shape ({listed})")
    if not shapes or min(size.w, size.h, size.k) < 1:
        return None
    walked = walk(problem, flow.inside, flow.outputs)
    tiles = grid(problem, walked, flow.outputs, size)
    replayed = steps_replayed(problem, walked, tiles)
    if replayed > LARGEST_REPLAY:
        raise InputError(
            "makes too many steps to replay",
            place=f"granularities[{index}]",
            value=f"{[size.w, size.h, size.k]}, {replayed} steps that may differ",
            allowed=f"up to {LARGEST_REPLAY}",
        )
    traversal = None
    if subgraph.traversal is not None:
        traversal = np.asarray(subgraph.traversal, dtype=np.int64)
        if len(traversal) != tiles.tiles or not np.array_equal(np.sort(traversal), np.arange(tiles.tiles)):
            message = f"the traversal order is not a permutation of the {tiles.tiles} tiles"
            return Violation("traversal-order", place, message, tiles.tiles, len(set(subgraph.traversal)))
    flushes = rules.default_order_flushes and subgraph.traversal is None
    around = Surroundings(flow.outputs, flow.resident, flow.retained, flushes)
    key = (likeness(problem, flow.inside, walked, around), size, subgraph.traversal)
    if key not in known:
        known[key] = _totals(flow, tiles, replay_steps(problem, flow.inside, walked, tiles, traversal, around))
    found = known[key]
    return replace(found, inputs=flow.inputs, outputs=flow.outputs, resident=flow.resident, retained=flow.retained)


def _totals(flow: _Flow, tiles: Grid, traces: Iterator[StepTrace]) -> SubgraphReplay:
    compute, latency = [], []
    loads = stores = peak = 0
    kept: list[StepTrace] = []
    for trace in traces:
        compute.append(float(trace.compute @ trace.count))
        latency.append(float(trace.latency @ trace.count))
        loads += int(trace.loads @ trace.count)
        stores += int(trace.stores @ trace.count)
        peak = max(peak, int(trace.working_set.max()))
        if tiles.steps <= LARGEST_TRACE:
            kept.append(trace)
    return SubgraphReplay(
        grid=tiles,
        inputs=flow.inputs,
        outputs=flow.outputs,
        resident=flow.resident,
        retained=flow.retained,
        compute=math.fsum(compute),
        loads=loads,
        stores=stores,
        peak=peak,
        latency=math.fsum(latency),
        trace=joined(kept) if kept else None,
    )


def _over_capacity(problem: Problem, found: SubgraphReplay, index: int) -> Iterator[Violation]:
    capacity = problem.machine.capacity
    if found.peak <= capacity:
        return
    place, message = f"subgraph {index}", "the working set exceeds fast memory"
    if found.trace is not None:
        over = np.flatnonzero(found.trace.working_set > capacity)
        worst = int(found.trace.working_set.argmax())
        place += f", step {worst}"
        message += f" (in {len(over)} of {found.grid.steps} steps, first in step {over[0]})"
    yield Violation("over-capacity", place, message, found.peak, capacity)


def _wrong_claim(subgraph: Subgraph, latency: float, index: int) -> Iterator[str]:
    claim = subgraph.latency
    if claim is not None and not math.isclose(claim, latency, rel_tol=_CLAIM_TOLERANCE, abs_tol=_CLAIM_TOLERANCE):
        yield f"subgraph {index}: the plan claims latency {claim:.12g}, the replay finds {latency:.12g}"


def _missing_operators(problem: Problem, plan: Plan) -> Iterator[Violation]:
    executed = {operator for subgraph in plan.subgraphs for operator in subgraph.operators}
    for operator in range(len(problem.operators)):
        if operator not in executed:
            yield Violation("operator-missing", "plan", f"operator {operator} is in no subgraph")
