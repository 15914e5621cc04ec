"""Kernel of the layout refinement: simulated annealing by swaps on the grid."""

from __future__ import annotations

import cython
from cython.cimports.libc.math import exp
from cython.cimports.shorthaul.core.compiled.random_kernels import Random

#: What a move costs in reads, but for the neighbours it looks at.
MOVE = cython.declare(cython.longlong, 8)


@cython.final
@cython.cclass
class Placement:
    """Vertices on a grid: vertex v, next to near[starts[v]:starts[v + 1]] in the tree, sits at (x[v], y[v]).

    ``holder`` is the vertex on every cell, row after row, -1 where there is none. ``reads`` counts the work so far.
    """

    starts: cython.const_int[::1]
    near: cython.const_int[::1]
    x: cython.int[::1]
    y: cython.int[::1]
    holder: cython.int[::1]
    width: cython.longlong
    height: cython.longlong
    energy = cython.declare(cython.longlong, visibility="readonly")
    reads = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self,
        starts: cython.const_int[::1],
        near: cython.const_int[::1],
        x: cython.int[::1],
        y: cython.int[::1],
        holder: cython.int[::1],
        width: cython.longlong,
        energy: cython.longlong,
    ) -> None:
        self.starts = starts
        self.near = near
        self.x = x
        self.y = y
        self.holder = holder
        self.width = width
        self.height = holder.shape[0] // width
        self.energy = energy
        self.reads = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _length_around(placement: Placement, v: cython.Py_ssize_t) -> cython.longlong:
    """Return the summed distance from v to its neighbours in the tree."""
    total: cython.longlong = 0
    x: cython.int = placement.x[v]
    y: cython.int = placement.y[v]
    i: cython.Py_ssize_t
    u: cython.Py_ssize_t
    for i in range(placement.starts[v], placement.starts[v + 1]):
        u = placement.near[i]
        total += abs(x - placement.x[u]) + abs(y - placement.y[u])
    placement.reads += placement.starts[v + 1] - placement.starts[v]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cell_near(placement: Placement, u: cython.Py_ssize_t, bits: cython.ulonglong) -> cython.longlong:
    """Return a random cell around u, -1 if it lies outside: three times in four a neighbour, else at distance two."""
    x: cython.longlong = placement.x[u]
    y: cython.longlong = placement.y[u]
    reach: cython.longlong = 2 if bits & 48 == 48 else 1
    if reach == 2 and bits & 256:  # diagonally
        x += 1 if bits & 1 else -1
        y += 1 if bits & 2 else -1
    elif bits & 2:
        y += reach if bits & 1 else -reach
    else:
        x += reach if bits & 1 else -reach
    if x < 0 or y < 0 or x >= placement.width or y >= placement.height:
        return -1
    return y * placement.width + x


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(placement: Placement, v: cython.Py_ssize_t, cell: cython.longlong) -> cython.void:
    placement.y[v] = cell // placement.width
    placement.x[v] = cell % placement.width


def anneal(
    placement: Placement,
    random: Random,
    first: cython.longlong,
    count: cython.longlong,
    temperature: cython.double,
    work: cython.longlong,
) -> None:
    """Try swaps of the vertices first, ..., first + count - 1 in place, until so many reads are done.

    A random vertex moves next to one of its neighbours in the tree; whoever sat there takes its place.
    """
    with cython.nogil:
        _anneal(placement, random, first, count, temperature, placement.reads + work)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(
    placement: Placement,
    random: Random,
    first: cython.longlong,
    count: cython.longlong,
    temperature: cython.double,
    end: cython.longlong,
) -> cython.void:
    v: cython.Py_ssize_t
    u: cython.Py_ssize_t
    w: cython.Py_ssize_t
    degree: cython.longlong
    while placement.reads < end:
        placement.reads += MOVE
        bits = random.word()
        v = first + ((bits >> 33) * count >> 31)
        degree = placement.starts[v + 1] - placement.starts[v]
        if degree == 0:
            continue
        u = placement.near[placement.starts[v] + random.below(degree)]
        cell = _cell_near(placement, u, bits)
        if cell < 0:
            continue
        w = placement.holder[cell]
        if w == v:
            continue
        place = placement.y[v] * placement.width + placement.x[v]
        worse = -_length_around(placement, v)
        if w >= 0:
            worse -= _length_around(placement, w)
            _move(placement, w, place)
        _move(placement, v, cell)
        worse += _length_around(placement, v)
        if w >= 0:
            worse += _length_around(placement, w)
        if worse > 0 and random.real() >= exp(-worse / temperature):
            _move(placement, v, place)
            if w >= 0:
                _move(placement, w, cell)
            continue
        placement.energy += worse
        placement.holder[cell] = v
        placement.holder[place] = w
