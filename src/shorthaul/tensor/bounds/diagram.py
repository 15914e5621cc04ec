"""All connected groups of a problem as paths through one diagram, however many there are.

The operators are decided one after the other, consumers before producers: in the group, or not. What is left to know
then is small: which tensors the group has asked for whose producers or other consumers are still to come, and how it
gets them (loaded, resident, or made inside). Groups that agree in that are at one *node*; an *arc* decides one
operator, with what it adds to the group's profile and to the rows of the linear program that it serves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.compaction import END, NOWHERE, Addition, Arcs, Choice, compacted
from shorthaul.tensor.bounds.fronts import narrow_order
from shorthaul.tensor.bounds.joining import LOADED, MADE, RESIDENT, Joining, Open
from shorthaul.tensor.bounds.pieces import Boxes, Demand, Load, Work
from shorthaul.tensor.cost_model.profile import COLUMNS_EXACT, FULL, NO_REDUCTION, PADDED, ROWS_EXACT, STEP, TILE
from shorthaul.tensor.model import Problem, Rules, Tensor
from shorthaul.tensor.tuning import ARCS_PER_EFFORT

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class _Asked(NamedTuple):
    """What an operator asks of an input: slices as their maker sees them, or as they are loaded, and ways to get it."""

    tensor: int
    made: frozenset[Demand]
    loaded: frozenset[Demand]
    ways: tuple[int, ...]
    prologues: tuple[int, int]  #: what the rule on prologues asks for where the tensor is made, left and right


class Rows:
    """The rows of the linear program: cover by operator, link by operator and tensor, hand over by tensor."""

    def __init__(self, problem: Problem, later: frozenset[int] = frozenset()) -> None:
        self.cover = [index for index in range(len(problem.operators)) if index not in later]
        pairs = [
            (index, tensor)
            for index, operator in enumerate(problem.operators)
            for tensor in dict.fromkeys(operator.inputs)
            if problem.producer[tensor] is not None
        ]
        begin = len(self.cover)
        self.link = {pair: begin + number for number, pair in enumerate(pairs)}
        begin += len(pairs)
        self.asked = begin  # rows before this ask for something
        capacity = problem.machine.capacity
        inner = [
            t for t, users in enumerate(problem.consumers) if set(users) - later and problem.producer[t] is not None
        ]
        fitting = [tensor for tensor in inner if problem.tensors[tensor].size <= capacity]
        self.hand_over = {tensor: begin + number for number, tensor in enumerate(fitting)}
        self.number = begin + len(fitting)


class Diagram:
    """The diagram of a problem; ``is_complete`` is false if it would have more than ``most`` nodes while it is built.

    Node ``n`` of layer ``layer_of[n]`` has ``arcs_of[n]`` arcs from ``first_arc[n]`` on. ``starts`` are the arcs, by
    layer, that begin a group. Operators ``later``, the last ones, are in no group:
    they stand for others that need what they take to be stored.
    """

    def __init__(
        self, problem: Problem, rules: Rules, search: Search, most: int, later: frozenset[int] = frozenset()
    ) -> None:
        self.problem = problem
        self.rules = rules
        self.later = later
        self.rows = Rows(problem, later)
        self.order = [index for index in narrow_order(problem, search) if index not in later]
        self.boxes = Boxes(problem.machine)
        self._numbers: dict[Work | Load, int] = {}
        self._pieces: list[Work | Load] = []
        self._tables: dict[tuple[int, Tensor], Floats] = {}
        self._joining = Joining(problem, self.order, self._may_be_made)
        self._fronts: list[tuple[Open, ...]] = [()]
        self._closing = self._last_uses()
        self._asked_known: dict[tuple[int, frozenset[Demand]], tuple[list[_Asked], int]] = {}
        self._layers: list[list[int]] = [[] for _ in self.order]
        self._nodes: dict[tuple[Tensor, tuple[Open, ...]], tuple[int, int]] = {}
        built = self._build(search, most)
        self.is_complete = built is not None
        arcs = Arcs() if built is None else compacted(built)
        self.additions, self.choices = list(arcs.additions), arcs.choices
        self.starts, self.shapes = arcs.starts, arcs.shapes
        self.source, self.target = np.array(arcs.source, np.int64), np.array(arcs.target, np.int64)
        self.addition, self.layer_of = np.array(arcs.addition, np.int64), np.array(arcs.layer_of, np.int64)
        self.row, self.sign = np.array(arcs.rows, np.int64), np.array(arcs.signs)
        self.row_end = np.array(arcs.row_end, np.int64)
        self.shape_of = self._shapes_of_arcs()
        joined = self.source != NOWHERE
        self.arcs_of = np.bincount(self.source[joined], minlength=self.nodes)
        self.first_arc = np.zeros(self.nodes, dtype=np.int64)
        self.first_arc[self.source[joined][::-1]] = np.flatnonzero(joined)[::-1]

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.shapes)

    @property
    def met(self) -> int:
        """The number of nodes met while it was built, those that leave no choice included."""
        return len(self._fronts)

    def _shapes_of_arcs(self) -> list[Tensor]:
        """Return by arc the shape of the outputs of its groups."""
        operators, tensors = self.problem.operators, self.problem.tensors
        found = [self.shapes[node] for node in self.source]
        for index, starts in zip(self.order, self.starts, strict=False):
            for arc in starts:
                found[arc] = tensors[operators[index].output]
        return found

    # --- building ---------------------------------------------------------------------------------------------------

    def _last_uses(self) -> list[list[int]]:
        """Return by layer the tensors of which no operator decided later is a consumer."""
        position = {operator: place for place, operator in enumerate(self.order)}
        closing: list[list[int]] = [[] for _ in self.order]
        for tensor, users in enumerate(self.problem.consumers):
            places = [position[user] for user in users if user in position]
            if places:
                closing[max(places)].append(tensor)
        return closing

    def _build(self, search: Search, most: int) -> Arcs | None:
        """Return the arcs, None if there are too many nodes or the search ends."""
        arcs = self._arcs = Arcs()
        for place, operator in enumerate(self.order):
            if len(arcs.shapes) > most or search.expired():
                return None
            before = len(arcs.target)
            output = self.problem.operators[operator].output
            for node in self._layers[place]:
                front = {item.tensor: item for item in self._fronts[node]}
                shape = arcs.shapes[node]
                mine = front.get(output)
                if mine is None or mine.way != MADE:
                    rest = {tensor: item for tensor, item in front.items() if tensor != output}
                    self._add(node, place, shape, rest, None, [], [], Addition(), None, None)
                if (mine is None and self.problem.tensors[output] == shape) or (mine and mine.way == MADE):
                    self._include(node, place, shape, front)
            begin = len(arcs.target)
            self._include(NOWHERE, place, self.problem.tensors[output], {})
            arcs.starts.append(range(begin, len(arcs.target)))
            search.spend((len(arcs.target) - before) / ARCS_PER_EFFORT)
        return arcs

    def _include(
        self,
        node: int,
        place: int,
        shape: Tensor,
        front: dict[int, Open],
    ) -> None:
        """Add the arcs by which the operator of this layer joins."""
        problem, rows = self.problem, self.rows
        index = self.order[place]
        operator = problem.operators[index]
        output = operator.output
        rest = dict(front)
        mine = rest.pop(output, None)
        tile = Demand(TILE, TILE, 0, PADDED)
        may_stay = output in rows.hand_over and problem.tensors[output] == shape
        for is_retained in (False, True) if may_stay else (False,):
            served = [rows.cover[index]]
            demands = mine.demands if mine else frozenset()
            if is_retained:
                served.append(rows.hand_over[output])
            elif mine is None:
                served += [rows.link[user, output] for user in problem.consumers[output]]
            if mine is None or is_retained:
                demands |= {tile}
            part = mine.part if mine else 1 + max((item.part for item in rest.values()), default=-1)
            asked, work = self._asked(index, demands)
            stored = int(mine is None and not is_retained)
            held = problem.tensors[output].size if is_retained else 0
            k_limit = problem.reduction(index) if operator.is_matmul else math.inf
            for ways in product(*(self._ways(each, rest) for each in asked)):
                grown = dict(rest)
                left = right = 0
                resident = []
                links = []
                for each, way in zip(asked, ways, strict=True):
                    self._ask(grown, each, way, part)
                    if way != LOADED:
                        links.append(rows.link[index, each.tensor])
                    if way == RESIDENT and each.tensor not in rest:
                        resident.append(each.tensor)
                    if way == MADE:
                        left, right = max(left, each.prologues[0]), max(right, each.prologues[1])
                holds = held + sum(problem.tensors[tensor].size for tensor in resident)
                more = Addition((), stored, holds, k_limit, left, right)
                taken = [rows.hand_over[tensor] for tensor in resident]
                choice = Choice(index, tuple(resident), is_retained)
                self._add(node, place, shape, grown, choice, served + links, taken, more, work, part)

    def _is_prologue(self, index: int, tensor: int) -> bool:
        """True if making ``tensor`` in the group of an operator falls under the rule on prologues."""
        producer = self.problem.producer[tensor]
        assert producer is not None
        operators = self.problem.operators
        return self.rules.prologues_are_whole and operators[index].is_matmul and not operators[producer].is_matmul

    def _ways(self, asked: _Asked, front: dict[int, Open]) -> Sequence[int]:
        """Return how an operator that joins may get a tensor."""
        known = front.get(asked.tensor)
        if known is None:
            return asked.ways
        return (known.way,) if known.way in asked.ways else ()

    def _may_be_made(self, index: int, tensor: int) -> bool:
        """True if an operator may take a tensor that is made in its group, at some granularity."""
        machine, operator = self.problem.machine, self.problem.operators[index]
        if self.problem.producer[tensor] is None:
            return False
        rooms = [
            max(machine.native_width, (machine.native_width, machine.native_height)[side])
            for side in (0, 1)
            if operator.is_matmul and operator.inputs[side] == tensor
        ]
        return not self._is_prologue(index, tensor) or self.problem.reduction(index) <= min(rooms)

    def _ask(self, front: dict[int, Open], asked: _Asked, way: int, part: int) -> None:
        """Note that an operator of a ``part`` of the group asks for slices of a tensor."""
        tensor = asked.tensor
        old = front.get(tensor)
        if way == RESIDENT:
            front[tensor] = Open(tensor, RESIDENT, frozenset(), -1)
            return
        demands = asked.made if way == MADE else asked.loaded
        if old is not None:
            demands |= old.demands
        if way == LOADED:
            front[tensor] = Open(tensor, LOADED, demands, -1)
            return
        if old is not None and old.part != part:
            for item in list(front.values()):
                if item.part == old.part:
                    front[item.tensor] = item._replace(part=part)
        front[tensor] = Open(tensor, MADE, demands, part)

    def _asked(self, index: int, demands: frozenset[Demand]) -> tuple[list[_Asked], int]:
        """Return what an operator needs of each input for these slices of its output, and its work, by number."""
        key = index, demands
        if key not in self._asked_known:
            slices = self._slices(index, demands)
            asked = [self._asked_of(index, tensor, frozenset(each)) for tensor, each in slices.items()]
            self._asked_known[key] = asked, self._piece(self._work(index, demands))
        return self._asked_known[key]

    def _asked_of(self, index: int, tensor: int, made: frozenset[Demand]) -> _Asked:
        ways = [LOADED]
        if tensor in self.rows.hand_over:
            ways.append(RESIDENT)
        if self._may_be_made(index, tensor):
            ways.append(MADE)
        inputs = self.problem.operators[index].inputs
        is_prologue = MADE in ways and self._is_prologue(index, tensor)
        left, right = (
            self.problem.reduction(index) if is_prologue and inputs[side] == tensor else 0 for side in (0, 1)
        )
        return _Asked(tensor, made, frozenset(item._replace(exact=PADDED) for item in made), tuple(ways), (left, right))

    def _slices(self, index: int, demands: frozenset[Demand]) -> dict[int, set[Demand]]:
        """Return the slices of each input that an operator needs for these slices of its output."""
        operator = self.problem.operators[index]
        asked: dict[int, set[Demand]] = {tensor: set() for tensor in operator.inputs}
        for demand in demands:
            if operator.is_matmul:
                left, right = operator.inputs
                reduction = FULL if demand.sink else STEP
                sink = demand.sink or self.problem.reduction(index)
                asked[left].add(Demand(demand.rows, reduction, sink, COLUMNS_EXACT))
                asked[right].add(Demand(reduction, demand.columns, sink, ROWS_EXACT))
            else:
                for tensor in operator.inputs:
                    asked[tensor].add(demand)
        return asked

    def _work(self, index: int, demands: frozenset[Demand]) -> Work:
        """Return what an operator computes, as far as it matters for the latency."""
        operator = self.problem.operators[index]
        own = self.problem.reduction(index) if operator.is_matmul else 0
        work = sorted(
            (item._replace(sink=item.sink or own), (FULL if item.sink else STEP) if own else NO_REDUCTION)
            for item in demands
        )
        return Work(operator.base_cost, self.problem.tensors[operator.output], tuple(work))

    def table(self, piece: int, shape: Tensor) -> Floats:
        """Return the table of a piece by box of granularities (see :class:`Boxes`)."""
        found = self._tables.get((piece, shape))
        if found is None:
            found = self._tables[piece, shape] = self.boxes.table(self._pieces[piece], shape)
        return found

    def _piece(self, piece: Work | Load) -> int:
        number = self._numbers.setdefault(piece, len(self._pieces))
        if number == len(self._pieces):
            self._pieces.append(piece)
        return number

    def _add(
        self,
        node: int,
        place: int,
        shape: Tensor,
        front: dict[int, Open],
        choice: Choice | None,
        served: list[int],
        taken: list[int],
        more: Addition,
        work: int | None,
        part: int | None,
    ) -> None:
        """Add an arc, unless some part of the group is one that nothing can connect to the rest any more."""
        waiting: dict[int, list[int]] = {}
        for tensor, way, _, of in front.values():
            if way == MADE:
                waiting.setdefault(of, []).append(tensor)
        if waiting and part is not None and part not in waiting:
            return
        if len(waiting) > 1 and not self._joining.is_possible(waiting.values(), shape, place):
            return
        pieces = [] if work is None else [work]
        for tensor in self._closing[place] if waiting else list(front):
            item = front.get(tensor)
            if item is None or item.way == MADE:
                continue
            if item.demands:
                slices = tuple(sorted((d.rows, d.columns, d.sink) for d in item.demands))
                pieces.append(self._piece(Load(self.problem.tensors[tensor], slices)))
            if self.problem.producer[tensor] is None or self.problem.tensors[tensor] != shape:
                del front[tensor]
            else:  # its producer cannot join any more, until it is decided
                front[tensor] = item._replace(demands=frozenset())
        if pieces:
            more = Addition(tuple(sorted(pieces)), *more[1:])
        target = self._node(place, shape, front) if waiting else END
        if target == NOWHERE:
            return
        signs = [1.0] * len(served) + [-1.0] * len(taken)
        self._arcs.add(node, target, more, () if choice is None else (choice,), [*served, *taken], signs)

    def _node(self, place: int, shape: Tensor, front: dict[int, Open]) -> int:
        """Return the node of groups that wait for tensors once a layer is decided, nowhere if it leads nowhere."""
        renamed: dict[int, int] = {}
        key = []
        for tensor in sorted(front):
            item = front[tensor]
            if item.way == MADE and item.part != (part := renamed.setdefault(item.part, len(renamed))):
                item = Open(tensor, MADE, item.demands, part)
            key.append(item)
        state = shape, tuple(key)
        layer, node = self._nodes.get(state, (0, NOWHERE))
        if layer > place:
            return node
        found = self._joining.next_layer(key, shape, place)
        if found is None:
            self._nodes[state] = len(self.order), NOWHERE
            return NOWHERE
        node = self._arcs.node(shape, found)
        self._nodes[state] = found, node
        self._layers[found].append(node)
        self._fronts.append(state[1])
        return node
