"""Expansion of search states: which values are computed, in fast memory, and there alone.

A state is three bit sets over the nodes (rows of 64-bit words): ``done`` (computed), ``red`` (in fast memory and still
read by something) and ``unsaved`` (red and not in slow memory). A value that is live but not red is in slow memory.
Costs are the excess over the weight of inputs and outputs, charged when a live value leaves the fast memory: its load
to come, and its store if it is unsaved. Loads are then free, and an input never loaded is as one that left.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel
from shorthaul.pebble.states.automorphism_kernels import Group, first_of_orbits, make_small
from shorthaul.pebble.states.bitset_kernels import flip, has, inside, members
from shorthaul.pebble.states.dominance_kernels import COST, NODE, OCCUPANCY, ORIGIN, WHOLE, insert
from shorthaul.pebble.states.pattern_database_kernels import Patterns, add_up, excess_of, let_go, locate_all, relocate
from shorthaul.pebble.states.potential_kernels import Potential, potential_of, rank_of

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

#: Sets of values looked at after which an expansion returns to look at the clock.
_MOST_WORK = 2_000_000

#: A limit further away than this is none, so that shares of it stay exact.
_MOST_SLACK = 2**38

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@kernel
def _is_safe(
    state: WordArray,
    node: int,
    occupancy: int,
    budget: int,
    weights: IntArray,
    parents: WordArray,
    children: WordArray,
    scratch: IntArray,
) -> bool:
    """True if some optimal continuation computes ``node`` next: it fits as things are and nothing is gained by waiting.

    The operands that die with it must be those that are not red, and the red ones D that die must outweigh the
    result even when they would have been spilled instead: for any part of D that leaves less room to the result than
    it takes, the charge has to cover spilling the result.
    """
    words = parents.shape[1]
    count = members(parents[node], scratch)
    extra = np.int64(0)
    freed = np.int64(0)
    charge = np.int64(0)
    dying = 0
    for i in range(count):
        p = scratch[i]
        left = False
        for k in range(words):
            rest = children[p, k] & ~state[k]
            if k == node >> 6:
                rest &= ~(_ONE << np.uint64(node & 63))
            if rest != _ZERO:
                left = True
                break
        red = has(state[words : 2 * words], p)
        if not red:
            if left:
                return False
            extra += weights[p]
        elif not left:
            dying += 1
            freed += weights[p]
            charge += weights[p] * (2 if has(state[2 * words : 3 * words], p) else 1)
    if occupancy + extra + weights[node] > budget:
        return False
    empty = True
    for k in range(words):
        if children[node, k] != _ZERO:
            empty = False
    if empty:
        return True
    if dying == 0 or freed < weights[node]:
        return False
    if dying == 1:
        return bool(charge >= 2 * weights[node])
    # If a part Q of the dying operands is spilled and the rest weighs less than the result, then w(Q) is at least
    # this, and Q is charged that once, or twice if all of it is unsaved.
    least = freed - weights[node] + 1
    return bool(least >= 2 * weights[node] or (least >= weights[node] and charge == 2 * freed))


@kernel
def expand(
    source_sets: WordArray,
    source_numbers: IntArray,
    position: int,
    limit: int,
    budget: int,
    weights: IntArray,
    parents: WordArray,
    children: WordArray,
    later: WordArray,
    computed: WordArray,
    sets: WordArray,
    numbers: IntArray,
    table: IntArray,
    filled: int,
    only: int,
    effort: int,
    patterns: Patterns,
    potential: Potential,
    group: Group,
) -> tuple[int, int, int, bool]:
    """Add the successors of the states from ``position`` on whose cost, with what is to come, is below ``limit``.

    What is to come at least ``patterns`` and ``potential`` tell; both may be empty.

    ``sets`` has a row (done, red, unsaved) per state, ``numbers`` its cost, occupancy, origin, last node and least
    cost of a plan. ``table`` is the hash table of the rows in ``sets``. ``only`` is the node to compute, -1 for any.
    Row v of ``later`` is the set of v and its descendants. States are turned into a small form by the automorphisms of
    ``group``. At most ``effort`` sets of values to let go are looked at per state and node. Returns where it stopped,
    how many rows are filled, how often the effort did not suffice, and whether it stopped for want of room (otherwise
    at the end, or after much work).
    """
    words = parents.shape[1]
    n = len(weights)
    scratch = np.empty(n, dtype=np.int64)
    candidates = np.empty(n, dtype=np.int64)
    charges = np.empty(n, dtype=np.int64)
    own = np.zeros(n, dtype=np.int64)  # prices of holding values, and by how much letting one go exceeds its price
    rises = np.empty(n, dtype=np.int64)
    suffix = np.empty(n + 1, dtype=np.int64)
    before = np.empty((n, n), dtype=np.bool_)
    covered = np.empty((n, words), dtype=np.uint64)
    chosen = np.zeros(n + 1, dtype=np.int64)
    taken = np.zeros(n, dtype=np.bool_)
    ready = np.empty(n, dtype=np.int64)
    rest_a = np.empty(words, dtype=np.uint64)
    base = np.empty(3 * words, dtype=np.uint64)
    parts = len(patterns.first) - 1
    source_rank, source_index = np.empty(parts, dtype=np.int64), np.empty(parts, dtype=np.int64)
    rank, index_of = np.empty(parts, dtype=np.int64), np.empty(parts, dtype=np.int64)
    sums = np.zeros(len(patterns.shares), dtype=np.int64)
    image, trail = np.empty(3 * words, dtype=np.uint64), np.empty(0, dtype=np.int64)
    room = len(sets)
    cut = 0
    work = 0
    while position < len(source_sets):
        state = source_sets[position]
        cost = source_numbers[position, COST]
        occupancy = source_numbers[position, OCCUPANCY]
        ready_count = 0
        safe = np.int64(-1)
        if only >= 0:
            ready[0] = only
            ready_count = 1
        else:
            for k in range(words):
                rest_a[k] = computed[k] & ~state[k]
            unfinished = members(rest_a, candidates)
            for i in range(unfinished):
                v = candidates[i]
                fits = True
                for k in range(words):
                    if parents[v, k] & computed[k] & ~state[k] != _ZERO:
                        fits = False
                        break
                if fits:
                    ready[ready_count] = v
                    ready_count += 1
            for i in range(ready_count):
                if _is_safe(state, ready[i], occupancy, budget, weights, parents, children, scratch):
                    safe = ready[i]
                    break
            if safe >= 0:
                ready[0] = safe
                ready_count = 1
            elif len(group.rows) > 0:
                ready_count = first_of_orbits(group, state, words, ready, ready_count, image)
        start = filled
        locate_all(patterns, state, words, source_rank, source_index)
        slack = min(limit - 1 - cost, _MOST_SLACK)
        most_held = slack * potential.whole
        for r in range(ready_count):
            v = ready[r]
            # The state after computing v, before anything leaves.
            for k in range(words):
                base[k] = state[k]
                base[words + k] = state[words + k] | parents[v, k]
                base[2 * words + k] = state[2 * words + k]
            flip(base[:words], v)
            total = occupancy + weights[v]
            released = np.int64(0)
            count = members(parents[v], scratch)
            for i in range(count):
                p = scratch[i]
                if not has(state[words : 2 * words], p):
                    total += weights[p]
                if inside(children[p], base[:words]):
                    flip(base[words : 2 * words], p)
                    if has(base[2 * words :], p):
                        flip(base[2 * words :], p)
                    released += weights[p]
            alive = False
            for k in range(words):
                if children[v, k] != _ZERO:
                    alive = True
            if alive:
                flip(base[words : 2 * words], v)
                flip(base[2 * words :], v)
            else:
                released += weights[v]
            rank[:] = source_rank
            index_of[:] = source_index
            relocate(patterns, base, words, v, scratch[:count], rank, index_of)
            add_up(patterns, index_of, sums)
            if excess_of(sums) > slack * patterns.whole:
                continue
            held = np.int64(0)
            if len(potential.ranks) > 0:
                reached = rank_of(potential, base[0])
                if reached < 0:
                    continue
                held = np.int64(potential_of(potential, base, words, reached, own))
                if held > most_held:
                    continue
            excess = total - budget
            size = 0
            if excess > 0:
                for k in range(words):
                    rest_a[k] = state[words + k] & ~parents[v, k]
                size = members(rest_a, candidates)
                for i in range(size):
                    a = candidates[i]
                    charges[i] = weights[a] * (2 if has(state[2 * words :], a) else 1)
                    rises[i] = charges[i] * potential.whole - own[a]
                for i in range(size):  # by what the cost of a plan rises, least first
                    j = i
                    while j > 0 and rises[j - 1] > rises[j]:
                        rises[j - 1], rises[j] = rises[j], rises[j - 1]
                        charges[j - 1], charges[j] = charges[j], charges[j - 1]
                        candidates[j - 1], candidates[j] = candidates[j], candidates[j - 1]
                        j -= 1
                suffix[size] = 0
                for i in range(size - 1, -1, -1):
                    suffix[i] = suffix[i + 1] + weights[candidates[i]]
                if suffix[0] < excess:
                    continue
                for i in range(size):
                    _cover(children[candidates[i]], base, later, covered[i], scratch)
                for i in range(size):
                    for j in range(size):
                        before[i, j] = i != j and _goes_first(
                            candidates[i], candidates[j], charges[i], charges[j], covered[i], covered[j], base,
                            weights, children,
                        )  # fmt: skip
            # Depth first over the inclusion-minimal sets of candidates that make room.
            depth = 0
            index = 0
            weight = 0
            charge = 0
            steps = 0
            while True:
                steps += 1
                if steps > effort:
                    cut += 1
                    for d in range(depth):
                        taken[chosen[d]] = False
                    break
                if weight >= excess:
                    if cost + charge < limit and _is_minimal(
                        depth, chosen, candidates, weights, weight, excess, taken, before, size
                    ):
                        if filled == room:
                            return position, start, cut, True
                        for k in range(3 * words):
                            sets[filled, k] = base[k]
                        for d in range(depth):
                            a = candidates[chosen[d]]
                            flip(sets[filled, words : 2 * words], a)
                            if has(sets[filled, 2 * words :], a):
                                flip(sets[filled, 2 * words :], a)
                        numbers[filled, COST] = cost + charge
                        numbers[filled, OCCUPANCY] = total - released - weight
                        numbers[filled, ORIGIN] = position
                        numbers[filled, NODE] = v
                        numbers[filled, WHOLE] = cost + max(
                            charge - (-excess_of(sums) // patterns.whole), -(-held // potential.whole)
                        )
                        make_small(group, sets[filled], words, image, trail)
                        if insert(sets, numbers, table, filled):
                            filled += 1
                    index = size
                elif index < size and weight + suffix[index] >= excess and held + rises[index] <= most_held:
                    a = candidates[index]
                    chosen[depth] = index
                    taken[index] = True
                    weight += weights[a]
                    charge += charges[index]
                    held += rises[index]
                    let_go(patterns, a, charges[index] // weights[a], rank, index_of, sums)
                    depth += 1
                    if excess_of(sums) <= (slack - charge) * patterns.whole:
                        index += 1
                        continue
                if depth == 0:
                    break
                depth -= 1
                index = chosen[depth]
                a = candidates[index]
                taken[index] = False
                weight -= weights[a]
                charge -= charges[index]
                held -= rises[index]
                let_go(patterns, a, -(charges[index] // weights[a]), rank, index_of, sums)
                index += 1
            work += steps
        position += 1
        if work > _MOST_WORK:
            break
    return position, filled, cut, False


@kernel
def _cover(readers: WordArray, done: WordArray, later: WordArray, covered: WordArray, scratch: IntArray) -> None:
    """Write the readers not done yet with all their descendants into ``covered``."""
    for k in range(len(readers)):
        covered[k] = readers[k] & ~done[k]
    for i in range(members(covered, scratch)):
        for k in range(len(readers)):
            covered[k] |= later[scratch[i], k]


@kernel
def _goes_first(
    a: int, b: int, charge_a: int, charge_b: int, covered_a: WordArray, covered_b: WordArray, base: WordArray,
    weights: IntArray, children: WordArray,
) -> bool:  # fmt: skip
    """True if ``a`` leaves before ``b`` in some optimal continuation: as heavy, no dearer, not read before b.

    Belady's exchange: until b is read, keep it where the continuation keeps a. Where both are unsaved, b would go on
    unsaved in place of a: so it must have one reader left, or the same ones as a. Equals leave by index.
    """
    if not _may_wait(a, b, charge_a, charge_b, covered_b, base, weights, children):
        return False
    return a < b or not _may_wait(b, a, charge_b, charge_a, covered_a, base, weights, children)


@kernel
def _may_wait(
    a: int, b: int, charge_a: int, charge_b: int, covered_b: WordArray, base: WordArray, weights: IntArray,
    children: WordArray,
) -> bool:  # fmt: skip
    if weights[a] != weights[b] or charge_a > charge_b:
        return False
    same = True
    single = True
    found = False
    for k in range(children.shape[1]):
        rest_a = children[a, k] & ~base[k]
        rest_b = children[b, k] & ~base[k]
        if rest_a & ~covered_b[k] != _ZERO:
            return False
        same = same and rest_a == rest_b
        if rest_b != _ZERO:
            single = single and not found and rest_b & (rest_b - _ONE) == _ZERO
            found = True
    return bool(charge_a == weights[a] or same or single)


@kernel
def _is_minimal(
    depth: int,
    chosen: IntArray,
    candidates: IntArray,
    weights: IntArray,
    weight: int,
    excess: int,
    taken: npt.NDArray[np.bool_],
    before: npt.NDArray[np.bool_],
    size: int,
) -> bool:
    for d in range(depth):
        b = chosen[d]
        if weight - weights[candidates[b]] >= excess:
            return False
        for a in range(size):
            if before[a, b] and not taken[a]:
                return False
    return True
