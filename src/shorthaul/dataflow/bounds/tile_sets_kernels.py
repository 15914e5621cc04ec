"""The cheapest column of a tile, by dynamic programming along an elimination order of the actors.

When an actor is eliminated, the least cost of all that hangs on it is kept per choice of its neighbours that are left,
and per ticks of the crossbar that may be used (Bertele, Brioschi: *Nonserial Dynamic Programming*, 1972). What one
elimination leaves is a row of costs that fall as ticks rise; such rows, and the ways to treat a buffer, are put
together tick by tick. The column is found on the way back, where the rows of one choice are made again.
"""

from __future__ import annotations

import cython
import numpy as np

#: Costs from half of it on stand for what is impossible.
NEVER = cython.declare(cython.float, 1e30)
#: Ways to treat a buffer at most.
WAYS = cython.declare(cython.Py_ssize_t, 3)


@cython.final
@cython.cclass
class Elimination:
    """The order, what is looked at with each actor of it, and the tables.

    Bit 0 of a bag is the actor that goes, bit ``k + 1`` the ``k``-th of those that matter then. ``child`` lists earlier
    eliminations whose tables end here, the largest first, and ``bit`` says which bits of the bag theirs are. ``item``
    lists what the actor shares with one that matters. Items have ways: ticks and cost by number and ends in the tile.
    """

    units: cython.longlong
    width: cython.const_longlong[::1]  # per elimination, actors that matter
    table_at: cython.const_longlong[::1]
    item_at: cython.const_longlong[::1]
    item: cython.const_longlong[::1]
    item_bit: cython.const_longlong[::1]
    child_at: cython.const_longlong[::1]
    child: cython.const_longlong[::1]
    bit_at: cython.const_longlong[::1]  # per child
    bit: cython.const_longlong[::1]
    ticks: cython.const_longlong[:, :, ::1]  # per item, ends in the tile less one, and way
    cost: cython.const_float[:, :, ::1]
    own_ticks: cython.const_longlong[::1]  # per elimination, what its actor alone asks for and costs
    own_cost: cython.const_float[::1]
    table: cython.float[::1]
    row: cython.float[:, ::1]
    shift: cython.longlong
    rows: cython.longlong
    steps = cython.declare(cython.longlong, visibility="readonly")
    inside = cython.declare(cython.longlong[::1], visibility="readonly")  # per elimination, of the column
    way = cython.declare(cython.longlong[::1], visibility="readonly")  # per item, -1: none of its actors is inside
    allowed: cython.longlong[::1]  # ticks that a table may use, on the way back

    def __init__(
        self, width: cython.const_longlong[::1], item_at: cython.const_longlong[::1],
        item: cython.const_longlong[::1], item_bit: cython.const_longlong[::1], child_at: cython.const_longlong[::1],
        child: cython.const_longlong[::1], bit_at: cython.const_longlong[::1], bit: cython.const_longlong[::1],
        units: cython.longlong,
    ) -> None:  # fmt: skip
        count = width.shape[0]
        self.units = units
        self.width, self.item_at, self.item, self.item_bit = width, item_at, item, item_bit
        self.child_at, self.child, self.bit_at, self.bit = child_at, child, bit_at, bit
        sizes = (units + 1) << np.asarray(width)
        self.table_at = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.ticks = np.zeros((0, 2, 3), np.int64)
        self.cost = np.zeros((0, 2, 3), np.float32)
        self.own_ticks = np.zeros(count, np.int64)
        self.own_cost = np.zeros(count, np.float32)
        self.shift = 0
        self.table = np.zeros(int(sizes.sum()), np.float32)
        factors = int((np.diff(np.asarray(item_at)) + np.diff(np.asarray(child_at))).max(initial=0))
        self.row = np.zeros((factors + 2, units + 1), np.float32)
        self.rows = 0
        self.steps = 0
        self.inside = np.zeros(count, np.int64)
        self.way = np.zeros(item.shape[0], np.int64)
        self.allowed = np.zeros(count, np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(at: Elimination, k: cython.Py_ssize_t, bag: cython.longlong) -> cython.Py_ssize_t:
    """Return where the row of a child begins, with the choices in a bag."""
    j: cython.Py_ssize_t
    number: cython.longlong = 0
    for j in range(at.bit_at[k], at.bit_at[k + 1]):
        number |= ((bag >> at.bit[j]) & 1) << (j - at.bit_at[k])
    return at.table_at[at.child[k]] + number * (at.units + 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first(at: Elimination, ticks: cython.longlong, cost: cython.float) -> cython.void:
    """Add a row: the last one with so many ticks more."""
    u: cython.Py_ssize_t
    at.rows += 1
    at.steps += at.units + 1
    for u in range(min(ticks, at.units + 1)):
        at.row[at.rows, u] = NEVER
    for u in range(ticks, at.units + 1):
        at.row[at.rows, u] = at.row[at.rows - 1, u - ticks] + cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(at: Elimination, ticks: cython.longlong, cost: cython.float) -> cython.void:
    """Let the last row be the one before it with so many ticks more, where that costs less."""
    u: cython.Py_ssize_t
    last: cython.Py_ssize_t = at.rows
    at.steps += at.units + 1
    for u in range(ticks, at.units + 1):
        at.row[last, u] = min(at.row[last - 1, u - ticks] + cost, at.row[last, u])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lay(at: Elimination, i: cython.Py_ssize_t, bag: cython.longlong) -> cython.void:
    """Make the rows of one choice: of the largest child, then with the actor, with each item, and each other child."""
    u: cython.Py_ssize_t
    k: cython.Py_ssize_t
    w: cython.Py_ssize_t
    place: cython.Py_ssize_t
    here: cython.longlong
    at.rows = 0
    k = at.child_at[i]
    place = _place(at, k, bag) if k < at.child_at[i + 1] else -1
    for u in range(at.units + 1):
        at.row[0, u] = at.table[place + u] if place >= 0 else 0
    at.steps += at.units + 1
    if bag & 1:
        _first(at, at.own_ticks[i], at.own_cost[i])
    for k in range(at.item_at[i], at.item_at[i + 1]):
        here = (bag & 1) + ((bag >> at.item_bit[k]) & 1)
        if here > 0:
            _first(at, at.ticks[at.item[k], here - 1, 0], at.cost[at.item[k], here - 1, 0])
            for w in range(1, WAYS):
                if at.ticks[at.item[k], here - 1, w] <= at.units:
                    _put(at, at.ticks[at.item[k], here - 1, w], at.cost[at.item[k], here - 1, w])
    for k in range(at.child_at[i] + 1, at.child_at[i + 1]):
        place = _place(at, k, bag)
        _first(at, 0, at.table[place])
        for u in range(1, at.units + 1):
            if at.table[place + u] < at.table[place + u - 1] and at.table[place + u] < NEVER / 2:
                _put(at, u, at.table[place + u])


def prepare(
    at: Elimination, ticks: cython.const_longlong[:, :, ::1], cost: cython.const_longlong[:, :, ::1],
    own_ticks: cython.const_longlong[::1], own_cost: cython.const_longlong[::1],
) -> None:  # fmt: skip
    """Set what items and actors ask for and cost; ticks above the units stand for ways that there are not.

    Tables hold costs in 32 bits, rounded down to whole units of which actors earn 2^23 in all. What is part of a column
    that costs nothing or less is below 2^24 then, and sums are exact; rounded up or down, others cost more than that.
    """
    earned = -int(np.minimum(np.asarray(own_cost), 0).sum())
    at.shift = max(0, earned.bit_length() - 23)
    at.ticks, at.own_ticks = ticks, own_ticks
    at.cost = np.minimum(np.asarray(cost) >> at.shift, 1 << 24).astype(np.float32)
    at.own_cost = np.minimum(np.asarray(own_cost) >> at.shift, 1 << 24).astype(np.float32)


def fill(at: Elimination, first: cython.Py_ssize_t, most_steps: cython.longlong) -> int:
    """Fill the tables from an elimination on, until so many steps are done; return the next elimination."""
    i: cython.Py_ssize_t = first
    x: cython.longlong
    u: cython.Py_ssize_t
    end: cython.longlong = at.steps + most_steps
    with cython.nogil:
        while i < at.width.shape[0] and at.steps < end:
            for x in range(cython.cast(cython.longlong, 1) << at.width[i]):
                place: cython.Py_ssize_t = at.table_at[i] + x * (at.units + 1)
                _lay(at, i, 2 * x)
                for u in range(at.units + 1):
                    at.table[place + u] = min(at.row[at.rows, u], NEVER)
                _lay(at, i, 2 * x + 1)
                for u in range(at.units + 1):
                    at.table[place + u] = min(at.row[at.rows, u], at.table[place + u])
            i += 1
    return int(i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _back(at: Elimination, i: cython.Py_ssize_t, bag: cython.longlong) -> cython.void:
    """Note what led to the last of the rows laid for a choice, and the ticks of every child."""
    u: cython.Py_ssize_t = at.allowed[i]
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    w: cython.Py_ssize_t
    place: cython.Py_ssize_t
    row: cython.Py_ssize_t = at.rows
    here: cython.longlong
    for k in range(at.child_at[i + 1] - 1, at.child_at[i], -1):
        place = _place(at, k, bag)
        for v in range(u + 1):
            if at.table[place + v] < NEVER / 2 and at.row[row - 1, u - v] + at.table[place + v] == at.row[row, u]:
                at.allowed[at.child[k]] = v
                u -= v
                break
        row -= 1
    for k in range(at.item_at[i + 1] - 1, at.item_at[i] - 1, -1):
        at.way[k] = -1
        here = (bag & 1) + ((bag >> at.item_bit[k]) & 1)
        if here > 0:
            for w in range(WAYS):
                ticks: cython.longlong = at.ticks[at.item[k], here - 1, w]
                if ticks <= u and at.row[row - 1, u - ticks] + at.cost[at.item[k], here - 1, w] == at.row[row, u]:
                    at.way[k] = w
                    u -= ticks
                    break
            row -= 1
    if bag & 1:
        u -= at.own_ticks[i]
    if at.child_at[i] < at.child_at[i + 1]:
        at.allowed[at.child[at.child_at[i]]] = u


def cheapest(at: Elimination, units: cython.longlong) -> int:
    """Return the least cost of a column of so many ticks once all tables are full, and find one of that cost."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    last: cython.Py_ssize_t = at.width.shape[0] - 1
    bag: cython.longlong
    without: cython.float
    at.allowed[last] = units
    value: cython.longlong = int(at.table[at.table_at[last] + units]) << at.shift
    bags = np.zeros(last + 1, np.int64)
    choices: cython.longlong[::1] = bags
    with cython.nogil:
        for i in range(last, -1, -1):
            bag = 2 * choices[i]
            _lay(at, i, bag)
            without = at.row[at.rows, at.allowed[i]]
            _lay(at, i, bag + 1)
            at.inside[i] = at.row[at.rows, at.allowed[i]] < without
            bag += at.inside[i]
            if not at.inside[i]:
                _lay(at, i, bag)
            _back(at, i, bag)
            for k in range(at.child_at[i], at.child_at[i + 1]):
                choices[at.child[k]] = 0
                for j in range(at.bit_at[k], at.bit_at[k + 1]):
                    choices[at.child[k]] |= ((bag >> at.bit[j]) & 1) << (j - at.bit_at[k])
    return int(value)
