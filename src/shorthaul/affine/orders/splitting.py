"""Index-set splitting: the instances of one statement on a hyperplane, and the others, as two statements.

Values that later iterations wait for are often made by few instances: in Gram-Schmidt's algorithm the next column, of
all columns that one updates. Taken apart from the rest they can run at another time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import islpy as isl

from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.model import Reference, Statement
from shorthaul.affine.orders.placement import Row, zeros_of

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Piece:
    """The instances of ``statement`` where every row of ``where`` is 0 ("="), off it ("!="), above (">") or below.

    With a ``half`` it has every second iteration of the first loop, those with this remainder; these are counted by
    their half, in rows too. With a ``block`` that loop is the number of so many iterations, and the place in these.
    """

    statement: str
    where: tuple[tuple[Row, str], ...]
    half: int | None = None
    block: int | None = None

    def condition(self, names: Sequence[str]) -> str:
        """Return the condition on iterators of these names as isl reads it."""
        own = names if self.half is None else [f"floor({names[0]} / 2)", *names[1:]]
        if self.block is not None:
            own = [f"floor({names[0]} / {self.block})", f"({names[0]} mod {self.block})", *names[1:]]
        parts = [f"{row.text(own)} {sign} 0" for row, sign in self.where]
        if self.half is not None:
            parts.append(f"{names[0]} mod 2 = {self.half}")
        return " and ".join(parts) or "true"

    def instances(self, width: int) -> isl.Set:
        """Return all places of ``width`` iterators where the condition holds."""
        names = [f"v{at}" for at in range(width)]
        parameters = sorted({name for row, _ in self.where for name, _ in row.parameters})
        text = f"[{', '.join(parameters)}] -> {{ {self.statement}[{', '.join(names)}] : {self.condition(names)} }}"
        return isl.Set(text)


@dataclass(frozen=True)
class Split:
    """A data flow with some statements in two pieces; ``pieces`` by their new names, other statements keep theirs."""

    flow: DataFlow
    pieces: Mapping[str, Piece] = field(default_factory=dict)

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The new names by the old ones."""
        result: dict[str, tuple[str, ...]] = {}
        for item in self.flow.program.statements:
            old = self.pieces[item.name].statement if item.name in self.pieces else item.name
            result[old] = (*result.get(old, ()), item.name)
        return result


def split(flow: DataFlow, names: Collection[str]) -> Split:
    """Return ``flow`` with every statement of ``names`` split whose values go to others of them from one hyperplane.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> from shorthaul.affine.integer_sets.dependences import flow_dependences
    >>> sorted(split(flow_dependences(kernel("gramschmidt")), ("S1", "S3", "S5", "S6")).pieces)
    ['S6_off', 'S6_on']
    """
    pieces: dict[str, Piece] = {}
    for name in names:
        row = _hyperplane(flow, name, names)
        if row is not None:
            pieces |= {
                f"{name}_{'on' if on else 'off'}": Piece(name, ((row, "=" if on else "!="),)) for on in (True, False)
            }
    return in_pieces(flow, pieces) if pieces else Split(flow)


def in_pieces(flow: DataFlow, pieces: Mapping[str, Piece]) -> Split:
    """Return ``flow`` with statements in ``pieces``, which hold all of their instances."""
    parts: dict[str | None, list[tuple[str | None, isl.Set | None]]] = {}
    statements: list[Statement] = []
    for statement in flow.program.statements:
        mine = [key for key, piece in pieces.items() if piece.statement == statement.name]
        parts[statement.name] = [(key, _domain(statement, pieces[key])) for key in mine] or [(statement.name, None)]
        for key, where in parts[statement.name]:
            statements.append(statement if where is None else replace(statement, name=key or "", domain=where))
    parts[None] = [(None, None)]
    flows = [
        replace(item, source=source, sink=sink or "", relation=relation)
        for item in flow.flows
        for source, first in parts[item.source]
        for sink, second in parts[item.sink]
        for relation in [_between(item.relation, source, first, sink, second)]
        if not relation.is_empty()
    ]
    return Split(DataFlow(replace(flow.program, statements=tuple(statements)), tuple(flows), flow.inputs), pieces)


def in_own_names(parts: Split) -> Split:
    """Return ``parts`` with sets and references of every piece in its name, as the examination of memory needs them."""
    statements = {item.name: _in_own_name(item) for item in parts.flow.program.statements}
    references = {
        (item.name, old.tag): new
        for item in parts.flow.program.statements
        for old, new in zip(item.reads, statements[item.name].reads, strict=True)
    }
    program = replace(parts.flow.program, statements=tuple(statements.values()))
    flows = tuple(replace(item, reference=references[item.sink, item.reference.tag]) for item in parts.flow.flows)
    return Split(DataFlow(program, flows, parts.flow.inputs), parts.pieces)


def _in_own_name(item: Statement) -> Statement:
    """Return a piece whose sets and references have its name."""
    if item.domain.get_tuple_name() == item.name:
        return item
    domain = item.domain.set_tuple_name(item.name)

    def own(reference: Reference) -> Reference:
        relation = reference.relation.set_tuple_name(_IN, item.name).intersect_domain(domain)
        return replace(reference, tag=f"{item.name}.{reference.tag}", relation=relation)

    schedule = item.schedule.set_tuple_name(_IN, item.name).intersect_domain(domain)
    return replace(item, domain=domain, schedule=schedule, reads=tuple(map(own, item.reads)), write=own(item.write))


def _hyperplane(flow: DataFlow, name: str, names: Collection[str]) -> Row | None:
    """Return an affine function that is 0 where values of ``name`` are read by another statement, not everywhere."""
    domain = flow.program.by_name[name].domain
    known = set(zeros_of(domain))
    for item in flow.out_of(name):
        if item.sink in names and item.sink != name:
            for row in zeros_of(item.relation.domain()):
                # a last step of a reduction is no face worth splitting off: only what depends on several loops is
                if row not in known and sum(map(bool, row.factors)) > 1:
                    return row
    return None


def _domain(statement: Statement, piece: Piece) -> isl.Set:
    return statement.domain.intersect(piece.instances(len(statement.iterators))).coalesce()


def _between(
    relation: isl.Map, source: str | None, first: isl.Set | None, sink: str | None, second: isl.Set | None
) -> isl.Map:
    if first is not None:
        relation = relation.intersect_domain(first).set_tuple_name(_IN, source)
    if second is not None:
        relation = relation.intersect_range(second).set_tuple_name(_OUT, sink)
    return relation.coalesce()
