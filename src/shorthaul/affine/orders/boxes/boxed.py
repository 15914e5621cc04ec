"""The best boxes for a phase: its space, the cells that it touches, and which loops may be cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import islpy as isl

from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow
from shorthaul.affine.orders.boxes.cells import Cells
from shorthaul.affine.orders.boxes.search import BoxSearch, Found, Level
from shorthaul.affine.orders.boxes.steps import Box, BoxStep
from shorthaul.affine.orders.placement import (
    Placement,
    Row,
    Signs,
    function_rows,
    integer_solution,
    placement_map,
    signs_of,
)
from shorthaul.affine.orders.tile_steps import Step

_SET = isl.dim_type.set
#: Loops that run one by one outside, and those that may be tiled.
Band = tuple[tuple[int, ...], tuple[int, ...]]


def boxed(
    flow: DataFlow,
    step: Step,
    conflicts: Conflicts,
    sizes: Mapping[str, int],
    words: tuple[int, ...],
    slack: float = 0.0,
) -> BoxStep | None:
    """Return ``step`` in the best boxes found at ``sizes`` (every parameter), None if it has none.

    ``words`` are the capacities of one memory or several, the largest first. For several, boxes are cut into boxes;
    every memory counts by the least loads found for it alone. Rows of one cell may cost a share of ``slack`` less.
    """
    if step.phase is None:
        return None
    placement = step.phase.placement
    space = _ranges(flow, placement, sizes)
    cells = None if space is None else _cells(flow, step, placement, sizes)
    if space is None or cells is None:
        return None
    first, extents = space
    bands = list(_tileable(_signs(conflicts, placement), len(extents)))
    alone = {
        (band, item): BoxSearch(cells, extents, *band, [Level(item)], slack).best() for band in bands for item in words
    }
    best = min((found for band in bands if (found := alone[band, words[0]])), key=_value, default=None)
    if len(words) > 1 and best is not None:
        best = _nested(cells, extents, words, alone, slack)
    if best is None:
        return None
    return BoxStep(step, tuple(Box(*item, first) for item in best.loops), words, cells, extents, sizes)


def _nested(
    cells: Sequence[Cells],
    extents: tuple[int, ...],
    words: tuple[int, ...],
    alone: Mapping[tuple[Band, int], Found | None],
    slack: float,
) -> Found | None:
    """Return the best boxes within boxes, from the best ones ``alone`` by loops and capacity."""
    levels = []
    for item in words:
        values = [found.value for (_, other), found in alone.items() if other == item and found is not None]
        if not values:
            return None
        levels.append(Level(item, 1 / max(1.0, min(values))))
    tried = (
        BoxSearch(cells, extents, *band, levels, slack).best([found.candidate])
        for (band, item), found in alone.items()
        if item == words[-1] and found is not None
    )
    return min((found for found in tried if found is not None), key=_value, default=None)


def _value(found: Found) -> float:
    return found.value


def _ranges(
    flow: DataFlow, placement: Placement, sizes: Mapping[str, int]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the least value and the extent of every coordinate; None where nothing is executed."""
    program, whole = flow.program, None
    for name, rows in placement.items():
        statement = program.by_name[name]
        place = placement_map(name, len(statement.iterators), rows, program.parameters)
        image = statement.domain.apply(place)
        for parameter in program.parameters:
            at = image.find_dim_by_name(isl.dim_type.param, parameter)
            if at >= 0:
                image = image.fix_val(isl.dim_type.param, at, isl.Val(sizes[parameter]))
        whole = image if whole is None else whole.union(image)
    if whole is None or whole.is_empty():
        return None
    ends = [(whole.dim_min_val(at).to_python(), whole.dim_max_val(at).to_python()) for at in range(whole.dim(_SET))]
    return tuple(low for low, _ in ends), tuple(high - low + 1 for low, high in ends)


def _cells(flow: DataFlow, step: Step, placement: Placement, sizes: Mapping[str, int]) -> tuple[Cells, ...] | None:
    """Return the groups of everything that is read; None where an access has no affine form in the coordinates.

    Values of other phases are counted one by one: they need not have a cell each while this phase is executed.
    """
    own = {(use.sink, use.array) for use in step.reads if use.source is None or use.source in step.names}
    arrays = {array for _, array in own}
    inputs = {use.array for use in step.reads if use.source is None}
    found: dict[tuple[str, str | None, tuple[tuple[int, ...], ...]], list[tuple[int, ...]]] = {}

    def note(array: str, source: str | None, sink: str, rows: Sequence[Row] | None) -> bool:
        lines = None if rows is None else _in_coordinates(rows, placement[sink], sizes)
        if lines is not None:
            key = array, source, tuple(line.factors for line in lines)
            found.setdefault(key, []).append(tuple(line.constant for line in lines))
        return lines is not None

    for name in step.names:
        statement = flow.program.by_name[name]
        reads = [item for item in statement.reads if (name, item.array) in own]
        for item in (*reads, *([statement.write] if statement.write.array in arrays else [])):
            if not note(item.array, None, name, function_rows(item.relation)):
                return None
    for use in step.reads:
        is_foreign = use.source is not None and use.source not in step.names
        if is_foreign and not note(use.array, use.source, use.sink, use.rows):
            return None
    result = []
    for (array, source, factors), constants in found.items():
        spread = tuple(max(values) - min(values) for values in zip(*constants, strict=True))
        groups = sum((array, source) == known[:2] for known in found)
        fresh = source is None and array not in inputs and groups == 1
        result.append(Cells(array, factors, spread, fresh))
    return tuple(result)


def _in_coordinates(own: Sequence[Row], rows: Sequence[Row], sizes: Mapping[str, int]) -> list[Row] | None:
    """Return functions of the iterators as functions of the coordinates, parameters as numbers."""
    result = []
    for row in own:
        weights = integer_solution(tuple(line.factors for line in rows), row.factors) if rows else ()
        if weights is None:
            return None
        constant = row.constant + sum(factor * sizes[name] for name, factor in row.parameters)
        for weight, line in zip(weights, rows, strict=True):
            constant -= weight * (line.constant + sum(factor * sizes[name] for name, factor in line.parameters))
        result.append(Row(weights, (), constant))
    return result


def _signs(conflicts: Conflicts, placement: Placement) -> frozenset[Signs]:
    """Return the signs of distances between instances that share memory, one of them writing."""
    program = conflicts.program
    result: set[Signs] = set()
    for first, second in product(placement, repeat=2):
        for _, _, pairs in conflicts.between(first, second):
            ends = [
                placement_map(name, len(program.by_name[name].iterators), placement[name], program.parameters)
                for name in (first, second)
            ]
            result |= signs_of(pairs.apply_domain(ends[0]).apply_range(ends[1]).deltas())
    return frozenset(result)


def _tileable(signs: frozenset[Signs], width: int) -> Iterator[Band]:
    """Yield loops that run one by one outside, with the others that may be tiled, each with more of these."""
    known: set[frozenset[int]] = set()
    for count in range(min(width, 3)):
        for outer in combinations(range(width), count):
            rest = [item for item in signs if not any(item[at] for at in outer)]
            if not all(next((item[at] for at in outer if item[at]), 1) > 0 for item in signs):
                continue
            tiled = [at for at in range(width) if at not in outer and all(item[at] >= 0 for item in rest)]
            reach = frozenset((*outer, *tiled))
            if not any(reach <= other for other in known):
                known.add(reach)
                yield outer, tuple(tiled)
