"""Room for several values of one array element at a time, where an order needs it.

The values that a program computes in one place of memory, one after the other, may be alive together in another order.
An expanded array has further subscripts in front: the first p loops around the write and, where no read takes values
from two writes, a number before them; p may be 0. A read takes those of the write that its value comes from. Inputs may
have places of their own there, those that follow where reads of the same text take what was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import prod

import islpy as isl

from shorthaul.affine.integer_sets.dependences import Access, DataFlow
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.model import Program, Reference, Statement
from shorthaul.affine.orders.placement import Read, Row, affine_row, function_rows, placement_map

_OUT, _SET = isl.dim_type.out, isl.dim_type.set


@dataclass(frozen=True)
class Buffer:
    """An array with the first ``depth`` loops as further subscripts: those of every reference, by its tag.

    ``elements`` are the further subscripts with the element, over all writes. Subscripts of the array that are
    ``told`` by these, as t % 2 by t, are left out.
    """

    array: str
    depth: int
    subscripts: Mapping[str, isl.Map]
    elements: isl.Set
    told: tuple[int, ...] = ()

    @property
    def key(self) -> int:
        """What tells it from other buffers of the array."""
        return 2 * self.depth + (self.width > self.depth)

    @property
    def width(self) -> int:
        """How many further subscripts there are."""
        return next(int(item.dim(_OUT)) for item in self.subscripts.values())


@dataclass(frozen=True)
class Storage:
    """Which arrays are expanded, by name.

    ``with_inputs``: also those of which some values are inputs; ``numbered``: with a number for unrelated writes, and
    for inputs that are read as such alone. This number comes before another loop is one of the subscripts. ``sheared``
    gives other names to elements.
    """

    flow: DataFlow
    buffers: Mapping[str, Buffer] = field(default_factory=dict)
    with_inputs: bool = False
    numbered: bool = False
    sheared: Mapping[str, isl.Map] = field(default_factory=dict)

    def relation(self, reference: Reference) -> isl.Map:
        """Return the elements that a reference accesses, with the further subscripts of buffers in front."""
        buffer, result = self.buffers.get(reference.array), reference.relation.reset_tuple_id(_OUT)
        if buffer is not None:
            result = buffer.subscripts[reference.tag].flat_range_product(result)
            for at in reversed(buffer.told):
                result = result.project_out(_OUT, buffer.width + at, 1)
        other = self.sheared.get(reference.array)
        if other is not None:
            return result.apply_range(other)
        return reference.relation if buffer is None else result

    def rows(self, read: Read) -> tuple[Row, ...] | None:
        """Return affine functions that tell the values of a read: the instances that compute them, or their elements.

        Elements do where each has one of these values, as those of blocks whose number divides what is read.
        """
        if read.rows is not None or read.source is None:
            return read.rows
        written = self.relation(self.flow.program.by_name[read.source].write).intersect_domain(read.function.range())
        elements = read.function.apply_range(written)
        for item in self.flow.program.by_name[read.sink].reads if written.is_injective() else ():
            relation = self.relation(item)
            if item.array == read.array and relation.intersect_domain(read.domain).is_equal(elements):
                return function_rows(relation)
        return None

    def accesses(self) -> tuple[Access, ...]:
        """Return all accesses of the program, to elements of buffers where there are any."""
        result = []
        for statement in self.flow.program.statements:
            for item in (*statement.reads, statement.write):
                key = item.tag, self.buffers[item.array].key if item.array in self.buffers else 0
                result.append(Access(statement.name, item.array, self.relation(item), item is statement.write, key))
        return tuple(result)

    def deeper(self, array: str) -> Storage | None:
        """Return the storage with one more subscript in front of ``array``; None if that is not possible."""
        known = self.buffers.get(array)
        key = 1 if known is None else known.key + 1
        found = (_buffer(self.flow, array, item // 2, replace(self, numbered=item % 2 == 1)) for item in (key, key + 1))
        made = next((item for item in found if item is not None and item.key >= key), None)
        return None if made is None else replace(self, buffers={**self.buffers, array: made})

    def affine(self) -> Storage:
        """Return the storage with subscripts that are no affine functions, as t % 2, told by further ones.

        Arrays of which some are not told so stay as they are.
        """
        storage = self
        for array in self.flow.program.arrays:
            made: Storage | None = self
            while made is not None and made.is_divided(array):
                made = made.deeper(array)
            if made is not None and array in made.buffers:
                storage = replace(storage, buffers={**storage.buffers, array: made.buffers[array]})
        return storage

    def is_divided(self, array: str) -> bool:
        """True if some subscripts of ``array`` are no affine functions."""
        return any(_is_divided(self.relation(item)) for item in _uses(self.flow.program, array))

    def expanded(self, arrays: Iterable[str], sizes: Mapping[str, int]) -> Storage | None:
        """Return the storage with one more subscript for each of ``arrays``; None if one cannot have it."""
        storage = self
        for array in sorted(arrays):
            larger = storage.deeper(array)
            if larger is None or not (self.with_inputs or larger.fits(array, sizes)):
                return None
            storage = larger
        return storage

    def fits(self, array: str, sizes: Mapping[str, int]) -> bool:
        """True if the buffer of ``array`` is no larger than all arrays together at ``sizes``, and C can declare it."""
        program = self.flow.program
        declared = program.code.declarations.get(array, "")
        if "*" in declared or "[]" in declared:  # its extents are not known
            return False
        return _box(self.buffers[array].elements, sizes) <= sum(
            _box(elements, sizes) for elements in touched(program).values()
        )


def _buffer(flow: DataFlow, array: str, depth: int, storage: Storage) -> Buffer | None:
    program = flow.program
    writers = [item for item in program.statements if item.write.array == array]
    if depth > max((len(item.iterators) for item in writers), default=0):
        return None
    numbers = _unrelated(flow, array, [item.name for item in writers])
    apart = {
        read.tag
        for statement in program.statements
        for read in statement.reads
        if read.array == array and all(item.source is None for item in flow.flows if item.reference is read)
    }  # reads of inputs alone: these have a number, too
    several = storage.numbered and len({*numbers.values()}) + (storage.with_inputs and bool(apart)) > 1
    if not depth and not several:
        return None
    subscripts = {
        item.write.tag: _first_loops(item, depth, [numbers[item.name]] if several else []) for item in writers
    }
    reads: list[tuple[Reference, isl.Set, Statement]] = []  #: of inputs
    for statement in program.statements:
        for read in (item for item in statement.reads if item.array == array):
            if several and storage.with_inputs and read.tag in apart:
                subscripts[read.tag] = _first_loops(statement, 0, [len(writers), *(0,) * depth])
                continue
            found = _of_sources(flow, read, subscripts)
            if found is None:
                return None
            subscripts[read.tag] = found
            early = _where_input(flow, read)
            if early is not None:
                reads.append((read, early, statement))
    if not _one_by_text(program, array, subscripts):
        return None
    parts = [
        subscripts[item.write.tag].flat_range_product(item.write.relation.reset_tuple_id(_OUT)).range()
        for item in writers
    ]
    elements = parts[0]
    for part in parts[1:]:
        elements = elements.union(part)
    for read, early, statement in reads:  # without loops, writes before are writes of the element, which has its input
        own = read.relation.intersect_domain(early).reset_tuple_id(_OUT)
        options = _extended(subscripts[read.tag], early, statement) if storage.with_inputs else iter(())
        made = next((item for item in options if not depth or _is_apart(item.flat_range_product(own), elements)), None)
        if made is None:
            return None
        subscripts[read.tag] = made
    made = Buffer(array, depth, subscripts, elements.coalesce())
    return replace(made, told=_told(program, made)) if storage.with_inputs else made  # emitted C has them all


def _told(program: Program, buffer: Buffer) -> tuple[int, ...]:
    """Return the subscripts of the array that follow from the further ones, but are no affine functions of these."""
    uses, result = _uses(program, buffer.array), []
    for at in range(uses[0].relation.dim(_OUT)):
        if not any(_is_divided(_only(item.relation, at)) for item in uses):
            continue
        pairs = [buffer.subscripts[item.tag].reverse().apply_range(_only(item.relation, at)) for item in uses]
        if reduce(isl.Map.union, pairs).is_single_valued():
            result.append(at)
    return tuple(result)


def _uses(program: Program, array: str) -> list[Reference]:
    every = (item for statement in program.statements for item in (*statement.reads, statement.write))
    return [item for item in every if item.array == array]


def _is_divided(relation: isl.Map) -> bool:
    """True if some values, as t % 2, are no affine functions, nor these by parts."""
    pieces: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(relation).coalesce().foreach_piece(lambda _, value: pieces.append(value))
    return any(affine_row(item.get_aff(at)) is None for item in pieces for at in range(item.dim(_OUT)))


def _only(relation: isl.Map, at: int) -> isl.Map:
    """Return one subscript of an access."""
    count = relation.dim(_OUT)
    return relation.reset_tuple_id(_OUT).project_out(_OUT, at + 1, count - at - 1).project_out(_OUT, 0, at)


def _is_apart(places: isl.Map, elements: isl.Set) -> bool:
    return bool(places.range().intersect(elements).is_empty())


def _one_by_text(program: Program, array: str, subscripts: dict[str, isl.Map]) -> bool:
    """Give reads with one text, each of some instances, the subscripts of all; False where these differ."""
    for statement in program.statements:
        reads = [item for item in statement.reads if item.array == array]
        for text in {item.text for item in reads}:
            mine = [item.tag for item in reads if item.text == text]
            whole = reduce(isl.Map.union, (subscripts[tag] for tag in mine)).coalesce()
            if not whole.is_single_valued():
                return False
            subscripts.update(dict.fromkeys(mine, whole))
    return True


def _where_input(flow: DataFlow, read: Reference) -> isl.Set | None:
    """Return the instances that read inputs, None if there are none."""
    parts = [item.relation.range() for item in flow.flows if item.reference is read and item.source is None]
    return reduce(isl.Set.union, parts) if parts else None


def _extended(found: isl.Map, early: isl.Set, statement: Statement) -> Iterator[isl.Map]:
    """Yield ``found`` with a value for instances that read inputs too: each of its functions goes on there."""
    parameters = tuple(found.get_var_names(isl.dim_type.param))
    for part in found.get_basic_maps():
        rows = function_rows(isl.Map.from_basic_map(part))
        if rows is not None:
            places = placement_map(statement.name, len(statement.iterators), rows, parameters)
            yield found.union(places.intersect_domain(early)).coalesce()


def _of_sources(flow: DataFlow, read: Reference, subscripts: Mapping[str, isl.Map]) -> isl.Map | None:
    """Return the further subscripts of what is read, None if no write is."""
    result: isl.Map | None = None
    for item in flow.flows:
        if item.reference is not read or item.source is None:
            continue
        found = item.relation.reverse().apply_range(subscripts[flow.program.by_name[item.source].write.tag])
        result = found if result is None else result.union(found)
    return None if result is None or not result.is_single_valued() else result.coalesce()


def _unrelated(flow: DataFlow, array: str, writers: Sequence[str]) -> dict[str, int]:
    """Return a number for every writer: of those with different ones no read takes values from both."""
    result = {name: at for at, name in enumerate(writers)}
    sources: dict[str, set[str]] = {}
    for item in flow.flows:
        if item.reference.array == array and item.source is not None:
            sources.setdefault(item.reference.tag, set()).add(item.source)
    for both in sources.values():
        least = min(result[name] for name in both)
        joined = {result[name] for name in both}
        result = {name: least if number in joined else number for name, number in result.items()}
    return {name: sorted({*result.values()}).index(number) for name, number in result.items()}


def _first_loops(statement: Statement, depth: int, first: Sequence[int]) -> isl.Map:
    names = [f"v{at}" for at in range(len(statement.iterators))]
    values = [*map(str, first), *names[:depth], *("0",) * (depth - len(names))]
    text = f"{{ {statement.name}[{', '.join(names)}] -> [{', '.join(values)}] }}"
    return isl.Map(text).intersect_domain(statement.domain)


def last_values(program: Program, buffer: Buffer) -> isl.Map:
    """Return for every element of the array the further subscripts of the value it has at the end."""
    writers = [item for item in program.statements if item.write.array == buffer.array]
    writes = isl.UnionMap.from_map(writers[0].write.relation.reverse())
    where = isl.UnionMap.from_map(buffer.subscripts[writers[0].write.tag])
    for item in writers[1:]:
        writes = writes.union(isl.UnionMap.from_map(item.write.relation.reverse()))
        where = where.union(isl.UnionMap.from_map(buffer.subscripts[item.write.tag]))
    schedule = program.schedule()
    last = writes.apply_range(schedule).lexmax().apply_range(schedule.reverse())
    return isl.Map.from_union_map(last.intersect(writes).apply_range(where)).coalesce()


def touched(program: Program) -> dict[str, isl.Set]:
    """Return the elements that a program reads and writes, by array."""
    result: dict[str, isl.Set] = {}
    for statement in program.statements:
        for item in (*statement.reads, statement.write):
            elements = item.relation.range()
            result[item.array] = elements if item.array not in result else result[item.array].union(elements)
    return result


def _box(elements: isl.Set, sizes: Mapping[str, int]) -> int:
    """Return the elements of the smallest box around a set at ``sizes``."""
    here = at_sizes(elements, sizes)
    if here.is_empty():
        return 0
    return prod(here.dim_max_val(at).to_python() - here.dim_min_val(at).to_python() + 1 for at in range(here.dim(_SET)))
