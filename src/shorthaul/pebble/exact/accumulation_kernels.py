"""Orders of accumulations: what they pay when values leave by Belady's rule, and annealing of them.

An *accumulation* adds one operand to a value; a value is read when it has all of its operands. The order of all
accumulations tells what is wanted when: what is read or accumulated latest leaves first.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.dataclasses import dataclass

#: More than any order pays.
_NEVER = cython.declare(cython.longlong, 1 << 62)
_LOAD = cython.declare(cython.uchar, 0)
_STORE = cython.declare(cython.uchar, 1)
_COMPUTE = cython.declare(cython.uchar, 2)
_DELETE = cython.declare(cython.uchar, 3)
_ACCUMULATE = cython.declare(cython.uchar, 4)


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Board:
    """Edges from operands to values, weights, inputs, the room and the prices; below 0: there are no such moves."""

    sources: cython.const_longlong[::1]
    targets: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]
    given: cython.const_uchar[::1]
    operands: cython.const_longlong[::1]
    budget: cython.longlong
    load: cython.longlong
    store: cython.longlong


@cython.final
@cython.cclass
class Annealer:
    """The order as it stands, one move further, the best, and the memory while one is replayed."""

    board: Board
    random: Random
    now: cython.longlong[::1]
    other: cython.longlong[::1]
    best: cython.longlong[::1]
    price = cython.declare(cython.longlong, visibility="readonly")
    least = cython.declare(cython.longlong, visibility="readonly")
    work = cython.declare(cython.longlong, visibility="readonly")
    again_source: cython.longlong[::1]
    again_target: cython.longlong[::1]
    wanted: cython.longlong[::1]
    there: cython.longlong[::1]
    added: cython.longlong[::1]
    clean: cython.uchar[::1]
    held: cython.longlong[::1]
    holds: cython.longlong
    room: cython.longlong
    mark: cython.longlong[::1]
    stamp: cython.longlong
    kinds: cython.uchar[::1]
    nodes: cython.longlong[::1]
    moves: cython.longlong

    def __init__(self, board: Board, random: Random, start: cython.const_longlong[::1]) -> None:
        n = board.weights.shape[0]
        edges = board.sources.shape[0]
        self.board = board
        self.random = random
        self.now = np.array(start, dtype=np.int64)
        self.other = np.array(start, dtype=np.int64)
        self.best = np.array(start, dtype=np.int64)
        self.price = 0
        self.least = 0
        self.work = 0
        self.again_source = np.zeros(edges, np.int64)
        self.again_target = np.zeros(edges, np.int64)
        self.wanted = np.zeros(n, np.int64)
        self.there = np.zeros(n, np.int64)
        self.added = np.zeros(n, np.int64)
        self.clean = np.zeros(n, np.uint8)
        self.held = np.zeros(n, np.int64)
        self.holds = 0
        self.room = 0
        self.mark = np.zeros(n, np.int64)
        self.stamp = 0
        self.kinds = np.zeros(10 * edges + 4 * n, np.uint8)
        self.nodes = np.zeros(10 * edges + 4 * n, np.int64)
        self.moves = 0
        self.price = _replay(self, board, self.now)
        self.least = self.price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note(a: Annealer, kind: cython.uchar, node: cython.longlong) -> cython.void:
    a.kinds[a.moves] = kind
    a.nodes[a.moves] = node
    a.moves += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leave(a: Annealer, b: Board, node: cython.longlong) -> cython.void:
    """Take a value out of fast memory."""
    at = a.there[node] - 1
    a.holds -= 1
    last = a.held[a.holds]
    a.held[at] = last
    a.there[last] = at + 1
    a.there[node] = 0
    a.room += b.weights[node]
    _note(a, _DELETE, node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(
    a: Annealer, b: Board, node: cython.longlong, kept: cython.longlong, now: cython.longlong
) -> cython.longlong:
    """Bring a value in, and let others go for it, but for one; return what that pays."""
    at: cython.Py_ssize_t
    paid: cython.longlong = 0
    score: cython.double
    while a.room < b.weights[node]:
        leaving: cython.longlong = -1
        worst: cython.double = -1.0
        for at in range(a.holds):
            other = a.held[at]
            if other == kept:
                continue
            score = cython.cast(cython.double, a.wanted[other] - now)
            if not a.clean[other]:
                if b.store < 0:  # it could not come back
                    continue
                if b.load > 0:
                    score = score * b.load / (b.load + b.store)
            if score > worst:
                worst = score
                leaving = other
        a.work += a.holds
        if leaving < 0 or ((b.load < 0 or b.store < 0) and not b.given[leaving]):
            return _NEVER
        if not a.clean[leaving]:
            paid += b.store * b.weights[leaving]
            a.clean[leaving] = 1
            _note(a, _STORE, leaving)
        _leave(a, b, leaving)
    a.room -= b.weights[node]
    a.held[a.holds] = node
    a.holds += 1
    a.there[node] = a.holds
    if b.given[node] or a.added[node] > 0:
        paid += b.load * b.weights[node]
        a.clean[node] = 1
        _note(a, _LOAD, node)
    elif b.operands[node] == 0:
        a.added[node] = 1
        _note(a, _COMPUTE, node)
    return paid


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _replay(a: Annealer, b: Board, order: cython.longlong[::1]) -> cython.longlong:
    """Note the moves that play an order; return what they pay beside what computing costs."""
    at: cython.Py_ssize_t
    edges = order.shape[0]
    price: cython.longlong = 0
    a.moves = 0
    a.holds = 0
    a.room = b.budget
    for at in range(b.weights.shape[0]):
        a.wanted[at] = edges
        a.there[at] = 0
        a.added[at] = 0
        a.clean[at] = 0
    for at in range(edges - 1, -1, -1):
        source, target = b.sources[order[at]], b.targets[order[at]]
        a.again_source[at] = a.wanted[source]
        a.again_target[at] = a.wanted[target]
        a.wanted[source] = at
        a.wanted[target] = at
    for at in range(edges):
        source, target = b.sources[order[at]], b.targets[order[at]]
        if not a.there[source]:
            price += _enter(a, b, source, target, at)
        if price < _NEVER and not a.there[target]:
            price += _enter(a, b, target, source, at)
        if price >= _NEVER:
            return _NEVER
        _note(a, _ACCUMULATE, order[at])
        a.added[target] += 1
        a.clean[target] = 0
        a.wanted[source] = a.again_source[at]
        a.wanted[target] = a.again_target[at]
        if a.wanted[source] == edges:
            _leave(a, b, source)
        if a.wanted[target] == edges:  # an output, and complete
            if b.store >= 0:
                price += b.store * b.weights[target]
                _note(a, _STORE, target)
            _leave(a, b, target)
    a.work += 6 * edges
    return price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shift(a: Annealer, b: Board) -> cython.bint:
    """Move a stretch of the order earlier or later, as far as its operands and readers let it go."""
    at: cython.Py_ssize_t
    edges: cython.longlong = a.now.shape[0]
    first: cython.longlong = a.random.below(edges)
    count: cython.longlong = 1
    drawn = a.random.below(4)
    if drawn == 0:  # what follows of the same value
        while first + count < edges and b.targets[a.now[first + count]] == b.targets[a.now[first]]:
            count += 1
    elif drawn == 1:
        count = 1 + a.random.below(8)
    count = min(count, edges - first)
    reach: cython.longlong = edges
    if a.random.below(4):
        reach = 1 + a.random.below(min(edges, 32))
    a.stamp += 1
    place: cython.longlong = first
    if a.random.below(2):
        for at in range(first, first + count):
            a.mark[b.sources[a.now[at]]] = a.stamp
        while place > 0 and first - place < reach and a.mark[b.targets[a.now[place - 1]]] != a.stamp:
            place -= 1
        if place == first:
            return False
        place = first - 1 - a.random.below(first - place)
    else:
        for at in range(first, first + count):
            a.mark[b.targets[a.now[at]]] = a.stamp
        while place + count < edges and place - first < reach and a.mark[b.sources[a.now[place + count]]] != a.stamp:
            place += 1
        if place == first:
            return False
        place = first + 1 + a.random.below(place - first)
    a.work += count + abs(place - first)
    for at in range(edges):
        a.other[at] = a.now[at]
    for at in range(count):
        a.other[place + at] = a.now[first + at]
    if place < first:
        for at in range(place, first):
            a.other[at + count] = a.now[at]
    else:
        for at in range(first + count, place + count):
            a.other[at - count] = a.now[at]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(
    a: Annealer, b: Board, hot: cython.double, cold: cython.double, begin: cython.double, end: cython.double,
    most: cython.longlong,
) -> cython.void:  # fmt: skip
    at: cython.Py_ssize_t
    progress: cython.double
    heat: cython.double
    first: cython.longlong = a.work
    steep: cython.double = log(cold / hot)
    while a.work < first + most:
        a.work += 10
        if not _shift(a, b):
            continue
        price = _replay(a, b, a.other)
        progress = begin + (end - begin) * (a.work - first) / most
        heat = hot * exp(steep * progress)
        if price >= _NEVER or price > a.price - heat * log(1.0 - a.random.real()):
            continue
        for at in range(a.now.shape[0]):
            a.now[at] = a.other[at]
        a.price = price
        if price < a.least:
            a.least = price
            for at in range(a.now.shape[0]):
                a.best[at] = a.now[at]


def anneal(
    annealer: Annealer,
    hot: cython.double,
    cold: cython.double,
    begin: cython.double,
    end: cython.double,
    most: cython.longlong,
) -> None:
    """Try moves for ``most`` units of work while the temperature falls, ``begin`` to ``end`` of the way to ``cold``."""
    with cython.nogil:
        _anneal(annealer, annealer.board, hot, cold, begin, end, most)


def restart(annealer: Annealer) -> None:
    """Go back to the best order."""
    at: cython.Py_ssize_t
    for at in range(annealer.now.shape[0]):
        annealer.now[at] = annealer.best[at]
    annealer.price = annealer.least


def moves_of_best(annealer: Annealer) -> list[tuple[int, int]]:
    """Return the moves that play the best order."""
    _replay(annealer, annealer.board, annealer.best)
    return [(annealer.kinds[at], annealer.nodes[at]) for at in range(annealer.moves)]
