"""The verb sweep: the best latency and its bound over a range of capacities, or of bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast

from msgspec import structs

from shorthaul.core.amounts import Bound, Cost, gap
from shorthaul.core.check import CheckReport
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.figure import Line, OfPoint, Series, by_point
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, SweepSearchOptions
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.core.verbs import asked, verb
from shorthaul.tensor.bounds.best import lower_bound
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.formats.documents import RESULT_KIND, plan_document, plan_from_document
from shorthaul.tensor.model import RULES, Problem, Rules
from shorthaul.tensor.networks.bounds.latency import bound as bound_of_network
from shorthaul.tensor.networks.documents import network_plan_document, network_plan_of
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import NetworkPlan
from shorthaul.tensor.options import PlanOptions, SweepOptions
from shorthaul.tensor.plan import Plan, SweepExtra, SweepPoint
from shorthaul.tensor.verbs.inputs import PLANS, PROBLEMS, Workload, refuse_without
from shorthaul.tensor.verbs.network_search import planned
from shorthaul.tensor.verbs.networks import figures_of_network, machine_of_options, report_on
from shorthaul.tensor.verbs.planning import plan as plan_problem
from shorthaul.tensor.views import figures

if TYPE_CHECKING:
    from shorthaul.tensor.verbs.keywords import SweepKeywords

AnyPlan: TypeAlias = Plan | NetworkPlan


@dataclass(frozen=True, slots=True)
class _Planned:
    """What the search for a point of a sweep has found: a plan as JSON, or why there is none."""

    plan: dict[str, Any] | None
    bound: Bound | None
    failure: Status | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """What a point of a sweep has: a plan and its cost as replayed on its machine, or why there is none."""

    plan: AnyPlan | None
    cost: Cost | None
    bound: Bound | None
    failure: Status | None = None

    def beats(self, other: _Found, objective: str) -> bool:
        """Return whether this has a plan, and the other none or a slower one."""
        return self.cost is not None and (other.cost is None or self.cost[objective] < other.cost[objective])


@dataclass(frozen=True, slots=True)
class _ProblemPoint:
    """A problem of the contest on one machine."""

    problem: Problem
    rules: Rules

    def planned(self, search: Search) -> _Planned:
        result = plan_problem(self.problem, options=PlanOptions(rules=self.rules.name), search=search)
        assert result.plan is not None
        return _Planned(plan_document(result.plan), result.bound)

    def read(self, document: dict[str, Any]) -> AnyPlan:
        return plan_from_document(document, self.problem)

    def checked(self, plan: AnyPlan) -> CheckReport:
        assert isinstance(plan, Plan)
        return replay(self.problem, plan, self.rules).report()

    def bound(self) -> Bound:
        return lower_bound(self.problem, self.rules)

    def figures(self, plan: AnyPlan) -> tuple[OfPoint, ...]:
        assert isinstance(plan, Plan)
        return figures(self.problem, plan, replay(self.problem, plan, self.rules))


@dataclass(frozen=True, slots=True)
class _NetworkPoint:
    """A network on one machine."""

    network: Network
    machine: Machine

    def planned(self, search: Search) -> _Planned:
        with search:
            made, _ = planned(self.network, self.machine, search)
        return _Planned(network_plan_document(made, self.network), self.bound())

    def read(self, document: dict[str, Any]) -> AnyPlan:
        return network_plan_of(document, self.network)

    def checked(self, plan: AnyPlan) -> CheckReport:
        assert isinstance(plan, NetworkPlan)
        return report_on(self.network, plan, self.machine)

    def bound(self) -> Bound:
        return bound_of_network(self.network, self.machine)

    def figures(self, plan: AnyPlan) -> tuple[OfPoint, ...]:
        assert isinstance(plan, NetworkPlan)
        return figures_of_network(self.network, plan, self.machine)


_Point = _ProblemPoint | _NetworkPoint


@verb(SweepOptions, PROBLEMS, PLANS, searching=SweepSearchOptions, points=_Planned)
def sweep(workload: Workload, **keywords: Unpack[SweepKeywords]) -> Result[Plan, SweepExtra]:
    """Return the best latency and its bound over a range of capacities, or of bandwidths.

    The document's ``points`` hold one object per machine, its latency null where nothing fits. A time limit is shared
    evenly by the points. With ``machine`` an ONNX model is planned as a network: what is varied is the capacity of the
    memory next to the outermost, or the bandwidth of the outermost, in bytes.

    Returns
    -------
    Result[Plan, SweepExtra]
        In ``extra["points"]`` one entry per machine.

    Raises
    ------
    InputError
        If the problem or a keyword is wrong.

    Examples
    --------
    >>> from shorthaul.tensor.workloads.cases import example_3
    >>> points = sweep(example_3(), over="bandwidth", points=2).extra["points"]
    >>> [point["latency"] >= point["bound"] for point in points]
    [True, True]
    """
    problem, options, search, source = asked(workload, PROBLEMS, SweepOptions, keywords)
    made: Sequence[_Point]
    if isinstance(problem, Network):
        machine = machine_of_options(options)
        least = float(machine.levels[2].capacity_bytes or 1) if len(machine.levels) > 2 else 1.0
        here = (
            machine.levels[1].capacity_bytes if options.over == "capacity" else machine.levels[0].bandwidth_bytes_per_s
        )
        amounts = _amounts(float(here or 0), least if options.over == "capacity" else 0.0, options)
        made = [_NetworkPoint(problem, _varied(machine, options.over, amount)) for amount in amounts]
        objective, moved, rules, unit = "latency_s", "traffic_bytes", "network", "bytes"
    else:
        refuse_without(options)
        amounts = _amounts(getattr(problem.machine, options.over), 1.0 if options.over == "capacity" else 0.0, options)
        machines = [replace(problem.machine, **cast("Any", {options.over: amount})) for amount in amounts]
        made = [_ProblemPoint(replace(problem, machine=one), RULES[options.rules]) for one in machines]
        objective, moved, rules, unit = "latency", "traffic", options.rules, "elements"
    with search:
        answers: dict[int, _Found] = {}
        turns = range(len(made) - 1, -1, -1)  # with much room the search takes longest: the last to end is a short one
        for number, answer in run_tasks(_planned, made, search=search, turns=turns):
            answers[number] = found = _replayed(made[number], answer)
            told = "none" if found.cost is None else f"{found.cost[objective]:g}"
            search.report(what=f"{options.over} {amounts[number]:g}: {objective} {told}")
        done = sorted(answers)
        made, answered = [made[number] for number in done], [answers[number] for number in done]
        _take_over(made, answered, objective)
        points = [
            cast("SweepPoint", {options.over: amounts[number], **_entry(point, item, objective, moved)})
            for number, point, item in zip(done, made, answered, strict=True)
        ]
        return Result(
            kind=RESULT_KIND,
            status=None,
            provenance=provenance("tensor sweep", options=options, source=source, search=search),
            extra={"rules": rules, "over": options.over, "points": points},
            figures=(
                _curve(options, points, objective, unit),
                *by_point(
                    (_label(options, amounts[number]), partial(point.figures, item.plan))
                    for number, point, item in zip(done, made, answered, strict=True)
                    if item.plan is not None
                ),
            ),
        )


def _planned(point: _Point, search: Search) -> _Planned:
    try:
        return point.planned(search)
    except InfeasibleError:
        return _Planned(None, None, Status.INFEASIBLE)
    except NoPlanError:
        return _Planned(None, None, Status.TIMEOUT)


def _replayed(point: _Point, answer: _Planned) -> _Found:
    """Return the point with its plan replayed; raises :class:`InputError` for a plan from a journal that is wrong."""
    if answer.plan is None:
        return _Found(None, None, answer.bound, answer.failure)
    made = point.read(answer.plan)
    report = point.checked(made)
    if not report.ok:
        raise InputError("holds a plan that breaks the rules", place="journal", value=str(report.violations[0]))
    return _Found(made, report.cost, answer.bound)


def _take_over(points: Sequence[_Point], found: list[_Found], objective: str) -> None:
    """Put the plan of a machine beside in place of a worse one, upwards and then downwards."""
    pairs = [(number, number + 1) for number in range(len(found) - 1)]
    for source, target in [*pairs, *((b, a) for a, b in reversed(pairs))]:
        other = found[source].plan
        if other is not None and found[target].failure is not Status.INFEASIBLE:
            report = points[target].checked(other)
            moved = _Found(other, report.cost if report.ok else None, found[target].bound)
            if moved.beats(found[target], objective):
                found[target] = moved


def _entry(point: _Point, item: _Found, objective: str, moved: str) -> dict[str, Any]:
    if item.cost is None:
        failure = Status.TIMEOUT if item.failure is None else item.failure
        return {objective: None, moved: None, "bound": None, "gap": None, "status": failure.value}
    floor = point.bound() if item.bound is None else item.bound
    return {
        objective: item.cost[objective],
        moved: item.cost[moved],
        "bound": floor.value,
        "gap": gap(item.cost[objective], floor.value),
        "status": (Status.OPTIMAL if floor.is_met_by(item.cost[objective]) else Status.FEASIBLE).value,
    }


def _varied(machine: Machine, over: str, amount: float) -> Machine:
    """Return a machine with another capacity next to the outermost memory, or another bandwidth of that."""
    levels = list(machine.levels)
    if over == "capacity":
        levels[1] = structs.replace(levels[1], capacity_bytes=int(amount))
    else:
        levels[0] = structs.replace(levels[0], bandwidth_bytes_per_s=amount)
    return replace(machine, levels=tuple(levels))


def _amounts(here: float, lowest: float, options: SweepOptions) -> list[float]:
    """Return the capacities or bandwidths, evenly spaced on a logarithmic scale, whole numbers for capacities."""
    import numpy as np

    least = max(here / 4, lowest) if options.least is None else options.least
    most = here * 4 if options.most is None else options.most
    if least > most:
        raise InputError("is above --most", place="--least", value=least, allowed=f"up to {most:g}")
    if options.over == "capacity" and least < lowest:
        allowed = f"from {lowest:g}: no level is smaller than the next inner one"
        raise InputError("is too small", place="--least", value=least, allowed=allowed)
    values = np.geomspace(least, most, options.points)
    if options.over == "capacity":
        return sorted({max(1, round(value)) for value in values.tolist()})
    return sorted({float(value) for value in values})


def _label(options: SweepOptions, amount: float) -> str:
    return f"{options.over} {amount:,.10g}"


def _curve(options: SweepOptions, points: Sequence[Any], objective: str, unit: str) -> Series:
    amounts = tuple(float(point[options.over]) for point in points)
    in_time = "second" if objective.endswith("_s") else "unit of time"
    return Series(
        title=f"Latency over {options.over}",
        x_label=f"{options.over} ({unit}{f' per {in_time}' if options.over == 'bandwidth' else ''})",
        y_label=objective,
        lines=(
            Line("latency found", amounts, tuple(point[objective] for point in points), "step"),
            Line("lower bound", amounts, tuple(point["bound"] for point in points), "floor"),
        ),
        log_x=True,
        points=tuple(_label(options, amount) for amount in amounts),
    )
