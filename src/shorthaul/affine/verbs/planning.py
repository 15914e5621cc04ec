"""The other verbs of the affine engine: ``plan``, ``check``, ``sweep``, ``cdag``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from shorthaul.affine import tuning, views
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.check.plan_check import check_plan
from shorthaul.affine.effort import OutOfEffortError, charged_to
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.points import TooManyPointsError
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions, CdagOptions, CheckOptions, PlanOptions
from shorthaul.affine.plan import (
    CheckExtra,
    Plan,
    PlanExtra,
)
from shorthaul.affine.replay.cdag import CdagDocument
from shorthaul.affine.sizes import FAST_MEMORY, require_sizes
from shorthaul.affine.verbs.certified import certified
from shorthaul.affine.verbs.deriving import (
    KIND,
    bound_of,
    dependences_in_time,
    drawn_data_flow,
    drawn_over_memory,
    executed,
)
from shorthaul.affine.verbs.inputs import PLANS, PROGRAMS, PlanLike, Workload
from shorthaul.affine.verbs.levels import all_met, level_bounds, level_rows, replayed_rows
from shorthaul.affine.verbs.machines import in_amounts, memories, on_machine, priced, require_fit
from shorthaul.affine.verbs.oracle import examine
from shorthaul.affine.verbs.replays import Replays
from shorthaul.affine.verbs.room import lack_of_room
from shorthaul.affine.verbs.tasks import Derived, Order, Ordered, Proof, Proven, Tasks, Tiled, travelled
from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.cases import Source
from shorthaul.core.check import CheckReport
from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.core.figure import Figure
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, TaskPlanSearchOptions
from shorthaul.core.verbs import asked, verb
from shorthaul.graphs.replay import belady_loads

if TYPE_CHECKING:
    from shorthaul.affine.verbs.keywords import (
        CdagKeywords,
        CheckKeywords,
        PlanKeywords,
    )


def _of_journal(program: Program, plan: Plan, options: PlanOptions) -> CheckReport:
    """Return what the checker says of the plan in a journal."""
    sizes, capacities = memories(options, program)
    found = {**plan.sizes, FAST_MEMORY: plan.fast_memory}
    if found != sizes or (plan.fast_memory, *plan.levels) != capacities:
        raise InputError("is a plan for other sizes", place="sizes", value=found, allowed=str(sizes))
    report, memory = check_plan(program, plan), on_machine(options)
    if memory is None or report.cost is None:
        return report
    return replace(report, cost=in_amounts(report.cost, memory))


@verb(PlanOptions, PROGRAMS, PLANS, searching=TaskPlanSearchOptions, replay=_of_journal)
def plan(workload: Workload, **keywords: Unpack[PlanKeywords]) -> Result[Plan, PlanExtra]:
    """Return a checked order of all statement instances that needs few loads, beside the bound.

    ``size`` must give every parameter and S, or ``level`` several memories in place of S: then ``loads_words`` are the
    loads into the largest, and ``levels`` has those into each. Cost: ``loads_words``. Where there are too many
    instances to list, the answer is the derived order with its loads by formula, no plan; ``code`` writes it as C.

    Returns
    -------
    Result[Plan, PlanExtra]
        The order as plan (None if not listed), its ``loads_words``, the bound, and in ``extra`` how it was made.

    Raises
    ------
    InputError
        If the C source is wrong, or a size is missing.
    InfeasibleError
        If the operands of one operation do not fit into S.
    NoPlanError
        If the search ends before there is an order.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import case
    >>> result = plan(case("matmul").workload, size="M=6,N=6,K=6,S=16", effort=0.1)
    >>> result.check.ok
    True
    """
    program, options, search, source = asked(workload, PROGRAMS, PlanOptions, keywords)
    program = travelled(program)
    with search, charged_to(search):  # Ctrl-C is kept until there is a plan, also while the bound is derived
        try:
            return _planned(program, options, search, source)
        except OutOfEffortError:
            raise NoPlanError("no plan found before the search ended: give it more time, or smaller sizes") from None


def _planned(
    program: Program, options: PlanOptions, search: Search, source: Source[Program] | None
) -> Result[Plan, PlanExtra]:
    sizes, capacities = memories(options, program)
    too_small = lack_of_room(program, sizes, capacities[-1])
    if too_small is not None:
        raise too_small
    flow = flow_dependences(program)
    try:
        part, left_s = search.part(tuning.LISTED_SHARE), search.remaining_s()
        if search.start() is not None and search.effort is not None and left_s > 0:
            part = Search(time_limit=left_s if math.isfinite(left_s) else None)  # a plan to go on from is not lost
        unasked = search.effort is None and math.isinf(left_s)
        cdag = executed(program, sizes, flow, part, tuning.LISTED_UNASKED if unasked else math.inf)
    except TooManyPointsError as error:
        return _unlisted(program, options, search, source, flow, error.problem)
    except OutOfEffortError:
        if search.expired():
            raise
        why = "its instances are too many for the effort or time that is given"
        return _unlisted(program, options, search, source, flow, why)
    checking_s = tuning.REPORT_SECONDS + cdag.n / tuning.CHECKED_PER_SECOND
    if not search.interrupted and search.remaining_s() + tuning.GRACE_S < checking_s:  # it would be late
        raise OutOfEffortError
    search.keep_back(checking_s)
    before = belady_loads(cdag.program_order, cdag.starts, cdag.operands, sizes[FAST_MEMORY])
    replays = Replays(program, cdag, sizes, capacities, search)
    replays.given()
    found, ordered, made = _found(replays, options, flow)
    least, order = found.bound, replays.order_of(made)
    after = belady_loads(order, cdag.starts, cdag.operands, sizes[FAST_MEMORY])
    report = check_plan(program, made)
    cost = report.cost or Cost(loads_words=float("nan"))
    document = None if ordered.replayed is None else ordered.beside(found)
    extra: PlanExtra = {
        "sizes": sizes,
        "tiling": made.tiling,
        "operations": found.operations,
        "program_order_loads_words": int(before.sum()),
        "upper": document and {**document, "replayed_loads_words": ordered.replayed},
    }
    is_met = least.is_met_by(cost["loads_words"])
    if options.level is not None:
        extra["levels"] = replayed_rows(report, found.levels)
        is_met = all_met(extra["levels"])
    result: Result[Plan, PlanExtra] = Result(
        kind=KIND,
        status=Status.OPTIMAL if is_met else Status.FEASIBLE,
        cost=cost,
        bound=least,
        check=report,
        plan=made,
        provenance=provenance("affine plan", options=options, source=source, search=search),
        extra=extra,
        figures=(
            *views.of_plan(after, before, least.value, made.tiling),
            views.loads_by_line(
                {item.name: (item.place.line, item.text) for item in program.statements},
                cdag.by_name(order, np.ones_like(after)),
                cdag.by_name(order, after),
                cdag.by_name(cdag.program_order, before),
            ),
            *found.figures,
            *drawn_data_flow(flow),
        ),
    )
    return priced(result, on_machine(options), sizes, program)


def _found(replays: Replays, options: PlanOptions, flow: DataFlow) -> tuple[Proven, Ordered, Plan]:
    """Return the bound, the derived order, and the best of it, of tiled orders and of those known before.

    What a bound by itself has more of the effort comes on top.
    """
    program, sizes, capacities, search = replays.program, replays.sizes, replays.capacities, replays.search
    derived = Derived(program, has_order=False, flow=flow, cdag=replays.cdag)
    share, most, weight = tuning.PLAN_LOWER_SHARE, replays.evaluations(options.evaluations), tuning.PLAN_LOWER_SHARE
    if search.effort is not None:
        weight, search = tuning.LOWER_SHARE, search.again()
        search.effort = (1 + weight - share) * search.left()
    tasks = Tasks(search)
    proof = tasks.add(Proof(derived, BoundOptions(profile=options.profile), sizes, capacities, share), weight)
    order = Order(derived, sizes, capacities, evaluations=most)
    ordering = tasks.add(order, (1 - share) * tuning.UPPER_SHARE)
    share = (1 - share) * (1 - tuning.UPPER_SHARE) / len(capacities)
    lefts = zip(range(len(capacities), 0, -1), capacities, strict=True)
    tiled = [tasks.add(Tiled(derived, sizes, capacities, words, most, 1 / left), share) for left, words in lefts]
    tasks.run(lambda told: replays.offer(replays.order_of(told), told.tiling))
    ordered = tasks.ordered(ordering)
    proven = tasks.proven(proof)
    offers = [*ordered.offers, *(offer for number in tiled for offer in tasks.answers.get(number) or ())]
    best = replays.improve(offers, proven.bound.value if len(capacities) == 1 else 0)
    return proven, ordered, replays.plan_of(best.order, best.how)


def _unlisted(
    program: Program,
    options: PlanOptions,
    search: Search,
    source: Source[Program] | None,
    flow: DataFlow,
    why: str,
) -> Result[Plan, PlanExtra]:
    """Return the derived order by its formula, where there are too many instances to list and to replay."""
    sizes, capacities = memories(options, program)
    derived, share, tasks = Derived(program, has_order=False, flow=flow), tuning.LOWER_SHARE, Tasks(search)
    proof = tasks.add(Proof(derived, BoundOptions(profile=options.profile), sizes, capacities, share), share)
    ordering = tasks.add(Order(derived, sizes, capacities), 1 - share)
    tasks.run()
    found, ordered = tasks.proven(proof), tasks.ordered(ordering)
    document = ordered.beside(found)
    if not ordered.loads or document is None or not math.isfinite(document["value"]):
        raise NoPlanError(f"no order was derived, and to search for one {why}: use smaller sizes")
    extra: PlanExtra = {
        "sizes": sizes,
        "tiling": "; ".join(f"{', '.join(item['statements'])}: {item['order']}" for item in document["at_sizes"]),
        "operations": found.operations,
        "program_order_loads_words": None,
        "upper": {**document, "replayed_loads_words": None},
        "not_listed": why,
    }
    if options.level is not None:
        extra["levels"] = level_rows(found.levels, ordered.loads)
    result: Result[Plan, PlanExtra] = Result(
        kind=KIND,
        status=None,
        cost=Cost(loads_words=document["value"], loads_bytes=document["value_bytes"]),
        bound=found.bound,
        provenance=provenance("affine plan", options=options, source=source, search=search),
        extra=extra,
        figures=(
            *drawn_over_memory(found.over_memory, ordered.loads, sizes),
            *found.figures,
            *drawn_data_flow(flow),
        ),
    )
    return priced(result, on_machine(options), sizes, program)


@verb(
    CheckOptions,
    PROGRAMS,
    PLANS,
    plan="A plan to replay, a result that holds one, or the path of a file; None: test the bound.",
)
def check(
    workload: Workload, plan: PlanLike | None = None, **keywords: Unpack[CheckKeywords]
) -> Result[Plan, CheckExtra]:
    """Replay the plan ``given``; without one, run the validity oracle on the program and its bound.

    ``bound`` names a result document, the certificate of whose bound is verified instead, or beside a plan. The status
    is ``invalid`` if anything is violated.

    Returns
    -------
    Result[Plan, CheckExtra]
        The violations found; with a plan also its cost as replayed and the bound.

    Raises
    ------
    InputError
        If the C source, the plan or a keyword is wrong.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import case
    >>> check(case("seidel-1d").workload, size="T=2,N=5,S=5").check.ok
    True
    """
    program, options, search, source = asked(workload, PROGRAMS, CheckOptions, keywords)
    assert plan is None or isinstance(plan, Plan)
    given = plan
    memory = on_machine(options)
    if memory is not None and given is None:
        cure = "give the plan to be replayed, or leave the machine out"
        raise InputError("does not apply", place="--machine", value=options.machine, allowed="with a plan", cure=cure)
    if given is not None:
        require_fit(given, program, memory)
    verified = None if options.bound is None else certified(program, str(options.bound), KIND)
    if verified is not None and given is None:
        return Result(
            kind=KIND,
            status=None if verified.ok else Status.INVALID,
            check=verified,
            provenance=provenance("affine check", options=options, source=source, search=search),
        )
    choices = None if options.size is None else [require_sizes(options.size, program, fast_memory=None)]
    with search, charged_to(search):
        flow = dependences_in_time(program)
        share = tuning.LOWER_SHARE if given is None else tuning.REPLAY_LOWER_SHARE
        sizes = None if given is None else {**given.sizes, FAST_MEMORY: given.fast_memory}
        made = BoundOptions(profile=options.profile, reassociate=options.reassociate)
        found = lower_bound(program, made, flow=flow, search=search, share=share, sizes=sizes)
        if given is not None:
            assert sizes is not None
            least, words = bound_of(program, found, sizes, flow), (given.fast_memory, *given.levels)
            bounds = level_bounds(found, made, flow, sizes, words, search) if given.levels else {}
            return _replayed(program, given, least, bounds, options, search, source, verified)
        findings = examine(flow, found, choices, search)
    comparisons = [
        {"sizes": item.sizes, "how": item.how, "bound": item.bound, "loads": item.loads, "proven": item.proven}
        for item in findings.comparisons
    ]
    report = CheckReport(tuple(findings.violations), None, tuple(findings.remarks), {"comparisons": comparisons})
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
    least: Bound,
    bounds: Mapping[int, float],
    options: CheckOptions,
    search: Search,
    source: Source[Program] | None,
    verified: CheckReport | None,
) -> Result[Plan, CheckExtra]:
    report = check_plan(program, given)
    if verified is not None:
        report = replace(report, violations=(*report.violations, *verified.violations), remarks=verified.remarks)
    extra: CheckExtra = {"sizes": {**given.sizes, FAST_MEMORY: given.fast_memory}}
    if bounds:
        extra["levels"] = replayed_rows(report, bounds)
    figures: tuple[Figure, ...] = ()
    if not report.ok or report.cost is None:
        status = Status.INVALID
    else:
        rows = [(row["S"], row["bound"], row["loads_words"]) for row in extra.get("levels", ())]
        figures = views.of_checked_plan(rows or [(given.fast_memory, least.value, report.cost["loads_words"])])
        is_met = all_met(extra["levels"]) if bounds else least.is_met_by(report.cost["loads_words"])
        status = Status.OPTIMAL if is_met else Status.FEASIBLE
    result: Result[Plan, CheckExtra] = Result(
        kind=KIND,
        status=status,
        cost=report.cost,
        bound=least,
        check=report,
        plan=given,
        provenance=provenance("affine check", options=options, source=source, search=search),
        extra=extra,
        figures=figures,
    )
    return priced(result, on_machine(options), extra["sizes"], program)


@verb(CdagOptions, PROGRAMS, searching=None)
def cdag(workload: Workload, **keywords: Unpack[CdagKeywords]) -> CdagDocument:
    """Return the concrete CDAG at ``size`` as a ``shorthaul/cdag`` document, weights in bytes.

    Returns
    -------
    CdagDocument
        Nodes with their weights, and edges: a workload of the pebble engine.

    Raises
    ------
    InputError
        If a size is missing, or the graph would have too many nodes.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import case
    >>> len(cdag(case("matvec").workload, size="M=2,N=2")["nodes"])
    12
    """
    program, options, _, _ = asked(workload, PROGRAMS, CdagOptions, keywords)
    sizes = require_sizes(options.size, program, fast_memory=False)
    return executed(program, sizes, flow_dependences(program)).document(program.name)
