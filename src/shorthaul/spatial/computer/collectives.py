"""Broadcast, reduce, all-reduce and prefix sums over ranges of processors, by halving."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.computer.operators import Operator

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]

#: Up to this many processors of a range are told one after the other: each message is then one hop on most curves.
_CHAINED = 8


def broadcast_ranges(computer: SpatialComputer, first: Index, last: Index, *registers: Values) -> None:
    """Copy the registers' values at processor ``first[i]`` to all processors up to ``last[i]``; ranges are disjoint.

    The holder of a range sends to the first processor of its second half, which then holds that half; a short range
    is passed along from neighbour to neighbour. O(size) energy on a distance-bound curve, O(log(size)) depth
    (Baumann et al., Lemma 13).
    """
    while len(first):
        wide = last > first
        first, last = first[wide], last[wide]
        size = last - first + 1
        middle = first + np.where(size > _CHAINED, size // 2, 1)
        computer.send(first, middle, *(register[first] for register in registers))
        for register in registers:
            register[middle] = register[first]
        first, last = np.concatenate([first, middle]), np.concatenate([middle - 1, last])


def broadcast(computer: SpatialComputer, register: Values) -> None:
    """Copy the value of processor 0 to all processors: O(n) energy, O(log n) depth."""
    n = computer.processors
    broadcast_ranges(computer, np.zeros(1, np.int32), np.array([n - 1], np.int32), register)


def reduce(computer: SpatialComputer, register: Values, operator: Operator) -> None:
    """Leave the sum of all processors' values, in order, at processor 0: O(n) energy, O(log n) depth.

    The other processors hold partial sums afterwards.
    """
    n, step = computer.processors, 1
    while step < n:
        sender = np.arange(step, n, 2 * step, dtype=np.int32)
        receiver = sender - np.int32(step)
        computer.send(sender, receiver, register[sender])
        register[receiver] = operator.combine(register[receiver], register[sender])
        step *= 2


def all_reduce(computer: SpatialComputer, register: Values, operator: Operator) -> None:
    """Leave the sum of all processors' values, in order, at every processor."""
    reduce(computer, register, operator)
    broadcast(computer, register)


def prefix_sum(computer: SpatialComputer, register: Values, operator: Operator) -> None:
    """Replace every processor's value by the sum of those up to it, in place; non-commutative operators too.

    Ends of blocks of 2^k collect their block's sum on the way up, and on the way down tell it to the middle of the
    next block: O(n) energy, 2 log2 n depth.
    """
    n, step = computer.processors, 1
    while step < n:
        receiver = np.arange(2 * step - 1, n, 2 * step, dtype=np.int32)
        sender = receiver - np.int32(step)
        computer.send(sender, receiver, register[sender])
        register[receiver] = operator.combine(register[sender], register[receiver])
        step *= 2
    while step > 1:
        step //= 2
        receiver = np.arange(3 * step - 1, n, 2 * step, dtype=np.int32)
        sender = receiver - np.int32(step)
        computer.send(sender, receiver, register[sender])
        register[receiver] = operator.combine(register[sender], register[receiver])
