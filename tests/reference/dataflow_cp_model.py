"""The exact model on CP-SAT: for a fixed period every start is a residue plus a multiple of it.

An interval that crosses the end of the period wraps around: every interval also stands one period later, and none may
overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import solve_model
from shorthaul.dataflow.mapping.binding import MappedNetwork
from shorthaul.dataflow.mapping.start_times import read, written
from shorthaul.dataflow.modulo.disjunctive_graph import cyclic_components, on_one_cycle


class _Model:
    """The constraints of one period. Firings begin in [0, period); whole periods are added afterwards.

    Only actors that wait for each other in a cycle need their stages (whole periods) inside the model. The longest
    firing on the busiest resource begins at 0: schedules can be turned round the period at will. So nothing on its core
    crosses the end of the period. On every core all pauses inside firings together last no longer than its idle time.
    """

    def __init__(self, net: MappedNetwork, period: int) -> None:
        from ortools.sat.python import cp_model

        self.cp = cp_model.CpModel()
        self.net = net
        self.period = period
        self.start: dict[str, Any] = {}
        self.stage: dict[str, Any] = {}
        self.spans: dict[str, list[tuple[Any, int]]] = {}
        self.intervals: dict[str, list[Any]] = {}
        self.pinned = _longest_on_busiest(net)
        self.idle = dict.fromkeys(net.binding.values(), period)
        for name in net.network.actors:
            self.idle[net.binding[name]] -= _total(net, name)

    def wrapped(self, name: str, residue: Any, size: Any, most: int, resources: tuple[str, ...]) -> None:
        """Keep [residue, residue + size) modulo the period to itself on every resource."""
        pinned = self.net.binding[self.pinned]
        for copy in (0,) if resources == (pinned,) else (0, self.period):
            end = self.cp.new_int_var(copy, copy + self.period - 1 + most, f"end {name} {copy}")
            interval = self.cp.new_interval_var(residue + copy, size, end, f"{name} {copy}")
            for resource in resources:
                self.intervals.setdefault(resource, []).append(interval)

    def firing(self, name: str) -> None:
        """Add reads, execution and writes of one actor, which hold its core from first to last."""
        net, horizon = self.net, 2 * self.period
        reads = [task for task in net.reads[name] if task.duration]
        writes = [task for task in net.writes[name] if task.duration]
        begin = self.cp.new_int_var(0, 0 if name == self.pinned else self.period - 1, f"begin {name}")
        execution = net.execution[name]
        reading, writing = sum(task.duration for task in reads), sum(task.duration for task in writes)
        total = reading + execution + writing
        longest = total + self.idle[net.binding[name]]
        core = net.binding[name]
        if core == net.binding[self.pinned] and name != self.pinned:
            self.cp.add(begin + total <= self.period)
        if not reads and not writes:
            self.start[name] = begin
            self.wrapped(name, begin, total, total, (net.binding[name],))
            return
        span = self.cp.new_int_var(total, longest, f"span {name}")
        self.spans.setdefault(core, []).append((span, total))
        if core == net.binding[self.pinned]:
            self.cp.add(begin + span <= self.period)
        self.wrapped(name, begin, span, longest, (core,))
        start = self.cp.new_int_var(0, horizon, name)
        self.start[name] = start
        self.cp.add(start >= begin + reading)
        self.cp.add(start + execution + writing <= begin + span)
        own = []
        for task in (*reads, *writes):
            at = self.cp.new_int_var(0, horizon, task.name)
            later = self.cp.new_bool_var(f"later {task.name}")
            residue = self.cp.new_int_var(0, self.period - 1, f"residue {task.name}")
            self.cp.add(at == residue + self.period * later)
            self.start[task.name] = at
            self.cp.add(at >= begin)
            self.cp.add(at + task.duration <= begin + span)
            own.append(self.cp.new_fixed_size_interval_var(at, task.duration, f"own {task.name}"))
            self.wrapped(task.name, residue, task.duration, task.duration, task.route)
        for task in reads:
            self.cp.add(self.start[task.name] + task.duration <= start)
        for task in writes:
            self.cp.add(self.start[task.name] >= start + execution)
        if len(own) > 1:
            self.cp.add_no_overlap(own)

    def tokens(self) -> None:
        """On cycles, no token is read before it is written, counting the initial ones."""
        component = cyclic_components(self.net)
        self.stage = {name: self.cp.new_int_var(0, 3 * len(component), f"stage {name}") for name in component}
        reads, writes = self.net.read_tasks(), self.net.write_tasks()
        for buffer in self.net.network.buffers:
            write = writes[buffer.id]
            for task in reads[buffer.id]:
                if buffer.writer == task.actor or not on_one_cycle(component, buffer, task):
                    continue
                end, start = written(self.net, self.start, buffer, write), read(self.start, task)
                early = self.period * (self.stage[task.actor] + buffer.delay - self.stage[buffer.writer])
                self.cp.add(end <= start + early)


def _longest_on_busiest(net: MappedNetwork) -> str:
    loads = net.resource_loads()
    busiest = max(loads, key=lambda name: sum(loads[name].values()))
    on = {
        name
        for name in net.network.actors
        if net.binding[name] == busiest or any(busiest in task.route for task in (*net.reads[name], *net.writes[name]))
    }
    return max(on, key=lambda name: (_total(net, name), name))


def _total(net: MappedNetwork, name: str) -> int:
    return net.execution[name] + sum(task.duration for task in (*net.reads[name], *net.writes[name]))


def start_at(net: MappedNetwork, period: int, search: Search, hint: Mapping[str, int]) -> dict[str, int] | None:
    """Return start ticks at ``period``, an empty dictionary if there are none, None if undecided within the search.

    ``hint`` names starts that may be a good guess. Channels between actors on no common cycle are left to
    :func:`~shorthaul.dataflow.mapping.start_times.add_periods`.
    """
    from ortools.sat.python import cp_model

    if any(sum(tasks.values()) > period for tasks in net.resource_loads().values()):
        return {}
    model = _Model(net, period)
    for name in net.network.actors:
        model.firing(name)
    model.tokens()
    for core, spans in model.spans.items():
        model.cp.add(sum(span - total for span, total in spans) <= model.idle[core])
    for intervals in model.intervals.values():
        model.cp.add_no_overlap(intervals)
    for name, variable in model.start.items():
        model.cp.add_hint(variable, hint[name] % period)
    status, solver = solve_model(model.cp, search)
    if status == cp_model.INFEASIBLE:
        return {}
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    stage = {name: int(solver.value(variable)) for name, variable in model.stage.items()}
    owner = {task.name: name for name in stage for task in (*net.reads[name], *net.writes[name])}
    return {
        name: int(solver.value(variable)) + period * stage.get(owner.get(name, name), 0)
        for name, variable in model.start.items()
    }
