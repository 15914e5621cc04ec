"""Networks on machines: what ``plan``, ``bound`` and ``check`` do with an ONNX model and ``--machine``."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any, Final

from shorthaul.core.amounts import Bound
from shorthaul.core.cases import Source
from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.errors import DefectError, InputError
from shorthaul.core.figure import Bar, Bars, Line, OfPoint, Series, Table, by_argument
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import NetworkReplay
from shorthaul.tensor.formats.documents import RESULT_KIND
from shorthaul.tensor.networks.bounds.latency import bound as bound_of
from shorthaul.tensor.networks.machine import Machine, load_machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import NetworkPlan
from shorthaul.tensor.options import MachineOptions, PlanOptions, RunOptions
from shorthaul.tensor.verbs.network_costs import Row, cost_of, replay_on, rows_of
from shorthaul.tensor.verbs.network_search import planned

#: Options of the contest's problems alone.
_OF_THE_CONTEST: Final = frozenset({"rules", "restarts", "bound"})


def plan_network(network: Network, options: PlanOptions, search: Search, source: Source[Any]) -> Result[Any, Any]:
    """Return the groups and tiles found for ``network`` on the machine that ``options`` name, checked."""
    machine = machine_of_options(options)
    with search:
        plan, replayed = planned(network, machine, search, options.objective)
        return _result("plan", network, machine, plan, replayed, options, search, source)


def report_of(network: Network, plan: NetworkPlan, options: MachineOptions) -> CheckReport:
    """Return what a replay finds of a plan that a journal holds."""
    return report_on(network, plan, machine_of_options(options))


def report_on(network: Network, plan: NetworkPlan, machine: Machine) -> CheckReport:
    """Return what a replay finds of a plan on a machine."""
    replayed = replay_on(network, plan, machine)
    return CheckReport(tuple(replayed.violations), cost_of(rows_of(network, machine, plan, replayed)), network.remarks)


def check_network(
    network: Network, plan: object, options: MachineOptions, search: Search, source: Source[Any]
) -> Result[Any, Any]:
    """Return what a replay of ``plan`` finds; raises :class:`InputError` if it is no plan of a network."""
    machine, plan, replayed = _replayed(network, plan, options)
    return _result("check", network, machine, plan, replayed, options, search, source)


def _replayed(network: Network, plan: object, options: MachineOptions) -> tuple[Machine, NetworkPlan, NetworkReplay]:
    machine = machine_of_options(options)
    if not isinstance(plan, NetworkPlan):
        raise InputError("is no plan of a network", place="plan", value=plan, allowed="what 'tensor plan' makes of it")
    return machine, plan, replay_on(network, plan, machine)


def run_network(
    network: Network, plan: object, options: RunOptions, search: Search, source: Source[Any]
) -> Result[Any, Any]:
    """Return what executing ``plan`` tile by tile moves and computes, beside what a replay finds of it."""
    machine, plan, replayed = _replayed(network, plan, options)
    checked = _result("check", network, machine, plan, replayed, options, search, source)
    assert checked.check is not None
    extra: dict[str, Any] = {**checked.extra, "run": None}
    if replayed.violations:
        return replace(checked, extra=extra)
    from shorthaul.tensor.networks.execution.verdict import execute

    with search:
        outcome = execute(network, plan, options.inputs, search)
    for number, (seen, done) in enumerate(zip(replayed.groups, outcome.moved, strict=True)):
        counted, told = (done.loads_bytes, done.stores_bytes), (seen.loads_bytes, seen.stores_bytes)
        if not all(math.isclose(a, b, rel_tol=1e-9, abs_tol=0.5) for a, b in zip(counted, told, strict=True)):
            raise DefectError(f"group {number} moves {counted} bytes when executed, {told} when replayed")
        for operator, operations in seen.operations.items():
            executed = done.operations.get(operator, 0.0)
            if not math.isclose(executed, operations, rel_tol=1e-9):
                text = f"does {executed} operations when executed, {operations} when replayed"
                raise DefectError(f"group {number}: {network.operators[operator].name} {text}")
    extra["run"] = {
        "loads_bytes": sum(done.loads_bytes for done in outcome.moved),
        "stores_bytes": sum(done.stores_bytes for done in outcome.moved),
        "largest_error": None if outcome.compared_with is None else max(outcome.errors.values(), default=0.0),
        "compared_with": outcome.compared_with,
        "error_as_given": outcome.error_as_given,
        "not_finite": outcome.not_finite,
        "random_weights": outcome.random_weights,
        "outputs": list(outcome.outputs),
    }
    wrong = [
        Violation("output-differs", f"output {name}", f"differs from {outcome.compared_with}", error, outcome.tolerance)
        for name, error in outcome.errors.items()
        if not error <= outcome.tolerance
    ]
    remarks = (*checked.check.remarks, *filter(None, [outcome.remark]))
    report = replace(checked.check, violations=(*checked.check.violations, *wrong), remarks=remarks)
    status = Status.INVALID if wrong else checked.status
    told_by = replace(checked.provenance, command="tensor run") if checked.provenance is not None else None
    return replace(checked, status=status, check=report, extra=extra, provenance=told_by)


def bound_network(network: Network, options: MachineOptions, search: Search, source: Source[Any]) -> Result[Any, Any]:
    """Return the lower bound on the latency of every plan of ``network``."""
    machine = machine_of_options(options)
    found = bound_of(network, machine)
    return Result(
        kind=RESULT_KIND,
        status=None,
        bound=found,
        provenance=provenance("tensor bound", options=options, source=source, search=search),
        extra={"rules": "network", "machine": machine.name},
        figures=(by_argument("latency (s)", found.details["values"]),),
    )


def machine_of_options(options: MachineOptions) -> Machine:
    """Return the machine; raises :class:`InputError` for options that say nothing of networks."""
    for item in fields(options):
        value = getattr(options, item.name)
        if item.name in _OF_THE_CONTEST and value != item.default:
            cure = "leave it out: a network has rules of its own, one search, and no certificate of its bound"
            raise InputError("does not go with --machine", place=f"--{item.name}", value=value, cure=cure)
    assert options.machine is not None
    return load_machine(options.machine)


def _result(
    verb: str,
    network: Network,
    machine: Machine,
    plan: NetworkPlan,
    replayed: NetworkReplay,
    options: MachineOptions,
    search: Search,
    source: Source[Any],
) -> Result[Any, Any]:
    rows = rows_of(network, machine, plan, replayed)
    cost = cost_of(rows)
    floor: Bound = bound_of(network, machine, brief=search.is_late())
    report = CheckReport(tuple(replayed.violations), cost, network.remarks)
    status = Status.INVALID
    if report.ok:
        status = Status.OPTIMAL if floor.is_met_by(cost["latency_s"]) else Status.FEASIBLE
    return Result(
        kind=RESULT_KIND,
        status=status,
        cost=cost,
        bound=floor,
        check=report,
        plan=plan,
        provenance=provenance(f"tensor {verb}", options=options, source=source, search=search),
        extra={"rules": "network", "operations": network.operations(), "machine": machine.name},
        figures=_figures(network, machine, rows, replayed),
    )


def figures_of_network(network: Network, plan: NetworkPlan, machine: Machine) -> tuple[OfPoint, ...]:
    """Return what there is to see of a plan for a network."""
    replayed = replay_on(network, plan, machine)
    return _figures(network, machine, rows_of(network, machine, plan, replayed), replayed)


def _figures(network: Network, machine: Machine, rows: list[Row], replayed: NetworkReplay) -> tuple[OfPoint, ...]:
    traffic = [f"{level.name} s" for level in machine.levels[: len(rows[0].memory_s) if rows else 1]]
    columns = (
        *("group", "operators", "tiles", "steps", "matrix s", "vector s", *traffic),
        *("steps in turn s", "latency s", "bound by", "loaded bytes", "stored bytes", "peak bytes", "energy J"),
    )
    groups = Table(
        "Groups",
        columns,
        tuple(
            (
                *(row.number, _short(row.names), row.loops or "-", row.steps, row.matrix_s, row.vector_s),
                *(*row.memory_s, row.steps_s, row.latency_s, row.bound_by, row.loads, row.stores, row.peak, row.energy),
            )
            for row in rows
        ),
        note="Tiles are named from the outermost loop to the innermost; dimensions without a tile are whole. Steps in "
        "turn count, one after the other, what each computes or what passes beside it, whichever is longer.",
    )
    return _roofline(machine, rows), _timeline(machine, rows), _operators(network, machine, replayed), groups


def _timeline(machine: Machine, rows: list[Row]) -> Bars:
    """Return when each group keeps units and memories busy, in microseconds."""
    bars, start = [], 0.0
    for row in rows:
        lanes = {"groups": row.latency_s, "matrix unit": row.matrix_s, "vector unit": row.vector_s}
        lanes |= {f"from {level.name}": seconds for level, seconds in zip(machine.levels, row.memory_s, strict=False)}
        label = f"group {row.number}: {_short(row.names)}"
        bars += [
            Bar(lane, start * 1e6, (start + seconds) * 1e6, label, row.bound_by)
            for lane, seconds in lanes.items()
            if seconds > 0
        ]
        start += row.latency_s
    note = "Within a group, work is drawn from its beginning; a memory that is not double buffered comes on top."
    return Bars("Schedule", "microseconds", tuple(bars), note)


def _short(names: tuple[str, ...]) -> str:
    return " ".join(names) if len(names) <= 6 else f"{' '.join(names[:3])} ... {' '.join(names[-2:])} ({len(names)})"


def _operators(network: Network, machine: Machine, replayed: NetworkReplay) -> Table:
    rows = []
    for number, seen in enumerate(replayed.groups):
        for operator, operations in sorted(seen.operations.items()):
            item = network.operators[operator]
            begins, steps = item.first or (0,) * len(item.dims), item.steps or (1,) * len(item.dims)
            extents = " ".join(
                f"{name}:{low}..{low + by * (size - 1)}{f':{by}' if by > 1 else ''}"
                if low or by > 1
                else f"{name}:{size}"
                for name, low, by, size in zip(item.dim_names, begins, steps, item.dims, strict=True)
            )
            seconds = seen.filled[operator] * machine.seconds_per_operation(item.unit, network.bits(operator))
            again = operations / item.operations if item.operations else 1.0
            rows.append((item.name, item.kind, number, extents or "-", operations, round(again, 4), item.unit, seconds))
    columns = ("operator", "kind", "group", "extents", "operations", "times computed", "unit", "unit s")
    note = "Of an operator of which outputs need a part, extents say from where to where (in what steps), or how far."
    return Table("Operators", columns, tuple(rows), note=note)


def _roofline(machine: Machine, rows: list[Row]) -> Series:
    """Return how fast each group runs over its operations per byte, under the roof of the machine."""
    import numpy as np

    bandwidth = machine.levels[0].bandwidth_bytes_per_s
    rates = machine.units["matrix"].operations_per_cycle
    peak = max(rates.values()) * machine.clock_hz
    moving = [row for row in rows if row.loads + row.stores > 0 and row.latency_s > 0]
    places = [row.operations / (row.loads + row.stores) for row in moving]
    ends = [peak / bandwidth, *(place for place in places if place > 0)]
    axis = [float(x) for x in np.geomspace(min(ends) / 4, max(ends) * 4, 65)]
    roof = Line("the machine", tuple(axis), tuple(min(peak, bandwidth * x) for x in axis))
    dots = Line("groups", tuple(places), tuple(row.operations / row.latency_s for row in moving), "points")
    title = f"Roofline of {machine.name}"
    return Series(title, "operations per byte", "operations per second", (roof, dots), log_x=True, log_y=True)
