"""Heaps and stacks that grow, for kernels."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@cython.final
@cython.cclass
class Heap:
    """A binary min-heap of pairs (key, item), compared in this order."""

    def __init__(self) -> None:
        self.keys = np.empty(64, np.float64)
        self.items = np.empty(64, np.int64)
        self.size = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def push(self, key: cython.double, item: cython.longlong) -> cython.void:
        """Add a pair."""
        at: cython.Py_ssize_t = self.size
        if at == self.keys.shape[0]:
            with cython.gil:
                self._grow()
        self.size = at + 1
        while at > 0:
            above = (at - 1) >> 1
            if self.keys[above] < key or (self.keys[above] == key and self.items[above] <= item):
                break
            self.keys[at] = self.keys[above]
            self.items[at] = self.items[above]
            at = above
        self.keys[at] = key
        self.items[at] = item

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pop(self) -> cython.void:
        """Remove the least pair."""
        size: cython.Py_ssize_t = self.size - 1
        key: cython.double = self.keys[size]
        item: cython.longlong = self.items[size]
        at: cython.Py_ssize_t = 0
        below: cython.Py_ssize_t = 1
        self.size = size
        while below < size:
            if below + 1 < size and (
                self.keys[below + 1] < self.keys[below]
                or (self.keys[below + 1] == self.keys[below] and self.items[below + 1] < self.items[below])
            ):
                below += 1
            if key < self.keys[below] or (key == self.keys[below] and item <= self.items[below]):
                break
            self.keys[at] = self.keys[below]
            self.items[at] = self.items[below]
            at = below
            below = 2 * at + 1
        self.keys[at] = key
        self.items[at] = item

    @cython.cfunc
    def _grow(self) -> None:
        self.keys = np.concatenate([self.keys, np.empty(self.keys.shape[0], np.float64)])
        self.items = np.concatenate([self.items, np.empty(self.items.shape[0], np.int64)])


@cython.final
@cython.cclass
class Stack:
    """Integers, the last on top."""

    def __init__(self) -> None:
        self.items = np.empty(64, np.int64)
        self.size = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def push(self, item: cython.longlong) -> cython.void:
        """Put ``item`` on top."""
        if self.size == self.items.shape[0]:
            with cython.gil:
                self._grow()
        self.items[self.size] = item
        self.size += 1

    @cython.cfunc
    def _grow(self) -> None:
        self.items = np.concatenate([self.items, np.empty(self.items.shape[0], np.int64)])

    def values(self) -> IntArray:
        """Return the integers, the first pushed first."""
        return np.array(self.items[: self.size])


def sorted_pairs(
    keys: cython.const_double[::1], items: cython.const_longlong[::1], most: cython.Py_ssize_t
) -> list[tuple[float, int]]:
    """Return the pairs of keys and items as a heap of at most ``most`` at a time gives them back, for tests."""
    heap = Heap()
    pairs: list[tuple[float, int]] = []
    for i in range(keys.shape[0] + most):
        if heap.size > 0 and (i >= keys.shape[0] or heap.size == most):
            pairs.append((heap.keys[0], heap.items[0]))
            heap.pop()
        if i < keys.shape[0]:
            heap.push(keys[i], items[i])
    return pairs
