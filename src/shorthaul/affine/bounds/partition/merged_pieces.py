"""K-partitions over pieces of one statement, each with reads of its own, taken as one argument.

In `A[i][j] = f(A[i][j], A[i][k], A[k][j])` for all i, j and k, outermost, what is read of row and column k is the value
before step k or the one after it: i < k or i > k, and so with j, are four pieces, in each of which paths are affine.
A part of one of them is beside parts of the others in one space. An element's chain leads through several pieces, and
so it counts once. So does an element of row or column k, before and after the step, if the path to the value after it
goes on to the value before: this is the one source of the class.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import islpy as isl

from shorthaul.affine.bounds.partition.candidates import Candidate, Instance, candidate
from shorthaul.affine.bounds.partition.k_partition import partition
from shorthaul.affine.bounds.partition.parts import Part, sets_of, union_of_maps
from shorthaul.affine.bounds.partition.paths import Path, with_starts
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.subspaces import Subspace, kernel
from shorthaul.affine.tuning import ABOUT_THE_SAME, PARTITION_OPERATIONS

_Shape = tuple[tuple[bool, Subspace], ...]


def merged_pieces(flow: DataFlow, found: Sequence[Candidate], where: tuple[Instance, ...]) -> list[Candidate]:
    """Return arguments over all pieces of a statement that are worth as much as theirs, with fewer sources."""
    groups: dict[tuple[str, _Shape], list[Candidate]] = {}
    for item in sorted(found, key=lambda item: -item.worth(0)):
        part = item.argument.parts[0]
        alike = groups.setdefault((part.statement, _shape(part)), [])
        if all(part.domain.intersect(other.argument.parts[0].domain).is_empty() for other in alike):
            alike.append(item)
    several = (group for group in groups.values() if len(group) > 1)
    return list(results_within(PARTITION_OPERATIONS, several, lambda alike: _merged(alike, flow, where)))


def _merged(alike: Sequence[Candidate], flow: DataFlow, where: tuple[Instance, ...]) -> Candidate | None:
    parts = tuple(_sorted(item.argument.parts[0]) for item in alike)
    for family, path in enumerate(parts[0].paths):
        if not path.is_chain:
            parts = _with_one_source(parts, family, flow)
    argument = partition(parts, isl.UnionSet("{ }"), symmetric=False)
    if argument is None or len(argument.parts) < len(parts):
        return None
    made = candidate(argument, flow, where)
    sizes = where[0].sizes(flow.program.parameters)
    known = sum(_sources(item, sizes) for item in alike)
    worth = sum(item.worth(0) for item in alike)
    return made if made.worth(0) > ABOUT_THE_SAME * worth and _sources(made, sizes) < known else None


def _sources(item: Candidate, sizes: dict[str, int]) -> int:
    return sum(card(part).at(sizes) for part in sets_of(item.argument.sources))


def _shape(part: Part) -> _Shape:
    return tuple((path.is_chain, path.kernel) for path in _sorted(part).paths)


def _sorted(part: Part) -> Part:
    return replace(part, paths=tuple(sorted(part.paths, key=lambda path: (not path.is_chain, path.kernel))))


def _with_one_source(parts: tuple[Part, ...], family: int, flow: DataFlow) -> tuple[Part, ...]:
    """Return the parts with paths that go on to the source of the class in another part, where that makes it one."""
    paths = list(dict.fromkeys(part.paths[family] for part in parts))
    if _have_one_source(parts, family):
        return parts
    for last in paths:
        options = [[path] if path is last else list(_longer(path, flow)) for path in paths]
        for chosen in itertools.product(*options):
            step()
            instead = dict(zip(paths, chosen, strict=True))
            made = tuple(_with_path(part, family, instead[part.paths[family]]) for part in parts)
            if _have_one_source(made, family):
                return made
    return parts


def _longer(path: Path, flow: DataFlow) -> Iterator[Path]:
    """Yield a broadcast that goes on from its source, a statement, to what that one reads."""
    for tag in dict.fromkeys(item.reference.tag for item in flow.into(path.source)) if not path.is_input else ():
        level = path.levels[-1].apply_range(with_starts(flow, path.source, tag))
        yield replace(path, levels=(*path.levels, level), references=(*path.references, tag))


def _with_path(part: Part, family: int, path: Path) -> Part:
    return replace(part, paths=(*part.paths[:family], path, *part.paths[family + 1 :]))


def _have_one_source(parts: Sequence[Part], family: int) -> bool:
    """True if the sources of a class are one vertex in all parts together."""
    rows = kernel(parts[0].paths[family].kernel, len(parts[0].order))
    ends = (part.embedding(rows).reverse().apply_range(part.all_levels[family][-1]) for part in parts)
    return bool(union_of_maps(ends).is_single_valued())
