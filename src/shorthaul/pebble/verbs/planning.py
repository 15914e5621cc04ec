"""The verbs ``plan``, ``bound``, ``check`` and ``run`` of the pebble engine."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.arguments import public
from shorthaul.core.cases import Case, Source
from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.errors import DefectError, InfeasibleError, InputError, NoPlanError, is_of_memory
from shorthaul.core.files.arrays import as_array
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, TaskPlanSearchOptions
from shorthaul.core.searching.tasks import restarts, run_tasks
from shorthaul.core.verbs import BOUNDS, asked, higher, verb
from shorthaul.pebble import tuning, views
from shorthaul.pebble.check.certificate import AS_IT_IS, verify
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.formats.documents import load_numbers
from shorthaul.pebble.model import Cdag, require_budget
from shorthaul.pebble.options import PRICED, BoundOptions, CheckOptions, CodeOptions, PlanOptions, RunOptions
from shorthaul.pebble.plan import BoundExtra, Execution, Plan, PlanExtra, ProblemSize, RunExtra
from shorthaul.pebble.request import Found, Request
from shorthaul.pebble.run import FloatArray, execute
from shorthaul.pebble.strategy.partial import find_partial_plan, partial_bound
from shorthaul.pebble.strategy.priced import find_priced_plan, priced_bound
from shorthaul.pebble.strategy.renumbering import renumbered
from shorthaul.pebble.strategy.traffic import algorithmic_bound, find_plan, lower_bound
from shorthaul.pebble.structured.forest import as_forest
from shorthaul.pebble.verbs.certified import Claim, certified, is_certified, with_certificate
from shorthaul.pebble.verbs.inputs import CDAGS, PLANS, PlanLike, Workload
from shorthaul.pebble.verbs.machines import on_machine, priced
from shorthaul.pebble.verbs.terms import terms_of
from shorthaul.pebble.workloads.cases import CASES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shorthaul.pebble.verbs.keywords import BoundKeywords, CheckKeywords, PlanKeywords, RunKeywords

KIND = "shorthaul/pebble-result"
#: The methods that depend on the seed.
_RANDOM = ("auto", "list-scheduling", "bisection", "tiles", "beam", "local-search", "exact")
#: The seeds of restarts are this far apart, so that those of two searches differ.
_SEEDS_APART = 0x9E3779B97F4A7C15


@public
def case(text: str) -> Source[Cdag]:
    """Return the CDAG that ``text`` names, a file or a built-in case, with its source.

    Parameters
    ----------
    text : str
        The path of a file, or the name of a built-in case with its parameters.

    Returns
    -------
    Source[Cdag]
        The graph and where it comes from.

    Raises
    ------
    InputError
        If the file is missing or wrong: file, place, value and cure.

    Examples
    --------
    >>> case("dwt:n=8,d=3,word=1").workload.n
    22
    """
    return CDAGS.source(text)


@public
def cases() -> tuple[Case[Cdag], ...]:
    """Return the built-in workloads.

    Returns
    -------
    tuple[Case[Cdag], ...]
        The cases by name, with their parameters.

    Examples
    --------
    >>> "dwt" in [case.name for case in cases()]
    True
    """
    return CASES


def _of_journal(cdag: Cdag, plan: Plan, options: PlanOptions) -> CheckReport:
    """Return what the checker says of the plan in a journal."""
    settled, memory = on_machine(cdag, options)
    report = _replayed(_request(cdag, settled, Search()), plan)
    return report if memory is None or report.cost is None else replace(report, cost=memory.priced(report.cost))


@verb(PlanOptions, CDAGS, PLANS, searching=TaskPlanSearchOptions, replay=_of_journal)
def plan(workload: Workload, **keywords: Unpack[PlanKeywords]) -> Result[Plan, PlanExtra]:
    """Return a checked schedule of little traffic within ``budget``, its cost and the best lower bound known.

    Cost entries are in the unit of the weights.

    Returns
    -------
    Result[Plan, PlanExtra]
        The schedule, its ``traffic``, ``loads``, ``stores`` and ``peak``, and the bound.

    Raises
    ------
    InputError
        If the graph or a keyword is wrong, or the method does not apply.
    InfeasibleError
        If a node cannot be computed within the budget.
    NoPlanError
        If the time limit passes first.

    Examples
    --------
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> result = plan(dwt(n=8, d=3, word=1), budget=4)
    >>> result.cost["traffic"], result.status.value
    (18, 'optimal')
    """
    cdag, options, search, source = asked(workload, CDAGS, PlanOptions, keywords)
    options, memory = on_machine(cdag, options)
    request = _request(cdag, options, search)
    budget = options.budget or request.budget
    options = replace(options, budget=budget)
    keep_back(cdag, search)
    with search:
        found = _best_of_restarts(request, options)
    report = checked(request, found.plan)
    cost, best = cost_of(report), with_certificate(found.bound)
    result = Result(
        kind=KIND,
        status=Status.OPTIMAL if best.is_met_by(cost[best.of]) else Status.FEASIBLE,
        cost=cost,
        bound=best,
        check=report,
        plan=found.plan,
        provenance=provenance("pebble plan", options=options, source=source, search=search),
        extra=_extra(cdag, budget, found),
        figures=() if search.is_late() else views.of_plan(cdag, found.plan, budget, in_place=options.in_place),
    )
    return priced(result, memory)


def _request(
    cdag: Cdag,
    options: PlanOptions | BoundOptions | RunOptions | CheckOptions,
    search: Search,
    budget: int | None = None,
) -> Request:
    """Return what is asked for, the budget the least where none is given; raises where nothing fits."""
    terms = terms_of(cdag, options)
    seen = terms.played(cdag)
    if budget is None:
        budget = int(terms.needs(seen).max()) if options.budget is None else options.budget
    require_budget(seen, budget, terms)
    return Request(cdag, budget, options.recompute, search, terms)


def planned(request: Request, method: str) -> Found:
    """Return a plan by ``method`` and its bound, in the usual game or in another one."""
    if request.is_usual:
        return find_plan(request, method)
    inner, out = (request, None) if request.terms.in_order else renumbered(request)
    found = (find_partial_plan if request.terms.partial else find_priced_plan)(inner, method)
    return found if out is None else replace(found, plan=out(found.plan))


def bounded(request: Request) -> Bound:
    """Return the best lower bound, in the usual game or in another one; what takes no memory where that runs out."""
    if request.is_usual:
        try:
            return lower_bound(request)
        except Exception as error:
            if not is_of_memory(error):
                raise
        return algorithmic_bound(request.cdag)
    inner = request if request.terms.in_order else renumbered(request)[0]
    return (partial_bound if request.terms.partial else priced_bound)(inner)


def _best_of_restarts(request: Request, options: PlanOptions) -> Found:
    """Return the cheapest plan of all restarts, the first of these, with the best bound of any."""
    search = request.search
    repeats = options.method in _RANDOM and (not request.is_usual or as_forest(request.cdag) is None)
    count = restarts(search, options.restarts) if repeats else 1
    if count == 1:
        return planned(request, options.method)
    tasks = [(request.cdag, options, number, search.start()) for number in range(count)]
    answers = run_tasks(
        _restarted,
        tasks,
        search=search,
        unlimited=tuning.AUTO_EFFORT,
        enough=lambda found: found.bound.is_met_by(request.paid(found.plan)),
        watch=lambda told: search.report(best=told) if told < float("inf") else None,
        kept=lambda plan: Found(plan, options.method, Bound("traffic", 0, "none", "")),
    )
    found = [answer for _, answer in sorted(answers, key=lambda item: item[0])]
    bound = max((item.bound for item in found), key=lambda item: item.value)
    return replace(min(found, key=lambda item: request.paid(item.plan)), bound=bound)


def _restarted(task: tuple[Cdag, PlanOptions, int, Plan | None], search: Search) -> Found:
    cdag, options, number, search.resumed = task
    search.seed = (search.seed + number * _SEEDS_APART) % 2**63
    return planned(_request(cdag, options, search), options.method)


def _bound_of_journal(cdag: Cdag, bound: Mapping[str, Any], options: BoundOptions) -> CheckReport | None:
    """Return what is wrong with the bound in a journal, None if not all of it can be verified."""
    request = _request(cdag, on_machine(cdag, options)[0], Search())
    wrong, remarks = verify(cdag, bound, request.budget, recompute=request.recompute, terms=request.terms)
    return None if not wrong and any(AS_IT_IS in line for line in remarks) else CheckReport(tuple(wrong))


@verb(BoundOptions, CDAGS, PLANS, searching=TaskPlanSearchOptions, replay=_bound_of_journal, keeps=BOUNDS)
def bound(workload: Workload, **keywords: Unpack[BoundKeywords]) -> Result[Plan, BoundExtra]:
    """Return the best lower bound on the traffic of any schedule within ``budget``, with its proof.

    Returns
    -------
    Result[Plan, BoundExtra]
        The bound on ``traffic``, with its proof.

    Raises
    ------
    InputError
        If the graph or a keyword is wrong.
    InfeasibleError
        If a node cannot be computed within the budget.

    Examples
    --------
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> bound(dwt(n=8, d=3, word=1), budget=3).bound.value
    22
    """
    cdag, options, search, source = asked(workload, CDAGS, BoundOptions, keywords)
    options, memory = on_machine(cdag, options)
    request = _request(cdag, options, search)
    budget = options.budget or request.budget
    options = replace(options, budget=budget)
    with search:
        best = with_certificate(bounded(request))
        best = higher(best, search, "certificate", is_certified=is_certified(best))
    result: Result[Plan, BoundExtra] = Result(
        kind=KIND,
        status=None,
        bound=best,
        provenance=provenance("pebble bound", options=options, source=source, search=search),
        extra={"problem": problem_document(cdag, budget)},
        figures=views.of_bound(cdag, best),
    )
    return priced(result, memory)


@verb(
    CheckOptions,
    CDAGS,
    PLANS,
    plan="A plan to replay, a result that holds one, or the path of a file; None: verify a bound alone.",
)
def check(
    workload: Workload, plan: PlanLike | None = None, **keywords: Unpack[CheckKeywords]
) -> Result[Plan, BoundExtra]:
    """Return what an independent replay of a plan finds: every violation, the cost, the peak.

    Status ``invalid`` if a rule is broken. Without a budget the capacity is not checked. The bound beside the cost is
    looked for with little effort. ``bound`` names a result document, the certificate of whose bound is verified, with
    a plan or without one: status ``invalid`` if it does not hold.

    Returns
    -------
    Result[Plan, BoundExtra]
        The violations, and with a plan cost and peak as the replay counts them.

    Raises
    ------
    InputError
        If the graph, the plan or the bound cannot be read.

    Examples
    --------
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> from shorthaul.pebble.plan import plan_of
    >>> print(check(dwt(n=2, d=1, word=1), plan_of([(0, 0), (2, 2)]), budget=3).check.violations[0])
    move 1: computes 2 without 1 in fast memory [missing-operand]
    """
    cdag, options, search, source = asked(workload, CDAGS, CheckOptions, keywords)
    assert plan is None or isinstance(plan, Plan)
    if plan is None and options.bound is None:
        raise InputError("there is nothing to check", place="PLAN", cure="give a plan, a bound, or both")
    given = plan
    options, memory = on_machine(cdag, options)
    verified = CheckReport()
    if options.bound is not None:
        verified, claim = certified(cdag, str(options.bound), KIND)
        beaten = _beaten(cdag, claim, given, search)
        verified = replace(verified, violations=(*verified.violations, *beaten))
    result: Result[Plan, BoundExtra] = Result(
        kind=KIND,
        status=None if verified.ok else Status.INVALID,
        check=verified,
        provenance=provenance("pebble check", options=options, source=source, search=search),
        extra={"problem": problem_document(cdag, options.budget)},
    )
    return priced(result if given is None else _with_replay(result, cdag, given, options, search), memory)


def _beaten(cdag: Cdag, claim: Claim, given: Plan | None, search: Search) -> list[Violation]:
    """Return a violation if a plan pays less than a bound claims: that given, or ours where not all is verified."""
    quick = search.part(1.0, unlimited=tuning.CHECK_EFFORT)
    request = Request(cdag, claim.budget, claim.recompute, quick.aside(), claim.terms)
    plans = [("the given plan", given)] if given is not None else []
    if not claim.verified:
        with contextlib.suppress(NoPlanError, InfeasibleError):
            plans.append(("a plan", planned(request, "auto").plan))
    for name, found in plans:
        report = _replayed(request, found)
        pays = cost_of(report)[claim.of] if report.ok else claim.value
        if pays < claim.value:
            message = f"{name} pays less than the bound: {claim.of}"
            return [Violation("certificate", "bound.value", message, float(claim.value), float(pays))]
    return []


def _with_replay(
    result: Result[Plan, BoundExtra], cdag: Cdag, given: Plan, options: CheckOptions, search: Search
) -> Result[Plan, BoundExtra]:
    """Return the result with the replay of a plan, its violations and remarks before those of ``result``."""
    terms = terms_of(cdag, options)
    is_usual = Request(cdag, 0, options.recompute, search, terms).is_usual
    shown = None if is_usual else terms
    report = replay(cdag, given, options.budget, recompute=options.recompute, terms=shown)
    if options.budget is None:
        report = replace(report, remarks=("no budget is given: the capacity is not checked", *report.remarks))
    if result.check is not None:
        violations = (*report.violations, *result.check.violations)
        report = replace(report, violations=violations, remarks=(*report.remarks, *result.check.remarks))
    cost = cost_of(report)
    best: Bound | None = None
    status = Status.INVALID
    if report.ok:
        room = int(cost["peak"]) if options.budget is None else options.budget
        quick = search.part(1.0, unlimited=tuning.CHECK_EFFORT)
        best = with_certificate(bounded(Request(cdag, room, options.recompute, quick, terms)))
        status = Status.OPTIMAL if best.is_met_by(cost[best.of]) else Status.FEASIBLE
    figures = views.of_plan(cdag, given, options.budget, in_place=options.in_place)
    return replace(result, status=status, cost=cost, bound=best, check=report, plan=given, figures=figures)


_plan = plan


@verb(
    RunOptions,
    CDAGS,
    PLANS,
    plan="The plan to execute, a result that holds one, or the path of a file; None: make one.",
    data="Numbers for the inputs in node order, or the path of a file with one per line (default: random ones).",
)
def run(
    workload: Workload,
    plan: PlanLike | None = None,
    *,
    data: Sequence[float] | FloatArray | str | PathLike[str] | None = None,
    **keywords: Unpack[RunKeywords],
) -> Result[Plan, RunExtra]:
    """Execute a plan on numbers through a fast memory, and compare with the direct result.

    ``extra["run"]`` tells the kernel, the largest relative error and whether the results agree. A plan that breaks the
    rules is not executed: status ``invalid``.

    Returns
    -------
    Result[Plan, RunExtra]
        The result of the plan, and in ``extra["run"]`` how far the numbers agree.

    Raises
    ------
    InputError
        If the graph, the plan or the data is wrong.

    Examples
    --------
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> run(dwt(n=8, d=3, word=1), budget=4).extra["run"]["agrees"]
    True
    """
    cdag, options, search, source = asked(workload, CDAGS, RunOptions, keywords)
    result = planned_or_checked(source, plan, options, search)
    extra = cast("RunExtra", result.extra)
    made_by = provenance("pebble run", options=options, source=source, search=search)
    ran = cast("Result[Plan, RunExtra]", replace(result, provenance=made_by))
    if ran.status is Status.INVALID or ran.plan is None:
        return ran
    terms = terms_of(cdag, options)
    seen = terms.played(cdag)
    numbers = _numbers(data, options, seen, search)
    done = execute(seen, ran.plan, extra["problem"]["budget"], numbers, terms)
    if not done.agrees:
        raise DefectError(f"a checked plan computed something else: relative error {done.error:g}")
    document: Execution = {
        "kernel": done.kernel,
        "error": done.error,
        "agrees": done.agrees,
        "outputs": len(done.outputs),
    }
    figures = (*ran.figures, views.of_execution(done.kernel, done.outputs, done.expected))
    return replace(ran, extra={**extra, "run": document}, figures=figures)


def planned_or_checked(
    source: Source[Cdag], plan: PlanLike | None, options: RunOptions | CodeOptions, search: Search
) -> Result[Plan, PlanExtra] | Result[Plan, BoundExtra]:
    """Return the result of a plan made here, or the check of the given one."""
    paid = {name: getattr(options, name) for name in PRICED}
    if plan is None:
        made = PlanOptions(budget=options.budget, method=options.method, recompute=options.recompute, **paid)
        return _plan(source, options=made, search=search)
    rules = CheckOptions(budget=options.budget, recompute=True, **paid)
    return check(source, plan, options=rules, search=search)


def _numbers(data: object, options: RunOptions, cdag: Cdag, search: Search) -> FloatArray:
    """Return the numbers of the inputs: given, from a file, or random ones."""
    count = len(cdag.inputs())
    if data is None and options.data is None:
        return search.generator().standard_normal(count)
    if options.data is not None:
        return load_numbers(options.data, count)
    numbers = as_array(data, "data")
    if numbers.shape != (count,) or numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all():
        shown = f"shape {numbers.shape} of {numbers.dtype}"
        raise InputError("are not the inputs", place="data", value=shown, allowed=f"{count} finite numbers")
    return numbers.astype(np.float64)


def keep_back(cdag: Cdag, search: Search) -> None:
    """Leave time for checking, showing and writing a plan where time is limited."""
    needed_s = tuning.CHECK_S * (cdag.n + cdag.edges)
    search.keep_back(min(needed_s, tuning.MOST_KEPT_BACK * (search.time_limit or 0.0)))


def _replayed(request: Request, plan: Plan) -> CheckReport:
    terms = None if request.is_usual else request.terms
    return replay(request.cdag, plan, request.budget, recompute=request.recompute, terms=terms)


def checked(request: Request, found: Plan) -> CheckReport:
    """Return the report of an independent replay; raises :class:`DefectError` if it finds a violation."""
    report = _replayed(request, found)
    if not report.ok:
        raise DefectError(f"a plan broke its rules: {report.violations[0]}")
    return report


def problem_document(cdag: Cdag, budget: int | None) -> ProblemSize:
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


def _extra(cdag: Cdag, budget: int, found: Found) -> PlanExtra:
    operations = cdag.n - len(cdag.inputs())
    return {"method": found.method, "problem": problem_document(cdag, budget), "operations": operations}
