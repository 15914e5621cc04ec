"""The best boxes for a phase: its space, the cells that it touches, and which loops may be cut."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from math import inf

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow
from shorthaul.affine.orders.boxes.cells import Cells
from shorthaul.affine.orders.boxes.grouping import Grouping
from shorthaul.affine.orders.boxes.regions import union
from shorthaul.affine.orders.boxes.search import BoxSearch, Found, Level, edges_of
from shorthaul.affine.orders.boxes.steps import Box, BoxStep
from shorthaul.affine.orders.placement import (
    Placement,
    Signs,
    placement_map,
    signs_of,
)
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.tuning import MOST_BOX_ROUNDS, MOST_EDGES_NEAR, WIDEST_FREE_ORDER

_SET = isl.dim_type.set
#: Loops that run one by one outside, and those that may be tiled.
Band = tuple[tuple[int, ...], tuple[int, ...]]


def boxed(
    flow: DataFlow,
    step: Step,
    bands: Sequence[Band],
    sizes: Mapping[str, int],
    words: tuple[int, ...],
    slack: float = 0.0,
) -> BoxStep | None:
    """Return ``step`` in the best boxes found at ``sizes`` (every parameter), None if it has none.

    ``bands`` are its loops that may be cut (see :func:`tileable`).
    ``words`` are the capacities of one memory or several, the largest first. For several, boxes are cut into boxes;
    every memory counts by the least loads found for it alone. Rows of one cell may cost a share of ``slack`` less.
    """
    if step.phase is None:
        return None
    placement = step.phase.placement
    grouping = Grouping(flow, step, placement, sizes)
    places = union(grouping.image(name, flow.program.by_name[name].domain) for name in placement)
    if places.is_empty():
        return None
    first, extents = _ranges(places)
    cells = grouping.cells(_box(first, extents))
    if cells is None:
        return None
    alone = {
        (band, item): BoxSearch(cells, extents, *band, [Level(item)], slack).best() for band in bands for item in words
    }
    best = min((found for band in bands if (found := alone[band, words[0]])), key=_value, default=None)
    if len(words) > 1 and best is not None:
        best = _nested(cells, extents, words, alone, slack)
    if best is None:
        return None
    return BoxStep(
        step,
        tuple(Box(*item, first, 0 if level else best.outer) for level, item in enumerate(best.loops)),
        words,
        cells,
        extents,
        sizes,
    )


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


def refined(step: BoxStep) -> BoxStep:
    """Return boxes of one level with edges and an order of loops that suit the regions in which cells are accessed."""
    if len(step.boxes) > 1 or not any(item.is_cut for item in step.cells):
        return step
    best, least = step, step.loads(step.sizes, step.capacities[0])
    for _ in range(MOST_BOX_ROUNDS):
        effort.step()
        start = best
        for made in _near(start):
            loads = made.loads(made.sizes, made.capacities[0]) if made.fits else inf
            if loads < least:
                best, least = made, loads
        if best is start:
            break
    return best


def _near(step: BoxStep) -> Iterator[BoxStep]:
    """Yield boxes near ``step``: one edge changed, one and another as long as fits, and loops in other orders."""
    (box,) = step.boxes
    free = range(box.outer, len(box.loops))

    def made(edges: Mapping[int, int]) -> BoxStep:
        return replace(step, boxes=(replace(box, edges=tuple(edges.get(at, own) for at, own in enumerate(box.edges))),))

    for at in free:
        options = sorted({*edges_of(step.extents[box.loops[at]]), box.edges[at]})
        place = options.index(box.edges[at])
        for value in options[max(0, place - MOST_EDGES_NEAR) : place + MOST_EDGES_NEAR + 1]:
            yield made({at: value})
            for other in (item for item in free if item != at):
                extent = step.extents[box.loops[other]]
                longest = bisect(range(1, extent + 1), False, key=lambda edge: not made({at: value, other: edge}).fits)
                if longest:
                    yield made({at: value, other: longest})
                    yield made({at: value, other: -(-extent // -(-extent // longest))})
    for inner in permutations(free) if len(free) <= WIDEST_FREE_ORDER else ():
        order = (*range(box.outer), *inner)
        loops, edges = tuple(box.loops[at] for at in order), tuple(box.edges[at] for at in order)
        yield replace(step, boxes=(replace(box, loops=loops, edges=edges),))


def _value(found: Found) -> float:
    return found.value


def _ranges(places: isl.Set) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the least value and the extent of every coordinate."""
    ends = [(places.dim_min_val(at).to_python(), places.dim_max_val(at).to_python()) for at in range(places.dim(_SET))]
    return tuple(low for low, _ in ends), tuple(high - low + 1 for low, high in ends)


def _box(first: Sequence[int], extents: Sequence[int]) -> isl.Set:
    names = [f"y{at}" for at in range(len(first))]
    text = " and ".join(
        f"{low} <= {name} < {low + extent}" for name, low, extent in zip(names, first, extents, strict=True)
    )
    return isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [{', '.join(names)}] : {text or 'true'} }}")


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


def tileable(conflicts: Conflicts, placement: Placement) -> Iterator[Band]:
    """Yield loops that run one by one outside, with the others that may be tiled, each with more of these."""
    signs, width = _signs(conflicts, placement), len(next(iter(placement.values())))
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
