"""Parts of a tree with prices on the cells around vertices, verified: what a layout of each takes at least.

Several middles share the edges of a part out among them. Let a layout pay each of them for its shares of all hops, and
for the cells that it is on, by their prices around the middle. Of all cells these are that much together, at most; so
the hops are what all these payments come to at least, less that. The least of one middle is found from the leaves up,
for every place of the top of a subtree, where vertices may share a cell, but not the children of one, nor with their
parent, and the middle has its cell alone.
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
    if not isinstance(listed, list) or any(not isinstance(part, list) or len(part) != 2 for part in listed):
        raise WrongError("parts", "must be a list of vertices kept and middles")
    known: dict[bytes, _Prices] = {}
    near: list[list[int]] = [[] for _ in range(tree.n if listed else 0)]
    for v, above in enumerate(tree.parent.tolist() if listed else ()):
        if above >= 0:
            near[v].append(above)
            near[above].append(v)
    for listed_kept, middles in listed:
        kept, base = expect_vertices({"parts": listed_kept}, "parts", tree.n), dict[int, int]()
        within, shared, hops = set(kept), dict.fromkeys(kept, 0), -_HOP * len(kept)
        for top, prices, shares in _expect_middles(middles, tree.n, len(kept)):
            if not base:
                within.add(top)
            order, way = _outward(near, within, top)
            base = base or way
            if len(order) != len(kept) + 1 or top not in within:
                raise WrongError("parts", f"vertex {top} must have vertices around it that are joined to it")
            own = dict(zip(kept, shares, strict=True)) if shares else dict.fromkeys(kept, _HOP)
            for v, share in own.items():
                shared[v] += share
            weight = {v: own[v if base.get(v) == way[v] else way[v]] for v in order[1:]}
            whole = _expect_prices(prices)
            hops += known.setdefault(whole.tobytes(), _Prices(whole)).paid(order, way, weight)
        for v in kept:
            child = v if tree.parent[v] == base[v] else base[v]
            if left[child] < 0 or shared[v] > _HOP:
                raise WrongError("parts", f"the edge of vertices {v} and {base[v]} counts too often")
            left[child] = -1
        found += max(0.0, hops / _HOP)
    return found, Tree(left)


def _outward(near: list[list[int]], within: set[int], top: int) -> tuple[list[int], dict[int, int]]:
    """Return the vertices of a part that ``top`` is joined to, parents before children, and parents as seen from it."""
    order, way = [top], {top: -1}
    for v in order:
        beside = [u for u in near[v] if u in within and u not in way]
        way.update(dict.fromkeys(beside, v))
        order += beside
    return order, way


def _expect_middles(middles: object, n: int, count: int) -> list[tuple[int, object, list[int]]]:
    """Return the middles of a part of so many edges: vertices, prices and shares."""
    if (
        not isinstance(middles, list)
        or not middles
        or any(not isinstance(one, list) or len(one) != 3 for one in middles)
    ):
        raise WrongError("parts", "must have a list of middles, each a vertex, prices and shares")
    for top, _, shares in middles:
        expect_vertices({"parts": [top]}, "parts", n)
        if not isinstance(shares, list) or any(type(share) is not int or not 0 <= share <= _HOP for share in shares):
            raise WrongError("parts", f"must have shares that are whole numbers from 0 to {_HOP}")
        if len(shares) != (count if len(middles) > 1 else 0):
            raise WrongError("parts", "must have a share of every edge for each of several middles")
    return [(top, prices, shares) for top, prices, shares in middles]


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
        self.prices, self.shapes = prices, dict[tuple[tuple[int, int], ...], int]()
        self.half = (math.isqrt(8 * len(prices) + 1) - 1) // 2 - 1
        # By shape; the last place is beyond all prices, where as little is taken as anywhere.
        self.least: list[Counts] = []

    def paid(self, order: list[int], way: Mapping[int, int], weight: Mapping[int, int]) -> int:
        """Return what a part pays at least beside what all cells cost, parents before children in ``order``."""
        kids: dict[int, list[tuple[int, int]]] = {v: [] for v in order}
        for v in order[:0:-1]:
            key = tuple(sorted(kids[v]))
            if key not in self.shapes:
                own = np.append(self.prices, _free([w for _, w in key]) + sum(int(self.least[k][-1]) for k, _ in key))
                if key:
                    own[1:-1] += self._stars(key, np.arange(1, len(self.prices)))
                self.shapes[key] = len(self.least)
                self.least.append(own)
            kids[way[v]].append((self.shapes[key], weight[v]))
        whole = int(self._stars(tuple(sorted(kids[order[0]])), np.zeros(1, np.int64))[0])
        held = np.bincount(_places(self.half, 2 * self.half + 1)[1][0], minlength=len(self.prices) + 1)[1:-1]
        return whole - int((held * self.prices[1:]).sum())

    def _stars(self, kids: tuple[tuple[int, int], ...], tops: Counts) -> Counts:
        """Return the least sums of what children take, each on a cell of its own, by the place of their parent.

        Children have a shape and what a hop to them costs. One of the cheapest cells of each will do. Beyond so many
        hops nothing is cheaper than those and the least that a child takes anywhere.
        """
        each, many = np.unique([kids.index(k) for k in kids], return_inverse=True, return_counts=True)[1:]
        kinds = sorted(set(kids))
        far, weight = (np.array(one)[:, None] for one in ([self.least[k][-1] for k, _ in kinds], [w for _, w in kinds]))
        found, left, reach = np.zeros(len(tops), np.int64), np.arange(len(tops)), 4 + math.isqrt(len(kids))
        while len(left):
            hops, places = _places(self.half, reach)
            place = places[tops[left]]
            costs = np.array([self.least[k][place] + w * hops for k, w in kinds])
            costs[:, place == 0] = _NEVER
            near = np.argpartition(costs, len(kids) - 1, axis=2)[:, :, : len(kids)]
            cost = np.take_along_axis(costs, near, axis=2)
            first = np.argsort(cost, axis=2)
            near, cost = np.take_along_axis(near, first, axis=2), np.take_along_axis(cost, first, axis=2)
            chosen = np.concatenate([near[k, :, :m] for k, m in enumerate(many)], axis=1)
            sums = sum(cost[k, :, :m].sum(axis=1) for k, m in enumerate(many))
            chosen.sort(axis=1)
            settled = (cost[:, :, -1] <= weight * (reach + 1) + far).all(axis=0)
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


def _free(weights: list[int]) -> int:
    """Return what hops to the nearest cells cost, all free, for children of these weights."""
    total, ring, left = 0, 1, sorted(weights)
    while left:
        total += ring * sum(left[-4 * ring :])
        del left[-4 * ring :]
        ring += 1
    return total
