"""Annealing of event sequences: which values are computed or loaded, in which order, and again."""

from __future__ import annotations

import cython
from cython.cimports.libc.math import exp, log
from cython.cimports.shorthaul.pebble.local_search.sequence_change_kernels import accept, attempt, reject
from cython.cimports.shorthaul.pebble.local_search.sequence_state_kernels import (
    Annealer,
    Board,
    Change,
    Sequence,
    copy,
    evaluate,
)

#: How many values one move brings in, the operands of operands included.
_MOST_INSERTED = cython.declare(cython.longlong, 12)
#: Draws of a random event after which a move is given up; of one whose value waits.
_TRIES = cython.declare(cython.longlong, 8)
_IDLE_TRIES = cython.declare(cython.longlong, 40)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(c: Change, node: cython.longlong, is_load: cython.uchar) -> cython.void:
    """Add an event to the change."""
    c.nodes[c.size] = node
    c.loads[c.size] = is_load
    c.size += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _removes(a: Annealer, now: Sequence, c: Change) -> cython.bint:
    """Leave out an event that repeats an earlier one, and often what came in for it alone."""
    _tries: cython.Py_ssize_t
    gone: cython.longlong = -1
    for _tries in range(_TRIES):
        drawn = a.random.below(now.size)
        if not now.firsts[drawn]:
            gone = drawn
            break
    if gone < 0:
        return False
    c.low = gone
    c.high = gone + 1
    if a.random.below(2):  # events right before that only this one reads go with it
        while c.low > 0 and now.last_use[c.low - 1] <= gone and not now.firsts[c.low - 1]:
            c.low -= 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _kind(a: Annealer, b: Board, node: cython.longlong) -> cython.longlong:
    """Draw how a value comes back: 0 computed, 1 loaded, -1 not at all."""
    if b.given[node]:
        return 1
    may_load: cython.bint = b.load >= 0 and b.store >= 0
    if may_load and (not b.recompute or a.random.below(2)):
        return 1
    return 0 if b.recompute else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _step(a: Annealer, now: Sequence) -> cython.longlong:
    """Draw an event at which the memory is too full, if there is one; any other at times."""
    _tries: cython.Py_ssize_t
    best: cython.longlong = a.random.below(now.size)
    if now.excess > 0 and a.random.below(8):
        for _tries in range(_TRIES):
            at = a.random.below(now.size)
            if now.held[at] > now.held[best]:
                best = at
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _idle(a: Annealer, now: Sequence, b: Board, step: cython.longlong) -> cython.longlong:
    """Draw an event before ``step`` whose value is only read after it; -1 if none is met."""
    edge: cython.Py_ssize_t
    _tries: cython.Py_ssize_t
    if step == 0:
        return -1
    a.stamp += 1
    node = now.nodes[step]
    if not now.loads[step]:
        for edge in range(b.starts[node], b.starts[node + 1]):
            a.mark[b.parents[edge]] = a.stamp
    for _tries in range(_IDLE_TRIES):
        at = a.random.below(step)
        if now.last_use[at] > step and a.mark[now.nodes[at]] != a.stamp:
            return at
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_use(a: Annealer, now: Sequence, b: Board, made: cython.longlong, step: cython.longlong) -> cython.longlong:
    """Return the first event after ``step`` that reads what event ``made`` brought."""
    edge: cython.Py_ssize_t
    node = now.nodes[made]
    found: cython.longlong = now.last_use[made]
    for edge in range(b.child_starts[node], b.child_starts[node + 1]):
        at = now.head[b.children[edge]]
        while 0 <= at < found:
            if at > step and not now.loads[at]:
                found = at
            at = now.following[at]
        a.work += 1
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_there(a: Annealer, now: Sequence, node: cython.longlong, step: cython.longlong) -> cython.bint:
    """True if the value is in fast memory at ``step``, or computed nowhere before."""
    at: cython.longlong = now.head[node]
    if at >= step:
        return True
    while 0 <= now.following[at] < step:
        at = now.following[at]
        a.work += 1
    return now.last_use[at] >= step


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _inserts(a: Annealer, now: Sequence, c: Change, b: Board) -> cython.bint:
    """Let a value that waits go, and bring it back before its next reader, with operands that are gone by then."""
    edge: cython.Py_ssize_t
    at: cython.Py_ssize_t
    step = _step(a, a.now)
    made = _idle(a, a.now, a.board, step)
    if made < 0:
        return False
    kind = _kind(a, a.board, now.nodes[made])
    if kind < 0:
        return False
    place = _next_use(a, a.now, a.board, made, step)
    if a.random.below(4) == 0 and place > step + 1:
        place = step + 1 + a.random.below(place - step)
    a.inserted[0] = now.nodes[made]
    a.kinds[0] = kind
    count: cython.longlong = 1
    looked: cython.longlong = 0
    a.stamp += 1
    a.mark[now.nodes[made]] = a.stamp
    while looked < count:
        node = a.inserted[looked]
        if not a.kinds[looked]:
            for edge in range(b.starts[node], b.starts[node + 1]):
                parent = b.parents[edge]
                if count < _MOST_INSERTED and a.mark[parent] != a.stamp and not _is_there(a, a.now, parent, place):
                    kind = _kind(a, a.board, parent)
                    if kind >= 0 and a.random.below(8):
                        a.mark[parent] = a.stamp
                        a.inserted[count] = parent
                        a.kinds[count] = kind
                        count += 1
        looked += 1
    if now.size + count > now.nodes.shape[0]:
        return False
    _ordered(a, count)
    c.low = place
    c.high = place
    for at in range(count):
        _put(c, a.inserted[at], a.kinds[at])
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _ordered(a: Annealer, count: cython.longlong) -> cython.void:
    """Sort what comes in along the graph: nodes are numbered in topological order."""
    at: cython.longlong
    for at in range(1, count):
        node, kind = a.inserted[at], a.kinds[at]
        put: cython.longlong = at
        while put > 0 and a.inserted[put - 1] > node:
            a.inserted[put] = a.inserted[put - 1]
            a.kinds[put] = a.kinds[put - 1]
            put -= 1
        a.inserted[put] = node
        a.kinds[put] = kind


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shifts(a: Annealer, now: Sequence) -> cython.bint:
    """Move an event elsewhere: earlier with what it needs in between, later with what needs it."""
    _tries: cython.Py_ssize_t
    first: cython.longlong = a.random.below(now.size)
    for _tries in range(_TRIES):
        if not (a.board.in_order and now.firsts[first] and not now.loads[first]):
            break
        first = a.random.below(now.size)
    reach: cython.longlong = now.size
    if a.random.below(4):
        reach = 1 + a.random.below(min(now.size, 40))
    target: cython.longlong = first + a.random.below(2 * reach + 1) - reach
    target = max(cython.cast(cython.longlong, 0), min(target, now.size - 1))
    if target == first:
        return False
    if a.board.in_order and now.firsts[first] and not now.loads[first]:
        return False
    if target < first:
        _earlier(a, a.now, a.change, a.board, first, target)
    else:
        _later(a, a.now, a.change, a.board, first, target)
    return _is_trimmed(a.now, a.change)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _earlier(
    a: Annealer, now: Sequence, c: Change, b: Board, first: cython.longlong, target: cython.longlong
) -> cython.void:
    edge: cython.Py_ssize_t
    at: cython.longlong
    goes: cython.bint
    c.low = target
    c.high = first + 1
    a.work += first - target
    put: cython.longlong = first - target  # those that stay are written from behind, those that go from before
    waiting: cython.longlong = 0
    a.stamp += 1
    for at in range(first, target - 1, -1):
        node = now.nodes[at]
        goes = at == first or (a.mark[node] == a.stamp and now.firsts[at])
        if goes:
            c.held[waiting] = at
            waiting += 1
            if not now.loads[at]:
                for edge in range(b.starts[node], b.starts[node + 1]):
                    a.mark[b.parents[edge]] = a.stamp
        else:
            c.nodes[put] = node
            c.loads[put] = now.loads[at]
            put -= 1
    for at in range(waiting):
        c.nodes[put - at] = now.nodes[c.held[at]]
        c.loads[put - at] = now.loads[c.held[at]]
    c.size = c.high - c.low


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _later(
    a: Annealer, now: Sequence, c: Change, b: Board, first: cython.longlong, target: cython.longlong
) -> cython.void:
    edge: cython.Py_ssize_t
    at: cython.longlong
    goes: cython.bint
    c.low = first
    c.high = target + 1
    a.work += target - first
    waiting: cython.longlong = 0
    is_needed: cython.bint = now.firsts[first]
    a.stamp += 1
    for at in range(first, target + 1):
        node = now.nodes[at]
        goes = at == first
        if is_needed and not goes:
            goes = a.mark[node] == a.stamp
            if not goes and not now.loads[at]:
                for edge in range(b.starts[node], b.starts[node + 1]):
                    if a.mark[b.parents[edge]] == a.stamp:
                        goes = True
                        break
        if goes:
            a.mark[node] = a.stamp
            c.held[waiting] = at
            waiting += 1
        else:
            _put(c, node, now.loads[at])
    for at in range(waiting):
        _put(c, now.nodes[c.held[at]], now.loads[c.held[at]])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_trimmed(now: Sequence, c: Change) -> cython.bint:
    """Leave out of a change what is as it was at its ends; False if nothing is left."""
    at: cython.Py_ssize_t
    same: cython.longlong = 0
    while c.size > 0 and c.nodes[c.size - 1] == now.nodes[c.high - 1] and c.loads[c.size - 1] == now.loads[c.high - 1]:
        c.size -= 1
        c.high -= 1
    while same < c.size and c.nodes[same] == now.nodes[c.low + same] and c.loads[same] == now.loads[c.low + same]:
        same += 1
    c.low += same
    c.size -= same
    if same > 0:
        for at in range(c.size):
            c.nodes[at] = c.nodes[at + same]
            c.loads[at] = c.loads[at + same]
    return c.size > 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _switches(a: Annealer, now: Sequence, c: Change, b: Board) -> cython.bint:
    """Load what was computed again, or compute what was loaded again."""
    _tries: cython.Py_ssize_t
    if b.load < 0 or b.store < 0 or not b.recompute:
        return False
    for _tries in range(_TRIES):
        at = a.random.below(now.size)
        if not b.given[now.nodes[at]] and not now.firsts[at]:
            c.low = at
            c.high = at + 1
            _put(c, now.nodes[at], 1 - now.loads[at])
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _moves(a: Annealer) -> cython.bint:
    drawn = a.random.below(16)
    a.change.size = 0
    if drawn < 5:
        return _inserts(a, a.now, a.change, a.board)
    if drawn < 9:
        return _removes(a, a.now, a.change)
    if drawn < 10:
        return _switches(a, a.now, a.change, a.board)
    return _shifts(a, a.now)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keeps(a: Annealer) -> cython.void:
    if a.now.excess == 0 and (not a.has_best or a.now.price < a.best.price):
        copy(a.now, a.best)
        a.work += a.now.size
        a.has_best = True


def set_up(annealer: Annealer) -> bool:
    """Price the sequence as it stands; False if it breaks a rule other than the budget."""
    fine: cython.bint
    with cython.nogil:
        fine = evaluate(annealer, annealer.board, annealer.now)
        if fine:
            _keeps(annealer)
    return bool(fine)


def restart(annealer: Annealer) -> None:
    """Go back to the best sequence that fits, if there is one."""
    with cython.nogil:
        if annealer.has_best:
            copy(annealer.best, annealer.now)
            evaluate(annealer, annealer.board, annealer.now)


def anneal(
    annealer: Annealer,
    hot: cython.double,
    cold: cython.double,
    penalty: cython.double,
    begin: cython.double,
    end: cython.double,
    most: cython.longlong,
) -> None:
    """Try moves for ``most`` units of work while the temperature falls, ``begin`` to ``end`` of the way to ``cold``.

    A sequence is judged by its price and ``penalty`` times its excess.
    """
    with cython.nogil:
        _anneal(annealer, hot, cold, penalty, begin, end, most)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(
    a: Annealer,
    hot: cython.double,
    cold: cython.double,
    penalty: cython.double,
    begin: cython.double,
    end: cython.double,
    most: cython.longlong,
) -> cython.void:
    progress: cython.double
    heat: cython.double
    before: cython.double
    after: cython.double
    first: cython.longlong = a.work
    steep: cython.double = log(cold / hot)
    while a.work < first + most:
        a.work += 10
        if not _moves(a):
            continue
        a.work += a.change.size
        if not attempt(a.board, a.now, a.change):
            continue
        a.work += 3 * a.change.count + a.change.low - a.change.first_risen
        progress = begin + (end - begin) * (a.work - first) / most
        heat = hot * exp(steep * progress)
        before = a.now.price + penalty * a.now.excess
        after = a.change.price + penalty * a.change.excess
        if after <= before - heat * log(1.0 - a.random.real()):
            a.work += a.now.size // 8
            accept(a.board, a.now, a.change)
            _keeps(a)
        else:
            reject(a.board, a.now, a.change)
