"""Schedules of :mod:`incremental_replay_kernels` made from their order and lists, and written as moves."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.shorthaul.pebble.local_search.incremental_replay_kernels import (
    State,
    begin_trial,
    drop_old,
    is_read_after,
    old_step,
    put_old,
)

_LOAD = cython.declare(cython.uchar, 0)
_STORE = cython.declare(cython.uchar, 1)
_COMPUTE = cython.declare(cython.uchar, 2)
_DELETE = cython.declare(cython.uchar, 3)


def set_up(state: State) -> int:
    """Note what the order and the lists of the schedule imply; return what it moves beside its outputs."""
    with cython.nogil:
        cost = _set_up(state)
    return int(cost)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _set_up(state: State) -> cython.longlong:
    cost: cython.longlong = 0
    known: cython.longlong = 0
    place: cython.Py_ssize_t
    row: cython.Py_ssize_t
    state.point_size_old[0] = 0
    begin_trial(state, 0)
    for time in range(state.order.shape[0]):
        if time % state.spacing == 0:
            row = time // state.spacing
            state.point_size_old[row] = state.size_old
            for place in range(state.size_old):
                state.points_old[row, place] = state.red_old[place]
        cost += old_step(state, time)
        for place in range(known, state.touched_count):
            state.stored[state.touched[place]] = time
        known = state.touched_count
    return cost


def moves_of(state: State) -> tuple[Any, Any]:
    """Return the moves (kinds, nodes) of the schedule."""
    most = 4 * state.order.shape[0] + 3 * state.parents.shape[0] + 2 * state.entry_value.shape[0]
    kinds = np.empty(most, np.uint8)
    nodes = np.empty(most, np.int64)
    moves = _Moves(kinds, nodes)
    with cython.nogil:
        _write_moves(state, moves)
    return kinds[: moves.count].copy(), nodes[: moves.count].copy()


@cython.final
@cython.cclass
class _Moves:
    """The moves written so far."""

    kinds: cython.uchar[::1]
    nodes: cython.longlong[::1]
    count: cython.Py_ssize_t

    def __init__(self, kinds: cython.uchar[::1], nodes: cython.longlong[::1]) -> None:
        self.kinds = kinds
        self.nodes = nodes
        self.count = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write(moves: _Moves, kind: cython.uchar, node: cython.longlong) -> cython.void:
    moves.kinds[moves.count] = kind
    moves.nodes[moves.count] = node
    moves.count += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_moves(state: State, moves: _Moves) -> cython.void:
    edge: cython.Py_ssize_t
    begin_trial(state, 0)
    for time in range(state.order.shape[0]):
        here = state.order[time]
        entry = state.head[time]
        while entry >= 0:
            value = state.entry_value[entry]
            if state.place_old[value] >= 0:
                if state.stored[value] == time:
                    _write(moves, _STORE, value)
                _write(moves, _DELETE, value)
                drop_old(state, value)
            entry = state.entry_next[entry]
        for edge in range(state.starts[here], state.starts[here + 1]):
            value = state.parents[edge]
            if state.place_old[value] < 0:
                _write(moves, _LOAD, value)
                put_old(state, value)
        _write(moves, _COMPUTE, here)
        for edge in range(state.starts[here], state.starts[here + 1]):
            value = state.parents[edge]
            if not is_read_after(state, value, time):
                _write(moves, _DELETE, value)
                drop_old(state, value)
        if state.child_starts[here] < state.child_starts[here + 1]:
            put_old(state, here)
        else:
            _write(moves, _STORE, here)
            _write(moves, _DELETE, here)
