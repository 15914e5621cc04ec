"""Places in space of nodes that read one another as cells of a table or of a grid do, whatever their numbers.

What a place reads is nowhere after it along any axis: tables (:mod:`table_search`) are so, and of iterations over grids
(:mod:`grid_search`) a cell moves by one along its axes from level to level.
"""

from __future__ import annotations

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.grids.grid_search import histories
from shorthaul.pebble.bounds.tables.table_search import tables
from shorthaul.pebble.model import Cdag, IntArray

#: Computed nodes of one table or grid, shape (nodes,), and their places from 0 on, shape (nodes, axes).
Piece = tuple[IntArray, IntArray]


def pieces(cdag: Cdag, *, search: Search) -> list[Piece]:
    """Return the tables and grids found that have no node in common, the largest first; none if they are too little.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> [places.shape for _, places in pieces(pyramid(n=30, word=1), search=Search())]
    [(463, 2)]
    """
    found = []
    for history in histories(cdag, search=search):
        places = np.indices(history.nodes.shape).reshape(history.nodes.ndim, -1).T
        places = places + np.where(np.arange(places.shape[1]) > 0, places[:, :1], 0)
        found.append((history.nodes.ravel(), places))
    found += [(table.nodes, table.places) for table in tables(cdag, search=search)]
    used, kept = cdag.given.copy(), []
    for nodes, places in sorted(found, key=lambda one: -len(one[0])):
        is_free = ~used[nodes]
        if 2 * int(is_free.sum()) > len(nodes):
            used[nodes] = True
            kept.append((nodes[is_free], places[is_free] - places.min(axis=0)))
    placed = sum(len(nodes) for nodes, _ in kept)
    return kept if placed >= tuning.LEAST_PLACED * np.count_nonzero(~cdag.given) else []
