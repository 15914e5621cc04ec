"""The front of a tiny problem by brute force: every mapping, and per period the fewest bytes of its buffers by CP-SAT."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from ortools.sat.python import cp_model

from shorthaul.core.errors import InputError
from shorthaul.dataflow.graphs.multi_reader_buffers import Buffer, substitute_mrbs
from shorthaul.dataflow.mapping.binding import MappedNetwork, mapped
from shorthaul.dataflow.model import GLOBAL_MEMORY, Platform, Problem, local_memory, tile_memory

Costs = tuple[int, int, float]


def every_mapping(problem: Problem, choices: tuple[int, ...], *, common: bool) -> Iterator[tuple[float, MappedNetwork]]:
    """Yield core cost and network of every binding, replacement and placement of buffers that fit with least tokens."""
    application, platform = problem.application, problem.platform
    actors = application.actors
    able = [[core.id for core in platform.cores if core.type in actor.ticks] for actor in actors]
    for xi in product(choices, repeat=len(application.multicasts)):
        replaced = dict(zip(application.multicasts, xi, strict=True))
        try:
            network = substitute_mrbs(application, replaced)
        except InputError:  # a cycle without tokens
            continue
        for cores in product(*able):
            binding = dict(zip((actor.id for actor in actors), cores, strict=True))
            if any(core != able[i][0] for i, core in enumerate(cores) if actors[i].id not in network.actors):
                continue  # where a replaced multicast would be does not matter
            used = {binding[name] for name in network.actors}
            cost = sum(platform.core_types[core.type].cost for core in platform.cores if core.id in used)
            places = [memories(platform, binding, buffer, common=common) for buffer in network.buffers]
            for chosen in product(*places):
                memory = dict(zip((buffer.id for buffer in network.buffers), chosen, strict=True))
                held = dict.fromkeys(chosen, 0)
                for buffer in network.buffers:
                    held[memory[buffer.id]] += max(1, buffer.delay) * buffer.token_bytes
                if all((limit := platform.memories[name]) is None or used <= limit for name, used in held.items()):
                    yield cost, mapped(application, platform, network, binding, memory)


def memories(platform: Platform, binding: dict[str, str], buffer: Buffer, *, common: bool) -> set[str]:
    """Return the memories that the five decisions name for a buffer."""
    reader = buffer.readers[0]
    if common:
        tiles = [platform.tile_of[binding[name]].id for name in buffer.readers]
        reader = buffer.readers[max(range(len(tiles)), key=lambda i: (tiles.count(tiles[i]), -i))]
    ends = {binding[buffer.writer], binding[reader]}
    return {GLOBAL_MEMORY, *map(local_memory, ends), *(tile_memory(platform.tile_of[core].id) for core in ends)}


def front_of_all(
    problem: Problem, choices: tuple[int, ...], *, common: bool = False, atomic: bool = False
) -> set[Costs]:
    """Return the costs (period, bytes, core cost) that no schedule of any mapping improves on."""
    front: set[Costs] = set()

    def covers(one: Costs, other: Costs) -> bool:
        return all(a <= b for a, b in zip(one, other, strict=True))

    def is_covered(costs: Costs) -> bool:
        return any(covers(other, costs) for other in front)

    mappings = []
    for cost, net in every_mapping(problem, choices, common=common):
        load = max(sum(tasks.values()) for tasks in net.resource_loads().values())
        size = sum(max(1, buffer.delay) * buffer.token_bytes for buffer in net.network.buffers)
        mappings.append((max(1, load), size, cost, len(mappings), net))
    for load, size, cost, _, net in sorted(mappings, key=lambda item: item[:4]):
        period = load
        while not is_covered((period, size, cost)) and period <= _serial(net):
            least = fewest_bytes(net, period, problem.platform.memories, atomic=atomic)
            if least is not None and not is_covered((period, least, cost)):
                found = (period, least, cost)
                front = {other for other in front if not covers(found, other)} | {found}
            period += 1
    return front


def _serial(net: MappedNetwork) -> int:
    accesses = (task for group in (net.reads, net.writes) for tasks in group.values() for task in tasks)
    return sum(net.execution.values()) + sum(task.duration for task in accesses)


def fewest_bytes(net: MappedNetwork, period: int, limits: dict[str, int | None], *, atomic: bool) -> int | None:
    """Return the fewest bytes of buffers with which the mapping has a schedule of this period; None if there is none."""
    model = cp_model.CpModel()
    stages = 2 * len(net.network.actors) + 3
    horizon = stages * period
    owner = {task.name: task for group in (net.reads, net.writes) for tasks in group.values() for task in tasks}
    start = {name: model.new_int_var(0, horizon, name) for name in (*net.network.actors, *owner)}
    length = {**net.execution, **{name: task.duration for name, task in owner.items()}}
    begin, end = {}, {}
    on: dict[str, list[tuple]] = {}
    for name in net.network.actors:
        begin[name], end[name] = model.new_int_var(0, horizon, ""), model.new_int_var(0, horizon + period, "")
        own = [task.name for task in (*net.reads[name], *net.writes[name])]
        for task in net.reads[name]:
            model.add(start[task.name] + length[task.name] <= start[name])
        for task in net.writes[name]:
            model.add(start[task.name] >= start[name] + length[name])
        model.add_min_equality(begin[name], [start[one] for one in (name, *own)])
        model.add_max_equality(end[name], [start[one] + length[one] for one in (name, *own)])
        model.add(end[name] - begin[name] <= period)
        model.add_no_overlap([
            model.new_fixed_size_interval_var(start[one], length[one], "") for one in own if length[one]
        ])  # fmt: skip
        on.setdefault(net.binding[name], []).append((begin[name], end[name]))
        for task in (*net.reads[name], *net.writes[name]):
            for interconnect in task.route if task.duration else ():
                on.setdefault(interconnect, []).append((start[task.name], start[task.name] + task.duration))
    for spans in on.values():
        for (from_one, to_one), (from_other, to_other) in combinations(spans, 2):
            turn = model.new_int_var(-stages, stages, "")
            model.add(from_other + turn * period >= to_one)
            model.add(to_other + turn * period <= from_one + period)
    reads, writes = net.read_tasks(), net.write_tasks()
    tokens = {}
    for buffer in net.network.buffers:
        most = buffer.delay + 2 * stages
        tokens[buffer.id] = model.new_int_var(max(1, buffer.delay), most, "")
        write = writes[buffer.id]
        there = start[write.name] + write.duration if write.duration else start[buffer.writer] + length[buffer.writer]
        since = start[write.name] if write.duration else start[buffer.writer]
        for task in reads[buffer.id]:
            needed = start[task.name] if task.duration else start[task.actor]
            until = start[task.name] + task.duration if task.duration else start[task.actor] + length[task.actor]
            model.add(needed + buffer.delay * period >= there)
            if atomic:
                since, until = begin[buffer.writer], end[task.actor]
            model.add((tokens[buffer.id] - buffer.delay) * period >= until - since)
    for memory, limit in limits.items():
        if limit is not None:
            model.add(
                sum(tokens[b.id] * b.token_bytes for b in net.network.buffers if net.memory[b.id] == memory) <= limit
            )
    model.minimize(sum(tokens[buffer.id] * buffer.token_bytes for buffer in net.network.buffers))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = 0.3
    status = solver.solve(model)
    if status not in {cp_model.OPTIMAL, cp_model.INFEASIBLE}:
        raise TimeoutError
    return round(solver.objective_value) if status == cp_model.OPTIMAL else None
