"""Linear orders of a tree's vertices: breadth-first, depth-first as given, heavy-first, light-first, centred."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import unknown_name
from shorthaul.graphs.tree_kernels import (
    breadth_first_positions,
    children,
    preorder_positions,
    renumbered,
    sorted_by,
    subtree_sizes,
)
from shorthaul.spatial.layout.order_kernels import Centring, centred_positions
from shorthaul.spatial.model import Tree

Index = npt.NDArray[np.int32]
_AS_STORED = np.empty(0, np.int32)

ORDERS = ("centred", "light-first", "heavy-first", "dfs", "bfs", "random")


def sizes(tree: Tree) -> Index:
    """Return the number of descendants of every vertex, itself included, shape (n,).

    >>> from shorthaul.spatial.model import tree_from_parents
    >>> sizes(tree_from_parents([-1, 0, 0, 1])).tolist()
    [4, 2, 1, 1]
    """
    return subtree_sizes(tree.parent, tree.parents_first)


def positions(tree: Tree, order: str, *, generator: np.random.Generator | None = None) -> Index:
    """Return the position 0..n-1 of every vertex in ``order`` (one of :data:`ORDERS`), shape (n,).

    Light-first (Baumann et al., Section III-A): a vertex comes right before its children's subtrees, the smallest
    first; children of equal size keep their stored order. Several trees follow one another in the same way.
    Centred: the same, but a vertex comes between the lightest of its children where that shortens its edges; what
    comes before it is mirrored. ``random`` is the placement of a PRAM simulation and needs ``generator``.

    >>> from shorthaul.spatial.model import tree_from_parents
    >>> positions(tree_from_parents([-1, 0, 0, 1]), "light-first").tolist()
    [0, 2, 1, 3]
    """
    if order == "random":
        generator = np.random.default_rng(0) if generator is None else generator
        return generator.permutation(np.arange(tree.n, dtype=np.int32))
    if order == "bfs":
        return breadth_first_positions(*children(tree.parent, _AS_STORED))
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS, place="--order")
    if order == "centred":
        return _centred(tree, positions(tree, "light-first"))
    size = sizes(tree)
    return preorder_positions(*children(tree.parent, _sequence(size, order)), size, tree.parents_first)


def _centred(tree: Tree, light_first: Index) -> Index:
    """Return the centred positions, found by light-first number: neighbours in the tree are neighbours in memory."""
    numbered = Tree(renumbered(tree.parent, light_first)[0])
    found = centred_positions(Centring(*children(numbered.parent, _AS_STORED), sizes(numbered)))
    return found[light_first]


def _sequence(size: Index, order: str) -> Index:
    if order == "dfs":
        return _AS_STORED
    largest = int(size.max())
    return sorted_by(size if order == "light-first" else np.int32(largest) - size, largest)
