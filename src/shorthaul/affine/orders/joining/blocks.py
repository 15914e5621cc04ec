"""Blocks of a loop that runs one by one and needs what all earlier steps have computed: left-looking factorisations.

Column k of Q is column k of A without its parts along all earlier ones. One by one every column reads all of these, if
few fit. With K = floor(k / b) in front, b columns are made in one step of K: what they read of earlier steps is there
before, so products with it are executed for all b at once, in groups of their own with boxes in all loops. The rest of
the step, within the block, is one more group, one column after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isqrt, sqrt
from typing import TYPE_CHECKING

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.model import Statement
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.joining.lockstep import Copy, unrolled
from shorthaul.affine.orders.joining.turns import SizedGroups, is_carried
from shorthaul.affine.orders.placement import Read, Row, as_written, loops, reads_of
from shorthaul.affine.orders.splitting import Piece, Split, in_own_names, in_pieces
from shorthaul.affine.orders.tile_policy import make_phase
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.turns import Groups, TurnsStep, has_turns
from shorthaul.affine.tuning import NO_SLACK, PLACEMENT_OPERATIONS, WORTH_BLOCKS

if TYPE_CHECKING:
    from shorthaul.affine.orders.sized import Boxes
    from shorthaul.affine.orders.upper_bound import AnyStep


@dataclass(frozen=True)
class _InBlocks(Copy):
    """A statement with the block of its outer loop, of ``width`` iterations, in front of the place in it."""

    width: int = 1

    @property
    def instances(self) -> isl.Map:
        """The instances of the statement, each with that in its block."""
        own = ", ".join(f"v{at}" for at in range(len(self.statement.iterators)))
        inside, width = own.replace("v0", "w, v0", 1), self.width
        place = f"v = {width} w + v0 and 0 <= v0 < {width}"
        return isl.Map(f"{{ {self.statement.name}[{own.replace('v0', 'v', 1)}] -> {self.name}[{inside}] : {place} }}")

    def made(self, later: int) -> Statement:  # noqa: ARG002
        """Return the statement; it reads nothing yet."""
        item, at = self.statement, self.statement.times[0]
        names = [f"a{number}" for number in range(int(item.schedule.dim(isl.dim_type.out)))]
        times = [*names[:at], "w", "v", *names[at + 1 :]]
        block = f"{names[at]} = {self.width} w + v and 0 <= v < {self.width}"
        blocks = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(times)}] : {block} }}")
        return replace(
            super().made(0),
            iterators=("block", *item.iterators),
            times=(at, *(other + 1 for other in item.times)),
            schedule=item.schedule.apply_domain(self.instances).apply_range(blocks),
        )


class _BlockGroups(SizedGroups):
    """What reads earlier blocks, and the rest of a step, as groups that take turns; they are not joined further."""

    def _together(self, names: Sequence[str]) -> list[list[str]]:
        return Groups._together(self, names)

    def made(self, names: Sequence[str]) -> Step | BoxStep | None:
        """Return ``names`` in boxes within every step, else as written, where every use is loaded."""
        found, boxes = self.boxes.of(names, self.in_step), self.boxes
        rows = as_written([boxes.flow.program.by_name[name] for name in names])
        phase = make_phase(boxes.flow, names, rows, boxes.reads, boxes.counts)
        return found or replace(boxes.plain(names), phase=phase)

    def _fused(self, groups: list[Step | BoxStep]) -> Iterator[list[Step | BoxStep]]:
        yield groups


def in_blocks(boxes: Boxes, step: AnyStep) -> AnyStep:
    """Return a phase in the best blocks found of its outer loop, where that loads less; one memory only.

    Twice or half the width is tried as long as that is better; nothing where there are ranges of loops, or pieces.
    """
    names, program = step.names, boxes.flow.program
    if type(step) not in {BoxStep, TurnsStep, Step}:
        return step
    if len(boxes.weights) > 1 or boxes.slack != NO_SLACK or not has_turns(program, names):
        return step
    rows = _left_looking(boxes.flow, boxes.reads, names)
    tiled = boxes.cost(boxes.plain(names)) / sqrt(boxes.sizes["S"])
    if not rows or boxes.cost(step) <= WORTH_BLOCKS * tiled or not is_carried(boxes.flow, names):
        return step
    if any(loops(program.by_name[name])[0].factors[0] < 0 for name in names):
        return step
    points = at_sizes(program.by_name[names[0]].domain, boxes.sizes)
    most = 0 if points.is_empty() else 1 + points.dim_max_val(0).to_python() - points.dim_min_val(0).to_python()
    known: dict[int, AnyStep] = {}

    def twice(width: int) -> int:
        return 2 * width

    def half(width: int) -> int:
        return width // 2

    def cost(width: int) -> float:
        if width not in known and 1 < width < most:
            found = _of_width(boxes, names, rows, width)
            known[width] = step if found is None else found
        return boxes.cost(known.get(width, step))

    with suppress(effort.OutOfEffortError):
        width = min(isqrt(boxes.sizes["S"]), most) // 2
        for change in (half, twice):
            while cost(change(width)) < cost(width):
                width = change(width)
    return min([step, *known.values()], key=boxes.cost)


def is_left_looking(flow: DataFlow, names: Sequence[str]) -> bool:
    """True if a loop with the statements ``names`` inside needs what all its earlier steps have computed."""
    reads = {name: reads_of(flow, name) for name in names}
    return has_turns(flow.program, names) and bool(_left_looking(flow, reads, names))


def _left_looking(flow: DataFlow, reads: Mapping[str, Sequence[Read]], names: Sequence[str]) -> dict[str, Row]:
    """Return the steps that statements read from, where that is any earlier one: a loop of their own tells it.

    With two loops one reads each value once a step, so there is no product to be tiled.
    """
    result: dict[str, Row] = {}
    for name in names:
        width = len(flow.program.by_name[name].iterators)
        for read in reads[name] if width > 2 else ():
            if read.source in names and read.rows is not None:
                row = loops(flow.program.by_name[read.source or ""])[0].after(read.rows)
                if any(row.factors[at] for at in range(1, width)):
                    result.setdefault(name, row)
    return result


def _of_width(boxes: Boxes, names: Sequence[str], rows: dict[str, Row], width: int) -> TurnsStep | None:
    """Return statements in blocks of this width; None where what is read of earlier blocks is not apart."""
    program, plain = boxes.flow.program, boxes.plain(names)
    with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
        copies = {name: (_InBlocks(name, program.by_name[name], 0, again=True, width=width),) for name in names}
        flow = unrolled(boxes.flow, copies)
        if flow is None:
            return None
        pieces = {}
        for name in names:
            row = rows.get(name)
            if row is None:
                pieces[name] = Piece(name, ())
                continue
            first, *others = row.factors
            step = Row((first * width, first, *others), row.parameters, row.constant)
            before = Row((width, *(0 for _ in row.factors))).plus(step, -1)
            inside = replace(before, constant=before.constant - 1)
            pieces |= {f"{name}_before": Piece(name, ((before, ">"),)), f"{name}_block": Piece(name, ((inside, "<"),))}
        made = in_own_names(in_pieces(flow, pieces))
        parts = Split(made.flow, {key: replace(piece, block=width) for key, piece in pieces.items()})
        inner = type(boxes)(parts.flow, boxes.sizes, boxes.small, boxes.weights)
        return _BlockGroups(inner, boxes.small, parts).best(plain)
    return None
