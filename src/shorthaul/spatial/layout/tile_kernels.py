"""Kernels of the layout refinement: swaps within a tile of the grid, and vertices put amid their neighbours.

Vertices are numbered with a subtree's one after the other, its root first: equal shapes lie equally far from there.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.core.compiled.bits import wrapped_product, wrapped_sum
from cython.cimports.shorthaul.core.compiled.random_kernels import Random

Index = npt.NDArray[np.int32]

#: What a move costs in reads, but for the neighbours it looks at.
MOVE = cython.declare(cython.longlong, 8)
#: A vertex with more neighbours stays where it is.
MOST_NEAR = cython.declare(cython.longlong, 64)
#: Hops, at most, by which a vertex comes nearer to a neighbour that is far away.
STRIDE = cython.declare(cython.longlong, 16)
#: More hops than any edge has.
NO_LIMIT = cython.declare(cython.longlong, 1 << 40)


@cython.final
@cython.cclass
class Board:
    """Vertices on a grid: vertex v, next to near[starts[v]:starts[v + 1]] in the tree, sits at (x[v], y[v]).

    ``shape`` and ``size`` are those of the subtrees, 0 where these do not change places as a whole; the first of the
    neighbours is the parent there. ``holder`` is the vertex on every cell, row after row, -1 where there is none. Tiles
    are read from ``x`` and ``y`` and written to ``new_x`` and ``new_y``, so that all tiles of the grid may be annealed
    beside each other.
    """

    starts: cython.const_int[::1]
    near: cython.const_int[::1]
    x: cython.int[::1]
    y: cython.int[::1]
    new_x: cython.int[::1]
    new_y: cython.int[::1]
    holder: cython.int[::1]
    shape: cython.const_ulonglong[::1]
    size: cython.const_int[::1]
    local: cython.int[::1]  # the number of a vertex in its tile
    width: cython.longlong
    height: cython.longlong
    count: cython.int[::1]  # scratch space of a median, zero outside

    def __init__(
        self,
        starts: cython.const_int[::1],
        near: cython.const_int[::1],
        x: cython.int[::1],
        y: cython.int[::1],
        shape: cython.const_ulonglong[::1],
        size: cython.const_int[::1],
        width: cython.longlong,
        height: cython.longlong,
    ) -> None:
        self.starts = starts
        self.near = near
        self.x = x
        self.y = y
        self.new_x = np.array(x)
        self.new_y = np.array(y)
        self.holder = np.empty(width * height, np.int32)
        self.shape = shape
        self.size = size
        self.local = np.full(x.shape[0], -1, np.int32)
        self.width = width
        self.height = height
        self.count = np.zeros(max(width, height), np.int32)
        self.put(np.asarray(x), np.asarray(y))

    def turn(self) -> None:
        """Let what was written be what is read from now on."""
        self.x[:] = self.new_x
        self.y[:] = self.new_y

    def put(self, x: Index, y: Index) -> None:
        """Let the vertices be at these places."""
        np.asarray(self.x)[:] = np.asarray(self.new_x)[:] = x
        np.asarray(self.y)[:] = np.asarray(self.new_y)[:] = y
        np.asarray(self.holder).fill(-1)
        np.asarray(self.holder)[y * np.int64(self.width) + x] = np.arange(len(x))

    def places(self) -> tuple[Index, Index]:
        """Return x and y of every vertex."""
        return np.array(self.x), np.array(self.y)


@cython.final
@cython.cclass
class Tile:
    """A rectangle of the grid as one thread works on it, with up to ``side`` cells a side.

    Its vertices are numbered anew: first those that may move, then those with too many neighbours, then the neighbours
    outside, once for every edge. ``shape`` is 0 where not the whole subtree may move. ``held`` is the vertex on every
    cell, -1 where there is none, -2 where it stays; within ``wide`` hops there is room for all neighbours. Every hop of
    an edge beyond ``limit`` counts ``steep`` times more.
    """

    side: cython.longlong
    limit: cython.longlong
    steep: cython.longlong
    left: cython.longlong
    top: cython.longlong
    width: cython.longlong
    height: cython.longlong
    movable: cython.longlong
    vertex: cython.int[::1]
    held: cython.int[::1]
    starts: cython.int[::1]
    near: cython.int[::1]
    shape: cython.ulonglong[::1]
    x: cython.int[::1]
    y: cython.int[::1]
    wide: cython.int[::1]

    def __init__(self, side: cython.longlong, limit: cython.longlong = NO_LIMIT, steep: cython.longlong = 0) -> None:
        cells = side * side
        self.side = side
        self.limit = limit
        self.steep = steep
        self.left = self.top = self.width = self.height = self.movable = 0
        self.vertex = np.empty(cells, np.int32)
        self.held = np.empty(cells, np.int32)
        self.starts = np.empty(cells + 1, np.int32)
        self.near = np.empty(cells * MOST_NEAR, np.int32)
        self.shape = np.empty(cells, np.uint64)
        self.wide = np.empty(cells * (MOST_NEAR + 1), np.int32)
        self.x = np.empty(cells * (MOST_NEAR + 1), np.int32)
        self.y = np.empty(cells * (MOST_NEAR + 1), np.int32)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _load(board: Board, tile: Tile) -> cython.void:
    """Copy the vertices of the tile, and where their neighbours are."""
    count: cython.longlong = 0
    last: cython.longlong = 0
    v: cython.Py_ssize_t
    for stays in range(2):
        for cell in range(tile.width * tile.height):
            v = board.holder[(tile.top + cell // tile.width) * board.width + tile.left + cell % tile.width]
            if v < 0:
                tile.held[cell] = -1
            elif (board.starts[v + 1] - board.starts[v] > MOST_NEAR) == (stays == 1):
                tile.vertex[count] = v
                tile.x[count] = cell % tile.width
                tile.y[count] = cell // tile.width
                tile.held[cell] = count
                tile.wide[count] = _wide(board.starts[v + 1] - board.starts[v])
                board.local[v] = count
                count += 1
        if stays == 0:
            tile.movable = count
    outside = count
    for i in range(tile.movable):
        v = tile.vertex[i]
        tile.starts[i] = last
        for k in range(board.starts[v], board.starts[v + 1]):
            u = board.near[k]
            if _is_in(board, tile, u, count):
                tile.near[last] = board.local[u]
            else:
                tile.near[last] = outside
                tile.x[outside] = board.x[u] - tile.left
                tile.y[outside] = board.y[u] - tile.top
                tile.wide[outside] = _wide(board.starts[u + 1] - board.starts[u])
                outside += 1
            last += 1
    tile.starts[tile.movable] = last
    for i in range(tile.movable, count):
        tile.held[tile.y[i] * tile.width + tile.x[i]] = -2
    for i in range(tile.movable):
        v = tile.vertex[i]
        tile.shape[i] = board.shape[v]
        for k in range(1, board.size[v]):
            if not _is_in(board, tile, v + k, tile.movable):
                tile.shape[i] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _wide(degree: cython.longlong) -> cython.int:
    """Return the hops within which so many neighbours have room."""
    radius: cython.int = 1
    while 2 * radius * (radius + 1) < degree:
        radius += 1
    return radius


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_in(board: Board, tile: Tile, v: cython.Py_ssize_t, count: cython.longlong) -> cython.bint:
    """Return whether v is among the first ``count`` vertices of this tile; another one may be writing its number there.

    Where v is tells less: a tile that is annealed in turns has moved it since that was written.
    """
    i: cython.Py_ssize_t = board.local[v]
    if i < 0 or i >= count:
        return False
    return tile.vertex[i] == v


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _store(board: Board, tile: Tile) -> cython.void:
    """Write where the vertices of the tile are now."""
    for cell in range(tile.width * tile.height):
        i = tile.held[cell]
        there = (tile.top + cell // tile.width) * board.width + tile.left + cell % tile.width
        v = tile.vertex[i] if i >= 0 else board.holder[there]
        if i != -1:
            board.holder[there] = v
            board.new_x[v] = tile.left + cell % tile.width
            board.new_y[v] = tile.top + cell // tile.width
        else:
            board.holder[there] = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _change(
    tile: Tile, v: cython.Py_ssize_t, other: cython.Py_ssize_t, x: cython.int, y: cython.int
) -> cython.longlong:
    """Return by how much the edges of v grow when it moves to (x, y); its edge to ``other`` keeps its length."""
    total: cython.longlong = 0
    from_x: cython.int = tile.x[v]
    from_y: cython.int = tile.y[v]
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    for k in range(tile.starts[v], tile.starts[v + 1]):
        u = tile.near[k]
        if u != other:
            hops = abs(x - tile.x[u]) + abs(y - tile.y[u])
            before = abs(from_x - tile.x[u]) + abs(from_y - tile.y[u])
            total += hops - before
            if tile.steep > 0:
                total += tile.steep * (max(hops - tile.limit, 0) - max(before - tile.limit, 0))
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cell(tile: Tile, v: cython.Py_ssize_t, u: cython.Py_ssize_t, bits: cython.ulonglong) -> cython.longlong:
    """Return a random cell near u, or where u is far on the way there or near v; -1 if it lies outside the tile.

    Cells near a hub are those that its neighbours have room on, as the nearest ones hold some of them already.
    """
    x: cython.longlong = tile.x[u]
    y: cython.longlong = tile.y[u]
    across: cython.longlong = x - tile.x[v]
    down: cython.longlong = y - tile.y[v]
    reach: cython.longlong = abs(across) + abs(down)
    if reach > 3 and bits & 512:
        reach = max(reach, STRIDE) << 8
        # Kept above 0: a division of C rounds towards it.
        across = across * STRIDE * cython.cast(cython.longlong, bits & 255) + reach * STRIDE
        down = down * STRIDE * cython.cast(cython.longlong, bits >> 10 & 255) + reach * STRIDE
        x = tile.x[v] + across // reach - STRIDE
        y = tile.y[v] + down // reach - STRIDE
    else:
        wide: cython.longlong = tile.wide[u]
        across = ((bits & 255) * (2 * wide + 1) >> 8) - wide
        down = ((bits >> 10 & 255) * (2 * wide + 1) >> 8) - wide
        is_anywhere: cython.bint = wide > 2 and tile.wide[v] == 1
        is_in_star: cython.bint = is_anywhere and abs(across) + abs(down) <= wide
        if (is_anywhere and not is_in_star) or (not is_anywhere and reach > 3 and bits & 1024):  # beside v itself
            x, y = tile.x[v], tile.y[v]
        bits = bits >> 19 if is_anywhere else bits  # others than those that tell whether it is in the star
        reach = 2 if bits & 48 == 48 else 1
        if is_in_star:
            x, y = x + across, y + down
        elif reach == 2 and bits & 256:  # diagonally
            x += 1 if bits & 1 else -1
            y += 1 if bits & 2 else -1
        elif bits & 2:
            y += reach if bits & 1 else -reach
        else:
            x += reach if bits & 1 else -reach
    if x < 0 or y < 0 or x >= tile.width or y >= tile.height:
        return -1
    return y * tile.width + x


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hops(tile: Tile, v: cython.Py_ssize_t, u: cython.Py_ssize_t) -> cython.longlong:
    """Return the hops from v to u, those beyond the limit counted as often as they are there."""
    hops: cython.longlong = abs(tile.x[v] - tile.x[u]) + abs(tile.y[v] - tile.y[u])
    return hops + tile.steep * max(hops - tile.limit, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(tile: Tile, v: cython.Py_ssize_t, x: cython.int, y: cython.int) -> cython.void:
    tile.held[y * tile.width + x] = v
    tile.x[v] = x
    tile.y[v] = y


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _word(random: Random) -> cython.ulonglong:
    """Return ``random.word()``, without a call to another module."""
    random.state = wrapped_sum(random.state, 0x9E37_79B9_7F4A_7C15)
    bits = random.state
    bits = wrapped_product(bits ^ (bits >> 30), 0xBF58_476D_1CE4_E5B9)
    bits = wrapped_product(bits ^ (bits >> 27), 0x94D0_49BB_1331_11EB)
    return bits ^ (bits >> 31)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(
    board: Board, tile: Tile, random: Random, accepted: cython.const_ulonglong[::1], work: cython.longlong
) -> cython.longlong:
    v: cython.Py_ssize_t
    u: cython.Py_ssize_t
    w: cython.Py_ssize_t
    worse: cython.longlong
    degree: cython.longlong
    whole: cython.bint
    x: cython.int
    y: cython.int
    reads: cython.longlong = 0
    while reads < work:
        reads += MOVE
        bits = _word(random)
        v = (bits >> 40) * tile.movable >> 24
        degree = tile.starts[v + 1] - tile.starts[v]
        if degree == 0:
            continue
        u = tile.near[tile.starts[v] + ((bits >> 24 & 0xFFFF) * degree >> 16)]
        cell = _cell(tile, v, u, bits)
        if cell < 0:
            continue
        w = tile.held[cell]
        if w == v or w == -2:
            continue
        x = cell % tile.width
        y = cell // tile.width
        whole = (bits & 1 << 18) != 0 and w >= 0 and tile.shape[v] != 0 and tile.shape[v] == tile.shape[w]
        if whole:
            u = tile.near[tile.starts[v]]
            other = tile.near[tile.starts[w]]
            worse = _hops(tile, u, w) + _hops(tile, other, v) - _hops(tile, u, v) - _hops(tile, other, w)
        else:
            worse = _change(tile, v, w, x, y)
        reads += degree
        if w >= 0 and not whole:
            worse += _change(tile, w, v, tile.x[v], tile.y[v])
            reads += tile.starts[w + 1] - tile.starts[w]
        if worse > 0 and (worse >= accepted.shape[0] or _word(random) >= accepted[worse]):
            continue
        if whole:
            for k in range(board.size[tile.vertex[v]]):
                a = board.local[tile.vertex[v] + k]
                b = board.local[tile.vertex[w] + k]
                x = tile.x[a]
                y = tile.y[a]
                _put(tile, a, tile.x[b], tile.y[b])
                _put(tile, b, x, y)
                reads += 2
            continue
        tile.held[tile.y[v] * tile.width + tile.x[v]] = w
        if w >= 0:
            tile.x[w] = tile.x[v]
            tile.y[w] = tile.y[v]
        _put(tile, v, x, y)
    return reads


def anneal_tile(
    board: Board,
    tile: Tile,
    corner: tuple[int, int],
    size: tuple[int, int],
    random: Random,
    accepted: cython.const_ulonglong[::1],
    reads_per_vertex: cython.double,
) -> int:
    """Try swaps within the rectangle of this ``size`` at ``corner``, so many reads for each vertex; return the reads.

    A random vertex moves next to one of its neighbours in the tree, or nearer to it; whoever sat there takes its place.
    Two vertices with subtrees of one shape do so alone or with these.
    A swap that adds d hops is done if a random word is below ``accepted[d]``.
    """
    reads: cython.longlong = 0
    tile.left, tile.top = corner
    tile.width, tile.height = size
    with cython.nogil:
        _load(board, tile)
        if tile.movable > 0:
            reads = _anneal(
                board, tile, random, accepted, cython.cast(cython.longlong, reads_per_vertex * tile.movable)
            )
        _store(board, tile)
    return int(reads)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _median(board: Board, v: cython.Py_ssize_t, down: cython.bint) -> cython.longlong:
    """Return the median column (or row) of the neighbours of v."""
    low: cython.longlong = board.count.shape[0]
    high: cython.longlong = -1
    seen: cython.longlong = 0
    median: cython.longlong = -1
    for k in range(board.starts[v], board.starts[v + 1]):
        at = board.y[board.near[k]] if down else board.x[board.near[k]]
        board.count[at] += 1
        low = min(low, at)
        high = max(high, at)
    for at in range(low, high + 1):
        seen += board.count[at]
        board.count[at] = 0
        if median < 0 and 2 * seen >= board.starts[v + 1] - board.starts[v]:
            median = at
    return median


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _length(board: Board, v: cython.Py_ssize_t, cell: cython.longlong, other: cython.Py_ssize_t) -> cython.longlong:
    """Return the summed distance from a cell to the neighbours of v but ``other``."""
    total: cython.longlong = 0
    x: cython.longlong = cell % board.width
    y: cython.longlong = cell // board.width
    for k in range(board.starts[v], board.starts[v + 1]):
        u = board.near[k]
        if u != other:
            total += abs(x - board.x[u]) + abs(y - board.y[u])
    return total


def centre(board: Board, vertices: cython.const_int[::1]) -> None:
    """Move these vertices, one after the other, to the middle of their neighbours.

    Each changes places with whoever is there, or beside it, if that saves hops. Tiles that are not annealed afterwards
    stay so.
    """
    with cython.nogil:
        for i in range(vertices.shape[0]):
            v = vertices[i]
            if board.starts[v] == board.starts[v + 1]:
                continue
            middle = _median(board, v, False)
            row = _median(board, v, True)
            here = board.y[v] * board.width + board.x[v]
            for turn in range(5):
                x = middle + (1 if turn == 1 else -1 if turn == 2 else 0)
                y = row + (1 if turn == 3 else -1 if turn == 4 else 0)
                if x < 0 or y < 0 or x >= board.width or y >= board.height:
                    continue
                there = y * board.width + x
                if there == here:
                    break
                w = board.holder[there]
                gain = _length(board, v, here, w) - _length(board, v, there, w)
                if w >= 0:
                    gain += _length(board, w, there, v) - _length(board, w, here, v)
                if gain > 0:
                    board.holder[here] = w
                    board.holder[there] = v
                    if w >= 0:
                        board.x[w] = board.new_x[w] = board.x[v]
                        board.y[w] = board.new_y[w] = board.y[v]
                    board.x[v] = board.new_x[v] = x
                    board.y[v] = board.new_y[v] = y
                    break
