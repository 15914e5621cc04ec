"""Starts of all iterations from starts modulo the period: whole periods per firing, and accesses that take no time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shorthaul.dataflow import tuning
from shorthaul.dataflow.graphs.multi_reader_buffers import Buffer
from shorthaul.dataflow.mapping.binding import MappedNetwork, Task, held_since, held_until


def written(net: MappedNetwork, start: Mapping[str, Any], buffer: Buffer, write: Task) -> Any:
    """Return when the token of a write is there, for starts that are numbers or variables of a model."""
    if write.duration:
        return start[write.name] + write.duration
    return start[buffer.writer] + net.execution[buffer.writer]


def read(start: Mapping[str, Any], task: Task) -> Any:
    """Return when a read needs its token, for starts that are numbers or variables of a model."""
    return start[task.name] if task.duration else start[task.actor]


def add_periods(
    net: MappedNetwork, starts: dict[str, int], period: int, capacities: Mapping[str, int], *, atomic: bool,
    limits: Mapping[str, int | None] | None = None, time_limit_s: float = float("inf"), soon: bool = False,
) -> dict[str, int] | None:  # fmt: skip
    """Add whole periods to every firing so that tokens are there when read and buffers hold as few bytes as possible.

    The buffers named in ``capacities`` hold no more tokens than that, and those in one memory no more bytes than its
    limit in ``limits``; with ``atomic``, places are held from firing to firing. None if there are no such stages. A
    linear program over the stages, its vertices integral without ``limits``: every constraint is a difference of two of
    them. ``soon``: readers come soon after their writers, whatever buffers then hold. With ``limits``, none is found
    either where ``time_limit_s`` does not suffice.
    """
    actors, buffers = net.network.actors, net.network.buffers
    column = {name: i for i, name in enumerate(actors)}
    reads, writes = net.read_tasks(), net.write_tasks()
    # no constraint asks for more than two periods between two firings, beyond those that the starts are apart
    last = 2 * len(actors) + 2 + (max(starts.values()) - min(starts.values())) // period
    bounds = [(0, last)] * len(actors)
    rows: list[tuple[dict[int, int], int]] = []
    for tokens, buffer in enumerate(buffers, len(actors)):
        write, u = writes[buffer.id], column[buffer.writer]
        own = tokens_to_itself(net, buffer, write, atomic=atomic)
        most = max(own, capacities[buffer.id]) if buffer.id in capacities else own + 2 * last + buffer.delay
        bounds.append((own, most))
        held_from = held_since(net, starts, write, atomic=atomic)
        for task in reads[buffer.id]:
            v = column[task.actor]
            end, start = written(net, starts, buffer, write), read(starts, task)
            held_to = held_until(net, starts, task, atomic=atomic)
            # stage u - stage v <= delay + floor((read - written) / period)
            rows.append(({u: 1, v: -1} if u != v else {}, buffer.delay + (start - end) // period))
            # tokens >= delay + stage v - stage u + ceil((held to - held from) / period)
            difference = {v: 1, u: -1} if u != v else {}
            rows.append(({**difference, tokens: -1}, -buffer.delay + (held_from - held_to) // period))
    for name, limit in (limits or {}).items():
        held = {i: b.token_bytes for i, b in enumerate(buffers, len(actors)) if net.memory[b.id] == name}
        if limit is not None and held:
            rows.append((held, limit))
    cost = [0] * len(actors) + [0 if soon else buffer.token_bytes + 1 for buffer in buffers]
    for buffer in buffers if soon else ():
        for reader in buffer.readers:
            cost[column[reader]] += 1
            cost[column[buffer.writer]] -= 1
    solved = _minimise(cost, bounds, rows) if limits is None else _minimise_integral(cost, bounds, rows, time_limit_s)
    if solved is None:
        return None
    owner = {task.name: name for name in actors for task in (*net.reads[name], *net.writes[name])}
    return {name: at + period * solved[column[owner.get(name, name)]] for name, at in starts.items()}


def _minimise(
    cost: Sequence[int], bounds: Sequence[tuple[int, int]], rows: Sequence[tuple[Mapping[int, int], int]]
) -> list[int] | None:
    """Return a vertex of least cost within bounds on the variables and rows (factors, most); None if there is none."""
    from ortools.linear_solver import pywraplp  # SciPy's take several times as long to import

    solver = pywraplp.Solver.CreateSolver("GLOP")
    variables = [solver.NumVar(low, high, "") for low, high in bounds]
    for variable, price in zip(variables, cost, strict=True):
        solver.Objective().SetCoefficient(variable, price)
    solver.Objective().SetMinimization()
    for factors, most in rows:
        row = solver.Constraint(-solver.infinity(), most)
        for i, factor in factors.items():
            row.SetCoefficient(variables[i], factor)
    solved = solver.Solve() == pywraplp.Solver.OPTIMAL
    return [round(variable.solution_value()) for variable in variables] if solved else None


def _minimise_integral(
    cost: Sequence[int], bounds: Sequence[tuple[int, int]], rows: Sequence[tuple[Mapping[int, int], int]],
    time_limit_s: float,
) -> list[int] | None:  # fmt: skip
    """Return as :func:`_minimise` does whole numbers, of small cost; also None where the work does not suffice."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = [model.new_int_var(low, high, "") for low, high in bounds]
    for factors, most in rows:
        model.add(sum(factor * variables[i] for i, factor in factors.items()) <= most)
    model.minimize(sum(price * variable for price, variable in zip(cost, variables, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = tuning.STAGES_TIME
    solver.parameters.max_time_in_seconds = min(1e7, max(0.01, time_limit_s))
    solved = solver.solve(model) in {cp_model.OPTIMAL, cp_model.FEASIBLE}
    return [int(solver.value(variable)) for variable in variables] if solved else None


def place_timeless(net: MappedNetwork, starts: dict[str, int]) -> dict[str, int]:
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


def tokens_to_itself(net: MappedNetwork, buffer: Buffer, write: Task, *, atomic: bool) -> int:
    """Return the least tokens that a buffer holds in any schedule: one more than the delay for some actors' own."""
    if buffer.writer not in buffer.readers:
        return max(1, buffer.delay)
    accesses = sum(task.duration for task in (*net.reads[buffer.writer], *net.writes[buffer.writer]))
    if atomic:
        return buffer.delay + (net.execution[buffer.writer] + accesses > 0)
    return buffer.delay + (net.execution[buffer.writer] > 0 and not write.duration)


def serial_schedule(
    net: MappedNetwork, capacities: Mapping[str, int] | None = None
) -> tuple[int, dict[str, int]] | None:
    """Return period and start ticks of one firing after the other: always a schedule.

    With ``capacities`` (tokens per buffer), readers come before the writer where a buffer has room for no more than
    its initial tokens; None if the network has no such order.
    """
    waiting = dict.fromkeys(net.network.actors, 0)
    out: dict[str, list[str]] = {name: [] for name in net.network.actors}
    for buffer in net.network.buffers:
        full = capacities is not None and 0 < buffer.delay == capacities.get(buffer.id)
        for reader in buffer.readers if full or buffer.delay == 0 else ():
            before, after = (reader, buffer.writer) if full else (buffer.writer, reader)
            if before != after:
                waiting[after] += 1
                out[before].append(after)
    ready = [name for name in net.network.actors if not waiting[name]]
    now = 0
    starts: dict[str, int] = {}
    while ready:
        name = ready.pop(0)
        for task in net.reads[name]:
            starts[task.name] = now
            now += task.duration
        starts[name] = now
        now += net.execution[name]
        for task in net.writes[name]:
            starts[task.name] = now
            now += task.duration
        for follower in out[name]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    return None if any(waiting.values()) else (max(1, now), place_timeless(net, starts))
