"""The verbs ``memory`` and ``sweep``: how much fast memory is enough, and what less of it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Unpack, cast

import numpy as np

from shorthaul.core.amounts import Cost, gap
from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.core.figure import Figure, OfPoint, by_point
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.search import Search, SweepSearchOptions, TaskPlanSearchOptions
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.core.verbs import asked, verb
from shorthaul.pebble import sram, tuning, views
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.exact import least_memory
from shorthaul.pebble.model import Cdag, Terms, require_budget
from shorthaul.pebble.options import MemoryOptions, SweepOptions
from shorthaul.pebble.orders import belady, layer_by_layer
from shorthaul.pebble.plan import MemoryExtra, Plan, SramEstimate, SweepExtra, SweepPoint, plan_of, with_stores
from shorthaul.pebble.request import Request
from shorthaul.pebble.structured import matrix_vector, tree_cuts
from shorthaul.pebble.structured.forest import as_forest
from shorthaul.pebble.verbs import smallest
from shorthaul.pebble.verbs.inputs import CDAGS, PLANS, Workload
from shorthaul.pebble.verbs.machines import Memory, on_machine, priced
from shorthaul.pebble.verbs.planning import KIND, checked, cost_of, keep_back, planned, problem_document
from shorthaul.pebble.verbs.terms import terms_of

if TYPE_CHECKING:
    from shorthaul.pebble.verbs.keywords import MemoryKeywords, SweepKeywords

#: Budgets of a sweep, at most.
_MOST_POINTS = 1000
#: Moves of a schedule that a point of a sweep still shows.
_MOST_MOVES = 20_000


@dataclass(frozen=True, slots=True)
class Point:
    """One budget of a sweep; ``baselines`` are the traffic of the layer-by-layer schedules where they were made.

    ``paid`` is what the plan pays, its traffic in the usual game; ``of`` says which of both the bound is on. ``moves``
    are kinds and nodes of a plan short enough to be shown.
    """

    budget: int
    of: str
    paid: int
    traffic: int
    loads: int
    bound: float
    method: str
    bound_method: str
    status: str
    baselines: tuple[int, int] | None
    moves: tuple[tuple[int, int], ...] | None = None

    def document(self, memory: Memory | None = None) -> SweepPoint:
        """Return the point as a JSON object, with what its traffic takes in the memory of a machine."""
        point: SweepPoint = {
            "budget": self.budget,
            "traffic": self.traffic,
            "bound": {"of": self.of, "value": self.bound, "method": self.bound_method},
            "gap": gap(self.paid, self.bound),
            "method": self.method,
            "status": self.status,
        }
        if memory is not None:
            point |= cast("SweepPoint", memory.moved(self.loads, self.traffic - self.loads))
        if self.of == "total":
            point["total"] = self.paid
        if self.baselines is not None:
            point["layer_by_layer"], point["layer_by_layer_freeing"] = self.baselines
        return point


def _of_journal(cdag: Cdag, plan: Plan, options: MemoryOptions) -> CheckReport:
    """Return what the checker says of the plan in a journal, and the budget that it needs."""
    terms = smallest.terms_of(options)
    report = replay(cdag, plan, None, recompute=options.recompute, terms=None if terms.is_usual else terms)
    cost = cost_of(report)
    if report.ok and cost["traffic"] > cdag.algorithmic_bound():
        moved = "it moves more than inputs and outputs"
        wrong = Violation("traffic", "plan", moved, cdag.algorithmic_bound(), cost["traffic"])
        report = replace(report, violations=(wrong,))
    return replace(report, cost=Cost(budget=cost["peak"], **cost))


@verb(MemoryOptions, CDAGS, PLANS, searching=TaskPlanSearchOptions, replay=_of_journal)
def memory(workload: Workload, **keywords: Unpack[MemoryKeywords]) -> Result[Plan, MemoryExtra]:
    """Return the smallest budget at which inputs and outputs alone are moved, with a checked schedule at it.

    With a method's name, that method's own smallest budget. ``cost`` has ``budget`` beside the amounts of the schedule;
    the bound is on ``budget``. ``extra`` holds the SRAM estimates and the curve of budgets.

    Returns
    -------
    Result[Plan, MemoryExtra]
        The schedule at that budget, the bound on ``budget``, and in ``extra`` SRAM estimates and the curve.

    Raises
    ------
    InputError
        If the graph or a keyword is wrong, or the method does not apply.

    Examples
    --------
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> memory(dwt(n=256, d=8, word=1)).cost["budget"]
    10
    """
    whole, options, search, source = asked(workload, CDAGS, MemoryOptions, keywords)
    capacities = None if options.capacities is None else parse_budgets(options.capacities, "--capacities")
    cdag = whole.unkept()  # a value that does not come back is stored at any moment
    keep_back(cdag, search)
    terms = smallest.terms_of(options)
    kept, targets = np.flatnonzero(whole.is_output() & ~cdag.is_output()), cdag.edge_arrays()[1]
    with search:
        keeping = search.translated(lambda plan: with_stores(plan, kept, targets), lambda plan: plan)
        if terms.in_order:
            budget, found, best = smallest.in_order(cdag, options, terms, keeping)
        else:
            goes_on = terms.in_place or terms.partial or (options.recompute and options.method == "auto")
            usual = keeping.part(0.4, unlimited=2 * tuning.STEP_EFFORT).aside() if goes_on else keeping
            budget, found, least = smallest.in_any_order(cdag, options, usual)
            usual, least = (keeping, 0) if terms.partial else (usual, least)
            best = smallest.memory_bound(cdag, budget, least, options, usual, partial=terms.partial)
            if goes_on:
                budget, found, best = smallest.in_terms(cdag, found, best, terms, options, keeping)
        keeping.keep(budget, found.plan)
        if search.kept is not None and search.kept[0] < budget:
            budget, found = int(search.kept[0]), replace(found, plan=search.best(), method="resumed")
        else:
            found = replace(found, plan=with_stores(found.plan, kept, targets))
        few = cdag.n <= tuning.MOST_FOR_CURVE and not search.expired() and terms.is_usual
        few = few and (whole.kept is None or options.method == "auto")
        points = _curve(whole, budget, options, search.aside()) if few else []
    report = checked(Request(whole, budget, options.recompute, search, terms), found.plan)
    power = sram.power_of_two(budget)
    estimates = [sram.estimate(bits) for bits in capacities or sorted({budget, power, 2 * power})]
    return Result(
        kind=KIND,
        status=Status.OPTIMAL if best.is_met_by(budget) else Status.FEASIBLE,
        cost=Cost(budget=budget, **cost_of(report)),
        bound=best,
        check=report,
        plan=found.plan,
        provenance=provenance("pebble memory", options=options, source=source, search=search),
        extra={
            "method": found.method,
            "problem": problem_document(whole, budget),
            "sram": {"source": sram.SOURCE, "estimates": [_estimate(one) for one in estimates]},
            "points": [point.document() for point in points],
        },
        figures=(
            *_figures_of(points),
            views.of_sram(estimates),
            *views.of_plan(whole, found.plan, budget, in_place=terms.in_place),
        ),
    )


def _estimate(one: sram.Sram) -> SramEstimate:
    """Return an SRAM estimate as a JSON object, with what a ``cacti`` program says where there is one."""
    measured = sram.cacti(one.capacity_bits)
    document = views.sram_document(one)
    if measured is not None:
        document["cacti"] = measured
    return document


def parse_budgets(text: str, place: str) -> list[int]:
    """Return the positive integers of ``48,64,96`` or ``48:160:16``, ascending; raises :class:`InputError`.

    >>> parse_budgets("48:96:16", "--budgets")
    [48, 64, 80, 96]
    """
    error = InputError(
        "is no list of budgets",
        place=place,
        value=text,
        allowed=f"up to {_MOST_POINTS:,} integers from 1, as 48,64,96 or 48:160:16",
    )
    parts = text.split(":")
    try:
        numbers = [int(part) for part in (parts if len(parts) > 1 else text.split(","))]
    except ValueError:
        raise error from None
    if not numbers or min(numbers) < 1 or len(parts) > 3 or max(numbers) > 2**53:
        raise error
    if len(parts) == 1:
        return sorted(set(numbers))
    first, last, step = numbers[0], numbers[1], numbers[2] if len(parts) == 3 else 1
    if last < first or (last - first) // step >= _MOST_POINTS:
        raise error
    return list(range(first, last + 1, step))


@verb(SweepOptions, CDAGS, PLANS, searching=SweepSearchOptions, points=Point)
def sweep(workload: Workload, **keywords: Unpack[SweepKeywords]) -> Result[Plan, SweepExtra]:
    """Return traffic and bound for a range of budgets, beside the layer-by-layer baselines; every plan is checked.

    The points are in ``extra["points"]``, each with its own bound.

    Returns
    -------
    Result[Plan, SweepExtra]
        In ``extra["points"]`` one entry per budget.

    Raises
    ------
    InputError
        If the graph or a keyword is wrong, or the method does not apply.
    InfeasibleError
        If a budget is below the least.

    Examples
    --------
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> [p["traffic"] for p in sweep(dwt(n=8, d=3, word=1), budgets="3,4,5").extra["points"]]
    [22, 18, 16]
    """
    cdag, options, search, source = asked(workload, CDAGS, SweepOptions, keywords)
    options, memory = on_machine(cdag, options)
    terms = terms_of(cdag, options)
    seen = terms.played(cdag)
    if options.budgets is not None:
        budgets = parse_budgets(options.budgets, "--budgets")
        require_budget(seen, budgets[0], terms)
    keep_back(cdag, search)
    with search:
        if options.budgets is None:
            budgets = _spread(int(terms.needs(seen).max()), _enough(seen.unkept()), options.points)
        request = Request(cdag, budgets[-1], options.recompute, search, terms)
        points = _points(request, budgets, options.method)
        shown = by_point(
            (views.point_label(point.budget), partial(_figures, request, point))
            for point in points
            if point.moves is not None
        )
    optimal = all(point.status == Status.OPTIMAL for point in points)
    result: Result[Plan, SweepExtra] = Result(
        kind=KIND,
        status=Status.OPTIMAL if optimal else Status.FEASIBLE,
        check=CheckReport(details={"plans": len(points)}),
        provenance=provenance("pebble sweep", options=options, source=source, search=search),
        extra={"points": [point.document(memory) for point in points], "problem": problem_document(cdag, None)},
        figures=(*_figures_of(points), *shown),
    )
    return priced(result, memory)


def _figures_of(points: Sequence[Point]) -> tuple[Figure, ...]:
    of = points[0].of if points else "traffic"
    return views.of_points([(p.budget, p.paid, p.bound, p.baselines) for p in points], of)


def _figures(request: Request, point: Point) -> tuple[OfPoint, ...]:
    """Return what there is to see of the schedule of a point, which a journal may hold: it is replayed once more."""
    assert point.moves is not None
    plan = plan_of(point.moves)
    checked(replace(request, budget=point.budget), plan)
    in_place = request.terms.in_place
    return views.of_plan(request.cdag, plan, point.budget, in_place=in_place, counted=views.MOST_POINTS)


def _curve(cdag: Cdag, budget: int, options: MemoryOptions, search: Search) -> list[Point]:
    method = "tree-cuts" if options.method == "liu" else options.method
    budgets = _spread(cdag.least_budget(), budget, tuning.CURVE_POINTS)
    return _points(Request(cdag, budget, options.recompute, search), budgets, method)


def _enough(cdag: Cdag) -> int:
    """Return a budget at which inputs and outputs alone can be moved, quickly found."""
    if as_forest(cdag) is not None:
        return tree_cuts.least_memory(cdag)
    if matrix_vector.recognise(cdag) is not None:
        return matrix_vector.least_memory(cdag)
    if cdag.n <= tuning.MOST_FOR_CURVE:
        return layer_by_layer.least_memory(cdag, freeing=True)
    return least_memory.peak_of(cdag, belady.plan(cdag, int(cdag.weights.sum()), "depth-first-by-need"))


def _spread(least: int, most: int, points: int) -> list[int]:
    if most - least < points:
        return list(range(least, most + 1))
    return sorted({round(budget) for budget in np.geomspace(least, most, points).tolist()})


def _points(request: Request, budgets: Sequence[int], method: str) -> list[Point]:
    """Return a point per ascending budget: a plan holds for larger budgets too, a bound for smaller ones.

    With prices there is none where no plan was found that fits.
    """
    search = request.search
    tasks = [_Task(request.cdag, budget, method, request.recompute, request.terms) for budget in budgets]
    found: dict[int, Point] = {}
    for number, point in run_tasks(_found, tasks, search=search, unlimited=tuning.STEP_EFFORT / len(tasks)):
        if point is not None:
            found[number] = point
            search.report(best=point.paid, bound=point.bound, what=f"budget {point.budget}")
    if not found:
        raise NoPlanError("no plan that fits was found at any budget\n  do:      give larger budgets or more time")
    points: list[Point] = []
    for number in sorted(found):
        point = found[number]
        if points and points[-1].paid <= point.paid:
            last = points[-1]
            point = replace(
                last, budget=point.budget, bound=point.bound, bound_method=point.bound_method, baselines=point.baselines
            )
        points.append(point)
    return _with_bounds(points)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """One budget of a sweep."""

    cdag: Cdag
    budget: int
    method: str
    recompute: bool
    terms: Terms


def _found(task: _Task, search: Search) -> Point | None:
    """Return the point of one budget, its plan checked; None if none was found at these prices."""
    cdag, budget = task.cdag, task.budget
    request = Request(cdag, budget, task.recompute, search, task.terms)
    try:
        found = planned(request, task.method)
    except NoPlanError:
        if request.terms.offloads:
            raise
        return None
    cost = cost_of(checked(request, found.plan))
    baselines = None
    if cdag.n <= tuning.MOST_FOR_CURVE and request.is_usual:
        both = (layer_by_layer.plan(cdag, budget, freeing=freeing) for freeing in (False, True))
        first, second = (one.traffic(cdag.weights) for one in both)
        baselines = (first, second)
    of = found.bound.of
    paid, traffic, loads = int(cost[of]), int(cost["traffic"]), int(cost["loads"])
    plan, bound = found.plan, found.bound
    shown = tuple(zip(plan.kinds.tolist(), plan.nodes.tolist(), strict=True)) if len(plan) <= _MOST_MOVES else None
    return Point(budget, of, paid, traffic, loads, bound.value, found.method, bound.method, "", baselines, shown)


def _with_bounds(points: list[Point]) -> list[Point]:
    """Return the points, each with the best bound of its own and all larger budgets, and its status."""
    result: list[Point] = []
    bound, name = 0.0, ""
    for point in reversed(points):
        if point.bound > bound:
            bound, name = point.bound, point.bound_method
        status = Status.OPTIMAL if point.paid <= bound else Status.FEASIBLE
        result.append(replace(point, bound=bound, bound_method=name, status=status.value))
    return result[::-1]
