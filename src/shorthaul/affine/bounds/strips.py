"""Strips: places of a line, and steps after which each of them depends on all of the others.

In a stencil on a line, red and black points or fields side by side, let n places be neighbours and m steps enough for
every place to reach every other one. At the moment when step t is complete at all n places, none of them has come to
step t + m. So at every place a value waits between the two, on a path that leads along the place, and so does what is
read there before and after: right sides, coefficients. Strips side by side and one after the other add up, and no load
is the first one of an input:

    loads  >=  n(e) - S  for every strip e,

n(e) the values that wait. Strips suit given sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.lifetime_certificate import lifetime_certificate, summed
from shorthaul.affine.bounds.lifetime.wavefront import Reachability, summed_text
from shorthaul.affine.bounds.partition.fields import Cycle, cycles, steps_aside
from shorthaul.affine.bounds.partition.parts import union_of
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import Cardinality, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.parametrisation import alive_per_event, positive_sum
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.proofs.moments_of_play import STRIPS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import LONGEST_LAYER_PATH, PHASE_OPERATIONS

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set
_STRIP = "strip[s, q]"
#: Strip -> those of places before its own.
_BESIDE = "{ strip[s, q] -> strip[r, p] : p < q }"
#: Lines have places at least that far apart: what holds of short ones only is no matter.
_LEAST = 8
#: How far strips stay away from the first step and from walls, so that all are alike.
_AWAY = 2


@dataclass(frozen=True, slots=True)
class _Cone:
    """Vertices of a statement that depend on all places up to ``reach`` times as far away as they are steps behind.

    ``ancestors`` of all vertices, as far as the cone and a few reads tell.
    """

    statement: str
    reach: int
    ancestors: isl.UnionMap


@dataclass(frozen=True, slots=True)
class _Tracks:
    """Paths along places in every strip: vertex -> the one before, strip -> vertices, strip -> last vertices."""

    back: isl.UnionMap
    vertices: isl.UnionMap
    ends: isl.UnionMap

    def with_others(self, other: _Tracks) -> _Tracks:
        """Return both kinds of paths."""
        return _Tracks(self.back.union(other.back), self.vertices.union(other.vertices), self.ends.union(other.ends))

    @property
    def passed(self) -> isl.UnionMap:
        """Strip -> all vertices of its paths."""
        return self.vertices.union(self.vertices.apply_range(self.back))


@dataclass(frozen=True, slots=True)
class Strips:
    """The argument: relations from strips to where they begin and finish, to what reads in them and what waits."""

    cone: _Cone
    sides: tuple[int, int]
    begins: isl.UnionMap
    finishes: isl.UnionMap
    readers: isl.UnionMap
    fixed: isl.UnionMap
    tracks: _Tracks
    spill: isl.UnionSet  #: the vertices whose loads are counted, and all others of their statements and arrays
    pieces: tuple[tuple[isl.Set, Polynomial], ...]
    sums: tuple[Cardinality, ...]

    @property
    def alive(self) -> isl.UnionMap:
        """Strip -> a vertex for every value that waits: itself, or the last one of its path."""
        return self.fixed.union(self.tracks.ends).coalesce()

    def at(self, sizes: Mapping[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return float(sum(item.weight_at(dict(sizes)) for item in self.sums))


def strips(flow: DataFlow, sizes: Mapping[str, int]) -> Iterator[Strips]:
    """Yield for every statement of a step and a place the argument that suits ``sizes``, S among them."""

    def of_statement(name: str) -> Strips | None:
        cone = _cone(flow, name)
        return None if cone is None else _at_sizes(flow, cone, sizes)

    domains = {item.name: item.domain for item in flow.program.statements}
    names = [name for name, item in domains.items() if item.dim(_SET) == 2 and item.n_basic_set() == 1]
    yield from results_within(PHASE_OPERATIONS, names, of_statement)


def _cone(flow: DataFlow, name: str) -> _Cone | None:
    """Return of which places a few reads back to the step before lead to all that are near, None if to none."""
    whole, reads = flow.program.by_name[name].domain, _reads(flow)
    apart = isl.Map(f"{{ {name}[t, i] -> {name}[t, j] : j >= i + {_LEAST} }}")
    domain = isl.UnionSet.from_set(whole.intersect_params(whole.apply(apart).intersect(whole).params()))
    near = front = reads
    for _ in range(LONGEST_LAYER_PATH - 1):
        own = near.intersect_domain(domain).intersect_range(domain)
        far = _distance(own, name, domain)
        if far:
            break
        step()
        front = front.apply_range(reads).coalesce()
        near = near.union(front).coalesce()
    else:
        return None
    cone = _moved(name, "t - 1 >= u", f"-{far} * (t - u) <= j - i <= {far} * (t - u)", domain)
    same = reads.domain().union(reads.range()).identity()
    either, inner = same.union(near), domain.identity().union(cone)
    ancestors = near.union(either.apply_range(inner).apply_range(either).subtract(same)).coalesce()
    if not ancestors.is_subset(reads.union(ancestors.apply_range(reads))):
        return None
    return _Cone(name, far, ancestors)


def _reads(flow: DataFlow) -> isl.UnionMap:
    reach = Reachability.of(flow)
    return reduce(isl.UnionMap.union, (reach.reads(item.name) for item in flow.program.statements)).coalesce()


def _moved(name: str, *conditions: str | isl.UnionSet) -> isl.UnionMap:
    """Return the pairs [t, i] -> [u, j] of instances of a statement under some conditions, inside of a set."""
    texts, inside = [item for item in conditions if isinstance(item, str)], conditions[-1]
    found = isl.UnionMap(f"{{ {name}[t, i] -> {name}[u, j] : {' and '.join(texts)} }}")
    return found.intersect_domain(inside).intersect_range(inside)


def _distance(own: isl.UnionMap, name: str, domain: isl.UnionSet) -> int:
    """Return up to which distance all places of the step before are among those read."""
    far = 0
    for further in range(1, LONGEST_LAYER_PATH + 1):
        step()
        if not _moved(name, f"u = t - 1 and -{further} <= j - i <= {further}", domain).is_subset(own):
            break
        if not _moved(name, f"u = t - 1 and j - i = {further}", domain).is_empty():  # a loop may pass over places
            far = further
    return far


def _at_sizes(flow: DataFlow, cone: _Cone, sizes: Mapping[str, int]) -> Strips | None:
    """Return the argument for strips as long in time as suits ``sizes``, None if it is worth nothing."""
    (first, last), (left, _) = (_range(flow.program.by_name[cone.statement].domain, at, sizes) for at in (0, 1))
    best: Strips | None = None
    steps = last - first - _AWAY
    for _ in range(2):
        if steps < 1:
            break
        found = _of_strips(flow, cone, (steps, steps * cone.reach), (first + _AWAY, left + _AWAY))
        if found is None:
            break
        if found.at(sizes) > (0.0 if best is None else best.at(sizes)):
            best = found
        # n values wait for every step: (n m - S) / m^2 is largest at m = 2 S / n
        waiting = max((count.at({**sizes, "x0": 0, "x1": 0}) for _, count in found.pieces), default=0)
        wanted = round(2 * sizes["S"] * steps / waiting) if waiting > 0 else steps
        if not wanted < steps:
            break
        steps = wanted
    return best


def _range(domain: isl.Set, axis: int, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return the least and the largest value of a coordinate at given sizes, 0 and -1 if there is none."""
    for at in range(domain.dim(_PARAM)):
        domain = domain.fix_val(_PARAM, at, isl.Val(sizes[domain.get_dim_name(_PARAM, at)]))
    if domain.is_empty():
        return 0, -1
    return domain.dim_min_val(axis).to_python(), domain.dim_max_val(axis).to_python()


def _of_strips(flow: DataFlow, cone: _Cone, sides: tuple[int, int], start: tuple[int, int]) -> Strips | None:
    """Return what waits in strips of so many steps and places, the first of which begins at ``start``."""
    step()
    begins, finishes = _ends(flow, cone, sides, start)
    if begins.is_empty():
        return None
    reads, known = _reads(flow), begins.union(begins.apply_range(cone.ancestors))
    computed = union_of(item.domain for item in flow.program.statements)
    until = finishes.union(finishes.apply_range(cone.ancestors)).intersect_range(computed)
    missing = begins.reverse().apply_range(until).subtract(cone.ancestors.reverse())
    readers = until.subtract(begins.apply_range(missing)).coalesce()
    tracks = _tracks(flow, reads, readers, known)
    if tracks is None:
        return None
    passed = tracks.passed
    fixed = readers.apply_range(reads).intersect(known).subtract_range(passed.range()).coalesce()
    fixed = fixed.subtract(isl.UnionMap(_BESIDE).apply_range(fixed)).coalesce()
    less = Polynomial.number(-1)  # the last vertex of the beginning may wait itself
    alive = fixed.union(tracks.ends).coalesce()
    pieces = tuple((where, count.without_floors().plus(less)) for where, count in alive_per_event(flow, alive))
    sums = tuple(positive_sum(where, count, flow.program.context) for where, count in pieces)
    counted = fixed.union(passed).range().universe()
    spill = computed.union(reads.range()).intersect(counted).coalesce()  # strips have periods too long to subtract them
    return Strips(cone, sides, begins, finishes, readers, fixed, tracks, spill, pieces, sums)


def _ends(
    flow: DataFlow, cone: _Cone, sides: tuple[int, int], start: tuple[int, int]
) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return strip -> the vertices with which it begins, and with which it finishes, where all are instances."""
    (steps, places), (first, left), name = sides, start, cone.statement
    instances = isl.UnionSet.from_set(flow.program.by_name[name].domain)
    domain = flow.program.by_name[name].domain.remove_divs()
    whole = isl.Set.universe(isl.Map(f"{{ {_STRIP} -> [] }}").domain().get_space())
    times = [f"{first} + {steps} * s + {at}" for at in (0, steps)]
    for time in times:
        for place in (-_AWAY, places - 1 + _AWAY):
            corner = f"{{ {_STRIP} -> {name}[{time}, {left} + {places} * q + {place}] }}"
            whole = whole.intersect(isl.Map(corner).intersect_range(domain).domain())
    events = isl.UnionSet.from_set(whole)
    where = f"{left} + {places} * q <= i < {left + places} + {places} * q"
    begins, finishes = (
        isl.UnionMap(f"{{ {_STRIP} -> {name}[t, i] : t = {time} and {where} }}")
        .intersect_domain(events)
        .intersect_range(instances)
        for time in times
    )
    return begins, finishes


def _tracks(flow: DataFlow, reads: isl.UnionMap, readers: isl.UnionMap, known: isl.UnionMap) -> _Tracks | None:
    """Return paths along places, as many as there are fields, from what exists when a strip begins to its readers."""
    found: _Tracks | None = None
    for cycle in cycles(steps_aside(flow)):
        if cycle.total != (-1, 0):
            continue
        step()
        tracks = _of_cycle(flow, cycle, reads, readers, known)
        if tracks is None:
            continue
        if found is None:
            found = tracks
        elif tracks.passed.intersect(found.passed).is_empty():
            found = found.with_others(tracks)
    return found


def _of_cycle(
    flow: DataFlow, cycle: Cycle, reads: isl.UnionMap, readers: isl.UnionMap, known: isl.UnionMap
) -> _Tracks | None:
    """Return the paths that go back along a cycle of reads, one at a place, None if they do not reach far enough."""
    name, back, along = cycle.names[0], isl.UnionMap("{ }"), isl.UnionMap("{ }")
    offsets = [*cycle.offsets, cycle.total]
    for at, (one, other) in enumerate(zip(cycle.names, [*cycle.names[1:], name], strict=True)):
        (t, i), (u, j) = offsets[at], offsets[at + 1]
        back = back.union(isl.UnionMap(f"{{ {one}[t, i] -> {other}[t + {u - t}, i + {j - i}] }}"))
        domain = isl.UnionSet.from_set(flow.program.by_name[one].domain)
        line = isl.UnionMap(f"{{ {name}[t, i] -> {one}[u, j] : u < t + {t + bool(at)} and j = i + {i} }}")
        along = along.union(line.intersect_range(domain))
    back = back.intersect(reads)
    own = readers.intersect_range(isl.UnionSet.from_set(flow.program.by_name[name].domain))
    ends = own.subtract(own.apply_range(isl.UnionMap(f"{{ {name}[t, i] -> {name}[u, i] : u < t }}"))).subtract(known)
    # one that a strip before has too, at the other end of its places, is left out
    whole = along.union(along.apply_range(back)).union(own.range().identity())
    line = ends.apply_range(whole)
    shared = line.intersect(isl.UnionMap(_BESIDE).apply_range(line))
    ends = ends.subtract(shared.apply_range(whole.reverse()))
    vertices = ends.union(ends.apply_range(along)).subtract(known).coalesce()
    passed = vertices.apply_range(back)
    if ends.is_empty() or not (back.is_injective() and back.is_single_valued()):
        return None
    if not vertices.range().is_subset(back.domain()) or not passed.is_subset(vertices.union(known)):
        return None
    return _Tracks(back.intersect_domain(vertices.range()).coalesce(), vertices, ends.coalesce())


# -- as a part of a bound


def sub_bound(item: Strips, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    program, (steps, places) = flow.program, item.sides
    facts = {f"n - 1 of piece {at}": count.sympy() for at, (_, count) in enumerate(item.pieces)}
    lines = (
        f"A strip [s, q] has {places} places of {item.cone.statement} and {steps} steps:",
        f"it begins when the last of B is computed, {set_text(item.begins, program)}",
        f"and ends when the last of B' is, {set_text(item.finishes, program)}",
        f"Every place depends on all up to {item.cone.reach} away one step before, so each of B' on all of B.",
        f"In a strip read, behind all of B and up to B': {set_text(item.readers, program)}",
        f"Read there and before: {set_text(item.fixed, program)}",
        f"Paths that lead there from what B is computed from, or B, end in {set_text(item.tracks.ends, program)}",
        f"and go back by {set_text(item.tracks.back, program)}; no two of them meet.",
        *(
            f"piece {at}: {summed_text(where, count.sympy(), count_formula(part))}"
            for at, ((where, count), part) in enumerate(zip(item.pieces, item.sums, strict=True))
        ),
        "Lemma (strips): n - S loads or more in every strip; those that share a vertex follow one another: all add up.",
    )
    order = isl.UnionMap("{ strip[s, q] -> strip[r, q] : r < s }")
    events = item.alive.domain()
    relations = {
        "ancestors": item.cone.ancestors,
        "begins": item.begins,
        "finishes": item.finishes,
        "readers": item.readers,
        "fixed": item.fixed,
        "back": item.tracks.back,
        "vertices": item.tracks.vertices,
        "ends": item.tracks.ends,
        "order": order.intersect_domain(events).intersect_range(events),
    }
    return SubBound(
        "strips",
        (item.cone.statement,),
        set_text(item.alive.range(), program),
        sympy.Add(*(count_formula(part) for part in item.sums)),
        item.spill,
        set_text(item.spill, program),
        {**facts, "per strip": sympy.Symbol("n") - S},
        lines,
        (STRIPS,),
        certificate=lifetime_certificate(
            "strips",
            (item.cone.statement,),
            [summed(item.alive, item.pieces, program, less=1)],
            {name: str(relation.coalesce()) for name, relation in relations.items()},
        ),
    )
