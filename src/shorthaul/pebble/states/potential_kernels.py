"""What holding each value may still be charged, per computed set of a small graph: kernels of :mod:`potentials`.

A potential bounds the charges to come after a state (computed set D, red values R) by a(D) plus the sum of the prices
b(D, u) of the values u of R. Any prices between 0 and the charge of letting a value go will do: a(D) then follows
backwards. Computing one more node, to D', gains the prices of what was computed or read, as it is in fast memory
afterwards, and loses at most what the other values that fit beside it drop in price, a fractional knapsack. Entries of
one class have one price.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import ceil, exp, log, sqrt
from cython.cimports.shorthaul.core.compiled.bits import bit, has, lowest
from cython.cimports.shorthaul.pebble.states.lattice_kernels import Lattice, Problem
from cython.cimports.shorthaul.pebble.states.pattern_database_kernels import SetTable, slot_of
from cython.dataclasses import dataclass

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
    """Prices of the classes of a lattice (saved, unsaved), and what they prove.

    ``charges`` are the weights of the classes' values; ``ahead`` is a(D) of every set, ``through`` the same for each
    step out of it.
    """

    problem: Problem
    lattice: Lattice
    charges: cython.const_longlong[::1]
    prices: cython.double[:, ::1]
    ahead = cython.declare(cython.double[::1], visibility="readonly")
    through: cython.double[::1]
    gradient = cython.declare(cython.double[:, ::1], visibility="readonly")
    flow = cython.declare(cython.double[::1], visibility="readonly")
    # The values that drop in price in one step: by how much per weight and in all, and their classes before and after.
    rates: cython.double[::1]
    amounts: cython.double[::1]
    sizes: cython.longlong[::1]
    kinds: cython.longlong[::1]
    olds: cython.longlong[::1]
    news: cython.longlong[::1]
    found: cython.longlong
    cut: cython.double  # the rate at which the room ends

    def __init__(
        self,
        problem: Problem,
        lattice: Lattice,
        charges: cython.const_longlong[::1],
        prices: cython.double[:, ::1],
        ahead: cython.double[::1],
        through: cython.double[::1],
    ) -> None:
        n = problem.weights.shape[0]
        self.problem = problem
        self.lattice = lattice
        self.charges = charges
        self.prices = prices
        self.ahead = ahead
        self.through = through
        self.gradient = np.zeros((2, prices.shape[1]))
        self.flow = np.zeros(lattice.sets.shape[0])
        self.rates, self.amounts = np.empty((2, n))
        self.sizes, self.kinds, self.olds, self.news = np.empty((4, n), np.int64)
        self.found = 0
        self.cut = 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep(
    work: Prices, u: cython.longlong, old: cython.longlong, new: cython.longlong, is_touched: cython.bint,
    flow: cython.double,
) -> cython.double:  # fmt: skip
    """Return what a value that is live before and after a step gains if the step touches it; else note its drop."""
    saved: cython.double = work.prices[0, new] - work.prices[0, old]
    unsaved: cython.double = work.prices[1, new] - work.prices[1, old]
    kind: cython.longlong = u < work.problem.room.shape[0] and unsaved < saved
    change: cython.double = unsaved if kind else saved
    if is_touched:
        if flow > 0:
            work.gradient[kind, old] -= flow
            work.gradient[kind, new] += flow
        return change
    if change < 0:
        work.rates[work.found] = -change / work.problem.weights[u]
        work.amounts[work.found] = -change
        work.sizes[work.found] = work.problem.weights[u]
        work.kinds[work.found] = kind
        work.olds[work.found] = old
        work.news[work.found] = new
        work.found += 1
    return 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gained(work: Prices, at: cython.longlong, step: cython.longlong, flow: cython.double) -> cython.double:
    """Return what a step gains in prices of what it computes and reads; note what other live values drop.

    With a ``flow`` the gains are entered in ``gradient``.
    """
    v: cython.longlong = work.lattice.nodes[step]
    target: cython.longlong = work.lattice.targets[step]
    old: cython.longlong = work.lattice.live_first[at]
    old_end: cython.longlong = work.lattice.live_first[at + 1]
    new: cython.longlong = work.lattice.live_first[target]
    new_end: cython.longlong = work.lattice.live_first[target + 1]
    gain: cython.double = 0.0
    kind: cython.longlong
    work.found = 0
    while old < old_end or new < new_end:
        u = work.lattice.live[old] if old < old_end else 256
        w = work.lattice.live[new] if new < new_end else 256
        before = work.lattice.classes[old] if old < old_end else 0
        after = work.lattice.classes[new] if new < new_end else 0
        if u == w:
            gain += _keep(work, u, before, after, work.problem.touched[v, u], flow)
            old += 1
            new += 1
        elif u < w:  # it is not read any more
            kind = u < work.problem.room.shape[0] and work.prices[1, before] > work.prices[0, before]
            gain -= work.prices[kind, before]
            if flow > 0:
                work.gradient[kind, before] -= flow
            old += 1
        else:  # it comes: computed, or for the first time
            kind = w == v
            gain += work.prices[kind, after]
            if flow > 0:
                work.gradient[kind, after] += flow
            new += 1
    return gain


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _swap(work: Prices, i: cython.longlong, j: cython.longlong) -> cython.void:
    work.rates[i], work.rates[j] = work.rates[j], work.rates[i]
    work.amounts[i], work.amounts[j] = work.amounts[j], work.amounts[i]
    work.sizes[i], work.sizes[j] = work.sizes[j], work.sizes[i]
    work.kinds[i], work.kinds[j] = work.kinds[j], work.kinds[i]
    work.olds[i], work.olds[j] = work.olds[j], work.olds[i]
    work.news[i], work.news[j] = work.news[j], work.news[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lost(work: Prices, step: cython.longlong, is_whole: cython.bint) -> cython.double:
    """Return by how much the values noted that fit may drop in price at most; set ``cut``.

    Values may be divided; a whole number is rounded up. Drops per weight compare exactly, as weights are small (see
    :mod:`potentials`).
    """
    left: cython.longlong = work.problem.room[work.lattice.nodes[step]]
    inside: cython.longlong = 0
    total: cython.double = 0.0
    i: cython.Py_ssize_t
    work.cut = 0.0
    while inside < work.found and left > 0:
        most = inside
        for i in range(inside + 1, work.found):
            if work.rates[i] > work.rates[most]:
                most = i
        _swap(work, most, inside)
        amount = work.amounts[inside]
        if work.sizes[inside] > left:
            amount = amount * left / work.sizes[inside]
            amount = ceil(amount) if is_whole else amount
        total += amount
        left -= work.sizes[inside]
        work.cut = work.rates[inside]
        inside += 1
    if left > 0:
        work.cut = 0.0
    elif inside == 0:
        work.cut = _INF
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter_drops(work: Prices, step: cython.longlong, flow: cython.double) -> cython.void:
    """Enter what the values that drop most, as far as they fit, lose to a step; equals share what room is left."""
    room: cython.double = work.problem.room[work.lattice.nodes[step]]
    equal: cython.double = 0.0
    share: cython.double = 0.0
    i: cython.Py_ssize_t
    for i in range(work.found):
        if work.rates[i] > work.cut:
            room -= work.sizes[i]
        elif work.rates[i] == work.cut:
            equal += work.sizes[i]
    if equal > 0:
        share = flow * min(1.0, max(0.0, room) / equal)
    for i in range(work.found):
        if work.rates[i] >= work.cut:
            part = flow if work.rates[i] > work.cut else share
            work.gradient[work.kinds[i], work.olds[i]] -= part
            work.gradient[work.kinds[i], work.news[i]] += part


def look_ahead(
    work: Prices, begin: cython.longlong, end: cython.longlong, temperature: cython.double, is_whole: cython.bint
) -> None:
    """Write ``ahead`` and ``through`` of these sets, last ones first.

    With a ``temperature`` the minimum over steps is softened. If ``is_whole``, prices are whole numbers, and so is what
    is written, rounded down.
    """
    at: cython.Py_ssize_t
    with cython.nogil:
        for at in range(end - 1, begin - 1, -1):
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
    if at == work.lattice.sets.shape[0] - 1:
        work.ahead[at] = 0.0
        return
    for step in range(begin, end):
        gain = _gained(work, at, step, 0.0)
        work.through[step] = work.ahead[work.lattice.targets[step]] + gain - _lost(work, step, is_whole)
        least = min(least, work.through[step])
    work.ahead[at] = least
    if temperature > 0 and least < _INF:
        for step in range(begin, end):
            total += exp((least - work.through[step]) / temperature)
        work.ahead[at] -= temperature * log(total)


def follow(work: Prices, begin: cython.longlong, end: cython.longlong, temperature: cython.double) -> None:
    """Write the gradient of the softened a(start) by the prices: what a flow over all ways, best ones first, meets.

    These sets are followed; those before them were.
    """
    with cython.nogil:
        if begin == 0:
            _start_flow(work)
        _follow(work, begin, min(end, work.lattice.sets.shape[0] - 1), temperature)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _start_flow(work: Prices) -> cython.void:
    at: cython.Py_ssize_t
    for at in range(work.gradient.shape[1]):
        work.gradient[0, at] = 0.0
        work.gradient[1, at] = 0.0
    for at in range(work.lattice.sets.shape[0]):
        work.flow[at] = 1.0 if at == 0 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _follow(
    work: Prices, begin: cython.longlong, end: cython.longlong, temperature: cython.double
) -> cython.void:  # fmt: skip
    at: cython.Py_ssize_t
    step: cython.Py_ssize_t
    for at in range(begin, end):
        if work.flow[at] < _LEAST_FLOW:
            continue
        for step in range(work.lattice.step_first[at], work.lattice.step_first[at + 1]):
            part = work.flow[at] * exp((work.ahead[at] - work.through[step]) / temperature)
            if part < _LEAST_FLOW:
                continue
            work.flow[work.lattice.targets[step]] += part
            _gained(work, at, step, part)
            _lost(work, step, False)
            _enter_drops(work, step, part)


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
    most: cython.double = (1 + kind) * work.charges[entry]
    price: cython.double = work.prices[kind, entry] + rate * most * mean / (root + _SMALL)
    work.prices[kind, entry] = min(max(price, 0.0), most)


def look_back(work: Prices, behind: cython.double[::1]) -> None:
    """Write what the way to each set takes from the potential of the start at least; ``behind`` is infinite before."""
    at: cython.Py_ssize_t
    step: cython.Py_ssize_t
    with cython.nogil:
        behind[0] = 0.0
        for at in range(work.lattice.sets.shape[0] - 1):
            for step in range(work.lattice.step_first[at], work.lattice.step_first[at + 1]):
                target = work.lattice.targets[step]
                behind[target] = min(behind[target], behind[at] + work.through[step] - work.ahead[target])


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Potential:
    """A potential for the search: ``ahead`` and ``prices`` (saved, unsaved) are counted in parts of ``whole``.

    ``table`` has the lattice's sets, in which node v is number ``places[v]``, -1 if it is in none; the red nodes that
    stand for value u are ``names[name_first[u]:name_first[u + 1]]``. Plans below the limit lead through no other sets.
    """

    table: SetTable
    places: cython.const_longlong[::1]
    name_first: cython.const_longlong[::1]
    names: cython.const_longlong[::1]
    live_first: cython.const_longlong[::1]
    live: cython.const_uchar[::1]
    classes: cython.const_int[::1]
    ahead: cython.const_longlong[::1]
    prices: cython.const_longlong[:, ::1]
    whole: cython.longlong


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rank_of(
    potential: Potential, state: cython.const_ulonglong[::1], words: cython.longlong
) -> cython.longlong:  # fmt: skip
    """Return the number of what a state has computed, -1 if no plan below the limit leads through it."""
    done: cython.ulonglong = 0
    for k in range(words):
        word = state[k]
        while word:
            place = potential.places[64 * k + lowest(word)]
            word &= word - 1
            if place >= 0:
                done |= bit(place)
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
    """Return the potential of a state, and write the price of each red node into ``own`` (shape (n,)).

    Nodes of a chain that nothing reads have none.
    """
    total: cython.longlong = potential.ahead[rank]
    entry: cython.Py_ssize_t
    for k in range(words):
        word = state[words + k]
        while word:
            own[64 * k + lowest(word)] = 0
            word &= word - 1
    for entry in range(potential.live_first[rank], potential.live_first[rank + 1]):
        u = potential.live[entry]
        for k in range(potential.name_first[u], potential.name_first[u + 1]):
            node = potential.names[k]
            if has(state, words, node):
                own[node] = potential.prices[has(state, 2 * words, node), potential.classes[entry]]
                total += own[node]
                break
    return total
