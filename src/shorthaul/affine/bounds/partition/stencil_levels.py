"""Stencils by levels: a vertex-isoperimetric inequality per row instead of projections.

Statements whose instances fall into levels l, each reading the neighbourhood x + N of its place x in level l - 1. Let
D be the instances all of whose neighbours are computed, P a part of D in one segment, P_l its rows, and

    |A + N| >= |A| + c |A|^((n-1)/n)   for every finite set A in Z^n.                                              (1)

The lemmas on rows turn (1) into a bound on |P|. ``isoperimetry`` tells where (1) holds. N may be another translate of
one set in every statement.

The balanced form adds what one part hands on to others: |P| + lambda (In(P) - Out(P)) <= B for all parts P with
In(P) <= K. Every out-vertex whose successors are all in D is an in-vertex of another part, and every source is one of
some part. So over all parts the sum of Out is at most that of In, less the sources, plus |F|, F the vertices of D with
a successor not in D:  |D| + lambda (|sources| - |F|) <= parts times B.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce

import islpy as isl
import sympy

from shorthaul.affine.bounds.partition.candidates import best_events
from shorthaul.affine.bounds.partition.fields import Columns
from shorthaul.affine.bounds.partition.isoperimetry import Offset, Shape, differences, isoperimetric_constant
from shorthaul.affine.bounds.partition.parts import sets_of, thickness, union_of
from shorthaul.affine.bounds.partition.stencil_reads import (
    Read,
    Way,
    borders,
    direct_reads,
    groups,
    is_complete,
    level_of,
    level_shifts,
    own_reads,
    reads_more,
    shared_reads,
    stands_for_one,
    steps_alone,
)
from shorthaul.affine.integer_sets.counting import card, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S, simplest
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.columns import rates, ring_rate
from shorthaul.affine.proofs.inside import Inside, instances_text
from shorthaul.affine.proofs.lemmas import (
    BALANCED,
    BALLS,
    BARE_COLUMNS,
    BOXES,
    COLUMNS,
    COUPLED,
    OWN_BALANCED,
    OWN_ROWS,
    ROWS,
    SEGMENTS,
    SHARED_ROWS,
    WALLS,
    Lemma,
)
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.proofs.segments import events_at, events_of_parts, least_events, value_text
from shorthaul.affine.tuning import LARGEST_LEVEL_FACTOR, LEAST_GAIN, MOST_LEVEL_COVECTORS, WIDEST_SKEWED_STENCIL

_SET = isl.dim_type.set


@dataclass(frozen=True)
class Stencil:
    """Statements in levels; ``shifts`` lead from an instance to what it reads, for every statement.

    ``covector`` numbers the levels of a statement, ``constant`` is the c of inequality (1), ``shape`` why it holds.
    """

    statements: tuple[str, ...]
    domains: tuple[isl.Set, ...]
    covector: Offset
    shifts: tuple[tuple[Offset, ...], ...]
    constant: sympy.Expr
    shape: Shape
    spill: isl.UnionSet
    sources: isl.UnionSet
    ends: isl.UnionSet
    own: isl.UnionSet  #: temporaries by way of which they read, of one instance each
    between: isl.UnionSet  #: temporaries by way of which they read, each of which stands for one neighbour at most
    ways: tuple[tuple[tuple[Offset, tuple[isl.Map, ...]], ...], ...]  #: how neighbours are read by way of temporaries
    complete: bool = False  #: all that most instances read is among ``shifts``
    box: Inside | None = None  #: where instances fill a box, and read the neighbours in it only
    is_coupled: bool = False  #: two fields at one time, which also read one another at their place
    columns: Columns | None = None  #: where places have values of their own
    walls: isl.UnionSet | None = None  #: places of walls, where it goes up to its borders,
    inputs: isl.UnionMap | None = None  #: and place -> input that stands there

    @property
    def dimensions(self) -> int:
        """The dimension of a level."""
        return len(self.covector) - 1

    @property
    def reads(self) -> list[Way]:
        """What is read in the level below."""
        below, fields = tuple(-value for value in self.covector), self.statements
        before = fields if self.is_coupled else (fields[-1], *fields[:-1])
        across = zip(fields, fields[::-1], [below, below], strict=True) if self.is_coupled else ()
        found = zip(fields, before, self.shifts, strict=True)
        return [*((name, source, shift) for name, source, shifts in found for shift in shifts), *across]

    @property
    def room(self) -> int:
        """What walls of one instance may need of fast memory beside the result (lemma on walls)."""
        return 0 if self.walls is None else max(0, self.dimensions - 2)

    def is_sharp(self, events: int | None) -> bool:
        """True if parts of so many events have the sharper B of the lemma on balanced rows around balls."""
        known = self.is_coupled or self.shape.balls
        return events is not None and self.box is None and known

    @property
    def values(self) -> Fraction:
        """How many values of its own every place has."""
        return Fraction(0) if self.columns is None else self.columns.values

    @property
    def is_bare(self) -> bool:
        """True if places have values, and no instance reads the vertex of its own place."""
        return self.columns is not None and bool(self.columns.parity)

    @property
    def covers(self) -> bool:
        """True if no partition by projections is better: levels of the first coordinate, and all that is read."""
        plain = self.own.is_empty() and self.between.is_empty() and self.complete
        return self.covector == steps_alone(len(self.covector)) and self.shape.whole and plain


def stencils(flow: DataFlow) -> Iterator[Stencil]:
    """Yield the groups of up to three statements that form a stencil in levels."""
    direct = direct_reads(flow)
    reads = own_reads(flow, direct)
    for group in groups(flow, reads):
        first = steps_alone(flow.program.by_name[group[0]].domain.dim(_SET))
        options = [_stencil(flow, reads, group, first)]
        if len(group) == 1:
            shared = {group[0]: shared_reads(direct, group[0])}
            by_way = any(item.by for item in shared[group[0]])
            options += [_skewed(flow, reads, group[0]), _stencil(flow, shared, group, first) if by_way else None]
        found = [item for item in options if item is not None]
        yield from sorted(found, key=lambda item: (-float(item.constant), not item.own.is_empty()))[:1]


def _skewed(flow: DataFlow, reads: Mapping[str, Sequence[Read]], name: str) -> Stencil | None:
    """Return the stencil of one statement with the best levels that a small covector gives, if there is one."""
    shifts = {read.shift for read in reads[name] if read.source == name}
    width = flow.program.by_name[name].domain.dim(_SET)
    if not 2 <= width <= WIDEST_SKEWED_STENCIL or len(shifts) < 2:
        return None
    rated: list[tuple[float, Offset]] = []
    for covector in itertools.product(range(LARGEST_LEVEL_FACTOR + 1), repeat=width):
        chosen = frozenset(item for item in shifts if level_of(covector, item) == -1)
        known = isoperimetric_constant(differences(chosen), width - 1) if len(chosen) > 1 else None
        if known is not None:
            rated.append((-float(known[0]), covector))
    for _, covector in sorted(rated)[:MOST_LEVEL_COVECTORS]:
        made = _stencil(flow, reads, [name], covector)
        if made is not None:
            return made
    return None


def _stencil(
    flow: DataFlow, every: Mapping[str, Sequence[Read]], names: Sequence[str], covector: Offset
) -> Stencil | None:
    found = level_shifts(every, names, covector)
    if found is None:
        return None
    (reads, shifts), width = found, len(covector)
    rated = isoperimetric_constant(differences(frozenset(shifts[0])), width - 1)
    if rated is None:
        return None
    domains = []
    for at, name in enumerate(names):
        domain = flow.program.by_name[name].domain
        for shift in shifts[at]:
            domain = domain.intersect(reduce(isl.Set.union, (item.where for item in reads[at][shift])))
        if thickness(domain) < width:
            return None
        domains.append(domain.coalesce())
    own, ways = union_of([]), []
    for at, domain in enumerate(domains):
        items = [(shift, item) for shift in shifts[at] for item in reads[at][shift] if item.by]
        ways.append(tuple((shift, tuple(level.intersect_domain(domain) for level in item.by)) for shift, item in items))
        own = own.union(union_of(level.range() for _, levels in ways[-1] for level in levels))
    between = union_of([])
    if all(_stand_for_one(reads[at], shifts[at]) for at in range(len(names))):
        own, between = between, own
    nothing, complete = union_of([]), is_complete(every, names, shifts) and not reads_more(flow, names)
    sets = (nothing, nothing, nothing, own, between)
    return bordered(
        Stencil(tuple(names), tuple(domains), covector, tuple(shifts), *rated, *sets, tuple(ways), complete)
    )


def bordered(item: Stencil) -> Stencil:
    """Return a stencil with what its domains read, its sources and ends."""
    spill, ends = borders(dict(zip(item.statements, item.domains, strict=True)), item.reads)
    sources = spill.subtract(union_of(item.domains)).coalesce()
    return replace(item, spill=spill.union(item.own).union(item.between).coalesce(), sources=sources, ends=ends)


def _stand_for_one(reads: Mapping[Offset, Sequence[Read]], shifts: Sequence[Offset]) -> bool:
    """True if every temporary by way of which a statement reads stands for one neighbour at most."""
    used = [item for shift in shifts for item in reads[shift]]
    if any(item.by and not other.by for shift in shifts for item in reads[shift] for other in reads[shift]):
        return False
    return all(stands_for_one(used, place) for place in {place for item in used for place, _ in item.places})


def sub_bound(item: Stencil, flow: DataFlow, *, balanced: bool, events: int | None = None) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters.

    ``events`` are those of a segment; without them n S.
    """
    context = flow.program.context
    n, c = item.dimensions, item.constant
    size = sympy.Add(*(count_formula(card(domain, context)) for domain in item.domains))
    sources = sympy.Add(*(count_formula(card(part, context)) for part in sets_of(item.sources)))
    T = n * S - item.room if events is None else sympy.Integer(events)
    K = S + T + item.room
    bulk, edge = rates(n, c, item.values, bare=item.is_bare)
    U = simplest(bulk * K ** sympy.Rational(n + 1, n) + edge * K)
    balanced = balanced and item.columns is None and (item.own.is_empty() or item.box is None)
    if not item.own.is_empty():
        U += K
    facts = {"|D|": size, "sources": sources, "n": sympy.Integer(n), "c": c, "K": K, "T": T, "U": U}
    allowed = sympy.Integer(1) if item.box is None else item.box.allows(K)
    ring, counted = sympy.Integer(0), size
    if item.columns is not None:
        ring = sympy.Add(*(count_formula(card(part, context)) for part in sets_of(item.columns.ring)))
        mu = ring_rate(n, c, item.values, bare=item.is_bare) * sympy.root(K, n)
        facts |= {"s": sympy.Rational(item.values.numerator, item.values.denominator), "mu": mu, "ring": ring}
        counted -= mu * ring
    value = allowed * least_events(counted / U, T) - sources
    steps = [*_level_steps(item, flow), *_row_steps(item, flow, U, T)]
    ends = sympy.Add(*(count_formula(card(part, context)) for part in sets_of(item.ends)))
    if balanced:
        most, weight = balanced_part(n, c, K, sharp=item.is_sharp(events))
        most += 0 if item.own.is_empty() else K
        even = events_of_parts(size + weight * (sources - ends), most, T)
        value = sympy.Max(value, allowed * even - sources, evaluate=False)  # slow where nested
        facts |= {"rho": weight * c, "lambda": weight, "B": most, "|F|": ends}
        steps.extend(_balanced_steps(item, flow, most, T))
    else:
        steps.append("value = this bound.")
    return SubBound(
        f"stencil by levels{', columns' if item.columns else ''}{', balanced' if balanced else ''}"
        f"{', inside of a box' if item.box else ''}",
        item.statements,
        "; ".join(set_text(part, flow.program) for part in item.domains),
        value,
        item.spill,
        set_text(item.spill, flow.program),
        facts,
        tuple(steps),
        (SEGMENTS, ROWS, *_lemmas(item, events, balanced=balanced)),
        (),
        union_of(item.domains),
        item.sources,
        _certificate(item, {"instances": size, "sources": sources, "ends": ends, "ring": ring}, T, balanced=balanced),
        tuned=None if events is not None else partial(_tuned, item, flow, facts, value, balanced=balanced),
    )


def _lemmas(item: Stencil, events: int | None, *, balanced: bool) -> list[Lemma]:
    """Return the lemmas on balance, on temporaries and on boxes that the argument rests on."""
    has_own = not item.own.is_empty()
    used = {
        BALANCED: balanced,
        BALLS: balanced and item.is_sharp(events),
        OWN_ROWS: has_own,
        OWN_BALANCED: has_own and balanced,
        SHARED_ROWS: not item.between.is_empty(),
        BOXES: item.box is not None,
        COUPLED: item.is_coupled,
        COLUMNS: item.columns is not None,
        BARE_COLUMNS: item.is_bare,
        WALLS: item.walls is not None,
    }
    return [lemma for lemma, is_used in used.items() if is_used]


def _certificate(
    item: Stencil, counts: Mapping[str, sympy.Expr], T: sympy.Expr, *, balanced: bool
) -> dict[str, object]:
    """Return the argument as data that a checker of its own verifies; ``counts`` are those of its sets of vertices."""
    shape = item.shape
    return {
        "kind": "stencil",
        "statements": list(item.statements),
        "domains": [str(domain) for domain in item.domains],
        "covector": list(item.covector),
        "shifts": [[list(shift) for shift in shifts] for shifts in item.shifts],
        "ways": [
            [{"shift": list(shift), "levels": [str(level) for level in levels]} for shift, levels in group]
            for group in item.ways
        ],
        "own": not item.own.is_empty(),
        "columns": None if item.columns is None else item.columns.document(),
        "shape": shape.document(),
        "box": None if item.box is None else item.box.document(),
        "balanced": balanced,
        "walls": None if item.walls is None else {"walls": str(item.walls), "inputs": str(item.inputs)},
        "coupled": item.is_coupled,
        "sources": str(item.sources),
        "ends": str(item.ends),
        "events": str(T),
        **{f"{name}_count": str(count) for name, count in counts.items()},
    }


def _tuned(
    item: Stencil,
    flow: DataFlow,
    facts: Mapping[str, sympy.Expr],
    value: sympy.Expr,
    sizes: Mapping[str, int],
    *,
    balanced: bool,
) -> SubBound | None:
    """Return the argument with the best number of events at ``sizes``, None if that is hardly better."""
    n, c = item.dimensions, float(item.constant)
    size, sources = (number_at(facts[name], sizes) for name in ("|D|", "sources"))
    ends = number_at(facts["|F|"], sizes) if balanced else 0.0
    limit = math.inf if item.box is None else number_at(item.box.most, sizes)
    bulk, edge = map(float, rates(n, item.constant, item.values, bare=item.is_bare))
    ring = 0.0
    if item.columns is not None:
        ring = number_at(facts["ring"], sizes) * float(ring_rate(n, item.constant, item.values, bare=item.is_bare))

    def worth(events: int) -> float:
        K = sizes["S"] + events + item.room
        if limit < K:
            return -math.inf
        own = 0 if item.own.is_empty() else K
        counted = size - ring * K ** (1 / n)
        plain = events_at(counted / (bulk * K ** ((n + 1) / n) + edge * K + own), events, sizes["S"]) - sources
        rho = (K / (2 ** (n + 1) - 1)) ** (1 / n)
        beside = min(1.0, max(c / (2 * n * rho), 6 - n * rho / c)) if item.is_sharp(events) else 1.0
        most = 2 * n / ((n + 1) * c) * rho * K + (1 if n == 1 else 1 + 1 / n) * beside * K + own
        even = events_at((size + rho / c * (sources - ends)) / most, events, sizes["S"]) - sources
        return float(max(plain, even) if balanced else plain)

    events = best_events(worth, sizes["S"])
    if worth(events) <= max(0.0, number_at(value, sizes)) * LEAST_GAIN:
        return None
    return sub_bound(item, flow, balanced=balanced, events=events)


def balanced_part(
    dimensions: int, constant: sympy.Expr, K: sympy.Expr, *, sharp: bool = False
) -> tuple[sympy.Expr, sympy.Expr]:
    """Return B and lambda of the lemma on balanced rows, or of that around balls, for levels of ``dimensions``.

    >>> balanced_part(1, sympy.Integer(2), sympy.Integer(12))
    (36, 2)
    >>> balanced_part(1, sympy.Integer(2), sympy.Integer(84), sharp=True)[0].doit()
    1179
    """
    n, c = dimensions, constant
    rho = sympy.root(K / (2 ** (n + 1) - 1), n)
    edge = sympy.Integer(1) if n == 1 else sympy.Rational(n + 1, n)
    if sharp:
        L = n * rho / c
        edge *= sympy.Min(1, sympy.Max(1 / (2 * L), 6 - L, evaluate=False), evaluate=False)
    return sympy.Rational(2 * n, n + 1) / c * rho * K + edge * K, rho / c


def _level_steps(item: Stencil, flow: DataFlow) -> list[str]:
    """Return the levels, the neighbourhood, the sets, and why inequality (1) holds."""
    shifts = "; ".join(
        f"{{{', '.join(map(str, group))}}}{f' ({name})' if len(item.statements) > 1 else ''}"
        for name, group in zip(item.statements, item.shifts, strict=True)
    )
    number = " + ".join(
        f"{factor} {name}" if factor > 1 else name
        for factor, name in zip(item.covector, flow.program.by_name[item.statements[0]].iterators, strict=True)
        if factor
    )
    how = "are at one time and read one another at their place" if item.is_coupled else "take turns"
    turns = f", in which {' and '.join(item.statements)} {how}" if len(item.statements) > 1 else ""
    walls = [] if item.walls is None else [f"Lemma (walls): walls {item.walls}; inputs by place {item.inputs}"]
    beside = ", walls and inputs at places are among them" if walls else "; no input is among them"
    return [
        (
            f"Levels: {number}{turns}. An instance p reads p + v of the level below for v in {shifts}, each "
            f"by a read of its own. In a level, a plane of {item.dimensions} dimensions, N is this set of v up to "
            "a translation."
        ),
        instances_text(item.box),
        *walls,
        f"sources (read by D, not in D{beside}): {set_text(item.sources, flow.program)}",
        item.shape.because,
    ]


def _row_steps(item: Stencil, flow: DataFlow, U: sympy.Expr, T: sympy.Expr) -> list[str]:
    n = item.dimensions
    plain = "Lemma (rows of a stencil): |P| <= n/((n+1)c) K^((n+1)/n) = U"
    rows = [f"{plain} = {U}."]
    if not item.own.is_empty():
        rows = [
            f"own vertices, by way of which D reads, each read once: {set_text(item.own, flow.program)}",
            f"{plain} - K for P - B in place of P, and |B| <= K (lemma on own vertices below rows). U = {U}.",
        ]
    if item.columns is not None:
        lemma = BARE_COLUMNS if item.is_bare else COLUMNS
        rows = [
            *item.columns.texts(flow.program),
            f"Lemma ({lemma.name}): |P| <= U + mu e, U = {U}; |D| - mu |ring| stands for |D| below.",
        ]
    if not item.between.is_empty():
        between = set_text(item.between, flow.program)
        rows.insert(0, f"temporaries, by way of which D reads; each stands for one neighbour at most: {between}")
        rows.insert(
            1, "Lemma (temporaries between rows): with these, In(P) <= K for the neighbours as they were direct."
        )
    return [
        (
            "Events: loads of the may-spill set, which is all that D reads, and computations of sources. Let "
            "P be the part of D that a segment of T events computes. A vertex outside of P that P reads was "
            "in fast memory before, or is loaded, or is a source that is computed (an instance of D that is "
            f"computed is in P). So In(P) <= S + T{f' + {item.room}' if item.room else ''} = K."
        ),
        *rows,
        f"U grows with S + T, and any T will do; for large S, T/U is largest at T = {n} S; chosen: T = {T}.",
        f"Lemma (segments): loads beyond the first of each input >= {value_text('|D|', 'U', T)} - sources.",
    ]


def _balanced_steps(item: Stencil, flow: DataFlow, most: sympy.Expr, T: sympy.Expr) -> list[str]:
    if not item.own.is_empty():
        ends = f"F: vertices of D of which a successor p - v is not in D: {set_text(item.ends, flow.program)}"
        text = f"for all m parts of a play together: |D| + lambda (sources - |F|) <= m B, B = {most}."
        return [ends, f"Lemma (own vertices of balanced rows), rho and lambda as above, {text}", _balanced_end(T)]
    return [
        (
            "Balanced: let P_1, ..., P_m be the parts of D that the m segments compute. Let F be the vertices "
            f"of D of which a successor p - v in the next level is not in D: {set_text(item.ends, flow.program)}"
        ),
        (
            "A vertex counted in Out(P_i) that is not in F is read by another part P_j, in whose In(P_j) it "
            "is. Every source is in In of some part and in no Out, as it is not in D. So sum of Out(P_i) <= "
            "sum of In(P_i) - sources + |F|."
        ),
        (
            "Lemma (balanced rows), or that around balls, rho and lambda as above, for every i: |P_i| + lambda "
            f"(In(P_i) - Out(P_i)) <= B = {most}. Added over i: |D| + lambda (sources - |F|) <= m B."
        ),
        _balanced_end(T),
    ]


def _balanced_end(T: sympy.Expr) -> str:
    first, more = ("", "") if T.has(S) else (", the first S + T", " + S, if m > 1, a whole number")
    return (
        f"All segments but the last have T events{first}: events >= T (m - 1){more}. At most `sources` of them are "
        "computations of sources, all others are loads of vertices that are no inputs. So loads >= T (m - 1)"
        f"{more} - sources, m >= (|D| + lambda (sources - |F|)) / B. value = the larger one of the two bounds."
    )
