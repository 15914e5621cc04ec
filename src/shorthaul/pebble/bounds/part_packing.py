"""Sums of bounds of parts: small parts searched exhaustively, larger ones by wavefronts, packed by a linear program.

Parts grow from the prices of the linear program (column generation): a part whose bound exceeds what its nodes are
worth raises the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import Csr, component_of, layers
from shorthaul.pebble.bounds import parts, wavefront
from shorthaul.pebble.bounds.packing_lp import FloatArray, Packing, packed
from shorthaul.pebble.model import LARGEST_TOTAL, BoolArray, Cdag, IntArray
from shorthaul.pebble.states import recomputation

#: Graphs above this many nodes are not cut into parts.
MOST_NODES = 20_000
#: Parts of up to this many nodes are searched exhaustively.
_LARGEST = 40
_LARGEST_RECOMPUTING = 36
#: Up to this many nodes the search with recomputation is sure to end.
_SURE_RECOMPUTING = 12
_SMALLEST = 3
#: Larger parts, up to this many nodes, are bounded by wavefronts.
_LARGEST_CUT = 2500
_FIRST_SIZE = 10
#: How often a part starts from the cones of outputs or inputs, on graphs of up to so many nodes.
_CONE_SHARE = 0.1
_MOST_CONED = 1000
#: Cones tried before parts grow, and their largest size.
_CONES = 6
_LARGEST_CONE = 48
_CONE_TIME = 0.12
#: Parts grown between two linear programs.
_BATCH = 20
#: The search ends when it took this many times as long as to the last improvement, and so many seconds more.
_PATIENCE = 3.0
_PATIENCE_S = 1.5
#: What one part may take of the time given.
_SHARE = 0.04
_WHOLE_SHARE = 0.15
_CUT_SHARE = 0.15
_TURNING_SHARE = 0.3
_WINDOW_SHARE = 0.4
#: How long the search goes on without a time limit, in seconds.
_ENDLESS_S = 10.0


@dataclass(frozen=True, slots=True)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and the parts (nodes, bound, share) it is the sum of."""

    excess: int
    parts: tuple[tuple[int, int, float], ...]


def excess(
    cdag: Cdag,
    budget: int,
    *,
    search: Search,
    recompute: bool = False,
    goal: int | None = None,
    known: Sequence[tuple[IntArray, int]] = (),
) -> Found:
    """Return the best sum of bounds of parts found in the time given; it ends early at ``goal``.

    ``known`` are sets of nodes with bounds on what their loads and stores beyond inputs and outputs come to.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> excess(mvm(m=2, n=3, word=1), 3, search=Search(time_limit_s=600)).excess
    9
    """
    if cdag.n > MOST_NODES or int(cdag.weights.sum()) > LARGEST_TOTAL // _LARGEST:
        return Found(0, ())
    return Pool(cdag, budget, recompute, search.part(1.0, endless_s=_ENDLESS_S)).filled(goal, known)


class Pool:
    """The parts tried so far, and the linear program over them."""

    def __init__(self, cdag: Cdag, budget: int, recompute: bool, search: Search) -> None:
        self._cdag, self._budget, self._recompute, self._search = cdag, budget, recompute, search
        self._rng = search.generator()
        self._largest = _LARGEST_RECOMPUTING if recompute else _LARGEST
        self._values: dict[frozenset[int], int] = {}
        self._alike: dict[tuple[bytes, ...], int] = {}
        self._unit = int(np.gcd.reduce(cdag.weights))
        sources, targets = cdag.edge_arrays()
        self._sources, self._targets = sources, targets
        self._near: dict[int, list[int]] = {}
        self._cone: dict[tuple[int, bool], frozenset[int]] = {}

    def filled(self, goal: int | None, known: Sequence[tuple[IntArray, int]]) -> Found:
        """Return the best sum when the time is up, the goal is reached, or nothing has come for long."""
        n = self._cdag.n
        is_small = n <= (_SURE_RECOMPUTING if self._recompute else self._largest)
        if is_small and self._is_whole_searched():
            return self._found(self._packing())
        for nodes, value in known:
            key = frozenset(nodes.tolist())
            self._values[key] = max(value, self._values.get(key, 0))
        if not self._recompute and n <= _LARGEST_CUT:
            everything = frozenset(range(n))
            found = wavefront.turning(self._cdag, self._budget, search=self._search.part(_TURNING_SHARE))
            self._values[everything] = max(found, self._values.get(everything, 0))
        self._add_windows()
        if n <= _MOST_CONED and not self._recompute:
            for number in range(_CONES):
                self._value(self._cones(up=number % 3 == 2, most=_LARGEST_CONE), _CONE_TIME)
        packing = best = self._packing()
        size = _FIRST_SIZE
        improved_s = self._search.elapsed_s()
        while not self._search.expired() and (goal is None or best.total < goal):
            self._grow_batch(packing, size)
            packing = self._packing()
            if packing.total > best.total:
                best, improved_s = packing, self._search.elapsed_s()
                self._search.report(bound=self._cdag.algorithmic_bound() + best.total, what="parts")
            else:
                size = min(self._largest, size + 2)
            if self._search.elapsed_s() > _PATIENCE * improved_s + _PATIENCE_S:
                break
        return self._found(self._packing())

    def _is_whole_searched(self) -> bool:
        """Search the whole graph; True if that told its optimum, which no sum of parts exceeds."""
        limited = self._search.part(_WHOLE_SHARE)
        if self._recompute:
            game = recomputation.whole(self._cdag)
            found: int | None = parts.excess_recomputing(game, self._budget, search=limited)
        else:
            found = parts.excess(self._cdag, self._budget, search=limited)
        if found is not None:
            self._values[frozenset(range(self._cdag.n))] = found
        return found is not None

    def _found(self, packing: Packing) -> Found:
        chosen = self._chosen()
        shares = zip(chosen, packing.shares, strict=True)
        return Found(
            packing.total,
            tuple((len(part), self._values[part], share / packing.whole) for part, share in shares if share),
        )

    def _chosen(self) -> list[frozenset[int]]:
        return [part for part, value in self._values.items() if value > 0]

    def _packing(self) -> Packing:
        chosen = self._chosen()
        members = [sorted(part) for part in chosen]
        return packed(self._cdag.n, members, [self._values[part] for part in chosen], unit=self._unit)

    def _value(self, nodes: frozenset[int], share: float = _SHARE) -> int:
        """Return the bound of a part."""
        known = self._values.get(nodes)
        if known is not None:
            return known
        if self._recompute:
            value = self._recomputing(nodes, share)
        else:
            part = parts.restricted(self._cdag, nodes)
            if part is None:
                return 0
            key = _key(part)
            if key not in self._alike:
                self._alike[key] = self._bounded(part, len(nodes), share)
            value = self._alike[key]
        self._values[nodes] = value
        return value

    def _recomputing(self, nodes: frozenset[int], share: float) -> int:
        game = parts.recomputing(self._cdag, nodes)
        if game is None:
            return 0
        key = (*_key(game.cdag), game.given.tobytes(), game.outside.tobytes())
        if key not in self._alike:
            self._alike[key] = parts.excess_recomputing(game, self._budget, search=self._search.part(share))
        return self._alike[key]

    def _bounded(self, part: Cdag, size: int, share: float) -> int:
        found = parts.excess(part, self._budget, search=self._search.part(share)) if size <= _LARGEST_CONE else None
        if found is not None:
            return found
        return wavefront.turning(part, self._budget, search=self._search.part(_CUT_SHARE))

    def _add_windows(self) -> None:
        """Add the connected pieces of a few consecutive layers, counted from the inputs or from the outputs."""
        limited = self._search.part(_WINDOW_SHARE)
        for nodes in self._windows():
            if limited.expired():
                return
            self._value(nodes)

    def _windows(self) -> Iterator[frozenset[int]]:
        cdag = self._cdag
        depth = layers(cdag.children, cdag.order)
        above = layers(cdag.parents, cdag.order[::-1])
        keys = [depth, int(above.max()) - above]
        for height in range(1, int(depth.max()) + 1):
            fits = False
            for key in keys:
                for start in range(int(key.max()) - height + 1):
                    for piece in self._pieces((key >= start) & (key <= start + height)):
                        fits = True
                        yield piece
            if not fits:
                return

    def _pieces(self, inside: BoolArray) -> list[frozenset[int]]:
        """Return the connected components of the graph on some nodes that are neither too small nor too large."""
        edges = inside[self._sources] & inside[self._targets]
        sources, targets = self._sources[edges], self._targets[edges]
        label = component_of(self._cdag.n, sources, targets)
        order = np.argsort(label, kind="stable")
        most = self._largest if self._recompute else _LARGEST_CUT
        groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
        return [frozenset(group.tolist()) for group in groups if _SMALLEST <= len(group) <= most]

    def _grow_batch(self, packing: Packing, size: int) -> None:
        """Try parts that the prices make promising, and keep the ones that cost least for what they prove."""
        support = [part for part, share in zip(self._chosen(), packing.shares, strict=True) if share]
        for _ in range(_BATCH):
            if self._search.expired():
                return
            start = self._start(support)
            if len(start) > self._largest:
                continue
            least = max(len(start) + 1, int(self._rng.integers(max(_SMALLEST, size // 2), size + 1)))
            nodes = self._grown(start, min(self._largest, least), packing.prices)
            value = self._value(nodes)
            if value and value > sum(packing.prices[v] for v in nodes) - 1e-6:
                self._trim(nodes, value, packing.prices)

    def _start(self, support: list[frozenset[int]]) -> set[int]:
        """Return a part of the packing, two of them that touch, a single node, or what a few ends have in common."""
        if self._rng.random() < _CONE_SHARE and self._cdag.n <= _MOST_CONED:
            return set(self._cones(up=bool(self._rng.random() < 0.3), most=self._largest))
        if not support or self._rng.random() < 0.5:
            return {int(self._rng.integers(self._cdag.n))}
        first = support[int(self._rng.integers(len(support)))]
        if self._rng.random() < 0.4 or len(first) > self._largest:
            return set(first)
        around = first.union(*(self._neighbours(v) for v in first))
        touching = [part for part in support if part != first and not part.isdisjoint(around)]
        return set(first.union(touching[int(self._rng.integers(len(touching)))])) if touching else set(first)

    def _cones(self, *, up: bool, most: int) -> frozenset[int]:
        """Return what some outputs are computed from, much of it shared; going up, what is computed from inputs."""
        cdag = self._cdag
        ends = (cdag.inputs() if up else cdag.outputs()).tolist()
        links = cdag.children if up else cdag.parents
        chosen = self._reached(int(ends[int(self._rng.integers(len(ends)))]), links)
        while True:
            others = [self._reached(end, links) for end in ends if end not in chosen]
            grown = [chosen | other for other in others if len(chosen | other) <= most]
            if not grown:
                return chosen
            sizes = np.array([len(nodes) for nodes in grown])
            least = np.flatnonzero(sizes == sizes.min())
            chosen = grown[int(least[int(self._rng.integers(len(least)))])]

    def _reached(self, end: int, links: Csr) -> frozenset[int]:
        key = (end, links is self._cdag.children)
        if key not in self._cone:
            found, waiting = {end}, [end]
            while waiting and len(found) <= _LARGEST_CONE:
                for other in links.neighbours(waiting.pop()).tolist():
                    if other not in found:
                        found.add(other)
                        waiting.append(other)
            self._cone[key] = frozenset(found)
        return self._cone[key]

    def _neighbours(self, node: int) -> list[int]:
        found = self._near.get(node)
        if found is None:
            cdag = self._cdag
            found = self._near[node] = [
                *cdag.parents.neighbours(node).tolist(),
                *cdag.children.neighbours(node).tolist(),
            ]
        return found

    def _grown(self, nodes: set[int], size: int, prices: FloatArray) -> frozenset[int]:
        """Return the part with neighbours added: many edges into it, a low price, and chance."""
        links: dict[int, float] = {}
        for v in nodes:
            for u in self._neighbours(v):
                links[u] = links.get(u, 0.0) + 1.0
        while len(nodes) < size:
            open_nodes = [u for u in links if u not in nodes]
            if not open_nodes:
                break
            chance = self._rng.random(len(open_nodes)).tolist()
            scores = [links[u] - 3.0 * prices[u] / self._unit + chance[i] for i, u in enumerate(open_nodes)]
            added = open_nodes[int(np.argmax(scores))]
            nodes.add(added)
            for u in self._neighbours(added):
                links[u] = links.get(u, 0.0) + 1.0
        return frozenset(nodes)

    def _trim(self, nodes: frozenset[int], value: int, prices: FloatArray) -> None:
        """Add the part without the nodes that its bound does not need, dearest first."""
        for v in sorted(nodes, key=lambda v: (-prices[v], v)):
            if self._search.expired():
                return
            smaller = nodes - {v}
            if self._value(smaller) == value:
                nodes = smaller


def _key(part: Cdag) -> tuple[bytes, ...]:
    """Return what parts that are alike have in common."""
    return part.weights.tobytes(), part.parents.starts.tobytes(), part.parents.targets.tobytes()
