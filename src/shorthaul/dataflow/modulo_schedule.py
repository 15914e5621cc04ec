"""The exact model: for a fixed period every start is a residue plus a multiple of it; bisection finds the least period.

A schedule of period P stays one when every residue is kept and P grows, so that bisection is exact. An interval that
crosses the end of the period wraps around: every interval also stands one period later, and none may overlap.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from shorthaul.dataflow.binding import MappedNetwork, Task
from shorthaul.dataflow.mrb import Buffer
from shorthaul.dataflow.plan import Point


def modulo_schedule(
    net: MappedNetwork, least: int, seconds: float, hint: Point | None
) -> tuple[int, dict[str, int], int]:
    """Return the least period found, its start ticks, and the least period not excluded (equal to it when proven).

    ``least`` is a lower bound on the period. The search stops after about ``seconds``.
    """
    deadline = time.monotonic() + seconds
    high, starts = serial_schedule(net) if hint is None else (hint.period, dict(hint.starts))
    low = proven = least
    first = True
    while low < high:
        middle = low if first else (low + high) // 2
        first = False
        left = deadline - time.monotonic()
        if left <= 0:
            break
        answer = _at_period(net, middle, left / 2, starts)
        if answer:
            high, starts = middle, answer
            continue
        low = middle + 1
        if answer is not None:  # no schedule here, and so none below; undecided periods are passed over without proof
            proven = low
    return high, starts, proven


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
        stage = {name: self.cp.new_int_var(0, 3 * len(component), f"stage {name}") for name in component}
        reads = self.net.read_tasks()
        for buffer in self.net.network.buffers:
            write = self.net.write_task(buffer)
            for task in reads[buffer.id]:
                if buffer.writer == task.actor or component.get(buffer.writer, -1) != component.get(task.actor, -2):
                    continue
                end, start = _written(self.net, self.start, buffer, write), _read(self.start, task)
                early = self.period * (stage[task.actor] + buffer.delay - stage[buffer.writer])
                self.cp.add(end <= start + early)


def _written(net: MappedNetwork, start: Mapping[str, Any], buffer: Buffer, write: Task) -> Any:
    if write.duration:
        return start[write.name] + write.duration
    return start[buffer.writer] + net.execution[buffer.writer]


def _read(start: Mapping[str, Any], task: Task) -> Any:
    return start[task.name] if task.duration else start[task.actor]


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


def cyclic_components(net: MappedNetwork) -> dict[str, int]:
    """Return, for every actor on a cycle of several, the number of its strongly connected component."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = net.network.actors
    number = {name: i for i, name in enumerate(names)}
    pairs = [(number[b.writer], number[reader]) for b in net.network.buffers for reader in b.readers]
    if not pairs:
        return {}
    src, dst = zip(*pairs, strict=True)
    graph = coo_array(([1] * len(pairs), (src, dst)), shape=(len(names), len(names)))
    _, label = connected_components(graph, directed=True, connection="strong")
    labels = label.tolist()
    return {name: labels[i] for name, i in number.items() if labels.count(labels[i]) > 1}


def _at_period(net: MappedNetwork, period: int, seconds: float, hint: dict[str, int]) -> dict[str, int] | None:
    """Return start ticks at ``period``, an empty dictionary if there are none, None if undecided in time."""
    from ortools.sat.python import cp_model

    if any(_total(net, name) > period for name in net.network.actors):
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
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(0.01, seconds)
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = solver.solve(model.cp)
    if status == cp_model.INFEASIBLE:
        return {}
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    starts = {name: int(solver.value(variable)) for name, variable in model.start.items()}
    return settled(net, staged(net, starts, period))


def staged(net: MappedNetwork, starts: dict[str, int], period: int) -> dict[str, int]:
    """Add whole periods to every firing so that tokens are there when read and buffers hold as few bytes as possible.

    A linear program over the stages, integral because every constraint is a difference of two of them.
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    names = {name: i for i, name in enumerate(net.network.actors)}
    reads = net.read_tasks()
    rows: list[tuple[list[tuple[int, int]], int]] = []
    cost = np.zeros(len(names) + len(net.network.buffers))
    lower = [0.0] * len(names)
    for number, buffer in enumerate(net.network.buffers):
        write = net.write_task(buffer)
        tokens = len(names) + number
        cost[tokens] = buffer.token_bytes + 1
        lower.append(float(max(1, buffer.delay)))
        held_from = starts[write.name] if write.duration else starts[buffer.writer]
        for task in reads[buffer.id]:
            u, v = names[buffer.writer], names[task.actor]
            end, start = _written(net, starts, buffer, write), _read(starts, task)
            held_to = start + (task.duration or net.execution[task.actor])
            # stage u - stage v <= delay + floor((read - written) / period)
            rows.append(([(u, 1), (v, -1)] if u != v else [], buffer.delay + (start - end) // period))
            # tokens >= delay + stage v - stage u + ceil((held to - held from) / period)
            pair = [(v, 1), (u, -1)] if u != v else []
            rows.append(([*pair, (tokens, -1)], -buffer.delay + (held_from - held_to) // period))
    entries = [(i, column, value) for i, (row, _) in enumerate(rows) for column, value in row]
    matrix = coo_array(
        ([e[2] for e in entries], ([e[0] for e in entries], [e[1] for e in entries])), shape=(len(rows), len(cost))
    )
    limits = [(low, None) for low in lower]
    solved = linprog(cost, A_ub=matrix.tocsr(), b_ub=[limit for _, limit in rows], bounds=limits, method="highs-ds")
    stage = {name: round(float(solved.x[i])) for name, i in names.items()}
    owner = {task.name: name for name in names for task in (*net.reads[name], *net.writes[name])}
    return {name: at + period * stage[owner.get(name, name)] for name, at in starts.items()}


def settled(net: MappedNetwork, starts: dict[str, int]) -> dict[str, int]:
    """Return the starts with accesses that take no time put at the ends of their execution."""
    placed = dict(starts)
    for name in net.network.actors:
        for task in net.reads[name]:
            if not task.duration:
                placed[task.name] = placed[name]
        for task in net.writes[name]:
            if not task.duration:
                placed[task.name] = placed[name] + net.execution[name]
    return placed
