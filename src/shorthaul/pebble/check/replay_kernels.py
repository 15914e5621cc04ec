"""The game played move by move, for :mod:`replay`."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.pebble.check.replay_constants import (
    ABSENT,
    BLUE,
    COMPUTED,
    COMPUTED_INPUT,
    INPUT,
    MISSING_OPERAND,
    OVER_BUDGET,
    RED,
    REPEATED,
    USELESS,
)

_LOAD = cython.declare(cython.uchar, 0)
_STORE = cython.declare(cython.uchar, 1)
_COMPUTE = cython.declare(cython.uchar, 2)


@cython.final
@cython.cclass
class Graph:
    """Operands and weights of the nodes."""

    starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]

    def __init__(
        self,
        starts: cython.const_longlong[::1],
        parents: cython.const_longlong[::1],
        weights: cython.const_longlong[::1],
    ) -> None:
        self.starts = starts
        self.parents = parents
        self.weights = weights


def play(
    graph: Graph,
    kinds: cython.const_uchar[::1],
    nodes: cython.const_longlong[::1],
    budget: cython.longlong,
    state: cython.uchar[::1],
    occupancy: cython.longlong[::1],
    wrong: cython.uchar[::1],
) -> None:
    """Play the moves from ``state``; note after each the weight in fast memory, and what is wrong with it."""
    with cython.nogil:
        _play(graph, kinds, nodes, budget, state, occupancy, wrong)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _play(
    graph: Graph,
    kinds: cython.const_uchar[::1],
    nodes: cython.const_longlong[::1],
    budget: cython.longlong,
    state: cython.uchar[::1],
    occupancy: cython.longlong[::1],
    wrong: cython.uchar[::1],
) -> cython.void:
    edge: cython.Py_ssize_t
    found: cython.uchar
    held: cython.longlong = 0
    for move in range(kinds.shape[0]):
        kind = kinds[move]
        node = nodes[move]
        before = state[node]
        found = 0
        if kind == _LOAD:
            if not before & BLUE:
                found |= ABSENT
        elif kind == _COMPUTE:
            if before & INPUT:
                found |= COMPUTED_INPUT
            if before & COMPUTED:
                found |= REPEATED
            for edge in range(graph.starts[node], graph.starts[node + 1]):
                if not state[graph.parents[edge]] & RED:
                    found |= MISSING_OPERAND
            state[node] |= COMPUTED
        elif not before & RED:
            found |= ABSENT
        if kind == _LOAD or kind == _COMPUTE:
            if before & RED:
                found |= USELESS
            else:
                held += graph.weights[node]
            state[node] |= RED
            if held > budget:
                found |= OVER_BUDGET
        elif kind == _STORE:
            state[node] |= BLUE
        elif before & RED:
            held -= graph.weights[node]
            state[node] ^= RED
        occupancy[move] = held
        wrong[move] = found
