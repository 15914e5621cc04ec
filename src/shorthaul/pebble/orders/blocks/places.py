"""Places in space of nodes that read one another as cells of a table or of a grid do, whatever their numbers.

What a place reads is nowhere after it along any axis: tables (:mod:`table_search`) are so, and of iterations over grids
(:mod:`grid_search`) a cell moves by one along its axes from level to level. Terms of products have places, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.grids.grid_search import histories
from shorthaul.pebble.bounds.tables.table_search import tables
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.orders.blocks.product_places import Piece, products


def pieces(cdag: Cdag, *, search: Search) -> list[Piece]:
    """Return grids and tables with no node in common, the largest first, else products; none if they are too little.

    Products beside tables are what these read place by place, as distances of samples: computed there, not before.
    Tables are not looked for where grids have half of what is computed.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> [places.shape for _, places in pieces(pyramid(n=30, word=1), search=Search())]
    [(463, 2)]
    """
    computed = np.count_nonzero(~cdag.given)
    for looks in ((_grids, _tables), (products,)):
        used, found, kept = cdag.given.copy(), list[Piece](), list[Piece]()
        for look in looks:
            if 2 * sum(len(nodes) for nodes, _ in found) < computed:
                found += look(cdag, search=search)
        for nodes, places in sorted(found, key=lambda one: -len(one[0])):
            is_free = ~used[nodes]
            if 2 * int(is_free.sum()) > len(nodes):
                used[nodes] = True
                kept.append((nodes[is_free], places[is_free] - places.min(axis=0)))
        if sum(len(nodes) for nodes, _ in kept) >= tuning.LEAST_PLACED * computed:
            return kept
    return []


def _grids(cdag: Cdag, *, search: Search) -> Iterator[Piece]:
    for history in histories(cdag, search=search):
        places = np.indices(history.nodes.shape).reshape(history.nodes.ndim, -1).T
        yield history.nodes.ravel(), places + np.where(np.arange(places.shape[1]) > 0, places[:, :1], 0)


def _tables(cdag: Cdag, *, search: Search) -> Iterator[Piece]:
    yield from ((table.nodes, table.places) for table in tables(cdag, search=search))
