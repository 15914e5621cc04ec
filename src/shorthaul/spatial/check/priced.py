"""Parts of a tree with prices on the cells around their middle, verified: what a layout of each takes at least.

A layout of a part pays for its edges, and let it pay for the cells that it is on. Of all cells that is their prices
together, at most; so the edges take what both come to at least, less that. The least is found from the leaves up, for
every place of the top of a subtree, where vertices may share a cell, but not the children of one, nor with their
parent, and the middle of the part has its cell alone.
"""

from __future__ import annotations

import functools
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
    known: dict[bytes, _Prices] = {}
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
        whole = _expect_prices(prices)
        found += max(0.0, known.setdefault(whole.tobytes(), _Prices(whole)).spared(order, way))
    return found, Tree(left)


def _expect_prices(prices: object) -> Counts:
    """Return prices of cells by rows: 0 0, 1 0, 1 1, 2 0, ... from the middle, the larger of both axes first."""
    if not isinstance(prices, list) or any(type(one) is not int or not 0 <= one <= _DEAREST for one in prices):
        raise WrongError("parts", f"must have prices that are whole numbers from 0 to {_DEAREST}")
    rows = (math.isqrt(8 * len(prices) + 1) - 1) // 2
    if rows * (rows + 1) // 2 != len(prices) or not 1 <= rows <= _FARTHEST + 1:
        raise WrongError("parts", f"must have prices for rows of 1, 2, ... cells, up to {_FARTHEST + 1}")
    return np.array([0, *prices[1:]], np.int64)


class _Prices:
    """Prices of cells, and what subtrees take at least by the place of their top: the same in all parts priced so."""

    def __init__(self, prices: Counts) -> None:
        self.prices, self.shapes = prices, dict[tuple[int, ...], int]()
        self.half = (math.isqrt(8 * len(prices) + 1) - 1) // 2 - 1
        # By shape; the last place is beyond all prices, where as little is taken as anywhere.
        self.least: list[Counts] = []

    def spared(self, order: list[int], way: Mapping[int, int]) -> float:
        """Return how many hops beyond one each the edges of a part take at least, parents before children."""
        kids: dict[int, list[int]] = {v: [] for v in order}
        shape: dict[int, int] = {}
        for v in order[:0:-1]:
            key = tuple(sorted(shape[k] for k in kids[v]))
            if key not in self.shapes:
                own = np.append(self.prices, _HOP * _free(len(key)) + sum(int(self.least[k][-1]) for k in key))
                if key:
                    own[1:-1] += self._stars(key, np.arange(1, len(self.prices)))
                self.shapes[key] = len(self.least)
                self.least.append(own)
            shape[v] = self.shapes[key]
            kids[way[v]].append(v)
        whole = int(self._stars(tuple(sorted(shape[k] for k in kids[order[0]])), np.zeros(1, np.int64))[0])
        beside = 2 * self.half + 1
        held = np.bincount(_places(self.half, beside)[1][0], minlength=len(self.prices) + 1)[1:-1]
        return (whole - int((held * self.prices[1:]).sum())) / _HOP - (len(order) - 1)

    def _stars(self, kids: tuple[int, ...], tops: Counts) -> Counts:
        """Return the least sums of what children take, each on a cell of its own, by the place of their parent.

        One of the cheapest cells of each will do. Beyond so many hops nothing is cheaper than those and the least that
        a child takes anywhere.
        """
        kinds, each, many = np.unique(kids, return_inverse=True, return_counts=True)
        far = np.array([self.least[k][-1] for k in kinds])
        found, left, reach = np.zeros(len(tops), np.int64), np.arange(len(tops)), 4 + math.isqrt(len(kids))
        while len(left):
            hops, places = _places(self.half, reach)
            place = places[tops[left]]
            costs = np.array([self.least[k][place] + _HOP * hops for k in kinds])
            costs[:, place == 0] = _NEVER
            near = np.argpartition(costs, len(kids) - 1, axis=2)[:, :, : len(kids)]
            cost = np.take_along_axis(costs, near, axis=2)
            first = np.argsort(cost, axis=2)
            near, cost = np.take_along_axis(near, first, axis=2), np.take_along_axis(cost, first, axis=2)
            chosen = np.concatenate([near[k, :, :m] for k, m in enumerate(many)], axis=1)
            sums = sum(cost[k, :, :m].sum(axis=1) for k, m in enumerate(many))
            chosen.sort(axis=1)
            settled = (cost[:, :, -1] <= _HOP * (reach + 1) + far[:, None]).all(axis=0)
            is_near = np.zeros(place.shape, np.bool_)
            is_near[np.arange(len(left))[:, None], near] = True
            for at in np.flatnonzero(settled & (chosen[:, 1:] == chosen[:, :-1]).any(axis=1)):
                table = costs[:, at, is_near[at]][each]
                sums[at] = table[linear_sum_assignment(table)].sum()
            found[left[settled]] = sums[settled]
            left, reach = left[~settled], 2 * reach
        return found


@functools.lru_cache(maxsize=64)
def _places(half: int, reach: int) -> tuple[Counts, Counts]:
    """Return the hops to the other cells so near, and their places by the one looked from; the last is farther out."""
    y, x = (one.ravel() for one in np.mgrid[-reach : reach + 1, -reach : reach + 1])
    hops = abs(x) + abs(y)
    x, y, hops = (one[(hops > 0) & (hops <= reach)] for one in (x, y, hops))
    a, b = np.tril_indices(half + 1)
    x, y = abs(x + a[:, None]), abs(y + b[:, None])
    far = np.maximum(x, y)
    return hops, np.where(far <= half, far * (far + 1) // 2 + np.minimum(x, y), len(a))


def _free(count: int) -> int:
    """Return the hops to the nearest ``count`` cells, all free."""
    ring, hops = 1, 0
    while count > 0:
        hops += ring * min(count, 4 * ring)
        count -= 4 * ring
        ring += 1
    return hops
