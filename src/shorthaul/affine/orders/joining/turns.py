"""Groups of statements that take turns in a loop, at given sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.placement import function_rows
from shorthaul.affine.orders.splitting import Split
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.turns import Groups, TurnsStep, nests_of
from shorthaul.affine.tuning import LEAST_SHARE_JOINED

if TYPE_CHECKING:
    from shorthaul.affine.orders.sized import Boxes


class SizedGroups(Groups):
    """The groups of statements that take turns in a loop, each in the best boxes at given sizes.

    What a step of the loop needs at once often fits where a tile in all loops holds little: the rows of one half step
    of an alternating method, the vectors of an iterative solver.
    """

    least_share = LEAST_SHARE_JOINED
    closed = True

    def __init__(self, boxes: Boxes, small: Sequence[str], parts: Split | None = None) -> None:
        super().__init__(Split(boxes.flow) if parts is None else parts, small)
        self.boxes, self._last_first, self._at_first = boxes, False, False
        self._uses: dict[tuple[str, ...], Mapping[str, float]] = {}

    def _together(self, names: Sequence[str]) -> list[list[str]]:
        """Return the statements that need each other within one iteration, with all pieces of a statement."""
        result: list[list[str]] = []
        for group in super()._together(names):
            mine = {other for name in group for piece in self.parts.names.values() if name in piece for other in piece}
            joined = [item for item in result if not mine.isdisjoint(item)]
            result = [*(item for item in result if item not in joined), [*chain(*joined), *group]]
        return result

    def cost(self, step: Step | BoxStep) -> float:
        """Return what groups are compared by: loads at the sizes."""
        return self.boxes.cost(step)

    def chosen(self, plain: Step, stages: Iterable[Sequence[Step | BoxStep]]) -> TurnsStep:
        """Return the turns that load least with what stays in memory from turn to turn, of those tried in time."""
        made = (self.boxes.with_staying(self.in_turns(plain, groups)) for groups in stages)
        found = effort.until_out_of_effort(made)
        if not found:
            effort.step(0)  # raises what ended the search
        return min(found, key=lambda item: item.rate)

    def uses(self, step: Step | BoxStep) -> Mapping[str, float]:
        """Return how often values are used at the sizes."""
        if step.names not in self._uses:
            count = self.boxes.counts.at(self.boxes.sizes)
            found: Counter[str] = Counter()
            for name in step.names:
                for item in self.boxes.reads[name]:
                    found[item.source or f"input {item.array}"] += count((item.domain,))
            self._uses[step.names] = found
        return self._uses[step.names]

    def pairs(self, groups: Sequence[Step | BoxStep]) -> Iterable[tuple[Step | BoxStep, Step | BoxStep]]:
        """Return the pairs of groups, of several nests first those of which one computes most for the other.

        The parts of one nest are joined as written, from one end or the other: there a part computes most for the next
        one, and what both read counts too (adi at LARGE and S = 32,768 loads twice as much otherwise).
        """
        names = {name for item in groups for name in item.names}
        if any(names.issubset(nest) for nest in nests_of(self.boxes.flow.program)):
            found = [*super().pairs(groups)]
            return found[::-1] if self._last_first else found

        def given(pair: tuple[Step | BoxStep, Step | BoxStep]) -> float:
            both = (pair, pair[::-1])
            return sum(self.uses(two).get(name, 0.0) for one, two in both for name in one.names)

        return sorted(combinations(groups, 2), key=given, reverse=True)

    def _fused(self, groups: list[Step | BoxStep]) -> Iterator[list[Step | BoxStep]]:
        """Join groups from the first on, what is joined last or at its first place; from the last if loops are folded.

        Which is best depends on what fits: a sweep to and fro, or parts of two sweeps that read the same.
        """
        for self._last_first, self._at_first in ((False, False), (False, True), (True, False)):
            if not self._last_first or self.parts.pieces:
                yield from super()._fused(groups)

    def placed(
        self, groups: Sequence[Step | BoxStep], rest: list[Step | BoxStep], made: Step | BoxStep
    ) -> list[Step | BoxStep]:
        """Return the groups after two were joined, where the first of them was or behind all others."""
        if not self._at_first:
            return super().placed(groups, rest, made)
        at = next(number for number, item in enumerate(groups) if item not in rest)
        return [*rest[:at], made, *rest[at:]]

    def made(self, names: Sequence[str]) -> Step | BoxStep | None:
        """Return ``names`` in boxes within every step of the outer loop, else in the best order for all sizes."""
        return self.boxes.of(names, self.in_step) or super().made(names)


def read_in_every_step(flow: DataFlow, names: Sequence[str], sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return how many inputs are read at places that do not depend on the outer loop, and its steps."""
    every: dict[str, isl.Set] = {}
    for item in (item for item in flow.flows if item.source is None and item.sink in names):
        rows = function_rows(item.reference.relation)
        if rows is not None and not any(row.factors[0] for row in rows):
            values, array = item.relation.domain(), item.reference.array
            every[array] = every[array].union(values) if array in every else values
    steps = at_sizes(flow.program.by_name[names[0]].domain, sizes)
    count = 1 + steps.dim_max_val(0).to_python() - steps.dim_min_val(0).to_python() if not steps.is_empty() else 0
    return sum(card(at_sizes(item, sizes)).at({}) for item in every.values()), count


def read_from_elsewhere(flow: DataFlow, names: Iterable[str], sizes: Mapping[str, int]) -> float:
    """Return how many values the statements ``names`` read that others computed, and inputs."""
    inside = frozenset(names)
    found: dict[tuple[str | None, str], isl.Set] = {}
    for item in flow.flows:
        if item.sink in inside and item.source not in inside:
            values = item.relation.domain()
            key = item.source, item.reference.array
            found[key] = found[key].union(values) if key in found else values
    return sum(card(at_sizes(values, sizes)).at({}) for values in found.values())
