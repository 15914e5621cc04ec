"""K-partitions over several statements that share vertices, put into one space.

Two products with one common factor are one product with a wider one: its instances lie beside one another in one space,
and every value of the common factor serves both. What the sum of one product is, a factor of the other one may be, as
in a layer and the gradient of its weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import islpy as isl

from shorthaul.affine.bounds.partition.candidates import Candidate, Instance, by_size, candidate, candidates
from shorthaul.affine.bounds.partition.k_partition import partition
from shorthaul.affine.bounds.partition.parts import Part, sets_of, union_of_maps, with_own
from shorthaul.affine.bounds.partition.paths import Path, with_starts
from shorthaul.affine.bounds.partition.symmetric_reads import away_from_diagonal
from shorthaul.affine.effort import limited, remembered, results_within, step
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.subspaces import Subspace, kernel, span
from shorthaul.affine.tuning import ABOUT_THE_SAME, MOST_ARGUMENTS, MOST_MERGED_LOOPS, PARTITION_OPERATIONS

Shape = tuple[tuple[bool, Subspace], ...]


def partitions(
    flow: DataFlow,
    where: tuple[Instance, ...],
    sizes: Mapping[str, int],
    *,
    symmetric: bool,
    without: frozenset[str] = frozenset(),
) -> list[Candidate]:
    """Return arguments for every statement not in ``without`` and over several.

    Groups of statements come before temporaries, which hardly ever tell more, and before pairs, which are many.
    """
    early = groups_of_statements(flow, where, sizes, symmetric=symmetric, without=without)
    alone = candidates(flow, itertools.chain(*by_size(flow, sizes, without)), where, symmetric=symmetric)
    merged = merged_statements(flow, alone, where)
    known = {id(item) for item in (*alone, *merged)}
    return [*alone, *merged, *(item for item in early if id(item) not in known)]


def groups_of_statements(
    flow: DataFlow,
    where: tuple[Instance, ...],
    sizes: Mapping[str, int],
    *,
    symmetric: bool,
    without: frozenset[str] = frozenset(),
) -> list[Candidate]:
    """Return arguments for every statement but temporaries, and over groups of them; what is known costs nothing."""
    alone = candidates(flow, by_size(flow, sizes, without)[0], where, symmetric=symmetric)
    return [*alone, *_groups(flow, _single(alone), where)]


def merged_statements(flow: DataFlow, found: Sequence[Candidate], where: tuple[Instance, ...]) -> list[Candidate]:
    """Return arguments over two statements or more that share vertices, and over pieces of one statement."""
    single = _single(found)
    few = [item for item in single if not _is_wide(item.argument.parts[0])]
    groups = _groups(flow, single, where)
    pieces = _pieces(flow, few, where)
    return [*_pairs(flow, few, where), *groups, *pieces]


def _single(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the arguments on one statement that may be merged."""
    return [item for item in found if len(item.argument.parts) == 1 and item.argument.symmetry is None]


def _is_wide(part: Part) -> bool:
    """True if projections have many paths each: their pairings are too many to try."""
    return len(part.paths) > max(3, len(part.order))


def _pairs(flow: DataFlow, single: Sequence[Candidate], where: tuple[Instance, ...]) -> list[Candidate]:
    """Return arguments over two statements whose loops may stand for one another in any order."""
    result: list[Candidate] = []
    best_ones = _best_of_statements(single)
    for first, second in itertools.combinations(single, 2):
        one, other = first.argument.parts[0], second.argument.parts[0]
        if (
            one.statement == other.statement
            or len(one.order) != len(other.order)
            or len(one.order) > MOST_MERGED_LOOPS
            or len(one.paths) != len(other.paths)
            or first.argument.spill.intersect(second.argument.spill).is_empty()
        ):
            continue
        best = _merge(one, other, flow, where)
        if {id(first), id(second)} <= best_ones and (best is None or max(best.argument.folds) > 1):
            tried = (best, _merge(one, other, flow, where, mixed=True))
            best = max(filter(None, tried), key=lambda item: item.worth(0), default=None)
        if best is not None and best.worth(0) > max(first.worth(0), second.worth(0)) * 1.01:
            result.append(best)
    result.sort(key=lambda item: -item.worth(0))
    return result[:MOST_ARGUMENTS]


def _best_of_statements(single: Sequence[Candidate]) -> set[int]:
    """Return the arguments, by identity, that are worth most of those of their statements."""
    best: dict[str, Candidate] = {}
    for item in sorted(single, key=lambda item: -item.worth(0)):
        best.setdefault(item.argument.parts[0].statement, item)
    return set(map(id, best.values()))


def _merge(
    one: Part, other: Part, flow: DataFlow, where: tuple[Instance, ...], *, mixed: bool = False
) -> Candidate | None:
    """Return the best argument on both: chains with chains or, ``mixed``, also chains of one with broadcasts."""
    best: Candidate | None = None
    wanted = [(path.is_chain or mixed, path.classes) for path in one.paths]
    for order in itertools.permutations(one.order):
        placed = {}
        for path in other.paths:
            rows = [[row[at] for at in order] for row in path.classes]
            placed[id(path)] = (path.is_chain or mixed, span(rows))
        for paths in itertools.permutations(other.paths):
            if [placed[id(path)] for path in paths] != wanted:
                continue
            parts = (one, Part(other.statement, other.domain, paths, order, ground=other.ground))
            try:
                with limited(PARTITION_OPERATIONS):
                    argument = partition(parts, isl.UnionSet("{ }"), symmetric=False)
                if argument is not None and len(argument.parts) == 2:
                    argument = replace(argument, far=away_from_diagonal(argument))
                    made = candidate(argument, flow, where)
                    if best is None or made.worth(0) > best.worth(0):
                        best = made
            except isl.Error:
                continue
    return best


def _groups(flow: DataFlow, single: Sequence[Candidate], where: tuple[Instance, ...]) -> list[Candidate]:
    """Return arguments over all statements that have one shape, their loops in order, and share vertices."""
    shapes: dict[Shape, dict[str, Candidate]] = {}
    for item in sorted(single, key=lambda item: -item.worth(0)):
        part = item.argument.parts[0]
        shapes.setdefault(_shape(part.paths), {}).setdefault(part.statement, item)
    result = []
    for alike in shapes.values():
        for group in _sharing(list(alike.values())):
            least = max(item.worth(0) for item in group)
            key = _groups, *map(id, group)
            _, made = remembered(flow.known, key, partial(_made_of, group, flow, where))
            result += [item for item in made if item.worth(0) > 1.01 * least]
    return result


def _made_of(
    group: Sequence[Candidate], flow: DataFlow, where: tuple[Instance, ...]
) -> tuple[Sequence[Candidate], list[Candidate]]:
    """Return a group, so that no others get the identities of its arguments, and the arguments on all of it."""
    return group, _of_group([_sorted(item.argument.parts[0]) for item in group], flow, where)


def _of_group(parts: Sequence[Part], flow: DataFlow, where: tuple[Instance, ...]) -> list[Candidate]:
    """Return arguments on parts, where these meet for every coordinate along which they are moved apart.

    Where temporaries are on paths of several families they are own vertices.
    """
    found: list[Candidate] = []
    best, owning = 0.0, with_own(parts)
    for tried in (parts, owning) if any(part.own for part in owning) else (parts,):
        for along in range(len(parts[0].order)):
            try:
                with limited(PARTITION_OPERATIONS):
                    argument = partition(tried, isl.UnionSet("{ }"), symmetric=False, along=along)
                made = None if argument is None else candidate(argument, flow, where)
            except isl.Error:
                continue
            if made is not None and made.worth(0) > 1.01 * best:
                best = made.worth(0)
                found.append(made)
            if argument is not None and argument.moved != along:
                break  # all ways to move them are the same
    return found


def _shape(paths: Sequence[Path]) -> Shape:
    return tuple(sorted((path.is_chain, path.classes) for path in paths))


def _sorted(part: Part) -> Part:
    return replace(part, paths=tuple(sorted(part.paths, key=lambda path: (path.is_chain, path.classes, path.source))))


def _sharing(items: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return the groups of two or more that share vertices, directly or through others."""
    groups: list[list[Candidate]] = []
    for item in items:
        near = [
            group
            for group in groups
            if any(not item.argument.spill.intersect(other.argument.spill).is_empty() for other in group)
        ]
        groups = [group for group in groups if group not in near] + [[*itertools.chain(*near), item]]
    return [group for group in groups if len(group) > 1]


# -- pieces of one statement


def _pieces(flow: DataFlow, found: Sequence[Candidate], where: tuple[Instance, ...]) -> list[Candidate]:
    """Return arguments over all pieces of a statement that are worth as much as theirs, with fewer sources."""
    groups: dict[tuple[str, Shape], list[Candidate]] = {}
    for item in sorted(found, key=lambda item: -item.worth(0)):
        part = item.argument.parts[0]
        alike = groups.setdefault((part.statement, _shape(part.paths)), [])
        if all(part.domain.intersect(other.argument.parts[0].domain).is_empty() for other in alike):
            alike.append(item)
    several = (group for group in groups.values() if len(group) > 1)
    return list(results_within(PARTITION_OPERATIONS, several, lambda alike: _of_pieces(alike, flow, where)))


def _of_pieces(alike: Sequence[Candidate], flow: DataFlow, where: tuple[Instance, ...]) -> Candidate | None:
    parts = tuple(_chains_first(item.argument.parts[0]) for item in alike)
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


def _chains_first(part: Part) -> Part:
    """Return a part with its chains first: what two families share is taken from the first of them."""
    return replace(part, paths=tuple(sorted(part.paths, key=lambda path: (not path.is_chain, path.classes))))


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
    rows = kernel(parts[0].paths[family].classes, len(parts[0].order))
    ends = (part.embedding(rows).reverse().apply_range(part.all_levels[family][-1]) for part in parts)
    return bool(union_of_maps(ends).is_single_valued())
