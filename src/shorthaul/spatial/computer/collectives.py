"""Broadcast, reduce and all-reduce over ranges of processors, by halving."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import Operator
from shorthaul.spatial.computer.registers import Register, Selection, Values

#: So many processors of a range are told one after the other: each message is then one hop on most curves.
_CHAINED = 8


def spread(
    machine: Machine,
    holders: Selection,
    offset: Callable[[Selection], Values],
    size: Callable[[Selection], Values | int],
    registers: Sequence[Register],
) -> Selection:
    """Copy what the first processors of ranges, ``holders``, hold in ``registers`` to their ranges; return these.

    ``offset`` and ``size`` are a processor's place in its range and the range's length, which it has to know once it
    holds the registers. At distances 2^k, then from neighbour to neighbour: O(size) energy on a distance-bound curve,
    O(log(size)) depth (Baumann et al., Lemma 13).
    """

    def tell(senders: Selection, step: int) -> Selection:
        receivers, received = machine.send(senders.number + step, *(register[senders] for register in registers))
        for register, values in zip(registers, received, strict=True):
            register[receivers] = values
        return receivers

    step = 1 << max(holders.nodes.count - 1, 0).bit_length() >> 1
    while step >= _CHAINED:
        place = offset(holders)
        holders = holders | tell(holders.where((place % (2 * step) == 0) & (place + step < size(holders))), step)
        step //= 2
    reached = holders
    for _ in range(_CHAINED - 1):
        place = offset(reached) + 1
        reached = tell(reached.where((place % _CHAINED != 0) & (place < size(reached))), 1)
        holders = holders | reached
    return holders


def broadcast(machine: Machine, register: Register) -> None:
    """Copy the value of processor 0 to all processors: O(n) energy, O(log n) depth."""
    n = machine.count
    spread(machine, machine.all.where(machine.all.number == 0), lambda nodes: nodes.number, lambda _: n, [register])


def reduce(machine: Machine, register: Register, operator: Operator) -> None:
    """Leave the sum of all processors' values, in order, at processor 0: O(n) energy, O(log n) depth.

    The other processors hold partial sums afterwards.
    """
    n, step = machine.count, 1
    while step < n:
        senders = machine.all.where(machine.all.number % (2 * step) == step)
        receivers, (later,) = machine.send(senders.number - step, register[senders])
        register[receivers] = register[receivers].combined(operator, later)
        step *= 2


def all_reduce(machine: Machine, register: Register, operator: Operator) -> None:
    """Leave the sum of all processors' values, in order, at every processor."""
    reduce(machine, register, operator)
    broadcast(machine, register)
