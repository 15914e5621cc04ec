"""Whether some set of actors on one core earns more than is allowed: every branch is looked at that may."""

from __future__ import annotations

import cython
import numpy as np


@cython.final
@cython.cclass
class Core:
    """A core, what actors ask of it and earn on it."""

    period: cython.longlong
    room: cython.longlong
    ticks: cython.const_longlong[::1]
    first: cython.const_longlong[::1]
    buffer: cython.const_longlong[::1]
    near: cython.const_longlong[::1]
    size: cython.const_longlong[::1]
    earned: cython.const_longlong[::1]
    price: cython.const_longlong[::1]
    per_tick: cython.longlong
    per_byte: cython.longlong
    most: cython.longlong  # what is allowed
    outside: cython.longlong[::1]  # per buffer, ticks of the accesses of actors that are on the core
    open: cython.longlong[::1]  # per buffer, accesses of actors that may come
    nodes: cython.longlong
    most_nodes: cython.longlong

    def __init__(
        self, period: cython.longlong, room: cython.longlong, ticks: cython.const_longlong[::1],
        first: cython.const_longlong[::1], buffer: cython.const_longlong[::1], near: cython.const_longlong[::1],
        size: cython.const_longlong[::1], earned: cython.const_longlong[::1], price: cython.const_longlong[::1],
    ) -> None:  # fmt: skip
        self.period, self.room, self.ticks, self.first = period, room, ticks, first
        self.buffer, self.near, self.size, self.earned = buffer, near, size, earned
        self.price = price
        self.per_tick = 0
        self.per_byte = 0
        self.most = 0
        self.outside = np.zeros(size.shape[0], np.int64)
        self.open = np.zeros(size.shape[0], np.int64)
        self.nodes = 0
        self.most_nodes = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _inside(core: Core, b: cython.Py_ssize_t) -> cython.longlong:
    return core.price[b] + core.per_byte * core.size[b]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _priced(core: Core, at: cython.Py_ssize_t, used: cython.longlong, earned: cython.longlong) -> cython.longlong:
    """Return what actors earn at most with those from ``at`` on open: ticks and bytes have prices, accesses share."""
    total: cython.longlong = earned + core.per_tick * (core.period - used) + core.per_byte * core.room
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for b in range(core.size.shape[0]):
        total -= min(core.per_tick * core.outside[b], _inside(core, b))
        core.open[b] = 0
    for a in range(at, core.ticks.shape[0]):
        if used + core.ticks[a] <= core.period:
            for k in range(core.first[a], core.first[a + 1]):
                core.open[core.buffer[k]] += 1
    for a in range(at, core.ticks.shape[0]):
        if used + core.ticks[a] <= core.period:
            worth = core.earned[a] - core.per_tick * core.ticks[a]
            for k in range(core.first[a], core.first[a + 1]):
                b = core.buffer[k]
                share = max(0, _inside(core, b) - core.per_tick * core.outside[b]) // core.open[b]
                worth -= min(core.per_tick * core.near[k], share)
            total += max(0, worth)
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _part(earned: cython.longlong, ticks: cython.longlong, whole: cython.longlong) -> cython.longlong:
    """Return a share of what is earned, rounded up."""
    share: cython.double = cython.cast(cython.double, earned) * ticks / whole
    return min(earned, cython.cast(cython.longlong, share * (1 + 1e-12)) + 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _filled(core: Core, at: cython.Py_ssize_t, used: cython.longlong) -> cython.longlong:
    """Return what the ticks left earn at most if accesses take none; actors come the richest per tick first."""
    spare: cython.longlong = core.period - used
    left: cython.longlong = spare
    earned: cython.longlong = 0
    a: cython.Py_ssize_t
    for a in range(at, core.ticks.shape[0]):
        if core.ticks[a] > spare:
            continue
        if core.ticks[a] > left:
            return earned + _part(core.earned[a], left, core.ticks[a]) + 1
        left -= core.ticks[a]
        earned += core.earned[a]
    return earned


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _puts(
    core: Core, b: cython.Py_ssize_t, used: cython.longlong, held: cython.longlong, earned: cython.longlong
) -> cython.bint:
    """Return whether buffers from ``b`` on can be put so that the actors on the core earn more than is allowed."""
    core.nodes += 1
    if used > core.period or held > core.room or earned <= core.most:
        return False
    rest: cython.longlong = core.per_tick * (core.period - used) + core.per_byte * (core.room - held)
    for k in range(b, core.size.shape[0]):
        rest -= min(core.per_tick * core.outside[k], _inside(core, k))
    if earned + rest <= core.most:
        return False
    while b < core.size.shape[0] and core.outside[b] == 0:
        b += 1
    if b == core.size.shape[0] or core.nodes > core.most_nodes:
        return True
    return _puts(core, b + 1, used, held + core.size[b], earned - core.price[b]) or _puts(
        core, b + 1, used + core.outside[b], held, earned
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _earns(core: Core, at: cython.Py_ssize_t, used: cython.longlong, earned: cython.longlong) -> cython.bint:
    """Return whether some set with the actors on the core, and others from ``at`` on, earns more than is allowed."""
    k: cython.Py_ssize_t
    core.nodes += 1
    if core.nodes > core.most_nodes:
        return True
    if earned + _filled(core, at, used) <= core.most or _priced(core, at, used, earned) <= core.most:
        return False
    while at < core.ticks.shape[0] and used + core.ticks[at] > core.period:
        at += 1
    if at == core.ticks.shape[0]:
        return _puts(core, 0, used, 0, earned)
    for k in range(core.first[at], core.first[at + 1]):
        core.outside[core.buffer[k]] += core.near[k]
    found = _earns(core, at + 1, used + core.ticks[at], earned + core.earned[at])
    for k in range(core.first[at], core.first[at + 1]):
        core.outside[core.buffer[k]] -= core.near[k]
    return found or _earns(core, at + 1, used, earned)


def earns_more(
    core: Core, most: cython.longlong, per_tick: cython.longlong, per_byte: cython.longlong, most_nodes: cython.longlong
) -> bool | None:
    """Return whether some set earns more than ``most``; None if that was not decided in so many nodes.

    Prices per tick and byte only cut branches: any are right, good ones make it quick.
    """
    core.most = most
    core.per_tick = per_tick
    core.per_byte = per_byte
    core.nodes = 0
    core.most_nodes = most_nodes
    found: cython.bint = False
    with cython.nogil:
        found = _earns(core, 0, 0, 0)
    if core.nodes > core.most_nodes:
        return None
    return bool(found)
