"""What stays in memory from one turn to the next, in room that the turns in between leave.

Phases are executed one after the other, groups of a loop take turns in every step; by itself each begins with an empty
memory and loads every value that it reads from elsewhere at least once. A value that is read or computed in turn a and
read next in turn b may stay from a to b, both included: the first load of b is saved. So many values may stay as fit
beside what every turn holds, counted step by step. Where the values that come into a turn are among those that go on,
every time, or all that go on are among those that came, they stay in one order: by when they are read first, or last.
Then those that come and those that go are no more than the larger number of both.

Where all turns keep the order of what shares the places of an array, places are followed in place of values: one that
stays holds the value that came until that is read last, and the one that goes on from when it is computed. So what a
turn overwrites takes the room of what was there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.along import along
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.orders.placement import Row
from shorthaul.affine.tuning import MOST_KEPT_STEPS

IntArray = npt.NDArray[np.int64]
_OUT, _PARAM = isl.dim_type.out, isl.dim_type.param
#: Where values are from: a statement, None for inputs, and the array.
_Class = tuple[str | None, str]
#: A turn in a step.
_Slot = tuple[int, int]


@dataclass(frozen=True)
class Staying:
    """The ``loads`` saved by array, in a memory of ``sizes['S']`` words or more, at these sizes only."""

    loads: Mapping[str, int]
    sizes: Mapping[str, int]

    def words(self, sizes: Mapping[str, int], capacity: int) -> int:
        """Return the words that need no load."""
        return self.bytes(sizes, capacity, dict.fromkeys(self.loads, 1))

    def bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> int:
        """Return the bytes that need no load; ``widths`` are those of one element by array."""
        alike = all(self.sizes.get(name) == size for name, size in sizes.items() if name != "S")
        holds = alike and capacity >= self.sizes["S"]
        return sum(widths[name] * count for name, count in self.loads.items()) if holds else 0


#: The steps of statements as functions of their iterators.
_Times = tuple[tuple[str, tuple[Row, ...]], ...]
#: In which steps values are read, and in which they are read or computed: {value -> m}.
_Access = tuple[isl.Map | None, isl.Map]


@dataclass(frozen=True)
class Turn:
    """What holds ``room`` words at most: ``times`` are the steps of all instances, by statement, at given sizes.

    ``rows`` are these steps as functions.
    """

    room: int
    times: Mapping[str, isl.Map]
    rows: _Times


@dataclass(frozen=True)
class Known:
    """What was worked out of turns, by their steps: which values they access, and which may stay between two."""

    accesses: dict[tuple[_Times, frozenset[str]], dict[_Class, _Access]] = field(default_factory=dict)
    stays: dict[object, tuple[isl.Map, int, IntArray] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Link:
    """Values that turn ``first`` touches in step m and ``last`` reads next, ``later`` steps after: {value -> m}.

    ``counts`` says how many values there are in step ``start`` and in every later one.
    """

    values: _Class
    first: int
    last: int
    later: int
    steps: isl.Map
    start: int
    counts: IntArray

    def slots(self, step: int, turns: int) -> list[_Slot]:
        """Return the turns in which what stays in ``step`` takes room."""
        last = self.last + self.later * turns
        return [(step + at // turns, at % turns) for at in range(self.first, last + 1)]


def staying(
    flow: DataFlow,
    turns: Sequence[Turn],
    sizes: Mapping[str, int],
    in_place: frozenset[str] = frozenset(),
    known: Known | None = None,
) -> Staying:
    """Return the loads saved by what stays from turn to turn in S words; ``sizes`` has every parameter, and S.

    Of arrays ``in_place`` the turns keep the order of all that accesses one element. What is ``known`` of turns with
    the same statements in the same steps is not worked out again.
    """
    # what may stay besides need not be known
    found = effort.until_out_of_effort(_links(flow, turns, in_place, sizes, Known() if known is None else known))
    links = sorted(found, key=lambda item: len(item.slots(0, len(turns))))
    if not links:
        return Staying({}, sizes)
    first, end = min(item.start for item in links), max(item.start + len(item.counts) for item in links)
    wanted = np.zeros((len(links), end - first), np.int64)
    for row, item in zip(wanted, links, strict=True):
        row[item.start - first : item.start - first + len(item.counts)] = item.counts
    changes = [*(1 + np.flatnonzero((wanted[:, 1:] != wanted[:, :-1]).any(axis=0))).tolist(), end - first]
    saved: Counter[str] = Counter()
    rooms = _Rooms(links, _chained(links), turns, sizes["S"])
    step = 0
    for change in changes:
        while step < change:
            before = rooms.state(first + step)
            more = rooms.kept(first + step, wanted[:, step].tolist())
            saved.update(more)
            step += 1
            if step < change and rooms.state(first + step) == before:  # so it goes on as long as counts are the same
                saved.update({name: words * (change - step) for name, words in more.items()})
                rooms.pass_by(change - step)
                step = change
    return Staying(saved, sizes)


class _Rooms:
    """The room that is taken in the turns of a step and of later ones, while steps are followed.

    At both ends of links that are ``chained`` what comes and what goes on are no more than the larger number of both.
    """

    def __init__(self, links: Sequence[_Link], chained: Sequence[bool], turns: Sequence[Turn], capacity: int) -> None:
        self.links, self.chained, self.turns = links, chained, turns
        self.free = [capacity - item.room for item in turns]
        self.taken: dict[_Slot, int] = {}
        self.ends: dict[tuple[_Class, _Slot], int] = {}

    def kept(self, step: int, wanted: Sequence[int]) -> dict[str, int]:
        """Return the words that stay from ``step`` on, by array; ``wanted`` says how many of every link there are."""
        saved: Counter[str] = Counter()
        for item, chained, most in zip(self.links, self.chained, wanted, strict=True):
            if not most:
                continue
            slots = item.slots(step, len(self.turns))
            there = dict.fromkeys(slots, 0)
            if chained:
                there.update({slot: self.ends.get((item.values, slot), 0) for slot in {slots[0], slots[-1]}})
            room = min(self.free[slot[1]] - self.taken.get(slot, 0) + there[slot] for slot in slots)
            words = min(most, room)
            if words <= 0:
                continue
            for slot in slots:
                self.taken[slot] = self.taken.get(slot, 0) + max(0, words - there[slot])
            for slot in {slots[0], slots[-1]} if chained else ():
                self.ends[item.values, slot] = max(words, there[slot])
            saved[item.values[1]] += words
        return saved

    def state(self, step: int) -> tuple[dict[_Slot, int], dict[tuple[_Class, _Slot], int]]:
        """Return what is taken from ``step`` on, in steps after it; what was before is forgotten."""
        self.taken = {slot: words for slot, words in self.taken.items() if slot[0] >= step}
        self.ends = {key: words for key, words in self.ends.items() if key[1][0] >= step}
        return (
            {(at - step, turn): words for (at, turn), words in self.taken.items()},
            {(values, (at - step, turn)): words for (values, (at, turn)), words in self.ends.items()},
        )

    def pass_by(self, steps: int) -> None:
        """Go on by ``steps`` in which as much is taken as now."""
        self.taken = {(at + steps, turn): words for (at, turn), words in self.taken.items()}
        self.ends = {(values, (at + steps, turn)): words for (values, (at, turn)), words in self.ends.items()}


def _chained(links: Sequence[_Link]) -> list[bool]:
    """Tell the links that are in chains: of each kind of values the largest one from a turn, and to a turn."""
    result = [False] * len(links)
    for values in {item.values for item in links}:
        chain: list[int] = []
        mine = (at for at, item in enumerate(links) if item.values == values)
        for at in sorted(mine, key=lambda at: -int(links[at].counts.sum())):
            if not any(links[at].first == links[one].first or links[at].last == links[one].last for one in chain):
                chain.append(at)
        if _are_nested([links[at] for at in chain]):
            for at in chain:
                result[at] = True
    return result


def _links(
    flow: DataFlow, turns: Sequence[Turn], in_place: frozenset[str], sizes: Mapping[str, int], known: Known
) -> Iterator[_Link]:
    """Yield what may stay from a turn with free room to the next one that reads it, inputs of most loops first."""
    capacity, accesses = sizes["S"], list[dict[_Class, _Access]]()
    for turn in turns:
        own = turn.rows, in_place
        if own not in known.accesses:
            known.accesses[own] = _accesses(flow, turn, in_place, sizes)
        accesses.append(known.accesses[own])
    spaces = {item: touched.dim(isl.dim_type.in_) for found in accesses for item, (_, touched) in found.items()}
    for values in sorted(spaces, key=lambda item: (item[0] is not None, -spaces[item])):
        mine = [found.get(values, (None, None)) for found in accesses]
        for first, last in product(range(len(turns)), repeat=2):
            later = int(last <= first)
            between = range(first + 1, last + later * len(turns))
            full = any(turns[at % len(turns)].room >= capacity for at in (first, *between, last))
            if full or mine[first][1] is None or mine[last][0] is None:
                continue
            inner = [at for at in between if mine[at % len(turns)][1] is not None]
            others = ((turns[at % len(turns)].rows, at // len(turns)) for at in inner)
            key = values, in_place, turns[first].rows, turns[last].rows, later, tuple(others)
            if key not in known.stays:
                effort.step()
                found = mine[first][1].intersect(_earlier(mine[last][0], later))
                for at in inner:
                    found = found.subtract(_earlier(mine[at % len(turns)][1], at // len(turns)))
                known.stays[key] = _counted(found.coalesce())
            if (stays := known.stays[key]) is not None:
                yield _Link(values, first, last, later, *stays)


def _counted(found: isl.Map) -> tuple[isl.Map, int, IntArray] | None:
    """Return steps of values with the first step, and how many values there are in it and in every later one.

    None if there are no values, or too many steps.
    """
    if found.is_empty():
        return None
    where, at = found.range(), found.dim(_PARAM)
    first, last = where.dim_min_val(0).to_python(), where.dim_max_val(0).to_python()
    if last - first >= MOST_KEPT_STEPS:
        return None
    points = found.move_dims(_PARAM, at, _OUT, 0, 1).set_dim_name(_PARAM, at, "m").domain()
    return found, first, along(card(points.reset_tuple_id()), "m", first, last)


def _accesses(flow: DataFlow, turn: Turn, in_place: frozenset[str], sizes: Mapping[str, int]) -> dict[_Class, _Access]:
    """Return the steps in which a turn reads values, and reads or computes them.

    The values of an array ``in_place`` are its elements, read where another turn, or step, has computed what is there.
    """
    reads: dict[_Class, isl.Map] = {}
    touched: dict[_Class, isl.Map] = {}

    def note(found: dict[_Class, isl.Map], values: _Class, steps: isl.Map) -> None:
        found[values] = found[values].union(steps) if values in found else steps

    for item in flow.flows:
        placed = item.reference.array in in_place
        values = None if placed else item.source, item.reference.array
        if item.sink in turn.times:
            relation = at_sizes(item.relation, sizes)
            steps = relation.apply_range(turn.times[item.sink])
            note(touched, values, _places(flow, item.source, steps, sizes) if placed else steps)
            if placed and item.source in turn.times:
                own = turn.times[item.source or ""].apply_range(turn.times[item.sink].reverse())
                steps = relation.subtract(own).apply_range(turn.times[item.sink])
            note(reads, values, _places(flow, item.source, steps, sizes) if placed else steps)
        if item.source in turn.times and not placed:
            note(touched, values, turn.times[item.source or ""])
    for name, steps in turn.times.items():
        array = flow.program.by_name[name].write.array
        if array in in_place:
            note(touched, (None, array), _places(flow, name, steps, sizes))
    return {values: (reads.get(values), steps) for values, steps in touched.items()}


def _places(flow: DataFlow, source: str | None, steps: isl.Map, sizes: Mapping[str, int]) -> isl.Map:
    """Return the steps of values computed by ``source`` as those of the elements that they are in."""
    if source is None:
        return steps
    return steps.apply_domain(at_sizes(flow.program.by_name[source].write.relation, sizes))


def _earlier(steps: isl.Map, by: int) -> isl.Map:
    return steps.apply_range(isl.Map(f"{{ [m] -> [m - {by}] }}")) if by else steps


def _are_nested(links: Sequence[_Link]) -> bool:
    """True if values that come and go on at a turn are one set in the other, at all turns the same way."""
    joints = [
        (_earlier(item.steps, -item.later), other.steps)
        for item in links
        for other in links
        if item.last == other.first
    ]

    def among(pairs: Sequence[tuple[isl.Map, isl.Map]]) -> bool:
        # steps that nothing comes into, or nothing leaves, are no joints
        return all(
            one.intersect_range(other.range()).is_subset(other.intersect_range(one.range())) for one, other in pairs
        )

    return among(joints) or among([(b, a) for a, b in joints])
