"""The verb sweep: the bound beside the loads of a derived order over a range of fast memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from shorthaul.affine import tuning, views
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.effort import OutOfEffortError, charged_to
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.options import BoundOptions, SweepOptions
from shorthaul.affine.orders.searching import orders_at
from shorthaul.affine.orders.upper_bound import Formulas
from shorthaul.affine.orders.upper_report import orders_text
from shorthaul.affine.plan import Plan, SweepExtra, SweepPoint, UpperDocument
from shorthaul.affine.sizes import FAST_MEMORY, require_sizes
from shorthaul.affine.verbs.deriving import (
    KIND,
    bytes_of_loads,
    dependences_in_time,
    drawn_data_flow,
    operations_at,
    upper_document_in_time,
)
from shorthaul.affine.verbs.inputs import PLANS, PROGRAMS, Workload
from shorthaul.affine.verbs.machines import on_machine
from shorthaul.affine.verbs.room import lack_of_room
from shorthaul.affine.verbs.tasks import Derived, travelled
from shorthaul.core.errors import InputError
from shorthaul.core.machines.memories import FastMemory
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result
from shorthaul.core.search import Search, SweepSearchOptions
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.core.verbs import asked, verb

if TYPE_CHECKING:
    from shorthaul.affine.verbs.keywords import SweepKeywords


@dataclass(frozen=True, slots=True)
class _Task:
    """Sizes, and what was derived: to fit the order to them, or to find the bound for all of them with a profile."""

    derived: Derived
    sizes: tuple[Mapping[str, int], ...]
    profile: str = ""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The bound: its values at all sizes, the operations there, its formula, and the order beside it."""

    values: list[int | float]
    operations: float | None
    formula: str
    upper: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class _Loads:
    """What an order loads, and which one it is, None where there is none."""

    words: float | None = None
    bytes: float | None = None
    order: str | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """What an order loads at each of the sizes of a task, if it was found; or the bounds."""

    loads: tuple[_Loads, ...] = ()
    bounds: _Bounds | None = None


@verb(SweepOptions, PROGRAMS, PLANS, searching=SweepSearchOptions, points=_Found)
def sweep(workload: Workload, **keywords: Unpack[SweepKeywords]) -> Result[Plan, SweepExtra]:
    """Return the bound beside the loads of a derived order over a range of S, at the sizes given.

    ``extra["points"]`` has ``S``, ``bound``, ``loads_words`` (what the derived order's formula says; None where no
    operation fits, or none was found in time), both in bytes too (``bound_bytes``, ``loads_bytes``), and the
    operational intensities ``oi_limit`` and ``oi_reached`` that follow, per word or per byte (``unit``); with
    ``balance`` also the shares of the machine's peak, ``peak_limit`` and ``peak_reached``.

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
    >>> made = sweep(case("matvec").workload, size="M=9,N=9", least=4, most=64, points=3, effort=0.1)
    >>> len(made.extra["points"])
    3
    """
    program, options, search, source = asked(workload, PROGRAMS, SweepOptions, keywords)
    program = travelled(program)
    sizes = require_sizes(options.size, program, fast_memory=False, instead="; --least and --most say what it may be")
    memory = on_machine(options)
    if options.least > options.most:
        raise InputError("is above --most", place="--least", value=options.least, allowed=f"up to {options.most}")
    spaced = np.unique(np.round(np.geomspace(options.least, options.most, options.points)).astype(np.int64)).tolist()
    each = [{**sizes, FAST_MEMORY: size} for size in spaced]
    with search, charged_to(search):
        flow = dependences_in_time(program)
        formulas = _formulas(flow, search.part(1 - tuning.LOWER_SHARE))
        widths = bytes_of_loads(program, sizes, flow)
        derived = Derived(program, formulas is not None, flow, formulas)
        too_small = lack_of_room(program, sizes, spaced[0])
        least = float("inf") if formulas is None else 0 if too_small is None else too_small.demand
        of_bound = _Task(derived, tuple(each), options.profile)
        groups = _groups([at for at in each if at[FAST_MEMORY] >= least])
        found = dict(_run([*(_Task(derived, group) for group in groups), of_bound], search))
        bounds = found.pop(len(groups), _Found()).bounds or _bounds(of_bound, search)
        known = {
            at[FAST_MEMORY]: loads
            for number, item in found.items()
            for at, loads in zip(groups[number], item.loads, strict=True)
        }
        points, best = [], _Loads()
        for at, value in zip(each, bounds.values, strict=True):
            loads = known.get(at[FAST_MEMORY], _Loads())
            if loads.words is not None and (best.words is None or loads.words <= best.words):
                best = loads  # else the order for a smaller memory, which a larger one has room for
            points.append(_point(value, bounds.operations, best, at, options, widths, memory))
    extra: SweepExtra = {
        "points": points,
        "operations": bounds.operations,
        "formula": bounds.formula,
        "upper": cast("UpperDocument | None", bounds.upper),
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


def _formulas(flow: DataFlow | None, search: Search) -> Formulas | None:
    """Return what is known of orders for all sizes, None if the search ends before their uses are counted."""
    found: Formulas | None = None
    with suppress(OutOfEffortError), charged_to(search):
        found = None if flow is None else Formulas(flow)
        if found is not None:
            found.further()
    return found


def _groups(sizes: Sequence[Mapping[str, int]]) -> list[tuple[Mapping[str, int], ...]]:
    """Return neighbouring sizes in groups whose orders are searched together."""
    width = max(tuning.SWEPT_TOGETHER, -(-len(sizes) // tuning.MOST_SWEPT_GROUPS))
    return [tuple(sizes[at : at + width]) for at in range(0, len(sizes), width)]


def _run(tasks: Sequence[_Task], search: Search) -> Iterator[tuple[int, _Found]]:
    """Yield what is found for the tasks; the bound, which is the last, is begun first."""
    points, done = len(tasks) - 1, 0
    share = len(tasks) * (1 - tuning.LOWER_SHARE) / max(1, points)
    weights, turns = [*[share] * points, len(tasks) * tuning.LOWER_SHARE], [points, *range(points)]
    for number, answer in run_tasks(_found, tasks, search=search, shares_time=False, turns=turns, weights=weights):
        done += number < points
        search.report(what=f"{done} of {points}")
        yield number, answer


def _found(task: _Task, search: Search) -> _Found:
    if task.profile:
        return _Found(bounds=_bounds(task, search))
    try:
        _, formulas = task.derived.known(search)
    except OutOfEffortError:
        return _Found()
    if formulas is None or not task.sizes:
        return _Found()
    pairs = zip(orders_at(formulas, task.sizes, search), task.sizes, strict=True)
    return _Found(tuple(_Loads(made.value(sizes), made.value_bytes(sizes), orders_text(made)) for made, sizes in pairs))


def _bounds(task: _Task, search: Search) -> _Bounds:
    flow = upper = None
    with suppress(OutOfEffortError):
        flow, formulas = task.derived.known(search)
        upper = None if formulas is None else formulas.found
    share = tuning.LOWER_SHARE if search.effort is None else 1.0  # of the time, which the points take too
    options = BoundOptions(profile=task.profile)
    found = lower_bound(task.derived.program, options, flow=flow, search=search, share=share)
    values = [max(0.0, found.value(at)) for at in task.sizes]
    with charged_to(search):
        document = upper_document_in_time(upper, found.leading, None, None)
    return _Bounds(
        values, operations_at(found, task.sizes[0]), str(found.formula), cast("dict[str, Any] | None", document)
    )


def _point(
    value: float,
    work: float | None,
    loads: _Loads,
    sizes: Mapping[str, int],
    options: SweepOptions,
    widths: tuple[int, int],
    memory: FastMemory | None,
) -> SweepPoint:
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
