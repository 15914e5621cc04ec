"""Which parts of a group may still be joined by operators that are not decided yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shorthaul.tensor.model import Problem, Tensor


class Joining:
    """What is above operators, through tensors that a group may make for itself, as sets of bits.

    Parts of a group that wait for tensors are one in the end. So each of them has an operator above it in common with
    another one, or with a sink that is not decided yet, and all together hang together so.
    """

    def __init__(self, problem: Problem, order: list[int], may_be_made: Callable[[int, int], bool]) -> None:
        self._problem = problem
        self._place = {operator: place for place, operator in enumerate(order)}
        self._above = [0] * len(problem.operators)
        for index in problem.topological_order:
            self._above[index] = 1 << index
            for tensor in problem.operators[index].inputs:
                source = problem.producer[tensor]
                if source is not None and may_be_made(index, tensor):
                    self._above[index] |= self._above[source]
        self._known: dict[tuple[int, Tensor, frozenset[int]], bool] = {}
        self._sinks: dict[tuple[int, Tensor], list[int]] = {}

    def is_possible(self, parts: Iterable[Iterable[int]], shape: Tensor, place: int) -> bool:
        """Return whether parts, each of which waits for tensors, may be one once all after ``place`` is decided."""
        above = frozenset(map(self._wide, parts))
        if len(above) == 1:
            return True
        key = place, shape, above
        if key not in self._known:
            if (place, shape) not in self._sinks:
                sinks = self._undecided(shape, place)
                self._sinks[place, shape] = _merged(sinks)
            pieces = _merged([*above, *self._sinks[place, shape]])
            self._known[key] = sum(any(piece & part for part in above) for piece in pieces) == 1
        return self._known[key]

    def _wide(self, tensors: Iterable[int]) -> int:
        above = 0
        for tensor in tensors:
            source = self._problem.producer[tensor]
            assert source is not None
            above |= self._above[source]
        return above

    def _undecided(self, shape: Tensor, place: int) -> list[int]:
        problem = self._problem
        return [
            self._above[index]
            for index, at in self._place.items()
            if at > place and problem.tensors[problem.operators[index].output] == shape
        ]


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
