"""Loops that another loop passes: what it has passed is executed as if it came after all the rest.

With ``A[i][j] = f(A[i][j], A[i][k], A[k][j])`` for all i, j and k, outermost, every step reads a row and a column that
the one before has written anywhere: no box of it keeps the order. Placed at i + n where i < k, for the n iterations of
i, and so with j, every step begins at the row and the column that it reads, and all three loops may be cut. Elements
are numbered as their instances are placed. Instances where i = k or j = k write into arrays of their own, as others
read the value before or after; so does the next step, which takes over from there into the other numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import islpy as isl

from shorthaul.affine.integer_sets.dependences import DataFlow, Flow
from shorthaul.affine.integer_sets.subspaces import integer_solution
from shorthaul.affine.model import Array, Reference, Statement
from shorthaul.affine.orders.borders.held import BorderedStep
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep
from shorthaul.affine.orders.panel_policy import PanelStep
from shorthaul.affine.orders.placement import (
    Row,
    affine_row,
    function_rows,
    zeros_of,
)
from shorthaul.affine.orders.splitting import Piece, Split
from shorthaul.affine.orders.tile_steps import AtSizes, Step
from shorthaul.affine.orders.turns import TurnsStep
from shorthaul.affine.tuning import LEAST_LARGE

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True)
class PassedStep(AtSizes):
    """A phase with statements in pieces, in boxes one set after the other.

    ``instead`` is the best order known without pieces; where there are ``ranges``, these are of one loop.
    """

    boxes: tuple[BoxStep, ...]
    parts: Split
    instead: Step | PanelStep | TurnsStep | BoxStep | WholeStep | BorderedStep
    ranges: bool = False

    @property
    def rate(self) -> float:
        """The loads at its sizes."""
        return sum(item.rate for item in self.boxes)

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:
        """Return the loads at the sizes for which the boxes were searched."""
        return sum(item.loads(sizes, capacity) for item in self.boxes)

    def loads_bytes(
        self,
        sizes: Mapping[str, int],
        capacity: int,
        widths: Mapping[str, int],  # noqa: ARG002
    ) -> float:
        """Return the bytes at the sizes for which the boxes were searched."""
        arrays = self.parts.flow.program.arrays
        own = {name: item.element_bytes for name, item in arrays.items()}
        return sum(item.loads_bytes(sizes, capacity, own) for item in self.boxes)


@dataclass(frozen=True)
class Part:
    """One piece of a statement: its instances, the array that it writes, and by how much subscripts there are larger.

    ``late`` are the loops in which it is behind, ``dropped`` the subscripts of an own array that follow from others.
    Where values are ``numbered``, those of an own array are the iterators: every instance has an element.
    """

    name: str
    domain: isl.Set
    late: frozenset[int]
    array: str
    moved: tuple[Row, ...] | None = None
    dropped: tuple[int, ...] = ()
    numbered: bool = False


def nests_of(statements: Sequence[Statement]) -> list[list[Statement]]:
    """Return the statements of each body of a nest: nothing is between those of one iteration."""
    found: dict[Hashable, list[Statement]] = {}
    for item in statements:
        rows = function_rows(item.schedule)
        found.setdefault(item.name if rows is None else (len(item.iterators), rows[:-1]), []).append(item)
    return list(found.values())


def temporaries(flow: DataFlow) -> frozenset[str]:
    """Return the arrays of which every value is read in the iteration that computes it, and no input.

    Orders of iterations need not keep apart what these hold one after the other.
    """
    program = flow.program
    number = {item.name: at for at, nest in enumerate(nests_of(program.statements)) for item in nest}
    result = {item.write.array for item in program.statements} - flow.inputs.keys()
    for item in flow.flows:
        here = item.source is not None and number[item.source] == number[item.sink]
        if not here or not _is_identity(item.relation):
            result.discard(item.reference.array)
    return frozenset(result)


def _is_identity(relation: isl.Map) -> bool:
    same = relation.reset_tuple_id(_IN).reset_tuple_id(_OUT)
    return bool(same.is_subset(isl.Map.identity(same.get_space())))


def in_parts(flow: DataFlow, parts: Mapping[str, Sequence[Part]], pieces: Mapping[str, Piece]) -> Split | None:
    """Return a data flow with the ``parts`` of every statement in its place; None if elements were mixed up."""
    program = flow.program
    arrays = dict(program.arrays)
    for item in program.statements:
        for part in parts[item.name]:
            own = program.arrays[item.write.array]
            width = len(item.iterators) if part.numbered else own.dimensions - len(part.dropped)
            arrays.setdefault(part.array, Array(part.array, width, (), own.element_bytes))
    flows = [
        replace(item, source=first.name if first else None, sink=second.name, relation=relation)
        for item in flow.flows
        for first in (parts[item.source] if item.source is not None else [None])
        for second in parts[item.sink]
        for relation in [_between(item.relation, first, second)]
        if not relation.is_empty()
    ]
    by_name = {part.name: part for found in parts.values() for part in found}
    statements = [_statement(item, part, by_name, flows) for item in program.statements for part in parts[item.name]]
    if not _are_apart(statements, by_name, flow.inputs):
        return None
    for read in (read for item in statements for read in item.reads if read.array not in arrays):
        arrays[read.array] = replace(arrays[read.array.split(" behind ")[0]], name=read.array)
    return Split(
        DataFlow(replace(program, statements=tuple(statements), arrays=arrays), tuple(flows), flow.inputs), pieces
    )


def _are_apart(statements: Sequence[Statement], parts: Mapping[str, Part], inputs: Mapping[str, isl.Set]) -> bool:
    """True if no element has two numbers: what is numbered by different shifts of subscripts has no number in common.

    Then all with one shift is as in the program's memory, and reads find what they did.
    """
    found: dict[str, dict[tuple[object, ...], isl.Set]] = {}
    numbered = [(item.write.array, parts[item.name].moved, item.write.relation.range()) for item in statements]
    for array, moved, elements in [*((name, None, item) for name, item in inputs.items()), *numbered]:
        key = tuple((row.parameters, row.constant) for row in moved or ())
        key = key if any(any(item) for item in key) else ()
        known = found.setdefault(array, {})
        known[key] = known[key].union(elements) if key in known else elements
    return all(a.intersect(b).is_empty() for known in found.values() for a, b in combinations(known.values(), 2))


def length(statement: Statement, at: int) -> Row | None:
    """Return the iterations of a loop as a function of large parameters, None if they are none."""
    ends, domain = [], statement.domain
    for parameter in range(domain.dim(isl.dim_type.param)):
        domain = domain.lower_bound_val(isl.dim_type.param, parameter, isl.Val(LEAST_LARGE))
    for end in (domain.dim_max(at), domain.dim_min(at)):
        pieces: list[isl.Aff] = []
        end.foreach_piece(lambda _, value, out=pieces: out.append(value))
        row = affine_row(pieces[0]) if len(pieces) == 1 else None
        if row is None:
            return None
        ends.append(Row((), row.parameters, row.constant))
    return ends[0].plus(ends[1], -1).plus(Row((), (), 1))


def following(rows: Sequence[Row], domain: isl.Set) -> tuple[int, ...]:
    """Return the places of ``rows`` that follow from those before on the whole of ``domain``."""
    known, result = [row.factors for row in zeros_of(domain)], []
    for at, row in enumerate(rows):
        if integer_solution(tuple(known), row.factors) is None:
            known.append(row.factors)
        else:
            result.append(at)
    return tuple(result)


def instances_where(statement: Statement, where: Sequence[tuple[Row, str]]) -> isl.Set:
    """Return the instances of a statement where rows are 0, above or below."""
    return statement.domain.intersect(Piece(statement.name, tuple(where)).instances(len(statement.iterators)))


def _between(relation: isl.Map, first: Part | None, second: Part) -> isl.Map:
    if first is not None:
        relation = relation.set_tuple_name(_IN, first.name).intersect_domain(first.domain)
    return relation.set_tuple_name(_OUT, second.name).intersect_range(second.domain).coalesce()


def _statement(item: Statement, part: Part, parts: Mapping[str, Part], flows: list[Flow]) -> Statement:
    """Return a piece as a statement that reads every value where its piece has written it; updates its ``flows``."""
    reads: dict[tuple[str, str | None], Reference] = {}
    mine = [at for at, one in enumerate(flows) if one.sink == part.name]
    for at in mine:
        one = flows[at]
        source = None if one.source is None else parts[one.source]
        key = one.reference.tag, one.source
        found = one.reference.relation.set_tuple_name(_IN, part.name).intersect_domain(one.relation.range())
        tag = f"{part.name}.{one.reference.tag}.{len(reads)}"
        made = replace(one.reference, tag=tag, relation=found)
        reads[key] = _input_of(made, part) if source is None else _renamed(made, source, one.relation.reverse())
        flows[at] = replace(one, reference=reads[key])
    relation = item.write.relation.set_tuple_name(_IN, part.name).intersect_domain(part.domain)
    same = isl.Map.identity(part.domain.get_space().map_from_set()).intersect_domain(part.domain)
    write = _renamed(replace(item.write, tag=f"{part.name}.{item.write.tag}", relation=relation), part, same)
    schedule = item.schedule.set_tuple_name(_IN, part.name).intersect_domain(part.domain)
    return replace(
        item, name=part.name, domain=part.domain, schedule=schedule, reads=tuple(reads.values()), write=write
    )


def _input_of(reference: Reference, part: Part) -> Reference:
    """Return a reference to an input: what is read late counts apart, as if it were another array."""
    name = reference.array + "".join(f" behind {at}" for at in sorted(part.late))
    return replace(reference, array=name, relation=reference.relation.set_tuple_name(_OUT, name))


def _renamed(reference: Reference, source: Part, instances: isl.Map) -> Reference:
    """Return a reference to what ``instances`` of ``source`` have written."""
    relation = (instances if source.numbered else reference.relation).set_tuple_name(_OUT, source.array)
    for at in reversed(source.dropped):
        relation = relation.project_out(_OUT, at, 1).set_tuple_name(_OUT, source.array)
    if source.moved:
        rows = [Row((), row.parameters, row.constant) for row in source.moved]
        names = [f"a{at}" for at in range(len(rows))]
        texts = [f"{name} + {row.text(())}" for name, row in zip(names, rows, strict=True)]
        parameters = sorted({name for row in rows for name, _ in row.parameters})
        ends = f"{{ [{', '.join(names)}] -> [{', '.join(texts)}] }}"
        later = isl.Map(f"[{', '.join(parameters)}] -> {ends}")
        relation = relation.apply_range(later.set_tuple_name(_IN, source.array).set_tuple_name(_OUT, source.array))
    return replace(reference, array=source.array, relation=relation)
