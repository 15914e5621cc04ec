"""The first panel of a phase with what computes its values: while these pass by one at a time, others wait for them.

A phase that prepares the columns of a matrix one by one, and one that multiplies all pairs of them, load the matrix at
least once each. With the first p columns held, the products of every column with these need no further load while it
is prepared. So iterations of the second phase below p are executed in the first one, and the rest stays a phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.orders.boxes.boxed import refined
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.joining.blocks import in_blocks
from shorthaul.affine.orders.joining.ranges import in_ranges
from shorthaul.affine.orders.joining.stages import leads_back, with_stages
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.placement import Placement, Row
from shorthaul.affine.orders.splitting import Piece, Split, in_own_names, in_pieces
from shorthaul.affine.orders.upper_bound import AnyStep, in_order
from shorthaul.affine.tuning import MOST_PANEL_COST, NO_SLACK, PLACEMENT_OPERATIONS

if TYPE_CHECKING:
    from shorthaul.affine.orders.sized import Boxes

#: The rows of every statement.
_Places = tuple[tuple[str, tuple[Row, ...]], ...]


def improved(boxes: Boxes, steps: Sequence[AnyStep]) -> Iterator[list[AnyStep]]:
    """Yield phases as they are refined, in clusters, pieces and ranges, and at last in panels and stages."""
    result = list(steps)
    for at, item in enumerate(steps):
        found = boxes.better(item, partial(refined, slack=boxes.slack))
        best = min(found, in_ranges(boxes, found), boxes.clustered(boxes.passing(found)), key=boxes.cost)
        result[at] = in_blocks(boxes, best)
        yield list(result)
    result = with_first_panels(boxes, result)
    yield result
    yield from with_stages(boxes, result)


def with_first_panels(boxes: Boxes, steps: Sequence[AnyStep]) -> list[AnyStep]:
    """Return phases, of which two are one with a first panel wherever that loads less; not in emitted C."""
    result = list(steps)
    if boxes.slack != NO_SLACK or len(boxes.weights) > 1:
        return result
    for maker, user in permutations([item for item in steps if isinstance(item, BoxStep)], 2):
        others = [item for item in result if item is not maker and item is not user]
        if len(others) > len(result) - 2:
            continue  # one of them is in another phase by now
        found = _joined(boxes, maker, user)
        if found is not None:
            ordered = in_order(boxes.flow, [*others, found])
            result = ordered if len(ordered) == len(others) + 1 else result
    return result


def _joined(boxes: Boxes, maker: BoxStep, user: BoxStep) -> PassedStep | None:
    """Return two phases with the first panel of ``user`` in ``maker``, None if that loads as much."""
    best: PassedStep | None = None
    least = boxes.cost(maker) + boxes.cost(user)
    for rows, at in dict.fromkeys(_beside(boxes, maker, user)):
        with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
            found = _widest(boxes, maker, user, dict(rows), at)
            if found is not None and boxes.cost(found) < least:
                best, least = found, boxes.cost(found)
    return best


def _beside(boxes: Boxes, maker: BoxStep, user: BoxStep) -> Iterator[tuple[_Places, int]]:
    """Yield places for the statements of ``maker`` beside those of ``user``, and a coordinate that they leave free.

    Every coordinate of ``maker`` is one of ``user`` where that reads what was computed there.
    """
    assert maker.phase is not None
    assert user.phase is not None
    made, used = maker.phase.placement, user.phase.placement
    for read in (item for name in user.names for item in boxes.reads[name]):
        if read.source is None or read.source not in made or read.rows is None:
            continue
        there = [row.after(read.rows) for row in made[read.source]]
        own = used[read.sink]
        homes = [
            next((at for at, row in enumerate(own) if any(row.factors) and row.factors == wanted.factors), None)
            for wanted in there
        ]
        free = [at for at in user.box.loops if at not in homes]
        if None in homes or len({*homes}) < len(homes):
            continue
        moves = [own[home or 0].plus(wanted, -1) for home, wanted in zip(homes, there, strict=True)]
        rows = {}
        for name, lines in made.items():
            width = len(lines[0].factors)
            places = [Row((0,) * width, (), first) for first in user.box.first]
            for home, row, move in zip(homes, lines, moves, strict=True):
                places[home or 0] = row.plus(Row((0,) * width, move.parameters, move.constant))
            rows[name] = tuple(places)
        for at in free:
            if all(any(lines[at].factors) for lines in used.values()):
                yield tuple(rows.items()), at


def _widest(boxes: Boxes, maker: BoxStep, user: BoxStep, rows: Placement, at: int) -> PassedStep | None:
    """Return the phases joined with the best first panel found along coordinate ``at``.

    A panel costs what the first phase loads more, and saves its share of the second one: the widest is looked for that
    costs much less, and the best on the way is taken.
    """
    assert user.phase is not None
    firsts = {f"{name}_first": own for name, own in user.phase.placement.items()}
    best: tuple[Boxes, Split, BoxStep] | None = None
    low, high, least = 0, user.extents[at], boxes.cost(maker) + boxes.cost(user)
    while high - low > 1:
        effort.step()
        width = (low + high) // 2
        parts = _in_panels(boxes, user, at, width)
        inner = type(boxes)(parts.flow, boxes.sizes, boxes.small, boxes.weights)
        first = inner.placed({**rows, **firsts})
        high = width if first is None else high
        if first is None:
            continue
        share = (inner.instances(first) - boxes.instances(maker)) / max(1, boxes.instances(user))
        cost = inner.cost(first) - boxes.cost(maker)
        about = inner.cost(first) + (1 - share) * boxes.cost(user)
        if about < least:
            best, least = (inner, parts, first), about
        low, high = (width, high) if cost < MOST_PANEL_COST * share * boxes.cost(user) else (low, width)
    if best is None:
        return None
    inner, parts, first = best
    rest = inner.of(name for name in parts.pieces if name.endswith("_rest"))
    if rest is None or leads_back(parts, [first, rest]):
        return None
    second = inner.clustered(refined(rest))
    assert isinstance(second, BoxStep)
    plain = boxes.plain(item.name for item in boxes.flow.program.statements if item.name in (*maker.names, *user.names))
    return PassedStep(plain, (first, second), parts, plain)


def _in_panels(boxes: Boxes, user: BoxStep, at: int, width: int) -> Split:
    """Return the data flow with the statements of ``user`` cut ``width`` behind the first of coordinate ``at``."""
    assert user.phase is not None
    pieces = {}
    for name, own in user.phase.placement.items():
        row = own[at]
        less = replace(row, constant=row.constant - user.box.first[at] - width)
        pieces[f"{name}_first"] = Piece(name, ((less, "<"),))
        pieces[f"{name}_rest"] = Piece(name, ((replace(less, constant=less.constant + 1), ">"),))
    return in_own_names(in_pieces(boxes.flow, pieces))
