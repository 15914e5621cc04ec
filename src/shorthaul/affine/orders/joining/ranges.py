"""A phase in ranges of one of its loops, each in boxes of its own.

In a factorisation, or a table over intervals, what a step needs becomes less (or more) from step to step: boxes that
fit everywhere leave room where it is little. So the loop is cut into ranges, of which each has the best boxes found for
it. They are executed one after the other, and each loads what it needs anew.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import chain, combinations, pairwise
from math import ceil, inf
from typing import TYPE_CHECKING

import islpy as isl
import numpy as np

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow, Flow
from shorthaul.affine.integer_sets.points import at_sizes as at_parameters
from shorthaul.affine.integer_sets.signs import Signs
from shorthaul.affine.orders.boxes.boxed import Band, all_signs, boxed, keeps, refined, signs_by_array
from shorthaul.affine.orders.boxes.cells import Cells
from shorthaul.affine.orders.boxes.regions import IntArray, within
from shorthaul.affine.orders.boxes.steps import Box, BoxStep
from shorthaul.affine.orders.boxes.storage import Storage
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.placement import Placement, Row, placement_map, reads_of
from shorthaul.affine.orders.splitting import Piece, Split, in_own_names, in_pieces
from shorthaul.affine.orders.tile_policy import Counts, Phase
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.upper_bound import AnyStep
from shorthaul.affine.tuning import (
    LEAST_RANGE_SAVED,
    LEAST_RANGES_SAVE,
    MOST_PANEL_LENGTHS,
    MOST_RANGES,
    MOST_SUITED_RANGES,
    PLACEMENT_OPERATIONS,
)

if TYPE_CHECKING:
    from shorthaul.affine.orders.sized import Boxes


@dataclass
class _Lengths:
    """Where boxes of one length begin, how long they are, what they compute, and what a range that ends there loads."""

    starts: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    end: int | None = None  #: where the last one ends, if ranges are cut into boxes so long

    def add(self, start: int, length: int, weight: float, again: float = 0.0) -> None:
        """Add boxes of one length."""
        self.starts.append(start)
        self.lengths.append(length)
        self.weights.append(weight)
        self.again.append(again)

    @cached_property
    def groups(self) -> tuple[float, list[tuple[int, int]]]:
        """The least loads, about, and the ranges that have them: boxes in a row as long as the shortest one of them."""
        count = len(self.starts)
        costs = np.full((count, count + 1), np.inf)
        for first in range(count):
            least, work = self.lengths[first], 0.0
            for last in range(first, count):
                least, work = min(least, self.lengths[last]), work + self.weights[last]
                costs[first, last + 1] = work / least * self._rounded(first, last, least) + self.again[last]
        best = np.full(count + 1, np.inf)
        best[0], ways, known = 0.0, list[list[int]](), inf
        for _ in range(MOST_SUITED_RANGES):
            options = best[:count, None] + costs
            best = options.min(axis=0)
            if best[count] > (1 - LEAST_RANGE_SAVED) * known:
                break
            ways.append([*options.argmin(axis=0).tolist()])
            known = best[count]
        end, result = count, list[tuple[int, int]]()
        for way in reversed(ways):
            if end:
                result.append((way[end], end))
                end = way[end]
        return known, result[::-1]

    def _rounded(self, first: int, last: int, length: int) -> float:
        """Return how many boxes of a length a range has, over how many it would have if all were whole."""
        if self.end is None:
            return 1.0
        width = (*self.starts, self.end)[last + 1] - self.starts[first]
        return ceil(width / length) * length / width


@dataclass(frozen=True)
class _Range:
    """The values of a coordinate from ``first`` on, before ``end``, in the best boxes found; ``loads`` of these."""

    first: int
    end: int
    step: BoxStep
    loads: float


class Ranges:
    """Ranges of the coordinate ``at`` of a phase in boxes, or of other ``rows``; what is known of one is remembered."""

    def __init__(
        self,
        boxes: Boxes,
        step: BoxStep,
        at: int,
        bands: Sequence[Band],
        storage: Storage,
        rows: Mapping[str, Row] | None = None,
    ) -> None:
        assert step.phase is not None
        self.boxes, self.step, self.at, self.bands, self.storage = boxes, step, at, bands, storage
        self._known: dict[int, list[list[int]]] = {}
        self.rows = rows or {name: own[at] for name, own in step.phase.placement.items()}
        self.first, self.end = step.box.first[at], step.box.first[at] + step.extents[at]
        if rows is not None:
            self.first, self.end = _ends(boxes, rows)
        self.edge = dict(zip(step.box.loops, step.box.edges, strict=True)).get(at, step.extents[at])

    @classmethod
    def along(cls, boxes: Boxes, step: BoxStep, at: int) -> Ranges | None:
        """Return the ranges of a coordinate that may be outermost, with memory in which loops may be cut so."""
        assert step.phase is not None
        for _, bands, storage in boxes.options(step.phase.placement):
            mine = [item for item in bands if _has(item, step.boxes[0], at)]
            if mine:
                return cls(boxes, step, at, mine, storage)
        return None

    def of_distances(self) -> Iterator[Ranges]:
        """Yield ranges of how far loops are apart that bound one another, where that never falls along dependences."""
        assert self.step.phase is not None
        placement, bound = self.step.phase.placement, [frozenset([at]) for at in range(len(self.step.extents))]
        for line in {line for item in self.step.cells for part in item.where for line in part.coupled.constraints}:
            met = [item for item in bound if any(line[at] for at in item)]
            bound = [*(item for item in bound if item not in met), frozenset(chain(*met))]
        for a, b in sorted(pair for item in bound for pair in combinations(sorted(item), 2)):
            rows = {name: _distance(own[a], own[b]) for name, own in placement.items()}
            if not any(any(row.factors) for row in rows.values()):
                continue
            signs = {item[0] for item in self._signs({name: (row,) for name, row in rows.items()})}
            if 1 not in signs:
                rows = {name: _scaled(row, -1) for name, row in rows.items()}
            elif -1 in signs:
                continue
            yield Ranges(self.boxes, self.step, self.at, self.bands, self.storage, rows)

    def _signs(self, placement: Placement) -> frozenset[Signs]:
        """Return the signs of distances between instances that have to stay in order."""
        conflicts = Conflicts(self.boxes.flow.program, self.storage.accesses(), self.boxes.conflicts.known)
        return all_signs(signs_by_array(conflicts, placement))

    def halves(self, best: float) -> list[_Range]:
        """Return halves of halves of all values while that saves; none where the first two load ``best`` or more."""
        whole = _Range(self.first, self.end, self.step, best)
        found = self._cut(whole, (self.first + self.end) // 2)
        return [] if found is None or sum(item.loads for item in found) >= best else self._halved([], found)

    @cached_property
    def inside(self) -> list[tuple[int, ...]]:
        """All coordinates but one, where instances may run so, along that one where all others are equal."""
        assert self.step.phase is not None
        signs = self._signs(self.step.phase.placement)
        every = range(len(self.step.extents))
        free = [at for at in every if any(not outer and at in tiled for outer, tiled in self.bands)]
        orders = [(tuple(other for other in every if other != at), (at,)) for at in free]
        return [band[0] for band in orders if keeps(band, signs)]

    def best(self) -> list[_Range]:
        """Return the ranges that load least: those that suit what fits, and halves where not all fits while that saves.

        None where boxes can be longer in few places.
        """
        panels = [self._panels(order) for order in self.inside if self.at in order]
        chosen = min((self._longest(), *panels), key=lambda item: item.groups[0])
        less = sum(work / length for work, length in zip(chosen.weights, chosen.lengths, strict=True))
        if less > (1 - LEAST_RANGES_SAVE) * sum(chosen.weights) / self.edge:
            return []
        ends = [*chosen.starts, self.end]
        suited = [self._made(ends[a], ends[b]) for a, b in chosen.groups[1]]
        made = [item for item in suited if item is not None]
        if len(made) < len(suited):
            return []
        done, open_ = ([item for item in made if bool(item.step.spilled) == spilled] for spilled in (False, True))
        return self._halved(done, open_)

    def _halved(self, done: list[_Range], open_: list[_Range]) -> list[_Range]:
        """Return ranges with those that are ``open_`` in halves while that saves, in order."""
        with suppress(effort.OutOfEffortError):
            while open_ and len(done) + len(open_) < MOST_RANGES:
                open_.sort(key=lambda item: item.loads)
                halves = self._cut(open_[-1], (open_[-1].first + open_[-1].end) // 2)
                item = open_.pop()
                if halves is None or sum(half.loads for half in halves) > (1 - LEAST_RANGE_SAVED) * item.loads:
                    done.append(item)
                else:
                    open_ += halves
        return sorted([*done, *open_], key=lambda item: item.first)

    def _longest(self) -> _Lengths:
        """Return where boxes begin that are as long as fits, one after the other, how long they are and what they do.

        Boxes of one length in a row are one; what they do is about proportional to the instances.
        """
        result, at = _Lengths(end=self.end), self.first
        while at < self.end:
            effort.step(0)
            own = bisect(range(1, self.end - at + 1), False, key=partial(self._is_too_long, at))
            length = max(own, self.edge)
            if at + length >= self.end and result.lengths:
                length = result.lengths[-1]  # the last one is cut off
            count = -(-(self.end - at) // length)
            count = 1 + bisect(range(1, count), False, key=partial(self._differs, at, own))
            result.add(at, length, length * count * self._slice(at + length * count // 2))
            at += length * count
        return result

    def _panels(self, order: Sequence[int]) -> _Lengths:
        """Return the same for boxes as long as fits along the loop that ``order`` leaves out, innermost there.

        What they hold whole, every range loads once.
        """
        (wide,) = {*range(len(self.step.extents))}.difference(order)
        whole = [item for item in self.step.cells if wide in item.loops and self.at not in item.loops]
        result, at = _Lengths(), self.first
        least = max(1, (self.end - self.first) // MOST_PANEL_LENGTHS)
        while at < self.end:
            effort.step(0)
            length = self._panel(wide, at)

            def differs(place: int, own: int = length) -> bool:
                return not self._has_room(wide, place, own) or self._has_room(wide, place, own + 1)

            end = at + 1 + bisect(range(at + 1, self.end), False, key=differs)
            if end < at + least:
                end = min(at + least, self.end)
                length = min(length, self._panel(wide, end - 1))
            again = sum(int(item.count(self._spans(item, end - 1, 1))) for item in whole)
            result.add(at, length, (end - at) * self._slice((at + end) // 2), again)
            at = end
        return result

    def _panel(self, wide: int, at: int) -> int:
        """Return how long boxes along the loop ``wide`` may be at a place."""
        lengths = range(1, self.step.extents[wide] + 1)
        return max(1, bisect(lengths, False, key=lambda length: not self._has_room(wide, at, length)))

    def _has_room(self, wide: int, at: int, length: int) -> bool:
        """True if a box so long along the loop ``wide`` has room for all that depends on it, and words of the rest."""
        if at not in self._known:
            self._known[at] = [self._spans(item, at, 1) for item in self.step.cells]
        room = 1
        for item, own in zip(self.step.cells, self._known[at], strict=True):
            spans = [*own]
            spans[wide] = min(length, spans[wide])
            room += int(item.count(spans)) if wide in item.loops else 1
        return room <= self.step.capacities[0]

    def _is_too_long(self, at: int, length: int) -> bool:
        return not self._fits(at, length)

    def _differs(self, at: int, length: int, more: int) -> bool:
        """True if a longer box fits, or this one does not, some boxes further on."""
        at += more * max(length, self.edge)
        return (length > 0 and not self._fits(at, length)) or self._fits(at, max(length, self.edge) + 1)

    def _ends(self, cells: Cells, at: int, length: int) -> tuple[IntArray, IntArray]:
        """Return the ends of the coordinates at which cells are accessed in boxes that begin at a place."""
        low = np.array([self.step.box.first], np.int64)
        high = low + np.array([self.step.extents], np.int64) - 1
        low[:, self.at], high[:, self.at] = at, at + length - 1
        return within(cells.where, low, high)

    def _spans(self, cells: Cells, at: int, length: int) -> list[int]:
        """Return how many values every coordinate has where cells are accessed in boxes that begin at a place."""
        low, high = self._ends(cells, at, length)
        spans: list[int] = (high - low + 1)[0].tolist()
        return spans

    def _fits(self, at: int, length: int) -> bool:
        """True if a box that begins at a place has room, wherever it lies along the other loops."""
        edges, room = dict(zip(self.step.box.loops, self.step.box.edges, strict=True)), 1
        for item in self.step.cells:
            spans = self._spans(item, at, length)
            if min(spans) > 0:
                own = [span if k == self.at else min(edges.get(k, span), span) for k, span in enumerate(spans)]
                room += int(item.count(own))
        return room <= self.step.capacities[0]

    def _slice(self, at: int) -> float:
        """Return about how many instances there are at a place."""
        found = [self._ends(item, at, 1) for item in self.step.cells]
        return max(float(np.prod(np.maximum(0, high - low + 1))) for low, high in found)

    def _cut(self, item: _Range, middle: int) -> list[_Range] | None:
        """Return both parts of a range; None if one has no boxes."""
        if not item.first < middle < item.end:
            return None
        found = [self._made(item.first, middle), self._made(middle, item.end)]
        return None if None in found else [half for half in found if half is not None]

    def _made(self, first: int, end: int) -> _Range | None:
        effort.step()
        step = None
        with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
            parts = self.parts([item for item in (first, end) if self.first < item < self.end])
            step = self.in_boxes(parts, first, end)
        return None if step is None else _Range(first, end, step, self.boxes.cost(step))

    def parts(self, ends: Sequence[int]) -> Split:
        """Return the data flow with the statements in pieces that begin or end at ``ends``."""
        return in_own_names(in_pieces(self.boxes.flow, self.pieces(ends)))

    def pieces(self, ends: Sequence[int]) -> dict[str, Piece]:
        """Return the statements in pieces that begin or end at ``ends``."""
        program, pieces = self.boxes.flow.program, {}
        for name, row in self.rows.items():
            for first, end in pairwise([self.first, *ends, self.end]):
                where = list[tuple[Row, str]]()
                if first > self.first:
                    where.append((replace(row, constant=row.constant - first + 1), ">"))
                if end < self.end:
                    where.append((replace(row, constant=row.constant - end), "<"))
                piece, domain = Piece(name, tuple(where)), program.by_name[name].domain
                if not domain.intersect(piece.instances(len(row.factors))).is_empty():
                    pieces[name + self.name_of(first, end)] = piece
        return pieces

    def name_of(self, first: int, end: int) -> str:
        """Return what the names of pieces in a range end in."""
        return f"_{first - self.first}_{end - self.first}"

    def in_boxes(self, parts: Split, first: int, end: int, capacity: int = 0) -> BoxStep | None:
        """Return the pieces of a range in the best boxes found; what others computed is in memory as inputs are."""
        assert self.step.phase is not None
        last = self.name_of(first, end)
        names = [name + last for name in self.step.names if name + last in parts.pieces]
        own = self.step.phase.placement
        placement = {name: own[parts.pieces[name].statement] for name in names}
        storage = self._storage(parts) if names else None
        flow = None if storage is None else _alone(parts, names, storage)
        if storage is None or flow is None:
            return None
        counts = Counts(flow)
        mine = tuple(read for name in names for read in reads_of(flow, name))
        inner = Step(tuple(names), Phase(tuple(names), placement, (), counts), None, 0.0, counts, mine)
        boxes = self.boxes
        words, storage = (capacity,) if capacity else tuple(boxes.weights), replace(storage, flow=flow)
        found = boxed(
            flow,
            inner,
            self.bands,
            boxes.sizes,
            words,
            boxes.slack,
            storage,
            spilling=True,
            inside=self.inside,
        )
        return None if found is None else refined(found, boxes.slack)

    def _storage(self, parts: Split) -> Storage | None:
        """Return room for as many values in the data flow of all pieces."""
        made: Storage | None = replace(self.storage, flow=parts.flow, buffers={})
        for array, buffer in self.storage.buffers.items():
            while made is not None and (array not in made.buffers or made.buffers[array].key < buffer.key):
                made = made.deeper(array)
        return made


def in_ranges(boxes: Boxes, step: AnyStep) -> AnyStep:
    """Return a phase in ranges of a loop over its boxes, or of distances, where that loads less; one memory only.

    What a range needs of others it finds in the program's memory.
    """
    if type(step) is not BoxStep or not step.box.loops or step.phase is None or len(step.boxes) > 1:
        return step
    if len(boxes.weights) > 1 or not any(item.is_cut for item in step.cells):
        return step
    ranges = Ranges.along(boxes, step, step.box.loops[0])
    best: AnyStep = step
    with suppress(effort.OutOfEffortError):
        for one in [] if ranges is None else chain([ranges], ranges.of_distances()):
            found = one.best() if one is ranges else one.halves(boxes.cost(best))
            if len(found) > 1:
                parts = one.parts([item.first for item in found[1:]])
                made = PassedStep(step.plain, tuple(item.step for item in found), parts, step, ranges=True)
                best = min(best, made, key=boxes.cost)
    return best


def _distance(one: Row, other: Row) -> Row:
    """Return how far one coordinate is from another, both counted upwards."""
    turned = sum(one.factors) * sum(other.factors) < 0
    return _scaled(other, 1 if turned else -1, one)


def _scaled(row: Row, factor: int, more: Row | None = None) -> Row:
    """Return a multiple of a coordinate, and another one added."""
    other = Row((0,) * len(row.factors)) if more is None else more
    names = dict(other.parameters)
    for name, value in row.parameters:
        names[name] = names.get(name, 0) + factor * value
    return Row(
        tuple(a + factor * b for a, b in zip(other.factors, row.factors, strict=True)),
        tuple(sorted((name, value) for name, value in names.items() if value)),
        other.constant + factor * row.constant,
    )


def _ends(boxes: Boxes, rows: Mapping[str, Row]) -> tuple[int, int]:
    """Return the least value of rows, and one more than the largest."""
    program, ends = boxes.flow.program, list[int]()
    for name, row in rows.items():
        found = placement_map(name, len(row.factors), (row,), program.parameters)
        values = at_parameters(program.by_name[name].domain.apply(found), boxes.sizes)
        ends += [int(item.to_python()) for item in (values.dim_min_val(0), values.dim_max_val(0))]
    return min(ends), max(ends) + 1


def _has(band: Band, box: Box, at: int) -> bool:
    """True if the loops of a box are of a band, and ``at`` may be the outermost of them."""
    outer, tiled = box.loops[: box.outer], {*band[1]}
    return band[0] == outer and {*box.loops} <= {*outer, *tiled} and (outer[0] == at if outer else at in tiled)


def _alone(parts: Split, names: Sequence[str], storage: Storage) -> DataFlow | None:
    """Return what flows into the pieces ``names``; what other pieces of these statements compute as inputs.

    None where that is in no memory of the program's own.
    """
    inside = {parts.pieces[name].statement for name in names}
    result: list[Flow] = []
    inputs: dict[tuple[str, str], list[Flow]] = {}
    for item in (item for item in parts.flow.flows if item.sink in names):
        other = item.source not in names and item.source in parts.pieces
        if other and item.reference.array in storage.buffers:
            return None
        if item.source is None or (other and parts.pieces[item.source or ""].statement in inside):
            inputs.setdefault((item.sink, item.reference.tag), []).append(item)
        else:
            result.append(item)
    for found in inputs.values():
        readers = reduce(isl.Set.union, [item.relation.range() for item in found])
        reference = found[0].reference
        relation = reference.relation.intersect_domain(readers).reverse().coalesce()
        result.append(Flow(None, found[0].sink, reference, relation))
    return replace(parts.flow, flows=tuple(result))
