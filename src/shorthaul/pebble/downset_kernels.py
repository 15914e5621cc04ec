"""Expansion and dominance of search states: which values are computed, in fast memory, and there alone.

A state is three bit sets over the nodes (rows of 64-bit words): ``done`` (computed), ``red`` (in fast memory and still
read by something) and ``unsaved`` (red and not in slow memory). A value that is live but not red is in slow memory.
Costs are the excess over the weight of inputs and outputs, charged when a live value leaves the fast memory: its load
to come, and its store if it is unsaved. Loads are then free, and an input never loaded is as one that left.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

#: Columns of the integer part of a state.
COST, OCCUPANCY, ORIGIN, NODE = 0, 1, 2, 3

#: Sets of values looked at after which an expansion returns to look at the clock.
_MOST_WORK = 2_000_000

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)


def _positions() -> IntArray:
    table = np.zeros(64, dtype=np.int64)
    for bit in range(64):
        table[((int(_DE_BRUIJN) << bit) & (2**64 - 1)) >> 58] = bit
    return table


_POSITION = _positions()


@kernel
def _members(words: WordArray, found: IntArray) -> int:
    """Write the members of the set into ``found``, ascending; return how many."""
    count = 0
    for k in range(len(words)):
        word = words[k]
        while word != _ZERO:
            low = word & (~word + _ONE)
            found[count] = k * 64 + _POSITION[np.int64((low * _DE_BRUIJN) >> np.uint64(58))]
            count += 1
            word ^= low
    return count


@kernel
def _has(words: WordArray, node: int) -> bool:
    return bool((words[node >> 6] >> np.uint64(node & 63)) & _ONE != _ZERO)


@kernel
def _flip(words: WordArray, node: int) -> None:
    words[node >> 6] ^= _ONE << np.uint64(node & 63)


@kernel
def _inside(small: WordArray, large: WordArray) -> bool:
    for k in range(len(small)):
        if small[k] & ~large[k] != _ZERO:
            return False
    return True


@kernel
def _hash(state: WordArray, words: int) -> np.uint64:
    value = np.uint64(0x9E3779B97F4A7C15)
    for k in range(words):
        value = (value ^ state[k]) * np.uint64(0xFF51AFD7ED558CCD)
        value ^= value >> np.uint64(32)
    return value


@kernel
def insert(sets: WordArray, numbers: IntArray, table: IntArray, row: int) -> bool:
    """Enter the state at ``row`` into the hash ``table``; False if it is there already (then the cheaper one stays)."""
    width = sets.shape[1]
    mask = len(table) - 1
    slot = np.int64(_hash(sets[row], width) >> np.uint64(1)) & mask
    while table[slot] >= 0:
        other = table[slot]
        same = True
        for k in range(width):
            if sets[other, k] != sets[row, k]:
                same = False
                break
        if same:
            if numbers[row, COST] < numbers[other, COST]:
                numbers[other] = numbers[row]
            return False
        slot = (slot + 1) & mask
    table[slot] = row
    return True


@kernel
def insert_all(sets: WordArray, numbers: IntArray, table: IntArray, first: int, stop: int) -> None:
    """Enter states ``first`` to ``stop`` - 1 into the hash ``table``."""
    for row in range(first, stop):
        insert(sets, numbers, table, row)


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
    count = _members(parents[node], scratch)
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
        red = _has(state[words : 2 * words], p)
        if not red:
            if left:
                return False
            extra += weights[p]
        elif not left:
            dying += 1
            freed += weights[p]
            charge += weights[p] * (2 if _has(state[2 * words : 3 * words], p) else 1)
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
    computed: WordArray,
    sets: WordArray,
    numbers: IntArray,
    table: IntArray,
    filled: int,
    only: int,
    effort: int,
) -> tuple[int, int, int, bool]:
    """Add the successors of the states from ``position`` on whose cost is below ``limit``.

    ``sets`` has a row (done, red, unsaved) per state, ``numbers`` its cost, occupancy, origin and last node. ``table``
    is the hash table of the rows in ``sets``. ``only`` is the node to compute, -1 for any. At most ``effort`` sets
    of values to let go are looked at per state and node. Returns where it stopped, how many rows are filled, how often
    the effort did not suffice, and whether it stopped for want of room (otherwise at the end, or after much work).
    """
    words = parents.shape[1]
    n = len(weights)
    scratch = np.empty(n, dtype=np.int64)
    candidates = np.empty(n, dtype=np.int64)
    charges = np.empty(n, dtype=np.int64)
    suffix = np.empty(n + 1, dtype=np.int64)
    before = np.empty((n, n), dtype=np.bool_)
    chosen = np.zeros(n + 1, dtype=np.int64)
    taken = np.zeros(n, dtype=np.bool_)
    ready = np.empty(n, dtype=np.int64)
    rest_a = np.empty(words, dtype=np.uint64)
    base = np.empty(3 * words, dtype=np.uint64)
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
            unfinished = _members(rest_a, candidates)
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
        start = filled
        for r in range(ready_count):
            v = ready[r]
            # The state after computing v, before anything leaves.
            for k in range(words):
                base[k] = state[k]
                base[words + k] = state[words + k] | parents[v, k]
                base[2 * words + k] = state[2 * words + k]
            _flip(base[:words], v)
            total = occupancy + weights[v]
            released = np.int64(0)
            count = _members(parents[v], scratch)
            for i in range(count):
                p = scratch[i]
                if not _has(state[words : 2 * words], p):
                    total += weights[p]
                if _inside(children[p], base[:words]):
                    _flip(base[words : 2 * words], p)
                    if _has(base[2 * words :], p):
                        _flip(base[2 * words :], p)
                    released += weights[p]
            alive = False
            for k in range(words):
                if children[v, k] != _ZERO:
                    alive = True
            if alive:
                _flip(base[words : 2 * words], v)
                _flip(base[2 * words :], v)
            else:
                released += weights[v]
            excess = total - budget
            size = 0
            if excess > 0:
                for k in range(words):
                    rest_a[k] = state[words + k] & ~parents[v, k]
                size = _members(rest_a, candidates)
                for i in range(size):
                    a = candidates[i]
                    charges[i] = weights[a] * (2 if _has(state[2 * words :], a) else 1)
                for i in range(size):  # by charge, cheapest first
                    j = i
                    while j > 0 and charges[j - 1] > charges[j]:
                        charges[j - 1], charges[j] = charges[j], charges[j - 1]
                        candidates[j - 1], candidates[j] = candidates[j], candidates[j - 1]
                        j -= 1
                suffix[size] = 0
                for i in range(size - 1, -1, -1):
                    suffix[i] = suffix[i + 1] + weights[candidates[i]]
                if suffix[0] < excess:
                    continue
                for i in range(size):
                    for j in range(size):
                        before[i, j] = i != j and _goes_first(
                            candidates[i], candidates[j], charges[i], charges[j], base, weights, children
                        )
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
                            _flip(sets[filled, words : 2 * words], a)
                            if _has(sets[filled, 2 * words :], a):
                                _flip(sets[filled, 2 * words :], a)
                        numbers[filled, COST] = cost + charge
                        numbers[filled, OCCUPANCY] = total - released - weight
                        numbers[filled, ORIGIN] = position
                        numbers[filled, NODE] = v
                        if insert(sets, numbers, table, filled):
                            filled += 1
                    index = size
                elif index < size and weight + suffix[index] >= excess and cost + charge + charges[index] < limit:
                    chosen[depth] = index
                    taken[index] = True
                    weight += weights[candidates[index]]
                    charge += charges[index]
                    depth += 1
                    index += 1
                    continue
                if depth == 0:
                    break
                depth -= 1
                index = chosen[depth]
                taken[index] = False
                weight -= weights[candidates[index]]
                charge -= charges[index]
                index += 1
            work += steps
        position += 1
        if work > _MOST_WORK:
            break
    return position, filled, cut, False


@kernel
def _goes_first(
    a: int, b: int, charge_a: int, charge_b: int, base: WordArray, weights: IntArray, children: WordArray
) -> bool:
    """True if ``a`` leaves before ``b`` in some optimal continuation: as heavy, no dearer, all its readers b's too.

    Where both are unsaved they must have the same readers to come; equals leave by index.
    """
    if weights[a] != weights[b] or charge_a > charge_b:
        return False
    equal = True
    for k in range(children.shape[1]):
        rest_a = children[a, k] & ~base[k]
        rest_b = children[b, k] & ~base[k]
        if rest_a & ~rest_b != _ZERO:
            return False
        if rest_a != rest_b:
            equal = False
    if equal:
        return charge_a < charge_b or a < b
    return bool(charge_a == weights[a])


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


@kernel
def group_hashes(sets: WordArray, words: int, count: int) -> WordArray:
    """Return a hash of what is computed per state, shape (count,)."""
    hashes = np.empty(count, dtype=np.uint64)
    for i in range(count):
        hashes[i] = _hash(sets[i], words)
    return hashes


@kernel
def undominated(
    sets: WordArray, numbers: IntArray, order: IntArray, hashes: WordArray, weights: IntArray, words: int, most: int
) -> npt.NDArray[np.bool_]:
    """Return which states, in ``order`` (by hash, then cost), no cheaper state of the same computed set can become.

    A state becomes another by letting values go, at their charge, or storing them; loads are free. At most ``most``
    states of one computed set are kept to compare with.
    """
    keep = np.zeros(len(order), dtype=np.bool_)
    kept = np.empty(most, dtype=np.int64)
    scratch = np.empty(len(weights), dtype=np.int64)
    rest = np.empty(words, dtype=np.uint64)
    count = 0
    for i in range(len(order)):
        row = order[i]
        if i == 0 or hashes[order[i - 1]] != hashes[row]:
            count = 0
        dominated = False
        for j in range(count):
            other = kept[j]
            slack = numbers[row, COST] - numbers[other, COST]
            if not _inside(sets[other, :words], sets[row, :words]):
                continue  # two sets of one hash
            for k in range(words):  # unsaved there, saved here: stored or let go
                rest[k] = sets[other, 2 * words + k] & ~sets[row, 2 * words + k]
            for m in range(_members(rest, scratch)):
                slack -= weights[scratch[m]]
            if slack < 0:
                continue
            for k in range(words):  # red there, not here: let go
                rest[k] = sets[other, words + k] & ~sets[row, words + k]
            for m in range(_members(rest, scratch)):
                slack -= weights[scratch[m]]
            if slack >= 0:
                dominated = True
                break
        if not dominated:
            keep[i] = True
            if count < most:
                kept[count] = row
                count += 1
    return keep


@kernel
def release_charges(sets: WordArray, weights: IntArray, words: int) -> IntArray:
    """Return what letting every red value of each state go would be charged, shape (states,)."""
    charges = np.zeros(len(sets), dtype=np.int64)
    scratch = np.empty(len(weights), dtype=np.int64)
    for i in range(len(sets)):
        for half in range(1, 3):
            count = _members(sets[i, half * words : (half + 1) * words], scratch)
            for m in range(count):
                charges[i] += weights[scratch[m]]
    return charges
