"""The wavefront bound without recomputation: minimum convex cuts, summed over parts (Elango et al. 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import layers
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds import wavefront_kernels as kernels
from shorthaul.pebble.bounds.piece import Piece, names
from shorthaul.pebble.model import Cdag, IntArray

_NOTHING = np.empty(0, dtype=np.int64)
#: Certificates are checked with flows of 32 bits.
_MOST_SHOWN_WEIGHT = 2**29


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and pieces with parts of it, which may overlap.

    It is the sum of the ``disjoint`` ones.
    """

    excess: int
    pieces: tuple[Piece, ...]
    disjoint: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Front:
    """A wavefront: what it proves of a part, ``at`` one node or at the ``first`` or the ``last`` of a group.

    A live value is charged its weight, or, with ``times`` 2, twice that if it is no input.
    """

    excess: int = 0
    group: IntArray = field(default_factory=lambda: _NOTHING)
    turn: str = "at"
    times: int = 1

    def piece(self, cdag: Cdag, part: IntArray) -> Piece:
        """Return what is proven of a part; flows that take long to find again are not shown."""
        work = len(self.group) * (cdag.n + cdag.edges)
        is_shown = 2 * int(cdag.weights.sum()) < _MOST_SHOWN_WEIGHT and work <= tuning.MOST_SHOWN_FLOWS
        shown = partial(self._shown, part) if is_shown else None
        return Piece(part, self.excess, shown, len(part) + len(self.group))

    def _shown(self, part: IntArray, cdag: Cdag) -> list[dict[str, Any]]:
        nodes = None if len(part) == cdag.n else names(cdag, part)
        turn = {"of": names(cdag, self.group), "turn": self.turn, "times": self.times}
        return [{"kind": "wavefront", **turn, "nodes": nodes}]


def excess(cdag: Cdag, budget: int, *, search: Search) -> Found:
    """Return a lower bound on the traffic beyond inputs and outputs of any schedule that computes each value once.

    While a node is computed, whatever is computed before it and read after it is in the room that is left, or is
    charged: an input its load once more, any other value a store and a load. The least charge over all sets that can
    have been computed by then is a minimum cut. Charges of the values of disjoint parts add up.
    """
    if cdag.n > tuning.MOST_FOR_WAVEFRONTS:
        return Found(0, ())
    if cdag.n > tuning.MOST_PARTED:
        sample = _sampled(cdag, budget, search)
        piece = (sample.piece(cdag, np.arange(cdag.n)),) if sample.excess else ()
        return Found(sample.excess, piece, piece)
    found = Found(0, ())
    pieces: list[Piece] = []
    ends = np.unique(np.linspace(0, cdag.n, min(tuning.PIECES, cdag.n) + 1).astype(np.int64)).tolist()
    for order in _orders(cdag):
        fronts = _runs(cdag, budget, order, ends, search)
        runs = {
            (start, stop): front.piece(cdag, order[ends[start] : ends[stop]]) for (start, stop), front in fronts.items()
        }
        best = _parted(ends, runs)
        excess = sum(piece.excess for piece in best)
        found = max(found, Found(excess, (), best), key=lambda one: one.excess)
        pieces += [piece for piece in runs.values() if piece.excess > 0]
    return replace(found, pieces=tuple(pieces))


def turning(cdag: Cdag, budget: int, *, search: Search) -> Front:
    """Return a lower bound on the traffic beyond inputs and outputs from moments that every schedule has.

    Of any group of nodes some node is the first to be computed, and some node is the last. The wavefront at it, while
    no other of the group is computed, or all others are, is a minimum cut; the least over all nodes of the group
    holds. Groups are the outputs, the nodes that read inputs only, and on small graphs every layer. 0 if the time
    runs out.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> turning(fft(n=16, word=1), 6, search=Search()).excess
    22
    """
    best, cut, rooms = Front(), _wavefront(cdag, np.arange(cdag.n)), (budget - cdag.needs()).tolist()
    for group in _groups(cdag):
        for is_first in (True, False):
            for times in (2, 1):
                least = _least_among(cut, group, is_first, times, rooms, best.excess, search)
                if least > best.excess:
                    best = Front(least, group, "first" if is_first else "last", times)
    return best


def _groups(cdag: Cdag) -> Iterator[IntArray]:
    given = cdag.is_input()
    sources, targets = cdag.edge_arrays()
    entries = ~given
    entries[targets[~given[sources]]] = False
    yield cdag.outputs()
    yield np.flatnonzero(entries)
    if cdag.n > tuning.MOST_PARTED:
        return
    for depth in (layers(cdag.children, cdag.order), layers(cdag.parents, cdag.order[::-1])):
        for layer in range(1, int(depth.max())):
            yield np.flatnonzero((depth == layer) & ~given)


def _least_among(
    cut: kernels.Wavefront, group: IntArray, is_first: bool, times: int, rooms: list[int], beaten: int, search: Search
) -> int:  # fmt: skip
    """Return the least excess over the nodes that may be first or last of a group; 0 if it does not exceed another."""
    late, early = (group, _NOTHING) if is_first else (_NOTHING, group)
    least = 2**59 if len(group) else 0
    for node in group.tolist():
        if search.expired():
            return 0
        kernels.begin(cut, node, times, late, early)
        least = min(least, _excess(cut, times * rooms[node], least, search))
        if least <= beaten:
            return 0
    return least


def _wavefront(cdag: Cdag, part: IntArray) -> kernels.Wavefront:
    return kernels.Wavefront(
        part, cdag.weights, cdag.given.view(np.uint8), cdag.parents.starts, cdag.parents.targets
    )  # fmt: skip


def _excess(cut: kernels.Wavefront, saved: int, enough: int, search: Search) -> int:
    """Return the excess that a wavefront proves, or ``enough`` if it is more; 0 if time is up.

    While its node is computed, the room that is left (budget less the need) holds some of what is live. A live value
    elsewhere is charged its weight if it is an input, twice that if not; so the room ``saved`` at most twice its size,
    or at most its size where all values are charged once.
    """
    search.spend(cut.arcs / tuning.FLOW_RATE + tuning.WAVEFRONT_EFFORT)
    while kernels.grow(cut, enough + saved):
        search.spend(cut.arcs / tuning.FLOW_RATE)
        if search.expired():
            return 0
    return min(int(cut.flow) - saved, enough)


def _best(cdag: Cdag, part: IntArray, chosen: IntArray, rooms: list[int], search: Search) -> Front:
    """Return the wavefront at a node of ``chosen`` that proves most within ``part``."""
    cut, best = _wavefront(cdag, part), Front()
    for node in chosen[~cdag.given[chosen]].tolist():
        for times in (1, 2):
            kernels.begin(cut, node, times, _NOTHING, _NOTHING)
            found = _excess(cut, times * rooms[node], 2**59, search)
            if found > best.excess:
                best = Front(found, np.array([node]), "at", times)
            if search.expired():
                return best
    return best


def _sampled(cdag: Cdag, budget: int, search: Search) -> Front:
    everything = np.arange(cdag.n, dtype=np.int64)
    nodes = np.flatnonzero(~cdag.is_input())
    chosen = search.generator().permutation(nodes)[: tuning.WAVEFRONTS]
    return _best(cdag, everything, chosen, (budget - cdag.needs()).tolist(), search)


def _orders(cdag: Cdag) -> list[IntArray]:
    """Return two orders to cut into parts: as given and by layers, inputs just before what reads them first."""
    depth = layers(cdag.children, cdag.order)
    position = np.empty(cdag.n, dtype=np.int64)
    position[cdag.order] = np.arange(cdag.n)
    orders = []
    for key in (position, depth * cdag.n + position):
        first = key.astype(np.float64)
        for node in cdag.inputs().tolist():
            first[node] = key[cdag.children.neighbours(node)].min() - 0.5
        orders.append(np.argsort(first, kind="stable"))
    return orders


def _runs(cdag: Cdag, budget: int, order: IntArray, ends: list[int], search: Search) -> dict[tuple[int, int], Front]:
    """Return the wavefronts of all runs of the pieces of ``order`` that end at ``ends``, by (first piece, last + 1)."""
    values, rooms = {}, (budget - cdag.needs()).tolist()
    for stop in range(1, len(ends)):
        for start in range(stop):
            if search.expired():
                break
            part = order[ends[start] : ends[stop]]
            values[start, stop] = _best(cdag, part, part, rooms, search)
    return values


def _parted(ends: list[int], runs: dict[tuple[int, int], Piece]) -> tuple[Piece, ...]:
    """Return the runs of pieces of an order, each beyond the one before, whose bounds add up to most."""
    best: list[tuple[int, tuple[Piece, ...]]] = [(0, ())] * len(ends)
    for stop in range(1, len(ends)):
        best[stop] = best[stop - 1]
        for start in range(stop):
            run = runs.get((start, stop))
            if run is not None and best[start][0] + run.excess > best[stop][0]:
                best[stop] = best[start][0] + run.excess, (*best[start][1], run)
    return best[-1][1]
