"""Tables of parts: what each state of a part still costs, and their sums for states of the whole.

A state of a part says which of its nodes are computed and, of those that one of the part still touches, which are in
fast memory, and saved or not; inputs are always computed. Searched from the end, a value may have been touched outside
the part alone: then a state says, too, whether it is fresh, so that its first touch brings it unsaved.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.bits import bit, complement, has, lowest, wrapped_product
from cython.dataclasses import dataclass

#: More than any state of a part costs.
_DEAR = cython.declare(cython.longlong, 1 << 30)
#: What a value of a state counts as: it left, it is red and saved, red and unsaved, or nothing has touched it yet.
_SAVED = cython.declare(cython.longlong, 1)
_UNSAVED = cython.declare(cython.longlong, 2)
_FRESH = cython.declare(cython.longlong, 3)


@cython.final
@cython.cclass
class SetTable:
    """A hash table of computed sets: ``keys``, and their ``ranks``, -1 where a slot is free."""

    def __init__(self, keys: cython.ulonglong[::1], ranks: cython.longlong[::1]) -> None:
        self.keys = keys
        self.ranks = ranks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def slot_of(
    table: SetTable, first: cython.longlong, size: cython.longlong, mask: cython.ulonglong
) -> cython.longlong:  # fmt: skip
    """Return the slot of ``mask`` among the ``size`` slots from ``first``, or the free one where it goes."""
    value: cython.ulonglong = wrapped_product(mask, 0x9E37_79B9_7F4A_7C15)
    slot: cython.longlong
    value ^= value >> 32
    slot = value & (size - 1)
    while table.ranks[first + slot] >= 0 and table.keys[first + slot] != mask:
        slot = (slot + 1) & (size - 1)
    return first + slot


def enter_all(table: SetTable, keys: cython.const_ulonglong[::1], ranks: cython.const_longlong[::1]) -> None:
    """Enter computed sets with their ranks into an empty hash table."""
    with cython.nogil:
        for i in range(keys.shape[0]):
            slot = slot_of(table, 0, table.keys.shape[0], keys[i])
            table.keys[slot] = keys[i]
            table.ranks[slot] = ranks[i]


@cython.final
@cython.cclass
class Part:
    """One part while its table is made; a row of ``touched``, ``touchers`` and ``before`` is a set.

    ``outside`` is the weight of what a node reads from outside the part; ``late`` are the values that others may touch
    first. States of set r have the numbers from ``offsets[r]`` on; a red node counts ``steps[r, node]`` there, twice
    that if unsaved, three times if fresh; it has 0 if with these computed there is one way for it to be.
    """

    touched: cython.const_ulonglong[::1]
    touchers: cython.const_ulonglong[::1]
    before: cython.const_ulonglong[::1]
    given: cython.const_uchar[::1]
    late: cython.const_uchar[::1]
    weights: cython.const_longlong[::1]
    outside: cython.const_longlong[::1]
    sets: cython.ulonglong[::1]
    table: SetTable
    offsets: cython.longlong[::1]
    steps: cython.int[:, ::1]
    live: cython.longlong[::1]
    radices: cython.longlong[::1]
    digits: cython.longlong[::1]
    ready: cython.longlong[::1]
    following: cython.longlong[::1]

    def __init__(
        self,
        touched: cython.const_ulonglong[::1],
        touchers: cython.const_ulonglong[::1],
        before: cython.const_ulonglong[::1],
        given: cython.const_uchar[::1],
        late: cython.const_uchar[::1],
        weights: cython.const_longlong[::1],
        outside: cython.const_longlong[::1],
        sets: cython.ulonglong[::1],
        table: SetTable,
        offsets: cython.longlong[::1],
        steps: cython.int[:, ::1],
    ) -> None:
        size = touched.shape[0]
        self.touched = touched
        self.touchers = touchers
        self.before = before
        self.given = given
        self.late = late
        self.weights = weights
        self.outside = outside
        self.sets = sets
        self.table = table
        self.offsets = offsets
        self.steps = steps
        self.live, self.radices, self.digits, self.ready, self.following = np.empty((5, size), np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _radix(part: Part, v: cython.longlong, done: cython.ulonglong) -> cython.longlong:
    """Return in how many ways node v can be, with the nodes of ``done`` computed: 1 if it is as good as not there."""
    if not part.touchers[v] & complement(done):
        return 1
    if part.given[v]:
        return 2
    if part.touchers[v] & done:
        return 3
    return 4 if part.late[v] else 1


def enumerate_sets(part: Part, most_entries: cython.longlong) -> int:
    """Write the sets that can have been computed, small ones first; return how many, -1 if they are too many."""
    with cython.nogil:
        count = _enumerate(part, most_entries)
    return int(count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enumerate(part: Part, most_entries: cython.longlong) -> cython.longlong:
    slots: cython.longlong = part.table.keys.shape[0]
    done: cython.ulonglong = 0
    states: cython.longlong
    radix: cython.longlong
    entries: cython.longlong = 0
    count: cython.longlong = 1
    rank: cython.longlong = 0
    for v in range(part.touched.shape[0]):
        if part.given[v]:
            done |= bit(v)
    part.sets[0] = done
    slot = slot_of(part.table, 0, slots, done)
    part.table.keys[slot] = done
    part.table.ranks[slot] = 0
    while rank < count:
        done = part.sets[rank]
        part.offsets[rank] = entries
        states = 1
        for v in range(part.touched.shape[0]):
            if not done & bit(v) and not part.before[v] & complement(done):
                slot = slot_of(part.table, 0, slots, done | bit(v))
                if part.table.ranks[slot] < 0:
                    if count == part.sets.shape[0] or 2 * count > slots:
                        return -1
                    part.table.keys[slot] = done | bit(v)
                    part.table.ranks[slot] = count
                    part.sets[count] = done | bit(v)
                    count += 1
            radix = _radix(part, v, done)
            if radix > 1:
                part.steps[rank, v] = cython.cast(cython.int, states)
                states *= radix
                if states > most_entries:
                    return -1
        entries += states
        if entries > most_entries:
            return -1
        rank += 1
    part.offsets[count] = entries
    return count


def tabulate(part: Part, count: cython.longlong, budget: cython.longlong, costs: cython.int[::1]) -> None:
    """Write the least charges to come of every state of ``count`` sets into ``costs``, largest sets first.

    Letting a value go is charged as in :mod:`layered_search_kernels`; what is computed finds its operands, and room
    for them, itself and what it reads outside.
    """
    with cython.nogil:
        for rank in range(count - 1, -1, -1):
            _tabulate(part, rank, budget, costs)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tabulate(
    part: Part, rank: cython.longlong, budget: cython.longlong, costs: cython.int[::1]
) -> cython.void:  # fmt: skip
    done: cython.ulonglong = part.sets[rank]
    alive: cython.longlong = 0
    ready: cython.longlong = 0
    held: cython.longlong = 0
    best: cython.longlong
    index: cython.Py_ssize_t
    i: cython.Py_ssize_t
    for v in range(part.touched.shape[0]):
        part.digits[v] = 0
        if part.steps[rank, v] > 0:
            part.live[alive] = v
            part.radices[alive] = _radix(part, v, done)
            alive += 1
        if not done & bit(v) and not part.before[v] & complement(done):
            part.ready[ready] = v
            part.following[ready] = part.table.ranks[slot_of(part.table, 0, part.table.keys.shape[0], done | bit(v))]
            ready += 1
    for index in range(part.offsets[rank], part.offsets[rank + 1]):
        if ready == 0:
            costs[index] = 0
            continue
        best = _DEAR
        for i in range(alive):
            a = part.live[i]
            if 0 < part.digits[a] < _FRESH:
                best = min(best, costs[index - part.digits[a] * part.steps[rank, a]] + part.digits[a] * part.weights[a])
        for i in range(ready):
            best = min(best, _after(part, i, alive, held, budget, costs))
        costs[index] = cython.cast(cython.int, best)
        for i in range(alive):  # the next state: count up
            a = part.live[i]
            if part.digits[a] == 0:
                held += part.weights[a]
            elif part.digits[a] == _UNSAVED or part.radices[i] == 2:
                held -= part.weights[a]
            part.digits[a] += 1
            if part.digits[a] < part.radices[i]:
                break
            part.digits[a] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after(
    part: Part,
    number: cython.longlong,
    alive: cython.longlong,
    held: cython.longlong,
    budget: cython.longlong,
    costs: cython.const_int[::1],
) -> cython.longlong:
    """Return what the state after computing a ready node still costs."""
    v: cython.longlong = part.ready[number]
    after: cython.longlong = part.following[number]
    target: cython.longlong = part.offsets[after]
    occupied: cython.longlong = held + part.outside[v]
    touched: cython.ulonglong = part.touched[v]
    i: cython.Py_ssize_t
    for i in range(alive):
        a = part.live[i]
        digit = part.digits[a]
        if touched & bit(a):
            touched &= complement(bit(a))
            if digit == 0 or digit == _FRESH:
                occupied += part.weights[a]
                digit = _SAVED if digit == 0 else _UNSAVED
        target += digit * part.steps[after, a]
    while touched:  # those that only fresh they could be
        a = lowest(touched)
        touched &= touched - 1
        occupied += part.weights[a]
        target += _UNSAVED * part.steps[after, a]
    return costs[target] if occupied <= budget else _DEAR


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Parts:
    """Which nodes some parts have.

    Part p has the nodes ``members[first[p]:first[p + 1]]``, those of the bits ``given[p]`` are inputs, of ``late[p]``
    may be fresh for it though others have touched them. ``node_parts`` and ``node_places`` from ``node_first[v]`` on
    say of which parts node v is which.
    """

    first: cython.const_longlong[::1]
    members: cython.const_longlong[::1]
    given: cython.const_ulonglong[::1]
    late: cython.const_ulonglong[::1]
    node_first: cython.const_longlong[::1]
    node_parts: cython.const_longlong[::1]
    node_places: cython.const_longlong[::1]


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Patterns:
    """The tables of some parts, one after another, and how their costs add up.

    The computed sets of part p lie in ``table`` from ``table_first[p]`` on; states of set r (over all parts) have
    their costs to come in ``costs`` from ``offsets[r]`` on, a red node counting ``steps[r, place]``. ``shares`` say how
    much of each part's cost counts, in parts of ``whole``, such that no node is counted more than once.
    """

    parts: Parts
    table: SetTable
    table_first: cython.const_longlong[::1]
    offsets: cython.const_longlong[::1]
    steps: cython.const_int[:, ::1]
    costs: cython.const_int[::1]
    shares: cython.const_longlong[::1]
    whole: cython.longlong


@cython.final
@cython.cclass
class Lookup:
    """Where the shares of a state stand: the numbers of their computed sets, their entries, and the sum of their costs.

    The same for the state it comes from. ``touchers`` are those of the whole graph.
    """

    def __init__(self, patterns: Patterns, touchers: cython.const_ulonglong[::1], words: cython.longlong) -> None:
        self.patterns = patterns
        self.touchers = touchers
        self.words = words
        self.source_rank, self.source_entry, self.rank, self.entry = np.empty(
            (4, patterns.parts.given.shape[0]), np.int64
        )
        self.total = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_fresh(
    lookup: Lookup, node: cython.longlong, sets: cython.const_ulonglong[::1], first: cython.longlong
) -> cython.bint:
    """True if nothing computed in the state at ``first`` touches a node."""
    k: cython.Py_ssize_t
    for k in range(lookup.words):
        if lookup.touchers[node * lookup.words + k] & sets[first + k]:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _locate(
    lookup: Lookup,
    patterns: Patterns,
    parts: Parts,
    number: cython.longlong,
    sets: cython.const_ulonglong[::1],
    first: cython.longlong,
) -> cython.void:
    """Find a part's share of the state at ``first``."""
    begin: cython.longlong = parts.first[number]
    end: cython.longlong = parts.first[number + 1]
    mask: cython.ulonglong = parts.given[number]
    entry: cython.longlong
    step: cython.longlong
    j: cython.Py_ssize_t
    for j in range(begin, end):
        v = parts.members[j]
        mask |= (sets[first + (v >> 6)] >> (v & 63) & 1) << (j - begin)
    at = patterns.table_first[number]
    at = patterns.table.ranks[slot_of(patterns.table, at, patterns.table_first[number + 1] - at, mask)]
    entry = patterns.offsets[at]
    for j in range(begin, end):
        step = patterns.steps[at, j - begin]
        if step > 0:
            v = parts.members[j]
            if has(sets, first + lookup.words, v):
                entry += step * (_UNSAVED if has(sets, first + 2 * lookup.words, v) else _SAVED)
            elif parts.late[number] & bit(j - begin) and _is_fresh(lookup, v, sets, first):
                entry += step * _FRESH
    lookup.rank[number] = at
    lookup.entry[number] = entry


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def locate(lookup: Lookup, sets: cython.const_ulonglong[::1], first: cython.longlong) -> cython.void:
    """Find every part's share of the source, the state at ``first``."""
    part: cython.Py_ssize_t
    for part in range(lookup.rank.shape[0]):
        _locate(lookup, lookup.patterns, lookup.patterns.parts, part, sets, first)
        lookup.source_rank[part] = lookup.rank[part]
        lookup.source_entry[part] = lookup.entry[part]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def relocate(
    lookup: Lookup,
    state: cython.const_ulonglong[::1],
    touched: cython.const_longlong[::1],
    count: cython.longlong,
) -> cython.longlong:
    """Find the shares of a state that differs from the source in what is ``touched``; return the sum of their costs."""
    part: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for part in range(lookup.patterns.parts.given.shape[0]):
        lookup.rank[part] = lookup.source_rank[part]
        lookup.entry[part] = lookup.source_entry[part]
    for i in range(count):
        v = touched[i]
        for j in range(lookup.patterns.parts.node_first[v], lookup.patterns.parts.node_first[v + 1]):
            _locate(lookup, lookup.patterns, lookup.patterns.parts, lookup.patterns.parts.node_parts[j], state, 0)
    lookup.total = 0
    for part in range(lookup.patterns.parts.given.shape[0]):
        lookup.total += lookup.patterns.shares[part] * lookup.patterns.costs[lookup.entry[part]]
    return lookup.total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def let_go(lookup: Lookup, node: cython.longlong, digit: cython.longlong) -> cython.longlong:
    """Follow ``node`` leaving the fast memory (``digit`` 1, 2 if it was unsaved) or coming back (negative).

    Return the sum of costs.
    """
    step: cython.longlong
    change: cython.longlong
    i: cython.Py_ssize_t
    for i in range(lookup.patterns.parts.node_first[node], lookup.patterns.parts.node_first[node + 1]):
        part = lookup.patterns.parts.node_parts[i]
        step = lookup.patterns.steps[lookup.rank[part], lookup.patterns.parts.node_places[i]]
        if step > 0:
            change = lookup.patterns.costs[lookup.entry[part]]
            lookup.entry[part] -= digit * step
            change = lookup.patterns.costs[lookup.entry[part]] - change
            lookup.total += lookup.patterns.shares[part] * change
    return lookup.total
