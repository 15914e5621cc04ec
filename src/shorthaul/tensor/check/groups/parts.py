"""Groups that a certificate cuts into parts: what parts take from one another, share and cost.

A group that gets a tensor made over a link that is cut is at least as dear as its parts: each of them costs a mean of
its time and its traffic, at one weight for all groups with outputs of the same shape, and those means add up to no more
than the group takes. What it loads, or finds resident, counts in equal shares for all takers that may be in one group
with it. Who takes slices over a cut pays their price, and who makes them gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.check.boxes import TIME, TRAFFIC
from shorthaul.tensor.check.column_floor import TooManyError
from shorthaul.tensor.check.slices import STEP, TILE, WHOLE, Slice
from shorthaul.tensor.model import Problem, Tensor

Floats = NDArray[np.float64]
#: A slice asked for: what its rows and columns follow, in the steps of a reduction of which length, and its marking.
Demand = tuple[int, int, int, str]

#: Sets of slices that parts may ask of one tensor, above which a certificate is not verified.
_MOST_SETS: Final = 100


@dataclass(frozen=True, slots=True)
class Parts:
    """The links that are cut, the weight of time by shape of outputs, and the prices of slices taken over cuts."""

    cuts: frozenset[tuple[int, int]] = frozenset()
    weight: Mapping[Tensor, float] = field(default_factory=dict)
    taking: Mapping[tuple[int, int, Tensor, frozenset[Demand]], float] = field(default_factory=dict)


NO_PARTS: Final = Parts()


class Share(NamedTuple):
    """Which part of what a group loads of a tensor counts for one taker, and what others may ask for beside it."""

    part: float = 1.0
    beside: tuple[Slice, ...] = ()


ALL: Final = Share()


class Takings:
    """What parts are found to take over cuts, and how many operators share what a group loads."""

    def __init__(self, problem: Problem, parts: Parts, may_be_made: Callable[[int, int], bool]) -> None:
        self._parts = parts
        self._found: dict[tuple[int, Tensor], dict[tuple[int, frozenset[Demand]], float]] = {}
        self._sharing = _sharing(problem, may_be_made) if parts.cuts else {}

    def share(self, index: int, tensor: int) -> Share:
        """Return the share of what a group loads of a tensor that counts for one of its takers."""
        return self._sharing[index, tensor]

    def taken(self, index: int, tensor: int, shape: Tensor, demands: frozenset[Demand]) -> float:
        """Return what a part pays for slices made by another one, and take note of them."""
        price = self._parts.taking.get((index, tensor, shape, demands), 0.0)
        self._found.setdefault((tensor, shape), {})[index, demands] = price
        return price

    def shapes(self, tensor: int) -> list[Tensor]:
        """Return the shapes of outputs of groups whose parts take a tensor over cuts."""
        return [shape for taken, shape in self._found if taken == tensor]

    def givings(self, tensor: int, shape: Tensor) -> list[tuple[frozenset[Demand], float]]:
        """Return the sets of slices that a part may make for others, and what all takers that they serve pay."""
        found = self._found.get((tensor, shape), {})
        sets: list[frozenset[Demand]] = []
        for _, demands in found:
            more = [demands, *(demands | other for other in sets)]
            sets = [*dict.fromkeys([*sets, *more])]
            if len(sets) > _MOST_SETS:
                raise TooManyError
        return [(given, sum(price for (_, demands), price in found.items() if demands <= given)) for given in sets]

    def mean(self, shape: Tensor, cost: Floats) -> Floats:
        """Return rows of time and traffic, both the mean of the two; infinite where they are."""
        weight = self._parts.weight.get(shape, 0.0)
        open_ = np.isfinite(cost[TIME])
        time, traffic = (np.where(open_, cost[row] + cost[row + 1], 0.0) for row in (TIME, TRAFFIC))
        means = np.zeros_like(cost)
        means[[TIME, TRAFFIC]] = weight * time + (1 - weight) * traffic
        means[:, ~open_] = np.inf
        return means


def _sharing(problem: Problem, may_be_made: Callable[[int, int], bool]) -> dict[tuple[int, int], Share]:
    """Return by operator and tensor the share of a taker, as many as may be in one group that does not make it.

    They hang together through tensors made by others than its maker.
    """
    asked = _asked(problem, may_be_made)
    beside: list[set[int]] = [set() for _ in problem.operators]
    for tensor, takers in enumerate(problem.consumers):
        maker = problem.producer[tensor]
        for taker in takers:
            if maker is not None and may_be_made(taker, tensor):
                beside[maker].add(taker)
                beside[taker].add(maker)
    found = {}
    for tensor, takers in enumerate(problem.consumers):
        for taker in takers:
            near, edge = {taker}, {taker}
            while edge and len(takers) > 1:
                edge = set().union(*(beside[each] for each in edge)) - near - {problem.producer[tensor]}
                near |= edge
            near &= set(takers)
            found[taker, tensor] = Share(1 / len(near), _slices(problem.tensors[tensor], asked, tensor, near - {taker}))
    return found


def _slices(
    shape: Tensor, asked: Mapping[tuple[int, int], set[tuple[int, int]]], tensor: int, takers: Iterable[int]
) -> tuple[Slice, ...]:
    """Return all slices that takers of a tensor may ask for."""
    found = set().union(*(asked[taker, tensor] for taker in takers))
    lengths = {STEP: (shape.height, shape.width)}
    return tuple(
        Slice(
            rows, columns, max(lengths.get(rows, (0,))[0], lengths.get(columns, (0, 0))[-1]), shape.height, shape.width
        )
        for rows, columns in sorted(found)
    )


def _asked(problem: Problem, may_be_made: Callable[[int, int], bool]) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """Return by operator and tensor what rows and columns may follow of the slices that it asks for in some group."""
    found: dict[tuple[int, int], set[tuple[int, int]]] = {}
    pending = [(index, TILE, TILE) for index in range(len(problem.operators))]
    while pending:
        index, rows, columns = pending.pop()
        operator = problem.operators[index]
        needs = [(tensor, rows, columns) for tensor in operator.inputs]
        if operator.is_matmul:
            inner = STEP if rows == columns == TILE else WHOLE
            needs = [(operator.inputs[0], rows, inner), (operator.inputs[1], inner, columns)]
        for tensor, *follows in needs:
            known = found.setdefault((index, tensor), set())
            maker = problem.producer[tensor]
            if tuple(follows) not in known:
                known.add((follows[0], follows[1]))
                if maker is not None and may_be_made(index, tensor):
                    pending.append((maker, follows[0], follows[1]))
    return found
