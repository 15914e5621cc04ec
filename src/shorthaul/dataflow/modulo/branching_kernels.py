"""Branch and bound over the turns that tasks take at one period.

Once every turn is decided the matrix of least differences is a schedule; a branch that contradicts itself has none.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.modulo.propagation_kernels import (
    Differences,
    Resources,
    find_options,
    propagate,
    tighten,
)

FOUND, EXHAUSTED, PAUSED, TOO_DEEP = 1, 0, -1, -2
_FOUND = cython.declare(cython.longlong, 1)
_EXHAUSTED = cython.declare(cython.longlong, 0)
_PAUSED = cython.declare(cython.longlong, -1)
_TOO_DEEP = cython.declare(cython.longlong, -2)


@cython.final
@cython.cclass
class Tree:
    """A depth-first search that can be interrupted.

    The stack holds, per open branch, the matrix and the decisions of its parent, what it asks for, and the turn that
    this decides.
    """

    weight: cython.double[::1]  # how often a branch on the turn failed, plus one
    matrices: cython.longlong[:, :, ::1]
    decisions: cython.uchar[:, ::1]
    ask_from: cython.longlong[::1]
    ask_to: cython.longlong[::1]
    ask_ticks: cython.longlong[::1]
    ask_turn: cython.longlong[::1]
    top: cython.Py_ssize_t

    def __init__(self, root: cython.longlong[:, ::1], turns: cython.Py_ssize_t, depth: cython.Py_ssize_t) -> None:
        matrices = np.empty((depth, root.shape[0], root.shape[0]), np.int64)
        matrices[0] = root
        self.weight = np.ones(turns + 1)
        self.matrices = matrices
        self.decisions = np.zeros((depth, turns), np.uint8)
        self.ask_from = np.zeros(depth, np.int64)
        self.ask_to = np.zeros(depth, np.int64)
        self.ask_ticks = np.zeros(depth, np.int64)
        self.ask_turn = np.full(depth, turns, np.int64)
        self.top = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(
    tree: Tree, at: Differences, t: cython.Py_ssize_t, side: cython.Py_ssize_t, ticks: cython.longlong
) -> cython.void:  # fmt: skip
    """Put a branch on the stack that asks for ``ticks`` on one side of turn t."""
    at.steps += at.least.shape[0] * at.least.shape[0]
    for u in range(at.least.shape[0]):
        for v in range(at.least.shape[0]):
            tree.matrices[tree.top, u, v] = at.least[u, v]
    for u in range(at.decided.shape[0]):
        tree.decisions[tree.top, u] = at.decided[u]
    tree.ask_from[tree.top] = at.before[t, side]
    tree.ask_to[tree.top] = at.after[t, side]
    tree.ask_ticks[tree.top] = ticks
    tree.ask_turn[tree.top] = t
    tree.top += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pop(tree: Tree, at: Differences) -> cython.bint:
    """Take a branch off the stack and ask for what it does; False if that contradicts the matrix of its parent."""
    tree.top -= 1
    at.steps += at.least.shape[0] * at.least.shape[0]
    for u in range(at.least.shape[0]):
        for v in range(at.least.shape[0]):
            at.least[u, v] = tree.matrices[tree.top, u, v]
    for u in range(at.decided.shape[0]):
        at.decided[u] = tree.decisions[tree.top, u]
    return tighten(at, tree.ask_from[tree.top], tree.ask_to[tree.top], tree.ask_ticks[tree.top])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(tree: Tree, at: Differences) -> cython.bint:
    """Branch on the undecided turn of least slack for its weight; False if there is none."""
    best: cython.Py_ssize_t = -1
    split: cython.longlong = 0
    upper: cython.bint = False
    score: cython.double = 0.0
    for t in range(at.decided.shape[0]):
        if at.decided[t]:
            continue
        find_options(at, t)
        middle = (at.low + at.high) >> 1
        # slack of k <= middle, and of k > middle
        below = middle * at.period - at.ticks[t, 0] - at.least[at.after[t, 0], at.before[t, 0]]
        above = -at.ticks[t, 1] - middle * at.period - at.least[at.after[t, 1], at.before[t, 1]]
        value = (below + above) / tree.weight[t]
        if best < 0 or value < score:
            best = t
            split = middle
            upper = above > below
            score = value
    if best < 0:
        return False
    if upper:  # what lies on top is tried first
        _push(tree, at, best, 0, at.ticks[best, 0] - split * at.period)
        _push(tree, at, best, 1, at.ticks[best, 1] + split * at.period)
    else:
        _push(tree, at, best, 1, at.ticks[best, 1] + split * at.period)
        _push(tree, at, best, 0, at.ticks[best, 0] - split * at.period)
    return True


def branch(
    tree: Tree,
    at: Differences,
    on: Resources,
    nodes: cython.longlong,
    steps: cython.longlong,
    time: cython.longlong[::1],
) -> tuple[int, int]:
    """Go on with a depth-first search for up to ``nodes`` nodes or about ``steps`` steps.

    Return the outcome and the number of nodes visited.

    A turn gains weight when a branch on it fails: turns that mattered before are taken first (Boussemart et al.,
    *Boosting systematic search by weighting constraints*, ECAI 2004). Fills ``time`` with a schedule when one is FOUND.
    """
    visited: cython.longlong = 0
    outcome: cython.longlong = _PAUSED
    with cython.nogil:
        steps += at.steps
        while visited < nodes and outcome == _PAUSED and at.steps < steps:
            outcome = _visit(tree, at, on, time)
            visited += 1
    return int(outcome), int(visited)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _visit(tree: Tree, at: Differences, on: Resources, time: cython.longlong[::1]) -> cython.longlong:
    """Take the branch on top; return what then holds for the search."""
    if tree.top == 0:
        return _EXHAUSTED
    if tree.top + 1 >= tree.matrices.shape[0]:
        return _TOO_DEEP
    if not _pop(tree, at) or not propagate(at, on):
        tree.weight[tree.ask_turn[tree.top]] += 1.0
    elif not _split(tree, at):
        for k in range(time.shape[0]):
            time[k] = at.least[0, k]
        return _FOUND
    return _PAUSED if tree.top else _EXHAUSTED
