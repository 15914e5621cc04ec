"""Sums of bounds of parts: small parts searched exhaustively, larger ones by wavefronts, packed by a linear program.

Parts grow from the prices of the linear program (column generation): a part whose bound exceeds what its nodes are
worth raises the sum. On large graphs the parts to begin with, of several kinds, are found beside one another. Then
pools grow beside one another, each from all of those and from a seed of its own, and their parts are packed together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks
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
    keep: Callable[[Sequence[tuple[Piece, Fraction]]], None] = lambda _: None,
) -> Found:
    """Return the best sum of bounds of parts found in the time given; it ends early at ``goal``.

    ``known`` are pieces to begin with, ``keep`` takes better sums on the way.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> excess(mvm(m=2, n=3, word=1), 3, search=Search(time_limit=600)).excess
    9
    """
    heaviest = int((cdag.weights + cdag.needs()).sum())  # what parts of it may weigh
    if cdag.n > tuning.MOST_FOR_PARTS or heaviest > LARGEST_TOTAL // tuning.LARGEST_PART:
        return Found(0, ())
    search = search.part(1.0, unlimited=tuning.PARTS_EFFORT)
    game = Game(replace(cdag, origin=None), budget, recompute, goal)
    pool = Pool(game, search, keep=keep)
    if pool.is_searched_whole():
        return pool.found()
    pool.know(known)
    if cdag.n <= tuning.MOST_FOR_EXACT:
        pool.begin()
        pool.grow()
        return pool.found()
    begun = [_Task(game, number, len(_BEGINNINGS), kind) for number, kind in enumerate(_BEGINNINGS)]
    pool.take(begun, search.part(tuning.BEGINNING_SHARE), tuning.BEGINNINGS)
    if not search.expired() and not pool.is_enough():
        pieces, pools = tuple(pool.pieces()), min(tuning.POOLS, 1 + int(search.left() / tuning.POOL_EFFORT))
        pool.take([_Task(game, number, pools, known=pieces) for number in range(pools)], search)
    return pool.found()


@dataclass(frozen=True, slots=True)
class Game:
    """A graph, the budget, whether values may be computed again, and a sum of bounds that is enough."""

    cdag: Cdag
    budget: int
    recompute: bool
    goal: int | None


#: Parts to begin with, by what finds them: cones, wavefronts of the whole, windows of odd and of even heights.
_BEGINNINGS = ("cones", "whole", "odd", "even")


@dataclass(frozen=True, slots=True)
class _Task:
    """Parts to begin with of a kind, or a pool that is to grow from those known, one of so many tasks."""

    game: Game
    number: int
    count: int
    beginning: str | None = None
    known: tuple[Piece, ...] = ()


def _filled(task: _Task, search: Search) -> list[Piece]:
    """Return the parts that a task adds to those it knows."""
    pool = Pool(task.game, search, task.number, task.count)
    pool.know(task.known)
    if task.beginning is None:
        pool.grow(tuning.PARTS_PATIENCE_EFFORT / task.count)
    else:
        pool.begin(task.beginning)
    known = {frozenset(piece.nodes.tolist()) for piece in task.known}
    return [piece for piece in pool.pieces() if frozenset(piece.nodes.tolist()) not in known]


class Pool:
    """The parts tried so far, and the linear program over them."""

    def __init__(
        self,
        game: Game,
        search: Search,
        number: int = 0,
        scale: float = 1,
        keep: Callable[[Sequence[tuple[Piece, Fraction]]], None] = lambda _: None,
    ) -> None:
        self._keep = keep
        self._cdag, self._budget, self._recompute, self._goal = game.cdag, game.budget, game.recompute, game.goal
        self._search = search
        self._scale = scale  # of the shares that parts take
        self._rng = np.random.default_rng((search.seed, number) if number else search.seed)
        self._largest = tuning.LARGEST_RECOMPUTED_PART if self._recompute else tuning.LARGEST_PART
        self._values: dict[frozenset[int], int] = {}
        self._shown: dict[frozenset[int], Piece] = {}
        self._alike: dict[tuple[bytes, ...], tuple[int, wavefront.Front | None]] = {}
        self._unit = int(np.gcd.reduce(self._cdag.weights))
        self._sources, self._targets = self._cdag.edge_arrays()
        self._near: dict[int, list[int]] = {}
        self._cone: dict[tuple[int, bool], frozenset[int]] = {}
        self._best: Packing | None = None  # of those that growing parts were packed in

    def know(self, pieces: Iterable[Piece]) -> None:
        """Take what is known of some nodes."""
        for piece in pieces:
            key = frozenset(piece.nodes.tolist())
            if piece.excess > self._values.get(key, 0):
                self._values[key] = piece.excess
                self._shown[key] = piece

    def take(self, tasks: Sequence[_Task], search: Search, weights: Sequence[float] | None = None) -> None:
        """Take the parts that tasks find, in their order."""
        answers = dict(run_tasks(_filled, tasks, search=search, weights=weights))
        for number in sorted(answers):
            self.know(answers[number])

    def pieces(self) -> list[Piece]:
        """Return the parts that prove something."""
        return [self._shown.get(part) or Piece(np.array(sorted(part)), self._values[part]) for part in self._chosen()]

    def is_enough(self) -> bool:
        """True if the parts so far reach the goal."""
        packing = self._packing()
        self._keep(self._pieces_of(packing))
        total = packing.total
        self._search.report(bound=self._cdag.algorithmic_bound() + total, what="parts")
        return self._goal is not None and total >= self._goal

    def begin(self, kind: str | None = None) -> None:
        """Find parts to begin with, all or those of a kind."""
        n = self._cdag.n
        if kind in (None, "whole") and not self._recompute and n <= tuning.LARGEST_CUT_PART:
            front = wavefront.turning(self._cdag, self._budget, search=self._part(tuning.TURNING_SHARE))
            self.know([front.piece(self._cdag, np.arange(n))])
        if kind in (None, "odd", "even"):
            self._add_windows({None: (0, 1), "odd": (1,), "even": (0,)}[kind])
        if kind in (None, "cones") and n <= tuning.MOST_CONED and not self._recompute:
            for number in range(tuning.CONES):
                self._value(self._cones(up=number % 3 == 2, most=tuning.LARGEST_CONE), tuning.CONE_SHARE)

    def grow(self, patience: float = tuning.PARTS_PATIENCE_EFFORT) -> None:
        """Grow parts until the time is up, the goal is reached, or nothing has come for long."""
        packing = best = self._packing()
        size = tuning.FIRST_PART
        improved = self._search.spent()
        while not self._search.expired() and (self._goal is None or best.total < self._goal):
            self._grow_batch(packing, size)
            packing = self._packing()
            if packing.total > best.total:
                best, improved = packing, self._search.spent()
                self._keep(self._pieces_of(best))
                self._search.report(bound=self._cdag.algorithmic_bound() + best.total, what="parts")
            else:
                size = min(self._largest, size + 2)
            if self._search.spent() > tuning.PARTS_PATIENCE * improved + patience:
                break
        self._best = best

    def found(self) -> Found:
        """Return the best sum."""
        packing, best = self._packing(), self._best
        if best is not None and best.total > packing.total:
            packing = best
        parts = tuple((len(part), self._values[part], share / packing.whole) for part, share in self._shares(packing))
        return Found(packing.total, parts, self._pieces_of(packing))

    def _shares(self, packing: Packing) -> list[tuple[frozenset[int], int]]:
        # Parts that came later have no shares.
        return [(part, share) for part, share in zip(self._chosen(), packing.shares, strict=False) if share]

    def _pieces_of(self, packing: Packing) -> tuple[tuple[Piece, Fraction], ...]:
        shares = ((self._shown.get(part), Fraction(share, packing.whole)) for part, share in self._shares(packing))
        return tuple((piece, share) for piece, share in shares if piece is not None)

    def is_searched_whole(self) -> bool:
        """True if the whole graph is small, and searched now: no sum of parts exceeds its optimum."""
        least = tuning.SURE_RECOMPUTED_PART if self._recompute else self._largest
        return self._cdag.n <= least and self._is_whole_searched()

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

    def _part(self, share: float) -> Search:
        """Return the search of a part, with its share of what is left."""
        return self._search.part(min(1.0, self._scale * share))

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
            self._alike[key] = parts.excess_recomputing(game, self._budget, search=self._part(share)), None
        return self._alike[key][0]

    def _bounded(self, part: Cdag, size: int, share: float) -> tuple[int, wavefront.Front | None]:
        found = parts.excess(part, self._budget, search=self._part(share)) if size <= tuning.LARGEST_CONE else None
        if found is not None:
            return found, None
        front = wavefront.turning(part, self._budget, search=self._part(tuning.CUT_SHARE))
        return front.excess, front

    def _add_windows(self, parities: Sequence[int]) -> None:
        """Add the connected pieces of a few consecutive layers, counted from the inputs or from the outputs."""
        most = self._search.spent() + min(1.0, self._scale * tuning.WINDOW_SHARE) * self._search.left()
        for pieces in self._windows(parities):
            for nodes in pieces:
                if self._search.spent() >= most or self._search.expired():
                    return
                self._value(nodes)

    def _windows(self, parities: Sequence[int]) -> Iterator[list[frozenset[int]]]:
        cdag = self._cdag
        depth = layers(cdag.children, cdag.order)
        above = layers(cdag.parents, cdag.order[::-1])
        keys = [depth, int(above.max()) - above]
        for height in range(1, int(depth.max()) + 1):
            if height % 2 not in parities:
                continue
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
        most = self._largest if self._recompute else tuning.LARGEST_CUT_PART
        sizes = np.bincount(label)
        fits = (sizes >= tuning.SMALLEST_PART) & (sizes <= most)
        nodes = np.flatnonzero(fits[label])
        nodes = nodes[np.argsort(label[nodes], kind="stable")]
        groups = np.split(nodes, np.cumsum(sizes[fits])[:-1])
        return [frozenset(group.tolist()) for group in groups if len(group)]

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
