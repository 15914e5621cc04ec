"""Places of the terms of sums of products: blocks of them are tiles of a matrix product, whatever its form.

A term's place tells its left operand, its right operand and its sum (:class:`Contraction`). Values along an axis are
numbered in the order in which the graph can come to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.sums_of_products import Contraction, by_colours, contractions
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import tile_kernels

#: Nodes that are computed, shape (nodes,), and their places from 0 on, shape (nodes, axes).
Piece = tuple[IntArray, IntArray]


def products(cdag: Cdag, *, search: Search) -> Iterator[Piece]:
    """Yield the terms of each sum of products that is not small, and their places.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import matmul
    >>> [(nodes, places)] = products(matmul(m=2, n=3, k=4, word=1), search=Search())
    >>> places.max(axis=0).tolist()
    [1, 2, 3]
    """
    if cdag.n > tuning.MOST_FOR_PRODUCTS:
        return
    graph = cdag.parents
    level = tile_kernels.levels(cdag.order, graph.starts, graph.targets, np.zeros(cdag.n, np.int64), False)
    for found in contractions(cdag, search=search):
        if len(found.terms) < tuning.FEWEST_IN_TABLE:
            break  # large ones come first
        after = np.full(cdag.n, -1)
        after[found.accumulators] = found.after
        for one in _apart(found, level):
            then = after[one.terms]  # products alone all come at one level: what they are added into does not
            mean = level[one.terms] + np.where(then < 0, level[one.terms] + 1, level[then])
            yield _with_others(cdag, one, _numbered(one, mean))


def _apart(found: Contraction, level: IntArray) -> Iterator[Contraction]:
    """Yield the terms of each product by itself if one begins after another has ended, else all as one product."""
    numbers = range(int(found.products.max()) + 1)
    ends = [level[found.terms[found.products == number]] for number in numbers]
    is_at_once = max(one.min() for one in ends) <= min(one.max() for one in ends)
    if found.whole is not None and (found.whole.duplicates == 1 or is_at_once):
        yield found.whole
        return
    for number in numbers:
        at = found.products == number
        rows = {name: getattr(found, name)[at] for name in ("terms", "pairs", "places")}
        yield replace(found, is_shared=found.is_shared and not found.products.any(), **rows)


def _numbered(found: Contraction, level: IntArray) -> IntArray:
    """Return the places with the values along each axis from 0 on, in the order of the mean level of their terms.

    Where an operand is on both sides, rows are numbered as columns are. Where a left operand has two faces (i, k), as
    two products with the same matrix have, what is a row of the one is a column of the other.
    """
    places, alike = found.places.copy(), [0, 1]
    if found.duplicates > 1:
        places[:, ::2], alike = by_colours(places[:, ::2]), [0, 2]
    is_joined = (found.is_shared or found.duplicates > 1) and np.isin(*places[:, alike].T).any()
    for axes in [alike, [3 - sum(alike)]] if is_joined else [[0], [1], [2]]:
        values, label = np.unique(places[:, axes], return_inverse=True)
        label = label.reshape(-1, len(axes))
        mean = np.bincount(label.ravel(), np.repeat(level, len(axes))) / np.bincount(label.ravel())
        rank = np.empty(len(values), np.int64)
        rank[np.argsort(mean, kind="stable")] = np.arange(len(values))
        places[:, axes] = rank[label]
    return places


def _with_others(cdag: Cdag, found: Contraction, places: IntArray) -> Piece:
    """Return the terms and the other nodes whose places their operands tell, such as squares, and all their places."""
    told = np.full((3, cdag.n), -1)
    for axis, side in ((0, 0), (1, 1), (2, 0), (2, 1)):
        operands, values = found.pairs[:, side], places[:, axis]
        told[axis, operands] = values
        told[axis, operands[told[axis, operands] != values]] = -1
    sources, targets = cdag.edge_arrays()
    place = np.full((cdag.n, 3), -1)
    for axis in range(3):
        place[:, axis] = 0 if not places[:, axis].any() else -1
        np.maximum.at(place[:, axis], targets, told[axis, sources])
    if found.is_shared and found.duplicates == 1:  # the lower of two labels is the row
        side = np.maximum(told[0], told[1])[sources]
        first = np.full(cdag.n, cdag.n)
        np.minimum.at(first, targets[side >= 0], side[side >= 0])
        np.maximum.at(place[:, 1], targets, side)
        place[:, 0] = np.where(first < cdag.n, first, -1)
    is_told = (place >= 0).all(axis=1) & ~cdag.given
    is_told[found.accumulators] = False
    is_told[targets[np.isin(sources, found.results)]] = False  # these come when a sum is complete
    others = np.flatnonzero(is_told)
    return np.concatenate([found.terms, others]), np.concatenate([places, place[others]])
