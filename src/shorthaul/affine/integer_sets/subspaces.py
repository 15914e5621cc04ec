"""Subspaces of Q^d in reduced row echelon form: sum, intersection, rank, and the lattice that some of them generate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any

Row = tuple[int, ...]
#: A basis in reduced row echelon form, its rows scaled to integers without a common divisor, leading ones positive;
#: equal subspaces are equal tuples.
Subspace = tuple[Row, ...]


def span(rows: Iterable[Sequence[int]]) -> Subspace:
    """Return the subspace spanned by ``rows``.

    >>> span([(2, 4), (1, 2)]) == span([(1, 2)])
    True
    """
    return _span(tuple(tuple(row) for row in rows))


@lru_cache(maxsize=1 << 16)
def _span(rows: tuple[tuple[int, ...], ...]) -> Subspace:
    work = [list(row) for row in rows]
    width = len(work[0]) if work else 0
    done = 0
    for column in range(width):
        pivot = next((at for at in range(done, len(work)) if work[at][column]), None)
        if pivot is None:
            continue
        work[done], work[pivot] = work[pivot], work[done]
        top = work[done] = _reduced(work[done], work[done][column])
        head = top[column]
        for at, row in enumerate(work):
            if at != done and row[column]:
                factor = row[column]
                work[at] = [head * value - factor * above for value, above in zip(row, top, strict=True)]
        done += 1
    leading = (next(value for value in row if value) for row in work[:done])
    return tuple(tuple(_reduced(row, head)) for row, head in zip(work[:done], leading, strict=True))


def _reduced(row: list[int], head: int) -> list[int]:
    """Return the row without common divisors and with the sign that makes ``head`` positive."""
    divisor = gcd(*row) if head > 0 else -gcd(*row)
    return row if divisor == 1 else [value // divisor for value in row]


def kernel(rows: Sequence[Sequence[int]], dimensions: int) -> Subspace:
    """Return the vectors of Q^dimensions that every row maps to 0."""
    echelon = span(rows)
    pivots = [next(at for at, value in enumerate(row) if value) for row in echelon]
    scale = lcm(*(row[pivot] for row, pivot in zip(echelon, pivots, strict=True)))
    free = [at for at in range(dimensions) if at not in pivots]
    basis = []
    for chosen in free:
        vector = [0] * dimensions
        vector[chosen] = scale
        for row, pivot in zip(echelon, pivots, strict=True):
            vector[pivot] = -row[chosen] * (scale // row[pivot])
        basis.append(vector)
    return span(basis)


def unit(width: int) -> tuple[tuple[int, ...], ...]:
    """Return the rows of the identity."""
    return tuple(tuple(int(a == b) for b in range(width)) for a in range(width))


def less(offset: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """Return the difference of two rows.

    >>> less((3, 1), (1, 1))
    (2, 0)
    """
    return tuple(a - b for a, b in zip(offset, other, strict=True))


def image_rank(space: Subspace, kernel_space: Subspace) -> int:
    """Return the rank of the image of ``space`` under a map with the given kernel."""
    return len(span([*space, *kernel_space])) - len(kernel_space)


@lru_cache(maxsize=4096)
def lattice(kernels: tuple[Subspace, ...], dimensions: int, most: int = 256) -> tuple[Subspace, ...] | None:
    """Return the closure of ``kernels`` under sum and intersection, or None if it has more than ``most`` elements."""
    found = {space: kernel(space, dimensions) for space in kernels}  # with the vectors orthogonal to each
    waiting, joined = list(found), list[Subspace]()
    while waiting:
        current = waiting.pop()
        for other in joined:
            met = kernel([*found[current], *found[other]], dimensions)
            for new in (span([*current, *other]), met):
                if new not in found:
                    found[new] = kernel(new, dimensions)
                    waiting.append(new)
                    if len(found) > most:
                        return None
        joined.append(current)
    return tuple(space for space in found if space)


@lru_cache(maxsize=1 << 16)
def integer_solution(matrix: tuple[tuple[int, ...], ...], goal: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return integers x with x . matrix = goal, or None.

    >>> integer_solution(((1, 0, 0), (0, 0, 1)), (2, 0, -1))
    (2, -1)
    """
    result = rational_solution(matrix, goal)
    whole = result is not None and all(value.denominator == 1 for value in result)
    return tuple(int(value) for value in result) if whole and result is not None else None


def rational_solution(matrix: Sequence[Sequence[int]], goal: Sequence[int]) -> tuple[Fraction, ...] | None:
    """Return x with x . matrix = goal, or None.

    >>> rational_solution(((1, 1), (1, -1)), (1, 0))
    (Fraction(1, 2), Fraction(1, 2))
    """
    count = len(matrix)
    result = [Fraction(0)] * count
    for row in span([(*(item[at] for item in matrix), goal[at]) for at in range(len(goal))]):
        pivot = next(at for at, value in enumerate(row) if value)
        if pivot == count:
            return None
        result[pivot] = Fraction(row[count], row[pivot])
    return tuple(result)


def rank(rows: Sequence[tuple[int, ...]]) -> int:
    """Return how many of ``rows`` are independent."""
    return len(span(rows)) if rows and rows[0] else 0


def exact(value: Any) -> Any:
    """Return a number that is divided by without rounding."""
    return Fraction(value) if isinstance(value, int) else value
