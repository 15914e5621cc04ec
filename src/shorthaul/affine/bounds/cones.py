"""Several values at every place, step after step: a part that computes one place for long computes a double cone.

fdtd-2d keeps three fields. A stretch of a play that computes one place at k steps in a row computes all that lies
between the first and the last of them, so also its neighbours at nearly as many steps; and it needs a value of every
field for each place (lemma on double cones). By way of what neighbours are read does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import islpy as isl
import sympy

from shorthaul.affine.bounds.hourglass import of_equal_width, only, same_coordinates
from shorthaul.affine.bounds.partition.candidates import best_events
from shorthaul.affine.bounds.partition.fields import (
    Cycle,
    Field,
    Line,
    cycles,
    field_of,
    line_of,
    steps_aside,
    still_fields,
)
from shorthaul.affine.bounds.partition.isoperimetry import Offset, Shape, differences, isoperimetric_constant
from shorthaul.affine.bounds.partition.parts import as_union, sets_of, thickness, united
from shorthaul.affine.bounds.partition.paths import Step
from shorthaul.affine.bounds.partition.stencil_reads import Read, all_reads, direct_reads, moved, shift_map
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.counting import card, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S, simplest
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.inside import Inside
from shorthaul.affine.proofs.lemmas import BOXES, CONES, SEGMENTS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.proofs.segments import events_at, least_events, value_text
from shorthaul.affine.tuning import (
    CHEAP_STEP,
    CONE_OPERATIONS,
    LEAST_GAIN,
    LONGEST_LAYER_PATH,
    MOST_CONES,
    MOST_PATH_SETS,
)

_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Neighbours N of a place that have an instance between any two of its own that are more than ``trip`` steps apart.

    ``shifts`` are the distances of the reads by which they have, ``constant`` is the c of inequality (1).
    """

    line: Line
    places: tuple[Offset, ...]
    trip: int
    shifts: tuple[Offset, ...]
    constant: sympy.Expr
    shape: Shape

    @property
    def dimensions(self) -> int:
        """The dimension of the places."""
        return len(self.line.delta) - 1


@dataclass(frozen=True, slots=True)
class Cones:
    """The argument: instances of one statement with neighbours and fields; ``reads`` are those of the neighbours."""

    statement: str
    domain: isl.Set
    around: Neighbourhood
    fields: tuple[Field, ...]
    reads: tuple[Read, ...]
    border: isl.Set
    box: Inside | None = None  #: where the places of the instances fill a box, without a border

    @property
    def values(self) -> int:
        """How many values a place has."""
        return sum(item.period for item in self.fields)

    @property
    def weight(self) -> int:
        """How many events the computation of an instance of the border counts for, 1 where there is none."""
        if self.box is not None:
            return 1
        n = self.around.dimensions
        least: float = self.values / self.around.trip ** (n / (n + 1))
        return math.ceil(least - 1e-9)

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        return united(item.vertices for item in self.fields)

    @property
    def sources(self) -> isl.UnionSet:
        """Where the fields begin."""
        return united(item.sources for item in self.fields)


def cones(flow: DataFlow) -> Iterator[Cones]:
    """Yield for every group of fields the argument with the best rate."""
    steps = steps_aside(flow)
    known = cycles(steps)
    lines = {found[0] for item in known if (found := line_of(item.total)) is not None}
    tried = []
    for name in steps:
        width = flow.program.by_name[name].domain.dim(_SET)
        shifts = shifts_of(steps, name) if any(name in item.names for item in known) else set()
        for line in sorted(lines, key=lambda item: (item.axis, item.delta)):
            around = _neighbourhood(shifts, line) if len(line.delta) == width else None
            if around is not None:
                tried.append((_rate(around, sum(item.period for item in _apart(known, line))), name, around))
    direct = direct_reads(flow) if tried else {}
    done: set[str] = set()
    for _, name, around in sorted(tried, key=lambda item: item[0])[:MOST_CONES]:
        if name in done:
            continue
        try:
            with limited(CONE_OPERATIONS):
                made = _of_statement(flow, all_reads(direct, name), known, name, around)
        except isl.Error:
            continue
        if made is not None:
            done |= {item.get_tuple_name() for item in sets_of(made.spill)}
            yield from with_stills(made, flow)


def with_stills(item: Cones, flow: DataFlow) -> Iterator[Cones]:
    """Yield an argument, and the same one where the instances read inputs of their place too."""
    yield item
    own = item.around.line.classes(item.statement, (0,) * len(item.around.line.delta), 1)
    stills = still_fields(flow, {item.statement: item.domain}, own.intersect_domain(as_union(item.domain)), item.spill)
    if stills:
        yield replace(item, fields=(*item.fields, *stills))


def _rate(around: Neighbourhood, values: int) -> float:
    """Return how many instances a part computes, up to a factor of K and n alone."""
    n = around.dimensions
    rate: float = around.trip / float(around.constant) / max(1, values) ** ((n + 1) / n)
    return rate


def shifts_of(steps: Mapping[str, Sequence[Step]], name: str) -> set[Offset]:
    """Return the distances at which instances of a statement are reached from one another, by way of others too."""
    found: set[Offset] = set()
    width = len(steps[name][0].matrix) if steps[name] else 0
    front: list[tuple[str, Offset, frozenset[str]]] = [(name, (0,) * width, frozenset())]
    for _ in range(LONGEST_LAYER_PATH):
        following: list[tuple[str, Offset, frozenset[str]]] = []
        for at, shift, visited in front:
            for read in steps[at]:
                step(CHEAP_STEP)
                assert read.source is not None
                assert read.shift is not None
                by = tuple(a + b for a, b in zip(shift, read.shift, strict=True))
                if read.source == name:
                    found.add(by)
                elif read.source not in visited:
                    following.append((read.source, by, visited | {read.source}))
        front = following[: 4 * MOST_PATH_SETS]
    return found


def _neighbourhood(shifts: Iterable[Offset], line: Line) -> Neighbourhood | None:
    """Return the neighbours by reads at these distances, those with the best rate; None if there are none."""
    found = []
    for places, most, kept in neighbours_by_trip(shifts, line):
        rated = isoperimetric_constant(differences(frozenset(places)), len(line.delta) - 1)
        if rated is not None:
            found.append(Neighbourhood(line, places, most, kept, *rated))
    return min(found, key=lambda item: float(item.trip / item.constant), default=None)


def neighbours_by_trip(
    shifts: Iterable[Offset], line: Line
) -> Iterator[tuple[tuple[Offset, ...], int, tuple[Offset, ...]]]:
    """Yield for every length of a round trip the neighbours within it, the length, and the reads that lead there."""
    costs: dict[Offset, int] = {}
    ways: dict[Offset, Offset] = {}
    for shift in sorted(shifts):
        back, aside = line.straight(shift)
        if back <= 0 and -back < costs.get(aside, 1 - back):
            costs[aside], ways[aside] = -back, shift
    still = (0,) * (len(line.delta) - 1)
    if costs.get(still) != 1:
        return
    trips = {at: cost + costs[over] for at, cost in costs.items() if any(at) and (over := _opposite(at)) in costs}
    for most in sorted(set(trips.values())):
        places = (still, *sorted(at for at, trip in trips.items() if trip <= most))
        if most >= 1:
            yield places, most, tuple(sorted(ways[at] for at in {*places, *map(_opposite, places)}))


def _opposite(place: Offset) -> Offset:
    return tuple(-value for value in place)


def _apart(known: Sequence[Cycle], line: Line) -> list[_Kept]:
    """Return cycles along a line without common statements, those with most values for a statement first."""
    along = [_Kept(item, found[1]) for item in known if (found := line_of(item.total)) is not None and found[0] == line]
    chosen: list[_Kept] = []
    taken: set[str] = set()
    for item in sorted(along, key=lambda one: (len(one.cycle.names) / one.period, one.cycle.names)):
        if not taken & set(item.cycle.names):
            chosen.append(item)
            taken |= set(item.cycle.names)
    return chosen


@dataclass(frozen=True, slots=True)
class _Kept:
    cycle: Cycle
    period: int


def _of_statement(
    flow: DataFlow, reads: Sequence[Read], known: Sequence[Cycle], name: str, around: Neighbourhood
) -> Cones | None:
    line = around.line
    ways = ways_of(reads, name, around)
    if ways is None:
        return None
    domain = flow.program.by_name[name].domain
    for shift, items in ways.items():
        where = where_of(items)
        domain = domain.intersect(where)
        if any(line.straight(shift)[1]):  # what the instances of neighbours read
            domain = domain.intersect(where.apply(moved(name, name, shift)))
    straight = straightened(name, line)
    places = tuple(at for at in range(len(line.delta)) if at != line.axis)
    product = of_equal_width(domain.apply(straight), places)
    if thickness(product) < len(line.delta) or not without_gaps(product, line.axis):
        return None
    beside = _beside(product, around)
    later = same_coordinates(name, len(line.delta), places, f"x{line.axis} < y{line.axis}")
    back = where_of(ways[_opposite(line.delta)]).apply(straight)
    if not beside.apply(later).intersect(beside).is_subset(back):
        return None
    domain, border = (item.apply(straight.reverse()).coalesce() for item in (product, beside))
    fields = fields_of(flow, known, name, domain, reads, line)
    if not fields:
        return None
    used = tuple(item for items in ways.values() for item in items)
    return Cones(name, domain, around, fields, used, border)


def ways_of(reads: Sequence[Read], name: str, around: Neighbourhood) -> dict[Offset, list[Read]] | None:
    """Return by distance the reads of the neighbours, None if one is not read."""
    ways: dict[Offset, list[Read]] = {}
    for item in reads:
        if item.source == name and item.shift in around.shifts:
            ways.setdefault(item.shift, []).append(item)
    return ways if set(ways) == set(around.shifts) else None


def fields_of(
    flow: DataFlow, known: Sequence[Cycle], name: str, domain: isl.Set, reads: Sequence[Read], line: Line
) -> tuple[Field, ...]:
    """Return fields without common vertices that the instances need."""
    fields: list[Field] = []
    for kept in _apart(known, line):
        made = field_of(flow, kept.cycle, name, domain, reads, line)
        if made is not None and all(made.vertices.intersect(one.vertices).is_empty() for one in fields):
            fields.append(made)
    return tuple(fields)


def where_of(items: Sequence[Read]) -> isl.Set:
    """Return the instances that read so by one of the ways."""
    found = items[0].where
    for item in items[1:]:
        found = found.union(item.where)
    return found


def straightened(name: str, line: Line) -> isl.Map:
    """Return the map that makes the line a loop: instance -> the instance with its step and its place."""
    step_text, places = line.coordinates((0,) * len(line.delta))
    places.insert(line.axis, step_text)
    names = ", ".join(f"x{at}" for at in range(len(line.delta)))
    return isl.Map(f"{{ {name}[{names}] -> {name}[{', '.join(places)}] }}")


def without_gaps(product: isl.Set, axis: int) -> bool:
    """True if all steps between two are there."""
    steps = only(product, (axis,))
    between = isl.Map("{ [x] -> [y] : x < y }")
    return bool(steps.apply(between).intersect(steps.apply(between.reverse())).is_subset(steps))


def _beside(product: isl.Set, around: Neighbourhood) -> isl.Set:
    """Return the neighbours that are not among the instances, at all steps of these."""
    found = product
    for place in around.places:
        shift = list(place)
        shift.insert(around.line.axis, 0)
        name = product.get_tuple_name()
        found = found.union(product.apply(moved(name, name, tuple(shift))))
    return found.subtract(product).coalesce()


def sub_bound(item: Cones, flow: DataFlow, events: int | None = None) -> SubBound:
    """Return the argument with its numbers as formulas; ``events`` are those of a segment, n S without them."""
    context, n = flow.program.context, item.around.dimensions
    size = count_formula(card(item.domain, context))
    sources = sympy.Add(*(count_formula(card(found, context)) for found in sets_of(item.sources)))
    border = count_formula(card(item.border, context))
    T = n * S if events is None else sympy.Integer(events)
    K = S + T + item.weight - 1
    U = simplest(most_instances(item, K))
    allowed = sympy.Integer(1) if item.box is None else item.box.allows(K / item.values)
    value = allowed * least_events(size / U, T) - sources - item.weight * border
    facts: dict[str, sympy.Expr] = {
        "|D|": size,
        "sources": sources,
        "border": border,
        "rho": sympy.Integer(item.around.trip),
        "c": item.around.constant,
        "g": sympy.Integer(item.values),
        "omega": sympy.Integer(item.weight),
        "K": K,
        "T": T,
        "U": U,
    }
    return SubBound(
        f"double cones{', inside of a box' if item.box else ''}",
        (item.statement,),
        set_text(item.domain, flow.program),
        value,
        item.spill,
        set_text(item.spill, flow.program),
        facts,
        _steps(item, flow, facts),
        (SEGMENTS, CONES, *([BOXES] if item.box else [])),
        certificate=_certificate(item, facts),
        tuned=None if events is not None else partial(_tuned, item, flow, facts, value),
    )


def most_instances(item: Cones, K: sympy.Expr) -> sympy.Expr:
    """Return U of the lemma on double cones."""
    n, c = item.around.dimensions, item.around.constant
    q = K / item.values
    cone = sympy.Rational(n, n + 1) / c * q ** sympy.Rational(n + 1, n)
    return item.around.trip * (q + cone) + (K if _longest(item) > 1 else 0)


def _longest(item: Cones) -> int:
    return max(one.period for one in item.fields)


def _tuned(
    item: Cones, flow: DataFlow, facts: Mapping[str, sympy.Expr], value: sympy.Expr, sizes: Mapping[str, int]
) -> SubBound | None:
    """Return the argument with the best number of events at ``sizes``, None if that is hardly better."""
    size, sources, border = (number_at(facts[name], sizes) for name in ("|D|", "sources", "border"))
    n, c, g = item.around.dimensions, float(item.around.constant), item.values
    limit = math.inf if item.box is None else number_at(item.box.most, sizes)

    def worth(events: int) -> float:
        q = (sizes["S"] + events + item.weight - 1) / g
        if limit < q:
            return -math.inf
        most = item.around.trip * (q + n / ((n + 1) * c) * q ** ((n + 1) / n)) + (q * g if _longest(item) > 1 else 0)
        return events_at(size / most, events, sizes["S"]) - sources - item.weight * border

    events = best_events(worth, sizes["S"])
    if worth(events) <= max(0.0, number_at(value, sizes)) * LEAST_GAIN:
        return None
    return sub_bound(item, flow, events)


def _certificate(item: Cones, facts: Mapping[str, sympy.Expr]) -> dict[str, object]:
    """Return the argument as data that a checker of its own verifies."""
    shape = item.around.shape
    return {
        "kind": "double cones",
        "statements": [item.statement],
        "domain": str(item.domain),
        "delta": list(item.around.line.delta),
        "axis": item.around.line.axis,
        "neighbours": [list(place) for place in item.around.places],
        "trip": item.around.trip,
        "ways": [{"shift": list(read.shift), "levels": [*map(str, read.by), _last(item, read)]} for read in item.reads],
        "shape": shape.document(),
        "fields": [one.document() for one in item.fields],
        "sources": str(item.sources),
        "border": str(item.border),
        "box": None if item.box is None else item.box.document(),
        "weight": item.weight,
        "events": str(facts["T"]),
        "instances_count": str(facts["|D|"]),
        "sources_count": str(facts["sources"]),
        "border_count": str(facts["border"]),
    }


def _last(item: Cones, read: Read) -> str:
    """Return the way of a read as a whole: instance -> the instance that it reads."""
    whole = shift_map(item.statement, item.statement, read.shift)
    return str(whole.intersect_domain(as_union(read.where)))


def _steps(item: Cones, flow: DataFlow, facts: Mapping[str, sympy.Expr]) -> tuple[str, ...]:
    around = item.around
    fields = "; ".join(f"{set_text(one.vertices, flow.program)} ({one.period} for a place)" for one in item.fields)
    shifts = ", ".join(f"{read.shift}" for read in item.reads)
    return (
        (
            f"A place is a line along {around.line.delta}, its steps are numbered along loop {around.line.axis + 1}. "
            f"Instances are reached from one another, also by way of others, at the distances {shifts}. So between two "
            f"instances of a place that are {around.trip} or more steps apart every neighbour in N = "
            f"{{{', '.join(map(str, around.places))}}} has all instances but {around.trip}."
        ),
        around.shape.because,
        f"fields, each vertex of which belongs to one place, pairwise without common vertices: {fields}",
        f"sources, where they begin: {set_text(item.sources, flow.program)}",
        f"border, neighbours of D that are not in D: {set_text(item.border, flow.program)}"
        if item.box is None
        else item.box.text(f"K/{item.values}"),
        (
            "Lemma (double cones), with K = S + T + omega - 1, as a segment of at least T events has fewer than T + "
            f"omega of them: |P| <= U = {facts['U']}."
        ),
        f"Any T will do; for large S, T/U is largest at T = {around.dimensions} S; chosen: T = {facts['T']}.",
        (
            f"Lemma (segments): events >= {value_text('|D|', 'U', facts['T'])}, of which at most sources + omega "
            "border are no loads of the may-spill set beyond the first of each input: value = what is left."
        ),
    )
