"""Loads replaced by computations, move by move."""

from __future__ import annotations

import cython
import numpy as np

_LOAD = cython.declare(cython.uchar, 0)
_STORE = cython.declare(cython.uchar, 1)
_COMPUTE = cython.declare(cython.uchar, 2)
_DELETE = cython.declare(cython.uchar, 3)


@cython.final
@cython.cclass
class Moves:
    """Moves that are read, and those written: at most three times as many."""

    kinds: cython.const_uchar[::1]
    nodes: cython.const_longlong[::1]
    new_kinds = cython.declare(cython.uchar[::1], visibility="readonly")
    new_nodes = cython.declare(cython.longlong[::1], visibility="readonly")
    count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    red: cython.uchar[::1]
    saved: cython.uchar[::1]

    def __init__(self, kinds: cython.const_uchar[::1], nodes: cython.const_longlong[::1], n: cython.Py_ssize_t) -> None:
        self.kinds = kinds
        self.nodes = nodes
        self.new_kinds = np.empty(3 * kinds.shape[0], np.uint8)
        self.new_nodes = np.empty(3 * kinds.shape[0], np.int64)
        self.count = 0
        self.red = np.zeros(n, np.uint8)
        self.saved = np.zeros(n, np.uint8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write(moves: Moves, kind: cython.uchar, node: cython.longlong) -> cython.void:
    moves.new_kinds[moves.count] = kind
    moves.new_nodes[moves.count] = node
    moves.count += 1


def compute_again(
    moves: Moves,
    weights: cython.const_longlong[::1],
    given: cython.const_uchar[::1],
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    budget: cython.longlong,
) -> None:
    """Write the moves with every load replaced that can be had more cheaply by computing.

    A value is computed again where all its operands are in fast memory, or all but one, which is lighter, is in slow
    memory and has room for the moment.
    """
    with cython.nogil:
        _compute_again(moves, weights, given, starts, parents, budget)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compute_again(
    moves: Moves,
    weights: cython.const_longlong[::1],
    given: cython.const_uchar[::1],
    starts: cython.const_longlong[::1],
    parents: cython.const_longlong[::1],
    budget: cython.longlong,
) -> cython.void:
    held: cython.longlong = 0
    absent: cython.longlong
    e: cython.Py_ssize_t
    for v in range(weights.shape[0]):
        moves.saved[v] = given[v]
    for i in range(moves.kinds.shape[0]):
        kind = moves.kinds[i]
        v = moves.nodes[i]
        if kind == _LOAD and not moves.red[v] and not given[v]:
            absent = 0
            missing = -1
            for e in range(starts[v], starts[v + 1]):
                if not moves.red[parents[e]]:
                    absent += 1
                    missing = parents[e]
            if absent == 0:
                kind = _COMPUTE
                _write(moves, kind, v)
            elif (
                absent == 1
                and moves.saved[missing]
                and weights[missing] < weights[v]
                and held + weights[missing] + weights[v] <= budget
            ):
                kind = _COMPUTE
                _write(moves, _LOAD, missing)
                _write(moves, kind, v)
                _write(moves, _DELETE, missing)
            else:
                _write(moves, kind, v)
        else:
            _write(moves, kind, v)
        if kind == _STORE:
            moves.saved[v] = True
        elif kind == _DELETE:
            if moves.red[v]:
                held -= weights[v]
            moves.red[v] = False
        else:
            if not moves.red[v]:
                held += weights[v]
            moves.red[v] = True


def needed(
    kinds: cython.const_uchar[::1],
    nodes: cython.const_longlong[::1],
    is_output: cython.const_uchar[::1],
    keep: cython.uchar[::1],
) -> None:
    """Note in ``keep`` which moves are needed: all but stores of values that are neither outputs nor loaded later."""
    loaded: cython.uchar[::1] = np.array(is_output)
    with cython.nogil:
        _find_needed(kinds, nodes, loaded, keep)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_needed(
    kinds: cython.const_uchar[::1],
    nodes: cython.const_longlong[::1],
    loaded: cython.uchar[::1],
    keep: cython.uchar[::1],
) -> cython.void:
    for i in range(kinds.shape[0] - 1, -1, -1):
        keep[i] = True
        if kinds[i] == _LOAD:
            loaded[nodes[i]] = True
        elif kinds[i] == _STORE:
            keep[i] = loaded[nodes[i]]
