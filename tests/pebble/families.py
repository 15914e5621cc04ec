"""Graphs of linear algebra and of grids that are no built-in cases, graphs with their nodes shuffled, and their optima."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble.model import Cdag, IntArray, build
from shorthaul.pebble.states.layered_search import layered


class Graph:
    """A graph that grows node by node, all of weight 1."""

    def __init__(self) -> None:
        self._count = 0
        self._edges: list[tuple[int, int]] = []

    def node(self, *operands: int) -> int:
        self._edges += [(operand, self._count) for operand in operands]
        self._count += 1
        return self._count - 1

    def done(self) -> Cdag:
        sources, targets = zip(*self._edges, strict=True)
        return build([1] * self._count, sources, targets)


def fused_product(m: int, n: int, k: int) -> Cdag:
    """Return a product of matrices, each term added as it is made."""
    graph = Graph()
    left = [[graph.node() for _ in range(k)] for _ in range(m)]
    right = [[graph.node() for _ in range(n)] for _ in range(k)]
    for row, column in product(range(m), range(n)):
        total = graph.node(left[row][0], right[0][column])
        for step in range(1, k):
            total = graph.node(total, left[row][step], right[step][column])
    return graph.done()


def symmetric_product(n: int, k: int) -> Cdag:
    """Return the lower triangle of a matrix times its transpose."""
    graph = Graph()
    matrix = [[graph.node() for _ in range(k)] for _ in range(n)]
    for row in range(n):
        for column in range(row + 1):
            total = graph.node()
            for step in range(k):
                total = graph.node(total, *{matrix[row][step], matrix[column][step]})
    return graph.done()


def doubled(cdag: Cdag, chosen: IntArray, weights: IntArray | None = None) -> Cdag:
    """Return the graph with a second input beside each of some, read by the same nodes."""
    sources, targets = cdag.edge_arrays()
    number = np.full(cdag.n, -1)
    number[chosen] = cdag.n + np.arange(len(chosen))
    again = number[sources] >= 0
    if weights is None:
        weights = np.ones(cdag.n + len(chosen), dtype=np.int64)
    return build(weights, np.append(sources, number[sources[again]]), np.append(targets, targets[again]))


def lu(n: int) -> Cdag:
    """Return a factorisation into triangles without pivoting."""
    graph = Graph()
    matrix = [[graph.node() for _ in range(n)] for _ in range(n)]
    for step in range(n):
        for row in range(step + 1, n):
            matrix[row][step] = graph.node(matrix[row][step], matrix[step][step])
        for row, column in product(range(step + 1, n), repeat=2):
            matrix[row][column] = graph.node(matrix[row][column], matrix[row][step], matrix[step][column])
    return graph.done()


def cholesky(n: int) -> Cdag:
    """Return the factorisation of a symmetric matrix."""
    graph = Graph()
    matrix = [[graph.node() for _ in range(row + 1)] for row in range(n)]
    for step in range(n):
        matrix[step][step] = graph.node(matrix[step][step])
        for row in range(step + 1, n):
            matrix[row][step] = graph.node(matrix[row][step], matrix[step][step])
        for row in range(step + 1, n):
            for column in range(step + 1, row + 1):
                operands = {matrix[row][step], matrix[column][step]}
                matrix[row][column] = graph.node(matrix[row][column], *operands)
    return graph.done()


def triangular_solve(n: int, m: int) -> Cdag:
    """Return the solution of a triangular system with ``m`` right-hand sides."""
    graph = Graph()
    triangle = [[graph.node() for _ in range(row + 1)] for row in range(n)]
    sides = [[graph.node() for _ in range(m)] for _ in range(n)]
    for row, column in product(range(n), range(m)):
        for step in range(row):
            sides[row][column] = graph.node(sides[row][column], triangle[row][step], sides[step][column])
        sides[row][column] = graph.node(sides[row][column], triangle[row][row])
    return graph.done()


def grid(n: int, m: int, steps: int) -> Cdag:
    """Return steps of a five-point stencil on a grid."""
    graph = Graph()
    cells = {place: graph.node() for place in product(range(n), range(m))}
    for _ in range(steps):
        near = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
        cells = {
            (i, j): graph.node(*(cells[i + di, j + dj] for di, dj in near if (i + di, j + dj) in cells))
            for i, j in cells
        }
    return graph.done()


def shuffled(cdag: Cdag, rng: np.random.Generator) -> Cdag:
    """Return the graph with nodes and edges in any order."""
    name, order = rng.permutation(cdag.n), rng.permutation(cdag.edges)
    was = np.argsort(name)
    sources, targets = cdag.edge_arrays()
    return build(
        cdag.weights[was], name[sources][order], name[targets][order], given=cdag.given[was], compute=cdag.compute[was]
    )


def stays_below_optima(games: Iterable[tuple[Cdag, int]], excess: Callable[[Cdag, int], int]) -> tuple[int, int]:
    """Check a bound beyond inputs and outputs where nothing is computed twice, on graphs with their budgets.

    Return how often it says anything, and how often it is the optimum.
    """
    lifted = tight = 0
    for number, (cdag, budget) in enumerate(games):
        found = excess(cdag, budget)
        if found:
            least = layered(cdag, budget, limit=10**9, search=Search()).excess
            assert least is not None
            assert found <= least, number
            lifted += 1
            tight += found == least
    return lifted, tight
