"""The verbs of the tensor engine: plan, bound, check and run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from shorthaul.core.amounts import Bound
from shorthaul.core.arguments import public
from shorthaul.core.cases import Source
from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.errors import DefectError, InputError
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, TaskPlanSearchOptions
from shorthaul.core.verbs import BOUNDS, asked, higher, verb
from shorthaul.tensor import tuning
from shorthaul.tensor.bounds.best import CERTIFIED, lower_bound, prove_in_tasks
from shorthaul.tensor.check.certificate import certificate_of, verify
from shorthaul.tensor.check.replay import Replay, replay
from shorthaul.tensor.formats.documents import RESULT_KIND
from shorthaul.tensor.model import RULES, Problem
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.options import CheckOptions, PlanOptions, RuleOptions, RunOptions
from shorthaul.tensor.plan import BoundExtra, Plan, PlanExtra, RunExtra
from shorthaul.tensor.search.driver import plan_and_bound
from shorthaul.tensor.verbs.inputs import PLANS, PROBLEMS, PlanLike, Workload, of_the_contest, refuse_without
from shorthaul.tensor.views import figures, of_bound
from shorthaul.tensor.workloads.cases import CASES

#: What is said of the gap of a plan whose own proof is not asked for.
_BY_FORMULA = "the bound is one by formula; 'tensor check PROBLEM RESULT --bound RESULT' verifies the proof in a result"

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shorthaul.core.cases import Case
    from shorthaul.tensor.verbs.keywords import (
        BoundKeywords,
        CheckKeywords,
        PlanKeywords,
        RunKeywords,
    )


@public
def case(text: str) -> Source[Problem]:
    """Return the problem that ``text`` names, a contest file or a built-in case.

    Parameters
    ----------
    text : str
        The path of a contest file, or the name of a built-in case with its parameters.

    Returns
    -------
    Source[Problem]
        The problem and where it comes from.

    Raises
    ------
    InputError
        If the file is missing or wrong, or no case has that name.

    Examples
    --------
    >>> case("mlp-chain:layers=2").workload.graph_outputs
    (6,)
    """
    found = PROBLEMS.source(text)
    return Source(of_the_contest(found.workload), found.name, found.digest)


@public
def cases() -> tuple[Case[Problem], ...]:
    """Return the built-in operator graphs.

    Returns
    -------
    tuple[Case[Problem], ...]
        The cases by name, with their parameters.

    Examples
    --------
    >>> [case.name for case in cases()][:2]
    ['example-1', 'example-2']
    """
    return CASES


def _of_journal(problem: Problem | Network, plan: Any, options: PlanOptions) -> CheckReport:
    """Return what the checker says of the plan in a journal."""
    if isinstance(problem, Network):
        from shorthaul.tensor.verbs.networks import report_of

        return report_of(problem, plan, options)
    return replay(problem, plan, RULES[options.rules]).report()


@verb(PlanOptions, PROBLEMS, PLANS, searching=TaskPlanSearchOptions, replay=_of_journal)
def plan(workload: Workload, **keywords: Unpack[PlanKeywords]) -> Result[Plan, PlanExtra]:
    """Return the best schedule found for ``problem``, checked, beside a lower bound on its latency.

    The cost is ``latency`` (time), ``traffic`` and ``peak`` (elements).

    Returns
    -------
    Result[Plan, PlanExtra]
        The schedule, its cost and the bound.

    Raises
    ------
    InputError
        If the problem or a keyword is wrong.
    InfeasibleError
        If no schedule fits in fast memory.

    With ``machine`` an ONNX model is planned as a network: the plan is a ``NetworkPlan``, the cost ``latency_s``,
    ``traffic_bytes``, ``peak_bytes`` and, where the machine has energies, ``energy_j``.

    Examples
    --------
    >>> from shorthaul.tensor.workloads.cases import example_3
    >>> found = plan(example_3())
    >>> found.cost["latency"] <= 11468.8, found.check.ok
    (True, True)
    """
    problem, options, search, source = asked(workload, PROBLEMS, PlanOptions, keywords)
    if isinstance(problem, Network):
        from shorthaul.tensor.verbs.networks import plan_network

        return plan_network(problem, options, search, source)
    refuse_without(options)
    rules = RULES[options.rules]
    with search:
        found, bound = plan_and_bound(problem, rules, search, restarts=options.restarts)
        replayed = replay(problem, found, rules)
        if search.start() is not None:
            others = replay(problem, search.start(), rules)
            if replayed.cost is None or (others.cost is not None and others.cost["latency"] < replayed.cost["latency"]):
                found, replayed = search.start(), others
        if replayed.violations:
            broken = "; ".join(map(str, replayed.violations[:3]))
            raise DefectError(f"the search returned a plan that breaks the rules: {broken}")
        return _result("plan", problem, with_latencies(found, replayed), replayed, options, source, search, bound)


def with_latencies(found: Plan, replayed: Replay) -> Plan:
    """Return the plan with the latencies that the replay saw as its claims."""
    pairs = zip(found.subgraphs, (seen.latency if seen else None for seen in replayed.subgraphs), strict=True)
    return Plan(tuple(mine if mine.latency == seen else replace(mine, latency=seen) for mine, seen in pairs))


def _bound_of_journal(problem: Problem | Network, bound: Mapping[str, Any], options: RuleOptions) -> CheckReport:
    """Return what is wrong with the bound in a journal."""
    if isinstance(problem, Network):
        raise InputError("holds no certificate: that of a network has none")
    if bound.get("of") != "latency":
        raise InputError("is not verified", place="bound.of", value=bound.get("of"), allowed="latency")
    return CheckReport(tuple(verify(problem, RULES[options.rules], certificate_of(problem, bound, "bound"))))


@verb(RuleOptions, PROBLEMS, PLANS, searching=TaskPlanSearchOptions, replay=_bound_of_journal, keeps=BOUNDS)
def bound(workload: Workload, **keywords: Unpack[BoundKeywords]) -> Result[Plan, BoundExtra]:
    """Return a lower bound on the latency of every schedule of ``problem``, with its proof and no plan.

    Returns
    -------
    Result[Plan, BoundExtra]
        The bound on ``latency``.

    Raises
    ------
    InputError
        If the problem or a keyword is wrong.

    Examples
    --------
    >>> from shorthaul.tensor.workloads.cases import example_3
    >>> found = bound(example_3()).bound
    >>> found.of, round(found.value, 6), found.method
    ('latency', 4500.0, 'linear program over subgraphs')
    """
    problem, options, search, source = asked(workload, PROBLEMS, RuleOptions, keywords)
    if isinstance(problem, Network):
        from shorthaul.tensor.verbs.networks import bound_network

        return bound_network(problem, options, search, source)
    refuse_without(options)
    with search:
        found = prove_in_tasks(problem, RULES[options.rules], search.part(1.0, unlimited=tuning.BOUND_EFFORT))
        found = higher(found, search, CERTIFIED, is_certified="certificate" in found.details)
    return Result(
        kind=RESULT_KIND,
        status=None,
        bound=found,
        provenance=provenance("tensor bound", options=options, source=source, search=search),
        extra={"rules": options.rules},
        figures=of_bound(problem, found),
    )


@verb(CheckOptions, PROBLEMS, PLANS, searching=None)
def check(
    workload: Workload, plan: PlanLike | None = None, **keywords: Unpack[CheckKeywords]
) -> Result[Plan, PlanExtra]:
    """Return what a replay of ``plan`` finds: every violation, the cost, and remarks on latencies claimed wrongly.

    ``bound`` names a result document, the certificate of whose bound is verified, with a plan or without one. The
    status is ``invalid`` if a rule is broken, or if the bound is not proven.

    Returns
    -------
    Result[Plan, PlanExtra]
        The violations, the cost as replayed and the bound.

    Raises
    ------
    InputError
        If the problem or the plan cannot be read.

    Examples
    --------
    >>> from shorthaul.tensor.workloads.cases import example_3
    >>> [violation.rule for violation in check(example_3(), Plan(())).check.violations][:1]
    ['operator-missing']
    """
    problem, options, search, source = asked(workload, PROBLEMS, CheckOptions, keywords)
    if plan is None and options.bound is None:
        raise InputError("there is nothing to check", place="PLAN", cure="give a plan, a bound, or both")
    if isinstance(problem, Network):
        from shorthaul.tensor.verbs.networks import check_network

        return check_network(problem, plan, options, search, source)
    refuse_without(options)
    assert plan is None or isinstance(plan, Plan)
    rules = RULES[options.rules]
    wrong: list[Violation] = []
    floor: Bound | None = None
    if options.bound is not None:
        from shorthaul.tensor.verbs.certified import certified

        wrong, floor = certified(str(options.bound), problem, rules)
    if plan is not None:
        replayed = replay(problem, plan, rules)
        replayed = replace(replayed, violations=(*replayed.violations, *wrong))
        return _result("check", problem, plan, replayed, options, source, search, None if wrong else floor)
    return Result(
        kind=RESULT_KIND,
        status=Status.INVALID if wrong else None,
        bound=None if wrong else floor,
        check=CheckReport(tuple(wrong), None),
        provenance=provenance("tensor check", options=options, source=source, search=search),
        extra={"rules": rules.name, "operations": problem.operations()},
    )


def _result(
    verb: str,
    problem: Problem,
    plan: Plan,
    replayed: Replay,
    options: RuleOptions | RunOptions,
    source: Source[Any] | None,
    search: Search,
    floor: Bound | None = None,
) -> Result[Plan, PlanExtra]:
    """Return the result of a verb that has a plan: its replay, beside the lower bound."""
    report = replayed.report()
    is_by_formula = floor is None
    floor = lower_bound(problem, RULES[options.rules], search) if floor is None else floor
    status = Status.INVALID
    if report.ok and report.cost is not None:
        status = Status.OPTIMAL if floor.is_met_by(report.cost["latency"]) else Status.FEASIBLE
    if is_by_formula and status is Status.FEASIBLE:
        report = replace(report, remarks=(*report.remarks, _BY_FORMULA))
    return Result(
        kind=RESULT_KIND,
        status=status,
        cost=report.cost,
        bound=floor,
        check=report,
        plan=plan,
        provenance=provenance(f"tensor {verb}", options=options, source=source, search=search),
        extra={"rules": options.rules, "operations": problem.operations()},
        figures=() if search.is_late() else figures(problem, plan, replayed),
    )


@verb(RunOptions, PROBLEMS, PLANS)
def run(workload: Workload, plan: PlanLike | None = None, **keywords: Unpack[RunKeywords]) -> Result[Plan, RunExtra]:
    """Return the result of executing ``plan`` on arrays, each graph output compared with a direct evaluation.

    The document's ``run`` holds elements loaded and stored, the peak of fast memory and the largest relative error;
    null for a plan that breaks a rule, which is not executed. Without ``plan`` one is made first. A network is executed
    on the weights of its model and on ``inputs``, in double precision, and compared with onnxruntime or onnx.

    Returns
    -------
    Result[Plan, RunExtra]
        The plan's cost, and in ``extra["run"]`` what its execution moved.

    Raises
    ------
    InputError
        If the problem or the plan cannot be read.
    DefectError
        If an output differs from the direct evaluation.

    Examples
    --------
    >>> from shorthaul.tensor.workloads.cases import example_3
    >>> run(example_3(), plan(example_3()).plan).extra["run"]["largest_error"] < 1e-9
    True
    """
    from shorthaul.tensor.run import execute

    problem, options, search, source = asked(workload, PROBLEMS, RunOptions, keywords)
    if plan is None:
        fields = {name: getattr(options, name) for name in ("machine", "dim", "rules")}
        planned = globals()["plan"]
        plan = planned(problem, options=PlanOptions(**fields), search=search).plan
    if isinstance(problem, Network):
        from shorthaul.tensor.verbs.networks import run_network

        return run_network(problem, plan, options, search, source)
    refuse_without(options)
    assert isinstance(plan, Plan)
    rules = RULES[options.rules]
    replayed = replay(problem, plan, rules)
    outcome = None if replayed.violations else execute(problem, plan, rules, seed=search.seed).document()
    made = _result("run", problem, plan, replayed, options, source, search)
    return replace(cast("Result[Plan, RunExtra]", made), extra={**made.extra, "run": outcome})
