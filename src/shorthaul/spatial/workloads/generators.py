"""Trees by name: path, star, caterpillar, perfect binary, and random ones of five kinds."""

from __future__ import annotations

import numpy as np

from shorthaul.spatial.model import Tree, tree_from_parents
from shorthaul.spatial.workloads import generator_kernels


def path(n: int) -> Tree:
    """Return the path of n vertices from its root."""
    return tree_from_parents(np.arange(-1, n - 1, dtype=np.int32))


def star(n: int) -> Tree:
    """Return the root with n - 1 leaves."""
    parent = np.zeros(n, np.int32)
    parent[0] = -1
    return tree_from_parents(parent)


def caterpillar(n: int) -> Tree:
    """Return a path with one more leaf at each of its vertices, n vertices in all.

    >>> caterpillar(6).parent.tolist()
    [-1, 0, 0, 1, 1, 3]
    """
    parent = np.arange(n, dtype=np.int32)
    parent = np.where(parent % 2 == 1, np.maximum(parent - 2, 0), np.maximum(parent - 3, 0)).astype(np.int32)
    parent[0] = -1
    return tree_from_parents(parent)


def perfect_binary(n: int) -> Tree:
    """Return the largest perfect binary tree of at most n vertices, in heap order."""
    full = (1 << ((n + 1).bit_length() - 1)) - 1
    parent = (np.arange(full, dtype=np.int32) - 1) // 2
    return tree_from_parents(parent)


def yule(n: int, seed: int) -> Tree:
    """Return a Yule tree (uniformly chosen leaves split in two): n vertices, n - 1 if n is even."""
    inner = (n - 1) // 2
    parent = np.full(2 * inner + 1, -1, np.int32)
    generator_kernels.split(np.random.default_rng(seed).random(inner), parent, np.zeros(inner + 1, np.int32))
    return tree_from_parents(parent)


def uniform_binary(n: int, seed: int) -> Tree:
    """Return a uniformly random full binary tree: n vertices, n - 1 if n is even."""
    inner = (n - 1) // 2
    degree = np.zeros(2 * inner + 1, np.int32)
    degree[:inner] = 2
    parent, left, stack = np.full((3, 2 * inner + 1), -1, np.int32)
    generator_kernels.hang(np.random.default_rng(seed).permutation(degree), parent, left, stack)
    return tree_from_parents(parent)


def random_recursive(n: int, seed: int) -> Tree:
    """Return a random recursive tree: every vertex hangs under a uniformly chosen earlier one."""
    draws = np.random.default_rng(seed).random(n)
    parent = np.minimum(draws * np.arange(n), np.arange(n) - 1).astype(np.int32)
    parent[0] = -1
    return tree_from_parents(parent)


def preferential_attachment(n: int, seed: int) -> Tree:
    """Return a tree in which every vertex hangs under an earlier one chosen in proportion to its degree."""
    parent = np.append(np.int32(-1), np.zeros(n - 1, np.int32))
    generator_kernels.attach(np.random.default_rng(seed).random(n), parent)
    return tree_from_parents(parent)


def random_path(n: int, seed: int) -> Tree:
    """Return a path whose vertices are stored in random order."""
    order = np.random.default_rng(seed).permutation(n)
    parent = np.empty(n, np.int32)
    parent[order[0]] = -1
    parent[order[1:]] = order[:-1]
    return tree_from_parents(parent)
