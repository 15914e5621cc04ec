"""A tree as it is stored on the machine: processor p holds the p-th vertex in light-first order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.graphs.tree_kernels import children, renumbered
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.curves import indices
from shorthaul.spatial.layout.orders import positions
from shorthaul.spatial.layout.virtual_tree_kernels import transform
from shorthaul.spatial.model import Fabric, Grid, Tree
from shorthaul.spatial.plan import Layout

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


@dataclass(frozen=True, slots=True)
class StoredTree:
    """What the processors know of a tree: ``parent`` as a processor, and their place (x, y) on ``grid``.

    Processors are numbered by light-first position, so that every parent precedes its children, and a subtree is a
    range; ``position[v]`` is the processor of vertex v, ``vertex[p]`` the vertex on processor p. Where the processors
    lie on the grid is the layout's choice. On the machine ``fabric``, several vertices share a processor, whose number
    there is in ``place``.
    """

    parent: Index
    x: Index
    y: Index
    grid: Grid
    position: Index
    vertex: Index
    fabric: Fabric | None = None
    place: Index | None = None

    @property
    def n(self) -> int:
        """The number of vertices."""
        return len(self.parent)

    def layout(self, tree: Tree) -> Layout:
        """Return where the vertices of ``tree``, as which this one is stored, are."""
        return Layout(tree.parent, self.x[self.position], self.y[self.position], self.grid)

    def virtual(self) -> VirtualTree:
        """Return the virtual tree over the processors (Baumann et al., Section III-D).

        A vertex with d children reaches them in at most ceil(log2(d + 1)) messages.
        Siblings follow one another in light-first order, or along a curve over the grid where that takes less energy.
        """
        on_curve = indices("auto", self.grid)[self.y, self.x]
        along = np.argsort(on_curve, kind="stable").astype(np.int32)
        found = []
        for sequence in (np.empty(0, np.int32), along):
            tree = VirtualTree(*transform(*children(self.parent, sequence)))
            found.append((edge_energy(tree.parent, self.x[tree.host], self.y[tree.host])[0], tree))
        return min(found, key=lambda one: one[0])[1]


def store(tree: Tree, layout: Layout, light_first: Index | None = None) -> StoredTree:
    """Return ``tree`` as stored with ``layout``; ``light_first`` are its positions in that order, if known."""
    position = positions(tree, "light-first") if light_first is None else light_first
    parent, vertex = renumbered(tree.parent, position)
    return StoredTree(parent, layout.x[vertex], layout.y[vertex], layout.grid, position, vertex)
