"""Colours of a graph's nodes for finding automorphisms, and states turned by automorphisms into a small form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


class Group(NamedTuple):
    """Automorphisms: g takes v to ``rows[g, v]``, and the nodes 4 i + j of the bits j to ``images[g, i, bits]``."""

    rows: IntArray
    images: WordArray


@kernel
def _mixed(value: np.uint64) -> np.uint64:
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def refine(
    colours: WordArray, parent_starts: IntArray, parents: IntArray, child_starts: IntArray, children: IntArray
) -> int:
    """Refine ``colours`` by those of parents and children until no class divides; return how many classes there are.

    A colour depends on the graph and the colours given alone, not on the numbers of the nodes.
    """
    n = len(colours)
    fresh = np.empty(n, dtype=np.uint64)
    classes = 0
    while True:
        for v in range(n):
            above = below = _ZERO
            for i in range(parent_starts[v], parent_starts[v + 1]):
                above += _mixed(colours[parents[i]] + np.uint64(1))
            for i in range(child_starts[v], child_starts[v + 1]):
                below += _mixed(colours[children[i]] + np.uint64(2))
            fresh[v] = _mixed(colours[v] + _mixed(above + np.uint64(3)) + _mixed(below + np.uint64(5)))
        ordered = np.sort(fresh)
        count = 1
        for i in range(1, n):
            if ordered[i] != ordered[i - 1]:
                count += 1
        if count == classes:
            return count
        classes = count
        colours[:] = fresh


@kernel
def _apply(group: Group, number: int, state: WordArray, first: int, words: int, image: WordArray) -> None:
    """Write the image of the set of ``words`` words from ``first`` on."""
    for k in range(words):
        image[first + k] = _ZERO
    for i in range(group.images.shape[1]):
        bits = np.int64(state[first + (i >> 4)] >> np.uint64(4 * (i & 15)) & np.uint64(15))
        if bits:
            for k in range(words):
                image[first + k] |= group.images[number, i, bits, k]


@kernel
def _compared(one: WordArray, other: WordArray, first: int, words: int) -> int:
    for k in range(first, first + words):
        if one[k] != other[k]:
            return -1 if one[k] < other[k] else 1
    return 0


@kernel
def first_of_orbits(group: Group, state: WordArray, words: int, nodes: IntArray, count: int, image: WordArray) -> int:
    """Keep of the first ``count`` nodes those that no automorphism which keeps ``state`` takes lower; return how many.

    What follows computing a node is then, but for names, what follows computing one that is kept. ``image`` is room
    for a state.
    """
    for number in range(len(group.rows)):
        if count == 1:
            break
        keeps = True
        for third in range(3):
            if keeps:
                _apply(group, number, state, third * words, words, image)
                keeps = _compared(image, state, third * words, words) == 0
        if keeps:
            kept = 0
            for i in range(count):
                if group.rows[number, nodes[i]] >= nodes[i]:
                    nodes[kept] = nodes[i]
                    kept += 1
            count = kept
    return count


@kernel
def make_small(group: Group, state: WordArray, words: int, image: WordArray, trail: IntArray) -> int:
    """Turn ``state`` by automorphisms as long as one makes it smaller; return how many were applied.

    ``image`` is room for a state. The numbers of the automorphisms applied go to ``trail`` as far as it is long.
    """
    steps = 0
    number = unchanged = 0
    count = len(group.images)
    while unchanged < count:
        order = 0
        for third in range(3):
            if order <= 0:
                _apply(group, number, state, third * words, words, image)
                if order == 0:
                    order = _compared(image, state, third * words, words)
        if order < 0:
            state[:] = image
            if steps < len(trail):
                trail[steps] = number
            steps += 1
            unchanged = 0
        else:
            unchanged += 1
            number = (number + 1) % count
    return steps
