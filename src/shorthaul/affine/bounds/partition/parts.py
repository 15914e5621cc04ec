"""Instances of a statement with families of paths that end in them, and the vertices on these paths."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import islpy as isl

from shorthaul.affine.bounds.partition.paths import Path
from shorthaul.affine.integer_sets.subspaces import span

_SET = isl.dim_type.set


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

    @cached_property
    def all_levels(self) -> tuple[tuple[isl.UnionMap, ...], ...]:
        """The levels of every family's path, on the instances of this part."""
        domain = as_union(self.domain)
        return tuple(tuple(level.intersect_domain(domain) for level in path.levels) for path in self.paths)

    @cached_property
    def levels(self) -> tuple[tuple[isl.UnionMap, ...], ...]:
        """The levels without own vertices."""
        return tuple(
            tuple(level for level in levels[:-1] if not _names(level) <= self.own) + levels[-1:]
            for levels in self.all_levels
        )

    @cached_property
    def vertices(self) -> tuple[isl.UnionSet, ...]:
        """The vertices of every family's path, all levels without own vertices."""
        return tuple(united(level.range() for level in levels) for levels in self.levels)

    @cached_property
    def own_vertices(self) -> isl.UnionSet:
        """The vertices of the levels left out."""
        levels = itertools.chain.from_iterable(self.all_levels)
        return union_of(item for level in levels for item in sets_of(level.range()) if _name(item) in self.own)

    def embedding(self, rows: Sequence[Sequence[int]]) -> isl.UnionMap:
        """Return the instances mapped by the integer matrix ``rows`` acting on the common space."""
        names = [f"x{at}" for at in range(len(self.order))]
        placed = [names[at] for at in self.order]
        values = [" + ".join(f"{factor}*{name}" for factor, name in zip(row, placed, strict=True)) for row in rows]
        text = f"{{ {self.statement}[{', '.join(names)}] -> [{', '.join(values) or '0'}] }}"
        return isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, text).intersect_domain(as_union(self.domain))


def vertices_of(parts: Sequence[Part], family: int) -> isl.UnionSet:
    """Return every vertex of the family's paths, all levels."""
    return united(part.vertices[family] for part in parts)


def united(sets: Iterable[isl.UnionSet]) -> isl.UnionSet:
    """Return the union of one union set or more."""
    first, *others = sets
    for item in others:
        first = first.union(item)
    return first.coalesce()


def with_own(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts with all statements whose vertices are on the paths of one instance each, and no sources."""
    inner = union_of_maps(level for part in parts for levels in part.all_levels for level in levels[:-1])
    last = union_of_maps(levels[-1] for part in parts for levels in part.all_levels)
    others = _names(last) | {part.statement for part in parts}
    kept = inner.reverse()
    own = {
        _name(item)
        for item in sets_of(kept.domain())
        if _name(item) not in others and kept.intersect_domain(as_union(item)).is_single_valued()
    }
    return tuple(replace(part, own=frozenset(own)) for part in parts)


def _name(points: isl.Set) -> str:
    return points.get_tuple_name() or ""


def _names(level: isl.UnionMap) -> set[str]:
    """Return the statements and arrays of which a level has vertices."""
    return {_name(item) for item in sets_of(level.range())}


def as_union(points: isl.Set) -> isl.UnionSet:
    """Return a set as a union set."""
    return isl.UnionSet.from_set(points)


def union_of(sets: Iterable[isl.Set]) -> isl.UnionSet:
    """Return the union of sets of any spaces."""
    result = isl.UnionSet.read_from_str(isl.DEFAULT_CONTEXT, "{ }")
    for item in sets:
        result = result.union(as_union(item))
    return result


def union_of_maps(maps: Iterable[isl.UnionMap]) -> isl.UnionMap:
    """Return the union of union maps."""
    result = isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, "{ }")
    for item in maps:
        result = result.union(item)
    return result


def sets_of(union: isl.UnionSet) -> list[isl.Set]:
    """Return the sets of a union set, sorted by their text."""
    found: list[isl.Set] = []
    union.foreach_set(found.append)
    kept = [item.coalesce() for item in found if not item.is_empty()]
    return sorted(kept, key=lambda item: (item.get_tuple_name() or "", str(item)))


def thickness(points: isl.Set) -> int:
    """Return the dimension of the affine hull of the thickest piece of a set, parameters being fixed; -1 if empty."""
    best = -1
    for basic in points.get_basic_sets():
        if basic.is_empty():
            continue
        equalities = []
        for constraint in basic.affine_hull().get_constraints():
            if constraint.is_equality():
                row = [constraint.get_coefficient_val(_SET, at).to_python() for at in range(points.dim(_SET))]
                if not constraint.get_aff().dim(isl.dim_type.div):
                    equalities.append(row)
        best = max(best, points.dim(_SET) - len(span(equalities)))
    return best
