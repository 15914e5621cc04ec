"""How large a part of a partition can be: the exact maximum that every U(K) is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


def largest_part(
    starts: IntArray,
    operands: IntArray,
    inside: BoolArray,
    counted: BoolArray,
    budget: int,
    *,
    nodes: int = 1_000,
    deadline_s: float = float("inf"),
) -> tuple[int, bool, int]:
    """Return the most counted vertices of a set with at most ``budget`` in-vertices, if it is proven, and nodes tried.

    P is any set of the vertices ``inside``; its in-vertices are those outside of P that a vertex of P reads. An integer
    program: maximise the sum of p_v over counted v, subject to q_u >= p_v - p_u for every edge u -> v, sum of q_u <=
    K. Without a proof within ``nodes`` nodes, or ``deadline_s`` seconds, the solver's upper bound is returned, which
    any valid U(K) need not reach.
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
        options={"node_limit": nodes, "time_limit": deadline_s, "mip_rel_gap": 0},
    )
    tried = int(getattr(found, "mip_node_count", None) or 1)
    if found.status == 0:
        return round(-found.fun), True, tried
    bound = getattr(found, "mip_dual_bound", None)
    return (int(counted.sum()) if bound is None else int(-bound + 1e-6)), False, tried
