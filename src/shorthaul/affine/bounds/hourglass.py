"""Statements whose steps pass through a neck: every instance of one step is an ancestor of all of the next one.

Modified Gram-Schmidt and reflections: a column is updated by a multiple of another one, and the factor is a sum over
the whole column. So a stretch of a play that updates a column in three steps updates all of it in the middle one, and
needs all of another column for that (hourglass dependences; Eyraud-Dubois, Iooss, Langou, Rastello 2024).

Steps may differ in width, as those of reflections do, which leave out one more row each: an instance then counts as
much as its step is wide. So nothing has to be cut off to make all steps equal, and square matrices have a bound too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.wavefront import Reachability
from shorthaul.affine.bounds.partition.candidates import best_events, usable_paths
from shorthaul.affine.bounds.partition.k_partition import Partition, partition
from shorthaul.affine.bounds.partition.partition_steps import facts_of, hourglass_certificate, projections_of
from shorthaul.affine.bounds.partition.parts import Part, sets_of, thickness
from shorthaul.affine.bounds.partition.paths import Path
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import card, count_formula, most_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.lemmas import CUTS, HOURGLASS, SEGMENTS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.proofs.segments import events_at, least_events, value_text
from shorthaul.affine.tuning import LEAST_GAIN, WAVEFRONT_OPERATIONS

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Hourglass:
    """The argument: two families of paths, and which coordinates are steps, places and columns."""

    argument: Partition
    time: int
    places: tuple[int, ...]
    columns: tuple[int, ...]
    width: isl.Set  #: as many points as the widest step has places, or more
    rims: tuple[isl.Set, isl.Set]  #: as many points as a step has places that the next one, the last one has not
    weight: isl.Set  #: pairs of an instance and a place of its step
    stride: int  #: how far one step is from the next
    ancestors: isl.UnionMap

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        return self.argument.spill

    @property
    def statements(self) -> tuple[str, ...]:
        """The statement of the argument."""
        return (self.argument.parts[0].statement,)


def hourglasses(flow: DataFlow) -> Iterator[Hourglass]:
    """Yield the argument for every statement that passes through necks."""
    reach = Reachability.of(flow)
    for statement in flow.program.statements:
        dimensions = statement.domain.dim(_SET)
        if dimensions < 3:
            continue
        usable = usable_paths(flow, statement.name)
        chains = [path for path in usable if path.delta is not None and len(path.levels) == 1]
        others = [path for path in usable if not path.is_chain]
        pairs = itertools.product(chains, others)
        yield from itertools.islice(
            results_within(WAVEFRONT_OPERATIONS, pairs, lambda pair: _of_paths(reach, *pair)), 1
        )


def _of_paths(reach: Reachability, chain: Path, other: Path) -> Hourglass | None:
    """Return the argument by a chain along the steps and a broadcast to all columns, None if it is none."""
    step()
    name = chain.statement
    dimensions = chain.domain.dim(_SET)
    time = axes(chain.kernel)
    columns = axes(other.kernel)
    if time is None or columns is None or len(time) != 1 or set(time) & set(columns) or chain.delta is None:
        return None
    places = tuple(at for at in range(dimensions) if at not in {*time, *columns})
    if not places or abs(chain.delta[time[0]]) != 1:
        return None
    stride = chain.delta[time[0]]
    ancestors = reach.ancestors(name)
    domain = _passing(chain.domain.intersect(other.domain).coalesce(), time[0], stride, columns, ancestors)
    if domain is None:
        return None
    part = Part(name, domain, (chain, other), tuple(range(dimensions)))
    made = partition([part], isl.UnionSet("{ }"), symmetric=False)
    if made is None or (0, 1) not in made.cliques or made.folds != (1, 1):
        return None
    domain = made.parts[0].domain  # without what both families touch
    if not _is_by_steps(domain, time[0], places, columns):
        return None
    within = _places_of_steps(domain, time[0], places)
    following = isl.Map("{ [t] -> [t + 1] }").apply_range(within)
    both = following.domain().intersect(within.domain())
    rims = (within.subtract(following), following.subtract(within))
    same = isl.Map.from_domain_and_range(domain, isl.Set.universe(within.domain().get_space())).equate(
        _IN, time[0], _OUT, 0
    )
    weight = same.apply_range(within).wrap().flatten().coalesce()
    width, *rim = (
        most_places(item).gist_params(domain.params())
        for item in (within, *(item.intersect_domain(both) for item in rims))
    )
    return Hourglass(made, time[0], places, columns, width, (rim[0], rim[1]), weight, stride, ancestors)


def most_places(within: isl.Map) -> isl.Set:
    """Return as many points as any step has places, or more."""
    return within.lexmin().reverse().apply_range(within).deltas().coalesce()


def _passing(
    domain: isl.Set, time: int, stride: int, columns: tuple[int, ...], ancestors: isl.UnionMap
) -> isl.Set | None:
    """Return the instances that are ancestors of all of their column one step later; None if there are hardly any.

    A place that one instance of a step has to leave, all columns leave there.
    """
    dimensions, name = domain.dim(_SET), domain.get_tuple_name()
    after = same_coordinates(name, dimensions, columns, f"y{time} = x{time} + {stride}")
    alike = same_coordinates(name, dimensions, [at for at in range(dimensions) if at not in columns])
    for _ in range(2):
        step()
        through = isl.UnionMap.from_map(after.intersect_domain(domain).intersect_range(domain))
        missing = through.subtract(ancestors.reverse())
        if missing.is_empty():
            return domain
        left_out = missing.domain().extract_set(domain.get_space())
        domain = _without_thin_pieces(domain.subtract(left_out.apply(alike)))
        if thickness(domain) < dimensions:
            return None
    return None


def axes(kernel: tuple[tuple[int, ...], ...]) -> tuple[int, ...] | None:
    """Return the coordinates that span a kernel, None if it is not spanned by coordinates."""
    found = []
    for row in kernel:
        places = [at for at, value in enumerate(row) if value]
        if len(places) != 1:
            return None
        found.append(places[0])
    return tuple(sorted(found))


def only(domain: isl.Set, kept: tuple[int, ...]) -> isl.Set:
    """Return the values of some coordinates."""
    for at in reversed(range(domain.dim(_SET))):
        if at not in kept:
            domain = domain.project_out(_SET, at, 1)
    return domain.reset_tuple_id().coalesce()


def _spread(values: isl.Set, kept: tuple[int, ...], dimensions: int, name: str) -> isl.Set:
    """Return all points whose coordinates ``kept`` are in ``values``."""
    for at in range(dimensions):
        if at not in kept:
            values = values.insert_dims(_SET, at, 1)
    return values.set_tuple_name(name)


def of_equal_width(domain: isl.Set, places: tuple[int, ...]) -> isl.Set:
    """Return the instances at the places that occur with all steps and columns."""
    dimensions, name = domain.dim(_SET), domain.get_tuple_name()
    others = tuple(at for at in range(dimensions) if at not in places)
    pairs = _spread(only(domain, others), others, dimensions, name)
    every = _spread(only(domain, places), places, dimensions, name).intersect(pairs)
    missing = _spread(only(every.subtract(domain), places), places, dimensions, name)
    return domain.subtract(missing).coalesce()


def _without_thin_pieces(domain: isl.Set) -> isl.Set:
    """Return the pieces of a set that have all its dimensions."""
    found = isl.Set.empty(domain.get_space())
    for item in domain.coalesce().get_basic_sets():
        piece = isl.Set.from_basic_set(item)
        if thickness(piece) == domain.dim(_SET):
            found = found.union(piece)
    return found.coalesce()


def _is_by_steps(domain: isl.Set, time: int, places: tuple[int, ...], columns: tuple[int, ...]) -> bool:
    """True if every step has all its places in all its columns, and no column leaves out a step between two others."""
    dimensions, name = domain.dim(_SET), domain.get_tuple_name()
    like = [domain.apply(same_coordinates(name, dimensions, [time, *kept])) for kept in (places, columns)]
    if domain.is_empty() or not like[0].intersect(like[1]).is_subset(domain):
        return False
    pairs = like[1]  # of step and column, with any places
    later = same_coordinates(name, dimensions, columns, f"x{time} < y{time}")
    return bool(pairs.apply(later).intersect(pairs.apply(later.reverse())).is_subset(pairs))


def _places_of_steps(domain: isl.Set, time: int, places: tuple[int, ...]) -> isl.Map:
    """Return step -> its places."""
    found = only(domain, (time, *places))
    at = sorted((time, *places)).index(time)
    return isl.Map.from_range(found).move_dims(_IN, 0, _OUT, at, 1).reset_tuple_id(_OUT).coalesce()


def same_coordinates(name: str, width: int, kept: Sequence[int], where: str = "true") -> isl.Map:
    """Return the pairs x, y of instances with some equal coordinates, of which ``where`` holds."""
    x, y = (", ".join(f"{letter}{at}" for at in range(width)) for letter in "xy")
    same = " and ".join([*(f"x{at} = y{at}" for at in kept), where])
    return isl.Map(f"{{ {name}[{x}] -> {name}[{y}] : {same} }}")


def sub_bound(item: Hourglass, flow: DataFlow, events: int | None = None) -> SubBound:
    """Return the argument with its numbers as formulas.

    ``events`` are those of a segment; without them S + 8 W, for which the first of two numbers is the larger one.
    """
    context, part = flow.program.context, item.argument.parts[0]
    size = count_formula(card(part.domain, context))
    sources = sympy.Add(*(most_formula(found, context) for found in sets_of(item.argument.sources)))
    W = count_formula(card(item.width, context))
    weight = count_formula(card(item.weight, context))
    rim = sympy.Add(*(count_formula(card(one, context)) for one in item.rims))
    T = S + 8 * W if events is None else sympy.Integer(events)
    K = S + T
    U = (S + 4 * W + rim / 2) ** 2 if events is None else sympy.Max((K + rim) ** 2 / 4, 2 * W * K, evaluate=False)
    value = least_events(weight / U, T) - sources
    iterators = flow.program.by_name[part.statement].iterators
    columns, places = (", ".join(iterators[at] for at in group) for group in (item.columns, item.places))
    steps = (
        *facts_of(item.argument, flow),
        (
            f"Steps are along {iterators[item.time]}, columns the values of {columns}, places those of {places}: a "
            f"step has the same places in all its columns, at most W = {W}; a column in two steps is in all between."
        ),
        f"Of the places of a step and of the next one, the other one has all but delta = {rim} at most, in all.",
        f"An instance weighs as much as its step has places: D weighs {weight}.",
        (
            "Every instance is an ancestor of all instances of its column one step later: this relation lies inside of "
            "the ancestors composed from the flows of the program."
        ),
        "Lemma (hourglass), with phi0 for the chain and phi1 for the broadcast: P weighs at most U, the larger one of",
        "  (K + delta)^2 / 4 and 2 W K.",
        f"Any T will do; chosen: T = {T}, K = {K}, U = {U}.",
        f"Lemma (segments), by weight: value = {value_text('weight of D', 'U', T)} - sources.",
    )
    facts = {"|D|": size, "W": W, "delta": rim, "weight of D": weight, "K": K, "T": T, "U": U, "sources": sources}
    neck = {
        "time": item.time,
        "stride": item.stride,
        "places": list(item.places),
        "columns": list(item.columns),
        "width": str(W),
        "rim": str(rim),
        "weight": str(weight),
        "ancestors": str(item.ancestors),
    }
    return SubBound(
        "hourglass",
        item.statements,
        set_text(part.domain, flow.program),
        value,
        item.spill,
        set_text(item.spill, flow.program),
        facts,
        steps,
        (SEGMENTS, CUTS, HOURGLASS),
        tuple(replace(found, exponent=None, weight=None) for found in projections_of(item.argument, flow)),
        certificate=hourglass_certificate(item.argument, facts, neck),
        tuned=None if events is not None else partial(_tuned, item, flow, facts, value),
    )


def _tuned(
    item: Hourglass,
    flow: DataFlow,
    facts: Mapping[str, sympy.Expr],
    value: sympy.Expr,
    sizes: Mapping[str, int],
) -> SubBound | None:
    """Return the argument with the best number of events at ``sizes``, None if that is hardly better."""
    weight, W, rim, sources = (number_at(facts[name], sizes) for name in ("weight of D", "W", "delta", "sources"))

    def worth(events: int) -> float:
        K = sizes["S"] + events
        return events_at(weight / max((K + rim) ** 2 / 4, 2 * W * K), events, sizes["S"]) - sources

    events = best_events(worth, round(sizes["S"] + 2 * W))
    if worth(events) <= max(0.0, number_at(value, sizes)) * LEAST_GAIN:
        return None
    return sub_bound(item, flow, events)
