"""The matrix of least differences between the times of tasks at one period, and what changed in it.

``least[i, j]`` is what time[j] - time[i] is at least (a difference bound matrix, kept closed). Turn t asks for a whole
number k with time[after[t, 0]] - time[before[t, 0]] >= ticks[t, 0] - k * P, and on side 1 likewise with 1 - k for k.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import floor_division

#: Differences from here down are no constraint.
FAR = cython.declare(cython.longlong, -(1 << 59))
#: Ticks up to which a product with the inverse of the period is off by less than a period.
EXACT = cython.declare(cython.longlong, 1 << 50)


@cython.final
@cython.cclass
class Differences:
    """The matrix at one node of a search, which turns are decided there, and what entries were before.

    The first ``open`` of ``turns`` are undecided, those decided last come next. An entry that changes is noted once per
    visit of a node: its place in the matrix, row by row, and its value, the last of them at ``kept - 1``.
    """

    def __init__(
        self,
        period: cython.longlong,
        duration: cython.const_longlong[::1],
        before: cython.const_longlong[:, ::1],
        after: cython.const_longlong[:, ::1],
        ticks: cython.const_longlong[:, ::1],
        least: cython.longlong[:, ::1],
    ) -> None:
        self.period = period
        self.duration = duration
        self.before = before
        self.after = after
        self.ticks = ticks
        self.least = least
        self.flat = np.asarray(least).reshape(-1)
        self.inverse = 1.0 / period
        self.turns = np.arange(before.shape[0])
        self.open = before.shape[0]
        self.visit = 0
        self.noted = np.zeros((duration.shape[0], duration.shape[0]), np.int64)
        self.cell = np.empty(0, np.int64)
        self.value = np.empty(0, np.int64)
        self.kept = 0
        self.reached = np.empty(duration.shape[0], np.int64)
        self.further = np.empty(duration.shape[0], np.int64)
        self.low = 0
        self.high = 0
        self.steps = 0

    def make_room(self, most: int) -> bool:
        """Make room for all entries once more; False if that would be more than ``most`` of them together."""
        entries = self.least.shape[0] * self.least.shape[1]
        if self.kept + entries <= self.cell.shape[0]:
            return True
        if self.kept + entries > most:
            return False
        room = min(most, 2 * (self.kept + entries))
        self.cell = np.resize(self.cell, room)
        self.value = np.resize(self.value, room)
        return True


def close(least: cython.longlong[:, ::1]) -> bool:
    """Make every difference as large as the others ask for; False if they contradict one another."""
    fits: cython.bint
    with cython.nogil:
        fits = _close(least)
    return bool(fits)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _close(least: cython.longlong[:, ::1]) -> cython.bint:
    n: cython.Py_ssize_t = least.shape[0]
    for middle in range(n):
        for u in range(n):
            first = least[u, middle]
            if first <= FAR:
                continue
            for v in range(n):
                if least[middle, v] > FAR and first + least[middle, v] > least[u, v]:
                    least[u, v] = first + least[middle, v]
    for u in range(n):
        if least[u, u] > 0:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tighten(differences: Differences, i: cython.longlong, j: cython.longlong, ticks: cython.longlong) -> cython.bint:
    """Ask for time[j] - time[i] >= ticks and close the matrix again; False if that contradicts it."""
    v: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    if differences.least[i, j] >= ticks:
        return True
    if ticks + differences.least[j, i] > 0:
        return False
    for v in range(differences.least.shape[0]):  # no path to another node gets longer by way of j
        if differences.least[j, v] > FAR and ticks + differences.least[j, v] > differences.least[i, v]:
            differences.reached[count] = v
            differences.further[count] = differences.least[j, v]
            count += 1
    differences.steps += 2 * differences.least.shape[0]
    for u in range(differences.least.shape[0]):
        start = differences.least[u, i] + ticks
        if differences.least[u, i] > FAR and start > differences.least[u, j]:
            differences.steps += count
            for k in range(count):
                v = differences.reached[k]
                if start + differences.further[k] > differences.least[u, v]:
                    if differences.noted[u, v] != differences.visit:
                        differences.noted[u, v] = differences.visit
                        differences.cell[differences.kept] = u * differences.least.shape[0] + v
                        differences.value[differences.kept] = differences.least[u, v]
                        differences.kept += 1
                    differences.least[u, v] = start + differences.further[k]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def undo(differences: Differences, kept: cython.Py_ssize_t, undecided: cython.Py_ssize_t) -> cython.void:
    """Take back what changed since so many entries were ``kept``, and so many turns undecided; a visit begins."""
    at: cython.Py_ssize_t
    differences.steps += differences.kept - kept
    for at in range(differences.kept - 1, kept - 1, -1):
        differences.flat[differences.cell[at]] = differences.value[at]
    differences.kept = kept
    differences.open = undecided
    differences.visit += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def periods_in(differences: Differences, ticks: cython.longlong) -> cython.longlong:
    """Return the whole periods in ``ticks``, rounded down: ``floor_division`` without dividing."""
    if ticks > EXACT or ticks < -EXACT:
        return floor_division(ticks, differences.period)
    periods: cython.longlong = cython.cast(cython.longlong, ticks * differences.inverse)
    rest: cython.longlong = ticks - periods * differences.period
    while rest < 0:
        periods -= 1
        rest += differences.period
    while rest >= differences.period:
        periods += 1
        rest -= differences.period
    return periods


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_options(differences: Differences, t: cython.Py_ssize_t) -> cython.void:
    """Set ``low`` and ``high`` to the least and the largest k that turn t leaves possible."""
    differences.low = -periods_in(
        differences, -differences.ticks[t, 0] - differences.least[differences.after[t, 0], differences.before[t, 0]]
    )
    differences.high = 1 + periods_in(
        differences, -differences.ticks[t, 1] - differences.least[differences.after[t, 1], differences.before[t, 1]]
    )
