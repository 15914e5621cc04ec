"""Sums of bounds of parts: small parts searched exhaustively, larger ones by wavefronts, packed by a linear program.

Parts grow from the prices of the linear program (column generation): a part whose bound exceeds what its nodes are
worth raises the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import Csr, component_of, layers
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds import parts, wavefront
from shorthaul.pebble.bounds.packing_lp import FloatArray, Packing, packed
from shorthaul.pebble.bounds.piece import Piece, exhausted
from shorthaul.pebble.model import LARGEST_TOTAL, BoolArray, Cdag
from shorthaul.pebble.states import recomputation


@dataclass(frozen=True, slots=True)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and the parts (nodes, bound, share) it is the sum of.

    ``pieces`` are those of them that have a certificate, with their shares.
    """

    excess: int
    parts: tuple[tuple[int, int, float], ...]
    pieces: tuple[tuple[Piece, Fraction], ...] = ()


def excess(
    cdag: Cdag,
    budget: int,
    *,
    search: Search,
    recompute: bool = False,
    goal: int | None = None,
    known: Sequence[Piece] = (),
) -> Found:
    """Return the best sum of bounds of parts found in the time given; it ends early at ``goal``.

    ``known`` are pieces to begin with.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> excess(mvm(m=2, n=3, word=1), 3, search=Search(time_limit=600)).excess
    9
    """
    if cdag.n > tuning.MOST_FOR_PARTS or int(cdag.weights.sum()) > LARGEST_TOTAL // tuning.LARGEST_PART:
        return Found(0, ())
    return Pool(cdag, budget, recompute, search.part(1.0, unlimited=tuning.PARTS_EFFORT)).filled(goal, known)


class Pool:
    """The parts tried so far, and the linear program over them."""

    def __init__(self, cdag: Cdag, budget: int, recompute: bool, search: Search) -> None:
        self._cdag, self._budget, self._recompute, self._search = cdag, budget, recompute, search
        self._rng = search.generator()
        self._largest = tuning.LARGEST_RECOMPUTED_PART if recompute else tuning.LARGEST_PART
        self._values: dict[frozenset[int], int] = {}
        self._shown: dict[frozenset[int], Piece] = {}
        self._alike: dict[tuple[bytes, ...], tuple[int, wavefront.Front | None]] = {}
        self._unit = int(np.gcd.reduce(cdag.weights))
        sources, targets = cdag.edge_arrays()
        self._sources, self._targets = sources, targets
        self._near: dict[int, list[int]] = {}
        self._cone: dict[tuple[int, bool], frozenset[int]] = {}

    def filled(self, goal: int | None, known: Sequence[Piece]) -> Found:
        """Return the best sum when the time is up, the goal is reached, or nothing has come for long."""
        n = self._cdag.n
        is_small = n <= (tuning.SURE_RECOMPUTED_PART if self._recompute else self._largest)
        if is_small and self._is_whole_searched():
            return self._found(self._packing())
        for piece in known:
            self._know(piece)
        if not self._recompute and n <= tuning.LARGEST_CUT_PART:
            front = wavefront.turning(self._cdag, self._budget, search=self._search.part(tuning.TURNING_SHARE))
            self._know(front.piece(self._cdag, np.arange(n)))
        self._add_windows()
        if n <= tuning.MOST_CONED and not self._recompute:
            for number in range(tuning.CONES):
                self._value(self._cones(up=number % 3 == 2, most=tuning.LARGEST_CONE), tuning.CONE_SHARE)
        packing = best = self._packing()
        size = tuning.FIRST_PART
        improved = self._search.spent()
        while not self._search.expired() and (goal is None or best.total < goal):
            self._grow_batch(packing, size)
            packing = self._packing()
            if packing.total > best.total:
                best, improved = packing, self._search.spent()
                self._search.report(bound=self._cdag.algorithmic_bound() + best.total, what="parts")
            else:
                size = min(self._largest, size + 2)
            if self._search.spent() > tuning.PARTS_PATIENCE * improved + tuning.PARTS_PATIENCE_EFFORT:
                break
        packing = self._packing()
        return self._found(packing if packing.total >= best.total else best)

    def _know(self, piece: Piece) -> None:
        """Take what is known of some nodes."""
        key = frozenset(piece.nodes.tolist())
        if piece.excess > self._values.get(key, 0):
            self._values[key] = piece.excess
            self._shown[key] = piece

    def _is_whole_searched(self) -> bool:
        """Search the whole graph; True if its optimum is known then, which no sum of parts exceeds."""
        limited = self._search.part(tuning.WHOLE_SHARE)
        if self._recompute:
            game = recomputation.whole(self._cdag)
            found: int | None = parts.excess_recomputing(game, self._budget, search=limited)
        else:
            found = parts.excess(self._cdag, self._budget, search=limited)
        if found is not None:
            everything = frozenset(range(self._cdag.n))
            self._values[everything] = found
            self._show(everything, found)
        return found is not None

    def _show(self, nodes: frozenset[int], moved: int) -> None:
        """Note how a certificate tells what an exhaustive search has found, if it can."""
        if moved and not self._recompute:
            self._shown[nodes] = exhausted(np.array(sorted(nodes), dtype=np.int64), moved)

    def _found(self, packing: Packing) -> Found:
        # Parts that came later have no shares.
        chosen = [(part, share) for part, share in zip(self._chosen(), packing.shares, strict=False) if share]
        return Found(
            packing.total,
            tuple((len(part), self._values[part], share / packing.whole) for part, share in chosen),
            tuple((self._shown[part], Fraction(share, packing.whole)) for part, share in chosen if part in self._shown),
        )

    def _chosen(self) -> list[frozenset[int]]:
        return [part for part, value in self._values.items() if value > 0]

    def _packing(self) -> Packing:
        chosen = self._chosen()
        members = [sorted(part) for part in chosen]
        values = [self._values[part] for part in chosen]
        return packed(self._cdag.n, members, values, unit=self._unit, search=self._search)

    def _value(self, nodes: frozenset[int], share: float = tuning.PART_SHARE) -> int:
        """Return the bound of a part."""
        known = self._values.get(nodes)
        if known is not None:
            return known
        self._search.spend(tuning.GROWING_EFFORT + self._cdag.n / tuning.GROWING_RATE)
        if self._recompute:
            value = self._recomputing(nodes, share)
        else:
            found = parts.restriction(self._cdag, nodes)
            if found is None:
                return 0
            key = _key(found[0])
            if key not in self._alike:
                self._alike[key] = self._bounded(found[0], len(nodes), share)
            value, front = self._alike[key]
            if front is not None:
                front = replace(front, group=found[1][front.group])
                self._shown[nodes] = front.piece(self._cdag, np.array(sorted(nodes), dtype=np.int64))
            else:
                self._show(nodes, value)
        self._values[nodes] = value
        return value

    def _recomputing(self, nodes: frozenset[int], share: float) -> int:
        game = parts.recomputing(self._cdag, nodes)
        if game is None:
            return 0
        key = (*_key(game.cdag), game.outside.tobytes())
        if key not in self._alike:
            self._alike[key] = parts.excess_recomputing(game, self._budget, search=self._search.part(share)), None
        return self._alike[key][0]

    def _bounded(self, part: Cdag, size: int, share: float) -> tuple[int, wavefront.Front | None]:
        found = (
            parts.excess(part, self._budget, search=self._search.part(share)) if size <= tuning.LARGEST_CONE else None
        )
        if found is not None:
            return found, None
        front = wavefront.turning(part, self._budget, search=self._search.part(tuning.CUT_SHARE))
        return front.excess, front

    def _add_windows(self) -> None:
        """Add the connected pieces of a few consecutive layers, counted from the inputs or from the outputs."""
        most = self._search.spent() + tuning.WINDOW_SHARE * self._search.left()
        for pieces in self._windows():
            for nodes in pieces:
                if self._search.spent() >= most or self._search.expired():
                    return
                self._value(nodes)

    def _windows(self) -> Iterator[list[frozenset[int]]]:
        cdag = self._cdag
        depth = layers(cdag.children, cdag.order)
        above = layers(cdag.parents, cdag.order[::-1])
        keys = [depth, int(above.max()) - above]
        for height in range(1, int(depth.max()) + 1):
            fits = False
            for key in keys:
                for start in range(int(key.max()) - height + 1):
                    self._search.spend(tuning.GROWING_EFFORT + (cdag.n + cdag.edges) / tuning.GROWING_RATE)
                    pieces = self._pieces((key >= start) & (key <= start + height))
                    fits = fits or bool(pieces)
                    yield pieces
            if not fits:
                return

    def _pieces(self, inside: BoolArray) -> list[frozenset[int]]:
        """Return the connected components of the graph on some nodes that are neither too small nor too large."""
        edges = inside[self._sources] & inside[self._targets]
        sources, targets = self._sources[edges], self._targets[edges]
        label = component_of(self._cdag.n, sources, targets)
        order = np.argsort(label, kind="stable")
        most = self._largest if self._recompute else tuning.LARGEST_CUT_PART
        groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
        return [frozenset(group.tolist()) for group in groups if tuning.SMALLEST_PART <= len(group) <= most]

    def _grow_batch(self, packing: Packing, size: int) -> None:
        """Try parts that the prices make promising, and keep the ones that cost least for what they prove."""
        support = [part for part, share in zip(self._chosen(), packing.shares, strict=True) if share]
        for _ in range(tuning.PARTS_BATCH):
            if self._search.expired():
                return
            self._search.spend(tuning.GROWING_EFFORT)
            start = self._start(support)
            if len(start) > self._largest:
                continue
            least = max(len(start) + 1, int(self._rng.integers(max(tuning.SMALLEST_PART, size // 2), size + 1)))
            nodes = self._grown(start, min(self._largest, least), packing.prices)
            value = self._value(nodes)
            if value and value > sum(packing.prices[v] for v in nodes) - 1e-6:
                self._trim(nodes, value, packing.prices)

    def _start(self, support: list[frozenset[int]]) -> set[int]:
        """Return a part of the packing, two of them that touch, a single node, or what a few ends have in common."""
        if self._rng.random() < tuning.CONE_CHANCE and self._cdag.n <= tuning.MOST_CONED:
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
        links, ended = (cdag.children, cdag.parents) if up else (cdag.parents, cdag.children)
        ends = np.flatnonzero(ended.degrees() == 0).tolist()
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
            while waiting and len(found) <= tuning.LARGEST_CONE:
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
    parents = part.parents
    return part.weights.tobytes(), part.given.tobytes(), parents.starts.tobytes(), parents.targets.tobytes()
