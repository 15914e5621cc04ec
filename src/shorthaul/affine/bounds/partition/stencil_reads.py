"""What instances read of one another at a fixed distance, itself or by way of temporaries, for stencils by levels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from shorthaul.affine.bounds.partition.isoperimetry import Offset
from shorthaul.affine.bounds.partition.parts import thickness
from shorthaul.affine.bounds.partition.paths import affine_steps
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.subspaces import less, unit
from shorthaul.affine.tuning import CHEAP_STEP, LONGEST_LAYER_PATH, MOST_PATH_SETS

_SET = isl.dim_type.set

Direct = Mapping[str, Sequence[tuple[str, Offset, isl.Map]]]
#: Statement, the one that it reads, and the distance.
Way = tuple[str, str, Offset]


@dataclass(frozen=True, slots=True)
class Read:
    """What instances of a statement read of ``source`` at a fixed distance, by way of the temporaries ``by``.

    ``places`` are the names of these and how far they are from the instance.
    """

    source: str
    shift: Offset
    where: isl.Set
    by: tuple[isl.Map, ...] = ()
    places: tuple[tuple[str, Offset], ...] = ()


def direct_reads(flow: DataFlow) -> dict[str, list[tuple[str, Offset, isl.Map]]]:
    """Return for every statement source, distance and relation of what it reads itself at a fixed distance."""
    found: dict[str, list[tuple[str, Offset, isl.Map]]] = {}
    for name in flow.program.by_name:
        steps = affine_steps(flow, name)
        kept = (item for item in steps if item.source is not None and item.matrix == unit(len(item.matrix)))
        found[name] = [(str(item.source), item.shift, item.function) for item in kept if item.shift is not None]
    return found


def moved(name: str, target: str, shift: Offset) -> isl.Map:
    """Return instance -> the one of another statement at a distance."""
    names = [f"x{at}" for at in range(len(shift))]
    values = [f"{x} + {by}" for x, by in zip(names, shift, strict=True)]
    text = f"{{ {name}[{', '.join(names)}] -> {target}[{', '.join(values)}] }}"
    return isl.Map(text)


def shift_map(name: str, target: str, shift: Offset) -> isl.UnionMap:
    """Return :func:`moved` as a relation that others may be united with."""
    return isl.UnionMap.from_map(moved(name, target, shift))


def borders(domains: Mapping[str, isl.Set], reads: Iterable[Way]) -> tuple[isl.UnionSet, isl.UnionSet]:
    """Return what the domains read, and their instances with a successor that is not in them."""
    spill, ends = isl.UnionSet("{ }"), isl.UnionSet("{ }")
    points = {name: isl.UnionSet.from_set(domain) for name, domain in domains.items()}
    for name, source, shift in reads:
        step()
        below = points[name].apply(shift_map(name, source, shift))
        spill, ends = spill.union(below), ends.union(points[source].subtract(below))
    return spill.coalesce(), ends.coalesce()


def own_reads(flow: DataFlow, direct: Direct) -> dict[str, list[Read]]:
    """Return for every statement what it reads, also by way of values that only one thing reads."""
    readers = {name: flow.out_of(name) for name in flow.program.by_name}
    once = {name for name, items in readers.items() if len(items) == 1 and items[0].relation.is_single_valued()}
    return {name: _reads(direct, name, once.__contains__) for name in direct}


def _reads(direct: Direct, name: str, passes: Callable[[str], bool], most: float = math.inf) -> list[Read]:
    """Return up to ``most`` ways in which a statement reads, also by way of what ``passes``."""
    found: list[Read] = []
    front = [Read(source, shift, function.domain(), (function,)) for source, shift, function in direct[name]]
    while front and len(found) < most:
        item, *front = front
        found.append(replace(item, by=item.by[:-1]))
        last = item.by[-1]
        visited = {name, *(place for place, _ in item.places)}
        if item.source in visited or not passes(item.source):
            continue
        for source, shift, function in direct[item.source]:
            step(CHEAP_STEP)
            composed = last.apply_range(function)
            if len(item.by) < LONGEST_LAYER_PATH and len(shift) == len(item.shift) and not composed.is_empty():
                moved = tuple(a + b for a, b in zip(item.shift, shift, strict=True))
                places = (*item.places, (item.source, item.shift))
                front.append(Read(source, moved, composed.domain(), (*item.by, composed), places))
    return found


def all_reads(direct: Direct, name: str) -> list[Read]:
    """Return what a statement reads, also by way of others, the shortest ways first."""
    return _reads(direct, name, lambda _: True, 4 * MOST_PATH_SETS)


def shared_reads(direct: Direct, name: str) -> list[Read]:
    """Return what a statement reads of its own instances one step before, by way of temporaries of which each stands

    for one neighbour at most (see ``stands_for_one``).
    """
    reads = [item for item in all_reads(direct, name) if item.source == name and item.shift[0] == -1]
    themselves = {item.shift for item in reads if not item.by}
    reads = [item for item in reads if not item.by or item.shift not in themselves]
    while True:
        bad = {place for item in reads for place, _ in item.places if not stands_for_one(reads, place)}
        if not bad:
            return reads
        reads = [item for item in reads if not bad & {place for place, _ in item.places}]


def stands_for_one(reads: Iterable[Read], place: str) -> bool:
    """True if of what is read by way of a temporary every reader reads all but one itself.

    So if the temporary is at hand and not computed, one neighbour less is needed at most.
    """
    reads = list(reads)
    themselves = {item.shift for item in reads if not item.by}
    ways = [(at, item.shift) for item in reads for name, at in item.places if name == place]
    beyond = {less(shift, at) for at, shift in ways}
    for at in {at for at, _ in ways}:
        reached = {tuple(a + b for a, b in zip(item, at, strict=True)) for item in beyond}
        if len(reached - themselves) > 1:
            return False
    return True


def groups(flow: DataFlow, reads: Mapping[str, Sequence[Read]]) -> Iterator[tuple[str, ...]]:
    """Yield up to three statements of equal width of which each reads the one before, the first one the last.

    They need not stand side by side; the first one is the first in the program.
    """
    widths = {item.name: item.domain.dim(_SET) for item in flow.program.statements}
    place = {name: at for at, name in enumerate(widths)}
    readers: dict[str, dict[str, None]] = {name: {} for name in widths}
    for sink, found in reads.items():
        for item in found:
            if 2 <= widths[item.source] == widths[sink]:
                readers[item.source][sink] = None
    longer: list[tuple[str, ...]] = [(name,) for name in widths]
    for _ in range(3):
        yield from (group for group in longer if group[0] in readers[group[-1]])
        longer = [
            (*group, name)
            for group in longer
            for name in readers[group[-1]]
            if place[name] > place[group[0]] and name not in group
        ]


def is_complete(every: Mapping[str, Sequence[Read]], names: Sequence[str], shifts: Sequence[Sequence[Offset]]) -> bool:
    """True if every read of one of the statements by another is one of the shifts, from the statement before."""
    for at, name in enumerate(names):
        for read in every[name]:
            if read.source in names and (read.source != names[at - 1] or read.shift not in set(shifts[at])):
                return False
    return True


def reads_more(flow: DataFlow, names: Sequence[str]) -> bool:
    """True if most instances of a statement read a value from elsewhere that is not the only one of its kind."""
    into = [item for name in names for item in flow.into(name) if item.source not in names]
    values = [item.relation for item in into if item.relation.dim(isl.dim_type.in_)]
    return any(thickness(item.range()) == item.dim(isl.dim_type.out) for item in values)


def level_shifts(
    every: Mapping[str, Sequence[Read]], names: Sequence[str], covector: Offset
) -> tuple[list[dict[Offset, list[Read]]], list[tuple[Offset, ...]]] | None:
    """Return by statement its reads of the level below, and distances: one neighbourhood moved; None of one place."""
    step()
    reads = [_neighbours(every, names, at, covector) for at in range(len(names))]
    if len(names) == 1:
        shifts = [tuple(sorted(reads[0]))]
    else:  # statements after the first one read the same step
        drop = tuple(-value for value in steps_alone(len(covector)))
        common, moves = _moved(reads[0], drop), [drop]
        for item in reads[1:]:
            move = _best_move(common, frozenset(item))
            common &= _moved(item, move)
            moves.append(move)
        shifts = [
            tuple(tuple(a + b for a, b in zip(item, move, strict=True)) for item in sorted(common)) for move in moves
        ]
    return (reads, shifts) if len(shifts[0]) > 1 else None


def _neighbours(
    every: Mapping[str, Sequence[Read]], names: Sequence[str], at: int, covector: Offset
) -> dict[Offset, list[Read]]:
    """Return for every shift to the level below how the instances of a statement read so."""
    before, down = (names[at - 1], 0) if at else (names[-1], -1)
    result: dict[Offset, list[Read]] = {}
    for read in every[names[at]]:
        passed = {level.get_tuple_name(isl.dim_type.out) for level in read.by}
        if read.source == before and level_of(covector, read.shift) == down and not passed & set(names):
            result.setdefault(read.shift, []).append(read)
    return result


def _moved(shifts: Iterable[Offset], move: Offset) -> frozenset[Offset]:
    return frozenset(less(item, move) for item in shifts)


def _best_move(common: frozenset[Offset], shifts: frozenset[Offset]) -> Offset:
    """Return the translation by which most of ``shifts`` are in ``common``, none if that is as good."""
    moves = {less(one, other) for one in shifts for other in common}
    still = (0,) * len(next(iter(shifts), ()))
    return max(sorted(moves | {still}), key=lambda move: (len(common & _moved(shifts, move)), move == still))


def level_of(covector: Offset, shift: Offset) -> int:
    """Return by how many levels a distance leads on."""
    return sum(a * b for a, b in zip(covector, shift, strict=True))


def steps_alone(width: int) -> Offset:
    """Return the covector of levels that are the steps of the first loop."""
    return (1, *(0,) * (width - 1))
