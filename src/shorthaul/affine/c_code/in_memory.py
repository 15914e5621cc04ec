"""Orders of one phase that keep what shares a place in memory, for programs that overwrite what others still read.

A derived order keeps the flow of values. Executed in the program's memory it may overwrite a value too early: fields
that are updated in place, or copied back. Where nothing has room for two values in one place, the phase is derived once
more with the distances from a read to the next write of the same element, and from a write to the next one, among those
of values. All other pairs that share an element follow from these and the flow, one after the other. Loads are counted
as ever: they depend on the values alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, product

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import Conflicts
from shorthaul.affine.integer_sets.signs import Signs
from shorthaul.affine.orders.borders.held import limited
from shorthaul.affine.orders.placement import Loops, Placement, Read, placement_map, placements
from shorthaul.affine.orders.skewing import Distance, skewed_placements
from shorthaul.affine.orders.tile_policy import Phase, best_policy, make_phase
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.upper_bound import AnyStep, smoothest
from shorthaul.affine.tuning import MOST_BOX_PLACEMENTS, MOST_NEIGHBOURS, PLACEMENT_OPERATIONS

#: Instances and the next ones that write what they access, by their statements.
_Next = Sequence[tuple[str, str, isl.Map]]


def in_memory(plain: Step, conflicts: Conflicts, sizes: Mapping[str, int]) -> AnyStep | None:
    """Return the best order found of a phase in tiles that keeps what shares memory; None if there is none."""
    reads: dict[str, Sequence[Read]] = {
        name: [item for item in plain.reads if item.sink == name] for name in plain.names
    }
    made: list[Step] = []
    with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
        following = next_writes(conflicts, plain.names)
        for phase in _phases(plain, reads, following, conflicts):
            signs = _signs(phase.placement, following, conflicts)
            if signs is None:
                continue
            every = plain.counts.distances.signs(phase.placement) | signs
            found = best_policy(phase, partial(Loops.legal, signs=every))
            if found is not None:
                made.append(Step(plain.names, phase, *found, plain.counts, plain.reads))
    if not made:
        return None
    best = smoothest(made)[0]
    held = limited(best, sizes)
    parameters = {name: size for name, size in sizes.items() if name != "S"}
    return held if held is not None and held.rate < best.loads(parameters, sizes["S"]) else best


def next_writes(conflicts: Conflicts, names: Sequence[str]) -> _Next:
    """Return for every access the next instance of each statement that overwrites it."""
    result = []
    for a, b in product(names, repeat=2):
        schedule = conflicts.program.by_name[b].schedule
        for pairs in conflicts.overwritten(a, b):
            effort.step()
            result.append((a, b, pairs.apply_range(schedule).lexmin().apply_range(schedule.reverse()).coalesce()))
    return result


def _phases(
    plain: Step, reads: Mapping[str, Sequence[Read]], following: _Next, conflicts: Conflicts
) -> Iterator[Phase]:
    """Yield the phase in loops of the program and in skewed coordinates."""
    flow = plain.counts.flow
    for placement in islice(placements(plain.counts.distances, plain.names, reads, in_turns=True), MOST_BOX_PLACEMENTS):
        yield make_phase(flow, plain.names, placement, reads, plain.counts)
        distances = _distances(placement, following, conflicts)
        for turned in () if distances is None else skewed_placements(placement, plain.reads, distances):
            for together in (True, False) if len(plain.names) > 1 else (True,):
                yield make_phase(flow, plain.names, turned, reads, plain.counts, together=together)


def _apart(placement: Placement, following: _Next, conflicts: Conflicts) -> Iterator[tuple[str, str, isl.Set]]:
    """Yield how far instances are from the next writes, for all sizes."""
    program = conflicts.program
    for a, b, pairs in following:
        ends = [
            placement_map(name, len(program.by_name[name].iterators), placement[name], program.parameters)
            for name in (a, b)
        ]
        found = pairs.apply_domain(ends[0]).apply_range(ends[1]).deltas()
        yield a, b, found.project_out(isl.dim_type.param, 0, found.dim(isl.dim_type.param))


def _distances(placement: Placement, following: _Next, conflicts: Conflicts) -> list[Distance] | None:
    """Return the distances to the next writes; None where there are too many."""
    result: list[Distance] = []
    for a, b, found in _apart(placement, following, conflicts):
        if not found.is_bounded():
            return None
        points: list[isl.Point] = []
        if found.count_val().to_python() > MOST_NEIGHBOURS:
            return None
        found.foreach_point(points.append)
        width = len(placement[a])
        result += [
            Distance(a, b, tuple(point.get_coordinate_val(isl.dim_type.set, at).to_python() for at in range(width)))
            for point in points
        ]
    return result


def _signs(placement: Placement, following: _Next, conflicts: Conflicts) -> frozenset[Signs] | None:
    """Return the signs that distances to the next writes take; None where they are not known."""
    found = _distances(placement, following, conflicts)
    if found is None:
        return None
    return frozenset(tuple((step > 0) - (step < 0) for step in item.steps) for item in found)
