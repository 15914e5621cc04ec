"""The groups of accesses of a phase: what its reads hold in memory, and what its own writes put there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd, lcm

import islpy as isl

from shorthaul.affine.integer_sets.counting import card, counts_along
from shorthaul.affine.integer_sets.dependences import Flow
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.integer_sets.signs import signs_of
from shorthaul.affine.integer_sets.subspaces import rational_solution
from shorthaul.affine.model import Reference
from shorthaul.affine.orders.boxes.alive import Alive, Line
from shorthaul.affine.orders.boxes.bands import band_of, sheared, ties_of
from shorthaul.affine.orders.boxes.cells import BEFORE, Cells, Factors, Lattice, among_others
from shorthaul.affine.orders.boxes.regions import Region, box_of, ends_of, is_single_valued, regions, union
from shorthaul.affine.orders.boxes.storage import Storage
from shorthaul.affine.orders.placement import Placement, Row, function_rows, placement_map
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.tuning import LEAST_FRESH, MOST_SHIFT, STRIP

_SET = isl.dim_type.set
#: Factors of the coordinates by subscript, on a lattice, and multiples of parameters beside them: elements that are a
#: size apart are no window to be held.
_Lines = tuple[Factors, Lattice, tuple[tuple[tuple[str, int], ...], ...]]
#: Array, the statement of another phase that the values are from, and the subscripts.
_Key = tuple[str, str | None, _Lines]


@dataclass
class _Group:
    """Constants of the subscripts, where the accesses are placed, and the elements accessed.

    ``loaded`` are the elements of which some value comes from elsewhere, ``made`` the accesses that write the others.
    ``sources`` are the statements that computed each of ``elements``, None for inputs, ``values`` their instances, and
    ``written`` by statement those of ``made`` and those that write what they have read here.
    """

    constants: list[tuple[int, ...]] = field(default_factory=list)
    places: list[isl.Set] = field(default_factory=list)
    elements: list[isl.Set] = field(default_factory=list)
    loaded: list[isl.Set] = field(default_factory=list)
    made: list[tuple[tuple[int, ...], isl.Set]] = field(default_factory=list)
    sources: list[str | None] = field(default_factory=list)
    values: list[isl.Set] = field(default_factory=list)
    written: dict[str, isl.Set] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)  #: the reads
    writes: list[Line] = field(default_factory=list)  #: those of ``made``
    readers: list[tuple[str, isl.Set]] = field(default_factory=list)  #: statements with their instances, one per read
    own: list[Flow] = field(default_factory=list)  #: the flows of values that the group computes and reads

    def add_written(self, name: str, instances: isl.Set) -> None:
        """Note instances of a statement that write cells of the group."""
        self.written[name] = self.written[name].union(instances) if name in self.written else instances


@dataclass(frozen=True)
class _Outside:
    """What instances of ``sink`` read from outside a step: elements, readers, and values by step and element.

    ``own`` is the group that it is in by itself.
    """

    own: _Key
    sink: str
    elements: isl.Map
    readers: isl.Set
    values: isl.Map


class Grouping:
    """Groups the reads of ``step``, whose coordinates begin at ``first`` and have ``extents``.

    Writes need no room and load nothing: what is computed is there. They count where a group gets from them all
    values of many of its cells, whose first visit is a write then. Values of other phases are counted one by one: they
    need not have a cell each while this phase is executed.
    In a ``stepped`` phase every value of the first coordinate has cells of its own, in which nothing is to begin with.
    """

    def __init__(
        self, storage: Storage, step: Step, placement: Placement, sizes: Mapping[str, int], *, stepped: bool = False
    ) -> None:
        self.stepped = stepped
        self.storage, self.flow, self.step, self.placement, self.sizes = storage, storage.flow, step, placement, sizes
        self.groups: dict[_Key, _Group] = {}
        self.outside: list[_Outside] = []
        self._uses: dict[int, tuple[int, int]] = {}
        program = self.flow.program
        ends = ends_of(union(self.image(name, program.by_name[name].domain) for name in placement))
        self.first = tuple(low for low, _ in ends)
        self.extents = tuple(high - low + 1 for low, high in ends)
        if self.extents and not stepped:  # none where no instance is at these sizes
            self.storage = replace(storage, sheared=sheared(self._factors()))

    def _factors(self) -> dict[str, list[Factors]]:
        """Return the factors of the accesses to arrays, all of them one by one."""
        result: dict[str, list[Factors]] = {}
        broken: set[str] = set()
        for name in self.placement:
            statement = self.flow.program.by_name[name]
            for item in (*statement.reads, statement.write):
                found = self._key(name, item)
                if found is None or any(step != 1 for step, _ in found[0][2][1]):
                    broken.add(item.array)
                else:
                    result.setdefault(item.array, []).append(found[0][2][0])
        return {array: items for array, items in result.items() if array not in broken}

    @property
    def still(self) -> frozenset[tuple[int, int]]:
        """Pairs of coordinates, each as long as a strip: along one a written element stays, along the other its row."""
        found = set()
        long = [at for at, extent in enumerate(self.extents) if extent >= STRIP]
        deepest = max(len(rows[0].factors) for rows in self.placement.values())  # others are executed too seldom
        for name, rows in ((name, rows) for name, rows in self.placement.items() if len(rows[0].factors) == deepest):
            key = self._key(name, self.flow.program.by_name[name].write)
            lines = () if key is None else key[0][2][0]
            stays = [at for at in long if any(rows[at].factors) and not any(line[at] for line in lines)]
            found |= {(at, along) for at in stays for along in long if lines and lines[-1][along]}
        return frozenset(found)

    def image(self, name: str, points: isl.Set) -> isl.Set:
        """Return where instances of a statement are placed."""
        return at_sizes(points.apply(self._places(name)), self.sizes)

    def _places(self, name: str, first: int = 0, end: int | None = None) -> isl.Map:
        width = len(self.flow.program.by_name[name].iterators)
        return placement_map(name, width, self.placement[name][first:end], self.flow.program.parameters)

    def cells(self) -> tuple[Cells, ...] | None:
        """Return the groups; None instead where a read has no affine form in the coordinates."""
        box = box_of(self.first, self.extents)
        names = set(self.step.names)
        depth = {name: len(self.flow.program.by_name[name].iterators) for name in names}
        own = [item for item in self.flow.flows if item.sink in names and (item.source is None or item.source in names)]
        for item in (part for found in sorted(own, key=lambda item: -depth[item.sink]) for part in self._pieces(found)):
            key = self._shared(item.sink, item.reference)
            if key is None:
                return None
            source = None if item.source is None else self.flow.program.by_name[item.source]
            made = None if source is None else self._in_form(source.name, source.write, key[0])
            if self.stepped and not self._in_step(item) and not self._is_border(item):  # apart from what it computes
                key, made = ((key[0][0], self._before(item), key[0][2]), key[1]), None
                relation = self.storage.relation(item.reference)
                self._from_outside(key[0], item.sink, relation, item.relation.reverse())
            self._note(key, item, made)
        for use in self.step.reads:
            if use.source is not None and use.source not in names:
                rows = self.storage.rows(use)
                lines = None if rows is None else self._in_coordinates(use.sink, rows)
                if lines is None:
                    return None
                group = self.groups.setdefault((use.array, use.source, lines[0]), _Group())
                group.constants.append(lines[1])
                group.places.append(self.image(use.sink, use.domain))
                group.lines.append(self._line(use.sink, rows))
                group.readers.append((use.sink, use.domain))
                if self.stepped:
                    written = self.storage.relation(self.flow.program.by_name[use.source].write)
                    self._from_outside(
                        (use.array, use.source, lines[0]), use.sink, use.function.apply_range(written), use.function
                    )
        if self.stepped:
            self._one_value_each(box)
        found = ((self._made(key, group, box), group) for key, group in self.groups.items())
        pairs = [(item, group) for item, group in found if item is not None]
        self._lines = tuple((*group.lines, *(group.writes if item.fresh else ())) for item, group in pairs)
        self._readers = tuple(group.readers for _, group in pairs)
        accesses = ((item, [*zip(group.places, group.constants, strict=True)]) for item, group in pairs)
        return among_others([*accesses], self.extents)

    def _one_value_each(self, box: isl.Set) -> None:
        """Let elements stand for values from before a step, where every element has one in a step.

        So what is read at one place of the program is one group, whether it is an input or who computed it, if that
        is read everywhere and no more elements lie between these than are counted apart.
        """
        for array in dict.fromkeys(item.own[0] for item in self.outside):
            found = [item for item in self.outside if item.own[0] == array]
            members = {item.own for item in found}
            made: dict[_Key, _Group] = {}
            if len(members) < 2 or not is_single_valued([item.values for item in found]):
                continue
            for item in found:
                rows = function_rows(item.elements)
                lines = None if rows is None else self._in_coordinates(item.sink, rows)
                if lines is None:
                    break
                group = made.setdefault((array, BEFORE, lines[0]), _Group())
                group.constants.append(lines[1])
                group.places.append(self.image(item.sink, item.readers))
                group.lines.append(self._line(item.sink, rows))
                group.readers.append((item.sink, item.readers))
            else:
                apart = [self._made(key, self.groups[key], box) for key in members]
                merged = [self._made(key, group, box) for key, group in made.items()]
                alike = {(item.factors, item.spread) for item in apart if item is not None}
                fill = all(
                    item and (item.fills(union(group.places), box) or (item.factors, item.spread) in alike)
                    for item, group in zip(merged, made.values(), strict=True)
                )
                if fill and self._count(merged) <= self._count(apart):
                    self.groups = {key: group for key, group in self.groups.items() if key not in members} | made

    def _count(self, cells: Iterable[Cells | None]) -> int:
        return sum(int(item.count(self.extents)) for item in cells if item is not None)

    def _from_outside(self, key: _Key, sink: str, elements: isl.Map, values: isl.Map) -> None:
        """Note the ``elements`` that instances read, and their ``values`` from before a step."""
        readers = values.domain()
        places = self._steps(sink).flat_range_product(elements.reset_tuple_id(isl.dim_type.out))
        pairs = at_sizes(places.intersect_domain(readers).reverse().apply_range(values), self.sizes)
        elements = elements.intersect_domain(readers)
        for item in self.flow.program.by_name[sink].reads:
            if item.array == key[0] and self.storage.relation(item).intersect_domain(readers).is_equal(elements):
                elements = self.storage.relation(item)  # as written: on a border it has other forms
                break
        self.outside.append(_Outside(key, sink, elements, readers, pairs))

    def alive(self, inside: tuple[int, ...] = ()) -> Alive:
        """Return what tells how long the cells of the groups found are alive, in this order inside of boxes."""
        times: dict[str, tuple[Row, ...] | None] = {}
        for name, rows in self.placement.items():
            own = function_rows(self.flow.program.by_name[name].schedule)
            times[name] = None if own is None else (*(rows[at] for at in inside), *own)
        return Alive(self._lines, self.placement, times, self.first, self.extents, self.sizes, inside)

    def uses(self, number: int) -> tuple[int, int]:
        """Return the reads of a group found, and the most of them that one instance may have."""
        if number not in self._uses:
            readers = self._readers[number]
            count = sum(card(at_sizes(points, self.sizes)).at({}) for _, points in readers)
            self._uses[number] = count, max(Counter(name for name, _ in readers).values(), default=0)
        return self._uses[number]

    def uses_along(self, number: int, loop: int) -> tuple[int, ...]:
        """Return the reads of a group found at every value of a coordinate."""
        own = [(self._places(name, loop, loop + 1), points) for name, points in self._readers[number]]
        pairs = [at_sizes(places.intersect_domain(points), self.sizes) for places, points in own]
        found = [counts_along(item, self.first[loop], self.extents[loop]) for item in pairs]
        return tuple(map(sum, zip(*found, strict=True)))

    def _line(self, name: str, rows: tuple[Row, ...] | None) -> Line:
        """Return an access; every step has elements of its own, if there are steps."""
        return Line(name, (*self.placement[name][: self.stepped], *(rows or ())))

    def _pieces(self, item: Flow) -> Iterator[Flow]:
        """Yield a flow in parts of which each reads by one affine function: values of this step, and earlier ones."""
        if function_rows(self.storage.relation(item.reference)) is not None:
            yield item
            return
        own = [
            other for other in self.flow.flows if other.reference is item.reference and other.source in self.placement
        ]
        within = [self._same_step(other) for other in own] if self.stepped else []
        readers = item.reference.relation.domain()
        now = union(part.range() for part in within) if within else readers.subtract(readers)
        for where in (now, readers.subtract(now)):
            part = item.relation.intersect_range(where).coalesce()
            if not part.is_empty():
                relation = item.reference.relation.intersect_domain(where).coalesce()
                yield replace(item, relation=part, reference=replace(item.reference, relation=relation))

    def _same_step(self, item: Flow) -> isl.Map:
        """Return the part of a flow of which both ends have one value of the first coordinate."""
        assert item.source is not None
        return item.relation.intersect(self._steps(item.source).apply_range(self._steps(item.sink).reverse()))

    def _key(self, name: str, reference: Reference) -> tuple[_Key, tuple[int, ...]] | None:
        rows = function_rows(self.storage.relation(reference))
        lines = None if rows is None else self._in_coordinates(name, rows)
        return None if lines is None else ((reference.array, None, lines[0]), lines[1])

    def _note(self, key: tuple[_Key, tuple[int, ...]], item: Flow, made: tuple[int, ...] | None) -> None:
        """Add the reads of a flow; ``made`` are the constants of the writes where these are of one group with them."""
        group = self.groups.setdefault(key[0], _Group())
        group.constants.append(key[1])
        readers = item.relation.range()
        everywhere = readers if self.stepped else item.reference.relation.domain()
        group.places.append(self.image(item.sink, everywhere))
        group.elements.append(self._elements(item, readers))
        group.sources.append(item.source)
        values = item.relation.domain()
        group.values.append(values)
        group.readers.append((item.sink, readers))
        group.lines.append(self._line(item.sink, function_rows(self.storage.relation(item.reference))))
        if self._in_form(item.sink, self.flow.program.by_name[item.sink].write, key[0]) == key[1]:
            group.add_written(item.sink, readers)
        if made is None or item.source is None:
            group.loaded.append(group.elements[-1])
        else:
            group.own.append(item)
            group.made.append((made, self.image(item.source, values)))
            group.add_written(item.source, values)
            written = self.flow.program.by_name[item.source].write
            group.writes.append(self._line(item.source, function_rows(self.storage.relation(written))))

    def _elements(self, item: Flow, points: isl.Set) -> isl.Set:
        """Return the elements that instances read, with the step in front where there are steps."""
        relation = self.storage.relation(item.reference)
        if self.stepped:
            relation = self._steps(item.sink).flat_range_product(relation.reset_tuple_id(isl.dim_type.out))
        return at_sizes(relation.intersect_domain(points).range(), self.sizes)

    def _shared(self, name: str, reference: Reference) -> tuple[_Key, tuple[int, ...]] | None:
        """Return a known group in whose form an access is, with its constants: on a diagonal it has several forms."""
        own = self._key(name, reference)
        if own is None or own[0] in self.groups:
            return own
        for key in self.groups:
            found = self._in_form(name, reference, key)
            if found is not None:
                return key, found
        return own

    def _in_form(self, name: str, reference: Reference, key: _Key) -> tuple[int, ...] | None:
        """Return the constants of the subscripts of an access in the form of a group, None if it has another form.

        What is written in the form of a group is read where it is computed, but for coordinates that do not matter.
        """
        if reference.array != key[0] or key[1] is not None:
            return None
        own = self._key(name, reference)
        if own is not None and own[0] == key:
            return own[1]
        rows = function_rows(self.storage.relation(reference))
        if rows is None or self.stepped:
            return None
        constants = []
        for row, factors, (step, rest), apart in zip(rows, *key[2], strict=True):
            whole, parts = step.numerator, step.denominator
            left = row.times(parts).plus(Row(factors).after(self.placement[name]), -whole)
            constant = left.at((0,) * len(left.factors), self.sizes) - int(rest * parts)
            is_far = self._far(left, [whole * factor for factor in factors]) != apart
            if any(left.factors) or is_far or constant % whole or (constant and not any(factors)):
                return None
            constants.append(constant // whole)
        return tuple(constants)

    def _steps(self, name: str) -> isl.Map:
        """Return the first coordinate of a statement."""
        program = self.flow.program
        return placement_map(name, len(program.by_name[name].iterators), self.placement[name][:1], program.parameters)

    def _before(self, item: Flow) -> str:
        """Return the source of values from before a step.

        Inputs of an array that is written are read in the first step, and on borders: each side is a group.
        """
        array = item.reference.array
        if array in self.storage.buffers:
            return BEFORE  # of all steps, as further subscripts tell them apart
        written = any(other.write.array == array for other in self.flow.program.statements)
        return f"the input, {item.reference.text}" if item.source is None and written else BEFORE

    def _is_border(self, item: Flow) -> bool:
        """True for inputs in place of values that are computed in a step: they are in the same cells."""
        return (
            item.source is None
            and item.reference.array not in self.storage.buffers
            and any(
                other.reference is item.reference and other.source in self.placement and self._in_step(other)
                for other in self.flow.flows
            )
        )

    def _in_step(self, item: Flow) -> bool:
        """True if values flow within one value of the first coordinate."""
        if item.source is None:
            return False
        ends = self._steps(item.source), self._steps(item.sink)
        distances = item.relation.apply_domain(ends[0]).apply_range(ends[1]).deltas()
        return signs_of(distances) <= {(0,)}

    def _made(self, key: _Key, group: _Group, box: isl.Set) -> Cells | None:
        """Return the cells of a group, None if there are none."""
        array, source, (factors, lattice, _) = key
        share, fresh, elsewhere, made = 0.0, 0, 0, group.made
        if made:
            elements = union(group.elements)
            fresh = card(elements.subtract(union(group.loaded)) if group.loaded else elements).at({})
            every = card(elements).at({})
            share, elsewhere = fresh / max(1, every), every - fresh
        if share < LEAST_FRESH:
            share, fresh, elsewhere, made = 0.0, 0, 0, []
        places = union([*group.places, *(where for _, where in made)])
        if places.is_empty():
            return None
        constants = [*group.constants, *(values for values, _ in made)]
        ends = [(min(values), max(values)) for values in zip(*constants, strict=True)]
        where = (Region(()),) if box.is_equal(places) else regions(places)
        spread, least = tuple(high - low for low, high in ends), tuple(low for low, _ in ends)
        behind = frozenset() if fresh else self._behind(key, group)
        is_cut = any(part.constraints for part in where)
        several = any(spread) or any(sum(map(bool, row)) > 1 for row in factors)
        bounds = _bounds(group, lattice) if several and is_cut else ()
        own = tuple(high - low + 1 for low, high in ends_of(places)) if is_cut else ()
        result = Cells(array, factors, spread, fresh, share, where, least, source, lattice, behind, bounds, own)
        if own and result.fill_boxes:
            band = band_of(places, factors, ends, self.extents)  # has few values of a sum already
            ties = ties_of(places, result.loops, self.placement.values(), self.extents) if band is None else ()
            result = replace(result, band=band, ties=tuple(ties))
        if fresh:
            result = replace(result, inside=self._inside(group), elsewhere=elsewhere)
        return result

    def _inside(self, group: _Group) -> frozenset[int]:
        """Return the coordinates along which all values that a group computes and reads stay where they are."""
        result = frozenset(range(len(self.extents)))
        for item in group.own:
            places = [self._places(name) for name in (item.source or "", item.sink)]
            distances = at_sizes(item.relation.apply_domain(places[0]).apply_range(places[1]).deltas(), self.sizes)
            ends = ((at, (distances.dim_min_val(at), distances.dim_max_val(at))) for at in result)
            result -= frozenset(at for at, both in ends if not all(value.is_zero() for value in both))
        return result

    def _behind(self, key: _Key, group: _Group) -> frozenset[Factors]:
        """Return the factors of other groups that hold what is read here.

        Of a cell that such a group computes first, only values are read here that it has computed.
        """
        result = set()
        for other, made in self.groups.items():
            if other != key and other[:2] == key[:2] and made.made:
                fresh = union(made.elements).subtract(union(made.loaded)) if made.loaded else union(made.elements)
                read = zip(group.elements, group.sources, group.values, strict=True)
                common = [item for item in read if not item[0].intersect(fresh).is_empty()]
                if all(self._elsewhere(*item, made.written).intersect(fresh).is_empty() for item in common):
                    result.add(other[2][0])
        return frozenset(result)

    def _elsewhere(
        self, elements: isl.Set, source: str | None, values: isl.Set, written: Mapping[str, isl.Set]
    ) -> isl.Set:
        """Return those of ``elements`` of which a value of ``source`` is read that is not among those ``written``."""
        if source is None or source not in written:
            return elements
        relation = self.storage.relation(self.flow.program.by_name[source].write)
        if self.stepped:  # values of an earlier step are no values of this group
            relation = self._steps(source).flat_range_product(relation.reset_tuple_id(isl.dim_type.out))
        others = at_sizes(relation.intersect_domain(values.subtract(written[source])).range(), self.sizes)
        return elements.intersect(others)

    def _far(self, left: Row, weights: Sequence[int]) -> tuple[tuple[str, int], ...]:
        """Return the parameters in what is ``left`` of a subscript, none where they are little against its loops."""
        most = sum(abs(factor) * extent for factor, extent in zip(weights, self.extents, strict=True))
        shift = left.at((0,) * len(left.factors), self.sizes) - left.constant
        return left.parameters if abs(shift) > MOST_SHIFT * most else ()

    def _in_coordinates(self, name: str, own: Sequence[Row]) -> tuple[_Lines, tuple[int, ...]] | None:
        """Return functions of the iterators as (factors, constants) of the coordinates, parameters as numbers."""
        rows, factors, constants, lattice, apart = self.placement[name], [], [], [], []
        for row in own:
            shares = rational_solution(tuple(line.factors for line in rows), row.factors) if rows else ()
            if shares is None:
                return None
            # where a coordinate counts every second element, the subscript moves by half a step
            parts = lcm(*(share.denominator for share in shares))
            weights = tuple(int(share * parts) for share in shares)
            left = row.times(parts).plus(Row(weights).after(rows), -1) if rows else row
            constant = left.at((0,) * len(left.factors), self.sizes)
            apart.append(self._far(left, weights))
            # a coordinate with one value is a constant, and of every second element only half are held
            constant += sum(weights[at] * self.first[at] for at, extent in enumerate(self.extents) if extent == 1)
            weights = tuple(weight if extent > 1 else 0 for weight, extent in zip(weights, self.extents, strict=True))
            step = gcd(*weights) or parts
            constant, rest = divmod(constant, step) if any(weights) else (0, constant)  # nothing moves it: others apart
            factors.append(tuple(weight // step for weight in weights))
            constants.append(constant)
            lattice.append((Fraction(step, parts), Fraction(rest, parts)))
        if self.stepped:
            factors.insert(0, (1, *(0,) * (len(rows) - 1)))
            constants.insert(0, 0)
            lattice.insert(0, (Fraction(1), Fraction(0)))
            apart.insert(0, ())
        return (tuple(factors), tuple(lattice), tuple(apart)), tuple(constants)


def _bounds(group: _Group, lattice: Lattice) -> tuple[tuple[int, int], ...]:
    """Return the least and the largest value of every subscript on its lattice; nothing where they are not known."""
    if len(group.elements) < len(group.places) or not (ends := ends_of(union(group.elements))):
        return ()
    return tuple(
        (-((rest - low) // step), (high - rest) // step)
        for (low, high), (step, rest) in zip(ends, lattice, strict=True)
    )
