"""A sequence of groups as a plan: what is best kept from one group to the next, and what that costs.

Two sequences stand side by side: the current one and a candidate. The best plan of a sequence is a shortest path whose
states are the tensors kept between two groups. Of a candidate only the stretch is evaluated between the first group
that differs and the place from which on all is as it was, but for a constant.

Prices of groups are not all known: one that is not counts as its floor until it lies on the best path of a candidate
worth having; then the caller is asked for it.
"""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.tensor.search.group_kernels import intern
from cython.cimports.shorthaul.tensor.search.sequence_kernels import Sequences, has_room, price_of, row_of

INF = cython.declare(cython.double, float("inf"))
EMPTY = cython.declare(cython.int, -1)
#: As in the tables: states between two groups, tensors that may be kept at all.
STATES = cython.declare(cython.longlong, 16)
MOST_FREE = cython.declare(cython.longlong, 60)
#: The half of a row's key that is the set of what may be kept.
LOW = cython.declare(cython.longlong, 0xFFFF_FFFF)
#: What came of a candidate: worked out, impossible, prices are missing, tables are full.
DONE = cython.declare(cython.int, 0)
IMPOSSIBLE = cython.declare(cython.int, 1)
MISSING = cython.declare(cython.int, 2)
FULL = cython.declare(cython.int, 3)
#: Values closer than this, as a part of the total, are the same.
SAME = cython.declare(cython.double, 1e-12)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(
    sequences: Sequences, tensor: cython.longlong, more: cython.longlong, forced: cython.longlong, free: cython.longlong
) -> cython.longlong:
    """Let a tensor that fits be kept, named by ``more`` than its number, and return how many may be kept."""
    if sequences.groups.graph.size[tensor] <= sequences.groups.graph.capacity and free < MOST_FREE:
        sequences.buffer[forced + free] = cython.cast(cython.int, tensor + more)
        free += 1
    return free


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_kept_on(
    sequences: Sequences, k: cython.longlong, place: cython.longlong, forced: cython.longlong, free: cython.longlong
) -> cython.longlong:
    """Let what was made as number ``k`` be kept on at ``place``, never stored, and return how many may be kept.

    All groups from the next one to the last that takes it do so, but for one at most, and that is not the next one.
    """
    far: cython.longlong = sequences.made_last[k] - sequences.made_at[k]
    if far > 1 and sequences.made_uses[k] >= far - 1 and place < sequences.made_last[k]:
        return _add(sequences, sequences.made_fact[k] >> 1, sequences.groups.graph.tensors, forced, free)
    return free


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_be_dropped(sequences: Sequences, k: cython.longlong) -> cython.bint:
    """True if what was made as number ``k`` need not be stored if the next group finds it in fast memory.

    No other group takes it, or it surely was stored before: where it is made again for the next group.
    """
    following: cython.longlong = sequences.made_at[k] + 1
    if sequences.made_last[k] == following:
        return True
    return (
        not sequences.retains_inputs
        and sequences.made_first[k] == following
        and sequences.stored[sequences.made_fact[k] >> 1] == sequences.linked
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_held(
    sequences: Sequences,
    first: cython.longlong,
    stop: cython.longlong,
    place: cython.longlong,
    forced: cython.longlong,
    free: cython.longlong,
) -> cython.longlong:
    """Let what the group at ``place`` takes or makes be kept for another taker, and return how many may be kept.

    That is the next group, or the one after it: what the group before ``place`` had is held here for the next one.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    tensor: cython.int
    base: cython.longlong = (1 - sequences.side) * sequences.room
    last: cython.longlong = sequences.length[1 - sequences.side]
    g: cython.longlong = sequences.group[base + place]
    sequences.stamp += 4
    is_here: cython.int = sequences.stamp  # marks of what the group takes, of what it makes, and of what others take
    for i in range(sequences.groups.first_taken[g], sequences.groups.first_made[g]):
        tensor = sequences.groups.facts[i] >> 1
        sequences.mark[tensor] = is_here
        if sequences.groups.facts[i] & 1:
            free = _add_kept_on(sequences, sequences.made_by[tensor], place, forced, free)
    for k in range(first, stop):
        tensor = sequences.made_fact[k] >> 1
        sequences.mark[tensor] = is_here - 1
        sequences.made_by[tensor] = cython.cast(cython.int, k)
        free = _add_kept_on(sequences, k, place, forced, free)
    for after in range(1, 3):
        if place + after > last:
            break
        g = sequences.group[base + place + after]
        for i in range(sequences.groups.first_taken[g], sequences.groups.first_made[g]):
            tensor = sequences.groups.facts[i] >> 1
            if sequences.mark[tensor] == is_here:
                free = _add(sequences, tensor, 0, forced, free)
                sequences.mark[tensor] = is_here - 1
            elif sequences.mark[tensor] < is_here - 3 and after == 1:
                sequences.mark[tensor] = is_here - 2
    if place > 1:
        g = sequences.group[base + place - 1]
        for i in range(sequences.groups.first_taken[g], sequences.groups.first_taken[g + 1]):
            tensor = sequences.groups.facts[i] >> 1
            if sequences.mark[tensor] == is_here - 2:
                if i < sequences.groups.first_made[g]:
                    free = _add(sequences, tensor, 0, forced, free)
                if i >= sequences.groups.first_made[g] or sequences.groups.facts[i] & 1:
                    free = _add_kept_on(sequences, sequences.made_by[tensor], place, forced, free)
    return free


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gather(sequences: Sequences, first: cython.longlong, stop: cython.longlong, place: cython.longlong) -> cython.int:
    """Note what the group at ``place``, which made ``first`` to ``stop``, must, may and need not keep."""
    k: cython.Py_ssize_t
    capacity: cython.double = sequences.groups.graph.capacity
    forced: cython.longlong = 0
    free: cython.longlong = 0
    shared: cython.longlong = 0
    tensor: cython.int
    for k in range(first, stop):  # what must be kept comes first
        if sequences.made_last[k] < 0 or not sequences.made_fact[k] & 1 or sequences.stores_shared:
            continue
        tensor = sequences.made_fact[k] >> 1
        if not _may_be_dropped(sequences, k) or sequences.groups.graph.size[tensor] > capacity:
            return IMPOSSIBLE
        sequences.buffer[forced] = tensor
        forced += 1
    for k in range(first, stop):
        tensor = sequences.made_fact[k] >> 1
        if sequences.made_fact[k] & 1 and not sequences.stores_shared:
            continue
        if _may_be_dropped(sequences, k):
            free = _add(sequences, tensor, 0, forced, free)
        else:
            sequences.stored[tensor] = sequences.linked
    if sequences.retains_inputs and place < sequences.length[1 - sequences.side]:
        free = _add_held(sequences, first, stop, place, forced, free)
    at: cython.longlong = (1 - sequences.side) * sequences.room + place
    sequences.row[at] = cython.cast(cython.int, row_of(sequences, forced, free))
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
    sequences.linked = sequences.stamp
    for place in range(1, length + 1):
        g = sequences.group[base + place]
        for i in range(sequences.groups.first_taken[g], sequences.groups.first_made[g]):
            if sequences.groups.facts[i] & 1:
                tensor = sequences.groups.facts[i] >> 1
                if sequences.mark[tensor] != sequences.stamp:
                    return IMPOSSIBLE
                sequences.made_last[sequences.made_by[tensor]] = cython.cast(cython.int, place)
                if sequences.made_uses[sequences.made_by[tensor]] == 0:
                    sequences.made_first[sequences.made_by[tensor]] = cython.cast(cython.int, place)
                sequences.made_uses[sequences.made_by[tensor]] += 1
        for i in range(sequences.groups.first_made[g], sequences.groups.first_taken[g + 1]):
            if made == sequences.made_at.shape[0]:
                return IMPOSSIBLE
            tensor = sequences.groups.facts[i] >> 1
            sequences.mark[tensor] = sequences.stamp
            sequences.made_by[tensor] = cython.cast(cython.int, made)
            sequences.made_at[made] = cython.cast(cython.int, place)
            sequences.made_first[made] = EMPTY
            sequences.made_last[made] = EMPTY
            sequences.made_uses[made] = 0
            sequences.made_fact[made] = sequences.groups.facts[i]
            made += 1
    for i in range(sequences.later.shape[0]):
        if sequences.mark[sequences.later[i]] != sequences.stamp:
            return IMPOSSIBLE
        sequences.made_last[sequences.made_by[sequences.later[i]]] = cython.cast(cython.int, length + 2)
    first: cython.longlong = 0
    stop: cython.longlong = 0
    status: cython.int
    for place in range(1, length + 1):
        first = stop
        while stop < made and sequences.made_at[stop] == place:
            stop += 1
        if not has_room(sequences):
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
            is_kept = is_kept or sequences.kept.items[n] % sequences.groups.graph.tensors == sequences.kept.items[i]
        if not is_kept:
            sequences.buffer[count] = sequences.kept.items[i]
            count += 1
    return intern(sequences.kept, sequences.buffer, 0, count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has(sequences: Sequences, number: cython.longlong, item: cython.longlong) -> cython.bint:
    for n in range(sequences.kept.begin[number], sequences.kept.begin[number + 1]):
        if sequences.kept.items[n] == item:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _goes_on(sequences: Sequences, at: cython.longlong, found: cython.longlong, kept: cython.longlong) -> cython.bint:
    """True if what is kept is found, taken or made at ``at``, and all found is kept on that is taken again; none twice.

    What is kept on, never stored, has to be found or made.
    """
    tensors: cython.longlong = sequences.groups.graph.tensors
    free: cython.longlong = sequences.row_key[sequences.row[at]] & LOW
    g: cython.longlong = sequences.group[at]
    first: cython.longlong
    is_there: cython.bint
    for n in range(sequences.kept.begin[kept], sequences.kept.begin[kept + 1]):
        item = sequences.kept.items[n]
        is_there = _has(sequences, found, item)
        first = sequences.groups.first_taken[g] if item < tensors else sequences.groups.first_made[g]
        for i in range(first, sequences.groups.first_taken[g + 1]):
            is_there = is_there or sequences.groups.facts[i] >> 1 == item % tensors
        if not is_there or (item >= tensors and _has(sequences, kept, item - tensors)):
            return False
    for n in range(sequences.kept.begin[found], sequences.kept.begin[found + 1]):
        item = sequences.kept.items[n]
        if item >= tensors and _has(sequences, free, item) and not _has(sequences, kept, item):
            return False
    return True


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
    if not has_room(sequences):
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
            if sequences.retains_inputs and not _goes_on(sequences, at, sequences.state[before * STATES + s], kept):
                continue
            entry = price_of(sequences, g, sequences.state[before * STATES + s], kept, shared)
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
