"""Compiled loop of :mod:`packing`: how much of each of several parts that share nodes is taken."""

from __future__ import annotations

import cython


@cython.final
@cython.cclass
class Shares:
    """Parts that share nodes: part p has ``nodes[starts[p]:starts[p + 1]]``; how often each is taken, and prices."""

    starts: cython.const_longlong[::1]
    nodes: cython.const_longlong[::1]
    values: cython.const_longlong[::1]
    taken: cython.longlong[::1]
    prices: cython.double[::1]
    limit: cython.double
    work = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self, starts: cython.const_longlong[::1], nodes: cython.const_longlong[::1],
        values: cython.const_longlong[::1], taken: cython.longlong[::1], prices: cython.double[::1],
    ) -> None:  # fmt: skip
        self.starts = starts
        self.nodes = nodes
        self.values = values
        self.taken = taken
        self.prices = prices
        self.limit = 0.0
        self.work = 0


def take(shares: Shares, step: float) -> float:
    """Take parts, over and over, whose nodes cost less than a limit for what they prove, and raise it; return it.

    Each time that a part is taken the prices of its nodes grow by the factor 1 + ``step``, and so does the limit
    (Garg and Koenemann 1998, Fleischer 2000).
    """
    growth: cython.double = 1.0 + step
    cost: cython.double
    least: cython.double
    p: cython.Py_ssize_t
    i: cython.Py_ssize_t
    with cython.nogil:
        least = 1e300
        for p in range(shares.values.shape[0]):
            while True:
                cost = 0.0
                for i in range(shares.starts[p], shares.starts[p + 1]):
                    cost += shares.prices[shares.nodes[i]]
                cost /= shares.values[p]
                shares.work += shares.starts[p + 1] - shares.starts[p]
                if cost > shares.limit:
                    break
                shares.taken[p] += 1
                for i in range(shares.starts[p], shares.starts[p + 1]):
                    shares.prices[shares.nodes[i]] *= growth
            least = min(least, cost)
        shares.limit = max(least, shares.limit) * growth
    return float(shares.limit)
