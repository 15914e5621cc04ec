"""Other names for the vertices of a graph, which do not change it: what arguments see does not depend on how loops run.

*Coordinates.* The coordinates of a statement become the subscripts of its accesses, as far as these are independent,
so that a loop that is skewed or counts from the other end is the plain one. A coordinate that is no subscript, as that
of time steps, grows as the program runs.

*Statements.* Statements that write one array and read the same elements, seen from their coordinates, become one if
their instances differ: those of an unrolled loop, and those of the parts of a split one. A coordinate of which only
every second value occurs, and which is no subscript, is moved by one where that helps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl
import sympy

from shorthaul.affine.bounds.partition.paths import affine_of
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow, Flow
from shorthaul.affine.integer_sets.subspaces import span, unit
from shorthaul.affine.model import Reference, Statement

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set

Row = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Names:
    """New names of a statement's instances: ``place`` maps the old ones to them.

    ``free`` are coordinates that are no subscripts; ``plain`` tells that only loops were exchanged or moved.
    """

    place: isl.Map
    free: tuple[int, ...]
    plain: bool


def renamed(flow: DataFlow) -> tuple[DataFlow, dict[str, isl.Map]] | None:
    """Return the graph with other names, and these by statement; None where that changes nothing that matters."""
    statements = flow.program.statements
    tags = {item.name: {read.tag for read in item.reads} for item in statements}
    if any(item.reference.tag not in tags[item.sink] for item in flow.flows):
        return None  # sums in any order have reads that no statement has
    names = {item.name: _names(item) for item in statements}
    places = {name: item.place for name, item in names.items()}
    groups = [(with_places(item, places[item.name]), [item.name]) for item in statements]
    while (found := _first_joined(groups, names)) is not None:
        at, other, move, whole = found
        members = groups.pop(other)[1]
        for name in members:
            places[name] = places[name].apply_range(move).set_tuple_name(_OUT, whole.name)
        groups[at] = (whole, [*groups[at][1], *members])
    if len(groups) == len(statements) and all(item.plain for item in names.values()):
        return None
    belongs = {name: whole for whole, members in groups for name in members}
    flows: dict[tuple[str | None, str, str], Flow] = {}
    for item in flow.flows:
        source = None if item.source is None else belongs[item.source].name
        sink = belongs[item.sink]
        at = [read.tag for read in flow.program.by_name[item.sink].reads].index(item.reference.tag)
        relation = item.relation.apply_range(places[item.sink])
        if item.source is not None:
            relation = relation.apply_domain(places[item.source])
        key = source, sink.name, sink.reads[at].tag
        known = flows.get(key)
        whole = relation if known is None else _hull(known.relation.union(relation))[0]
        flows[key] = Flow(source, sink.name, sink.reads[at], whole.coalesce())
    program = replace(flow.program, statements=tuple(whole for whole, _ in groups))
    return DataFlow(program, tuple(flows.values()), flow.inputs), places


# -- coordinates


def _names(statement: Statement) -> _Names:
    """Return coordinates made of the subscripts of a statement and, where these are too few, of its loops."""
    width = statement.domain.dim(_SET)
    forms = [item[1:] for access in (statement.write, *statement.reads) for item in subscripts(access)]
    chosen: list[tuple[Row, isl.Aff]] = []
    for row, form in sorted(forms, key=lambda item: sum(map(bool, item[0]))):
        if _is_completed([*(known for known, _ in chosen), row]):
            chosen.append((row, form))
    own = len(chosen)
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    for at, row in enumerate(unit(width)):
        if _is_completed([*(known for known, _ in chosen), row]):
            form = isl.Aff.var_on_domain(space, _SET, at)
            chosen.append((row, form if _grows(statement, at) else form.neg()))
    order = _order([row for row, _ in chosen])
    listed = [chosen[at][1] for at in order]
    place = place_of(statement.domain.get_space(), listed)
    signs = all(form.get_coefficient_val(_IN, at).to_python() > 0 for at, form in enumerate(listed))
    free = tuple(at for at, number in enumerate(order) if number >= own)
    return _Names(place, free, signs and all(sum(map(abs, row)) == 1 for row, _ in chosen))


def subscripts(access: Reference) -> Iterator[tuple[int, Row, isl.Aff]]:
    """Yield the subscripts of an access that are not constant: their place, their coefficients, and themselves."""
    pieces = list(_pieces(access.relation))
    known = affine_of(pieces[0]) if len(pieces) == 1 else None
    for at, row in enumerate(known[0] if known is not None else ()):
        if any(row):
            yield at, row, pieces[0].get_aff(at)


def place_of(space: isl.Space, forms: Sequence[isl.Aff]) -> isl.Map:
    """Return the map from a space to one of its name in which ``forms`` are the coordinates."""
    values = isl.AffList.alloc(isl.DEFAULT_CONTEXT, len(forms))
    for form in forms:
        values = values.add(form)
    target = space.map_from_set().add_dims(_OUT, len(forms) - space.dim(_SET))
    return isl.Map.from_multi_aff(isl.MultiAff.from_aff_list(target, values)).set_tuple_name(
        _OUT, space.get_tuple_name(_SET)
    )


def _is_completed(rows: Sequence[Row]) -> bool:
    """True if single coordinates complete rows of integers to a matrix of determinant 1 or -1."""
    if len(span(rows)) < len(rows):
        return False
    columns = itertools.combinations(range(len(rows[0])), len(rows))
    return any(abs(sympy.Matrix(rows).extract(range(len(rows)), list(some)).det()) == 1 for some in columns)


def _grows(statement: Statement, at: int) -> bool:
    """True if the program runs through a coordinate upwards."""
    schedule = isl.PwMultiAff.from_map(statement.schedule)
    pieces: list[isl.MultiAff] = []
    schedule.foreach_piece(lambda _, value: pieces.append(value))
    time = statement.times[at]
    return all(value.get_aff(time).get_coefficient_val(_IN, at).to_python() >= 0 for value in pieces)


def _order(rows: Sequence[Row]) -> list[int]:
    """Return the rows' numbers so that each stands, where possible, at the place of its innermost loop."""
    places: dict[int, int] = {}
    for number, row in enumerate(rows):
        wanted = [at for at in reversed(range(len(row))) if row[at] and at not in places]
        left = wanted or [at for at in range(len(row)) if at not in places]
        places[left[0]] = number
    return [places[at] for at in range(len(rows))]


def with_places(statement: Statement, place: isl.Map) -> Statement:
    """Return a statement with other names of its instances."""
    return replace(
        statement,
        domain=statement.domain.apply(place).coalesce(),
        schedule=statement.schedule.apply_domain(place),
        reads=tuple(_accessed(item, place) for item in statement.reads),
        write=_accessed(statement.write, place),
    )


def _accessed(reference: Reference, place: isl.Map) -> Reference:
    return replace(reference, relation=reference.relation.apply_domain(place).coalesce())


# -- statements


def _first_joined(
    groups: Sequence[tuple[Statement, list[str]]], names: Mapping[str, _Names]
) -> tuple[int, int, isl.Map, Statement] | None:
    """Return the numbers of two statements that become one, how the second one is moved, and the one."""
    for (at, (together, _)), (other, (own, members)) in itertools.combinations(enumerate(groups), 2):
        found = _joined(together, own, names[members[0]].free)
        if found is not None:
            return at, other, *found
    return None


def _joined(together: Statement, own: Statement, free: Sequence[int]) -> tuple[isl.Map, Statement] | None:
    """Return the two statements as one, and how instances of the second are moved for that; None if they differ."""
    arrays = [item.array for item in (together.write, *together.reads)]
    width = own.domain.dim(_SET)
    if width != together.domain.dim(_SET) or arrays != [item.array for item in (own.write, *own.reads)] or not width:
        return None
    if not own.operations:
        return None
    for shift in _shifts(own.domain, free):
        step()
        move = _translation(own.domain, shift)
        other = with_places(own, move.set_tuple_name(_OUT, together.name))
        if not together.domain.intersect(other.domain).is_empty():
            continue
        domain, is_one = _hull(together.domain.union(other.domain))
        accesses = [
            _hull(one.relation.union(two.relation))
            for one, two in zip((together.write, *together.reads), (other.write, *other.reads), strict=True)
        ]
        if is_one and all(fits and len(list(_pieces(relation))) == 1 for relation, fits in accesses):
            write, *reads = (
                replace(item, relation=relation)
                for item, (relation, _) in zip((together.write, *together.reads), accesses, strict=True)
            )
            schedule = together.schedule.union(other.schedule).coalesce()
            return move, replace(together, domain=domain, schedule=schedule, write=write, reads=tuple(reads))
    return None


def _shifts(domain: isl.Set, free: Sequence[int]) -> Iterator[Row]:
    """Yield no move, and moves along coordinates that are no subscripts and do not take every value."""
    strides = [domain.get_stride(at).to_python() if at in free else 1 for at in range(domain.dim(_SET))]
    yield from itertools.islice(itertools.product(*(range(max(1, item)) for item in strides)), 16)


def _translation(domain: isl.Set, shift: Row) -> isl.Map:
    names = [f"x{at}" for at in range(len(shift))]
    values = [f"{name} + {by}" for name, by in zip(names, shift, strict=True)]
    name = domain.get_tuple_name()
    return isl.Map(f"{{ {name}[{', '.join(names)}] -> {name}[{', '.join(values)}] }}")


def _pieces(relation: isl.Map) -> Iterator[isl.MultiAff]:
    pieces: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(relation).coalesce().foreach_piece(lambda _, value: pieces.append(value))
    yield from pieces


def _hull(points: isl.Set | isl.Map) -> tuple[isl.Set | isl.Map, bool]:
    """Return a set or relation as one piece where it is one, and whether it is."""
    points = points.coalesce()
    kind = isl.Set.from_basic_set if isinstance(points, isl.Set) else isl.Map.from_basic_map
    hull = kind(points.unshifted_simple_hull()).remove_divs().intersect(kind(points.affine_hull()))
    return (hull, True) if hull.is_subset(points) else (points, False)
