"""What stays in memory from one turn to the next, in room that the turns in between leave.

Phases are executed one after the other, groups of a loop take turns in every step; by itself each begins with an empty
memory and loads every value that it reads from elsewhere at least once. A value that is read or computed in turn a and
read next in turn b may stay from a to b, both included: the first load of b is saved. So many values may stay as fit
beside what every turn holds, counted step by step. Where the values that come into a turn are among those that go on,
every time, or all that go on are among those that came, they stay in one order: by when they are read first, or last.
Then those that come and those that go are no more than the larger number of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.along import along
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.points import at_sizes
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
        return sum(self.loads.values()) if self._holds(sizes, capacity) else 0

    def bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> int:
        """Return the bytes that need no load; ``widths`` are those of one element by array."""
        return sum(widths[name] * count for name, count in self.loads.items()) if self._holds(sizes, capacity) else 0

    def _holds(self, sizes: Mapping[str, int], capacity: int) -> bool:
        return capacity >= self.sizes["S"] and all(
            self.sizes.get(name) == size for name, size in sizes.items() if name != "S"
        )


@dataclass(frozen=True)
class Turn:
    """What holds ``room`` words at most: ``times`` are the steps of all instances, by statement, at given sizes."""

    room: int
    times: Mapping[str, isl.Map]


@dataclass(frozen=True)
class _Link:
    """Values that turn ``first`` touches in step m and ``last`` reads next, ``later`` steps after: {value -> m}."""

    values: _Class
    first: int
    last: int
    later: int
    steps: isl.Map

    def slots(self, step: int, turns: int) -> list[_Slot]:
        """Return the turns in which what stays in ``step`` takes room."""
        last = self.last + self.later * turns
        return [(step + at // turns, at % turns) for at in range(self.first, last + 1)]

    def counts(self) -> tuple[int, IntArray]:
        """Return the first step, and how many values there are in it and in every later one."""
        at = self.steps.dim(_PARAM)
        where = self.steps.range()
        points = self.steps.move_dims(_PARAM, at, _OUT, 0, 1).set_dim_name(_PARAM, at, "m").domain()
        first, last = where.dim_min_val(0).to_python(), where.dim_max_val(0).to_python()
        return first, along(card(points.reset_tuple_id()), "m", first, last)


def staying(flow: DataFlow, turns: Sequence[Turn], sizes: Mapping[str, int]) -> Staying:
    """Return the loads saved by what stays from turn to turn in S words; ``sizes`` has every parameter, and S."""
    links = sorted(_links(flow, turns, sizes["S"], sizes), key=lambda item: len(item.slots(0, len(turns))))
    if not links:
        return Staying({}, sizes)
    counts = [item.counts() for item in links]
    first, end = min(start for start, _ in counts), max(start + len(found) for start, found in counts)
    wanted = np.zeros((len(links), end - first), np.int64)
    for row, (start, found) in zip(wanted, counts, strict=True):
        row[start - first : start - first + len(found)] = found
    changes = [*(1 + np.flatnonzero((wanted[:, 1:] != wanted[:, :-1]).any(axis=0))).tolist(), end - first]
    saved: Counter[str] = Counter()
    rooms = _Rooms(links, turns, sizes["S"])
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
    """The room that is taken in the turns of a step and of later ones, while steps are followed."""

    def __init__(self, links: Sequence[_Link], turns: Sequence[Turn], capacity: int) -> None:
        self.links, self.turns = links, turns
        self.free = [capacity - item.room for item in turns]
        self.nested = {
            values: _are_nested([item for item in links if item.values == values]) for values, *_ in map(_key, links)
        }
        self.taken: dict[_Slot, int] = {}
        self.ends: dict[tuple[_Class, _Slot], int] = {}

    def kept(self, step: int, wanted: Sequence[int]) -> dict[str, int]:
        """Return the words that stay from ``step`` on, by array; ``wanted`` says how many of every link there are."""
        saved: Counter[str] = Counter()
        for item, most in zip(self.links, wanted, strict=True):
            if not most:
                continue
            slots = item.slots(step, len(self.turns))
            there = dict.fromkeys(slots, 0)
            if self.nested[item.values]:
                there.update({slot: self.ends.get((item.values, slot), 0) for slot in {slots[0], slots[-1]}})
            room = min(self.free[slot[1]] - self.taken.get(slot, 0) + there[slot] for slot in slots)
            words = min(most, room)
            if words <= 0:
                continue
            for slot in slots:
                self.taken[slot] = self.taken.get(slot, 0) + max(0, words - there[slot])
            for slot in {slots[0], slots[-1]}:
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


def _key(link: _Link) -> tuple[_Class, int, int]:
    return link.values, link.first, link.last


def _links(flow: DataFlow, turns: Sequence[Turn], capacity: int, sizes: Mapping[str, int]) -> Iterator[_Link]:
    """Yield what may stay from a turn with free room to the next one that reads it."""
    for values, (reads, touched) in _accesses(flow, turns, sizes).items():
        for first in touched:
            for last in reads:
                effort.step()
                later = int(last <= first)
                between = list(range(first + 1, last + later * len(turns)))
                if any(turns[at % len(turns)].room >= capacity for at in (first, *between, last)):
                    continue
                found = touched[first].intersect(_earlier(reads[last], later))
                for at in between:
                    if at % len(turns) in touched:
                        found = found.subtract(_earlier(touched[at % len(turns)], at // len(turns)))
                if not found.is_empty():
                    bound = found.range()
                    if bound.dim_max_val(0).to_python() - bound.dim_min_val(0).to_python() < MOST_KEPT_STEPS:
                        yield _Link(values, first, last, later, found.coalesce())


def _accesses(
    flow: DataFlow, turns: Sequence[Turn], sizes: Mapping[str, int]
) -> dict[_Class, tuple[dict[int, isl.Map], dict[int, isl.Map]]]:
    """Return the steps in which values are read, and read or computed, by turn: {value -> m}."""
    home = {name: at for at, item in enumerate(turns) for name in item.times}
    result: dict[_Class, tuple[dict[int, isl.Map], dict[int, isl.Map]]] = {}

    def note(known: dict[int, isl.Map], at: int, steps: isl.Map) -> None:
        known[at] = known[at].union(steps) if at in known else steps

    for item in flow.flows:
        if item.sink not in home:
            continue
        values = item.source, item.reference.array
        reads, touched = result.setdefault(values, ({}, {}))
        at = home[item.sink]
        steps = at_sizes(item.relation, sizes).apply_range(turns[at].times[item.sink])
        note(reads, at, steps)
        note(touched, at, steps)
        if item.source in home:
            note(touched, home[item.source], turns[home[item.source]].times[item.source])
    return result


def _earlier(steps: isl.Map, by: int) -> isl.Map:
    return steps.apply_range(isl.Map.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [m] -> [m - {by}] }}")) if by else steps


def _are_nested(links: Sequence[_Link]) -> bool:
    """True if values that come and go on at a turn are one set in the other, at all turns the same way."""
    if len({item.first for item in links}) < len(links) or len({item.last for item in links}) < len(links):
        return False
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
