"""Tables of parts: what each state of a part still costs, and their sums for states of the whole.

A state of a part says which of its nodes are computed and, of those that a node of the part still reads, which are in
fast memory, and saved or not. The nodes of a part are numbered along a topological order, inputs are always computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


class Patterns(NamedTuple):
    """The tables of some parts, one after another, and how their costs add up.

    Part p has the nodes ``members[first[p]:first[p + 1]]``, those of the bits ``given[p]`` are inputs. Its hash table
    of computed sets lies in ``keys`` and ``ranks`` from ``hash_first[p]`` on; states of set r (over all parts) have
    their costs to come in ``costs`` from ``offsets[r]`` on, a red node counting ``steps[r, place]``. Each row of
    ``shares`` says how much of each part's cost counts, in parts of ``whole``, such that no node is counted more than
    once. ``node_parts`` and ``node_places`` from ``node_first[v]`` on say of which parts node v is which.
    """

    first: IntArray
    members: IntArray
    given: WordArray
    hash_first: IntArray
    keys: WordArray
    ranks: IntArray
    offsets: IntArray
    steps: npt.NDArray[np.int32]
    costs: npt.NDArray[np.int32]
    shares: IntArray
    whole: int
    node_first: IntArray
    node_parts: IntArray
    node_places: IntArray


@kernel
def slot_of(keys: WordArray, ranks: IntArray, first: int, size: int, mask: np.uint64) -> int:
    """Return the slot of ``mask`` in the hash table of ``size`` slots from ``first``, or the free one where it goes."""
    value = mask * np.uint64(0x9E3779B97F4A7C15)
    value ^= value >> np.uint64(32)
    slot = np.int64(value & np.uint64(size - 1))
    while ranks[first + slot] >= 0 and keys[first + slot] != mask:
        slot = (slot + 1) & (size - 1)
    return int(first + slot)


@kernel
def enumerate_sets(
    parents: WordArray,
    children: WordArray,
    given: BoolArray,
    most_entries: int,
    sets: WordArray,
    keys: WordArray,
    ranks: IntArray,
    offsets: IntArray,
    steps: IntArray,
) -> int:
    """Write the sets that can have been computed, small ones first; return how many, -1 if they are too many.

    ``keys`` and ``ranks`` become their hash table. States of set r have the numbers from ``offsets[r]`` on; a node that
    is red counts ``steps[r, node]`` there, twice that if it is unsaved, and has 0 if nothing of the part reads it any
    more.
    """
    size = len(parents)
    start = _ZERO
    for v in range(size):
        if given[v]:
            start |= _ONE << np.uint64(v)
    sets[0] = start
    slot = slot_of(keys, ranks, 0, len(keys), start)
    keys[slot], ranks[slot] = start, 0
    count = 1
    entries = np.int64(0)
    rank = 0
    while rank < count:
        done = sets[rank]
        offsets[rank] = entries
        states = np.int64(1)
        for v in range(size):
            own = _ONE << np.uint64(v)
            if done & own == _ZERO:
                if parents[v] & ~done == _ZERO:
                    grown = done | own
                    slot = slot_of(keys, ranks, 0, len(keys), grown)
                    if ranks[slot] < 0:
                        if count == len(sets) or 2 * count > len(keys):
                            return -1
                        keys[slot], ranks[slot] = grown, count
                        sets[count] = grown
                        count += 1
            elif children[v] & ~done != _ZERO:
                steps[rank, v] = states
                states *= 2 if given[v] else 3
                if states > most_entries:
                    return -1
        entries += states
        if entries > most_entries:
            return -1
        rank += 1
    offsets[count] = entries
    return count


@kernel
def tabulate(
    count: int,
    parents: WordArray,
    given: BoolArray,
    weights: IntArray,
    outside: IntArray,
    budget: int,
    sets: WordArray,
    keys: WordArray,
    ranks: IntArray,
    offsets: IntArray,
    steps: IntArray,
    costs: npt.NDArray[np.int32],
) -> None:
    """Write the least charges to come of every state into ``costs``, largest sets first.

    ``outside`` is the weight of what a node reads from outside the part. Letting a value go is charged as in
    :mod:`layered_search_kernels`; what is computed finds its operands, and room for them, itself and what
    it reads outside.
    """
    size = len(parents)
    digits = np.zeros(size, dtype=np.int64)
    live = np.empty(size, dtype=np.int64)
    ready = np.empty(size, dtype=np.int64)
    following = np.empty(size, dtype=np.int64)
    for rank in range(count - 1, -1, -1):
        done = sets[rank]
        alive = open_nodes = 0
        for v in range(size):
            own = _ONE << np.uint64(v)
            if steps[rank, v] > 0:
                live[alive] = v
                alive += 1
            if done & own == _ZERO and parents[v] & ~done == _ZERO:
                ready[open_nodes] = v
                following[open_nodes] = ranks[slot_of(keys, ranks, 0, len(keys), done | own)]
                open_nodes += 1
        first = offsets[rank]
        digits[:] = 0
        held = np.int64(0)
        for index in range(offsets[rank + 1] - first):
            if open_nodes == 0:
                costs[first + index] = 0
                continue
            best = np.int64(2**30)
            for i in range(alive):
                a = live[i]
                if digits[a] > 0:
                    other = costs[first + index - digits[a] * steps[rank, a]] + digits[a] * weights[a]
                    best = min(best, other)
            for r in range(open_nodes):
                v = ready[r]
                occupied = held + weights[v] + outside[v]
                new = following[r]
                target = offsets[new] + 2 * steps[new, v]
                for i in range(alive):
                    a = live[i]
                    digit = digits[a]
                    if digit == 0 and parents[v] >> np.uint64(a) & _ONE != _ZERO:
                        occupied += weights[a]
                        digit = 1
                    target += digit * steps[new, a]
                if occupied <= budget:
                    best = min(best, np.int64(costs[target]))
            costs[first + index] = best
            for i in range(alive):  # the next state: count up
                a = live[i]
                if digits[a] == 0:
                    held += weights[a]
                digits[a] += 1
                if digits[a] < (2 if given[a] else 3):
                    break
                digits[a] = 0
                held -= weights[a]


@kernel
def locate(patterns: Patterns, part: int, state: WordArray, words: int, rank: IntArray, index: IntArray) -> None:
    """Write where a part's share of ``state`` stands: the number of its computed set, and its entry in the costs."""
    first, stop = patterns.first[part], patterns.first[part + 1]
    mask = patterns.given[part]
    for j in range(first, stop):
        v = patterns.members[j]
        mask |= (state[v >> 6] >> np.uint64(v & 63) & _ONE) << np.uint64(j - first)
    begin = patterns.hash_first[part]
    slot = slot_of(patterns.keys, patterns.ranks, begin, patterns.hash_first[part + 1] - begin, mask)
    at = patterns.ranks[slot]
    entry = patterns.offsets[at]
    for j in range(first, stop):
        step = patterns.steps[at, j - first]
        if step > 0:
            v = patterns.members[j]
            red = state[words + (v >> 6)] >> np.uint64(v & 63) & _ONE
            unsaved = state[2 * words + (v >> 6)] >> np.uint64(v & 63) & _ONE
            entry += np.int64(red + unsaved) * step
    rank[part], index[part] = at, entry


@kernel
def locate_all(patterns: Patterns, state: WordArray, words: int, rank: IntArray, index: IntArray) -> None:
    """Write where every part's share of ``state`` stands."""
    for part in range(len(patterns.first) - 1):
        locate(patterns, part, state, words, rank, index)


@kernel
def relocate(
    patterns: Patterns, state: WordArray, words: int, node: int, operands: IntArray, rank: IntArray, index: IntArray
) -> None:
    """Write it anew for the parts of ``node`` and ``operands``, which have changed."""
    if len(rank) == 0:
        return
    for i in range(patterns.node_first[node], patterns.node_first[node + 1]):
        locate(patterns, patterns.node_parts[i], state, words, rank, index)
    for p in operands:
        for i in range(patterns.node_first[p], patterns.node_first[p + 1]):
            locate(patterns, patterns.node_parts[i], state, words, rank, index)


@kernel
def add_up(patterns: Patterns, index: IntArray, sums: IntArray) -> None:
    """Write the sum of the costs to come for every row of shares."""
    for c in range(len(sums)):
        sums[c] = 0
        for part in range(len(index)):
            sums[c] += patterns.shares[c, part] * patterns.costs[index[part]]


@kernel
def let_go(patterns: Patterns, node: int, digit: int, rank: IntArray, index: IntArray, sums: IntArray) -> None:
    """Follow ``node`` leaving the fast memory (``digit`` 1, 2 if it was unsaved) or coming back (negative)."""
    if len(rank) == 0:
        return
    for i in range(patterns.node_first[node], patterns.node_first[node + 1]):
        part = patterns.node_parts[i]
        step = patterns.steps[rank[part], patterns.node_places[i]]
        if step > 0:
            before = patterns.costs[index[part]]
            index[part] -= digit * step
            change = np.int64(patterns.costs[index[part]] - before)
            for c in range(len(sums)):
                sums[c] += patterns.shares[c, part] * change


@kernel
def excess_of(sums: IntArray) -> int:
    """Return the largest sum, 0 if there is none."""
    most = np.int64(0)
    for c in range(len(sums)):
        most = max(most, sums[c])
    return int(most)


@kernel
def enter_all(keys: WordArray, values: IntArray, into_keys: WordArray, into_ranks: IntArray) -> None:
    """Enter computed sets with their ranks into an empty hash table."""
    for i in range(len(keys)):
        slot = slot_of(into_keys, into_ranks, 0, len(into_keys), keys[i])
        into_keys[slot], into_ranks[slot] = keys[i], values[i]
