"""Computed sets of a small graph and the steps between them: what :mod:`potential_kernels` works on."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.core.compiled.bits import bit, complement, ones
from cython.cimports.shorthaul.pebble.states.pattern_database_kernels import SetTable, slot_of


@cython.final
@cython.cclass
class Problem:
    """A graph of up to 64 nodes: weights, sets of parents and children, inputs, and the room beside each computation.

    ``room`` is the budget less the weights of a node and its operands. Entries ``touched_first[v]`` to
    ``touched_first[v + 1]`` of ``touched`` are v and its operands, ascending. The other arrays have shape (n,).
    """

    weights: cython.const_longlong[::1]
    parents: cython.const_ulonglong[::1]
    children: cython.const_ulonglong[::1]
    given: cython.const_uchar[::1]
    room: cython.const_longlong[::1]
    touched_first: cython.const_longlong[::1]
    touched: cython.const_longlong[::1]

    def __init__(
        self,
        weights: cython.const_longlong[::1],
        parents: cython.const_ulonglong[::1],
        children: cython.const_ulonglong[::1],
        given: cython.const_uchar[::1],
        room: cython.const_longlong[::1],
        touched_first: cython.const_longlong[::1],
        touched: cython.const_longlong[::1],
    ) -> None:
        self.weights = weights
        self.parents = parents
        self.children = children
        self.given = given
        self.room = room
        self.touched_first = touched_first
        self.touched = touched


@cython.final
@cython.cclass
class Lattice:
    """Computed sets, small ones first, and the steps between them.

    The steps from set d are numbers ``step_first[d]`` to ``step_first[d + 1]``: they compute ``nodes`` and lead to the
    sets ``targets``. Entries ``live_first[d]`` to ``live_first[d + 1]`` of ``live`` are the values that are read after
    d, ascending; ``masks`` are the same as sets. The first set is the start, the last is everything.
    """

    sets: cython.const_ulonglong[::1]
    step_first: cython.const_longlong[::1]
    nodes: cython.const_longlong[::1]
    targets: cython.const_longlong[::1]
    live_first: cython.const_longlong[::1]
    live: cython.const_longlong[::1]
    masks: cython.const_ulonglong[::1]
    count: cython.longlong

    def __init__(
        self,
        sets: cython.const_ulonglong[::1],
        step_first: cython.const_longlong[::1],
        nodes: cython.const_longlong[::1],
        targets: cython.const_longlong[::1],
        live_first: cython.const_longlong[::1],
        live: cython.const_longlong[::1],
        masks: cython.const_ulonglong[::1],
    ) -> None:
        self.sets = sets
        self.step_first = step_first
        self.nodes = nodes
        self.targets = targets
        self.live_first = live_first
        self.live = live
        self.masks = masks
        self.count = sets.shape[0]


def enumerate_steps(
    problem: Problem,
    table: SetTable,
    sets: cython.ulonglong[::1],
    step_first: cython.longlong[::1],
    nodes: cython.longlong[::1],
    targets: cython.longlong[::1],
) -> int:
    """Write all computed sets from ``sets[0]`` on, and the steps between them; return how many, -1 if too many.

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
    nodes: cython.longlong[::1],
    targets: cython.longlong[::1],
) -> cython.longlong:
    slots: cython.longlong = table.keys.shape[0]
    done: cython.ulonglong = sets[0]
    slot: cython.longlong = slot_of(table, 0, slots, done)
    count: cython.longlong = 1
    steps: cython.longlong = 0
    at: cython.longlong = 0
    table.keys[slot] = done
    table.ranks[slot] = 0
    while at < count:
        done = sets[at]
        step_first[at] = steps
        for v in range(problem.parents.shape[0]):
            if done & bit(v) or problem.parents[v] & complement(done):
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
            nodes[steps] = v
            targets[steps] = table.ranks[slot]
            steps += 1
        at += 1
    step_first[count] = steps
    return count


def find_live(
    problem: Problem,
    sets: cython.const_ulonglong[::1],
    masks: cython.ulonglong[::1],
    live_first: cython.longlong[::1],
) -> None:
    """Write the values that are read after each set, and where their entries begin."""
    entries: cython.longlong = 0
    with cython.nogil:
        for d in range(sets.shape[0]):
            live_first[d] = entries
            masks[d] = _live_after(problem, sets[d])
            entries += ones(masks[d])
        live_first[sets.shape[0]] = entries


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _live_after(problem: Problem, done: cython.ulonglong) -> cython.ulonglong:
    live: cython.ulonglong = 0
    for u in range(problem.weights.shape[0]):
        if done & bit(u) and problem.children[u] & complement(done):
            live |= bit(u)
    return live
