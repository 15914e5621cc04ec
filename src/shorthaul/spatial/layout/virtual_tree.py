"""The virtual tree: bounded degree, same processors, same energy class (Baumann et al., Section III-D)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.graphs.tree_kernels import children, sorted_by
from shorthaul.spatial.layout.orders import sizes
from shorthaul.spatial.layout.virtual_tree_kernels import transform
from shorthaul.spatial.model import Tree

Index = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class VirtualTree:
    """A tree of nodes hosted by the vertices of a tree, at most two nodes each, at most three children each.

    Nodes 0..n-1 are the vertices themselves; ``host[k]`` is the vertex (processor) that node k lives on. An added
    node stands above its host and the groups appended to it. Every vertex's ancestors among the vertices are those of
    the tree. ``slot`` numbers a node among its siblings, in their order.
    """

    parent: Index
    host: Index
    slot: Index

    @property
    def nodes(self) -> int:
        """The number of nodes, at most twice the number of vertices."""
        return len(self.parent)


def virtual_tree(tree: Tree, *, size: Index | None = None) -> VirtualTree:
    """Return the virtual tree of ``tree``, children in light-first order.

    A vertex with d children reaches them in at most ceil(log2(d + 1)) messages.

    >>> from shorthaul.spatial.model import tree_from_parents
    >>> virtual_tree(tree_from_parents([-1, 0, 0, 0])).parent.tolist()
    [-1, 0, 4, 4, 0]
    """
    size = sizes(tree) if size is None else size
    starts, kids = children(tree.parent, sorted_by(size, int(size.max())))
    return VirtualTree(*transform(starts, kids))
