"""How large a part of a partition can be: the exact maximum that every U(K) is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


def largest_part(
    starts: IntArray, operands: IntArray, inside: BoolArray, counted: BoolArray, budget: int, *, seconds: float = 20.0
) -> tuple[int, bool]:
    """Return the most counted vertices that a set with at most ``budget`` in-vertices can hold, and if it is proven.

    P is any set of the vertices ``inside``; its in-vertices are those outside of P that a vertex of P reads. An integer
    program: maximise the sum of p_v over counted v, subject to q_u >= p_v - p_u for every edge u -> v, sum of q_u <=
    K. Without a proof within ``seconds`` the solver's upper bound is returned, which any valid U(K) need not reach.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    n = len(starts) - 1
    sinks = np.repeat(np.arange(n), np.diff(starts))
    kept = inside[sinks]
    sources, sinks = operands[kept], sinks[kept]
    edges = len(sources)
    rows = np.arange(edges)
    data = np.concatenate([np.ones(edges), -np.ones(edges), np.ones(edges)])
    places = (np.concatenate([rows, rows, rows]), np.concatenate([sources, sinks, n + sources]))
    reads = coo_array((data, places), shape=(edges, 2 * n)).tocsr()
    limit = np.concatenate([np.zeros(n), np.ones(n)]).reshape(1, -1)
    constraints: Sequence[Any] = [LinearConstraint(reads, lb=0), LinearConstraint(limit, ub=budget)]
    upper = np.concatenate([inside.astype(float), np.ones(n)])
    goal = np.concatenate([-(counted & inside).astype(float), np.zeros(n)])
    integrality = np.concatenate([np.ones(n), np.zeros(n)])
    found = milp(
        goal,
        integrality=integrality,
        bounds=Bounds(0, upper),
        constraints=constraints,
        options={"time_limit": seconds, "mip_rel_gap": 0},
    )
    if found.status == 0:
        return round(-found.fun), True
    bound = getattr(found, "mip_dual_bound", None)
    return (int(counted.sum()) if bound is None else int(-bound + 1e-6)), False
