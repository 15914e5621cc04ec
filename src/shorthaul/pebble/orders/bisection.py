"""Orders by recursive bisection: halves that share few values are computed one after the other, at every scale.

Values are nets that join their reader and their writer. All clusters of a graph are cut at once: vertices that share
most are matched, until few are left; halves grow from a vertex and are refined on the way back (Fiduccia and
Mattheyses). Such halves may need each other both ways, so what stands in the way of either going first is moved, and
the halves are refined once more with arcs in mind (Herrmann et al., *Multilevel algorithms for acyclic partitioning of
directed acyclic graphs*, 2019). The order works for every memory, so none is given: a part that fits is computed
without a load in between, however large the memory is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.graphs.csr import Csr, distinct, from_arrays
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady
from shorthaul.pebble.orders import bisection_kernels as kernels
from shorthaul.pebble.plan import Plan

Sides = npt.NDArray[np.uint8]

#: What halves start from: themselves, a vertex drawn, the first part of the members that cuts least.
AS_THEY_ARE, GROWN, FIRST_PART = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Cuts:
    """How to cut: ``base`` names an order of :mod:`belady`, a half has up to 0.5 + ``slack`` of its whole."""

    base: str
    slack: float
    seed: int


@dataclass(frozen=True, slots=True)
class _Pins:
    """Pairs of a net and a vertex that it joins, the weights of the nets, the sizes of the vertices."""

    nets: IntArray
    vertices: IntArray
    weights: IntArray
    sizes: IntArray

    def joining(self) -> _Pins:
        """Return what is left without nets of one vertex."""
        joins = np.bincount(self.nets, minlength=len(self.weights)) > 1
        kept, number = joins[self.nets], np.cumsum(joins) - 1
        return replace(self, nets=number[self.nets[kept]], vertices=self.vertices[kept], weights=self.weights[joins])

    def merged(self, head: IntArray) -> _Pins:
        """Return the pins of the graph whose vertices are those of one ``head``, numbered from 0."""
        n = int(head.max()) + 1
        keys = distinct(self.nets * n + head[self.vertices])
        return replace(
            self, nets=keys // n, vertices=keys % n, sizes=np.bincount(head, self.sizes, n).astype(np.int64)
        ).joining()

    def cut(self, side: Sides) -> _Pins:
        """Return the pins with a net for each of the two sides."""
        halves = self.nets * 2 + side[self.vertices]
        used = np.bincount(halves, minlength=2 * len(self.weights)) > 0
        return replace(self, nets=(np.cumsum(used) - 1)[halves], weights=np.repeat(self.weights, 2)[used]).joining()

    def kernel(self) -> kernels.Nets:
        nets = from_arrays(len(self.weights), self.nets, self.vertices)
        vertices = from_arrays(len(self.sizes), self.vertices, self.nets)
        return kernels.Nets(nets.starts, nets.targets, vertices.starts, vertices.targets, self.weights, self.sizes)


@dataclass(frozen=True, slots=True)
class _Clusters:
    """The cluster of every vertex, and the vertices by cluster, in topological order within each."""

    of: IntArray
    members: IntArray
    starts: IntArray


def _clusters(of: IntArray, order: IntArray) -> _Clusters:
    members = order[np.argsort(of[order], kind="stable")]
    return _Clusters(of, members, np.searchsorted(of[members], np.arange(int(of.max()) + 2)))


class Bisector:
    """Orders of one CDAG by recursive bisection."""

    def __init__(self, cdag: Cdag) -> None:
        self._cdag = cdag
        self._computed = np.flatnonzero(~cdag.is_input())
        number = np.full(cdag.n, -1)
        number[self._computed] = np.arange(len(self._computed))
        sources, targets = cdag.edge_arrays()
        n, inner = len(self._computed), number[sources] >= 0
        keys = distinct(
            np.concatenate([sources, self._computed]) * n + number[np.concatenate([targets, self._computed])]
        )
        self._pins = _Pins(keys // n, keys % n, cdag.weights, np.ones(n, np.int64)).joining()
        self._number = number
        children = from_arrays(n, number[sources[inner]], number[targets[inner]])
        parents = children.reversed()
        self._arcs = kernels.Arcs(parents.starts, parents.targets, children.starts, children.targets)

    def order(self, cuts: Cuts, search: Search) -> IntArray | None:
        """Return the order in which ``cuts`` has the nodes that are no inputs, shape (computed nodes,).

        Return None if ``search`` expires before.
        """
        base = self._number[belady.ORDERS[cuts.base](self._cdag)]
        base, pins = base[base >= 0], self._pins
        clusters = _clusters(np.zeros(len(base), np.int64), base)
        random = np.random.default_rng(cuts.seed)
        while np.diff(clusters.starts).max() > tuning.BISECTION_LEAST:
            near = _undirected(pins, clusters, cuts.slack, random, search)
            side = None if near is None else self._directed(pins, clusters, cuts.slack, near, random, search)
            if side is None:
                return None
            pins = pins.cut(side)
            halves = clusters.of * 2 + side
            used = np.bincount(halves) > 0
            clusters = _clusters((np.cumsum(used) - 1)[halves], clusters.members)
        return self._computed[clusters.members]

    def _directed(
        self, pins: _Pins, clusters: _Clusters, slack: float, near: Sides, random: np.random.Generator, search: Search
    ) -> Sides | None:
        """Return halves that arcs lead through one way, the best of some ``near`` the given ones and of first parts."""
        halves = _halves(pins, self._arcs, clusters, slack)
        for turned, late in ((False, False), (False, True), (True, False), (True, True)):
            halves.take(near, turned, late)
            if not _refine(halves, AS_THEY_ARE, random, search):
                return None
        done = _refine(halves, FIRST_PART, random, search)
        return np.asarray(halves.best) if done else None


def _undirected(
    pins: _Pins, clusters: _Clusters, slack: float, random: np.random.Generator, search: Search
) -> Sides | None:
    """Return halves of all clusters that cut little, whatever the arcs; None if ``search`` expires before."""
    count = len(clusters.starts) - 1
    whole = np.bincount(clusters.of, pins.sizes, count)
    levels: list[tuple[_Pins, _Clusters, IntArray]] = []
    while len(pins.sizes) > tuning.BISECTION_SMALL * count:
        n = len(pins.sizes)
        heaviest = np.maximum(1, whole * (1.5 / tuning.BISECTION_SMALL)).astype(np.int64)[clusters.of]
        order = random.permutation(n)
        mate = kernels.matched(pins.kernel(), order, tuning.BISECTION_PINS, heaviest)
        is_head = mate >= np.arange(n)
        head = (np.cumsum(is_head) - 1)[np.minimum(mate, np.arange(n))]
        search.spend(len(pins.nets) / tuning.BISECTION_RATE)
        if search.expired():
            return None
        if 20 * int(is_head.sum()) > 19 * n:
            break
        levels.append((pins, clusters, head))
        pins = pins.merged(head)
        clusters = _clusters(clusters.of[is_head], np.arange(len(pins.sizes)))
    halves = _halves(pins, None, clusters, slack)
    if not all(_refine(halves, GROWN, random, search) for _ in range(tuning.BISECTION_TRIES)):
        return None
    while levels:
        pins, clusters, head = levels.pop()
        near = np.asarray(halves.best)[head]
        halves = _halves(pins, None, clusters, slack)
        halves.take(near, False, False)
        if not _refine(halves, AS_THEY_ARE, random, search):
            return None
    return np.asarray(halves.best)


def _halves(pins: _Pins, arcs: kernels.Arcs | None, clusters: _Clusters, slack: float) -> kernels.Halves:
    if arcs is None:
        none = Csr(np.zeros(len(pins.sizes) + 1, np.int64), np.empty(0, np.int64))
        arcs = kernels.Arcs(none.starts, none.targets, none.starts, none.targets)
    return kernels.Halves(
        pins.kernel(), arcs, clusters.of, clusters.members, clusters.starts, slack, tuning.BISECTION_PASSES
    )


def _refine(halves: kernels.Halves, start: int, random: np.random.Generator, search: Search) -> bool:
    """Refine all halves; False if ``search`` expires before."""
    at = 0
    while at >= 0:
        if search.expired():
            return False
        before = halves.work
        at = halves.refine(start, at, tuning.ORDER_CALL, Random(int(random.integers(2**31))))
        search.spend((halves.work - before) / tuning.BISECTION_RATE)
    return True


#: How graphs are cut first, each with a seed that is drawn.
FIRST: Final = (("recent-first", 0.15), ("depth-first", 0.25), ("depth-first-by-need", 0.08))


def _drawn(best: Cuts | None, turn: int, random: np.random.Generator) -> Cuts:
    """Return how to cut next: as ``FIRST`` says, then near the ``best``."""
    if best is None or turn < len(FIRST):
        return Cuts(*FIRST[turn % len(FIRST)], int(random.integers(2**31)))
    base = str(random.choice(list(belady.ORDERS))) if random.random() < 0.3 else best.base
    slack = float(random.uniform(0.05, 0.3)) if random.random() < 0.3 else best.slack
    return Cuts(base, slack, int(random.integers(2**31)))


def plan(cdag: Cdag, budget: int, *, search: Search, incumbent: Plan, goal: int = 0) -> Plan:
    """Return the best schedule of orders by bisection until ``search`` expires, never worse than ``incumbent``.

    It ends early at a traffic of ``goal`` (a lower bound), after some orders without a better one, and after the first
    one if that comes nowhere near ``incumbent``. The same seed gives the same plan when it ends by itself.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> butterfly = fft(n=64, word=1)
    >>> first = belady.plan(butterfly, 12)
    >>> found = plan(butterfly, 12, search=Search(effort=1.0), incumbent=first)
    >>> found.traffic(butterfly.weights) < first.traffic(butterfly.weights)
    True
    """
    best, traffic = incumbent, incumbent.traffic(cdag.weights)
    goal = max(goal, cdag.algorithmic_bound())
    search = search.part(1.0, unlimited=tuning.AUTO_EFFORT)
    cost = (cdag.n + cdag.edges) / tuning.BISECTION_RUN_RATE
    if cdag.n + cdag.edges > tuning.LARGEST_ANNEALED or search.left() < cost:
        return best
    bisector, random = Bisector(cdag), search.generator()
    leading: tuple[int, Cuts] | None = None
    turn = idle = 0
    while idle < tuning.BISECTION_PATIENCE and traffic > goal and search.left() >= cost:
        before = search.spent()
        cuts = _drawn(None if leading is None else leading[1], turn, random)
        order = bisector.order(cuts, search)
        if order is None:
            break
        found = belady.plan(cdag, budget, order, search=search)
        moved = found.traffic(cdag.weights)
        turn, idle = turn + 1, idle + 1
        if leading is None or moved < leading[0]:
            leading, idle = (moved, cuts), 0
        if moved < traffic:
            best, traffic = found, moved
        search.keep(traffic, best)
        search.report(best=traffic, bound=goal, what="bisection")
        if leading[0] > tuning.BISECTION_NEAR * traffic:
            break
        cost = max(cost, search.spent() - before)
    return best
