"""Sets of nodes as rows of 64-bit words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

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
def members(words: WordArray, found: IntArray) -> int:
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
def has(words: WordArray, node: int) -> bool:
    """True if ``node`` is in the set."""
    return bool((words[node >> 6] >> np.uint64(node & 63)) & _ONE != _ZERO)


@kernel
def flip(words: WordArray, node: int) -> None:
    """Add ``node``, or take it out."""
    words[node >> 6] ^= _ONE << np.uint64(node & 63)


@kernel
def inside(small: WordArray, large: WordArray) -> bool:
    """True if the first set is part of the second."""
    for k in range(len(small)):
        if small[k] & ~large[k] != _ZERO:
            return False
    return True
