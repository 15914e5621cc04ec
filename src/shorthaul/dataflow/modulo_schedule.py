"""The exact model: for a fixed period every start is a residue plus a multiple of it; bisection finds the least period.

A schedule of period P stays one when every residue is kept and P grows, so that bisection is exact. An interval that
crosses the end of the period wraps around: every interval also stands one period later, and none may overlap.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from shorthaul.dataflow.binding import MappedNetwork, Task
from shorthaul.dataflow.plan import Point

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def modulo_schedule(
    net: MappedNetwork, least: int, seconds: float, hint: Point | None
) -> tuple[int, dict[str, int], int]:
    """Return the least period found, its start ticks, and the least period not excluded (equal to it when proven).

    ``least`` is a lower bound on the period. The search stops after about ``seconds``.
    """
    deadline = time.monotonic() + seconds
    high, starts = serial_schedule(net) if hint is None else (hint.period, dict(hint.starts))
    low = least
    first = True
    while low < high:
        middle = low if first else (low + high) // 2
        first = False
        left = deadline - time.monotonic()
        if left <= 0:
            break
        answer = _at_period(net, middle, left, starts)
        if answer is None:  # undecided in the time left: nothing below is proven any more
            break
        if answer:
            high, starts = middle, answer
        else:
            low = middle + 1
    return high, starts, low


def serial_schedule(net: MappedNetwork) -> tuple[int, dict[str, int]]:
    """Return period and start ticks of one firing after the other in topological order: always a schedule."""
    waiting = dict.fromkeys(net.network.actors, 0)
    out: dict[str, list[str]] = {name: [] for name in net.network.actors}
    for buffer in net.network.buffers:
        for reader in buffer.readers if buffer.delay == 0 else ():
            waiting[reader] += 1
            out[buffer.writer].append(reader)
    ready = [name for name in net.network.actors if not waiting[name]]
    now = 0
    starts: dict[str, int] = {}
    while ready:
        name = ready.pop(0)
        for task in net.reads[name]:
            starts[task.name] = now
            now += task.duration
        for task in net.reads[name]:
            if not task.duration:
                starts[task.name] = now
        starts[name] = now
        now += net.execution[name]
        end = now
        for task in net.writes[name]:
            starts[task.name] = now if task.duration else end
            now += task.duration
        for reader in out[name]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return max(1, now), starts


class _Model:
    """The constraints of one period, built up actor by actor."""

    def __init__(self, net: MappedNetwork, period: int) -> None:
        from ortools.sat.python import cp_model

        self.cp = cp_model.CpModel()
        self.net = net
        self.period = period
        self.stages = 3 * len(net.network.actors) + 2
        self.start: dict[str, Any] = {}
        self.intervals: dict[str, list[Any]] = {}

    def wrapped(self, name: str, start: Any, size: Any, most: int, resources: tuple[str, ...]) -> None:
        """Keep [start, start + size) modulo the period to itself on every resource."""
        residue = self.cp.new_int_var(0, self.period - 1, f"residue {name}")
        stage = self.cp.new_int_var(0, self.stages, f"stage {name}")
        self.cp.add(start == residue + self.period * stage)
        for copy in (0, self.period):
            end = self.cp.new_int_var(copy, copy + self.period - 1 + most, f"end {name} {copy}")
            interval = self.cp.new_interval_var(residue + copy, size, end, f"{name} {copy}")
            for resource in resources:
                self.intervals.setdefault(resource, []).append(interval)

    def firing(self, name: str) -> None:
        """Add reads, execution and writes of one actor, which hold its core from first to last."""
        net, horizon = self.net, self.period * (self.stages + 1)
        reads = [task for task in net.reads[name] if task.duration]
        writes = [task for task in net.writes[name] if task.duration]
        begin = self.cp.new_int_var(0, horizon, f"begin {name}")
        finish = self.cp.new_int_var(0, horizon, f"finish {name}")
        execution = net.execution[name]
        parts: list[Task] = [*reads, *writes]
        total = execution + sum(task.duration for task in parts)
        span = self.cp.new_int_var(total, max(total, self.period), f"span {name}")
        self.cp.add(finish == begin + span)
        self.wrapped(name, begin, span, max(total, self.period), (net.binding[name],))
        own = []
        if parts:
            start = self.cp.new_int_var(0, horizon, name)
            self.cp.add(start >= begin + sum(task.duration for task in reads))
            self.cp.add(start + execution + sum(task.duration for task in writes) <= finish)
        else:
            start = begin
        self.start[name] = start
        for task in parts:
            at = self.cp.new_int_var(0, horizon, task.name)
            self.start[task.name] = at
            self.cp.add(at >= begin)
            self.cp.add(at + task.duration <= finish)
            own.append(self.cp.new_fixed_size_interval_var(at, task.duration, f"own {task.name}"))
            self.wrapped(task.name, at, task.duration, task.duration, task.route)
        for task in reads:
            self.cp.add(self.start[task.name] + task.duration <= start)
        for task in writes:
            self.cp.add(self.start[task.name] >= start + execution)
        if len(own) > 1:
            self.cp.add_no_overlap(own)

    def tokens(self) -> None:
        """No token is read before it is written, counting the initial ones."""
        reads = self.net.read_tasks()
        for buffer in self.net.network.buffers:
            write = self.net.write_task(buffer)
            if write.duration:
                written = self.start[write.name] + write.duration
            else:
                written = self.start[buffer.writer] + self.net.execution[buffer.writer]
            for task in reads[buffer.id]:
                read = self.start[task.name] if task.duration else self.start[task.actor]
                self.cp.add(written <= read + self.period * buffer.delay)


def _at_period(net: MappedNetwork, period: int, seconds: float, hint: dict[str, int]) -> dict[str, int] | None:
    """Return start ticks at ``period``, an empty dictionary if there are none, None if undecided in time."""
    from ortools.sat.python import cp_model

    model = _Model(net, period)
    for name in net.network.actors:
        total = net.execution[name] + sum(t.duration for t in (*net.reads[name], *net.writes[name]))
        if total > period:
            return {}
        model.firing(name)
    model.tokens()
    for intervals in model.intervals.values():
        model.cp.add_no_overlap(intervals)
    for name, variable in model.start.items():
        model.cp.add_hint(variable, hint[name])
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(0.01, seconds)
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = solver.solve(model.cp)
    if status == cp_model.INFEASIBLE:
        return {}
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    return _all_starts(net, model.start, solver)


def _all_starts(net: MappedNetwork, variables: dict[str, Any], solver: cp_model.CpSolver) -> dict[str, int]:
    """The solver's starts; accesses that take no time stand at the ends of their execution."""
    starts = {name: int(solver.value(variable)) for name, variable in variables.items()}
    for name in net.network.actors:
        for task in net.reads[name]:
            starts.setdefault(task.name, starts[name])
        for task in net.writes[name]:
            starts.setdefault(task.name, starts[name] + net.execution[name])
    return starts
