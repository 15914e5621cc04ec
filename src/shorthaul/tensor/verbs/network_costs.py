"""What plans of networks cost on a machine, as their replay sees it: seconds, bytes and joules by group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from shorthaul.core.amounts import Cost
from shorthaul.core.machines.schema import LevelSection
from shorthaul.tensor.check.inner_replay import InnerLevel, replay_inner
from shorthaul.tensor.check.network_replay import GroupReplay, Homes, NetworkReplay, replay_network
from shorthaul.tensor.check.step_times import Pace, time_steps
from shorthaul.tensor.networks.array import spread
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.operands import OUTPUTS, operands_of, wider_sums
from shorthaul.tensor.networks.plan import NetworkPlan

#: From how many times of the longest unit or traffic on a group is said to take the time of its steps in turn.
_IN_TURN: Final = 1.05


def replay_on(network: Network, plan: NetworkPlan, machine: Machine) -> NetworkReplay:
    """Return what a replay finds of a plan on a machine: what breaks a rule, what each group moves, and its seconds."""
    pace = pace_of(network, machine)
    level = machine.levels[1]
    capacity, homes = float(level.capacity_bytes or 0), homes_of(network, machine)
    replayed = replay_network(
        network, plan, capacity, double_buffered=level.double_buffered, widths=pace.widths, homes=homes[0]
    )
    if not replayed.violations:
        inner = [
            InnerLevel(float(section.capacity_bytes or 0), section.double_buffered, own)
            for section, own in zip(machine.levels[2:], homes[1:], strict=True)
        ]
        wider = [wider_sums(network, machine, number) for number in range(len(network.operators))]
        replayed.violations.extend(replay_inner(network, plan, replayed.groups, inner, wider))
    if replayed.violations:  # nothing is known of when such tiles move what
        plan = NetworkPlan(tuple(replace(group, inner=()) for group in plan.groups))
    time_steps(network, plan, replayed.groups, pace)
    return replayed


def homes_of(network: Network, machine: Machine) -> list[Homes]:
    """Return the memories of every level but the outermost, and what of them every operator uses for which read."""
    operands = [operands_of(operator) for operator in network.operators]
    return [Homes(machine.capacities(at), machine.served(at), operands) for at in range(1, len(machine.levels))]


def pace_of(network: Network, machine: Machine) -> Pace:
    """Return how fast the operators of a network, and what they move, pass on a machine."""
    return Pace(
        [machine.seconds_per_operation(item.unit, network.bits(n)) for n, item in enumerate(network.operators)],
        [1 / outer.bandwidth_bytes_per_s for outer in machine.levels[:-1]],
        [inside.double_buffered for inside in machine.levels[1:]],
        [spread(operator, machine.array) for operator in network.operators],
        machine.ports(),
    )


@dataclass(frozen=True, slots=True)
class Row:
    """A group as priced from its replay; ``bound_by`` says what it takes the time of."""

    number: int
    names: tuple[str, ...]
    loops: str
    matrix_s: float
    vector_s: float
    memory_s: tuple[float, ...]
    steps_s: float
    latency_s: float
    loads: float
    stores: float
    peak: float
    steps: int
    energy: float | None
    operations: float
    bound_by: str


def rows_of(network: Network, machine: Machine, plan: NetworkPlan, replayed: NetworkReplay) -> list[Row]:
    """Return what each group of a plan takes, as its replay sees it."""
    rows, pace = [], pace_of(network, machine)
    early = [*(seen.early_bytes for seen in replayed.groups), 0.0]
    for number, (group, seen) in enumerate(zip(plan.groups, replayed.groups, strict=True)):
        seconds = {"matrix": 0.0, "vector": 0.0}
        for operator, operations in seen.filled.items():
            unit = network.operators[operator].unit
            seconds[unit] += operations * machine.seconds_per_operation(unit, network.bits(operator))
        memory = [sum(moved) / level.bandwidth_bytes_per_s for level, moved in _passes(machine, seen)]
        if seen.inner_bytes:
            passed = zip(seen.loads_of[1:], seen.inner_bytes, strict=True)
            memory[1:] = pace.inner_s([(*loads, stores) for loads, (_, stores) in passed])
        buffered = [level.double_buffered for level in machine.levels[1:]]
        apart = sum(time for time, overlaps in zip(memory, buffered, strict=False) if not overlaps)
        # Only what passes the outermost memory in between overlaps with the rest.
        rate = machine.levels[0].bandwidth_bytes_per_s
        memory[0] += (early[number + 1] - seen.early_bytes) / rate
        ends = (seen.ends_bytes - seen.early_bytes) / rate if buffered[0] else 0.0
        latency = max(seen.steps_s + ends - seen.beside_s, memory[0] if buffered[0] else 0.0) + apart
        times = seconds | {f"traffic of {level.name}": s for level, s in zip(machine.levels, memory, strict=False)}
        longest = max(times, key=lambda name: times[name])
        bound_by = "steps in turn" if seen.steps_s > _IN_TURN * times[longest] else longest
        known = [number for number in group.operators if 0 <= number < len(network.operators)]
        names = tuple(network.operators[number].name for number in known)
        loops = " ".join(
            f"{network.operators[loop.operator].dim_names[loop.dim]}:{loop.tile}"
            for loop in group.loops
            if loop.operator in known and 0 <= loop.dim < len(network.operators[loop.operator].dims)
        )
        took = (seconds["matrix"], seconds["vector"], tuple(memory), seen.steps_s, latency)
        moved, done = (seen.loads_bytes, seen.stores_bytes, seen.peak_bytes), float(sum(seen.operations.values()))
        energy = _energy(network, machine, seen)
        rows.append(Row(number, names, loops, *took, *moved, seen.steps, energy, done, bound_by))
    return rows


def _passes(machine: Machine, seen: GroupReplay) -> list[tuple[LevelSection, tuple[float, float]]]:
    """Return every level but the innermost with the bytes loaded from and stored to it by the next one."""
    moved = [(seen.loads_bytes, seen.stores_bytes), *seen.inner_bytes]
    return list(zip(machine.levels, moved, strict=False))


def _energy(network: Network, machine: Machine, seen: GroupReplay) -> float | None:
    """Return the joules of a group, None where the machine file lacks an energy that it needs.

    None, too, where a group breaks the rules: what it moves is not known.
    """
    if not seen.loads_of:
        return None
    total = 0.0
    for outer, (loads, (_, (_, stores))) in enumerate(zip(seen.loads_of, _passes(machine, seen), strict=False)):
        parts = [(amount, True, operand) for operand, amount in enumerate(loads)] + [(stores, False, OUTPUTS)]
        for amount, inward, operand in parts:
            if amount:
                each = machine.joules_per_byte(outer, inward=inward, operand=operand)
                if each is None:
                    return None
                total += amount * each
    for operand, amount in seen.copied_of.items():
        each = machine.joules_to_copy(operand)
        if each is None:
            return None
        total += amount * each
    for operator, operations in seen.operations.items():
        each = machine.joules_per_operation(network.operators[operator].unit, network.bits(operator))
        if each is None:
            return None
        total += operations * each
    return total


def cost_of(rows: list[Row]) -> Cost:
    """Return what groups take together; without joules where one of them has none."""
    amounts = {
        "latency_s": sum(row.latency_s for row in rows),
        "traffic_bytes": sum(row.loads + row.stores for row in rows),
        "peak_bytes": max((row.peak for row in rows), default=0.0),
    }
    energies = [row.energy for row in rows if row.energy is not None]
    if rows and len(energies) == len(rows):
        amounts["energy_j"] = sum(energies)
    return Cost(**amounts)
