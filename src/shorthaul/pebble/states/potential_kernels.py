"""What holding each value may still be charged, per computed set of a small graph: kernels of :mod:`potentials`.

A potential bounds the charges to come after a state (computed set D, red values R) by a(D) plus the sum of the prices
b(D, u) of the values u of R. Any prices between 0 and the charge of letting a value go will do: a(D) then follows
backwards. Computing one more node, to D', gains the prices of what was computed or read, as it is in fast memory
afterwards, and loses at most what the other values that fit beside it drop in price, a fractional knapsack.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import ceil, exp, log, sqrt
from cython.cimports.shorthaul.core.compiled.bits import bit, has, ones
from cython.cimports.shorthaul.pebble.states.lattice_kernels import Lattice, Problem
from cython.cimports.shorthaul.pebble.states.pattern_database_kernels import SetTable, slot_of

_INF = cython.declare(cython.double, float("inf"))
#: Less than this share of the flow is not followed.
_LEAST_FLOW = cython.declare(cython.double, 1e-6)
#: How long the averages of gradients and of their squares remember (Kingma and Ba's Adam), and what is added to a root.
_MEAN = cython.declare(cython.double, 0.9)
_SQUARE = cython.declare(cython.double, 0.99)
_SMALL = cython.declare(cython.double, 1e-4)


@cython.final
@cython.cclass
class Prices:
    """Prices of the entries of a lattice (saved, unsaved), and what they prove.

    ``ahead`` is a(D) of every set, ``through`` the same for each step out of it, ``ends`` the drop in price per weight
    at which each step's room ends, and before that a guess of it.
    """

    problem: Problem
    lattice: Lattice
    prices: cython.double[:, ::1]
    ends: cython.double[::1]
    ahead: cython.double[::1]
    through: cython.double[::1]
    gradient = cython.declare(cython.double[:, ::1], visibility="readonly")
    flow = cython.declare(cython.double[::1], visibility="readonly")
    drops: cython.double[::1]
    rates: cython.double[::1]
    amounts: cython.double[::1]
    sizes: cython.longlong[::1]

    def __init__(
        self,
        problem: Problem,
        lattice: Lattice,
        prices: cython.double[:, ::1],
        ends: cython.double[::1],
        ahead: cython.double[::1],
        through: cython.double[::1],
    ) -> None:
        n = problem.weights.shape[0]
        self.problem = problem
        self.lattice = lattice
        self.prices = prices
        self.ends = ends
        self.ahead = ahead
        self.through = through
        self.gradient = np.zeros((2, prices.shape[1]))
        self.flow = np.zeros(lattice.count)
        self.drops = np.empty(n)
        self.rates = np.empty(n)
        self.amounts = np.empty(n)
        self.sizes = np.empty(n, np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _drop(
    work: Prices, first: cython.longlong, begin: cython.longlong, end: cython.longlong, shift: cython.longlong
) -> cython.void:  # fmt: skip
    """Write by how much the entries from ``begin`` to ``end`` drop in price where they stand ``shift`` further on."""
    i: cython.Py_ssize_t
    for i in range(begin, end):
        work.drops[i - first] = max(
            work.prices[0, i] - work.prices[0, i + shift], work.prices[1, i] - work.prices[1, i + shift]
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _priced(work: Prices, at: cython.longlong, step: cython.longlong, flow: cython.double) -> cython.double:
    """Return what a step gains in prices of what it computes and reads; write what other live values drop to ``drops``.

    With a ``flow`` the gains are entered in ``gradient``. Inputs are never unsaved, and have price 0 there.
    """
    v: cython.longlong = work.lattice.nodes[step]
    target: cython.longlong = work.lattice.targets[step]
    mask: cython.ulonglong = work.lattice.masks[at]
    then: cython.ulonglong = work.lattice.masks[target]
    first: cython.longlong = work.lattice.live_first[at]
    old: cython.longlong = first
    shift: cython.longlong = work.lattice.live_first[target] - first
    kind: cython.longlong
    alive: cython.bint
    is_out: cython.bint
    gain: cython.double = 0.0
    k: cython.Py_ssize_t
    for k in range(work.problem.touched_first[v], work.problem.touched_first[v + 1]):
        u = work.problem.touched[k]
        end = first + ones(mask & (bit(u) - 1))
        _drop(work, first, old, end, shift)
        old = end
        alive = then & bit(u) != 0
        if u == v:
            if alive:
                gain += work.prices[1, old + shift]
                if flow > 0:
                    work.gradient[1, old + shift] += flow
                shift += 1
            continue
        saved = work.prices[0, old + shift] if alive else 0.0
        change = saved - work.prices[0, old]
        kind = 0
        if not work.problem.given[u]:
            other = (work.prices[1, old + shift] if alive else 0.0) - work.prices[1, old]
            if other < change:
                change = other
                kind = 1
        is_out = saved < change  # it was not in fast memory
        gain += saved if is_out else change
        if flow > 0:
            if not is_out:
                work.gradient[kind, old] -= flow
            if alive:
                work.gradient[0 if is_out else kind, old + shift] += flow
        if not alive:
            shift -= 1
        work.drops[old - first] = 0.0
        old += 1
    _drop(work, first, old, work.lattice.live_first[at + 1], shift)
    return gain


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _swap(work: Prices, i: cython.longlong, j: cython.longlong) -> cython.void:
    rate: cython.double = work.rates[i]
    amount: cython.double = work.amounts[i]
    size: cython.longlong = work.sizes[i]
    work.rates[i] = work.rates[j]
    work.amounts[i] = work.amounts[j]
    work.sizes[i] = work.sizes[j]
    work.rates[j] = rate
    work.amounts[j] = amount
    work.sizes[j] = size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lost(work: Prices, at: cython.longlong, step: cython.longlong, is_whole: cython.bint) -> cython.double:
    """Return by how much the values that fit may drop in price at most; set where the room ends.

    Values may be divided; a whole number is rounded up. Drops per weight compare exactly, as weights are small (see
    :mod:`potentials`).
    """
    first: cython.longlong = work.lattice.live_first[at]
    room: cython.longlong = work.problem.room[work.lattice.nodes[step]]
    end: cython.double = work.ends[step]
    found: cython.longlong = 0
    inside: cython.longlong = 0  # values before this number are taken
    taken: cython.longlong = 0
    least: cython.longlong
    total: cython.double = 0.0
    i: cython.Py_ssize_t
    for i in range(work.lattice.live_first[at + 1] - first):
        if work.drops[i] > 0:
            size = work.problem.weights[work.lattice.live[first + i]]
            work.rates[found] = work.drops[i] / size
            work.amounts[found] = work.drops[i]
            work.sizes[found] = size
            if work.rates[found] > end:
                _swap(work, found, inside)
                inside += 1
                taken += size
            found += 1
    while inside > 0 and taken > room:
        least = 0
        for i in range(1, inside):
            if work.rates[i] < work.rates[least]:
                least = i
        inside -= 1
        taken -= work.sizes[least]
        _swap(work, least, inside)
    while inside < found:
        most = inside
        for i in range(inside + 1, found):
            if work.rates[i] > work.rates[most]:
                most = i
        _swap(work, most, inside)
        if taken + work.sizes[inside] > room:
            break
        taken += work.sizes[inside]
        inside += 1
    for i in range(inside):
        total += work.amounts[i]
    if inside == found:
        work.ends[step] = 0.0
        return total
    work.ends[step] = work.rates[inside]
    rest = work.amounts[inside] * (room - taken) / work.sizes[inside]
    return total + (ceil(rest) if is_whole else rest)


def look_ahead(work: Prices, temperature: cython.double, is_whole: cython.bint) -> None:
    """Write ``ahead``, ``through`` and ``ends``.

    With a ``temperature`` the minimum over steps is softened. If ``is_whole``, prices are whole numbers, and so is what
    is written, rounded down.
    """
    at: cython.Py_ssize_t
    with cython.nogil:
        for at in range(work.lattice.count - 1, -1, -1):
            _look_ahead(work, at, temperature, is_whole)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look_ahead(
    work: Prices, at: cython.longlong, temperature: cython.double, is_whole: cython.bint
) -> cython.void:  # fmt: skip
    begin: cython.longlong = work.lattice.step_first[at]
    end: cython.longlong = work.lattice.step_first[at + 1]
    least: cython.double = _INF
    total: cython.double = 0.0
    step: cython.Py_ssize_t
    if at == work.lattice.count - 1:
        work.ahead[at] = 0.0
        return
    for step in range(begin, end):
        gain = _priced(work, at, step, 0.0)
        work.through[step] = work.ahead[work.lattice.targets[step]] + gain - _lost(work, at, step, is_whole)
        least = min(least, work.through[step])
    work.ahead[at] = least
    if temperature > 0 and least < _INF:
        for step in range(begin, end):
            total += exp((least - work.through[step]) / temperature)
        work.ahead[at] -= temperature * log(total)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter_drops(work: Prices, at: cython.longlong, step: cython.longlong, flow: cython.double) -> cython.void:
    """Enter what the values that drop most, as far as they fit, lose to a step; equals share what room is left."""
    first: cython.longlong = work.lattice.live_first[at]
    count: cython.longlong = work.lattice.live_first[at + 1] - first
    target: cython.longlong = work.lattice.targets[step]
    begin: cython.longlong = work.lattice.live_first[target]
    then: cython.ulonglong = work.lattice.masks[target]
    end: cython.double = work.ends[step]
    room: cython.double = work.problem.room[work.lattice.nodes[step]]
    weight: cython.double
    equal: cython.double = 0.0
    share: cython.double = 0.0
    kind: cython.longlong
    i: cython.Py_ssize_t
    for i in range(count):
        if work.drops[i] > 0:
            weight = work.problem.weights[work.lattice.live[first + i]]
            work.drops[i] /= weight
            if work.drops[i] > end:
                room -= weight
            elif work.drops[i] == end:
                equal += weight
    if equal > 0:
        share = flow * min(1.0, max(0.0, room) / equal)
    for i in range(count):
        if work.drops[i] > 0 and work.drops[i] >= end:
            part = flow if work.drops[i] > end else share
            old = first + i
            new = begin + ones(then & (bit(work.lattice.live[old]) - 1))
            kind = work.prices[1, old] - work.prices[1, new] > work.prices[0, old] - work.prices[0, new]
            work.gradient[kind, old] -= part
            work.gradient[kind, new] += part


def follow(work: Prices, temperature: cython.double) -> None:
    """Write the gradient of the softened a(start) by the prices: what a flow over all ways, best ones first, meets."""
    with cython.nogil:
        _follow(work, temperature)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _follow(work: Prices, temperature: cython.double) -> cython.void:
    at: cython.Py_ssize_t
    step: cython.Py_ssize_t
    for at in range(work.gradient.shape[1]):
        work.gradient[0, at] = 0.0
        work.gradient[1, at] = 0.0
    for at in range(work.lattice.count):
        work.flow[at] = 1.0 if at == 0 else 0.0
    for at in range(work.lattice.count - 1):
        if work.flow[at] < _LEAST_FLOW:
            continue
        for step in range(work.lattice.step_first[at], work.lattice.step_first[at + 1]):
            part = work.flow[at] * exp((work.ahead[at] - work.through[step]) / temperature)
            if part < _LEAST_FLOW:
                continue
            work.flow[work.lattice.targets[step]] += part
            _priced(work, at, step, part)
            _enter_drops(work, at, step, part)


def climb(
    work: Prices,
    number: cython.longlong,
    rate: cython.double,
    mean: cython.double[:, ::1],
    square: cython.double[:, ::1],
) -> None:
    """Change the prices along the averaged gradient, each by about ``rate`` of its range (Adam's step ``number``)."""
    means: cython.double = 1 - _MEAN**number
    squares: cython.double = 1 - _SQUARE**number
    kind: cython.Py_ssize_t
    with cython.nogil:
        for kind in range(2):
            for entry in range(work.prices.shape[1]):
                mean[kind, entry] = _MEAN * mean[kind, entry] + (1 - _MEAN) * work.gradient[kind, entry]
                square[kind, entry] = (
                    _SQUARE * square[kind, entry]
                    + (1 - _SQUARE) * work.gradient[kind, entry] * work.gradient[kind, entry]
                )
                if square[kind, entry] > 0:
                    _move(work, kind, entry, rate, mean[kind, entry] / means, sqrt(square[kind, entry] / squares))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(
    work: Prices,
    kind: cython.longlong,
    entry: cython.longlong,
    rate: cython.double,
    mean: cython.double,
    root: cython.double,
) -> cython.void:
    most: cython.double = (1 + kind) * work.problem.weights[work.lattice.live[entry]]
    price: cython.double = work.prices[kind, entry] + rate * most * mean / (root + _SMALL)
    work.prices[kind, entry] = min(max(price, 0.0), most)


def look_back(work: Prices, behind: cython.double[::1]) -> None:
    """Write what the way to each set takes from the potential of the start at least; ``behind`` is infinite before."""
    at: cython.Py_ssize_t
    step: cython.Py_ssize_t
    with cython.nogil:
        behind[0] = 0.0
        for at in range(work.lattice.count - 1):
            for step in range(work.lattice.step_first[at], work.lattice.step_first[at + 1]):
                target = work.lattice.targets[step]
                behind[target] = min(behind[target], behind[at] + work.through[step] - work.ahead[target])


@cython.final
@cython.cclass
class Potential:
    """A potential for the search: ``ahead`` and ``prices`` (saved, unsaved) are counted in parts of ``whole``.

    ``table`` has the lattice's sets. Plans below the limit lead through no other sets.
    """

    table: SetTable
    live_first: cython.const_longlong[::1]
    live: cython.const_longlong[::1]
    ahead: cython.const_longlong[::1]
    prices: cython.const_longlong[:, ::1]
    whole: cython.longlong

    def __init__(
        self,
        table: SetTable,
        live_first: cython.const_longlong[::1],
        live: cython.const_longlong[::1],
        ahead: cython.const_longlong[::1],
        prices: cython.const_longlong[:, ::1],
        whole: cython.longlong,
    ) -> None:
        self.table = table
        self.live_first = live_first
        self.live = live
        self.ahead = ahead
        self.prices = prices
        self.whole = whole


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rank_of(potential: Potential, done: cython.ulonglong) -> cython.longlong:
    """Return the number of a computed set, -1 if no plan below the limit leads through it."""
    return potential.table.ranks[slot_of(potential.table, 0, potential.table.keys.shape[0], done)]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def held_by(
    potential: Potential,
    state: cython.const_ulonglong[::1],
    words: cython.longlong,
    rank: cython.longlong,
    own: cython.longlong[::1],
) -> cython.longlong:
    """Return the potential of a state, and write the price of each red value into ``own`` (shape (n,))."""
    total: cython.longlong = potential.ahead[rank]
    entry: cython.Py_ssize_t
    for entry in range(potential.live_first[rank], potential.live_first[rank + 1]):
        u = potential.live[entry]
        if has(state, words, u):
            own[u] = potential.prices[has(state, 2 * words, u), entry]
            total += own[u]
    return total
