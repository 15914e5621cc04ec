"""Two phases in common ranges of a loop, where what one computes for the other stays in memory.

A stage that ends in loops which the next one has not, or has others, cannot be placed in the same boxes. In ranges of a
loop that both have, each of which is computed and used before the next one, every stage keeps its own boxes: nothing of
what passes between them is loaded if a range of it fits, and the rest is loaded once a range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise, permutations
from typing import TYPE_CHECKING

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.joining.ranges import Ranges
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.splitting import Split, in_own_names, in_pieces
from shorthaul.affine.orders.upper_bound import AnyStep, in_order
from shorthaul.affine.tuning import MOST_RANGES, NO_SLACK, PLACEMENT_OPERATIONS, WORTH_A_STAGE

if TYPE_CHECKING:
    from shorthaul.affine.orders.sized import Boxes


def with_stages(boxes: Boxes, steps: Sequence[AnyStep]) -> Iterator[list[AnyStep]]:
    """Yield phases of which more and more pairs are in common ranges, where that loads less; one memory only."""
    result = list(steps)
    if len(boxes.weights) > 1 or boxes.slack != NO_SLACK:
        return
    for maker, user in permutations([item for item in steps if type(item) is BoxStep], 2):
        others = [item for item in result if item is not maker and item is not user]
        if len(others) > len(result) - 2:
            continue  # one of them is in common ranges by now
        found = in_common_ranges(boxes, maker, user)
        if found is not None:
            ordered = in_order(boxes.flow, [*others, found])
            if len(ordered) == len(others) + 1:
                result = ordered
                yield result


def in_common_ranges(boxes: Boxes, maker: BoxStep, user: BoxStep) -> PassedStep | None:
    """Return two phases in the best common ranges found, None where that loads as much."""
    best: PassedStep | None = None
    least = boxes.cost(maker) + boxes.cost(user)
    between = sum(user.loads_of(item) for item in user.cells if item.source in maker.names)
    if between < WORTH_A_STAGE * least:
        return None
    for at, also, apart in dict.fromkeys(_common(boxes, maker, user)):
        with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
            first, second = Ranges.along(boxes, maker, at), Ranges.along(boxes, user, also)
            if first is None or second is None:
                continue
            count = max(2, -(-int(between) // boxes.sizes["S"]))
            while count <= MOST_RANGES:
                found = _cut(boxes, first, second, apart, count)
                if found is not None and boxes.cost(found) < least:
                    best, least = found, boxes.cost(found)
                    break
                count += 1
    return best


def _common(boxes: Boxes, maker: BoxStep, user: BoxStep) -> Iterator[tuple[int, int, int]]:
    """Yield coordinates of both phases that are the same but for a constant, and the most of this."""
    assert maker.phase is not None
    assert user.phase is not None
    made, used = maker.phase.placement, user.phase.placement
    reads = [item for name in user.names for item in boxes.reads[name] if item.source in made and item.rows is not None]
    for at in range(len(maker.extents)):
        for also in range(len(user.extents)):
            apart = []
            for read in reads:
                left = made[read.source or ""][at].after(read.rows or ()).plus(used[read.sink][also], -1)
                if any(left.factors) or not any(used[read.sink][also].factors):
                    break
                apart.append(left.at((0,) * len(left.factors), boxes.sizes))
            else:
                if apart and min(maker.extents[at], user.extents[also]) > 1:
                    yield at, also, max(apart)


def _cut(boxes: Boxes, first: Ranges, second: Ranges, apart: int, count: int) -> PassedStep | None:
    """Return both phases in ``count`` ranges, None where one of them has no boxes or the other one needs it later."""
    length = -(-first.step.extents[first.at] // count)
    ends = [*range(first.first, first.end, length), first.end]
    others = [second.first, *(end - apart for end in ends[1:-1]), second.end]
    if others != sorted({*others}):
        return None
    parts = in_own_names(in_pieces(boxes.flow, first.pieces(ends[1:-1]) | second.pieces(others[1:-1])))
    steps: list[BoxStep] = []
    allowed = boxes.cost(first.step) + boxes.cost(second.step)
    for own, other in zip(pairwise(ends), pairwise(others), strict=True):
        effort.step()
        user = second.in_boxes(parts, *other)
        kept = [] if user is None else _kept(user, [name + first.name_of(*own) for name in first.step.names])
        words = 0 if user is None else sum(int(user.cells[number].count(user.spans)) for number in kept)
        maker = first.in_boxes(parts, *own, boxes.sizes["S"] - words) if kept and words < boxes.sizes["S"] else None
        if user is None or maker is None:
            return None
        cells = tuple(
            replace(item, fresh=int(item.count(user.extents)), share=1.0) if number in kept else item
            for number, item in enumerate(user.cells)
        )
        steps += [maker, replace(user, cells=cells)]
        if sum(map(boxes.cost, steps)) > allowed:
            return None
    if leads_back(parts, steps):
        return None
    names = {*first.step.names, *second.step.names}
    plain = boxes.plain(item.name for item in boxes.flow.program.statements if item.name in names)
    return PassedStep(plain, tuple(steps), parts, plain, ranges=True)


def _kept(user: BoxStep, names: Sequence[str]) -> list[int]:
    """Return the groups of values of ``names`` that are held throughout."""
    if user.spilled:
        return []
    held = user.box.loops
    return [number for number, item in enumerate(user.cells) if item.source in names and item.loops.isdisjoint(held)]


def leads_back(parts: Split, steps: Sequence[BoxStep]) -> bool:
    """True if a phase needs values of a later one."""
    home = {name: number for number, item in enumerate(steps) for name in item.names}
    return any(
        home[item.source or ""] > home[item.sink]
        for item in parts.flow.flows
        if item.source in home and item.sink in home
    )
