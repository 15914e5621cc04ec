"""Sums whose steps need whole rows: tables over intervals, sums over pairs of rows in a fixed order. Made for sizes.

In a table over intervals (matrix chains, search trees, folding) the cell (i, j) reads its row and its column between i
and j, and its first term needs the cell below it complete. So a stretch of a play that computes terms of (i, j) in
three rows i computes all of the middle one, and needs all of that row and of that column. K words of rows and columns
are enough for about K^2 / 4 W terms where rows have W words, in place of K^(3/2).

Terms weigh as much as their row is wide, M at most: a column of which no row is passed whole would weigh too much else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.wavefront import Reachability
from shorthaul.affine.bounds.partition.parts import as_union, sets_of, thickness
from shorthaul.affine.effort import results_within, step
from shorthaul.affine.integer_sets.counting import card, count_formula, most_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.model import Statement
from shorthaul.affine.proofs.lemmas import SEGMENTS, WHOLE_ROWS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.proofs.segments import events_at, least_events, value_text
from shorthaul.affine.proofs.whole_rows import ONE_LINE, most_weight
from shorthaul.affine.tuning import (
    LEAST_PASSING,
    MOST_ROW_DELAY,
    MOST_WIDTHS,
    ROW_EVENTS,
    ROW_RANGES,
    ROW_WIDTHS,
    WAVEFRONT_OPERATIONS,
)

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Rows:
    """Instances with a column, a step and a place each; what they read on the lines of their column and of their step.

    Each is an ancestor of its column ``delay`` steps later, in the direction ``onward``; ``width``: (column, step) ->
    number of places; ``lines`` as in the lemma.
    """

    domain: isl.Set
    axes: tuple[int, int, int]
    onward: int
    delay: int
    lines: str
    reads: tuple[isl.UnionMap, isl.UnionMap]
    width: isl.Map
    ancestors: isl.UnionMap

    def of(self, pairs: isl.Set) -> Rows:
        """Return what is in some columns at some steps."""
        domain = self.domain.intersect(_with_places(pairs, self.domain, self.axes)).coalesce()
        reads = tuple(item.intersect_domain(as_union(domain)) for item in self.reads)
        width = self.width.intersect_domain(pairs)
        return Rows(domain, self.axes, self.onward, self.delay, self.lines, (reads[0], reads[1]), width, self.ancestors)

    @property
    def vertices(self) -> isl.UnionSet:
        """All that is read on the lines: the vertices whose loads and computations are events."""
        return self.reads[0].range().union(self.reads[1].range()).coalesce()


@dataclass(frozen=True, slots=True)
class Choice:
    """The argument at sizes: ``least`` places of a column at a step, the most that an instance weighs, events.

    ``ranges``: (step from which on, steps within which three lines would be joined, least width from there on).
    """

    rows: Rows
    least: int
    most: int
    events: int
    ranges: tuple[tuple[int, int, int], ...] = ()

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        return self.rows.vertices


def whole_rows(flow: DataFlow, sizes: Mapping[str, int]) -> Iterator[Choice]:
    """Yield the best argument at ``sizes``, S among them, for every statement whose steps need whole rows."""
    reach = Reachability.of(flow)

    def best(statement: Statement) -> Choice | None:
        least = LEAST_PASSING * card(statement.domain).at(dict(sizes))
        found = list(_of_statement(reach, statement.name))
        made = [_chosen(item, sizes) for item in found if card(item.domain).at(dict(sizes)) >= least]
        return max(filter(None, made), key=lambda one: one[0], default=(0.0, None))[1]

    in_space = [item for item in flow.program.statements if item.domain.dim(_SET) == 3]
    yield from results_within(WAVEFRONT_OPERATIONS, in_space, best)


def _of_statement(reach: Reachability, name: str) -> Iterator[Rows]:
    flow = reach.flow
    tags = sorted({item.reference.tag for item in flow.into(name)})
    for column, row, place in itertools.permutations(range(3)):
        first = [tag for tag in tags if _is_one(reach.reads(name, tag), name, (column, place))]
        second = [tag for tag in tags if _is_one(reach.reads(name, tag), name, (row, place))]
        for one, other in itertools.product(first, second):
            if one != other:
                step()
                yield from _of_reads(
                    reach, name, (column, row, place), (reach.reads(name, one), reach.reads(name, other))
                )


def _is_one(reads: isl.UnionMap, name: str, kept: tuple[int, int]) -> bool:
    """True if a vertex is read at one value of the coordinates ``kept`` only, and is on a line of more than one."""
    where = reads.reverse().apply_range(_coordinates(name, kept))
    return bool(where.is_single_valued()) and not reads.reverse().is_single_valued()


def _coordinates(name: str, kept: tuple[int, ...]) -> isl.UnionMap:
    return isl.UnionMap(f"{{ {name}[x0, x1, x2] -> [{', '.join(f'x{at}' for at in kept)}] }}")


def _of_reads(
    reach: Reachability, name: str, axes: tuple[int, int, int], reads: tuple[isl.UnionMap, isl.UnionMap]
) -> Iterator[Rows]:
    """Yield the arguments for two references, by how soon all of a column comes after one of its steps."""
    common = reads[0].domain().intersect(reads[1].domain())
    domain = next((item for item in sets_of(common) if item.get_tuple_name() == name), None)
    if domain is None:
        return
    lines = _kind_of_lines(name, axes, reads)
    for onward in (1, -1) if lines is not None else ():
        for delay in range(1, MOST_ROW_DELAY + 1):
            passing = _passing(reach, domain, axes, onward, delay)
            width = None if passing is None else width_of(passing, axes)
            if passing is None or width is None or (lines == "same" and not columns_on_one_side(passing, axes)):
                continue
            kind = "narrowing" if lines == "same" and is_narrowing(width) else str(lines)
            one, other = (item.intersect_domain(as_union(passing)) for item in reads)
            yield Rows(passing, axes, onward, delay, kind, (one, other), width, reach.ancestors(name))
            break


def _kind_of_lines(name: str, axes: tuple[int, int, int], reads: tuple[isl.UnionMap, isl.UnionMap]) -> str | None:
    """Return what the lines of columns and of steps have in common, as the lemma names it; None if that is more."""
    column, row, place = axes
    met = common_vertices(name, axes, reads)
    if met.is_empty():
        return "apart"
    if met.is_single_valued():
        return "crossing"
    same = reads[0].reverse().apply_range(_coordinates(name, (column, place)))
    alike = reads[1].reverse().apply_range(_coordinates(name, (row, place)))
    return "same" if same.reverse().apply_range(alike).is_subset(isl.UnionMap("{ [x, k] -> [x, k] }")) else None


def common_vertices(name: str, axes: tuple[int, int, int], reads: tuple[isl.UnionMap, isl.UnionMap]) -> isl.UnionMap:
    """Return (column, step) -> the vertices on the lines of both."""
    columns = reads[0].reverse().apply_range(_coordinates(name, axes[:1]))
    rows = reads[1].reverse().apply_range(_coordinates(name, axes[1:2]))
    met = columns.range_product(rows)  # vertex -> [[column] -> [step]]
    flat = isl.UnionMap("{ [[c] -> [t]] -> [c, t] }")
    return met.apply_range(flat).reverse()


def _passing(
    reach: Reachability, domain: isl.Set, axes: tuple[int, int, int], onward: int, delay: int
) -> isl.Set | None:
    """Return the instances that come after all of their column so many steps before, None if they are few."""
    ancestors = reach.ancestors(domain.get_tuple_name())
    for _ in range(2):
        step()
        later = later_steps(domain.get_tuple_name(), axes, onward, delay, 2 * delay - 1)
        missing = later.intersect_domain(domain).intersect_range(domain)
        missing = isl.UnionMap.from_map(missing).subtract(ancestors.reverse())
        if missing.is_empty():
            return domain if are_without_gaps(domain, axes) else None
        left_out = missing.range().extract_set(domain.get_space())
        domain = domain.subtract(left_out).coalesce()
        if thickness(domain) < 3:
            return None
    return None


def later_steps(name: str, axes: tuple[int, int, int], onward: int, least: int, most: int | None = None) -> isl.Map:
    """Return the pairs x, y of instances in one column, y so many steps after x."""
    column, row, _ = axes
    far = f"y{row} - x{row}" if onward > 0 else f"x{row} - y{row}"
    until = "" if most is None else f" and {far} <= {most}"
    where = f"y{column} = x{column} and {far} >= {least}{until}"
    return isl.Map(f"{{ {name}[x0, x1, x2] -> {name}[y0, y1, y2] : {where} }}")


def are_without_gaps(domain: isl.Set, axes: tuple[int, int, int]) -> bool:
    """True if a column with instances at two steps has some at all between."""
    name, (column, row, _) = domain.get_tuple_name(), axes
    same = isl.Map(f"{{ {name}[x0, x1, x2] -> {name}[y0, y1, y2] : y{column} = x{column} and y{row} = x{row} }}")
    pairs = domain.apply(same)
    before, after = (pairs.apply(later_steps(name, axes, way, 1)) for way in (1, -1))
    return bool(before.intersect(after).is_subset(pairs))


def width_of(domain: isl.Set, axes: tuple[int, int, int]) -> isl.Map | None:
    """Return (column, step) -> the number of places, None where these have gaps."""
    places = places_of(domain, axes)
    low, high = places.lexmin(), places.lexmax()
    between = low.apply_range(isl.Map("{ [k] -> [l] : l >= k }")).intersect(
        high.apply_range(isl.Map("{ [k] -> [l] : l <= k }"))
    )
    if not between.is_equal(places):
        return None
    ends = low.flat_range_product(high)
    return ends.apply_range(isl.Map("{ [k, l] -> [w] : w = l - k + 1 }")).coalesce()


def places_of(domain: isl.Set, axes: tuple[int, int, int]) -> isl.Map:
    """Return (column, step) -> places."""
    column, row, place = axes
    name = domain.get_tuple_name()
    pairs = isl.Map(f"{{ {name}[x0, x1, x2] -> [[x{column}, x{row}] -> [x{place}]] }}")
    return domain.apply(pairs).unwrap().coalesce()


def _with_places(pairs: isl.Set, domain: isl.Set, axes: tuple[int, int, int]) -> isl.Set:
    """Return all instances in some columns at some steps."""
    column, row, _ = axes
    return pairs.apply(isl.Map(f"{{ [c, t] -> {domain.get_tuple_name()}[x0, x1, x2] : x{column} = c and x{row} = t }}"))


def is_narrowing(width: isl.Map) -> bool:
    """True if a column is at no step wider than any column is at the step of its number."""
    as_step = isl.Map("{ [c, t] -> [b, u] : u = c }")
    return bool(width.reverse().apply_range(as_step).apply_range(width).is_subset(isl.Map("{ [w] -> [v] : v >= w }")))


def columns_on_one_side(domain: isl.Set, axes: tuple[int, int, int]) -> bool:
    """True if all columns come after all of their steps, or all before."""
    column, row, _ = axes
    name = domain.get_tuple_name()
    sides = (isl.Set(f"{{ {name}[x0, x1, x2] : x{column} {sign} x{row} }}") for sign in "<>")
    return any(domain.is_subset(side) for side in sides)


# -- the numbers that suit sizes


def _chosen(rows: Rows, sizes: Mapping[str, int]) -> tuple[float, Choice] | None:
    """Return what the best choice of least width, weight and events is worth at sizes, with it; None if it is none."""
    number, rim = _by_width(rows, sizes), rim_of(rows.width, rows.delay)
    if not number or rim is None:
        return None
    sources = sum(card(item).at(dict(sizes)) for item in sets_of(rows.vertices))
    best, numbers = _best_numbers(rows, (number, rim, sources), sizes["S"])
    made = None if best <= 0 else made_for_numbers(rows, numbers, max(number), sizes["S"] + numbers[2])
    return None if made is None else (best, made)


def _best_numbers(
    rows: Rows, known: tuple[dict[int, int], int, int], capacity: int
) -> tuple[float, tuple[int, int, int]]:
    """Return the largest estimate, and least width, most weight and events that it belongs to.

    ``known``: how many pairs of a column and a step have which width, what one is wider than one nearby, the sources.
    """
    number, rim, sources = known
    shares = sorted({max(1, round(max(number) * one)) for one in ROW_WIDTHS})
    names = K_, w, M = sympy.symbols("K w M", positive=True)
    heaviest = sympy.lambdify(names, most_weight(K_, rows.lines, (w, rim, rows.delay, M), K_), modules="math")
    step()
    best, chosen = 0.0, (0, 0, 0)
    for events in (max(1, round(capacity * share)) for share in ROW_EVENTS):
        K = capacity + events
        for least, most in itertools.product(reversed(shares), shares):  # of equal ones with the widest rows
            left = {x: many - (K / x if rows.lines in ONE_LINE else 0) for x, many in number.items() if x >= least}
            weight = sum(max(0.0, many) * x * min(x, most) for x, many in left.items())
            value = events_at(weight / heaviest(K, least, most), events, capacity) - sources
            if value > best:
                best, chosen = value, (least, most, events)
    return best, chosen


def made_for_numbers(rows: Rows, numbers: tuple[int, int, int], widest: int, K: int) -> Choice | None:
    """Return the argument with least width, most weight and events given; None if it has gaps then, or is thin."""
    least, most, events = numbers
    wide = rows.width.intersect_range(isl.Set(f"{{ [w] : w >= {least} }}"))
    pairs = wide.domain()
    ranges: tuple[tuple[int, int, int], ...] = ()
    if rows.lines in ONE_LINE:
        ranges = _ranges(rows, wide, least, widest, K)
        after = _columns_come_after(rows)
        beyond = isl.Map(f"{{ [c, t] -> [c, u] : u {'>=' if after else '<='} t }}")  # no gaps
        pairs = pairs.subtract(pairs.intersect(near(ranges, sided=after)).apply(beyond))
    made = rows.of(pairs.coalesce())
    if thickness(made.domain) < 3 or not are_without_gaps(made.domain, rows.axes):
        return None
    return Choice(made, least, most, events, ranges)


def _columns_come_after(rows: Rows) -> bool:
    column, row, _ = rows.axes
    name = rows.domain.get_tuple_name()
    return bool(rows.domain.is_subset(isl.Set(f"{{ {name}[x0, x1, x2] : x{column} > x{row} }}")))


def _by_width(rows: Rows, sizes: Mapping[str, int]) -> dict[int, int]:
    """Return how many pairs of a column and a step have so many places, or a few less, at given sizes."""
    width = rows.width
    for at in range(width.dim(_PARAM)):
        width = width.fix_val(_PARAM, at, isl.Val(sizes[width.get_dim_name(_PARAM, at)]))
    widths = width.range()
    if widths.is_empty():
        return {}
    first, last = (int(item.to_python()) for item in (widths.dim_min_val(0), widths.dim_max_val(0)))
    stride = 1 + (last - first) // MOST_WIDTHS
    step()
    found = {}
    for at in range(last, first - 1, -stride):
        one = width.intersect_range(isl.Set(f"{{ [w] : {at - stride} < w <= {at} }}"))
        found[at] = int(one.domain().count_val().to_python())
    return found


def rim_of(width: isl.Map, delay: int) -> int | None:
    """Return by how much a step is wider than one of the same column so near, None if that has no limit."""
    nearby = isl.Map(f"{{ [c, t] -> [c, u] : -{delay} <= u - t <= {delay} }}")
    more = width.reverse().apply_range(nearby).apply_range(width).deltas()
    most = more.dim_max_val(0)
    return int(most.to_python()) if most.is_int() else None


def _ranges(rows: Rows, wide: isl.Map, least: int, widest: int, K: int) -> tuple[tuple[int, int, int], ...]:
    """Return the ranges of steps with the least width from there on, and how near lines must not be there."""
    found = [(0, K // least + 2 * rows.delay - 1, least)]
    for at in range(1, ROW_RANGES):
        width = round(least * (widest / least) ** (at / ROW_RANGES))
        last = wide.intersect_range(isl.Set(f"{{ [w] : w < {width} }}")).domain().dim_max_val(1)
        if width > found[-1][2] and last.is_int():
            found.append((int(last.to_python()) + 1, K // width + 2 * rows.delay - 1, width))
    return tuple(found)


def near(ranges: tuple[tuple[int, int, int], ...], *, sided: bool) -> isl.Set:
    """Return the pairs of a column and a step that are nearer than the ranges allow; ``sided``: columns come after."""
    found = isl.Set("{ [c, t] : false }")
    first, far = ("t", "c - t") if sided else ("c", "t - c")
    for number, (start, distance, _) in enumerate(ranges):
        after = [f"{first} >= {start}"] if number else []
        until = [f"{first} < {ranges[number + 1][0]}"] if number + 1 < len(ranges) else []
        found = found.union(isl.Set(f"{{ [c, t] : {' and '.join([*after, *until, f'{far} <= {distance}'])} }}"))
    return found


# -- as a part of a bound


def sub_bound(item: Choice, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas."""
    program, rows = flow.program, item.rows
    context, name = program.context, rows.domain.get_tuple_name()
    places = places_of(rows.domain, rows.axes)
    few = places.lexmin().apply_range(isl.Map(f"{{ [k] -> [l] : k <= l < k + {item.most} }}")).intersect(places)
    weight = count_formula(card(places.flat_range_product(few).wrap().flatten().coalesce(), context))
    sources = sympy.Add(*(most_formula(found, context) for found in sets_of(rows.vertices)))
    rim = rim_of(rows.width, rows.delay) or 0
    T = sympy.Integer(item.events)
    K = S + T
    nearest = _largest_memory(item)
    U = most_weight(K, rows.lines, (item.least, rim, rows.delay, item.most), sympy.Integer(nearest))
    value = least_events(weight / U, T) - sources
    column, row, place = (program.by_name[name].iterators[at] for at in rows.axes)
    have = {"apart": "no vertex", "crossing": "one vertex at most"}
    common = have.get(rows.lines, "all vertices, for column x and step x,")
    steps = (
        f"Columns are values of {column}, steps those of {row}, places those of {place}; a column has w = {item.least}",
        f"places or more at a step. delta = {rim}, h = {rows.delay}, M = {item.most}.",
        f"The line of a column: {set_text(rows.reads[0].range(), program)}",
        f"The line of a step: {set_text(rows.reads[1].range(), program)}",
        f"The lines of a column and of a step have {common} in common.",
        *(["W(c,t) <= W(b,c) wherever D has (b,c) and (c,t)."] if rows.lines == "narrowing" else []),
        *(f"From step {start} on: g = {distance}, v = {width}." for start, distance, width in item.ranges),
        "Every instance is an ancestor of all of its column h steps later or more: this follows from flows composed.",
        f"Lemma (rows read whole): P weighs at most U; K = S + T; any T will do; chosen: T = {T}.",
        f"Lemma (segments), by weight: value = {value_text('weight of D', 'U', T)} - sources.",
    )
    return SubBound(
        "rows read whole",
        (name,),
        set_text(rows.domain, program),
        value,
        item.spill,
        set_text(item.spill, program),
        {"weight of D": weight, "K": K, "T": T, "U": U, "sources": sources},
        steps,
        (SEGMENTS, WHOLE_ROWS),
        certificate={
            "kind": "whole rows",
            "statements": [name],
            "domain": str(rows.domain),
            "axes": list(rows.axes),
            "onward": rows.onward,
            "delay": rows.delay,
            "lines": rows.lines,
            "reads": [str(one) for one in rows.reads],
            "ancestors": str(rows.ancestors),
            "least": item.least,
            "most": item.most,
            "rim": rim,
            "ranges": [list(one) for one in item.ranges],
            "largest_memory": nearest,
            "events": str(T),
            "weight": str(weight),
            "sources_count": str(sources),
        },
    )


def _largest_memory(item: Choice) -> int:
    """Return the largest K for which no three lines are joined: v (g + 2 - 2 h) has to be more."""
    delay = item.rows.delay
    return min((width * (distance + 2 - 2 * delay) - 1 for _, distance, width in item.ranges), default=0)
