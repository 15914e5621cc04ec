"""Compiled loops of :mod:`crossing`: disjoint paths from nodes that others all need to those others."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.pebble.bounds.crossings.laid_kernels import forget, lay, walk

_LAST = cython.declare(cython.longlong, -2)  # what follows the last node of a path
_MOST = cython.declare(cython.longlong, 20_000_000)  # work after which a part is left as it is


@cython.final
@cython.cclass
class Paths:
    """A graph, the nodes of it that no part has taken, and the paths of the part that is looked at.

    ``key`` grows along every edge. ``taken`` (shape (4, n)) says by node the part that took it, -1 for none, and what
    follows it; and by part the node that its paths go around, -1 for none, and what it comes to.
    """

    weights: cython.const_longlong[::1]
    given: cython.const_uchar[::1]
    parent_starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    child_starts: cython.const_longlong[::1]
    children: cython.const_longlong[::1]
    key: cython.const_longlong[::1]
    taken: cython.longlong[:, ::1]
    partial: cython.bint
    part_count: cython.Py_ssize_t
    starts: cython.longlong[::1]  # nodes that paths may start from: all later ones need them
    start_count: cython.Py_ssize_t
    is_start: cython.longlong[::1]  # stamps of starts, of later nodes, and of nodes that no path may use
    is_later: cython.longlong[::1]
    barred: cython.longlong[::1]
    counted: cython.longlong[::1]  # stamps of nodes that some start is needed for, and by how many
    hits: cython.longlong[::1]
    after: cython.longlong[::1]  # the next node on a path, -1 elsewhere
    before: cython.longlong[::1]
    met: cython.longlong[::1]  # by state, 2 v before and 2 v + 1 behind node v: stamp, the state before it, its depth
    back: cython.longlong[::1]
    hops: cython.longlong[::1]
    queue: cython.longlong[::1]
    seen: cython.longlong[::1]
    frontier: cython.longlong[::1]
    frontier_count: cython.Py_ssize_t
    stamp: cython.longlong
    next: cython.Py_ssize_t
    work = cython.declare(cython.longlong, visibility="readonly")
    excess = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self, weights: cython.const_longlong[::1], given: cython.const_uchar[::1],
        parent_starts: cython.const_longlong[::1], parents: cython.const_longlong[::1],
        child_starts: cython.const_longlong[::1], children: cython.const_longlong[::1],
        key: cython.const_longlong[::1], taken: cython.longlong[:, ::1], partial: cython.bint,
    ) -> None:  # fmt: skip
        n = weights.shape[0]
        self.weights = weights
        self.given = given
        self.parent_starts = parent_starts
        self.parents = parents
        self.child_starts = child_starts
        self.children = children
        self.key = key
        self.taken = taken
        self.partial = partial
        self.part_count = 0
        self.starts = np.empty(n, np.int64)
        self.start_count = 0
        self.is_start = np.zeros(n, np.int64)
        self.is_later = np.zeros(n, np.int64)
        self.barred = np.zeros(n, np.int64)
        self.counted = np.zeros(n, np.int64)
        self.hits = np.zeros(n, np.int64)
        self.after = np.full(n, -1, np.int64)
        self.before = np.full(n, -1, np.int64)
        self.met = np.zeros(2 * n, np.int64)
        self.back = np.empty(2 * n, np.int64)
        self.hops = np.empty(2 * n, np.int64)
        self.queue = np.empty(2 * n, np.int64)
        self.seen = np.zeros(n, np.int64)
        self.frontier = np.empty(n, np.int64)
        self.frontier_count = 0
        self.stamp = self.next = 0
        self.work = self.excess = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(paths: Paths, tail: cython.Py_ssize_t, state: cython.longlong, back: cython.longlong) -> cython.Py_ssize_t:
    """Note how a state is reached first; return where the queue ends then."""
    if paths.met[state] == paths.stamp:
        return tail
    paths.met[state] = paths.stamp
    paths.back[state] = back
    paths.hops[state] = 0 if back < 0 else paths.hops[back] + (back & 1)
    paths.queue[tail] = state
    return tail + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find(paths: Paths, part: cython.longlong, longest: cython.longlong) -> cython.longlong:
    """Return the node from which one more path goes on to a later node, -1 if there is none; breadth first."""
    head: cython.Py_ssize_t = 0
    tail: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    v: cython.longlong
    c: cython.longlong
    state: cython.longlong
    paths.stamp += 1
    for i in range(paths.start_count):
        v = paths.starts[i]
        if paths.after[v] == -1 or paths.before[v] >= 0:
            tail = _push(paths, tail, 2 * v, -1)
    while head < tail:
        state = paths.queue[head]
        head += 1
        v = state >> 1
        if state & 1 == 0:
            if paths.after[v] == -1:
                tail = _push(paths, tail, state + 1, state)
            elif paths.before[v] >= 0:
                tail = _push(paths, tail, 2 * paths.before[v] + 1, state)
            continue
        if paths.partial and paths.is_later[v] == part and paths.after[v] != _LAST:
            paths.work += head
            return v
        if paths.hops[state] >= longest:
            continue
        for i in range(paths.child_starts[v], paths.child_starts[v + 1]):
            c = paths.children[i]
            if not paths.partial and paths.is_later[c] == part:
                paths.work += head
                return v
            if paths.taken[0, c] < 0 and paths.barred[c] != part and paths.after[v] != c:
                tail = _push(paths, tail, 2 * c, state)
        if paths.after[v] != -1:
            tail = _push(paths, tail, state - 1, state)
    paths.work += 2 * tail
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lay_short(paths: Paths, part: cython.longlong) -> cython.void:
    """Let each start that a later node reads be a path: as many paths as there can be may hold all of these."""
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    v: cython.longlong
    for i in range(0 if paths.partial else paths.start_count):
        v = paths.starts[i]
        for e in range(paths.child_starts[v], paths.child_starts[v + 1]):
            paths.work += 1
            if paths.is_later[paths.children[e]] == part:
                paths.after[v] = _LAST
                break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take(paths: Paths, part: cython.longlong, first: cython.longlong) -> cython.void:
    """Take the nodes of a path from its last start on."""
    v: cython.longlong = first
    last: cython.longlong = first
    i: cython.Py_ssize_t
    while v != _LAST:
        paths.taken[0, v] = paths.part_count
        last = v
        v = paths.after[v]
        paths.taken[1, last] = v
    if paths.partial:
        paths.taken[1, last] = -1
        return
    i = paths.child_starts[last]
    while paths.is_later[paths.children[i]] != part:
        i += 1
    paths.taken[1, last] = paths.children[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _settled(
    paths: Paths, part: cython.longlong, node: cython.longlong, room: cython.longlong, price: cython.double,
    longest: cython.longlong,
) -> cython.longlong:  # fmt: skip
    """Return what a part comes to, and take its nodes if that is worth their price; 0 if it is not."""
    twice: cython.longlong = 0
    once: cython.longlong = 0
    nodes: cython.longlong = 0
    least: cython.longlong
    found: cython.longlong
    v: cython.longlong
    first: cython.longlong
    taking: cython.longlong
    i: cython.Py_ssize_t
    end: cython.longlong = paths.work + _MOST
    _lay_short(paths, part)
    v = _find(paths, part, longest)
    while v >= 0:
        lay(paths.back, paths.queue, paths.after, paths.before, v)
        v = _find(paths, part, longest) if paths.work < end else -1
    found = 0
    for taking in range(2):
        for i in range(paths.start_count):
            first = paths.starts[i]
            if paths.after[first] == -1 or paths.before[first] >= 0:
                continue
            v = first
            while v != _LAST:
                if paths.is_start[v] == part:
                    first = v
                v = paths.after[v]
            if taking:
                _take(paths, part, first)
                continue
            least = paths.weights[first]
            v = first
            while v != _LAST:
                least = min(least, paths.weights[v])
                nodes += 1
                v = paths.after[v]
            if paths.given[first]:
                once += least
            else:
                twice += least
        if taking == 0:
            found = 2 * max(0, twice - room) + max(0, once - max(0, room - twice))
            if found == 0 or found < price * nodes:
                return 0
    paths.taken[2, paths.part_count] = node
    paths.taken[3, paths.part_count] = found
    paths.part_count += 1
    return found


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
def _common(paths: Paths, part: cython.longlong, most: cython.longlong) -> cython.longlong:
    """Find the nodes up to a key that need all starts; return the least weight of one, 0 if there is at most one."""
    lightest: cython.longlong = 0
    common: cython.Py_ssize_t
    head: cython.Py_ssize_t
    tail: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    e: cython.Py_ssize_t
    v: cython.longlong
    w: cython.longlong
    end: cython.longlong = paths.work + _MOST
    for i in range(paths.start_count):
        paths.queue[0] = paths.starts[paths.start_count - 1 - i // 2 if i & 1 else i // 2]  # far apart first
        paths.stamp += 1
        head, tail, common = 0, 1, 0
        while head < tail:
            v = paths.queue[head]
            head += 1
            for e in range(paths.child_starts[v], paths.child_starts[v + 1]):
                w = paths.children[e]
                if paths.key[w] <= most and paths.met[2 * w] != paths.stamp:
                    paths.met[2 * w] = paths.stamp
                    if paths.counted[w] != part:
                        paths.counted[w] = part
                        paths.hits[w] = 0
                    paths.hits[w] += 1
                    common += paths.hits[w] == i + 1
                    paths.queue[tail] = w
                    tail += 1
        paths.work += 2 * tail
        if common == 1 or paths.work > end:  # the operands of one node fit beside it
            return 0
    for e in range(1, tail):
        w = paths.queue[e]
        if paths.hits[w] == paths.start_count:
            paths.is_later[w] = part
            lightest = paths.weights[w] if lightest == 0 else min(lightest, paths.weights[w])
    return lightest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _below(
    paths: Paths, node: cython.longlong, budget: cython.longlong, price: cython.double, longest: cython.longlong
) -> cython.longlong:
    """Take the first part worth its price of paths from what a node is computed from, deeper and deeper."""
    cone: cython.longlong
    part: cython.longlong
    weight: cython.longlong
    lightest: cython.longlong
    found: cython.longlong
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
        for i in range(paths.frontier_count):
            v = paths.frontier[i]
            if paths.taken[0, v] < 0:
                paths.is_start[v] = part
                paths.starts[paths.start_count] = v
                paths.start_count += 1
                weight += paths.weights[v]
        if weight <= budget:
            continue
        lightest = _common(paths, part, paths.key[node])
        if lightest == 0:
            return 0
        found = _settled(paths, part, -1, budget if paths.partial else budget - lightest, price, longest)
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
        found = _settled(paths, paths.barred[node], node, room, price, longest)
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
