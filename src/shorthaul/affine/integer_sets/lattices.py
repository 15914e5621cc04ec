"""Lattices of integer vectors: their generators in steps, and the lattice in which a set lies."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

_SET, _DIV = isl.dim_type.set, isl.dim_type.div


def diagonal(rows: list[list[int]], width: int) -> list[int | None]:
    """Return the diagonal of the Hermite normal form: the spacing of a lattice, coordinate after coordinate."""
    pivots, _ = echelon(rows, width)
    return [None if pivot is None else abs(pivot[at]) for at, pivot in enumerate(pivots)]


def echelon(rows: Sequence[Sequence[int]], width: int) -> tuple[list[list[int] | None], list[list[int]]]:
    """Return generators of the lattice of ``rows`` in steps, one for each of the first columns, and those of its rest.

    The rest are vectors with zeros in all of these ``width`` columns.
    """
    work = [list(row) for row in rows]
    result: list[list[int] | None] = []
    for at in range(width):
        while True:
            nonzero = [row for row in work if row[at]]
            if len(nonzero) <= 1:
                break
            least = min(nonzero, key=lambda row: abs(row[at]))
            for row in nonzero:
                if row is not least:
                    factor = row[at] // least[at]
                    row[:] = [a - factor * b for a, b in zip(row, least, strict=True)]
        result.append(next(iter(nonzero), None))
        work = [row for row in work if not row[at]]
    return result, work


def differences(points: isl.Set) -> tuple[tuple[int, ...], ...]:
    """Return generators of a lattice that has all differences of ``points``."""
    width = points.dim(_SET)
    lines = [item for item in points.affine_hull().get_constraints() if item.is_equality()]
    matrix = [
        [item.get_coefficient_val(kind, at).to_python() for kind in (_SET, _DIV) for at in range(item.dim(kind))]
        for item in lines
    ]
    columns = len(matrix[0]) if matrix else width
    found = [[*(row[at] for row in matrix), *(int(at == k) for k in range(columns))] for at in range(columns)]
    return tuple(tuple(row[len(matrix) :][:width]) for row in echelon(found, len(matrix))[1])


def has_remainders(points: isl.Set) -> bool:
    """True if remainders may limit the points, as those of one colour."""
    return any(part.dim(_DIV) for part in points.get_basic_sets())


def moved(by: Sequence[int]) -> isl.Map:
    """Return the map from vectors to those ``by`` further."""
    names = [f"v{at}" for at in range(len(by))]
    ends = ", ".join(f"{name} + {step}" for name, step in zip(names, by, strict=True))
    return isl.Map.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [{', '.join(names)}] -> [{ends}] }}")


def without_holes(item: isl.Set) -> isl.Set:
    """Return a superset that is one polyhedron, whose lines have no holes."""
    return isl.Set.from_basic_set(item.remove_divs().simple_hull())
