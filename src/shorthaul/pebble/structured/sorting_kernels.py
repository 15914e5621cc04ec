"""A stable sort for kernels."""

from __future__ import annotations

import cython
import numpy as np

#: Stretches of this length are sorted by insertion.
RUN = cython.declare(cython.Py_ssize_t, 12)


@cython.final
@cython.cclass
class Sorter:
    """Sorts ``places`` by their ``keys``: at first places 0, 1, ... as :meth:`number` sets them."""

    def __init__(self, most: cython.Py_ssize_t) -> None:
        self.keys = np.empty(most, np.int64)
        self.places = np.empty(most, np.int64)
        self.spare = np.empty(most, np.int64)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def number(self, count: cython.Py_ssize_t) -> cython.void:
        """Let ``places`` be 0, 1, ..., ``count`` - 1."""
        for i in range(count):
            self.places[i] = i

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sort(self, count: cython.Py_ssize_t) -> cython.void:
        """Sort the first ``count`` places by ascending key; equal ones keep their order (merge sort)."""
        first: cython.Py_ssize_t = 0
        width: cython.Py_ssize_t = RUN
        while first < count:
            for i in range(first + 1, min(count, first + RUN)):
                place = self.places[i]
                at = i
                while at > first and self.keys[self.places[at - 1]] > self.keys[place]:
                    self.places[at] = self.places[at - 1]
                    at -= 1
                self.places[at] = place
            first += RUN
        while width < count:
            first = 0
            while first < count:
                self.merge(first, min(count, first + width), min(count, first + 2 * width))
                first += 2 * width
            for i in range(count):
                self.places[i] = self.spare[i]
            width *= 2

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge(self, first: cython.Py_ssize_t, middle: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.void:
        """Merge two sorted stretches into ``spare``."""
        i: cython.Py_ssize_t = first
        j: cython.Py_ssize_t = middle
        for at in range(first, last):
            if j == last or (i < middle and self.keys[self.places[i]] <= self.keys[self.places[j]]):
                self.spare[at] = self.places[i]
                i += 1
            else:
                self.spare[at] = self.places[j]
                j += 1
