"""Directed trees of networkx."""

from __future__ import annotations

from typing import Any

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.spatial.model import Labels, Tree, tree_from_parents


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
    names = ["'" + str(node).replace("'", "''") + "'" for node in graph]
    ends = np.cumsum([len(name.encode()) for name in names], dtype=np.int64)
    spans = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1) if names else np.zeros((0, 2), np.int64)
    text = np.frombuffer("".join(names).encode(), np.uint8)
    return tree_from_parents(parent, forest=forest, labels=Labels(text, spans, np.zeros((len(names), 2), np.int64)))
