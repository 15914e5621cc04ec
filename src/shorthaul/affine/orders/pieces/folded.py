"""Folded loops: of instances that read the same elements crosswise, both are executed together.

``S[i][j] = A[i][j] + A[j][i]`` reads with (i, j) what it reads with (j, i), a loop over ``x[i]`` and ``x[n - 1 - i]``
the same at both ends. Instances on one side of the middle stay where they are, the others are placed where their images
are. So are those that read what is computed there with the same iterators, as ``A[i][j] = S[i][j]`` after all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.model import Statement
from shorthaul.affine.orders.placement import Placement, Row, as_written, function_rows
from shorthaul.affine.orders.splitting import Piece, Split, in_own_names, in_pieces


@dataclass(frozen=True, slots=True)
class _Mirror:
    """The image of every iterator of a statement, and what is negative on one side, positive on the other one."""

    images: tuple[Row, ...]
    apart: Row

    @classmethod
    def of(cls, images: tuple[Row, ...]) -> _Mirror:
        apart = (row.plus(image, -1) for row, image in zip(_unit_rows(len(images)), images, strict=True))
        return cls(images, next(row for row in apart if any(row.factors)))


def folded(
    flow: DataFlow, names: Sequence[str], turned: bool = False, given: Placement | None = None
) -> tuple[Split, Placement] | None:
    """Return the statements ``names`` in halves, placed so that both read the same; None where nothing is folded.

    Halves that stay are where instances are ``given``, as written by default.
    The half that stays is the one with the middle, where iterators are before their images, behind them if ``turned``:
    a value of every row that all its pairs change, one after the other, may begin or end in one of these ways only.

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
    written = given or as_written(chosen)
    pieces: dict[str, Piece] = {}
    placement: dict[str, tuple[Row, ...]] = {}
    mirrors = _with_others(flow, {item.name: next(_mirrors(item), None) for item in chosen})
    for item in chosen:
        rows, mirror = written[item.name], mirrors[item.name]
        if mirror is None:
            placement[item.name] = rows
            continue
        apart = Row((0,) * len(item.iterators)).plus(mirror.apart, -1 if turned else 1)
        one_less = Row(apart.factors, apart.parameters, apart.constant - 1)
        pieces[f"{item.name}_near"] = Piece(item.name, ((one_less, "<"),))
        pieces[f"{item.name}_far"] = Piece(item.name, ((apart, ">"),))
        placement[f"{item.name}_near"] = rows
        placement[f"{item.name}_far"] = tuple(row.after(mirror.images) for row in rows)
    if not pieces:
        return None
    parts = in_own_names(in_pieces(flow, pieces))
    if any(parts.flow.program.by_name[name].domain.is_empty() for name in placement):
        return None  # all instances are on one side
    return parts, placement


def _with_others(flow: DataFlow, mirrors: Mapping[str, _Mirror | None]) -> dict[str, _Mirror | None]:
    """Return ``mirrors`` with those of statements that compute for, or read from, the same iterators at both ends."""
    result = dict(mirrors)
    ends = [
        (item, str(one), str(other)) for item in flow.flows for one, other in permutations((item.source, item.sink))
    ]
    for _ in mirrors:
        for item, known, name in ends:
            mirror = result.get(known)
            if mirror is not None and name in result and result[name] is None:
                rows = function_rows(item.relation.reverse())  # iterators of the source by those of the sink
                alike = [] if rows is None else list(_equal_iterators(rows))
                pairs = alike if name == item.sink else [(source, sink) for sink, source in alike]
                result[name] = _moved(mirror, dict(pairs), len(flow.program.by_name[name].iterators))
    return result


def _equal_iterators(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """Yield the iterators of a sink that are those of a source, by the rows of the source's."""
    for source, row in enumerate(rows):
        is_one = sum(map(abs, row.factors)) == sum(row.factors) == 1
        if is_one and not row.parameters and not row.constant:
            yield row.factors.index(1), source


def _moved(mirror: _Mirror, alike: Mapping[int, int], width: int) -> _Mirror | None:
    """Return a mirror of another statement, whose iterators are those of ``alike``; None if they do not tell it."""
    back = {of: at for at, of in alike.items()}

    def turned(row: Row) -> Row | None:
        if any(factor and at not in back for at, factor in enumerate(row.factors)):
            return None
        factors = [row.factors[alike[at]] if at in alike else 0 for at in range(width)]
        return Row(tuple(factors), row.parameters, row.constant)

    own, apart = _unit_rows(width), turned(mirror.apart)
    images = [turned(mirror.images[alike[at]]) if at in alike else own[at] for at in range(width)]
    if apart is None or any(row is None for row in images):
        return None
    return _Mirror(tuple(row for row in images if row is not None), apart)


def _mirrors(statement: Statement) -> Iterator[_Mirror]:
    """Yield maps of the iterators that exchange what two references to one array read."""
    for first, second in combinations(statement.reads, 2):
        if first.array != second.array:
            continue
        one, other = function_rows(first.relation), function_rows(second.relation)
        if one is None or other is None:
            continue
        for images in _candidates(one, other, len(statement.iterators)):
            pairs = [*zip(one, other, strict=True), *zip(other, one, strict=True)]
            if all(_are_equal(row.after(images), image) for row, image in pairs):
                yield _Mirror.of(images)


def _candidates(first: Sequence[Row], second: Sequence[Row], width: int) -> Iterator[tuple[Row, ...]]:
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
