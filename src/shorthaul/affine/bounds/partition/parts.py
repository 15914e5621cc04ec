"""Instances of a statement with families of paths that end in them, and the vertices on these paths."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import islpy as isl

from shorthaul.affine.bounds.partition.paths import Path
from shorthaul.affine.integer_sets.subspaces import span

_SET = isl.dim_type.set
ResultT = TypeVar("ResultT")


class Ground:
    """Instances of one statement, and what paths that end there touch: each is derived once.

    ``known`` is by what it says and of which paths.
    """

    def __init__(self, domain: isl.Set) -> None:
        self.domain = domain
        self.known: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], ResultT]) -> ResultT:
        """Return what is known by the key; it is made at first."""
        if key not in self.known:
            self.known[key] = make()
        found: ResultT = self.known[key]
        return found

    def levels(self, path: Path) -> tuple[isl.UnionMap, ...]:
        """Return the levels of a path on these instances."""
        domain = as_union(self.domain)
        return self.once(("levels", path), lambda: tuple(level.intersect_domain(domain) for level in path.levels))

    def names(self, path: Path) -> tuple[set[str], ...]:
        """Return the statements and arrays of which the levels of a path have vertices."""
        return self.once(("names", path), lambda: tuple(map(names_of, self.levels(path))))

    def kept(self, path: Path, own: frozenset[str]) -> tuple[isl.UnionMap, ...]:
        """Return the levels of a path without those that have vertices of the statements ``own`` only."""
        levels = self.levels(path)
        if not own:
            return levels
        inner = zip(levels[:-1], self.names(path), strict=False)
        return *(level for level, names in inner if not names <= own), levels[-1]

    def vertices(self, path: Path, own: frozenset[str]) -> isl.UnionSet:
        """Return the vertices of these levels."""
        key = "vertices", path, own
        return self.once(key, lambda: united(level.range() for level in self.kept(path, own)))

    def meets(self, one: Path, other: Path, ground: Ground, own: frozenset[str]) -> bool:
        """Return whether a path has common vertices with one from the same or other instances."""

        def meet() -> bool:
            return not self.vertices(one, own).intersect(ground.vertices(other, own)).is_empty()

        if self is ground:
            return self.once(("meets", frozenset({one, other}), own), meet)
        return self.once(("meets", one, other, ground, own), meet)


@dataclass(frozen=True)
class Part:
    """Instances of one statement; ``order`` says which of its dimensions each coordinate of the common space is.

    The names in ``own`` are those of statements whose vertices are on the paths of one instance each.
    """

    statement: str
    domain: isl.Set
    paths: tuple[Path, ...]
    order: tuple[int, ...]
    own: frozenset[str] = frozenset()
    ground: Ground = field(default_factory=lambda: Ground(None), repr=False, compare=False)  #: of ``domain``

    def __post_init__(self) -> None:
        if self.ground.domain is not self.domain:
            object.__setattr__(self, "ground", Ground(self.domain))

    @cached_property
    def all_levels(self) -> tuple[tuple[isl.UnionMap, ...], ...]:
        """The levels of every family's path, on the instances of this part."""
        return tuple(map(self.ground.levels, self.paths))

    @cached_property
    def levels(self) -> tuple[tuple[isl.UnionMap, ...], ...]:
        """The levels without own vertices."""
        return tuple(self.ground.kept(path, self.own) for path in self.paths)

    @cached_property
    def vertices(self) -> tuple[isl.UnionSet, ...]:
        """The vertices of every family's path, all levels without own vertices."""
        return tuple(self.ground.vertices(path, self.own) for path in self.paths)

    @cached_property
    def own_vertices(self) -> isl.UnionSet:
        """The vertices of the levels left out."""
        if not self.own:
            return union_of([])
        levels = itertools.chain.from_iterable(self.all_levels)
        return union_of(item for level in levels for item in sets_of(level.range()) if _name(item) in self.own)

    def embedding(self, rows: Sequence[Sequence[int]]) -> isl.UnionMap:
        """Return the instances mapped by the integer matrix ``rows`` acting on the common space."""
        names = [f"x{at}" for at in range(len(self.order))]
        placed = [names[at] for at in self.order]
        values = [" + ".join(f"{factor}*{name}" for factor, name in zip(row, placed, strict=True)) for row in rows]
        text = f"{{ {self.statement}[{', '.join(names)}] -> [{', '.join(values) or '0'}] }}"
        return self.ground.once(text, lambda: isl.UnionMap(text).intersect_domain(as_union(self.domain)))


def vertices_of(parts: Sequence[Part], family: int) -> isl.UnionSet:
    """Return every vertex of the family's paths, all levels."""
    return parts[0].vertices[family] if len(parts) == 1 else united(part.vertices[family] for part in parts)


def goes_on(parts: Sequence[Part], family: int) -> bool:
    """Return whether a family's chains, if it has any, lead on to instances of the same part, not to sources only."""
    chained = [part for part in parts if part.paths[family].is_chain]
    found = [not part.all_levels[family][-1].intersect_range(as_union(part.domain)).is_empty() for part in chained]
    kinds = {tuple(path.is_chain for path in part.paths) for part in parts}
    return not chained or (any(found) if len(kinds) == 1 else all(found))


def united(sets: Iterable[isl.UnionSet]) -> isl.UnionSet:
    """Return the union of one union set or more."""
    first, *others = sets
    for item in others:
        first = first.union(item)
    return first.coalesce()


def with_own(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts with all statements whose vertices are on the paths of one instance each, and no sources.

    Of several parts it may be one instance of each, if these are on no chains.
    """
    names = [part.ground.names(path) for part in parts for path in part.paths]
    others = {part.statement for part in parts}.union(*(item[-1] for item in names))
    found = set().union(*itertools.chain.from_iterable(item[:-1] for item in names)) - others
    if found:
        inner = [union_of_maps(level for levels in part.all_levels for level in levels[:-1]) for part in parts]
        every = union_of_maps(inner).reverse()
        paths = [(part.ground, path) for part in parts for path in part.paths if path.is_chain]
        chained = set().union(*(name for ground, path in paths for name in ground.names(path)[:-1]))
        for item in sets_of(every.domain()):
            alone = every.intersect_domain(as_union(item)).is_single_valued()
            once = all(own.reverse().intersect_domain(as_union(item)).is_single_valued() for own in inner)
            if not alone and (not once or _name(item) in chained):
                found.discard(_name(item))
    return tuple(replace(part, own=frozenset(found)) for part in parts)


def times_own(parts: Sequence[Part]) -> int:
    """Return of how many instances an own vertex may be; 0 if there are none."""
    if not any(part.own for part in parts):
        return 0
    inner = union_of_maps(level for part in parts for levels in part.all_levels for level in levels[:-1])
    own = union_of(item for part in parts for item in sets_of(part.own_vertices))
    return 1 if inner.intersect_range(own).reverse().is_single_valued() else len(parts)


def _name(points: isl.Set) -> str:
    return points.get_tuple_name() or ""


def names_of(level: isl.UnionMap) -> set[str]:
    """Return the statements and arrays of which a level has vertices."""
    return {_name(item) for item in sets_of(level.range())}


def as_union(points: isl.Set) -> isl.UnionSet:
    """Return a set as a union set."""
    return isl.UnionSet.from_set(points)


def union_of(sets: Iterable[isl.Set]) -> isl.UnionSet:
    """Return the union of sets of any spaces."""
    result = isl.UnionSet("{ }")
    for item in sets:
        result = result.union(as_union(item))
    return result


def union_of_maps(maps: Iterable[isl.UnionMap]) -> isl.UnionMap:
    """Return the union of union maps."""
    result = isl.UnionMap("{ }")
    for item in maps:
        result = result.union(item)
    return result


def sets_of(union: isl.UnionSet) -> list[isl.Set]:
    """Return the sets of a union set, sorted by their text."""
    found: list[isl.Set] = []
    union.foreach_set(found.append)
    kept = [item.coalesce() for item in found if not item.is_empty()]
    return sorted(kept, key=lambda item: (item.get_tuple_name() or "", str(item)))


def box_points(points: isl.Set, sizes: Mapping[str, int]) -> float:
    """Return the points of the least box around a set at the sizes.

    >>> box_points(isl.Set("[N] -> { [i, j] : 0 <= i <= j < N }"), {"N": 10})
    100.0
    """
    for at in range(points.dim(isl.dim_type.param)):
        name = points.get_dim_name(isl.dim_type.param, at)
        points = points.fix_val(isl.dim_type.param, at, isl.Val(sizes[name]))
    if points.is_empty():
        return 0.0
    dims = range(points.dim(isl.dim_type.set))
    return float(prod(points.dim_max_val(at).to_python() - points.dim_min_val(at).to_python() + 1 for at in dims))


def thickness(points: isl.Set) -> int:
    """Return the dimension of the affine hull of the thickest piece of a set, parameters being fixed; -1 if empty.

    >>> thickness(isl.Set("{ [t, i] : i = 1 and t mod 2 = 0 }"))
    1
    """
    best = -1
    for basic in points.get_basic_sets():
        if basic.is_empty():
            continue
        equalities = []
        for constraint in basic.affine_hull().get_constraints():
            divisions = range(constraint.dim(isl.dim_type.div))
            if constraint.is_equality() and all(
                constraint.get_coefficient_val(isl.dim_type.div, at).is_zero() for at in divisions
            ):  # a remainder alone leaves all dimensions
                row = [constraint.get_coefficient_val(_SET, at).to_python() for at in range(points.dim(_SET))]
                equalities.append(row)
        best = max(best, points.dim(_SET) - len(span(equalities)))
    return best


def sources_and_spill(parts: Sequence[Part], vertices: Sequence[isl.UnionSet]) -> tuple[isl.UnionSet, isl.UnionSet]:
    """Return the sources, and the may-spill set: all vertices less the starts of single lines."""
    sources = spare = None
    named = union_of([])
    for part in parts:
        for family, path in enumerate(part.paths):
            last = part.levels[family][-1]
            if path.is_chain:
                within = last.intersect(_earlier(part, family))
                starting = last.subtract(within)
                found = starting.range()
                if len(path.levels) == 1 and len(parts) == 1 and starting.is_injective():
                    alone = found.subtract(within.range())
                    busy = named
                    for other, known in enumerate(vertices):
                        if other != family:
                            alone, busy = alone.subtract(known), busy.union(known)
                    # the computation of one instance stands for one source, and is no event of its own
                    alone = alone.subtract(starting.intersect_domain(busy).range())
                    named = named.union(starting.intersect_range(alone).domain())
                    spare = alone if spare is None else spare.union(alone)
            else:
                found = last.range()
            sources = found if sources is None else sources.union(found)
    spill = vertices[0]
    for item in vertices[1:]:
        spill = spill.union(item)
    assert sources is not None
    return sources, spill if spare is None else spill.subtract(spare)


def _earlier(part: Part, family: int) -> isl.UnionMap:
    """Return p -> the instance of the part that is next on the chain, going back."""
    if not part.paths[family].summed:
        return translation(part, part.paths[family])
    domain = as_union(part.domain)
    return part.levels[family][0].intersect_range(domain).subtract(domain.identity())


def translation(part: Part, path: Path) -> isl.UnionMap:
    """Return p -> p - delta inside the part."""
    assert path.delta is not None
    names = [f"x{at}" for at in range(len(path.delta))]
    values = [f"{name} - {shift}" for name, shift in zip(names, path.delta, strict=True)]
    text = f"{{ {part.statement}[{', '.join(names)}] -> {part.statement}[{', '.join(values)}] }}"
    domain = as_union(part.domain)
    return part.ground.once(text, lambda: isl.UnionMap(text).intersect_domain(domain).intersect_range(domain))
