"""A K-partition argument at given sizes, point by point: the second method of its verification.

Paths are followed in the program as it is executed; nothing here is known from isl but the points of sets.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import islpy as isl
import numpy as np

from shorthaul.affine.check.execution import Execution, Vertex, contains, evaluate, fixed
from shorthaul.affine.check.families.line_ends import (
    most_beside_ends,
    written_weight,
    wrong_ends_at,
    wrong_number_of_ends,
)
from shorthaul.affine.check.formulas import (
    combined,
    events_of,
    is_number,
    is_same,
    least_events,
    other_counts,
    power,
    value_of,
)
from shorthaul.affine.check.partition_argument import Argument, Part, most_instances
from shorthaul.affine.check.partition_inequalities import (
    most_by_columns,
    weight_of,
    wrong_width,
)
from shorthaul.affine.check.subspaces import Space, across


def operands_of(execution: Execution) -> dict[Vertex, set[Vertex]]:
    """Return what every vertex of an execution reads."""
    vertices = execution.vertices()
    bounds = execution.starts.tolist()
    return {
        vertex: {vertices[k] for k in execution.operands[bounds[at] : bounds[at + 1]].tolist()}
        for at, vertex in enumerate(vertices)
    }


def points_of(union: isl.UnionSet, known: Mapping[str, Sequence[Vertex]], sizes: Mapping[str, int]) -> set[Vertex]:
    """Return the vertices of an execution that lie in a set; others, if it has any, are not among them."""
    found: set[Vertex] = set()
    sets: list[isl.Set] = []
    union.foreach_set(sets.append)
    for item in sets:
        vertices = known.get(item.get_tuple_name(), ())
        rows = np.array([row for _, row in vertices], dtype=np.int64).reshape(len(vertices), item.dim(isl.dim_type.set))
        inside = contains(fixed(item, sizes), rows)
        found |= {vertex for vertex, is_in in zip(vertices, inside.tolist(), strict=True) if is_in}
    return found


def counted(union: isl.UnionSet, sizes: Mapping[str, int]) -> int:
    """Return the number of points of a set, as isl counts them one by one."""
    sets: list[isl.Set] = []
    union.foreach_set(sets.append)
    return sum(int(fixed(item, sizes).count_val().to_python()) for item in sets)


def wrong_at(
    item: Argument, operands: Mapping[Vertex, set[Vertex]], sizes: Mapping[str, int], capacities: Sequence[int]
) -> Iterator[str]:
    """Yield what does not hold of an argument at some sizes, its numbers for each S in ``capacities`` included."""
    known: dict[str, list[Vertex]] = defaultdict(list)
    for vertex in operands:
        known[vertex[0]].append(vertex)
    sources, spill = points_of(item.sources, known, sizes), points_of(item.spill, known, sizes)
    ends = _ends(item, known, sizes)
    users: dict[Vertex, set[Vertex]] = defaultdict(set)
    everything: set[Vertex] = set()
    owners: list[set[Vertex]] = [set() for _ in item.chains]
    classes: list[dict[Vertex, set[tuple[int, ...]]]] = [defaultdict(set) for _ in item.chains]
    placed: list[tuple[int, Part, Any]] = []
    inner: set[tuple[Vertex, Vertex]] = set()
    total = 0
    for number, part in enumerate(item.parts):
        inside = sorted(points_of(part.points, known, sizes))
        total += len(inside)
        everything.update(inside)
        if not inside:
            continue
        rows = np.array([row for _, row in inside], dtype=np.int64)
        placed.append((number, part, rows))
        members = set(inside)
        for family in range(len(item.chains)):
            values = _classes(item, part, item.kernels[family], rows)
            of_class = dict(zip(inside, values, strict=True))
            for vertex, path in zip(inside, _paths(part, family, inside, rows, sizes), strict=True):
                if not _follows_reads(vertex, path, operands):
                    yield f"the path of family {family} that ends in {vertex} does not follow reads"
                inner.update((one, vertex) for one in path[:-1] if one[0] in part.own)
                kept = [one for one in path if one[0] not in part.own]
                owners[family].update(kept)
                for one in kept:
                    classes[family][one].add((*of_class[vertex], number * item.has_classes_apart(family)))
                last = path[-1] if path else vertex
                if last in ends and not part.chains[family]:
                    users[last].add(vertex)
                elif last in sources:
                    continue
                elif not (part.chains[family] and last in members and last != vertex):
                    yield f"the path of family {family} that ends in {vertex} begins outside of the sources"
                elif of_class[last] != of_class[vertex]:
                    yield f"the chain of family {family} that ends in {vertex} leads into another class"
    yield from _wrong_windows(item, placed, sizes)
    yield from _meeting(item, owners, classes)
    alone = Counter(one for one, _ in inner)
    if max(alone.values(), default=0) > item.times_own or alone.keys() & (sources | everything):
        yield "an own vertex is on the paths of two instances, a source, or an instance that is counted"
    if {*alone}.union(*owners, ends.values()) - sources != spill - sources:
        yield "the may-spill set is not that of the vertices of the paths"
    yield from wrong_ends_at(item, operands, users, everything, ends)
    yield from wrong_counts(item, total, len(sources), sizes, capacities)


def _follows_reads(vertex: Vertex, path: Sequence[Vertex], operands: Mapping[Vertex, set[Vertex]]) -> bool:
    steps = zip((vertex, *path), path, strict=False)
    return all(after in operands[before] for before, after in steps if before in operands and after != vertex)


def _ends(item: Argument, known: Mapping[str, Sequence[Vertex]], sizes: Mapping[str, int]) -> dict[Vertex, Vertex]:
    """Return the ends of lines by their sources."""
    found: dict[Vertex, Vertex] = {}
    maps: list[isl.Map] = []
    item.ends.foreach_map(maps.append)
    for relation in maps:
        vertices = known.get(relation.get_tuple_name(isl.dim_type.in_), ())
        if vertices:
            name = relation.get_tuple_name(isl.dim_type.out)
            defined, values = evaluate(relation, sizes, np.array([row for _, row in vertices], dtype=np.int64))
            found |= {vertices[at]: (name, tuple(values[at].tolist())) for at in np.flatnonzero(defined).tolist()}
    return found


def _paths(
    part: Part, family: int, inside: Sequence[Vertex], rows: Any, sizes: Mapping[str, int]
) -> list[list[Vertex]]:
    """Return the path of every instance; it ends early where a level is not defined."""
    paths: list[list[Vertex]] = [[] for _ in inside]
    for number, level in enumerate(part.families[family]):
        maps: list[isl.Map] = []
        level.foreach_map(maps.append)
        for relation in maps:
            name = relation.get_tuple_name(isl.dim_type.out)
            defined, values = evaluate(relation, sizes, rows)
            for at in np.flatnonzero(defined).tolist():
                if len(paths[at]) == number:
                    paths[at].append((name, tuple(values[at].tolist())))
    return paths


def _classes(item: Argument, part: Part, space: Space, rows: Any) -> list[tuple[int, ...]]:
    placed = rows[:, list(part.order)]
    matrix = np.array(across(space, item.width), dtype=np.int64)
    return [tuple(row) for row in (placed @ matrix.reshape(-1, item.width).T).tolist()]


def _wrong_windows(item: Argument, placed: Sequence[tuple[int, Part, Any]], sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield families of which a class is in more classes of the finer projection than is said."""
    for family in (at for at, window in enumerate(item.windows) if window):
        found: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
        for number, part, rows in placed:
            apart = number * item.has_classes_apart(family)
            finer = _classes(item, part, item.finer(family), rows)
            for coarse, one in zip(_classes(item, part, item.kernels[family], rows), finer, strict=True):
                found[*coarse, apart].add(one)
        if max(map(len, found.values()), default=0) > item.told_apart(family, sizes):
            yield f"a class of family {family} is in more classes of its window than is said"


def _meeting(
    item: Argument, owners: Sequence[set[Vertex]], classes: Sequence[Mapping[Vertex, set[tuple[int, ...]]]]
) -> Iterator[str]:
    """Yield families with vertices in too many classes, and those that are added and have common vertices here."""
    for family, found in enumerate(classes):
        if any(len(values) > item.folds[family] for values in found.values()):
            yield f"a vertex of family {family} is on paths of too many classes"
    symmetry = item.given["symmetry"]
    cliques = item.given["cliques"]
    if symmetry is not None:
        cliques = [[symmetry["chain"], pair[at]] for pair in symmetry["pairs"] for at in (0, 1)]
    for clique in cliques:
        for one, other in combinations(clique, 2):
            if owners[one] & owners[other]:
                yield f"families {one} and {other} have common vertices"


def wrong_counts(
    item: Argument, instances: int, sources: int, sizes: Mapping[str, int], capacities: Sequence[int]
) -> Iterator[str]:
    """Yield formulas of an argument that are not what is counted at ``sizes``, or do not follow."""
    yield from other_counts(item.given, {"instances_count": instances}, sizes)
    yield from other_counts(item.given, {"sources_count": sources}, sizes, at_least=True)  # more only lower the bound
    if item.given["hourglass"] is not None and instances:
        yield from wrong_width(item, sizes)
    if item.given.get("ends") is not None:
        yield from wrong_number_of_ends(item, counted(item.ends.domain(), sizes), sizes)
    for capacity in capacities:
        yield from wrong_formulas(item, {**sizes, "S": capacity})


def wrong_formulas(item: Argument, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value at any sizes does not follow from the counts, as their formulas give them.

    Instances read from both sides of a triangle weigh by their places, which are counted.
    """
    events = events_of(item.given, here)
    size, sources = (value_of(str(item.given[name]), here) for name in ("instances_count", "sources_count"))
    if item.given["mirrored"]:
        K = here["S"] + events
        U = combined(ast.Add, power(K / 3, Fraction(3, 2)), K if item.parts[0].own else Fraction(0))
    elif item.given["hourglass"] is not None:
        U = most_by_columns(item, here, events)
    else:
        ended = item.given.get("ends") is not None
        U = most_beside_ends(item, here["S"] + events) if ended else most_instances(item, here, events)
        if not is_same(U, value_of(str(item.given["most_instances"]), here)):
            yield "U does not follow from exponents and weights"
    segments = combined(ast.Div, weight_of(item, here, events, size), U) if size else Fraction(0)
    value = combined(ast.Sub, least_events(item.given["events"], events, segments, here["S"]), sources)
    if not is_same(value, value_of(str(item.given["value"]), here)):
        yield "the value is not what the lemma on segments gives for T, |D| and U, less the sources"


def is_written_so(item: Argument, here: Mapping[str, int]) -> bool:
    """Return whether the value is written as the lemma on segments gives it, whatever floors hide at these sizes.

    For instances read from both sides of a triangle this is not asked.
    """
    given, neck = item.given, item.given["hourglass"]
    size, T = given["instances_count"], given["events"]
    most = [given["most_instances"]]
    if given["mirrored"]:
        return True
    if neck is not None:
        by_columns = f"(S + ({T}) + ({neck['rim']}))**2/4"
        size, most = neck["weight"], [by_columns, f"Max({by_columns}, 2*({neck['width']})*(S + ({T})))"]
    if given.get("ends") is not None:
        size = written_weight(item)
    found = value_of(str(given["value"]), here, opaque=True)
    for U in most:
        segments = f"({size})/({U})"
        events = f"({T})*floor({segments})"
        if is_number(T):
            events = f"{T}*(ceiling({segments}) - 1) + S*Min(1, ceiling({segments}) - 1)"
        if is_same(found, value_of(f"{events} - ({given['sources_count']})", here, opaque=True)):
            return True
    return False
