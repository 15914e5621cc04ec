"""Steps of several statements that a loop passes: each is placed at the element that it writes or reads.

Gauss and Jordan's elimination, or an inversion in place, changes in step k the row k, the column k and all the rest by
statements of their own. In the coordinates of the deepest one, (k, i, j) where it writes ``A[i][j]``, what changes
``A[k][j]`` belongs to (k, k, j), a factor taken from ``A[i][k]`` to (k, i, k). As in :mod:`passed` the step begins at
the row and the column that all read, and what lies behind these is executed as if it came after all the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.subspaces import span
from shorthaul.affine.model import Statement
from shorthaul.affine.orders.pieces.passed import (
    Part,
    following,
    in_parts,
    instances_where,
    length,
    nests_of,
    temporaries,
)
from shorthaul.affine.orders.placement import Placement, Row, as_written, function_rows
from shorthaul.affine.orders.splitting import Piece, Split


@dataclass(frozen=True)
class _Passing:
    """A coordinate that another one, ``outer``, passes: an element is on it where factor . subscript = outer + apart.

    What is behind is placed ``later``.
    """

    subscript: int
    outer: int
    factor: int
    apart: Row
    later: Row

    def ahead(self, rows: Sequence[Row], element: Sequence[Row]) -> Row:
        """Return how far an instance with these coordinates and this element is ahead."""
        zero = Row((0,) * len(rows[0].factors), self.apart.parameters, self.apart.constant)
        return zero.plus(element[self.subscript], self.factor).plus(rows[self.outer], -1)


def passed(flow: DataFlow, names: Sequence[str]) -> tuple[Split, Placement] | None:
    """Return the statements ``names`` in pieces, placed by elements, with what is passed later; None if nothing is.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> from shorthaul.affine.integer_sets.dependences import flow_dependences
    >>> parts, placement = passed(flow_dependences(kernel("floyd-warshall")), ["S0"])
    >>> len(placement), [row.parameters for row in placement["S0_bb"]]
    (9, [(), (('N', 1),), (('N', 1),)])
    """
    program = flow.program
    chosen = [program.by_name[name] for name in names]
    often = Counter(read.array for item in chosen for read in item.reads)
    root = max(
        chosen,
        key=lambda item: (len(item.iterators), program.arrays[item.write.array].dimensions, often[item.write.array]),
    )
    array, own = root.write.array, function_rows(root.write.relation)
    written = as_written(chosen)
    if own is None:
        return None
    at = {
        place: number
        for number, row in enumerate(own)
        for place, line in enumerate(written[root.name])
        if sum(map(abs, row.factors)) == 1 and [*map(abs, row.factors)] == [*map(abs, line.factors)]
    }
    times = [place for place in range(len(written[root.name])) if place not in at]
    elements = {item.name: _element(item, root, [written[item.name][place] for place in times]) for item in chosen}
    found = {
        place: passing
        for place, number in at.items()
        for passing in [_passing(chosen, root, array, number, [one for one in times if one < place], written)]
        if passing is not None
    }
    if not found:
        return None
    apart, pieces, placement = temporaries(flow), dict[str, Piece](), dict[str, tuple[Row, ...]]()
    parts = {item.name: [Part(item.name, item.domain, frozenset(), item.write.array)] for item in program.statements}
    for item in chosen:
        element, rows, ahead = elements[item.name], list(written[item.name]), dict[int, Row]()
        if element is not None:
            ahead = {place: one.ahead(rows, element) for place, one in found.items()}
            for place, number in at.items():
                same = sum(own[number].factors) == sum(written[root.name][place].factors)
                turned = found[place].factor if place in found else 1 if same else -1
                rows[place] = Row((0,) * len(item.iterators)).plus(element[number], turned)
        parts[item.name] = list(_parts(item, array, element, found, ahead, pieces, keep=item.write.array in apart))
        for part in parts[item.name]:
            placement[part.name] = tuple(_later(row, found, part.late, place) for place, row in enumerate(rows))
    made = in_parts(flow, parts, pieces)
    return None if made is None else (made, placement)


def _element(statement: Statement, root: Statement, times: Sequence[Row]) -> tuple[Row, ...] | None:
    """Return the subscripts of the element at which a statement is placed: written, else read; None if none is.

    With another statement in each of its iterations it is at the element that this one writes.
    """
    for item in (statement.write, *statement.reads):
        rows = function_rows(item.relation) if item.array == root.write.array else None
        if rows is not None and len(span([row.factors for row in (*times, *rows)])) == len(statement.iterators):
            return rows
    return function_rows(root.write.relation) if len(nests_of([statement, root])) == 1 else None


def _passing(
    chosen: Sequence[Statement], root: Statement, array: str, number: int, times: Sequence[int], written: Placement
) -> _Passing | None:
    """Return what passes a subscript: an outer coordinate at which some statement reads or writes."""
    own = function_rows(root.write.relation) or ()
    loop = next(at for at, factor in enumerate(own[number].factors) if factor)
    for item in chosen:
        lines = [
            rows[number]
            for one in (item.write, *item.reads)
            if one.array == array and (rows := function_rows(one.relation)) is not None
        ]
        for line, outer, factor in product(lines, times, (1, -1)):
            rest = line.plus(written[item.name][outer], -factor)
            if any(rest.factors) or not any(line.factors):
                continue
            late = length(root, loop)
            if late is None:
                continue
            apart = Row(()).plus(Row((), rest.parameters, rest.constant), -factor)
            passing = _Passing(number, outer, factor, apart, late)
            row = passing.ahead(written[root.name], own)
            if not any(instances_where(root, [(row, sign)]).is_empty() for sign in "<>"):
                return passing
    return None


def _parts(
    statement: Statement,
    array: str,
    element: Sequence[Row] | None,
    found: Mapping[int, _Passing],
    ahead: Mapping[int, Row],
    pieces: dict[str, Piece],
    *,
    keep: bool,
) -> Iterator[Part]:
    """Yield the pieces of a statement ahead, on and behind every coordinate that is passed, noted in ``pieces``."""
    rows = function_rows(statement.write.relation) or ()
    for signs in product(">=<", repeat=len(ahead)):
        effort.step()
        conditions = tuple((row, sign) for row, sign in zip(ahead.values(), signs, strict=True))
        domain = instances_where(statement, conditions)
        if domain.is_empty():
            continue
        name = statement.name + "_" + "".join({">": "a", "=": "o", "<": "b"}[sign] for sign in signs)
        pieces[name] = Piece(statement.name, conditions)
        late = frozenset(at for at, sign in zip(ahead, signs, strict=True) if sign == "<")
        once = statement.write.relation.intersect_domain(domain).is_injective()
        mine, own = domain.set_tuple_name(name), f"{statement.write.array} of {name}"
        if statement.write.array != array and rows != element:
            numbered = not once and not keep
            yield Part(name, mine, late, own if numbered else statement.write.array, numbered=numbered)
        elif "=" in signs and once:
            yield Part(name, mine, late, own, None, following(rows, domain))
        else:
            still = Row((0,) * len(statement.iterators))
            moved = [still] * len(rows)
            for passing in (found[at] for at in late):
                row = Row(still.factors, passing.later.parameters, passing.later.constant)
                moved[passing.subscript] = still.plus(row, passing.factor)
            yield Part(name, mine, late, statement.write.array, tuple(moved))


def _later(row: Row, found: Mapping[int, _Passing], late: frozenset[int], place: int) -> Row:
    """Return a coordinate of what is behind in the coordinates ``late``."""
    if place not in late:
        return row
    later = found[place].later
    return row.plus(Row((0,) * len(row.factors), later.parameters, later.constant))
