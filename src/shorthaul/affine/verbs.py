"""The verbs of the affine engine: ``bound``, ``plan``, ``check``, ``sweep``, ``cdag``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shorthaul.affine import views
from shorthaul.affine.bounds.best import AffineBound, lower_bound
from shorthaul.affine.check.plan_check import check_plan
from shorthaul.affine.dependences import flow_dependences
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions, CdagOptions, CheckOptions, PlanOptions, SweepOptions
from shorthaul.affine.oracle import default_sizes, examine
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.orders.upper_report import orders_text, upper_document
from shorthaul.affine.plan import Plan
from shorthaul.affine.proofs.proof import shortened
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.affine.replay.tile_order import best_origin
from shorthaul.affine.replay.tiling import best_tiling, tile_space
from shorthaul.affine.sizes import FAST_MEMORY, parse_sizes, require_sizes
from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.cases import Source
from shorthaul.core.check import CheckReport
from shorthaul.core.errors import InputError
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

KIND = "shorthaul/affine-result"
MODEL = (
    "Model: red-white pebble game. One statement instance is one vertex, scalars are arrays of dimension 0; "
    "S values fit into fast memory; only loads count; "
    "nothing is computed twice; the order of a reduction is that of the program."
)


def bound(
    program: Program,
    options: BoundOptions | None = None,
    *,
    search: Search | None = None,
    source: Source[Program] | None = None,
    **fields: Any,
) -> Result[Plan]:
    """Return a parametric lower bound on the loads of ``program``, with its proof.

    ``fields`` are those of :class:`BoundOptions`. The bound's ``details`` hold ``formula``, ``leading``, ``inputs``,
    ``operations``, ``oi_limit`` as text; ``value`` is None in the document where no sizes are given.

    >>> from shorthaul.affine.workloads.cases import case
    >>> result = bound(case("matvec").workload, size="M=100,N=100,S=8")
    >>> result.bound.of
    'loads_words'
    """
    options = replace(options or BoundOptions(), **fields)
    search = search or Search()
    given = parse_sizes(options.size, program)
    small = _small(options, program)
    found = lower_bound(program, options)
    sizes = None if options.size is None else require_sizes(options.size, program, fast_memory=True)
    made = _core_bound(program, found, sizes)
    upper = upper_document(upper_bound(program, small=small), found.leading, sizes) if options.upper else None
    return Result(
        kind=KIND,
        status=None,
        bound=made,
        provenance=provenance("affine bound", options=options, source=source, search=search),
        extra={
            "sizes": sizes or given,
            "program": _described(program),
            "upper": upper,
            "operations": None if sizes is None else float(_evaluated(found.operations, sizes)),
        },
        figures=views.of_bound(str(found.formula), str(found.leading)),
    )


def _small(options: BoundOptions, program: Program) -> tuple[str, ...]:
    names = tuple(filter(None, (part.strip() for part in (options.small or "").split(","))))
    for name in names:
        if name not in program.parameters:
            from shorthaul.core.errors import unknown_name

            raise unknown_name("parameter", name, program.parameters, place="--small")
    return names


#: How many orders a plan replays where no number is asked for: as many as these instances allow, within limits.
_REPLAYED_INSTANCES = 8_000_000
_LEAST_REPLAYS, _MOST_REPLAYS = 8, 200

#: Said beside every leading term: the full formula is what holds for all sizes.
LEADING_HOLDS_FOR = "for S small against all sizes, and sizes about equal where the formula compares them"


def _core_bound(program: Program, found: AffineBound, sizes: Mapping[str, int] | None) -> Bound:
    value = None if sizes is None else max(0.0, found.value(sizes))
    proof, simple = found.proof.text(), found.simple
    details: dict[str, Any] = {
        "value": value,
        "formula": str(found.formula),
        "leading": str(found.leading),
        "leading_holds_for": LEADING_HOLDS_FOR,
        "simple": None if simple is None else {"where": list(simple.where), "formula": str(simple.formula)},
        "inputs": str(found.inputs),
        "operations": str(found.operations),
        "oi_limit": str(found.oi_limit),
        "model": MODEL,
        "steps": found.proof.document(),
        "latex": found.latex(),
    }
    if value is not None and sizes is not None:
        details["value_bytes"] = _least_bytes(program, value, sizes)
    return Bound("loads_words", float("nan") if value is None else value, found.method, proof, details)


def _least_bytes(program: Program, words: float, sizes: Mapping[str, int]) -> float:
    width, surplus = _widths(program, sizes)
    return words * width + surplus


def _widths(program: Program, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return (bytes of every load at least, bytes that inputs take beyond these): each input is loaded once."""
    flow = flow_dependences(program)
    width = min(array.element_bytes for array in program.arrays.values())
    surplus = sum(
        card(item).at(sizes) * (program.arrays[array].element_bytes - width) for array, item in flow.inputs.items()
    )
    return width, surplus


def shown_bound(made: Bound, form: str) -> str:
    """Return formula, leading term and proof in words (``text``), as LaTeX or as SymPy expressions."""
    names = ("formula", "leading", "inputs", "operations", "oi_limit")
    if form == "sympy":
        return "\n".join(f"{name} = {made.details[name]}" for name in names)
    if form == "latex":
        return "\n".join(f"{name}: {text}" for name, text in made.details["latex"].items())
    lines = [f"{name + ':':12} {shortened(made.details[name])}" for name in names]
    lines.insert(2, f"{'':12} ({LEADING_HOLDS_FOR})")
    simple = made.details["simple"]
    if simple is not None:
        where = " and ".join(simple["where"]) or "all sizes"
        lines.insert(1, f"{'at least:':12} {simple['formula']}   for {where}")
    return "\n".join([*lines, "", made.proof])


def _described(program: Program) -> dict[str, Any]:
    return {
        "function": program.name,
        "parameters": list(program.parameters),
        "defaults": dict(program.defaults),
        "statements": [
            {"name": item.name, "text": item.text, "line": item.place.line, "domain": str(item.domain)}
            for item in program.statements
        ],
    }


def plan(
    program: Program,
    options: PlanOptions | None = None,
    *,
    search: Search | None = None,
    source: Source[Program] | None = None,
    **fields: Any,
) -> Result[Plan]:
    """Return a checked order of all statement instances that needs few loads, beside the bound.

    ``fields`` are those of :class:`PlanOptions`; ``size`` must give every parameter and S. Cost: ``loads_words``.
    Raises :class:`InputError` for missing sizes, :class:`InfeasibleError` if an operation does not fit into S.

    >>> from shorthaul.affine.workloads.cases import case
    >>> result = plan(case("matmul").workload, size="M=6,N=6,K=6,S=16")
    >>> result.check.ok
    True
    """
    search = search or Search()
    with search:  # Ctrl-C is kept until there is a plan, also while the bound is derived
        return _planned(program, replace(options or PlanOptions(), **fields), search, source)


def _planned(program: Program, options: PlanOptions, search: Search, source: Source[Program] | None) -> Result[Plan]:
    sizes = require_sizes(options.size, program, fast_memory=True)
    capacity = sizes[FAST_MEMORY]
    cdag = _executed(program, sizes)
    before = belady_loads(cdag.program_order, cdag.starts, cdag.operands, capacity)  # tells at once if S is too small
    found = lower_bound(program, BoundOptions(profile=options.profile))
    least = _core_bound(program, found, sizes)
    upper = upper_bound(program)
    space = tile_space(program, sizes, cdag)
    most = options.evaluations or max(_LEAST_REPLAYS, min(_MOST_REPLAYS, _REPLAYED_INSTANCES // cdag.n))
    derived, loads = best_origin(upper, cdag, sizes, search, floor=least.value, tries=max(1, min(8, most // 4)))
    tiling, searched = best_tiling(space, capacity, search, evaluations=most, floor=least.value)
    order, how = (
        (derived, "derived: " + orders_text(upper))
        if loads <= searched
        else (space.order(tiling), space.describe(tiling))
    )
    made = _plan_of(program, cdag, order, sizes, how)
    report = check_plan(program, made)
    cost = report.cost or Cost(loads_words=float("nan"))
    after = belady_loads(order, cdag.starts, cdag.operands, capacity)
    return Result(
        kind=KIND,
        status=Status.OPTIMAL if least.is_met_by(cost["loads_words"]) else Status.FEASIBLE,
        cost=cost,
        bound=least,
        check=report,
        plan=made,
        provenance=provenance("affine plan", options=options, source=source, search=search),
        extra={
            "sizes": sizes,
            "tiling": made.tiling,
            "operations": float(_evaluated(found.operations, sizes)),
            "program_order_loads_words": int(before.sum()),
            "upper": {**upper_document(upper, found.leading, sizes), "replayed_loads_words": loads},
        },
        figures=(
            *views.of_plan(after, before, least.value, made.tiling),
            *views.of_bound(str(least.details["formula"]), str(least.details["leading"])),
        ),
    )


def _executed(program: Program, sizes: Mapping[str, int]) -> ConcreteCdag:
    cdag = concrete_cdag(program, sizes)
    if cdag.n == cdag.inputs:
        raise InputError("nothing is executed at these sizes", place="--size", cure="use larger sizes")
    return cdag


def _plan_of(program: Program, cdag: ConcreteCdag, order: Any, sizes: Mapping[str, int], tiling: str) -> Plan:
    first = len(cdag.names) - len(program.statements)
    parameters = {name: sizes[name] for name in program.parameters}
    deepest = max(len(item.iterators) for item in program.statements)
    rows = np.ascontiguousarray(cdag.coordinates[order][:, :deepest])
    return Plan(parameters, sizes[FAST_MEMORY], cdag.names[first:], cdag.owner[order] - first, rows, tiling)


def check(
    program: Program,
    given: Plan | None = None,
    options: CheckOptions | None = None,
    *,
    search: Search | None = None,
    source: Source[Program] | None = None,
    **fields: Any,
) -> Result[Plan]:
    """Replay the plan ``given``; without one, run the validity oracle on the program and its bound.

    ``fields`` are those of :class:`CheckOptions`. The status is ``invalid`` if anything is violated.

    >>> from shorthaul.affine.workloads.cases import case
    >>> check(case("seidel-1d").workload, size="T=2,N=5,S=5").check.ok
    True
    """
    options = replace(options or CheckOptions(), **fields)
    search = search or Search()
    found = lower_bound(program, BoundOptions(profile=options.profile))
    if given is not None:
        return _replayed(program, given, found, options, search, source)
    flow = flow_dependences(program)
    if options.size is None:
        choices: list[dict[str, int]] = default_sizes(flow)
    else:
        choices = [require_sizes(options.size, program, fast_memory=False)]
    with search:
        findings = examine(flow, found, choices, search)
    comparisons = [
        {"sizes": item.sizes, "how": item.how, "bound": item.bound, "loads": item.loads, "proven": item.proven}
        for item in findings.comparisons
    ]
    report = CheckReport(findings.violations, None, findings.remarks, {"comparisons": comparisons})
    return Result(
        kind=KIND,
        status=None if report.ok else Status.INVALID,
        check=report,
        provenance=provenance("affine check", options=options, source=source, search=search),
        extra={"formula": str(found.formula)},
        figures=views.of_check(comparisons),
    )


def _replayed(
    program: Program,
    given: Plan,
    found: AffineBound,
    options: CheckOptions,
    search: Search,
    source: Source[Program] | None,
) -> Result[Plan]:
    report = check_plan(program, given)
    sizes = {**given.sizes, FAST_MEMORY: given.fast_memory}
    least = _core_bound(program, found, sizes)
    if not report.ok or report.cost is None:
        status = Status.INVALID
    else:
        status = Status.OPTIMAL if least.is_met_by(report.cost["loads_words"]) else Status.FEASIBLE
    return Result(
        kind=KIND,
        status=status,
        cost=report.cost,
        bound=least,
        check=report,
        plan=given,
        provenance=provenance("affine check", options=options, source=source, search=search),
        extra={"sizes": sizes},
    )


def sweep(
    program: Program,
    options: SweepOptions | None = None,
    *,
    search: Search | None = None,
    source: Source[Program] | None = None,
    **fields: Any,
) -> Result[Plan]:
    """Return the bound beside the loads of a derived order over a range of S, at the sizes given.

    ``fields`` are those of :class:`SweepOptions`. ``extra["points"]`` has ``S``, ``bound``, ``loads_words`` (what the
    derived order's formula says; None where no operation fits), both in bytes too (``bound_bytes``, ``loads_bytes``),
    and the operational intensities ``oi_limit`` and ``oi_reached`` that follow, per word or per byte (``unit``); with
    ``balance`` also the shares of the machine's peak, ``peak_limit`` and ``peak_reached``.

    >>> from shorthaul.affine.workloads.cases import case
    >>> len(sweep(case("gemm").workload, size="NI=9,NJ=9,NK=9", least=4, most=64, points=5).extra["points"])
    5
    """
    options = replace(options or SweepOptions(), **fields)
    search = search or Search()
    sizes = require_sizes(options.size, program, fast_memory=False)
    if options.least > options.most:
        raise InputError("is above --most", place="--least", value=options.least, allowed=f"up to {options.most}")
    found = lower_bound(program, BoundOptions(profile=options.profile))
    upper = upper_bound(program)
    work = float(_evaluated(found.operations, sizes))
    spaced = np.unique(np.round(np.geomspace(options.least, options.most, options.points)).astype(np.int64)).tolist()
    widths = _widths(program, sizes)
    points = [_point(found, upper, {**sizes, FAST_MEMORY: capacity}, work, options, widths) for capacity in spaced]
    return Result(
        kind=KIND,
        status=None,
        provenance=provenance("affine sweep", options=options, source=source, search=search),
        extra={
            "points": points,
            "operations": work,
            "formula": str(found.formula),
            "upper": upper_document(upper, found.leading, None),
        },
        figures=views.of_sweep(points, options.balance, options.unit),
    )


def _point(
    found: AffineBound,
    upper: UpperBound,
    sizes: Mapping[str, int],
    work: float,
    options: SweepOptions,
    widths: tuple[int, int],
) -> dict[str, Any]:
    value = max(0.0, found.value(sizes))
    fits = sizes[FAST_MEMORY] > max(len(item.reads) for item in upper.program.statements)
    point: dict[str, Any] = {"S": sizes[FAST_MEMORY], "bound": value}
    point["loads_words"] = upper.value(sizes) if fits else None
    point["bound_bytes"] = value * widths[0] + widths[1]
    point["loads_bytes"] = upper.value_bytes(sizes) if fits else None
    least, most = ("bound_bytes", "loads_bytes") if options.unit == "bytes" else ("bound", "loads_words")
    point["oi_limit"] = work / point[least] if point[least] else None
    point["oi_reached"] = work / point[most] if point[most] else None
    if options.balance is not None:
        for name in ("limit", "reached"):
            intensity = point[f"oi_{name}"]
            point[f"peak_{name}"] = None if intensity is None else min(1.0, intensity / options.balance)
        point["may_be_compute_bound"] = point["peak_limit"] in (None, 1.0)
    return point


def _evaluated(formula: Any, sizes: Mapping[str, int]) -> Any:
    return formula.subs({name: sizes[str(name)] for name in formula.free_symbols})


def cdag(program: Program, options: CdagOptions | None = None, **fields: Any) -> dict[str, Any]:
    """Return the concrete CDAG at ``size`` as a ``shorthaul/cdag`` document, weights in bytes.

    >>> from shorthaul.affine.workloads.cases import case
    >>> len(cdag(case("matvec").workload, size="M=2,N=2")["nodes"])
    12
    """
    options = replace(options or CdagOptions(), **fields)
    sizes = require_sizes(options.size, program, fast_memory=False)
    return _executed(program, sizes).document(program.name)


def read_plan(path: str | Path, program: Program) -> Plan:
    """Return the plan in the file ``path``."""
    from shorthaul.affine.formats.plans import load_plan

    return load_plan(path, program)
