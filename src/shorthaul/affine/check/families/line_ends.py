"""Sources that are ends of lines, or read these, verified: for all sizes by isl, and at some sizes point by point.

Each is or reads an instance that no other path touches; the lines of these differ, and have no instances in the slices
in which the sources are read and in later ones. So an event is none where such a source is computed.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from functools import reduce

import islpy as isl

from shorthaul.affine.check.data_flow import Reads
from shorthaul.affine.check.execution import Vertex
from shorthaul.affine.check.formulas import Number, combined, is_same, power, value_of
from shorthaul.affine.check.partition_argument import Argument
from shorthaul.affine.check.subspaces import Space, across, meeting, spanned

_HALF = Fraction(1, 2)


def _families(item: Argument) -> tuple[int, tuple[int, ...]]:
    """Return the chain and the broadcasts."""
    symmetry = item.given["symmetry"]
    if symmetry is not None:
        return int(symmetry["chain"]), tuple(int(at) for pair in symmetry["pairs"] for at in pair)
    chain = item.chains.index(True)
    return chain, tuple(at for at in range(3) if at != chain)


def _slices(item: Argument) -> Space:
    """Return rows that tell slices; the first of two is the one with smaller values, in order."""
    return tuple(tuple(map(int, row)) for row in item.given["ends"]["slices"])


def _placed(item: Argument, rows: Space) -> isl.UnionMap:
    """Return instance -> the rows' values, for all parts."""
    return reduce(isl.UnionMap.union, (part.placed(rows) for part in item.parts))


def wrong_ends(item: Argument, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the ends of lines, for all sizes."""
    symmetry = item.given["symmetry"]
    plain = symmetry is None and (sum(item.chains) != 1 or item.given["cliques"] != [[0, 1, 2]])
    own = any(part.own for part in item.parts)
    if plain or own or item.moved is not None or set(item.folds) != {1}:
        yield "ends of lines go with one chain and two broadcasts, or pairs, only"
        return
    chain, broadcasts = _families(item)
    together = spanned([row for at in broadcasts for row in item.kernels[at]])
    if not item.chains[chain] or meeting(together, item.kernels[chain], item.width):
        yield "the chain is not one-to-one on slices"
    one, other = (item.kernels[at] for at in broadcasts[:2])
    if meeting(one, other, item.width):
        yield "broadcasts do not determine an instance of a slice"
    rows, width = _slices(item), item.width - len(together)
    if not width or len(rows) != width or spanned(rows) != spanned(across(together, item.width)):
        yield "slices are not told by the rows given"
        return
    ends, lines = item.ends, _placed(item, item.classes(chain))
    inside = reduce(isl.UnionSet.union, (part.points for part in item.parts))
    itself = ends.domain().identity()
    if not ends.is_single_valued() or not ends.range().is_subset(inside):
        yield "what a source is or reads is not one instance of the domain"
    if not ends.subtract(itself).is_subset(reads.all):
        yield "an end of a line is not read"
    if not ends.apply_range(lines).is_injective():
        yield "two sources have ends of one line"
    if not ends.domain().intersect(item.vertices(chain).union(item.sources).union(reads.inputs)).is_empty():
        yield "an end of a line is a source, an input, or on a chain"
    elsewhere = ends.subtract(itself).range()
    if any(not elsewhere.intersect(item.vertices(at)).is_empty() for at in range(len(item.chains))):
        yield "an end of a line is on another path"
    slices = _placed(item, rows)
    before = isl.UnionMap.from_map(isl.Map.lex_gt(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, width)))
    earlier = slices.apply_range(before).apply_range(slices.reverse())
    for part, at in itertools.product(item.parts, broadcasts):
        met = part.families[at][-1].apply_range(ends).apply_range(lines).apply_range(lines.reverse())
        if not met.is_subset(earlier):
            yield f"family {at}: a line has instances in the slice in which its end is read, or later"


def wrong_ends_at(
    item: Argument,
    operands: Mapping[Vertex, AbstractSet[Vertex]],
    users: Mapping[Vertex, AbstractSet[Vertex]],
    inside: set[Vertex],
    ends: Mapping[Vertex, Vertex],
) -> Iterator[str]:
    """Yield what does not hold of the ends of lines at some sizes.

    ``users`` are the instances whose broadcasts begin at a vertex, ``ends`` the ends by their sources.
    """
    if item.given.get("ends") is None:
        return
    if not inside.issuperset(ends.values()):
        yield "an end of a line is no instance of the domain"
        return
    chain, _ = _families(item)
    slices = _slices(item)
    orders = {part.statement: part.order for part in item.parts}

    def values(rows: Space, vertex: Vertex) -> tuple[int, ...]:
        place = [vertex[1][at] for at in orders[vertex[0]]]
        return tuple(sum(a * b for a, b in zip(row, place, strict=True)) for row in rows)

    rows = item.classes(chain)
    last: dict[tuple[int, ...], tuple[int, ...]] = {}
    for vertex in inside:
        line = values(rows, vertex)
        last[line] = max(last.get(line, values(slices, vertex)), values(slices, vertex))
    if len({values(rows, end) for end in ends.values()}) < len(ends):
        yield "two sources have ends of one line"
    for source, end in ends.items():
        if end != source and end not in operands[source]:
            yield f"{source} is no end of a line, and reads none"
        elif any(values(slices, user) <= last[values(rows, end)] for user in users.get(source, ())):
            yield f"the line of {end} has instances where {source} is read, or later"


def most_beside_ends(item: Argument, K: Number) -> Number:
    """Return G of the lemma: the most instances of a segment beside those that its ends pay for."""
    q = Fraction(item.given["ends"]["price"])
    R = combined(ast.Sub, power(combined(ast.Add, K, q * q), _HALF), q)
    terms = [combined(ast.Mult, Fraction(2, 3), power(R, Fraction(3))), combined(ast.Mult, q, power(R, Fraction(2)))]
    total: Number = q**3 / 3
    for term in terms:
        total = combined(ast.Add, total, term)
    return combined(ast.Mult, _gamma(item), total)


def _gamma(item: Argument) -> Number:
    symmetry = item.given["symmetry"]
    if symmetry is None:
        return _HALF
    return combined(ast.Div, power(_HALF, _HALF), Fraction(len(symmetry["pairs"])))


def weight_beside_ends(item: Argument, size: Number, sizes: Mapping[str, int]) -> Number:
    """Return what so many instances weigh beside the ends of lines that the certificate has."""
    count = value_of(str(item.given["ends"]["count"]), sizes)
    paid = combined(ast.Mult, _gamma(item), combined(ast.Mult, Fraction(item.given["ends"]["price"]), count))
    return combined(ast.Sub, size, paid)


def written_weight(item: Argument) -> str:
    """Return the formula of the same."""
    ends, symmetry = item.given["ends"], item.given["symmetry"]
    gamma = "1/2" if symmetry is None else f"sqrt(2)/{2 * len(symmetry['pairs'])}"
    return f"{item.given['instances_count']} - {gamma}*{ends['price']}*({ends['count']})"


def wrong_number_of_ends(item: Argument, count: int, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield if the certificate has fewer ends than are counted."""
    given = value_of(str(item.given["ends"]["count"]), sizes)  # more than there are only lower the bound
    if not is_same(given, Fraction(count)) and given < count:
        yield f"there are {count} ends of lines, not {float(given):g}"
