"""The values of a count along its only parameter, many at once."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine.integer_sets.counting import Cardinality

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


def along(number: Cardinality, name: str, first: int, last: int) -> npt.NDArray[np.int64]:
    """Return the values of ``number`` where ``name``, its only parameter, goes from ``first`` to ``last``.

    >>> from shorthaul.affine.integer_sets.counting import card
    >>> along(card(isl.Set("[m] -> { S[i] : 0 <= i < m and m <= 3 }")), "m", 2, 4).tolist()
    [2, 3, 0]
    >>> along(card(isl.Set("[m] -> { S[i] : m = 2i and 0 <= i < 3 }")), "m", 0, 5).tolist()
    [1, 0, 1, 0, 1, 0]
    """
    result = np.zeros(last - first + 1, np.int64)
    for piece in number.pieces:
        inside = np.zeros(len(result), np.bool_)
        for low, high in _intervals(piece.where, name, first, last):
            inside[low - first : high - first + 1] = True
        if all(not monomial for monomial in piece.value.terms):
            values = [piece.value.at({})]
        else:
            values = [piece.value.at({name: first + at}) for at in np.flatnonzero(inside).tolist()]
        if any(value.denominator != 1 for value in values):  # only the sum of several pieces is an integer
            return np.array([number.at({name: value}) for value in range(first, last + 1)], np.int64)
        result[inside] += np.array([int(value) for value in values], np.int64)
    return result


def _intervals(where: isl.Set, name: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the values of a parameter in a set between ``first`` and ``last``, as intervals."""
    for basic in where.get_basic_sets():
        line = isl.Set.from_basic_set(basic)
        at = line.find_dim_by_name(_PARAM, name)
        if at < 0:
            yield first, last
            continue
        line = (isl.Set.from_params(line) if line.is_params() else line).move_dims(_SET, 0, _PARAM, at, 1)
        line = line.project_out(_PARAM, 0, line.dim(_PARAM))
        low, high = line.dim_min_val(0), line.dim_max_val(0)
        ends = low.to_python() if low.is_int() else first, high.to_python() if high.is_int() else last
        ends = max(first, ends[0]), min(last, ends[1])
        if ends[0] > ends[1] or isl.Set(f"{{ [m] : {ends[0]} <= m <= {ends[1]} }}").is_subset(line):
            yield ends if ends[0] <= ends[1] else (first, first - 1)
        else:  # every second value, say
            for value in range(ends[0], ends[1] + 1):
                if not line.fix_val(_SET, 0, isl.Val(value)).is_empty():
                    yield value, value
