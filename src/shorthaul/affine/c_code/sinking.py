"""Small phases within the loops of others: a border that is set in every step, the start of a sum, a norm at the end.

By itself such a phase runs before or after all of another one. Where both share memory that cannot be: it overwrites
what the other one still needs. Placed beside the instances that read its values, or make what it reads, every instance
loads no more than its operands, and nobody loads more than before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from math import inf
from typing import Any

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.c_code.legality import broken_between, examined
from shorthaul.affine.c_code.parts import Nest
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow
from shorthaul.affine.orders.borders.held import BorderedStep
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.placement import Read, Row, options_beside, reads_of
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.turns import TurnsStep
from shorthaul.affine.orders.upper_bound import AnyStep
from shorthaul.affine.tuning import MOST_PLACEMENTS, MOST_SUNK, PLACEMENT_OPERATIONS

#: Makes the nest of a step that stands at a place.
_Nests = Callable[[AnyStep, int], Nest]


class Sinking:
    """The phases of an order, some of them within others; ``moved`` are those that lost their own place."""

    def __init__(self, flow: DataFlow, sizes: Mapping[str, int], steps: Sequence[AnyStep], nests: _Nests) -> None:
        self.flow, self.sizes, self.made = flow, sizes, nests
        self.steps: list[AnyStep | None] = list(steps)
        self.nests = [nests(step, at) for at, step in enumerate(steps)]
        self.moved: list[AnyStep] = []
        self._most = most_moved(steps, sizes)
        self._reads: dict[tuple[int, str], tuple[Read, ...]] = {}
        self._refused: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()

    def sink(self, conflicts: Conflicts) -> bool:
        """Move phases into others with which a conflict leads back; False where none can be."""
        found = False
        while self._one_sunk(conflicts):
            found = True
        return found

    def _one_sunk(self, conflicts: Conflicts) -> bool:
        for first in reversed(range(len(self.nests))):
            for last in range(first + 1, len(self.nests)):
                key = self.nests[first].names, self.nests[last].names
                if key not in self._refused and broken_between([self.nests[first], self.nests[last]], conflicts):
                    small, large = sorted((first, last), key=lambda at: uses_at(self.steps[at], self.sizes))
                    if self._sunk(small, large, conflicts):
                        return True
                    self._refused.add(key)
        return False

    def _sunk(self, small: int, large: int, conflicts: Conflicts) -> bool:
        own, step, nest = self.steps[small], self.steps[large], self.nests[large]
        if own is None or step is None or uses_at(own, self.sizes) > self._most:
            return False
        for name in own.names[::-1] if small < large else own.names:
            found = self._within(step, nest, large, name, conflicts)
            if found is None:
                return False
            step, nest = found
        self.moved.append(own)
        self.put(large, step, nest)
        self.drop(small)
        return True

    def put(self, at: int, step: AnyStep | None, nest: Nest) -> None:
        """Give a phase another order; without a step its nest is all there is."""
        self.steps[at], self.nests[at] = step, nest

    def drop(self, at: int) -> None:
        """Leave out a phase that is within another one."""
        del self.steps[at], self.nests[at]

    def _within(
        self, step: AnyStep, nest: Nest, at: int, name: str, conflicts: Conflicts
    ) -> tuple[AnyStep, Nest] | None:
        """Return a phase with the statement ``name`` in its midst, where that keeps every conflict."""
        for made in self._options(step, name):
            with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
                found = replace(self.made(made, at), remark=nest.remark)
                if not examined(found, conflicts, name).broken:
                    return made, found
        return None

    def _options(self, step: AnyStep, name: str) -> Iterator[AnyStep]:
        """Yield a phase with one more statement, beside those that read its values, or make what it reads."""
        if isinstance(step, FixedStep):
            yield from (replace(step, step=item) for item in self._options(step.step, name))  # type: ignore[arg-type]
        elif isinstance(step, TurnsStep):
            plain = replace(step.plain, names=(*step.plain.names, name))
            for at, group in enumerate(step.groups):
                for made in self._placed(step.parts.flow, group, name):
                    yield replace(step, plain=plain, groups=(*step.groups[:at], made, *step.groups[at + 1 :]))
        elif isinstance(step, Step | BoxStep | BorderedStep):
            yield from self._placed(self.flow, step, name)

    def _placed(self, flow: DataFlow, step: Step | BoxStep | BorderedStep, name: str) -> Iterator[Any]:
        """Yield steps of the same kind with one more statement."""
        if not isinstance(step, Step):
            yield from (replace(step, plain=item) for item in self._in_phase(flow, step.plain, name))
        else:
            yield from self._in_phase(flow, step, name)

    def _in_phase(self, flow: DataFlow, step: Step, name: str) -> Iterator[Step]:
        for rows in [()] if step.phase is None else islice(self._rows(flow, step, name), MOST_PLACEMENTS):
            phase = step.phase and replace(
                step.phase, names=(*step.phase.names, name), placement={**step.phase.placement, name: rows}
            )
            yield replace(step, names=(*step.names, name), phase=phase)

    def _rows(self, flow: DataFlow, step: Step, name: str) -> Iterator[tuple[Row, ...]]:
        assert step.phase is not None
        placement = step.phase.placement
        width = len(next(iter(placement.values())))
        reads = {item: self._read(flow, item) for item in (*placement, name)}
        yield from dict.fromkeys(options_beside(flow, flow.program.by_name[name], placement, reads, width))

    def _read(self, flow: DataFlow, name: str) -> tuple[Read, ...]:
        key = id(flow), name
        if key not in self._reads:
            self._reads[key] = reads_of(flow, name)
        return self._reads[key]


def most_moved(steps: Sequence[AnyStep], sizes: Mapping[str, int]) -> float:
    """Return how many uses of values a phase may have that moves into another one."""
    return MOST_SUNK * sum(uses_at(step, sizes) for step in steps)


def uses_at(step: AnyStep | None, sizes: Mapping[str, int]) -> float:
    """Return how often a phase uses a value at the sizes."""
    return inf if step is None else float(step.counts.at(sizes)(step.plain.every_use))
