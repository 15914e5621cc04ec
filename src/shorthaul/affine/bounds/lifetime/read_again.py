"""What the steps of a loop read again, where each step needs those before: an estimate made before any argument.

A matrix that all of x(t) is multiplied with is read in every step, and x(t + 1) needs all of x(t). What phases prove of
such a loop is of the order of all these reads; a partition proves of the order of instances / sqrt(S).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import sqrt

import islpy as isl

from shorthaul.affine.bounds.partition.parts import box_points
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.counting import Cardinality, card
from shorthaul.affine.integer_sets.dependences import DataFlow, Flow
from shorthaul.affine.tuning import PHASE_OPERATIONS
from shorthaul.graphs.csr import from_edges, strong_components

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Again:
    """Words made before the loop ``axis`` that the statement ``reader`` reads in its first step, and all its steps."""

    reader: str
    axis: int
    words: Cardinality
    steps: isl.Set

    def at(self, sizes: Mapping[str, int]) -> float:
        """Return about how many loads later steps add at the sizes: a memory of S words keeps as many for each."""
        return max(0.0, (box_points(self.steps, sizes) - 1) * (self.words.at(sizes) - sizes["S"]))


def read_again(flow: DataFlow) -> tuple[Again, ...]:
    """Return what loops that need their steps in turn read of values made before them; it is found once."""
    if "read again" not in flow.known:
        found: list[Again] = []
        with suppress(isl.Error), limited(PHASE_OPERATIONS):
            found.extend(_found(flow))
        flow.known["read again"] = tuple(found)
    known: tuple[Again, ...] = flow.known["read again"]
    return known


def in_phases(flow: DataFlow, sizes: Mapping[str, int]) -> float:
    """Return about how many words phases prove: what one loop reads again, that of most."""
    again = read_again(flow)
    return max(
        (sum(item.at(sizes) for item in again if item.axis == axis) for axis in {one.axis for one in again}),
        default=0.0,
    )


def in_partitions(flow: DataFlow, sizes: Mapping[str, int]) -> float:
    """Return about how many words K-partitions prove: 2 / sqrt(S) for an instance, as in a product of matrices."""
    deep = [item.domain for item in flow.program.statements if item.domain.dim(_SET) > 1]
    return sum(box_points(domain, sizes) for domain in deep) * 2 / sqrt(sizes["S"])


def more_in_phases(flow: DataFlow, sizes: Mapping[str, int]) -> bool:
    """True if phases promise more than partitions."""
    return in_phases(flow, sizes) > in_partitions(flow, sizes)


def components(flow: DataFlow) -> dict[str, int]:
    """Return for every statement a number of those that it needs and that need it."""
    names = [item.name for item in flow.program.statements]
    edges = [(names.index(item.source), names.index(item.sink)) for item in flow.flows if item.source is not None]
    return dict(zip(names, strong_components(from_edges(len(names), edges)).tolist(), strict=True))


def _found(flow: DataFlow) -> Iterator[Again]:
    part = components(flow)
    within = [item for item in flow.flows if item.source is not None and part[item.source] == part[item.sink]]
    others = [item for item in flow.flows if item not in within and not item.relation.is_single_valued()]
    if not others:
        return
    carried = {(axis, part[item.sink]) for item in within if (axis := _carried(item)) is not None}
    for axis in sorted({axis for axis, _ in carried}):
        for item in others:
            inner = item.relation.dim(_OUT) - axis - 1
            if inner > 0 and (axis, part[item.sink]) in carried:
                steps = item.relation.project_out(_OUT, axis + 1, inner)
                turns = steps.range()
                if steps.is_single_valued():
                    continue
                step()
                yield Again(item.sink, axis, card(steps.intersect_range(turns.lexmin()).domain()), turns)


def _carried(item: Flow) -> int | None:
    """Return the loop of which later steps read values several times each, if the first that tells them apart does."""
    if item.relation.is_single_valued():
        return None
    step()
    left = item.relation.reset_tuple_id(_IN).reset_tuple_id(_OUT)
    axes = range(min(left.dim(_IN), left.dim(_OUT)))
    return next((axis for axis in axes if not left.is_subset(left.equate(_IN, axis, _OUT, axis))), None)
