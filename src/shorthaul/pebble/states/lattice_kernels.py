"""Computed sets of a small graph and the steps between them: what :mod:`potential_kernels` works on."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.core.compiled.bits import bit, complement, wrapped_product
from cython.cimports.shorthaul.pebble.states.pattern_database_kernels import SetTable, slot_of
from cython.dataclasses import dataclass


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Problem:
    """A graph: weights of its values, of which the first, up to 64, are computed, and the others inputs.

    ``before`` are the sets of values computed before each, ``touchers`` those whose computing touches a value: its own
    and those that read it. Row v of ``touched`` marks the values that computing v touches, and ``room`` is, for each
    that is computed, the budget less what they weigh.
    """

    weights: cython.const_longlong[::1]
    before: cython.const_ulonglong[::1]
    touchers: cython.const_ulonglong[::1]
    touched: cython.const_uchar[:, ::1]
    room: cython.const_longlong[::1]


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Lattice:
    """Computed sets, small ones first, and the steps between them.

    The steps from set d are numbers ``step_first[d]`` to ``step_first[d + 1]``: they compute ``nodes`` and lead to the
    sets ``targets``. Entries ``live_first[d]`` to ``live_first[d + 1]`` of ``live`` are the values that were touched
    and will be again, ascending; entries of one of the ``classes`` have one price. The first set is the start, the last
    is everything.
    """

    sets: cython.const_ulonglong[::1]
    step_first: cython.const_longlong[::1]
    nodes: cython.const_uchar[::1]
    targets: cython.const_int[::1]
    live_first: cython.const_longlong[::1]
    live: cython.const_uchar[::1]
    classes: cython.const_int[::1]


def enumerate_steps(
    problem: Problem,
    table: SetTable,
    sets: cython.ulonglong[::1],
    step_first: cython.longlong[::1],
    nodes: cython.uchar[::1],
    targets: cython.int[::1],
) -> int:
    """Write all computed sets into ``sets``, and the steps between them; return how many, -1 if too many.

    ``table`` becomes their hash table.
    """
    with cython.nogil:
        count = _enumerate(problem, table, sets, step_first, nodes, targets)
    return int(count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enumerate(
    problem: Problem,
    table: SetTable,
    sets: cython.ulonglong[::1],
    step_first: cython.longlong[::1],
    nodes: cython.uchar[::1],
    targets: cython.int[::1],
) -> cython.longlong:
    slots: cython.longlong = table.keys.shape[0]
    done: cython.ulonglong = 0
    slot: cython.longlong = slot_of(table, 0, slots, done)
    count: cython.longlong = 1
    steps: cython.longlong = 0
    at: cython.longlong = 0
    sets[0] = 0
    table.keys[slot] = done
    table.ranks[slot] = 0
    while at < count:
        done = sets[at]
        step_first[at] = steps
        for v in range(problem.room.shape[0]):
            if done & bit(v) or problem.before[v] & complement(done):
                continue
            slot = slot_of(table, 0, slots, done | bit(v))
            if table.ranks[slot] < 0:
                if count == sets.shape[0]:
                    return -1
                table.keys[slot] = done | bit(v)
                table.ranks[slot] = count
                sets[count] = done | bit(v)
                count += 1
            if steps == nodes.shape[0]:
                return -1
            nodes[steps] = cython.cast(cython.uchar, v)
            targets[steps] = cython.cast(cython.int, table.ranks[slot])
            steps += 1
        at += 1
    step_first[count] = steps
    return count


def find_live(
    problem: Problem,
    sets: cython.const_ulonglong[::1],
    live_first: cython.longlong[::1],
    live: cython.uchar[::1],
) -> None:
    """Write where the entries of each set begin, and which values they are, as far as there is room in ``live``."""
    entries: cython.longlong = 0
    with cython.nogil:
        for d in range(sets.shape[0]):
            live_first[d] = entries
            for u in range(problem.weights.shape[0]):
                if problem.touchers[u] & sets[d] and problem.touchers[u] & complement(sets[d]):
                    if entries < live.shape[0]:
                        live[entries] = cython.cast(cython.uchar, u)
                    entries += 1
        live_first[sets.shape[0]] = entries


def classify(
    lattice: Lattice,
    near: cython.const_ulonglong[::1],
    keys: cython.ulonglong[::1],
    owners: cython.longlong[::1],
    ranks: cython.longlong[::1],
    classes: cython.int[::1],
) -> int:
    """Write the class of every entry: its value, and what of the value's ``near`` is computed; return how many.

    ``keys``, ``owners`` and ``ranks``, -1 each at first, become a hash table of classes; -1 if there are too many.
    """
    with cython.nogil:
        count = _classify(lattice, near, keys, owners, ranks, classes)
    return int(count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _classify(
    lattice: Lattice,
    near: cython.const_ulonglong[::1],
    keys: cython.ulonglong[::1],
    owners: cython.longlong[::1],
    ranks: cython.longlong[::1],
    classes: cython.int[::1],
) -> cython.longlong:
    slots: cython.longlong = keys.shape[0]
    count: cython.longlong = 0
    slot: cython.longlong
    mixed: cython.ulonglong
    for d in range(lattice.sets.shape[0]):
        for entry in range(lattice.live_first[d], lattice.live_first[d + 1]):
            u = lattice.live[entry]
            key = lattice.sets[d] & near[u]
            mixed = wrapped_product(key ^ (key >> 32), 0x9E37_79B9_7F4A_7C15)
            mixed = wrapped_product(mixed ^ (mixed >> 29) ^ u, 0xBF58_476D_1CE4_E5B9)
            slot = (mixed ^ (mixed >> 32)) & (slots - 1)
            while ranks[slot] >= 0 and (keys[slot] != key or owners[slot] != u):
                slot = (slot + 1) & (slots - 1)
            if ranks[slot] < 0:
                if 2 * count >= slots:
                    return -1
                keys[slot] = key
                owners[slot] = u
                ranks[slot] = count
                count += 1
            classes[entry] = cython.cast(cython.int, ranks[slot])
    return count
