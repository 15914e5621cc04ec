"""Parts of a tree with prices on the cells around their middle, verified: what a layout of each takes at least.

A layout of a part pays for its edges, and let it pay for the cells that it is on. Of all cells that is their prices
together, at most; so the edges take what both come to at least, less that. The least is found from the leaves up, for
every place of the top of a subtree, where vertices may share a cell, but not the children of one, nor with their
parent, and the middle of the part has its cell alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from shorthaul.spatial.check.rooted import WrongError, expect_vertices
from shorthaul.spatial.model import Tree

Counts = npt.NDArray[np.int64]

#: What a hop is in units of prices, the farthest cells that may have one, along an axis, and the most that one may be.
_HOP: Final = 1024
_FARTHEST: Final = 40
_DEAREST: Final = 2**32
#: More than any sum of prices and hops.
_NEVER: Final = 2**50


def priced_parts(tree: Tree, given: Mapping[str, Any]) -> tuple[float, Tree]:
    """Return what the edges of parts have to spare, and the trees without these edges; raises :class:`WrongError`."""
    listed, found, left = given.get("parts", []), 0.0, tree.parent.copy()
    if not isinstance(listed, list) or any(not isinstance(part, list) or len(part) != 3 for part in listed):
        raise WrongError("parts", "must be a list of vertices, those kept and prices")
    near: list[list[int]] = [[] for _ in range(tree.n if listed else 0)]
    for v, above in enumerate(tree.parent.tolist() if listed else ()):
        if above >= 0:
            near[v].append(above)
            near[above].append(v)
    for top, listed_kept, prices in listed:
        expect_vertices({"parts": [top]}, "parts", tree.n)
        kept, order, way = set(expect_vertices({"parts": listed_kept}, "parts", tree.n)), [top], {top: -1}
        for v in order:
            beside = [u for u in near[v] if u in kept and u not in way]
            way.update(dict.fromkeys(beside, v))
            order += beside
        if len(order) != len(kept) + 1:
            raise WrongError("parts", f"vertex {top} must have vertices around it that are joined to it")
        for v in order[1:]:
            child = v if tree.parent[v] == way[v] else way[v]
            if left[child] < 0:
                raise WrongError("parts", f"the edge of vertices {v} and {way[v]} counts too often")
            left[child] = -1
        found += max(0.0, _spared(order, way, _expect_prices(prices)))
    return found, Tree(left)


def _expect_prices(prices: object) -> Counts:
    """Return prices of cells by rows: 0 0, 1 0, 1 1, 2 0, ... from the middle, the larger of both axes first."""
    if not isinstance(prices, list) or any(type(one) is not int or not 0 <= one <= _DEAREST for one in prices):
        raise WrongError("parts", f"must have prices that are whole numbers from 0 to {_DEAREST}")
    rows = (math.isqrt(8 * len(prices) + 1) - 1) // 2
    if rows * (rows + 1) // 2 != len(prices) or not 1 <= rows <= _FARTHEST + 1:
        raise WrongError("parts", f"must have prices for rows of 1, 2, ... cells, up to {_FARTHEST + 1}")
    return np.array([0, *prices[1:]], np.int64)


def _spared(order: list[int], way: Mapping[int, int], prices: Counts) -> float:
    """Return how many hops beyond one each the edges of a part take at least, parents before children in ``order``."""
    kids: dict[int, list[int]] = {v: [] for v in order}
    for v in order[1:]:
        kids[way[v]].append(v)
    half = (math.isqrt(8 * len(prices) + 1) - 1) // 2 - 1
    # The nearest free cells of so many are so far beyond those with prices at most, from wherever one looks.
    wide = half + math.isqrt(max(map(len, kids.values()))) + 2
    y, x = (one.ravel() for one in np.mgrid[-wide : wide + 1, -wide : wide + 1])
    far, side = np.maximum(abs(x), abs(y)), np.minimum(abs(x), abs(y))
    place = np.where(far <= half, far * (far + 1) // 2 + side, len(prices))  # the last place is beyond all prices
    known: dict[tuple[int, ...], int] = {}
    least: list[Counts] = []
    shape: dict[int, int] = {}
    for v in reversed(order):
        key = tuple(sorted(shape[k] for k in kids[v]))
        if v != order[0] and key in known:
            shape[v] = known[key]
            continue
        shape[v] = known[key] = len(least)
        own = np.append(prices, _HOP * _free(len(key)) + sum(int(least[k][-1]) for k in key))
        for a in range(half + 1 if key else 0):
            for b in range(a + 1):
                if (a == 0) == (v == order[0]):
                    hops = abs(x - a) + abs(y - b)
                    closed = (hops == 0) | (far == 0)
                    costs = {k: least[k][place] + _HOP * hops for k in set(key)}
                    own[a * (a + 1) // 2 + b] += _star(key, costs, closed)
        least.append(own)
    held = np.bincount(place, minlength=len(prices) + 1)[:-1]
    return (int(least[shape[order[0]]][0]) - int((held * prices).sum())) / _HOP - (len(order) - 1)


def _free(count: int) -> int:
    """Return the hops to the nearest ``count`` cells, all free."""
    ring, hops = 1, 0
    while count > 0:
        hops += ring * min(count, 4 * ring)
        count -= 4 * ring
        ring += 1
    return hops


def _star(kids: tuple[int, ...], costs: Mapping[int, Counts], closed: npt.NDArray[np.bool_]) -> int:
    """Return the least sum of the costs of children, each on a cell of its own: one of the cheapest of each will do."""
    near = []
    for cost in costs.values():
        cost[closed] = _NEVER
        if len(costs) == 1:
            return int(np.partition(cost, len(kids) - 1)[: len(kids)].sum())
        near.append(np.argpartition(cost, len(kids) - 1)[: len(kids)])
    cells = np.unique(np.concatenate(near))
    table = np.array([costs[k][cells] for k in kids])
    return int(table[linear_sum_assignment(table)].sum())
