"""The verbs ``plan``, ``bound``, ``check`` and ``run`` of the pebble engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.cases import Case, Source, resolve
from shorthaul.core.check import CheckReport
from shorthaul.core.errors import DefectError
from shorthaul.core.options import chosen
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search
from shorthaul.pebble import tuning, views
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.formats.documents import load_cdag
from shorthaul.pebble.model import Cdag, require_budget
from shorthaul.pebble.options import BoundOptions, CheckOptions, PlanOptions, RunOptions
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.request import Found, Request
from shorthaul.pebble.run import FloatArray, execute
from shorthaul.pebble.strategy import find_plan, lower_bound
from shorthaul.pebble.workloads.cases import CASES

KIND = "shorthaul/pebble-result"


def case(text: str) -> Source[Cdag]:
    """Return the CDAG that ``text`` names, a file or a built-in case, with its source.

    Raises :class:`InputError` that names file, place, value and cure.

    >>> case("dwt:n=8,d=3,word=1").workload.n
    22
    """
    return resolve(text, CASES, load_cdag)


def cases() -> tuple[Case[Cdag], ...]:
    """Return the built-in workloads."""
    return CASES


def plan(
    cdag: Cdag,
    options: PlanOptions | None = None,
    *,
    search: Search | None = None,
    source: Source[Cdag] | None = None,
    **fields: Any,
) -> Result[Plan]:
    """Return a checked schedule of little traffic within ``budget``, its cost and the best lower bound known.

    ``fields`` are those of :class:`PlanOptions`. Cost entries are in the unit of the weights. Raises
    :class:`InputError` for a method that does not apply, :class:`InfeasibleError` if a node cannot be computed within
    the budget, :class:`NoPlanError` if the time limit passes first.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> result = plan(dwt(n=8, d=3, word=1), budget=4)
    >>> result.cost["traffic"], result.status.value
    (18, 'optimal')
    """
    options = chosen(options, PlanOptions, fields)
    search = search or Search()
    budget = cdag.least_budget() if options.budget is None else options.budget
    require_budget(cdag, budget)
    options = replace(options, budget=budget)
    keep_back(cdag, search)
    with search:
        found = find_plan(Request(cdag, budget, options.recompute, search), options.method)
    report = checked(cdag, found.plan, budget, recompute=options.recompute)
    cost, best = cost_of(report), found.bound
    return Result(
        kind=KIND,
        status=Status.OPTIMAL if best.is_met_by(cost["traffic"]) else Status.FEASIBLE,
        cost=cost,
        bound=best,
        check=report,
        plan=found.plan,
        provenance=provenance("pebble plan", options=options, source=source, search=search),
        extra=_extra(cdag, budget, found),
        figures=views.of_plan(cdag, found.plan, budget),
    )


def bound(
    cdag: Cdag,
    options: BoundOptions | None = None,
    *,
    search: Search | None = None,
    source: Source[Cdag] | None = None,
    **fields: Any,
) -> Result[Plan]:
    """Return the best lower bound on the traffic of any schedule within ``budget``, with its proof.

    Raises :class:`InfeasibleError` if a node cannot be computed within the budget.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> bound(dwt(n=8, d=3, word=1), budget=3).bound.value
    22
    """
    options = chosen(options, BoundOptions, fields)
    search = search or Search()
    budget = cdag.least_budget() if options.budget is None else options.budget
    require_budget(cdag, budget)
    options = replace(options, budget=budget)
    with search:
        best = lower_bound(Request(cdag, budget, options.recompute, search))
    return Result(
        kind=KIND,
        status=None,
        bound=best,
        provenance=provenance("pebble bound", options=options, source=source, search=search),
        extra={"problem": problem_document(cdag, budget)},
        figures=views.of_bound(best),
    )


def check(
    cdag: Cdag,
    given: Plan,
    options: CheckOptions | None = None,
    *,
    search: Search | None = None,
    source: Source[Cdag] | None = None,
    **fields: Any,
) -> Result[Plan]:
    """Return what an independent replay of ``given`` finds: every violation, the cost, the peak.

    Status ``invalid`` if a rule is broken. Without a budget the capacity is not checked.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> from shorthaul.pebble.plan import plan_of
    >>> print(check(dwt(n=2, d=1, word=1), plan_of([(0, 0), (2, 2)]), budget=3).check.violations[0])
    move 1: computes 2 without 1 in fast memory [missing-operand]
    """
    options = chosen(options, CheckOptions, fields)
    search = search or Search()
    report = replay(cdag, given, options.budget, recompute=options.recompute)
    if options.budget is None:
        report = replace(report, remarks=("no budget is given: the capacity is not checked", *report.remarks))
    cost = cost_of(report)
    best: Bound | None = None
    status = Status.INVALID
    if report.ok:
        room = int(cost["peak"]) if options.budget is None else options.budget
        best = lower_bound(Request(cdag, room, options.recompute, search))
        status = Status.OPTIMAL if best.is_met_by(cost["traffic"]) else Status.FEASIBLE
    return Result(
        kind=KIND,
        status=status,
        cost=cost,
        bound=best,
        check=report,
        plan=given,
        provenance=provenance("pebble check", options=options, source=source, search=search),
        extra={"problem": problem_document(cdag, options.budget)},
        figures=views.of_plan(cdag, given, options.budget),
    )


def run(
    cdag: Cdag,
    options: RunOptions | None = None,
    *,
    given: Plan | None = None,
    data: FloatArray | None = None,
    search: Search | None = None,
    source: Source[Cdag] | None = None,
    **fields: Any,
) -> Result[Plan]:
    """Execute a plan, ``given`` or made here, on numbers through a fast memory, and compare with the direct result.

    ``data`` are the numbers of the inputs by ascending node, shape (inputs,); random ones without. ``extra["run"]``
    tells the kernel, the largest relative error and whether the results agree. A plan that breaks the rules is not
    executed: status ``invalid``. Raises :class:`InputError` for wrong data.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> run(dwt(n=8, d=3, word=1), budget=4).extra["run"]["agrees"]
    True
    """
    options = chosen(options, RunOptions, fields)
    search = search or Search()
    made = PlanOptions(budget=options.budget, method=options.method, recompute=options.recompute)
    if given is None:
        result = plan(cdag, made, search=search, source=source)
    else:
        rules = CheckOptions(budget=options.budget, recompute=True)
        result = check(cdag, given, rules, search=search, source=source)
    result = replace(result, provenance=provenance("pebble run", options=options, source=source, search=search))
    if result.status is Status.INVALID or result.plan is None:
        return result
    numbers = search.generator().standard_normal(len(cdag.inputs())) if data is None else data
    budget = None if given is not None and options.budget is None else options.budget or cdag.least_budget()
    done = execute(cdag, result.plan, budget, numbers)
    if not done.agrees:
        raise DefectError(f"a checked plan computed something else: relative error {done.error:g}")
    document = {"kernel": done.kernel, "error": done.error, "agrees": done.agrees, "outputs": len(done.outputs)}
    figures = (*result.figures, views.of_execution(done.kernel, done.outputs, done.expected))
    return replace(result, extra={**result.extra, "run": document}, figures=figures)


def keep_back(cdag: Cdag, search: Search) -> None:
    """Leave time for checking, showing and writing a plan where time is limited."""
    needed_s = tuning.CHECK_S * (cdag.n + cdag.edges)
    search.keep_back(min(needed_s, tuning.MOST_KEPT_BACK * (search.time_limit_s or 0.0)))


def checked(cdag: Cdag, found: Plan, budget: int, *, recompute: bool) -> CheckReport:
    """Return the report of an independent replay; raises :class:`DefectError` if it finds a violation."""
    report = replay(cdag, found, budget, recompute=recompute)
    if not report.ok:
        raise DefectError(f"a plan broke its rules: {report.violations[0]}")
    return report


def problem_document(cdag: Cdag, budget: int | None) -> dict[str, Any]:
    """Return the size of the problem as a JSON object."""
    return {
        "nodes": cdag.n,
        "edges": cdag.edges,
        "inputs": len(cdag.inputs()),
        "outputs": len(cdag.outputs()),
        "budget": budget,
        "least_budget": cdag.least_budget(),
        "algorithmic_bound": cdag.algorithmic_bound(),
    }


def cost_of(report: CheckReport) -> Cost:
    """Return the cost that the replay found."""
    assert report.cost is not None  # the pebble checker always counts
    return report.cost


def _extra(cdag: Cdag, budget: int, found: Found) -> dict[str, Any]:
    operations = cdag.n - len(cdag.inputs())
    return {"method": found.method, "problem": problem_document(cdag, budget), "operations": operations}
