"""Graphs whose bounds hold for any order and tree of associative sums (and of products, max, min).

``Lemma (reassociated sums)`` says what a sum and its game are, and why bounds on these two graphs hold for it: the one
of *values*, in which all terms of a sum read one vertex, for arguments of any kind; the one of *order*, in which
results are computed from all their terms, for what waits at one event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from shorthaul.affine.bounds.graph_certificate import Step
from shorthaul.affine.bounds.graphs import Graph, inputs_of
from shorthaul.affine.bounds.partition.parts import union_of_maps
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.dependences import DataFlow, Flow, sorted_maps
from shorthaul.affine.model import Program, Reference, Statement
from shorthaul.affine.proofs.lemmas import REASSOCIATED
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.tuning import GRAPH_OPERATIONS

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of a program.

    ``ends`` are by statement the instances that end one, ``others`` the flows but those into and inside of sums,
    ``last`` leads from every term to the last one of its sum, where isl finds that.
    """

    flow: DataFlow
    ends: Mapping[str, isl.Set]
    others: tuple[Flow, ...]
    last: tuple[isl.Map, ...] = ()

    def made(self, name: str | None, kind: str) -> str:
        """Return a name for a new vertex of the statement's sums, which no array and no statement bears."""
        program = self.flow.program
        made = f"{name}_{kind}"
        while made in program.arrays or made in program.by_name:
            made += "_"
        return made


def sums_of(flow: DataFlow) -> Sums | None:
    """Return the sums of a program that have two terms or more, None if there are none."""
    statements = flow.program.by_name
    chained = [item for item in flow.flows if _continues(item, statements)]
    read = [item for item in flow.flows if item not in chained]
    inner: dict[str, isl.Set] = {}
    for item in chained:
        assert item.source is not None
        within = item.relation.domain()
        for other in read:
            if other.source == item.source:
                within = within.subtract(other.relation.domain())
        if not within.is_empty():
            known = inner.get(item.source)
            inner[item.source] = (within if known is None else known.union(within)).coalesce()
    adding = set(inner)
    for item in chained:
        assert item.source is not None
        if item.source in inner and not item.relation.intersect_domain(inner[item.source]).is_empty():
            adding.add(item.sink)
    if not adding:
        return None
    ends = {
        name: statement.domain.subtract(inner[name]).coalesce() if name in inner else statement.domain
        for name, statement in statements.items()
        if name in adding
    }
    others = (item for item in flow.flows if item.sink not in adding or not _is_target(item, statements[item.sink]))
    found = Sums(flow, ends, tuple(others))
    try:
        with limited(GRAPH_OPERATIONS):
            return replace(found, last=tuple(_last_terms(found)))
    except isl.Error:
        return found


def _is_target(item: Flow, statement: Statement) -> bool:
    """True for what a statement that adds reads as the value to which it adds."""
    reference, write = item.reference, statement.write
    return reference.array == write.array and bool(reference.relation.is_equal(write.relation))


def _continues(item: Flow, statements: Mapping[str, Statement]) -> bool:
    """True for the flow from one term of a sum to the next one."""
    if item.source is None or not statements[item.sink].accumulates:
        return False
    same = statements[item.source].accumulates == statements[item.sink].accumulates
    return same and _is_target(item, statements[item.sink])


def reassociated(flow: DataFlow) -> list[Graph]:
    """Return the graphs of a program whose sums may be made in any order and tree; its own if it has no sums."""
    sums = sums_of(flow)
    if sums is None:
        return [Graph(flow)]
    results = ", ".join(sums.made(name, "sum") for name in sums.ends)
    note = f"Sums of {', '.join(sums.ends)} in any order and tree, by Lemma (reassociated sums)"
    values, order = _values(sums), _order(sums)
    read = "; ".join(
        f"{item.sink} reads {set_text(item.relation, values.program)}"
        for item in values.flows
        if item.reference.tag == f"{item.sink}.partial"
    )
    first = (
        f"{note}: a sum is a vertex that all its terms read, named by the last term in the program "
        f"({read or 'not known'}), and its result another one ({results}); both are computed from nothing."
    )
    second = f"{note}: a result ({results}) is computed from all its terms, in no order. Only events are argued with."
    by, steps = (REASSOCIATED,), [_certificate(sums, kind) for kind in ("values", "order")]
    return [
        Graph(values, notes=(first,), lemmas=by, derived=(steps[0],)),
        Graph(order, notes=(second,), lemmas=by, only_waits=True, derived=(steps[1],)),
    ]


def _certificate(sums: Sums, kind: str) -> Step:
    """Return the step of a certificate to one of the graphs: a vertex for every result, and one for every sum."""
    results = (item.identity().set_tuple_name(_OUT, sums.made(name, "sum")) for name, item in sums.ends.items())
    last = (item.set_tuple_name(_OUT, sums.made(item.get_tuple_name(_OUT), "partial")) for item in sums.last)
    made = {"results": results, "partial": last}
    return {"kind": kind, **{name: str(union_of_maps(map(isl.UnionMap.from_map, maps))) for name, maps in made.items()}}


def _values(sums: Sums) -> DataFlow:
    """Return the graph of values."""
    flows = _results(sums)
    statements = sums.flow.program.by_name
    for relation in sums.last:
        sink = relation.get_tuple_name(_IN)
        name = sums.made(relation.get_tuple_name(_OUT), "partial")
        turned = relation.reverse().set_tuple_name(_IN, name)
        flows.append(Flow(name, sink, replace(statements[sink].write, tag=f"{sink}.partial"), turned))
    made = [_vertex(sums, name, kind) for kind in ("sum", "partial") for name in sums.ends]
    return _graph(sums.flow.program, made, flows)


def _order(sums: Sums) -> DataFlow:
    """Return the graph of results computed from all their terms."""
    flows = _results(sums)
    statements = sums.flow.program.by_name
    for relation in sums.last:
        sink = relation.get_tuple_name(_IN)
        name = sums.made(relation.get_tuple_name(_OUT), "sum")
        relation = relation.set_tuple_name(_OUT, name)
        write = statements[sink].write
        reads = relation.reverse().apply_range(write.relation)
        flows.append(Flow(sink, name, replace(write, tag=f"{name}.{sink}", relation=reads), relation))
    return _graph(sums.flow.program, [_vertex(sums, name, "sum") for name in sums.ends], flows)


def _results(sums: Sums) -> list[Flow]:
    """Return the flows but those inside of sums, results coming from vertices of their own."""
    made = []
    for item in sums.others:
        if item.source in sums.ends:
            name = sums.made(item.source, "sum")
            item = replace(item, source=name, relation=item.relation.set_tuple_name(_IN, name))
        made.append(item)
    return made


def _last_terms(sums: Sums) -> Iterator[isl.Map]:
    """Yield instance -> the last term of its sum.

    That is the first instance at or after it in time that writes the same element and ends a sum.
    """
    statements = sums.flow.program.by_name
    for name in sums.ends:
        one = statements[name]
        others = [statements[end] for end in sums.ends if statements[end].write.array == one.write.array]
        times = isl.UnionMap("{ }")
        back = times
        later = one.schedule.apply_range(isl.Map.lex_le(one.schedule.get_space().range()))
        for other in others:
            step()
            where = sums.ends[other.name]
            same = one.write.relation.apply_range(other.write.relation.reverse()).intersect_range(where)
            after = same.intersect(later.apply_range(other.schedule.reverse()))
            times = times.union(isl.UnionMap.from_map(after.apply_range(other.schedule)))
            back = back.union(isl.UnionMap.from_map(other.schedule.intersect_domain(where).reverse()))
        yield from sorted_maps(times.lexmin().apply_range(back))


def _vertex(sums: Sums, name: str, kind: str) -> Statement:
    """Return the vertices that stand for the sums, or for their results, as a statement that reads nothing."""
    statement, made = sums.flow.program.by_name[name], sums.made(name, kind)
    where = sums.ends[name]
    return replace(
        statement,
        name=made,
        domain=where.set_tuple_name(made),
        schedule=statement.schedule.intersect_domain(where).set_tuple_name(_IN, made),
        reads=(),
        write=_renamed(statement.write, where, made),
        operations=0,
        implied=(),
        accumulates="",
    )


def _renamed(write: Reference, where: isl.Set, name: str) -> Reference:
    relation = write.relation.intersect_domain(where).set_tuple_name(_IN, name)
    return replace(write, tag=f"{name}.w", relation=relation)


def _graph(program: Program, added: Sequence[Statement], flows: Sequence[Flow]) -> DataFlow:
    return DataFlow(replace(program, statements=(*program.statements, *added)), tuple(flows), inputs_of(flows))
