"""Tiles at given sizes, with inputs held where a tile reads them again and again: the border of a grid in every step.

An input that is read where a class of kept values would be, had they been computed (the border of a stencil, and what
the grid holds before the first step), is like a value of that class that comes from memory: A is the set of these
instances that do not exist, *anchors* at places that no value of the class has. The instances of one element are a
chain, each d after the one before. A tile loads an element at its first use and keeps it until its last. So

* loads: a tile uses an anchor a only if it meets the box from the least to the largest offset of its class, of reach
  m_k, around a: P0 = prod (1 + m_k / b_k) tiles of edges b_k, averaged over all origins of the tile grid. Boxes of two
  neighbours in a chain lie in one of reach m_k + |d_k|, which meets P1 = prod (1 + (m_k + |d_k|) / b_k) tiles. From
  neighbour to neighbour at most P1 - P0 are new, so E elements with A anchors take E P0 + (A - E) (P1 - P0) loads;
* room: at any time between two uses in a tile, if d is lexicographically no later than m inside of tiles, some anchor
  of the chain is between its least and its largest use, and on the line between anchors that the tile uses. Anchors of
  the class at all places of a tile are what its values need room for (see :mod:`value_classes`), and these are places
  without a value: no more room is needed. Where d is later, anchors count from the least use of one to the largest of
  the next, on the face where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.lattices import moved
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.integer_sets.subspaces import span
from shorthaul.affine.model import Statement
from shorthaul.affine.orders.borders.grids import Grid, Part
from shorthaul.affine.orders.borders.rooms import room
from shorthaul.affine.orders.boxes.regions import union
from shorthaul.affine.orders.placement import Loops, Read, Row, placement_map
from shorthaul.affine.orders.tile_policy import Phase, Policy
from shorthaul.affine.orders.tile_steps import AtSizes, Step
from shorthaul.affine.orders.value_classes import INFINITE, Use, ValueClass
from shorthaul.affine.tuning import MOST_BOX_ROUNDS, MOST_PLANES, PLACEMENT_OPERATIONS

_SET, _OUT = isl.dim_type.set, isl.dim_type.out


@dataclass(frozen=True)
class Border:
    """Inputs read in place of values of the class ``like``: how many, with how many ``anchors``, ``apart`` in a chain.

    In ``first`` are the places of the first anchors of chains, in ``linked`` of those that have a next one. ``faces``
    have the generators of the lattices of anchors for which there is no room among these values.
    """

    array: str
    like: ValueClass
    elements: int
    anchors: int
    apart: tuple[int, ...]
    first: isl.Set
    linked: isl.Set
    faces: tuple[tuple[tuple[int, ...], ...], ...] = ()

    def loads(self, order: Loops, tiles: Mapping[int, int]) -> Fraction:
        """Return the loads, averaged over all origins of the tile grid."""
        (group,) = self.like.groups(order, 0)
        near, far = (
            prod(
                (1 + Fraction(group.reach.get(at, 0) + more[at], edge) for at, edge in tiles.items()), start=Fraction(1)
            )
            for more in ((0,) * len(self.apart), [abs(step) for step in self.apart])
        )
        return self.elements * near + (self.anchors - self.elements) * (far - near)

    def live(self, order: Loops, tiles: Mapping[int, int]) -> float:
        """Return how many elements need room of their own."""
        (group,) = self.like.groups(order, 0)
        reach = {at: group.reach[at] + abs(self.apart[at]) for at in order.inner}
        total = 0.0
        for generators in self.faces:
            face = replace(self.like, generators=generators, _cache={})
            total += float(face.alive(order.inner, reach, face.spacing(order), tiles))
        return total


@dataclass(frozen=True)
class BorderedStep(AtSizes):
    """A phase in ``tiles`` of edges found for ``capacity`` words at ``sizes``; ``inside`` is what else it keeps.

    Where ``origin`` says for a coordinate where its tiles begin, ``counted`` are the loads by array; ``room`` are the
    words needed where these were counted.
    """

    inside: Phase
    policy: Policy
    borders: tuple[Border, ...]
    tiles: Mapping[int, int]
    capacity: int
    sizes: Mapping[str, int]
    origin: Mapping[int, int] = field(default_factory=dict)
    counted: Mapping[str, float] | None = None
    room: float | None = None

    @property
    def rate(self) -> float:
        """The loads at its sizes."""
        return self.loads(self.sizes, self.capacity)

    @property
    def live(self) -> float:
        """The words that are needed at any time, with room for one result."""
        if self.room is not None:
            return self.room
        order = self.policy.order
        total = 1 + sum(float(item.live(order, level, self.tiles)) for item, level in self.kept)
        return total + sum(item.live(order, self.tiles) for item in self.borders)

    def loads_bytes(
        self,
        sizes: Mapping[str, int],  # noqa: ARG002
        capacity: int,
        widths: Mapping[str, int],
    ) -> float:
        """Return the bytes at the sizes for which the tiles were searched, averaged over the origins of their grid."""
        if capacity < self.capacity:
            return INFINITE
        if self.counted is not None:
            return sum(widths[array] * loads for array, loads in self.counted.items())
        count, order = self.counts.at(self.sizes), self.policy.order
        total: float = 0
        for item, level in self.kept:
            width = max(widths[use.read.array] for use in item.uses)
            total += width * item.loads(order, level, self.tiles, count)
        return total + sum(widths[item.array] * item.loads(order, self.tiles) for item in self.borders)

    @property
    def kept(self) -> Iterator[tuple[ValueClass, int]]:
        """The classes of values besides, each with its level of keeping."""
        return zip(self.inside.classes, self.policy.levels, strict=True)


def bordered(step: Step, sizes: Mapping[str, int]) -> BorderedStep | None:
    """Return ``step`` with its border held in the best tiles found at ``sizes``; None if there is none to hold."""
    if step.phase is None or step.policy is None or step.policy.order.outer or not step.policy.order.tiled:
        return None
    made: dict[tuple[int, str, str], list[tuple[Read, isl.Map]]] = {}
    held: set[int] = set()
    for at, item in enumerate(step.phase.classes):
        found = None if item.kept else _partners(step, item.uses, sizes)
        if found is not None:
            held.add(at)
            for key, *pair in found:
                made.setdefault(key, []).append((pair[0], pair[1]))
    borders = []
    for (at, source, array), pairs in made.items():
        effort.step()
        border = _border(step, step.phase.classes[at], source, array, pairs, sizes)
        if border is None:
            return None
        borders.append(border)
    left = [at for at in range(len(step.phase.classes)) if at not in held]
    inside = replace(step.phase, classes=tuple(step.phase.classes[at] for at in left))
    policy = replace(step.policy, levels=tuple(step.policy.levels[at] for at in left))
    start = BorderedStep(step, inside, policy, tuple(borders), {}, sizes["S"], sizes)
    return _best_tiles(start)


def within(step: BorderedStep, capacity: int) -> BorderedStep | None:
    """Return the phase in the best tiles for ``capacity`` words; None if none fit."""
    return _best_tiles(replace(step, capacity=capacity, tiles={}, origin={}, counted=None, room=None))


#: The place of a class, the statement whose values it has, and an array; a read of it, and the instances it stands for.
_Partner = tuple[tuple[int, str, str], Read, isl.Map]


def _partners(step: Step, uses: Iterable[Use], sizes: Mapping[str, int]) -> list[_Partner] | None:
    """Return for reads of inputs in place of which values of which class they are; None if not all are."""
    result = []
    for use in uses:
        found = None if use.read.source is not None else _partner(step, use.read, sizes)
        if found is None:
            return None
        result.append(found)
    return result


def _partner(step: Step, read: Read, sizes: Mapping[str, int]) -> _Partner | None:
    assert step.phase is not None
    assert step.policy is not None
    program = step.counts.flow.program
    wanted = at_sizes(read.function.reset_tuple_id(_OUT), sizes)
    for at, (item, level) in enumerate(zip(step.phase.classes, step.policy.levels, strict=True)):
        for use in item.uses if item.kept and not level and item.regular else ():
            other = use.read
            if other.sink != read.sink or other.array != read.array or other.rows is None or other.source is None:
                continue
            source = program.by_name[other.source]
            width = len(program.by_name[read.sink].iterators)
            anchors = placement_map(read.sink, width, other.rows, program.parameters)
            anchors = at_sizes(anchors.intersect_domain(read.domain), sizes)
            if anchors.apply_range(_written(source, sizes)).is_equal(wanted):
                return (at, source.name, read.array), read, anchors
    return None


def _written(statement: Statement, sizes: Mapping[str, int]) -> isl.Map:
    """Return instance -> the element that it writes, or would write if it existed."""
    found = statement.write.relation.gist_domain(statement.domain).reset_tuple_id(isl.dim_type.in_)
    return at_sizes(found.reset_tuple_id(_OUT), sizes)


def _border(
    step: Step,
    like: ValueClass,
    source: str,
    array: str,
    pairs: list[tuple[Read, isl.Map]],
    sizes: Mapping[str, int],
) -> Border | None:
    """Return inputs as a border; None where their anchors are no chains, or where values may be."""
    assert step.phase is not None
    assert step.policy is not None
    statement = step.counts.flow.program.by_name[source]
    rows, order = step.phase.placement[source], step.policy.order
    width = len(statement.iterators)
    if len(span([row.factors for row in rows])) < width or len(like.groups(order, 0)) != 1 or like.free:
        return None
    anchors = union(item.range() for _, item in pairs).coalesce()
    elements = union(at_sizes(read.function.range().reset_tuple_id(), sizes) for read, _ in pairs)
    real = at_sizes(statement.domain.reset_tuple_id(), sizes)
    if not anchors.intersect(real).is_empty():
        return None
    written = _written(statement, sizes).intersect_domain(anchors)
    apart = _apart(written.apply_range(written.reverse()).deltas(), rows, order)
    if apart is None or not _is_chain(anchors, apart):
        return None
    placed = tuple(sum(a * b for a, b in zip(row.factors, apart, strict=True)) for row in rows)
    (group,) = like.groups(order, 0)
    faces: tuple[tuple[tuple[int, ...], ...], ...] = ()
    if any(apart) and tuple(placed[at] for at in order.inner) > tuple(group.reach[at] for at in order.inner):
        faces = tuple(_faces(anchors.intersect(anchors.apply(moved(apart).reverse())), rows))
    linked = anchors.intersect(anchors.apply(moved(apart).reverse())) if any(apart) else anchors.subtract(anchors)
    ends = anchors.subtract(anchors.apply(moved(apart))) if any(apart) else anchors
    place = at_sizes(placement_map("", width, rows, step.counts.flow.program.parameters), sizes)
    ends, linked = ends.apply(place).coalesce(), linked.apply(place).coalesce()
    return Border(array, like, card(elements).at({}), card(anchors).at({}), placed, ends, linked, faces)


def _apart(between: isl.Set, rows: tuple[Row, ...], order: Loops) -> tuple[int, ...] | None:
    """Return the least distance of those ``between`` anchors of one element, 0 if there is none.

    None if not all are multiples of it.
    """
    width: int = between.dim(_SET)
    names = [f"v{at}" for at in range(width)]
    zero = isl.Set(f"{{ [{', '.join(names)}] : {' = '.join([*names, '0'])} }}")
    later = between.intersect(zero.lex_lt_set(between).range())
    if later.is_empty():
        return (0,) * width
    least = later.lexmin()
    step: tuple[int, ...] = tuple(least.dim_min_val(at).to_python() for at in range(width))
    lines = " and ".join(f"{name} = {value}*k" for name, value in zip(names, step, strict=True))
    multiples = isl.Set(f"{{ [{', '.join(names)}] : exists k : {lines} }}")
    if not between.is_subset(multiples):
        return None
    placed = [sum(a * b for a, b in zip(row.factors, step, strict=True)) for row in rows]
    return step if [placed[at] for at in order.inner] > [0] * len(rows) else tuple(-item for item in step)


def _is_chain(anchors: isl.Set, apart: tuple[int, ...]) -> bool:
    """True if between any two anchors that are a multiple of ``apart`` from one another, all those between are too."""
    if not any(apart):
        return True
    ends = [[f"{letter}{at}" for at in range(len(apart))] for letter in "vw"]
    lines = [f"{w} = {v} + {step}*k" for v, w, step in zip(*ends, apart, strict=True)]
    text = f"{{ [{', '.join(ends[0])}] -> [{', '.join(ends[1])}] : exists k : k > 0 and {' and '.join(lines)} }}"
    later = isl.Map(text)
    before = anchors.apply(later.reverse()).intersect(anchors)
    return bool(before.apply(moved(apart)).is_subset(anchors))


def _faces(anchors: isl.Set, rows: tuple[Row, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield generators, in the coordinates, of a lattice that has the differences of anchors, part by part.

    Iterators that have one value in a part generate nothing.
    """
    for part in anchors.get_basic_sets():
        used = [
            [at for at in range(part.dim(_SET)) if item.get_coefficient_val(_SET, at).to_python()]
            for item in part.affine_hull().get_constraints()
        ]
        moving = [at for at in range(part.dim(_SET)) if [at] not in used]
        yield tuple(tuple(row.factors[at] for row in rows) for at in moving)


def _best_tiles(start: BorderedStep) -> BorderedStep | None:
    """Return the tiles with the fewest loads found: the largest of equal edges first, then each against another."""
    tiled, capacity = start.policy.order.tiled, start.capacity

    def made(tiles: Mapping[int, int]) -> BorderedStep:
        return replace(start, tiles={at: tiles[at] for at in tiled})

    def largest(known: Mapping[int, int], at: Iterable[int]) -> BorderedStep | None:
        """Return tiles with the largest edge that fits in the coordinates ``at``, for all of them the same."""
        chosen, low, high = [*at], 0, capacity + 1
        if not chosen:
            return found if (found := made(known)).live <= capacity else None
        while high - low > 1:
            middle = (low + high) // 2
            fits = made({**known, **dict.fromkeys(chosen, middle)}).live <= capacity
            low, high = (middle, high) if fits else (low, middle)
        return made({**known, **dict.fromkeys(chosen, low)}) if low else None

    best = largest({}, tiled)
    if best is None:
        return None
    for _ in range(MOST_BOX_ROUNDS):
        effort.step()
        begin = best
        for at in tiled:
            known = best.tiles[at]
            scaled = (round(factor * known) for factor in (0.6, 0.8, 0.9, 1.1, 1.25, 1.6))
            for edge in (max(1, edge) for edge in (*scaled, *(known + by for by in (-4, -2, -1, 1, 2, 4)))):
                for other in (item for item in tiled if item != at):
                    found = largest({**best.tiles, at: edge}, [other])
                    if found is not None and found.rate < best.rate:
                        best = found
        if best is begin:
            break
    return _grown(_on_a_grid(best, largest))


def _grown(best: BorderedStep) -> BorderedStep:
    """Return tiles with larger edges where what they hold, counted value by value, leaves room."""
    if best.origin or any(border.faces for border in best.borders) or any(level for _, level in best.kept):
        return best
    own = [(item, [border.apart for border in best.borders if border.like is item]) for item, _ in best.kept]
    while True:
        fitting = []
        for at, edge in best.tiles.items():
            more = replace(best, tiles={**best.tiles, at: edge + 1}, room=None)
            if more.rate < best.rate:
                words = 1 + room(own, best.policy.order, more.tiles, best.sizes)
                fitting += [replace(more, room=words)] if words <= best.capacity else []
        if not fitting:
            return best
        best = min(fitting, key=lambda item: item.rate)


def _on_a_grid(best: BorderedStep, largest: Callable[..., BorderedStep | None]) -> BorderedStep:
    """Return the tiles with the origin of one coordinate, and its edge, by exact counts, where that is less."""
    counted = _parts(best)
    if counted is None:
        return best
    parts, rest = counted
    tiled, start = best.policy.order.tiled, best
    rows = best.inside.placement.values()
    own = [at for at in tiled if all(sum(map(bool, row[at].factors)) <= 1 for row in rows)]
    for grid in (Grid(parts, at) for at in own):  # planes across skewed coordinates are as large as their average
        for edge in grid.edges(start.tiles[grid.at]) if grid.last - grid.first < MOST_PLANES else ():
            found = largest({**start.tiles, grid.at: edge}, [at for at in tiled if at != grid.at])
            if found is not None:
                origin, loads = grid.best(found.tiles)
                loads = {name: loads.get(name, 0) + rest.get(name, 0) for name in {*loads, *rest}}
                made = replace(found, origin={grid.at: origin}, counted=loads)
                best = made if made.rate < best.rate else best
    return best


def _parts(step: BorderedStep) -> tuple[list[Part], dict[str, float]] | None:
    """Return what tiles load, as places with boxes around them, and what is loaded in any tiles, by array.

    None where some of it has another form.
    """
    order, program = step.policy.order, step.counts.flow.program
    parts: list[Part] = []
    rest: dict[str, float] = {}
    for item, level in step.kept:
        groups = item.groups(order, level)
        if item.kept and not level and not item.free and len(groups) == 1:
            low, high = _ends(groups[0].uses, computed=True)
            for values in item.values(groups[0].uses):
                name = values.get_tuple_name()
                place = placement_map(name, values.dim(_SET), step.inside.placement[name], program.parameters)
                placed, array = at_sizes(values.apply(place), step.sizes), program.by_name[name].write.array
                parts += [Part(array, placed, low, high), Part(array, placed, low, low, -1)]
        elif item.regular and (item.free or any(any(group.reach.values()) for group in groups)):
            return None
        else:
            array = item.uses[0].read.array
            loads = item.loads(order, level, step.tiles, step.counts.at(step.sizes))
            rest[array] = rest.get(array, 0) + loads
    for border in step.borders:
        low, high = _ends(border.like.uses, computed=False)
        parts.append(Part(border.array, border.first, low, high))
        if not border.linked.is_empty():
            less = tuple(value + min(0, step) for value, step in zip(low, border.apart, strict=True))
            more = tuple(value + max(0, step) for value, step in zip(high, border.apart, strict=True))
            parts += [Part(border.array, border.linked, less, more), Part(border.array, border.linked, low, high, -1)]
    return parts, rest


def _ends(uses: Sequence[Use], *, computed: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the least and the largest offsets of uses, and of the values themselves where these are ``computed``."""
    offsets = [tuple(value or 0 for value in use.offsets) for use in uses]
    rows = [*offsets, (0,) * len(offsets[0])] if computed else offsets
    lines = list(zip(*rows, strict=True))
    return tuple(map(min, lines)), tuple(map(max, lines))


def limited(step: Step, sizes: Mapping[str, int]) -> BorderedStep | None:
    """Return :func:`bordered`, None where it takes too many operations on sets."""
    with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
        return bordered(step, sizes)
    return None
