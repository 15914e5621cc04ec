"""Expansion of search states: which values are computed, in fast memory, and there alone.

A state is three bit sets over the nodes (rows of 64-bit words): ``done`` (computed), ``red`` (in fast memory and still
read by something) and ``unsaved`` (red and not in slow memory). A value that is live but not red is in slow memory.
Costs are the excess over the weight of inputs and outputs, charged when a live value leaves the fast memory: its load
to come, and its store if it is unsaved. Loads are then free, and an input never loaded is as one that left.
"""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.core.compiled.bits import add, bit, complement, has, lowest, members, remove, within
from cython.cimports.shorthaul.pebble.states.automorphism_kernels import first_of_orbits, make_small
from cython.cimports.shorthaul.pebble.states.dominance_kernels import States, insert
from cython.cimports.shorthaul.pebble.states.expansion_kernels import Expansion
from cython.cimports.shorthaul.pebble.states.layer_constants import COST, NODE, OCCUPANCY, ORIGIN, WHOLE
from cython.cimports.shorthaul.pebble.states.pattern_database_kernels import let_go, locate, relocate
from cython.cimports.shorthaul.pebble.states.potential_kernels import held_by, rank_of

#: Units of work (see :func:`expand`) after which an expansion returns to look at the clock.
_MOST_WORK = cython.declare(cython.longlong, 2_000_000)

#: How the search for sets of values to let go ends: there are no more, there is no room, it takes long.
_DONE = cython.declare(cython.longlong, 0)
_FULL = cython.declare(cython.longlong, 1)
_PAUSED = cython.declare(cython.longlong, 2)
#: What computing a node in a state counts as.
_NODE_WORK = cython.declare(cython.longlong, 4)

#: A limit further away than this is none, so that shares of it stay exact.
_MOST_SLACK = cython.declare(cython.longlong, 1 << 38)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_fresh(e: Expansion, value: cython.longlong) -> cython.bint:
    """True if nothing computed so far touches a value: it comes without a charge."""
    words: cython.longlong = e.graph.words
    first: cython.longlong = e.position * 3 * words
    k: cython.Py_ssize_t
    for k in range(words):
        if e.graph.touchers[value * words + k] & e.sets[first + k]:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_safe(e: Expansion, node: cython.longlong) -> cython.bint:
    """True if some optimal continuation computes ``node`` next: it fits as things are and nothing is gained by waiting.

    The red values D that die must outweigh what comes and stays, even when that would have been spilled instead: for
    any part of D that leaves less room to it than it takes, the charge has to cover spilling all of it. What comes has
    been charged for its load, or is fresh, and then its store has not been charged.
    """
    words: cython.longlong = e.graph.words
    first: cython.longlong = e.position * 3 * words
    occupancy: cython.longlong = e.numbers[e.position, OCCUPANCY]
    freed: cython.longlong = 0
    charge: cython.longlong = 0
    dying: cython.longlong = 0
    weight: cython.longlong = 0
    dearest: cython.longlong = 0  # what spilling those that come is charged
    is_needed: cython.bint
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for k in range(words):
        word = e.graph.touched[node * words + k]
        while word:
            p = 64 * k + lowest(word)
            word &= word - 1
            is_needed = False
            for j in range(words):
                rest = e.graph.touchers[p * words + j] & complement(e.sets[first + j])
                if j == node >> 6:
                    rest &= complement(bit(node & 63))
                is_needed = is_needed or rest != 0
            if has(e.sets, first + words, p):
                if not is_needed:
                    dying += 1
                    freed += e.graph.weights[p]
                    charge += e.graph.weights[p] * (2 if has(e.sets, first + 2 * words, p) else 1)
                continue
            occupancy += e.graph.weights[p]
            if occupancy > e.budget:
                return False
            if is_needed:
                weight += e.graph.weights[p]
                dearest += e.graph.weights[p] * (2 if has(e.graph.computed, 0, p) and _is_fresh(e, p) else 1)
    if weight == 0:
        return True
    if dying == 0 or freed < weight:
        return False
    if dying == 1:
        return charge >= dearest
    # If a part Q of the dying values is spilled and the rest weighs less than those that come, then w(Q) is at least
    # this, and Q is charged that once, or twice if all of it is unsaved.
    least = freed - weight + 1
    return least >= dearest or (2 * least >= dearest and charge == 2 * freed)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _open(e: Expansion) -> cython.void:
    """Begin with the state whose turn it is: find the nodes to compute next."""
    words: cython.longlong = e.graph.words
    first: cython.longlong = e.position * 3 * words
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    e.is_open = True
    e.start = e.states.filled
    e.turn = 0
    e.cost = e.numbers[e.position, COST]
    if e.lookup.rank.shape[0] > 0:
        locate(e.lookup, e.sets, first)
    if e.only >= 0:
        e.ready[0] = e.only
        e.ready_count = 1
        return
    e.ready_count = 0
    for k in range(words):
        word = e.graph.computed[k] & complement(e.sets[first + k])
        while word:
            v = 64 * k + lowest(word)
            word &= word - 1
            rest = 0
            for j in range(words):
                rest |= e.graph.before[v * words + j] & complement(e.sets[first + j])
            if rest == 0:
                e.ready[e.ready_count] = v
                e.ready_count += 1
    for k in range(e.ready_count):
        if _is_safe(e, e.ready[k]):
            e.ready[0] = e.ready[k]
            e.ready_count = 1
            return
    if e.group.rows.shape[0] > 0:
        e.ready_count = first_of_orbits(e.group, e.sets, first, e.ready, e.ready_count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compute(e: Expansion, v: cython.longlong) -> cython.void:
    """Make the state after computing v, before anything but what is not read any more leaves."""
    words: cython.longlong = e.graph.words
    first: cython.longlong = e.position * 3 * words
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    for k in range(words):
        e.base[k] = e.sets[first + k]
        e.base[words + k] = e.sets[first + words + k] | e.graph.touched[v * words + k]
        e.base[2 * words + k] = e.sets[first + 2 * words + k]
    add(e.base, 0, v)
    e.total = e.numbers[e.position, OCCUPANCY]
    e.released = 0
    e.touched_count = members(e.graph.touched, v * words, words, e.touched)
    for i in range(e.touched_count):
        p = e.touched[i]
        if not has(e.sets, first + words, p):
            e.total += e.graph.weights[p]
        if within(e.graph.touchers, p * words, e.base, 0, words):
            remove(e.base, words, p)
            remove(e.base, 2 * words, p)
            e.released += e.graph.weights[p]
        elif has(e.graph.computed, 0, p) and _is_fresh(e, p):
            add(e.base, 2 * words, p)
    e.excess = e.total - e.budget
    e.steps = 0
    e.index = 0
    e.depth = 0
    e.weight = 0
    e.charge = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_lead_on(e: Expansion) -> cython.bint:
    """False if tables or potential say that no plan below the limit goes on from there."""
    e.largest = 0
    e.held = 0
    e.slack = min(e.limit - 1 - e.cost, _MOST_SLACK)
    if e.lookup.rank.shape[0] > 0:
        e.largest = relocate(e.lookup, e.base, e.touched, e.touched_count)
    if e.largest > e.slack * e.lookup.patterns.whole:
        return False
    if e.potential.table.ranks.shape[0] > 0:
        rank = rank_of(e.potential, e.base, e.graph.words)
        if rank < 0:
            return False
        e.held = held_by(e.potential, e.base, e.graph.words, rank, e.own)
        if e.held > e.slack * e.potential.whole:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_candidates(e: Expansion, v: cython.longlong) -> cython.bint:
    """List the values that may be let go, those first that make a plan least dearer; False if they are too few."""
    words: cython.longlong = e.graph.words
    red: cython.longlong = (3 * e.position + 1) * words
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    e.size = 0
    if e.excess <= 0:
        return True
    for k in range(words):
        word = e.sets[red + k] & complement(e.graph.touched[v * words + k])
        while word:
            a = 64 * k + lowest(word)
            word &= word - 1
            rise = e.graph.weights[a] * (2 if has(e.sets, red + words, a) else 1) * e.potential.whole - e.own[a]
            j = e.size
            while j > 0 and e.rises[j - 1] > rise:
                e.rises[j] = e.rises[j - 1]
                e.candidates[j] = e.candidates[j - 1]
                j -= 1
            e.rises[j] = rise
            e.candidates[j] = a
            e.size += 1
    e.suffix[e.size] = 0
    for i in range(e.size - 1, -1, -1):
        a = e.candidates[i]
        e.sizes[i] = e.graph.weights[a]
        e.digits[i] = 2 if has(e.sets, red + words, a) else 1
        e.suffix[i] = e.suffix[i + 1] + e.sizes[i]
        e.is_covered[i] = False
        e.has_leaders[i] = False
    for k in range(words):
        e.taken[k] = 0
    return e.suffix[0] >= e.excess


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cover(e: Expansion, number: cython.longlong) -> cython.void:
    """Find what is still to be computed that touches a candidate, with all that comes later."""
    words: cython.longlong = e.graph.words
    a: cython.longlong = e.candidates[number]
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    if e.is_covered[number]:
        return
    e.is_covered[number] = True
    for k in range(words):
        e.covered[number * words + k] = 0
    for k in range(words):
        word = e.graph.touchers[a * words + k] & complement(e.base[k])
        while word:
            v = 64 * k + lowest(word)
            word &= word - 1
            for j in range(words):
                e.covered[number * words + j] |= e.graph.later[v * words + j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_wait(e: Expansion, one: cython.longlong, other: cython.longlong) -> cython.bint:
    """True if in some optimal continuation candidate ``one`` leaves if ``other`` does: as heavy, no dearer, read later.

    Belady's exchange: until the other is read, keep it where the continuation keeps the one. Where both are unsaved,
    the other would go on unsaved in its place: so it must have one reader left, or the same ones.
    """
    words: cython.longlong = e.graph.words
    a: cython.longlong = e.candidates[one] * words
    b: cython.longlong = e.candidates[other] * words
    same: cython.bint = True
    readers: cython.longlong = 0
    k: cython.Py_ssize_t
    if e.sizes[one] != e.sizes[other] or e.digits[one] > e.digits[other]:
        return False
    _cover(e, other)
    for k in range(words):
        rest_a = e.graph.touchers[a + k] & complement(e.base[k])
        rest_b = e.graph.touchers[b + k] & complement(e.base[k])
        if rest_a & complement(e.covered[other * words + k]):
            return False
        same = same and rest_a == rest_b
        if rest_b:
            readers += 1 if rest_b & (rest_b - 1) == 0 else 2
    return e.digits[one] == 1 or same or readers <= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_leaders(e: Expansion, b: cython.longlong) -> cython.void:
    """Find the candidates that leave before candidate ``b`` in some optimal continuation; equals leave by index."""
    words: cython.longlong = e.graph.words
    if e.has_leaders[b]:
        return
    e.has_leaders[b] = True
    for a in range(words):
        e.leaders[b * words + a] = 0
    for a in range(e.size):
        if a != b and _may_wait(e, a, b) and (e.candidates[a] < e.candidates[b] or not _may_wait(e, b, a)):
            add(e.leaders, b * words, a)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_minimal(e: Expansion, depth: cython.longlong, weight: cython.longlong) -> cython.bint:
    words: cython.longlong = e.graph.words
    d: cython.Py_ssize_t
    for d in range(depth):
        if weight - e.sizes[e.chosen[d]] >= e.excess:
            return False
    for d in range(depth):
        b = e.chosen[d]
        _find_leaders(e, b)
        if not within(e.leaders, b * words, e.taken, 0, words):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(
    e: Expansion,
    depth: cython.longlong,
    weight: cython.longlong,
    charge: cython.longlong,
    largest: cython.longlong,
    held: cython.longlong,
) -> cython.void:
    """Add the state after the chosen values have left."""
    words: cython.longlong = e.graph.words
    row: cython.longlong = e.states.filled
    first: cython.longlong = 3 * words * row
    k: cython.Py_ssize_t
    d: cython.Py_ssize_t
    for k in range(3 * words):
        e.states.sets[first + k] = e.base[k]
    for d in range(depth):
        a = e.candidates[e.chosen[d]]
        remove(e.states.sets, first + words, a)
        remove(e.states.sets, first + 2 * words, a)
    largest = (largest + e.lookup.patterns.whole - 1) // e.lookup.patterns.whole
    e.states.numbers[row, COST] = e.cost + charge
    e.states.numbers[row, OCCUPANCY] = e.total - e.released - weight
    e.states.numbers[row, ORIGIN] = e.position
    e.states.numbers[row, NODE] = e.ready[e.turn]
    e.states.numbers[row, WHOLE] = e.cost + charge + largest
    if held > (charge + largest) * e.potential.whole:
        e.states.numbers[row, WHOLE] = e.cost + (held + e.potential.whole - 1) // e.potential.whole
    if e.group.rows.shape[0] > 0:
        make_small(e.group, e.states.sets, first)
        e.work += e.group.rows.shape[0]
    insert(e.states)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _release(e: Expansion) -> cython.longlong:
    """Add a state for every inclusion-minimal set of candidates that makes room, depth first."""
    room: cython.longlong = e.states.numbers.shape[0]
    largest: cython.longlong = e.largest
    held: cython.longlong = e.held
    most_held: cython.longlong = e.slack * e.potential.whole
    with_tables: cython.bint = e.lookup.rank.shape[0] > 0
    depth: cython.longlong = e.depth
    index: cython.longlong = e.index
    weight: cython.longlong = e.weight
    charge: cython.longlong = e.charge
    steps: cython.longlong = e.steps
    pause: cython.longlong = steps + _MOST_WORK
    while True:
        if steps == pause:
            e.work += steps - e.steps
            e.steps = steps
            e.index = index
            e.depth = depth
            e.weight = weight
            e.charge = charge
            e.largest = largest
            e.held = held
            return _PAUSED
        steps += 1
        if steps > e.most_steps:
            e.is_cut = True
            break
        if weight >= e.excess:
            if e.cost + charge < e.limit and _is_minimal(e, depth, weight):
                if e.states.filled == room:
                    e.work += steps - e.steps
                    return _FULL
                _enter(e, depth, weight, charge, largest, held)
            index = e.size
        elif (
            index < e.size and weight + e.suffix[index] >= e.excess and held + e.rises[index] <= most_held
        ):  # fmt: skip
            e.chosen[depth] = index
            depth += 1
            add(e.taken, 0, index)
            weight += e.sizes[index]
            charge += e.digits[index] * e.sizes[index]
            held += e.rises[index]
            if with_tables:
                largest = let_go(e.lookup, e.candidates[index], e.digits[index])
            if largest <= (e.slack - charge) * e.lookup.patterns.whole:
                index += 1
                continue
        if depth == 0:
            break
        depth -= 1
        index = e.chosen[depth]
        remove(e.taken, 0, index)
        weight -= e.sizes[index]
        charge -= e.digits[index] * e.sizes[index]
        held -= e.rises[index]
        if with_tables:
            largest = let_go(e.lookup, e.candidates[index], -e.digits[index])
        index += 1
    e.work += steps - e.steps
    return _DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _expand(e: Expansion, stop: cython.longlong) -> cython.bint:
    while e.position < stop and e.work <= _MOST_WORK:
        if not e.is_open:
            _open(e)
        while e.turn < e.ready_count and e.work <= _MOST_WORK:
            outcome = _DONE
            v = e.ready[e.turn]
            if not e.is_paused:
                _compute(e, v)
                e.work += _NODE_WORK
            if e.is_paused or (_may_lead_on(e) and _list_candidates(e, v)):
                outcome = _release(e)
            e.is_paused = outcome == _PAUSED
            if outcome == _FULL:
                e.is_open = False
                e.states.filled = e.start
                return False
            if outcome == _DONE:
                e.turn += 1
        if e.turn == e.ready_count:
            e.is_open = False
            e.position += 1
    return True


def expand(e: Expansion, states: States, stop: cython.longlong, limit: cython.longlong) -> tuple[int, bool]:
    """Add successors to ``states``, of those before ``stop`` whose cost plus heuristic is below ``limit``.

    Returns the work done, in sets of values looked at, and False if it stopped for want of room: then the successors
    of the state whose turn it is are taken out again.
    """
    is_done: cython.bint
    e.states = states
    e.limit = limit
    e.work = 0
    with cython.nogil:
        is_done = _expand(e, stop)
    return int(e.work), bool(is_done)
