"""What a group in the making has asked for, and which operators that are not decided yet may still join it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from shorthaul.tensor.bounds.groups.cutting import Outputs
from shorthaul.tensor.bounds.groups.pieces import Demand
from shorthaul.tensor.model import Problem, Tensor

#: How a group gets a tensor.
LOADED: Final = 0
RESIDENT: Final = 1
MADE: Final = 2
#: Made by another part of the group.
CUT: Final = 3
#: Before all layers.
_NEVER: Final = -1


class Open(NamedTuple):
    """A tensor asked for, some of whose consumers or whose producer are not decided; ``part`` of a group in parts."""

    tensor: int
    way: int
    demands: frozenset[Demand]
    part: int


class Joining:
    """What is above operators, through tensors that a group may make for itself, as sets of bits.

    Parts of a group that wait for tensors are one in the end. So each of them has an operator above it in common with
    another one, or with a sink that is not decided yet, and all together hang together so. ``givers`` are operators
    whose output a part of a group may make for others: they are like sinks of any shape there.
    """

    def __init__(
        self,
        problem: Problem,
        order: list[int],
        may_be_made: Callable[[int, int], bool],
        givers: frozenset[int] = frozenset(),
    ) -> None:
        self._problem = problem
        place = {operator: place for place, operator in enumerate(order)}
        self._made_at = [_NEVER if source is None else place.get(source, _NEVER) for source in problem.producer]
        self._last_use = [
            max((place.get(user, _NEVER) for user in users), default=_NEVER) for users in problem.consumers
        ]
        self._makeable = [
            [tensor for tensor in problem.operators[operator].inputs if may_be_made(operator, tensor)]
            for operator in order
        ]
        self._order = order
        self._above = [0] * len(problem.operators)
        self._region = [*range(len(problem.operators))]  # by operator, the first one that it hangs together with
        for index in problem.topological_order:
            self._above[index] = 1 << index
            for tensor in problem.operators[index].inputs:
                source = problem.producer[tensor]
                if source is not None and may_be_made(index, tensor):
                    self._above[index] |= self._above[source]
                    self._region[self._root(source)] = self._root(index)
        self._region = [*map(self._root, self._region)]
        self._places: dict[tuple[int, Tensor], list[int]] = {}  # of operators, by region and the shape they make
        self._giving: dict[int, list[int]] = {}  # places by region
        for operator, at in place.items():
            shape = problem.tensors[problem.operators[operator].output]
            self._places.setdefault((self._region[operator], shape), []).append(at)
            if operator in givers:
                self._giving.setdefault(self._region[operator], []).append(at)
        self._places_of_parts: dict[tuple[int, Tensor], list[int]] = {}
        self._known: dict[tuple[int, Tensor, bool, frozenset[int]], bool] = {}
        self._sinks: dict[tuple[int, Tensor, bool, int], list[int]] = {}

    def _root(self, index: int) -> int:
        while self._region[index] != index:
            self._region[index] = index = self._region[self._region[index]]
        return index

    def _begins(self, outputs: Outputs, region: int) -> list[int]:
        """Return the layers whose operators, of what hangs together, may begin another part of such a group."""
        key = region, outputs.shape
        if not outputs.is_part:
            return self._places.get(key, [])
        places = self._places_of_parts.get(key)
        if places is None:
            places = sorted({*self._places.get(key, []), *self._giving.get(region, [])})
            self._places_of_parts[key] = places
        return places

    def is_possible(self, parts: Iterable[Iterable[int]], outputs: Outputs, place: int) -> bool:
        """Return whether parts, each of which waits for tensors, may be one once all after ``place`` is decided."""
        above = frozenset(map(self._wide, parts))
        if len(above) == 1:
            return True
        key = place, outputs.shape, outputs.is_part, above
        known = self._known.get(key)
        if known is None:
            regions = {self._region[one.bit_length() - 1] for one in above}
            known = self._known[key] = len(regions) == 1 and self._are_joined(above, outputs, place, regions.pop())
        return known

    def _are_joined(self, above: frozenset[int], outputs: Outputs, place: int, region: int) -> bool:
        """Return whether these sets hang together with what sinks after ``place`` have above them."""
        here = place, outputs.shape, outputs.is_part, region
        if here not in self._sinks:
            begins = self._begins(outputs, region)
            self._sinks[here] = _merged(self._above[self._order[at]] for at in begins if at > place)
        pieces = _merged([*above, *self._sinks[here]])
        return sum(any(piece & part for part in above) for piece in pieces) == 1

    def next_layer(self, front: Sequence[Open], outputs: Outputs, place: int) -> int | None:
        """Return the first layer after ``place`` that decides something about a group that waits for tensors.

        None if it cannot be completed. Before an operator makes a tensor of the ``front``, or is the last one to take
        it, others may begin another part of the group: those that make outputs of its shape, or what other parts take.
        """
        at = len(self._order)
        parts: dict[int, list[int]] = {}
        for tensor, way, _, part in front:
            if way == MADE:
                parts.setdefault(part, []).append(tensor)
            elif place < self._last_use[tensor] < at:
                at = self._last_use[tensor]
            if place < self._made_at[tensor] < at:
                at = self._made_at[tensor]
        source = self._problem.producer[next(iter(parts.values()))[0]]
        assert source is not None
        places = self._begins(outputs, self._region[source])
        for number in range(bisect_right(places, place), bisect_left(places, at)):
            begun = places[number]
            if self._makeable[begun] and self.is_possible([*parts.values(), self._makeable[begun]], outputs, begun):
                return begun
            if len(parts) > 1 and not self.is_possible(parts.values(), outputs, begun):
                return None
        return at

    def _wide(self, tensors: Iterable[int]) -> int:
        above = 0
        for tensor in tensors:
            source = self._problem.producer[tensor]
            assert source is not None
            above |= self._above[source]
        return above


def _merged(sets: Iterable[int]) -> list[int]:
    """Return the unions of sets that hang together."""
    found: list[int] = []
    for one in sets:
        apart = []
        for other in found:
            if one & other:
                one |= other
            else:
                apart.append(other)
        found = [*apart, one]
    return found
