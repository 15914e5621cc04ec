"""The wavefront bound without recomputation: minimum convex cuts (Elango et al. 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
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
    """A lower bound on the traffic beyond inputs and outputs, and the piece that it is of, if there is any."""

    excess: int
    pieces: tuple[Piece, ...]


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
    have been computed by then is a minimum cut. The best of some nodes counts.
    """
    if cdag.n > tuning.MOST_FOR_WAVEFRONTS:
        return Found(0, ())
    chosen = search.generator().permutation(np.flatnonzero(~cdag.given))[: tuning.WAVEFRONTS].tolist()
    cut, best, rooms = _wavefront(cdag), Front(), (budget - cdag.needs()).tolist()
    for node, times in product(chosen, (1, 2)):
        if search.expired():
            break
        kernels.begin(cut, node, times, _NOTHING, _NOTHING)
        found = _excess(cut, times * rooms[node], 2**59, search)
        if found > best.excess:
            best = Front(found, np.array([node]), "at", times)
    return Found(best.excess, (best.piece(cdag, np.arange(cdag.n)),) if best.excess else ())


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
    best, cut, rooms = Front(), _wavefront(cdag), (budget - cdag.needs()).tolist()
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
    if cdag.n > tuning.MOST_FOR_EXACT:
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


def _wavefront(cdag: Cdag) -> kernels.Wavefront:
    return kernels.Wavefront(cdag.weights, cdag.given.view(np.uint8), cdag.parents.starts, cdag.parents.targets)


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
