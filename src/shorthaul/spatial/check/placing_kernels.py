"""Kernel of the checker: whether a small tree has a layout of so few hops, by trying all of them."""

from __future__ import annotations

import cython
import numpy as np

#: What a search ends with: there is no such layout, there is one, or the nodes were spent.
NONE = cython.declare(cython.int, 0)
FOUND = cython.declare(cython.int, 1)
SPENT = cython.declare(cython.int, 2)
#: Bits of a word.
BITS = cython.declare(cython.Py_ssize_t, 64)


@cython.final
@cython.cclass
class Flood:
    """A tree in placing, and the grid as sets of cells: bits of some words, an empty column after every row."""

    starts: cython.const_int[::1]
    kids: cython.const_int[::1]
    twin: cython.const_uchar[::1]
    below: cython.const_int[:, ::1]
    grid: cython.const_ulonglong[::1]
    stride: cython.Py_ssize_t  # from a cell to the one below it
    bit: cython.const_ulonglong[::1]  # of a word
    free: cython.ulonglong[::1]
    cell: cython.int[::1]  # of a vertex that is placed, else -1
    following: cython.int[::1]  # the child of a vertex to be placed next
    open: cython.int[::1]  # placed vertices, as they were placed
    placed: cython.Py_ssize_t
    need: cython.longlong[::1]  # of these
    nodes: cython.longlong
    # By hops to spare and level: where vertices can be as many levels below the one at work, or the row before it.
    reached: cython.ulonglong[:, :, ::1]
    within: cython.ulonglong[:, ::1]  # free cells that are reached, within so many levels
    alike: cython.ulonglong[:, ::1]  # by even and by odd levels
    together: cython.ulonglong[:, ::1]  # from all vertices; the first row without a limit
    due: cython.longlong[::1]  # so many vertices are there
    slack: cython.longlong  # free cells left over, where they are fewest

    def __init__(
        self,
        starts: cython.const_int[::1],
        kids: cython.const_int[::1],
        twin: cython.const_uchar[::1],
        below: cython.const_int[:, ::1],
        grid: cython.const_ulonglong[::1],
        stride: cython.Py_ssize_t,
        spare: cython.Py_ssize_t,
        nodes: cython.longlong,
    ) -> None:
        n, words = int(starts.shape[0]) - 1, int(grid.shape[0])
        self.starts = starts
        self.kids = kids
        self.twin = twin
        self.below = below
        self.grid = grid
        self.stride = stride
        self.bit = np.uint64(1) << np.arange(BITS, dtype=np.uint64)
        self.free = np.array(grid)
        self.cell = np.full(n, -1, np.int32)
        self.following = np.array(starts[:n])
        self.open = np.zeros(n, np.int32)
        self.placed = 0
        self.need = np.zeros(n, np.int64)
        self.nodes = nodes
        self.reached = np.zeros((spare + 1, int(below.shape[1]), words), np.uint64)
        self.within = np.zeros((int(below.shape[1]), words), np.uint64)
        self.alike = np.zeros((2, words), np.uint64)
        self.together = np.zeros((int(below.shape[1]), words), np.uint64)
        self.due = np.zeros(below.shape[1], np.int64)
        self.slack = 0


def flood(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    twin: cython.const_uchar[::1],
    below: cython.const_int[:, ::1],
    grid: cython.const_ulonglong[::1],
    stride: int,
    first: cython.const_int[::1],
    spare: cython.longlong,
    nodes: int,
) -> tuple[int, int]:
    """Search for a layout whose edges take ``spare`` hops beyond one each at most, vertex 0 on a cell of ``first``.

    The children of vertex v are kids[starts[v]] to kids[starts[v + 1] - 1]; a ``twin`` has the shape of the child
    before it. Of each and those after it, ``below[i, t]`` counts the vertices t levels below their parent, and
    ``below[i, 0]`` all. The cells of the grid are the bits of ``grid``; rows begin ``stride`` bits from one another.

    Returns 0 where there is none, 1 where there is, or 2 where ``nodes`` were spent before that was known; and the
    nodes left.
    """
    board = Flood(starts, kids, twin, below, grid, stride, spare, nodes)
    found: cython.int = NONE
    with cython.nogil:
        for i in range(first.shape[0]):
            if found == NONE:
                found = _put(board, 0, first[i], spare)
    return found, board.nodes


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(board: Flood, v: cython.Py_ssize_t, cell: cython.Py_ssize_t, spare: cython.longlong) -> cython.int:
    """Try all layouts with a vertex on a cell, with so many hops to spare then."""
    board.free[cell // BITS] ^= board.bit[cell % BITS]
    board.cell[v] = cython.cast(cython.int, cell)
    board.open[board.placed] = cython.cast(cython.int, v)
    board.placed += 1
    found: cython.int = _go_on(board, spare)
    board.placed -= 1
    board.cell[v] = -1
    board.free[cell // BITS] ^= board.bit[cell % BITS]
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _go_on(board: Flood, spare: cython.longlong) -> cython.int:
    """Place the next child of the vertex that has the least slack, unless vertices need more than there is to spare."""
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    best: cython.Py_ssize_t = -1
    least: cython.longlong = 0
    needs: cython.longlong
    own: cython.longlong = 0
    level: cython.Py_ssize_t
    left: cython.longlong = spare
    if board.placed == board.open.shape[0]:
        return FOUND
    if board.nodes <= 0:
        return SPENT
    board.nodes -= 1
    for level in range(board.due.shape[0]):  # what all can reach is forgotten
        board.due[level] = 0
        for i in range(board.grid.shape[0]):
            board.together[level, i] = 0
    for i in range(board.placed - 1, -1, -1):
        v = board.open[i]
        if board.following[v] == board.starts[v + 1]:
            continue
        needs = _needs(board, v, 0, left)
        if spare == 0:
            _record(board, v)
        board.need[i] = needs
        left -= needs
        if left < 0:
            return NONE
        if best < 0 or board.slack < least:
            best, least, own = v, board.slack, needs
    if spare > 0:
        for i in range(board.placed - 1, -1, -1):
            v = board.open[i]
            if board.following[v] < board.starts[v + 1]:
                _needs(board, v, board.need[i] + left, board.need[i] + left)
                _record(board, v)
    for level in range(board.due.shape[0]):
        if _count(board.together, level) < board.due[level]:
            return NONE
    return _place_below(board, best, left + own, spare)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place_below(board: Flood, v: cython.Py_ssize_t, longer: cython.longlong, spare: cython.longlong) -> cython.int:
    """Place the next child of a vertex on every free cell, the nearest first, its edge so much longer at most."""
    at: cython.Py_ssize_t = board.following[v]
    lowest: cython.Py_ssize_t = board.cell[board.kids[at - 1]] if board.twin[at] else -1
    x: cython.Py_ssize_t = board.cell[v] % board.stride
    y: cython.Py_ssize_t = board.cell[v] // board.stride
    end: cython.Py_ssize_t = board.grid.shape[0] * BITS
    cell: cython.Py_ssize_t
    hops: cython.Py_ssize_t
    across: cython.Py_ssize_t
    away: cython.Py_ssize_t
    side: cython.Py_ssize_t
    found: cython.int = NONE
    board.following[v] += 1
    for hops in range(1, longer + 2):
        for across in range(-hops, hops + 1):
            away = hops - across if across > 0 else hops + across
            for side in range(2 if away > 0 else 1):
                cell = (y - away if side == 0 else y + away) * board.stride + x + across
                if found != NONE or cell <= lowest or not 0 <= cell < end or not 0 <= x + across < board.stride:
                    continue
                if board.free[cell // BITS] & board.bit[cell % BITS] != 0:
                    found = _put(board, board.kids[at], cell, spare - hops + 1)
    board.following[v] -= 1
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _needs(board: Flood, v: cython.Py_ssize_t, least: cython.longlong, most: cython.longlong) -> cython.longlong:
    """Return how many hops beyond one each the edges left below a vertex take, ``least`` or more; at most ``most`` + 1.

    From the cell of the vertex, steps from one free cell to the next, and over others as far as hops are to spare, lead
    to where the vertices 1, 2, ... levels below it can be. There have to be as many free cells as vertices within some
    levels; where no hops are to spare, also as many so many steps away, or two, four, ... fewer. And its own children
    are on different cells.
    """
    at: cython.Py_ssize_t = board.following[v]
    level: cython.Py_ssize_t
    spare: cython.Py_ssize_t
    word: cython.Py_ssize_t
    words: cython.Py_ssize_t = board.grid.shape[0]
    here: cython.ulonglong
    before: cython.longlong
    room: cython.longlong
    count: cython.longlong
    stars: cython.longlong = 0
    for spare in range(most + 1):
        for word in range(words):
            board.within[0, word] = board.alike[0, word] = board.alike[1, word] = board.reached[spare, 0, word] = 0
        board.reached[spare, 0, board.cell[v] // BITS] = board.bit[board.cell[v] % BITS]
        board.slack = words * BITS
        count = 0
        for level in range(1, board.below.shape[1]):
            if board.below[at, level] == 0:
                break
            _step(board, spare, level)
            for word in range(words):
                here = board.reached[spare, level, word] & board.free[word]
                board.within[level, word] = board.within[level - 1, word] | here
                board.alike[level % 2, word] |= here
            count += board.below[at, level]
            room = _count(board.within, level) - count
            if level == 1:
                stars += max(0, -room)
            if spare == 0:
                before = 0
                for word in range(level, 0, -2):
                    before += board.below[at, word]
                room = min(room, _count(board.alike, level % 2) - before)
            board.slack = min(board.slack, room)
        if spare >= least and board.slack >= 0 and spare >= stars:
            return spare
    return most + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _record(board: Flood, v: cython.Py_ssize_t) -> cython.void:
    """Add what the vertices below one that are left can reach to what all can, by the levels."""
    at: cython.Py_ssize_t = board.following[v]
    level: cython.Py_ssize_t
    word: cython.Py_ssize_t
    words: cython.Py_ssize_t = board.grid.shape[0]
    deepest: cython.Py_ssize_t = 1
    count: cython.longlong = 0
    for level in range(1, board.below.shape[1]):
        if board.below[at, level] > 0:
            count += board.below[at, level]
            deepest = level
        board.due[level] += count
        for word in range(words):
            board.together[level, word] |= board.within[deepest, word]
    board.due[0] += board.below[at, 0]
    for word in range(words):  # further down, anywhere
        board.together[0, word] |= board.within[deepest, word] if count == board.below[at, 0] else board.free[word]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _step(board: Flood, spare: cython.Py_ssize_t, level: cython.Py_ssize_t) -> cython.void:
    """Find what is a step from free cells of the level before, or one further than with a hop less to spare."""
    word: cython.Py_ssize_t
    words: cython.Py_ssize_t = board.grid.shape[0]
    up: cython.Py_ssize_t = board.stride // BITS
    bits: cython.Py_ssize_t = board.stride % BITS
    here: cython.ulonglong
    for word in range(words):
        board.reached[spare, level, word] = board.reached[spare - 1, level, word] if spare > 0 else 0
    for word in range(words):
        here = board.reached[spare, level - 1, word]
        if level > 1:
            here &= board.free[word]
        if spare > 0:
            here |= board.reached[spare - 1, level, word]
        if here == 0:
            continue
        board.reached[spare, level, word] |= here << 1 | here >> 1
        if word + 1 < words:
            board.reached[spare, level, word + 1] |= here >> (BITS - 1)
        if word > 0:
            board.reached[spare, level, word - 1] |= here << (BITS - 1)
        if word + up < words:
            board.reached[spare, level, word + up] |= here << bits
        if word >= up:
            board.reached[spare, level, word - up] |= here >> bits
        if bits > 0 and word + up + 1 < words:
            board.reached[spare, level, word + up + 1] |= here >> (BITS - bits)
        if bits > 0 and word > up:
            board.reached[spare, level, word - up - 1] |= here << (BITS - bits)
    for word in range(words):
        board.reached[spare, level, word] &= board.grid[word]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(bits: cython.ulonglong[:, ::1], row: cython.Py_ssize_t) -> cython.longlong:
    """Return how many bits of a row are set, counted side by side in pairs, fours, ..."""
    i: cython.Py_ssize_t
    pairs: cython.ulonglong = 0x5555555555555555
    fours: cython.ulonglong = 0x3333333333333333
    eights: cython.ulonglong = 0x0F0F0F0F0F0F0F0F
    x: cython.ulonglong
    total: cython.longlong = 0
    for i in range(bits.shape[1]):
        x = bits[row, i]
        if x == 0:
            continue
        x = (x & pairs) + (x >> 1 & pairs)
        x = (x & fours) + (x >> 2 & fours)
        x = (x & eights) + (x >> 4 & eights)
        x += x >> 8
        x += x >> 16
        x += x >> 32
        total += cython.cast(cython.longlong, x & 0xFF)
    return total
