"""Arguments on what waits in fast memory, at given sizes: the second method of their verification.

What is said to come before or after an event is looked up in the program as executed, and numbers are counted.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import islpy as isl

from shorthaul.affine.check.execution import Vertex, fixed
from shorthaul.affine.check.formulas import is_same, value_of
from shorthaul.affine.check.lifetime_argument import Sum, Waiting


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
        """True if the first vertex is an ancestor of the other one; False for what is no vertex."""
        if one not in self.number or other not in self.number:
            return False
        return bool(self.ancestors[other] >> self.number[one] & 1)

    def is_between(self, reader: Vertex, begins: Collection[Vertex], finishes: Collection[Vertex]) -> bool:
        """True if a vertex is computed after all of some and not after the last of others, in every order."""
        after = all(self.is_before(first, reader) for first in begins)
        return after and any(reader == last or self.is_before(reader, last) for last in finishes)

    def is_read_between(self, vertex: Vertex, begin: Vertex, end: Vertex | None) -> bool:
        """True if a descendant of ``begin`` reads a vertex, the ``end`` or an ancestor of it, if there is one."""
        readers = (one for one in self.readers[vertex] if self.is_before(begin, one))
        return any(end is None or one == end or self.is_before(one, end) for one in readers)


def wrong_in(item: Waiting, graph: Graph, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield what does not hold of an argument in the program as executed."""
    how = _KNOWN.get(item.kind, _wrong_readers_in)
    yield from how(item, graph, sizes)


def _wrong_readers_in(item: Waiting, graph: Graph, sizes: Mapping[str, int]) -> Iterator[str]:
    last = dict(pairs_at(item.relation("last"), sizes)) if item.kind == "intervals" else {}
    for event, vertex in pairs_at(item.sums[0].alive, sizes):
        if not graph.is_before(vertex, event):
            yield f"{vertex} is no ancestor of {event}"
        elif not graph.is_read_between(vertex, event, last.get(event)):
            yield f"{vertex} is read by no descendant of {event}"


def _wrong_layers_in(item: Waiting, graph: Graph, sizes: Mapping[str, int]) -> Iterator[str]:
    levels = [dict(pairs_at(isl.UnionMap(str(text)), sizes)) for text in item.given["way"]]
    by_layer: dict[tuple[int, ...], list[Vertex]] = defaultdict(list)
    for vertex, (_, at) in pairs_at(item.relation("layers"), sizes):
        by_layer[at].append(vertex)
    for (_, (layer,)), end in pairs_at(item.sums[0].alive, sizes):
        path = [end, *(level[end] for level in levels if end in level)]
        before = by_layer[layer - 1,]
        if len(path) <= len(levels) or not all(after in graph.operands[one] for one, after in itertools.pairwise(path)):
            yield f"the path that ends in {end} does not follow reads"
        if path[-1] not in before or not all(graph.is_before(one, end) for one in before):
            yield f"{end} does not come after all of the layer before"


def _wrong_alternating_in(item: Waiting, graph: Graph, sizes: Mapping[str, int]) -> Iterator[str]:
    """Follow the chains of every layer, and yield those that do not go on from the layer before."""
    sweeps = {
        name: [[dict(pairs_at(isl.UnionMap(str(text)), sizes)) for text in sweep[key]] for key in ("path", "beside")]
        for name, sweep in zip(item.names, item.given["sweeps"], strict=True)
    }
    by_layer: dict[Vertex, list[Vertex]] = defaultdict(list)
    for layer, end in pairs_at(item.sums[0].alive, sizes):
        by_layer[layer].append(end)
    before: tuple[tuple[int, ...] | None, set[Vertex]] = None, set()
    for layer, ends in sorted(by_layer.items()):
        begun, starts = set(), set()
        for end in ends:
            path = [end, *(level[end] for level in sweeps[end[0]][0])]
            z = path[-1]
            ways = sweeps[z[0]]
            earlier, beside = ([z, *(level[z] for level in way)] for way in (ways[0][:-1], ways[1]))
            steps = itertools.chain.from_iterable(map(itertools.pairwise, (path, earlier, beside)))
            if not all(read in graph.operands[vertex] for vertex, read in steps):
                yield f"the chain that ends in {end} does not follow reads"
            begun |= {earlier[-1], beside[-1]}
            starts.add(z)
        if not all(graph.is_before(one, end) for one in begun for end in ends):
            yield f"{layer} does not come after all that its chains begin with"
        if before[0] == layer[1][:-2] and starts != before[1]:
            yield f"the chains of {layer} do not begin with the ends of the layer before"
        before = layer[1][:-2], set(ends)


def _wrong_crossing_in(item: Waiting, graph: Graph, sizes: Mapping[str, int]) -> Iterator[str]:
    """Let the scans meet at every place of every line, and yield where too few values are in use then."""
    opposite, after = dict(pairs_at(item.relation("opposite"), sizes)), defaultdict(set)
    for place, later in pairs_at(item.relation("later"), sizes):
        after[place].add(later)
    served: dict[Vertex, set[Vertex]] = defaultdict(set)
    values: dict[Vertex, set[Vertex]] = defaultdict(set)
    for group in item.given["groups"]:
        for value, copy in pairs_at(isl.UnionMap(str(group["copies"])), sizes):
            served[value].add(copy)
        for first, value in pairs_at(isl.UnionMap(str(group["values"])), sizes):
            values[first].add(value)
    for first in set(opposite).difference(*after.values()):
        line = sorted({first, *after[first]}, key=lambda place: -len(after[place]))
        for one, other in itertools.pairwise(line):
            if not (graph.is_before(one, other) and graph.is_before(opposite[other], opposite[one])):
                yield f"the scans are not opposite at {other}"
        for cut in range(len(line) + 1):
            computed = {*line[:cut], *(opposite[place] for place in line[cut:])}
            rest = {*line[cut:], *(opposite[place] for place in line[:cut])}
            readers = ({one for copy in served[value] for one in graph.readers[copy]} for value in values[first])
            if sum(not (found & computed and found & rest) for found in readers) >= item.sums[0].less:
                yield f"too few values are in use when the scans meet in the line of {first}"


def _wrong_phases_in(item: Waiting, graph: Graph, sizes: Mapping[str, int]) -> Iterator[str]:
    """Follow the paths of every interval, and yield those that do not pass through it."""
    for given in item.given["intervals"]:
        finish: dict[Vertex, Vertex | None] = {}
        finishes = {} if given["finishes"] is None else dict(pairs_at(isl.UnionMap(str(given["finishes"])), sizes))
        for event, begin in pairs_at(isl.UnionMap(str(given["begins"])), sizes):
            finish[begin] = finishes.get(event)
        for family in given["paths"]:
            levels = [dict(pairs_at(isl.UnionMap(str(level)), sizes)) for level in family["levels"]]
            for begin, vertex in pairs_at(isl.UnionMap(str(family["ends"])), sizes):
                path = [vertex, *(level[vertex] for level in levels if vertex in level)]
                if not all(after in graph.operands[before] for before, after in itertools.pairwise(path)):
                    yield f"the path that ends in {vertex} does not follow reads"
                if not graph.is_before(path[-1], begin):
                    yield f"{path[-1]} is no ancestor of {begin}"
                if not graph.is_read_between(vertex, begin, finish.get(begin)):
                    yield f"{vertex} is not read between {begin} and the end of the interval"


_KNOWN = {
    "layers": _wrong_layers_in,
    "alternating": _wrong_alternating_in,
    "crossing": _wrong_crossing_in,
    "phases": _wrong_phases_in,
}


def pairs_at(relation: isl.UnionMap, sizes: Mapping[str, int]) -> list[tuple[Vertex, Vertex]]:
    """Return the pairs of a relation at given sizes, one by one."""
    maps: list[isl.Map] = []
    relation.foreach_map(maps.append)
    found: list[tuple[Vertex, Vertex]] = []
    for one in maps:
        width = one.dim(isl.dim_type.in_)
        sides = [one.get_tuple_name(side) for side in (isl.dim_type.in_, isl.dim_type.out)]
        rows = _rows(fixed(one, sizes).wrap().flatten())
        found += [((sides[0], row[:width]), (sides[1], row[width:])) for row in rows]
    return found


def ranges_at(relation: isl.UnionMap, sizes: Mapping[str, int]) -> dict[Vertex, set[Vertex]]:
    """Return what a relation gives each vertex of its domain, at given sizes."""
    found: dict[Vertex, set[Vertex]] = defaultdict(set)
    for vertex, other in pairs_at(relation, sizes):
        found[vertex].add(other)
    return found


def _rows(where: isl.Set) -> list[tuple[int, ...]]:
    axes = range(where.dim(isl.dim_type.set))
    points: list[isl.Point] = []
    where.foreach_point(points.append)
    return [tuple(point.get_coordinate_val(isl.dim_type.set, at).to_python() for at in axes) for point in points]


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
                if not isinstance(number, Fraction) or number > waiting[event] - one.less:
                    yield f"fewer wait at {event} than {count}"
                    return
                found.append((one.times, positive, number))
                if event in seen:
                    yield f"{event} is in two pieces"
                seen.add(event)
    for capacity in capacities:
        counted = (
            (number - capacity + 1) / times for times, positive, number in found if number >= capacity or not positive
        )
        total = sum(counted, Fraction(0))
        if not is_same(total, value_of(str(item.given["value"]), {**sizes, "S": capacity})):
            yield f"the value is not the sum over the events at {dict(sizes)}, S = {capacity}"


def _events(item: Sum, sizes: Mapping[str, int]) -> Iterator[list[tuple[int, ...]]]:
    """Yield the events of each piece at given sizes."""
    for where, _, _ in item.pieces:
        yield _rows(fixed(where, sizes))
