"""A* over positions (red set, saved set) of the game with recomputation, for graphs of up to 64 nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

#: Columns of the integer part of a position: cost so far, estimate of the whole, origin, last node, next in its bucket.
COST, WHOLE, ORIGIN, NODE, NEXT = 0, 1, 2, 3, 4
#: What ``counters`` hold: positions filled, bucket to look at.
FILLED, BUCKET = 0, 1

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@kernel
def _bit(node: int) -> np.uint64:
    return _ONE << np.uint64(node)


@kernel
def _slot(red: np.uint64, saved: np.uint64, mask: int) -> int:
    value = (red ^ (saved * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(31)
    return int(np.int64(value >> np.uint64(1)) & mask)


@kernel
def _to_come(
    red: np.uint64, saved: np.uint64, outputs: np.uint64, inputs: np.uint64, weights: IntArray, parents: WordArray
) -> tuple[int, np.uint64]:
    """Return a lower bound on the cost to come, and the values that can still matter.

    Outputs to come are stored; whatever is neither red nor saved on the way to them is computed, and inputs read then
    that are not red are loaded. A value matters if an output to come is reached from it.
    """
    n = len(weights)
    must = outputs & ~saved
    matter = must
    cost = 0
    for v in range(n - 1, -1, -1):  # nodes are in topological order
        if must & _bit(v) != _ZERO:
            if outputs & ~saved & _bit(v) != _ZERO:
                cost += weights[v]
            if inputs & _bit(v) != _ZERO:
                cost += weights[v]
            elif red & _bit(v) == _ZERO:
                must |= parents[v] & ~red & (~saved | inputs)
        if matter & _bit(v) != _ZERO:
            matter |= parents[v]
    return cost, matter


@kernel
def add(
    red: np.uint64,
    saved: np.uint64,
    cost: int,
    origin: int,
    node: int,
    limit: int,
    outputs: np.uint64,
    inputs: np.uint64,
    weights: IntArray,
    parents: WordArray,
    sets: WordArray,
    numbers: IntArray,
    table: IntArray,
    buckets: IntArray,
    counters: IntArray,
) -> None:
    """Enter a position unless it is known at no greater cost or cannot lead to a plan below ``limit``."""
    rest, matter = _to_come(red, saved, outputs, inputs, weights, parents)
    if cost + rest >= limit:
        return
    red &= matter
    mask = len(table) - 1
    slot = _slot(red, saved, mask)
    while table[slot] >= 0:
        other = table[slot]
        if sets[other, 0] == red and sets[other, 1] == saved:
            if numbers[other, COST] <= cost:
                return
            break
        slot = (slot + 1) & mask
    row = counters[FILLED]
    counters[FILLED] += 1
    table[slot] = row  # a dearer entry of the same position stays in its bucket, and is passed over there
    sets[row, 0], sets[row, 1] = red, saved
    numbers[row, COST], numbers[row, WHOLE] = cost, cost + rest
    numbers[row, ORIGIN], numbers[row, NODE] = origin, node
    numbers[row, NEXT] = buckets[cost + rest]
    buckets[cost + rest] = row
    counters[BUCKET] = min(counters[BUCKET], cost + rest)


@kernel
def search(
    pops: int,
    limit: int,
    budget: int,
    outputs: np.uint64,
    inputs: np.uint64,
    outside: IntArray,
    weights: IntArray,
    parents: WordArray,
    sets: WordArray,
    numbers: IntArray,
    table: IntArray,
    buckets: IntArray,
    counters: IntArray,
) -> int:
    """Look at up to ``pops`` positions, cheapest estimate first.

    ``outside`` is what computing each node takes beside itself and its operands.
    Returns the row of a position in which all outputs are saved, -1 if there is none below ``limit``, -2 if there is
    more to look at, -3 if the arrays are full.
    """
    n = len(weights)
    candidates = np.empty(n, dtype=np.int64)
    chosen = np.empty(n + 1, dtype=np.int64)
    for _ in range(pops):
        while counters[BUCKET] < limit and buckets[counters[BUCKET]] < 0:
            counters[BUCKET] += 1
        if counters[BUCKET] >= limit:
            return -1
        if counters[FILLED] > 0.6 * len(sets):
            return -3
        row = buckets[counters[BUCKET]]
        buckets[counters[BUCKET]] = numbers[row, NEXT]
        red, saved, cost = sets[row, 0], sets[row, 1], numbers[row, COST]
        slot = _slot(red, saved, len(table) - 1)
        while sets[table[slot], 0] != red or sets[table[slot], 1] != saved:
            slot = (slot + 1) & (len(table) - 1)
        if table[slot] != row:
            continue
        if outputs & ~saved == _ZERO:
            return int(row)
        _, matter = _to_come(red, saved, outputs, inputs, weights, parents)
        held = 0
        for v in range(n):
            if red & _bit(v) != _ZERO:
                held += weights[v]
        for v in range(n):
            own = _bit(v)
            if (inputs | red | ~matter) & own != _ZERO or parents[v] & ~(red | saved) != _ZERO:
                continue
            if outputs & saved & own != _ZERO:
                continue
            loaded = 0
            for p in range(n):
                if parents[v] & ~red & _bit(p) != _ZERO:
                    loaded += weights[p]
            excess = held + loaded + weights[v] + outside[v] - budget
            now_saved = saved | (outputs & own)
            price = cost + loaded + (weights[v] if outputs & own != _ZERO else 0)
            size = 0
            spare = 0
            for a in range(n):
                if red & ~parents[v] & _bit(a) != _ZERO:
                    candidates[size] = a
                    size += 1
                    spare += weights[a]
            if spare < excess:
                continue
            depth = index = weight = 0
            while True:  # depth first over the inclusion-minimal sets that make room
                if weight >= excess:
                    minimal = True
                    gone = _ZERO
                    unsaved = _ZERO
                    for d in range(depth):
                        a = candidates[chosen[d]]
                        minimal = minimal and weight - weights[a] < excess
                        gone |= _bit(a)
                        if saved & _bit(a) == _ZERO:
                            unsaved |= _bit(a)
                    if minimal:
                        stored = unsaved
                        while True:  # each of its unsaved values is stored or given up
                            extra = 0
                            for d in range(depth):
                                if stored & _bit(candidates[chosen[d]]) != _ZERO:
                                    extra += weights[candidates[chosen[d]]]
                            if counters[FILLED] == len(sets):
                                return -3
                            add(
                                (red & ~gone) | parents[v] | own,
                                now_saved | stored,
                                price + extra,
                                row,
                                v,
                                limit,
                                outputs,
                                inputs,
                                weights,
                                parents,
                                sets,
                                numbers,
                                table,
                                buckets,
                                counters,
                            )
                            if stored == _ZERO:
                                break
                            stored = (stored - _ONE) & unsaved
                    index = size
                elif index < size:
                    chosen[depth] = index
                    weight += weights[candidates[index]]
                    depth += 1
                    index += 1
                    continue
                if depth == 0:
                    break
                depth -= 1
                index = chosen[depth]
                weight -= weights[candidates[index]]
                index += 1
    return -2
