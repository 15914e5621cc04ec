"""The best boxes for a phase: its space, the cells that it touches, and which loops may be cut."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations, product
from math import inf

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow
from shorthaul.affine.integer_sets.signs import Signs, signs_of
from shorthaul.affine.orders.boxes.alive import Alive
from shorthaul.affine.orders.boxes.cells import Cells
from shorthaul.affine.orders.boxes.grouping import Grouping
from shorthaul.affine.orders.boxes.search import BoxSearch, Found, Level, edges_of, whole_strips
from shorthaul.affine.orders.boxes.skewed import in_windows
from shorthaul.affine.orders.boxes.steps import Box, BoxStep, Spilled
from shorthaul.affine.orders.boxes.storage import Storage
from shorthaul.affine.orders.placement import Distances, Placement, placement_map
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.tuning import (
    LEAST_PASSING,
    LEAST_SPILLED,
    MOST_ALIVE_ROUNDS,
    MOST_BOX_ROUNDS,
    MOST_EDGES_NEAR,
    MOST_PLACES_COUNTED,
    MOST_TOUCHED,
    NEAR_THE_INPUTS,
    NO_SLACK,
    SPILLING_ROOM,
    STRIP,
    WIDEST_FREE_ORDER,
    Slack,
)

#: Loops that run one by one outside, and those that may be tiled.
Band = tuple[tuple[int, ...], tuple[int, ...]]


def boxed(
    flow: DataFlow,
    step: Step,
    bands: Sequence[Band],
    sizes: Mapping[str, int],
    words: tuple[int, ...],
    slack: Slack = NO_SLACK,
    storage: Storage | None = None,
    stepped: bool = False,
    fixed: Mapping[int, int] | None = None,
    *,
    spilling: bool = False,
    inside: Sequence[tuple[int, ...]] = (),
) -> BoxStep | None:
    """Return ``step`` in the best boxes found at ``sizes`` (every parameter), None if it has none.

    ``bands`` are its loops that may be cut (see :func:`tileable`), with the program's memory or with ``storage``.
    ``words`` are the capacities of one memory or several, the largest first. For several, boxes are cut into boxes;
    every memory counts by the least loads found for it alone. Rows of one cell, and boxes
    without room for strips, count as the shares of ``slack`` more.
    Where the phase is ``stepped``, nothing is kept from one value of the first coordinate to the next. Loops that run
    one by one have edges of 1, or those ``fixed``. Inside of boxes instances are in program order, or sorted by all
    coordinates but one, as ``inside`` has them.
    """
    again = partial(boxed, flow, step, bands, slack=slack, storage=storage, stepped=stepped, fixed=fixed, inside=inside)
    made = partial(_boxed, flow, sizes=sizes, words=words, slack=slack, storage=storage, stepped=stepped, fixed=fixed)
    made = partial(made, again=partial(again, spilling=spilling), spilling=spilling, inside=inside)
    found = made(step, bands)
    moved = None if step.phase is None or spilling else in_windows(step.phase.placement, step.reads)
    if step.phase is None or moved is None:
        return found
    placement, uncut = moved
    parts = [(outer, tuple(at for at in tiled if at not in uncut)) for outer, tiled in bands if uncut.isdisjoint(outer)]
    other = made(replace(step, phase=replace(step.phase, placement=placement)), [*dict.fromkeys(parts)])
    return min((item for item in (found, other) if item is not None), key=lambda item: item.rate, default=None)


def _boxed(
    flow: DataFlow,
    step: Step,
    bands: Sequence[Band],
    *,
    sizes: Mapping[str, int],
    words: tuple[int, ...],
    slack: Slack,
    storage: Storage | None,
    stepped: bool,
    fixed: Mapping[int, int] | None,
    spilling: bool,
    inside: Sequence[tuple[int, ...]],
    again: Callable[..., BoxStep | None],
) -> BoxStep | None:
    """Return ``step`` in the best boxes found with its placement."""
    if step.phase is None:
        return None
    placement = step.phase.placement
    grouping = Grouping(storage or Storage(flow), step, placement, sizes, stepped=stepped)
    first, extents = grouping.first, grouping.extents
    cells = grouping.cells() if grouping.extents else None
    if cells is None:
        return None
    still = grouping.still if slack.strips else frozenset()
    alone = {
        (band, item): BoxSearch(
            cells, extents, *band, [Level(item)], slack, still, small=stepped and slack == NO_SLACK, fixed=fixed
        ).optima()
        for band in bands
        for item in words
    }
    found = [item for band in bands for item in alone[band, words[0]]]
    if len(words) > 1:
        found = [item] if found and (item := _nested(cells, extents, words, alone, slack, still)) is not None else []
    alive = grouping.alive() if slack == NO_SLACK and len(words) == 1 else None

    def as_step(item: Found) -> BoxStep:
        loops = tuple(Box(*boxes, first, 0 if level else item.outer) for level, boxes in enumerate(item.loops))
        return BoxStep(step, loops, words, cells, extents, sizes, still, alive, again=again)

    made = [as_step(item) for item in found]
    least = None if alive is None else _least(made, found)
    if alive is not None and (
        least is None or least.passing >= LEAST_PASSING * words[0] or (stepped and _is_far(least))
    ):
        for band in bands:
            larger = _larger(as_step, partial(BoxSearch, cells, extents, *band, small=stepped, fixed=fixed), words[0])
            if larger is not None:
                found.append(larger)
                made.append(as_step(larger))
    if (stepped or spilling) and alive is not None:
        for band in bands:
            more = partial(BoxSearch, cells, extents, *band, small=stepped, fixed=fixed)
            spilled = _spilled(as_step, more, grouping, words[0], min((item.rate for item in made), default=inf))
            if spilled is not None:
                return spilled
    if alive is not None and made:
        made += _innermost(made[0], grouping, bands, inside)
    if len(made) > 1 and any(item.is_cut for item in cells):
        return _least(made, found, slack, smallest=stepped)
    return made[min(range(len(found)), key=lambda at: found[at].value)] if made else None


def _least(
    made: Sequence[BoxStep], found: Sequence[Found], slack: Slack = NO_SLACK, *, smallest: bool = False
) -> BoxStep | None:
    """Return the boxes that load least, of several the ``smallest``, or the first; None of none.

    Those that do by estimate, as ``found``, are counted first: of others it is soon told that they load more.
    """
    best: tuple[float, int, int] = inf, 0, len(made)
    for at in sorted(range(len(made)), key=lambda at: found[at].value if at < len(found) else 0.0):
        step = made[at]
        share = step.share(slack)
        loads = step.loads_within(step.capacities[0], best[0] / share) * share
        if loads <= best[0]:
            best = min(best, (loads, smallest * step.room, at))
    return made[best[2]] if best[2] < len(made) else next(iter(made), None)


def _is_far(step: BoxStep) -> bool:
    """True if boxes load more than each of their groups has to once."""
    once = sum(int(item.count(step.extents)) - item.fresh for item in step.cells)
    return NEAR_THE_INPUTS * step.rate > once


def _larger(
    as_step: Callable[[Found], BoxStep], search: Callable[[Sequence[Level]], BoxSearch], words: int
) -> Found | None:
    """Return boxes that touch more than ``words``, of which no more are alive at a time; None if none are found."""
    capacity = MOST_TOUCHED * words
    for _ in range(MOST_ALIVE_ROUNDS):
        found = search([Level(capacity)]).best()
        if found is None:
            return None
        made = as_step(found)
        if made.touched <= words:
            return None
        if made.fits:
            return found
        capacity = min(capacity, made.touched) * words // (made.room + 1)
    return None


def _innermost(
    like: BoxStep, grouping: Grouping, bands: Sequence[Band], inside: Sequence[tuple[int, ...]]
) -> Iterator[BoxStep]:
    """Yield boxes, as long as fits along one loop, inside of which this loop is innermost and others run one by one.

    What does not depend on it is used in all of the box at once, so little of that is alive.
    """
    for order in inside:
        (wide,) = {*range(len(like.extents))}.difference(order)
        alive = grouping.alive(order)
        for loop in order:
            if not any(not outer and {wide, loop} <= {*tiled} for outer, tiled in bands):
                continue

            def made(edge: int, loops: tuple[int, ...] = (wide, loop), alive: Alive = alive) -> BoxStep:
                return replace(like, boxes=(Box(loops, (edge, 1), grouping.first),), alive=alive)

            longest = bisect(range(1, like.extents[wide] + 1), False, key=lambda edge: not made(edge).fits)
            if longest:
                yield made(longest)


def _spilled(
    as_step: Callable[[Found], BoxStep],
    search: Callable[[Sequence[Level]], BoxSearch],
    grouping: Grouping,
    words: int,
    least: float,
) -> BoxStep | None:
    """Return boxes for which groups are held in part, if these load less than ``least``; None otherwise.

    Cells of these groups are in one box only, or in all of them, so it is settled for each whether it is held; small
    groups are held whole.
    """
    best: BoxStep | None = None
    for share in SPILLING_ROOM:
        found = search([Level(int(share * words))]).best()
        made = None if found is None else replace(as_step(found), alive=None)
        if made is None or made.fits:
            continue
        settled = [
            number
            for number, item in enumerate(made.cells)
            if (item.is_injective or item.loops.isdisjoint(made.box.loops))
            and not any(other.among and other.name == item.name for other in made.cells)
            and item.count(made.spans) > LEAST_SPILLED * words
        ]
        made = replace(made, spilled=tuple(Spilled(number, *grouping.uses(number)) for number in settled))
        made = replace(made, spilled=tuple(_by_place(item, made, grouping) for item in made.spilled))
        if made.fits and made.rate < (least if best is None else best.rate):
            best = made
    return best


def _by_place(item: Spilled, step: BoxStep, grouping: Grouping) -> Spilled:
    """Return a group with its reads at every place of the outermost loop over boxes, where these tell its cells."""
    loop = next(iter(step.box.loops), -1)
    if grouping.stepped or loop not in step.cells[item.group].loops or item.group not in (step.left_out or {}):
        return item
    if step.extents[loop] > MOST_PLACES_COUNTED:
        return item
    return replace(item, along=loop, by_place=grouping.uses_along(item.group, loop))


def _nested(
    cells: Sequence[Cells],
    extents: tuple[int, ...],
    words: tuple[int, ...],
    alone: Mapping[tuple[Band, int], Sequence[Found]],
    slack: Slack,
    still: frozenset[tuple[int, int]],
) -> Found | None:
    """Return the best boxes within boxes, from the best ones ``alone`` by loops and capacity."""
    levels = []
    for item in words:
        values = [found.value for (_, other), optima in alone.items() if other == item for found in optima]
        if not values:
            return None
        levels.append(Level(item, 1 / max(1.0, min(values))))
    tried = (
        BoxSearch(cells, extents, *band, levels, slack, still).best([min(optima, key=_value).candidate])
        for (band, item), optima in alone.items()
        if item == words[-1] and optima
    )
    return min((found for found in tried if found is not None), key=_value, default=None)


def refined(step: BoxStep, slack: Slack = NO_SLACK) -> BoxStep:
    """Return boxes of one level with edges and an order of loops that suit the regions in which cells are accessed."""
    if len(step.boxes) > 1 or not any(item.is_cut for item in step.cells):
        return step

    if step.touched <= step.capacities[0]:
        step = replace(step, alive=None)  # what is alive takes long to count

    def counted(made: BoxStep) -> float:
        return made.loads(made.sizes, made.capacities[0]) * made.share(slack)

    best, least = step, counted(step)
    with suppress(effort.OutOfEffortError):
        for _ in range(MOST_BOX_ROUNDS):
            effort.step()
            start = best
            for made in _near(start):
                effort.step(0)  # looks at the clock: a count takes long where boxes are small
                loads = counted(made) if made.fits else inf
                if loads < least:
                    best, least = made, loads
            if best is start:
                break
    return best


def _near(step: BoxStep) -> Iterator[BoxStep]:
    """Yield boxes near ``step``: one edge changed, one and another as long as fits, loops in other orders.

    In another order edges go with their loops, or stay where they are.
    """
    (box,) = step.boxes
    free, strips = range(box.outer, len(box.loops)), {at for at, _ in step.still}

    def made(edges: Mapping[int, int]) -> BoxStep:
        return replace(step, boxes=(replace(box, edges=tuple(edges.get(at, own) for at, own in enumerate(box.edges))),))

    for at in free:
        known = edges_of(step.extents[box.loops[at]])
        options = sorted({*(whole_strips(known) if box.loops[at] in strips else known), box.edges[at]})
        place = options.index(box.edges[at])
        for value in options[max(0, place - MOST_EDGES_NEAR) : place + MOST_EDGES_NEAR + 1]:
            yield made({at: value})
            for other in (item for item in free if item != at):
                extent = step.extents[box.loops[other]]
                longest = bisect(range(1, extent + 1), False, key=lambda edge: not made({at: value, other: edge}).fits)
                if longest >= STRIP and box.loops[other] in strips:
                    yield made({at: value, other: longest // STRIP * STRIP})
                elif longest:
                    yield made({at: value, other: longest})
                    yield made({at: value, other: -(-extent // -(-extent // longest))})
    for inner in permutations(free) if len(free) <= WIDEST_FREE_ORDER else ():
        order = (*range(box.outer), *inner)
        loops, edges = tuple(box.loops[at] for at in order), tuple(box.edges[at] for at in order)
        yield from (replace(step, boxes=(replace(box, loops=loops, edges=item),)) for item in {edges, box.edges})


def _value(found: Found) -> float:
    return found.value


def signs_by_array(
    conflicts: Conflicts, placement: Placement, fixed: Mapping[int, int] | None = None
) -> dict[str, frozenset[Signs]]:
    """Return the signs of distances between instances that share memory, one of them writing, by array.

    Along a coordinate with an edge that is ``fixed``, less than this counts as 0: both may be in one box.
    """
    program = conflicts.program
    result: dict[str, frozenset[Signs]] = {}
    for first, second in product(placement, repeat=2):
        for array, key, pairs in conflicts.between(first, second):
            known = key, placement[first], placement[second], *sorted((fixed or {}).items())
            if known not in conflicts.known:
                ends = [
                    placement_map(name, len(program.by_name[name].iterators), placement[name], program.parameters)
                    for name in (first, second)
                ]
                distances = pairs.apply_domain(ends[0]).apply_range(ends[1]).deltas()
                conflicts.known[known] = signs_of(_in_boxes(distances, fixed) if fixed else distances)
            result[array] = result.get(array, frozenset()) | conflicts.known[known]
    return result


def passed_along(distances: Distances, placement: Placement) -> dict[str, frozenset[int]]:
    """Return the coordinates in which values are read elsewhere than where they are computed, by array.

    Arrays that outlive the region, or are used by other statements, are left out. Boxes that are not cut along these
    coordinates need no order for an array: a box has all instances that use a value, and as these are in program order,
    or that of places, nothing overwrites it between the instance that computes it and one that reads it.
    """
    flow = distances.flow
    result: dict[str, frozenset[int]] = {name: frozenset() for name in flow.program.code.private}
    for at, item in enumerate(flow.flows):
        array, ends = item.reference.array, {item.source, item.sink}
        if array not in result or ends.isdisjoint(placement):
            continue
        if ends <= placement.keys():
            signs = distances.of_flow(at, placement)
            result[array] |= {at for found in signs for at, sign in enumerate(found) if sign}
        else:
            del result[array]
    return result


def all_signs(by_array: Mapping[str, frozenset[Signs]]) -> frozenset[Signs]:
    """Return the signs of all arrays."""
    return frozenset[Signs]().union(*by_array.values())


def _in_boxes(distances: isl.Set, fixed: Mapping[int, int]) -> isl.Set:
    """Return distances with less than an edge that is ``fixed`` as 0."""
    names = [f"d{at}" for at in range(distances.dim(isl.dim_type.set))]
    counted = [f"s{at}" if at in fixed else name for at, name in enumerate(names)]
    signs = ("{0} >= {1} and s{2} = 1", "0 <= {0} < {1} and s{2} = 0", "{0} < 0 and s{2} = -1")
    parts = [" or ".join(item.format(names[at], edge, at) for item in signs) for at, edge in fixed.items()]
    where = " and ".join(f"({part})" for part in parts)
    text = f"{{ [{', '.join(names)}] -> [{', '.join(counted)}] : {where} }}"
    return distances.apply(isl.Map(text))


def tileable(
    signs: frozenset[Signs], width: int, first: tuple[int, ...] = (), whole: Collection[int] = ()
) -> Iterator[Band]:
    """Yield loops that run one by one outside, with the others that may be tiled, each with more of these.

    ``signs`` are those of distances between instances that have to stay in order; loops in ``first`` run one by one,
    and those in ``whole`` are in none.
    """
    known: set[frozenset[int]] = set()
    others = [at for at in range(width) if at not in first and at not in whole]
    for count in range(min(len(others) + bool(first), 3)):
        for further in combinations(others, count):
            outer = (*first, *further)
            tiled = tuple(at for at in others if at not in outer and keeps((outer, (at,)), signs))
            if not keeps((outer, ()), signs):
                continue
            reach = frozenset((*outer, *tiled))
            if not any(reach <= other for other in known):
                known.add(reach)
                yield outer, tiled


def keeps(band: Band, signs: frozenset[Signs]) -> bool:
    """True if boxes of the loops ``band`` keep the order of instances with these signs of distances."""
    outer, tiled = band
    for item in signs:
        first = next((item[at] for at in outer if item[at]), 0)
        if first < 0 or (not first and any(item[at] < 0 for at in tiled)):
            return False
    return True
