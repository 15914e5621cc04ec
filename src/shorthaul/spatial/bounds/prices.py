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
    found = sorted(_promising(parent, gain, search), key=lambda one: one[0], reverse=True)
    parent, parts, proven = parent.copy(), list[Part](), 0.0
    best = gain(parent) if found else 0.0
    trials, each = 2 * tuning.PRICED_BATCHES, -(-len(found) // tuning.PRICED_BATCHES)
    ahead = [found[at : at + each] for at in range(0, len(found), each or 1)][::-1]
    while ahead and trials > 0 and not _is_late(search):
        together, trials = ahead.pop(), trials - 1
        without = parent.copy()
        for _, kept, _ in together:
            without[kept[1:]] = -1
        more = sum(one.best for _, _, one in together)
        if (now := proven + more + gain(without)) > best:
            parent, best, proven = without, now, proven + more
            for _, kept, one in together:
                whole, top = np.rint(one.prices * HOP).astype(np.int64).tolist(), kept[one.top]
                parts.append(Part(top, [v for v in kept if v != top], whole, one.best))
        elif half := len(together) // 2:
            ahead += [together[half:], together[:half]]
    return parts, parent


def _promising(
    parent: Index, gain: Callable[[Index], float], search: Search | None
) -> list[tuple[float, list[int], Prices]]:
    """Return parts that prove more than ``gain`` of them, by how much, their vertices, and prices.

    Prices that are good for a part are often as good for others of its size. So they are sought where parts have become
    smaller, the largest first, and tried on the others; and what work is left goes to better ones for each.
    """
    cut = sorted(_cut(parent), key=len, reverse=True)
    found, known = list[tuple[float, list[int], Prices]](), list[Amounts]()
    work, missed, last = _work(len(parent), search), 0, math.inf
    for kept in cut:
        if work <= 0 or missed == tuning.PRICED_MISSES or _is_late(search):
            break
        rank = {v: at for at, v in enumerate(kept)}
        own = np.array([-1, *(rank[int(parent[v])] for v in kept[1:])], np.int32)
        degree = np.bincount(own[1:], minlength=len(own))
        degree[1:] += 1
        if degree.max() < tuning.PRICED_CHILDREN or (degree > 1).sum() < tuning.PRICED_FORKS:
            continue
        missed, work = missed + 1, work - tuning.PRICED_PART
        alone = gain(own)
        tried = [Prices(own, top, search) for top in sorted({int(degree.argmax()), _centroid(own)})]
        for prices in tried:
            prices.borrow(known)
            if is_smaller := len(kept) <= tuning.PRICED_SMALLER * last:
                prices.begin(alone)
        chosen = max(tried, key=lambda one: one.best)
        if is_smaller and chosen.best >= tuning.PRICED_HOPELESS * alone:
            chosen.improve(alone, tuning.PRICED_ROUNDS)
            if chosen.best > alone:
                last, known = len(kept), [chosen.prices, *known[: tuning.PRICED_KNOWN - 1]]
        work -= sum(one.done for one in tried)
        found.append((alone, kept, chosen))
        if chosen.best > alone:
            missed = 0
    for turn, (alone, _, chosen) in enumerate(found):
        rounds = int(work / (len(found) - turn) / (chosen.work + tuning.PRICED_PROGRAM))
        if rounds >= tuning.PRICED_LEAST_ROUNDS and not chosen.is_improved:
            work += chosen.done
            chosen.begin(alone)
            if chosen.best >= tuning.PRICED_HOPELESS * alone:
                chosen.improve(alone, min(tuning.PRICED_ROUNDS, rounds))
            work -= chosen.done
    return [(chosen.best - alone, kept, chosen) for alone, kept, chosen in found if chosen.best > alone]


def _work(vertices: int, search: Search | None) -> float:
    """Return how much work all parts of a tree are worth."""
    effort = math.inf if search is None or search.effort is None else search.effort
    most = min(tuning.PRICED_WORK_BY_VERTEX * vertices, tuning.MOST_PRICED_WORK, tuning.PRICED_WORK_BY_EFFORT * effort)
    return max(tuning.PRICED_WORK, most)


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
        self.best, self.prices, self.is_improved = -math.inf, np.zeros(len(places)), False
        self.planes: list[tuple[Amounts, float]] = []

    def value(self, prices: Amounts) -> float:
        """Return what prices prove."""
        self.done += self.work
        whole = np.rint(prices * HOP).astype(np.int64)
        total, used = least_priced(*self.tree, whole, self.half, HOP)
        found, rises = (total - float(self.cells @ whole)) / HOP - (self.n - 1), used - self.cells
        self.planes.append((rises, found - float(rises @ whole) / HOP))
        if found > self.best:
            self.best, self.prices = found, whole / HOP
        return found

    def borrow(self, known: list[Amounts]) -> None:
        """Try prices of other parts."""
        for prices in known:
            own = np.zeros(len(self.prices))
            own[: len(prices)] = prices[: len(own)]
            self.value(own)

    def begin(self, least: float) -> None:
        """Try prices that fall evenly, from middle ones on as long as others prove more, unless far from ``least``."""
        radius, radii, falls, best = math.sqrt(self.n / 2), tuning.PRICED_RADII, tuning.PRICES_FALL, -math.inf
        tried, ahead = set[tuple[int, int]](), [(len(radii) // 2, len(falls) // 2)]
        while ahead and not _is_late(self.search):
            part, fall = ahead.pop()
            if (part, fall) in tried or not (0 <= part < len(radii) and 0 <= fall < len(falls)):
                continue
            tried.add((part, fall))
            prices = falls[fall] * np.maximum(radii[part] * radius - self.hops, 0)
            prices[0] = 0
            found = self.value(prices)
            if found > best:
                best = found
                if found < tuning.PRICED_FAR * least:
                    return
                ahead = [(part - 1, fall), (part + 1, fall), (part, fall - 1), (part, fall + 1)]

    def improve(self, alone: float, rounds: int) -> None:
        """Look for better prices, unless all around prove less than ``alone`` by far."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        self.is_improved, step, most = True, tuning.PRICED_STEP, np.append(np.zeros(len(self.prices)), -1.0)
        for _ in range(rounds):
            if _is_late(self.search):
                return
            self.done += tuning.PRICED_PROGRAM
            least, up = np.append(np.maximum(0.0, self.prices - step), -np.inf), np.append(self.prices + step, np.inf)
            up[0] = 0.0
            rows = np.array([np.append(-rises, 1.0) for rises, _ in self.planes])
            under = LinearConstraint(rows, -np.inf, [height for _, height in self.planes])
            program = milp(most, constraints=under, bounds=Bounds(least, up))
            if not program.success:
                return
            best, promised = self.best, -program.fun
            if promised < tuning.PRICED_SHORT * alone:
                return
            if self.value(program.x[:-1]) <= best + 0.1 * (promised - best):
                if promised - best < tuning.PRICED_CLOSE:
                    return
                step = max(0.7 * step, 0.02)
