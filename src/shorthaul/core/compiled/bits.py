"""Bit sets in 64-bit words, and arithmetic that wraps around, for kernels: the plain form of ``bits.pxd``.

A set is a row of words that begins at ``words[first]``. Compiled kernels have these functions inlined.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Final

_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF


def lowest(word: int) -> int:
    """Return the place of the lowest bit of a word that is not 0.

    >>> lowest(0b10100)
    2
    """
    return (word & -word).bit_length() - 1


def highest(word: int) -> int:
    """Return the place of the highest bit of a word that is not 0.

    >>> highest(0b10100)
    4
    """
    return word.bit_length() - 1


def ones(word: int) -> int:
    """Return how many bits are set.

    >>> ones(0b10100)
    2
    """
    return word.bit_count()


def has(words: Sequence[int], first: int, item: int) -> bool:
    """True if ``item`` is in the set that begins at ``words[first]``.

    >>> has([0, 0b100], 1, 2)
    True
    """
    return bool((words[first + (item >> 6)] >> (item & 63)) & 1)


def add(words: MutableSequence[int], first: int, item: int) -> None:
    """Add ``item`` to the set that begins at ``words[first]``."""
    words[first + (item >> 6)] |= 1 << (item & 63)


def remove(words: MutableSequence[int], first: int, item: int) -> None:
    """Take ``item`` out of the set that begins at ``words[first]``."""
    words[first + (item >> 6)] &= _MASK ^ (1 << (item & 63))


def bit(item: int) -> int:
    """Return the word of this bit alone.

    >>> bit(3)
    8
    """
    return 1 << item


def within(small: Sequence[int], first: int, large: Sequence[int], begin: int, count: int) -> bool:
    """True if the set of ``count`` words from ``small[first]`` is part of the one that begins at ``large[begin]``.

    >>> within([0b100], 0, [0, 0b110], 1, 1)
    True
    """
    return all(not small[first + k] & (_MASK ^ large[begin + k]) for k in range(count))


def members(words: Sequence[int], first: int, count: int, into: MutableSequence[int]) -> int:
    """Write the members of the set of ``count`` words from ``words[first]``, ascending; return how many.

    >>> into = [0, 0]
    >>> members([0b100, 0b1], 0, 2, into), into
    (2, [2, 64])
    """
    size = 0
    for k in range(count):
        word = words[first + k]
        while word:
            into[size] = 64 * k + lowest(word)
            size += 1
            word &= word - 1
    return size


def wrapped_sum(a: int, b: int) -> int:
    """Return the sum modulo 2^64.

    >>> wrapped_sum(2**64 - 1, 3)
    2
    """
    return (a + b) & _MASK


def wrapped_product(a: int, b: int) -> int:
    """Return the product modulo 2^64.

    >>> wrapped_product(2**63, 3) == 2**63
    True
    """
    return (a * b) & _MASK


def complement(word: int) -> int:
    """Return the word with every bit the other way.

    >>> complement(1) == 2**64 - 2
    True
    """
    return _MASK ^ word


def prefetch(words: Sequence[int], item: int) -> None:
    """Let the line of cache that ``words[item]`` is in come nearer; changes nothing."""
