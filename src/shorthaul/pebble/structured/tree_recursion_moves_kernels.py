"""The compiled kernel that writes the moves of the tree recursion (Lemma 3.7)."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.pebble.structured.tree_recursion_kernels import StepFunctions, choose, work_of

#: A task beyond the four moves.
_EVALUATE = cython.declare(cython.longlong, 4)


@cython.final
@cython.cclass
class Emission:
    """The moves of the recursion's choice for each root in turn, as far as they are written.

    ``all_parents`` holds inputs too (those are the nodes without entries in it), ``twins`` the outputs computed from
    the same operands, which are computed, stored and dropped just before their node.
    """

    roots: cython.const_longlong[::1]
    budget: cython.longlong
    all_starts: cython.const_longlong[::1]
    all_parents: cython.const_longlong[::1]
    twin_starts: cython.const_longlong[::1]
    twins: cython.const_longlong[::1]
    root: cython.Py_ssize_t
    kinds = cython.declare(cython.uchar[::1], visibility="readonly")
    nodes = cython.declare(cython.longlong[::1], visibility="readonly")
    moves = cython.declare(cython.Py_ssize_t, visibility="readonly")
    # tasks to come, the first on top: a move or _EVALUATE, its node, and the room for that
    tasks: cython.longlong[::1]
    task_nodes: cython.longlong[::1]
    task_rooms: cython.longlong[::1]
    top: cython.Py_ssize_t

    def __init__(
        self,
        roots: cython.const_longlong[::1],
        budget: cython.longlong,
        all_starts: cython.const_longlong[::1],
        all_parents: cython.const_longlong[::1],
        twin_starts: cython.const_longlong[::1],
        twins: cython.const_longlong[::1],
    ) -> None:
        most = 8 * all_starts.shape[0]
        self.roots = roots
        self.budget = budget
        self.all_starts = all_starts
        self.all_parents = all_parents
        self.twin_starts = twin_starts
        self.twins = twins
        self.root = 0
        self.kinds = np.empty(most, np.uint8)
        self.nodes = np.empty(most, np.int64)
        self.moves = 0
        self.tasks = np.empty(most, np.int64)
        self.task_nodes = np.empty(most, np.int64)
        self.task_rooms = np.empty(most, np.int64)
        self.top = 0


def emit(emission: Emission, functions: StepFunctions, work: cython.longlong) -> bool:
    """Write moves for about ``work`` further steps; True at the end."""
    with cython.nogil:
        while work > 0 and (emission.top > 0 or emission.root < emission.roots.shape[0]):
            if emission.top == 0:
                root = emission.roots[emission.root]
                emission.root += 1
                _plan_spill(emission, root, emission.budget)
            emission.top -= 1
            if emission.tasks[emission.top] == _EVALUATE:
                work -= work_of(functions, emission.task_nodes[emission.top])
                _evaluate(emission, functions, emission.task_nodes[emission.top], emission.task_rooms[emission.top])
            else:
                emission.kinds[emission.moves] = emission.tasks[emission.top]
                emission.nodes[emission.moves] = emission.task_nodes[emission.top]
                emission.moves += 1
    return bool(emission.top == 0 and emission.root == emission.roots.shape[0])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _plan(emission: Emission, task: cython.longlong, node: cython.longlong, room: cython.longlong) -> cython.void:
    """Put a task before all others."""
    emission.tasks[emission.top] = task
    emission.task_nodes[emission.top] = node
    emission.task_rooms[emission.top] = room
    emission.top += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _plan_spill(emission: Emission, node: cython.longlong, room: cython.longlong) -> cython.void:
    """Evaluate, store and delete."""
    _plan(emission, 3, node, 0)
    _plan(emission, 1, node, 0)
    _plan(emission, _EVALUATE, node, room)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _evaluate(
    emission: Emission, functions: StepFunctions, v: cython.longlong, room: cython.longlong
) -> cython.void:  # fmt: skip
    """Plan how ``v`` is computed within ``room``; what comes last is planned first."""
    first: cython.Py_ssize_t = emission.all_starts[v]
    stop: cython.Py_ssize_t = emission.all_starts[v + 1]
    count: cython.Py_ssize_t = functions.parent_starts[v + 1] - functions.parent_starts[v]
    kept: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    left: cython.longlong = room
    choose(functions, v, room)
    while functions.choice[kept] >= 0:
        left -= functions.weights[functions.choice[kept]]
        kept += 1
    for i in range(first, stop):
        _plan(emission, 3, emission.all_parents[i], 0)
    _plan(emission, 2, v, 0)
    for i in range(emission.twin_starts[v], emission.twin_starts[v + 1]):
        node = emission.twins[i]
        _plan(emission, 3, node, 0)
        _plan(emission, 1, node, 0)
        _plan(emission, 2, node, 0)
    for i in range(kept + 1, count + 1):
        _plan(emission, 0, functions.choice[i], 0)
    for i in range(first, stop):
        node = emission.all_parents[i]
        if emission.all_starts[node] == emission.all_starts[node + 1]:
            _plan(emission, 0, node, 0)
    for i in range(kept - 1, -1, -1):
        left += functions.weights[functions.choice[i]]
        _plan(emission, _EVALUATE, functions.choice[i], left)
    for i in range(kept + 1, count + 1):
        _plan_spill(emission, functions.choice[i], room)
