"""Dynamic programs of several values in a cell: lines of all of them, and of what is read, cut what a segment computes.

A cell (i, j) of an alignment with gaps reads values that were carried along its row and along its column, each kept by
a statement of its own (E[i][j] = max(E[i][j - 1], ...)). So for every row that a segment touches a word of E comes from
before, as one of the row's letter, for every column one of F and one of its letter, for every diagonal one of H. With
w families of lines in two dimensions, none with more than half of them in one direction, K >= w sqrt(|P|) in place of
what the families of one statement's own paths give. A statement that reads its own values at p - u, p - v and
p - u - v, as alignments without gaps do, needs at least one of them for every line along u and another one for every
line along v. Made for given sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.wavefront import exact_closure
from shorthaul.affine.bounds.partition.candidates import best_events, usable_paths
from shorthaul.affine.bounds.partition.parts import as_union, sets_of, thickness, union_of_maps, united
from shorthaul.affine.bounds.partition.paths import with_starts
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import card, count_formula, most_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.lemmas import LINES, SEGMENTS, SQUARES
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.proofs.segments import events_at, least_events, value_text
from shorthaul.affine.tuning import CHEAP_STEP, MOST_LINE_FAMILIES, PARTITION_OPERATIONS

_SET = isl.dim_type.set
_DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


@dataclass(frozen=True, slots=True)
class Line:
    """A family of paths whose vertices belong to one line along ``direction`` each.

    ``first`` leads from an instance to the first vertex of its path, ``onward`` from a vertex to the next, ``along``
    from an instance to all vertices. ``is_own`` tells that other arguments on the statement know the family.
    """

    direction: tuple[int, int]
    first: isl.UnionMap
    onward: isl.UnionMap
    along: isl.UnionMap
    text: str
    is_own: bool

    @property
    def vertices(self) -> isl.UnionSet:
        """All vertices of the paths."""
        return self.along.range().coalesce()

    @property
    def sources(self) -> isl.UnionSet:
        """Where the paths end."""
        return self.vertices.subtract(self.onward.domain()).coalesce()

    def of(self, domain: isl.UnionSet) -> Line:
        """Return the paths of some instances."""
        first, along = (item.intersect_domain(domain) for item in (self.first, self.along))
        onward = self.onward.intersect_domain(along.range())
        return Line(self.direction, first, onward, along, self.text, self.is_own)


@dataclass(frozen=True, slots=True)
class Square:
    """Own values that instances read ``steps`` u and v away, and both: ``reads`` lead from an instance to each."""

    steps: tuple[tuple[int, ...], tuple[int, ...]]
    reads: tuple[isl.UnionMap, ...]

    @property
    def vertices(self) -> isl.UnionSet:
        """All that is read."""
        return united(item.range() for item in self.reads)

    def directions(self, plane: tuple[int, int]) -> list[tuple[int, int]]:
        """Return those of the lines that cost a value each."""
        return [max((step[plane[0]], step[plane[1]]), (-step[plane[0]], -step[plane[1]])) for step in self.steps]

    def of(self, domain: isl.UnionSet) -> Square:
        """Return what some instances read."""
        return Square(self.steps, tuple(item.intersect_domain(domain) for item in self.reads))


@dataclass(frozen=True, slots=True)
class Lines:
    """The argument: instances, the two loops of the plane, families with vertices of their own, a square or none."""

    domain: isl.Set
    plane: tuple[int, int]
    families: tuple[Line, ...]
    square: Square | None = None

    @property
    def weight(self) -> sympy.Rational:
        """The number w such that a segment computes at most (K / w)^2 instances, squared."""
        return squared_weight(_directions(self.families, self.square, self.plane))

    @property
    def sources(self) -> isl.UnionSet:
        """The ends of all paths, and what is read in the square of other places."""
        own = [] if self.square is None else [self.square.vertices.subtract(as_union(self.domain))]
        return united([*(item.sources for item in self.families), *own])

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        own = [] if self.square is None else [self.square.vertices]
        return united([*(item.vertices for item in self.families), *own])


def _directions(families: Sequence[Line], square: Square | None, plane: tuple[int, int]) -> list[tuple[int, int]]:
    return [*(item.direction for item in families), *(() if square is None else square.directions(plane))]


def squared_weight(directions: Sequence[tuple[int, int]]) -> sympy.Rational:
    """Return w^2: all families, squared, unless more than half of them have one direction.

    >>> squared_weight([(1, 0), (1, 0), (0, 1), (0, 1), (1, 1)]), squared_weight([(1, 0), (1, 0), (1, 0), (0, 1)])
    (25, 12)
    """
    most = max(*map(directions.count, directions), sympy.Rational(len(directions), 2))
    return 4 * most * (len(directions) - most)


def lines(flow: DataFlow) -> Iterator[Lines]:
    """Yield the best argument for every statement with a path along another one's values."""
    for statement in flow.program.statements:
        width = statement.domain.dim(_SET)
        others = [item for item in flow.into(statement.name) if item.source not in {None, statement.name}]
        reads_others = any(_carried(flow, str(item.source)) for item in others)
        if width < 2 or not (reads_others or len(_own_steps(flow, statement.name)) > 2):
            continue
        planes = itertools.combinations(range(width), 2)
        yield from results_within(PARTITION_OPERATIONS, planes, partial(_of_plane, flow, statement.name))


def _carried(flow: DataFlow, name: str) -> list[str]:
    """Return the references by which a statement reads its own value of an instance a fixed distance away."""
    own = [item for item in flow.into(name) if item.source == name]
    return [item.reference.tag for item in own if item.relation.deltas().is_singleton()]


def _own_steps(flow: DataFlow, name: str) -> dict[tuple[int, ...], str]:
    """Return how far away a statement reads its own values, with the reference that does."""
    found = {}
    for item in flow.into(name):
        steps = item.relation.deltas() if item.source == name else None
        if steps is not None and steps.is_singleton():
            point = steps.sample_point()
            found[tuple(point.get_coordinate_val(_SET, at).to_python() for at in range(steps.dim(_SET)))] = (
                item.reference.tag
            )
    return found


def _square(flow: DataFlow, name: str, plane: tuple[int, int]) -> Square | None:
    """Return own values at two steps in a plane and at their sum, if every place has a value of its own."""
    own = _own_steps(flow, name)
    for u, v in itertools.combinations(sorted(own), 2):
        both = tuple(a + b for a, b in zip(u, v, strict=True))
        flat = all(not (u[at] or v[at]) for at in range(len(u)) if at not in plane)
        if both not in own or not flat or u[plane[0]] * v[plane[1]] == u[plane[1]] * v[plane[0]]:
            continue
        reads = tuple(with_starts(flow, name, own[item]) for item in (u, v, both))
        made = Square((u, v), reads)
        domain = isl.UnionSet.from_set(flow.program.by_name[name].domain)
        for item in reads:
            domain = domain.intersect(item.domain())
        places = placed_reads(name, (u, v, both), made.of(domain).reads)
        is_one = places.is_single_valued() and places.is_injective()
        are_directions = all(math.gcd(*item) == 1 for item in made.directions(plane))
        if is_one and are_directions and places.intersect_domain(domain).is_subset(domain.identity()):
            return made.of(domain)
    return None


def placed_reads(name: str, steps: Sequence[tuple[int, ...]], reads: Sequence[isl.UnionMap]) -> isl.UnionMap:
    """Return place -> value for what is read so many steps away; places are written as those of the statement."""
    found = isl.UnionMap("{ }")
    for step_, item in zip(steps, reads, strict=True):
        x = [f"x{at}" for at in range(len(step_))]
        moved = [f"{one} - {far}" for one, far in zip(x, step_, strict=True)]
        place = isl.UnionMap(f"{{ {name}[{', '.join(x)}] -> {name}[{', '.join(moved)}] }}")
        found = found.union(place.reverse().apply_range(item))
    return found


def _of_plane(flow: DataFlow, name: str, plane: tuple[int, int]) -> Lines | None:
    domain = flow.program.by_name[name].domain
    square = _square(flow, name, plane)
    found = [*_through(flow, name, plane), *_broadcasts(flow, name, plane)][:MOST_LINE_FAMILIES]
    best: tuple[sympy.Rational, int, tuple[Line, ...], Square | None] | None = None
    beside = [square is not None and item.vertices.intersect(square.vertices).is_empty() for item in found]
    apart = {
        (a, b)
        for a, b in itertools.combinations(range(len(found)), 2)
        if found[a].vertices.intersect(found[b].vertices).is_empty()
    }
    for size in range(0 if square else 2, len(found) + 1):
        for chosen in itertools.combinations(range(len(found)), size):
            step(CHEAP_STEP)
            families = tuple(found[at] for at in chosen)
            if not all(pair in apart for pair in itertools.combinations(chosen, 2)):
                continue
            with_it = square if all(beside[at] for at in chosen) else None
            directions = _directions(families, with_it, plane)
            if (with_it or any(not item.is_own for item in families)) and len(set(directions)) > 1:
                rated = squared_weight(directions), -size, families, with_it
                best = rated if best is None or rated[:2] > best[:2] else best
    if best is None:
        return None
    _, _, families, square = best
    firsts = [item.first for item in families]
    for first in firsts if square is None else [*firsts, *square.reads]:
        common = [one for one in sets_of(first.domain()) if one.get_tuple_name() == name]
        domain = domain.intersect(common[0]) if common else domain
    if thickness(domain) < domain.dim(_SET):
        return None
    whole = as_union(domain)
    square = None if square is None else square.of(whole)
    return Lines(domain.coalesce(), plane, tuple(item.of(whole) for item in families), square)


def _broadcasts(flow: DataFlow, name: str, plane: tuple[int, int]) -> Iterator[Line]:
    """Yield the families of paths to a value that all instances of a line read."""
    width = flow.program.by_name[name].domain.dim(_SET)
    for path in usable_paths(flow, name):
        if path.is_chain or len(path.kernel) != 1:
            continue
        onward = union_of_maps(nearer.reverse().apply_range(level) for nearer, level in itertools.pairwise(path.levels))
        made = _placed(path.levels[0], onward, union_of_maps(path.levels), (name, width, plane), path.text(), own=True)
        if made is not None:
            yield made


def _through(flow: DataFlow, name: str, plane: tuple[int, int]) -> Iterator[Line]:
    """Yield the families of paths along values that a statement carries on, this one or one that it reads."""
    width = flow.program.by_name[name].domain.dim(_SET)
    own = isl.UnionSet.from_set(flow.program.by_name[name].domain).identity()
    starts = [(name, own), *((str(item.source), None) for item in flow.into(name) if item.source not in {None, name})]
    for source, known in starts:
        firsts = [known] if known is not None else _read_from(flow, name, source)
        for first, tag in itertools.product(firsts, dict.fromkeys(_carried(flow, source))):
            step()
            onward = with_starts(flow, source, tag)
            closed = exact_closure(
                [i.relation for i in flow.into(source) if i.source == source and i.reference.tag == tag]
            )
            if closed is None or not onward.is_single_valued():
                continue
            every = first.union(first.apply_range(closed.reverse()))
            every = every.union(every.apply_range(onward)).coalesce()
            if source == name:
                first, every = onward, every.subtract(own)
            text = f"along {tag} of {source}"
            made = _placed(first, onward, every, (name, width, plane), text, own=source == name)
            if made is not None:
                yield made


def _read_from(flow: DataFlow, name: str, source: str) -> list[isl.UnionMap]:
    """Return how a statement reads another one: instance -> what it reads, by reference."""
    found = (isl.UnionMap.from_map(item.relation.reverse()) for item in flow.into(name) if item.source == source)
    return [item for item in found if item.is_single_valued()]


def _placed(
    first: isl.UnionMap,
    onward: isl.UnionMap,
    along: isl.UnionMap,
    place: tuple[str, int, tuple[int, int]],
    text: str,
    *,
    own: bool,
) -> Line | None:
    """Return the family with the direction of its lines, None if vertices are of several lines whatever it is."""
    for direction in _DIRECTIONS:
        if along.reverse().apply_range(classes_of(*place, direction)).is_single_valued():
            return Line(direction, first, onward, along, text, own)
    return None


def classes_of(name: str, width: int, plane: tuple[int, int], direction: tuple[int, int]) -> isl.UnionMap:
    """Return instance -> its line along a direction in the plane of two loops."""
    x = [f"x{at}" for at in range(width)]
    kept = [x[at] for at in range(width) if at not in plane]
    across = f"{direction[1]}*{x[plane[0]]} - {direction[0]}*{x[plane[1]]}"
    return isl.UnionMap(f"{{ {name}[{', '.join(x)}] -> [{', '.join([*kept, across])}] }}")


def sub_bound(item: Lines, flow: DataFlow, sizes: Mapping[str, int]) -> SubBound:
    """Return the argument with its numbers as formulas, with the events of a segment that suit ``sizes``."""
    context, program = flow.program.context, flow.program
    size = count_formula(card(item.domain, context))
    sources = sympy.Add(*(most_formula(found, context) for found in sets_of(item.sources)))
    points, known, squared = number_at(size, sizes), number_at(sources, sizes), item.weight

    def worth(events: int) -> float:
        K = sizes["S"] + events
        return events_at(points * float(squared) / K**2, events, sizes["S"]) - known

    T = sympy.Integer(best_events(worth, sizes["S"]))
    K = S + T
    U = K**2 / squared
    value = least_events(size / U, T) - sources
    name = item.domain.get_tuple_name()
    iterators = [program.by_name[name].iterators[at] for at in item.plane]
    every = [
        f"Lines along {one.direction} of ({', '.join(iterators)}), {one.text}: {set_text(one.vertices, program)}"
        for one in item.families
    ]
    if item.square is not None:
        far = " and ".join(f"({', '.join(map(str, one))})" for one in item.square.steps)
        own = f"a value for every line along {far} (lemma on squares): {set_text(item.square.vertices, program)}"
        every.append(f"Own values {far} away and both, of which every place has one: {own}")
    steps = (
        f"D: {set_text(item.domain, program)}",
        *every,
        "Each vertex is on paths of one line only; those of different families are disjoint.",
        f"sources: {set_text(item.sources, program)}",
        f"Lemma (lines in a plane): |P| <= U = K^2 / {squared}, K = S + T; any T will do; chosen: T = {T}.",
        f"Lemma (segments): value = {value_text('|D|', 'U', T)} - sources.",
    )
    return SubBound(
        "lines in a plane",
        (name,),
        set_text(item.domain, program),
        value,
        item.spill,
        set_text(item.spill, program),
        {"|D|": size, "K": K, "T": T, "U": U, "sources": sources},
        steps,
        (SEGMENTS, LINES, *(() if item.square is None else (SQUARES,))),
        certificate={
            "kind": "lines",
            "statements": [name],
            "domain": str(item.domain),
            "plane": list(item.plane),
            "families": [
                {
                    "direction": list(one.direction),
                    "first": str(one.first),
                    "onward": str(one.onward),
                    "along": str(one.along),
                }
                for one in item.families
            ],
            "square": None
            if item.square is None
            else {"steps": list(map(list, item.square.steps)), "reads": list(map(str, item.square.reads))},
            "events": str(T),
            "instances_count": str(size),
            "sources_count": str(sources),
        },
    )
