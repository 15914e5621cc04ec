"""Stretches of an order of computation as small problems of their own, for :mod:`driver` on large graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shorthaul.graphs.csr import Csr, from_arrays
from shorthaul.pebble.local_search import recomputing_kernels as kernels
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.plan import Move, Plan


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A stretch of an order, in numbers of its own.

    ``nodes`` are the nodes that matter by their local number: those computed, their operands, and what is in fast
    memory before. ``order`` is the stretch, ``frame`` what lies around it (see :mod:`recomputing_kernels`).
    """

    nodes: IntArray
    order: IntArray
    parents: Csr
    children: Csr
    weights: IntArray
    frame: IntArray


def whole(cdag: Cdag, order: IntArray) -> Window:
    """Return the whole order as a window.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> cdag = pyramid(n=2)
    >>> whole(cdag, cdag.order[~cdag.is_input()]).order.tolist()
    [3, 4, 5]
    """
    frame = np.zeros((kernels.FRAME_ROWS, cdag.n), dtype=np.int64)
    frame[kernels.FIRST_STATE] = 2 * cdag.is_input()
    frame[kernels.AFTER] = kernels.NEVER
    return Window(np.arange(cdag.n), order, cdag.parents, cdag.children, cdag.weights, frame)


def window(cdag: Cdag, plan: Plan, first: int, stop: int) -> Window:
    """Return computations ``first`` to ``stop`` - 1 of ``plan`` as a problem: the rest of the plan stays as it is."""
    computations = np.flatnonzero(plan.kinds == Move.COMPUTE)
    order = plan.nodes[computations]
    stretch = order[first:stop]
    begin = 0 if first == 0 else int(computations[first - 1]) + 1
    end = int(computations[stop - 1]) + 1
    parents = cdag.parents
    upcoming = kernels.upcoming_reads(order, first, parents.starts, parents.targets)
    after = kernels.upcoming_reads(order, stop, parents.starts, parents.targets)
    red_before, state = _memory(cdag, plan, begin)
    red_after, state_after = _memory(cdag, plan, end)
    computed = np.unique(stretch)
    counts = parents.starts[computed + 1] - parents.starts[computed]
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    operands = parents.targets[np.repeat(parents.starts[computed], counts) + inside]
    waiting = np.flatnonzero(red_before & (upcoming < kernels.NEVER))
    nodes = np.unique(np.concatenate([computed, operands, waiting]))
    sources = np.searchsorted(nodes, operands)
    targets = np.repeat(np.searchsorted(nodes, computed), counts)
    live = after[nodes] < kernels.NEVER
    frame = np.empty((kernels.FRAME_ROWS, len(nodes)), dtype=np.int64)
    frame[kernels.FIRST_STATE] = state[nodes]
    frame[kernels.FIRST_RED] = red_before[nodes]
    frame[kernels.AFTER] = after[nodes]
    frame[kernels.LAST_RED] = red_after[nodes] & live
    frame[kernels.LAST_SAVED] = (state_after[nodes] == 1) & live
    return Window(
        nodes,
        np.searchsorted(nodes, stretch),
        from_arrays(len(nodes), targets, sources),
        from_arrays(len(nodes), sources, targets),
        cdag.weights[nodes],
        frame,
    )


def _memory(cdag: Cdag, plan: Plan, moves: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], IntArray]:
    """Return what is red after so many moves, and where values are: 1 in slow memory, 2 inputs never loaded, else 0."""
    kinds, nodes = plan.kinds[:moves], plan.nodes[:moves]
    red = np.zeros(cdag.n, dtype=np.bool_)
    placed = kinds != Move.STORE
    red[nodes[placed]] = kinds[placed] != Move.DELETE  # the last of several assignments stays
    state = 2 * cdag.is_input().astype(np.int64)
    state[nodes[kinds == Move.LOAD]] = 1
    state[nodes[kinds == Move.STORE]] = 1
    return red, state
