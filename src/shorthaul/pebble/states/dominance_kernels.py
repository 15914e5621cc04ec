"""Comparison of search states: a hash table of rows, and the states that no other can become more cheaply.

The states are those of :mod:`layered_search_kernels`: rows of three sets, with numbers beside them.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.bits import complement, lowest, remove, within, wrapped_product
from cython.cimports.shorthaul.pebble.states.layer_constants import COLUMNS, COST

_SEED = cython.declare(cython.ulonglong, 0x9E37_79B9_7F4A_7C15)
_FACTOR = cython.declare(cython.ulonglong, 0xFF51_AFD7_ED55_8CCD)


@cython.final
@cython.cclass
class States:
    """Room for the states of a layer: sets (``width`` words each), numbers, and a hash table of the rows filled."""

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
    """States of one layer with hashes of what is computed; at most ``most`` of one computed set are compared with.

    ``touchers`` and ``later`` are those of :class:`expansion_kernels.Graph`; ``covered`` has what they tell of each
    value for the computed set of state ``owner``, where ``is_covered``.
    """

    sets: cython.const_ulonglong[::1]
    numbers: cython.const_longlong[:, ::1]
    hashes: cython.const_ulonglong[::1]
    weights: cython.const_longlong[::1]
    touchers: cython.const_ulonglong[::1]
    later: cython.const_ulonglong[::1]
    words: cython.longlong
    kept: cython.longlong[::1]
    owner: cython.longlong
    work: cython.longlong
    covered: cython.ulonglong[::1]
    is_covered: cython.uchar[::1]
    spare: cython.ulonglong[::1]

    def __init__(
        self,
        sets: cython.const_ulonglong[::1],
        numbers: cython.const_longlong[:, ::1],
        hashes: cython.const_ulonglong[::1],
        weights: cython.const_longlong[::1],
        touchers: cython.const_ulonglong[::1],
        later: cython.const_ulonglong[::1],
        words: cython.longlong,
        most: cython.longlong,
    ) -> None:
        self.sets = sets
        self.numbers = numbers
        self.hashes = hashes
        self.weights = weights
        self.touchers = touchers
        self.later = later
        self.words = words
        self.kept = np.empty(most, np.int64)
        self.owner = 0
        self.work = 0
        self.covered = np.empty(weights.shape[0] * words, np.uint64)
        self.is_covered = np.zeros(weights.shape[0], np.uint8)
        self.spare = np.empty(words, np.uint64)


def undominated(
    states: Comparison, order: cython.const_longlong[::1], keep: cython.uchar[::1]
) -> int:  # fmt: skip
    """Tell which states, in ``order`` (by hash, then cost), no cheaper state of the same computed set makes needless.

    A state becomes another by letting values go, at their charge, or storing them; loads are free. What it holds may
    stay in place of what the other holds, too, if it is no heavier and read no later: letting the other value go is
    charged as much, and when the first is read both need room, or only it does. Returns how much was compared.
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
    before: cython.longlong = 0
    j: cython.Py_ssize_t
    states.work = 0
    for i in range(order.shape[0]):
        row = order[i]
        if i == 0 or states.hashes[before] != states.hashes[row]:
            count = 0
            states.owner = row
            for j in range(states.is_covered.shape[0]):
                states.is_covered[j] = False
        before = row
        keep[i] = True
        for j in range(count):
            states.work += 1
            if _becomes(states, states.kept[j], row):
                keep[i] = False
                break
        if keep[i] and count < states.kept.shape[0]:
            states.kept[count] = row
            count += 1
    return states.work


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _becomes(states: Comparison, other: cython.longlong, row: cython.longlong) -> cython.bint:
    words: cython.longlong = states.words
    ours: cython.longlong = 3 * words * row
    theirs: cython.longlong = 3 * words * other
    slack: cython.longlong = states.numbers[row, COST] - states.numbers[other, COST]
    loads: cython.longlong = 0
    k: cython.Py_ssize_t
    if not within(states.sets, theirs, states.sets, ours, words):
        return False  # two sets of one hash
    for k in range(words):  # unsaved there, saved here: stored or let go
        rest = states.sets[theirs + 2 * words + k] & complement(states.sets[ours + 2 * words + k])
        while rest:
            slack -= states.weights[64 * k + lowest(rest)]
            rest &= rest - 1
    if slack < 0:
        return False
    for k in range(words):  # red there, not here: let go
        rest = states.sets[theirs + words + k] & complement(states.sets[ours + words + k])
        while rest:
            loads += states.weights[64 * k + lowest(rest)]
            rest &= rest - 1
    return loads <= slack or _stays(states, theirs, ours, loads - slack)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _stays(
    states: Comparison, theirs: cython.longlong, ours: cython.longlong, missing: cython.longlong
) -> cython.bint:  # fmt: skip
    """True if values worth ``missing`` that are red there and not here may stay in place of others red here alone."""
    words: cython.longlong = states.words
    k: cython.Py_ssize_t
    any_spare: cython.ulonglong = 0
    if not within(states.sets, 3 * words * states.owner, states.sets, ours, words):
        return False
    for k in range(words):
        states.spare[k] = states.sets[ours + words + k] & complement(states.sets[theirs + words + k])
        any_spare |= states.spare[k]
    if any_spare == 0:
        return False
    for k in range(words):
        rest = states.sets[theirs + words + k] & complement(states.sets[ours + words + k])
        while rest:
            b = 64 * k + lowest(rest)
            rest &= rest - 1
            states.work += 1
            a = _later_read(states, b)
            if a >= 0:
                remove(states.spare, 0, a)
                missing -= states.weights[b]
                if missing <= 0:
                    return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _later_read(states: Comparison, b: cython.longlong) -> cython.longlong:
    """Return a spare value that is no lighter than ``b`` and that nothing reads before something reads ``b``; or -1."""
    words: cython.longlong = states.words
    done: cython.longlong = 3 * words * states.owner
    early: cython.ulonglong
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    if not states.is_covered[b]:
        _cover(states, b)
    for k in range(words):
        word = states.spare[k]
        while word:
            a = 64 * k + lowest(word)
            word &= word - 1
            if states.weights[a] < states.weights[b]:
                continue
            early = 0
            for j in range(words):
                early |= (
                    states.touchers[a * words + j]
                    & complement(states.sets[done + j])
                    & complement(states.covered[b * words + j])
                )
            if early == 0:
                return a
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cover(states: Comparison, b: cython.longlong) -> cython.void:
    """Find what is still to be computed that touches ``b``, with all that comes later."""
    words: cython.longlong = states.words
    done: cython.longlong = 3 * words * states.owner
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    states.is_covered[b] = True
    for k in range(words):
        states.covered[b * words + k] = 0
    for k in range(words):
        word = states.touchers[b * words + k] & complement(states.sets[done + k])
        while word:
            v = 64 * k + lowest(word)
            word &= word - 1
            for j in range(words):
                states.covered[b * words + j] |= states.later[v * words + j]


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
