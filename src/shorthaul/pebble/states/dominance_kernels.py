"""Comparison of search states: a hash table of rows, and the states that no other can become more cheaply.

The states are those of :mod:`layered_search_kernels`: rows of three sets, with numbers beside them.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.bits import complement, lowest, within, wrapped_product
from cython.cimports.shorthaul.pebble.states.layer_constants import COLUMNS, COST

_SEED = cython.declare(cython.ulonglong, 0x9E37_79B9_7F4A_7C15)
_FACTOR = cython.declare(cython.ulonglong, 0xFF51_AFD7_ED55_8CCD)


@cython.final
@cython.cclass
class States:
    """Room for the states of a layer: sets (``width`` words each), numbers, and a hash table of the rows filled."""

    sets: cython.ulonglong[::1]
    numbers: cython.longlong[:, ::1]
    table: cython.longlong[::1]
    width: cython.longlong
    filled: cython.longlong

    def __init__(
        self, sets: cython.ulonglong[::1], numbers: cython.longlong[:, ::1], table: cython.longlong[::1]
    ) -> None:
        self.sets = sets
        self.numbers = numbers
        self.table = table
        self.width = sets.shape[0] // numbers.shape[0]
        self.filled = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hash(sets: cython.const_ulonglong[::1], first: cython.longlong, words: cython.longlong) -> cython.ulonglong:
    value: cython.ulonglong = _SEED
    k: cython.Py_ssize_t
    for k in range(first, first + words):
        value = wrapped_product(value ^ sets[k], _FACTOR)
        value ^= value >> 32
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def insert(states: States) -> cython.bint:
    """Enter the state at row ``filled``; False if it is there already (then the cheaper one stays)."""
    row: cython.longlong = states.filled
    width: cython.longlong = states.width
    mask: cython.longlong = states.table.shape[0] - 1
    k: cython.Py_ssize_t
    slot = cython.cast(cython.longlong, _hash(states.sets, row * width, width) >> 1) & mask
    while states.table[slot] >= 0:
        other = states.table[slot]
        k = 0
        while k < width and states.sets[other * width + k] == states.sets[row * width + k]:
            k += 1
        if k == width:
            if states.numbers[row, COST] < states.numbers[other, COST]:
                for k in range(COLUMNS):
                    states.numbers[other, k] = states.numbers[row, k]
            return False
        slot = (slot + 1) & mask
    states.table[slot] = row
    states.filled += 1
    return True


def insert_all(states: States, stop: cython.longlong) -> None:
    """Enter the states of the rows from ``filled`` to ``stop`` - 1, which all differ."""
    with cython.nogil:
        while states.filled < stop:
            insert(states)


def group_hashes(
    sets: cython.const_ulonglong[::1], width: cython.longlong, words: cython.longlong, hashes: cython.ulonglong[::1]
) -> None:
    """Write a hash of what is computed per state, the first ``words`` of its ``width``."""
    with cython.nogil:
        for i in range(hashes.shape[0]):
            hashes[i] = _hash(sets, i * width, words)


@cython.final
@cython.cclass
class Comparison:
    """States of one layer with hashes of what is computed; at most ``most`` of one computed set are compared with."""

    sets: cython.const_ulonglong[::1]
    numbers: cython.const_longlong[:, ::1]
    hashes: cython.const_ulonglong[::1]
    weights: cython.const_longlong[::1]
    words: cython.longlong
    kept: cython.longlong[::1]

    def __init__(
        self,
        sets: cython.const_ulonglong[::1],
        numbers: cython.const_longlong[:, ::1],
        hashes: cython.const_ulonglong[::1],
        weights: cython.const_longlong[::1],
        words: cython.longlong,
        most: cython.longlong,
    ) -> None:
        self.sets = sets
        self.numbers = numbers
        self.hashes = hashes
        self.weights = weights
        self.words = words
        self.kept = np.empty(most, np.int64)


def undominated(
    states: Comparison, order: cython.const_longlong[::1], keep: cython.uchar[::1]
) -> int:  # fmt: skip
    """Tell which states, in ``order`` (by hash, then cost), no cheaper state of the same computed set can become.

    A state becomes another by letting values go, at their charge, or storing them; loads are free. Returns how often
    two were compared.
    """
    with cython.nogil:
        work = _undominated(states, order, keep)
    return int(work)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _undominated(
    states: Comparison, order: cython.const_longlong[::1], keep: cython.uchar[::1]
) -> cython.longlong:  # fmt: skip
    count: cython.longlong = 0
    work: cython.longlong = 0
    before: cython.longlong = 0
    j: cython.Py_ssize_t
    for i in range(order.shape[0]):
        row = order[i]
        if i == 0 or states.hashes[before] != states.hashes[row]:
            count = 0
        before = row
        keep[i] = True
        for j in range(count):
            work += 1
            if _becomes(states, states.kept[j], row):
                keep[i] = False
                break
        if keep[i] and count < states.kept.shape[0]:
            states.kept[count] = row
            count += 1
    return work


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _becomes(states: Comparison, other: cython.longlong, row: cython.longlong) -> cython.bint:
    words: cython.longlong = states.words
    ours: cython.longlong = 3 * words * row
    theirs: cython.longlong = 3 * words * other
    slack: cython.longlong = states.numbers[row, COST] - states.numbers[other, COST]
    half: cython.Py_ssize_t
    k: cython.Py_ssize_t
    if not within(states.sets, theirs, states.sets, ours, words):
        return False  # two sets of one hash
    for half in range(2, 0, -1):  # unsaved there, saved here: stored or let go; red there, not here: let go
        for k in range(words):
            rest = states.sets[theirs + half * words + k] & complement(states.sets[ours + half * words + k])
            while rest:
                slack -= states.weights[64 * k + lowest(rest)]
                rest &= rest - 1
        if slack < 0:
            return False
    return True


def release_charges(
    sets: cython.const_ulonglong[::1],
    weights: cython.const_longlong[::1],
    words: cython.longlong,
    charges: cython.longlong[::1],
) -> None:
    """Write what letting every red value of each state go would be charged, shape (states,)."""
    with cython.nogil:
        for i in range(charges.shape[0]):
            charges[i] = _release_charge(sets, 3 * words * i, weights, words)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _release_charge(
    sets: cython.const_ulonglong[::1],
    first: cython.longlong,
    weights: cython.const_longlong[::1],
    words: cython.longlong,
) -> cython.longlong:
    charge: cython.longlong = 0
    half: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for half in range(1, 3):
        for k in range(words):
            word = sets[first + half * words + k]
            while word:
                charge += weights[64 * k + lowest(word)]
                word &= word - 1
    return charge
