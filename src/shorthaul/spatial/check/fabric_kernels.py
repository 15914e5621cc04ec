"""Kernel of the checker: shortest ways on a machine found anew, without the search's shortcuts."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
UNSEEN = cython.declare(cython.longlong, 1 << 60)


@cython.final
@cython.cclass
class Machine:
    """Links as in :class:`shorthaul.spatial.model.Fabric`, with the neighbour that each leads to; and what was found.

    ``hops`` from the processor where a search began; ``queue`` holds who may still be nearer, ``inside`` marks them.
    ``loads`` are the sizes that cross each link. ``missing`` is a message that has no way, or -1.
    """

    links: cython.const_int[:, ::1]
    neighbour: cython.const_int[:, ::1]
    hops: cython.longlong[::1]
    seen: cython.int[::1]
    queue: cython.int[::1]
    inside: cython.uchar[::1]
    loads: cython.longlong[:, ::1]
    count: cython.Py_ssize_t
    energy = cython.declare(cython.longlong, visibility="readonly")
    longest = cython.declare(cython.longlong, visibility="readonly")
    missing = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self, links: cython.const_int[:, ::1], neighbour: cython.const_int[:, ::1], loads: cython.longlong[:, ::1]
    ) -> None:
        cells = links.shape[1]
        self.links = links
        self.neighbour = neighbour
        self.hops = np.full(cells, UNSEEN, np.int64)
        self.seen = np.zeros(cells, np.int32)
        self.queue = np.zeros(cells, np.int32)
        self.inside = np.zeros(cells, np.uint8)
        self.loads = loads
        self.count = 0
        self.energy = 0
        self.longest = 0
        self.missing = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _spread(machine: Machine, origin: cython.Py_ssize_t, limit: cython.longlong) -> cython.void:
    """Set the hops from ``origin`` of all that are at most ``limit`` away."""
    cells: cython.Py_ssize_t = machine.links.shape[1]
    head: cython.Py_ssize_t = 0
    waiting: cython.Py_ssize_t = 1
    way: cython.Py_ssize_t
    for k in range(machine.count):
        machine.hops[machine.seen[k]] = UNSEEN
    machine.hops[origin] = 0
    machine.seen[0] = origin
    machine.count = 1
    machine.queue[0] = origin
    while waiting > 0:
        cell = machine.queue[head]
        head = head + 1 if head + 1 < cells else 0
        waiting -= 1
        machine.inside[cell] = 0
        for way in range(6):
            if machine.links[way, cell] > 0:
                other = machine.neighbour[way, cell]
                hops = machine.hops[cell] + machine.links[way, cell]
                if hops <= limit and hops < machine.hops[other]:
                    if machine.hops[other] == UNSEEN:
                        machine.seen[machine.count] = other
                        machine.count += 1
                    machine.hops[other] = hops
                    if machine.inside[other] == 0:
                        machine.inside[other] = 1
                        at = head + waiting
                        machine.queue[at if at < cells else at - cells] = other
                        waiting += 1


def replay(
    machine: Machine,
    source: cython.const_int[::1],
    target: cython.const_int[::1],
    weight: cython.const_int[::1],
    far: cython.longlong,
) -> Counts:
    """Send messages, those of one source after one another; return the hops of each.

    ``far`` is more than the longest way can be. Seen from its target, every step of a way is the first of up, down,
    south, north, east, west that keeps it shortest.
    """
    lengths: cython.longlong[::1] = np.zeros(source.shape[0], np.int64)
    begin: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    way: cython.Py_ssize_t
    other: cython.Py_ssize_t
    limit: cython.longlong
    found: cython.bint
    with cython.nogil:
        while begin < source.shape[0]:
            end = begin
            while end < source.shape[0] and source[end] == source[begin]:
                end += 1
            limit = 2
            found = False
            while not found and machine.missing < 0:
                _spread(machine, source[begin], limit)
                found = True
                for i in range(begin, end):
                    if machine.hops[target[i]] == UNSEEN:
                        found = False
                        if limit > far:
                            machine.missing = i
                limit = 2 * limit
            if not found:
                break
            for i in range(begin, end):
                hops = machine.hops[target[i]]
                machine.energy += hops * weight[i]
                machine.longest = max(machine.longest, hops)
                lengths[i] = hops
                cell = target[i]
                while cell != source[i]:
                    for way in range(6):
                        other = machine.neighbour[way, cell]
                        length = machine.links[way, cell]
                        if length > 0 and machine.hops[other] + length == machine.hops[cell]:
                            machine.loads[way + 1 if way % 2 == 0 else way - 1, other] += weight[i]
                            cell = other
                            break
            begin = end
    return np.asarray(lengths)
