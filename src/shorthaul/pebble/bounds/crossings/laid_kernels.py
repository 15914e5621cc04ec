"""Compiled loops of disjoint paths that are laid in a graph: one more is added, all are removed; and walks.

``after`` is the next node on a path, -1 where there is none, -2 behind the last one; ``before`` the one before, -1
elsewhere. States of a search are 2 v before node v and 2 v + 1 behind it; ``back`` is the state before each.
"""

from __future__ import annotations

import cython

_LAST = cython.declare(cython.longlong, -2)  # what follows the last node of a path


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lay(
    back: cython.longlong[::1], queue: cython.longlong[::1], after: cython.longlong[::1], before: cython.longlong[::1],
    last: cython.longlong,
) -> cython.bint:  # fmt: skip
    """Lay the path found, which ends in a node, and turn others where it goes back along them; False if it is none."""
    count: cython.Py_ssize_t = 0
    state: cython.longlong = 2 * last + 1
    v: cython.longlong
    then: cython.longlong
    while state >= 0:
        if count + 1 >= queue.shape[0]:
            return False
        queue[count] = state
        count += 1
        state = back[state]
    v = queue[count - 1] >> 1
    before[v] = -1
    while count > 1:
        count -= 1
        state = queue[count]
        v = state >> 1
        then = queue[count - 1] >> 1
        if state & 1 == 0:
            continue
        if then == v:
            after[v] = -1
            before[v] = -1
        else:
            after[v] = then
            before[then] = v
    after[last] = _LAST
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def forget(
    starts: cython.longlong[::1], count: cython.Py_ssize_t, after: cython.longlong[::1], before: cython.longlong[::1]
) -> cython.void:
    """Remove all paths."""
    i: cython.Py_ssize_t
    v: cython.longlong
    w: cython.longlong
    for i in range(count):
        v = starts[i]
        if before[v] >= 0:
            continue
        while v >= 0:
            w = after[v]
            after[v] = -1
            before[v] = -1
            v = w


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk(
    queue: cython.longlong[::1], node: cython.longlong, starts: cython.const_longlong[::1],
    links: cython.const_longlong[::1], marks: cython.longlong[::1], part: cython.longlong,
    key: cython.const_longlong[::1], lowest: cython.longlong, most: cython.Py_ssize_t,
) -> cython.Py_ssize_t:  # fmt: skip
    """Mark what is reached from a node by links, no lower than a key, about so many; return how many are in ``queue``.

    The nearest come first, behind the node itself.
    """
    head: cython.Py_ssize_t = 0
    tail: cython.Py_ssize_t = 1
    i: cython.Py_ssize_t
    w: cython.longlong
    queue[0] = node
    while head < tail < most:
        for i in range(starts[queue[head]], starts[queue[head] + 1]):
            w = links[i]
            if key[w] >= lowest and marks[w] != part:
                marks[w] = part
                queue[tail] = w
                tail += 1
        head += 1
    return tail
