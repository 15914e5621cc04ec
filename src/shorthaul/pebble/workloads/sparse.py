"""Fine-grained CDAGs of sparse linear algebra: what the HyperDAG database is made of, at any size.

Every nonzero of a random n x n matrix is an input and every scalar operation a node: a product reads an entry and a
vector element, one sum reads all products of its row. Structure after the generators of Papp, Anegg and Yzelman
(HyperDAG_DB, 2022): y = A u, A^k u, the k-step neighbourhood of a vertex, and k steps of conjugate gradients.
"""

from __future__ import annotations

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.pebble.model import Cdag, build

#: More edges than this are refused.
_MOST_EDGES = 2**24

Vector = list[int]


class _Builder:
    """A CDAG under construction, node by node."""

    def __init__(self) -> None:
        self._parents: list[tuple[int, ...]] = []
        self._edges = 0

    def node(self, *parents: int) -> int:
        """Return a new node computed from ``parents``; an input without any."""
        self._edges += len(parents)
        self._parents.append(parents)
        return len(self._parents) - 1

    def each(self, *vectors: Vector) -> Vector:
        """Return one new node for every place of the vectors, computed from their elements there."""
        return [self.node(*elements) for elements in zip(*vectors, strict=True)]

    def with_scalar(self, vector: Vector, scalar: int) -> Vector:
        """Return one new node for every element, computed from it and ``scalar``."""
        return [self.node(element, scalar) for element in vector]

    def inputs(self, count: int) -> Vector:
        """Return ``count`` new inputs."""
        return [self.node() for _ in range(count)]

    def built(self, most: int, generator: np.random.Generator, name: str) -> Cdag:
        """Return the CDAG of all nodes that are joined to another, with random weights from 1 to ``most``."""
        targets = np.repeat(np.arange(len(self._parents)), [len(parents) for parents in self._parents])
        sources = np.fromiter((parent for parents in self._parents for parent in parents), np.int64, self._edges)
        used, number = np.unique(np.concatenate([sources, targets]), return_inverse=True)
        weights = generator.integers(1, most + 1, len(self._parents))[used]
        return build(weights, number[: len(sources)], number[len(sources) :], name=name)


class _Matrix:
    """A random sparse matrix whose nonzeros are inputs, by rows; every row and column has one at least.

    Raises :class:`InputError` if that number of ``products`` makes the graph too large.
    """

    def __init__(
        self, builder: _Builder, n: int, percent: float, products: int, generator: np.random.Generator
    ) -> None:
        present = generator.random((n, n)) < percent / 100
        empty = np.flatnonzero(~present.any(axis=1))
        present[empty, generator.integers(0, n, len(empty))] = True
        empty = np.flatnonzero(~present.any(axis=0))
        present[generator.integers(0, n, len(empty)), empty] = True
        edges = 3 * int(np.count_nonzero(present)) * products
        if edges > _MOST_EDGES:
            raise InputError(
                "is too large to generate", place="n", value=f"{edges} edges", allowed=f"up to {_MOST_EDGES}"
            )
        self._builder = builder
        self._rows = [[(int(column), builder.node()) for column in np.flatnonzero(row)] for row in present]

    def times(self, vector: Vector) -> Vector:
        """Return A ``vector``; elements of -1 are zeros, and so is a sum of no products."""
        node = self._builder.node
        products = [[node(entry, vector[column]) for column, entry in row if vector[column] >= 0] for row in self._rows]
        return [node(*terms) if terms else -1 for terms in products]


def spmv(*, n: int, percent: float, most: int, seed: int, name: str = "") -> Cdag:
    """Return the product of a random sparse n x n matrix, ``percent`` of it nonzero, and a vector.

    Every row and column has a nonzero at least. Weights are random from 1 to ``most``.

    >>> spmv(n=6, percent=40, most=1, seed=0).outputs().size
    6
    """
    return exp(n=n, percent=percent, k=1, most=most, seed=seed, name=name)


def exp(*, n: int, percent: float, k: int, most: int, seed: int, name: str = "") -> Cdag:
    """Return A^k u: k products of the same random sparse matrix and the vector before.

    >>> exp(n=4, percent=50, k=2, most=1, seed=0).outputs().size
    4
    """
    generator = np.random.default_rng(seed)
    builder = _Builder()
    matrix = _Matrix(builder, n, percent, k, generator)
    vector = builder.inputs(n)
    for _ in range(k):
        vector = matrix.times(vector)
    return builder.built(most, generator, name)


def knn(*, n: int, percent: float, k: int, most: int, seed: int, name: str = "") -> Cdag:
    """Return the k-step neighbourhood of a random vertex: A^k u, where u has one nonzero and zeros are not computed.

    >>> knn(n=10, percent=25, k=3, most=1, seed=0).n < exp(n=10, percent=25, k=3, most=1, seed=0).n
    True
    """
    generator = np.random.default_rng(seed)
    builder = _Builder()
    matrix = _Matrix(builder, n, percent, k, generator)
    vector = [-1] * n
    vector[int(generator.integers(n))] = builder.node()
    for _ in range(k):
        vector = matrix.times(vector)
    return builder.built(most, generator, name)


def cg(*, n: int, percent: float, k: int, most: int, seed: int, name: str = "") -> Cdag:
    """Return k steps of conjugate gradients on a random sparse matrix, whose pattern need not be symmetric.

    Inputs are the matrix, the first iterate and the right-hand side; outputs the last iterate and search direction.

    >>> cg(n=4, percent=50, k=2, most=1, seed=0).outputs().size
    8
    """
    generator = np.random.default_rng(seed)
    builder = _Builder()
    matrix = _Matrix(builder, n, percent, k + 1, generator)
    iterate, right = builder.inputs(n), builder.inputs(n)
    residual = builder.each(right, matrix.times(iterate))
    direction = residual
    norm = builder.node(*builder.each(residual))
    for _ in range(k):
        image = matrix.times(direction)
        step = builder.node(norm, builder.node(*builder.each(direction, image)))
        iterate = builder.each(iterate, builder.with_scalar(direction, step))
        residual = builder.each(residual, builder.with_scalar(image, step))
        before, norm = norm, builder.node(*builder.each(residual))
        direction = builder.each(residual, builder.with_scalar(direction, builder.node(norm, before)))
    return builder.built(most, generator, name)
