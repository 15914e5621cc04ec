"""Search states told apart and compared: a hash table of rows, and the states that no other can become more cheaply.

The states are those of :mod:`layered_search_kernels`: rows of three sets, with numbers beside them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel
from shorthaul.pebble.states.bitset_kernels import inside, members

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

#: Columns of the integer part of a state: charged so far, weight in fast memory, row of the state before, node computed
#: last, and the least cost of a plan through the state.
COST, OCCUPANCY, ORIGIN, NODE, WHOLE = 0, 1, 2, 3, 4
COLUMNS = 5

_ZERO = np.uint64(0)


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
            if not inside(sets[other, :words], sets[row, :words]):
                continue  # two sets of one hash
            for k in range(words):  # unsaved there, saved here: stored or let go
                rest[k] = sets[other, 2 * words + k] & ~sets[row, 2 * words + k]
            for m in range(members(rest, scratch)):
                slack -= weights[scratch[m]]
            if slack < 0:
                continue
            for k in range(words):  # red there, not here: let go
                rest[k] = sets[other, words + k] & ~sets[row, words + k]
            for m in range(members(rest, scratch)):
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
            count = members(sets[i, half * words : (half + 1) * words], scratch)
            for m in range(count):
                charges[i] += weights[scratch[m]]
    return charges
