"""Arguments on what waits in fast memory, verified from their certificates: for all sizes by isl, at some in a graph.

What a certificate says of ancestors is true if each pair e -> v of it is a read, or some other vertex u of it, e -> u,
reads v: readers come later in the program, so going on from u ends, and it can only end at a read by e. Descendants are
verified the same way, turned round.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, empty_map, union_of_maps
from shorthaul.core.errors import InputError

#: Values of one group that may not be in use at a crossing: they are counted one by one.
_MOST_MISSED: Final = 8


@dataclass(frozen=True)
class Sum:
    """What waits at each event, and the events over which the excess is summed: events, count, only positive ones."""

    alive: isl.UnionMap
    times: int
    less: int
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


def waiting_of(given: Mapping[str, Any], reads: Reads) -> Waiting:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    names = tuple(map(str, given["statements"]))
    for name in names:
        if name not in reads.domains:
            raise InputError("is no statement of the graph", place="statements", value=name)
    sums = tuple(
        Sum(
            isl.UnionMap(str(item["alive"])),
            int(item["times"]),
            int(item["less"]),
            tuple((isl.Set(str(one["events"])), str(one["count"]), bool(one["positive"])) for one in item["pieces"]),
        )
        for item in given["sums"]
    )
    if not sums or any(item.times < 1 for item in sums):
        raise InputError("sums nothing", place="sums")
    return Waiting(str(given["kind"]), names, sums, isl.UnionSet(str(given["spill"])), given)


def wrong_relations(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the relations of an argument, as isl sees it."""
    yield from _KINDS[item.kind](item, reads)


def _wrong_ancestry(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where what is said to be ancestors and descendants does not follow from reads, one by one."""
    if not follows(item.relation("ancestors"), reads.all):
        yield "the ancestors do not follow from reads"
    if not follows(item.relation("descendants"), reads.all.reverse()):
        yield "the descendants do not follow from reads"


def follows(reached: isl.UnionMap, step: isl.UnionMap) -> bool:
    """True if every pair of a relation is a step or leads on from another pair by one."""
    return bool(reached.is_subset(step.union(reached.apply_range(step))))


def _wrong_alive(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where something waits that does not exist at its event or is not read after it."""
    alive = item.sums[0].alive
    event = isl.UnionSet.from_set(reads.domains[item.names[0]])
    if len(item.sums) > 1 or item.sums[0].less or not alive.domain().is_subset(event):
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
    if not follows(inside, reads.all):
        yield "a vertex of a line is no ancestor of its last one"
    earlier = ancestors.apply_range(last.reverse())
    if not follows(before, earlier):
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


def _wrong_layers(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where a layer does not come wholly after the one before, or paths between them meet."""
    (one,), (name,), layers = item.sums, item.names, item.relation("layers")
    back = layers.apply_range(isl.UnionMap("{ layer[x] -> layer[x - 1] }")).apply_range(layers.reverse())
    ancestors, ends = item.relation("ancestors"), one.alive.range()
    if not follows(ancestors, reads.all) or not back.is_subset(ancestors):
        yield "a vertex of a layer is no descendant of the whole layer before"
    if not layers.is_single_valued() or not layers.domain().is_subset(isl.UnionSet.from_set(reads.domains[name])):
        yield "a vertex is in two layers, or is of another statement"
    if not one.alive.is_subset(layers.reverse()) or one.times > 1 or one.less:
        yield "the ends of paths are not those of their layer"
    before, vertices, together = ends.identity(), isl.UnionSet("{ }"), empty_map()
    for text in item.given["way"]:
        level = isl.UnionMap(str(text))
        if not level.is_single_valued() or not level.is_injective() or not level.domain().is_equal(ends):
            yield "a level of the paths is no function that is one-to-one"
        if not before.reverse().apply_range(level).is_subset(reads.all):
            yield "a path does not follow reads"
        before, vertices, together = level, vertices.union(level.range()), together.union(level.reverse())
    if not before.is_subset(back):
        yield "a path does not begin in the layer before"
    if not together.is_single_valued():
        yield "a vertex is on two paths"
    if not item.spill.is_equal(vertices):
        yield "the may-spill set is not that of the vertices of the paths"


def _wrong_alternating(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where chains do not follow reads, are not those of the next layer, or begin after a layer does."""
    (one,), layers, ancestors = item.sums, item.relation("layers"), item.relation("ancestors")
    sweeps = [
        tuple([isl.UnionMap(str(text)) for text in sweep[key]] for key in ("path", "beside"))
        for sweep in item.given["sweeps"]
    ]
    z = begun = vertices = empty_map()
    if not layers.is_single_valued() or one.times > 1 or one.less:
        yield "a vertex is not of one layer"
    for at, (name, (path, beside)) in enumerate(zip(item.names, sweeps, strict=True)):
        before, others = sweeps[at - 1]
        domain = isl.UnionSet.from_set(reads.domains[name])
        ends = one.alive.range().intersect(domain)
        if not ends.apply(layers).is_subset(isl.UnionSet(f"{{ layer[{_outer(layers)}x, {at}] }}")):
            yield "a layer is not of one statement"
        yield from _wrong_paths_back(domain, (path, beside), reads)
        back = path[-1].intersect_domain(ends)
        chain = [*path[:-1], back, *(back.apply_range(relation) for relation in (*before[:-1], *others))]
        chain = [relation.intersect_domain(ends) for relation in chain]
        if not all(a.intersect(b).is_empty() for a, b in itertools.combinations(map(one.alive.apply_range, chain), 2)):
            yield "two vertices of the chains of a layer are one"
        z, begun = z.union(back), begun.union(back.apply_range(before[-2].union(others[-1])))
        for relation in chain:
            vertices = vertices.union(relation)
    if not one.alive.is_equal(layers.intersect_domain(z.domain()).reverse()):
        yield "the ends of chains are not those of their layer"
    ends, starts = z.domain(), z.range()
    for name, (path, beside) in zip(item.names, sweeps, strict=True):
        own = isl.UnionSet.from_set(reads.domains[name])
        wanted = [*(ends.union(starts) for _ in path[1:]), ends, *(starts for _ in beside)]
        if not all(a.domain().is_equal(b.intersect(own)) for a, b in zip((*path, *beside), wanted, strict=True)):
            yield "a path leads back from other vertices than the ends and z of the chains"
    if not vertices.range().is_subset(reads.instances):
        yield "a vertex of a chain is an input"
    begun = one.alive.reverse().apply_range(one.alive.apply_range(begun))
    if not follows(ancestors, reads.all) or not begun.is_subset(ancestors):
        yield "a chain begins with what is no ancestor of the whole layer"
    yield from _wrong_turns(item, layers, z, vertices)
    if not item.spill.is_equal(vertices.range()):
        yield "the may-spill set is not that of the vertices of the chains"


def _wrong_paths_back(domain: isl.UnionSet, ways: Iterable[Sequence[isl.UnionMap]], reads: Reads) -> Iterator[str]:
    """Yield where paths back from vertices of a domain do not follow reads, or two of them meet."""
    for way in ways:
        for nearer, relation in zip([domain.identity(), *way], way, strict=False):
            if not nearer.reverse().apply_range(relation).is_subset(reads.all):
                yield "a chain does not follow reads"
            if not (relation.is_injective() and relation.is_single_valued() and relation.domain().is_subset(domain)):
                yield "a vertex of a chain is no function of its end that is one-to-one"


def _wrong_turns(item: Waiting, layers: isl.UnionMap, z: isl.UnionMap, vertices: isl.UnionMap) -> Iterator[str]:
    """Yield where the chains of a layer do not go on in the next one, in the order of the layers of a sequence."""
    first, last = _outer(layers), len(item.names) - 1
    following = isl.UnionMap(
        f"{{ layer[{first}x, y] -> layer[{first}x, y + 1] : 0 <= y < {last}; "
        f"layer[{first}x, {last}] -> layer[{first}x + 1, 0] }}"
    )
    ends, known = z.domain(), layers.intersect_domain(z.domain()).range()
    before = following.intersect_range(known).domain()
    after = following.intersect_domain(known).range()
    continued = z.intersect_domain(layers.intersect_range(after).domain())
    if not z.reverse().is_subset(layers.apply_range(following).apply_range(layers.reverse())):
        yield "a chain does not lead to the layer before"
    goes_on = ends.intersect(layers.intersect_range(before).domain())
    if not goes_on.is_subset(z.range()) or not continued.range().is_subset(ends):
        yield "the ends of a layer are not those that the next one begins with"
    sequence = isl.UnionMap(f"{{ layer[{first}x, y] -> sequence[{first[:-2]}] }}")
    owned = layers.intersect_domain(ends).apply_range(sequence).reverse().apply_range(vertices)
    if not sequence.intersect_domain(known.subtract(after)).is_injective():
        yield "a sequence of layers begins twice"
    if not owned.reverse().is_single_valued():
        yield "two sequences of layers have a vertex in common"


def _outer(layers: isl.UnionMap) -> str:
    """Return the coordinates of layers before the last two, as the start of a tuple."""
    width = isl.Set.from_union_set(layers.range()).dim(isl.dim_type.set)
    return "".join(f"o{at}, " for at in range(width - 2))


def _coordinates(reads: Reads, name: str) -> tuple[list[str], list[str]]:
    width = reads.domains[name].dim(isl.dim_type.set)
    return [f"x{at}" for at in range(width)], [f"y{at}" for at in range(width)]


def _wrong_crossing(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where two scans are not opposite, or what waits at their crossing does not."""
    (one,) = item.sums
    opposite, later = item.relation("opposite"), item.relation("later")
    places = opposite.domain()
    same = places.identity()
    first, second = (isl.UnionSet.from_set(reads.domains[name]) for name in item.names)
    both = same.union(opposite)
    if not (opposite.is_single_valued() and opposite.is_injective()):
        yield "the scans do not have one vertex each at a place"
    if not (places.is_subset(first) and opposite.range().is_subset(second)) or item.names[0] == item.names[1]:
        yield "a place has vertices of other statements"
    if not (later.domain().is_subset(places) and later.range().is_subset(places)):
        yield "a place is not in the order of its line"
    turned = opposite.reverse().apply_range(later).apply_range(opposite)
    if not _scans(later.reverse(), reads.all) or not _scans(turned, reads.all):
        yield "a scan does not follow reads"
    together = later.union(later.reverse()).union(same)
    starts = together.intersect_domain(places.subtract(later.range()))
    if not together.apply_range(together).is_subset(together) or not starts.reverse().is_single_valued():
        yield "the places do not fall into lines"
    join = reads.of(str(item.given["join"]))
    if not opposite.is_subset(join.reverse().apply_range(join)):
        yield "no vertex joins the scans at a place"
    waiting, served, lost = starts, empty_map(), 0
    for group in item.given["groups"]:
        values, copies = isl.UnionMap(str(group["values"])), isl.UnionMap(str(group["copies"]))
        in_line = together.intersect_range(starts.domain()).apply_range(values)
        missed = _not_in_use(in_line, copies, (later, same, opposite), reads.all)
        own = values.domain().is_subset(starts.domain()) and values.is_injective()
        if missed is None or not own or (few := _most_of_one(missed)) is None:
            yield "a value is not read by both scans, or in two lines, or too many are not in use at a crossing"
            return
        if not values.range().identity().is_subset(copies) or not copies.domain().is_subset(values.range()):
            yield "copies are not those of the values"
        if not copies.subtract(copies.domain().identity()).reverse().is_subset(reads.all):
            yield "a copy does not read its value"
        waiting, served, lost = waiting.union(values), served.union(copies), lost + few
    if not served.is_injective() or not served.range().intersect(both.range()).is_empty():
        yield "one vertex stands for two values"
    if not waiting.is_equal(one.alive) or one.times > 1 or one.less != lost + 1:
        yield "what waits is not what the scans and the groups say"
    if not item.spill.is_equal(starts.apply_range(both).range().union(served.range())):
        yield "the may-spill set is not what waits, with its copies"


def _most_of_one(relation: isl.UnionMap) -> int | None:
    """Return how many vertices a place has at most, None if more than a few."""
    for number in range(_MOST_MISSED + 1):
        if relation.is_empty():
            return number
        one = relation.lexmin()  # of every statement and array; one of these will do
        if len({one.get_map_list().get_at(at).range().get_tuple_name() for at in range(one.n_map())}) > 1:
            return None
        relation = relation.subtract(one)
    return None


def _scans(back: isl.UnionMap, step: isl.UnionMap) -> bool:
    """True if vertex -> earlier vertices of its scan follows from reads, of one another or by way of one vertex."""
    between = back.union(back.domain().identity()).apply_range(step)
    return follows(back.union(between), step)


def _not_in_use(
    values: isl.UnionMap,
    copies: isl.UnionMap,
    line: tuple[isl.UnionMap, isl.UnionMap, isl.UnionMap],
    step: isl.UnionMap,
) -> isl.UnionMap | None:
    """Return place -> values of its line that are not read before and after the scans meet there.

    None if one is not read by both scans. ``values``: place -> values; ``line``: later places, the same, opposite.
    """
    later, same, opposite = line
    by_first = same.apply_range(step).apply_range(copies.reverse())
    by_second = opposite.apply_range(step).apply_range(copies.reverse())
    up_to = later.reverse().union(same)
    anywhere = up_to.union(later)
    for by in (by_first, by_second):
        if not values.is_subset(anywhere.apply_range(by)):
            return None
    read = up_to.apply_range(by_first).union(later.apply_range(by_second))
    awaited = later.apply_range(by_first).union(up_to.apply_range(by_second))
    return values.subtract(read.intersect(awaited))


def _wrong_phases(item: Waiting, reads: Reads) -> Iterator[str]:
    """Yield where an interval of time is none, or more intervals that share a vertex overlap than it counts for."""
    ancestors, order = item.relation("ancestors"), item.relation("order")
    if not follows(ancestors, reads.all):
        yield "the ancestors do not follow from reads"
    x, _ = _coordinates(reads, item.names[0])
    begins, finishes, vertices, classes = empty_map(), empty_map(), empty_map(), empty_map()
    for number, (one, given) in enumerate(zip(item.sums, item.given["intervals"], strict=True)):
        interval = _Interval.of(given)
        yield from _wrong_interval(interval, one, ancestors, reads)
        own = isl.UnionMap(f"{{ k{number}[{', '.join(x)}] -> {item.names[0]}[{', '.join(x)}] }}")
        own = own.intersect_range(one.alive.domain())
        begins = begins.union(own.apply_range(interval.begins))
        vertices = vertices.union(own.apply_range(interval.begins).apply_range(interval.vertices))
        classes = classes.union(own.apply_range(interval.classes))
        if interval.finishes is not None:
            finishes = finishes.union(own.apply_range(interval.finishes))
        allowed = isl.UnionSet(f"{{ [{one.times}, c] : 0 <= c < {one.times} }}")
        if not interval.classes.range().is_subset(allowed) or not one.alive.domain().is_subset(
            interval.classes.domain()
        ):
            yield "an interval is in none of the classes"
    ended = begins.apply_range(ancestors.union(begins.range().identity())).apply_range(finishes.reverse())
    if not follows(order, ended):
        yield "the order of intervals does not follow from ancestors"
    yield from wrong_sharing(vertices, classes, order)
    if not item.spill.is_equal(vertices.range()):
        yield "the may-spill set is not that of the vertices of the paths"


def wrong_sharing(alive: isl.UnionMap, classes: isl.UnionMap, order: isl.UnionMap) -> Iterator[str]:
    """Yield where more intervals that share a vertex may overlap than a load counts for: interval -> vertex."""
    sharing = alive.apply_range(alive.reverse())
    if not sharing.is_subset(classes.apply_range(isl.UnionMap("{ [t, c] -> [t, d] }")).apply_range(classes.reverse())):
        yield "two kinds of intervals count the same loads"
    alike = sharing.intersect(classes.apply_range(classes.reverse())).subtract(sharing.domain().identity())
    if not classes.is_single_valued() or not alike.is_subset(order.union(order.reverse())):
        yield "two intervals of one class that share a vertex are in no order"


@dataclass(frozen=True)
class _Interval:
    """One kind of intervals of a certificate: where they begin and finish, and the paths that pass."""

    begins: isl.UnionMap
    finishes: isl.UnionMap | None
    between: isl.UnionMap
    classes: isl.UnionMap
    paths: tuple[tuple[isl.UnionMap, tuple[isl.UnionMap, ...]], ...]

    @staticmethod
    def of(given: Mapping[str, Any]) -> _Interval:
        """Return what a certificate says."""
        begins, between, classes = (isl.UnionMap(str(given[key])) for key in ("begins", "between", "classes"))
        finishes = None if given["finishes"] is None else isl.UnionMap(str(given["finishes"]))
        paths = tuple(
            (isl.UnionMap(str(item["ends"])), tuple(isl.UnionMap(str(level)) for level in item["levels"]))
            for item in given["paths"]
        )
        return _Interval(begins, finishes, between, classes, paths)

    @property
    def ends(self) -> isl.UnionMap:
        """Event at which an interval begins -> the last vertices of its paths."""
        return union_of_maps(ends for ends, _ in self.paths)

    @property
    def vertices(self) -> isl.UnionMap:
        """Event at which an interval begins -> all vertices of its paths."""
        found = self.ends
        for ends, levels in self.paths:
            for level in levels:
                found = found.union(ends.apply_range(level))
        return found


def _wrong_interval(item: _Interval, one: Sum, ancestors: isl.UnionMap, reads: Reads) -> Iterator[str]:
    """Yield where the paths of one kind of intervals do not pass through them."""
    events = one.alive.domain()
    for relation in filter(None, (item.begins, item.finishes)):
        if not relation.is_single_valued() or not events.is_subset(relation.domain()):
            yield "an interval does not begin and finish at one event each"
    if one.less or not one.alive.is_equal(item.begins.apply_range(item.ends)):
        yield "what waits is not the ends of the paths"
    if not follows(item.between, reads.all.reverse()):
        yield "what is between two events does not follow from reads"
    if item.finishes is not None:
        until = item.finishes.apply_range(ancestors.union(item.finishes.range().identity()))
        if not item.begins.apply_range(item.between).is_subset(until):
            yield "what is between two events is no ancestor of the second one"
    if not item.ends.is_subset(item.between.apply_range(reads.all)):
        yield "the end of a path is not read between the events"
    yield from _wrong_paths(item, ancestors, reads)


def _wrong_paths(item: _Interval, ancestors: isl.UnionMap, reads: Reads) -> Iterator[str]:
    """Yield where paths do not follow reads, do not begin before their interval, or meet."""
    passing = empty_map()
    for ends, levels in item.paths:
        before = ends.range().identity()
        passing = passing.union(before)
        for level in levels:
            if not level.is_single_valued() or not before.reverse().apply_range(level).is_subset(reads.all):
                yield "a path does not follow reads"
            if not level.domain().is_equal(ends.range()):
                yield "a path has not all of its vertices"
            before = level
            passing = passing.union(level)
        if not ends.apply_range(before).is_subset(ancestors):
            yield "a path begins at a vertex that is no ancestor of the first event"
    if (
        not passing.apply_range(passing.reverse())
        .subtract(passing.domain().identity())
        .intersect(item.ends.reverse().apply_range(item.ends))
        .is_empty()
    ):
        yield "two paths of one interval meet"
    if not item.vertices.intersect(item.begins.range().identity()).is_empty():
        yield "a path goes through the first event"


_KINDS: Final[dict[str, Callable[[Waiting, Reads], Iterator[str]]]] = {
    "wavefront": _wrong_wavefront,
    "intervals": _wrong_intervals,
    "layers": _wrong_layers,
    "alternating": _wrong_alternating,
    "crossing": _wrong_crossing,
    "phases": _wrong_phases,
}
KINDS: Final = tuple(_KINDS)
