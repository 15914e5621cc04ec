"""The model as printed (Letras et al., Eqs. (14) to (23)): every resource within one window of length P."""

from __future__ import annotations

from typing import Any

from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import solve_model
from shorthaul.dataflow.mapping.binding import MappedNetwork
from shorthaul.dataflow.mapping.start_times import place_timeless, serial_schedule


def window_schedule(net: MappedNetwork, least: int, search: Search) -> tuple[int, dict[str, int], int]:
    """Return the least period that the printed model allows, start ticks, and the least one it does not exclude.

    Eq. (19) keeps all tasks of one iteration on a resource (memories included) within one period of each other, so
    that better periods may exist: the value is no bound on the period of the mapping.
    """
    from ortools.sat.python import cp_model

    serial_first = serial_schedule(net)
    assert serial_first is not None
    serial, hint = serial_first
    horizon = 2 * serial * (len(net.network.actors) + 1)
    cp = cp_model.CpModel()
    period = cp.new_int_var(least, serial, "period")
    tasks = [task for name in net.network.actors for task in (*net.reads[name], *net.writes[name])]
    start: dict[str, Any] = {name: cp.new_int_var(0, horizon, name) for name in net.network.actors}
    start |= {task.name: cp.new_int_var(0, horizon, task.name) for task in tasks}
    on: dict[str, list[tuple[str, int]]] = {}
    memories = {net.memory[task.buffer] for task in tasks}
    for name in net.network.actors:
        core = on.setdefault(net.binding[name], [])
        core.append((name, net.execution[name]))
        for task in (*net.reads[name], *net.writes[name]):
            core.append((task.name, task.duration))
            for resource in (*task.route, net.memory[task.buffer]):
                on.setdefault(resource, []).append((task.name, task.duration))
        for task in net.reads[name]:
            cp.add(start[task.name] + task.duration <= start[name])
        for task in net.writes[name]:
            cp.add(start[name] + net.execution[name] <= start[task.name])
    reads, writes = net.read_tasks(), net.write_tasks()
    for buffer in net.network.buffers:
        write = writes[buffer.id]
        for task in reads[buffer.id]:
            cp.add(start[write.name] + write.duration <= start[task.name] + period * buffer.delay)
    cores = set(net.binding.values())
    for resource, members in on.items():
        first, last = cp.new_int_var(0, horizon, ""), cp.new_int_var(0, 2 * horizon, "")
        for name, length in members:
            cp.add(first <= start[name])
            cp.add(start[name] + length <= last)
        cp.add(last - first <= period)
        if resource not in memories and resource not in cores:
            cp.add_no_overlap([cp.new_fixed_size_interval_var(start[n], length, n) for n, length in members])
    _sequence_firings(cp, net, start, horizon)
    for name, variable in start.items():
        cp.add_hint(variable, hint[name])
    cp.minimize(period)
    status, solver = solve_model(cp, search)
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return serial, hint, least
    found = int(solver.value(period))
    starts = {name: int(solver.value(variable)) for name, variable in start.items()}
    return found, place_timeless(net, starts), int(solver.best_objective_bound)


def _sequence_firings(cp: Any, net: MappedNetwork, start: dict[str, Any], horizon: int) -> None:
    """Eq. (23): all of one firing before all of the next on the same core; reads and writes of one firing in turn."""
    spans: dict[str, list[Any]] = {}
    for name in net.network.actors:
        parts = [(task.name, task.duration) for task in (*net.reads[name], *net.writes[name])]
        begin, finish = cp.new_int_var(0, horizon, ""), cp.new_int_var(0, 2 * horizon, "")
        size = cp.new_int_var(0, 2 * horizon, "")
        for part, length in [(name, net.execution[name]), *parts]:
            cp.add(begin <= start[part])
            cp.add(start[part] + length <= finish)
        spans.setdefault(net.binding[name], []).append(cp.new_interval_var(begin, size, finish, name))
        own = [cp.new_fixed_size_interval_var(start[part], length, part) for part, length in parts if length]
        if len(own) > 1:
            cp.add_no_overlap(own)
    for intervals in spans.values():
        cp.add_no_overlap(intervals)
