"""Subspaces of rational vectors, in whole numbers, and the condition of the discrete Brascamp-Lieb inequality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

Row = tuple[int, ...]
Space = tuple[Row, ...]

#: Subspaces of a lattice above which the condition is not tested.
MOST_SPACES = 3_000


def spanned(rows: Sequence[Sequence[int]]) -> Space:
    """Return the reduced echelon form of the rows, without common factors: the same for the same subspace.

    >>> spanned([(2, 2), (1, 1)])
    ((1, 1),)
    """
    left = list(dict.fromkeys(tuple(row) for row in rows))
    done: list[Row] = []
    width = len(left[0]) if left else 0
    for column in range(width):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left = [_less(row, pivot, column) for row in left if row is not pivot]
        done = [*(_less(row, pivot, column) for row in done), pivot]
    return tuple(_primitive(row) for row in done)


def _less(row: Row, pivot: Row, column: int) -> Row:
    if not row[column]:
        return row
    return _primitive([pivot[column] * a - row[column] * b for a, b in zip(row, pivot, strict=True)])


def _primitive(row: Sequence[int]) -> Row:
    """Return the row without a common factor, its first number positive."""
    factor = math.gcd(*row) or 1
    first = next((value for value in row if value), 1)
    return tuple(value // (factor if first > 0 else -factor) for value in row)


@lru_cache(maxsize=4096)
def across(space: Space, width: int) -> Space:
    """Return the vectors orthogonal to all of a subspace.

    >>> across(((1, 1, 0),), 3)
    ((1, -1, 0), (0, 0, 1))
    """
    pivots = [next(at for at, value in enumerate(row) if value) for row in space]
    scale = math.lcm(*(row[at] for row, at in zip(space, pivots, strict=True)))
    rows = []
    for free in range(width):
        if free not in pivots:
            row = [scale * int(at == free) for at in range(width)]
            for pivot, known in zip(pivots, space, strict=True):
                row[pivot] = -known[free] * scale // known[pivot]
            rows.append(row)
    return spanned(rows)


def meeting(one: Space, other: Space, width: int) -> Space:
    """Return the intersection of two subspaces."""
    return across(spanned([*across(one, width), *across(other, width)]), width)


@lru_cache(maxsize=64)
def lattice(spaces: tuple[Space, ...], width: int) -> frozenset[Space] | None:
    """Return what sums and intersections of subspaces generate, with the whole space; None if that is too much."""
    known = {item for item in spaces if item} | {spanned([[int(a == b) for b in range(width)] for a in range(width)])}
    waiting = list(known)
    while waiting:
        item = waiting.pop()
        for other in list(known):
            for made in (spanned([*item, *other]), meeting(item, other, width)):
                if made and made not in known:
                    known.add(made)
                    waiting.append(made)
        if len(known) > MOST_SPACES:
            return None
    return frozenset(known)


def unmet(kernels: Sequence[Space], exponents: Sequence[Fraction], width: int) -> str | None:
    """Return a subspace for which rank H > sum of s rank phi(H), as text; None if there is none."""
    spaces = lattice(tuple(kernels), width)
    if spaces is None:
        return "the subspaces are too many to be tested"
    if any(not 0 <= value <= 1 for value in exponents):
        return "an exponent is not between 0 and 1"
    for space in sorted(spaces):
        images = (len(space) - len(meeting(space, kernel, width)) for kernel in kernels)
        total = sum((s * image for s, image in zip(exponents, images, strict=True)), Fraction(0))
        if total < len(space):
            listed = ", ".join(f"({', '.join(map(str, row))})" for row in space)
            return f"the exponents give {total} for the span of {listed}, of rank {len(space)}"
    return None
