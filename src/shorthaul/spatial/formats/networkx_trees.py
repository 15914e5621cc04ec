"""Directed trees of networkx."""

from __future__ import annotations

from typing import Any

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.spatial.formats.tables import labels_of
from shorthaul.spatial.model import Tree, tree_from_parents


def tree_from_networkx(graph: Any, *, forest: bool = False) -> Tree:
    """Return the tree whose edges lead from parents to children, vertices in the order of the nodes, named as these.

    Raises :class:`InputError` for a graph that is not directed, a node with two parents, a cycle, or several roots
    that are not asked for.
    """
    if not graph.is_directed():
        cure = "give networkx.bfs_tree(graph, root)"
        raise InputError("is not directed: it has no root", value=str(graph), allowed="edges to children", cure=cure)
    number = {node: v for v, node in enumerate(graph)}
    parent = np.full(len(number), -1, np.int64)
    for above, below in graph.edges():
        if parent[number[below]] >= 0:
            raise InputError("has two parents", place=f"node {below!r}", allowed="one edge to every node but the roots")
        parent[number[below]] = number[above]
    return tree_from_parents(parent, forest=forest, labels=labels_of([str(node) for node in graph]))
