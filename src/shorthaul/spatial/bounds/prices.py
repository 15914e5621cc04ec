"""Parts of a tree around vertices with many children: what they take where cells near the middle are dear."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.spatial import tuning
from shorthaul.spatial.bounds.price_kernels import least_priced

Index = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Amounts = npt.NDArray[np.float64]

#: What a hop costs, in units of prices.
HOP = 1024


@dataclass(frozen=True, slots=True)
class Part:
    """A connected part of a tree with the middle ``top``, prices of cells, and the hops beyond one each proven so."""

    top: int
    kept: list[int]
    prices: list[int]
    value: float


def best_parts(parent: Index, gain: Callable[[Index], float], search: Search | None = None) -> tuple[list[Part], Index]:
    """Return parts that prove more together, with ``gain`` of all other edges, than that alone; and the parents there.

    Parents come before their children. ``gain`` is of trees without the edges of parts. What there is no time for
    before ``search`` ends is left out.
    """
    parent, parts, proven = parent.copy(), list[Part](), 0.0
    best: float | None = None
    cut = sorted(_cut(parent), key=len, reverse=True)
    work, missed = max(tuning.PRICED_WORK, tuning.PRICED_WORK_BY_VERTEX * len(parent)), 0
    for turn, kept in enumerate(cut):
        share = max(work / (len(cut) - turn), tuning.PRICED_LEAST_WORK)
        if work <= 0 or missed == tuning.PRICED_MISSES or _is_late(search):
            break
        rank = {v: at for at, v in enumerate(kept)}
        own = np.array([-1, *(rank[int(parent[v])] for v in kept[1:])], np.int32)
        degree = np.bincount(own[1:], minlength=len(own))
        degree[1:] += 1
        if degree.max() < tuning.PRICED_CHILDREN or (degree > 1).sum() < tuning.PRICED_FORKS:
            continue
        missed += 1
        alone = gain(own)
        found = [Prices(own, top, search) for top in sorted({int(degree.argmax()), _centroid(own)})]
        for prices in found:
            if prices.work * len(tuning.PRICES_FALL) <= share:
                prices.begin(alone)
        chosen = max(found, key=lambda one: one.best)
        if chosen.best >= tuning.PRICED_HOPELESS * alone:
            chosen.improve(
                alone, min(tuning.PRICED_ROUNDS, int((share - chosen.done) / (chosen.work + tuning.PRICED_PROGRAM)))
            )
        work -= sum(one.done for one in found)
        if chosen.best <= alone:
            continue
        best = gain(parent) if best is None else best
        without = parent.copy()
        without[kept[1:]] = -1
        if (together := proven + chosen.best + gain(without)) > best:
            parent, best, proven = without, together, proven + chosen.best
            top, missed = kept[chosen.top], 0
            whole = np.rint(chosen.prices * HOP).astype(np.int64).tolist()
            parts.append(Part(top, [v for v in kept if v != top], whole, chosen.best))
    return parts, parent


def _is_late(search: Search | None) -> bool:
    return search is not None and search.remaining_s() <= 0


def _centroid(parent: Index) -> int:
    """Return a vertex without which no part of the tree has more than half of the vertices."""
    size = np.ones(len(parent), np.int64)
    for v in range(len(parent) - 1, 0, -1):
        if 2 * size[v] >= len(parent):
            return v
        size[parent[v]] += size[v]
    return 0


def _cut(parent: Index) -> list[list[int]]:
    """Return the vertices of connected parts of about ``MOST_PRICED``, the highest first, that hold every edge once."""
    above, left = parent.tolist(), [1] * len(parent)
    kids: list[list[int]] = [[] for _ in above]
    found = []

    def cut(top: int) -> None:
        part = [top]
        for v in part:
            part += kids[v]
        if len(part) > 1:
            found.append(part)
        kids[top] = []

    for v in range(len(above) - 1, -1, -1):
        for k in sorted(kids[v], key=left.__getitem__, reverse=True):
            if 1 + sum(left[u] for u in kids[v]) <= tuning.MOST_PRICED or left[k] == 1:
                break
            cut(k)
            left[k] = 1
        left[v] += sum(left[u] for u in kids[v])
        if above[v] >= 0:
            kids[above[v]].append(v)
        else:
            cut(v)
    return found


def shapes(parent: Index, top: int) -> tuple[Index, Index]:
    """Return the shapes of subtrees, with ``top`` as root, as :func:`least_priced` takes them."""
    near: list[list[int]] = [[] for _ in parent]
    for v, above in enumerate(parent.tolist()):
        if above >= 0:
            near[v].append(above)
            near[above].append(v)
    order, above_ = [top], [-1] * len(parent)
    for v in order:
        for k in near[v]:
            if k != above_[v]:
                above_[k] = v
                order.append(k)
    known, shape = dict[tuple[int, ...], int](), [0] * len(parent)
    for v in reversed(order):
        key = tuple(sorted(shape[k] for k in near[v] if k != above_[v]))
        shape[v] = known.setdefault(key, len(known))
    starts = np.cumsum([0, *map(len, known)], dtype=np.int32)
    return starts, np.array([k for key in known for k in key], np.int32)


class Prices:
    """The hops that a part takes beyond one each, as prices of cells prove.

    What vertices pay beside the edges' hops is at most what all cells cost, each once; so the least sum of both, less
    that, is proven, for any prices. It is concave in them: linear programs over what single layouts pay lead upwards.
    """

    def __init__(self, parent: Index, top: int, search: Search | None = None) -> None:
        self.search = search
        self.n, self.top, self.tree = len(parent), top, shapes(parent, top)
        self.half = math.isqrt(self.n // 2) + 2
        places = [(a, b) for a in range(self.half + 1) for b in range(a + 1)]
        self.cells = np.array([4.0 if b in {0, a} else 8.0 for a, b in places])  # as far away
        self.cells[0] = 0.0
        self.hops = np.array([a + b for a, b in places])
        self.work, self.done = float(len(places) * int((np.diff(self.tree[0][:-1]) ** 2).sum())), 0.0
        self.best, self.prices, self.rises = -math.inf, np.zeros(len(places)), np.zeros(len(places))

    def value(self, prices: Amounts) -> tuple[float, Amounts]:
        """Return what prices prove, and how that rises with them."""
        self.done += self.work
        whole = np.rint(prices * HOP).astype(np.int64)
        total, used = least_priced(*self.tree, whole, self.half, HOP)
        return (total - float(self.cells @ whole)) / HOP - (self.n - 1), used - self.cells

    def begin(self, least: float) -> None:
        """Try prices that fall evenly, from middle ones on as long as others prove more, unless far from ``least``."""
        radius = math.sqrt(self.n / 2)
        at, tried = (len(tuning.PRICED_RADII) // 2, len(tuning.PRICES_FALL) // 2), set[tuple[int, int]]()
        ahead = [at]
        while ahead and not _is_late(self.search):
            part, fall = ahead.pop()
            if (part, fall) in tried or not (
                0 <= part < len(tuning.PRICED_RADII) and 0 <= fall < len(tuning.PRICES_FALL)
            ):
                continue
            tried.add((part, fall))
            hops = np.maximum(tuning.PRICED_RADII[part] * radius - self.hops, 0)
            prices = np.rint(tuning.PRICES_FALL[fall] * hops * HOP) / HOP
            prices[0] = 0
            found, rises = self.value(prices)
            if found > self.best:
                self.best, self.prices, self.rises = found, prices, rises
                if found < tuning.PRICED_FAR * least:
                    return
                ahead = [(part - 1, fall), (part + 1, fall), (part, fall - 1), (part, fall + 1)]

    def improve(self, alone: float, rounds: int) -> None:
        """Look for better prices, unless all around prove less than ``alone`` by far."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        planes, step = [(self.rises, float(self.best - self.rises @ self.prices))], 0.5
        for _ in range(rounds):
            if _is_late(self.search):
                return
            self.done += tuning.PRICED_PROGRAM
            rows = np.array([np.append(-plane, 1.0) for plane, _ in planes])
            most = np.append(np.zeros(len(self.prices)), -1.0)
            least, up = np.append(np.maximum(0.0, self.prices - step), -np.inf), np.append(self.prices + step, np.inf)
            up[0] = 0.0
            under = LinearConstraint(rows, -np.inf, [height for _, height in planes])
            program = milp(most, constraints=under, bounds=Bounds(least, up))
            if not program.success:
                return
            prices, promised = np.rint(program.x[:-1] * HOP) / HOP, -program.fun
            if promised < tuning.PRICED_SHORT * alone:
                return
            found, rises = self.value(prices)
            planes.append((rises, float(found - rises @ prices)))
            if found > self.best + 0.1 * (promised - self.best):
                self.best, self.prices = found, prices
            elif promised - self.best < tuning.PRICED_CLOSE:
                return
            else:
                step = max(0.7 * step, 0.02)
