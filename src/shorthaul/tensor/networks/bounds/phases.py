"""A bound on the latency by phases: operators that no group can have together run one after the other.

Two operators e and f, of which f needs e, are *apart* if every group that has both holds more than there is room for
(:mod:`holding`). A group with an operator that e needs and one that needs f has e and f as well, as they lie between.
So for pairs (e1, f1), (e2, f2), ... that are apart, where e2 needs f1 and so on, the operators that e1 needs, those
that need f1 and that e2 needs, and so on are *phases*: no group has operators of two of them. All groups of a phase
come before those of the next one. From the first of its groups to the last, a phase takes at least what its operators
compute, and at least what they load and store: inputs and constants pass once in every phase that reads them. Only what
is loaded early passes before, while the group before runs; that has to fit into the memory, and it happens once, where
the phase begins. The phases' times add up.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.bounds.holding import Holding
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.needs import Demand

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Operators between which phases may change: the heaviest of one way through the network.
_MOST_GATES = 48
#: Operators of a network of which ways between any two are known.
_MOST_OPERATORS = 5000
#: Operators weighed at once.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Amounts:
    """Seconds of the units, bytes that pass the outermost memory, and those that pass the ports further inside."""

    matrix_s: float
    vector_s: float
    moved: float
    inner_bytes: tuple[float, ...]

    def seconds(self, machine: Machine) -> tuple[dict[str, float], dict[str, float]]:
        """Return what goes on at the same time, and what comes on top of it, by name, in seconds."""
        together = {"matrix": self.matrix_s, "vector": self.vector_s}
        apart: dict[str, float] = {}
        ports = list(zip(machine.ports(), self.inner_bytes, strict=True))
        for at, (outer, inner) in enumerate(itertools.pairwise(machine.levels)):
            name = "inner traffic" if at else "traffic"
            passing = (amount * byte_s for (level, _, byte_s), amount in ports if level == at)
            seconds = max(passing, default=self.moved / outer.bandwidth_bytes_per_s)
            if inner.double_buffered:
                together[name] = max(together.get(name, 0.0), seconds)
            else:
                name += ", waited for"
                apart[name] = apart.get(name, 0.0) + seconds
        return together, apart


@dataclass(frozen=True, slots=True)
class Phased:
    """The bound by phases, and why it holds."""

    value_s: float
    proof: str


def phases(network: Network, machine: Machine, demands: Mapping[int, Demand]) -> Phased:
    """Return the largest bound by phases that begin and end at operators of one way through the network."""
    needed = {number: demand for number, demand in demands.items() if demand.operations > 0}
    count = len(network.operators)
    if len(needed) < 2 or count > _MOST_OPERATORS:
        return Phased(0.0, "")
    loads = _Loads(network, machine, needed)
    after = operators_after(network)
    nothing, every = np.zeros(count, bool), np.ones(count, bool)
    alone = np.array_split(np.eye(count, dtype=bool), -(-count // _AT_ONCE))
    weights = [loads.seconds(some, nothing, np.zeros_like(some)) for some in alone]
    gates = _gates(network, needed, np.concatenate(weights))
    capacity = float(machine.levels[1].capacity_bytes or 0)
    apart, held = _apart(network, gates, after, frozenset(needed), capacity)
    # The best sum of phases up to each gate, the gate where the phase before ended, and where a next one begins.
    later = [after[gates[place]] if place < len(gates) else nothing for place in apart]
    best: list[tuple[float, int | None]] = [
        (float(took), None) for took in loads.seconds(after[:, gates].T, nothing, later)
    ]
    begun: list[tuple[int, Floats]] = []
    whole_s = float(loads.seconds(every[None], nothing, [nothing])[0])
    end: tuple[float, int | None] = (whole_s, None)
    for at in range(len(gates)):
        for before, took in begun:
            if apart[before] <= at and best[before][0] + took[at] > best[at][0]:
                best[at] = best[before][0] + float(took[at]), before
        if apart[at] < len(gates):
            sets = np.vstack([after[:, gates].T & later[at], later[at]])
            took = loads.seconds(sets, after[:, gates[at]], [*later, nothing])
            begun.append((at, took))
            if best[at][0] + took[-1] > end[0]:
                end = best[at][0] + float(took[-1]), at
    pairs: list[int] = []
    last = end[1]
    while last is not None:
        pairs.insert(0, last)
        last = best[last][1]
    return Phased(end[0], _told(network, [(gates[at], gates[apart[at]], held[at]) for at in pairs]))


def _told(network: Network, pairs: Sequence[tuple[int, int, float]]) -> str:
    names = [
        f"{network.operators[first].name} and {network.operators[second].name} ({held:.6g} bytes)"
        for first, second, held in pairs
    ]
    return (
        f"No group has both, as it holds too much at least: {'; '.join(names)}. What the first of a pair needs ends "
        f"before what needs the second begins, and each of these phases takes its own compute and traffic at least, "
        f"what phases before made and later ones read as well, less what fits into the memory in between."
    )


class _Loads:
    """What sets of operators compute and move at least."""

    def __init__(self, network: Network, machine: Machine, needed: Mapping[int, Demand]) -> None:
        count = len(network.operators)
        self.machine = machine
        self.units = {"matrix": np.zeros(count), "vector": np.zeros(count)}
        self.stored, self.inner = np.zeros(count), np.zeros((count, len(machine.ports())))
        readers: dict[int, dict[int, float]] = {}
        for number, demand in needed.items():
            unit = network.operators[number].unit
            self.units[unit][number] = demand.operations * machine.seconds_per_operation(unit, network.bits(number))
            self.inner[number] = demand.inner_bytes
            for access in network.operators[number].writes:
                tensor = network.tensors[access.tensor]
                self.stored[number] += tensor.elements * tensor.bits / 8 if tensor.is_output else 0.0
            for item, amount in demand.read.items():
                readers.setdefault(item, {})[number] = amount
        self.makers = np.array([network.producer.get(item, -1) for item in readers], np.int64)
        self.is_output = np.array([network.tensors[item].is_output for item in readers], bool)
        self.begins = np.cumsum([0, *(len(amounts) for amounts in readers.values())])[:-1]
        self.readers = np.array([number for amounts in readers.values() for number in amounts], np.int64)
        self.amounts = np.array([amount for amounts in readers.values() for amount in amounts.values()])

    def _read(self, sets: Bools) -> Floats:
        """Return the bytes that each row of ``sets`` reads of each tensor, at least."""
        return np.asarray(np.maximum.reduceat(sets[:, self.readers] * self.amounts, self.begins, 1))

    def seconds(self, sets: Bools, before: Bools, later: Sequence[Bools] | Bools) -> Floats:
        """Return the seconds that each row of ``sets`` takes at least.

        It comes after the operators ``before``, if any, and before those of its row of ``later``.
        """
        machine, rows = self.machine, sets.astype(np.float64)
        room = float(machine.levels[1].capacity_bytes or 0)
        read, is_made = self._read(sets), self.makers >= 0
        was_made = is_made & before[self.makers]
        given, made = read[:, ~is_made].sum(1), read[:, was_made].sum(1)
        mine = is_made & ~was_made & ~self.is_output
        left = (rows[:, self.makers[mine]] * self._read(np.array(later))[:, mine]).sum(1)
        if before.any() and machine.levels[1].double_buffered:
            given, made = np.zeros_like(given), given + made
        moved = given + np.maximum(0.0, made - room) + np.maximum(0.0, left - room) + rows @ self.stored
        found = []
        units = zip(rows @ self.units["matrix"], rows @ self.units["vector"], moved, strict=True)
        for (matrix_s, vector_s, outside), inner in zip(units, rows @ self.inner, strict=True):
            together, apart = Amounts(matrix_s, vector_s, outside, tuple(inner.tolist())).seconds(machine)
            found.append(max(together.values()) + sum(apart.values()))
        return np.array(found)


def operators_after(network: Network) -> Bools:
    """Return, by operator, those that need it; it is among them."""
    count = len(network.operators)
    found = np.eye(count, dtype=bool)
    for number in reversed(range(count)):
        for access in network.operators[number].reads:
            source = network.producer.get(access.tensor)
            if source is not None:
                found[source] |= found[number]
    return found


def _gates(network: Network, needed: Mapping[int, Demand], weights: Floats) -> list[int]:
    """Return the heaviest operators of the heaviest way through the network, in order."""
    best = np.array(weights)
    back: dict[int, int] = {}
    for number, operator in enumerate(network.operators):
        sources = {network.producer[a.tensor] for a in operator.reads if a.tensor in network.producer}
        if sources:
            back[number] = max(sorted(sources), key=lambda source: best[source])
            best[number] += best[back[number]]
    at = int(best.argmax())
    way = [at]
    while at in back:
        at = back[at]
        way.append(at)
    heaviest = sorted((number for number in way if number in needed), key=lambda number: (-weights[number], number))
    return sorted(heaviest[:_MOST_GATES])


def _apart(
    network: Network, gates: Sequence[int], after: Bools, needed: frozenset[int], capacity: float
) -> tuple[list[int], list[float]]:
    """Return, by gate, the first later one that no group has with it, by place, and what one would hold at least.

    The place is ``len(gates)`` where there is none. What holds too much does so with still more operators.
    """
    holding = Holding(network, needed)
    found: list[int] = []
    held: list[float] = []
    second = 0
    for first in range(len(gates)):
        second = max(second, first + 1)
        bytes_held = 0.0
        while second < len(gates):
            members = np.flatnonzero(after[gates[first]] & after[:, gates[second]])
            bytes_held = holding.of([int(number) for number in members], capacity)
            if bytes_held > capacity:
                break
            second += 1
        found.append(second)
        held.append(bytes_held)
    return found, held
