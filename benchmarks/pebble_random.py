"""Seeded random CDAGs of 18 to 51 nodes: the sample on which ``benchmarks/pebble.py`` times the exact solver.

Five families, unit weights and weights of 1 to 9, budgets of 1, 1.5, 2 and 3 times the least; sizes and densities are
drawn per graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from shorthaul.pebble import Cdag
from shorthaul.pebble.model import from_pairs

Edges = set[tuple[int, int]]

SIZES = (18, 51)
BUDGETS = (1.0, 1.5, 2.0, 3.0)
PER_SETTING = 5


def layered(rng: np.random.Generator, n: int) -> Edges:
    """Layers of 3 to 8 nodes; each reads one to three of the layer before, now and then one of any earlier layer."""
    width, most = int(rng.integers(3, 9)), int(rng.integers(2, 4))
    edges: Edges = set()
    for v in range(width, n):
        start = (v // width - 1) * width
        for _ in range(int(rng.integers(1, most + 1))):
            first = 0 if rng.random() < 0.1 else start
            edges.add((int(rng.integers(first, start + width)), v))
    return edges


def erdos_renyi(rng: np.random.Generator, n: int) -> Edges:
    """Every pair in order with the same chance, 1.2 to 3.5 operands per node on average."""
    chance = float(rng.uniform(1.2, 3.5)) / (n / 2)
    return {(p, v) for v in range(n) for p in range(v) if rng.random() < chance}


def recent(rng: np.random.Generator, n: int) -> Edges:
    """A few inputs, then nodes that read one to four values, most of them recent."""
    inputs, reach = int(rng.integers(2, 8)), float(rng.uniform(2, 10))
    edges: Edges = set()
    for v in range(inputs, n):
        for _ in range(int(rng.integers(1, 5))):
            edges.add((max(0, v - 1 - int(rng.exponential(reach))), v))
    return edges


def series_parallel(rng: np.random.Generator, n: int) -> Edges:
    """One edge, of which random edges are divided or doubled by a node."""
    edges = [(0, 1)]
    for v in range(2, n):
        where = int(rng.integers(len(edges)))
        p, q = edges[where]
        if rng.random() < 0.5:
            edges[where] = (p, v)
            edges.append((v, q))
        else:
            edges += [(p, v), (v, q)]
    return set(edges)


def shared_tree(rng: np.random.Generator, n: int) -> Edges:
    """A random in-tree of nodes with one to three operands, some of whose leaves are one and the same."""
    edges: list[tuple[int, int]] = []
    leaves, size = [0], 1
    while size < n:
        v = leaves.pop(int(rng.integers(len(leaves))))
        for _ in range(min(n - size, int(rng.integers(1, 4)))):
            edges.append((size, v))
            leaves.append(size)
            size += 1
    merged = {leaf: leaves[int(rng.integers(len(leaves)))] for leaf in leaves if rng.random() < 0.4}
    return {(merged.get(p, p), v) for p, v in edges}


FAMILIES: dict[str, Callable[[np.random.Generator, int], Edges]] = {
    "layered": layered,
    "erdos-renyi": erdos_renyi,
    "recent": recent,
    "series-parallel": series_parallel,
    "shared-tree": shared_tree,
}


def sample(seed: int = 0) -> Iterator[tuple[str, Cdag, int]]:
    """Yield name, graph and budget of 200 problems."""
    rng = np.random.default_rng(seed)
    for number in range(PER_SETTING):
        for family, edges_of in FAMILIES.items():
            for most in (1, 9):
                for factor in BUDGETS:
                    cdag = _numbered(edges_of, rng, most)
                    budget = int(factor * cdag.least_budget())
                    yield f"{family} {number}, weights to {most}, {factor:g} x least", cdag, budget


def _numbered(edges_of: Callable[[np.random.Generator, int], Edges], rng: np.random.Generator, most: int) -> Cdag:
    """Return a graph within the sizes, nodes without edges left out, all numbers in random order."""
    while True:
        edges = edges_of(rng, int(rng.integers(SIZES[0], SIZES[1] + 1)))
        used = sorted({v for edge in edges for v in edge})
        if SIZES[0] <= len(used) <= SIZES[1]:
            break
    names = dict(zip(used, rng.permutation(len(used)).tolist(), strict=True))
    weights = rng.integers(1, most + 1, len(used))
    return from_pairs(weights, sorted((names[p], names[v]) for p, v in edges))
