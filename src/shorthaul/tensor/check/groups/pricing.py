"""Which groups of operators have prices worth looking at, without enumerating all groups.

Operators are taken one after the other, takers before makers, and join the group or not. All groups that wait for the
same tensors in the same way are one *state*; what may still be gained from a state is bounded for several weights of
time against traffic. Groups of one state that ask for the same slices are one, at the highest price. Written apart from
the pricing of the search; slices and their times are those of :mod:`shorthaul.tensor.check.column_floor`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.check.boxes import HELD, ROWS, TRAFFIC, Boxes, weighed
from shorthaul.tensor.check.column_floor import TooManyError
from shorthaul.tensor.check.groups.history import NO_TURNS, Histories, History, Turns
from shorthaul.tensor.check.groups.naming import Words, named
from shorthaul.tensor.check.groups.parts import ALL, NO_PARTS, Demand, Parts, Share, Takings
from shorthaul.tensor.check.slices import STEP, TILE, WHOLE, Column, Slice
from shorthaul.tensor.model import Problem, Rules, Tensor

Floats = NDArray[np.float64]

_MEANS: Final = (0, 0.02, 0.05, 0.08, 0.12, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 1)
_UNLIKE: Final = ((1, 0), (0, 1), (1, 0.5), (0.5, 0), (0, 0.5), (1, 0.2))
_WEIGHTS: Final = weighed([*((mean, mean) for mean in _MEANS), *_UNLIKE])
#: A part of what all prices add up to that is nothing.
_SLACK: Final = 1e-12
_LOADED, _RESIDENT, _MADE, _CUT = "loaded", "resident", "made", "cut"
_OUTSIDE: Final = (_LOADED, _RESIDENT)


@dataclass(frozen=True, slots=True)
class Prices:
    """What covering an operator, serving a link and retaining a tensor is worth.

    ``parts`` says where groups are cut into parts, ``turns`` what it is worth to come in time.
    """

    cover: Mapping[int, float]
    link: Mapping[tuple[int, int], float]
    hand_over: Mapping[int, float]
    parts: Parts = NO_PARTS
    turns: Turns = NO_TURNS


class _Wait(NamedTuple):
    """A tensor asked for, its slices (rows, columns, length, marking), and in which part of the group."""

    tensor: int
    way: str
    slices: frozenset[Demand]
    part: int


class State(NamedTuple):
    """What groups wait for, of outputs of this shape; or parts of groups, and if these have used a cut already.

    ``history`` is what matters of what they did so far.
    """

    shape: Tensor
    waits: tuple[_Wait, ...] = ()
    is_part: bool = False
    is_cut: bool = False
    history: History = History()

    @property
    def begins(self) -> bool:
        """True if nothing has joined yet."""
        return not self.waits


class _Piece(NamedTuple):
    """Slices of one tensor to ``load``, or of one operator to ``work`` out, and the share of that which counts."""

    kind: str
    slices: tuple[Slice, ...]
    share: Share


class Asks(NamedTuple):
    """What a group has asked for so far: its pieces, ascending by number, and amounts."""

    pieces: tuple[int, ...] = ()
    stored: int = 0
    held: float = 0
    deepest: int = 1 << 60
    left: int = 0
    right: int = 0

    def plus(self, more: Asks) -> Asks:
        """Return what both ask for together."""
        return Asks(
            tuple(sorted(self.pieces + more.pieces)),
            self.stored + more.stored,
            self.held + more.held,
            min(self.deepest, more.deepest),
            max(self.left, more.left),
            max(self.right, more.right),
        )


class _Step(NamedTuple):
    """One decision: its gain, what it asks for, the state after it (None: the group is complete), and its words."""

    gain: float
    asks: Asks
    state: State | None
    words: tuple[str, ...]


class _Group(NamedTuple):
    """A group in the making: its prices so far, its words, and what it may gain in the end at most."""

    worth: float
    words: Words
    promise: float


_Making: TypeAlias = "dict[State, dict[Asks, _Group]]"


class Groups:
    """The states of all groups, and the steps between them."""

    def __init__(
        self, problem: Problem, rules: Rules, prices: Prices, most: int, order: tuple[int, ...] | None = None
    ) -> None:
        self.problem, self.rules, self.prices, self.most = problem, rules, prices, most
        self.order = [*reversed(problem.topological_order)] if order is None else list(order)
        place = {operator: number for number, operator in enumerate(self.order)}
        self.last_taker = [max((place[user] for user in users), default=-1) for users in problem.consumers]
        self.boxes = Boxes(problem, rules)
        self.pieces: list[_Piece] = []
        self._numbers: dict[_Piece, int] = {}
        self._costs: dict[tuple[Tensor, bool, Asks], list[float]] = {}
        #: What rounding may make of prices that come to nothing together.
        self.slack = _SLACK * math.fsum([*prices.cover.values(), *prices.link.values()])
        self._takings = Takings(problem, prices.parts, lambda index, tensor: _MADE in self._any_way(index, tensor))
        self._histories = Histories(problem, prices.turns, self.order)
        self.steps: list[dict[State, list[_Step]]] = []
        self._walk()
        self._hope = self._hopes()

    def _walk(self) -> None:
        """Work out the states before each operator, with those of groups that have not begun, and their steps."""
        states: list[State] = []
        count = 0
        for place in range(len(self.order)):
            here = {state: list(self._steps(place, state)) for state in [*self._begun(place), *states]}
            self.steps.append(here)
            states = [*{step.state: None for steps in here.values() for step in steps if step.state is not None}]
            count += len(states)
            if count > self.most:
                raise TooManyError

    def _begun(self, place: int) -> Iterator[State]:
        """Yield the states in which groups, and parts of groups, begin with an operator."""
        output = self.problem.operators[self.order[place]].output
        shape = self.problem.tensors[output]
        yield State(shape)
        if self.prices.parts.cuts:
            for each in dict.fromkeys([shape, *self._takings.shapes(output)]):
                yield State(each, is_part=True)

    def _hopes(self) -> list[dict[State, Floats]]:
        """Return by place and state what a group may gain from there at most, for each weight."""
        hopes: list[dict[State, Floats]] = [{} for _ in range(len(self.order) + 1)]
        nothing, over = np.zeros(len(_WEIGHTS)), np.full(len(_WEIGHTS), -np.inf)
        for place in range(len(self.order) - 1, -1, -1):
            for state, steps in self.steps[place].items():
                best = over
                for step in steps:
                    rest = nothing if step.state is None else hopes[place + 1].get(step.state, over)
                    best = np.maximum(best, step.gain - np.array(self._loose(state, step.asks)) + rest)
                hopes[place][state] = best
        return hopes

    def favoured(self, most: float, width: int | None = None) -> Iterator[tuple[Column | None, float, str]]:
        """Yield every column whose prices may exceed its latency, with what they add up to and its operators.

        No column is yielded for a part of a group: its prices do exceed what it costs. With a ``width``, only as many
        groups in the making go on from each state, those that may gain most, and some columns are yielded.

        Raises :class:`TooManyError` where more than ``most`` groups are in the making.
        """
        making: _Making = {}
        nothing = [0.0] * len(_WEIGHTS)
        count = 0
        for place in range(len(self.order)):
            following: _Making = defaultdict(dict)
            complete: _Making = defaultdict(dict)
            for state, steps in self.steps[place].items():
                begun = {Asks(): _Group(0.0, None, 0.0)} if state.begins else making.get(state, {})
                end = State(state.shape, is_part=state.is_part)
                targets = [
                    (step, nothing if step.state is None else self._hope[place + 1][step.state].tolist())
                    for step in steps
                    if step.state is None or step.state in self._hope[place + 1]
                ]
                for asks, (worth, words, _) in begun.items():
                    for step, hope in targets:
                        total = worth + step.gain
                        grown = asks.plus(step.asks)
                        least = self._least(end, grown)
                        promise = total + min(more - cost for more, cost in zip(hope, least, strict=True))
                        if promise <= self.slack:
                            continue
                        count += 1
                        there = complete[end] if step.state is None else following[step.state]
                        if grown not in there or there[grown].worth < total:
                            there[grown] = _Group(total, (words, step.words), promise)
            if count > most:
                raise TooManyError
            for end, groups in complete.items():
                for asks, group in _best(groups, width):
                    yield None if end.is_part else self.column(end.shape, asks), group.worth, named(group.words)
            making = {state: dict(_best(groups, width)) for state, groups in following.items()}

    def column(self, shape: Tensor, asks: Asks) -> Column:
        """Return the column that a group which asked for this is."""
        found = [self.pieces[number] for number in asks.pieces]
        loads = [piece.slices for piece in found if piece.kind == "load"]
        works = [piece.slices for piece in found if piece.kind == "work"]
        return Column(
            height=shape.height,
            width=shape.width,
            longest=max(item.length for slices in works for item in slices),
            deepest=asks.deepest if asks.deepest < 1 << 60 else 1,
            prologues=(asks.left, asks.right),
            loads=tuple(loads),
            works=tuple(works),
            stored=asks.stored,
            held=round(asks.held),
        )

    def tables(self, state: State, asks: Asks) -> tuple[Floats, Floats]:
        """Return time and traffic by box, infinite where nothing fits, and what is held in first and last steps.

        For parts, each is the mean of both.
        """
        shape = state.shape
        none = np.zeros((ROWS, len(self.boxes.low[0])))
        tables = sum((self._table(shape, number) for number in asks.pieces), none)
        need = (asks.left, asks.right)
        held = self.boxes.held(shape, tables, asks.stored, asks.held)
        cost = self.boxes.least(shape, tables, held, asks.stored, asks.deepest, need)
        return (self._takings.mean(shape, cost) if state.is_part else cost), held

    def _table(self, shape: Tensor, number: int) -> Floats:
        piece = self.pieces[number]
        return self.boxes.table(shape, piece.kind, piece.slices, piece.share.beside) * piece.share.part

    def _least(self, state: State, asks: Asks) -> list[float]:
        """Return for each weight what a group in the making takes at least."""
        key = state.shape, state.is_part, asks
        found = self._costs.get(key)
        if found is None:
            times, _ = self.tables(state, asks)
            fitting = times[:, np.isfinite(times[0])]
            least = np.full(len(_WEIGHTS), np.inf)
            if fitting.size:
                least = (_WEIGHTS @ fitting).min(axis=1)
            found = self._costs[key] = list(map(float, least))
        return found

    def _loose(self, state: State, asks: Asks) -> list[float]:
        """Return for each weight what these pieces add to any group at least."""
        shape = state.shape
        least = np.zeros(len(_WEIGHTS))
        stored = np.zeros((HELD, 1))
        stored[TRAFFIC + 1] = asks.stored * shape.size
        for table in (stored, *(self._table(shape, number)[:HELD] for number in asks.pieces)):
            cost = table.copy()
            cost[TRAFFIC:] /= self.problem.machine.bandwidth
            least = least + (_WEIGHTS @ (self._takings.mean(shape, cost) if state.is_part else cost)).min(axis=1)
        return list(map(float, least))

    def _steps(self, place: int, state: State) -> Iterator[_Step]:
        output = self.problem.operators[self.order[place]].output
        waits = {wait.tensor: wait for wait in state.waits}
        mine = waits.pop(output, None)
        if not state.begins and (mine is None or mine.way != _MADE):
            yield from self._settled(place, state, waits, _Step(0.0, Asks(), None, ()), None)
        if mine is None or mine.way == _MADE:
            yield from self._joins(place, state, waits, mine)

    def _joins(self, place: int, state: State, waits: dict[int, _Wait], mine: _Wait | None) -> Iterator[_Step]:
        """Yield the ways in which an operator joins a group, and what it makes for other parts of it."""
        problem, prices = self.problem, self.prices
        index = self.order[place]
        output, size = problem.operators[index].output, problem.tensors[problem.operators[index].output].size
        is_alike = problem.tensors[output] == state.shape
        takers = problem.consumers[output]
        kinds = [(False, False)]
        if takers and is_alike and size <= problem.machine.capacity:
            kinds.append((True, False))
        if is_alike and self.rules.stores_shared and mine is not None:
            kinds.append((False, True))
        givings = [(frozenset[Demand](), 0.0)]
        if state.is_part:
            givings += self._takings.givings(output, state.shape)
        for (given, worth), (is_kept, is_beside) in product(givings, kinds):
            is_stored = is_beside or (mine is None and not given and not is_kept)
            if is_stored and not is_alike:
                continue
            slices = set(given) | (set(mine.slices) if mine else set())
            gain = prices.cover.get(index, 0.0) + worth
            if is_stored or is_kept:
                slices.add((TILE, TILE, 0, "none"))
            if is_kept:
                gain += prices.hand_over.get(output, 0.0)
            if is_stored or (is_kept and self.rules.retains_inputs):
                gain += math.fsum(prices.link.get((taker, output), 0.0) for taker in takers)
            base = Asks(
                pieces=(self._number("work", tuple(self._work(index, item) for item in sorted(slices))),),
                stored=int(is_stored),
                held=size if is_kept else 0,
                deepest=problem.reduction(index) if problem.operators[index].is_matmul else 1 << 60,
            )
            deeds = [("run", index)] + ([("retained" if is_kept else "stored", output)] if is_kept or is_stored else [])
            history, more = self._histories.did(state.history, deeds)
            step = _Step(gain + more, base, None, (f"{index}{'+' if is_kept else ''}",))
            part = max((wait.part for wait in state.waits), default=0) + 1 if mine is None else mine.part
            after = state._replace(is_cut=state.is_cut or bool(given), history=history)
            asked = self._asked(index, slices)
            for ways in product(*(self._ways(index, tensor, waits, state) for tensor in asked)):
                yield from self._taking(place, after, waits, step, dict(zip(asked, ways, strict=True)), part, asked)

    def _taking(
        self,
        place: int,
        state: State,
        waits: dict[int, _Wait],
        step: _Step,
        ways: dict[int, str],
        part: int,
        asked: dict[int, set[Demand]],
    ) -> Iterator[_Step]:
        """Yield the step by which the operator takes its inputs in these ways."""
        index = self.order[place]
        grown = dict(waits)
        gain, asks, words = step.gain, step.asks, step.words
        rests = [("stored" if way == _LOADED else "retained", t) for t, way in ways.items() if way in _OUTSIDE]
        history, more = self._histories.rests(state.history, rests)
        state, gain = state._replace(history=history), gain + more
        for tensor, way in ways.items():
            before = grown.get(tensor)
            share = self._takings.share(index, tensor) if state.is_part else ALL
            if way != _LOADED and (way != _RESIDENT or not self.rules.retains_inputs):
                gain += self.prices.link.get((index, tensor), 0.0)
            if way == _RESIDENT and before is None:
                gain -= share.part * self.prices.hand_over.get(tensor, 0.0)
                asks = asks._replace(held=asks.held + share.part * self.problem.tensors[tensor].size)
                words = (*words, f"r{tensor}")
            if way in (_MADE, _CUT) and self._is_prologue(index, tensor):
                left, right = self.problem.operators[index].inputs
                depth = self.problem.reduction(index)
                asks = asks._replace(
                    left=depth if tensor == left else asks.left, right=depth if tensor == right else asks.right
                )
            if way == _CUT:
                gain -= self._takings.taken(index, tensor, state.shape, frozenset(asked[tensor]))
                state = state._replace(is_cut=True)
                continue
            if way == _LOADED and state.is_part:
                asks = asks.plus(Asks((self._load(tensor, asked[tensor], share),)))
            if way != _MADE and state.is_part:
                continue
            if way == _MADE and before is not None and before.part != part:
                for wait in list(grown.values()):
                    if wait.part == before.part:
                        grown[wait.tensor] = wait._replace(part=part)
            slices = frozenset() if way == _RESIDENT else frozenset(asked[tensor])
            if way == _LOADED:
                slices = frozenset((*item[:3], "none") for item in slices)
            slices |= before.slices if before else frozenset()
            grown[tensor] = _Wait(tensor, way, slices, part if way == _MADE else 0)
        yield from self._settled(place, state, grown, _Step(gain, asks, None, words), part)

    def _settled(
        self, place: int, state: State, waits: dict[int, _Wait], step: _Step, part: int | None
    ) -> Iterator[_Step]:
        """Yield the step with the slices that nobody else can ask for loaded; none if the group falls apart."""
        parts = {wait.part for wait in waits.values() if wait.way == _MADE}
        if parts and part is not None and part not in parts:
            return
        if not parts and state.is_part and not state.is_cut:
            return
        left = []
        pieces = list(step.asks.pieces)
        for wait in waits.values():
            if wait.way != _MADE and (not parts or self.last_taker[wait.tensor] <= place):
                if wait.slices:
                    pieces.append(self._load(wait.tensor, wait.slices))
                if self.problem.producer[wait.tensor] is None or self.problem.tensors[wait.tensor] != state.shape:
                    continue
                wait = wait._replace(slices=frozenset())  # whoever makes it may not join any more
            left.append(wait)
        after = None
        if parts:
            number = {
                part: place for place, part in enumerate(dict.fromkeys(w.part for w in left if w.way == _MADE), 1)
            }
            left = [wait._replace(part=number.get(wait.part, 0)) for wait in left]
            after = state._replace(waits=tuple(sorted(left)), history=self._histories.recent(state.history, place))
        yield step._replace(asks=step.asks._replace(pieces=tuple(sorted(pieces))), state=after)

    def _load(self, tensor: int, demands: Iterable[Demand], share: Share = ALL) -> int:
        """Return the number of the piece of slices that are loaded."""
        height, width = self.problem.tensors[tensor].height, self.problem.tensors[tensor].width
        distinct = sorted({item[:3] for item in demands})
        return self._number("load", tuple(Slice(*item, height, width) for item in distinct), share)

    def _ways(self, index: int, tensor: int, waits: Mapping[int, _Wait], state: State) -> list[str]:
        """Return how an operator may get a tensor in a state; over a link that is cut it is made for nothing."""
        known = waits[tensor].way if tensor in waits else None
        ways = self._any_way(index, tensor)
        if (index, tensor) in self.prices.parts.cuts and _MADE in ways:
            ways[ways.index(_MADE)] = _CUT
            if not state.is_part:
                ways.remove(_CUT)
            if known == _MADE:
                return [way for way in ways if way == _CUT]
        return [way for way in ways if known in (None, way)]

    def _any_way(self, index: int, tensor: int) -> list[str]:
        ways, is_made = [_LOADED], self.problem.producer[tensor] is not None
        if (is_made or self.rules.retains_inputs) and self.problem.tensors[
            tensor
        ].size <= self.problem.machine.capacity:
            ways.append(_RESIDENT)
        if is_made and (not self._is_prologue(index, tensor) or self._is_whole_somewhere(index, tensor)):
            ways.append(_MADE)
        return ways

    def _is_whole_somewhere(self, index: int, tensor: int) -> bool:
        """True if the rule on prologues lets a MatMul have ``tensor`` made in its group at some granularity."""
        machine = self.problem.machine
        longest = {0: machine.native_width, 1: max(machine.native_width, machine.native_height)}
        sides = [side for side, taken in enumerate(self.problem.operators[index].inputs) if taken == tensor]
        return all(self.problem.reduction(index) <= longest[side] for side in sides)

    def _is_prologue(self, index: int, tensor: int) -> bool:
        source = self.problem.producer[tensor]
        operators = self.problem.operators
        assert source is not None
        return self.rules.prologues_are_whole and operators[index].is_matmul and not operators[source].is_matmul

    def _asked(self, index: int, slices: set[Demand]) -> dict[int, set[Demand]]:
        """Return the slices of its inputs that an operator asks for."""
        operator = self.problem.operators[index]
        asked: dict[int, set[Demand]] = {tensor: set() for tensor in operator.inputs}
        for rows, columns, length, marking in slices:
            if not operator.is_matmul:
                for tensor in operator.inputs:
                    asked[tensor].add((rows, columns, length, marking))
                continue
            reduction = WHOLE if length else STEP
            asked[operator.inputs[0]].add((rows, reduction, length or self.problem.reduction(index), "columns"))
            asked[operator.inputs[1]].add((reduction, columns, length or self.problem.reduction(index), "rows"))
        return asked

    def _work(self, index: int, item: Demand) -> Slice:
        operator = self.problem.operators[index]
        shape = self.problem.tensors[operator.output]
        rows, columns, length, marking = item
        part = "none"
        if operator.is_matmul:
            part = "full" if length else "step"
            length = length or self.problem.reduction(index)
        return Slice(rows, columns, length, shape.height, shape.width, operator.base_cost, marking, part)

    def _number(self, kind: str, slices: tuple[Slice, ...], share: Share = ALL) -> int:
        piece = _Piece(kind, slices, share)
        number = self._numbers.setdefault(piece, len(self.pieces))
        if number == len(self.pieces):
            self.pieces.append(piece)
        return number


def _best(groups: dict[Asks, _Group], width: int | None) -> Iterable[tuple[Asks, _Group]]:
    """Return the groups that may gain most, all of them without a ``width``."""
    if width is None:
        return groups.items()
    return sorted(groups.items(), key=lambda item: -item[1].promise)[:width]
