"""Two steps of an outer loop in lock-step, where both read the same inputs and the second what the first computes.

With x = f(A x) every step reads all of A, and row i of a step gives element i of the next x. While the rows of a step
are passed, the next step may do with them what needs elements of x that are computed by then: in row i the columns
below i. The rest follows after the last row. So two steps load A one and a half times, in place of twice.

The outer loop is unrolled by two. An instance of the second copy is early if, along one coordinate inside of the loop,
it is at least a margin behind all values of the first copy that it reads, else late. Early ones are executed with the
first copy in one group, late ones after it. What the first copy writes has memory of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import isqrt
from typing import TYPE_CHECKING

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import DataFlow, Flow
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.model import Reference, Statement
from shorthaul.affine.orders.boxes.crossing import with_crossings
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.joining.turns import SizedGroups, read_in_every_step
from shorthaul.affine.orders.placement import (
    Placement,
    Row,
    as_written,
    entry,
    loops,
    placement_map,
    placements,
    reads_of,
)
from shorthaul.affine.orders.splitting import Piece, Split, in_own_names, in_pieces
from shorthaul.affine.orders.turns import Groups, TurnsStep, nests_of
from shorthaul.affine.tuning import MOST_COMPARED_PLACEMENTS, PLACEMENT_OPERATIONS

if TYPE_CHECKING:
    from shorthaul.affine.orders.sized import Boxes
    from shorthaul.affine.orders.tile_steps import Step

_OUT = isl.dim_type.out
#: What is above 0 on early instances, by statement, None where all are early; of others all are late.
_Early = dict[str, Row | None]


@dataclass(frozen=True)
class Lockstep:
    """A data flow with an outer loop unrolled by two, the second copy in early and late pieces; where all are placed.

    ``first`` are the pieces of one group, ``late`` those behind it.
    """

    parts: Split
    first: tuple[str, ...]
    late: tuple[str, ...]
    placement: Placement


@dataclass(frozen=True)
class Copy:
    """Every second iteration of the outer loop of a statement; ``again``: those that are executed second."""

    name: str
    statement: Statement
    half: int
    again: bool

    @property
    def instances(self) -> isl.Map:
        """The instances of the statement, each with that of the copy."""
        inner = [f"v{at}" for at in range(1, len(self.statement.iterators))]
        own, copied = ", ".join(["v", *inner]), ", ".join(["w", *inner])
        text = f"{{ {self.statement.name}[{own}] -> {self.name}[{copied}] : v = 2 w + {self.half} }}"
        return isl.Map(text)

    @property
    def array(self) -> str:
        """The array that it writes: in the end, after the second ones, that of the program."""
        own = self.statement.write.array
        return own if self.again else f"{own} of every second {self.statement.iterators[0]}"

    def made(self, later: int) -> Statement:
        """Return the copy as a statement, if executed second ``later`` in each iteration; it reads nothing yet."""
        item, own = self.statement, self.instances
        at = item.times[0]
        names = [f"a{number}" for number in range(int(item.schedule.dim(_OUT)))]
        times = [*names]
        times[at], times[at + 1] = "y", f"{names[at + 1]} + {later * self.again}"
        rest = self.half * loops(item)[0].factors[0]
        halves = f"{{ [{', '.join(names)}] -> [{', '.join(times)}] : {names[at]} = 2 y + {rest} }}"
        return replace(
            item,
            name=self.name,
            domain=item.domain.apply(own).coalesce(),
            schedule=item.schedule.apply_domain(own).apply_range(isl.Map(halves)),
            reads=(),
            write=replace(
                item.write,
                tag=f"{self.name}.{item.write.tag}",
                array=self.array,
                relation=item.write.relation.apply_domain(own).set_tuple_name(_OUT, self.array),
            ),
        )


class LockstepGroups(SizedGroups):
    """The early pieces and the late ones as groups that take turns; the first in the boxes ``before``.

    Inputs that these visit by rows and by columns ``along`` a loop are held between, if it is given.
    """

    def __init__(
        self, boxes: Boxes, before: Boxes, small: Sequence[str], lockstep: Lockstep, along: int | None = None
    ) -> None:
        super().__init__(boxes, small, lockstep.parts)
        self.before, self.lockstep, self.along = before, lockstep, along

    def _together(self, names: Sequence[str]) -> list[list[str]]:  # noqa: ARG002
        late = [*self.lockstep.late]
        together = late and self._group(frozenset(late)) is not None
        return [[*self.lockstep.first], *([late] if together else Groups._together(self, late))]

    def _fused(self, groups: list[Step | BoxStep]) -> Iterator[list[Step | BoxStep]]:
        yield groups

    def made(self, names: Sequence[str]) -> BoxStep | None:
        """Return ``names`` in boxes within every step of the outer loop."""
        if frozenset(names) != frozenset(self.lockstep.first):
            return self.boxes.of(names, self.in_step)
        found = self.before.of(names, self.in_step)
        return found if found is None or self.along is None else with_crossings(found, self.along)


def two_steps(boxes: Boxes, plain: Step) -> TurnsStep | None:
    """Return the best order found of two steps in lock-step; None if there is none, for one memory only.

    Boxes of one row hold what a step reads and computes whole. Where this does not fit, blocks of rows are executed
    from column to column: then what is early keeps a block away from what is computed with it. Without nests that read
    the same in every step nothing is saved: such ones are no part of it.
    """
    best: TurnsStep | None = None
    nests = [[name for name in nest if name in plain.names] for nest in nests_of(boxes.flow.program)]
    if not all(read_in_every_step(boxes.flow, nest, boxes.sizes)[0] for nest in nests if nest):
        return None
    for placement in _placements(boxes, plain.names):
        signs = boxes.counts.distances.signs(placement)
        extents = {at: _extent(boxes, placement, at) for at in range(1, len(placement[plain.names[0]]))}
        for along in sorted(extents, key=lambda at: -extents[at]):
            if any(not item[0] and item[along] < 0 for item in signs):
                continue  # a step by itself leads back
            found = [_found(boxes, plain, placement, along, 0), _passing(boxes, plain, placement, along)]
            if found[0] is None or any(isinstance(item, BoxStep) and item.spilled for item in found[0].groups):
                found.append(_found(boxes, plain, placement, along, isqrt(extents[along])))
            for item in found:
                if item is not None and (best is None or boxes.cost(item) < boxes.cost(best)):
                    best = item
    return best


def _found(boxes: Boxes, plain: Step, placement: Placement, along: int, margin: int) -> TurnsStep | None:
    with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
        made = in_lockstep(boxes.flow, placement, along, margin)
        if made is not None:
            inside = _boxes_of(boxes, made, {})
            before = _boxes_of(boxes, made, {along: margin}) if margin else inside
            return LockstepGroups(inside, before, boxes.small, made).best(plain)
    return None


def _passing(boxes: Boxes, plain: Step, placement: Placement, along: int) -> TurnsStep | None:
    """Return two steps of which what is late of the second is executed as soon as the first has what it reads."""
    with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
        made = in_lockstep(boxes.flow, placement, along, 0, passing=True)
        if made is not None:
            made = _begun_together(made, boxes.parameters)
            inside, before = _boxes_of(boxes, made, {}), _boxes_of(boxes, made, {along: 1})
            return LockstepGroups(inside, before, boxes.small, made, along).best(plain)
    return None


def _begun_together(lockstep: Lockstep, sizes: Mapping[str, int]) -> Lockstep:
    """Return the same with all loops of steps from one number on, whatever they count."""
    program, ends = lockstep.parts.flow.program, {}
    for names in nests_of(program):
        mine = [name for name in names if name in lockstep.placement]
        for name in mine:
            rows, domain = lockstep.placement[name][:1], program.by_name[name].domain
            places = at_sizes(domain.apply(placement_map(name, domain.dim(isl.dim_type.set), rows, ())), sizes)
            ends[name] = [places.dim_min_val(0).to_python()] if not places.is_empty() else []
        least = min(chain(*(ends[name] for name in mine)), default=0)
        ends |= {name: [least] for name in mine}
    return replace(
        lockstep,
        placement={name: (_more(rows[0], -ends[name][0]), *rows[1:]) for name, rows in lockstep.placement.items()},
    )


def _placements(boxes: Boxes, names: Sequence[str]) -> Iterator[Placement]:
    """Yield placements of all statements in the same outer loop, that of the program first."""
    found = [as_written([boxes.flow.program.by_name[name] for name in names])]
    every = placements(boxes.counts.distances, names, boxes.reads, in_turns=True)
    found += islice(every, MOST_COMPARED_PLACEMENTS)
    known: list[Placement] = []
    for item in found:
        if item not in known:
            known.append(item)
            yield item


def _boxes_of(boxes: Boxes, lockstep: Lockstep, fixed: Mapping[int, int]) -> Boxes:
    return type(boxes)(
        lockstep.parts.flow, boxes.sizes, boxes.small, boxes.weights, boxes.slack, lockstep.placement, fixed
    )


def _extent(boxes: Boxes, placement: Placement, along: int) -> int:
    """Return how many values a coordinate takes."""
    program, ends = boxes.flow.program, []
    for name, rows in placement.items():
        domain = program.by_name[name].domain
        row = placement_map(name, domain.dim(isl.dim_type.set), rows[along : along + 1], program.parameters)
        places = at_sizes(domain.apply(row), boxes.sizes)
        if not places.is_empty():
            ends += [places.dim_min_val(0).to_python(), places.dim_max_val(0).to_python()]
    return 1 + max(ends, default=0) - min(ends, default=0)


def in_lockstep(
    flow: DataFlow, placement: Placement, along: int, margin: int, *, passing: bool = False
) -> Lockstep | None:
    """Return two steps of the outer loop in lock-step along a coordinate of ``placement``; None if nothing is early.

    The first coordinate is the outer loop of every statement, and no other one depends on it. With ``passing`` what is
    late because of what it reads of the first copy is placed where that is computed, in one group with the early ones.
    """
    copies = {name: _copies(flow.program.by_name[name]) for name in placement}
    rows = {item.name: _halved(placement[name], item) for name, pair in copies.items() for item in pair}
    if None in rows.values():
        return None
    placed = {name: found for name, found in rows.items() if found is not None}
    twice = unrolled(flow, copies)
    if twice is None:
        return None
    home = {item.name: item for pair in copies.values() for item in pair}
    early = _early(twice, [item for item in home.values() if item.again], placed, along, margin)
    pieces, first, late, apart = dict[str, Piece](), list[str](), list[str](), dict[str, tuple[Row, ...]]()
    for name, item in home.items():
        row = early.get(name)
        if row is not None:
            pieces[f"{name}_early"] = Piece(name, ((row, ">"),))
            pieces[f"{name}_late"] = Piece(name, ((_more(row, -1), "<"),))
            first.append(f"{name}_early")
            passed = _where_read(placed[name], along, row) if passing else None
            (late if passed is None else first).append(f"{name}_late")
            if passed is not None:
                apart[f"{name}_late"] = passed
        else:
            pieces[name] = Piece(name, ())
            (late if item.again and name not in early else first).append(name)
    if not any(home[pieces[name].statement].again for name in first):
        return None
    made = in_own_names(in_pieces(twice, pieces))
    halves = {
        key: replace(item, statement=home[item.statement].statement.name, half=home[item.statement].half)
        for key, item in pieces.items()
    }
    where = {key: placed[item.statement] for key, item in pieces.items()} | apart
    if passing and not apart:
        return None
    return Lockstep(Split(made.flow, halves), tuple(first), tuple(late), where)


def _where_read(rows: tuple[Row, ...], along: int, early: Row) -> tuple[Row, ...] | None:
    """Return a placement with what is read in place of the coordinate ``along``, which goes where that was."""
    place = _more(rows[along].plus(early, -1), 1)
    for at, row in enumerate(rows):
        if at not in (0, along) and row.plus(place, -1) == Row((0,) * len(row.factors)):
            return tuple({along: place, at: rows[along]}.get(number, own) for number, own in enumerate(rows))
    return None


def _more(row: Row, constant: int) -> Row:
    return replace(row, constant=row.constant + constant)


def _copies(statement: Statement) -> tuple[Copy, Copy]:
    down = loops(statement)[0].factors[0] < 0
    return (
        Copy(f"{statement.name}_once", statement, int(down), again=False),
        Copy(f"{statement.name}_again", statement, int(not down), again=True),
    )


def _halved(rows: tuple[Row, ...], copy: Copy) -> tuple[Row, ...] | None:
    """Return rows as functions of the iterators of a copy; None if more than the first depends on the outer loop."""
    first, *others = rows
    plain = first == loops(copy.statement)[0]
    return rows if plain and not any(row.factors[0] for row in others) else None


def unrolled(flow: DataFlow, copies: Mapping[str, Sequence[Copy]]) -> DataFlow | None:
    """Return the flow with copies of statements, None where the place inside of their outer loop is not a constant."""
    program = flow.program
    inside = [entry(pair[0].statement, pair[0].statement.times[0] + 1) for pair in copies.values()]
    places = [row.constant for row in inside if row is not None and not any(row.factors) and not row.parameters]
    if len(places) < len(inside):
        return None
    made: dict[str | None, Sequence[Copy | None]] = {item.name: (None,) for item in program.statements}
    made[None] = (None,)
    made.update(copies.items())
    flows = [
        found
        for item in flow.flows
        for source in made[item.source]
        for sink in made[item.sink]
        for found in _between(item, source, sink)
    ]
    arrays, statements = dict(program.arrays), []
    for item in program.statements:
        for copy in made[item.name]:
            if copy is None:
                statements.append(item)
                continue
            statements.append(copy.made(1 + max(places) - min(places)))
            arrays[copy.array] = replace(program.arrays[item.write.array], name=copy.array)
    written = {item.name: item.write.array for item in statements}
    for at, statement in enumerate(statements):
        statements[at] = _reading(statement, written, flows)
    return DataFlow(replace(program, statements=tuple(statements), arrays=arrays), tuple(flows), flow.inputs)


def _between(item: Flow, source: Copy | None, sink: Copy | None) -> Iterator[Flow]:
    """Yield the part of a flow from one copy to another, if there is one; references stay those of the statement."""
    effort.step()
    relation = item.relation if source is None else item.relation.apply_domain(source.instances)
    relation = relation if sink is None else relation.apply_range(sink.instances)
    if not relation.is_empty():
        ends = item.source if source is None else source.name, item.sink if sink is None else sink.name
        reference = item.reference
        if sink is not None:
            reference = replace(reference, relation=reference.relation.apply_domain(sink.instances))
        yield Flow(*ends, reference, relation.coalesce())


def _reading(statement: Statement, written: Mapping[str, str], flows: list[Flow]) -> Statement:
    """Return a statement that reads every value in the array of its source; updates its ``flows``."""
    reads: dict[tuple[str, str], Reference] = {}
    mine: list[tuple[int, tuple[str, str]]] = []
    for at, one in enumerate(flows):
        if one.sink != statement.name:
            continue
        array = one.reference.array if one.source is None else written[one.source]
        key = one.reference.tag, array
        relation = one.reference.relation.intersect_domain(one.relation.range()).set_tuple_name(_OUT, array)
        relation = reads[key].relation.union(relation).coalesce() if key in reads else relation
        tag = f"{statement.name}.{one.reference.tag}.{array}"
        reads[key] = replace(one.reference, tag=tag, array=array, relation=relation)
        mine.append((at, key))
    for at, key in mine:
        flows[at] = replace(flows[at], reference=reads[key])
    return replace(statement, reads=tuple(reads.values()))


def _early(flow: DataFlow, again: Sequence[Copy], rows: Placement, along: int, margin: int) -> _Early:
    """Return what is early of the second copies: at least ``margin`` behind what they read of the first ones."""
    names = {item.name for item in again}
    result: _Early = {}
    for item in again:
        behind: set[Row | None] = set()
        for read in reads_of(flow, item.name):
            if read.source is None or read.source in names or read.source not in rows:
                continue
            if not _is_earlier(flow, read.source, item.name, read.function):
                place = None if read.rows is None else rows[read.source][along].after(read.rows)
                behind.add(None if place is None else rows[item.name][along].plus(place, -1))
        apart = {row for row in behind if row is None or not _is_behind(row, margin)}
        if not apart:
            result[item.name] = None
        elif len(apart) == 1 and (row := apart.pop()) is not None:
            result[item.name] = _more(row, 1 - margin)
    while late := next((name for name in result if not _keeps(flow, name, names, result)), None):
        del result[late]
    return result


def _is_behind(row: Row, margin: int) -> bool:
    return not any(row.factors) and not row.parameters and row.constant >= margin


def _is_earlier(flow: DataFlow, source: str, sink: str, function: isl.Map) -> bool:
    """True if what is read was computed in earlier iterations of the outer loop."""
    first = [loops(flow.program.by_name[name])[:1] for name in (source, sink)]
    ends = [
        placement_map(name, len(rows[0].factors), rows, ()) for name, rows in zip((source, sink), first, strict=True)
    ]
    distances = function.reverse().apply_domain(ends[0]).apply_range(ends[1]).deltas()
    return bool(distances.dim_min_val(0).is_pos())


def _keeps(flow: DataFlow, name: str, names: Collection[str], early: _Early) -> bool:
    """True if nothing early of ``name`` reads what is late in the same iteration."""
    for item in flow.into(name):
        if item.source is None or item.source not in names:
            continue
        relation = _in_one_step(flow, item).intersect_range(_instances(flow, name, early[name]))
        if item.source in early:
            relation = relation.subtract_domain(_instances(flow, item.source, early[item.source]))
        if not relation.is_empty():
            return False
    return True


def _instances(flow: DataFlow, name: str, above: Row | None) -> isl.Set:
    """Return the instances of a statement on which a row is above 0; all of them without one."""
    domain = flow.program.by_name[name].domain
    if above is None:
        return domain
    return domain.intersect(Piece(name, ((above, ">"),)).instances(domain.dim(isl.dim_type.set)))


def _in_one_step(flow: DataFlow, item: Flow) -> isl.Map:
    """Return the part of a flow within one iteration of the outer loop."""
    ends = []
    for name in (item.source or "", item.sink):
        statement = flow.program.by_name[name]
        ends.append(placement_map(name, len(statement.iterators), loops(statement)[:1], ()))
    return item.relation.intersect(ends[0].apply_range(ends[1].reverse()))
