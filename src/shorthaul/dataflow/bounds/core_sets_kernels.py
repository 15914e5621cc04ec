"""The set of actors that earns most on one core within a period, by branch and bound.

Actors earn prices. An access takes ticks of the core unless its buffer is in the core's own memory, of which there is
``room``; a buffer there costs its price once. Two bounds cut branches: ticks and bytes at multipliers (Lagrangian
relaxation), and the fractional knapsack of the time left. Numbers are whole and rounded up, so that both are true.
"""

from __future__ import annotations

import cython
import numpy as np

#: Sets that are kept of one search.
KEPT = 4
#: Buffers that are passed over in the time of a step.
SKIPPED = cython.declare(cython.Py_ssize_t, 4)
#: Of a golden section, the part of the whole that the longer part is.
GOLDEN = cython.declare(cython.double, 0.6180339887498949)
#: The most that a multiplier comes to, over all ticks or bytes.
MOST_PRODUCT = cython.declare(cython.longlong, 1 << 48)


@cython.final
@cython.cclass
class CoreSets:
    """What actors ask of a core of one kind, and where the branch and bound stands.

    Accesses are listed twice, by actor and by buffer; those to buffers that the core's memory has no room for are among
    the ticks of actors.
    """

    period: cython.longlong
    room: cython.longlong
    ticks: cython.longlong[::1]  # per actor, -1 if it cannot run; a tick more than the period if it takes longer
    first: cython.const_longlong[::1]  # per actor, its first access
    buffer: cython.const_longlong[::1]  # per access by actor
    near: cython.longlong[::1]  # a tick more than the period if it takes longer
    begin: cython.const_longlong[::1]  # per buffer, its first access
    actor: cython.const_longlong[::1]  # per access by buffer
    access: cython.const_longlong[::1]  # its number by actor
    asked: cython.const_longlong[::1]  # per actor and per access, ticks for any period
    asked_near: cython.const_longlong[::1]
    size: cython.const_longlong[::1]  # per buffer
    order: cython.longlong[::1]  # of actors, in the tree
    earned: cython.const_longlong[::1]  # per actor
    price: cython.const_longlong[::1]  # per buffer in the core's memory
    per_tick = cython.declare(cython.longlong, visibility="readonly")
    per_byte = cython.declare(cython.longlong, visibility="readonly")
    worth: cython.longlong[::1]  # per actor that is undecided
    decided: cython.uchar[::1]  # per actor: 0 no, 1 left out, 2 taken
    busy: cython.longlong[::1]  # per buffer, ticks of the accesses of actors taken, if it is elsewhere
    inside: cython.uchar[::1]  # per buffer, whether it is in the core's memory
    left: cython.longlong[::1]  # per buffer, undecided actors that access it
    used: cython.longlong
    held: cython.longlong
    profit: cython.longlong
    steps = cython.declare(cython.longlong, visibility="readonly")
    most_steps: cython.longlong
    best = cython.declare(cython.longlong, visibility="readonly")
    # of the best and of those before it, by turns: actors, buffers in memory; how many were found
    taken = cython.declare(cython.uchar[:, ::1], visibility="readonly")
    local = cython.declare(cython.uchar[:, ::1], visibility="readonly")
    found = cython.declare(cython.longlong, visibility="readonly")
    rate: cython.double[::1]  # per actor, what it earns per tick, rounded up

    def __init__(
        self, ticks: cython.const_longlong[::1], first: cython.const_longlong[::1],
        buffer: cython.const_longlong[::1], near: cython.const_longlong[::1], size: cython.const_longlong[::1],
        room: cython.longlong,
    ) -> None:  # fmt: skip
        actors, buffers = ticks.shape[0], size.shape[0]
        self.first, self.buffer, self.asked, self.asked_near = first, buffer, ticks, near
        self.ticks, self.near = np.zeros(actors, np.int64), np.zeros(near.shape[0], np.int64)
        self.size, self.room = size, room
        of = np.repeat(np.arange(actors), np.diff(np.asarray(first)))
        keep = np.asarray(ticks)[of] >= 0
        order = np.argsort(np.asarray(buffer)[keep], kind="stable")
        counts = np.bincount(np.asarray(buffer)[keep], minlength=buffers)
        self.begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.actor = of[keep][order].astype(np.int64)
        self.access = np.flatnonzero(keep)[order].astype(np.int64)
        self.period = 0
        self.order = np.zeros(actors, np.int64)
        self.earned = np.zeros(actors, np.int64)
        self.price = np.zeros(buffers, np.int64)
        self.per_tick = 0
        self.per_byte = 0
        self.worth = np.zeros(actors, np.int64)
        self.decided = np.zeros(actors, np.uint8)
        self.busy = np.zeros(buffers, np.int64)
        self.inside = np.zeros(buffers, np.uint8)
        self.left = np.zeros(buffers, np.int64)
        self.used = 0
        self.held = 0
        self.profit = 0
        self.steps = 0
        self.most_steps = 0
        self.best = 0
        self.taken = np.zeros((KEPT, actors), np.uint8)
        self.local = np.zeros((KEPT, buffers), np.uint8)
        self.found = 0
        self.rate = np.zeros(actors)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _taken(at: CoreSets, b: cython.Py_ssize_t) -> cython.longlong:
    """Return the least that accesses of the actors taken to a buffer cost: in the core's memory, or outside."""
    return min(at.per_tick * at.busy[b], at.price[b] + at.per_byte * at.size[b])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _asked(at: CoreSets, b: cython.Py_ssize_t, near: cython.longlong) -> cython.longlong:
    """Return the least that an access of an undecided actor costs: its share of what the buffer's price leaves."""
    rest: cython.longlong = at.price[b] + at.per_byte * at.size[b] - at.per_tick * at.busy[b]
    return min(at.per_tick * near, max(0, rest) // max(1, at.left[b]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _change(at: CoreSets, b: cython.Py_ssize_t, left: cython.longlong, busy: cython.longlong) -> cython.void:
    """Let other actors be undecided and taken at a buffer, which changes the worth of the undecided ones."""
    k: cython.Py_ssize_t
    old_left: cython.longlong = at.left[b]
    old_busy: cython.longlong = at.busy[b]
    for k in range(at.begin[b], at.begin[b + 1]):
        a = at.actor[k]
        if at.decided[a]:
            continue
        at.steps += 1
        change = _asked(at, b, at.near[at.access[k]])
        at.left[b] = left
        at.busy[b] = busy
        change -= _asked(at, b, at.near[at.access[k]])
        at.left[b] = old_left
        at.busy[b] = old_busy
        at.worth[a] += change
    at.left[b] = left
    at.busy[b] = busy


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _ceiling(at: CoreSets, i: cython.Py_ssize_t) -> cython.longlong:
    """Return what the branch earns at most with the actors from ``i`` on that the core has time for."""
    spare: cython.longlong = at.period - at.used
    ceiling: cython.longlong = at.profit + at.per_tick * spare + at.per_byte * at.room
    for k in range(i, at.order.shape[0]):
        a = at.order[k]
        if 0 <= at.ticks[a] <= spare and at.worth[a] > 0:
            ceiling += at.worth[a]
    at.steps += at.order.shape[0] - i
    return ceiling


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _knapsack(at: CoreSets, i: cython.Py_ssize_t) -> cython.longlong:
    """Return what the time left earns at most where all buffers are in memory: parts of actors count.

    Actors come by what they earn per tick.
    """
    spare: cython.longlong = at.period - at.used
    left: cython.longlong = spare
    earned: cython.longlong = 0
    k: cython.Py_ssize_t = i
    a: cython.longlong
    while k < at.order.shape[0]:
        a = at.order[k]
        k += 1
        if not 0 <= at.ticks[a] <= spare:
            continue
        if at.ticks[a] > left:
            earned += cython.cast(cython.longlong, at.rate[a] * left) + 1
            break
        earned += at.earned[a]
        left -= at.ticks[a]
    at.steps += k - i
    return earned


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(at: CoreSets, b: cython.Py_ssize_t, earned: cython.longlong) -> cython.void:
    """Decide where the buffers are, from ``b`` on, that the actors taken access; note what earns more than before.

    ``profit`` counts what it costs at least; ``used`` and ``held`` what is decided.
    """
    at.steps += 1
    if at.steps > at.most_steps or at.used > at.period or at.held > at.room:
        return
    rest: cython.longlong = at.per_tick * (at.period - at.used) + at.per_byte * (at.room - at.held)
    if at.profit + rest <= at.best:
        return
    start: cython.Py_ssize_t = b
    while b < at.size.shape[0] and at.busy[b] == 0:
        b += 1
    at.steps += (b - start) // SKIPPED
    if b == at.size.shape[0]:
        if earned > at.best:
            at.best = earned
            turn = at.found % at.taken.shape[0]
            at.found += 1
            for k in range(at.taken.shape[1]):
                at.taken[turn, k] = at.decided[k] == 2
            for k in range(at.local.shape[1]):
                at.local[turn, k] = at.inside[k]
        return
    least: cython.longlong = _taken(at, b)
    at.inside[b] = 1
    at.held += at.size[b]
    at.profit += least - at.price[b]
    _place(at, b + 1, earned - at.price[b])
    at.profit -= least - at.price[b]
    at.held -= at.size[b]
    at.inside[b] = 0
    at.used += at.busy[b]
    at.profit += least
    _place(at, b + 1, earned)
    at.profit -= least
    at.used -= at.busy[b]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decide(at: CoreSets, i: cython.Py_ssize_t, earned: cython.longlong) -> cython.void:
    """Take the next actor of the order or leave it out, and so on."""
    k: cython.Py_ssize_t
    profit: cython.longlong = at.profit
    if at.steps > at.most_steps or earned + _knapsack(at, i) <= at.best or _ceiling(at, i) <= at.best:
        return
    while i < at.order.shape[0] and (at.ticks[at.order[i]] < 0 or at.used + at.ticks[at.order[i]] > at.period):
        i += 1
    if i == at.order.shape[0]:
        _place(at, 0, earned)
        return
    a = at.order[i]
    at.decided[a] = 2
    at.used += at.ticks[a]
    at.profit += at.earned[a]
    for k in range(at.first[a], at.first[a + 1]):
        b = at.buffer[k]
        at.profit += _taken(at, b)
        _change(at, b, at.left[b] - 1, at.busy[b] + at.near[k])
        at.profit -= _taken(at, b)
    _decide(at, i + 1, earned + at.earned[a])
    for k in range(at.first[a], at.first[a + 1]):
        b = at.buffer[k]
        _change(at, b, at.left[b], at.busy[b] - at.near[k])
    at.used -= at.ticks[a]
    at.profit = profit
    at.decided[a] = 1
    _decide(at, i + 1, earned)
    for k in range(at.first[a], at.first[a + 1]):
        _change(at, at.buffer[k], at.left[at.buffer[k]] + 1, at.busy[at.buffer[k]])
    at.decided[a] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _start(at: CoreSets) -> cython.longlong:
    """Work out the worth of every actor with nothing decided; return what is earned at most."""
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t
    at.profit = 0
    at.used = 0
    at.held = 0
    for b in range(at.size.shape[0]):
        at.busy[b] = 0
        at.left[b] = at.begin[b + 1] - at.begin[b]
    for a in range(at.ticks.shape[0]):
        at.order[a] = a
        at.decided[a] = 0
        if at.ticks[a] >= 0:
            at.worth[a] = at.earned[a] - at.per_tick * at.ticks[a]
            for k in range(at.first[a], at.first[a + 1]):
                at.worth[a] -= _asked(at, at.buffer[k], at.near[k])
            at.steps += 1
    return _ceiling(at, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _with(at: CoreSets, per_tick: cython.longlong, per_byte: cython.longlong) -> cython.longlong:
    at.per_tick = per_tick
    at.per_byte = per_byte
    return _start(at)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _inner(low: cython.longlong, high: cython.longlong) -> cython.longlong:
    """Return the inner point, of a golden section, that is closer to ``high``."""
    return low + cython.cast(cython.longlong, GOLDEN * (high - low))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best_per_tick(at: CoreSets, per_byte: cython.longlong, most: cython.longlong) -> cython.longlong:
    """Return the multiplier of ticks with the least ceiling, which is convex in it."""
    low: cython.longlong = 0
    high: cython.longlong = most
    other: cython.longlong = _inner(low, high)
    one: cython.longlong = low + high - other
    value_one: cython.longlong = _with(at, one, per_byte)
    value_other: cython.longlong = _with(at, other, per_byte)
    while high - low > 2 + most // 8192:
        if value_one <= value_other:
            high, other, value_other = other, one, value_one
            one = low + high - _inner(low, high)
            value_one = _with(at, one, per_byte)
        else:
            low, one, value_one = one, other, value_other
            other = _inner(low, high)
            value_other = _with(at, other, per_byte)
    return one if value_one <= value_other else other


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _multipliers(at: CoreSets, most: cython.longlong, most_byte: cython.longlong) -> cython.longlong:
    """Choose multipliers of ticks and bytes; return the ceiling with them."""
    low: cython.longlong = 0
    high: cython.longlong = most_byte
    per_tick: cython.longlong = _best_per_tick(at, 0, most)
    ceiling: cython.longlong = _with(at, per_tick, 0)
    step: cython.longlong = most_byte // 64
    if step == 0 or _with(at, _best_per_tick(at, step, most), step) >= ceiling:  # convex: none is better
        return _with(at, per_tick, 0)
    other: cython.longlong = _inner(low, high)
    one: cython.longlong = low + high - other
    value_one: cython.longlong = _with(at, _best_per_tick(at, one, most), one)
    value_other: cython.longlong = _with(at, _best_per_tick(at, other, most), other)
    while high - low > 2 + step:
        if value_one <= value_other:
            high, other, value_other = other, one, value_one
            one = low + high - _inner(low, high)
            value_one = _with(at, _best_per_tick(at, one, most), one)
        else:
            low, one, value_one = one, other, value_other
            other = _inner(low, high)
            value_other = _with(at, _best_per_tick(at, other, most), other)
    if min(value_one, value_other) >= ceiling:
        return _with(at, per_tick, 0)
    one = one if value_one <= value_other else other
    return _with(at, _best_per_tick(at, one, most), one)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _limit(at: CoreSets, period: cython.longlong) -> cython.void:
    """Let what takes longer than the period take a tick longer, so that no sum of ticks gets too large."""
    i: cython.Py_ssize_t
    at.period = period
    for i in range(at.ticks.shape[0]):
        at.ticks[i] = min(at.asked[i], period + 1)
    for i in range(at.near.shape[0]):
        at.near[i] = min(at.asked_near[i], period + 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rank(at: CoreSets) -> cython.void:
    """Order actors by what they earn per tick, the highest first."""
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    for i in range(at.order.shape[0]):
        at.rate[i] = (at.earned[i] / cython.cast(cython.double, at.ticks[i]) if at.ticks[i] > 0 else 4e18) * (1 + 1e-12)
        place = i
        while place and at.rate[at.order[place - 1]] < at.rate[i]:
            at.order[place] = at.order[place - 1]
            place -= 1
        at.order[place] = i


def dearest(
    at: CoreSets,
    period: cython.longlong,
    earned: cython.const_longlong[::1],
    price: cython.const_longlong[::1],
    target: cython.longlong,
    most_steps: cython.longlong,
) -> bool:
    """Look for the set that earns most, above ``target``; True if it was found, or there is none.

    ``best`` tells what it earns, ``target`` where none was found; ``taken`` and ``local`` what is in the last sets that
    were the best so far.
    """
    most: cython.longlong
    most_byte: cython.longlong
    richest: cython.longlong = 1
    bytes_asked: cython.longlong = 0
    i: cython.Py_ssize_t
    with cython.nogil:
        _limit(at, period)
        at.earned = earned
        at.price = price
        at.best = target
        at.found = 0
        for i in range(earned.shape[0]):
            richest = max(richest, earned[i] + 1)
        most = min(32 * richest // max(1, period) + 1, MOST_PRODUCT // max(1, period))
        for i in range(at.size.shape[0]):
            if at.begin[i + 1] > at.begin[i]:
                bytes_asked += at.size[i]
        most_byte = 0
        if 0 < at.room < bytes_asked:
            most_byte = min(8 * richest // at.room + 1, MOST_PRODUCT // at.room)
        _multipliers(at, most, most_byte)
        at.most_steps = at.steps + most_steps
        _rank(at)
        _decide(at, 0, 0)
    return bool(at.steps <= at.most_steps)
