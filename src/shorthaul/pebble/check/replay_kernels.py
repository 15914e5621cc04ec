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
from cython.dataclasses import dataclass

_LOAD = cython.declare(cython.uchar, 0)
_STORE = cython.declare(cython.uchar, 1)
_COMPUTE = cython.declare(cython.uchar, 2)
_DELETE = cython.declare(cython.uchar, 3)


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Graph:
    """Operands and weights of the nodes, and whether a result may take the room of an operand."""

    starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]
    in_place: cython.bint


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
def _slides(graph: Graph, node: cython.longlong, next_kind: cython.uchar, leaving: cython.longlong) -> cython.bint:
    """Tell whether a computed value takes the room of what leaves in the next move."""
    edge: cython.Py_ssize_t
    if next_kind != _DELETE or graph.weights[leaving] < graph.weights[node]:
        return False
    for edge in range(graph.starts[node], graph.starts[node + 1]):
        if graph.parents[edge] == leaving:
            return True
    return False


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
    above: cython.longlong
    for move in range(kinds.shape[0]):
        kind = kinds[move]
        node = nodes[move]
        before = state[node]
        found = 0
        above = 0  # what is counted one move early
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
            if graph.in_place and kind == _COMPUTE and not before & RED and move + 1 < kinds.shape[0]:
                if _slides(graph, node, kinds[move + 1], nodes[move + 1]) and state[nodes[move + 1]] & RED:
                    above = graph.weights[node]
            if held - above > budget:
                found |= OVER_BUDGET
        elif kind == _STORE:
            state[node] |= BLUE
        elif before & RED:
            held -= graph.weights[node]
            state[node] ^= RED
        occupancy[move] = held - above
        wrong[move] = found
