"""Rows of an order elsewhere in the graph: what one block of a graph needs, blocks like it need too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shorthaul.tensor.bounds.groups.ordering import RUN, Deed, Deeds, Succession
from shorthaul.tensor.bounds.master import colours
from shorthaul.tensor.model import Problem

#: How far away neighbours may be that tell operators apart.
_RADIUS = 1

#: An operator or a tensor: whether it is a tensor, and its number.
_Place = tuple[bool, int]
#: A way from one to another: at each step which neighbour of how many.
_Way = tuple[tuple[int, int], ...]


class Repeats:
    """Moves sets of deeds, and successions, to where the graph looks alike: along the same ways."""

    def __init__(self, problem: Problem, later: frozenset[int]) -> None:
        self._problem = problem
        operators, _ = colours(problem, later, _RADIUS)
        self._alike: dict[int, list[int]] = {}
        for index, colour in enumerate(operators):
            if index not in later:
                self._alike.setdefault(colour, []).append(index)
        self._colour = operators

    def supports(self, found: Iterable[Deeds]) -> list[Deeds]:
        """Return the sets of deeds, each followed by those like it."""
        moved: dict[Deeds, None] = {}
        for deeds in found:
            begin = min((deed.number for deed in deeds if deed.kind == RUN), default=None)
            places = {deed: (deed.kind != RUN, deed.number) for deed in deeds}
            moved[deeds] = None
            for where in () if begin is None else self._moved(begin, [*places.values()]):
                moved[frozenset(Deed(deed.kind, where[place]) for deed, place in places.items())] = None
        return [*moved]

    def successions(self, found: Iterable[Succession]) -> list[Succession]:
        """Return the successions, each followed by those like it."""
        moved: dict[Succession, None] = {}
        for sets in found:
            places = [(True, tensor) for each in sets for tensor in each]
            begin = self._problem.producer[min(places)[1]]
            assert begin is not None
            moved[sets] = None
            for where in self._moved(begin, places):
                moved[frozenset(frozenset(where[True, tensor] for tensor in each) for each in sets)] = None
        return [*moved]

    def _moved(self, begin: int, places: list[_Place]) -> Iterator[dict[_Place, int]]:
        """Yield for every operator like this one what is there where the places are here."""
        ways = self._ways(begin, set(places))
        if ways is None:
            return
        for other in self._alike.get(self._colour[begin], []):
            where = {place: self._follow(other, way) for place, way in ways.items()}
            there = {place: end for place, end in where.items() if end is not None}
            if len(there) == len(where) and other != begin:
                yield there

    def _ways(self, begin: int, places: set[_Place]) -> dict[_Place, _Way] | None:
        """Return the shortest ways from an operator to places, None if one of them cannot be reached."""
        ways: dict[_Place, _Way] = {(False, begin): ()}
        pending = [(False, begin)]
        for place in pending:
            if places <= ways.keys():
                return {place: ways[place] for place in places}
            around = self._around(place)
            for number, other in enumerate(around):
                if other not in ways:
                    ways[other] = (*ways[place], (number, len(around)))
                    pending.append(other)
        return None

    def _follow(self, begin: int, way: _Way) -> int | None:
        """Return where a way leads to, None if there is no such way."""
        place = False, begin
        for number, count in way:
            around = self._around(place)
            if len(around) != count:
                return None
            place = around[number]
        is_made = not place[0] or self._problem.producer[place[1]] is not None
        return place[1] if is_made else None

    def _around(self, place: _Place) -> list[_Place]:
        """Return the neighbours, always in the same order."""
        is_tensor, number = place
        if is_tensor:
            source = self._problem.producer[number]
            users = [(False, user) for user in self._problem.consumers[number]]
            return users if source is None else [(False, source), *users]
        operator = self._problem.operators[number]
        return [(True, operator.output), *((True, tensor) for tensor in dict.fromkeys(operator.inputs))]
