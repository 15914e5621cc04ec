"""A* over positions of the game with prices, on graphs of up to 64 nodes.

A position is what the fast memory holds, what was computed, and what was stored beside the outputs. A value that is
loaded pays for its store then, if it has not: it could have been stored when it was computed. So nobody has to decide
that.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.bits import bit, complement, highest, lowest, wrapped_product
from cython.dataclasses import dataclass

#: No plan leads on from here.
_NEVER = cython.declare(cython.longlong, 1 << 62)
#: Sets of values that leave for one that comes, at most: with more a search ends as one without room for positions.
_MOST_LEFT = cython.declare(cython.longlong, 1 << 20)


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Rules:
    """A graph of up to 64 nodes in topological order, the prices, what is allowed; prices below 0: no such moves.

    ``parents`` and ``readers`` of a node are sets.
    """

    weights: cython.const_longlong[::1]
    compute: cython.const_longlong[::1]
    parents: cython.const_ulonglong[::1]
    readers: cython.const_ulonglong[::1]
    given: cython.ulonglong
    outputs: cython.ulonglong
    budget: cython.longlong
    load: cython.longlong
    store: cython.longlong
    recompute: cython.bint
    in_order: cython.bint
    in_place: cython.bint


@cython.final
@cython.cclass
class Positions:
    """Positions met below ``limit``: the cost of each, what is paid at least, the one before, the event in between.

    ``least`` is the least that any plan pays which was not found yet; ``found`` the row of the end, -1 before.
    """

    rules: Rules
    limit: cython.longlong
    red: cython.ulonglong[::1]
    done: cython.ulonglong[::1]
    paid: cython.ulonglong[::1]
    cost: cython.longlong[::1]
    total: cython.longlong[::1]
    origin: cython.longlong[::1]
    event: cython.longlong[::1]
    table: cython.longlong[::1]
    keys: cython.longlong[::1]
    rows: cython.longlong[::1]
    waiting: cython.longlong
    filled: cython.longlong
    least = cython.declare(cython.longlong, visibility="readonly")
    found = cython.declare(cython.longlong, visibility="readonly")
    is_done = cython.declare(cython.bint, visibility="readonly")
    is_full = cython.declare(cython.bint, visibility="readonly")
    work = cython.declare(cython.longlong, visibility="readonly")
    chosen: cython.longlong[::1]
    candidates: cython.longlong[::1]
    suffix: cython.longlong[::1]

    def __init__(self, rules: Rules, room: cython.longlong, limit: cython.longlong) -> None:
        n = rules.weights.shape[0]
        self.rules = rules
        self.limit = limit
        self.red = np.zeros(room, np.uint64)
        self.done = np.zeros(room, np.uint64)
        self.paid = np.zeros(room, np.uint64)
        self.cost = np.zeros(room, np.int64)
        self.total = np.zeros(room, np.int64)
        self.origin = np.zeros(room, np.int64)
        self.event = np.zeros(room, np.int64)
        self.table = np.full(2 * room, -1, np.int64)
        self.keys = np.zeros(4 * room, np.int64)
        self.rows = np.zeros(4 * room, np.int64)
        self.waiting = 0
        self.filled = 0
        self.least = 0
        self.found = -1
        self.is_done = False
        self.is_full = False
        self.work = 0
        self.chosen = np.zeros(n + 1, np.int64)
        self.candidates = np.zeros(n + 1, np.int64)
        self.suffix = np.zeros(n + 1, np.int64)
        _reach(self, rules, 0, 0, 0, 0, -1, -1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _back(r: Rules, node: cython.longlong, paid: cython.ulonglong) -> cython.longlong:
    """Return what loading a value costs that was computed before, its store if it is still to be paid; or never."""
    if r.load < 0 or r.store < 0:
        return _NEVER
    price: cython.longlong = r.load * r.weights[node]
    if not (paid | r.outputs) & bit(node):
        price += r.store * r.weights[node]
    return price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _still(r: Rules, red: cython.ulonglong, done: cython.ulonglong, paid: cython.ulonglong) -> cython.longlong:
    """Return what is paid at least from here: every value that is wanted and not there has to come in."""
    wanted: cython.ulonglong = r.outputs & complement(done)
    charge: cython.longlong = 0
    while wanted:
        node = highest(wanted)
        own = bit(node)
        wanted ^= own
        if red & own:
            continue
        if r.given & own:
            charge += r.load * r.weights[node]
        elif not done & own:
            charge += r.compute[node]
            if r.outputs & own and r.store > 0:
                charge += r.store * r.weights[node]
            wanted |= r.parents[node]
        else:
            back = _back(r, node, paid)
            if r.recompute and r.compute[node] <= back:
                charge += r.compute[node]
                if back == _NEVER:
                    wanted |= r.parents[node]
            elif back == _NEVER:
                return _NEVER
            else:
                charge += back
    return charge


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slot(p: Positions, red: cython.ulonglong, done: cython.ulonglong, paid: cython.ulonglong) -> cython.longlong:
    """Return the place of a position in the table: its own, or a free one."""
    word: cython.ulonglong = wrapped_product(red, 0x9E37_79B9_7F4A_7C15)
    word ^= word >> 29
    word = wrapped_product(word ^ done, 0xBF58_476D_1CE4_E5B9)
    word ^= word >> 32
    word = wrapped_product(word ^ paid, 0x94D0_49BB_1331_11EB)
    size: cython.longlong = p.table.shape[0]
    slot: cython.longlong = cython.cast(cython.longlong, (word >> 20) % cython.cast(cython.ulonglong, size))
    while p.table[slot] >= 0:
        row = p.table[slot]
        if p.red[row] == red and p.done[row] == done and p.paid[row] == paid:
            return slot
        slot += 1
        if slot == size:
            slot = 0
    return slot


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reach(
    p: Positions,
    r: Rules,
    red: cython.ulonglong,
    done: cython.ulonglong,
    paid: cython.ulonglong,
    cost: cython.longlong,
    origin: cython.longlong,
    event: cython.longlong,
) -> cython.void:
    """Note a position, unless it was met at no more, or a plan through it costs the limit or more."""
    p.work += 1
    slot = _slot(p, red, done, paid)
    row: cython.longlong = p.table[slot]
    if row >= 0 and p.cost[row] <= cost:
        return
    still: cython.longlong = p.total[row] - p.cost[row] if row >= 0 else _still(r, red, done, paid)
    if still >= _NEVER or cost + still >= p.limit:
        return
    if row < 0:
        if p.filled == p.red.shape[0]:
            p.is_full = True
            return
        row = p.filled
        p.filled += 1
        p.table[slot] = row
        p.red[row] = red
        p.done[row] = done
        p.paid[row] = paid
    p.cost[row] = cost
    p.total[row] = cost + still
    p.origin[row] = origin
    p.event[row] = event
    _push(p, cost + still, row)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(p: Positions, key: cython.longlong, row: cython.longlong) -> cython.void:
    if p.waiting == p.keys.shape[0]:
        p.is_full = True
        return
    at: cython.longlong = p.waiting
    p.waiting += 1
    while at > 0 and p.keys[(at - 1) >> 1] > key:
        p.keys[at] = p.keys[(at - 1) >> 1]
        p.rows[at] = p.rows[(at - 1) >> 1]
        at = (at - 1) >> 1
    p.keys[at] = key
    p.rows[at] = row


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pop(p: Positions) -> cython.longlong:
    """Take the first of the queue out of it."""
    first: cython.longlong = p.rows[0]
    p.waiting -= 1
    key: cython.longlong = p.keys[p.waiting]
    row: cython.longlong = p.rows[p.waiting]
    at: cython.longlong = 0
    below: cython.longlong = 1
    while below < p.waiting:
        if below + 1 < p.waiting and p.keys[below + 1] < p.keys[below]:
            below += 1
        if p.keys[below] >= key:
            break
        p.keys[at] = p.keys[below]
        p.rows[at] = p.rows[below]
        at = below
        below = 2 * at + 1
    p.keys[at] = key
    p.rows[at] = row
    return first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(
    p: Positions,
    r: Rules,
    row: cython.longlong,
    node: cython.longlong,
    is_load: cython.longlong,
    price: cython.longlong,
) -> cython.void:
    """Bring a value in, in every way that lets no value go which could stay."""
    own: cython.ulonglong = bit(node)
    red: cython.ulonglong = p.red[row]
    stays: cython.ulonglong = 0 if is_load else r.parents[node]
    done: cython.ulonglong = p.done[row]
    paid: cython.ulonglong = p.paid[row]
    rest: cython.ulonglong = red
    missing: cython.longlong = r.weights[node] - r.budget
    while rest:
        missing += r.weights[lowest(rest)]
        rest &= rest - 1
    if is_load:
        if not (r.given | r.outputs) & own:
            paid |= own
    else:
        done |= own
    cost: cython.longlong = p.cost[row] + price
    if missing <= 0:
        _reach(p, r, _still_read(r, red | own, done), done, paid, cost, row, 2 * node + is_load)
        return
    if r.in_place:
        rest = stays
        while rest:  # takes the room of an operand
            other = lowest(rest)
            rest &= rest - 1
            if r.weights[other] >= r.weights[node]:
                left = _still_read(r, (red | own) ^ bit(other), done)
                _reach(p, r, left, done, paid, cost, row, 2 * node + is_load)
    count: cython.longlong = 0
    free: cython.longlong = 0
    rest = red & complement(stays)
    while rest:  # heaviest last, so that what was chosen first is what might have stayed
        other = lowest(rest)
        rest &= rest - 1
        at: cython.longlong = count
        while at > 0 and r.weights[p.candidates[at - 1]] < r.weights[other]:
            p.candidates[at] = p.candidates[at - 1]
            at -= 1
        p.candidates[at] = other
        free += r.weights[other]
        count += 1
    if free < missing:
        return
    p.suffix[count] = 0
    for at in range(count - 1, -1, -1):
        p.suffix[at] = p.suffix[at + 1] + r.weights[p.candidates[at]]
    _leave(p, r, row, red | own, done, paid, cost, 2 * node + is_load, missing, count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _still_read(r: Rules, red: cython.ulonglong, done: cython.ulonglong) -> cython.ulonglong:
    """Return what of the fast memory is read later; with recomputation that may be anything."""
    rest: cython.ulonglong = 0 if r.recompute else red
    while rest:
        node = lowest(rest)
        rest &= rest - 1
        if not r.readers[node] & complement(done):
            red ^= bit(node)
    return red


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leave(
    p: Positions,
    r: Rules,
    row: cython.longlong,
    red: cython.ulonglong,
    done: cython.ulonglong,
    paid: cython.ulonglong,
    cost: cython.longlong,
    event: cython.longlong,
    missing: cython.longlong,
    count: cython.longlong,
) -> cython.void:
    """Reach every position in which a set of candidates has left that is large enough and none of which could stay.

    Candidates are sorted by falling weight and chosen in this order: a set is minimal if it is too small without the
    last.
    """
    depth: cython.longlong = 0
    freed: cython.longlong = 0
    index: cython.longlong = 0
    last: cython.longlong = p.work + _MOST_LEFT
    while not p.is_full:
        p.is_full = p.work > last
        if index < count and freed + p.suffix[index] >= missing:
            node = p.candidates[index]
            if freed + r.weights[node] >= missing:
                _reach(p, r, _still_read(r, red ^ bit(node), done), done, paid, cost, row, event)
                index += 1  # the next one alone may do as well
            else:
                p.chosen[depth] = index
                depth += 1
                freed += r.weights[node]
                red ^= bit(node)
                index += 1
            continue
        if depth == 0:
            return
        depth -= 1
        index = p.chosen[depth]
        freed -= r.weights[p.candidates[index]]
        red ^= bit(p.candidates[index])
        index += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _expand(p: Positions, r: Rules, row: cython.longlong) -> cython.void:
    node: cython.longlong
    red: cython.ulonglong = p.red[row]
    done: cython.ulonglong = p.done[row]
    ready: cython.bint
    waiting: cython.ulonglong = complement(r.given | done)
    for node in range(r.weights.shape[0]):
        own = bit(node)
        if red & own:
            continue
        if not r.recompute and (r.given | done) & own and not r.readers[node] & complement(done):
            continue
        if r.given & own:
            _enter(p, r, row, node, 1, r.load * r.weights[node])
            continue
        if done & own:
            back = _back(r, node, p.paid[row])
            if back < _NEVER:
                _enter(p, r, row, node, 1, back)
        ready = r.parents[node] & complement(red) == 0
        if not ready or (done & own and not r.recompute):
            continue
        if r.in_order and not done & own and waiting & (own - 1):
            continue
        price: cython.longlong = r.compute[node]
        if not done & own and r.outputs & own and r.store > 0:
            price += r.store * r.weights[node]
        _enter(p, r, row, node, 0, price)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _search(p: Positions, r: Rules, most: cython.longlong) -> cython.void:
    first: cython.longlong = p.work
    while p.work < first + most and not p.is_full:
        if p.waiting == 0:
            p.least = p.limit
            p.is_done = True
            return
        key: cython.longlong = p.keys[0]
        row = _pop(p)
        if key != p.total[row]:
            continue
        p.least = key
        if r.outputs & complement(p.done[row]) == 0:
            p.found = row
            p.is_done = True
            return
        _expand(p, r, row)


def search(positions: Positions, most: cython.longlong) -> None:
    """Go on for some work: positions looked at."""
    with cython.nogil:
        _search(positions, positions.rules, most)


def events_to(positions: Positions, row: cython.longlong) -> list[int]:
    """Return the events that lead to a position: twice the node, and one more where it is loaded."""
    path = []
    at: cython.longlong = row
    while positions.origin[at] >= 0:
        path.append(int(positions.event[at]))
        at = positions.origin[at]
    return path[::-1]
