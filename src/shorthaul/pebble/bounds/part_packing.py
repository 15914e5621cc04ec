"""Sums of bounds of parts: small parts searched exhaustively, larger ones by wavefronts, packed by a linear program.

Windows of layers are the parts to begin with. Then parts grow from the prices of the linear program (column
generation): a part whose bound exceeds what its nodes are worth raises the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import component_of, layers
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
    pool.begin()
    pool.grow()
    return pool.found()


@dataclass(frozen=True, slots=True)
class Game:
    """A graph, the budget, whether values may be computed again, and a sum of bounds that is enough."""

    cdag: Cdag
    budget: int
    recompute: bool
    goal: int | None


class Pool:
    """The parts tried so far, and the linear program over them."""

    def __init__(
        self,
        game: Game,
        search: Search,
        keep: Callable[[Sequence[tuple[Piece, Fraction]]], None] = lambda _: None,
    ) -> None:
        self._keep = keep
        self._cdag, self._budget, self._recompute, self._goal = game.cdag, game.budget, game.recompute, game.goal
        self._search = search
        self._rng = np.random.default_rng(search.seed)
        self._largest = tuning.LARGEST_RECOMPUTED_PART if self._recompute else tuning.LARGEST_PART
        self._values: dict[frozenset[int], int] = {}
        self._shown: dict[frozenset[int], Piece] = {}
        self._alike: dict[tuple[bytes, ...], tuple[int, wavefront.Front | None]] = {}
        self._unit = int(np.gcd.reduce(self._cdag.weights))
        self._sources, self._targets = self._cdag.edge_arrays()
        self._near: dict[int, list[int]] = {}
        self._best: Packing | None = None  # of those that growing parts were packed in

    def know(self, pieces: Iterable[Piece]) -> None:
        """Take what is known of some nodes."""
        for piece in pieces:
            key = frozenset(piece.nodes.tolist())
            if piece.excess > self._values.get(key, 0):
                self._values[key] = piece.excess
                self._shown[key] = piece

    def begin(self) -> None:
        """Find parts to begin with: wavefronts of the whole, and windows."""
        n = self._cdag.n
        if not self._recompute and n <= tuning.LARGEST_CUT_PART:
            front = wavefront.turning(self._cdag, self._budget, search=self._search.part(tuning.TURNING_SHARE))
            self.know([front.piece(self._cdag, np.arange(n))])
        self._add_windows()

    def grow(self) -> None:
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
            if self._search.spent() > tuning.PARTS_PATIENCE * improved + tuning.PARTS_PATIENCE_EFFORT:
                break
        self._best = best

    def found(self) -> Found:
        """Return the best sum."""
        packing, best = self._packing(), self._best
        if best is not None and best.total > packing.total:
            packing = best
        parts = tuple((len(part), self._values[part], share / packing.whole) for part, share in self._shares(packing))
        pieces = self._pieces_of(packing)
        self._keep(pieces)
        return Found(packing.total, parts, pieces)

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

    def _chosen(self) -> list[frozenset[int]]:
        return [part for part, value in self._values.items() if value > 0]

    def _packing(self) -> Packing:
        chosen = self._chosen()
        members = [sorted(part) for part in chosen]
        values = [self._values[part] for part in chosen]
        return packed(self._cdag.n, members, values, unit=self._unit, search=self._search)

    def _value(self, nodes: frozenset[int]) -> int:
        """Return the bound of a part."""
        known = self._values.get(nodes)
        if known is not None:
            return known
        self._search.spend(tuning.GROWING_EFFORT + self._cdag.n / tuning.GROWING_RATE)
        if self._recompute:
            value = self._recomputing(nodes)
        else:
            found = parts.restriction(self._cdag, nodes)
            if found is None:
                return 0
            key = _key(found[0])
            if key not in self._alike:
                self._alike[key] = self._bounded(found[0], len(nodes))
            value, front = self._alike[key]
            if front is not None:
                front = replace(front, group=found[1][front.group])
                self._shown[nodes] = front.piece(self._cdag, np.array(sorted(nodes), dtype=np.int64))
            else:
                self._show(nodes, value)
        self._values[nodes] = value
        return value

    def _recomputing(self, nodes: frozenset[int]) -> int:
        game = parts.recomputing(self._cdag, nodes)
        if game is None:
            return 0
        key = (*_key(game.cdag), game.outside.tobytes())
        if key not in self._alike:
            self._alike[key] = (
                parts.excess_recomputing(game, self._budget, search=self._search.part(tuning.PART_SHARE)),
                None,
            )
        return self._alike[key][0]

    def _bounded(self, part: Cdag, size: int) -> tuple[int, wavefront.Front | None]:
        if size <= tuning.LARGEST_SEARCHED_PART:
            found = parts.excess(part, self._budget, search=self._search.part(tuning.PART_SHARE))
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
        most = self._largest if self._recompute else tuning.LARGEST_CUT_PART
        sizes = np.bincount(label)
        fits = (sizes >= tuning.SMALLEST_PART) & (sizes <= most)
        nodes = np.flatnonzero(fits[label])
        nodes = nodes[np.argsort(label[nodes], kind="stable")]
        groups = np.split(nodes, np.cumsum(sizes[fits])[:-1])
        return [frozenset(group.tolist()) for group in groups if len(group)]

    def _grow_batch(self, packing: Packing, size: int) -> None:
        """Try parts that the prices make promising."""
        support = [part for part, share in zip(self._chosen(), packing.shares, strict=True) if share]
        for _ in range(max(tuning.PARTS_BATCH, self._cdag.n // tuning.NODES_PER_PART)):
            if self._search.expired():
                return
            self._search.spend(tuning.GROWING_EFFORT)
            start = self._start(support)
            if len(start) > self._largest:
                continue
            least = max(len(start) + 1, int(self._rng.integers(max(tuning.SMALLEST_PART, size // 2), size + 1)))
            self._value(self._grown(start, min(self._largest, least), packing.prices))

    def _start(self, support: list[frozenset[int]]) -> set[int]:
        """Return a part of the packing, two of them that touch, or a single node."""
        if not support or self._rng.random() < 0.5:
            return {int(self._rng.integers(self._cdag.n))}
        first = support[int(self._rng.integers(len(support)))]
        if self._rng.random() < 0.4 or len(first) > self._largest:
            return set(first)
        around = first.union(*(self._neighbours(v) for v in first))
        touching = [part for part in support if part != first and not part.isdisjoint(around)]
        return set(first.union(touching[int(self._rng.integers(len(touching)))])) if touching else set(first)

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


def _key(part: Cdag) -> tuple[bytes, ...]:
    """Return what parts that are alike have in common."""
    parents = part.parents
    return part.weights.tobytes(), part.given.tobytes(), parents.starts.tobytes(), parents.targets.tobytes()
