"""How much a MatMul must stream whatever it is fused with: the argument behind the strongest lower bound.

Where the rules cap the granularity, a MatMul with a reduction longer than the cap takes several steps per tile, each
with another part of its operands. So in every tile the whole reduction of both operands passes by. Fusing the producer
of an operand does not avoid it: following the demand upwards, some tensor is still asked for part by part of the
reduction, and is loaded anew in every tile. Only a tensor that fits into fast memory whole can escape. A MatMul that
is itself above another MatMul of its subgraph is different: it is computed again for every tile, or in every step.

Under rules that store nothing consumed inside, a tensor that a MatMul can neither have made in its subgraph nor find
resident is stored by a subgraph that consumes it nowhere: its producer pays for that, and shares less there.

What an operator must cost in each of its roles is a price; as the prices of the operators of any subgraph add up to no
more than its latency, those of all operators add up to no more than that of any plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.groups.regions import may_be_made, together_with
from shorthaul.tensor.cost_model.profile import COLUMNS_EXACT, FULL, PADDED, ROWS_EXACT, STEP, TILE
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.tuning import PRICED_PER_EFFORT, WALKED_PER_EFFORT

#: An axis so long that no cap is meant.
_UNLIMITED: Final = 1 << 62


class Price(NamedTuple):
    """What an operator costs at least in one role: ``compute`` in time, ``traffic`` in elements."""

    compute: float
    traffic: float


class _Role(NamedTuple):
    """A MatMul above the sink ``sink``, asked for these rows and columns of its output, ``exact`` along one axis."""

    sink: int
    rows: int
    columns: int
    exact: int


@dataclass(frozen=True)
class _Side:
    """One operand of a MatMul: the axis along which it is streamed, and the cap of the other one."""

    streams_columns: bool
    cap: int


class Streams:
    """The prices of all operators of a problem.

    Collecting their roles takes time quadratic in the operators. ``is_complete`` is false if ``search`` ended before:
    then no operator may be priced, and :meth:`compute` takes every slice as charged along its cheapest axis.
    """

    def __init__(self, problem: Problem, rules: Rules, search: Search) -> None:
        self.problem = problem
        self.rules = rules
        self._search = search
        machine = problem.machine
        native = rules.granularity_is_native
        self.w_cap = machine.native_width if native else _UNLIMITED
        self.h_cap = machine.native_height if native else _UNLIMITED
        self.k_cap = machine.native_width if native else _UNLIMITED
        self.left = _Side(streams_columns=True, cap=self.h_cap)
        self.right = _Side(streams_columns=False, cap=self.w_cap)
        self.kinds: list[set[tuple[int, int]]] = [set() for _ in problem.tensors]
        self.marks: list[set[int]] = [set() for _ in problem.tensors]
        self.roles: list[set[_Role]] = [set() for _ in problem.operators]
        self.may_be_whole = self._tensors_that_may_be_whole()
        self.is_complete = self._walk()
        self.users = [
            [index for index in consumers if problem.operators[index].is_matmul] for consumers in problem.consumers
        ]
        made = [
            {source for t in each.inputs if (source := problem.producer[t]) is not None} for each in problem.operators
        ]
        self._around = [
            taken | {*problem.consumers[each.output]} for taken, each in zip(made, problem.operators, strict=True)
        ]
        self.through = cache(self._through)
        self.must_be_stored = cache(self._must_be_stored)

    def prices(self, operator: int) -> list[Price]:
        """Return the prices of an operator in all its roles; it costs one of them at least wherever it is executed."""
        self._search.spend(1 / PRICED_PER_EFFORT)
        output = self.problem.operators[operator].output
        is_read_back = self.must_be_stored(operator) and self.problem.consumers[output]
        stored = float(self.problem.tensors[output].size) if is_read_back else 0.0
        if not self.problem.operators[operator].is_matmul:
            return [Price(self.compute(operator), stored)]
        above = [self._above(operator, role) for role in self.roles[operator]]
        return sorted({Price(self._charge(operator, PADDED), self._sink_traffic(operator) + stored), *above})

    def _must_be_stored(self, operator: int) -> bool:
        """True if some subgraph stores the output, unless a MatMul has it made by this one, a MatMul too.

        Where outputs with a consumer inside are not stored, nothing in that subgraph consumes it. A MatMul that takes
        it finds it resident, has it made in its subgraph, or needs it to be stored.
        """
        output = self.problem.operators[operator].output
        if self.rules.stores_shared or self.rules.retains_inputs:
            return False
        if not self.problem.consumers[output]:
            return True
        if self.problem.tensors[output].size <= self.problem.machine.capacity:
            return False
        is_matmul = self.problem.operators[operator].is_matmul
        return any(is_matmul or not self._may_be_made(user, output) for user in self.users[output])

    def compute(self, operator: int) -> float:
        """Return the least time that an operator takes to compute its whole output once."""
        marks = self.marks[self.problem.operators[operator].output] if self.is_complete else (ROWS_EXACT, COLUMNS_EXACT)
        return min(self._charge(operator, exact) for exact in (PADDED, *marks))

    def _charge(self, operator: int, exact: int) -> float:
        """Return the time of the whole output in any tiles, native tiles padded except along the ``exact`` axis."""
        machine = self.problem.machine
        output = self.problem.tensors[self.problem.operators[operator].output]
        rows, columns = output.height / machine.native_height, output.width / machine.native_width
        if exact != ROWS_EXACT:
            rows = math.ceil(rows)
        if exact != COLUMNS_EXACT:
            columns = math.ceil(columns)
        return self.problem.operators[operator].base_cost * rows * columns

    def _tensors_that_may_be_whole(self) -> list[bool]:
        """Return by tensor whether a step may ask for all of it: where it is loaded, it has to fit."""
        problem = self.problem
        found = [tensor.size <= problem.machine.capacity for tensor in problem.tensors]
        for index in problem.topological_order:
            operator = problem.operators[index]
            found[operator.output] |= all(found[tensor] for tensor in operator.inputs)
        return found

    def _may_be_made(self, operator: int, tensor: int) -> bool:
        return may_be_made(self.problem, self.rules, operator, tensor)

    def _walk(self) -> bool:
        """Collect which slices of every tensor, and of every MatMul, some subgraph may ask for; False if cut short."""
        problem = self.problem
        for operator in problem.operators:
            if not operator.is_matmul:
                for tensor in operator.inputs:
                    self.kinds[tensor].add((TILE, TILE))
        for sink, operator in enumerate(problem.operators):
            if not operator.is_matmul:
                continue
            if self._search.expired():
                return False
            left, right = operator.inputs
            stack = [
                (left, TILE, STEP, COLUMNS_EXACT, self._may_be_made(sink, left)),
                (right, STEP, TILE, ROWS_EXACT, self._may_be_made(sink, right)),
            ]
            seen: set[tuple[int, int, int, int, bool]] = set()
            while stack:
                demand = stack.pop()
                if demand in seen:
                    continue
                seen.add(demand)
                tensor, rows, columns, exact, may_be_made = demand
                self.kinds[tensor].add((rows, columns))
                self.marks[tensor].add(exact)
                source = problem.producer[tensor]
                if source is None or not may_be_made:
                    continue
                above = problem.operators[source]
                if not above.is_matmul:
                    stack += [(item, rows, columns, exact, True) for item in above.inputs]
                    continue
                left, right = above.inputs
                if (rows == FULL and not self.may_be_whole[left]) or (columns == FULL and not self.may_be_whole[right]):
                    continue  # what it would ask for fits nowhere
                self.roles[source].add(_Role(sink, rows, columns, exact))
                stack += [
                    (left, rows, FULL, COLUMNS_EXACT, self._may_be_made(source, left)),
                    (right, FULL, columns, ROWS_EXACT, self._may_be_made(source, right)),
                ]
            self._search.spend(len(seen) / WALKED_PER_EFFORT)
        return True

    def _sink_traffic(self, operator: int) -> float:
        """Return what a MatMul that is nothing but a sink has to load, in elements."""
        problem = self.problem
        left, right = problem.operators[operator].inputs
        length = problem.reduction(operator)
        output = problem.tensors[problem.operators[operator].output]
        if length <= self.k_cap:
            # One step may do; each operand that cannot be there already is loaded once.
            needed = [tensor for tensor in (left, right) if self._must_be_loaded(tensor)]
            return sum(self._direct_share(tensor, operator) * problem.tensors[tensor].size for tensor in needed)
        by_rows, by_columns = self._claim(operator, 0), self._claim(operator, 1)
        w = np.arange(1, min(self.w_cap, output.width) + 1)
        h = np.minimum(min(self.h_cap, output.height), np.floor(problem.machine.capacity / w))
        w, h = w[h >= 1], h[h >= 1]
        if not len(w):
            return 0.0
        loads = by_rows * output.height * np.ceil(output.width / w) + by_columns * output.width * np.ceil(
            output.height / h
        )
        return float(loads.min()) * length

    def _must_be_loaded(self, tensor: int) -> bool:
        """True if a subgraph that uses ``tensor`` can neither produce it nor find it resident."""
        if self.problem.producer[tensor] is not None:
            return False
        return not self.rules.retains_inputs or self.problem.tensors[tensor].size > self.problem.machine.capacity

    def _direct_share(self, tensor: int, operator: int) -> float:
        """Return the share of a tensor's loads that ``operator``, a sink, may claim for itself.

        MatMuls in one subgraph may use the same slices, so they share alike; Pointwise operators get nothing then.
        Whoever is in a subgraph with a mere sink is connected to it without the MatMuls that use its output.
        """
        users = self.users[tensor]
        sides = self.problem.operators[operator].inputs.count(tensor)
        if len(users) == 1:  # nobody to share with: the walk through the graph is saved
            return 1 / sides
        near = self._company(operator, users)
        return 1 / (sides * sum(user in near for user in users))

    def _claim(self, operator: int, place: int) -> float:
        """Return how much of an operand, as a part of its slices, a mere sink may claim in every tile.

        A MatMul whose output must be stored is in a subgraph that consumes it nowhere. If neither operand is made
        there, it is alone: it shares nothing, no slice is there by chance, and each is loaded unless it is resident.
        """
        operands = self.problem.operators[operator].inputs
        tensor, other = operands[place], operands[1 - place]
        side, length = (self.left, self.right)[place], self.problem.reduction(operator)
        share = self._streaming_share(tensor, place, operator)
        claim = share * self._streamed(tensor, side, length, operator)
        if self.must_be_stored(operator) and tensor != other and not self._may_be_made(operator, other):
            fused = self._fused(tensor, side, length, self._may_be_made(operator, tensor))
            may_be_resident = (
                self.problem.producer[tensor] is not None
                and self.problem.tensors[tensor].size <= self.problem.machine.capacity
            )
            claim = max(claim, min(0.0 if may_be_resident else 1.0, share * fused))
        return claim

    def _streaming_share(self, tensor: int, side: int, operator: int) -> float:
        """Return the share of the slices of an operand, streamed in several steps, that a mere sink may claim.

        A MatMul that takes the tensor as the same operand and makes an output of another shape is no sink beside this
        one. Above a MatMul it asks for slices along its whole reduction, which no step of a sink does: it does not
        share them, unless all of the tensor is held.
        """
        problem = self.problem
        users = self.users[tensor]
        sides = problem.operators[operator].inputs.count(tensor)
        if len(users) == 1:
            return 1 / sides
        shape = problem.tensors[problem.operators[operator].output]
        near = self._company(operator, users)
        sharing = [
            user
            for user in users
            if user in near
            and (
                problem.operators[user].inputs[1 - side] == tensor
                or problem.tensors[problem.operators[user].output] == shape
            )
        ]
        return 1 / (sides * len(sharing))

    def _share(self, tensor: int, operator: int) -> float:
        """Return the share of a tensor's loads that ``operator`` may claim wherever it is."""
        users = self.users[tensor]
        inputs = self.problem.operators[operator].inputs
        if self.problem.operators[operator].is_matmul:
            return 1 / (len(users) * inputs.count(tensor))
        return 0.0 if users else 1 / len(self.problem.consumers[tensor])

    def _company(self, operator: int, users: list[int]) -> set[int]:
        """Return which of these operators can be in one subgraph with ``operator`` as a mere sink."""
        without = {*self.users[self.problem.operators[operator].output]}
        return together_with(self._around, operator, without, users, self._search)

    def _streamed(self, tensor: int, side: _Side, length: int, operator: int) -> float:
        """Return how much of a mere sink's operand is loaded in every tile, as a part of the least slice there is."""
        if self.problem.consumers[tensor] != (operator,) or len(set(self.problem.operators[operator].inputs)) == 1:
            return self.through(tensor, side, length, self._may_be_made(operator, tensor))
        # Nobody else in the subgraph asks for any slice of it, let alone the whole.
        if self.problem.producer[tensor] is None and not self.rules.retains_inputs:
            return 1.0
        loaded = 0.0 if self.problem.tensors[tensor].size <= self.problem.machine.capacity else 1.0
        return min(loaded, self._fused(tensor, side, length, self._may_be_made(operator, tensor)))

    def _through(self, tensor: int, side: _Side, length: int, may_be_made: bool) -> float:
        """Return the same for any tensor in the place of an operand: loaded or, if that is less, made inside."""
        escapes = self.problem.tensors[tensor].size <= self.problem.machine.capacity
        loaded = 0.0 if escapes else self._not_by_chance(tensor, side, length)
        return min(loaded, self._fused(tensor, side, length, may_be_made))

    def _fused(self, tensor: int, side: _Side, length: int, may_be_made: bool) -> float:
        """Return how much is loaded instead if the producer of ``tensor`` is fused; infinite if none may be."""
        source = self.problem.producer[tensor]
        if source is None or not may_be_made:
            return math.inf
        above = self.problem.operators[source]
        if not above.is_matmul:
            return max(self._share(item, source) * self.through(item, side, length, True) for item in above.inputs)
        operand = above.inputs[1 if side.streams_columns else 0]
        made = self._may_be_made(source, operand)
        part = self._share(operand, source) * self.through(operand, side, length, made)
        return part * min(1.0, self.problem.reduction(source) / side.cap)

    def _not_by_chance(self, tensor: int, side: _Side, length: int) -> float:
        """Return the part of a streamed tensor that no other slice of it can stand in for by chance.

        A slice that follows the tile along the streamed axis may be that of one step, and be there already in the
        next tile; if it is asked for in all steps, in the next step too. One that follows the tile along both axes is
        asked for in last steps only, where the tensor has the shape of the outputs: of the tiles along the streamed
        axis, one has it in the last step of the reduction, and one leaves it to the first step of the next tile.
        """
        chances = 0.0
        shape = self.problem.tensors[tensor]
        along = -(-shape.width // self.w_cap) if side.streams_columns else -(-shape.height // self.h_cap)
        for rows, columns in self.kinds[tensor]:
            streamed, crossed = (columns, rows) if side.streams_columns else (rows, columns)
            if streamed == TILE:
                chances = max(chances, min(1.0, 2 / along) if crossed == TILE else 2)
        return max(0.0, 1.0 - chances * self.k_cap / length)

    def _above(self, operator: int, role: _Role) -> Price:
        """Return the price of a MatMul above a sink: it is computed again, and streams what it does not hold."""
        problem = self.problem
        length = problem.reduction(role.sink)
        shape = problem.tensors[problem.operators[role.sink].output]
        rows, columns = -(-shape.height // self.h_cap), -(-shape.width // self.w_cap)
        steps = -(-length // min(self.k_cap, length, problem.reduction(operator)))
        times = {
            (TILE, STEP): columns,
            (STEP, TILE): rows,
            (TILE, FULL): columns * steps,
            (FULL, TILE): rows * steps,
            (FULL, STEP): rows * columns,
            (STEP, FULL): rows * columns,
            (FULL, FULL): rows * columns * steps,
        }[role.rows, role.columns]
        traffic = 0.0
        if length > self.k_cap and STEP in {role.rows, role.columns}:
            side = self.left if role.columns == STEP else self.right
            operand = problem.operators[operator].inputs[1 if side is self.left else 0]
            if problem.producer[operand] is None:
                # The sink claims at most a slice as long as the cap; the rest of the reduction is left.
                rest = max(0, problem.reduction(operator) - side.cap)
                made = self._may_be_made(operator, operand)
                part = self._share(operand, operator) * self.through(operand, side, length, made)
                traffic = part * rest * length * rows * columns
        return Price(self._charge(operator, role.exact) * times, traffic)
