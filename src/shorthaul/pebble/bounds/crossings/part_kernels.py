"""Compiled loops of :mod:`crossing`: nodes that others all need, and those others, between which paths are laid."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.pebble.bounds.crossings.laid_kernels import forget, walk
from cython.cimports.shorthaul.pebble.bounds.crossings.path_kernels import Paths, settled

_MOST = cython.declare(cython.longlong, 20_000_000)  # work after which a part is left as it is


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _past(paths: Paths, node: cython.longlong, longest: cython.longlong, room: cython.longlong) -> cython.longlong:
    """Let paths go from what a node needs to some nodes that need it; return the weight of their starts.

    Starts are nodes from which so many steps lead to the later ones, if the node needs them: no more steps below it
    are taken than the lowest of these is away.
    """
    part: cython.longlong = paths.stamp
    weight: cython.longlong = 0
    most: cython.longlong = 4 * room + 256
    lowest: cython.longlong = paths.key[node]
    head: cython.Py_ssize_t = 0
    tail: cython.Py_ssize_t
    later: cython.Py_ssize_t
    end: cython.Py_ssize_t
    i: cython.Py_ssize_t
    w: cython.longlong
    paths.barred[node] = part
    paths.is_later[node] = part
    for i in range(paths.parent_starts[node], paths.parent_starts[node + 1]):
        if not paths.partial:
            paths.barred[paths.parents[i]] = part
    tail = walk(paths.queue, node, paths.child_starts, paths.children, paths.is_later, part, paths.key, lowest, most)
    later = tail
    paths.work += tail
    most = max(most, later)
    for _ in range(longest):
        if tail > 8 * most:
            break
        end = tail
        while head < end:
            for i in range(paths.parent_starts[paths.queue[head]], paths.parent_starts[paths.queue[head] + 1]):
                w = paths.parents[i]
                if paths.is_later[w] != part and paths.counted[w] != part:
                    if paths.taken[0, w] < 0 and paths.barred[w] != part:
                        paths.counted[w] = part
                        paths.queue[tail] = w
                        tail += 1
                        lowest = min(lowest, paths.key[w])
            head += 1
    paths.work += tail
    paths.start_count = 0
    if tail > later:
        most *= 16
        tail = walk(
            paths.queue, node, paths.parent_starts, paths.parents, paths.is_start, part, paths.key, lowest, most
        )
        paths.work += tail
        for i in range(1, tail):
            w = paths.queue[i]
            if paths.counted[w] == part:
                paths.starts[paths.start_count] = w
                paths.start_count += 1
                weight += paths.weights[w]
    return weight


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lower(paths: Paths, cone: cython.longlong) -> cython.void:
    """Put what the deepest nodes of the frontier read in their place, without inputs and constants."""
    deepest: cython.longlong = 0
    kept: cython.Py_ssize_t = 0
    added: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    v: cython.longlong
    w: cython.longlong
    for i in range(paths.frontier_count):
        deepest = max(deepest, paths.key[paths.frontier[i]])
    for i in range(paths.frontier_count):
        v = paths.frontier[i]
        if paths.key[v] < deepest:
            paths.frontier[kept] = v
            kept += 1
            continue
        for e in range(paths.parent_starts[v], paths.parent_starts[v + 1]):
            w = paths.parents[e]
            if paths.seen[w] != cone and paths.parent_starts[w] < paths.parent_starts[w + 1]:
                paths.seen[w] = cone
                paths.queue[added] = w
                added += 1
    for i in range(added):
        paths.frontier[kept + i] = paths.queue[i]
    paths.frontier_count = kept + added
    paths.work += kept + added


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(paths: Paths, tail: cython.Py_ssize_t, v: cython.longlong, bits: cython.ulonglong) -> cython.Py_ssize_t:
    """Say that a node needs some starts; return where the queue ends then."""
    if paths.met[2 * v] != paths.stamp:
        paths.met[2 * v] = paths.stamp
        paths.needs[v] = 0
        paths.ends[v] = paths.first[paths.key[v]]
        paths.first[paths.key[v]] = v
        paths.queue[tail] = v
        tail += 1
    paths.needs[v] |= bits
    return tail


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _common(paths: Paths, part: cython.longlong, lowest: cython.longlong, most: cython.longlong) -> cython.longlong:
    """Find the nodes up to a key that need all starts; return the least weight of one, 0 if there is at most one.

    The needed starts of nodes are handed on level by level, 64 of them at once, the first of which lie far apart.
    """
    lightest: cython.longlong = 0
    common: cython.Py_ssize_t
    tail: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    at: cython.Py_ssize_t
    level: cython.longlong
    v: cython.longlong
    w: cython.longlong
    rounds: cython.longlong = 0
    one: cython.ulonglong = 1
    all_of: cython.ulonglong
    end: cython.longlong = paths.work + _MOST
    at = 0
    while at < paths.start_count:
        paths.stamp += 1
        tail, common, all_of = 0, 0, 0
        for i in range(at, min(at + 64, paths.start_count)):
            v = paths.starts[paths.start_count - 1 - i // 2 if i & 1 else i // 2]
            tail = _enter(paths, tail, v, one << (i - at))
            all_of |= one << (i - at)
        for level in range(lowest, most + 1):
            v = paths.first[level]
            paths.first[level] = -1
            while v >= 0:
                for e in range(paths.child_starts[v], paths.child_starts[v + 1]):
                    w = paths.children[e]
                    if paths.key[w] <= most:
                        tail = _enter(paths, tail, w, paths.needs[v])
                if paths.needs[v] == all_of and paths.is_start[v] != part:
                    if paths.counted[v] != part:
                        paths.counted[v] = part
                        paths.hits[v] = 0
                    paths.hits[v] += 1
                    common += paths.hits[v] == rounds + 1
                v = paths.ends[v]
        paths.work += 4 * tail + most - lowest
        rounds += 1
        at += 64
        if common <= 1 or paths.work > end:  # the operands of one node fit beside it
            return 0
    for i in range(tail):
        w = paths.queue[i]
        if paths.counted[w] == part and paths.hits[w] == rounds:
            paths.is_later[w] = part
            lightest = paths.weights[w] if lightest == 0 else min(lightest, paths.weights[w])
    return lightest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _below(
    paths: Paths, node: cython.longlong, budget: cython.longlong, price: cython.double, longest: cython.longlong
) -> cython.longlong:
    """Take the first part worth its price of paths from what a node is computed from, deeper and deeper.

    What was tried for another node, in vain, is not tried again.
    """
    cone: cython.longlong
    part: cython.longlong
    weight: cython.longlong
    lightest: cython.longlong
    lowest: cython.longlong
    found: cython.longlong
    name: cython.longlong
    i: cython.Py_ssize_t
    v: cython.longlong
    paths.stamp += 1
    cone = paths.stamp
    paths.frontier[0] = node
    paths.frontier_count = 1
    for _ in range(2 * longest):
        _lower(paths, cone)
        if paths.frontier_count == 0 or paths.frontier_count > 4 * budget + 32:
            return 0
        paths.stamp += 1
        part = paths.stamp
        paths.start_count = 0
        weight = 0
        lowest = name = paths.key[node]
        for i in range(paths.frontier_count):
            v = paths.frontier[i]
            if paths.taken[0, v] < 0:
                lowest = min(lowest, paths.key[v])
                name += paths.names[v]
                paths.is_start[v] = part
                paths.starts[paths.start_count] = v
                paths.start_count += 1
                weight += paths.weights[v]
        v = paths.starts[0]
        if weight <= budget or paths.tried[v] == name or paths.tried[v] == name + paths.passes:
            continue
        paths.tried[v] = name
        lightest = _common(paths, part, lowest, paths.key[node])
        if lightest == 0:
            return 0
        paths.tried[v] += paths.passes
        found = settled(paths, part, -1, budget if paths.partial else budget - lightest, price, longest)
        forget(paths.starts, paths.start_count, paths.after, paths.before)
        if found:
            return found
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _beside(
    paths: Paths, node: cython.longlong, budget: cython.longlong, price: cython.double, longest: cython.longlong
) -> cython.longlong:
    """Take the paths from what a node needs to what needs it, if they are worth their price."""
    room: cython.longlong = budget - paths.weights[node]
    found: cython.longlong = 0
    i: cython.Py_ssize_t
    for i in range(paths.parent_starts[node], paths.parent_starts[node + 1]):
        if not paths.partial:
            room -= paths.weights[paths.parents[i]]
    paths.stamp += 1
    if _past(paths, node, longest, room) > room:
        found = settled(paths, paths.barred[node], node, room, price, longest)
        forget(paths.starts, paths.start_count, paths.after, paths.before)
    return found


def advance(
    paths: Paths,
    order: cython.const_longlong[::1],
    budget: cython.longlong,
    price: cython.double,
    longest: cython.longlong,
    is_common: cython.bint,
    work: cython.longlong,
) -> bool:
    """Look for parts at further nodes, in an order, for so much work; True at its end, from where it begins again.

    A part has to come to ``price`` for each of its nodes; its paths have ``longest`` nodes at most. With ``is_common``
    they end where all their starts are needed, else above the node. ``excess`` grows by what the parts come to.
    """
    node: cython.longlong
    is_end: cython.bint
    work += paths.work
    paths.passes += paths.next == 0
    with cython.nogil:
        while paths.next < order.shape[0] and paths.work < work:
            node = order[paths.next]
            if paths.parent_starts[node] < paths.parent_starts[node + 1]:
                if is_common:
                    paths.excess += _below(paths, node, budget, price, longest)
                else:
                    paths.excess += _beside(paths, node, budget, price, longest)
            paths.next += 1
            paths.work += 1
        is_end = paths.next == order.shape[0]
        if is_end:
            paths.next = 0
    return bool(is_end)
