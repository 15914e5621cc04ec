"""Branch and bound over the turns that tasks take at one period.

Once every turn is decided the matrix of least differences is a schedule; a branch that contradicts itself has none.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.modulo.differences_kernels import (
    Differences,
    find_options,
    tighten,
    undo,
)
from cython.cimports.shorthaul.dataflow.modulo.propagation_kernels import Resources, propagate

FOUND, EXHAUSTED, PAUSED, TOO_DEEP = 1, 0, -1, -2
_FOUND = cython.declare(cython.longlong, 1)
_EXHAUSTED = cython.declare(cython.longlong, 0)
_PAUSED = cython.declare(cython.longlong, -1)
_TOO_DEEP = cython.declare(cython.longlong, -2)
#: Visits after a failure at which conclusions about resources are drawn; later at every fourth so many.
CALM = cython.declare(cython.longlong, 8)


@cython.final
@cython.cclass
class Tree:
    """A depth-first search that can be interrupted.

    The stack holds, per open branch, how many entries were kept and how many turns open at its parent, what it asks
    for, and the turn that this decides.
    """

    weight: cython.double[::1]  # how often a branch on the turn failed, plus one
    kept: cython.Py_ssize_t[::1]
    open: cython.Py_ssize_t[::1]
    ask_from: cython.longlong[::1]
    ask_to: cython.longlong[::1]
    ask_ticks: cython.longlong[::1]
    ask_turn: cython.longlong[::1]
    top: cython.Py_ssize_t
    calm: cython.longlong  # visits since one failed
    failed: cython.longlong  # visits since the last restart that failed
    patience: cython.longlong  # how many of them lead to the next restart

    def __init__(self, turns: cython.Py_ssize_t, depth: cython.Py_ssize_t, patience: cython.longlong) -> None:
        self.weight = np.ones(turns + 1)
        self.kept = np.zeros(depth, np.intp)
        self.open = np.full(depth, turns, np.intp)
        self.ask_from = np.zeros(depth, np.int64)
        self.ask_to = np.zeros(depth, np.int64)
        self.ask_ticks = np.zeros(depth, np.int64)
        self.ask_turn = np.full(depth, turns, np.int64)
        self.top = 1
        self.calm = 0
        self.failed = 0
        self.patience = patience


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(
    tree: Tree, at: Differences, t: cython.Py_ssize_t, side: cython.Py_ssize_t, ticks: cython.longlong
) -> cython.void:  # fmt: skip
    """Put a branch on the stack that asks for ``ticks`` on one side of turn t."""
    tree.kept[tree.top] = at.kept
    tree.open[tree.top] = at.open
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
    undo(at, tree.kept[tree.top], tree.open[tree.top])
    return tighten(at, tree.ask_from[tree.top], tree.ask_to[tree.top], tree.ask_ticks[tree.top])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _restart(tree: Tree, at: Differences) -> cython.void:
    """Begin at the root again, which branches on other turns with the weights of now; the next time a little later."""
    undo(at, 0, at.turns.shape[0])
    tree.failed = 0
    tree.patience += (tree.patience + 1) // 2
    tree.top = 1
    tree.kept[0] = 0
    tree.open[0] = at.turns.shape[0]
    tree.ask_from[0] = tree.ask_to[0] = tree.ask_ticks[0] = 0
    tree.ask_turn[0] = at.turns.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(tree: Tree, at: Differences) -> cython.bint:
    """Branch on the undecided turn of least slack for its weight; False if there is none."""
    best: cython.Py_ssize_t = -1
    slack: cython.longlong
    most: cython.longlong = 0
    score: cython.double = 0.0
    at.steps += 4 * at.open
    for place in range(at.open):
        t = at.turns[place]
        # slack of k <= any split, and of k > that
        slack = -at.ticks[t, 0] - at.least[at.after[t, 0], at.before[t, 0]]
        slack -= at.ticks[t, 1] + at.least[at.after[t, 1], at.before[t, 1]]
        value = slack / tree.weight[t]
        if best < 0 or value < score or (value == score and t < best):
            best = t
            most = slack
            score = value
    if best < 0:
        return False
    find_options(at, best)
    split = (at.low + at.high) >> 1
    below = split * at.period - at.ticks[best, 0] - at.least[at.after[best, 0], at.before[best, 0]]
    if most > 2 * below:  # what lies on top is tried first
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
    entries: cython.Py_ssize_t,
    time: cython.longlong[::1],
) -> tuple[int, int]:
    """Go on with a depth-first search for up to ``nodes`` nodes or about ``steps`` steps.

    Return the outcome and the number of nodes visited. ``entries`` are kept at most, to be taken back.

    A turn gains weight when a branch on it fails: turns that mattered before are taken first (Boussemart et al.,
    *Boosting systematic search by weighting constraints*, ECAI 2004), and after a number of failures that grows by half
    every time the search begins anew with them (Gomes, Selman, Kautz, *Boosting combinatorial search through
    randomization*, AAAI 1998). Fills ``time`` with a schedule when one is FOUND.
    """
    visited: cython.longlong = 0
    outcome: cython.longlong = _PAUSED
    room: cython.Py_ssize_t = at.least.shape[0] * at.least.shape[0]
    steps += at.steps
    while visited < nodes and outcome == _PAUSED and at.steps < steps:
        if not at.make_room(entries):
            outcome = _TOO_DEEP
            break
        with cython.nogil:
            while visited < nodes and outcome == _PAUSED and at.steps < steps and at.kept + room <= at.cell.shape[0]:
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
    if tree.top + 1 >= tree.kept.shape[0]:
        return _TOO_DEEP
    is_thorough: cython.bint = tree.calm < CALM or tree.calm % (4 * CALM) == 0
    tree.calm += 1
    if not _pop(tree, at) or not propagate(at, on, is_thorough):
        tree.weight[tree.ask_turn[tree.top]] += 1.0
        tree.calm = 0
        tree.failed += 1
        if tree.failed == tree.patience and tree.top > 0:
            _restart(tree, at)
    elif not _split(tree, at):
        for k in range(time.shape[0]):
            time[k] = at.least[0, k]
        return _FOUND
    return _PAUSED if tree.top else _EXHAUSTED
