"""Eq. (6) and Algorithm 1 as they are written, with a memo over (node, budget): permutations times subsets."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

from shorthaul.pebble.model import Cdag

INFINITE = float("inf")


def tree_cost(cdag: Cdag, budget: int) -> float:
    """Return Eq. (7): the root's weight plus P_t(root, budget); the graph is one tree."""
    weights = cdag.weights.tolist()
    parents = [cdag.parents.neighbours(v).tolist() for v in range(cdag.n)]

    @cache
    def cost(v: int, b: int) -> float:
        if not parents[v]:
            return weights[v]
        if weights[v] + sum(weights[p] for p in parents[v]) > b:
            return INFINITE
        best = INFINITE
        for order in permutations(parents[v]):
            for keeps in product((0, 1), repeat=len(order)):
                total, held = 0.0, 0
                for p, kept in zip(order, keeps, strict=True):
                    total += cost(p, b - held) + (0 if kept else 2 * weights[p])
                    held += weights[p] if kept else 0
                best = min(best, total)
        return best

    (root,) = cdag.outputs().tolist()
    return weights[root] + cost(root, budget)


def dwt_cost(cdag: Cdag, n: int, d: int, budget: int) -> float:
    """Return Eq. (5) for DWT(n, d) numbered as in Definition 3.1, where no coefficient outweighs its average."""
    weights = cdag.weights.tolist()

    @cache
    def cost(v: int, b: int) -> float:
        operands = cdag.parents.neighbours(v).tolist()
        if not operands:
            return weights[v]
        p1, p2 = operands
        if weights[v] + weights[p1] + weights[p2] > b:
            return INFINITE
        return min(
            cost(p1, b) + cost(p2, b) + 2 * weights[p1],
            cost(p1, b) + cost(p2, b - weights[p1]),
            cost(p2, b) + cost(p1, b) + 2 * weights[p2],
            cost(p2, b) + cost(p1, b - weights[p2]),
        )

    last = cdag.n - n // 2 ** (d - 1)
    coefficients = sum(weights[v] for v in cdag.outputs().tolist() if (v - last) % 2 or v < last)
    roots = range(last, cdag.n, 2)
    return coefficients + sum(weights[v] + cost(v, budget) for v in roots)
