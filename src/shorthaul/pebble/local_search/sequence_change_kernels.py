"""Changes of event sequences: what they cost and hold, found from the events that they replace alone."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.pebble.local_search.sequence_state_kernels import Board, Change, Sequence


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def attempt(b: Board, s: Sequence, c: Change) -> cython.bint:
    """Find what the sequence costs and holds with the change; False, and nothing left behind, if it breaks a rule.

    Afterwards comes either :func:`accept` or :func:`reject`.
    """
    c.stamp += 1
    c.count = 0
    c.slid_count = 0
    c.first_risen = c.low
    _meet_all(b, s, c, s.nodes, s.loads, c.low, c.high)
    _meet_all(b, s, c, c.nodes, c.loads, 0, c.size)
    if not _walks(b, c):
        return False
    c.price = s.price + _exchanged(b, s, c, 1)
    c.excess = s.excess + _refilled(b, s, c)
    return True


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def reject(b: Board, s: Sequence, c: Change) -> cython.void:
    """Forget a change that was tried."""
    at: cython.Py_ssize_t
    _exchanged(b, s, c, -1)
    for at in range(c.first_risen, c.low + 1):
        c.risen[at] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _meet_all(
    b: Board,
    s: Sequence,
    c: Change,
    nodes: cython.longlong[::1],
    loads: cython.uchar[::1],
    first: cython.longlong,
    end: cython.longlong,
) -> cython.void:
    """Note the values of some events, and those that they read."""
    at: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    for at in range(first, end):
        node = nodes[at]
        if c.mark[node] != c.stamp:
            _meet(b, s, c, node)
        if not loads[at]:
            for edge in range(b.starts[node], b.starts[node + 1]):
                if c.mark[b.parents[edge]] != c.stamp:
                    _meet(b, s, c, b.parents[edge])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _meet(b: Board, s: Sequence, c: Change, node: cython.longlong) -> cython.void:
    """Note where a value comes from before the change, and where it is read before and behind it."""
    carrier: cython.longlong = -1
    at: cython.longlong = s.head[node]
    while 0 <= at < c.low:
        carrier = at
        at = s.following[at]
    newest: cython.longlong = carrier
    while 0 <= at < c.high:
        newest = at
        at = s.following[at]
    last: cython.longlong = carrier
    if carrier >= 0:
        last = s.last_use[carrier]
        if last >= c.low:
            last = _last_read(b, s, node, carrier, c.low)
    c.mark[node] = c.stamp
    c.met[c.count] = node
    c.count += 1
    c.before[node] = carrier
    c.carrier[node] = carrier
    c.last[node] = last
    c.after[node] = at
    c.tail[node] = -1
    if newest >= 0 and s.last_use[newest] >= c.high:
        c.tail[node] = s.last_use[newest]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _last_read(
    b: Board, s: Sequence, node: cython.longlong, made: cython.longlong, end: cython.longlong
) -> cython.longlong:
    """Return the last event before ``end`` that reads what event ``made`` brought; ``made`` if there is none."""
    edge: cython.Py_ssize_t
    last: cython.longlong = made
    for edge in range(b.child_starts[node], b.child_starts[node + 1]):
        at = s.head[b.children[edge]]
        while 0 <= at < end:
            if at > last and not s.loads[at]:
                last = at
            at = s.following[at]
    return last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _close(b: Board, c: Change, node: cython.longlong) -> cython.void:
    """Note until when the newest event of a value is read."""
    made: cython.longlong = c.carrier[node]
    last: cython.longlong = c.last[node]
    if made >= c.low:
        c.last_use[made - c.low] = last
    else:
        c.until[node] = last
    if c.low <= last < c.low + c.size:
        c.leaves[last - c.low] += b.weights[node]
        if last != made and b.weights[node] > c.widest[last - c.low]:
            c.widest[last - c.low] = b.weights[node]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walks(b: Board, c: Change) -> cython.bint:
    """Go through the new events as :func:`evaluate` does, but for prices; False if one breaks a rule."""
    at: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    highest: cython.longlong = -1
    for at in range(c.size):
        node = c.nodes[at]
        made = c.carrier[node]
        c.firsts[at] = made < 0
        c.leaves[at] = 0
        c.widest[at] = 0
        if c.loads[at]:
            if made < 0 and not b.given[node]:
                return False
        else:
            if made < 0:
                if b.in_order and node < highest:
                    return False
                highest = node
            elif not b.recompute:
                return False
            for edge in range(b.starts[node], b.starts[node + 1]):
                parent = b.parents[edge]
                if c.carrier[parent] < 0:
                    return False
                c.last[parent] = c.low + at
        if made >= 0:
            _close(b, c, node)
        c.carrier[node] = c.low + at
        c.last[node] = c.low + at
    for at in range(c.count):
        node = c.met[at]
        if c.tail[node] >= 0:
            if c.carrier[node] < 0:
                return False
            c.last[node] = c.tail[node] + c.size + c.low - c.high
        if c.carrier[node] >= 0:
            _close(b, c, node)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _event_price(
    b: Board, s: Sequence, node: cython.longlong, is_load: cython.bint, times: cython.longlong
) -> cython.longlong:
    """Return what ``times`` (1 or -1) events more of a kind cost, the store of a value that is loaded included."""
    price: cython.longlong = b.compute[node]
    if is_load:
        price = b.load * b.weights[node]
        if not b.given[node]:
            if not b.outputs[node] and s.loaded[node] == (0 if times > 0 else 1):
                price += b.store * b.weights[node]
            s.loaded[node] += times
    return times * price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _exchanged(b: Board, s: Sequence, c: Change, times: cython.longlong) -> cython.longlong:
    """Count the new events in place of the old ones, or (``times`` -1) the other way round; return what that costs."""
    at: cython.Py_ssize_t
    price: cython.longlong = 0
    for at in range(c.low, c.high):
        price += _event_price(b, s, s.nodes[at], s.loads[at], -times)
    for at in range(c.size):
        price += _event_price(b, s, c.nodes[at], c.loads[at], times)
    return price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rise(c: Change, first: cython.longlong, last: cython.longlong, by: cython.longlong) -> cython.void:
    """Note that so much more is held from event ``first`` to ``last``, before the change."""
    c.risen[first] += by
    c.risen[last + 1] -= by
    c.first_risen = min(c.first_risen, first)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _beyond(held: cython.longlong, budget: cython.longlong) -> cython.longlong:
    return held - budget if held > budget else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _refilled(b: Board, s: Sequence, c: Change) -> cython.longlong:
    """Find what the memory holds with the change; return by how much more that is too much."""
    at: cython.Py_ssize_t
    held: cython.longlong = 0
    excess: cython.longlong = 0
    edge: cython.longlong = c.low - 1
    if c.low < s.size:
        held = s.held[c.low] - (0 if s.slides[c.low] else b.weights[s.nodes[c.low]])
    for at in range(c.count):
        node = c.met[at]
        if c.before[node] < 0:
            continue
        old: cython.longlong = s.last_use[c.before[node]]
        new: cython.longlong = c.until[node]
        if old >= c.low:
            held -= b.weights[node]
        if new >= c.low:
            held += b.weights[node]
        if min(new, edge) < min(old, edge):
            _rise(c, new + 1, min(old, edge), -b.weights[node])
        elif min(new, edge) > min(old, edge):
            _rise(c, old + 1, min(new, edge), b.weights[node])
        if b.in_place and old != new:
            _note_slides(b, s, c, old)
            _note_slides(b, s, c, new)
    for at in range(c.low, c.high):
        excess -= _beyond(s.held[at], b.budget)
    for at in range(c.size):
        own = b.weights[c.nodes[at]]
        c.held[at] = held if b.in_place and c.widest[at] >= own else held + own
        excess += _beyond(c.held[at], b.budget)
        held += own - c.leaves[at]
    more: cython.longlong = 0
    for at in range(c.first_risen, c.low):
        more += c.risen[at]
        if more != 0:
            excess += _beyond(s.held[at] + more, b.budget) - _beyond(s.held[at], b.budget)
    return excess


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note_slides(b: Board, s: Sequence, c: Change, at: cython.longlong) -> cython.void:
    """Note an event before the change whose result takes an operand's room now, or does so no longer."""
    edge: cython.Py_ssize_t
    slides: cython.bint = False
    if at >= c.low:
        return
    node = s.nodes[at]
    own = b.weights[node]
    for edge in range(c.slid_count):
        if c.slid[edge] == at:
            return
    if not s.loads[at]:
        for edge in range(b.starts[node], b.starts[node + 1]):
            parent = b.parents[edge]
            made = s.head[parent]
            while 0 <= s.following[made] < at:
                made = s.following[made]
            last = s.last_use[made]
            if c.mark[parent] == c.stamp and c.before[parent] == made:
                last = c.until[parent]
            if last == at and b.weights[parent] >= own:
                slides = True
    if slides != s.slides[at]:
        c.slid[c.slid_count] = at
        c.slid_count += 1
        _rise(c, at, at, -own if slides else own)


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def accept(b: Board, s: Sequence, c: Change) -> cython.void:
    """Let the change that was tried be part of the sequence, which has room for it."""
    at: cython.Py_ssize_t
    more: cython.longlong = 0
    by: cython.longlong = c.size + c.low - c.high
    for at in range(c.first_risen, c.low):
        more += c.risen[at]
        s.held[at] += more
        c.risen[at] = 0
    c.risen[c.low] = 0
    for at in range(c.slid_count):
        s.slides[c.slid[at]] = not s.slides[c.slid[at]]
    if by != 0:
        _shift(s, c, by)
    for at in range(c.count):
        node = c.met[at]
        c.carrier[node] = c.before[node]
        if c.before[node] >= 0:
            s.last_use[c.before[node]] = c.until[node]
    for at in range(c.size):
        node = c.nodes[at]
        _link(s, node, c.carrier[node], c.low + at)
        c.carrier[node] = c.low + at
        s.nodes[c.low + at] = node
        s.loads[c.low + at] = c.loads[at]
        s.last_use[c.low + at] = c.last_use[at]
        s.held[c.low + at] = c.held[at]
        s.firsts[c.low + at] = c.firsts[at]
        s.slides[c.low + at] = b.in_place and c.widest[at] >= b.weights[node]
    for at in range(c.count):
        node = c.met[at]
        _link(s, node, c.carrier[node], c.after[node] + by if c.after[node] >= 0 else -1)
    s.price = c.price
    s.excess = c.excess


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _link(s: Sequence, node: cython.longlong, before: cython.longlong, at: cython.longlong) -> cython.void:
    """Let ``at`` be the next event of a value after ``before``, or its first."""
    if before < 0:
        s.head[node] = at
    else:
        s.following[before] = at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shift(s: Sequence, c: Change, by: cython.longlong) -> cython.void:
    """Move what lies behind the change."""
    at: cython.Py_ssize_t
    step: cython.longlong
    for at in range(s.head.shape[0]):
        if s.head[at] >= c.high:
            s.head[at] += by
    for at in range(c.low):
        if s.last_use[at] >= c.high:
            s.last_use[at] += by
        if s.following[at] >= c.high:
            s.following[at] += by
    for at in range(s.size - c.high):
        step = c.high + at if by < 0 else s.size - 1 - at
        s.nodes[step + by] = s.nodes[step]
        s.loads[step + by] = s.loads[step]
        s.last_use[step + by] = s.last_use[step] + by
        s.held[step + by] = s.held[step]
        s.firsts[step + by] = s.firsts[step]
        s.slides[step + by] = s.slides[step]
        s.following[step + by] = s.following[step] + by if s.following[step] >= 0 else -1
    s.size += by
