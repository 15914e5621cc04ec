"""The graphs on which a bound argues: the program's own, one of its equal copies, and each with copied values as one.

*Copies.* Where a coordinate of every statement takes the same values everywhere and no flow changes it, and no input
is read with two of its values, the graph falls into copies without common vertices.

*Copied values.* Every vertex that only copies one value is one vertex with what it copies.

*Names.* These do not change a graph, but what arguments see (``names``).

``Lemma (places)`` says why a bound on the loads beyond the first ones of inputs holds for the program too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import islpy as isl
import sympy

from shorthaul.affine.bounds.graph_certificate import Step, in_slices, placed
from shorthaul.affine.bounds.names import renamed
from shorthaul.affine.bounds.partition.parts import union_of_maps
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.counting import card, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow, Flow
from shorthaul.affine.model import Reference, Statement
from shorthaul.affine.proofs.lemmas import PLACES, Lemma
from shorthaul.affine.tuning import CHEAP_STEP, GRAPH_OPERATIONS

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Graph:
    """A data flow that stands for that of a program: its bound counts ``times``; ``notes`` and ``lemmas`` say why.

    ``only_waits``: only arguments on what waits at one event hold for it. ``derived`` says how it is made, step by
    step, as a certificate holds it.
    """

    flow: DataFlow
    times: sympy.Expr = sympy.Integer(1)
    notes: tuple[str, ...] = ()
    lemmas: tuple[Lemma, ...] = ()
    only_waits: bool = False
    derived: tuple[Step, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True for the program's own graph."""
        return not self.notes


def graphs(first: Graph) -> Iterator[Graph]:
    """Yield the graph given, one of its copies, this without copied values and with other names, if these differ."""
    flow = first.flow
    last = first
    yield last
    with suppress(isl.Error), limited(GRAPH_OPERATIONS):
        last = _one_copy(last)
    if last.flow is not flow:
        yield last
    merged = None
    with suppress(isl.Error), limited(GRAPH_OPERATIONS):
        merged = without_copied_values(last.flow)
    if merged is not None:
        names = ", ".join(item.name for item in flow.program.statements if item.name in merged[1])
        note = (
            f"{names}: every vertex copies one value and is one vertex with it. A value is in fast memory while it or "
            "a copy is, and gets there by a load of one of them: no more loads than in the program."
        )
        derived = (*last.derived, placed(last.flow, merged[1], copies=merged[1].keys()))
        last = replace(last, flow=merged[0], notes=(*last.notes, note), derived=derived, lemmas=_with_places(last))
        yield last
    other = None
    with suppress(isl.Error), limited(GRAPH_OPERATIONS):
        other = renamed(last.flow)
    if other is not None:
        made, places = other
        listed = "; ".join(str(item).split("{ ")[-1].removesuffix(" }") for item in places.values())
        note = f"The vertices have other names, which does not change the graph: {listed}."
        relations = {name: isl.UnionMap.from_map(item) for name, item in places.items()}
        derived = (*last.derived, placed(last.flow, relations))
        yield replace(last, flow=made, notes=(*last.notes, note), derived=derived, lemmas=_with_places(last))


def _with_places(graph: Graph) -> tuple[Lemma, ...]:
    """Return the lemmas of a graph and of one made of it."""
    return tuple(dict.fromkeys([*graph.lemmas, PLACES]))


# -- copies


def _one_copy(graph: Graph) -> Graph:
    """Return one of the equal copies into which the graph falls, taken apart as often as possible."""
    flow, times, notes, derived = graph.flow, graph.times, list(graph.notes), list(graph.derived)
    found = True
    while found:
        found = False
        first = flow.program.statements[0]
        for at in range(first.domain.dim(_SET)):
            chosen = _coordinates(flow, at)
            made = None if chosen is None else _sliced(flow, chosen)
            if made is not None and chosen is not None:
                values = _values(first.domain, at)
                count = count_formula(card(values, flow.program.context))
                listed = ", ".join(f"{flow.program.by_name[name].iterators[k]} of {name}" for name, k in chosen.items())
                notes.append(
                    f"The graph falls into {count} copies without common vertices, by {listed}: no flow changes it, no "
                    "input is read with two of its values. This is one of them, named without this coordinate; what "
                    f"is counted counts {count} times."
                )
                derived.append(
                    in_slices(flow, chosen, _subscripts(flow, chosen), None if values.is_singleton() else count)
                )
                flow, times, found = made, times * count, True
                break
    if flow is graph.flow:
        return graph
    lemmas = _with_places(graph)
    return replace(graph, flow=flow, times=times, notes=tuple(notes), derived=tuple(derived), lemmas=lemmas)


def _coordinates(flow: DataFlow, at: int) -> dict[str, int] | None:
    """Return a coordinate of every statement, ``at`` of the first one, that no flow between statements changes."""
    statements = flow.program.statements
    chosen = {statements[0].name: at}
    waiting = [statements[0].name]
    while waiting:
        name = waiting.pop()
        for item in flow.flows:
            if item.source is None or name not in {item.source, item.sink}:
                continue
            step(CHEAP_STEP)
            other = item.sink if item.source == name else item.source
            relation = item.relation if item.source == name else item.relation.reverse()
            if other in chosen:
                if not _keeps(relation, chosen[name], chosen[other]):
                    return None
                continue
            width = flow.program.by_name[other].domain.dim(_SET)
            kept = [k for k in range(width) if _keeps(relation, chosen[name], k)]
            if not kept:
                return None
            chosen[other] = chosen[name] if chosen[name] in kept else kept[0]
            waiting.append(other)
    wanted = statements[0].iterators[at]
    for statement in statements:  # what no flow joins to the first statement has a loop of the same name, or is no copy
        if statement.name not in chosen:
            if wanted not in statement.iterators:
                return None
            chosen[statement.name] = statement.iterators.index(wanted)
    kept_by_all = (
        _keeps(item.relation, chosen[item.source], chosen[item.sink]) for item in flow.flows if item.source is not None
    )
    return chosen if all(kept_by_all) else None


def _keeps(relation: isl.Map, before: int, after: int) -> bool:
    """True if the two coordinates are equal in all pairs."""
    return bool(relation.is_subset(relation.equate(_IN, before, _OUT, after)))


def _values(domain: isl.Set, at: int) -> isl.Set:
    """Return the values of one coordinate."""
    width = domain.dim(_SET)
    return domain.project_out(_SET, at + 1, width - at - 1).project_out(_SET, 0, at)


def _sliced(flow: DataFlow, chosen: dict[str, int]) -> DataFlow | None:
    """Return the graph of one copy, None if copies differ or share inputs."""
    program = flow.program
    values = _values(program.statements[0].domain, chosen[program.statements[0].name])
    single = bool(values.is_singleton())
    if all(item.domain.dim(_SET) < 2 for item in program.statements):
        return None
    statements = []
    for item in program.statements:
        at = chosen[item.name]
        domain = _without(item.domain, at, values)
        if domain is None:
            return None
        write = _without_access(item.write, at, single)
        reads = [_without_access(read, at, single) for read in item.reads]
        schedule = _schedule_of_first(item, at, values)
        if write is None or any(read is None for read in reads) or not schedule.is_single_valued():
            return None
        kept = [k for k in range(len(item.iterators)) if k != at]
        statements.append(
            replace(
                item,
                domain=domain,
                schedule=schedule,
                write=write,
                reads=tuple(read for read in reads if read is not None),
                iterators=tuple(item.iterators[k] for k in kept),
                times=tuple(item.times[k] for k in kept),
            )
        )
    places = {} if single else _subscripts(flow, chosen)
    flows = [_sliced_flow(item, chosen, values, places) for item in flow.flows]
    if any(item is None for item in flows):
        return None
    made = tuple(item for item in flows if item is not None)
    return DataFlow(replace(program, statements=tuple(statements)), made, inputs_of(made))


def _subscripts(flow: DataFlow, chosen: dict[str, int]) -> dict[str, list[int]]:
    """Return for every array the subscripts that are the coordinate wherever an input of it is read."""
    found: dict[str, list[int]] = {}
    for item in flow.flows:
        if item.source is None:
            array = item.relation.get_tuple_name(_IN)
            known = found.get(array, list(range(item.relation.dim(_IN))))
            found[array] = [k for k in known if _keeps(item.relation, k, chosen[item.sink])]
    return found


def _sliced_flow(item: Flow, chosen: dict[str, int], values: isl.Set, places: dict[str, list[int]]) -> Flow | None:
    """Return the flow in one copy; no ``places`` are needed where the coordinate has one value only."""
    after = chosen[item.sink]
    single = bool(values.is_singleton())
    reference = _without_access(item.reference, after, single)
    if reference is None:
        return None
    if item.source is not None:
        relation = _without_pair(item.relation, chosen[item.source], after, values)
    elif single:
        relation = _named(item.relation.project_out(_OUT, after, 1), item.relation)
    else:
        place = places[item.relation.get_tuple_name(_IN)][:1]
        relation = _without_pair(item.relation, place[0], after, values, keep=True) if place else None
    return None if relation is None else replace(item, relation=relation, reference=reference)


def _without(domain: isl.Set, at: int, values: isl.Set) -> isl.Set | None:
    """Return the set without a coordinate, None if it is no product of that and ``values``."""
    rest = domain.project_out(_SET, at, 1)
    again = rest.insert_dims(_SET, at, 1)
    width = domain.dim(_SET)
    allowed = values.reset_tuple_id().insert_dims(_SET, 1, width - at - 1).insert_dims(_SET, 0, at)
    again = again.reset_tuple_id().intersect(allowed)
    return rest.set_tuple_name(domain.get_tuple_name()) if again.is_equal(domain.reset_tuple_id()) else None


def _without_pair(relation: isl.Map, before: int, after: int, values: isl.Set, *, keep: bool = False) -> isl.Map | None:
    """Return the relation without two equal coordinates, None if it is no product.

    ``keep``: the first one becomes 0 instead.
    """
    rest = relation.project_out(_OUT, after, 1).project_out(_IN, before, 1)
    again = rest.insert_dims(_OUT, after, 1).insert_dims(_IN, before, 1).equate(_IN, before, _OUT, after)
    plain = relation.reset_tuple_id(_IN).reset_tuple_id(_OUT)
    again = again.reset_tuple_id(_IN).reset_tuple_id(_OUT)
    width = relation.dim(_OUT)
    allowed = values.reset_tuple_id().insert_dims(_SET, 1, width - after - 1).insert_dims(_SET, 0, after)
    if not again.intersect_range(allowed).is_equal(plain):
        return None
    if keep:
        rest = rest.insert_dims(_IN, before, 1).fix_val(_IN, before, isl.Val(0))
    return _named(rest, relation)


def _named(made: isl.Map, like: isl.Map) -> isl.Map:
    for side in (_IN, _OUT):
        made = made.set_tuple_name(side, like.get_tuple_name(side))
    return made.coalesce()


def _without_access(reference: Reference, at: int, single: bool) -> Reference | None:
    """Return the access without one coordinate of the instance; a subscript that it is becomes 0."""
    relation = reference.relation
    rest = relation.project_out(_IN, at, 1)
    if not rest.is_single_valued():
        if single:
            return None
        places = [k for k in range(relation.dim(_OUT)) if _keeps(relation, at, k)]
        for k in places:
            rest = rest.project_out(_OUT, k, 1).insert_dims(_OUT, k, 1).fix_val(_OUT, k, isl.Val(0))
        if not rest.is_single_valued():
            return None
    return replace(reference, relation=_named(rest, relation))


def _schedule_of_first(item: Statement, at: int, values: isl.Set) -> isl.Map:
    """Return the schedule of the copy of the first value; the place of this value in time becomes 0.

    Loops over tiles of copies have a place of their own in time, which is that of the first copy.
    """
    width, time = item.domain.dim(_SET), item.times[at]
    first = values.lexmin().reset_tuple_id().insert_dims(_SET, 1, width - at - 1).insert_dims(_SET, 0, at)
    rest = item.schedule.intersect_domain(first.set_tuple_name(item.name)).project_out(_IN, at, 1)
    rest = rest.project_out(_OUT, time, 1).insert_dims(_OUT, time, 1).fix_val(_OUT, time, isl.Val(0))
    return rest.set_tuple_name(_IN, item.name).coalesce()


def inputs_of(flows: Sequence[Flow]) -> dict[str, isl.Set]:
    """Return by array the elements that the flows take from inputs."""
    found: dict[str, isl.Set] = {}
    for item in flows:
        if item.source is None:
            elements = item.relation.domain()
            array = item.reference.array
            found[array] = (found[array].union(elements) if array in found else elements).coalesce()
    return found


# -- copied values


def without_copied_values(flow: DataFlow) -> tuple[DataFlow, dict[str, isl.UnionMap]] | None:
    """Return the graph in which vertices that only copy one value are one with it, None if there are none.

    Also what they are one with, by their statement.
    """
    program, flows = flow.program, list(flow.flows)
    made_of_others = {one.sink for one in flows}
    gone: dict[str, isl.UnionMap] = {}
    for item in program.statements:
        into = [one for one in flows if one.sink == item.name]
        in_turn = any(one.source == item.name for one in into)
        if not any(one.source in made_of_others for one in into):
            continue  # a copy of an input or a constant: what it is one with is no more bound than the copy
        if in_turn or not _copies(item) or not item.domain.dim(_SET) or len(gone) == len(program.statements) - 1:
            continue
        following = [one for one in flows if one.source == item.name]
        joined = [made for one in following for last in into if (made := _joined(last, one)) is not None]
        flows = [one for one in flows if item.name not in {one.source, one.sink}] + joined
        copied = union_of_maps(isl.UnionMap.from_map(one.relation.reverse()) for one in into)
        gone = {name: _followed(place, copied) for name, place in gone.items()}
        gone[item.name] = copied
    if not gone:
        return None
    kept = tuple(item for item in program.statements if item.name not in gone)
    return DataFlow(replace(program, statements=kept), tuple(flows), inputs_of(flows)), gone


def _followed(place: isl.UnionMap, further: isl.UnionMap) -> isl.UnionMap:
    """Return vertex -> what it is one with, where some of these are one with something else."""
    return place.subtract_range(further.domain()).union(place.apply_range(further))


def _copies(statement: Statement) -> bool:
    """True for an assignment of one element to another."""
    if statement.operations or len(statement.reads) != 1:
        return False
    left, _, right = statement.text.rstrip("; ").partition(" = ")
    return (left, right) == (statement.write.text, statement.reads[0].text)


def _joined(first: Flow, second: Flow) -> Flow | None:
    """Return what flows by ``first`` into a copy and from there by ``second``.

    It is read where the copy reads it, so that an element that a sum reads is still the one to which it adds.
    """
    step()
    relation = first.relation.apply_range(second.relation).coalesce()
    if relation.is_empty():
        return None
    where = second.relation.reverse().apply_range(first.reference.relation).coalesce()
    reference = replace(second.reference, array=first.reference.array, relation=where)
    return Flow(first.source, second.sink, reference, relation)
