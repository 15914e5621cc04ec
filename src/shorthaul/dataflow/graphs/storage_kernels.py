"""What a distribution of room lacks of all demands: the inner loop of the search for the smallest one."""

from __future__ import annotations

import cython

#: The room of a buffer that a demand does not name.
ANY = 2**62


def unmet(
    most: cython.const_longlong[:, ::1], steps: cython.const_longlong[::1], weights: cython.const_longlong[::1],
    box: cython.const_longlong[:, ::1], price: cython.longlong[::1], named: cython.longlong[::1],
    used: cython.uchar[::1],
) -> tuple[int, int]:  # fmt: skip
    """Return the first of the demands with the fewest ways to meet them of those unmet (-1: none), and a price.

    A ``box`` has the least and the most room of every buffer. At least so much must be added to the least, over demands
    that share no buffer, the dearest first, of those as dear the one with the fewest ways; ``ANY`` where no room in the
    box meets some demand. ``price`` and ``named`` (one per demand) and ``used`` (one per buffer) are written over.
    """
    any_room: cython.longlong = ANY
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    shortest: cython.Py_ssize_t = -1
    best: cython.Py_ssize_t
    total: cython.longlong = 0
    is_apart: cython.bint
    with cython.nogil:
        for place in range(most.shape[1]):
            used[place] = 0
        for row in range(most.shape[0]):
            price[row] = any_room
            named[row] = 0
            for place in range(most.shape[1]):
                if most[row, place] < box[0, place]:
                    price[row] = 0
                    break
                if most[row, place] < box[1, place]:
                    lack: cython.longlong = (most[row, place] + steps[place] - box[0, place]) * weights[place]
                    named[row] += 1
                    price[row] = min(price[row], lack)
            if price[row] and (shortest < 0 or named[row] < named[shortest]):
                shortest = row
        if shortest >= 0 and named[shortest] == 0:
            total = any_room
            for row in range(most.shape[0]):
                price[row] = 0
        while True:
            best = -1
            for row in range(most.shape[0]):
                if price[row] and (
                    best < 0 or price[row] > price[best] or (price[row] == price[best] and named[row] < named[best])
                ):
                    best = row
            if best < 0:
                break
            is_apart = True
            for place in range(most.shape[1]):
                if used[place] and most[best, place] < box[1, place]:
                    is_apart = False
            if is_apart:
                total += price[best]
                for place in range(most.shape[1]):
                    used[place] |= most[best, place] < box[1, place]
            price[best] = 0
    return int(shortest), int(total)
