"""What the order of groups asks of them: rows of the linear program beside those that every plan needs.

A *deed* is to run an operator, to store a tensor, or to retain one. A group needs what it loads to be stored, and what
it finds resident to be retained, by groups before it. Of a set that holds a deed which every plan does, the first group
to do one needs none: it *supports* the set. (Answer set programming calls this the loop formula of a set.)

A *succession* is some sets of tensors. A group that finds all of one of them resident comes right after another one,
which retains them all; and that is followed by no other. So there are no more of the former than of the latter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from shorthaul.tensor.model import Problem

if TYPE_CHECKING:
    from shorthaul.tensor.bounds.groups.rows import Rows

#: What a deed is.
RUN: Final = 0
STORED: Final = 1
RETAINED: Final = 2


class Deed(NamedTuple):
    """To run an operator, to store a tensor, or to retain one."""

    kind: int
    number: int


Deeds = frozenset[Deed]
#: Sets of tensors, none of which holds another one.
Succession = frozenset[frozenset[int]]


class Ordering(NamedTuple):
    """Sets of deeds to be supported, and successions."""

    supports: tuple[Deeds, ...] = ()
    successions: tuple[Succession, ...] = ()


UNORDERED: Final = Ordering()


class GroupDeeds(NamedTuple):
    """What a group, or an operator of it, does and needs."""

    does: Deeds
    needs: Deeds

    def supports(self, deeds: Deeds) -> bool:
        """True if it does one of these, and needs none."""
        return not self.does.isdisjoint(deeds) and self.needs.isdisjoint(deeds)


def deeds_of(
    problem: Problem, inside: frozenset[int], resident: frozenset[int], retained: frozenset[int]
) -> GroupDeeds:
    """Return what a group does and needs."""
    produced = {problem.operators[index].output for index in inside}
    consumed = {tensor for index in inside for tensor in problem.operators[index].inputs}
    loaded = {tensor for tensor in consumed - produced - resident if problem.producer[tensor] is not None}
    return GroupDeeds(
        _deeds(RUN, inside) | _deeds(STORED, produced - consumed - retained) | _deeds(RETAINED, retained),
        _deeds(STORED, loaded) | _deeds(RETAINED, resident),
    )


def _deeds(kind: int, numbers: Iterable[int]) -> Deeds:
    return frozenset(Deed(kind, number) for number in numbers)


def holds_one(tensors: frozenset[int], sets: Succession) -> bool:
    """True if all tensors of one of the sets are among these."""
    return any(each <= tensors for each in sets)


class _Met(NamedTuple):
    """Tensors of a succession that a group finds resident and retains so far; None where they hold a set."""

    resident: frozenset[int] | None = frozenset()
    retained: frozenset[int] | None = frozenset()


#: By row, what is known of a group in the making. Of a set of deeds: if it needs one; if not, it does one.
Marks: TypeAlias = tuple[tuple[int, bool | _Met], ...]


class Tracker:
    """Follows groups in the making, as operators join one after the other: which rows of an ordering they serve."""

    def __init__(self, problem: Problem, rows: Rows, order: Sequence[int]) -> None:
        place = {operator: number for number, operator in enumerate(order)}
        self._supports: dict[Deed, list[int]] = {}
        self._successions: dict[int, list[int]] = {}
        self._sets = {row: sets for sets, row in rows.succession.items()}
        self._last: dict[int, int] = {}  # by row, the last layer that decides something about it
        for deeds, row in rows.support.items():
            self._last[row] = max(_last(problem, place, deed) for deed in deeds)
            for deed in deeds:
                self._supports.setdefault(deed, []).append(row)
        for row, sets in self._sets.items():
            members = frozenset[int]().union(*sets)
            self._last[row] = max(_last(problem, place, Deed(RETAINED, tensor)) for tensor in members)
            for tensor in members:
                self._successions.setdefault(tensor, []).append(row)

    def grown(self, marks: Marks, more: GroupDeeds) -> tuple[Marks, list[tuple[int, float]]]:
        """Return the marks of a group in which an operator joins, and what that changes: rows and signs."""
        if not self._last:
            return (), []
        known = dict(marks)
        changed: list[tuple[int, float]] = []
        for row in {row for deed in more.needs for row in self._supports.get(deed, ())}:
            if known.get(row) is False:
                changed.append((row, -1.0))
            known[row] = True
        for row in {row for deed in more.does for row in self._supports.get(deed, ())} - known.keys():
            known[row] = False
            changed.append((row, 1.0))
        resident = {deed.number for deed in more.needs if deed.kind == RETAINED}
        retained = {deed.number for deed in more.does if deed.kind == RETAINED}
        for row in {row for tensor in resident | retained for row in self._successions.get(tensor, ())}:
            met = known.get(row, _Met())
            assert isinstance(met, _Met)
            finds, keeps = self._with(row, met.resident, resident), self._with(row, met.retained, retained)
            changed += [(row, -1.0)] if finds is None and met.resident is not None else []
            changed += [(row, 1.0)] if keeps is None and met.retained is not None else []
            known[row] = _Met(finds, keeps)
        return tuple(sorted(known.items(), key=lambda item: item[0])), sorted(changed)

    def _with(self, row: int, known: frozenset[int] | None, more: set[int]) -> frozenset[int] | None:
        if known is None:
            return None
        sets = self._sets[row]
        known |= more & frozenset[int]().union(*sets)
        return None if holds_one(known, sets) else known

    def undecided(self, marks: Marks, place: int) -> Marks:
        """Return the marks of rows about which something is decided after a layer."""
        return tuple(mark for mark in marks if self._last[mark[0]] > place)


def _last(problem: Problem, place: dict[int, int], deed: Deed) -> int:
    """Return the last layer in which a group may do a deed, or need it."""
    if deed.kind == RUN:
        return place.get(deed.number, 0)
    maker = problem.producer[deed.number]
    assert maker is not None
    return max(place.get(operator, 0) for operator in (*problem.consumers[deed.number], maker))
