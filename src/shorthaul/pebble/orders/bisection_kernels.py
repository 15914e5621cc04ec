"""Compiled loops of :mod:`bisection`: vertices matched, and halves of all clusters of a graph refined."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.core.compiled.queue_kernels import Heap
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.dataclasses import dataclass

IntArray = npt.NDArray[np.int64]

#: How halves start: as they are, grown from a vertex drawn, the first part of the members that cuts least.
AS_THEY_ARE = cython.declare(cython.longlong, 0)
GROWN = cython.declare(cython.longlong, 1)
FIRST_PART = cython.declare(cython.longlong, 2)
#: Passes of refinement that go on after this many moves without gain, and this part of the members.
PATIENCE = cython.declare(cython.longlong, 100)
PATIENT_PART = cython.declare(cython.longlong, 8)


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Nets:
    """Which vertices a net joins and which nets a vertex is in, what a net weighs when it is cut, and sizes."""

    starts: cython.const_longlong[::1]
    pins: cython.const_longlong[::1]
    vertex_starts: cython.const_longlong[::1]
    nets: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]
    sizes: cython.const_longlong[::1]


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Arcs:
    """What has to be computed before and after each vertex."""

    parent_starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    child_starts: cython.const_longlong[::1]
    children: cython.const_longlong[::1]


def matched(
    nets: Nets, order: cython.const_longlong[::1], most_pins: cython.Py_ssize_t, heaviest: cython.const_longlong[::1]
) -> IntArray:
    """Return for each vertex the one it is joined with, itself if none, shape (vertices,).

    Vertices choose in ``order`` the one that shares most with them for its size, by nets of up to ``most_pins`` pins;
    both together are at most ``heaviest``.
    """
    found = np.full(order.shape[0], -1, np.int64)
    mate: cython.longlong[::1] = found
    score: cython.double[::1] = np.zeros(order.shape[0])
    near: cython.longlong[::1] = np.empty(order.shape[0], np.int64)
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    count: cython.Py_ssize_t
    with cython.nogil:
        for i in range(order.shape[0]):
            vertex = order[i]
            if mate[vertex] >= 0:
                continue
            count = 0
            for p in range(nets.vertex_starts[vertex], nets.vertex_starts[vertex + 1]):
                net = nets.nets[p]
                pins = nets.starts[net + 1] - nets.starts[net]
                if pins > most_pins:
                    continue
                for q in range(nets.starts[net], nets.starts[net + 1]):
                    other = nets.pins[q]
                    if mate[other] >= 0 or other == vertex or nets.sizes[other] + nets.sizes[vertex] > heaviest[vertex]:
                        continue
                    if score[other] == 0:
                        near[count] = other
                        count += 1
                    score[other] += nets.weights[net] / cython.cast(cython.double, pins - 1)
            best = vertex
            for q in range(count):
                other = near[q]
                if best == vertex or score[other] * nets.sizes[best] > score[best] * nets.sizes[other]:
                    best = other
            for q in range(count):
                score[near[q]] = 0
            mate[vertex] = best
            mate[best] = vertex
    return found


@cython.final
@cython.cclass
class Halves:
    """A side, 0 or 1, of every vertex of a graph in clusters, and the best one so far.

    Nets join vertices of one cluster. Arcs of a cluster lead from side 0 to side 1 or stay on one side. ``members``
    are the vertices of cluster c in topological order, from ``starts[c]`` to ``starts[c + 1]``; a half may be larger by
    the part ``slack`` of a cluster.
    """

    nets: Nets
    arcs: Arcs
    cluster: cython.const_longlong[::1]
    members: cython.const_longlong[::1]
    starts: cython.const_longlong[::1]
    slack: cython.double
    passes: cython.Py_ssize_t
    side: cython.uchar[::1]
    best = cython.declare(cython.uchar[::1], visibility="readonly")
    least: cython.longlong[::1]  # weight of the nets that the best halves of a cluster cut, -1: there are none
    count: cython.longlong[:, ::1]  # pins of a net on each side
    before: cython.longlong[::1]  # parents on side 1
    after: cython.longlong[::1]  # children on side 0
    gain: cython.longlong[::1]
    is_locked: cython.uchar[::1]
    moved: cython.longlong[::1]
    heap: Heap
    on: cython.longlong  # size of side 1
    total: cython.longlong  # of both
    limit: cython.double  # the size that no side exceeds
    work = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self,
        nets: Nets,
        arcs: Arcs,
        cluster: cython.const_longlong[::1],
        members: cython.const_longlong[::1],
        starts: cython.const_longlong[::1],
        slack: cython.double,
        passes: cython.Py_ssize_t,
    ) -> None:
        n = cluster.shape[0]
        self.nets = nets
        self.arcs = arcs
        self.cluster = cluster
        self.members = members
        self.starts = starts
        self.slack = slack
        self.passes = passes
        self.side = np.zeros(n, np.uint8)
        self.best = np.zeros(n, np.uint8)
        self.least = np.full(starts.shape[0], -1, np.int64)
        self.count = np.zeros((nets.weights.shape[0], 2), np.int64)
        self.before = np.zeros(n, np.int64)
        self.after = np.zeros(n, np.int64)
        self.gain = np.zeros(n, np.int64)
        self.is_locked = np.zeros(n, np.uint8)
        self.moved = np.zeros(n, np.int64)
        self.heap = Heap()
        self.on = 0
        self.total = 0
        self.limit = 0
        self.work = 0

    def take(self, side: cython.const_uchar[::1], is_turned: bool, is_late: bool) -> None:
        """Take ``side``, the other way round if asked; what arcs forbid goes to side 1 if ``is_late``, or to side 0."""
        turned: cython.uchar = 1 if is_turned else 0
        late: cython.bint = is_late
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.members.shape[0]
        with cython.nogil:
            for i in range(n):
                vertex = self.members[i if late else n - 1 - i]
                self.side[vertex] = side[vertex] ^ turned
                if late and self.side[vertex] == 0 and _before_it(self, vertex):
                    self.side[vertex] = 1
                elif not late and self.side[vertex] == 1 and _after_it(self, vertex):
                    self.side[vertex] = 0

    def refine(
        self, start: cython.longlong, cluster: cython.Py_ssize_t, most_work: cython.longlong, random: Random
    ) -> int:
        """Refine halves from ``cluster`` on, and keep them where they cut less; return the cluster to go on with.

        ``start`` says what they start from.
        """
        i: cython.Py_ssize_t
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        most_work += self.work
        with cython.nogil:
            while cluster + 1 < self.starts.shape[0] and self.work < most_work:
                first = self.starts[cluster]
                last = self.starts[cluster + 1]
                if last - first > 1:
                    _measure(self, first, last)
                    if start == GROWN:
                        _grow(self, first, last, random)
                    elif start == FIRST_PART:
                        _first_part(self, first, last)
                    cut = _refined(self, first, last)
                    if self.least[cluster] < 0 or cut < self.least[cluster]:
                        self.least[cluster] = cut
                        for i in range(first, last):
                            self.best[self.members[i]] = self.side[self.members[i]]
                cluster += 1
        return int(cluster) if cluster + 1 < self.starts.shape[0] else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _before_it(halves: Halves, vertex: cython.longlong) -> cython.longlong:
    """Return how many parents of the cluster are on side 1."""
    count: cython.longlong = 0
    i: cython.Py_ssize_t
    for i in range(halves.arcs.parent_starts[vertex], halves.arcs.parent_starts[vertex + 1]):
        parent = halves.arcs.parents[i]
        if halves.cluster[parent] == halves.cluster[vertex] and halves.side[parent] == 1:
            count += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after_it(halves: Halves, vertex: cython.longlong) -> cython.longlong:
    """Return how many children of the cluster are on side 0."""
    count: cython.longlong = 0
    i: cython.Py_ssize_t
    for i in range(halves.arcs.child_starts[vertex], halves.arcs.child_starts[vertex + 1]):
        child = halves.arcs.children[i]
        if halves.cluster[child] == halves.cluster[vertex] and halves.side[child] == 0:
            count += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _measure(halves: Halves, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.void:
    """Work out what both halves of a cluster may weigh at most."""
    largest: cython.longlong = 0
    i: cython.Py_ssize_t
    halves.total = 0
    for i in range(first, last):
        size = halves.nets.sizes[halves.members[i]]
        halves.total += size
        largest = max(largest, size)
    halves.limit = halves.total * 0.5 + max(halves.total * halves.slack, cython.cast(cython.double, largest))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_pins(halves: Halves, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.void:
    """Count the pins of the nets of a cluster on each side."""
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    for i in range(first, last):
        vertex = halves.members[i]
        for p in range(halves.nets.vertex_starts[vertex], halves.nets.vertex_starts[vertex + 1]):
            halves.count[halves.nets.nets[p], 0] = 0
            halves.count[halves.nets.nets[p], 1] = 0
    for i in range(first, last):
        vertex = halves.members[i]
        halves.work += halves.nets.vertex_starts[vertex + 1] - halves.nets.vertex_starts[vertex]
        for p in range(halves.nets.vertex_starts[vertex], halves.nets.vertex_starts[vertex + 1]):
            halves.count[halves.nets.nets[p], halves.side[vertex]] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(halves: Halves, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.void:
    """Work out what is gained by moving each vertex of a cluster, and put those that may move into the heap."""
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    _count_pins(halves, first, last)
    halves.heap.size = 0
    halves.on = 0
    for i in range(first, last):
        vertex = halves.members[i]
        side = halves.side[vertex]
        gain: cython.longlong = 0
        for p in range(halves.nets.vertex_starts[vertex], halves.nets.vertex_starts[vertex + 1]):
            net = halves.nets.nets[p]
            if halves.count[net, side] == 1:
                gain += halves.nets.weights[net]
            if halves.count[net, 1 - side] == 0:
                gain -= halves.nets.weights[net]
        halves.gain[vertex] = gain
        halves.is_locked[vertex] = 0
        halves.before[vertex] = _before_it(halves, vertex)
        halves.after[vertex] = _after_it(halves, vertex)
        if side:
            halves.on += halves.nets.sizes[vertex]
        _offer(halves, vertex)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_move(halves: Halves, vertex: cython.longlong) -> cython.bint:
    return (
        not halves.is_locked[vertex] and (halves.before[vertex] if halves.side[vertex] else halves.after[vertex]) == 0
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _offer(halves: Halves, vertex: cython.longlong) -> cython.void:
    if _may_move(halves, vertex):
        halves.heap.push(-cython.cast(cython.double, halves.gain[vertex]), vertex)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next(halves: Halves) -> cython.longlong:
    """Return the vertex that may move and gains most, -1 if there is none."""
    while halves.heap.size > 0:
        vertex = halves.heap.items[0]
        key = halves.heap.keys[0]
        halves.heap.pop()
        if _may_move(halves, vertex) and key == -halves.gain[vertex]:
            return vertex
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(halves: Halves, vertex: cython.longlong) -> cython.void:
    """Move a vertex to the other side, where it stays for this pass; what others gain follows."""
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    side: cython.longlong = halves.side[vertex]
    turned: cython.longlong = 1 - side
    halves.is_locked[vertex] = 1
    halves.side[vertex] = turned
    halves.on += halves.nets.sizes[vertex] if turned else -halves.nets.sizes[vertex]
    for p in range(halves.nets.vertex_starts[vertex], halves.nets.vertex_starts[vertex + 1]):
        net = halves.nets.nets[p]
        here = halves.count[net, side]
        there = halves.count[net, turned]
        halves.count[net, side] = here - 1
        halves.count[net, turned] = there + 1
        if there > 1 and here > 2:
            continue
        for q in range(halves.nets.starts[net], halves.nets.starts[net + 1]):
            other = halves.nets.pins[q]
            if halves.is_locked[other]:
                continue
            gain: cython.longlong = halves.gain[other]
            if halves.side[other] == side:
                if there == 0:
                    gain += halves.nets.weights[net]
                if here == 2:
                    gain += halves.nets.weights[net]
            else:
                if there == 1:
                    gain -= halves.nets.weights[net]
                if here == 1:
                    gain -= halves.nets.weights[net]
            if gain != halves.gain[other]:
                halves.gain[other] = gain
                _offer(halves, other)
        halves.work += halves.nets.starts[net + 1] - halves.nets.starts[net]
    change: cython.longlong = 1 if turned else -1
    for p in range(halves.arcs.parent_starts[vertex], halves.arcs.parent_starts[vertex + 1]):
        other = halves.arcs.parents[p]
        if halves.cluster[other] == halves.cluster[vertex]:
            halves.after[other] -= change
            _offer(halves, other)
    for p in range(halves.arcs.child_starts[vertex], halves.arcs.child_starts[vertex + 1]):
        other = halves.arcs.children[p]
        if halves.cluster[other] == halves.cluster[vertex]:
            halves.before[other] += change
            _offer(halves, other)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _grow(halves: Halves, first: cython.Py_ssize_t, last: cython.Py_ssize_t, random: Random) -> cython.void:
    """Move a vertex drawn to side 1, then those that gain most, until it has half of a cluster."""
    i: cython.Py_ssize_t
    for i in range(first, last):
        halves.side[halves.members[i]] = 0
    _begin(halves, first, last)
    vertex = halves.members[first + random.below(last - first)]
    while vertex >= 0:
        _move(halves, vertex)
        if 2 * halves.on >= halves.total:
            break
        vertex = _next(halves)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first_part(halves: Halves, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.void:
    """Take the first members of a cluster that cut least for side 0."""
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    cut: cython.longlong = 0
    least: cython.longlong = -1
    end: cython.Py_ssize_t = (first + last) // 2
    size: cython.longlong = 0
    for i in range(first, last):
        halves.side[halves.members[i]] = 1
    _count_pins(halves, first, last)
    for i in range(first, last):
        vertex = halves.members[i]
        size += halves.nets.sizes[vertex]
        for p in range(halves.nets.vertex_starts[vertex], halves.nets.vertex_starts[vertex + 1]):
            net = halves.nets.nets[p]
            if halves.count[net, 0] == 0 and halves.count[net, 1] > 1:
                cut += halves.nets.weights[net]
            if halves.count[net, 0] > 0 and halves.count[net, 1] == 1:
                cut -= halves.nets.weights[net]
            halves.count[net, 0] += 1
            halves.count[net, 1] -= 1
        if size <= halves.limit and halves.total - size <= halves.limit and (least < 0 or cut < least):
            least = cut
            end = i + 1
    for i in range(first, end):
        halves.side[halves.members[i]] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _refined(halves: Halves, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.longlong:
    """Return the weight of the nets of a cluster that are cut after passes of Fiduccia and Mattheyses.

    A half that is too large gives vertices away first, whatever that costs.
    """
    left: cython.Py_ssize_t = halves.passes
    _begin(halves, first, last)
    while left > 0 and _pass_gains(halves, first, last):
        _begin(halves, first, last)
        left -= 1
    _count_pins(halves, first, last)
    return _cut(halves, first, last)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pass_gains(halves: Halves, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.bint:
    """Return True if a pass has moved vertices: the best ones one after another, as far as the most is gained."""
    count: cython.Py_ssize_t = 0
    kept: cython.Py_ssize_t = 0
    gained: cython.longlong = 0
    most: cython.longlong = 0
    i: cython.Py_ssize_t
    is_even: cython.bint = halves.on <= halves.limit and halves.total - halves.on <= halves.limit
    while count - kept <= PATIENCE + (last - first) // PATIENT_PART or not is_even:
        vertex = _next(halves)
        if vertex < 0:
            break
        size = halves.nets.sizes[vertex]
        on = halves.on - size if halves.side[vertex] else halves.on + size
        if is_even and (on > halves.limit or halves.total - on > halves.limit):
            continue
        if not is_even and (halves.on > halves.limit) != (halves.side[vertex] == 1):
            continue
        gained += halves.gain[vertex]
        _move(halves, vertex)
        halves.moved[first + count] = vertex
        count += 1
        if not is_even:
            is_even = on <= halves.limit and halves.total - on <= halves.limit
            most = gained
            kept = count
        elif gained > most:
            most = gained
            kept = count
    for i in range(first + kept, first + count):
        halves.side[halves.moved[i]] ^= 1
    return kept > 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cut(halves: Halves, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.longlong:
    """Return the weight of the nets of a cluster that are cut, each counted where it is met first."""
    cut: cython.longlong = 0
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    for i in range(first, last):
        vertex = halves.members[i]
        for p in range(halves.nets.vertex_starts[vertex], halves.nets.vertex_starts[vertex + 1]):
            net = halves.nets.nets[p]
            if halves.count[net, 0] > 0 and halves.count[net, 1] > 0:
                cut += halves.nets.weights[net]
                halves.count[net, 0] = 0
    return cut
