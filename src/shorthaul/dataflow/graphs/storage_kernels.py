"""What a distribution of room lacks of all demands: the inner loop of the search for the smallest one."""

from __future__ import annotations

import cython

#: The room of a buffer that a demand does not name.
ANY = 2**62


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def room_for(
    lacks: cython.longlong[:, ::1], shares: cython.longlong[::1], taken: cython.longlong[::1],
    count: cython.Py_ssize_t, row: cython.Py_ssize_t, any_room: cython.longlong,
) -> cython.longlong:  # fmt: skip
    """Return the largest share of a demand beside those that ``count`` others have taken."""
    place: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    least: cython.longlong = any_room
    for place in range(lacks.shape[1]):
        if lacks[row, place] == any_room:
            continue
        for i in range(-1, count):
            added: cython.longlong = lacks[row if i < 0 else taken[i], place]
            if added < lacks[row, place] or added == any_room:
                continue
            left: cython.longlong = added
            for j in range(count):
                if lacks[taken[j], place] <= added:
                    left -= shares[taken[j]]
            least = min(least, left)
    return least


def unmet(
    most: cython.const_longlong[:, ::1], steps: cython.const_longlong[::1], weights: cython.const_longlong[::1],
    box: cython.const_longlong[:, ::1], lacks: cython.longlong[:, ::1], rows: cython.longlong[:, ::1],
) -> tuple[int, int]:  # fmt: skip
    """Return the first of the demands with the fewest ways to meet them of those unmet (-1: none), and a price.

    A ``box`` has the least and the most room of every buffer. At least so much must be added to the least; ``ANY``
    where no room in the box meets some demand. Demands have shares of it: those met by what a buffer gets have no more
    in sum than that, whatever it gets. The dearest demand takes the most it may first, of those as dear the one with
    the fewest ways (dual ascent). ``lacks`` (like ``most``) and ``rows`` (four per demand) are written over.
    """
    any_room: cython.longlong = ANY
    price: cython.longlong[::1] = rows[0]
    named: cython.longlong[::1] = rows[1]
    shares: cython.longlong[::1] = rows[2]
    taken: cython.longlong[::1] = rows[3]
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    shortest: cython.Py_ssize_t = -1
    best: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    total: cython.longlong = 0
    with cython.nogil:
        for row in range(most.shape[0]):
            price[row] = any_room
            named[row] = 0
            for place in range(most.shape[1]):
                lacks[row, place] = any_room
                if most[row, place] < box[0, place]:
                    price[row] = 0
                    break
                if most[row, place] < box[1, place]:
                    lacks[row, place] = (most[row, place] + steps[place] - box[0, place]) * weights[place]
                    named[row] += 1
                    price[row] = min(price[row], lacks[row, place])
            if price[row] and (shortest < 0 or named[row] < named[shortest]):
                shortest = row
        if shortest >= 0 and named[shortest] == 0:
            total = any_room
            price[:] = 0
        while True:
            best = -1
            for row in range(most.shape[0]):
                if price[row] and (
                    best < 0 or price[row] > price[best] or (price[row] == price[best] and named[row] < named[best])
                ):
                    best = row
            if best < 0:
                break
            price[best] = 0
            shares[best] = room_for(lacks, shares, taken, count, best, any_room)
            if shares[best]:
                total += shares[best]
                taken[count] = best
                count += 1
    return int(shortest), int(total)
