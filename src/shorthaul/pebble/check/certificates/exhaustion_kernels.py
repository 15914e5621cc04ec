"""All schedules of a few nodes, step by step, for :mod:`exhaustion`: is there one that moves less than is claimed?

A position is what is computed, which values are in fast memory and still needed, and which of these are not in slow
memory: three 64-bit words, the first of computations, the others of values that more than one of them touches. A value
that leaves while it is needed is charged its next load, and its store where it was not stored.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.bits import bit, complement, wrapped_product
from cython.dataclasses import dataclass

_FACTOR = cython.declare(cython.ulonglong, 0x9E37_79B9_7F4A_7C15)

#: There is no room for the positions after a step.
_FULL = cython.declare(cython.longlong, -1)


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Nodes:
    """Computations and values: v touches the values ``touched[v]`` after all the computations ``before[v]``.

    All that is in fast memory then has to fit into ``room[v]``. ``touchers[u]`` are the computations that touch the
    value u. Inputs are the values not in ``computed``.
    """

    weights: cython.const_longlong[::1]
    room: cython.const_longlong[::1]
    touched: cython.const_ulonglong[::1]
    touchers: cython.const_ulonglong[::1]
    before: cython.const_ulonglong[::1]
    computed: cython.ulonglong


@cython.final
@cython.cclass
class Positions:
    """The positions after so many computations, ``words`` (done, fast, unsaved) and ``paid``, and a table of them."""

    words: cython.ulonglong[:, ::1]
    paid: cython.longlong[::1]
    table: cython.longlong[::1]
    count: cython.longlong

    def __init__(self, room: cython.longlong) -> None:
        self.words = np.empty((room, 3), np.uint64)
        self.paid = np.empty(room, np.int64)
        self.table = np.empty(1 << (2 * room - 1).bit_length(), np.int64)
        self.count = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weight(nodes: Nodes, members: cython.ulonglong) -> cython.longlong:
    total: cython.longlong = 0
    v: cython.Py_ssize_t
    for v in range(nodes.weights.shape[0]):
        if (members >> v) & 1:
            total += nodes.weights[v]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(
    then: Positions,
    done: cython.ulonglong,
    fast: cython.ulonglong,
    unsaved: cython.ulonglong,
    paid: cython.longlong,
) -> cython.bint:
    """Enter a position, or what it pays if it is there already; False if there is no room."""
    mask: cython.longlong = then.table.shape[0] - 1
    mixed: cython.ulonglong = wrapped_product(done, _FACTOR)
    mixed = wrapped_product(mixed ^ (mixed >> 32) ^ fast, _FACTOR)
    mixed = wrapped_product(mixed ^ (mixed >> 32) ^ unsaved, _FACTOR)
    slot = cython.cast(cython.longlong, mixed >> 33) & mask
    while then.table[slot] >= 0:
        row = then.table[slot]
        if then.words[row, 0] == done and then.words[row, 1] == fast and then.words[row, 2] == unsaved:
            then.paid[row] = min(then.paid[row], paid)
            return True
        slot = (slot + 1) & mask
    if then.count == then.paid.shape[0]:
        return False
    then.table[slot] = then.count
    then.words[then.count, 0] = done
    then.words[then.count, 1] = fast
    then.words[then.count, 2] = unsaved
    then.paid[then.count] = paid
    then.count += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _let_go(
    nodes: Nodes,
    then: Positions,
    first: cython.longlong,
    candidates: cython.ulonglong,
    over: cython.longlong,
    done: cython.ulonglong,
    fast: cython.ulonglong,
    unsaved: cython.ulonglong,
    paid: cython.longlong,
    limit: cython.longlong,
) -> cython.bint:
    """Enter all positions after enough of the candidates from ``first`` on have left; False if there is no room."""
    v: cython.longlong = first
    if paid >= limit:
        return True
    if over <= 0:
        return _enter(then, done, fast, unsaved, paid)
    while v < nodes.weights.shape[0]:
        if (candidates >> v) & 1:
            charge = nodes.weights[v] * (2 if unsaved & bit(v) else 1)
            rest = fast & complement(bit(v))
            kept = unsaved & complement(bit(v))
            if not _let_go(
                nodes, then, v + 1, candidates, over - nodes.weights[v], done, rest, kept, paid + charge, limit
            ):
                return False
        v += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after(nodes: Nodes, node: cython.longlong, done: cython.ulonglong, is_first: cython.bint) -> cython.ulonglong:
    """Return what computing a node touches that nothing touched before (``is_first``), or nothing will again."""
    found: cython.ulonglong = 0
    v: cython.Py_ssize_t
    for v in range(nodes.weights.shape[0]):
        if (nodes.touched[node] >> v) & 1:
            rest = nodes.touchers[v] & (done if is_first else complement(done | bit(node)))
            if rest == 0:
                found |= bit(v)
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_free(
    nodes: Nodes,
    node: cython.longlong,
    done: cython.ulonglong,
    fast: cython.ulonglong,
) -> cython.bint:
    """True if a node fits beside all that is in fast memory and leaves nothing more there: it may as well come next."""
    dead: cython.ulonglong = _after(nodes, node, done, False)
    if nodes.touched[node] & complement(dead) & complement(fast):
        return False
    return _weight(nodes, fast | nodes.touched[node]) <= nodes.room[node]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_ready(nodes: Nodes, node: cython.longlong, done: cython.ulonglong) -> cython.bint:
    if (done >> node) & 1:
        return False
    return nodes.before[node] & complement(done) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compute(
    nodes: Nodes,
    then: Positions,
    node: cython.longlong,
    now: Positions,
    row: cython.longlong,
    limit: cython.longlong,
) -> cython.bint:
    done: cython.ulonglong = now.words[row, 0]
    fast: cython.ulonglong = now.words[row, 1]
    unsaved: cython.ulonglong = now.words[row, 2]
    dead: cython.ulonglong = _after(nodes, node, done, False)
    fresh: cython.ulonglong = _after(nodes, node, done, True) & nodes.computed
    over: cython.longlong = _weight(nodes, fast | nodes.touched[node]) - nodes.room[node]
    candidates: cython.ulonglong = fast & complement(nodes.touched[node])
    then_fast: cython.ulonglong = (fast | nodes.touched[node]) & complement(dead)
    then_unsaved: cython.ulonglong = (unsaved | fresh) & complement(dead)
    return _let_go(
        nodes, then, 0, candidates, over, done | bit(node), then_fast, then_unsaved, now.paid[row], limit
    )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _step(nodes: Nodes, now: Positions, then: Positions, limit: cython.longlong) -> cython.longlong:
    only: cython.longlong
    v: cython.Py_ssize_t
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    for i in range(then.table.shape[0]):
        then.table[i] = -1
    then.count = 0
    for row in range(now.count):
        only = -1
        for v in range(nodes.room.shape[0]):
            if only < 0 and _is_ready(nodes, v, now.words[row, 0]):
                if _is_free(nodes, v, now.words[row, 0], now.words[row, 1]):
                    only = v
        for v in range(nodes.room.shape[0]):
            if (v == only or only < 0) and _is_ready(nodes, v, now.words[row, 0]):
                if not _compute(nodes, then, v, now, row, limit):
                    return _FULL
    return then.count


def step(nodes: Nodes, now: Positions, then: Positions, limit: cython.longlong) -> int:
    """Write all positions one computation later that have paid less than ``limit``.

    Returns how many there are, -1 if there is no room for them.
    """
    outcome: cython.longlong
    with cython.nogil:
        outcome = _step(nodes, now, then, limit)
    return int(outcome)


def begin(now: Positions) -> None:
    """Write the position before the first computation."""
    now.words[0, 0] = 0
    now.words[0, 1] = 0
    now.words[0, 2] = 0
    now.paid[0] = 0
    now.count = 1
