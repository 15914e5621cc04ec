"""Two sequences of groups side by side, the current one and a candidate, and the tables that both share."""

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


@cython.final
@cython.cclass
class Sequences:
    """The current sequence and a candidate, as two halves of each array; place 0 stands before the first group.

    ``group``, ``row`` (which sets of tensors may be kept after it), ``shared`` (what it stores although it consumes it)
    by place; ``state``, ``value``, ``parent``, ``entry`` (in the table of prices) and ``used`` (the price as it was) by
    place and state, ``best`` the state on the best path. ``later`` has tensors that are needed after the last group,
    among those that operators here consume too.

    Sets of tensors kept name a tensor by its number, if it is in slow memory as well, or else by that and the number of
    all tensors: then it has to be kept on, from the group that makes it to the last one that takes it.
    """

    def __init__(self, groups: Groups, stores_shared: bool, retains_inputs: bool, later: cython.const_int[::1]) -> None:
        graph = groups.graph
        self.later = later
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
        self.made_at, self.made_first, self.made_last, self.made_fact, self.made_uses = (
            np.zeros(4 * room, np.int32) for _ in range(5)
        )
        self.stored, self.linked = np.zeros(graph.tensors, np.int32), 0  # by tensor, the last stamp it was surely so
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
            self.stored = np.zeros(self.groups.graph.tensors, np.int32)

    def tensors(self, number: int) -> list[int]:
        """Return the tensors of a set."""
        return sorted(item % self.groups.graph.tensors for item in self.kept.get(number))

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
            if sequences.kept.items[n] % sequences.groups.graph.tensors != tensor:
                continue
            if groups_shape == -2:
                groups_shape = sequences.groups.graph.shape[tensor]
            if sequences.groups.graph.shape[tensor] != groups_shape:
                return INF
            if not sequences.groups.facts[i] & 1:
                traffic -= sequences.groups.graph.size[tensor]
    for n in range(sequences.kept.begin[found], sequences.kept.begin[found + 1]):
        tensor = sequences.kept.items[n] % sequences.groups.graph.tensors
        for i in range(sequences.groups.first_taken[g], sequences.groups.first_made[g]):
            if sequences.groups.facts[i] >> 1 == tensor:
                traffic -= sequences.groups.graph.size[tensor]
    return max(sequences.groups.compute[g], traffic / sequences.groups.graph.bandwidth) * (1 - 1e-9)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def price_of(
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
def has_room(sequences: Sequences) -> cython.bint:
    """True if what one group of a candidate can need fits into the tables."""
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
def _size(sequences: Sequences, i: cython.Py_ssize_t) -> cython.double:
    """Return the size of a tensor in the buffer."""
    return sequences.groups.graph.size[sequences.buffer[i] % sequences.groups.graph.tensors]


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
            size += _size(sequences, i)
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
def row_of(sequences: Sequences, forced: cython.longlong, free: cython.longlong) -> cython.longlong:
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
        size += _size(sequences, i)
    for _ in range(free):  # as many as fit, the largest first
        largest = -1
        for i in range(free):
            if (most >> i) & 1 == 0 and (
                largest < 0 or _size(sequences, forced + i) > _size(sequences, forced + largest)
            ):
                if size + _size(sequences, forced + i) <= sequences.groups.graph.capacity:
                    largest = i
        if largest < 0:
            break
        most |= cython.cast(cython.longlong, 1) << largest
        size += _size(sequences, forced + largest)
        _choose(sequences, row, forced, most, free)
    for i in range(free):
        _choose(sequences, row, forced, cython.cast(cython.longlong, 1) << i, free)
    return row
