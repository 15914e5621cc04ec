"""Placements: the instances of several statements in one space of integer coordinates, so that they can be tiled.

A placement gives every statement one affine row per coordinate. It is legal for an order of the coordinates if no
dependence points backwards there; what decides is which signs the distances of the dependences take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, permutations, product

import islpy as isl

from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.signs import Signs, signs_of
from shorthaul.affine.integer_sets.subspaces import integer_solution, span
from shorthaul.affine.model import Statement
from shorthaul.affine.tuning import MOST_PLACEMENTS, WIDEST_FREE_ORDER

_IN, _OUT, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param
_SET, _DIV = isl.dim_type.set, isl.dim_type.div


@dataclass(frozen=True, slots=True)
class Row:
    """An affine function of a vector: factors, a multiple of every parameter (by name), and a constant."""

    factors: tuple[int, ...]
    parameters: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def after(self, inner: Sequence[Row]) -> Row:
        """Return the row as a function of what ``inner`` are functions of."""
        width = len(inner[0].factors) if inner else 0
        result = Row((0,) * width, self.parameters, self.constant)
        for factor, row in zip(self.factors, inner, strict=True):
            result = result.plus(row, factor)
        return result

    def plus(self, other: Row, factor: int = 1) -> Row:
        """Return this row plus a multiple of another one."""
        known = dict(self.parameters)
        for name, value in other.parameters:
            known[name] = known.get(name, 0) + factor * value
        factors = tuple(a + factor * b for a, b in zip(self.factors, other.factors, strict=True))
        parameters = tuple(sorted((name, value) for name, value in known.items() if value))
        return Row(factors, parameters, self.constant + factor * other.constant)

    def times(self, factor: int) -> Row:
        """Return a multiple of the row."""
        return Row((0,) * len(self.factors)).plus(self, factor)

    def text(self, names: Sequence[str]) -> str:
        """Return the row as isl reads it."""
        terms = [f"{factor}*{name}" for factor, name in zip(self.factors, names, strict=True) if factor]
        terms += [f"{factor}*{name}" for name, factor in self.parameters]
        return " + ".join([*terms, str(self.constant)])

    def at(self, values: Sequence[int], sizes: Mapping[str, int]) -> int:
        """Return the value at a point."""
        inner = sum(factor * value for factor, value in zip(self.factors, values, strict=True))
        return inner + sum(factor * sizes[name] for name, factor in self.parameters) + self.constant


#: Rows by statement.
Placement = Mapping[str, tuple[Row, ...]]


@dataclass(frozen=True, slots=True)
class Read:
    """One affine piece of one flow: ``function`` maps instances of ``sink`` to the value read, ``rows`` says how.

    ``rows`` is None where the function is not affine. ``source`` is None for inputs. ``zeros`` are affine functions
    that are 0 on the whole of ``domain``.
    """

    sink: str
    source: str | None
    array: str
    function: isl.Map
    rows: tuple[Row, ...] | None
    domain: isl.Set
    zeros: tuple[Row, ...] = ()

    def anchor(self, row: Row) -> tuple[tuple[int, ...], Row] | None:
        """Return (factors, offset) with row = factors . value + offset on the domain, if there are such integers."""
        if self.rows is None:
            return None
        known = (*self.rows, *self.zeros)
        if not known:
            return None
        factors = integer_solution(tuple(item.factors for item in known), row.factors)
        if factors is None:
            return None
        return factors[: len(self.rows)], row.plus(Row(factors).after(known), -1)


def reads_of(flow: DataFlow, sink: str) -> tuple[Read, ...]:
    """Return everything that the instances of ``sink`` read, taken apart into affine pieces."""
    result: list[Read] = []
    for item in flow.into(sink):
        turned = item.relation.reverse()
        if not turned.is_single_valued():
            result.append(Read(sink, item.source, item.reference.array, turned, None, turned.domain()))
            continue
        pieces: list[tuple[isl.Set, isl.MultiAff]] = []
        names = turned.get_tuple_name(_IN), turned.get_tuple_name(_OUT)
        whole = isl.PwMultiAff.from_map(turned).coalesce()
        whole.foreach_piece(lambda where, value, out=pieces: out.append((where, value)))
        for where, value in pieces:
            function = isl.Map.from_multi_aff(value).intersect_domain(where)
            function = function.set_tuple_name(_IN, names[0]).set_tuple_name(_OUT, names[1])
            rows, domain = _rows(value), function.domain()
            rows = _rows_as(function, domain, result) if rows is None else rows
            result.append(Read(sink, item.source, item.reference.array, function, rows, domain, zeros_of(domain)))
    return tuple(result)


def _rows_as(function: isl.Map, domain: isl.Set, others: Sequence[Read]) -> tuple[Row, ...] | None:
    """Return the rows of another read that is the same function here: where few values are read, isl may divide."""
    name, parameters = domain.get_tuple_name(), tuple(function.get_var_names(_PARAM))
    for rows in dict.fromkeys(item.rows for item in others):
        if rows is not None and len(rows) == function.dim(_OUT):
            same = placement_map(name, domain.dim(_SET), rows, parameters).intersect_domain(domain)
            if same.set_tuple_name(_OUT, function.get_tuple_name(_OUT)).is_equal(function):
                return rows
    return None


def function_rows(relation: isl.Map) -> tuple[Row, ...] | None:
    """Return a map as affine functions of its arguments, None if it is not one."""
    pieces = _values(relation)
    return _rows(pieces[0]) if len(pieces) == 1 else None


def _values(relation: isl.Map) -> list[isl.MultiAff]:
    """Return the affine functions that a map is, by pieces."""
    pieces: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(relation).coalesce().foreach_piece(lambda _, value: pieces.append(value))
    return pieces


def _rows(value: isl.MultiAff) -> tuple[Row, ...] | None:
    rows = [affine_row(value.get_aff(at)) for at in range(value.dim(_OUT))]
    return None if any(row is None for row in rows) else tuple(row for row in rows if row is not None)


def zeros_of(domain: isl.Set) -> tuple[Row, ...]:
    """Return affine functions that are 0 on the whole of ``domain``."""
    found = (item.get_aff() for item in domain.affine_hull().get_constraints() if item.is_equality())
    return tuple(row for row in map(affine_row, found) if row is not None and any(row.factors))


def affine_row(affine: isl.Aff) -> Row | None:
    """Return an affine function as a row, None if it is divided or has no value."""
    if affine.get_denominator_val().to_python() != 1 or affine.is_nan():
        return None
    if any(affine.get_coefficient_val(_DIV, at).to_python() for at in range(affine.dim(_DIV))):
        return None
    factors = tuple(affine.get_coefficient_val(_IN, at).to_python() for at in range(affine.dim(_IN)))
    named = (
        (affine.get_dim_name(_PARAM, at), affine.get_coefficient_val(_PARAM, at).to_python())
        for at in range(affine.dim(_PARAM))
    )
    return Row(
        factors, tuple(sorted((name, value) for name, value in named if value)), affine.get_constant_val().to_python()
    )


@lru_cache(maxsize=1 << 14)
def placement_map(name: str, width: int, rows: tuple[Row, ...], parameters: tuple[str, ...]) -> isl.Map:
    """Return the map from the instances of a statement (or any tuple of ``width`` values) to their coordinates."""
    inner = [f"v{at}" for at in range(width)]
    values = ", ".join(row.text(inner) for row in rows)
    text = f"[{', '.join(parameters)}] -> {{ {name}[{', '.join(inner)}] -> [{values}] }}"
    return isl.Map(text)


def loops(statement: Statement) -> tuple[Row, ...]:
    """Return the statement's own loops as coordinates, turned round where a loop counts down."""
    width = len(statement.iterators)
    result = []
    for at in range(width):
        found = entry(statement, statement.times[at])
        down = found is not None and found.factors[at] < 0
        result.append(Row(tuple((-1 if down else 1) * int(k == at) for k in range(width))))
    return tuple(result)


def as_written(statements: Sequence[Statement]) -> Placement:
    """Return the placement of every statement by its place in time, loop by loop from the outermost on.

    So loops that follow from others count too; those that a statement does not have, or not as an affine function, are
    its own loop or 0.
    """
    times = sorted({at for item in statements for at in item.times})
    result = {}
    for item in statements:
        own = dict(zip(item.times, loops(item), strict=True))
        result[item.name] = tuple(entry(item, at) or own.get(at) or Row((0,) * len(item.iterators)) for at in times)
    return result


def entry(statement: Statement, at: int) -> Row | None:
    """Return an entry of the time vectors of a statement as an affine function, None if it is none."""
    pieces = _values(statement.schedule)
    return affine_row(pieces[0].get_aff(at)) if len(pieces) == 1 else None


def placements(
    distances: Distances,
    names: Sequence[str],
    reads: Mapping[str, Sequence[Read]],
    start: str | None = None,
    wanted: Callable[[Placement], bool] | None = None,
    *,
    in_turns: bool = False,
) -> Iterator[Placement]:
    """Return placements of the statements ``names`` in the space of the deepest one, the most natural ones first.

    Every one is ``wanted``, by default that it has a legal order of its coordinates. With ``start``, one of the
    deepest, the space is that of its loops. Statements of one depth may also be ``in_turns``.
    """
    wanted = distances.orderly if wanted is None else wanted
    flow = distances.flow
    statements = [flow.program.by_name[name] for name in names]
    root = flow.program.by_name[start] if start else max(statements, key=lambda item: len(item.iterators))
    found: list[dict[str, tuple[Row, ...]]] = [{root.name: loops(root)}]
    found += [item for rows in _by_subscripts(root) if wanted(item := {root.name: rows})]
    waiting = sorted((item for item in statements if item is not root), key=lambda item: -len(item.iterators))
    while waiting and found:
        linked = [item for item in waiting if _linked(item.name, found[0], reads)]
        chosen = (linked or waiting)[0]
        waiting.remove(chosen)
        following = []
        for partial in found:
            options = dict.fromkeys(options_beside(flow, chosen, partial, reads, len(found[0][root.name])))
            following += [{**partial, chosen.name: rows} for rows in options]
        found = list(islice((item for item in following if wanted(item)), MOST_PLACEMENTS))
    yield from found
    if in_turns and len(names) > 1 and all(len(item.iterators) == len(root.iterators) > 0 for item in statements):
        yield levels(statements)


def _by_subscripts(statement: Statement) -> Iterator[tuple[Row, ...]]:
    """Yield the loops of a statement with some replaced by what it writes to: the diagonal of d[i + j] is one value.

    All subscripts that are sums of loops at once, then each alone.
    """
    own = loops(statement)
    sums = [row for row in function_rows(statement.write.relation) or () if sum(map(bool, row.factors)) > 1]
    single = [[at for at, factor in enumerate(row.factors) if abs(factor) == 1] for row in sums]
    together = [chosen for chosen in product(*single) if len({*chosen}) == len(chosen) > 1]
    alone = [
        tuple(at if row == number else -1 for row in range(len(sums)))
        for number, options in enumerate(single)
        for at in options
    ]
    for chosen in (*together, *alone):
        linear = {at: Row(row.factors) for at, row in zip(chosen, sums, strict=True)}
        yield tuple(linear.get(at, row) for at, row in enumerate(own))


def levels(statements: Sequence[Statement]) -> Placement:
    """Return statements that take turns in their outermost loop as one with as many times the steps."""
    count = len(statements)
    result = {}
    for at, item in enumerate(statements):
        first, *rest = loops(item)
        result[item.name] = (Row(tuple(count * value for value in first.factors), (), at), *rest)
    return result


def _linked(name: str, partial: Placement, reads: Mapping[str, Sequence[Read]]) -> bool:
    return any(item.source in partial for item in reads[name]) or any(
        item.source == name for other in partial for item in reads[other]
    )


def options_beside(
    flow: DataFlow, statement: Statement, partial: Placement, reads: Mapping[str, Sequence[Read]], width: int
) -> Iterator[tuple[Row, ...]]:
    """Return ways to place one more statement: where its values are used, made or shared, or as its loops are."""
    own = loops(statement)
    drafts, inmost = list[list[Row | None]](), list[list[Row | None]]()
    for other, rows in partial.items():
        uses = [item for item in reads[other] if item.source == statement.name]
        before = [[_anchor(row, use) for row in rows] for use in uses if use.rows is not None]
        known = [item for item in reads[statement.name] if item.rows is not None]
        after: list[list[Row | None]] = [
            [row.after(item.rows or ()) for row in rows] for item in known if item.source == other
        ]
        drafts += [*_beyond(before, min), *before, *_beyond(after, max), *after]
        inmost += [_inmost(rows, own) for rows in after if any(row and _is_strided(row) for row in rows)]
        if len(before) < len(uses) or any(row is None for rows_before in before for row in rows_before):
            drafts.append([_window_start(flow, statement, {other: rows}, at) for at in range(width)])
        drafts += [
            _beside(rows, shared, item.rows or ())
            for item in known
            for shared in reads[other]
            if item.source is None and shared.source is None and item.array == shared.array and shared.rows is not None
        ]
    drafts.sort(
        key=lambda rows: (sum(row is None for row in rows), -len(span([r.factors for r in rows if r and r.factors])))
    )
    if not any(item.source == statement.name for other in partial for item in reads[other]):
        drafts[:0] = filter(any, _behind(flow, statement, partial, reads))
    drafts += inmost
    if len(own) == width:
        drafts.append(list(own))
    drafts.append(_by_name(statement, partial, flow))
    for draft in drafts:
        filled = _filled(flow, statement, draft, partial, own)
        if filled is not None and len(span([row.factors for row in filled])) == len(own):
            yield filled


def _beyond(drafts: Sequence[Sequence[Row | None]], last: Callable[..., Row]) -> Iterator[list[Row | None]]:
    """Yield the draft before or after all of ``drafts``, coordinate by coordinate, if they differ by constants only."""
    result: list[Row | None] = []
    for rows in zip(*drafts, strict=True):
        known = [row for row in rows if row is not None]
        if len(known) < len(rows) or len({(row.factors, row.parameters) for row in known}) > 1:
            return
        result.append(last(known, key=lambda row: row.constant))
    if len(drafts) > 1 and result not in drafts:
        yield result


def _by_name(statement: Statement, partial: Placement, flow: DataFlow) -> list[Row | None]:
    """Place loops where the deepest statement that is placed has loops of the same name."""
    deepest = max((flow.program.by_name[name] for name in partial), key=lambda item: len(item.iterators))
    own = dict(zip(statement.iterators, loops(statement), strict=True))
    inner = [next((k for k, factor in enumerate(row.factors) if factor), None) for row in partial[deepest.name]]
    return [None if at is None else own.get(deepest.iterators[at]) for at in inner]


def _inmost(rows: Sequence[Row | None], own: Sequence[Row]) -> list[Row | None]:
    """Place innermost loops where a read of every second value has the end of a sum.

    Reads of all values are placed before by the first use, which is no affine function of these.
    """
    given = [row if row is not None and any(row.factors) else None for row in rows]
    unused = [row for row in own if row not in given]
    free = iter(unused[max(0, len(unused) - given.count(None)) :])
    return [next(free, None) if row is None else row for row in given]


def _is_strided(row: Row) -> bool:
    return any(abs(factor) > 1 for factor in row.factors)


def _beside(rows: Sequence[Row], shared: Read, inner: Sequence[Row]) -> list[Row | None]:
    """Place a statement that reads by ``inner`` where another one, placed by ``rows``, reads the same by ``shared``."""
    found = [_anchor(row, shared) for row in rows]
    return [None if row is None else row.after(inner) for row in found]


def _behind(
    flow: DataFlow, statement: Statement, partial: Placement, reads: Mapping[str, Sequence[Read]]
) -> Iterator[list[Row | None]]:
    """Yield where others read last a value that a statement reads too: where it may be changed in place."""
    parameters = tuple(flow.program.parameters)
    for own, (other, rows) in product(reads[statement.name], partial.items()):
        width = len(flow.program.by_name[other].iterators)
        for shared in (item for item in reads[other] if item.source == own.source in partial):
            users = own.function.apply_range(shared.function.reverse())
            last = (users.apply_range(placement_map(other, width, (row,), parameters)).lexmax() for row in rows)
            yield [None if item is None else item[0] for item in map(function_rows, last)]


def _anchor(row: Row, read: Read) -> Row | None:
    """Return ``row`` as a function of the value read, if it is one."""
    found = read.anchor(row)
    return None if found is None else Row(found[0], found[1].parameters, found[1].constant)


def _filled(
    flow: DataFlow, statement: Statement, draft: Sequence[Row | None], partial: Placement, own: Sequence[Row]
) -> tuple[Row, ...] | None:
    """Complete a draft: loops of the statement that it leaves out, else the least coordinate of any user."""
    result: list[Row] = []
    unused = [row for row in own if row.factors not in {item.factors for item in draft if item is not None}]
    missing = sum(row is None for row in draft)
    for at, row in enumerate(draft):
        if row is not None:
            result.append(row)
            continue
        free = len(unused) >= missing
        result.append(unused.pop(0) if free else _first_use(flow, statement, partial, at) or Row((0,) * len(own)))
        missing -= 1
    return tuple(result)


def _window_start(flow: DataFlow, statement: Statement, partial: Placement, at: int) -> Row | None:
    """Return the least coordinate of all users of a value, None if there are more the larger sizes are."""
    where = _uses(flow, statement, partial, at)
    if where is None:
        return None
    values = ([affine_row(item.get_aff(0)) for item in _values(one)] for one in (where.lexmin(), where.lexmax()))
    ends = [[row for row in rows if row is not None] for rows in values]
    parameters = tuple(flow.program.parameters)
    earlier = isl.Map("{ [a] -> [b] : b < a }")
    for first in ends[0]:  # at the borders of the domain there may be others
        start = placement_map(statement.name, len(statement.iterators), (first,), parameters)
        bounded = any(not any((apart := last.plus(first, -1)).factors) and not apart.parameters for last in ends[1])
        if bounded and where.intersect(start.apply_range(earlier)).is_empty():
            return first
    return None


def _first_use(flow: DataFlow, statement: Statement, partial: Placement, at: int) -> Row | None:
    where = _uses(flow, statement, partial, at)
    if where is None:
        return None
    try:
        rows = {affine_row(piece.get_aff(0)) for piece in _values(where.lexmin())}
    except isl.Error:
        return None
    return rows.pop() if len(rows) == 1 else None


def _uses(flow: DataFlow, statement: Statement, partial: Placement, at: int) -> isl.Map | None:
    """Return a coordinate of the placed instances that read a value, by the instance that computes it."""
    program = flow.program
    where = None
    for item in flow.out_of(statement.name):
        if item.sink in partial:
            sink = program.by_name[item.sink]
            row = placement_map(sink.name, len(sink.iterators), (partial[item.sink][at],), program.parameters)
            uses = item.relation.apply_range(row)
            where = uses if where is None else where.union(uses)
    return where


class Distances:
    """The signs that distances of dependences take, remembered by placement."""

    def __init__(self, flow: DataFlow) -> None:
        self.flow = flow
        self._known: dict[tuple[int, tuple[Row, ...], tuple[Row, ...]], frozenset[Signs]] = {}

    def signs(self, placement: Placement) -> frozenset[Signs]:
        """Return all patterns of signs among the placed statements, one sign per coordinate."""
        inside = (at for at, item in enumerate(self.flow.flows) if {item.source, item.sink} <= placement.keys())
        return frozenset[Signs]().union(*(self.of_flow(at, placement) for at in inside))

    def orderly(self, placement: Placement) -> bool:
        """True if some order of the coordinates is legal."""
        signs, width = self.signs(placement), len(next(iter(placement.values())))
        orders = permutations(range(width)) if width <= WIDEST_FREE_ORDER else iter([tuple(range(width))])
        return any(Loops((), (), order).legal(signs) for order in orders)

    def cuttable(self, placement: Placement) -> bool:
        """True if no dependence points backwards along some coordinate."""
        signs = self.signs(placement)
        width = len(next(iter(placement.values())))
        return any(all(item[at] >= 0 for item in signs) for at in range(width))

    def of_flow(self, at: int, placement: Placement) -> frozenset[Signs]:
        """Return the patterns of the flow numbered ``at``, from a placed statement to a placed one."""
        item, program = self.flow.flows[at], self.flow.program
        names = item.source or "", item.sink
        key = at, placement[names[0]], placement[names[1]]
        if key not in self._known:
            ends = [
                placement_map(name, len(program.by_name[name].iterators), placement[name], program.parameters)
                for name in names
            ]
            self._known[key] = signs_of(item.relation.apply_domain(ends[0]).apply_range(ends[1]).deltas())
        return self._known[key]


@dataclass(frozen=True, slots=True)
class Loops:
    """An order of the instances: sequential coordinates outside, then tiles, then an order inside of each tile."""

    outer: tuple[int, ...]
    tiled: tuple[int, ...]
    inner: tuple[int, ...]

    def legal(self, signs: frozenset[Signs]) -> bool:
        """True if every dependence points forwards: tiles as wholes, and instances inside of a tile."""
        return all(self._forward(item) for item in signs)

    def _forward(self, signs: Signs) -> bool:
        for at in self.outer:
            if signs[at]:
                return signs[at] > 0
        if any(signs[at] < 0 for at in self.tiled):
            return False
        return next((signs[at] for at in self.inner if signs[at]), 1) > 0
