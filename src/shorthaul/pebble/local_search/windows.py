"""Stretches of an order of computation as small problems of their own, for :mod:`driver` on large graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shorthaul.graphs.csr import distinct, from_arrays
from shorthaul.pebble.local_search.annealing import graph_of
from shorthaul.pebble.local_search.order_moves_kernels import Graph
from shorthaul.pebble.local_search.recomputing_replay_kernels import Frame, upcoming_reads
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.plan import Move, Plan

#: What upcoming_reads gives for a value that is not read again.
_NEVER = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A stretch of an order, in numbers of its own.

    ``nodes`` are the nodes that matter by their local number: those computed, their operands, and what is in fast
    memory before. ``order`` is the stretch, ``frame`` what lies around it.
    """

    nodes: IntArray
    order: IntArray
    graph: Graph
    frame: Frame


def whole(cdag: Cdag, order: IntArray) -> Window:
    """Return the whole order as a window.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> cdag = pyramid(n=2)
    >>> whole(cdag, cdag.order[~cdag.is_input()]).order.tolist()
    [3, 4, 5]
    """
    none = np.zeros(cdag.n, np.int64)
    frame = Frame(2 * cdag.is_input().astype(np.int64), none, np.full(cdag.n, _NEVER), none, none)
    return Window(np.arange(cdag.n), order, graph_of(cdag), frame)


def window(cdag: Cdag, plan: Plan, first: int, stop: int) -> Window:
    """Return computations ``first`` to ``stop`` - 1 of ``plan`` as a problem: the rest of the plan stays as it is."""
    computations = np.flatnonzero(plan.kinds == Move.COMPUTE)
    order = plan.nodes[computations]
    stretch = order[first:stop]
    begin = 0 if first == 0 else int(computations[first - 1]) + 1
    end = int(computations[stop - 1]) + 1
    parents = cdag.parents
    upcoming = upcoming_reads(order, first, parents.starts, parents.targets)
    after = upcoming_reads(order, stop, parents.starts, parents.targets)
    red_before, state = _memory(cdag, plan, begin)
    red_after, state_after = _memory(cdag, plan, end)
    computed = distinct(stretch)
    counts = parents.starts[computed + 1] - parents.starts[computed]
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    operands = parents.targets[np.repeat(parents.starts[computed], counts) + inside]
    waiting = np.flatnonzero(red_before & (upcoming < _NEVER))
    nodes = distinct(np.concatenate([computed, operands, waiting]))
    sources = np.searchsorted(nodes, operands)
    targets = np.repeat(np.searchsorted(nodes, computed), counts)
    live = after[nodes] < _NEVER
    frame = Frame(
        state[nodes],
        red_before[nodes].astype(np.int64),
        after[nodes],
        (red_after[nodes] & live).astype(np.int64),
        ((state_after[nodes] == 1) & live).astype(np.int64),
    )
    parents, children = from_arrays(len(nodes), targets, sources), from_arrays(len(nodes), sources, targets)
    given = (~np.isin(nodes, computed)).view(np.uint8)
    graph = Graph(parents.starts, parents.targets, children.starts, children.targets, cdag.weights[nodes], given)
    return Window(nodes, np.searchsorted(nodes, stretch), graph, frame)


def _memory(cdag: Cdag, plan: Plan, moves: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], IntArray]:
    """Return what is red after ``moves`` moves, and where values are: 1 in slow memory, 2 unloaded inputs, else 0."""
    kinds, nodes = plan.kinds[:moves], plan.nodes[:moves]
    red = np.zeros(cdag.n, dtype=np.bool_)
    placed = kinds != Move.STORE
    red[nodes[placed]] = kinds[placed] != Move.DELETE  # the last of several assignments stays
    state = 2 * cdag.is_input().astype(np.int64)
    state[nodes[kinds == Move.LOAD]] = 1
    state[nodes[kinds == Move.STORE]] = 1
    return red, state
