"""Which instances read one value, in the coordinates of a placement: single ones, chains of them, or planes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations

import islpy as isl

from shorthaul.affine.integer_sets.lattices import has_remainders
from shorthaul.affine.integer_sets.subspaces import kernel, rank, rational_solution
from shorthaul.affine.orders.placement import Read, Row, placement_map


def chain_steps(read: Read, rows: Sequence[Row]) -> tuple[tuple[int, ...], ...]:
    """Return the steps between instances that read one value, along as few coordinates as may be; () if there are none.

    There are several where these instances lie on a plane, as those of a vector of coefficients.
    """
    width = len(rows[0].factors)
    if not read.rows or rank([row.factors for row in rows]) < width:
        return ()
    known = [row.factors for row in read.rows]
    still = max(0, width - rank(known) - 1)
    found = [kernel([*known, *(row.factors for row in chosen)], width) for chosen in combinations(rows, still)]
    return tuple(dict.fromkeys(item[0] for item in found if len(item) == 1))


def across(value: Row, rows: Sequence[Row]) -> tuple[Fraction, ...]:
    """Return the factors of coordinates of which a row of a value is made."""
    found = rational_solution([row.factors for row in rows], value.factors)
    assert found is not None
    return found


def placed(rows: Sequence[Row], step: Sequence[int]) -> tuple[int, ...]:
    """Return a distance of instances in the coordinates."""
    return tuple(sum(a * b for a, b in zip(row.factors, step, strict=True)) for row in rows)


def tells_instances(factors: Sequence[tuple[int, ...] | None], read: Read, rows: Sequence[Row]) -> bool:
    """True if value and free coordinates give the instance: what the value leaves open is open in them only."""
    if read.rows is None:
        return False
    zeros = [row.factors for row in read.zeros]
    anchored = [row.factors for row, item in zip(rows, factors, strict=True) if item is not None]
    return rank([*anchored, *zeros]) == rank([*(row.factors for row in read.rows), *zeros])


def sparse_places(anchors: Sequence[isl.Set], rows: Iterable[Sequence[Row]]) -> isl.Set | None:
    """Return the places of anchors in the coordinates ``rows``; None where no remainders limit them."""
    if not any(map(has_remainders, anchors)):
        return None
    placed = []
    for item, places in zip(anchors, rows, strict=True):
        parameters = tuple(item.get_var_names(isl.dim_type.param))
        placed.append(
            item.apply(
                placement_map(item.get_tuple_name() or "", item.dim(isl.dim_type.set), tuple(places), parameters)
            )
        )
    return reduce(isl.Set.union, placed)
