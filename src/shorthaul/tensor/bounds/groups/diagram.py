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
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.fronts import narrow_order
from shorthaul.tensor.bounds.groups.compaction import END, NOWHERE, Addition, Arcs, Choice, compacted
from shorthaul.tensor.bounds.groups.cutting import BEGUN, PART, Giving, Links, Outputs, Takings
from shorthaul.tensor.bounds.groups.joining import CUT, LOADED, MADE, RESIDENT, Joining, Open
from shorthaul.tensor.bounds.groups.ordering import (
    RETAINED,
    RUN,
    STORED,
    UNORDERED,
    Deed,
    GroupDeeds,
    Marks,
    Ordering,
    Tracker,
)
from shorthaul.tensor.bounds.groups.pieces import HELD, TIME, TRAFFIC, Boxes, Demand, Load, Work
from shorthaul.tensor.bounds.groups.regions import Sharing, is_a_prologue, may_be_made, sharing
from shorthaul.tensor.bounds.groups.rows import Rows
from shorthaul.tensor.cost_model.profile import COLUMNS_EXACT, FULL, NO_REDUCTION, PADDED, ROWS_EXACT, STEP, TILE
from shorthaul.tensor.model import Problem, Rules, Tensor
from shorthaul.tensor.tuning import ARCS_PER_EFFORT

Floats = NDArray[np.float64]


#: Nodes between two looks at effort and deadline.
_NODES_AT_ONCE: Final = 256
_NOTHING: Final = Addition()
_NO_DEMANDS: Final = frozenset[Demand]()
_ALONE: Final = Sharing(1, ())


class _Asked(NamedTuple):
    """What an operator asks of an input: slices as their maker sees them, or as they are loaded, and ways to get it."""

    tensor: int
    made: frozenset[Demand]
    loaded: frozenset[Demand]
    ways: tuple[int, ...]
    prologues: tuple[int, int]  #: what the rule on prologues asks for where the tensor is made, left and right


class _Joined(NamedTuple):
    """An operator that joins: the node's front after it, and what that adds."""

    front: dict[int, Open]
    outputs: Outputs
    choice: Choice
    served: list[int]
    taken: list[tuple[int, float]]  #: rows, and the share of a unit
    more: Addition
    part: int
    deeds: GroupDeeds


class Diagram:
    """The diagram of a problem; ``is_complete`` is false if it would have more than ``most`` nodes while it is built.

    Node ``n`` of layer ``layer_of[n]`` has ``arcs_of[n]`` arcs from ``first_arc[n]`` on. ``starts`` are the arcs, by
    layer, that begin a group. Operators ``later``, the last ones, are in no group:
    they stand for others that need what they take to be stored. Groups that use links of ``cuts`` fall into parts.
    ``order`` is one of all operators, consumers before producers; ``ordering`` is what that of groups asks of them.
    """

    def __init__(
        self,
        problem: Problem,
        rules: Rules,
        search: Search,
        most: int,
        later: frozenset[int] = frozenset(),
        cuts: Links = frozenset(),
        order: Sequence[int] | None = None,
        ordering: Ordering = UNORDERED,
    ) -> None:
        self.problem = problem
        self.rules = rules
        self.later = later
        self.cuts = cuts
        self.rows = Rows(problem, rules, later, ordering)
        order = narrow_order(problem, search) if order is None else order
        self.ordering, self.decided = ordering, order
        self._is_ordered = bool(ordering.supports or ordering.successions)
        self.order = [index for index in order if index not in later]
        self._boxes: dict[Tensor, Boxes] = {}
        self._numbers: dict[Work | Load, int] = {}
        self._pieces: list[Work | Load] = []
        self._tables: dict[tuple[int, Tensor], Floats] = {}
        self._takings = Takings(self.rows.cut, self.rows.number)
        self._sharing = sharing(problem, rules, search) if self.cuts else {}
        given = {tensor for _, tensor in self.cuts}
        givers = frozenset(index for index in self.order if problem.operators[index].output in given)
        self._joining = Joining(problem, self.order, self._may_be_made, givers)
        self._in_parts = self._near_cuts(givers)
        self._fronts: list[tuple[Open, ...]] = [()]
        self._tracker = Tracker(problem, self.rows, self.order)
        self._marks: list[Marks] = [()]
        self._closing = self._last_uses()
        self._asked_known: dict[tuple[int, frozenset[Demand]], tuple[list[_Asked], int]] = {}
        self._layers: list[list[int]] = [[] for _ in self.order]
        self._nodes: dict[tuple[Outputs, tuple[Open, ...], Marks], tuple[int, int]] = {}
        built = None if search.expired() else self._build(search, most)
        self.is_complete = built is not None
        if self.rows.cut:
            self.rows.weigh(problem)
        arcs = Arcs() if built is None else compacted(built)
        self.additions, self.choices = list(arcs.additions), arcs.choices
        self.starts, self.nodes = arcs.starts, len(arcs.outputs_of)
        self.source, self.target = np.array(arcs.source, np.int64), np.array(arcs.target, np.int64)
        self.addition, self.layer_of = np.array(arcs.addition, np.int64), np.array(arcs.layer_of, np.int64)
        self.row, self.sign = np.array(arcs.rows, np.int64), np.array(arcs.signs)
        self.row_end = np.array(arcs.row_end, np.int64)
        self.outputs = arcs.outputs  #: by arc
        ends = [0, *(starts.stop for starts in self.starts)]
        #: the arcs of the nodes of each layer
        self.layers = [slice(begin, starts.start) for begin, starts in zip(ends, self.starts, strict=False)]
        joined = self.source != NOWHERE
        self.arcs_of = np.bincount(self.source[joined], minlength=self.nodes)
        self.first_arc = np.zeros(self.nodes, dtype=np.int64)
        self.first_arc[self.source[joined][::-1]] = np.flatnonzero(joined)[::-1]

    @property
    def met(self) -> int:
        """The number of nodes met while it was built, those that leave no choice included."""
        return len(self._fronts)

    # --- building ---------------------------------------------------------------------------------------------------

    def _near_cuts(self, givers: frozenset[int]) -> set[int]:
        """Return the operators that may be in a part: connected, without the links that are cut, to one of them."""
        near = set(givers) | {index for index, _ in self.cuts}
        pending = list(near)
        while pending:
            index = pending.pop()
            operator = self.problem.operators[index]
            around = [
                user for user in self.problem.consumers[operator.output] if self._may_be_made(user, operator.output)
            ]
            around += [
                source
                for tensor in operator.inputs
                if (source := self.problem.producer[tensor]) is not None and self._may_be_made(index, tensor)
            ]
            pending += set(around) - near
            near.update(around)
        return near

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
        counted = 0
        for place, operator in enumerate(self.order):
            output = self.problem.operators[operator].output
            for number, node in enumerate(self._layers[place]):
                if number % _NODES_AT_ONCE == 0:
                    search.spend((len(arcs.target) - counted) / ARCS_PER_EFFORT)
                    counted = len(arcs.target)
                    if len(arcs.outputs_of) > most or search.expired():
                        return None
                front = {item.tensor: item for item in self._fronts[node]}
                outputs = arcs.outputs_of[node]
                mine = front.pop(output, None)
                if mine is None or mine.way != MADE:
                    self._add(node, place, outputs, dict(front), None)
                if mine is None or mine.way == MADE:
                    self._include(node, place, outputs, front, mine)
            begin = len(arcs.target)
            shape = self.problem.tensors[output]
            self._include(NOWHERE, place, Outputs(shape), {}, None)
            if operator in self._in_parts:
                for each in dict.fromkeys([shape, *self._takings.shapes(output)]):
                    self._include(NOWHERE, place, Outputs(each, BEGUN), {}, None)
            if self._takings.are_too_many:
                return None
            arcs.starts.append(range(begin, len(arcs.target)))
        search.spend((len(arcs.target) - counted) / ARCS_PER_EFFORT)
        return arcs

    def _include(self, node: int, place: int, outputs: Outputs, front: dict[int, Open], mine: Open | None) -> None:
        """Add the arcs by which the operator of this layer joins; ``mine`` says what others ask of it."""
        problem, rows = self.problem, self.rows
        index = self.order[place]
        output = problem.operators[index].output
        is_alike = problem.tensors[output] == outputs.shape
        ways = [(False, False)]
        if is_alike and output in rows.fitting and problem.consumers[output]:
            ways.append((True, False))
        if is_alike and rows.stores_shared and mine is not None:
            ways.append((False, True))
        part = mine.part if mine else 1 + max((item.part for item in front.values()), default=-1)
        givings = [Giving()]
        if outputs.is_part:
            givings += self._takings.givings(output, outputs.shape)
        for giving in givings:
            for is_retained, is_beside in ways:
                is_stored = is_beside or (mine is None and not giving.rows and not is_retained)
                if is_stored and not is_alike:
                    continue
                served = [rows.cover[index], *giving.rows]
                demands = giving.demands | (mine.demands if mine else frozenset())
                if is_retained and not rows.keeps_for_all:
                    served.append(rows.hand_over[output])
                elif is_stored or is_retained:
                    served += [rows.link[user, output] for user in problem.consumers[output]]
                if is_stored or is_retained:
                    demands |= {Demand(TILE, TILE, 0, PADDED)}
                more = Addition((), int(is_stored), problem.tensors[output].size if is_retained else 0)
                kind = PART if giving.rows else outputs.kind
                does = {Deed(RUN, index)}
                if is_stored or is_retained:
                    does.add(Deed(STORED if is_stored else RETAINED, output))
                deeds = GroupDeeds(frozenset(does), frozenset())
                choice = Choice(index, (), is_retained, is_beside)
                joined = _Joined(front, outputs._replace(kind=kind), choice, served, [], more, part, deeds)
                self._join(node, place, outputs, joined, demands)

    def _join(self, node: int, place: int, outputs: Outputs, joined: _Joined, demands: frozenset[Demand]) -> None:
        """Add the arcs for every way in which an operator, of whose output this is asked, gets its inputs."""
        problem, rows = self.problem, self.rows
        index = joined.choice.operator
        asked, work = self._asked(index, demands)
        if problem.operators[index].is_matmul:
            joined = joined._replace(more=joined.more._replace(k_limit=problem.reduction(index)))
        for ways in product(*(self._ways(index, each, joined) for each in asked)):
            front = dict(joined.front)
            kind = PART if CUT in ways else joined.outputs.kind
            left = right = 0
            needs = set()
            served, taken, pieces, resident = list(joined.served), list(joined.taken), [work], []
            held = joined.more.held
            for each, way in zip(asked, ways, strict=True):
                tensor = each.tensor
                sharing = self._sharing[index, tensor] if outputs.is_part else _ALONE
                share = 1 / sharing.number
                if way != LOADED and (way != RESIDENT or not rows.keeps_for_all):
                    served.append(rows.link[index, tensor])
                if self._is_ordered and way in (LOADED, RESIDENT):
                    needs.add(Deed(STORED if way == LOADED else RETAINED, tensor))
                if way in (MADE, CUT):
                    left, right = max(left, each.prologues[0]), max(right, each.prologues[1])
                if way == CUT:
                    taken.append((self._takings.row(index, tensor, outputs.shape, each.made), 1.0))
                elif way == RESIDENT and tensor not in joined.front:
                    resident.append(tensor)
                    if not rows.keeps_for_all:
                        taken.append((rows.hand_over[tensor], share))
                    held += share * problem.tensors[tensor].size
                elif way == LOADED and outputs.is_part:
                    pieces.append(self._load(tensor, each.loaded, sharing))
                if way == MADE or not outputs.is_part:
                    self._ask(front, each, way, joined.part)
            grown = _Joined(
                front,
                Outputs(outputs.shape, kind),
                joined.choice._replace(resident=tuple(resident)),
                served,
                taken,
                Addition(tuple(pieces), joined.more.stored, held, joined.more.k_limit, left, right),
                joined.part,
                GroupDeeds(joined.deeds.does, frozenset(needs)),
            )
            self._add(node, place, outputs, front, grown)

    def _load(self, tensor: int, demands: frozenset[Demand], sharing: Sharing = _ALONE) -> int:
        slices = tuple(sorted((d.rows, d.columns, d.sink) for d in demands))
        return self._piece(Load(self.problem.tensors[tensor], slices, 1 / sharing.number, sharing.beside))

    def _ways(self, index: int, asked: _Asked, joined: _Joined) -> Sequence[int]:
        """Return how an operator that joins may get a tensor."""
        known = joined.front.get(asked.tensor)
        is_cut = (index, asked.tensor) in self.cuts
        if known is None:
            return (*asked.ways, CUT) if is_cut and joined.outputs.is_part else asked.ways
        if known.way == MADE and is_cut:
            return (CUT,) if joined.outputs.is_part else ()
        return (known.way,) if known.way in asked.ways else ()

    def _may_be_made(self, index: int, tensor: int) -> bool:
        """True if an operator may take a tensor that is made in its group, at some granularity, over no link cut."""
        return (index, tensor) not in self.cuts and may_be_made(self.problem, self.rules, index, tensor)

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
                    front[item.tensor] = Open(item.tensor, item.way, item.demands, part)
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
        if tensor in self.rows.fitting:
            ways.append(RESIDENT)
        if self._may_be_made(index, tensor):
            ways.append(MADE)
        inputs = self.problem.operators[index].inputs
        is_prologue = self.problem.producer[tensor] is not None and is_a_prologue(
            self.problem, self.rules, index, tensor
        )
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
            found = self._tables[piece, shape] = self._boxes_of(shape).table(self._pieces[piece])
        return found

    def _boxes_of(self, shape: Tensor) -> Boxes:
        if shape not in self._boxes:
            self._boxes[shape] = Boxes(self.problem, self.rules, shape)
        return self._boxes[shape]

    def table_of(
        self,
        addition: Addition,
        outputs: Outputs,
        pieces: Sequence[tuple[int, int]] | None = None,
        capacity: float = math.inf,
    ) -> Floats:
        """Return the table of what is added to a group, traffic as time, infinite where nothing is allowed.

        ``pieces``, with how often they occur, stand for those of the addition. With a ``capacity`` there are no columns
        of boxes where nothing is allowed or fits.
        """
        shape = outputs.shape
        pairs = ((piece, 1) for piece in addition.pieces) if pieces is None else pieces
        tables = [(self.table(piece, shape), number) for piece, number in pairs]
        boxes = self._boxes_of(shape)
        table = boxes.outputs(addition.stored, addition.held)
        for more, number in tables:
            table[HELD:] += number * more[HELD:]
        allowed = boxes.allowed(addition.k_limit, addition.left_prologue, addition.right_prologue)
        if capacity < math.inf:
            columns = np.flatnonzero(allowed & (table[HELD:].max(axis=0) <= capacity))
            table, allowed = table[:, columns], allowed[columns]
            tables = [(more[:HELD].take(columns, axis=1), number) for more, number in tables]
        for more, number in tables:
            table[:HELD] += more[:HELD] if number == 1 else number * more[:HELD]
        table[TRAFFIC:HELD] /= self.problem.machine.bandwidth
        table[TIME, ~allowed] = np.inf
        return table

    def _piece(self, piece: Work | Load) -> int:
        number = self._numbers.setdefault(piece, len(self._pieces))
        if number == len(self._pieces):
            self._pieces.append(piece)
        return number

    def _add(self, node: int, place: int, outputs: Outputs, front: dict[int, Open], joined: _Joined | None) -> None:
        """Add an arc, unless some part of the group is one that nothing can connect to the rest any more.

        ``front`` may be changed.
        """
        waiting = {item.part for item in front.values() if item.way == MADE}
        after = outputs if joined is None else joined.outputs
        if waiting and joined is not None and joined.part not in waiting:
            return
        if not waiting and after.kind == BEGUN:
            return  # it is no part of another group
        pieces = [] if joined is None else list(joined.more.pieces)
        for tensor in self._closing[place] if waiting else list(front):
            item = front.get(tensor)
            if item is None or item.way == MADE:
                continue
            if item.demands:
                pieces.append(self._load(tensor, item.demands))
            if self.problem.producer[tensor] is None or self.problem.tensors[tensor] != outputs.shape:
                del front[tensor]
            else:  # its producer cannot join any more, until it is decided
                front[tensor] = Open(tensor, item.way, _NO_DEMANDS, item.part)
        marks: Marks = () if node == NOWHERE else self._marks[node]
        changed: list[tuple[int, float]] = []
        if joined is not None:
            marks, changed = self._tracker.grown(marks, joined.deeds)
        target = self._node(place, after, front, marks) if waiting else END
        more = Addition(tuple(sorted(pieces)), *(_NOTHING if joined is None else joined.more)[1:])
        served = [] if joined is None else joined.served
        taken = [] if joined is None else joined.taken
        self._arcs.add(
            node,
            target,
            Outputs(outputs.shape, PART) if outputs.kind == BEGUN else outputs,
            more,
            () if joined is None else (joined.choice,),
            [*served, *(row for row, _ in taken), *(row for row, _ in changed)],
            [1.0] * len(served) + [-share for _, share in taken] + [sign for _, sign in changed],
        )

    def _node(self, place: int, outputs: Outputs, front: dict[int, Open], marks: Marks) -> int:
        """Return the node of groups that wait for tensors once a layer is decided."""
        renamed: dict[int, int] = {}
        key = []
        for tensor in sorted(front):
            item = front[tensor]
            if item.way == MADE and item.part != (part := renamed.setdefault(item.part, len(renamed))):
                item = Open(tensor, MADE, item.demands, part)
            key.append(item)
        state = outputs, tuple(key), self._tracker.undecided(marks, place)
        layer, node = self._nodes.get(state, (0, NOWHERE))
        if layer > place:
            return node
        found = self._joining.next_layer(key, outputs, place)
        node = self._arcs.node(outputs, found)
        self._nodes[state] = found, node
        self._layers[found].append(node)
        self._fronts.append(state[1])
        self._marks.append(state[2])
        return node
