"""What a group in the making has asked for, and which operators that are not decided yet may still join it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
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
    """The layers that decide something about groups that wait for tensors.

    ``givers`` are operators whose output a part of a group may make for others: they are like sinks of any shape there.
    """

    def __init__(
        self,
        problem: Problem,
        order: list[int],
        may_be_made: Callable[[int, int], bool],
        givers: frozenset[int] = frozenset(),
    ) -> None:
        place = {operator: place for place, operator in enumerate(order)}
        self._end = len(order)
        self._made_at = [_NEVER if source is None else place.get(source, _NEVER) for source in problem.producer]
        self._last_use = [
            max((place.get(user, _NEVER) for user in users), default=_NEVER) for users in problem.consumers
        ]
        self._places: dict[Tensor, list[int]] = {}  # of operators that may wait for an input, by the shape they make
        self._giving: list[int] = []
        for at, index in enumerate(order):
            operator = problem.operators[index]
            if any(may_be_made(index, tensor) for tensor in operator.inputs):
                self._places.setdefault(problem.tensors[operator.output], []).append(at)
                if index in givers:
                    self._giving.append(at)
        self._begins: dict[tuple[Tensor, bool], list[int]] = {}

    def next_layer(self, front: Sequence[Open], outputs: Outputs, place: int) -> int:
        """Return the first layer after ``place`` that decides something about a group that waits for tensors.

        Before an operator makes a tensor of the ``front``, or is the last one to take it, others may begin another part
        of the group: those that make outputs of its shape, or what other parts take.
        """
        at = self._end
        for tensor, way, _, _ in front:
            if way != MADE and place < self._last_use[tensor] < at:
                at = self._last_use[tensor]
            if place < self._made_at[tensor] < at:
                at = self._made_at[tensor]
        key = outputs.shape, outputs.is_part
        if key not in self._begins:
            more = self._giving if outputs.is_part else []
            self._begins[key] = sorted({*self._places.get(outputs.shape, []), *more})
        begins = self._begins[key]
        number = bisect_right(begins, place)
        return min(at, begins[number]) if number < len(begins) else at
