"""Arguments on what waits in fast memory, verified from their certificates: for all sizes by isl, at some in a graph.

What a certificate says of ancestors is true if each pair e -> v of it is a read, or some other vertex u of it, e -> u,
reads v: readers come later in the program, so going on from u ends, and it can only end at a read by e. Descendants are
verified the same way, turned round. The second method walks through the program as executed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, empty_map
from shorthaul.affine.check.execution import fixed
from shorthaul.affine.check.formulas import is_same, value_of
from shorthaul.affine.model import Program
from shorthaul.core.errors import InputError

Vertex = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Sum:
    """What waits at each event, and the events over which the excess is summed: events, count, only positive ones."""

    alive: isl.UnionMap
    times: int
    pieces: tuple[tuple[isl.Set, str, bool], ...]


@dataclass(frozen=True)
class Waiting:
    """The certificate of one argument, read."""

    kind: str
    names: tuple[str, ...]
    sums: tuple[Sum, ...]
    spill: isl.UnionSet
    given: Mapping[str, Any]

    def relation(self, name: str) -> isl.UnionMap:
        """Return one of the relations of its kind."""
        return isl.UnionMap(str(self.given[name]))


def waiting_of(given: Mapping[str, Any], program: Program) -> Waiting:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the program."""
    names = tuple(map(str, given["statements"]))
    for name in names:
        if name not in program.by_name:
            raise InputError("is no statement of the program", place="statements", value=name)
    sums = tuple(
        Sum(
            isl.UnionMap(str(item["alive"])),
            int(item["times"]),
            tuple((isl.Set(str(one["events"])), str(one["count"]), bool(one["positive"])) for one in item["pieces"]),
        )
        for item in given["sums"]
    )
    if not sums or any(item.times < 1 for item in sums):
        raise InputError("sums nothing", place="sums")
    return Waiting(str(given["kind"]), names, sums, isl.UnionSet(str(given["spill"])), given)


# -- for all sizes


def wrong_relations(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the relations of an argument, as isl sees it."""
    yield from _KINDS[item.kind](item, reads)


def _wrong_ancestry(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where what is said to be ancestors and descendants does not follow from reads, one by one."""
    if not _follows(item.relation("ancestors"), reads.all):
        yield "the ancestors do not follow from reads"
    if not _follows(item.relation("descendants"), reads.all.reverse()):
        yield "the descendants do not follow from reads"


def _follows(reached: isl.UnionMap, step: isl.UnionMap) -> bool:
    """True if every pair of a relation is a step or leads on from another pair by one."""
    return bool(reached.is_subset(step.union(reached.apply_range(step))))


def _wrong_alive(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where something waits that does not exist at its event or is not read after it."""
    alive = item.sums[0].alive
    event = isl.UnionSet.from_set(reads.program.by_name[item.names[0]].domain)
    if len(item.sums) > 1 or not alive.domain().is_subset(event):
        yield "something waits at an event that is none"
    if not alive.is_subset(item.relation("ancestors")):
        yield "something waits that is no ancestor of its event"
    if not alive.is_subset(item.relation("descendants").apply_range(reads.all)):
        yield "something waits that no descendant of its event reads"
    if not item.spill.is_equal(alive.range()):
        yield "the may-spill set is not what waits"


def _wrong_wavefront(item: Waiting, reads: Reads) -> Iterator[str]:
    yield from _wrong_ancestry(item, reads)
    yield from _wrong_alive(item, reads)
    if item.sums[0].times > 1 or not item.sums[0].alive.reverse().is_single_valued():
        yield "a vertex waits at two events"


def _wrong_intervals(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where lines that read one vertex through one family are not one after the other."""
    yield from _wrong_ancestry(item, reads)
    yield from _wrong_alive(item, reads)
    ancestors, later, last, before = map(item.relation, ("ancestors", "descendants", "last", "before"))
    if not last.is_single_valued() or not last.is_subset(later) or not later.domain().is_subset(last.domain()):
        yield "a line has not one last vertex"
    inside = last.reverse().apply_range(later).subtract(last.range().identity())
    if not _follows(inside, reads.all):
        yield "a vertex of a line is no ancestor of its last one"
    earlier = ancestors.apply_range(last.reverse())
    if not _follows(before, earlier):
        yield "the order of lines does not follow from ancestors"
    families = [isl.UnionMap(str(text)) for text in item.given["families"]]
    together = empty_map()
    for family in families:
        together = together.union(family)
        sharing = family.apply_range(family.reverse())
        if not sharing.subtract(sharing.domain().identity()).is_subset(before.union(before.reverse())):
            yield "two lines that read one vertex through one family are in no order"
    if not together.is_equal(item.sums[0].alive) or item.sums[0].times != len(families):
        yield "what waits is not that of the families"


_KINDS: Final[dict[str, Callable[[Waiting, Reads], Iterator[str]]]] = {
    "wavefront": _wrong_wavefront,
    "intervals": _wrong_intervals,
}
KINDS: Final = tuple(_KINDS)


# -- at given sizes


@dataclass(frozen=True)
class Graph:
    """A program as executed: what every vertex reads, each after what it reads."""

    operands: Mapping[Vertex, set[Vertex]]

    @cached_property
    def number(self) -> dict[Vertex, int]:
        """The place of every vertex."""
        return {vertex: at for at, vertex in enumerate(self.operands)}

    @cached_property
    def ancestors(self) -> dict[Vertex, int]:
        """The ancestors of every vertex, as the bits of a number."""
        found: dict[Vertex, int] = {}
        for vertex, read in self.operands.items():
            bits = 0
            for one in read:
                bits |= found[one] | 1 << self.number[one]
            found[vertex] = bits
        return found

    @cached_property
    def readers(self) -> dict[Vertex, list[Vertex]]:
        """The vertices that read a vertex."""
        found: dict[Vertex, list[Vertex]] = defaultdict(list)
        for vertex, read in self.operands.items():
            for one in read:
                found[one].append(vertex)
        return found

    def is_before(self, one: Vertex, other: Vertex) -> bool:
        """True if the first vertex is an ancestor of the other one."""
        return bool(self.ancestors[other] >> self.number[one] & 1)


def wrong_in(item: Waiting, graph: Graph, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield what does not hold of an argument in the program as executed."""
    last = dict(pairs_at(item.relation("last"), sizes)) if item.kind == "intervals" else {}
    for event, vertex in pairs_at(item.sums[0].alive, sizes):
        if event not in graph.number or vertex not in graph.number:
            yield f"{vertex} or {event} is no vertex"
        elif not graph.is_before(vertex, event):
            yield f"{vertex} is no ancestor of {event}"
        else:
            end = last.get(event)
            readers = (one for one in graph.readers[vertex] if graph.is_before(event, one))
            if not any(end is None or one == end or graph.is_before(one, end) for one in readers):
                yield f"{vertex} is read by no descendant of {event}"


def pairs_at(relation: isl.UnionMap, sizes: Mapping[str, int]) -> list[tuple[Vertex, Vertex]]:
    """Return the pairs of a relation at given sizes, one by one."""
    maps: list[isl.Map] = []
    relation.foreach_map(maps.append)
    found: list[tuple[Vertex, Vertex]] = []
    for one in maps:
        width = one.dim(isl.dim_type.in_)
        sides = [one.get_tuple_name(side) for side in (isl.dim_type.in_, isl.dim_type.out)]
        rows: list[tuple[int, ...]] = []
        _rows(fixed(one, sizes).wrap().flatten(), rows)
        found += [((sides[0], row[:width]), (sides[1], row[width:])) for row in rows]
    return found


def _rows(points: isl.Set, rows: list[tuple[int, ...]]) -> None:
    width = points.dim(isl.dim_type.set)
    points.foreach_point(
        lambda point: rows.append(
            tuple(point.get_coordinate_val(isl.dim_type.set, at).to_python() for at in range(width))
        )
    )


def wrong_sum(item: Waiting, sizes: Mapping[str, int], capacities: Sequence[int]) -> Iterator[str]:
    """Yield numbers that are not what waits at given sizes, or do not add up to the value for ``capacities`` of S."""
    found: list[tuple[int, bool, Fraction]] = []
    for one in item.sums:
        waiting = Counter(event for event, _ in pairs_at(one.alive, sizes))
        seen: set[Vertex] = set()
        for (where, count, positive), rows in zip(one.pieces, _events(one, sizes), strict=True):
            for row in rows:
                event = (where.get_tuple_name(), row)
                number = value_of(count, {**sizes, **{f"x{at}": value for at, value in enumerate(row)}})
                if not isinstance(number, Fraction) or number > waiting[event]:
                    yield f"{waiting[event]} wait at {event}, fewer than {count}"
                    return
                found.append((one.times, positive, number))
                if event in seen:
                    yield f"{event} is in two pieces"
                seen.add(event)
    for capacity in capacities:
        excess = ((times, positive, number - capacity + 1) for times, positive, number in found)
        total = sum((value / times for times, positive, value in excess if value > 0 or not positive), Fraction(0))
        if not is_same(total, value_of(str(item.given["value"]), {**sizes, "S": capacity})):
            yield f"the value is not the sum over the events at {dict(sizes)}, S = {capacity}"


def _events(item: Sum, sizes: Mapping[str, int]) -> Iterator[list[tuple[int, ...]]]:
    """Yield the events of each piece at given sizes."""
    for where, _, _ in item.pieces:
        rows: list[tuple[int, ...]] = []
        _rows(fixed(where, sizes), rows)
        yield rows
