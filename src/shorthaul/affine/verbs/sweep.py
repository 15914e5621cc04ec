"""The verb sweep: the bound beside the loads of a derived order over a range of fast memories."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from shorthaul.affine import tuning, views
from shorthaul.affine.bounds.best import AffineBound, lower_bound
from shorthaul.affine.effort import OutOfEffortError, charged_to
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions, SweepOptions
from shorthaul.affine.orders.sized import at_sizes
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.orders.upper_report import orders_text
from shorthaul.affine.plan import Plan, SweepExtra, SweepPoint
from shorthaul.affine.sizes import FAST_MEMORY, require_sizes
from shorthaul.affine.verbs.bound import (
    KIND,
    bytes_of_loads,
    dependences_in_time,
    operations_at,
    upper_bound_in_time,
    upper_document_in_time,
)
from shorthaul.affine.verbs.data_flow import drawn_data_flow
from shorthaul.affine.verbs.inputs import PLANS, PROGRAMS, Workload
from shorthaul.affine.verbs.machines import on_machine
from shorthaul.affine.verbs.room import lack_of_room
from shorthaul.core.errors import InputError
from shorthaul.core.machines.memories import FastMemory
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result
from shorthaul.core.search import Search, SweepSearchOptions
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.core.verbs import asked, verb

if TYPE_CHECKING:
    from shorthaul.affine.verbs.keywords import SweepKeywords


class _Order:
    """A derived order of a program. A process that it is sent to derives it again: integer sets do not travel."""

    def __init__(self, program: Program, flow: DataFlow | None = None, upper: UpperBound | None = None) -> None:
        self.program, self.flow, self.upper = program, flow, upper

    def __reduce__(self) -> tuple[Any, ...]:
        return _sent, (pickle.dumps(self.program),)

    def at(self, sizes: Mapping[str, int], search: Search) -> UpperBound:
        """Return the order at ``sizes``; deriving it takes time, but no effort: the search that sent it has paid."""
        if self.flow is None or self.upper is None:
            remaining_s = search.remaining_s()
            with charged_to(Search(time_limit=max(1e-3, remaining_s) if remaining_s < float("inf") else None)):
                self.flow = flow_dependences(self.program)
                self.upper = upper_bound(self.program, flow=self.flow)
        with charged_to(search):
            return at_sizes(self.upper, self.flow, sizes)


@functools.lru_cache(maxsize=1)
def _sent(program: bytes) -> _Order:
    return _Order(pickle.loads(program))


@dataclass(frozen=True, slots=True)
class _Task:
    """A size of fast memory, and the order to be fitted to it: None where no operation fits or none was derived."""

    order: _Order | None
    sizes: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Loads:
    """What an order loads, and which one it is; None where there is none."""

    words: float | None = None
    bytes: float | None = None
    order: str | None = None


@verb(SweepOptions, PROGRAMS, PLANS, searching=SweepSearchOptions, points=_Loads)
def sweep(workload: Workload, **keywords: Unpack[SweepKeywords]) -> Result[Plan, SweepExtra]:
    """Return the bound beside the loads of a derived order over a range of S, at the sizes given.

    ``extra["points"]`` has ``S``, ``bound``, ``loads_words`` (what the derived order's formula says; None where no
    operation fits), both in bytes too (``bound_bytes``, ``loads_bytes``), and the operational intensities ``oi_limit``
    and ``oi_reached`` that follow, per word or per byte (``unit``); with ``balance`` also the shares of the machine's
    peak, ``peak_limit`` and ``peak_reached``.

    Returns
    -------
    Result[Plan, SweepExtra]
        In ``extra["points"]`` one entry per S.

    Raises
    ------
    InputError
        If the C source or a keyword is wrong, or a size is missing.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import case
    >>> len(sweep(case("gemm").workload, size="NI=9,NJ=9,NK=9", least=4, most=64, points=5).extra["points"])
    5
    """
    program, options, search, source = asked(workload, PROGRAMS, SweepOptions, keywords)
    sizes = require_sizes(options.size, program, fast_memory=False)
    memory = on_machine(options)
    if options.least > options.most:
        raise InputError("is above --most", place="--least", value=options.least, allowed=f"up to {options.most}")
    spaced = np.unique(np.round(np.geomspace(options.least, options.most, options.points)).astype(np.int64)).tolist()
    with search, charged_to(search):
        flow = dependences_in_time(program)
        found = lower_bound(
            program, BoundOptions(profile=options.profile), flow=flow, search=search, share=tuning.LOWER_SHARE
        )
        upper = upper_bound_in_time(program, flow, search)
        widths = bytes_of_loads(program, sizes, flow)
        order = None if flow is None or upper is None else _Order(program, flow, upper)
        too_small = lack_of_room(program, sizes, spaced[0])
        least = 0 if too_small is None else too_small.demand
        tasks = [_Task(order if size >= least else None, {**sizes, FAST_MEMORY: size}) for size in spaced]
        loads = {}
        for number, answer in run_tasks(_loads, tasks, search=search, shares_time=False):
            loads[number] = answer
            search.report(what=f"{len(loads)} of {len(tasks)}")
        points = [_point(found, loads[at], tasks[at].sizes, options, widths, memory) for at in sorted(loads)]
        document = upper_document_in_time(upper, found.leading, None, None)
    extra: SweepExtra = {
        "points": points,
        "operations": operations_at(found, sizes),
        "formula": str(found.formula),
        "upper": document,
    }
    if memory is not None:
        extra["machine"] = memory.document()
    return Result(
        kind=KIND,
        status=None,
        provenance=provenance("affine sweep", options=options, source=source, search=search),
        extra=extra,
        figures=(*views.of_sweep(points, options.balance, options.unit), *drawn_data_flow(flow)),
    )


def _loads(task: _Task, search: Search) -> _Loads:
    if task.order is None:
        return _Loads()
    try:
        best = task.order.at(task.sizes, search)
    except OutOfEffortError:
        return _Loads()
    return _Loads(best.value(task.sizes), best.value_bytes(task.sizes), orders_text(best))


def _point(
    found: AffineBound,
    loads: _Loads,
    sizes: Mapping[str, int],
    options: SweepOptions,
    widths: tuple[int, int],
    memory: FastMemory | None,
) -> SweepPoint:
    value, work = max(0.0, found.value(sizes)), operations_at(found, sizes)
    point: dict[str, Any] = {"S": sizes[FAST_MEMORY], "bound": value}
    point["loads_words"] = loads.words
    point["bound_bytes"] = value * widths[0] + widths[1]
    point["loads_bytes"] = loads.bytes
    if loads.order is not None:
        point["order"] = loads.order
    for name in ("bound", "loads"):
        if memory is not None and point[f"{name}_bytes"] is not None:
            point |= memory.moved(name, point[f"{name}_bytes"])
    least, most = ("bound_bytes", "loads_bytes") if options.unit == "bytes" else ("bound", "loads_words")
    point["oi_limit"] = work / point[least] if work is not None and point[least] else None
    point["oi_reached"] = work / point[most] if work is not None and point[most] else None
    if options.balance is not None:
        for name in ("limit", "reached"):
            intensity = point[f"oi_{name}"]
            point[f"peak_{name}"] = None if intensity is None else min(1.0, intensity / options.balance)
        point["may_be_compute_bound"] = point["peak_limit"] in (None, 1.0)
    return cast("SweepPoint", point)
