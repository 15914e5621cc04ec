"""Kernels of messages on the links of a machine: shortest ways around what is dead, loads, rounds."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.queue_kernels import Heap

FAR = cython.declare(cython.longlong, 1 << 60)
#: Colours that a message may have; the routers of a wafer know 24.
COLOURS = cython.declare(cython.int, 64)


@cython.final
@cython.cclass
class Net:
    """Processors and links as in :class:`shorthaul.spatial.model.Fabric`; ``sides`` are layers, height, width.

    ``at`` is where the coordinates of an axis lie, in hops, if nothing is dead, one axis after the other from
    ``first`` on; ``ring`` is the way around, 0 where the axis is no ring. ``away`` is scratch space: the hops from
    where a search began, of those it ``reached``; ``path`` and, by processor, the next ``turn`` to try are that of a
    way that comes nearer with every step.
    """

    def __init__(
        self,
        links: cython.const_int[:, ::1],
        sides: cython.const_longlong[::1],
        at: cython.const_longlong[::1],
        ring: cython.const_longlong[::1],
    ) -> None:
        self.links = links
        self.sides = sides
        self.strides = np.array([sides[1] * sides[2], sides[2], 1], np.int64)
        self.at = at
        self.first = np.array([0, sides[0], sides[0] + sides[1]], np.int64)
        self.ring = ring
        self.away = np.full(links.shape[1], FAR, np.int64)
        self.reached = np.zeros(links.shape[1], np.int32)
        self.path = np.zeros(links.shape[1], np.int32)
        self.turn = np.zeros(links.shape[1], np.uint8)
        self.count = 0
        self.heap = Heap()


@cython.final
@cython.cclass
class Messages:
    """Messages of size ``weight`` between processors, and what becomes of them.

    ``hops`` is the length of the way from ``source[i]`` to ``target[i]``, -1 where there is none, ``steps`` its links.
    ``loads`` of shape (6, cells) takes the sizes that cross each link, numbered way * cells + the processor that it
    leaves. Once there is a ``trail``, the links of message i are written to it from ``starts[i]`` on, in place of that.
    """

    source: cython.const_int[::1]
    target: cython.const_int[::1]
    weight: cython.const_int[::1]
    hops = cython.declare(cython.int[::1], visibility="readonly")
    steps = cython.declare(cython.int[::1], visibility="readonly")
    loads: cython.longlong[:, ::1]
    starts = cython.declare(cython.longlong[::1], visibility="readonly")
    trail = cython.declare(cython.int[::1], visibility="readonly")
    free: cython.uchar[::1]  # those whose way is known to lead axis by axis

    def __init__(self, ends: tuple[Any, Any], weight: cython.const_int[::1], loads: cython.longlong[:, ::1]) -> None:
        self.source, self.target = ends
        self.weight = weight
        self.hops = np.zeros(weight.shape[0], np.int32)
        self.steps = np.zeros(weight.shape[0], np.int32)
        self.loads = loads
        self.starts = np.zeros(weight.shape[0] + 1, np.int64)
        self.trail = np.empty(0, np.int32)
        self.free = np.zeros(weight.shape[0], np.uint8)

    def follow(self) -> None:
        """Make room for the links of all messages, whose ``steps`` are known."""
        self.starts = np.concatenate([[0], np.cumsum(np.asarray(self.steps), dtype=np.int64)])
        self.trail = np.zeros(max(1, self.starts[self.starts.shape[0] - 1]), np.int32)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def beyond(net: Net, cell: cython.longlong, way: cython.Py_ssize_t) -> cython.longlong:
    """Return the processor that the link in this direction leads to."""
    axis: cython.Py_ssize_t = way >> 1
    stride = net.strides[axis]
    side = net.sides[axis]
    place = cell // stride % side
    if way & 1 == 0:
        return cell + stride if place + 1 < side else cell - stride * (side - 1)
    return cell - stride if place > 0 else cell + stride * (side - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def way_along(net: Net, cell: cython.longlong, goal: cython.longlong) -> cython.longlong:
    """Return the first direction in which a processor comes nearer to another one if nothing is dead."""
    axis: cython.Py_ssize_t
    for axis in range(3):
        here = cell // net.strides[axis] % net.sides[axis]
        there = goal // net.strides[axis] % net.sides[axis]
        if here != there:
            onward = net.at[net.first[axis] + there] - net.at[net.first[axis] + here]
            if net.ring[axis] > 0:
                if onward < 0:
                    onward += net.ring[axis]
                return 2 * axis if 2 * onward <= net.ring[axis] else 2 * axis + 1
            return 2 * axis if onward > 0 else 2 * axis + 1
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def way_back(net: Net, cell: cython.longlong) -> cython.longlong:
    """Return the first direction that leads nearer to where the search began."""
    way: cython.Py_ssize_t
    for way in range(6):
        length = net.links[way, cell]
        if length > 0 and net.away[beyond(net, cell, way)] + length == net.away[cell]:
            return way
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_free(net: Net, cell: cython.longlong, goal: cython.longlong) -> cython.bint:
    """Whether nothing is dead on the way from a processor to another, axis by axis."""
    way: cython.Py_ssize_t
    while cell != goal:
        way = way_along(net, cell, goal)
        if net.links[way, cell] == 0:
            return False
        cell = beyond(net, cell, way)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _note(
    net: Net, messages: Messages, i: cython.Py_ssize_t, way: cython.Py_ssize_t, cell: cython.longlong
) -> cython.void:
    """Note the link that a processor is left by, ``steps[i]`` before the end of the way."""
    if messages.trail.shape[0] > 0:
        messages.trail[messages.starts[i + 1] - messages.steps[i]] = way * net.links.shape[1] + cell
    else:
        messages.loads[way, cell] += messages.weight[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _send(net: Net, messages: Messages, i: cython.Py_ssize_t, how: cython.int) -> cython.void:
    """Follow the way of a message backwards, from its target to its source, and note its links.

    The way goes axis by axis (0), or is that of :func:`is_direct` (1) or of :func:`search` (2), which ran before.
    """
    cell: cython.longlong = messages.target[i]
    source: cython.longlong = messages.source[i]
    way: cython.Py_ssize_t
    messages.hops[i] = 0
    messages.steps[i] = 0
    while cell != source:
        if how == 0:
            way = way_along(net, cell, source)
        else:
            way = net.turn[cell] - 1 if how == 1 else way_back(net, cell)
        messages.hops[i] += net.links[way, cell]
        messages.steps[i] += 1
        cell = beyond(net, cell, way)
        _note(net, messages, i, way ^ 1, cell)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clear(net: Net) -> cython.void:
    for k in range(net.count):
        net.away[net.reached[k]] = FAR
    net.count = 0
    net.heap.size = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _ahead(net: Net, cell: cython.longlong, goal: cython.longlong) -> cython.longlong:
    """Return the hops from a processor to another one if nothing is dead; 0 if there is no other one (-1)."""
    axis: cython.Py_ssize_t
    total: cython.longlong = 0
    if goal < 0:
        return 0
    for axis in range(3):
        here = cell // net.strides[axis] % net.sides[axis]
        there = goal // net.strides[axis] % net.sides[axis]
        if here != there:
            hops = abs(net.at[net.first[axis] + there] - net.at[net.first[axis] + here])
            total += min(hops, net.ring[axis] - hops) if net.ring[axis] > 0 else hops
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_direct(net: Net, cell: cython.longlong, goal: cython.longlong) -> cython.bint:
    """Whether living links lead from a processor to another, nearer with every step, as if nothing were dead.

    Depth first, in the order of the ways, and never again where there was no way on: the first way is the one that
    :func:`route` describes, and a long one costs little more than its length.
    """
    way: cython.Py_ssize_t
    depth: cython.Py_ssize_t = 0
    there: cython.longlong
    _clear(net)
    net.path[0] = cell
    net.turn[cell] = 0
    while cell != goal:
        ahead = _ahead(net, cell, goal)
        there = -1
        for way in range(net.turn[cell], 6):
            length = net.links[way, cell]
            if length > 0:
                there = beyond(net, cell, way)
                if net.away[there] == FAR and length + _ahead(net, there, goal) == ahead:
                    break
                there = -1
        if there >= 0:
            net.turn[cell] = way + 1
            net.away[there] = 0
            net.reached[net.count] = there
            net.count += 1
            net.turn[there] = 0
            depth += 1
            net.path[depth] = there
        elif depth == 0:
            return False
        else:
            depth -= 1
        cell = net.path[depth]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search(
    net: Net, source: cython.longlong, wanted: cython.uchar[::1], missing: cython.longlong, goal: cython.longlong
) -> cython.void:
    """Find the hops from ``source`` to those marked as wanted, ``missing`` in number, and to all on the ways there.

    If one is wanted it is the ``goal``, towards which the search is led: long ways are searched for in the rectangle
    between their ends, not in all directions. Otherwise the goal is -1.
    """
    way: cython.Py_ssize_t
    cell: cython.longlong
    key: cython.double
    _clear(net)
    net.away[source] = 0
    net.reached[0] = source
    net.count = 1
    net.heap.push(_ahead(net, source, goal), source)
    while net.heap.size > 0 and missing > 0:
        key = net.heap.keys[0]
        cell = net.heap.items[0]
        if goal >= 0 and key > net.away[goal]:
            break  # all that may be on a shortest way are known
        net.heap.pop()
        if key > net.away[cell] + _ahead(net, cell, goal):
            continue
        if goal < 0 and wanted[cell]:
            wanted[cell] = 0
            missing -= 1
        for way in range(6):
            length = net.links[way, cell]
            if length > 0:
                there = beyond(net, cell, way)
                away = net.away[cell] + length
                if away < net.away[there]:
                    if net.away[there] == FAR:
                        net.reached[net.count] = there
                        net.count += 1
                    net.away[there] = away
                    net.heap.push(away + _ahead(net, there, goal), there)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_near(net: Net, messages: Messages, i: cython.Py_ssize_t) -> cython.bint:
    """Send a message that stays where it is or takes one link, but around a ring; return whether it is one.

    Most messages are such, and their processors need not be taken apart into coordinates.
    """
    axis: cython.Py_ssize_t
    way: cython.Py_ssize_t
    cell: cython.longlong = messages.target[i]
    onward: cython.longlong = messages.source[i] - cell
    messages.hops[i] = messages.steps[i] = 0
    if onward == 0:
        return True
    for axis in range(3):
        if net.ring[axis] == 0 and abs(onward) == net.strides[axis]:
            way = 2 * axis + (onward < 0)
            if net.links[way, cell] > 0:
                messages.hops[i] = net.links[way, cell]
                messages.steps[i] = 1
                _note(net, messages, i, way ^ 1, messages.source[i])
                return True
    return False


def measure(
    net: Net, among: cython.const_uchar[::1], window: cython.const_longlong[::1], ways: cython.ushort[:, ::1]
) -> None:
    """Write the hops of the shortest ways from every processor of ``among`` to those of them in a window around it.

    The window has this odd width along each axis, or that of the grid. Place i of it along an axis is i processors
    onward; the later half of the places are as far back as they are before the end. 2^16 - 1 stands where there is no
    processor, no way, or one of more hops.
    """
    source: cython.Py_ssize_t
    k: cython.Py_ssize_t
    missing: cython.longlong
    wanted: cython.uchar[::1] = np.zeros(among.shape[0], np.uint8)
    inside: cython.longlong[::1] = np.zeros(ways.shape[1], np.int64)
    with cython.nogil:
        for source in range(ways.shape[0]):
            missing = 0
            for k in range(ways.shape[1] if among[source] else 0):
                inside[k] = _in_window(net, source, k, window)
                if inside[k] >= 0 and among[inside[k]]:
                    wanted[inside[k]] = 1
                    missing += 1
            if missing > 0:
                search(net, source, wanted, missing, -1)
            for k in range(ways.shape[1]):
                ways[source, k] = min(net.away[inside[k]], 0xFFFF) if missing > 0 and inside[k] >= 0 else 0xFFFF
        _clear(net)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _in_window(
    net: Net, cell: cython.longlong, place: cython.longlong, window: cython.const_longlong[::1]
) -> cython.longlong:
    """Return the processor at a place of the window around another one, -1 where there is none."""
    axis: cython.Py_ssize_t
    found: cython.longlong = 0
    for axis in range(2, -1, -1):
        side = net.sides[axis]
        onward = place % window[axis]
        place = place // window[axis]
        at = cell // net.strides[axis] % side
        if window[axis] == side:
            at = (at + onward) % side
        else:
            at += onward if onward <= window[axis] // 2 else onward - window[axis]
            if net.ring[axis] > 0:
                at = (at + side) % side
            elif at < 0 or at >= side:
                return -1
        found += at * net.strides[axis]
    return found


def route_along(net: Net, messages: Messages) -> None:
    """Send all messages whose way is free axis by axis; the others have no hops (-1)."""
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(messages.source.shape[0]):
            if _is_near(net, messages, i):
                continue
            messages.free[i] = messages.free[i] or is_free(net, messages.target[i], messages.source[i])
            messages.hops[i] = -1
            if messages.free[i]:
                _send(net, messages, i, 0)


def route(net: Net, messages: Messages, order: cython.const_int[::1], wanted: cython.uchar[::1]) -> None:
    """Send the messages that :func:`route_along` left; ``order`` names them source by source.

    No processor is ``wanted`` before or after.

    Every message takes the shortest way on which, seen from its target, every step is the first of up, down, south,
    north, east, west that keeps it shortest.
    """
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    end: cython.Py_ssize_t = 0
    source: cython.longlong
    goal: cython.longlong = -1
    missing: cython.longlong
    with cython.nogil:
        while end < order.shape[0]:
            k = end
            source = messages.source[order[k]]
            missing = 0
            while end < order.shape[0] and messages.source[order[end]] == source:
                i = order[end]
                if is_direct(net, messages.target[i], source):
                    _send(net, messages, i, 1)
                else:
                    messages.hops[i] = -1
                    if wanted[messages.target[i]] == 0:
                        wanted[messages.target[i]] = 1
                        missing += 1
                        goal = messages.target[i]
                end += 1
            if missing > 0:
                search(net, source, wanted, missing, goal if missing == 1 else -1)
                for j in range(k, end):
                    i = order[j]
                    wanted[messages.target[i]] = 0
                    if messages.hops[i] < 0 and net.away[messages.target[i]] < FAR:
                        _send(net, messages, i, 2)
        _clear(net)


def schedule(
    messages: Messages,
    order: cython.const_int[::1],
    cells: cython.Py_ssize_t,
    found: cython.int[::1],
    free: cython.int[::1],
) -> None:
    """Find a round per message, at first -1: in none does a link carry two of them, a processor send or receive two.

    In this ``order``, each takes the first round after those of all that it meets, which is the first ``free`` one, at
    first 0, of its links and of both ends. Messages within a processor have none.
    """
    turn: cython.int
    with cython.nogil:
        for k in range(order.shape[0]):
            i = order[k]
            if messages.starts[i] == messages.starts[i + 1]:
                continue
            sends = 6 * cells + messages.source[i]
            receives = 7 * cells + messages.target[i]
            turn = max(free[sends], free[receives])
            for j in range(messages.starts[i], messages.starts[i + 1]):
                turn = max(turn, free[messages.trail[j]])
            found[i] = turn
            free[sends] = turn + 1
            free[receives] = turn + 1
            for j in range(messages.starts[i], messages.starts[i + 1]):
                free[messages.trail[j]] = turn + 1


def paint(
    messages: Messages,
    order: cython.const_int[::1],
    cells: cython.Py_ssize_t,
    found: cython.int[::1],
    taken: cython.ulonglong[::1],
) -> None:
    """Find a colour per message, at first -1: of those through a router, its own included, no two have the same one.

    In this ``order``, each takes the first of :data:`COLOURS` that no processor on its whole way has ``taken``, at
    first none, and keeps -1 if there is none. Messages within a processor have none either.
    """
    colour: cython.int
    one: cython.ulonglong = 1
    with cython.nogil:
        for k in range(order.shape[0]):
            i = order[k]
            if messages.starts[i] == messages.starts[i + 1]:
                continue
            used = taken[messages.target[i]]
            for j in range(messages.starts[i], messages.starts[i + 1]):
                used |= taken[messages.trail[j] % cells]
            colour = 0
            while colour < COLOURS and (used >> colour) & 1:
                colour += 1
            if colour < COLOURS:
                found[i] = colour
                taken[messages.target[i]] |= one << colour
                for j in range(messages.starts[i], messages.starts[i + 1]):
                    taken[messages.trail[j] % cells] |= one << colour
