"""Fractional packings: the largest sum of bounds of parts that share the nodes between them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning

FloatArray = npt.NDArray[np.float64]

#: Shares are rounded down to multiples of one in this many, so that the sum is exact.
_SHARES = 2**30


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """A sum of bounds: ``shares[i] / whole`` of part i, no node in more than one whole.

    ``total`` is the sum rounded up to a multiple of the unit, ``prices`` (shape (n,)) what each node is worth in the
    linear program: a part whose bound exceeds the prices of its nodes would raise the sum.
    """

    total: int
    shares: tuple[int, ...]
    whole: int
    prices: FloatArray


def packed(
    n: int, parts: Sequence[Sequence[int]], values: Sequence[int], *, search: Search, unit: int = 1
) -> Packing:  # fmt: skip
    """Return the best fractional packing of ``parts`` (nodes below ``n``) with these bounds.

    Every amount is a multiple of ``unit``. The linear program is solved in floating point, as far as the search goes,
    the shares are rounded down and added up in integers: any shares are a packing.

    >>> packed(3, [[0, 1], [1, 2], [0, 2]], [1, 1, 1], search=Search()).total
    2
    """
    if not parts:
        return Packing(0, (), 1, np.zeros(n))
    from scipy.optimize import OptimizeWarning, linprog
    from scipy.sparse import csc_matrix

    sizes = np.array([len(part) for part in parts])
    rows = np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])
    columns = np.concatenate([[0], np.cumsum(sizes)])
    matrix = csc_matrix((np.ones(len(rows)), rows, columns), shape=(n, len(parts)))
    per_pivot = (len(rows) + n) / tuning.PIVOT_RATE
    limits: dict[str, float] = {}
    if not search.is_unlimited:
        limits["maxiter"] = int(min(1e6, max(tuning.LEAST_PIVOTS, search.left() / per_pivot)))
    if search.deadline < float("inf"):
        limits["time_limit"] = max(search.deadline - time.monotonic(), tuning.PACKING_S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)
        solved = linprog(
            -np.asarray(values, dtype=np.float64), A_ub=matrix, b_ub=np.ones(n), bounds=(0, None), options=limits
        )
    search.spend(per_pivot * solved.nit + tuning.PACKING_EFFORT)
    if solved.x is None or solved.ineqlin.marginals is None:
        return Packing(0, (0,) * len(parts), 1, np.zeros(n))
    shares = np.floor(np.clip(np.nan_to_num(solved.x), 0.0, 1.0) * _SHARES).astype(np.int64)
    loads = np.zeros(n, dtype=np.int64)
    np.add.at(loads, rows, np.repeat(shares, sizes))
    whole = max(_SHARES, int(loads.max()))
    given = shares.tolist()
    total = sum(share * value for share, value in zip(given, values, strict=True))
    return Packing(-(-total // (whole * unit)) * unit, tuple(given), whole, -solved.ineqlin.marginals)
