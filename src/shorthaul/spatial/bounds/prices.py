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
    """A connected part of a tree, and the hops beyond one each that its edges take.

    Of every middle the vertex, the prices of cells around it, and its shares of the edges above ``kept``, all but the
    first middle, as seen from there; no shares where it has all.
    """

    kept: list[int]
    middles: list[tuple[int, list[int], list[int]]]
    value: float

    def named(self, names: Index) -> Part:
        """Return the same with other names of the vertices."""
        middles = [(int(names[top]), prices, shares) for top, prices, shares in self.middles]
        return Part(names[self.kept].tolist(), middles, self.value)


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
                parts.append(one.part().named(np.array(kept, np.int32)))
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
        tried = [Prices(own, [top], search) for top in sorted({int(degree.argmax()), _centroid(own)})]
        for prices in tried:
            prices.borrow(known)
            if is_smaller := len(kept) <= tuning.PRICED_SMALLER * last:
                prices.begin(alone)
        chosen = max(tried, key=lambda one: one.best)
        if is_smaller and chosen.best >= tuning.PRICED_HOPELESS * alone:
            chosen.improve(alone, tuning.PRICED_PROGRAMS)
            if chosen.best > alone:
                last, known = len(kept), [chosen.prices, *known[: tuning.PRICED_KNOWN - 1]]
        work -= sum(one.done for one in tried)
        found.append((alone, kept, chosen))
        if chosen.best > alone:
            missed = 0
    better = []
    for turn, (alone, kept, chosen) in enumerate(found):
        spread = _spread(chosen, alone, work / (len(found) - turn), search)
        work -= spread.done
        better.append((spread.best - alone, kept, spread))
    return [one for one in better if one[0] > 0]


def _spread(chosen: Prices, alone: float, work: float, search: Search | None) -> Prices:
    """Return better prices of a part for so much work, around several middles if that is enough for them."""
    chosen.done = 0.0
    rounds = int(work / (chosen.work + tuning.PRICED_PROGRAM))
    if rounds >= tuning.PRICED_LEAST_PROGRAMS and not chosen.is_improved:
        chosen.begin(alone)
        if chosen.best >= tuning.PRICED_HOPELESS * alone:
            chosen.improve(alone, min(tuning.PRICED_PROGRAMS, rounds))
    if chosen.best < tuning.PRICED_HOPELESS * alone or work - chosen.done < 3 * tuning.PRICED_ROUNDS * chosen.work:
        return chosen
    chosen.climb(tuning.PRICED_ROUNDS)
    degree = np.bincount(chosen.parent[1:], minlength=chosen.n)
    degree[1:] += 1
    tops = [*chosen.tops, *(v for v in np.argsort(-degree, kind="stable").tolist() if v not in chosen.tops)]
    several = Prices(chosen.parent, tops[: tuning.PRICED_MIDDLES], search)
    rounds = int((work - chosen.done) / several.work)
    if rounds < tuning.PRICED_ROUNDS:
        return chosen
    several.prices[:] = chosen.prices / len(several.tops)
    several.climb(min(rounds, tuning.PRICED_MOST_ROUNDS))
    several.done += chosen.done
    if several.best > chosen.best:
        return several
    chosen.done = several.done
    return chosen


def _work(vertices: int, search: Search | None) -> float:
    """Return how much work all parts of a tree are worth."""
    most = tuning.MOST_PRICED_WORK
    if vertices > tuning.MOST_PRICED:
        most = min(most, tuning.PRICED_WORK_BY_VERTEX * vertices)
    if search is not None:
        most = min(most, tuning.PRICED_WORK_BY_TIME * search.remaining_s())
        most = most if search.effort is None else min(most, tuning.PRICED_WORK_BY_EFFORT * search.effort)
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


def _outward(parent: Index, top: int) -> tuple[list[list[int]], list[int], list[int]]:
    """Return neighbours, the vertices from ``top`` on, and their neighbours on the way there."""
    near: list[list[int]] = [[] for _ in parent]
    for v, at in enumerate(parent.tolist()):
        if at >= 0:
            near[v].append(at)
            near[at].append(v)
    order, above = [top], [-1] * len(parent)
    for v in order:
        for k in near[v]:
            if k != above[v]:
                above[k] = v
                order.append(k)
    return near, order, above


def _groups(parent: Index, tops: list[int]) -> list[int]:
    """Return groups of vertices that look the same from ``tops``, with all below them; one of all for one top."""
    near, order, above = _outward(parent, tops[0])
    if len(tops) == 1:
        return [0] * len(parent)
    known, below = dict[tuple[int, ...], int](), [0] * len(parent)
    for v in reversed(order):
        mark = tops.index(v) if v in tops else len(tops)
        key = (mark, *sorted(below[k] for k in near[v] if k != above[v]))
        below[v] = known.setdefault(key, len(known))
    found, group = dict[tuple[int, int], int](), [0] * len(parent)
    for v in order:
        group[v] = found.setdefault((group[above[v]] if v != tops[0] else -1, below[v]), len(found))
    return group


def shapes(parent: Index, top: int, group: list[int] | None = None, first: int = 0) -> tuple[Index, Index, Index]:
    """Return the shapes of subtrees, with ``top`` as root, as :func:`least_priced` takes them.

    Beside them is the group of the edge above each, that of its end farther from ``first``.
    """
    near, order, above = _outward(parent, top)
    base = _outward(parent, first)[2] if group else above
    group = group or [0] * len(parent)
    known, shape, edge = dict[tuple[int, ...], int](), [0] * len(parent), list[int]()
    for v in reversed(order):
        key = (group[v], *sorted(shape[k] for k in near[v] if k != above[v]))
        if key not in known:
            known[key] = len(known)
            edge.append(group[v] if base[v] == above[v] else group[above[v]])
        shape[v] = known[key]
    starts = np.cumsum([0, *(len(key) - 1 for key in known)], dtype=np.int32)
    return starts, np.array([k for key in known for k in key[1:]], np.int32), np.array(edge, np.int32)


class Prices:
    """The hops that a part takes beyond one each, as prices of cells around several middles prove.

    Every middle has a share of every edge. What vertices pay beside the edges' hops is at most what all cells cost,
    each once; so the least sums of both, less that, are proven together, for any prices and shares. They are concave in
    these: what single layouts pay leads upwards.
    """

    def __init__(self, parent: Index, tops: list[int], search: Search | None = None) -> None:
        self.search = search
        self.parent, self.n, self.tops, self.group = parent, len(parent), tops, _groups(parent, tops)
        self.trees = [shapes(parent, top, self.group, tops[0]) for top in tops]
        self.half = math.isqrt(self.n // 2) + 2
        places = [(a, b) for a in range(self.half + 1) for b in range(a + 1)]
        self.cells = np.array([4.0 if b in {0, a} else 8.0 for a, b in places])  # as far away
        self.cells[0] = 0.0
        self.hops = np.array([a + b for a, b in places])
        self.work, self.done = len(places) * sum(float((np.diff(tree[0][:-1]) ** 2).sum()) for tree in self.trees), 0.0
        self.best, self.is_improved, self.planes = -math.inf, False, list[tuple[Amounts, float]]()
        self.count = np.bincount(self.group).astype(np.float64)  # of edges, but for the group of the first middle
        self.prices = np.zeros((len(tops), len(places)))
        self.shares = np.full((len(tops), len(self.count)), 1 / len(tops))

    def value(self, prices: Amounts, shares: Amounts) -> tuple[float, Amounts, Amounts]:
        """Return what prices and shares prove, and by how much more where they grow: by edge for shares."""
        self.done += self.work
        price, share = _in_units(prices, shares)
        found, used, longer = 0.0, np.zeros(prices.shape), np.zeros(shares.shape)
        for i, (starts, kids, edge) in enumerate(self.trees):
            hop, of = share[i][edge], np.repeat(np.arange(len(edge)), np.diff(starts))
            order = np.lexsort((kids, -hop[kids], of))
            total, used[i], hops = least_priced(starts, kids[order], price[i], self.half, hop)
            found += total - float(self.cells @ price[i])
            longer[i] = np.bincount(edge, hops, len(self.count))
        found = found / HOP - (self.n - 1)
        if found > self.best:
            self.best, self.prices, self.shares = found, price / HOP, shares
        used[:, 0] = 0.0
        if len(self.tops) == 1:
            self.planes.append((used[0] - self.cells, found - float((used[0] - self.cells) @ price[0]) / HOP))
        return found, used - self.cells, longer / self.count

    def part(self) -> Part:
        """Return what is proven by the best prices and shares."""
        prices, shares = _in_units(self.prices, self.shares)
        kept = [v for v in range(self.n) if v != self.tops[0]]
        of = shares[:, np.array(self.group)[kept]].tolist() if len(self.tops) > 1 else [[]]
        return Part(kept, list(zip(self.tops, prices.tolist(), of, strict=True)), self.best)

    def borrow(self, known: list[Amounts]) -> None:
        """Try prices of other parts."""
        for prices in known:
            own = np.zeros(self.prices.shape)
            own[:, : prices.shape[1]] = prices[:, : own.shape[1]]
            self.value(own, self.shares)

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
            found, *_ = self.value(prices[None], self.shares)
            if found > best:
                best = found
                if found < tuning.PRICED_FAR * least:
                    return
                ahead = [(part - 1, fall), (part + 1, fall), (part, fall - 1), (part, fall + 1)]

    def improve(self, alone: float, rounds: int) -> None:
        """Look for better prices of one middle by linear programs, unless all near prove less than ``alone`` by far."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        self.is_improved, step, most = True, tuning.PRICED_STEP, np.append(np.zeros(self.prices.size), -1.0)
        for _ in range(rounds):
            if _is_late(self.search):
                return
            self.done += tuning.PRICED_PROGRAM
            least, up = np.maximum(0.0, self.prices[0] - step), self.prices[0] + step
            up[0] = 0.0
            rows = np.array([np.append(-rises, 1.0) for rises, _ in self.planes])
            under = LinearConstraint(rows, -np.inf, [height for _, height in self.planes])
            program = milp(most, constraints=under, bounds=Bounds(np.append(least, -np.inf), np.append(up, np.inf)))
            if not program.success:
                return
            best, promised = self.best, -program.fun
            if promised < tuning.PRICED_SHORT * alone:
                return
            if self.value(program.x[None, :-1], self.shares)[0] <= best + 0.1 * (promised - best):
                if promised - best < tuning.PRICED_CLOSE:
                    return
                step = max(0.7 * step, 0.02)

    def climb(self, rounds: int) -> None:
        """Look for better prices and shares, so many times, by the volume algorithm (Barahona and Anbil, 2000)."""
        _, *ways = self.value(self.prices, self.shares)
        stride, missed, fresh, ahead = tuning.PRICED_STRIDE, 0, tuning.PRICED_FRESH, max(1.0, 0.1 * self.best)
        for _ in range(rounds):
            best, by_price = self.best, np.where((self.prices > 0) | (ways[0] > 0), ways[0], 0.0)
            by_share = ways[1] - ways[1].mean(axis=0)
            square = float((by_price**2).sum() + (by_share**2 @ self.count).sum())
            if square == 0 or _is_late(self.search):
                return
            step = stride * ahead / square
            prices = np.maximum(0.0, self.prices + step * by_price)
            found, *rises = self.value(prices, _shared(self.shares + step * by_share))
            ways = [fresh * new + (1 - fresh) * old for new, old in zip(rises, ways, strict=True)]
            if found > best:
                missed = 0
                if float((rises[0] * by_price).sum() + (rises[1] * by_share @ self.count).sum()) > 0:
                    stride = min(1.1 * stride, 2.0)
            elif (missed := missed + 1) == tuning.PRICED_PATIENCE:
                stride, missed = stride * tuning.PRICED_SHORTER, 0


def _in_units(prices: Amounts, shares: Amounts) -> tuple[Counts, Counts]:
    """Return whole prices, and whole shares that come to a hop together, which least sums are worked out with."""
    share = np.maximum(np.floor(shares * HOP + 1e-6), 0).astype(np.int64)
    share[0] = HOP - share[1:].sum(axis=0)
    return np.rint(prices * HOP).astype(np.int64), share


def _shared(shares: Amounts) -> Amounts:
    """Return the nearest shares, none below 0, that come to one for every edge."""
    falling = -np.sort(-shares, axis=0)
    over = np.cumsum(falling, axis=0) - 1
    rows = np.arange(1, len(shares) + 1)[:, None]
    last = (falling * rows > over).sum(axis=0)
    left: Amounts = shares - over[last - 1, np.arange(shares.shape[1])] / last
    return left.clip(0.0)
