"""Sequences of groups of operators and what they cost: the kernels' tables, and the prices they ask for."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.cost_model.granularity import Execution, Granularities
from shorthaul.tensor.cost_model.profile import COLUMNS_EXACT, PADDED, ROWS_EXACT, Profile, profile_of
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan, Subgraph
from shorthaul.tensor.search import group_kernels, move_kernels, sequence_kernels
from shorthaul.tensor.search.change_kernels import Moves
from shorthaul.tensor.tuning import KINDS_PER_EFFORT

#: Groups in the order of their execution, each as its operators, ascending.
Sequence = tuple[tuple[int, ...], ...]

#: What the kernels report: all done, no plan, prices are missing, tables are full.
DONE, IMPOSSIBLE, MISSING, FULL = range(4)


class Solution(NamedTuple):
    """A sequence of groups and the latency of its best plan."""

    latency: float
    sequence: Sequence


class Schedules:
    """All groups that a search has met, in every state of fast memory that it met them in, priced once.

    An operator alone that does not fit has the price ``dear``.
    """

    def __init__(
        self,
        problem: Problem,
        rules: Rules,
        known: dict[Profile, Execution | None] | None = None,
        later: Iterable[int] = (),
        dear: float = math.inf,
    ) -> None:
        self.problem = problem
        self.rules = rules
        self.granularities = Granularities(problem.machine, rules)
        self.granularities.known.update(known or {})
        self.groups = group_kernels.Groups(group_kernels.Graph(*graph_arguments(problem)))
        needed = np.array(sorted(tensor for tensor in later if problem.consumers[tensor]), dtype=np.int32)
        self.sequences = sequence_kernels.Sequences(self.groups, rules.stores_shared, rules.retains_inputs, needed)
        self.executions: dict[int, Execution | None] = {}
        self._alone: dict[Hashable, Execution | None] = {}  # of single operators, by all that counts
        self._dear = dear
        self._planned: tuple[Sequence, Plan] | None = None  # the last one made

    @property
    def work(self) -> float:
        """The effort spent on granularities."""
        return self.granularities.kinds / KINDS_PER_EFFORT

    def number(self, operators: Iterable[int]) -> int:
        """Return the number of a connected group."""
        return self.groups.find(np.array(sorted(operators), dtype=np.int32))

    def settle(self, moves: Moves, status: int) -> None:
        """Give the kernels what a status asks for: prices, or larger tables."""
        if status == FULL:
            moves.reserve()
        for entry in np.asarray(self.sequences.wanted)[: self.sequences.missing].tolist() if status == MISSING else ():
            found = self.execution(entry)
            price = self._price_without(entry) if found is None else found.latency
            self.sequences.set_price(entry, price)

    def _price_without(self, entry: int) -> float:
        """Return the price of an entry that has no execution."""
        group, *_ = self.sequences.key(entry)
        return self._dear if len(self.groups.members.get(group)) == 1 else math.inf

    def execution(self, entry: int) -> Execution | None:
        """Return the best execution of an entry of the kernels' table, None if it has none."""
        if entry not in self.executions:
            group, *sets = self.sequences.key(entry)
            resident, retained, shared = map(self.sequences.tensors, sets)
            inside = frozenset(self.groups.members.get(group))
            self.executions[entry] = self._execute(inside, resident, retained, shared)
        return self.executions[entry]

    def _execute(
        self, inside: frozenset[int], resident: Collection[int], retained: Collection[int], shared: Collection[int]
    ) -> Execution | None:
        if len(inside) > 1 or shared:
            return self._priced(inside, resident, retained, shared)
        one, tensors = self.problem.operators[next(iter(inside))], self.problem.tensors
        mine = [
            (tensors[tensor], one.inputs.index(tensor), tensor in resident, tensor in retained) for tensor in one.inputs
        ]
        others = sorted([tensors[tensor].size for tensor in resident if tensor not in one.inputs])
        kept = sorted([tensors[tensor].size for tensor in retained if tensor not in resident])
        made = tensors[one.output], one.output in resident, one.output in retained
        key = one.is_matmul, one.base_cost, tuple(mine), made, tuple(others), tuple(kept)
        if key not in self._alone:
            self._alone[key] = self._priced(inside, resident, retained, shared)
        return self._alone[key]

    def _priced(
        self, inside: frozenset[int], resident: Iterable[int], retained: Iterable[int], shared: Iterable[int]
    ) -> Execution | None:
        tensors = self.problem.tensors
        outputs = self.outputs(inside, retained, shared)
        if any(tensors[tensor] != tensors[outputs[0]] for tensor in outputs):
            return None
        profile = profile_of(self.problem, inside, outputs, frozenset(resident), frozenset(retained))
        return self.granularities.best(profile)

    def outputs(self, inside: frozenset[int], retained: Iterable[int], shared: Iterable[int]) -> list[int]:
        """Return the tensors that a group stores or retains."""
        operators = self.problem.operators
        produced = {operators[index].output for index in inside}
        consumed = {tensor for index in inside for tensor in operators[index].inputs}
        return sorted((produced - consumed) | (produced & set(retained)) | set(shared))

    def begin(self, sequence: Sequence, seed: int) -> Moves | None:
        """Return an annealing that stands at a sequence; None if that has no plan."""
        moves = Moves(self.sequences, seed)
        numbers = [self.number(group) for group in sequence]
        while (status := move_kernels.begin(moves, numbers)) != DONE:
            if status == IMPOSSIBLE:
                return None
            self.settle(moves, status)
        return moves

    def solution(self, sequence: Sequence) -> Solution | None:
        """Return a sequence with its latency; None if it has no plan."""
        moves = self.begin(sequence, 0)
        return None if moves is None else Solution(moves.best, sequence)

    def best(self, moves: Moves) -> Solution:
        """Return the best solution of an annealing."""
        groups = tuple(tuple(self.groups.members.get(number)) for number in moves.best_sequence())
        return Solution(moves.best, groups)

    def plan(self, sequence: Sequence) -> Plan:
        """Return the best plan of a sequence that has one; what is under way here is not disturbed."""
        if self._planned is None or self._planned[0] != sequence:
            other = Schedules(self.problem, self.rules, self.granularities.known)
            assert other.begin(sequence, 0) is not None, "the sequence was found by the search"
            self._planned = sequence, other._current_plan()
        return self._planned[1]

    def note_plan(self, sequence: Sequence) -> None:
        """Make the plan of the sequence that was evaluated last, so that nothing is evaluated again for it."""
        self._planned = sequence, self._current_plan()

    def _current_plan(self) -> Plan:
        position = {operator: number for number, operator in enumerate(self.problem.topological_order)}
        subgraphs = []
        for group, entry in self.sequences.steps():
            execution = self.execution(entry)
            assert execution is not None, "the sequence was evaluated"
            _, _, *sets = self.sequences.key(entry)
            retained, shared = map(self.sequences.tensors, sets)
            inside = frozenset(self.groups.members.get(group))
            size = execution.granularity
            shape = self.problem.tensors[self.outputs(inside, retained, shared)[0]]
            traversal = None
            if execution.order is not None:
                order = execution.order.order(-(-shape.height // size.h), -(-shape.width // size.w))
                traversal = tuple(order.tolist())
            operators = tuple(sorted(inside, key=position.__getitem__))
            subgraphs.append(Subgraph(operators, size, tuple(retained), traversal, execution.latency))
        return Plan(tuple(subgraphs))


def graph_arguments(problem: Problem) -> tuple[NDArray[Any], ...]:
    """Return the operator graph as :class:`group_kernels.Graph` takes it."""
    operators, tensors, machine = problem.operators, problem.tensors, problem.machine
    inputs = [list(dict.fromkeys(operator.inputs)) for operator in operators]
    shapes = {shape: number for number, shape in enumerate(dict.fromkeys(tensors))}
    return (
        *_rows(inputs),
        *_rows(problem.consumers),
        np.array([operator.output for operator in operators], dtype=np.int32),
        np.array([-1 if source is None else source for source in problem.producer], dtype=np.int32),
        np.array([shapes[shape] for shape in tensors], dtype=np.int32),
        np.array([not operator.is_matmul for operator in operators], dtype=np.uint8),
        np.array([tensor.size for tensor in tensors], dtype=float),
        np.array(_least_times(problem), dtype=float),
        np.array([machine.capacity, machine.bandwidth], dtype=float),
    )


def _rows(lists: Iterable[Iterable[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    rows = [list(row) for row in lists]
    begin = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum([len(row) for row in rows], out=begin[1:])
    return begin, np.array([item for row in rows for item in row], dtype=np.int32)


def _least_times(problem: Problem) -> list[float]:
    """Return what every operator takes at least: native tiles, padded where nobody may ask for it unpadded."""
    machine = problem.machine
    exact: list[set[int]] = [{PADDED} for _ in problem.tensors]
    for index in reversed(problem.topological_order):
        operator = problem.operators[index]
        for side, tensor in enumerate(operator.inputs):
            exact[tensor] |= {(COLUMNS_EXACT, ROWS_EXACT)[side]} if operator.is_matmul else exact[operator.output]
    times = []
    for operator in problem.operators:
        shape = problem.tensors[operator.output]
        rows, columns = shape.height / machine.native_height, shape.width / machine.native_width
        tiles = {
            PADDED: math.ceil(rows) * math.ceil(columns),
            ROWS_EXACT: rows * math.ceil(columns),
            COLUMNS_EXACT: math.ceil(rows) * columns,
        }
        times.append(operator.base_cost * min(tiles[kind] for kind in exact[operator.output]))
    return times
