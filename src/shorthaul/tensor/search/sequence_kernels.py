"""A sequence of groups as a plan: what is best kept from one group to the next, and what that costs.

Two sequences stand side by side: the current one and a candidate. The best plan of a sequence is a shortest path whose
states are the tensors kept between two groups. Of a candidate only the stretch is evaluated between the first group
that differs and the place from which on all is as it was, but for a constant.

Prices of groups are not all known: one that is not counts as its floor until it lies on the best path of a candidate
worth having; then the caller is asked for it.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.bits import wrapped_product
from cython.cimports.shorthaul.tensor.search.group_kernels import Groups, Sets, intern

INF = cython.declare(cython.double, float("inf"))
EMPTY = cython.declare(cython.int, -1)
#: States between two groups, at most; tensors of which all subsets are tried; tensors that may be kept at all.
STATES = cython.declare(cython.longlong, 16)
ALL_SUBSETS = cython.declare(cython.longlong, 3)
MOST_FREE = cython.declare(cython.longlong, 60)
#: What came of a candidate: worked out, impossible, prices are missing, tables are full.
DONE = cython.declare(cython.int, 0)
IMPOSSIBLE = cython.declare(cython.int, 1)
MISSING = cython.declare(cython.int, 2)
FULL = cython.declare(cython.int, 3)
#: Values closer than this, as a part of the total, are the same.
SAME = cython.declare(cython.double, 1e-12)


@cython.final
@cython.cclass
class Sequences:
    """The current sequence and a candidate, as two halves of each array; place 0 stands before the first group.

    ``group``, ``row`` (which sets of tensors may be kept after it), ``shared`` (what it stores although it consumes it)
    by place; ``state``, ``value``, ``parent``, ``entry`` (in the table of prices) and ``used`` (the price as it was) by
    place and state, ``best`` the state on the best path.
    """

    def __init__(self, groups: Groups, stores_shared: bool, retains_inputs: bool) -> None:
        graph = groups.graph
        self.groups = groups
        self.kept = Sets()
        self.stores_shared, self.retains_inputs = stores_shared, retains_inputs
        self.room = room = 2 * graph.operators + 18
        self.side = 0
        self.length = np.zeros(2, np.int64)
        self.group, self.row, self.shared = (np.zeros(2 * room, np.int32) for _ in range(3))
        self.count, self.best = np.ones(2 * room, np.int32), np.zeros(2 * room, np.int32)
        self.state, self.parent, self.entry = (np.zeros(2 * room * STATES, np.int32) for _ in range(3))
        self.value, self.used = np.zeros(2 * room * STATES), np.zeros(2 * room * STATES)
        self.total = self.latency = float("inf")
        self.begin = self.end = 0
        self.evaluated = 0
        self.entries = 0
        self.key_group, self.key_kept = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
        self.key_shared = np.zeros(1024, np.int32)
        self.price, self.is_known = np.zeros(1024), np.zeros(1024, np.uint8)
        self.slots = np.full(4096, -1, np.int32)
        self.rows = 1
        self.row_key, self.row_count = np.zeros(64, np.int64), np.ones(64, np.int32)
        self.choices = np.zeros(64 * STATES, np.int32)
        self.row_slots = np.full(256, -1, np.int32)
        self.wanted = np.zeros(room, np.int32)
        self.missing = 0
        self.buffer = np.zeros(2 * graph.tensors + 4 * MOST_FREE, np.int32)
        self.made_by, self.mark = np.zeros(graph.tensors, np.int32), np.zeros(graph.tensors, np.int32)
        self.stamp = 0
        self.made_at, self.made_last, self.made_fact = (np.zeros(4 * room, np.int32) for _ in range(3))
        self.reserve()

    def reserve(self) -> None:
        """Make room in all tables."""
        self.kept.reserve(4 * STATES + 64, 1 << 13)
        if self.entries + 2 * STATES * STATES > self.price.shape[0]:
            size = self.price.shape[0]
            self.key_group = np.concatenate([self.key_group, np.zeros(size, np.int64)])
            self.key_kept = np.concatenate([self.key_kept, np.zeros(size, np.int64)])
            self.key_shared = np.concatenate([self.key_shared, np.zeros(size, np.int32)])
            self.price = np.concatenate([self.price, np.zeros(size)])
            self.is_known = np.concatenate([self.is_known, np.zeros(size, np.uint8)])
            self.slots = np.full(8 * size, -1, np.int32)
            for number in range(self.entries):
                _enter(self, number)
        if self.rows + 8 > self.row_key.shape[0]:
            size = self.row_key.shape[0]
            self.row_key = np.concatenate([self.row_key, np.zeros(size, np.int64)])
            self.row_count = np.concatenate([self.row_count, np.ones(size, np.int32)])
            self.choices = np.concatenate([self.choices, np.zeros(size * STATES, np.int32)])
            self.row_slots = np.full(8 * size, -1, np.int32)
            for number in range(1, self.rows):
                _enter_row(self, number)
        if self.stamp >= 1_000_000_000:
            self.stamp = 0
            self.mark = np.zeros(self.groups.graph.tensors, np.int32)

    def key(self, entry: int) -> tuple[int, int, int, int]:
        """Return the group of an entry, and the sets of tensors that it finds, keeps, and stores besides."""
        kept = self.key_kept[entry]
        return int(self.key_group[entry]), int(kept >> 32), int(kept & 0xFFFFFFFF), int(self.key_shared[entry])

    def set_price(self, entry: int, latency: float) -> None:
        """Set a price, infinite where the group cannot be executed so."""
        self.price[entry] = latency
        self.is_known[entry] = 1

    def place(self, sequence: list[int]) -> None:
        """Make these groups the candidate."""
        first = (1 - self.side) * self.room + 1
        for number, group in enumerate(sequence):
            self.group[first + number] = group
        self.length[1 - self.side] = len(sequence)

    def steps(self) -> list[tuple[int, int]]:
        """Return groups and entries of the current sequence, one after the other."""
        first = self.side * self.room + 1
        places = range(first, first + self.length[self.side])
        return [(int(self.group[p]), int(self.entry[p * STATES + self.best[p]])) for p in places]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hash(one: cython.longlong, other: cython.longlong) -> cython.ulonglong:
    word: cython.ulonglong = wrapped_product(cython.cast(cython.ulonglong, one), 0x9E37_79B9_7F4A_7C15)
    word = wrapped_product(word ^ (word >> 32) ^ cython.cast(cython.ulonglong, other), 0xBF58_476D_1CE4_E5B9)
    return word ^ (word >> 29)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(sequences: Sequences, number: cython.longlong) -> cython.void:
    mask: cython.ulonglong = sequences.slots.shape[0] - 1
    at: cython.ulonglong = _hash(sequences.key_group[number], sequences.key_kept[number]) & mask
    while sequences.slots[at] != EMPTY:
        at = (at + 1) & mask
    sequences.slots[at] = cython.cast(cython.int, number)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter_row(sequences: Sequences, number: cython.longlong) -> cython.void:
    mask: cython.ulonglong = sequences.row_slots.shape[0] - 1
    at: cython.ulonglong = _hash(sequences.row_key[number], 1) & mask
    while sequences.row_slots[at] != EMPTY:
        at = (at + 1) & mask
    sequences.row_slots[at] = cython.cast(cython.int, number)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _floor(sequences: Sequences, g: cython.longlong, found: cython.longlong, kept: cython.longlong) -> cython.double:
    """Return a lower bound on the price of a group; infinite if its outputs differ in shape."""
    groups_shape: cython.int = sequences.groups.shape[g]
    traffic: cython.double = sequences.groups.taken_size[g] + sequences.groups.stored_size[g]
    if groups_shape == -1:
        return INF
    for i in range(sequences.groups.first_made[g], sequences.groups.first_taken[g + 1]):
        tensor = sequences.groups.facts[i] >> 1
        for n in range(sequences.kept.begin[kept], sequences.kept.begin[kept + 1]):
            if sequences.kept.items[n] != tensor:
                continue
            if groups_shape == -2:
                groups_shape = sequences.groups.graph.shape[tensor]
            if sequences.groups.graph.shape[tensor] != groups_shape:
                return INF
            if not sequences.groups.facts[i] & 1:
                traffic -= sequences.groups.graph.size[tensor]
    for n in range(sequences.kept.begin[found], sequences.kept.begin[found + 1]):
        for i in range(sequences.groups.first_taken[g], sequences.groups.first_made[g]):
            if sequences.groups.facts[i] >> 1 == sequences.kept.items[n]:
                traffic -= sequences.groups.graph.size[sequences.kept.items[n]]
    return max(sequences.groups.compute[g], traffic / sequences.groups.graph.bandwidth) * (1 - 1e-9)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _price(
    sequences: Sequences, g: cython.longlong, found: cython.longlong, kept: cython.longlong, shared: cython.longlong
) -> cython.longlong:
    """Return the entry of a group that finds and keeps these sets of tensors, made if it is new; there must be room."""
    mask: cython.ulonglong = sequences.slots.shape[0] - 1
    key: cython.longlong = found << 32 | kept
    at: cython.ulonglong = _hash(g, key) & mask
    while sequences.slots[at] != EMPTY:
        number = sequences.slots[at]
        if (
            sequences.key_group[number] == g
            and sequences.key_kept[number] == key
            and sequences.key_shared[number] == shared
        ):
            return number
        at = (at + 1) & mask
    sequences.slots[at] = cython.cast(cython.int, sequences.entries)
    sequences.key_group[sequences.entries] = g
    sequences.key_kept[sequences.entries] = key
    sequences.key_shared[sequences.entries] = cython.cast(cython.int, shared)
    floor: cython.double = _floor(sequences, g, found, kept)
    sequences.price[sequences.entries] = floor
    sequences.is_known[sequences.entries] = floor == INF
    sequences.entries += 1
    return sequences.entries - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_room(sequences: Sequences) -> cython.bint:
    return (
        sequences.entries + STATES * STATES < sequences.price.shape[0]
        and sequences.rows + 2 < sequences.row_key.shape[0]
        and sequences.kept.count + 2 * STATES + 8 < sequences.kept.begin.shape[0]
        and 2 * (sequences.kept.count + 2 * STATES + 8) < sequences.kept.slots.shape[0]
        and sequences.kept.begin[sequences.kept.count] + 4096 < sequences.kept.items.shape[0]
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose(
    sequences: Sequences, row: cython.longlong, forced: cython.longlong, chosen: cython.longlong, free: cython.longlong
) -> cython.void:
    """Add the ``forced`` tensors in the buffer to a row, with the ``free`` ones behind them that ``chosen`` has."""
    size: cython.double = 0.0
    place: cython.longlong = forced + free
    count: cython.longlong = 0
    i: cython.Py_ssize_t
    for i in range(forced + free):
        if i < forced or (chosen >> (i - forced)) & 1:
            sequences.buffer[place + count] = sequences.buffer[i]
            size += sequences.groups.graph.size[sequences.buffer[i]]
            count += 1
    if size > sequences.groups.graph.capacity or sequences.row_count[row] == STATES:
        return
    number: cython.int = cython.cast(cython.int, intern(sequences.kept, sequences.buffer, place, count))
    for i in range(sequences.row_count[row]):
        if sequences.choices[row * STATES + i] == number:
            return
    sequences.choices[row * STATES + sequences.row_count[row]] = number
    sequences.row_count[row] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _row(sequences: Sequences, forced: cython.longlong, free: cython.longlong) -> cython.longlong:
    """Return the row of the sets worth keeping where the first tensors in the buffer must be and the others may be."""
    i: cython.Py_ssize_t
    most: cython.longlong = 0
    largest: cython.longlong = -1
    size: cython.double = 0.0
    if forced == 0 and free == 0:
        return 0
    key: cython.longlong = intern(sequences.kept, sequences.buffer, 0, forced) << 32
    key |= intern(sequences.kept, sequences.buffer, forced, free)
    mask: cython.ulonglong = sequences.row_slots.shape[0] - 1
    at: cython.ulonglong = _hash(key, 1) & mask
    while sequences.row_slots[at] != EMPTY:
        if sequences.row_key[sequences.row_slots[at]] == key:
            return sequences.row_slots[at]
        at = (at + 1) & mask
    row: cython.longlong = sequences.rows
    sequences.row_slots[at] = cython.cast(cython.int, row)
    sequences.row_key[row] = key
    sequences.row_count[row] = 0
    sequences.rows += 1
    if free <= ALL_SUBSETS:
        for i in range(1 << free):
            _choose(sequences, row, forced, i, free)
        return row
    _choose(sequences, row, forced, 0, free)
    for i in range(forced):
        size += sequences.groups.graph.size[sequences.buffer[i]]
    for _ in range(free):  # as many as fit, the largest first
        largest = -1
        for i in range(free):
            if (most >> i) & 1 == 0 and (
                largest < 0
                or sequences.groups.graph.size[sequences.buffer[forced + i]]
                > sequences.groups.graph.size[sequences.buffer[forced + largest]]
            ):
                item = sequences.groups.graph.size[sequences.buffer[forced + i]]
                if size + item <= sequences.groups.graph.capacity:
                    largest = i
        if largest < 0:
            break
        most |= cython.cast(cython.longlong, 1) << largest
        size += sequences.groups.graph.size[sequences.buffer[forced + largest]]
        _choose(sequences, row, forced, most, free)
    for i in range(free):
        _choose(sequences, row, forced, cython.cast(cython.longlong, 1) << i, free)
    return row


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gather(sequences: Sequences, first: cython.longlong, stop: cython.longlong, place: cython.longlong) -> cython.int:
    """Note what the group at ``place``, which made ``first`` to ``stop``, must, may and need not keep."""
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    capacity: cython.double = sequences.groups.graph.capacity
    forced: cython.longlong = 0
    free: cython.longlong = 0
    shared: cython.longlong = 0
    tensor: cython.int
    for k in range(first, stop):  # what must be kept comes first
        if sequences.made_last[k] < 0 or not sequences.made_fact[k] & 1 or sequences.stores_shared:
            continue
        tensor = sequences.made_fact[k] >> 1
        if sequences.made_last[k] != place + 1 or sequences.groups.graph.size[tensor] > capacity:
            return IMPOSSIBLE
        sequences.buffer[forced] = tensor
        forced += 1
    for k in range(first, stop):
        tensor = sequences.made_fact[k] >> 1
        if sequences.made_last[k] < 0 or (sequences.made_fact[k] & 1 and not sequences.stores_shared):
            continue
        if sequences.made_last[k] == place + 1 and sequences.groups.graph.size[tensor] <= capacity and free < MOST_FREE:
            sequences.buffer[forced + free] = tensor
            free += 1
    if sequences.retains_inputs and place < sequences.length[1 - sequences.side]:
        base = (1 - sequences.side) * sequences.room
        g = sequences.group[base + place]
        sequences.stamp += 1
        for i in range(sequences.groups.first_taken[g], sequences.groups.first_made[g]):
            sequences.mark[sequences.groups.facts[i] >> 1] = sequences.stamp
        g = sequences.group[base + place + 1]
        for i in range(sequences.groups.first_taken[g], sequences.groups.first_made[g]):
            tensor = sequences.groups.facts[i] >> 1
            if (
                sequences.mark[tensor] == sequences.stamp
                and sequences.groups.graph.size[tensor] <= capacity
                and free < MOST_FREE
            ):
                sequences.buffer[forced + free] = tensor
                free += 1
    at: cython.longlong = (1 - sequences.side) * sequences.room + place
    sequences.row[at] = cython.cast(cython.int, _row(sequences, forced, free))
    if sequences.stores_shared:
        for k in range(first, stop):
            if sequences.made_last[k] >= 0 and sequences.made_fact[k] & 1:
                sequences.buffer[shared] = sequences.made_fact[k] >> 1
                shared += 1
    sequences.shared[at] = cython.cast(cython.int, intern(sequences.kept, sequences.buffer, 0, shared))
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def link(sequences: Sequences) -> cython.int:
    """Work out what the groups of the candidate pass on; impossible if one misses an input."""
    base: cython.longlong = (1 - sequences.side) * sequences.room
    length: cython.longlong = sequences.length[1 - sequences.side]
    made: cython.longlong = 0
    place: cython.Py_ssize_t
    i: cython.Py_ssize_t
    sequences.stamp += 1
    for place in range(1, length + 1):
        g = sequences.group[base + place]
        for i in range(sequences.groups.first_taken[g], sequences.groups.first_made[g]):
            if sequences.groups.facts[i] & 1:
                tensor = sequences.groups.facts[i] >> 1
                if sequences.mark[tensor] != sequences.stamp:
                    return IMPOSSIBLE
                sequences.made_last[sequences.made_by[tensor]] = cython.cast(cython.int, place)
        for i in range(sequences.groups.first_made[g], sequences.groups.first_taken[g + 1]):
            if made == sequences.made_at.shape[0]:
                return IMPOSSIBLE
            tensor = sequences.groups.facts[i] >> 1
            sequences.mark[tensor] = sequences.stamp
            sequences.made_by[tensor] = cython.cast(cython.int, made)
            sequences.made_at[made] = cython.cast(cython.int, place)
            sequences.made_last[made] = EMPTY
            sequences.made_fact[made] = sequences.groups.facts[i]
            made += 1
    first: cython.longlong = 0
    stop: cython.longlong = 0
    status: cython.int
    for place in range(1, length + 1):
        first = stop
        while stop < made and sequences.made_at[stop] == place:
            stop += 1
        if not _has_room(sequences):
            return FULL
        status = _gather(sequences, first, stop, place)
        if status != DONE:
            return status
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _besides(sequences: Sequences, shared: cython.longlong, kept: cython.longlong) -> cython.longlong:
    """Return the set of what is shared and not kept."""
    count: cython.longlong = 0
    is_kept: cython.bint
    for i in range(sequences.kept.begin[shared], sequences.kept.begin[shared + 1]):
        is_kept = False
        for n in range(sequences.kept.begin[kept], sequences.kept.begin[kept + 1]):
            is_kept = is_kept or sequences.kept.items[n] == sequences.kept.items[i]
        if not is_kept:
            sequences.buffer[count] = sequences.kept.items[i]
            count += 1
    return intern(sequences.kept, sequences.buffer, 0, count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _extend(sequences: Sequences, before: cython.longlong, at: cython.longlong) -> cython.int:
    """Work out the states after the group at ``at``, from those at ``before``."""
    s: cython.Py_ssize_t
    c: cython.Py_ssize_t
    count: cython.longlong = 0
    place: cython.longlong
    g: cython.longlong = sequences.group[at]
    row: cython.longlong = sequences.row[at]
    sequences.evaluated += 1
    if not _has_room(sequences):
        return FULL
    for c in range(sequences.row_count[row]):
        kept = sequences.choices[row * STATES + c]
        shared = (
            sequences.shared[at]
            if sequences.shared[at] == 0 or kept == 0
            else _besides(sequences, sequences.shared[at], kept)
        )
        place = at * STATES + count
        least = INF
        for s in range(sequences.count[before]):
            entry = _price(sequences, g, sequences.state[before * STATES + s], kept, shared)
            value = sequences.value[before * STATES + s] + sequences.price[entry]
            if value < least:
                least = value
                sequences.parent[place] = cython.cast(cython.int, s)
                sequences.entry[place] = cython.cast(cython.int, entry)
                sequences.used[place] = sequences.price[entry]
        if least < INF:
            sequences.state[place] = kept
            sequences.value[place] = least
            count += 1
    sequences.count[at] = cython.cast(cython.int, count)
    return DONE if count > 0 else IMPOSSIBLE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_joined(sequences: Sequences, one: cython.longlong, other: cython.longlong) -> cython.bint:
    """True if the states at two places are the same, but for a constant added to all values."""
    if sequences.count[one] != sequences.count[other]:
        return False
    more: cython.double = sequences.value[one * STATES] - sequences.value[other * STATES]
    for s in range(sequences.count[one]):
        if sequences.state[one * STATES + s] != sequences.state[other * STATES + s]:
            return False
        difference = sequences.value[one * STATES + s] - sequences.value[other * STATES + s] - more
        if abs(difference) > SAME * sequences.value[one * STATES + s]:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_same(sequences: Sequences, one: cython.longlong, other: cython.longlong) -> cython.bint:
    return (
        sequences.group[one] == sequences.group[other]
        and sequences.row[one] == sequences.row[other]
        and sequences.shared[one] == sequences.shared[other]
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def evaluate(sequences: Sequences) -> cython.int:
    """Find the latency of the linked candidate, as far as prices are known; it differs from ``begin`` to ``end``."""
    old: cython.longlong = sequences.side * sequences.room
    new: cython.longlong = (1 - sequences.side) * sequences.room
    length: cython.longlong = sequences.length[1 - sequences.side]
    shift: cython.longlong = sequences.length[sequences.side] - length
    shorter: cython.longlong = min(length, length + shift)
    begin: cython.longlong = 1
    tail: cython.longlong = 0
    place: cython.longlong
    status: cython.int
    while begin <= shorter and _is_same(sequences, new + begin, old + begin):
        begin += 1
    while tail <= shorter - begin and _is_same(sequences, new + length - tail, old + length + shift - tail):
        tail += 1
    sequences.begin = sequences.end = begin
    place = begin
    while place <= length:
        before = new + place - 1 if place > begin else old + place - 1
        if place > length - tail and _is_joined(sequences, before, old + place - 1 + shift):
            more = sequences.value[before * STATES] - sequences.value[(old + place - 1 + shift) * STATES]
            sequences.latency = sequences.total + more
            sequences.end = place
            return DONE
        status = _extend(sequences, before, new + place)
        if status != DONE:
            return status
        place += 1
    sequences.end = place
    last = new + length if length >= begin else old + length
    sequences.latency = INF
    for s in range(sequences.count[last]):
        sequences.latency = min(sequences.latency, sequences.value[last * STATES + s])
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _refresh(sequences: Sequences, place: cython.longlong) -> cython.int:
    """Evaluate the current sequence again from ``place``: prices have become known."""
    base: cython.longlong = sequences.side * sequences.room
    last: cython.longlong = base + sequences.length[sequences.side]
    at: cython.longlong = base + place
    while at <= last:
        status = _extend(sequences, at - 1, at)
        if status != DONE:
            return status
        at += 1
    state = _least(sequences, last)
    sequences.total = sequences.value[last * STATES + state]
    while last > base:
        sequences.best[last] = state
        state = sequences.parent[last * STATES + state]
        last -= 1
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _least(sequences: Sequences, at: cython.longlong) -> cython.int:
    best: cython.int = 0
    for s in range(1, sequences.count[at]):
        if sequences.value[at * STATES + s] < sequences.value[at * STATES + best]:
            best = cython.cast(cython.int, s)
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def trace(sequences: Sequences) -> cython.int:
    """Follow the best path of the candidate: done if all its prices are known, else ``wanted`` names entries."""
    old: cython.longlong = sequences.side * sequences.room
    new: cython.longlong = (1 - sequences.side) * sequences.room
    length: cython.longlong = sequences.length[1 - sequences.side]
    shift: cython.longlong = sequences.length[sequences.side] - length
    place: cython.longlong = sequences.end - 1
    stale: cython.longlong = 0
    at: cython.longlong
    state: cython.int
    status: cython.int
    at = new + place if place >= sequences.begin else old + place
    state = sequences.best[old + place + shift] if sequences.end <= length else _least(sequences, at)
    sequences.missing = 0
    while place > 0:
        at = new + place if place >= sequences.begin else old + place
        entry = sequences.entry[at * STATES + state]
        if not sequences.is_known[entry]:
            sequences.wanted[sequences.missing] = entry
            sequences.missing += 1
        elif sequences.used[at * STATES + state] != sequences.price[entry]:
            stale = place
        sequences.best[new + place] = state
        state = sequences.parent[at * STATES + state]
        place -= 1
    if sequences.missing > 0:
        return MISSING
    if stale > 0:
        if stale < sequences.begin:
            status = _refresh(sequences, stale)
            if status != DONE:
                return status
        status = evaluate(sequences)
        return trace(sequences) if status == DONE else status
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _copy(sequences: Sequences, source: cython.longlong, target: cython.longlong, more: cython.double) -> cython.void:
    sequences.count[target] = sequences.count[source]
    for s in range(sequences.count[source]):
        sequences.state[target * STATES + s] = sequences.state[source * STATES + s]
        sequences.value[target * STATES + s] = sequences.value[source * STATES + s] + more
        sequences.parent[target * STATES + s] = sequences.parent[source * STATES + s]
        sequences.entry[target * STATES + s] = sequences.entry[source * STATES + s]
        sequences.used[target * STATES + s] = sequences.used[source * STATES + s]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def accept(sequences: Sequences) -> cython.void:
    """Make the candidate, evaluated and traced, the current sequence."""
    old: cython.longlong = sequences.side * sequences.room
    new: cython.longlong = (1 - sequences.side) * sequences.room
    length: cython.longlong = sequences.length[1 - sequences.side]
    shift: cython.longlong = sequences.length[sequences.side] - length
    more: cython.double = 0.0
    for place in range(1, sequences.begin):
        _copy(sequences, old + place, new + place, 0.0)
    if sequences.end <= length:
        before = new + sequences.end - 1 if sequences.end > sequences.begin else old + sequences.end - 1
        more = sequences.value[before * STATES] - sequences.value[(old + sequences.end - 1 + shift) * STATES]
    for place in range(sequences.end, length + 1):
        _copy(sequences, old + place + shift, new + place, more)
        sequences.best[new + place] = sequences.best[old + place + shift]
    sequences.total = sequences.latency
    sequences.side = 1 - sequences.side
