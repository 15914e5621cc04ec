"""The integer points of a set at given sizes, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine.effort import require_time, step
from shorthaul.affine.tuning import POINT_STEPS, POINTS_PER_SECOND
from shorthaul.core.errors import InputError

IntArray = npt.NDArray[np.int64]
_PARAM, _SET, _DIV = isl.dim_type.param, isl.dim_type.set, isl.dim_type.div

#: Numbers in the arithmetic of points stay below this, so that 64 bits hold their sums.
_LARGEST = 2**61


class TooManyPointsError(InputError):
    """A set has more points than are listed."""


#: More points than this are refused: the arrays would not fit into a workstation's memory.
MOST_POINTS = 30_000_000


def at_sizes(where: Any, sizes: Mapping[str, int]) -> Any:
    """Return a set or map with its parameters set to ``sizes`` and removed."""
    for name in where.get_space().get_var_names(_PARAM):
        where = where.fix_val(_PARAM, where.find_dim_by_name(_PARAM, name), isl.Val(sizes[name]))
    return where.project_out(_PARAM, 0, where.dim(_PARAM))


def points(where: isl.Set, sizes: Mapping[str, int]) -> IntArray:
    """Return the points of ``where`` at ``sizes`` in lexicographic order, shape (points, dimensions).

    >>> points(isl.Set("[N] -> { S[i, j] : 0 <= j <= i < N }"), {"N": 2}).tolist()
    [[0, 0], [1, 0], [1, 1]]
    """
    fixed = at_sizes(where, sizes).compute_divs().make_disjoint()
    parts = [_scan(basic) for basic in fixed.get_basic_sets() if not basic.is_empty()]
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate(parts) if parts else np.zeros((0, fixed.dim(_SET)), dtype=np.int64)
    return rows[np.lexsort(rows.T[::-1])] if len(rows) else rows


def pairs(relation: isl.Map, sizes: Mapping[str, int]) -> tuple[IntArray, IntArray]:
    """Return the pairs of ``relation`` at ``sizes``: two arrays with one row per pair."""
    rows = points(relation.wrap().flatten(), sizes)
    width = relation.dim(isl.dim_type.in_)
    return rows[:, :width], rows[:, width:]


def _scan(basic: isl.BasicSet) -> IntArray:
    width = basic.dim(_SET)
    whole = isl.Set.from_basic_set(basic)
    columns: list[IntArray] = []
    extents: list[int] = []
    total = 1
    for position, shadow in enumerate(_shadows(basic)):
        step(1 + total * POINT_STEPS)
        least, most = whole.dim_min_val(position).to_python(), whole.dim_max_val(position).to_python()
        extents.append(max(abs(least), abs(most)))
        _require_small([1], 0, extents[-1:])
        low, high = np.full(total, least, dtype=np.int64), np.full(total, most, dtype=np.int64)
        for constraint in shadow.remove_divs().get_constraints():
            factors, offset = _coefficients(constraint, position + 1)
            _require_small(factors, offset, extents)
            if factors[position]:
                _narrow(factors[position], _sum(factors, columns, offset), constraint.is_equality(), (low, high))
        counts = np.maximum(high - low + 1, 0)
        before, total = total, int(counts.sum())
        if total > MOST_POINTS:
            raise TooManyPointsError(
                "has too many points", value=total, allowed=f"up to {MOST_POINTS}", cure="use smaller sizes"
            )
        require_time(total / POINTS_PER_SECOND)
        if before == total and counts.all():  # one value each, as where it follows from those before
            columns.append(low)
            continue
        first = np.repeat(low - np.cumsum(counts) + counts, counts)
        columns = [*(np.repeat(column, counts) for column in columns), first + np.arange(total)]
    if basic.dim(_DIV):
        for constraint in basic.get_constraints():
            scaled = constraint.get_aff()
            _require_small(*_coefficients(constraint, width), extents)
            for at in range(scaled.dim(_DIV)):
                div = scaled.get_div(at)
                denominator = div.get_denominator_val()
                inner = [
                    div.get_coefficient_val(isl.dim_type.in_, k).mul(denominator).to_python() for k in range(width)
                ]
                factor = max(1, abs(constraint.get_coefficient_val(_DIV, at).to_python()))
                _require_small([factor * value for value in inner], factor * denominator.to_python(), extents)
        inside = _inside(basic, columns)
        columns = [column[inside] for column in columns]
    rows: IntArray = np.array(columns, dtype=np.int64).reshape(width, -1 if width else total).T
    return rows


def _shadows(basic: isl.BasicSet) -> list[isl.BasicSet]:
    """Return what the first dimension, the first two, ... of a set take."""
    shadows = [basic]
    for last in range(basic.dim(_SET) - 1, 0, -1):
        shadows.append(shadows[-1].project_out(_SET, last, 1))
    return shadows[::-1] if basic.dim(_SET) else []


def _require_small(factors: Sequence[int], offset: int, extents: Sequence[int]) -> None:
    """Raise :class:`InputError` where a sum over coordinates up to ``extents`` may not fit into 64 bits."""
    largest = abs(offset) + sum(abs(factor) * extent for factor, extent in zip(factors, extents, strict=True))
    if largest > _LARGEST:
        raise InputError(
            "subscripts or loop bounds become too large to be listed",
            value=f"about {float(largest):.3g}",
            allowed=f"up to {_LARGEST}",
            cure="use smaller sizes, or smaller factors in subscripts",
        )


def _coefficients(constraint: Any, width: int) -> tuple[list[int], int]:
    factors = [constraint.get_coefficient_val(_SET, at).to_python() for at in range(width)]
    return factors, constraint.get_constant_val().to_python()


def _sum(factors: Sequence[int], columns: Sequence[IntArray], offset: int) -> IntArray | int:
    """Return the offset and the columns times their factors; factors may be more than columns."""
    total: IntArray | int = offset
    for factor, column in zip(factors, columns, strict=False):
        if factor:
            total = total + (column if factor == 1 else factor * column)
    return total


def _narrow(factor: int, rest: IntArray | int, is_equality: bool, ends: tuple[IntArray, IntArray]) -> None:
    """Apply ``factor * x + rest >= 0``, or that equality, to the range of x."""
    (low, high), scale = ends, abs(factor)
    if factor > 0 or is_equality:
        signed = rest if factor > 0 else -rest
        np.maximum(low, -signed if scale == 1 else -(signed // scale), out=low)
    if factor < 0 or is_equality:
        signed = rest if factor < 0 else -rest
        np.minimum(high, signed if scale == 1 else signed // scale, out=high)


def _inside(basic: isl.BasicSet, columns: Sequence[IntArray]) -> npt.NDArray[np.bool_]:
    """Return which points lie in a set with divisions."""
    local, terms = basic.get_local_space(), [*columns]
    for at in range(basic.dim(_DIV)):
        div = local.get_div(at)
        width = div.get_denominator_val()
        kinds = [(isl.dim_type.in_, k) for k in range(len(columns))] + [(_DIV, k) for k in range(at)]
        factors = [div.get_coefficient_val(*where).mul(width).to_python() for where in kinds]
        terms.append(_sum(factors, terms, div.get_constant_val().mul(width).to_python()) // width.to_python())
    result = np.ones(len(columns[0]), dtype=np.bool_)
    for constraint in basic.get_constraints():
        factors, offset = _coefficients(constraint, len(columns))
        factors += [constraint.get_coefficient_val(_DIV, at).to_python() for at in range(basic.dim(_DIV))]
        total = _sum(factors, terms, offset)
        result &= (total == 0) if constraint.is_equality() else (total >= 0)
    return result
