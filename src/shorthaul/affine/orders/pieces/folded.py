"""Folded loops: of instances that read the same elements crosswise, both are executed together.

``S[i][j] = A[i][j] + A[j][i]`` reads with (i, j) what it reads with (j, i), a loop over ``x[i]`` and ``x[n - 1 - i]``
the same at both ends. Instances on one side of the middle stay where they are, the others are placed where their images
are. So are those that read what is computed there with the same iterators, as ``A[i][j] = S[i][j]`` after all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.model import Statement
from shorthaul.affine.orders.placement import Placement, Row, as_written, function_rows
from shorthaul.affine.orders.splitting import Piece, Split, in_own_names, in_pieces

#: The image of every iterator.
_Mirror = tuple[Row, ...]


def folded(flow: DataFlow, names: Sequence[str]) -> tuple[Split, Placement] | None:
    """Return the statements ``names`` in halves, placed so that both read the same; None where nothing is folded.

    >>> from shorthaul.affine.frontend.scop import program_from_text
    >>> from shorthaul.affine.integer_sets.dependences import flow_dependences
    >>> text = (
    ...     "void f(int n, double A[n][n], double S[n][n]) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
    ... )
    >>> flow = flow_dependences(program_from_text(text + "S[i][j] = A[i][j] + A[j][i]; }"))
    >>> {name: [row.factors for row in rows] for name, rows in folded(flow, ["S0"])[1].items()}
    {'S0_near': [(1, 0), (0, 1)], 'S0_far': [(0, 1), (1, 0)]}
    """
    chosen = [flow.program.by_name[name] for name in names]
    written = as_written(chosen)
    pieces: dict[str, Piece] = {}
    placement: dict[str, tuple[Row, ...]] = {}
    mirrors = _with_readers(flow, {item.name: next(_mirrors(item), None) for item in chosen})
    for item in chosen:
        rows, mirror = written[item.name], mirrors[item.name]
        if mirror is None:
            placement[item.name] = rows
            continue
        own = _unit_rows(len(item.iterators))
        apart = next(row for one, image in zip(own, mirror, strict=True) if any((row := one.plus(image, -1)).factors))
        one_less = Row(apart.factors, apart.parameters, apart.constant - 1)
        pieces[f"{item.name}_near"] = Piece(item.name, ((one_less, "<"),))
        pieces[f"{item.name}_far"] = Piece(item.name, ((apart, ">"),))
        placement[f"{item.name}_near"] = rows
        placement[f"{item.name}_far"] = tuple(row.after(mirror) for row in rows)
    if not pieces:
        return None
    parts = in_own_names(in_pieces(flow, pieces))
    if any(parts.flow.program.by_name[name].domain.is_empty() for name in placement):
        return None  # all instances are on one side
    return parts, placement


def _with_readers(flow: DataFlow, mirrors: Mapping[str, _Mirror | None]) -> dict[str, _Mirror | None]:
    """Return ``mirrors`` with those of statements that read, instance by instance, what is computed at both ends."""
    result = dict(mirrors)
    for item in flow.flows:
        mirror = result.get(item.source or "")
        if mirror is None or item.sink not in result or result[item.sink] is not None:
            continue
        rows = function_rows(item.relation.reverse())
        if rows is not None and rows == _unit_rows(len(mirror)) and len(rows[0].factors) == len(mirror):
            result[item.sink] = mirror
    return result


def _mirrors(statement: Statement) -> Iterator[_Mirror]:
    """Yield maps of the iterators that exchange what two references to one array read."""
    for first, second in combinations(statement.reads, 2):
        if first.array != second.array:
            continue
        one, other = function_rows(first.relation), function_rows(second.relation)
        if one is None or other is None:
            continue
        for mirror in _candidates(one, other, len(statement.iterators)):
            pairs = [*zip(one, other, strict=True), *zip(other, one, strict=True)]
            if all(_are_equal(row.after(mirror), image) for row, image in pairs):
                yield mirror


def _candidates(first: Sequence[Row], second: Sequence[Row], width: int) -> Iterator[_Mirror]:
    """Yield exchanges of two iterators, and turns of one."""
    own = _unit_rows(width)
    for a, b in combinations(range(width), 2):
        if any(row.factors[a] or row.factors[b] for row in first):
            yield tuple(own[{a: b, b: a}.get(at, at)] for at in range(width))
    for one, other in zip(first, second, strict=True):
        for at in range(width):
            if abs(one.factors[at]) == 1 and other.factors[at] == -one.factors[at]:
                image = other.plus(one, -1).plus(own[at], 2 * one.factors[at])
                turned = Row((0,) * width).plus(image, one.factors[at]).plus(own[at], -1)
                if turned.factors[at] == -1:
                    yield (*own[:at], turned, *own[at + 1 :])


def _unit_rows(width: int) -> tuple[Row, ...]:
    return tuple(Row(tuple(int(at == k) for k in range(width))) for at in range(width))


def _are_equal(one: Row, other: Row) -> bool:
    apart = one.plus(other, -1)
    return not any(apart.factors) and not apart.parameters and not apart.constant
